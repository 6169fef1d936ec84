"""What commands over the store begin with: the configuration, the database, the key, and who is acting."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from sqlalchemy import select

from jackpot import settings
from jackpot.clock import now
from jackpot.core.commands import Actor, Command
from jackpot.core.results import Decision, Refused
from jackpot.core.site.commands import SiteCommand
from jackpot.engine.journal import Journal
from jackpot.engine.lease import Lease
from jackpot.engine.site_journal import SiteJournal
from jackpot.identity import owner
from jackpot.settings import Settings, SettingsError
from jackpot.store import tables
from jackpot.store.checkpoints import write_checkpoint
from jackpot.store.database import Database
from jackpot.store.errors import StoreError
from jackpot.store.hash_chain import SITE
from jackpot.store.queries import jackpot_ids
from jackpot.store.schema import require_head
from jackpot.store.signed_notes import Signer, Verifier
from jackpot.store.state_tables import read_site
from jackpot.tokens import operator_of

ConfigFile = Annotated[Path, typer.Option("--config", envvar="JACKPOT_CONFIG", help="The configuration file.")]
Token = Annotated[
    str, typer.Option("--token", envvar="JACKPOT_TOKEN", help="The token of the operator who acts.", show_default=False)
]
OptionalToken = Annotated[str, typer.Option("--token", envvar="JACKPOT_TOKEN", help="Who acts.", show_default=False)]
DEFAULT_CONFIG = settings.DEFAULT_FILE


class Opened(NamedTuple):
    """A site's configuration and its open database."""

    settings: Settings
    database: Database

    def signer(self) -> Signer:
        """The site's private key."""
        return self.key(self.settings)

    @staticmethod
    def key(chosen: Settings) -> Signer:
        """The private key that these settings name."""
        return Signer.of(_key_word(chosen.key_file))

    def verifier(self) -> Verifier:
        """The site's public key."""
        return self.signer().verifier

    def actor(self, token: str) -> Actor:
        """Who acts with this token."""
        with self.database.reader() as connection:
            return operator_of(read_site(connection), token, now()).actor

    def ask(self, command: Command, jackpot: str | None = None) -> Decision:
        """Carry out one act on a jackpot, durably; with one jackpot at the site it need not be named."""
        return self.ask_at(self.jackpot(jackpot), command)

    def ask_at(self, chain: str, command: Command) -> Decision:
        """Carry out one act on the jackpot of this chain, which may be about to begin."""
        self._require_unowned(chain)
        signer = self.signer()
        journal = Journal.open(self.database, chain, owner(), notice_target=self.settings.notice_target)
        with self._owned(journal.lease, signer):
            outcome = journal.execute([command])[0]
            if isinstance(outcome, Refused):
                raise outcome
        return outcome

    def ask_site(self, command: SiteCommand) -> None:
        """Carry out one act on the site, durably."""
        self._require_unowned(SITE)
        signer = self.signer()
        journal = SiteJournal.open(self.database, owner())
        with self._owned(journal.lease, signer):
            journal.execute(command)

    @contextmanager
    def _owned(self, lease: Lease, signer: Signer) -> Iterator[None]:
        """What was done is signed at its end, as a controller signs when it stops; the chain is let go in any case."""
        try:
            yield
            write_checkpoint(self.database, lease.chain, signer)
        finally:
            lease.release()

    def _require_unowned(self, chain: str) -> None:
        """A controller that runs must not be displaced by a command beside it."""
        with self.database.reader() as connection:
            held = connection.execute(select(tables.chains.c.owner).where(tables.chains.c.chain == chain)).scalar()
        if held and _lives(held):
            raise StoreError(f"{chain} is being written by the controller at {held}: stop it first, or use its console")

    def jackpot(self, name: str | None) -> str:
        """The jackpot that is meant."""
        with self.database.reader() as connection:
            known = jackpot_ids(connection)
        if name is None and len(known) == 1:
            return known[0]
        if name not in known:
            raise StoreError(f"name one of the site's jackpots with --jackpot: {', '.join(known) or 'there is none'}")
        return name


@contextmanager
def opened(config: Path) -> Iterator[Opened]:
    """A site's store, refused unless its schema is this program's."""
    chosen = settings.read(config)
    database = Database(chosen.database)
    try:
        require_file(database)
        require_head(database)
        yield Opened(chosen, database)
    finally:
        database.close()


def _lives(held: str) -> bool:
    """Whether an owner may still be there: on another machine nobody can tell."""
    host, _, process = held.rpartition(":")
    return host != socket.gethostname() or (process.isdigit() and _runs(int(process)))


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def require_file(database: Database) -> None:
    """A SQLite file that is not there would be made by opening it; a query must not do that."""
    name = database.url.removeprefix("sqlite:///")
    if database.is_sqlite and not Path(name).is_file():
        raise StoreError(f"{name} is not there: make it with jackpot init, or restore a backup")


def _key_word(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        raise SettingsError(f"the key file {path} is not there: it was made by jackpot init") from None
    except UnicodeDecodeError:
        raise SettingsError(f"the key file {path} is not a key") from None
