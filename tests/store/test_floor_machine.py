"""Any floor, played at the same time in the pure core and both databases: all three agree to the byte and to the cent.

`FloorMachine` sends random commands. `Model` is the core with all ids, `ExpectedTables` are the rows that the query
tables must have, `MoneyCheck` computes the money independently, and a `StoredFloor` is a real database with its
journal. JACKPOT_LONG=1 plays ten times as many floors, and longer ones.
"""

import json
import os
from collections import Counter
from contextlib import contextmanager
from hashlib import sha256
from itertools import count
from random import Random

import psycopg
import pytest
from hypothesis import HealthCheck, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test
from sqlalchemy import select

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
from jackpot.core.results import Refused
from jackpot.core.state import NEW, Config, Phase, Table
from jackpot.engine.journal import Journal
from jackpot.store import tables
from jackpot.store.database import Database
from jackpot.store.errors import Fenced
from jackpot.store.event_rows import chained_row, event_from_row
from jackpot.store.hash_chain import GENESIS, EventRow, canonical
from jackpot.store.schema import migrate
from jackpot.store.state_tables import read_jackpot
from rules.jackpot_prizes import FixedFrom
from tests.support.postgres import new_postgres_database

LONG = os.environ.get("JACKPOT_LONG") == "1"
RUNS = 200 if LONG else 25
"""Runs of ten floors each: after that Hypothesis mostly varies floors it has tried, and new ones find more."""
RUN_SETTINGS = settings(
    max_examples=10,
    stateful_step_count=60 if LONG else 28,
    database=None,
    suppress_health_check=list(HealthCheck),
)

RULES_2016, RULES_1997 = "canberra-poker-2016", "canberra-poker-1997"
BOXES = {"t1": 7, "t2": 3, "t3": 5}
PAD, DEALER, AUDITOR = Actor("pad"), Actor("dealer"), Actor("ada", Role.AUDITOR)
SUPERVISOR = Actor("sue", Role.SUPERVISOR)
MANAGER, OTHER_MANAGER = Actor("max", Role.MANAGER), Actor("mia", Role.MANAGER)
ANY_ACTOR = (DEALER, SUPERVISOR, MANAGER, AUDITOR)
MOSTLY_SUPERVISORS = (SUPERVISOR,) * 6 + ANY_ACTOR
MOSTLY_MANAGERS = (MANAGER, OTHER_MANAGER) * 4 + ANY_ACTOR

RANKS, SUITS = "AKQJT98765432", "shdc"
DECK = [rank + suit for suit in SUITS for rank in RANKS]
STRAIGHTS = ("KQJT9", "QJT98", "JT987", "T9876", "98765", "87654", "76543", "65432", "5432A")
PRIZES = ("royal", "straight_flush", "quads", "full_house", "flush", "dead_mans")
MISTAKES = ("taken", "four", "double", "unknown", "joker")
LIKELY = ("royal", "straight_flush", *PRIZES, "any", None)

WAGERS = (100, 100, 200, 333, 1)
SPLITS = ((7_000, 3_000), (6_667, 3_333), (6_667, 3_333), (10_000, 0), (0, 10_000), (1, 9_999))
RESETS = (0, 1_000_000, 250_000)
BY_DEFAULT = ("royal_flush", "straight_flush")
CONFIRMS = (BY_DEFAULT, BY_DEFAULT, ("royal_flush",), (), ("flush", "full_house", "four_of_a_kind", *BY_DEFAULT))
POOLS = (0, 1, 10_030, 1_050_000, 1_500_001, 5_000_000)
MOVABLE = (Account.JACKPOT, Account.RESERVE, Account.HOUSE_ADVANCE, *Account)

OF_OPERATORS = (Confirm, Correct, ResumeTable, SetMode, LinkTable)
NOT_OF_A_ROUND = (OpenRound, ReportMalfunction, ResumeTable, SetMode, LinkTable)
ACTS = (*NOT_OF_A_ROUND, CloseWagers, Fold, Unfold, Declare, Settle, Confirm, Correct, VoidHand, VoidRound)
ENDINGS = (
    "settle", "settle", "settle", "correct", "correct", "confirm", "void", "another_table_wins", "repeat_a_wager",
    "repeat_a_command",
)  # fmt: skip
FLAWS = ("stale", "early", "amount", "ante", "box", "table")
CHANGES = ("round", "now", "amount", "ante", "box")
BATCHES = (1, 3, 5, 100)
NO_TABLE = Table("", 0)

