"""ARCHITECTURE.md is true: each file and function that it names exists, and every package is in its table."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "ARCHITECTURE.md").read_text()
CODE = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"[\w./]+\.(py|md)")
NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)?")


def names_in(path):
    """Every function, class and method of a module, methods as Class.method."""
    found = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            methods = [part for part in node.body if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef)]
            found |= {f"{node.name}.{part.name}" for part in methods}
    return found


def all_names():
    """Every function, class and method of the product, with the commands that walks mention."""
    found = set()
    for top in ("jackpot", "rules", "hardware_sim"):
        for path in (ROOT / top).rglob("*.py"):
            found |= names_in(path)
    return found


def walks():
    """Each step of each walk: the heading, and the text of the step."""
    section = TEXT.partition("## Three walks")[2].partition("\n## ")[0]
    for walk in section.split("### ")[1:]:
        heading, _, steps = walk.partition("\n")
        for number, step in enumerate(re.split(r"^\d+\. ", steps, flags=re.MULTILINE)[1:], 1):
            yield pytest.param(step, id=f"{heading}, step {number}")


@pytest.mark.parametrize("step", list(walks()))
def test_a_step_names_files_and_functions_that_exist(step):
    path, named = None, 0
    for code in CODE.findall(step):
        if PATH.fullmatch(code):
            path = ROOT / code
            assert path.is_file(), code
        elif path is not None and code in names_in(path):
            named += 1
        else:
            assert NAME.fullmatch(code), code
            assert code in all_names(), f"{code} is in no module"
    assert named or path is None


def test_there_are_three_walks():
    headings = re.findall(r"^### (.*)$", TEXT.partition("## Three walks")[2], flags=re.MULTILINE)
    assert [heading.split(",")[0] for heading in headings] == ["A wager", "A confirmed win", "A meter update"]


def test_every_file_that_is_named_exists():
    for code in CODE.findall(TEXT):
        if PATH.fullmatch(code) or code.endswith("/"):
            assert (ROOT / code).exists(), code


def test_every_package_is_in_the_table():
    table = TEXT.partition("## Packages")[2].partition("\n## ")[0]
    packages = {path.parent.relative_to(ROOT).as_posix() for path in (ROOT / "jackpot").glob("*/__init__.py")}
    for package in {*packages, "rules", "migrations", "hardware_sim"}:
        assert f"| `{package}` |" in table, package


def test_the_phases_of_a_batch_are_methods_in_the_stated_order():
    phases = [phase.replace(" ", "_") for phase in re.findall(r"^\d\. \*\*([a-z ]+)\*\*", TEXT, flags=re.MULTILINE)]
    assert phases == ["collect", "look_up_ids", "decide", "stage", "commit", "deliver"]
    source = (ROOT / "jackpot" / "engine" / "writer.py").read_text()
    source = source.partition("# The phases of a batch, in order.")[2]
    positions = [min(found.start() for found in re.finditer(rf"\b_?{phase}\(", source)) for phase in phases[:1]]
    for phase in phases[1:]:
        later = [found.start() for found in re.finditer(rf"\b_?{phase}\(", source) if found.start() > positions[-1]]
        assert later, phase
        positions.append(later[0])
