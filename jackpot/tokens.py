"""Operators' tokens: shown once, kept only as a hash."""

from __future__ import annotations

import secrets
from hashlib import sha256
from typing import Final

from jackpot.core.results import CommandError, Refused
from jackpot.core.site.decide import joined_hash
from jackpot.core.site.state import Operator, Site

DAYS: Final = 365
"""How long a token is worth something, unless somebody says otherwise."""
MAX_DAYS: Final = 3_650
JOINT: Final = "."
"""Between the two halves of a manager's token, each of which another manager was told; no half has it in itself."""


class Expired(Refused):
    """A token that was right once."""

    def __init__(self, operator: Operator) -> None:
        super().__init__(
            CommandError.FORBIDDEN, f"the token of {operator.name} ended at {operator.expires_at}: a manager renews it"
        )


def new_token() -> str:
    """A token nobody can guess."""
    return secrets.token_urlsafe(32)


def token_hash(token: str) -> str:
    """What is kept of a token; it is random and long, so a plain hash is enough, and one of two halves for both."""
    one, joint, other = token.partition(JOINT)
    return joined_hash(_hash(one), _hash(other)) if joint else _hash(token)


def _hash(text: str) -> str:
    return sha256(text.encode(errors="surrogateescape")).hexdigest()


def operator_of(site: Site, token: str, at: str) -> Operator:
    """The operator a token belongs to at this moment."""
    hashed = token_hash(token)
    for operator in site.operators.values():
        if operator.active and secrets.compare_digest(operator.token_hash, hashed):
            if operator.is_expired(at):
                raise Expired(operator)
            return operator
    raise Refused(
        CommandError.FORBIDDEN, "this token belongs to no active operator: give one with --token or JACKPOT_TOKEN"
    )
