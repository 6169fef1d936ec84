"""`python -m hardware_sim`: a floor of tables at any broker, with a live view and a reconciliation at the end."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Final, NoReturn

from rich.console import Console

from hardware_sim import view
from hardware_sim.connection import Broker, BrokerAddressError
from hardware_sim.controller_books import find_config, read_controller_books
from hardware_sim.faults import FaultError, Faults
from hardware_sim.floor import Floor, FloorError
from hardware_sim.reconciliation import Books, BooksError, read_books_file
from hardware_sim.shoe import Rig, RigError, Shoe
from hardware_sim.supervisor import ARRIVAL_SECONDS, Supervisor, SupervisorError
from hardware_sim.terminal import PlayOptions, end_on_signals, new_screen, play_and_show
from hardware_sim.timing import Timing

EQUAL: Final = 0
DIFFERENT: Final = 1
FAILED: Final = 2
CONTROLLER_SECONDS: Final = 2.0


class _OneLineErrorParser(argparse.ArgumentParser):
    """An argument parser whose errors are one sentence."""

    def error(self, message: str) -> NoReturn:
        """Print the error without the usage text, and exit."""
        self.exit(FAILED, f"{message}\n")


def argument_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = _OneLineErrorParser(
        prog="python -m hardware_sim", description="Simulate a casino floor against an MQTT broker."
    )
    add = parser.add_argument
    add("--broker", default="mqtt://127.0.0.1:1883", help="mqtt://[user:password@]host:port, or mqtts:// for TLS")
    add("--ca-file", metavar="FILE", help="certificate authority of an mqtts:// broker, if it is a private one")
    add("--site", default="casino")
    add("--jackpot", default="main")
    add("--tables", type=int, default=4, metavar="N", help="play tables t1 to tN")
    add("--boxes", type=int, default=7, metavar="N", help="boxes at each table")
    add("--displays", type=int, default=1, metavar="N")
    add("--speed", type=float, default=1.0, help="1 is a real table, 20 is twenty times as fast")
    add("--seed", type=int, default=0, help="the same seed gives the same cards and people")
    add("--rounds", type=int, metavar="N", help="end after N rounds at each table")
    add("--seconds", type=float, metavar="S", help="end after S seconds")
    add("--faults", default="", help="rates by message: duplicate=0.01,garbage=0.01 or all=0.01")
    add("--rig", action="append", default=[], metavar="T:B:HAND@N", help="t1:3:royal_flush@7")
    add("--console", metavar="URL", help="let a supervisor confirm and resume there: http://127.0.0.1:8080")
    add("--token", default=os.environ.get("JACKPOT_TOKEN"), help="the supervisor's token; default: JACKPOT_TOKEN")
    books = parser.add_mutually_exclusive_group()
    config = (
        "reconcile with this site's books; default: JACKPOT_CONFIG or ./jackpot.toml if it is this site's configuration"
    )
    books.add_argument("--config", type=Path, help=config)
    books.add_argument("--books", type=Path, help="reconcile with rows from `jackpot rounds --json` in this file")
    return parser


def main() -> None:
    """Run a floor; exit with 0 if the books are equal, 1 if they differ, 2 if it could not be run."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job starts with it ignored
    arguments = argument_parser().parse_args()
    try:
        sys.exit(asyncio.run(_run(arguments)))
    except (BrokerAddressError, BooksError, FaultError, FloorError, SupervisorError, RigError) as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(FAILED)
    except KeyboardInterrupt:
        sys.stderr.write("stopped without a reconciliation\n")
        sys.exit(FAILED)


def _new_supervisor(arguments: argparse.Namespace) -> Supervisor | None:
    if arguments.speed <= 0:
        raise FloorError("the speed must be greater than 0")
    if arguments.console is None:
        return None
    if not arguments.token:
        raise SupervisorError("--console needs a supervisor's token: use --token or JACKPOT_TOKEN")
    return Supervisor(arguments.console, arguments.token, Timing(arguments.speed).scaled(ARRIVAL_SECONDS))


def _new_floor(arguments: argparse.Namespace, supervisor: Supervisor | None) -> Floor:
    if arguments.tables < 1:
        raise FloorError("a floor has at least one table")
    return Floor(
        [f"t{number}" for number in range(1, arguments.tables + 1)],
        boxes=arguments.boxes,
        displays=max(1, arguments.displays),
        site=arguments.site,
        jackpot=arguments.jackpot,
        broker=Broker.of(arguments.broker, arguments.ca_file),
        speed=arguments.speed,
        seed=arguments.seed,
        shoe=Shoe(arguments.seed, [Rig.parse(text) for text in arguments.rig]),
        faults=Faults.parse(arguments.faults, seed=arguments.seed),
        confirm_win=supervisor.confirm if supervisor else None,
        resume_table=supervisor.resume if supervisor else None,
    )


async def _run(arguments: argparse.Namespace) -> int:
    supervisor = _new_supervisor(arguments)
    floor = _new_floor(arguments, supervisor)
    if supervisor is not None:
        await supervisor.require_role()
    screen = new_screen()
    ended = asyncio.Event()
    with end_on_signals(ended, floor):
        async with floor:
            await _await_controller(floor, screen)
            title = f" {arguments.site} · {arguments.jackpot} · speed {arguments.speed:g} "
            await play_and_show(floor, screen, PlayOptions(title, arguments.rounds, arguments.seconds, ended))
    for table in view.waiting(floor.snapshot()):
        screen.print(f"{table}; it still waits for a supervisor.", soft_wrap=True)
    if supervisor is not None and supervisor.problem:
        screen.print(f"The supervisor's last act failed: {supervisor.problem}", soft_wrap=True, markup=False)
    if not floor.played:
        reason = "stopped before a round was opened" if ended.is_set() else "no controller opened a round in time"
        raise FloorError(f"no round was played: {reason}")
    result = floor.reconcile(await _read_books(floor, arguments))
    screen.print(view.reconciliation(result))
    return EQUAL if result.is_equal else DIFFERENT


async def _await_controller(floor: Floor, screen: Console) -> None:
    """Wait a moment for every table's state; raise an error if the controller publishes only some of the tables."""
    missing = await floor.missing_tables(CONTROLLER_SECONDS)
    if len(missing) == len(floor.tables):
        screen.print("No message from a controller yet; the tables wait for it.")
    elif missing:
        raise FloorError(
            f"the controller does not know {', '.join(missing)}: use fewer --tables, or add them to the site"
        )


async def _read_books(floor: Floor, arguments: argparse.Namespace) -> Books | None:
    if arguments.books is not None:
        return read_books_file(arguments.books)
    config = arguments.config or find_config(arguments.site)
    return None if config is None else await read_controller_books(config, arguments.jackpot, floor.played)


if __name__ == "__main__":
    main()
