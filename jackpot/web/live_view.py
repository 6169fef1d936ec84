"""Live views of the running jackpots: named fragments, each rendered once per change for all subscribers."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from enum import StrEnum
from typing import Any, Final, NamedTuple

import structlog

from jackpot.core.events import Event, EventType
from jackpot.core.ledger import Account
from jackpot.core.state import Jackpot, Table
from jackpot.engine.committed_state import CommittedState, NumberedEvents, Position
from jackpot.engine.devices import Pads
from jackpot.engine.jackpots import Jackpots, JackpotSource
from jackpot.store import queries
from jackpot.store.database import Database
from jackpot.store.errors import StoreError

BETWEEN_RENDERS_SECONDS: Final = 0.25
MAX_WINS: Final = 20
RELOAD_SECONDS: Final = 1.0

Plain = dict[str, Any]
log = structlog.get_logger()
_encode: Final = json.JSONEncoder(separators=(",", ":")).encode


class Subject(StrEnum):
    """A subject that a fragment can depend on; the fragment is rendered again after the subject has changed."""

    ANYTHING = "anything"
    """Every event: each one moves the position (epoch and seq)."""
    WINS = "wins"
    CONFIG = "config"
    """The approved configuration, proposals, retirement."""
    TABLES = "tables"
    """A change of any table other than a wager."""
    LAMPS = "lamps"
    """Any change of any table; wagers come thousands a second, and only lamps and money change with them."""
    STATUS = "status"
    """The state of the store and the broker."""


_SUBJECTS: Final = {
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

_FALL_REASONS: Final = {
    EventType.ROUND_SETTLED: "win",
    EventType.HAND_VOIDED: "void",
    EventType.ROUND_VOIDED: "void",
    EventType.ROUND_CORRECTED: "correction",
    EventType.ADJUSTMENT_APPROVED: "adjustment",
    EventType.JACKPOT_RETIRED: "adjustment",
}
"""The events that can take money out of the jackpot pool, and the reason shown for each."""


class Fall(NamedTuple):
    """The last event that took money out of the jackpot pool, and its reason."""

    reason: str
    seq: int


class Win(NamedTuple):
    """A prize and its status; `seq` is that of the settlement that computed it."""

    seq: int
    at: str
    table: str
    round: int
    box: int
    hand: str
    amount_cents: int
    status: str


class _History(NamedTuple):
    """The last fall and the newest prizes, as the store has them."""

    fall: Fall | None
    wins: list[Win]


class _Fragment:
    """One fragment: its renderer, and the result of the last rendering."""

    __slots__ = ("encoded", "kind", "name", "render", "rendered_at", "text", "version")

    def __init__(self, name: str, render: Callable[[], object]) -> None:
        self.name = name
        self.kind = name.partition(":")[0]
        self.render = render
        self.rendered_at = -BETWEEN_RENDERS_SECONDS
        self.text = ""
        self.version = 0
        self.encoded = b""


class JackpotView:
    """The live view of one jackpot: renderers read its state, subscribers ask it for changed fragments."""

    def __init__(self, source: JackpotSource, run: str) -> None:
        self._source = source
        self._run = run
        self._version = 0
        self._fragments: dict[str, dict[str, _Fragment]] = {}
        """By kind, the last changed at the end: most subscribers have seen nearly all, so a lookup ends early."""
        self._stale: dict[str, dict[str, _Fragment]] = {}
        self._by_subject: dict[str, list[_Fragment]] = {}
        self._table_renderers: list[tuple[str, Callable[[JackpotView, Table], object]]] = []
        self._wins: dict[tuple[int, int], Win] = {}
        self._wins_changed = 0
        self.fall: Fall | None = None
        source.committed.subscribe(self)

    def replace_source(self, source: JackpotSource) -> None:
        """Show another source of the same jackpot from now on: this controller took it over, or lost it."""
        self._source.committed.unsubscribe(self)
        self._source = source
        source.committed.subscribe(self)
        for kind, render in self._table_renderers:
            for table in self.jackpot.tables:
                if f"{kind}:{table}" not in self._fragments.get(kind, {}):
                    self._add_for_table(kind, table, render)
        self._mark_stale(list(self._by_subject))

    # State for renderers.

    @property
    def id(self) -> str:
        """The jackpot's id."""
        return self._source.id

    @property
    def jackpot(self) -> Jackpot:
        """The state that was last committed."""
        return self._source.committed.jackpot

    @property
    def position(self) -> Position:
        """The position of that state."""
        return self._source.committed.position

    @property
    def committed(self) -> CommittedState:
        """The committed state itself."""
        return self._source.committed

    @property
    def store_failed(self) -> bool:
        """True while the store does not answer."""
        return self._source.committed.store_failed

    @property
    def connected(self) -> bool:
        """True while the broker is connected."""
        return self._source.committed.broker_connected

    @property
    def owned(self) -> bool:
        """True if this controller owns the jackpot."""
        return self._source.owned

    @property
    def has_owner(self) -> bool:
        """True if a controller that runs owns the jackpot."""
        return self._source.has_owner

    @property
    def pads(self) -> Pads:
        """The status of pads and dealer terminals."""
        return self._source.equipment.pads

    @property
    def wins(self) -> list[Win]:
        """The newest prizes, the newest first."""
        return [self._wins[key] for key in sorted(self._wins, reverse=True)]

    # Fragments.

    def add(self, name: str, render: Callable[[JackpotView], object], subjects: Collection[str]) -> None:
        """Add a fragment that is rendered again after any of these subjects changed: a `Subject`, or `table:t1`.

        `render` returns plain JSON: a text of HTML, or a value.
        """
        self._add(name, lambda: render(self), subjects)

    def add_for_tables(self, kind: str, render: Callable[[JackpotView, Table], object]) -> None:
        """Add a fragment for each table, named `kind:t1`, rendered again after any change other than a wager.

        It is null for a table that was unlinked.
        """
        self._table_renderers.append((kind, render))
        for table in self.jackpot.tables:
            self._add_for_table(kind, table, render)

    def _add_for_table(self, kind: str, table: str, render: Callable[[JackpotView, Table], object]) -> None:
        def rendered() -> object:
            found = self.jackpot.tables[table]
            return None if found.unlinked else render(self, found)

        self._add(f"{kind}:{table}", rendered, (table_subject(table), Subject.STATUS, Subject.CONFIG))

    def _add(self, name: str, render: Callable[[], object], subjects: Collection[str]) -> None:
        fragment = _Fragment(name, render)
        self._fragments.setdefault(fragment.kind, {})[name] = fragment
        self._stale.setdefault(fragment.kind, {})[name] = fragment
        for subject in subjects:
            self._by_subject.setdefault(subject, []).append(fragment)

    # Changes of the committed state.

    def load(self, database: Database) -> None:
        """Read the newest prizes and the last fall of the meter from before this controller began."""
        self._take_in_history(self._read_history(database))

    async def reload(self, database: Database) -> None:
        """Read them again after events were missed; repeat if they changed while the store was read."""
        while True:
            changed = self._wins_changed
            history = await asyncio.to_thread(self._read_history, database)
            if changed == self._wins_changed:
                self._take_in_history(history)
                self._mark_stale(list(self._by_subject))
                return

    def _read_history(self, database: Database) -> _History:
        with database.reader() as connection:
            fall = queries.last_decrease(connection, self.id)
            rows = queries.wins(connection, queries.Page(self.id, limit=MAX_WINS))
        last = None if fall is None else Fall(_FALL_REASONS[EventType(fall["type"])], fall["seq"])
        return _History(last, [Win(*(row[column] for column in _WIN_COLUMNS)) for row in rows])

    def _take_in_history(self, history: _History) -> None:
        self.fall = history.fall
        self._wins = {}
        for win in history.wins:
            self._keep_win(win)

    def on_commit(self, events: NumberedEvents) -> None:
        """Mark changed fragments as stale; thousands of wagers a second come here, so nothing is rendered."""
        changed: set[str] = {Subject.ANYTHING, Subject.LAMPS}
        for seq, event in events:
            if event.type is not EventType.WAGER_ACCEPTED:
                self._apply(seq, event, changed)
        self._mark_stale(changed)

    def _apply(self, seq: int, event: Event, changed: set[str]) -> None:
        if event.table is not None:
            changed |= {table_subject(event.table), Subject.TABLES}
        subject = _SUBJECTS.get(event.type)
        if subject is not None:
            changed.add(subject)
        if any(transfer.source is Account.JACKPOT for transfer in event.transfers):
            self.fall = Fall(_FALL_REASONS[event.type], seq)
            self._wins_changed += 1
        if subject is Subject.WINS:
            self._wins_changed += 1
            self._apply_wins(seq, event)
        elif event.type is EventType.TABLE_LINKED and event.table is not None:
            for kind, render in self._table_renderers:
                if f"{kind}:{event.table}" not in self._fragments.get(kind, {}):
                    self._add_for_table(kind, event.table, render)

    def _apply_wins(self, seq: int, event: Event) -> None:
        """Add the prizes of a settlement or correction, and update the status of the round's earlier ones."""
        if event.type is not EventType.ROUND_SETTLED:
            status = "paid" if event.type is EventType.PAYOUTS_CONFIRMED else "corrected"
            for key, win in self._wins.items():
                if (win.table, win.round) == (event.table, event.round) and win.status != "corrected":
                    self._wins[key] = win._replace(status=status)
        for prize in event.data.get("payouts", ()):
            payout = prize["box"], prize["hand"], prize["amount_cents"], str(prize["status"])
            self._keep_win(Win(seq, event.at, event.table or "", event.round or 0, *payout))

    def _keep_win(self, win: Win) -> None:
        self._wins[win.seq, win.box] = win
        if len(self._wins) > MAX_WINS:
            del self._wins[min(self._wins)]

    def on_status(self, table: str | None) -> None:
        """Mark fragments as stale that show the store, the broker, or a table's devices."""
        self._mark_stale((Subject.STATUS,) if table is None else (table_subject(table), Subject.TABLES, Subject.LAMPS))

    def _mark_stale(self, subjects: Iterable[str]) -> None:
        for subject in subjects:
            for fragment in self._by_subject.get(subject, ()):
                self._stale[fragment.kind][fragment.name] = fragment

    # Changes for subscribers.

    def changes_since(self, version: int, kinds: Collection[str]) -> tuple[int, list[bytes]]:
        """Return the present version, and the encoded fragments of these kinds that changed after `version`."""
        at = time.monotonic()
        for kind in kinds:
            for fragment in list(self._stale.get(kind, {}).values()):
                if at - fragment.rendered_at >= BETWEEN_RENDERS_SECONDS:
                    self._render(fragment, at)
        changed: list[tuple[int, bytes]] = []
        for kind in kinds:
            for fragment in reversed(self._fragments.get(kind, {}).values()):
                if fragment.version <= version:
                    break
                changed.append((fragment.version, fragment.encoded))
        return self._version, [encoded for _, encoded in sorted(changed)]

    def version_of(self, event_id: str | None) -> int:
        """Return the version of a subscriber's last event id; 0 if the id is of another run or missing."""
        run, _, version = (event_id or "").partition("-")
        return int(version) if run == self._run and version.isascii() and version.isdigit() else 0

    def _render(self, fragment: _Fragment, at: float) -> None:
        fragment.rendered_at = at
        del self._stale[fragment.kind][fragment.name]
        text = _encode({"name": fragment.name, "body": fragment.render()})
        if text == fragment.text:
            return
        self._version += 1
        fragment.text, fragment.version = text, self._version
        of_kind = self._fragments[fragment.kind]
        of_kind[fragment.name] = of_kind.pop(fragment.name)
        event = f"event: {fragment.kind}\nid: {self._run}-{fragment.version}\ndata: {text}\n\n"
        fragment.encoded = event.encode()


