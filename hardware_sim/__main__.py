"""`python -m hardware_sim`: a floor of tables against any broker, with a live view and a reconciliation at the end."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from pathlib import Path
from typing import Final, NoReturn

from rich.console import Console

from hardware_sim import view
from hardware_sim.connection import Broker, BrokerAddressError
from hardware_sim.controller_books import found_config, read_controller_books
from hardware_sim.faults import FaultError, Faults
from hardware_sim.floor import Floor, FloorError
from hardware_sim.reconciliation import Books, BooksError, read_books_file
from hardware_sim.shoe import Rig, RigError, Shoe
from hardware_sim.supervisor import COMES_SECONDS, Supervisor, SupervisorError
from hardware_sim.terminal import PlayOptions, ended_by_signals, new_screen, show
from hardware_sim.timing import Timing

EQUAL: Final = 0
DIFFERENT: Final = 1
FAILED: Final = 2
CONTROLLER_SECONDS: Final = 2.0


class _Words(argparse.ArgumentParser):
    """Arguments whose errors are one sentence."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and no more."""
        self.exit(FAILED, f"{message}\n")


def options() -> argparse.ArgumentParser:
    """What can be said on the command line."""
    words = _Words(prog="python -m hardware_sim", description="Simulate a casino floor against an MQTT broker.")
    words.add_argument(
        "--broker", default="mqtt://127.0.0.1:1883", help="mqtt://[user:password@]host:port, or mqtts:// for TLS"
    )
    words.add_argument(
        "--ca-file", metavar="FILE", help="whom mqtts:// trusts, where the broker's authority is private"
    )
    words.add_argument("--site", default="casino")
    words.add_argument("--jackpot", default="main")
    words.add_argument("--tables", type=int, default=4, metavar="N", help="play tables t1 to tN")
    words.add_argument("--boxes", type=int, default=7, metavar="N", help="boxes at each table")
    words.add_argument("--displays", type=int, default=1, metavar="N")
    words.add_argument("--speed", type=float, default=1.0, help="1 is a real table, 20 is twenty times as fast")
    words.add_argument("--seed", type=int, default=0, help="the same seed gives the same cards and people")
    words.add_argument("--rounds", type=int, metavar="N", help="end after N rounds at each table")
    words.add_argument("--seconds", type=float, metavar="S", help="end after S seconds")
    words.add_argument("--faults", default="", help="rates by message: duplicate=0.01,garbage=0.01 or all=0.01")
    words.add_argument("--rig", action="append", default=[], metavar="T:B:HAND@N", help="t1:3:royal_flush@7")
    words.add_argument(
        "--console", metavar="URL", help="let a supervisor confirm and resume there: http://127.0.0.1:8080"
    )
    words.add_argument("--token", default=os.environ.get("JACKPOT_TOKEN"), help="that supervisor's, else JACKPOT_TOKEN")
    books = words.add_mutually_exclusive_group()
    config = (
        "reconcile with this site's books; else with those of JACKPOT_CONFIG or ./jackpot.toml if it names the site"
    )
    books.add_argument("--config", type=Path, help=config)
    books.add_argument("--books", type=Path, help="reconcile with rows from `jackpot rounds --json` in this file")
    return words


def main() -> None:
    """Run a floor; 0 where the books are equal, 1 where they differ, 2 where it could not be run."""
    said = options().parse_args()
    try:
        sys.exit(asyncio.run(_run(said)))
    except (BrokerAddressError, BooksError, FaultError, FloorError, SupervisorError, RigError) as problem:
        sys.stderr.write(f"{problem}\n")
        sys.exit(FAILED)
    except KeyboardInterrupt:
        sys.stderr.write("stopped without a reconciliation\n")
        sys.exit(FAILED)


def _operator(said: argparse.Namespace) -> Supervisor | None:
    if said.speed <= 0:
        raise FloorError("the speed must be above 0")
    if said.console is None:
        return None
    if not said.token:
        raise SupervisorError("--console needs a supervisor's token, by --token or JACKPOT_TOKEN")
    return Supervisor(said.console, said.token, Timing(said.speed).seconds(COMES_SECONDS))


def _floor(said: argparse.Namespace, supervisor: Supervisor | None) -> Floor:
    if said.tables < 1:
        raise FloorError("a floor has at least one table")
    return Floor(
        [f"t{number}" for number in range(1, said.tables + 1)],
        boxes=said.boxes,
        displays=max(1, said.displays),
        site=said.site,
        jackpot=said.jackpot,
        broker=Broker.of(said.broker, said.ca_file),
        speed=said.speed,
        seed=said.seed,
        shoe=Shoe(said.seed, [Rig.parse(text) for text in said.rig]),
        faults=Faults.parse(said.faults, seed=said.seed),
        supervisor=supervisor.confirm if supervisor else None,
        resume=supervisor.resume if supervisor else None,
    )


async def _run(said: argparse.Namespace) -> int:
    supervisor = _operator(said)
    floor = _floor(said, supervisor)
    if supervisor is not None:
        await supervisor.require_role()
    screen = new_screen()
    ended = asyncio.Event()
    with ended_by_signals(ended, floor):
        async with floor:
            await _meet_the_controller(floor, screen)
            title = f" {said.site} · {said.jackpot} · speed {said.speed:g} "
            await show(floor, screen, PlayOptions(title, said.rounds, said.seconds, ended))
    for told in view.waiting(floor.snapshot()):
        screen.print(f"{told}: it still waits for a supervisor.", soft_wrap=True)
    if supervisor is not None and supervisor.problem:
        screen.print(f"The supervisor's last act failed: {supervisor.problem}", soft_wrap=True, markup=False)
    if not floor.played:
        why = "it was stopped before one was opened" if ended.is_set() else "no controller opened one in time"
        raise FloorError(f"no round was played: {why}")
    result = floor.reconcile(await _books(floor, said))
    screen.print(view.reconciliation(result))
    return EQUAL if result.is_equal else DIFFERENT


async def _meet_the_controller(floor: Floor, screen: Console) -> None:
    """Wait a moment for every table's state; a controller may also come later, a table that it does not know not."""
    missing = await floor.missing_tables(CONTROLLER_SECONDS)
    if len(missing) == len(floor.tables):
        screen.print("No controller has spoken yet; the tables wait for it.")
    elif missing:
        raise FloorError(f"the controller does not know {', '.join(missing)}: ask for fewer tables, or add them")


async def _books(floor: Floor, said: argparse.Namespace) -> Books | None:
    if said.books is not None:
        return read_books_file(said.books)
    config = said.config or found_config(said.site)
    return None if config is None else await read_controller_books(config, said.jackpot, floor.played)


if __name__ == "__main__":
    main()
