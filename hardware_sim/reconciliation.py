"""The reconciliation: the wagers that the pads saw accepted against those that the controller booked, to the cent."""

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
    """The controller's wagers by round."""

    source: str
    totals: Mapping[RoundKey, WagerTotal]
    wagers: Wagers | None = None
    """Every standing wager; None if only the totals are known."""
    is_wire: bool = False
    """True if these are not books, but table states from the wire, which do not show a supervisor's void."""


class Comparison(NamedTuple):
    """The pads' and the controller's wagers at a table or in a round."""

    table: str
    round: int | None
    rounds: int
    pads: WagerTotal
    booked: WagerTotal
    not_booked: tuple[StandingWager, ...] = ()
    """The pads' wagers that are not booked with the same box, id and amount, once."""
    not_at_pads: tuple[StandingWager, ...] = ()
    """The booked wagers that no pad has with the same box, id and amount, once."""

    @property
    def difference_cents(self) -> int:
        """The booked amount less the pads' amount."""
        return self.booked.cents - self.pads.cents

    @property
    def is_equal(self) -> bool:
        """True if the numbers, the amounts and each known wager are equal."""
        return self.pads == self.booked and not self.not_booked and not self.not_at_pads


class Reconciliation(NamedTuple):
    """The comparison of every round of a run."""

    books: Books
    rounds: tuple[Comparison, ...]
    unanswered: int
    contradictions: tuple[str, ...]

    @property
    def tables(self) -> tuple[Comparison, ...]:
        """The sums of each table's rounds."""
        names = dict.fromkeys(line.table for line in self.rounds)
        return tuple(_sum(name, [line for line in self.rounds if line.table == name]) for name in names)

    @property
    def total(self) -> Comparison:
        """The sum of all rounds."""
        return _sum("all", self.rounds)

    @property
    def differences(self) -> tuple[Comparison, ...]:
        """The rounds in which the pads and the books differ."""
        return tuple(line for line in self.rounds if not line.is_equal)

    @property
    def is_equal(self) -> bool:
        """True if nothing differs, nothing is unanswered, and no answer contradicted another."""
        return not self.differences and not self.unanswered and not self.contradictions


def compare(played: Iterable[RoundKey], pads: Wagers, books: Books) -> tuple[Comparison, ...]:
    """Compare the played rounds, and any other round in which one of the pads' wagers is booked."""
    pad_ids = {wager.wager_id for wagers in pads.values() for wager in wagers}
    booked = books.wagers or {}
    misplaced = (key for key, wagers in booked.items() if any(wager.wager_id in pad_ids for wager in wagers))
    keys = sorted({*played, *pads, *misplaced}, key=_by_table)
    return tuple(_compare_round(key, pads.get(key, ()), books) for key in keys)


def read_books(rows: Iterable[Mapping[str, Any]]) -> Books:
    """Read books from rows as `jackpot rounds --json` prints them: `table_id`, `round`, `wagers`, `wagered_cents`."""
    try:
        totals = {
            (str(row["table_id"]), int(row["round"])): WagerTotal(int(row["wagers"]), int(row["wagered_cents"]))
            for row in rows
        }
    except (KeyError, TypeError, ValueError):
        raise BooksError("the books are not rows with table_id, round, wagers and wagered_cents") from None
    return Books("the controller's books, round by round", totals)


def read_books_file(path: Path) -> Books:
    """Read books from a JSON file."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BooksError(f"cannot read the books {path}: {error.strerror}") from None
    except ValueError:
        raise BooksError(f"the books {path} are not JSON") from None
    return read_books(rows if isinstance(rows, list) else [rows])


def wagers_from_events(events: Iterable[Mapping[str, Any]]) -> dict[RoundKey, list[StandingWager]]:
    """Return the standing wagers after events as `jackpot audit list --json` prints them, the oldest first."""
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


def _compare_round(key: RoundKey, pad_wagers: Collection[StandingWager], books: Books) -> Comparison:
    line = Comparison(*key, 1, total_of(pad_wagers), books.totals.get(key, WagerTotal()))
    if books.wagers is None:
        return line
    pads, booked = Counter(pad_wagers), Counter(books.wagers.get(key, ()))
    return line._replace(
        not_booked=tuple(sorted((pads - booked).elements())), not_at_pads=tuple(sorted((booked - pads).elements()))
    )


def _sum(table: str, lines: Iterable[Comparison]) -> Comparison:
    total = Comparison(table, None, 0, WagerTotal(), WagerTotal())
    for line in lines:
        total = Comparison(
            table, None, total.rounds + line.rounds, total.pads.plus(line.pads), total.booked.plus(line.booked),
            total.not_booked + line.not_booked, total.not_at_pads + line.not_at_pads,
        )  # fmt: skip
    return total


def _by_table(key: RoundKey) -> tuple[int, str, int]:
    """Return a sort key that puts table t2 before t10."""
    table, number = key
    return len(table), table, number
