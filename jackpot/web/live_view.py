"""What the web knows of the running floor, live: each jackpot's named fragments, rendered once a change for all."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from enum import StrEnum
from typing import Any, Final, NamedTuple

from jackpot.core.events import Event, EventType
from jackpot.core.ledger import Account
from jackpot.core.state import Jackpot, Table
from jackpot.engine.committed_state import CommittedState, NumberedEvents, Position
from jackpot.engine.devices import Pads
from jackpot.engine.service import JackpotService
from jackpot.store import queries
from jackpot.store.database import Database

BETWEEN_RENDERS_SECONDS: Final = 0.25
MAX_WINS: Final = 20

Plain = dict[str, Any]
_encode: Final = json.JSONEncoder(separators=(",", ":")).encode


class Subject(StrEnum):
    """What a fragment can be about; one that depends on a subject is rendered anew after the subject changed."""

    ANYTHING = "anything"
    """Every event: it moves the mark (epoch and seq)."""
    WINS = "wins"
    CONFIG = "config"
    """The approved configuration, proposals, retirement."""
    TABLES = "tables"
    """Any table, by anything but a wager."""
    LAMPS = "lamps"
    """Any table, by anything: wagers come thousands a second, and only lamps and money change with them."""
    STATUS = "status"
    """The store and the broker."""


_ABOUT: Final = {
    EventType.ROUND_SETTLED: Subject.WINS,
    EventType.ROUND_CORRECTED: Subject.WINS,
    EventType.ROUND_VOIDED: Subject.WINS,
    EventType.PAYOUTS_CONFIRMED: Subject.WINS,
    EventType.CONFIG_PROPOSED: Subject.CONFIG,
    EventType.CONFIG_APPROVED: Subject.CONFIG,
    EventType.ADJUSTMENT_PROPOSED: Subject.CONFIG,
    EventType.ADJUSTMENT_APPROVED: Subject.CONFIG,
    EventType.RETIREMENT_PROPOSED: Subject.CONFIG,
    EventType.JACKPOT_RETIRED: Subject.CONFIG,
    EventType.PROPOSAL_WITHDRAWN: Subject.CONFIG,
}

_REASONS: Final = {
    EventType.ROUND_SETTLED: "win",
    EventType.HAND_VOIDED: "void",
    EventType.ROUND_VOIDED: "void",
    EventType.ROUND_CORRECTED: "correction",
    EventType.ADJUSTMENT_APPROVED: "adjustment",
    EventType.JACKPOT_RETIRED: "adjustment",
}
"""Why the meter may fall."""


class Fall(NamedTuple):
    """The last time money left the jackpot pool: why, and at which event."""

    reason: str
    seq: int


class Win(NamedTuple):
    """A prize, and where it stands; `seq` is the settlement's that computed it."""

    seq: int
    at: str
    table: str
    round: int
    box: int
    hand: str
    amount_cents: int
    status: str


class _Part:
    """One fragment: how it is made, and what it was when it was last made."""

    __slots__ = ("kind", "made_at", "name", "render", "text", "version", "wire")

    def __init__(self, name: str, render: Callable[[], object]) -> None:
        self.name = name
        self.kind = name.partition(":")[0]
        self.render = render
        self.made_at = -BETWEEN_RENDERS_SECONDS
        self.text = ""
        self.version = 0
        self.wire = b""


