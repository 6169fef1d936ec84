"""`jackpot floor`: which tables and jackpots there are; a jackpot begins and ends by two managers."""

from __future__ import annotations

from typing import Annotated

import typer

from jackpot.cli.defaults import FIRST_CONFIG, OPENING_JACKPOT_CENTS, OPENING_RESERVE_CENTS
from jackpot.cli.output import AsJson, done
from jackpot.cli.queries import JackpotOption
from jackpot.cli.site_context import DEFAULT_CONFIG, ConfigFile, Opened, Token, opened
from jackpot.clock import now
from jackpot.core.commands import CreateJackpot, LinkTable, ProposeRetirement, UnlinkTable
from jackpot.core.decide import decide
from jackpot.core.results import CommandError, Refused
from jackpot.core.site.commands import AddJackpot, AddTable
from jackpot.core.state import NEW
from jackpot.store.state_tables import read_site
from rules.instruments import DEFAULT

app = typer.Typer(help="Which tables and jackpots there are.", rich_markup_mode=None)

TableName = Annotated[str, typer.Argument(help="The table's id.")]
JackpotName = Annotated[str, typer.Argument(help="The jackpot's id.")]
WagerRejection = Annotated[str, typer.Option(help="Why; it stays in the audit trail.")]


@app.command("add-table")
def add_table(  # noqa: PLR0913 - who, what, where
    table: TableName,
    *,
    token: Token,
    boxes: Annotated[int, typer.Option(help="How many boxes it has.")] = 7,
    jackpot: JackpotOption = None,
    config: ConfigFile = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Link a table to a jackpot, a new one or one that was removed from it."""
    with opened(config) as site:
        name, actor = site.jackpot(jackpot), site.actor(token)
        if _jackpot_of(site, table) != name:
            site.ask_site(AddTable(now(), actor, table, name))
        site.ask(LinkTable(now(), actor, table, boxes), name)
    done({"table": table, "jackpot": name}, f"Table {table} is linked to the jackpot {name}.", as_json=as_json)


@app.command("remove-table")
def remove_table(
    table: TableName,
    *,
    reason: WagerRejection,
    token: Token,
    config: ConfigFile = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Take a table off its jackpot, between rounds."""
    with opened(config) as site:
        name = _jackpot_of(site, table)
        if name is None:
            raise Refused(CommandError.UNKNOWN_TABLE, f"the site has no table {table!r}")
        site.ask(UnlinkTable(now(), site.actor(token), table, reason), name)
    done({"table": table, "removed": True}, f"Table {table} is linked to {name} no more.", as_json=as_json)


@app.command("add-jackpot")
def add_jackpot(  # noqa: PLR0913 - who, what, how much
    jackpot: JackpotName,
    *,
    token: Token,
    second_token: Annotated[str, typer.Option(envvar="JACKPOT_SECOND_TOKEN", help="The other manager's token.")],
    rules: Annotated[str, typer.Option(help="The jackpot's instrument.")] = DEFAULT,
    jackpot_cents: Annotated[int, typer.Option(help="Advanced to the jackpot pool.")] = OPENING_JACKPOT_CENTS,
    reserve_cents: Annotated[int, typer.Option(help="Advanced to the reserve pool.")] = OPENING_RESERVE_CENTS,
    config: ConfigFile = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Begin another jackpot with the default configuration; two managers give their tokens."""
    with opened(config) as site:
        actor, second = site.actor(token), site.actor(second_token)
        if not second.manages:
            raise Refused(CommandError.FORBIDDEN, f"{second.name} is no manager: a new jackpot takes two")
        opening = CreateJackpot(
            now(), actor, jackpot, rules, FIRST_CONFIG, second.name, jackpot_cents, reserve_cents
        )  # fmt: skip
        decide(NEW, opening)
        if not _is_listed(site, jackpot):
            site.ask_site(AddJackpot(now(), actor, jackpot))
        site.ask_at(jackpot, opening)
    done({"jackpot": jackpot}, f"The jackpot {jackpot} has begun: link tables to it.", as_json=as_json)


@app.command("retire")
def retire(  # noqa: PLR0913 - who, what, why
    jackpot: JackpotName,
    *,
    heir: Annotated[str, typer.Option(help="The jackpot that the pools' money goes on to.")],
    reason: WagerRejection,
    token: Token,
    config: ConfigFile = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Propose that a jackpot ends. Another manager approves it with jackpot config approve."""
    with opened(config) as site:
        site.jackpot(heir)
        answer = site.ask(ProposeRetirement(now(), site.actor(token), heir, reason), jackpot).answer
    sentence = f"Proposal {answer['proposal']} waits for another manager: {answer['warning']}."
    done(answer, sentence, as_json=as_json)


def _jackpot_of(site: Opened, table: str) -> str | None:
    with site.database.reader() as connection:
        return read_site(connection).tables.get(table)


def _is_listed(site: Opened, jackpot: str) -> bool:
    """Whether the site's list has this jackpot; where a crash kept its chain from beginning, it begins now."""
    with site.database.reader() as connection:
        return jackpot in read_site(connection).jackpots