chain_numbers = count(1)


def some_config(r):
    to_jackpot, to_reserve = r.choice(SPLITS)
    payer = r.choice(list(FixedFrom))
    return Config(1, r.choice(WAGERS), to_jackpot, to_reserve, r.choice(RESETS), payer, r.choice(CONFIRMS))


def dealt(kind, free, taken):
    """Return a hand of this kind from the free cards, or any five if there is none; `taken` are at other boxes."""
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
    possible = kind in MISTAKES
    return tuple(next((h for h in wanted if possible or (len(h) == 5 and set(h) <= set(free))), free[:5]))


# The core with all ids.


class Model:
    """The pure core, the expected rows of its events, and all ids."""

    def __init__(self, chain):
        self.chain, self.jackpot, self.rows, self.meters = chain, NEW, [], [0]
        self.tables, self.money = ExpectedTables(), MoneyCheck()

    def execute(self, command):
        try:
            decision = decide(self.jackpot, self._remembering(command))
        except Refused as refused:
            return refused
        for event in decision.events:
            self._take(event)
        return decision

    def wager(self, command):
        return self.tables.wagers.get((command.table, command.box, command.wager_id))

    def command(self, command):
        return self.tables.commands.get((command.command.table, command.command_id))

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
        self.rows.append(chained_row(self.chain, len(self.rows) + 1, head, event))
        self.meters.append(self.jackpot.meter_cents)
        self.tables.take(len(self.rows), event, self.jackpot)
        self.money.take(before, event, self.jackpot)


class ExpectedTables:
    """The rows that the query tables must have."""

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


# Money, computed independently.


def nets(transfers):
    """Return the net change of each account."""
    moved = Counter()
    for transfer in transfers:
        moved[transfer.source] -= transfer.amount_cents
        moved[transfer.target] += transfer.amount_cents
    return moved


def minus(one, other):
    return {account: one.get(account, 0) - other.get(account, 0) for account in Account}


def flows(transfers):
    """Return the net flow between each pair of accounts."""
    moved = Counter()
    for transfer in transfers:
        moved[transfer.source, transfer.target] += transfer.amount_cents
        moved[transfer.target, transfer.source] -= transfer.amount_cents
    return moved


def leaving(moved):
    """Return the money that each account must give, before any comes in."""
    out = Counter()
    for (source, _), cents in moved.items():
        out[source] += max(0, cents)
    return out


def gained(moved):
    """Return the net change of each account by these flows."""
    gain = Counter()
    for (_, target), cents in moved.items():
        gain[target] += cents
    return gain


def helped(balances, change):
    """Return the balances after a change; the reserve, then an advance, cover a shortfall (readings 11, 13)."""
    after = {account: balances[account] + change.get(account, 0) for account in Account}
    for pool, helper in ((Account.JACKPOT, Account.RESERVE), (Account.RESERVE, Account.HOUSE_ADVANCE)):
        lacking = max(0, -after[pool])
        after[pool] += lacking
        after[helper] -= lacking
    return after