class LiveView:
    """The live views of all jackpots that this process serves, whether it owns or follows them."""

    def __init__(self, jackpots: Mapping[str, JackpotSource]) -> None:
        run = f"{time.time_ns():x}"
        self._jackpots = jackpots
        self._database: Database | None = None
        self._reloads: dict[str, asyncio.Task[None]] = {}
        self.views: dict[str, JackpotView] = {name: JackpotView(source, run) for name, source in jackpots.items()}
        if isinstance(jackpots, Jackpots):
            jackpots.watch(self._replaced)

    def _replaced(self, name: str) -> None:
        """Show the new source of a jackpot, and read the prizes that were missed meanwhile."""
        view = self.views.get(name)
        if view is None:
            return
        view.replace_source(self._jackpots[name])
        if self._database is not None:
            before = self._reloads.get(name)
            if before is not None:
                before.cancel()
            self._reloads[name] = asyncio.create_task(_reload(view, self._database), name=f"reload-{name}")

    def add(self, name: str, render: Callable[[JackpotView], object], subjects: Collection[str]) -> None:
        """Add a fragment to each jackpot; see `JackpotView.add`."""
        for view in self.views.values():
            view.add(name, render, subjects)

    def add_for_tables(self, kind: str, render: Callable[[JackpotView, Table], object]) -> None:
        """Add a fragment for each table of each jackpot; see `JackpotView.add_for_tables`."""
        for view in self.views.values():
            view.add_for_tables(kind, render)

    def load(self, database: Database) -> None:
        """Read the prizes and falls of every jackpot from before this process began."""
        self._database = database
        for view in self.views.values():
            view.load(database)


async def _reload(view: JackpotView, database: Database) -> None:
    """Reload a view; a store that does not answer is asked again."""
    while True:
        try:
            await view.reload(database)
        except StoreError as error:
            log.warning("prizes not read", jackpot=view.id, problem=str(error))
            await asyncio.sleep(RELOAD_SECONDS)
        else:
            return


def table_subject(table: str) -> str:
    """Return the subject of one table."""
    return f"table:{table}"


_WIN_COLUMNS: Final = ("seq", "at", "table_id", "round", "box", "hand", "amount_cents", "status")
