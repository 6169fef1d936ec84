"""`jackpot pools`, `rounds`, `wins`, `tables`: the present state and history."""

from __future__ import annotations

from typing import Annotated

import typer

from jackpot.cli.output import AsCsv, AsJson, Listing
from jackpot.cli.site_context import DEFAULT_CONFIG, ConfigFile, open_site
from jackpot.store import queries
from jackpot.store.queries import Page

JackpotOption = Annotated[str | None, typer.Option("--jackpot", help="The jackpot, if the site has several.")]
TableOption = Annotated[str | None, typer.Option("--table", help="Only this table.")]
ReasonOption = Annotated[str, typer.Option("--reason", help="The reason, recorded in the audit trail.")]
Before = Annotated[int | None, typer.Option(min=1, help="Continue below this seq, the last of the previous page.")]
Limit = Annotated[int, typer.Option(min=1, max=queries.MAX_ROWS, help="Maximum number of rows.")]


def pools(*, config: ConfigFile = DEFAULT_CONFIG, as_json: AsJson = False, as_csv: AsCsv = False) -> None:
    """Show each jackpot's pools, its meter, and the advance that its pools owe the house."""
    with open_site(config) as site, site.database.reader() as connection:
        rows = queries.pools(connection)
    columns = {
        "jackpot": "jackpot",
        "instrument": "instrument",
        "meter": "meter_cents",
        "reserve": "reserve_cents",
        "awaiting confirmation": "payable_cents",
        "advance owed": "advance_owed_cents",
        "configuration": "config_version",
        "tables": "tables",
    }
    Listing("Pools", columns, rows).show(as_json=as_json, as_csv=as_csv)


def tables(
    *,
    config: ConfigFile = DEFAULT_CONFIG,
    jackpot: JackpotOption = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Show each table's round, phase, lit boxes and suspension."""
    with open_site(config) as site, site.database.reader() as connection:
        rows = queries.floor(connection, site.jackpot(jackpot) if jackpot else None)
    columns = {name: name for name in ("table", "jackpot", "boxes", "phase", "round", "lit", "suspended", "mode")}
    Listing("Tables", columns, rows).show(as_json=as_json, as_csv=as_csv)


def rounds(  # noqa: PLR0913 - a page's options
    *,
    config: ConfigFile = DEFAULT_CONFIG,
    jackpot: JackpotOption = None,
    table: TableOption = None,
    before: Before = None,
    limit: Limit = 50,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """List rounds, the newest first."""
    with open_site(config) as site, site.database.reader() as connection:
        rows = queries.rounds(connection, Page(site.jackpot(jackpot), table, before, limit)).rows
    columns = {
        "seq": "seq",
        "jackpot": "chain",
        "table": "table_id",
        "round": "round",
        "phase": "phase",
        "outcome": "outcome",
        "wagers": "wagers",
        "wagered": "wagered_cents",
        "opened": "opened_at",
        "ended": "ended_at",
    }
    Listing("Rounds", columns, rows).show(as_json=as_json, as_csv=as_csv)


def wins(  # noqa: PLR0913 - a page's options
    *,
    config: ConfigFile = DEFAULT_CONFIG,
    jackpot: JackpotOption = None,
    table: TableOption = None,
    before: Before = None,
    limit: Limit = 50,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """List prizes, the newest first."""
    with open_site(config) as site, site.database.reader() as connection:
        rows = queries.wins(connection, Page(site.jackpot(jackpot), table, before, limit))
    columns = {
        "seq": "seq",
        "at": "at",
        "jackpot": "chain",
        "table": "table_id",
        "round": "round",
        "box": "box",
        "hand": "hand",
        "prize": "amount_cents",
        "status": "status",
        "clause": "clause",
    }
    Listing("Prizes", columns, rows).show(as_json=as_json, as_csv=as_csv)
