"""What a start tells supervisors: which reserves are below a floor that was set or raised since the last one."""

from __future__ import annotations

import json

from sqlalchemy import Connection, select

from jackpot.clock import now
from jackpot.core.notices import NoticeTarget, low_reserve_notice
from jackpot.core.site.events import SiteEventType
from jackpot.store import outbox, tables
from jackpot.store.database import Database
from jackpot.store.event_lookup import IS_NOT_WAGER
from jackpot.store.hash_chain import SITE
from jackpot.store.queries import jackpot_ids
from jackpot.store.state_tables import read_jackpot


def tell_low_reserves(database: Database, notified: NoticeTarget) -> None:
    """Put a notice for each jackpot whose reserve a new floor finds too low; this comes before a start is recorded."""
    with database.reader() as connection:
        before = _floor_before(connection)
        heads = dict(connection.execute(select(tables.chains.c.chain, tables.chains.c.seq)).all())
        jackpots = [(name, read_jackpot(connection, name)) for name in jackpot_ids(connection)]
    for name, jackpot in jackpots:
        notice = low_reserve_notice(jackpot, now(), before, notified.reserve_floor_cents)
        if notice is not None:
            outbox.put(database, notified.site, name, heads[name], notice)


def _floor_before(connection: Connection) -> int:
    """The floor at the last start that was recorded; 0 where none was, or nobody was told."""
    e = tables.events.c
    starts = select(e.data).where(e.chain == SITE, e.type == SiteEventType.SOFTWARE_STARTED.value, IS_NOT_WAGER)
    last = connection.execute(starts.order_by(e.seq.desc()).limit(1)).scalar_one_or_none()
    return int(json.loads(last).get("reserve_floor_cents", 0)) if last else 0
