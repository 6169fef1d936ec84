"""Notices for supervisors: which of them follow from a batch of events. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple

from jackpot.core.events import Event, EventType
from jackpot.core.ledger import Account, Balances
from jackpot.core.state import Jackpot, PayoutStatus


class NoticeType(StrEnum):
    """Every type of notice."""

    WIN_PENDING = "win.pending"
    TABLE_SUSPENDED = "table.suspended"
    HOUSE_ADVANCED = "house.advanced"
    RESERVE_LOW = "reserve.low"
    TRAIL_WRONG = "trail.wrong"


class Notice(NamedTuple):
    """One notice: type, time, data."""

    type: NoticeType
    at: str
    data: Mapping[str, Any]


class NoticeTarget(NamedTuple):
    """The site in whose name notices are sent, and the floor of the reserve pool; 0 means no floor."""

    site: str
    reserve_floor_cents: int = 0


_SETTLES: Final = (EventType.ROUND_SETTLED, EventType.ROUND_CORRECTED)


def notices_of(
    balances: Balances, events: Sequence[Event], reserve_floor_cents: int = 0
) -> list[tuple[int, list[Notice]]]:
    """Return (index of event, its notices) for each event with notices; `balances` are those before the first event.

    A wager only adds to the pools and causes no notice, so a batch of wagers alone is skipped.
    """
    if all(event.type is EventType.WAGER_ACCEPTED for event in events):
        return []
    found = []
    reserve, owed = balances[Account.RESERVE], -balances[Account.HOUSE_ADVANCE]
    for index, event in enumerate(events):
        reserve_after = reserve + _moved(event, Account.RESERVE)
        owed_after = owed - _moved(event, Account.HOUSE_ADVANCE)
        notices = list(_table_notices(event))
        if owed_after > owed:
            data = {"advanced_cents": owed_after - owed, "owed_cents": owed_after}
            notices.append(_notice(NoticeType.HOUSE_ADVANCED, event, **data))
        if reserve >= reserve_floor_cents > reserve_after:
            notices.append(_notice(NoticeType.RESERVE_LOW, event, **_low(reserve_after, reserve_floor_cents)))
        if notices:
            found.append((index, notices))
        reserve, owed = reserve_after, owed_after
    return found


def low_reserve_notice(jackpot: Jackpot, at: str, floor_before_cents: int, reserve_floor_cents: int) -> Notice | None:
    """Return the notice of a reserve below a raised floor; one below the former floor was reported then."""
    reserve = jackpot.balances[Account.RESERVE]
    if jackpot.retired or not floor_before_cents <= reserve < reserve_floor_cents:
        return None
    data = {"table": None, "round": None, **_low(reserve, reserve_floor_cents)}
    return Notice(NoticeType.RESERVE_LOW, at, data)


def _low(reserve_cents: int, reserve_floor_cents: int) -> dict[str, int]:
    return {"reserve_cents": reserve_cents, "reserve_floor_cents": reserve_floor_cents}


def _table_notices(event: Event) -> Iterator[Notice]:
    """Yield the notices of what happened at a table: a suspension, prizes to confirm."""
    if event.type is EventType.TABLE_SUSPENDED:
        yield _notice(NoticeType.TABLE_SUSPENDED, event, **{k: event.data[k] for k in ("cause", "equipment", "note")})
    elif event.type in _SETTLES and not event.data["ends"]:
        waiting = [prize for prize in event.data["payouts"] if prize["status"] == PayoutStatus.PENDING]
        payouts = [{k: prize[k] for k in ("box", "hand", "amount_cents", "clause")} for prize in waiting]
        yield _notice(NoticeType.WIN_PENDING, event, payouts=payouts)


def _notice(kind: NoticeType, event: Event, **data: object) -> Notice:
    return Notice(kind, event.at, {"table": event.table, "round": event.round, **data})


def _moved(event: Event, account: Account) -> int:
    """Return the cents that an event adds to an account."""
    return sum(
        cents if target is account else -cents
        for source, target, cents, _ in event.transfers
        if account in (source, target)
    )
