"""Equipment that fails by itself: silent pads and displays that contradict the meter suspend tables (reading 14)."""

from __future__ import annotations

import time
from collections.abc import Callable

from jackpot import metrics
from jackpot.clock import now
from jackpot.core.commands import CONTROLLER, DISPLAY, RecordShown, ReportMalfunction
from jackpot.core.state import Jackpot, Phase
from jackpot.engine.committed_state import CommittedState
from jackpot.engine.devices import MISMATCH_SECONDS, DisplayReport, Displays, Pads
from jackpot.engine.writer import Reply, TooBusyError, ignore_reply


class EquipmentMonitor:
    """Watches pads and displays, and reports malfunctions; used in the event loop's thread."""

    def __init__(
        self, committed: CommittedState, enqueue: Callable[[ReportMalfunction | RecordShown, Reply], None]
    ) -> None:
        self.pads, self.displays = Pads(), Displays()
        self._committed = committed
        self._enqueue = enqueue
        self._reported_round: dict[tuple[str, int], int] = {}
        """The round in which a pad was last reported as silent."""

    def pad_is_back(self, table: str, box: int) -> None:
        """Report the pad again when it goes silent again."""
        self._reported_round.pop((table, box), None)

    def suspend_for_pad(self, name: str, box: int, reply: Reply) -> bool:
        """Suspend the table of a pad that went silent with a lit wager; return True if that was enqueued.

        It is reported once a round while it stays away: a supervisor who resumed the table knows of it.
        """
        if not self.pads.is_offline(name, box):
            return False
        table = self._committed.jackpot.tables.get(name)
        if table is None or table.unlinked or self._reported_round.get((name, box)) == table.number:
            return False
        if table.phase is Phase.IDLE or table.round is None or table.round.standing(box) is None:
            return False
        note = f"went silent with a lit wager in round {table.number}"
        self._enqueue(ReportMalfunction(now(), CONTROLLER, name, f"pad {box}", note, "pad_offline"), reply)
        self._reported_round[name, box] = table.number
        return True

    def check_pads(self) -> None:
        """Report every silent pad with a lit wager that was not reported; without room in the queue, later."""
        try:
            for table, box in self.pads.offline():
                self.suspend_for_pad(table, box, ignore_reply)
        except TooBusyError:
            metrics.UNTAKEN.labels(self._committed.jackpot.id).inc()

    def check_displays(self) -> None:
        """Report every display that contradicts the meter for too long, at every table."""
        for display, report in self.displays.overdue(time.monotonic()):
            self._report_display(display, report)

    def _report_display(self, display: str, report: DisplayReport) -> None:
        note = f"shows {report.amount_cents} cents at {report.epoch}/{report.seq}, wrong for {MISMATCH_SECONDS:.0f} s"
        try:
            for malfunction in malfunctions_at_every_table(
                self._committed.jackpot, f"display {display}", note, "display"
            ):
                self._enqueue(malfunction, ignore_reply)
        except TooBusyError:
            self.displays.report_again(display)

    def display_shows(self, display: str, report: DisplayReport) -> None:
        """Take in what a display shows, and record it in the trail from time to time."""
        if not self.displays.set_report(display, report, time.monotonic()):
            return
        right = self.displays.is_right(display)
        sample = RecordShown(now(), DISPLAY, display, report.amount_cents, report.epoch, report.seq, right)
        try:
            self._enqueue(sample, ignore_reply)
        except TooBusyError:
            self.displays.sample_again(display)


def malfunctions_at_every_table(jackpot: Jackpot, equipment: str, note: str, cause: str) -> list[ReportMalfunction]:
    """Return a malfunction report for each table that is not suspended yet."""
    return [
        ReportMalfunction(now(), CONTROLLER, table.id, equipment, note, cause)
        for table in jackpot.tables.values()
        if not table.unlinked and not table.suspended
    ]
