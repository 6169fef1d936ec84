"""A small floor for tests: one jackpot, some tables, and short methods for the acts of dealers and operators."""

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
OTHER_NOTHING = ("Qd", "Tc", "4d", "3c", "2c")
FULL_HOUSE = ("6c", "6h", "6d", "5c", "5d")
DEAD_MANS_HAND = ("As", "Ad", "8s", "8d", "2c")

ALL_TO_JACKPOT = {"jackpot_bps": 10_000, "reserve_bps": 0}
THIRDS = {"jackpot_bps": 6_667, "reserve_bps": 3_333}
BOOMERANG = "canberra-poker-1997"


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
    """The state after all executed commands, and every event of them."""

    def __init__(
        self, jackpot=5_000_000, reserve=2_000_000, rules="canberra-poker-2016", tables=("t1", "t2"), **changes
    ):
        self.jackpot, self.events, self.ids = NEW, [], 0
        self.execute(CreateJackpot(AT, MANAGER, "main", rules, config(**changes), "mia", jackpot, reserve))
        for table in tables:
            self.execute(LinkTable(AT, MANAGER, table, 7))

    def execute(self, command):
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
            self.execute(command)
        except Refused as refused:
            return refused.code.value
        raise AssertionError(f"{command} was not refused")

    def round(self, table="t1"):
        return self.jackpot.tables[table].number

    def open(self, table="t1"):
        return self.execute(OpenRound(AT, DEALER, table))["round"]

    def wager(self, *boxes, table="t1", amount=None):
        for box in boxes:
            self.execute(self.wagered(box, table=table, amount=amount))

    def wagered(self, box, *, table="t1", amount=None, wager_id=None, ante=True, number=None, earlier=None):
        self.ids += 1
        cents = self.jackpot.config.wager_cents if amount is None else amount
        played = self.round(table) if number is None else number
        return PlaceWager(AT, PAD, table, box, wager_id or f"w{self.ids}", played, cents, ante, earlier)

    def close(self, table="t1"):
        return self.execute(CloseWagers(AT, DEALER, table, self.round(table)))

    def fold(self, box, table="t1"):
        return self.execute(Fold(AT, DEALER, table, self.round(table), box))

    def declare(self, box, cards, table="t1", displayed=None):
        return self.execute(Declare(AT, DEALER, table, self.round(table), box, tuple(cards), displayed))

    def settle(self, table="t1"):
        return self.execute(Settle(AT, DEALER, table, self.round(table)))["payouts"]

    def confirm(self, table="t1"):
        return self.execute(Confirm(AT, SUPERVISOR, table, self.round(table)))

    def correct(self, hands, table="t1"):
        return self.execute(Correct(AT, SUPERVISOR, table, self.round(table), hands, "misread"))["payouts"]

    def void(self, table="t1", actor=SUPERVISOR):
        return self.execute(VoidRound(AT, actor, table, self.round(table), "shoe jammed"))["returned_cents"]

    def void_hand(self, box, table="t1", actor=SUPERVISOR):
        return self.execute(VoidHand(AT, actor, table, self.round(table), box, "misdeal"))["returned_cents"]

    def play(self, hands, table="t1", folded=()):
        """Play a whole round: wagers of all boxes, declarations, settlement; return the payouts."""
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
        return self.execute(ProposeConfig(AT, MANAGER, config(**changes), "season"))["proposal"]

    def adjust(self, source, target, cents, actor=MANAGER):
        return self.execute(ProposeAdjustment(AT, actor, Account(source), Account(target), cents, "count"))["proposal"]

    def approve(self, proposal, actor=OTHER_MANAGER):
        return self.execute(Approve(AT, actor, proposal))

    def holds(self, account):
        return self.jackpot.balances[Account(account)]

    @property
    def pools(self):
        return self.holds("jackpot"), self.holds("reserve")


def amounts(payouts):
    return {payout["box"]: payout["amount_cents"] for payout in payouts}


def phase(floor, table="t1"):
    return floor.jackpot.tables[table].phase


def correction(hands, reason="misread"):
    return Correct(AT, SUPERVISOR, "t1", 1, hands, reason)
