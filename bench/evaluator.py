"""Compare the evaluator with treys, eval7 and phevaluator in one run: python bench/evaluator.py

Every library gets the same hands, in turns, and its best turn counts; so the ratios also hold on a busy machine. Peers
get their strings already split, are called by their fastest public function, and do not check their input. Exit code 1
means that a target was missed.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from itertools import combinations, islice
from typing import Any, NamedTuple

import eval7
import treys
from phevaluator import Card as PheCard
from phevaluator import evaluate_cards
from rich.console import Console
from rich.table import Table

import rules
from rules import numpy_batch
from rules.ranking import DeckOptions, Ranking

Call = Callable[[Any], object]
DECK = [rank + suit for rank in "23456789TJQKA" for suit in "cdhs"]


class Contender(NamedTuple):
    """One library in a race: its name, its function, the data in the form it needs, and the loop that passes it."""

    name: str
    call: Call
    data: Sequence[Any]
    run: Callable[[Call, Sequence[Any]], None]


class Target(NamedTuple):
    """A target: our time divided by the peer's must be at most `max_ratio`."""

    what: str
    ours: float
    peer_name: str
    peer: float
    max_ratio: float

    @property
    def ratio(self) -> float:
        return self.ours / self.peer


def one_by_one(call: Call, data: Sequence[Any]) -> None:
    for item in data:
        call(item)


def two_by_two(call: Call, data: Sequence[Any]) -> None:
    for first, second in data:
        call(first, second)


def spread_out(call: Call, data: Sequence[Any]) -> None:
    for item in data:
        call(*item)


def race(contenders: Sequence[Contender], turns: int) -> dict[str, float]:
    """Return the microseconds per call in the best turn of each contender, turns interleaved."""
    best = dict.fromkeys((contender.name for contender in contenders), float("inf"))
    for _ in range(turns):
        for name, call, data, run in contenders:
            run(call, data)  # once untimed: no contender pays for caches that another has emptied
            start = time.perf_counter()
            run(call, data)
            best[name] = min(best[name], (time.perf_counter() - start) / len(data) * 1e6)
    return best


def peers(hands: Sequence[Sequence[str]]) -> list[Contender]:
    """The peers on parsed cards, with their fastest public function."""
    treys_hands = [[treys.Card.new(card) for card in hand] for hand in hands]
    ids = [[int(PheCard(card)) for card in hand] for hand in hands]
    return [
        Contender("eval7", eval7.evaluate, [[eval7.Card(card) for card in hand] for hand in hands], one_by_one),
        Contender("phevaluator", evaluate_cards, ids, spread_out),
        Contender("treys", treys.Evaluator().evaluate, [(hand[:2], hand[2:]) for hand in treys_hands], two_by_two),
    ]


def peers_from_strings(hands: Sequence[Sequence[str]]) -> list[Contender]:
    """The peers on lists of two-character strings."""
    judge, new, card, evaluate = treys.Evaluator().evaluate, treys.Card.new, eval7.Card, eval7.evaluate
    return [
        Contender("eval7", lambda hand: evaluate([card(c) for c in hand]), hands, one_by_one),
        Contender("phevaluator", evaluate_cards, hands, spread_out),
        Contender(
            "treys", lambda hand: judge([new(c) for c in hand[:2]], [new(c) for c in hand[2:]]), hands, one_by_one
        ),
    ]


def fastest(times: dict[str, float]) -> tuple[str, float]:
    name = min((name for name in times if name != "rules"), key=times.__getitem__)
    return name, times[name]


