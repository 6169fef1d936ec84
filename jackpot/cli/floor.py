"""`jackpot floor`: add and remove tables; create and retire jackpots, which takes two managers."""

from __future__ import annotations

from typing import Annotated

import typer

from jackpot.cli.defaults import FIRST_CONFIG, OPENING_JACKPOT_CENTS, OPENING_RESERVE_CENTS
from jackpot.cli.output import AsJson, print_answer
from jackpot.cli.queries import JackpotOption, ReasonOption
from jackpot.cli.site_context import DEFAULT_CONFIG, ConfigFile, SiteContext, Token, open_site
from jackpot.clock import now
from jackpot.core.commands import CreateJackpot, LinkTable, ProposeRetirement, UnlinkTable
from jackpot.core.decide import decide
from jackpot.core.results import CommandError, Refused
from jackpot.core.site.commands import AddJackpot, AddTable
from jackpot.core.state import NEW
from jackpot.store.state_tables import read_site
from rules.instruments import DEFAULT

app = typer.Typer(help="Tables and jackpots of the site.", rich_markup_mode=None)

TableName = Annotated[str, typer.Argument(help="The table's id.")]
JackpotName = Annotated[str, typer.Argument(help="The jackpot's id.")]


@app.command("add-table")
def add_table(  # noqa: PLR0913 - one parameter for each option
    table: TableName,
    *,
    token: Token,
    boxes: Annotated[int, typer.Option(help="Number of boxes.")] = 7,
    jackpot: JackpotOption = None,
    config: ConfigFile = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Link a table to a jackpot: a new table, or one that was removed before."""
    with open_site(config) as site:
        name, actor = site.jackpot(jackpot), site.actor(token)
        if _jackpot_of(site, table) != name:
            site.execute_site(AddTable(now(), actor, table, name))
        site.execute(LinkTable(now(), actor, table, boxes), name)
    print_answer({"table": table, "jackpot": name}, f"Table {table} is linked to the jackpot {name}.", as_json=as_json)


@app.command("remove-table")
def remove_table(
    table: TableName,
    *,
    reason: ReasonOption,
    token: Token,
    config: ConfigFile = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Unlink a table from its jackpot; no round may be in play."""
    with open_site(config) as site:
        name = _jackpot_of(site, table)
        if name is None:
            raise Refused(CommandError.UNKNOWN_TABLE, f"the site has no table {table!r}")
        site.execute(UnlinkTable(now(), site.actor(token), table, reason), name)
    print_answer({"table": table, "removed": True}, f"Table {table} is no longer linked to {name}.", as_json=as_json)


@app.command("add-jackpot")
def add_jackpot(  # noqa: PLR0913 - one parameter for each option
    jackpot: JackpotName,
    *,
    token: Token,
    second_token: Annotated[str, typer.Option(envvar="JACKPOT_SECOND_TOKEN", help="The other manager's token.")],
    rules: Annotated[str, typer.Option(help="The jackpot's instrument.")] = DEFAULT,
    jackpot_cents: Annotated[
        int, typer.Option(help="Opening amount of the jackpot pool, advanced by the house.")
    ] = OPENING_JACKPOT_CENTS,
    reserve_cents: Annotated[
        int, typer.Option(help="Opening amount of the reserve pool, advanced by the house.")
    ] = OPENING_RESERVE_CENTS,
    config: ConfigFile = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Create a jackpot with the default configuration; this takes the tokens of two managers."""
    with open_site(config) as site:
        actor, second = site.actor(token), site.actor(second_token)
        if not second.manages:
            raise Refused(CommandError.FORBIDDEN, f"{second.name} is not a manager: a new jackpot takes two managers")
        opening = CreateJackpot(
            now(), actor, jackpot, rules, FIRST_CONFIG, second.name, jackpot_cents, reserve_cents
        )  # fmt: skip
        decide(NEW, opening)
        if not _is_listed(site, jackpot):
            site.execute_site(AddJackpot(now(), actor, jackpot))
        site.execute_on(jackpot, opening)
    print_answer(
        {"jackpot": jackpot},
        f"The jackpot {jackpot} is created. Link tables to it with jackpot floor add-table.",
        as_json=as_json,
    )


@app.command("retire")
def retire(  # noqa: PLR0913 - one parameter for each option
    jackpot: JackpotName,
    *,
    heir: Annotated[str, typer.Option(help="The jackpot that receives the money of the pools.")],
    reason: ReasonOption,
    token: Token,
    config: ConfigFile = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Propose to retire a jackpot. Another manager approves it with jackpot config approve."""
    with open_site(config) as site:
        site.jackpot(heir)
        answer = site.execute(ProposeRetirement(now(), site.actor(token), heir, reason), jackpot).answer
    sentence = f"Proposal {answer['proposal']} needs the approval of another manager: {answer['warning']}."
    print_answer(answer, sentence, as_json=as_json)


def _jackpot_of(site: SiteContext, table: str) -> str | None:
    with site.database.reader() as connection:
        return read_site(connection).tables.get(table)


def _is_listed(site: SiteContext, jackpot: str) -> bool:
    """Return True if the site lists this jackpot: a crash may have kept its chain from being created."""
    with site.database.reader() as connection:
        return jackpot in read_site(connection).jackpots
