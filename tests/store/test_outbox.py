"""The outbox: notices are written in the transaction of their events or not at all, on both databases."""

import json

import pytest
from sqlalchemy import func, select, text

from jackpot.core.commands import Actor, CreateJackpot, LinkTable, OpenRound, ReportMalfunction, ResumeTable, Role
from jackpot.core.notices import Notice, NoticeTarget, NoticeType
from jackpot.core.site.commands import INSTALLER, AddJackpot, AddOperator
from jackpot.core.state import Config
from jackpot.engine.journal import Journal
from jackpot.engine.site_journal import SiteJournal
from jackpot.store import outbox, tables
from jackpot.store.backup import backup, restore
from jackpot.store.database import Database
from jackpot.store.errors import StoreError
from jackpot.store.signed_notes import Signer
from rules.jackpot_prizes import FixedFrom

AT = "2026-11-15T09:30:0{}.000Z"
MANAGER, DEALER = Actor("max", Role.MANAGER), Actor("dealer")
CONFIG = Config(1, 200, 7_000, 3_000, 0, FixedFrom.RESERVE, ())
TABLES = ("t1", "t2", "t3")


def opened(database, notified):
    journal = Journal.open(database, "main", "test", notice_target=notified)
    created = CreateJackpot(AT.format(0), MANAGER, "main", "canberra-poker-2016", CONFIG, "mia", 1_000_000, 2_000_000)
    journal.execute([created, *(LinkTable(AT.format(0), MANAGER, table, 7) for table in TABLES)])
    return journal


def malfunction(table, second):
    return ReportMalfunction(AT.format(second), DEALER, table, "pad 2", f"dark {second}")


def everything(database):
    found, last = [], None
    while page := outbox.waiting(database, last):
        found += page
        last = page[-1]
    return found


def test_a_notice_is_stored_with_its_event_and_names_it(database):
    journal = opened(database, NoticeTarget("casino"))
    (advance,) = everything(database)  # the opening advance
    journal.execute([malfunction("t1", 1)])
    found = [notice for notice in everything(database) if notice.id != advance.id]
    assert [(notice.type, notice.at, notice.chain) for notice in found] == [("table.suspended", AT.format(1), "main")]
    body = json.loads(found[0].body)
    assert (body["type"], body["timestamp"]) == ("table.suspended", AT.format(1))
    assert body["data"] == {
        "site": "casino", "jackpot": "main", "seq": journal.lease.head.seq, "table": "t1", "round": 0,
        "cause": "dealer_report", "equipment": "pad 2", "note": "dark 1",
    }  # fmt: skip
    assert found[0].id.startswith(f"msg_{journal.lease.head.hash.hex()[:40]}")
    assert journal.notices_written == 2


def test_the_event_and_its_notice_are_written_together_or_not_at_all(database):
    journal = opened(database, NoticeTarget("casino"))
    before = len(everything(database))
    with database.transaction() as connection:
        connection.execute(text("ALTER TABLE outbox RENAME TO elsewhere"))
    with pytest.raises(StoreError):
        journal.execute([malfunction("t1", 1)])
    with database.transaction() as connection:
        connection.execute(text("ALTER TABLE elsewhere RENAME TO outbox"))
    assert len(everything(database)) == before
    journal.execute([malfunction("t1", 1)])
    with database.reader() as connection:
        events = select(func.count()).where(tables.events.c.type == "table_suspended")
        assert connection.execute(events).scalar() == 1
    assert len(everything(database)) == before + 1


def test_without_a_target_no_notice_is_stored(database):
    journal = opened(database, None)
    journal.execute([malfunction("t1", 1)])
    assert outbox.depth(database) == (0, None)


def test_notices_are_read_oldest_first_page_by_page_and_removed_one_by_one(database, monkeypatch):
    monkeypatch.setattr(outbox, "PAGE_SIZE", 2)
    journal = opened(database, NoticeTarget("casino"))
    outbox.remove(database, everything(database)[0].id)
    for second, table in [(4, "t2"), (4, "t1"), (5, "t3")]:
        journal.execute([malfunction(table, second)])
    outbox.put(database, "casino", "main", 99, Notice(NoticeType.TRAIL_WRONG, AT.format(3), {}))
    for table in TABLES:
        journal.execute(
            [ResumeTable(AT.format(6), MANAGER, table), malfunction(table, 6), OpenRound(AT.format(7), DEALER, "t1")]
        )
    found = everything(database)
    assert [notice.at for notice in found] == [AT.format(second) for second in (3, 4, 4, 5, 6, 6, 6)]
    assert len({notice.id for notice in found}) == 7
    assert outbox.depth(database) == (7, AT.format(3))
    outbox.remove(database, found[0].id)
    assert everything(database) == found[1:]


def test_notices_that_are_too_old_or_too_many_are_discarded(database):
    for second in range(6):
        outbox.put(database, "casino", "main", second, Notice(NoticeType.TRAIL_WRONG, AT.format(second), {}))
    assert outbox.discard_old(database, AT.format(2), 3) == 3
    assert [notice.at for notice in everything(database)] == [AT.format(second) for second in (3, 4, 5)]


def test_the_same_notice_is_stored_once(database):
    for second in range(2):
        found = Notice(NoticeType.TRAIL_WRONG, AT.format(second), {"problem": "changed"})
        outbox.put(database, "casino", "main", 7, found)
    (notice,) = everything(database)
    data = json.loads(notice.body)["data"]
    assert data == {"site": "casino", "jackpot": "main", "seq": 7, "problem": "changed"}


def test_a_backup_contains_no_notices(database, tmp_path):
    signer = Signer.new("casino")
    site = SiteJournal.open(database, "test")
    site.execute(AddOperator("2026-11-15T11:00:00.000Z", INSTALLER, "max", Role.MANAGER, "hash"))
    site.execute(AddJackpot("2026-11-15T11:00:00.000Z", Actor("max", Role.MANAGER), "main"))
    journal = opened(database, NoticeTarget("casino"))
    journal.execute([malfunction("t1", 1)])
    backup(database, tmp_path / "copy.db", signer)
    copy = Database(f"sqlite:///{tmp_path / 'restored.db'}")
    restore(copy, tmp_path / "copy.db", signer.verifier)
    assert outbox.depth(copy) == (0, None)
    copy.close()
