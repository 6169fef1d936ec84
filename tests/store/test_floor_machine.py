"""Any floor, played at once through the pure core and both databases: the three agree to the byte and to the cent.

`Floor` asks random commands. `Model` is the core with a perfect memory, `Tables` says what the query tables must hold,
`Cashier` counts the money by its own means, and a `Shelf` is a real database with its book. JACKPOT_LONG=1 plays longer.
"""

import json
import os
from collections import Counter
from hashlib import sha256
from itertools import count
from random import Random

import psycopg
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test
from sqlalchemy import select

from jackpot.core.answers import Decision, Refused
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
    ProposeAdjustment,
    ProposeConfig,
    ReportMalfunction,
    ResumeTable,
    Role,
    SetMode,
    Settle,
    Unfold,
    VoidHand,
    VoidRound,
    Withdraw,
)
from jackpot.core.decide import decide
from jackpot.core.events import EventType
from jackpot.core.evolve import evolve
from jackpot.core.ledger import Account, Kind, Transfer
from jackpot.core.state import NEW, Config, Phase
from jackpot.store import tables
from jackpot.store.book import Book, read_jackpot
from jackpot.store.chain import GENESIS, EventRow, canonical
from jackpot.store.database import Database
from jackpot.store.errors import Fenced
from jackpot.store.rows import event_of, linked
from jackpot.store.schema import migrate
from rules.prizes import FixedFrom

LONG = os.environ.get("JACKPOT_LONG") == "1"
PLAYED = settings(
    max_examples=2_000 if LONG else 200,
    stateful_step_count=60 if LONG else 28,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)

RULES_2016, RULES_1997 = "canberra-poker-2016", "canberra-poker-1997"
BOXES = {"t1": 7, "t2": 3, "t3": 5}
PAD, DEALER, AUDITOR = Actor("pad"), Actor("dealer"), Actor("ada", Role.AUDITOR)
SUPERVISOR = Actor("sue", Role.SUPERVISOR)
MANAGER, OTHER_MANAGER = Actor("max", Role.MANAGER), Actor("mia", Role.MANAGER)
RANKS, SUITS = "AKQJT98765432", "shdc"
DECK = [rank + suit for suit in SUITS for rank in RANKS]
STRAIGHTS = ["KQJT9", "QJT98", "JT987", "T9876", "98765", "87654", "76543", "65432", "5432A"]

chain_numbers = count(1)


# What may be drawn.

boxes = st.integers(1, 7)
tables_drawn = st.sampled_from(["t1", "t1", "t1", "t1", "t2", "t2", "t2", "t3"])
drifts = st.sampled_from([0] * 10 + [-1, 1])
picks = st.integers(0, 200)
prizes = ["royal", "straight_flush", "quads", "full_house", "flush", "dead_mans", "any"]
mistakes = ["taken", "four", "double", "unknown", "joker"]
hands = st.sampled_from(prizes * 3 + mistakes)
splits = st.sampled_from([(7_000, 3_000), (6_667, 3_333), (6_667, 3_333), (10_000, 0), (0, 10_000), (1, 9_999)])
wager_cents = st.sampled_from([100, 100, 200, 333, 1])
resets = st.sampled_from([0, 0, 1_000_000, 250_000])
some_confirm = [("royal_flush", "straight_flush"), ("royal_flush",), (), ("flush", "four_of_a_kind", "royal_flush")]
confirms = st.sampled_from([*some_confirm, some_confirm[0]])
pool_cents = st.sampled_from([0, 1, 10_030, 1_050_000, 1_500_001, 5_000_000])
floor_actors = st.sampled_from([DEALER, SUPERVISOR, SUPERVISOR, SUPERVISOR, MANAGER, AUDITOR])
managers = st.sampled_from([MANAGER, OTHER_MANAGER, MANAGER, OTHER_MANAGER, SUPERVISOR])
accounts = st.sampled_from(list(Account))


@st.composite
def configs(draw):
    to_jackpot, to_reserve = draw(splits)
    payer = draw(st.sampled_from(FixedFrom))
    return Config(1, draw(wager_cents), to_jackpot, to_reserve, draw(resets), payer, draw(confirms))