class Bench:
    """All races, with their rows of the table and their targets."""

    def __init__(self, hands: int, turns: int) -> None:
        shuffler = random.Random(20_161)
        self.five = [shuffler.sample(DECK, 5) for _ in range(hands)]
        self.seven = [shuffler.sample(DECK, 7) for _ in range(hands)]
        self.turns = turns
        self.rows: list[tuple[str, dict[str, float]]] = []
        self.targets: list[Target] = []
        self.poker = rules.load("canberra-poker-2016")
        self.stud = rules.load("seven-card-stud-2005", ace_low=True)
        self.holdem = rules.load("ultimate-texas-holdem-2025")
        self.manila = rules.load("canberra-manila-2005", ace_low=True)

    def run(self) -> None:
        self.five_parsed()
        self.seven_parsed()
        self.from_strings()
        self.rich_hand()
        self.best_hand()
        self.two_plus_three()
        self.every_hand()

    def add(self, what: str, times: dict[str, float], max_ratio: float, against: str = "") -> None:
        """Add one race and its target, against a named peer or the fastest."""
        self.rows.append((what, times))
        name, peer = (against, times[against]) if against else fastest(times)
        self.targets.append(Target(what, times["rules"], name, peer, max_ratio))

    def five_parsed(self) -> None:
        ours = Contender("rules", self.poker.strength, [rules.parse(hand) for hand in self.five], one_by_one)
        times = race([ours, *peers(self.five)], self.turns)
        self.add("strength, five cards parsed", times, max_ratio=1.0)
        loose = Contender("rules", self.poker.strength, [list(rules.parse(hand)) for hand in self.five], one_by_one)
        self.rows.append(("  the same, from a list of cards", race([loose], self.turns)))

    def seven_parsed(self) -> None:
        ours = Contender("rules", self.stud.best_strength, [rules.parse(hand) for hand in self.seven], one_by_one)
        times = race([ours, *peers(self.seven)], self.turns)
        self.add("best_strength, seven cards parsed", times, max_ratio=1.2, against="eval7")
        split = [(rules.parse(hand[:2]), rules.parse(hand[2:])) for hand in self.seven]
        with_board = Contender("rules", self.holdem.best_strength, split, two_by_two)
        times = race([with_board, *peers(self.seven)[:1]], self.turns)
        self.add("best_strength, hole and board parsed", times, max_ratio=1.2, against="eval7")

    def from_strings(self) -> None:
        ours = Contender("rules", self.poker.strength, [" ".join(hand) for hand in self.five], one_by_one)
        times = race([ours, *peers_from_strings(self.five)], self.turns)
        self.add("strength, five cards from strings", times, max_ratio=1 / 3)
        ours = Contender("rules", self.stud.best_strength, [" ".join(hand) for hand in self.seven], one_by_one)
        times = race([ours, *peers_from_strings(self.seven)], self.turns)
        self.add("best_strength, seven from strings", times, max_ratio=1 / 3)
        split = [(" ".join(hand[:2]), " ".join(hand[2:])) for hand in self.seven]
        ours = Contender("rules", self.holdem.best_strength, split, two_by_two)
        times = race([ours, *peers_from_strings(self.seven)], self.turns)
        self.add("best_strength, hole and board strings", times, max_ratio=1 / 3)

    def rich_hand(self) -> None:
        ours = Contender("rules", self.poker.hand, [" ".join(hand) for hand in self.five], one_by_one)
        times = race([ours, *peers_from_strings(self.five)], self.turns)
        self.add("hand, the rich object from strings", times, max_ratio=1.0)

    def best_hand(self) -> None:
        """Find the winning five of seven cards and read them; the peers only return a strength.

        The table of winning places fills on demand, here in the pass that is not timed.
        """
        holdem, stud = self.holdem.best, self.stud.best
        split = [(" ".join(hand[:2]), " ".join(hand[2:])) for hand in self.seven]
        ours = Contender("rules", lambda hole, board: holdem(hole, board=board).cards, split, two_by_two)
        times = race([ours, *peers_from_strings(self.seven)], self.turns)
        self.add("best and its cards, hole and board strings", times, max_ratio=1.0, against="eval7")
        ours = Contender("rules", lambda seven: stud(seven).cards, [" ".join(hand) for hand in self.seven], one_by_one)
        times = race([ours, *peers_from_strings(self.seven)], self.turns)
        self.add("best and its cards, seven from strings", times, max_ratio=1.0, against="eval7")

    def two_plus_three(self) -> None:
        deals = self.seven[: max(50, len(self.seven) // 10)]
        parsed = [(rules.parse(hand[:2]), rules.parse(hand[2:])) for hand in deals]
        ours = Contender("rules", self.manila.best_strength, parsed, two_by_two)
        ten = [[(*hand[:2], *three) for three in combinations(hand[2:], 3)] for hand in deals]
        eval7_tens, phe_tens, treys_tens = zip(*([peer.data for peer in peers(hands)] for hands in ten), strict=True)
        best, worth, judge = eval7.evaluate, evaluate_cards, treys.Evaluator().evaluate
        composed = [
            Contender("eval7", lambda hands: max([best(hand) for hand in hands]), eval7_tens, one_by_one),
            Contender("phevaluator", lambda hands: min([worth(*hand) for hand in hands]), phe_tens, one_by_one),
            Contender("treys", lambda hands: min([judge(a, b) for a, b in hands]), treys_tens, one_by_one),
        ]
        self.add("Manila, two and three of five", race([ours, *composed], self.turns), max_ratio=1.0)

    def every_hand(self) -> None:
        """Rank hands in order: NumPy all of them, each peer a slice (its rate does not depend on the slice)."""
        numpy_batch.all_strengths(self.poker)
        best = float("inf")
        for _ in range(self.turns):
            start = time.perf_counter()
            count = numpy_batch.all_strengths(self.poker).size
            best = min(best, (time.perf_counter() - start) / count * 1e6)
        some = [list(hand) for hand in islice(combinations(DECK, 5), 1_000_000, 1_000_000 + 4 * len(self.five))]
        times = {"rules": best} | race(peers(some), self.turns)
        self.add("every five-card hand, NumPy", times, max_ratio=1 / 8)


def cost_of_tables() -> list[tuple[str, float]]:
    """Return the seconds to import `rules` and to make the tables that are made on first use."""
    code = "import time; t = time.perf_counter(); import rules; print(time.perf_counter() - t)"
    imports = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
        for _ in range(5)
    ]
    costs = [("import rules", min(imports))]
    for name, options in (("52 cards", DeckOptions()), ("52 and the Joker", DeckOptions(joker=True))):
        for table in ("five", "seven"):
            made = Ranking(options)
            start = time.perf_counter()
            getattr(made, table)
            costs.append((f"table of {table}, {name}", time.perf_counter() - start))
    return costs


def show(bench: Bench, screen: Console) -> bool:
    names = ("rules", "eval7", "phevaluator", "treys")
    table = Table(title="Microseconds per call (best turn)", title_justify="left")
    table.add_column("race")
    for name in names:
        table.add_column(name, justify="right")
    for what, times in bench.rows:
        table.add_row(what, *(f"{times[name]:.3f}" if name in times else "" for name in names))
    screen.print(table)
    ratios = Table(title="Ratios", title_justify="left")
    for column in ("target", "against", "ratio", "at most", ""):
        ratios.add_column(column, justify="right" if column in ("ratio", "at most") else "left")
    for target in bench.targets:
        met = target.ratio <= target.max_ratio
        ratios.add_row(
            target.what, target.peer_name, f"{target.ratio:.3f}", f"{target.max_ratio:.3f}", "met" if met else "MISSED"
        )
    screen.print(ratios)
    for what, seconds in cost_of_tables():
        screen.print(f"{what}: {seconds * 1e3:.1f} ms")
    return all(target.ratio <= target.max_ratio for target in bench.targets)


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0] if __doc__ else "")
    arguments.add_argument("--hands", type=int, default=1_000, help="hands in each race")
    arguments.add_argument("--turns", type=int, default=25, help="turns of each contender")
    chosen = arguments.parse_args()
    bench = Bench(chosen.hands, chosen.turns)
    bench.run()
    return 0 if show(bench, Console(width=110, highlight=False)) else 1


if __name__ == "__main__":
    sys.exit(main())
