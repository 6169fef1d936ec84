"""The state of the site: operators, jackpots and tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from jackpot.core.commands import Actor, Role


class Operator(NamedTuple):
    """A person with a role; of the token only its hash is kept, and when it ends ("" for one that never does)."""

    name: str
    role: Role
    token_hash: str
    active: bool = True
    expires_at: str = ""

    @property
    def actor(self) -> Actor:
        """Who acts when this operator does."""
        return Actor(self.name, self.role)

    def is_expired(self, at: str) -> bool:
        """Whether the token is worth nothing at this moment."""
        return bool(self.expires_at) and at >= self.expires_at


class Site(NamedTuple):
    """What belongs to no single jackpot.

    `waiting`: managers to be added or to get a new token, and who proposed it; `halves`: the hash of the half of each
    one's token that the proposer was told.
    """

    operators: Mapping[str, Operator] = {}
    jackpots: tuple[str, ...] = ()
    tables: Mapping[str, str] = {}
    waiting: Mapping[str, str] = {}
    software: str = ""
    halves: Mapping[str, str] = {}


def plain_site(site: Site) -> dict[str, Any]:
    """A site ready for JSON; tokens that never end, and no halves, are written as before there were such things."""
    people = [list(o) if o.expires_at else list(o[:_BEFORE_EXPIRY]) for o in site.operators.values()]
    plain = {**site._asdict(), "operators": people, "jackpots": list(site.jackpots)}
    if not any(site.halves.values()):
        del plain["halves"]
    return plain


_BEFORE_EXPIRY: Final = Operator._fields.index("expires_at")


def site_from_plain(plain: Mapping[str, Any]) -> Site:
    """A site read back."""
    operators = [Operator(name, Role(role), *rest) for name, role, *rest in plain["operators"]]
    named = {operator.name: operator for operator in operators}
    return Site(**{**plain, "operators": named, "jackpots": tuple(plain["jackpots"])})