class MoneyCheck:
    """The money that every wager, prize, void and correction must move."""

    def __init__(self):
        self.balances = Counter(dict.fromkeys(Account, 0))
        self.wagers, self.settled, self.flows, self.unlocked, self.paid = {}, {}, {}, {}, {}
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
        """Check the invariants after every event."""
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
        self.flows[event.table] = flows(event.transfers)
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
        """In 1997 a loser's wager is split now and a winner's goes to the house (reading 16); in 2016 nothing is."""
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
        """Settle again with the corrected hands on the pools as at the lock; the difference is posted (reading 11)."""
        settled = self._settled_again(before, event, after)
        assert [p._asdict() for p in after.tables[event.table].round.payouts] == settled.data["payouts"]
        change = minus(nets(settled.transfers), self.settled[event.table])
        for account in ("players", "payable", "wagers", "house"):
            assert moved[account] == change[account]
        assert moved["jackpot"] >= change["jackpot"], "the jackpot pool pays no more than in the settlement"
        assert moved["house_advance"] <= change["house_advance"], "nor is more of an advance given back"
        wanted = flows(settled.transfers)
        wanted.subtract(self.flows[event.table])
        suffice = all(before.balances[pool] >= leaving(wanted)[pool] for pool in ("jackpot", "reserve"))
        if suffice and gained(self.flows[event.table]) == self.settled[event.table]:
            assert moved == Counter(change), "pools that suffice, and have not been helped, bear exactly the difference"
        self.flows[event.table] = flows(settled.transfers)
        self.settled[event.table].update(moved)

    def _settled_again(self, before, event, after):
        """Settle on the pools as at the lock; wagers pooled since (1997) keep their split."""
        unlocked, corrected = self.unlocked[event.table], after.tables[event.table].round
        table = unlocked.tables[event.table]
        pooled = before.tables[event.table].round.pooled
        corrected_table = table._replace(round=table.round._replace(declared=corrected.declared, pooled=pooled))
        state = unlocked._replace(split_totals=before.split_totals).with_table(corrected_table)
        return decide(state, Settle(event.at, DEALER, event.table, event.round)).events[0]

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


class StoredFloor:
    """A real database with the journal of one chain."""

    def __init__(self, database, chain):
        self.database, self.chain = database, chain
        self.journal, self.read, self.replayed = Journal.open(database, chain, "first"), [], NEW

    def restart(self):
        """Open the journal as another controller; the one before may not write any more."""
        before = self.journal
        self.journal = Journal.open(self.database, self.chain, "next")
        with pytest.raises(Fenced):
            before.execute([ReportMalfunction("later", DEALER, "t1", "pad", "")])

    def check(self, model):
        """Check the rows after a commit."""
        assert self.journal.jackpot == model.jackpot
        if len(self.read) == len(model.rows):
            return
        with self.database.reader() as connection:
            e = tables.events.c
            found = select(tables.events).where(e.chain == self.chain, e.seq > len(self.read)).order_by(e.seq)
            rows = [EventRow(*row) for row in connection.execute(found)]
            held = dict(self._all(connection, tables.balances, "account", "balance_cents"))
        self.read += rows
        assert self.read == model.rows
        for row in rows:
            self.replayed = evolve(self.replayed, event_from_row(row))
        assert self.replayed == model.jackpot, "replaying the stored events gives the state"
        assert held == model.jackpot.balances

    def check_tables(self, model):
        """Check all rows of this chain."""
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
        assert moved == {row.seq: list(event_from_row(row).transfers) for row in model.rows if row.transfers != "[]"}
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


def outcome_text(outcome):
    """Return the whole outcome as plain text."""
    if isinstance(outcome, Refused):
        return "refused", outcome.code.value, outcome.message
    return "done", canonical(outcome.answer), outcome.events


# The floor.


def act(*phases):
    """Return a rule for tables in one of these phases; one number makes all its choices, so floors differ widely."""

    def made(method):
        def chosen(self, number):
            method(self, Random(f"{self.seed} {number}"))

        chosen.__name__ = method.__name__
        return precondition(lambda self: self.any(*phases))(rule(number=st.integers(0, 2**16))(chosen))

    return made


