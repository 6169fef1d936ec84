"""The state of the site: operators, jackpots and tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from jackpot.core.commands import Actor, Role


class Operator(NamedTuple):
    """A person with a role; of the token only its hash and its expiry are kept ("" if it never expires)."""

    name: str
    role: Role
    token_hash: str
    active: bool = True
    expires_at: str = ""

    @property
    def actor(self) -> Actor:
        """The actor of this operator's commands."""
        return Actor(self.name, self.role)

    def is_expired(self, at: str) -> bool:
        """Return True if the token has expired at this time."""
        return bool(self.expires_at) and at >= self.expires_at


class Site(NamedTuple):
    """Everything that belongs to no single jackpot.

    `waiting`: proposed managers (new, or with a lost token) and their proposers; `halves`: the hash of the half of each
    proposed manager's token that the proposer knows.
    """

    operators: Mapping[str, Operator] = {}
    jackpots: tuple[str, ...] = ()
    tables: Mapping[str, str] = {}
    waiting: Mapping[str, str] = {}
    software: str = ""
    halves: Mapping[str, str] = {}


def plain_site(site: Site) -> dict[str, Any]:
    """Return a site as plain data for JSON; unused fields are left out, as in stores that are older than the fields."""
    people = [list(o) if o.expires_at else list(o[:_BEFORE_EXPIRY]) for o in site.operators.values()]
    plain = {**site._asdict(), "operators": people, "jackpots": list(site.jackpots)}
    if not any(site.halves.values()):
        del plain["halves"]
    return plain


_BEFORE_EXPIRY: Final = Operator._fields.index("expires_at")


def site_from_plain(plain: Mapping[str, Any]) -> Site:
    """Return the site of such plain data."""
    operators = [Operator(name, Role(role), *rest) for name, role, *rest in plain["operators"]]
    named = {operator.name: operator for operator in operators}
    return Site(**{**plain, "operators": named, "jackpots": tuple(plain["jackpots"])})
