"""`jackpot handover`: move a jackpot to another controller that stands by, without an interruption."""

from __future__ import annotations

import time
from typing import Annotated, Final

import typer

from jackpot.cli.output import AsJson, print_answer
from jackpot.cli.queries import JackpotOption, ReasonOption
from jackpot.cli.site_context import DEFAULT_CONFIG, ConfigFile, SiteContext, Token, open_site
from jackpot.clock import now
from jackpot.core.site.commands import RequestHandover
from jackpot.engine.controllers import ANY, ControllerReport, Ownership, ask_for, live_controllers, ownerships
from jackpot.store.errors import StoreError

WAIT_SECONDS: Final = 15.0
POLL_SECONDS: Final = 0.1


def handover(  # noqa: PLR0913 - one parameter for each option
    *,
    reason: ReasonOption,
    token: Token,
    to: Annotated[str, typer.Option("--to", help="The controller's name; default: any that stands by.")] = ANY,
    jackpot: JackpotOption = None,
    config: ConfigFile = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Hand a jackpot over to a controller that stands by; supervisors and managers may."""
    with open_site(config) as site:
        name, actor = site.jackpot(jackpot), site.actor(token)
        before, others = _read(site, name)
        ready = sorted(other.name for other in others if other.broker and name in other.standby)
        if not ready or to not in (ANY, *ready):
            listed = ", ".join(ready) or "none"
            raise StoreError(f"no such controller stands by with the broker for {name}; ready are: {listed}")
        site.execute_site(RequestHandover(now(), actor, name, to, reason))
        ask_for(site.database, name, to)
        owner = _wait_for_owner(site, name, before.epoch)
    answer = {"jackpot": name, "owner": owner, "before": before.owner}
    print_answer(answer, f"{name} is now served by {owner}, before by {before.owner}.", as_json=as_json)


def _read(site: SiteContext, name: str) -> tuple[Ownership, list[ControllerReport]]:
    with site.database.reader() as connection:
        return ownerships(connection)[name], list(live_controllers(connection).values())


def _wait_for_owner(site: SiteContext, name: str, epoch: int) -> str:
    """Return the new owner."""
    until = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < until:
        found, _ = _read(site, name)
        if found.owner and found.epoch > epoch:
            return found.owner
        time.sleep(POLL_SECONDS)
    ask_for(site.database, name, "")
    raise StoreError(f"{name} was not handed over within {WAIT_SECONDS:g} s: see the logs of the controllers")