def dealt(kind, free, taken):
    """A hand of this kind from the free cards, or five of them where there is none; `taken` lie at other boxes."""
    by_rank = {rank: [card for card in free if card[0] == rank] for rank in RANKS}
    match kind:
        case "royal":
            wanted = [[rank + suit for rank in "AKQJT"] for suit in SUITS]
        case "straight_flush":
            wanted = [[rank + suit for rank in ranks] for ranks in STRAIGHTS for suit in SUITS]
        case "quads":
            wanted = [[*four, *[card for card in free if card not in four][:1]] for four in by_rank.values()][::-1]
        case "full_house":
            wanted = [[*by_rank[a][:3], *by_rank[b][:2]] for a in RANKS for b in RANKS[::-1] if a != b]
        case "flush":
            wanted = [[card for card in free if card[1] == suit][:5] for suit in SUITS]
        case "dead_mans":
            fifth = [card for card in free if card[0] not in "A8"][:1]
            wanted = [[*by_rank["A"][:2], *by_rank["8"][:2], *fifth]]
        case "taken":
            wanted = [[*sorted(taken)[:1], *free[:4]]]
        case _:
            wanted = {"four": [free[:4]], "double": [[*free[:4], free[0]]], "unknown": [[*free[:4], "1s"]]}.get(
                kind, [[*free[:4], "Jk"]] if kind == "joker" else [free[:5]]
            )
    possible = kind in mistakes
    return tuple(next((h for h in wanted if possible or (len(h) == 5 and set(h) <= set(free))), free[:5]))


# The core with a perfect memory.


class Model:
    """The pure core, the rows its events must become, and what the protocol says is remembered for ever."""

    def __init__(self, chain):
        self.chain, self.jackpot, self.rows, self.meters = chain, NEW, [], [0]
        self.tables, self.cashier = Tables(), Cashier()

    def ask(self, command):
        try:
            decision = decide(self.jackpot, self._remembering(command))
        except Refused as refused:
            return refused
        for event in decision.events:
            self._take(event)
        return decision

    def wager(self, asked):
        return self.tables.wagers.get((asked.table, asked.box, asked.wager_id))

    def command(self, asked):
        return self.tables.commands.get((asked.command.table, asked.command_id))

    def _remembering(self, command):
        if type(command) is PlaceWager:
            return command._replace(earlier=self.wager(command))
        if type(command) is Identified:
            known = self.command(command)
            return command._replace(earlier=known and (known[0], known[1]))
        return command

    def _take(self, event):
        before, self.jackpot = self.jackpot, evolve(self.jackpot, event)
        head = self.rows[-1].hash if self.rows else GENESIS
        self.rows.append(linked(self.chain, len(self.rows) + 1, head, event))
        self.meters.append(self.jackpot.meter_cents)
        self.tables.take(len(self.rows), event, self.jackpot)
        self.cashier.take(before, event, self.jackpot)


class Tables:
    """What the tables for queries must hold."""

    def __init__(self):
        self.wagers, self.commands, self.rounds, self.payouts = {}, {}, {}, {}

    def take(self, seq, event, after):
        if event.type not in (EventType.TABLE_LINKED, EventType.ADJUSTMENT_PROPOSED, EventType.ADJUSTMENT_APPROVED):
            self._take_of_table(seq, event, after.tables.get(event.table))

    def _take_of_table(self, seq, event, table):
        if "command" in event.data:
            mark = event.data["command"]
            self.commands[table.id, mark["id"]] = (mark["digest"], canonical(mark["answer"]), seq)
        if table is None or table.round is None:
            return
        self.wagers |= {(table.id, wager.box, wager.wager_id): wager for wager in table.round.wagers.values()}
        self._take_round(event, table)
        self._take_payouts(seq, event, table)

    def _take_round(self, event, table):
        key = table.id, table.number
        known = self.rounds.setdefault(key, {"version": table.round.config_version, "opened": event.at, "ended": None})
        known["phase"] = table.phase
        if table.phase is Phase.IDLE and known["ended"] is None:
            known["ended"] = event.at
            known["outcome"] = "void" if event.type is EventType.ROUND_VOIDED else "played"

    def _take_payouts(self, seq, event, table):
        of_round = [key for key, row in self.payouts.items() if row[:2] == (table.id, table.number)]
        if event.type in (EventType.ROUND_CORRECTED, EventType.ROUND_VOIDED):
            for key in of_round:
                self.payouts[key] = (*self.payouts[key][:-1], "corrected")
        if event.type is EventType.PAYOUTS_CONFIRMED:
            for key in of_round:
                was = self.payouts[key]
                self.payouts[key] = (*was[:-1], "paid" if was[-1] == "pending" else was[-1])
        if event.type in (EventType.ROUND_SETTLED, EventType.ROUND_CORRECTED):
            for p in table.round.payouts:
                self.payouts[seq, p.box] = (table.id, table.number, p.order, p.hand, p.amount_cents, p.status.value)


