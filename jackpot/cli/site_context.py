"""The site that a command works on: its configuration, database, key, and the operator who acts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from sqlalchemy import select

from jackpot import settings
from jackpot.clock import now
from jackpot.core.commands import Actor, Command, RecoverHistory
from jackpot.core.results import Decision, Refused
from jackpot.core.site.commands import KEYHOLDER, RecordRestore, SiteCommand
from jackpot.engine.journal import Journal
from jackpot.engine.lease import Lease
from jackpot.engine.service import LEASE_SECONDS
from jackpot.engine.site_journal import SiteJournal
from jackpot.identity import may_be_running, owner
from jackpot.settings import Settings, SettingsError
from jackpot.store import tables
from jackpot.store.checkpoints import write_checkpoint
from jackpot.store.database import Database
from jackpot.store.database_clock import clock_ms
from jackpot.store.errors import StoreError
from jackpot.store.hash_chain import SITE
from jackpot.store.lease_seals import seal_lease
from jackpot.store.losses import losses_of
from jackpot.store.marks import ChainMark, MarkFile
from jackpot.store.queries import jackpot_ids
from jackpot.store.schema import require_head
from jackpot.store.signed_notes import Signer, Verifier
from jackpot.store.state_tables import read_site
from jackpot.tokens import operator_of

ConfigFile = Annotated[Path, typer.Option("--config", envvar="JACKPOT_CONFIG", help="The configuration file.")]
Token = Annotated[
    str, typer.Option("--token", envvar="JACKPOT_TOKEN", help="The token of the acting operator.", show_default=False)
]
OptionalToken = Annotated[
    str, typer.Option("--token", envvar="JACKPOT_TOKEN", help="The token of the acting operator.", show_default=False)
]
DEFAULT_CONFIG = settings.DEFAULT_FILE


class SiteContext(NamedTuple):
    """A site's configuration and its open database."""

    settings: Settings
    database: Database

    def signer(self) -> Signer:
        """Return the site's private key."""
        return self.read_key(self.settings)

    @staticmethod
    def read_key(chosen: Settings) -> Signer:
        """Return the private key that these settings name."""
        return Signer.of(_read_key_file(chosen.key_file))

    def verifier(self) -> Verifier:
        """Return the site's public key."""
        return self.signer().verifier

    def marks(self) -> MarkFile:
        """Return the file of marks beside the site's key."""
        return MarkFile(self.settings.key_file)

    def actor(self, token: str) -> Actor:
        """Return the operator with this token."""
        with self.database.reader() as connection:
            return operator_of(read_site(connection), token, now()).actor

    def execute(self, command: Command, jackpot: str | None = None) -> Decision:
        """Execute a command on a jackpot, durably; the name may be left out if the site has only one jackpot."""
        return self.execute_on(self.jackpot(jackpot), command)

    def execute_on(self, chain: str, command: Command) -> Decision:
        """Execute a command on the jackpot of this chain, durably; the command may create the jackpot."""
        self._require_unowned(chain)
        signer = self.signer()
        seal = partial(seal_lease, signer)
        journal = Journal.open(self.database, chain, owner(), notice_target=self.settings.notice_target, seal=seal)
        with self._signed_and_released(journal.lease, signer):
            outcome = journal.execute([command])[0]
            if isinstance(outcome, Refused):
                raise outcome
        return outcome

    def execute_site(self, command: SiteCommand) -> None:
        """Execute a command on the site, durably."""
        self._require_unowned(SITE)
        signer = self.signer()
        journal = SiteJournal.open(self.database, owner(), seal=partial(seal_lease, signer))
        with self._signed_and_released(journal.lease, signer):
            journal.execute(command)

    @contextmanager
    def _signed_and_released(self, lease: Lease, signer: Signer) -> Iterator[None]:
        """Sign the head of the chain if all goes well, as a controller does when it stops; always release the lease.

        It is signed before, too: nothing is added to a history that does not extend what was signed.
        """
        try:
            write_checkpoint(self.database, lease.chain, signer, self.marks())
            yield
            write_checkpoint(self.database, lease.chain, signer, self.marks())
        finally:
            lease.release()

    def recover(self, chain: str, command: RecoverHistory) -> None:
        """Put the loss of events on record, lower the marks to that event, and sign it."""
        signer, journal = self.signer(), self._open(chain, command.epoch)
        try:
            if isinstance(journal, SiteJournal):
                journal.execute(command)
            else:
                (outcome,) = journal.execute([command])
                if isinstance(outcome, Refused):
                    raise outcome
            seq, digest, epoch = journal.lease.head
            self.marks().lower(chain, ChainMark(epoch, seq, digest))
            write_checkpoint(self.database, chain, signer, self.marks())
        finally:
            journal.lease.release()

    def record_restore(self) -> dict[str, int]:
        """Record that this store was restored; return the last known event of each chain that has lost some.

        The marks are not lowered: that takes two managers (`jackpot recover`).
        """
        known = self.marks().read()
        c = tables.chains.c
        with self.database.reader() as connection:
            losses = losses_of(connection, self.verifier(), known)
            rows = connection.execute(select(c.chain, c.seq, c.head)).all()
        heads: dict[str, dict[str, int | str]]
        heads = {row.chain: {"seq": row.seq, "hash": bytes(row.head).hex()} for row in rows}
        behind: dict[str, dict[str, int | str]]
        behind = {loss.chain: {"seq": loss.to_seq, "hash": loss.head.hex()} for loss in losses}
        journal = SiteJournal.open(self.database, owner(), seal=partial(seal_lease, self.signer()))
        try:
            journal.execute(RecordRestore(now(), KEYHOLDER, heads, behind))
            if SITE not in behind:
                write_checkpoint(self.database, SITE, self.signer(), self.marks())
        finally:
            journal.lease.release()
        return {loss.chain: loss.to_seq for loss in losses}

    def _open(self, chain: str, seen_epoch: int) -> Journal | SiteJournal:
        seal = partial(seal_lease, self.signer())
        if chain == SITE:
            return SiteJournal.open(self.database, owner(), seen_epoch=seen_epoch, seal=seal)
        target = self.settings.notice_target
        return Journal.open(self.database, chain, owner(), seen_epoch=seen_epoch, notice_target=target, seal=seal)

    def require_unowned(self, *chains: str) -> None:
        """Refuse if a running controller owns one of these chains."""
        for chain in chains:
            self._require_unowned(chain)

    def _require_unowned(self, chain: str) -> None:
        """Refuse if a running controller owns the chain: a command must not displace it."""
        c, leases = tables.chains.c, tables.leases.c
        query = select(c.owner, leases.renewed_ms).join_from(
            tables.chains, tables.leases, leases.chain == c.chain, isouter=True
        )
        with self.database.reader() as connection:
            row = connection.execute(query.where(c.chain == chain)).one_or_none()
            at_ms = clock_ms(connection)
        if row is None or not row.owner:
            return
        is_on_file, owned_by = self.database.is_sqlite, row.owner
        has_lapsed = not is_on_file and at_ms - (row.renewed_ms or 0) > LEASE_SECONDS * 1_000
        if not has_lapsed and may_be_running(owned_by, on_this_machine=is_on_file):
            raise StoreError(f"the controller {owned_by} owns {chain}: stop it first, or use its console")

    def jackpot(self, name: str | None) -> str:
        """Return this jackpot's id; without a name, that of the site's only jackpot."""
        with self.database.reader() as connection:
            known = jackpot_ids(connection)
        if name is None and len(known) == 1:
            return known[0]
        if name not in known:
            raise StoreError(f"name one of the site's jackpots with --jackpot: {', '.join(known) or 'it has none'}")
        return name


@contextmanager
def open_site(config: Path) -> Iterator[SiteContext]:
    """Open a site's store; refuse a schema of another version."""
    chosen = settings.read(config)
    database = Database(chosen.database)
    try:
        require_file(database)
        require_head(database)
        yield SiteContext(chosen, database)
    finally:
        database.close()


def require_file(database: Database) -> None:
    """Refuse a SQLite file that does not exist: opening it would create it."""
    name = database.url.removeprefix("sqlite:///")
    if database.is_sqlite and not Path(name).is_file():
        raise StoreError(f"{name} does not exist: create it with jackpot init, or restore a backup")


def _read_key_file(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        raise SettingsError(f"the key file {path} does not exist: jackpot init creates it") from None
    except UnicodeDecodeError:
        raise SettingsError(f"the key file {path} does not contain a key") from None