class FloorMachine(RuleBasedStateMachine):
    """Linked tables, their devices and their operators."""

    def __init__(self, databases):
        super().__init__()
        chain = f"floor-{next(chain_numbers)}"
        self.model, self.stored_floors = Model(chain), [StoredFloor(database, chain) for database in databases]
        self.waiting, self.capacity, self.size, self.sound = [], 1, 1, True
        self.ids, self.clock = count(1), count(1)
        self.pads, self.sent, self.seed = [], [], 0

    @initialize(seed=st.integers(0, 2**32))
    def a_jackpot_begins(self, seed):
        self.seed, r = seed, Random(seed)
        chosen = r.choice([RULES_2016, RULES_1997]), some_config(r), "mia", r.choice(POOLS), r.choice(POOLS)
        with self.batches_of(100):
            self.execute(CreateJackpot(self.now, MANAGER, self.model.chain, *chosen))
            for table in ("t1", "t2", "t3")[: r.choice([2, 3])]:
                self.execute(LinkTable(self.now, MANAGER, table, BOXES[table]))

    # Devices.

    @act(Phase.IDLE)
    def opens_a_round(self, r):
        self.dealer(r, OpenRound(self.now, DEALER, self.at(r, Phase.IDLE)))

    @act(Phase.OPEN)
    def boxes_wager(self, r):
        table = self.at(r, Phase.OPEN)
        with self.batches_of(r.choice(BATCHES)):
            for _ in range(r.randint(1, 5)):
                self.wager(table, r.randint(1, 7), r.choice(FLAWS) if r.random() < 0.4 else "")

    @act(*Phase)
    def pads_repeat_themselves(self, r):
        for _ in range(r.randint(1, 3)):
            self.repeat_a_wager(r)

    @act(*Phase)
    def dealers_repeat_themselves(self, r):
        for _ in range(r.randint(1, 3)):
            self.repeat_a_command(r)

    @act(Phase.OPEN)
    def closes_wagers(self, r):
        table = self.at(r, Phase.OPEN)
        dark = tuple(r.sample(range(1, 8), r.randint(0, 3)))
        self.dealer(r, CloseWagers(self.now, DEALER, table, self.number(table), dark))

    @act(Phase.CLOSED)
    def folds_or_takes_a_fold_back(self, r):
        table = self.at(r, Phase.CLOSED)
        folding = r.choice([Fold, Unfold])
        self.dealer(r, folding(self.now, DEALER, table, self.number(table), self.some_box(r, table), "left"))

    @act(Phase.CLOSED)
    def declares(self, r):
        table = self.at(r, Phase.CLOSED)
        self.declare(r, table, self.some_box(r, table), r.choice(LIKELY + MISTAKES) or "any")

    @act(Phase.CLOSED)
    def settles(self, r):
        self.settle(r, self.at(r, Phase.CLOSED))

    @act(*Phase)
    def plays_a_round(self, r):
        """Play from the present phase to declared hands, and then any acts on them."""
        table = self.at(r, *Phase)
        with self.batches_of(r.choice(BATCHES)):
            self.play(r, table)
            for ending in r.choices(ENDINGS, k=r.randint(1, 5)):
                getattr(self, ending)(r, table)

    @act(*Phase)
    def every_table_plays(self, r):
        with self.batches_of(r.choice(BATCHES)):
            for table in sorted(self.model.jackpot.tables):
                self.play(r, table)
                if r.random() < 0.5:
                    self.settle(r, table)

    # Supervisors.

    @act(Phase.PENDING)
    def confirms(self, r):
        self.confirm(r, self.at(r, Phase.PENDING), r.choice(MOSTLY_SUPERVISORS))

    @act(Phase.PENDING)
    def corrects(self, r):
        self.correct(r, self.at(r, Phase.PENDING), r.choice(MOSTLY_SUPERVISORS), r.choice(["misread"] * 7 + [" "]))

    @act(Phase.OPEN, Phase.CLOSED)
    def voids_a_hand(self, r):
        """A voided box may wager again while the round is open."""
        table = self.at(r, Phase.OPEN, Phase.CLOSED)
        box, actor = self.some_box(r, table), r.choice(MOSTLY_SUPERVISORS)
        with self.batches_of(r.choice(BATCHES)):
            self.dealer(r, VoidHand(self.now, actor, table, self.number(table), box, "misdeal"))
            if r.random() < 0.5:
                self.wager(table, box)

    @act(Phase.OPEN, Phase.CLOSED, Phase.PENDING)
    def voids_a_round(self, r):
        self.void(r, self.at(r, Phase.OPEN, Phase.CLOSED, Phase.PENDING), r.choice(MOSTLY_SUPERVISORS))

    @act(*Phase)
    def suspends_a_table(self, r):
        cause = r.choice(["dealer_report", "pad_offline", "store"])
        self.dealer(r, ReportMalfunction(self.now, DEALER, self.at(r, *Phase), "pad 3", "dark", cause))

    @act(*Phase)
    def an_actor_acts_out_of_turn(self, r):
        kind, table, box = r.choice(ACTS), r.choice(["t1", "t2", "t3", "t9"]), r.randint(0, 8)
        more = {
            Fold: (box,),
            Unfold: (box,),
            Declare: (box, self.hand(r, table, box, "any")),
            Correct: ({box: None}, "misread"),
            VoidHand: (box, "misdeal"),
            VoidRound: ("misdeal",),
            ReportMalfunction: ("pad 3", "dark"),
            SetMode: (r.random() < 0.5, r.random() < 0.5),
            LinkTable: (BOXES.get(table, 0),),
        }
        place = () if kind in NOT_OF_A_ROUND else (self.number(table) + r.choice([0, 0, 0, -1, 1]),)
        command = kind(self.now, r.choice(ANY_ACTOR), table, *place, *more.get(kind, ()))
        if kind in OF_OPERATORS:
            self.execute(command)
        else:
            self.dealer(r, command)

    # Managers.

    @act(*Phase)
    def proposes_a_configuration(self, r):
        config = some_config(r)._replace(version=r.randint(0, 3))
        if r.random() < 0.2:
            config = config._replace(jackpot_bps=config.jackpot_bps + 1)
        self.execute(ProposeConfig(self.now, r.choice(MOSTLY_MANAGERS), config, "season"))
        if r.random() < 0.5:
            self.approve(max(self.model.jackpot.proposals, default=0), OTHER_MANAGER)

    @act(*Phase)
    def proposes_to_move_money(self, r):
        source, target = r.choice(MOVABLE), r.choice(MOVABLE)
        held, owed = self.model.jackpot.balances[source], -self.model.jackpot.balances[Account.HOUSE_ADVANCE]
        everything = min(held, owed if target is Account.HOUSE_ADVANCE else held)
        cents = r.choice([everything, everything + 1, everything // 2, 333, 2_000_000])
        self.execute(ProposeAdjustment(self.now, r.choice(MOSTLY_MANAGERS), source, target, cents, "count", "t1", 1))
        if r.random() < 0.5:
            self.approve(max(self.model.jackpot.proposals, default=0), OTHER_MANAGER)

    @act(*Phase)
    def decides_on_a_proposal(self, r):
        number, actor = r.choice([*self.model.jackpot.proposals, 77]), r.choice(MOSTLY_MANAGERS)
        if r.random() < 0.3:
            self.execute(Withdraw(self.now, actor, number, "no"))
        else:
            self.approve(number, actor)

    # The controller.

    @act(*Phase)
    def the_next_commands_come_in_one_batch(self, r):
        self.flush()
        self.capacity = r.randint(2, 12)

    @act(*Phase)
    def restarts(self, r):
        self.flush()
        for stored in self.stored_floors:
            stored.restart()
            stored.check(self.model)

    def teardown(self):
        if self.sound and self.model.rows:
            self.flush()
            for stored in self.stored_floors:
                stored.check_tables(self.model)

    # Execution of commands.

    @property
    def now(self):
        ms = next(self.clock)
        return f"2026-11-15T09:{ms // 60_000:02}:{ms // 1000 % 60:02}.{ms % 1000:03}Z"

    def execute(self, command):
        """Execute a command in the model at once, in the journals when the batch is full."""
        note(str(command))
        self.sound = False
        known = self.model.command(command) if type(command) is Identified else None
        outcome = self.model.execute(command)
        if known and known[0] == command.digest:
            assert (outcome.events, canonical(outcome.answer)) == ((), known[1]), "the same answer, and acts once"
        elif known:
            assert outcome.code == "command_id_reused"
        self.sound = True
        self.waiting.append((command, outcome))
        if len(self.waiting) >= self.capacity:
            self.flush()
        return outcome

    def flush(self):
        """Execute the waiting batch in each journal, in one transaction, and compare the outcomes."""
        waiting, self.waiting, self.capacity = self.waiting, [], self.size
        if not waiting:
            return
        note(f"{len(waiting)} in one batch")
        self.sound = False
        for stored in self.stored_floors:
            outcomes = stored.journal.execute([command for command, _ in waiting])
            assert [outcome_text(outcome) for outcome in outcomes] == [outcome_text(outcome) for _, outcome in waiting]
            stored.check(self.model)
        self.sound = True

    @contextmanager
    def batches_of(self, commands):
        self.flush()
        self.size = self.capacity = commands
        yield
        self.size = 1
        self.flush()

    def dealer(self, r, command):
        """Half of the dealers' terminals give their commands an id."""
        if r.random() < 0.5:
            digest = sha256(canonical((type(command).__name__, command[2:])).encode()).hexdigest()
            command = Identified(f"c{next(self.ids)}", digest, command)
            self.sent.append(command)
        self.execute(command)

    # Present state.

    def any(self, *phases):
        return any(table.phase in phases for table in self.model.jackpot.tables.values())

    def at(self, r, *phases):
        return r.choice(sorted(table.id for table in self.model.jackpot.tables.values() if table.phase in phases))

    def table(self, table):
        return self.model.jackpot.tables.get(table, NO_TABLE)

    def number(self, table):
        return self.table(table).number

    def some_box(self, r, table):
        """Return mostly a box with a wager."""
        played = self.table(table).round
        return r.choice(played.lit if played and played.lit and r.random() < 0.9 else [0, 1, 2, 7, 8])

    # Acts.

    def play(self, r, table):
        kinds = r.choices(LIKELY, k=r.randint(1, 4))
        if self.table(table).suspended:
            self.execute(ResumeTable(self.now, SUPERVISOR, table, "mended"))
        if self.table(table).restricted:
            self.execute(SetMode(self.now, MANAGER, table, tournament=True, restricted=False))
        if self.table(table).phase is Phase.IDLE:
            self.dealer(r, OpenRound(self.now, DEALER, table))
        if self.table(table).phase is Phase.OPEN:
            for box in r.sample(range(1, self.table(table).boxes + 1), min(len(kinds), self.table(table).boxes)):
                self.wager(table, box)
            self.dealer(r, CloseWagers(self.now, DEALER, table, self.number(table)))
        if self.table(table).phase is Phase.CLOSED:
            for box, kind in zip(self.table(table).round.lit, kinds, strict=False):
                if kind:
                    self.declare(r, table, box, kind)

    def settle(self, r, table):
        self.dealer(r, Settle(self.now, DEALER, table, self.number(table)))

    def confirm(self, r, table, actor=SUPERVISOR):
        self.execute(Confirm(self.now, actor, table, self.number(table)))

    def correct(self, r, table, actor=SUPERVISOR, reason="misread"):
        played = self.table(table).round
        declared = list(played.declared) if played and played.declared and r.random() < 0.9 else [0, 1, 2, 7, 8]
        true_hands = {}
        for box in r.sample(declared, r.randint(1, min(3, len(declared)))):
            kind = r.choice([None, None, *PRIZES, "any", r.choice(MISTAKES)])
            true_hands[box] = None if kind is None else self.hand(r, table, box, kind, true_hands)
        self.execute(Correct(self.now, actor, table, self.number(table), true_hands, reason))

    def void(self, r, table, actor=SUPERVISOR):
        self.dealer(r, VoidRound(self.now, actor, table, self.number(table), "shoe jammed"))

    def another_table_wins(self, r, table):
        """Win at another table, so that the pools differ from those at the lock."""
        other = r.choice(sorted({*self.model.jackpot.tables} - {table}))
        self.play(r, other)
        self.settle(r, other)
        self.confirm(r, other)

    def approve(self, number, actor):
        proposal = self.model.jackpot.proposals.get(number)
        outcome = self.execute(Approve(self.now, actor, number))
        if proposal and proposal.by == actor.name:
            assert outcome.code == "same_person"

    def repeat_a_command(self, r, table=None):
        if self.sent:
            sent = r.choice(self.sent[-3:] + self.sent)
            sent = sent._replace(command=sent.command._replace(at=self.now))
            self.execute(sent._replace(digest="other") if r.random() < 0.2 else sent)

    def repeat_a_wager(self, r, table=None):
        """Repeat wagers, also of past rounds and with other content."""
        if not self.pads:
            return
        sent = r.choice(self.pads[-3:] + self.pads)._replace(at=self.now)
        changed = {
            "round": sent._replace(round=sent.round + 1),
            "now": sent._replace(round=self.number(sent.table)),
            "amount": sent._replace(amount_cents=sent.amount_cents + 1),
            "ante": sent._replace(ante=False),
            "box": sent._replace(box=sent.box % 7 + 1),
        }
        self.place(changed[r.choice(CHANGES)] if r.random() < 0.4 else sent)

    def wager(self, table, box, flaw=""):
        cents = self.config_of(table).wager_cents
        good = PlaceWager(self.now, PAD, table, box, f"w{next(self.ids)}", self.number(table), cents, ante=True)
        flawed = {
            "stale": good._replace(round=good.round - 1),
            "early": good._replace(round=good.round + 1),
            "amount": good._replace(amount_cents=cents + 1),
            "ante": good._replace(ante=False),
            "box": good._replace(box=8),
            "table": good._replace(table="t9"),
        }
        self.place(flawed.get(flaw, good))

    def place(self, command):
        expected = self.verdict(command)
        outcome = self.execute(command)
        self.pads.append(command)
        assert (outcome.code if isinstance(outcome, Refused) else outcome.answer["verdict"]) == expected

    def verdict(self, command):
        """Return the first reason that applies, in the order of the protocol."""
        table, known = self.table(command.table), self.model.wager(command)
        same = known and known.round == command.round and known.amount_cents == command.amount_cents and command.ante
        ladder = (
            ("unknown_box", not 1 <= command.box <= table.boxes),
            ("wager_id_reused", known and not same),
            ("returned", known and known.status == "returned"),
            ("accepted", known),
            ("table_suspended", table.suspended),
            ("tournament", table.tournament and table.restricted),
            ("no_open_round", table.phase == "idle"),
            ("stale_round", command.round != table.number),
            ("wagers_closed", table.phase != "open"),
            ("no_ante", not command.ante),
            ("wrong_amount", command.amount_cents != self.config_of(command.table).wager_cents),
            ("box_already_wagered", table.round and command.box in table.round.lit),
        )
        return next((verdict for verdict, applies in ladder if applies), "accepted")

    def config_of(self, table):
        """Return the configuration of the table's round, or of the next one."""
        jackpot, played = self.model.jackpot, self.table(table).round
        return jackpot.configs[played.config_version] if played else jackpot.config

    def declare(self, r, table, box, kind):
        displayed = None
        if self.model.jackpot.instrument == RULES_1997:
            displayed = r.choice([self.model.jackpot.meter_cents, *self.model.meters[-3:]])
        cards = self.hand(r, table, box, kind)
        self.dealer(r, Declare(self.now, DEALER, table, self.number(table), box, cards, displayed))

    def hand(self, r, table, box, kind, beside=None):
        """Return a hand from the deck of this table and round, without the cards of the other boxes."""
        played = self.table(table).round
        others = {other: hand.cards for other, hand in played.declared.items()} if played else {}
        others |= beside or {}
        taken = {card.replace("10", "T") for other, cards in others.items() if other != box for card in cards or ()}
        deck = list(DECK)
        Random(f"{self.seed} {table} {self.number(table)}").shuffle(deck)
        cards = dealt(kind, [card for card in deck if card not in taken], taken)
        return tuple(card.replace("T", "10") for card in cards) if r.random() < 0.3 else cards


@pytest.fixture(scope="module")
def databases(postgres_url, tmp_path_factory):
    """A migrated database of each kind; every run has its own chain in them."""
    url = new_postgres_database(postgres_url)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {url.rpartition('/')[2]} SET synchronous_commit = off")
    sqlite = Database(f"sqlite:///{tmp_path_factory.mktemp('floors') / 'floors.db'}")
    both = sqlite, Database(url)
    for database in both:
        migrate(database)
    yield both
    for database in both:
        database.close()


@pytest.mark.parametrize("run", range(1, RUNS + 1))
def test_any_floor_ends_equally_in_the_core_and_in_both_databases(databases, run):
    run_state_machine_as_test(lambda: FloorMachine(databases), settings=RUN_SETTINGS)