# Money, counted by other means.


def nets(transfers):
    """What each account gained, in all."""
    moved = Counter()
    for transfer in transfers:
        moved[transfer.source] -= transfer.amount_cents
        moved[transfer.target] += transfer.amount_cents
    return moved


def minus(one, other):
    return {account: one.get(account, 0) - other.get(account, 0) for account in Account}


def helped(balances, change):
    """The balances after a change: what the jackpot pool lacks, the reserve pays, then an advance (readings 11, 13)."""
    after = {account: balances[account] + change.get(account, 0) for account in Account}
    for pool, helper in ((Account.JACKPOT, Account.RESERVE), (Account.RESERVE, Account.HOUSE_ADVANCE)):
        lacking = max(0, -after[pool])
        after[pool] += lacking
        after[helper] -= lacking
    return after


class Cashier:
    """What every wager, prize, void and correction must have moved."""

    def __init__(self):
        self.balances = Counter(dict.fromkeys(Account, 0))
        self.wagers, self.settled, self.unlocked, self.paid = {}, {}, {}, {}
        self.stakes, self.by_hand, self.split = 0, 0, {}

    def take(self, before, event, after):
        moved = nets(event.transfers)
        self.balances.update(moved)
        getattr(self, f"_{event.type}", self._nothing_moved)(before, event, after, moved)
        if event.table in after.tables and after.tables[event.table].round:
            played = after.tables[event.table].round
            paid = [payout.amount_cents for payout in played.payouts if payout.status == "paid"]
            self.paid[event.table, played.number] = sum(paid)
        self._count(after)

    def _count(self, after):
        """The invariants of every moment."""
        held = after.balances
        assert held == self.balances, "a balance is the sum of its transfers"
        assert sum(held.values()) == 0
        assert min(held[account] for account in ("jackpot", "reserve", "payable", "wagers")) >= 0
        assert after.meter_cents == held["jackpot"]
        assert held["players"] == sum(self.paid.values()) + self.by_hand - self.stakes
        played = [(table.phase, table.round) for table in after.tables.values() if table.round]
        pending = [p.amount_cents for _, played_round in played for p in played_round.payouts if p.status == "pending"]
        assert held["payable"] == sum(pending)
        waiting = [
            wager.amount_cents
            for phase, played_round in played
            for wager in played_round.wagers.values()
            if phase in ("open", "closed") and wager.status == "accepted"
        ]
        assert held["wagers"] == (sum(waiting) if after.instrument == RULES_1997 else 0)

    def _nothing_moved(self, before, event, after, moved):
        assert not event.transfers

    def _jackpot_created(self, before, event, after, moved):
        assert moved["jackpot"] + moved["reserve"] == -moved["house_advance"]

    def _wager_accepted(self, before, event, after, moved):
        key, amount = (event.table, event.data["box"], event.data["wager_id"]), event.data["amount_cents"]
        assert key not in self.wagers, "a wager is posted once"
        assert {transfer.kind for transfer in event.transfers} == {Kind.CONTRIBUTION}
        self.wagers[key] = moved
        self.stakes += amount
        if after.instrument == RULES_1997:
            assert moved == Counter(players=-amount, wagers=amount)
            return
        config = after.configs[after.tables[event.table].round.config_version]
        assert moved["players"] == -amount == -moved["jackpot"] - moved["reserve"]
        total, to_jackpot = self.split.get(config.version, (0, 0))
        total, to_jackpot = total + amount, to_jackpot + moved["jackpot"]
        assert to_jackpot == total * config.jackpot_bps // 10_000, "no cent is lost or made by the split (reading 1)"
        self.split[config.version] = total, to_jackpot

    def _round_settled(self, before, event, after, moved):
        self.settled[event.table], self.unlocked[event.table] = moved, before
        played = after.tables[event.table].round
        config = after.configs[played.config_version]
        prizes = [transfer for transfer in event.transfers if transfer.kind is Kind.PRIZE]
        assert sum(transfer.amount_cents for transfer in prizes) == sum(p.amount_cents for p in played.payouts)
        assert moved["payable"] == sum(p.amount_cents for p in played.payouts if p.hand in config.confirm)
        if any(payout.hand == "royal_flush" for payout in played.payouts):
            assert after.meter_cents >= config.reset_cents
        else:
            assert Kind.RESET not in {transfer.kind for transfer in event.transfers}
        self._check_pooling(event, after, config, played)

    def _check_pooling(self, event, after, config, played):
        """Reading 16: in 1997 a loser's wager is split now, a winner's goes to the house; in 2016 it was split before."""
        pooled = nets(transfer for transfer in event.transfers if transfer.kind is Kind.CONTRIBUTION)
        if after.instrument == RULES_2016:
            assert not pooled
            return
        won = len(played.payouts) * config.wager_cents
        lost = len(played.lit) * config.wager_cents - won
        total = played.lock.split_before_cents
        share = (total + lost) * config.jackpot_bps // 10_000 - total * config.jackpot_bps // 10_000
        expected = Counter(jackpot=share, reserve=lost - share, house=won, wagers=-won - lost)
        assert +pooled == +expected
        assert -pooled == -expected

    def _round_corrected(self, before, event, after, moved):
        """Settled anew as if the true hands had been declared at the lock; the difference is posted (reading 11)."""
        played = after.tables[event.table].round
        unlocked = self.unlocked[event.table]
        table = unlocked.tables[event.table]
        truly = table._replace(round=table.round._replace(declared=played.declared))
        anew = decide(unlocked.with_table(truly), Settle(event.at, DEALER, event.table, event.round)).events[0]
        told = [p._asdict() for p in played.payouts]
        assert told == anew.data["payouts"]
        change = minus(nets(anew.transfers), self.settled[event.table])
        for account in ("players", "payable", "wagers", "house"):
            assert moved[account] == change[account]
        assert moved["jackpot"] >= change["jackpot"]
        assert moved["house_advance"] <= change["house_advance"]
        out = {pool: sum(t.amount_cents for t in (*anew.transfers, *event.transfers) if t.source == pool) for pool in Account}
        if all(before.balances[pool] >= out[pool] + max(0, -change[pool]) for pool in ("jackpot", "reserve")):
            assert minus(moved, change) == dict.fromkeys(Account, 0), "rich pools bear exactly the difference"
        self.settled[event.table] = Counter(self.settled[event.table])
        self.settled[event.table].update(moved)

    def _payouts_confirmed(self, before, event, after, moved):
        pending = [p for p in before.tables[event.table].round.payouts if p.status == "pending"]
        assert moved["players"] == -moved["payable"] == sum(p.amount_cents for p in pending)

    def _hand_voided(self, before, event, after, moved):
        """Exactly the cents that were posted go back (reading 13)."""
        posted = self.wagers[event.table, event.data["box"], event.data["wager_id"]]
        self.stakes += posted["players"]
        assert after.balances == helped(before.balances, minus({}, posted))

    def _round_voided(self, before, event, after, moved):
        """Exactly the cents that were posted go back, prizes and reset included (reading 13)."""
        played = before.tables[event.table].round
        posted = Counter(self.settled.get(event.table, {}) if played.lock else {})
        for wager in played.wagers.values():
            if wager.status == "accepted":
                posted.update(self.wagers[event.table, wager.box, wager.wager_id])
                self.stakes -= wager.amount_cents
        assert after.balances == helped(before.balances, minus({}, posted))

    def _adjustment_approved(self, before, event, after, moved):
        body = before.proposals[event.data["proposal"]].body
        assert moved == Counter({body["source"]: -body["amount_cents"], body["target"]: body["amount_cents"]})
        self.by_hand += moved["players"]


