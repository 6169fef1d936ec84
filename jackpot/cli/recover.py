"""`jackpot recover`: two managers put on record which events a store has lost, so that it can be served again."""

from __future__ import annotations

from typing import Annotated

import typer
from sqlalchemy import select

from jackpot.cli.output import AsJson, console, print_json
from jackpot.cli.queries import ReasonOption
from jackpot.cli.site_context import DEFAULT_CONFIG, ConfigFile, SiteContext, Token, open_site
from jackpot.clock import now
from jackpot.core.commands import RecoverHistory
from jackpot.store import tables
from jackpot.store.errors import StoreError
from jackpot.store.losses import Loss, losses_of
from jackpot.store.trail_verification import every_chain, verify

SecondToken = Annotated[
    str,
    typer.Option(
        "--second-token", envvar="JACKPOT_SECOND_TOKEN", help="The token of a second manager.", show_default=False
    ),
]


def recover(
    *,
    reason: ReasonOption,
    token: Token,
    second_token: SecondToken,
    config: ConfigFile = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Record the events that the store has lost, with the controllers stopped; first restore the newest copy."""
    with open_site(config) as site:
        first, second = site.actor(token), site.actor(second_token)
        chains = _require_right(site)
        site.require_unowned(*chains)
        with site.database.reader() as connection:
            losses = losses_of(connection, site.verifier(), site.marks().read())
            stored = set(connection.execute(select(tables.chains.c.chain).where(tables.chains.c.seq > 0)).scalars())
        for loss in losses:
            if loss.chain not in stored:
                raise StoreError(f"the store has no events of {loss.chain} at all: restore a copy that has some")
        for loss in losses:
            lost = (loss.from_seq, loss.to_seq, loss.head.hex(), loss.epoch)
            site.recover(loss.chain, RecoverHistory(now(), first, second, *lost, reason))
    if as_json:
        print_json([_plain(loss) for loss in losses])
        return
    for loss in losses:
        text = f"{loss.chain}: the loss of events {loss.from_seq:,} to {loss.to_seq:,} is on record."
        console().print(text, soft_wrap=True)
    if not losses:
        console().print("Nothing is lost: every chain reaches its mark.")


def _require_right(site: SiteContext) -> list[str]:
    """Return every chain, or raise `StoreError` if one is wrong in itself."""
    with site.database.reader() as connection:
        chains = every_chain(connection)
    for chain in chains:
        found = verify(site.database, chain, site.verifier())
        if found.problem is not None:
            raise StoreError(f"the chain {chain} is wrong at event {found.wrong_seq}: {found.problem}: restore a copy")
    return chains


def _plain(loss: Loss) -> dict[str, object]:
    return {**loss._asdict(), "head": loss.head.hex()}
