"""What a jackpot says on the wire: lamps, tables, meter, prizes, and that its controller is there."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final

from jackpot import metrics
from jackpot.clock import now
from jackpot.core.events import Event, EventType
from jackpot.core.state import Jackpot, Table
from jackpot.wire import views
from jackpot.wire.devices import Displays
from jackpot.wire.topics import Topics
from jackpot.wire.views import Mark, Plain, Told

BETWEEN_STATES_SECONDS: Final = 0.25
"""Where only wagers change a table, its state is told so often, and no oftener."""
BETWEEN_TABLES_SECONDS: Final = 0.02
"""And no two tables' at once: a full floor that wagers all at the same moment must not hold up its own lamps."""

MOST_UNSAID: Final = 100
MOST_STRAYS: Final = 100
"""Pads with numbers that their table does not have; the lamps of more than these are not retained."""

Publish = Callable[..., bool]
Later = Callable[[float, Callable[[], None]], object]


_encode: Final = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


def encoded(plain: Plain) -> str:
    """A message as it goes out."""
    return _encode(plain)


class Announcer:
    """Says what is durable, never more: it holds the last state that was committed."""

    def __init__(self, topics: Topics, jackpot: Jackpot, mark: Mark, displays: Displays, later: Later) -> None:
        self._topics = topics
        self._displays = displays
        self._publish: Publish = lambda *_args, **_options: False
        self._told_wins: dict[str, list[Plain]] = {}
        self._unsaid_wins: deque[Plain] = deque(maxlen=MOST_UNSAID)
        self._strays: dict[str, set[int]] = {}
        self._later = later
        self._state_at: dict[str, float] = {}
        self._states_due: dict[str, None] = {}
        self.jackpot = jackpot
        self.mark = mark
        self.store_failed = False
        self.shown_cents: int | None = None
        self.meter_at = time.monotonic()

    def speak_through(self, publish: Publish) -> None:
        """Say everything through this session from now on."""
        self._publish = publish

    def remember_wins(self, table: str, wins: list[Plain]) -> None:
        """A round's prizes from before this controller began, which may still change."""
        self._told_wins[table] = wins
        self.say_later(wins)

    def say_later(self, wins: list[Plain]) -> None:
        """Say these at the next connect; whoever was told of them is told nothing new."""
        self._unsaid_wins.extend(wins)

    def everything(self) -> None:
        """All retained state afresh."""
        self.online()
        for table in self.jackpot.tables.values():
            if table.unlinked:
                self.clear(table)
            else:
                self.table(table)
                self.lamps(table, range(1, table.boxes + 1))
        self.meter()
        unsaid = list(self._unsaid_wins)
        self._unsaid_wins.clear()
        self._say_wins(unsaid)

    def online(self) -> None:
        """The controller is there."""
        status = encoded({"state": "online", "epoch": self.mark.epoch})
        self._publish(self._topics.controller(self.jackpot.id), status, retain=True)

    def table(self, table: Table) -> None:
        """A table's round and phase."""
        self._state_at[table.id] = time.monotonic()
        self._states_due.pop(table.id, None)
        told = views.table_state(self.jackpot, table, self.mark, store_failed=self.store_failed)
        self._publish(self._topics.state(table.id), encoded(told), retain=True)

    def lamps(self, table: Table, boxes: Any) -> None:  # noqa: ANN401 - box numbers, in any collection
        """The lamps of these boxes, changed by something else than their pad's message."""
        for box in boxes:
            self.lamp(table, box, None)

    def lamp(self, table: Table, box: int, told: Told | None) -> bool:
        """One lamp, with the answer to the pad's message; says whether it could be told."""
        retain = 1 <= box <= table.boxes or self._remember_stray(table.id, box)
        return self._publish(self._topics.lamp(table.id, box), views.lamp(table, box, told, self.mark), retain=retain)

    def _remember_stray(self, table: str, box: int) -> bool:
        """A pad whose number the table does not have is answered, too; says whether its lamp can be cleared later."""
        strays = self._strays.setdefault(table, set())
        if len(strays) < MOST_STRAYS:
            strays.add(box)
        return box in strays

    def remember_lamps(self, lamps: Iterable[tuple[str, int]]) -> None:
        """Lamps from before this controller began: those of boxes that a table does not have are cleared with it."""
        for name, box in lamps:
            table = self.jackpot.tables.get(name)
            if table is not None and not 1 <= box <= table.boxes:
                self._remember_stray(name, box)

    def clear(self, table: Table) -> None:
        """Nothing is retained of a table that was removed."""
        self._publish(self._topics.state(table.id), b"", retain=True)
        for box in (*range(1, table.boxes + 1), *self._strays.pop(table.id, ())):
            self._publish(self._topics.lamp(table.id, box), b"", retain=True)

    def meter(self) -> None:
        """The meter as it is now."""
        told = views.meter(self.jackpot, self.mark, now(), store_failed=self.store_failed)
        if self._publish(self._topics.meter(self.jackpot.id), encoded(told), retain=True):
            self.shown_cents = told["amount_cents"]
            self.meter_at = time.monotonic()
            self._displays.publish(self.mark, told["amount_cents"], self.meter_at)

    def reply(self, table: str, plain: Plain) -> bool:
        """The answer to one command; says whether it could be told."""
        return self._publish(self._topics.reply(table), encoded(plain))

    def changed(self, events: list[tuple[int, Event]]) -> None:
        """Tell what these events changed: lamps, prizes, tables."""
        only_wagers: dict[str, bool] = {}
        for seq, event in events:
            if event.type is EventType.WAGER_ACCEPTED:
                only_wagers.setdefault(event.table or "", True)
                continue
            if event.type is EventType.CONFIG_APPROVED:
                only_wagers.update(dict.fromkeys(self.jackpot.tables, False))  # the next round's wager is another
            if event.table is None:
                continue
            only_wagers[event.table] = False
            self._tell_lamps(event)
            self._tell_wins(seq, event)
        for name, may_wait in only_wagers.items():
            self._tell_table(name, may_wait=may_wait)

    def _tell_table(self, name: str, *, may_wait: bool) -> None:
        """A table's state: at once, but where wagers alone crowd in, the newest of them after a short while."""
        table = self.jackpot.tables.get(name)
        if table is None or table.unlinked:
            return
        if not may_wait:
            self.table(table)
        elif name not in self._states_due:
            if not self._states_due:
                self._later(0.0, self._tell_due)
            self._states_due[name] = None

    def whatever_waits(self) -> None:
        """The newest of all that would be told in a moment: there is no later."""
        for name in list(self._states_due):
            self._tell_table(name, may_wait=False)
        self.meter()

    def _tell_due(self) -> None:
        """The states that wait, one at a time, whoever waits longest first."""
        ready = time.monotonic() - BETWEEN_STATES_SECONDS
        name = next((name for name in self._states_due if self._state_at.get(name, 0.0) <= ready), None)
        if name is not None:
            self._tell_table(name, may_wait=False)
            self._states_due.pop(name, None)
        if self._states_due:
            self._later(BETWEEN_TABLES_SECONDS, self._tell_due)

    def _tell_lamps(self, event: Event) -> None:
        table = self.jackpot.tables.get(event.table or "")
        if table is None:
            return
        if event.type in (EventType.ROUND_OPENED, EventType.TABLE_LINKED):
            self.lamps(table, range(1, table.boxes + 1))
        elif event.type is EventType.HAND_VOIDED:
            self.lamp(table, event.data["box"], None)
        elif event.type is EventType.TABLE_UNLINKED:
            self.clear(table)
        elif event.type in views.ROUND_ENDS and event.data.get("ends", True) and table.round is not None:
            self.lamps(table, sorted({wager.box for wager in table.round.wagers.values()}))

    def _say_wins(self, wins: list[Plain]) -> None:
        """Say each; what cannot be said now, or was lost on its way, is said at the next connect."""
        for win in wins:
            told, fate = encoded({**win, **self.mark._asdict()}), partial(self._win_fared, win)
            if not self._publish(self._topics.wins(self.jackpot.id), told, fate=fate):
                self._unsaid_wins.append(win)

    def _win_fared(self, win: Plain, has_it: bool) -> None:
        if not has_it:
            self._unsaid_wins.append(win)

    def _tell_wins(self, seq: int, event: Event) -> None:
        name = event.table or ""
        if event.type is EventType.ROUND_OPENED:
            self._told_wins.pop(name, None)
        earlier = self._told_wins.get(name, [])
        wins = views.wins(self.jackpot.id, seq, event, earlier, self.mark)
        self._say_wins(wins)
        if wins:
            self._told_wins[name] = [win for win in wins if win["status"] != "corrected"]
        if event.type in views.ROUND_ENDS and event.data.get("ends", True):
            confirmed = event.type is EventType.PAYOUTS_CONFIRMED
            self._count(earlier if confirmed else self._told_wins.get(name, []))

    def _count(self, wins: list[Plain]) -> None:
        """Prizes are counted when their round ends: until then they may be corrected, or void."""
        for win in wins:
            metrics.PAYOUTS.labels(self.jackpot.id, win["hand"]).inc()
            metrics.PAYOUT_CENTS.labels(self.jackpot.id, win["hand"]).inc(win["amount_cents"])