class JackpotView:
    """What is live of one jackpot; renderers read it, subscribers ask it for news."""

    def __init__(self, service: JackpotService, run: str) -> None:
        self._service = service
        self._run = run
        self._version = 0
        self._parts: dict[str, dict[str, _Part]] = {}
        """By kind, those that changed last at the end: hundreds look, and each has seen nearly all of it."""
        self._stale: dict[str, dict[str, _Part]] = {}
        self._about: dict[str, list[_Part]] = {}
        self._of_tables: list[tuple[str, Callable[[JackpotView, Table], object]]] = []
        self._wins: dict[tuple[int, int], Win] = {}
        self.fall: Fall | None = None
        service.committed.subscribe(self)

    # What renderers read.

    @property
    def id(self) -> str:
        """The jackpot's id."""
        return self._service.id

    @property
    def jackpot(self) -> Jackpot:
        """The state that was last committed."""
        return self._service.committed.jackpot

    @property
    def position(self) -> Position:
        """The position of that state."""
        return self._service.committed.position

    @property
    def committed(self) -> CommittedState:
        """The committed state itself."""
        return self._service.committed

    @property
    def store_failed(self) -> bool:
        """Whether the store does not answer."""
        return self._service.committed.store_failed

    @property
    def connected(self) -> bool:
        """Whether the broker, and so the floor, is reached."""
        return self._service.committed.broker_connected

    @property
    def pads(self) -> Pads:
        """What is known of pads and dealer terminals."""
        return self._service.equipment.pads

    @property
    def wins(self) -> list[Win]:
        """The newest prizes, the newest first."""
        return [self._wins[key] for key in sorted(self._wins, reverse=True)]

    # What it shows.

    def add(self, name: str, render: Callable[[JackpotView], object], about: Collection[str]) -> None:
        """Have a fragment, rendered anew after any of these subjects changed: a `Subject`, or `table:t1`.

        What is rendered is plain JSON: a text of HTML, or a value.
        """
        self._add(name, lambda: render(self), about)

    def add_for_tables(self, kind: str, render: Callable[[JackpotView, Table], object]) -> None:
        """Have a fragment for each table, named `kind:t1`, rendered anew after anything but a wager.

        It is null for a table that was removed.
        """
        self._of_tables.append((kind, render))
        for table in self.jackpot.tables:
            self._add_of_table(kind, table, render)

    def _add_of_table(self, kind: str, table: str, render: Callable[[JackpotView, Table], object]) -> None:
        def rendered() -> object:
            found = self.jackpot.tables[table]
            return None if found.unlinked else render(self, found)

        self._add(f"{kind}:{table}", rendered, (table_subject(table), Subject.STATUS, Subject.CONFIG))

    def _add(self, name: str, render: Callable[[], object], about: Collection[str]) -> None:
        part = _Part(name, render)
        self._parts.setdefault(part.kind, {})[name] = part
        self._stale.setdefault(part.kind, {})[name] = part
        for subject in about:
            self._about.setdefault(subject, []).append(part)

    # What happens.

    def load(self, database: Database) -> None:
        """What happened before this controller began."""
        with database.reader() as connection:
            fall = queries.last_fall(connection, self.id)
            rows = queries.wins(connection, queries.Page(self.id, limit=MAX_WINS))
        if fall is not None:
            self.fall = Fall(_REASONS[EventType(fall["type"])], fall["seq"])
        for row in rows:
            self._keep(Win(*(row[column] for column in _WIN_COLUMNS)))

    def on_commit(self, events: NumberedEvents) -> None:
        """Thousands of wagers a second come this way: they only mark what is stale."""
        changed: set[str] = {Subject.ANYTHING, Subject.LAMPS}
        for seq, event in events:
            if event.type is not EventType.WAGER_ACCEPTED:
                self._take(seq, event, changed)
        self._touch(changed)

    def _take(self, seq: int, event: Event, changed: set[str]) -> None:
        if event.table is not None:
            changed |= {table_subject(event.table), Subject.TABLES}
        subject = _ABOUT.get(event.type)
        if subject is not None:
            changed.add(subject)
        if any(transfer.source is Account.JACKPOT for transfer in event.transfers):
            self.fall = Fall(_REASONS[event.type], seq)
        if subject is Subject.WINS:
            self._take_wins(seq, event)
        elif event.type is EventType.TABLE_LINKED and event.table is not None:
            for kind, render in self._of_tables:
                if f"{kind}:{event.table}" not in self._parts.get(kind, {}):
                    self._add_of_table(kind, event.table, render)

    def _take_wins(self, seq: int, event: Event) -> None:
        """A settlement's prizes come; what follows confirms them all, or has them corrected."""
        if event.type is not EventType.ROUND_SETTLED:
            status = "paid" if event.type is EventType.PAYOUTS_CONFIRMED else "corrected"
            for key, win in self._wins.items():
                if (win.table, win.round) == (event.table, event.round) and win.status != "corrected":
                    self._wins[key] = win._replace(status=status)
        for prize in event.data.get("payouts", ()):
            told = prize["box"], prize["hand"], prize["amount_cents"], str(prize["status"])
            self._keep(Win(seq, event.at, event.table or "", event.round or 0, *told))

    def _keep(self, win: Win) -> None:
        self._wins[win.seq, win.box] = win
        if len(self._wins) > MAX_WINS:
            del self._wins[min(self._wins)]

    def on_status(self, table: str | None) -> None:
        """Mark as stale what shows the store, the broker, or a table's devices."""
        self._touch((Subject.STATUS,) if table is None else (table_subject(table), Subject.TABLES, Subject.LAMPS))

    def _touch(self, subjects: Iterable[str]) -> None:
        for subject in subjects:
            for part in self._about.get(subject, ()):
                self._stale[part.kind][part.name] = part

    # What subscribers ask.

    def news(self, since: int, kinds: Collection[str]) -> tuple[int, list[bytes]]:
        """The fragments of these kinds that changed after a version, ready to be sent, and the version now."""
        at = time.monotonic()
        for kind in kinds:
            for part in list(self._stale.get(kind, {}).values()):
                if at - part.made_at >= BETWEEN_RENDERS_SECONDS:
                    self._make(part, at)
        changed: list[tuple[int, bytes]] = []
        for kind in kinds:
            for part in reversed(self._parts.get(kind, {}).values()):
                if part.version <= since:
                    break
                changed.append((part.version, part.wire))
        return self._version, [wire for _, wire in sorted(changed)]

    def version_of(self, event_id: str | None) -> int:
        """What a subscriber has seen, by the id of the last event it got; 0 where that was not of this run."""
        run, _, version = (event_id or "").partition("-")
        return int(version) if run == self._run and version.isascii() and version.isdigit() else 0

    def _make(self, part: _Part, at: float) -> None:
        part.made_at = at
        del self._stale[part.kind][part.name]
        text = _encode({"name": part.name, "body": part.render()})
        if text != part.text:
            self._version += 1
            part.text, part.version = text, self._version
            self._parts[part.kind][part.name] = self._parts[part.kind].pop(part.name)
            part.wire = f"event: {part.kind}\nid: {self._run}-{part.version}\ndata: {text}\n\n".encode()


class LiveView:
    """Every jackpot that this process serves, as the web sees it."""

    def __init__(self, jackpots: Mapping[str, JackpotService]) -> None:
        run = f"{time.time_ns():x}"
        self.boards: dict[str, JackpotView] = {name: JackpotView(service, run) for name, service in jackpots.items()}

    def add(self, name: str, render: Callable[[JackpotView], object], about: Collection[str]) -> None:
        """Have a fragment of each jackpot; see `JackpotView.add`."""
        for board in self.boards.values():
            board.add(name, render, about)

    def add_for_tables(self, kind: str, render: Callable[[JackpotView, Table], object]) -> None:
        """Have a fragment for each table of each jackpot; see `JackpotView.add_for_tables`."""
        for board in self.boards.values():
            board.add_for_tables(kind, render)

    def load(self, database: Database) -> None:
        """What happened before this process began."""
        for board in self.boards.values():
            board.load(database)


def table_subject(table: str) -> str:
    """The subject that a table is."""
    return f"table:{table}"


_WIN_COLUMNS: Final = ("seq", "at", "table_id", "round", "box", "hand", "amount_cents", "status")
