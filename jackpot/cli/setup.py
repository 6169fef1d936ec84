"""`jackpot init`, `migrate`, `backup`, `restore`: create a site, upgrade its schema, copy and restore its store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from jackpot import settings
from jackpot.cli.defaults import FIRST_CONFIG, OPENING_JACKPOT_CENTS, OPENING_RESERVE_CENTS
from jackpot.cli.output import AsJson, console, print_json, table
from jackpot.cli.site_context import DEFAULT_CONFIG, ConfigFile, SiteContext, open_site
from jackpot.clock import in_days, now
from jackpot.core.commands import Actor, Command, CreateJackpot, LinkTable, Role
from jackpot.core.decide import decide
from jackpot.core.evolve import evolve
from jackpot.core.results import Refused
from jackpot.core.site.commands import INSTALLER, AddJackpot, AddOperator, AddTable
from jackpot.core.site.decide import decide_site
from jackpot.core.site.state import Operator, Site
from jackpot.core.state import NEW
from jackpot.engine.journal import Journal
from jackpot.engine.site_journal import SiteJournal
from jackpot.identity import owner
from jackpot.settings import Settings, SettingsError
from jackpot.store import backup as copies
from jackpot.store.checkpoints import write_checkpoint
from jackpot.store.database import Database, url_without_password
from jackpot.store.errors import StoreError
from jackpot.store.hash_chain import SITE
from jackpot.store.marks import MarkFile
from jackpot.store.schema import migrate as migrate_schema
from jackpot.store.signed_notes import Signer
from jackpot.tokens import DAYS, MAX_DAYS, new_token, token_hash
from rules.instruments import DEFAULT

MANAGERS: Final = ("manager1", "manager2")


def init(  # noqa: PLR0913 - one parameter for each option
    *,
    config: ConfigFile = DEFAULT_CONFIG,
    site: Annotated[str, typer.Option(help="The site's id.")] = "casino",
    jackpot: Annotated[str, typer.Option(help="The first jackpot's id.")] = "main",
    rules: Annotated[str, typer.Option(help="The jackpot's instrument.")] = DEFAULT,
    tables: Annotated[int, typer.Option(min=1, max=500, help="Number of tables: t1, t2, …")] = 4,
    boxes: Annotated[int, typer.Option(min=1, max=20, help="Number of boxes at each table.")] = 7,
    broker: Annotated[
        str, typer.Option(help="The MQTT broker: mqtt://host:port, mqtts://host:port, or embedded.")
    ] = "mqtt://127.0.0.1:1883",
    database: Annotated[str, typer.Option(help="sqlite:///file.db or postgresql://…")] = "sqlite:///jackpot.db",
    days: Annotated[
        int, typer.Option(min=1, max=MAX_DAYS, help="Number of days until the managers' tokens expire.")
    ] = DAYS,
    as_json: AsJson = False,
) -> None:
    """Create a site: configuration, key, schema, two managers, a jackpot with its tables. Asks no questions."""
    if config.exists():
        raise SettingsError(f"{config} exists already: a site is created only once")
    if not config.absolute().parent.is_dir():
        raise SettingsError(f"the folder {config.parent} does not exist: create it first")
    given: dict[str, Any] = {
        "site": site,
        "broker": broker,
        "database": database,
        "key_file": Path(config.stem + ".key"),
    }
    chosen = settings.validate(**given).model_copy(update=given)
    text = settings.to_toml(chosen)
    made = settings.resolve_paths(config, chosen)
    for file in (made.key_file, MarkFile(made.key_file).path):
        if file.exists():
            raise SettingsError(f"the key file {file} exists already: it may belong to another site")
    planned = _plan(jackpot, rules, tables, boxes)
    signer = Signer.new(site)
    with _removed_on_failure(made, config):
        _write_key(made.key_file, signer.text)
        config.write_text(text, encoding="utf-8")
        tokens = _fill(Database(made.database), jackpot, planned, days)
        _first_checkpoints(made, jackpot, signer)
    if as_json:
        print_json({"config": str(config), "public_key": str(signer.verifier), "tokens": tokens})
        return
    screen = console()
    store = url_without_password(made.database)
    screen.print(f"Created the site {site}: configuration {config}, key {made.key_file}, store {store}.")
    screen.print(table("Tokens of the two managers (shown only once)", ("operator", "token"), tokens.items()))
    screen.print(f"Public key for auditors: {signer.verifier}")


def migrate(*, config: ConfigFile = DEFAULT_CONFIG, as_json: AsJson = False) -> None:
    """Upgrade the schema of the database; a schema newer than this program is refused."""
    database = Database(settings.read(config).database)
    before, after = migrate_schema(database)
    database.close()
    if as_json:
        print_json({"before": before, "after": after})
    else:
        console().print(f"The schema is now at {after}." if before != after else f"The schema is already at {after}.")


def backup(
    file: Annotated[Path, typer.Argument(help="The new file.")],
    *,
    config: ConfigFile = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Write a consistent copy of the store to one file, and verify it."""
    with open_site(config) as site:
        found = copies.backup(site.database, file, site.signer(), site.marks())
    _report_copy(f"Copied to {file} and verified", found, as_json=as_json)


