"""A small floor for tests: one jackpot, some tables, and short words for what dealers and operators do."""

from jackpot.core.commands import (
    Actor,
    Approve,
    CloseWagers,
    Confirm,
    Correct,
    CreateJackpot,
    Declare,
    Fold,
    LinkTable,
    OpenRound,
    PlaceWager,
    ProposeAdjustment,
    ProposeConfig,
    Role,
    Settle,
    VoidHand,
    VoidRound,
)
from jackpot.core.decide import decide
from jackpot.core.evolve import evolve
from jackpot.core.ledger import Account
from jackpot.core.results import Refused
from jackpot.core.state import NEW, Config
from rules.jackpot_prizes import FixedFrom

AT = "2026-11-15T09:30:00.000Z"
PAD, DEALER = Actor("pad"), Actor("dealer")
SUPERVISOR = Actor("sue", Role.SUPERVISOR)
MANAGER, OTHER_MANAGER = Actor("max", Role.MANAGER), Actor("mia", Role.MANAGER)
AUDITOR = Actor("ada", Role.AUDITOR)

ROYALS = [tuple(f"{rank}{suit}" for rank in "AKQJT") for suit in "shdc"]
STRAIGHT_FLUSHES = [tuple(f"{rank}{suit}" for rank in "98765") for suit in "shdc"]
FLUSH = ("Kh", "Jh", "4h", "3h", "2h")
NOTHING = ("Kd", "Jc", "4s", "3s", "2s")


def config(**changes):
    default = {
        "version": 1,
        "wager_cents": 100,
        "jackpot_bps": 7_000,
        "reserve_bps": 3_000,
        "reset_cents": 0,
        "fixed_prizes_from": FixedFrom.RESERVE,
        "confirm": ("royal_flush", "straight_flush"),
    }
    return Config(**(default | changes))


class Floor:
    """The state after everything that was asked, and every event that came of it."""

    def __init__(
        self, jackpot=5_000_000, reserve=2_000_000, rules="canberra-poker-2016", tables=("t1", "t2"), **changes
    ):
        self.jackpot, self.events, self.ids = NEW, [], 0
        self.ask(CreateJackpot(AT, MANAGER, "main", rules, config(**changes), "mia", jackpot, reserve))
        for table in tables:
            self.ask(LinkTable(AT, MANAGER, table, 7))

    def ask(self, command):
        return self.decision(command).answer

    def decision(self, command):
        """Decide a command and evolve the state by its events."""
        decision = decide(self.jackpot, command)
        for event in decision.events:
            self.jackpot = evolve(self.jackpot, event)
            self.events.append(event)
        return decision

    def refusal(self, command):
        try:
            self.ask(command)
        except Refused as refused:
            return refused.code.value
        raise AssertionError(f"{command} was not refused")

    def round(self, table="t1"):
        return self.jackpot.tables[table].number

    def open(self, table="t1"):
        return self.ask(OpenRound(AT, DEALER, table))["round"]

    def wager(self, *boxes, table="t1", amount=None):
        for box in boxes:
            self.ask(self.wagered(box, table=table, amount=amount))

    def wagered(self, box, *, table="t1", amount=None, wager_id=None, ante=True, number=None, earlier=None):
        self.ids += 1
        cents = self.jackpot.config.wager_cents if amount is None else amount
        played = self.round(table) if number is None else number
        return PlaceWager(AT, PAD, table, box, wager_id or f"w{self.ids}", played, cents, ante, earlier)

    def close(self, table="t1"):
        return self.ask(CloseWagers(AT, DEALER, table, self.round(table)))

    def fold(self, box, table="t1"):
        return self.ask(Fold(AT, DEALER, table, self.round(table), box))

    def declare(self, box, cards, table="t1", displayed=None):
        return self.ask(Declare(AT, DEALER, table, self.round(table), box, tuple(cards), displayed))

    def settle(self, table="t1"):
        return self.ask(Settle(AT, DEALER, table, self.round(table)))["payouts"]

    def confirm(self, table="t1"):
        return self.ask(Confirm(AT, SUPERVISOR, table, self.round(table)))

    def correct(self, hands, table="t1"):
        return self.ask(Correct(AT, SUPERVISOR, table, self.round(table), hands, "misread"))["payouts"]

    def void(self, table="t1", actor=SUPERVISOR):
        return self.ask(VoidRound(AT, actor, table, self.round(table), "shoe jammed"))["returned_cents"]

    def void_hand(self, box, table="t1", actor=SUPERVISOR):
        return self.ask(VoidHand(AT, actor, table, self.round(table), box, "misdeal"))["returned_cents"]

    def play(self, hands, table="t1", folded=()):
        """A whole round: wagers of all boxes, declarations, settlement; says the payouts."""
        self.open(table)
        self.wager(*hands, table=table)
        self.close(table)
        for box in folded:
            self.fold(box, table)
        for box, cards in hands.items():
            if cards and box not in folded:
                self.declare(box, cards, table)
        return self.settle(table)

    def propose(self, **changes):
        return self.ask(ProposeConfig(AT, MANAGER, config(**changes), "season"))["proposal"]

    def adjust(self, source, target, cents, actor=MANAGER):
        return self.ask(ProposeAdjustment(AT, actor, Account(source), Account(target), cents, "count"))["proposal"]

    def approve(self, proposal, actor=OTHER_MANAGER):
        return self.ask(Approve(AT, actor, proposal))

    def holds(self, account):
        return self.jackpot.balances[Account(account)]

    @property
    def pools(self):
        return self.holds("jackpot"), self.holds("reserve")
