"""What is known of devices from their own words: which are there, what lamps and displays really show."""

from __future__ import annotations

from collections.abc import Container
from typing import Final, NamedTuple

from jackpot.wire.messages import DisplayShownMessage, PadShownMessage
from jackpot.wire.views import Mark

MISMATCH_SECONDS: Final = 30.0
SAMPLE_SECONDS: Final = 60.0
MOST_PADS: Final = 20_000
MOST_DISPLAYS: Final = 1_000
MOST_METERS: Final = 4_000


class Pads:
    """Which pads are there, and what each one's lamp really showed last."""

    def __init__(self) -> None:
        self._online: dict[tuple[str, int], bool] = {}
        self._offline: set[tuple[str, int]] = set()
        self._shown: dict[tuple[str, int], PadShownMessage] = {}
        self._dealers: dict[str, bool] = {}

    def set_dealer(self, table: str, *, online: bool) -> None:
        """A dealer terminal came or went."""
        if len(self._dealers) < MOST_PADS or table in self._dealers:
            self._dealers[table] = online

    def count_dealers(self, tables: Container[str]) -> int:
        """How many dealer terminals of these tables are there."""
        return sum(online for table, online in self._dealers.items() if table in tables)

    def set_status(self, table: str, box: int, *, online: bool) -> None:
        """A pad came or went."""
        if len(self._online) < MOST_PADS or (table, box) in self._online:
            self._online[table, box] = online
            self._offline.discard((table, box)) if online else self._offline.add((table, box))

    def is_offline(self, table: str, box: int) -> bool:
        """Whether a pad said, or its will said, that it is gone."""
        return (table, box) in self._offline

    def offline(self) -> list[tuple[str, int]]:
        """The pads that are gone, by table and box."""
        return list(self._offline)

    def online(self, table: str, box: int) -> bool | None:
        """Whether a pad is there; None where it never said."""
        return self._online.get((table, box))

    def dealer_online(self, table: str) -> bool | None:
        """Whether a table's dealer terminal is there; None where it never said."""
        return self._dealers.get(table)

    def all_pads(self) -> list[tuple[tuple[str, int], bool]]:
        """Every pad that was heard of, by table and box, and whether it is there."""
        return sorted(self._online.items())

    def all_dealers(self) -> list[tuple[str, bool]]:
        """Every dealer terminal that was heard of, by table, and whether it is there."""
        return sorted(self._dealers.items())

    def set_shown(self, table: str, box: int, shown: PadShownMessage) -> None:
        """A pad says what its lamp shows."""
        if len(self._shown) < MOST_PADS or (table, box) in self._shown:
            self._shown[table, box] = shown

    def dark(self, table: str, number: int) -> tuple[int, ...]:
        """The boxes whose pad reports a dark lamp in this round; what it showed in another round does not matter."""
        said = [(box, shown) for (at, box), shown in self._shown.items() if at == table and shown.round == number]
        return tuple(sorted(box for box, shown in said if not shown.lit))

    def count_online(self, tables: Container[str]) -> int:
        """How many pads of these tables are there."""
        return sum(online for (table, _), online in self._online.items() if table in tables)


class Shown(NamedTuple):
    """What a display last said it shows, and since when that contradicts the meter."""

    said: DisplayShownMessage
    wrong_since: float | None
    sampled_at: float
    reported: bool


class Displays:
    """What displays show, beside what was published; the time is told, never read."""

    def __init__(self) -> None:
        self._published: dict[Mark, tuple[int, float]] = {}
        self._newest: int | None = None
        self._shown: dict[str, Shown] = {}
        self._online: dict[str, bool] = {}

    def publish(self, mark: Mark, amount_cents: int, at: float) -> None:
        """Remember a meter that was published."""
        if mark in self._published:
            return
        self._published[mark] = amount_cents, at
        self._newest = amount_cents
        if len(self._published) > MOST_METERS:
            del self._published[next(iter(self._published))]

    def set_status(self, display: str, *, online: bool) -> None:
        """A display came or went; one that is gone shows nothing."""
        if len(self._online) < MOST_DISPLAYS or display in self._online:
            self._online[display] = online
        if not online:
            self._shown.pop(display, None)

    def count_online(self) -> int:
        """How many displays are there."""
        return sum(self._online.values())

    def show(self, display: str, said: DisplayShownMessage, at: float) -> bool:
        """A display says what it shows; says whether to record it: at first, when it turns wrong, now and then."""
        before = self._shown.get(display)
        if before is None and len(self._shown) >= MOST_DISPLAYS:
            return False
        wrong_since = self._wrong_since(said, at, before)
        turned_wrong = wrong_since is not None and (before is None or before.wrong_since is None)
        record = before is None or turned_wrong or at - before.sampled_at >= SAMPLE_SECONDS
        sampled_at = at if record or before is None else before.sampled_at
        reported = before is not None and before.reported and self._is_old(said, wrong_since, at)
        self._shown[display] = Shown(said, wrong_since, sampled_at, reported)
        return record

    def all_displays(self) -> list[tuple[str, bool, int | None, bool]]:
        """Every display that was heard of: whether it is there, what it shows, and whether that is right."""
        shown = {name: kept.said.amount_cents for name, kept in self._shown.items()}
        names = sorted({*self._online, *self._shown})
        return [(name, self._online.get(name, False), shown.get(name), self.is_right(name)) for name in names]

    def is_right(self, display: str) -> bool:
        """Whether what a display last said was the meter at that moment."""
        return display not in self._shown or self._shown[display].wrong_since is None

    def overdue(self, at: float) -> list[tuple[str, DisplayShownMessage]]:
        """The displays that have contradicted the meter for too long; each is told of once until it is right again."""
        found = [
            (display, shown)
            for display, shown in self._shown.items()
            if not shown.reported and self._is_old(shown.said, shown.wrong_since, at)
        ]
        for display, shown in found:
            self._shown[display] = shown._replace(reported=True)
        return [(display, shown.said) for display, shown in found]

    def tell_again(self, display: str) -> None:
        """It could not be told of now: it is overdue again at the next look."""
        if display in self._shown:
            self._shown[display] = self._shown[display]._replace(reported=False)

    def sample_again(self, display: str) -> None:
        """It could not be recorded now: what it shows next is."""
        if display in self._shown:
            self._shown[display] = self._shown[display]._replace(sampled_at=-SAMPLE_SECONDS)

    def _is_old(self, said: DisplayShownMessage, wrong_since: float | None, at: float) -> bool:
        since = wrong_since if wrong_since is not None else self._superseded_at(said)
        return since is not None and at - since > MISMATCH_SECONDS

    def _wrong_since(self, said: DisplayShownMessage, at: float, before: Shown | None) -> float | None:
        """Since when this display shows what was never the meter; None where it is, or was, right."""
        if self._published_at(Mark(said.epoch, said.seq)) in (None, said.amount_cents):
            return None
        return at if before is None or before.wrong_since is None else before.wrong_since

    def _published_at(self, mark: Mark) -> int | None:
        """What was published last up to this mark, which may be one that we never had; None where nobody knows it."""
        known = self._published.get(mark)
        if known is not None:
            return known[0]
        return next((amount for told, (amount, _) in reversed(self._published.items()) if told <= mark), None)

    def _superseded_at(self, said: DisplayShownMessage) -> float | None:
        """When another value than the one shown was first published after it; None while it is the newest."""
        if said.amount_cents == self._newest:
            return None
        first = None
        for mark, (amount_cents, at) in reversed(self._published.items()):
            if mark <= (said.epoch, said.seq):
                break
            if amount_cents != said.amount_cents:
                first = at
        return first
