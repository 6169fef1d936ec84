"""Read and write the state tables: the state of a jackpot and of the site in parts, as read at start-up."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import Connection, select

from jackpot.core.ledger import Account
from jackpot.core.site.state import Site, site_from_plain
from jackpot.core.snapshot import WHOLE, jackpot_of
from jackpot.core.state import NEW, Jackpot
from jackpot.store import tables
from jackpot.store.hash_chain import SITE, canonical
from jackpot.store.idempotency import wagers_of_rounds
from jackpot.store.write_connection import WriteConnection

_REPLACE_BALANCE: Final = "ON CONFLICT (chain, account) DO UPDATE SET balance_cents = excluded.balance_cents"
_REPLACE_STATE: Final = "ON CONFLICT (chain, part) DO UPDATE SET body = excluded.body"

StateRow = tuple[str, str, str]


def read_jackpot(connection: Connection, chain: str) -> Jackpot:
    """Read a jackpot's state; a chain without events gives the state of a new jackpot."""
    parts = connection.execute(select(tables.states.c.part, tables.states.c.body).where(tables.states.c.chain == chain))
    plain = {part: json.loads(body) for part, body in parts}
    if not plain:
        return NEW
    held = connection.execute(
        select(tables.balances.c.account, tables.balances.c.balance_cents).where(tables.balances.c.chain == chain)
    )
    balances = dict.fromkeys(Account, 0) | {Account(a): cents for a, cents in held}
    rounds = {part["id"]: part["round"]["number"] for name, part in plain.items() if name != WHOLE and part["round"]}
    return jackpot_of(plain, balances, wagers_of_rounds(connection, chain, rounds))


def read_site(connection: Connection) -> Site:
    """Read the site's state."""
    body = connection.execute(select(tables.states.c.body).where(tables.states.c.chain == SITE)).scalar_one_or_none()
    return site_from_plain(json.loads(body)) if body else Site()


def write_balances(connection: WriteConnection, chain: str, before: Jackpot, after: Jackpot) -> None:
    """Write the balances that changed; a new chain gets a row for each account."""
    changed = [
        (chain, account.value, cents)
        for account, cents in after.balances.items()
        if not before.id or cents != before.balances[account]
    ]
    connection.insert(tables.balances, changed, _REPLACE_BALANCE)


def write_states(connection: WriteConnection, rows: list[StateRow]) -> None:
    """Write the parts of a state that changed."""
    connection.insert(tables.states, rows, _REPLACE_STATE)


def state_rows(chain: str, parts: Mapping[str, Any]) -> list[StateRow]:
    """Return the parts of a state as rows."""
    return [(chain, part, canonical(plain)) for part, plain in parts.items()]