# The real databases.


class Shelf:
    """A real database with the book of one chain."""

    def __init__(self, database, chain):
        self.database, self.chain = database, chain
        self.book, self.read, self.replayed = Book.open(database, chain, "first"), [], NEW

    def restart(self):
        """The book as another controller opens it; the one before may not write any more."""
        before = self.book
        self.book = Book.open(self.database, self.chain, "next")
        with pytest.raises(Fenced):
            before.ask([ReportMalfunction("later", DEALER, "t1", "pad", "")])

    def check(self, model):
        """What the database holds after a commit."""
        assert self.book.jackpot == model.jackpot
        with self.database.reader() as connection:
            e = tables.events.c
            found = select(tables.events).where(e.chain == self.chain, e.seq > len(self.read)).order_by(e.seq)
            rows = [EventRow(*row) for row in connection.execute(found)]
            held = dict(self._all(connection, tables.balances, "account", "balance_cents"))
        self.read += rows
        assert self.read == model.rows
        for row in rows:
            self.replayed = evolve(self.replayed, event_of(row))
        assert self.replayed == model.jackpot, "replaying the stored events gives the state"
        assert held == model.jackpot.balances

    def check_tables(self, model):
        """Everything the database holds of this chain."""
        with self.database.reader() as connection:
            assert read_jackpot(connection, self.chain) == model.jackpot
            assert self._all(connection, tables.chains, "seq", "head") == [(len(model.rows), model.rows[-1].hash)]
            self._check_ledger(connection, model)
            self._check_queries(connection, model.tables)

    def _check_ledger(self, connection, model):
        moved = {}
        found = self._all(connection, tables.transfers, "seq", "n", "at", "source", "target", "amount_cents", "kind")
        for seq, n, at, *transfer in sorted(found):
            assert (n, at) == (len(moved.setdefault(seq, [])), model.rows[seq - 1].at)
            moved[seq].append(Transfer(*transfer))
        assert moved == {row.seq: list(event_of(row).transfers) for row in model.rows if row.transfers != "[]"}
        contributed = {}
        for row in model.rows:
            if row.type == "wager_accepted":
                data = json.loads(row.data)
                key = row.table_id, data["box"], data["wager_id"]
                assert key not in contributed, "a wager is posted once"
                contributed[key] = sum(transfer.amount_cents for transfer in moved[row.seq])
        assert contributed == {key: wager.amount_cents for key, wager in model.tables.wagers.items()}

    def _check_queries(self, connection, expected):
        money = ("round", "amount_cents", "jackpot_cents", "reserve_cents")
        wagers = self._all(connection, tables.wagers, "table_id", "box", "wager_id", *money, "status", "reason")
        assert {row[:3]: row[3:] for row in wagers} == {key: w[2:] for key, w in expected.wagers.items()}
        commands = self._all(connection, tables.commands, "table_id", "command_id", "digest", "answer", "seq")
        assert {row[:2]: row[2:] for row in commands} == expected.commands
        columns = ("table_id", "round", "config_version", "opened_at", "phase", "outcome", "ended_at")
        rounds = {row[:2]: row[2:] for row in self._all(connection, tables.rounds, *columns)}
        assert rounds == {
            key: (known["version"], known["opened"], known["phase"], known.get("outcome"), known["ended"])
            for key, known in expected.rounds.items()
        }
        columns = ("seq", "box", "table_id", "round", "pay_order", "hand", "amount_cents", "status")
        payouts = {row[:2]: row[2:] for row in self._all(connection, tables.payouts, *columns)}
        assert payouts == expected.payouts

    def _all(self, connection, table, *columns):
        chosen = select(*(table.c[column] for column in columns)).where(table.c.chain == self.chain)
        return [tuple(row) for row in connection.execute(chosen)]


