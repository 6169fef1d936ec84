"""The reconciliation: what the pads believe against what the controller booked, to the cent."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from hardware_sim.wager_log import RoundKey, StandingWager, WagerTotal, total_of

Wagers = Mapping[RoundKey, Collection[StandingWager]]


class BooksError(ValueError):
    """Books that cannot be read."""


class Books(NamedTuple):
    """What the controller says of each round."""

    source: str
    sums: Mapping[RoundKey, WagerTotal]
    wagers: Wagers | None = None
    """Every wager that stands; None where only the sums are known."""
    is_wire: bool = False
    """Whether these are no books, but what was said on the wire; a supervisor's void does not show in it."""


class Comparison(NamedTuple):
    """A table or a round: what was believed, what was booked."""

    table: str
    round: int | None
    rounds: int
    believed: WagerTotal
    booked: WagerTotal
    not_booked: tuple[StandingWager, ...] = ()
    """The wagers that are believed, but not booked so: on that box, under that id, of that amount, once."""
    not_believed: tuple[StandingWager, ...] = ()
    """The wagers that are booked, but not believed so."""

    @property
    def difference_cents(self) -> int:
        """Booked less believed."""
        return self.booked.cents - self.believed.cents

    @property
    def is_equal(self) -> bool:
        """Whether both say the same: wagers, cents, and each wager where it is known."""
        return self.believed == self.booked and not self.not_booked and not self.not_believed


class Reconciliation(NamedTuple):
    """Every round of a run, compared."""

    books: Books
    rounds: tuple[Comparison, ...]
    unanswered: int
    contradictions: tuple[str, ...]

    @property
    def tables(self) -> tuple[Comparison, ...]:
        """The rounds of each table added up."""
        names = dict.fromkeys(line.table for line in self.rounds)
        return tuple(_added(name, [line for line in self.rounds if line.table == name]) for name in names)

    @property
    def total(self) -> Comparison:
        """Everything added up."""
        return _added("all", self.rounds)

    @property
    def differences(self) -> tuple[Comparison, ...]:
        """The rounds where believed and booked differ."""
        return tuple(line for line in self.rounds if not line.is_equal)

    @property
    def is_equal(self) -> bool:
        """Whether nothing differs, nothing is unanswered, and no answer contradicted another."""
        return not self.differences and not self.unanswered and not self.contradictions


def compared(played: Iterable[RoundKey], believed: Wagers, books: Books) -> tuple[Comparison, ...]:
    """Believed against booked, for the rounds that were played, and any other that one of our wagers is booked on."""
    ours = {wager.wager_id for wagers in believed.values() for wager in wagers}
    booked = books.wagers or {}
    strayed = (key for key, wagers in booked.items() if any(wager.wager_id in ours for wager in wagers))
    keys = sorted({*played, *believed, *strayed}, key=_by_table)
    return tuple(_compared(key, believed.get(key, ()), books) for key in keys)


def read_books(rows: Iterable[Mapping[str, Any]]) -> Books:
    """Books from rows as `jackpot rounds --json` prints them: `table_id`, `round`, `wagers`, `wagered_cents`."""
    try:
        sums = {
            (str(row["table_id"]), int(row["round"])): WagerTotal(int(row["wagers"]), int(row["wagered_cents"]))
            for row in rows
        }
    except (KeyError, TypeError, ValueError):
        raise BooksError("the books are not rows with table_id, round, wagers and wagered_cents") from None
    return Books("the controller's books, round by round", sums)


def read_books_file(path: Path) -> Books:
    """Books from a JSON file."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BooksError(f"the books {path} cannot be read: {error.strerror}") from None
    except ValueError:
        raise BooksError(f"the books {path} are not JSON") from None
    return read_books(rows if isinstance(rows, list) else [rows])


def wagers_from_events(events: Iterable[Mapping[str, Any]]) -> dict[RoundKey, list[StandingWager]]:
    """The wagers that stand after events as `jackpot audit list --json` prints them, the oldest first."""
    standing: dict[RoundKey, list[StandingWager]] = {}
    for event in events:
        wagers = standing.setdefault((event["table_id"], event["round"]), [])
        match event["type"]:
            case "wager_accepted":
                data = json.loads(event["data"])
                wagers.append(StandingWager(data["box"], data["wager_id"], data["amount_cents"]))
            case "hand_voided":
                returned = json.loads(event["data"])["wager_id"]
                wagers[:] = [wager for wager in wagers if wager.wager_id != returned]
            case "round_voided":
                wagers.clear()
    return standing


def _compared(key: RoundKey, believed: Collection[StandingWager], books: Books) -> Comparison:
    line = Comparison(*key, 1, total_of(believed), books.sums.get(key, WagerTotal()))
    if books.wagers is None:
        return line
    ours, theirs = Counter(believed), Counter(books.wagers.get(key, ()))
    return line._replace(
        not_booked=tuple(sorted((ours - theirs).elements())), not_believed=tuple(sorted((theirs - ours).elements()))
    )


def _added(table: str, lines: Iterable[Comparison]) -> Comparison:
    total = Comparison(table, None, 0, WagerTotal(), WagerTotal())
    for line in lines:
        believed, booked = total.believed.plus(*line.believed), total.booked.plus(*line.booked)
        total = Comparison(
            table, None, total.rounds + line.rounds, believed, booked,
            total.not_booked + line.not_booked, total.not_believed + line.not_believed,
        )  # fmt: skip
    return total


def _by_table(key: RoundKey) -> tuple[int, str, int]:
    """Tables t2 before t10."""
    table, number = key
    return len(table), table, number
