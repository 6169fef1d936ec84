"""The bytes of events are those of 0.1.0: a day of both instruments and of a site ends in the same hashes."""

import pytest

from jackpot.core.commands import (
    Actor,
    Approve,
    CloseWagers,
    Confirm,
    Correct,
    CreateJackpot,
    Declare,
    Fold,
    Identified,
    LinkTable,
    OpenRound,
    PlaceWager,
    ProposeConfig,
    RecordShown,
    ReportMalfunction,
    ResumeTable,
    Role,
    Settle,
    VoidHand,
    VoidRound,
)
from jackpot.core.results import Decision
from jackpot.core.site.commands import INSTALLER, AddJackpot, AddOperator, AddTable
from jackpot.core.state import Config
from jackpot.engine.journal import Journal
from jackpot.engine.site_journal import SiteJournal
from rules.jackpot_prizes import FixedFrom
from tests.support.core_floor import AT, DEALER, FLUSH, MANAGER, OTHER_MANAGER, PAD, ROYALS, SUPERVISOR

STRAIGHT_FLUSH = ("9d", "8d", "7d", "6d", "5d")
DISPLAYED_CENTS = 5_000_000
HEADS = {
    "canberra-poker-2016": "803218554814b470d6e17e7e272d65677236077d53654e6813dadf82fe216db8",
    "canberra-poker-1997": "25a68c738e13042a75e5c75c0ef8ee6ea845ba128d56b4fb710bc6de05076414",
}
SITE_HEAD = "8687bd49b415a7b2d5d37b4f548f0e214625550973c3701665627e385c84e649"


def a_day(instrument):
    """Commands of every kind that a table sees: wagers, voids, prizes, a correction, a malfunction, two persons."""
    config = Config(1, 200, 6_667, 3_333, 1_000_000, FixedFrom.RESERVE, ("royal_flush", "straight_flush"))

    def wagers(number, *boxes):
        return [PlaceWager(AT, PAD, "t1", box, f"w{number}-{box}", number, 200, ante=True) for box in boxes]

    return [
        CreateJackpot(AT, MANAGER, "main", instrument, config, "mia", 5_000_001, 2_000_000),
        LinkTable(AT, MANAGER, "t1", 7),
        OpenRound(AT, DEALER, "t1"),
        *wagers(1, 1, 2, 3, 4),
        VoidHand(AT, DEALER, "t1", 1, 4, "mis\u00addeal ü"),
        CloseWagers(AT, DEALER, "t1", 1, (2,)),
        Fold(AT, DEALER, "t1", 1, 2, "folded"),
        Declare(AT, DEALER, "t1", 1, 1, ROYALS[0], DISPLAYED_CENTS),
        Declare(AT, DEALER, "t1", 1, 3, FLUSH, DISPLAYED_CENTS),
        Identified("c1", "digest", Settle(AT, DEALER, "t1", 1)),
        Correct(AT, SUPERVISOR, "t1", 1, {1: STRAIGHT_FLUSH}, "misread"),
        Confirm(AT, SUPERVISOR, "t1", 1),
        OpenRound(AT, DEALER, "t1"),
        *wagers(2, 5, 6),
        ReportMalfunction(AT, DEALER, "t1", "shoe", "jammed"),
        VoidRound(AT, SUPERVISOR, "t1", 2, "jam"),
        ResumeTable(AT, SUPERVISOR, "t1", "mended"),
        ProposeConfig(AT, MANAGER, config._replace(wager_cents=500), "season"),
        Approve(AT, OTHER_MANAGER, 1),
        RecordShown(AT, Actor("display"), "lobby", 1, 1, 1, right=False),
    ]


@pytest.mark.parametrize("instrument", HEADS)
def test_a_day_of_a_jackpot_ends_in_the_hash_of_0_1_0(database, instrument):
    journal = Journal.open(database, "main", "test")
    outcomes = journal.execute(a_day(instrument))
    assert all(isinstance(outcome, Decision) for outcome in outcomes), outcomes
    assert (journal.lease.head.seq, journal.lease.head.hash.hex()) == (24, HEADS[instrument])


def test_the_set_up_of_a_site_ends_in_the_hash_of_0_1_0(database):
    journal = SiteJournal.open(database, "test")
    journal.execute(AddOperator(AT, INSTALLER, "max", Role.MANAGER, "h1", "2027-11-15T09:30:00.000Z"))
    journal.execute(AddOperator(AT, INSTALLER, "mia", Role.MANAGER, "h2"))
    journal.execute(AddJackpot(AT, MANAGER, "main"))
    journal.execute(AddTable(AT, MANAGER, "t1", "main"))
    assert (journal.lease.head.seq, journal.lease.head.hash.hex()) == (4, SITE_HEAD)
