"""The device registry: which pads, dealer terminals and displays are online, and what they report to show."""

from __future__ import annotations

from collections.abc import Container
from typing import Final, NamedTuple

from jackpot.engine.committed_state import Position

MISMATCH_SECONDS: Final = 30.0
"""How long a display may contradict the meter before it is a malfunction."""
SAMPLE_SECONDS: Final = 60.0
"""How often what a display shows is recorded in the audit trail."""
MAX_PADS: Final = 20_000
MAX_DISPLAYS: Final = 1_000
MAX_METERS: Final = 4_000


class PadReport(NamedTuple):
    """A pad's report of its own lamp."""

    round: int
    lit: bool


class DisplayReport(NamedTuple):
    """A display's report of the amount it shows."""

    amount_cents: int
    epoch: int
    seq: int


class Pads:
    """The pads and dealer terminals that have reported, and what each lamp showed last."""

    def __init__(self) -> None:
        self._online: dict[tuple[str, int], bool] = {}
        self._offline: set[tuple[str, int]] = set()
        self._reports: dict[tuple[str, int], PadReport] = {}
        self._dealers: dict[str, bool] = {}

    def set_dealer(self, table: str, *, online: bool) -> None:
        """Record that a dealer terminal came or went."""
        if len(self._dealers) < MAX_PADS or table in self._dealers:
            self._dealers[table] = online

    def count_dealers(self, tables: Container[str]) -> int:
        """Return how many dealer terminals of these tables are online."""
        return sum(online for table, online in self._dealers.items() if table in tables)

    def set_status(self, table: str, box: int, *, online: bool) -> None:
        """Record that a pad came or went."""
        if len(self._online) < MAX_PADS or (table, box) in self._online:
            self._online[table, box] = online
            self._offline.discard((table, box)) if online else self._offline.add((table, box))

    def is_offline(self, table: str, box: int) -> bool:
        """Return True if a pad, or its will, has reported that it is offline."""
        return (table, box) in self._offline

    def offline(self) -> list[tuple[str, int]]:
        """Return the pads that are offline, by table and box."""
        return list(self._offline)

    def online(self, table: str, box: int) -> bool | None:
        """Return True if a pad is online; None if it never reported."""
        return self._online.get((table, box))

    def dealer_online(self, table: str) -> bool | None:
        """Return True if a table's dealer terminal is online; None if it never reported."""
        return self._dealers.get(table)

    def all_pads(self) -> list[tuple[tuple[str, int], bool]]:
        """Return every pad that has reported, by table and box, with its online state."""
        return sorted(self._online.items())

    def all_dealers(self) -> list[tuple[str, bool]]:
        """Return every dealer terminal that has reported, by table, with its online state."""
        return sorted(self._dealers.items())

    def count_online(self, tables: Container[str]) -> int:
        """Return how many pads of these tables are online."""
        return sum(online for (table, _), online in self._online.items() if table in tables)

    def set_report(self, table: str, box: int, report: PadReport) -> None:
        """Record what a pad reports that its lamp shows."""
        if len(self._reports) < MAX_PADS or (table, box) in self._reports:
            self._reports[table, box] = report

    def dark(self, table: str, number: int) -> tuple[int, ...]:
        """Return the boxes whose pad reports a dark lamp in this round; reports of other rounds do not count."""
        of_round = [(box, r) for (of, box), r in self._reports.items() if of == table and r.round == number]
        return tuple(sorted(box for box, report in of_round if not report.lit))


class DisplayState(NamedTuple):
    """The last report of a display, and since when it contradicts the meter."""

    report: DisplayReport
    wrong_since: float | None
    sampled_at: float
    reported: bool
    """The contradiction was reported as a malfunction."""