def restore(
    file: Annotated[Path, typer.Argument(help="A file made by jackpot backup.")],
    *,
    config: ConfigFile = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Restore a backup into an empty database, verify it, and record what was restored."""
    chosen = settings.read(config)
    database = Database(chosen.database)
    site = SiteContext(chosen, database)
    epochs = {chain: mark.epoch for chain, mark in site.marks().read().marks.items()}
    found = copies.restore(database, file, site.verifier(), epochs)
    behind = site.record_restore()
    database.close()
    _report_copy(f"Restored from {file} and verified", found, as_json=as_json, behind=behind)


def _report_copy(title: str, found: dict[str, int], *, as_json: bool, behind: dict[str, int] | None = None) -> None:
    if as_json:
        print_json({"chains": found, **({"behind": behind} if behind else {})})
        return
    console().print(table(title, ("chain", "events"), found.items(), right=("events",)))
    for chain, seq in (behind or {}).items():
        text = f"{chain} had come to event {seq:,}: restore a newer copy, or run jackpot recover before serving."
        console().print(text, soft_wrap=True)


FIRST, SECOND = (Actor(name, Role.MANAGER) for name in MANAGERS)


def _plan(jackpot: str, rules: str, tables: int, boxes: int) -> list[Command]:
    """Return the commands that create the jackpot and its tables, after a trial on an empty state."""
    if jackpot == SITE:
        raise SettingsError(f"a jackpot cannot be named {SITE}: that is the name of the site's own chain")
    decide_site(Site({FIRST.name: Operator(FIRST.name, Role.MANAGER, "")}), AddJackpot(now(), FIRST, jackpot))
    opening = CreateJackpot(
        now(), FIRST, jackpot, rules, FIRST_CONFIG, SECOND.name, OPENING_JACKPOT_CENTS, OPENING_RESERVE_CENTS
    )
    planned: list[Command] = [
        opening,
        *(LinkTable(now(), FIRST, f"t{number}", boxes) for number in range(1, tables + 1)),
    ]
    state = NEW
    for command in planned:
        for event in decide(state, command).events:
            state = evolve(state, event)
    return planned


@contextmanager
def _removed_on_failure(made: Settings, config: Path) -> Iterator[None]:
    """Remove all new files if the site cannot be created; a database that existed before is kept."""
    name = made.database.removeprefix("sqlite:///")
    new_files = [made.key_file, MarkFile(made.key_file).path, config]
    if made.database.startswith("sqlite:///") and not Path(name).exists():
        new_files += [Path(name), Path(f"{name}-wal"), Path(f"{name}-shm")]
    try:
        yield
    except BaseException:
        for file in new_files:
            file.unlink(missing_ok=True)
        raise


def _fill(database: Database, jackpot: str, planned: list[Command], days: int) -> dict[str, str]:
    """Write the schema, the two managers, the jackpot and its tables; return the tokens."""
    migrate_schema(database)
    site = SiteJournal.open(database, owner())
    if site.site.operators:
        raise StoreError(f"{url_without_password(database.url)} already holds a site: init needs an empty database")
    tokens = {name: new_token() for name in MANAGERS}
    for name, token in tokens.items():
        site.execute(AddOperator(now(), INSTALLER, name, Role.MANAGER, token_hash(token), in_days(days)))
    site.execute(AddJackpot(now(), FIRST, jackpot))
    journal = Journal.open(database, jackpot, owner())
    for outcome in journal.execute(planned):
        if isinstance(outcome, Refused):
            raise outcome
    for command in planned:
        if isinstance(command, LinkTable):
            site.execute(AddTable(now(), FIRST, command.table, jackpot))
    journal.lease.release()
    site.lease.release()
    database.close()
    return tokens


def _first_checkpoints(made: Settings, jackpot: str, signer: Signer) -> None:
    database = Database(made.database)
    for chain in (SITE, jackpot):
        write_checkpoint(database, chain, signer, MarkFile(made.key_file))
    database.close()


def _write_key(path: Path, key: str) -> None:
    path.touch(mode=0o600, exist_ok=False)
    path.write_text(key + "\n", encoding="utf-8")
