"""The clause register has every clause, and the functions and tests it names exist."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from rules import INSTRUMENTS
from rules.register import By, Clause, RegisterError, _clause, clauses, numbers, resolve

ROOT = Path(__file__).parent.parent.parent
EVERY_CLAUSE = [
    pytest.param(instrument_id, clause, id=f"{instrument_id} {clause.number}")
    for instrument_id in INSTRUMENTS
    for clause in clauses(instrument_id)
]


@cache
def functions_in(path):
    tree = ast.parse((ROOT / path).read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("instrument_id", INSTRUMENTS)
def test_every_clause_of_the_instrument_is_in_the_register_once_and_in_order(instrument_id):
    assert [clause.number for clause in clauses(instrument_id)] == numbers(instrument_id)
    assert len(set(numbers(instrument_id))) == len(numbers(instrument_id))


@pytest.mark.parametrize(
    ("instrument_id", "count", "first", "last"),
    [
        ("canberra-poker-2016", 131, "s 1", "17.25"),
        ("canberra-poker-1997", 70, "1", "16.4"),
        ("canberra-manila-2005", 155, "1.1", "20.21"),
        ("seven-card-stud-2005", 155, "1.1", "20.21"),
        ("ultimate-texas-holdem-2025", 121, "s 1", "16.24"),
    ],
)
def test_the_clause_numbers_are_those_of_the_law(instrument_id, count, first, last):
    found = numbers(instrument_id)
    assert (len(found), found[0], found[-1]) == (count, first, last)
    sections = {}
    for number in found:
        match = re.fullmatch(r"(\d+)\.(\d+)(?:#\d)?", number)
        if match:
            sections.setdefault(int(match[1]), []).append(int(match[2]))
    for counted in sections.values():
        assert sorted(set(counted)) == list(range(1, max(counted) + 1)), "a clause number is missing in between"


@pytest.mark.parametrize("doubled", ["10.7#1", "10.7#2"])
def test_clauses_with_the_same_number_in_the_law_have_distinct_numbers(doubled):
    assert doubled in numbers("canberra-poker-2016")


@pytest.mark.parametrize(("instrument_id", "clause"), EVERY_CLAUSE)
def test_a_clause_has_one_line_and_a_responsible_part(instrument_id, clause):
    assert 10 <= len(clause.asks) <= 120
    assert "\n" not in clause.asks
    match clause.by:
        case By.CODE:
            assert clause.where
            assert clause.tests
        case By.OPERATOR:
            assert clause.control
        case By.NOT_APPLICABLE:
            assert clause.reason


@pytest.mark.parametrize(("instrument_id", "clause"), EVERY_CLAUSE)
def test_functions_and_tests_that_a_clause_names_exist(instrument_id, clause):
    for where in clause.where:
        assert callable(resolve(where))
    for test in clause.tests:
        path, _, name = test.partition("::")
        assert name in functions_in(path), f"{path} has no {name}"


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        ({"number": "1.1", "asks": "Something.", "by": "no such part"}, "`by` is one of"),
        ({"number": "1.1", "asks": "Something.", "by": "code"}, "has the keys"),
        ({"number": "1.1", "asks": "Something.", "by": "operator", "control": "x", "more": "y"}, "has the keys"),
    ],
)
def test_a_register_with_a_wrong_or_missing_key_is_refused_by_name(entry, complaint):
    with pytest.raises(RegisterError, match=complaint) as refusal:
        _clause("some.toml", entry)
    assert "some.toml, clause 1.1" in str(refusal.value)


def test_a_function_that_does_not_exist_is_noticed():
    with pytest.raises(AttributeError):
        resolve("rules.pots:no_such_function")
    assert isinstance(clauses("canberra-poker-2016")[0], Clause)