class Displays:
    """Compares the reports of displays with the published meters; times are passed in, never read."""

    def __init__(self) -> None:
        self._published: dict[Position, tuple[int, float]] = {}
        self._newest_cents: int | None = None
        self._states: dict[str, DisplayState] = {}
        self._online: dict[str, bool] = {}

    def add_published(self, position: Position, amount_cents: int, at: float) -> None:
        """Record a meter that was published."""
        if position in self._published:
            return
        self._published[position] = amount_cents, at
        self._newest_cents = amount_cents
        if len(self._published) > MAX_METERS:
            del self._published[next(iter(self._published))]

    def set_status(self, display: str, *, online: bool) -> None:
        """Record that a display came or went; one that is offline shows nothing."""
        if len(self._online) < MAX_DISPLAYS or display in self._online:
            self._online[display] = online
        if not online:
            self._states.pop(display, None)

    def count_online(self) -> int:
        """Return how many displays are online."""
        return sum(self._online.values())

    def set_report(self, display: str, report: DisplayReport, at: float) -> bool:
        """Record what a display shows; return True if it belongs in the trail: first, newly wrong, or a sample."""
        before = self._states.get(display)
        if before is None and len(self._states) >= MAX_DISPLAYS:
            return False
        wrong_since = self._wrong_since(report, at, before)
        turned_wrong = wrong_since is not None and (before is None or before.wrong_since is None)
        record = before is None or turned_wrong or at - before.sampled_at >= SAMPLE_SECONDS
        sampled_at = at if record or before is None else before.sampled_at
        reported = before is not None and before.reported and self._is_overdue(report, wrong_since, at)
        self._states[display] = DisplayState(report, wrong_since, sampled_at, reported)
        return record

    def all_displays(self) -> list[tuple[str, bool, int | None, bool]]:
        """Return every display that has reported: name, online, cents shown, and True if that was the meter."""
        shown = {name: state.report.amount_cents for name, state in self._states.items()}
        names = sorted({*self._online, *self._states})
        return [(name, self._online.get(name, False), shown.get(name), self.is_right(name)) for name in names]

    def is_right(self, display: str) -> bool:
        """Return True if what a display last reported was the meter at that moment."""
        return display not in self._states or self._states[display].wrong_since is None

    def overdue(self, at: float) -> list[tuple[str, DisplayReport]]:
        """Return the displays that contradict the meter for too long; each once until it is right again."""
        found = [
            (display, state)
            for display, state in self._states.items()
            if not state.reported and self._is_overdue(state.report, state.wrong_since, at)
        ]
        for display, state in found:
            self._states[display] = state._replace(reported=True)
        return [(display, state.report) for display, state in found]

    def report_again(self, display: str) -> None:
        """Return this display from `overdue` again: its malfunction could not be recorded."""
        if display in self._states:
            self._states[display] = self._states[display]._replace(reported=False)

    def sample_again(self, display: str) -> None:
        """Record the next report of this display: the last one could not be recorded."""
        if display in self._states:
            self._states[display] = self._states[display]._replace(sampled_at=-SAMPLE_SECONDS)

    def _is_overdue(self, report: DisplayReport, wrong_since: float | None, at: float) -> bool:
        since = wrong_since if wrong_since is not None else self._superseded_at(report)
        return since is not None and at - since > MISMATCH_SECONDS

    def _wrong_since(self, report: DisplayReport, at: float, before: DisplayState | None) -> float | None:
        """Return since when this display shows an amount that was never the meter; None if it is, or was, right."""
        if self._published_cents(Position(report.epoch, report.seq)) in (None, report.amount_cents):
            return None
        return at if before is None or before.wrong_since is None else before.wrong_since

    def _published_cents(self, position: Position) -> int | None:
        """Return the amount published last up to a position, which may never have been ours; None if unknown."""
        known = self._published.get(position)
        if known is not None:
            return known[0]
        return next((cents for of, (cents, _) in reversed(self._published.items()) if of <= position), None)

    def _superseded_at(self, report: DisplayReport) -> float | None:
        """Return when another amount was first published after the one shown; None while it is the newest."""
        if report.amount_cents == self._newest_cents:
            return None
        first = None
        for position, (amount_cents, at) in reversed(self._published.items()):
            if position <= (report.epoch, report.seq):
                break
            if amount_cents != report.amount_cents:
                first = at
        return first
