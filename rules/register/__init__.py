"""The clause register: each numbered clause in our words, and the code or the person responsible for it.

For each instrument `numbers/<id>.txt` lists its clauses and `<id>.toml` has an entry for each. The texts of the law are
not included.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Final

from rules.errors import RulesError
from rules.instruments import find

_KEYS: Final = {
    "code": {"number", "asks", "by", "where", "tests"},
    "operator": {"number", "asks", "by", "control"},
    "not applicable": {"number", "asks", "by", "reason"},
}


class RegisterError(RulesError):
    """A register entry with a missing, unknown or wrong key."""


class By(StrEnum):
    """The part responsible for a clause."""

    CODE = "code"
    OPERATOR = "operator"
    NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause: its requirement, who is responsible, and the code and tests, a person's control, or a reason."""

    number: str
    asks: str
    by: By
    where: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    control: str = ""
    reason: str = ""


def numbers(instrument_id: str) -> list[str]:
    """Return every clause number of an instrument, in order."""
    return _text(f"numbers/{find(instrument_id).id}.txt").split("\n")[:-1]


@cache
def clauses(instrument_id: str) -> tuple[Clause, ...]:
    """Return the register of an instrument, clause by clause."""
    name = f"{find(instrument_id).id}.toml"
    entries = tomllib.loads(_text(name))["clause"]
    return tuple(_clause(name, entry) for entry in entries)


def resolve(where: str) -> object:
    """Return the function that a register names as "module:name"."""
    module, _, path = where.partition(":")
    found: object = import_module(module)
    for name in path.split("."):
        found = getattr(found, name)
    return found


def _clause(name: str, entry: Mapping[str, object]) -> Clause:
    where = f"{name}, clause {entry.get('number', '?')}"
    by = str(entry.get("by"))
    if by not in _KEYS:
        raise RegisterError(f"{where}: `by` is one of {', '.join(_KEYS)}, not {by!r}")
    if set(entry) != _KEYS[by]:
        raise RegisterError(f"{where}: an entry by {by} has the keys {', '.join(sorted(_KEYS[by]))}")
    fields = {key: tuple(value) if isinstance(value, list) else str(value) for key, value in entry.items()}
    return Clause(**{**fields, "by": By(by)})  # type: ignore[arg-type]  # the keys were checked above


def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