def told(outcome):
    """How an outcome is answered: the whole of it, as plain text."""
    if isinstance(outcome, Refused):
        return "refused", outcome.code.value, outcome.message
    return "done", canonical(outcome.answer), outcome.events


# The floor.


class Floor(RuleBasedStateMachine):
    """Linked tables, their devices and their operators."""

    def __init__(self, databases):
        super().__init__()
        chain = f"floor-{next(chain_numbers)}"
        self.model, self.shelves = Model(chain), [Shelf(database, chain) for database in databases]
        self.waiting, self.room, self.sound = [], 1, True
        self.ids, self.clock = count(1), count(1)
        self.pads, self.sent, self.seed = [], [], 0

    @initialize(
        instrument=st.sampled_from([RULES_2016, RULES_2016, RULES_1997]),
        config=configs(),
        jackpot=pool_cents,
        reserve=pool_cents,
        seed=picks,
    )
    def begins(self, instrument, config, jackpot, reserve, seed):
        self.seed = seed
        created = CreateJackpot(self.now, MANAGER, self.model.chain, instrument, config, "mia", jackpot, reserve)
        with self.one_batch():
            self.ask(created)
            for table in ("t1", "t2"):
                self.ask(LinkTable(self.now, MANAGER, table, BOXES[table]))
