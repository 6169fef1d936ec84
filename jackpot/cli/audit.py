"""`jackpot audit`: the audit trail, its verification, and its export; `jackpot report`: the daily report."""

from __future__ import annotations

import sys
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import typer

from jackpot import clock
from jackpot.cli.output import AsCsv, AsJson, Listing, console, money, print_json
from jackpot.cli.output import table as table_of
from jackpot.cli.queries import Before, Limit, TableOption
from jackpot.cli.site_context import DEFAULT_CONFIG, ConfigFile, SiteContext, open_site
from jackpot.store import queries, reports, trail_export, trail_verification
from jackpot.store.errors import StoreError
from jackpot.store.hash_chain import SITE
from jackpot.store.queries import EventFilter, Page
from jackpot.store.signed_notes import Verifier
from jackpot.store.trail_verification import Verified

app = typer.Typer(help="The audit trail.", rich_markup_mode=None)
report_app = typer.Typer(help="Reports.", rich_markup_mode=None)

ChainOption = Annotated[str | None, typer.Option("--chain", help=f"A jackpot's chain, or {SITE}.")]


@app.command("list")
def list_events(  # noqa: PLR0913 - a page's options and filters
    *,
    config: ConfigFile = DEFAULT_CONFIG,
    chain: ChainOption = None,
    since: Annotated[str | None, typer.Option(help="Only events from this time on (RFC 3339, UTC).")] = None,
    until: Annotated[str | None, typer.Option(help="Only events before this time.")] = None,
    kind: Annotated[str | None, typer.Option("--type", help="Only events of this type.")] = None,
    table: TableOption = None,
    actor: Annotated[str | None, typer.Option(help="Only events by this actor.")] = None,
    before: Before = None,
    limit: Limit = 50,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """List events, the newest first."""
    with open_site(config) as site, site.database.reader() as connection:
        page = Page(_chain(site, chain), table, before, limit)
        found = queries.events(connection, page, EventFilter(_moment(since), _moment(until), kind, actor))
    names = {"seq": "seq", "at": "at", "actor": "actor", "type": "type", "table": "table_id", "round": "round"}
    Listing("Events", names | {"data": "data"}, found.rows).show(as_json=as_json, as_csv=as_csv)
    if found.before is not None and len(found.rows) < limit:
        sys.stderr.write(f"jackpot: there may be more events: continue with --before {found.before}\n")


@app.command("verify")
def verify(
    file: Annotated[Path | None, typer.Argument(help="An exported trail; without it, verify the store itself.")] = None,
    *,
    config: ConfigFile = DEFAULT_CONFIG,
    key: Annotated[str | None, typer.Option(help="The site's public key, to verify a file without the site.")] = None,
    as_json: AsJson = False,
) -> int:
    """Verify chains, checkpoints and all tables that can be rebuilt from events; exit 1 if anything is wrong."""
    if file is not None:
        found = [trail_export.verify_file(file, Verifier.of(key) if key else _own_key(config))]
    else:
        with open_site(config) as site:
            with site.database.reader() as connection:
                chains = trail_verification.every_chain(connection)
            own, marks = site.verifier(), site.marks()
            found = [trail_verification.verify(site.database, chain, own, marks) for chain in chains]
    if as_json:
        print_json([row._asdict() for row in found])
    else:
        for row in found:
            console().print(_sentence(row), markup=False, emoji=False, soft_wrap=True)
    return 1 if any(row.problem for row in found) else 0


@app.command("export")
def export(
    file: Annotated[Path, typer.Argument(help="The new file.")],
    *,
    config: ConfigFile = DEFAULT_CONFIG,
    chain: ChainOption = None,
    as_json: AsJson = False,
) -> None:
    """Write a chain to a file that can be verified with the public key alone."""
    if file.exists():
        raise StoreError(f"{file} exists already: an export does not overwrite files")
    with open_site(config) as site:
        name = _chain(site, chain)
        signer = site.signer()
        events = trail_export.export(site.database, name, file, signer, site.marks())
    if as_json:
        print_json({"chain": name, "events": events, "file": str(file), "public_key": str(signer.verifier)})
        return
    console().print(f"Wrote {events} events of {name} to {file}.", soft_wrap=True)
    console().print(f"Verify it with: jackpot audit verify {file} --key {signer.verifier}", soft_wrap=True)


@report_app.command("daily")
def daily(
    *,
    config: ConfigFile = DEFAULT_CONFIG,
    day: Annotated[str | None, typer.Option(help="The day, for example 2026-11-15; default: today.")] = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> int:
    """Show the movements of each pool in a day; exit 1 if a pool does not tie to the cent."""
    with open_site(config) as site, site.database.reader() as connection:
        zone = site.settings.timezone
        chosen = _day(day, zone)
        rows = reports.daily(connection, chosen, zone)
    title = f"Pools on {chosen}, {zone}"
    if as_json or as_csv:
        keys = [
            "jackpot",
            "pool",
            "opening_cents",
            *(f"{kind}_cents" for kind in reports.LINES),
            "closing_cents",
            "ties",
        ]
        Listing(title, {key: key for key in keys}, rows).show(as_json=as_json, as_csv=as_csv)
    else:
        _show_daily(title, rows)
    return 0 if all(row["ties"] for row in rows) else 1


def _show_daily(title: str, rows: list[dict[str, Any]]) -> None:
    """Print a column for each pool and a line for each kind of movement."""
    names = [f"{row['jackpot']} {row['pool']}" for row in rows]
    lines = ["opening", *(kind.value for kind in reports.LINES), "closing"]
    cells = [[line, *(money(row[f"{line}_cents"]) for row in rows)] for line in lines]
    cells.append(["ties to the cent", *("yes" if row["ties"] else "NO" for row in rows)])
    console().print(table_of(title, ["", *names], cells, right=names))


def _chain(site: SiteContext, chain: str | None) -> str:
    return SITE if chain == SITE else site.jackpot(chain)


def _moment(text: str | None) -> str | None:
    """Return a time in the form that events use."""
    try:
        return None if text is None else clock.moment(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def _day(day: str | None, zone: str) -> date:
    if day is None:
        return reports.today(zone)
    try:
        return clock.day(day)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def _own_key(config: Path) -> Verifier:
    with open_site(config) as site:
        return site.verifier()


def _sentence(row: Verified) -> str:
    if row.problem is None:
        signed = f", {row.checkpoints} checkpoints" if row.checkpoints else ""
        return f"{row.chain}: {row.events} events{signed}, all correct. Head {row.head[:16]}…"
    return f"{row.chain}: WRONG at {row.wrong_seq}: {row.problem}"
