"""A site with one jackpot in a store, its key and marks in a folder, and an attacker who may change everything."""

import itertools

from sqlalchemy import text, update

from jackpot.core.commands import CloseWagers, CreateJackpot, LinkTable, OpenRound, PlaceWager, Role, Settle
from jackpot.core.site.commands import INSTALLER, AddJackpot, AddOperator
from jackpot.engine.journal import Journal
from jackpot.engine.signing import JackpotSigner
from jackpot.engine.site_journal import SiteJournal
from jackpot.store import tables
from jackpot.store.checkpoints import ChainSigner, write_checkpoint
from jackpot.store.event_rows import rows_of_chain
from jackpot.store.hash_chain import GENESIS, event_hash
from jackpot.store.marks import ChainMark, MarkFile, Marks
from jackpot.store.signed_notes import Signer
from jackpot.store.trail_verification import Trail, verify
from tests.support.core_floor import AT, DEALER, MANAGER, PAD, config

SIGNER = Signer("casino", bytes(range(32)))
KEY = SIGNER.verifier


class StoredSite:
    """A site with the jackpot main and one table, played without a controller."""

    def __init__(self, database, folder):
        self.database = database
        key = folder / "jackpot.key"
        key.write_text(SIGNER.text)
        self.marks = MarkFile(key)
        self.site = SiteJournal.open(database, "test")
        for name in ("max", "mia"):
            self.site.execute(AddOperator(AT, INSTALLER, name, Role.MANAGER, f"hash of {name}"))
        self.site.execute(AddJackpot(AT, MANAGER, "main"))
        self.journal = Journal.open(database, "main", "test")
        created = CreateJackpot(AT, MANAGER, "main", "canberra-poker-2016", config(), "mia", 5_000_000, 2_000_000)
        self.journal.execute([created, LinkTable(AT, MANAGER, "t1", 7)])
        self.ids = itertools.count(1)

    def reopen(self, seen_epoch=0):
        self.journal = Journal.open(self.database, "main", "test", seen_epoch=seen_epoch)

    def play(self, boxes=(1, 2, 3)):
        """Play a round to its end."""
        number = self.open(boxes)
        self.journal.execute([CloseWagers(AT, DEALER, "t1", number), Settle(AT, DEALER, "t1", number)])

    def open(self, boxes=(1, 2, 3)):
        """Open a round with wagers and return its number."""
        number = self.journal.jackpot.tables["t1"].number + 1
        wagers = [PlaceWager(AT, PAD, "t1", box, f"w{next(self.ids)}", number, 100, ante=True) for box in boxes]
        self.journal.execute([OpenRound(AT, DEALER, "t1"), *wagers])
        return number

    @property
    def seq(self):
        return self.journal.lease.head.seq

    def mark(self):
        """Write the mark of the journal's head, as a controller does every second."""
        seq, digest, epoch = self.journal.lease.head
        self.marks.raise_to(Marks({"main": ChainMark(epoch, seq, digest)}))

    def sign(self, chain="main"):
        return write_checkpoint(self.database, chain, SIGNER, self.marks)

    def snapshot(self):
        """Sign the head with a snapshot, as a controller does when it stops."""
        signer = JackpotSigner(self.journal, ChainSigner(self.database, "main", SIGNER, self.marks))
        signer.is_stopping = True
        signer()

    def started(self, retained=None, chain="main"):
        return Trail(self.database, chain, KEY, self.marks).verify_start(retained)

    def verified(self, chain="main", marks=True):
        return verify(self.database, chain, KEY, self.marks if marks else None)

    def tamper(self, *statements):
        """Change the store after dropping its triggers."""
        with self.database.transaction() as connection:
            for table in ("events", "transfers", "checkpoints"):
                if self.database.is_sqlite:
                    connection.execute(text(f"DROP TRIGGER IF EXISTS {table}_no_update"))
                    connection.execute(text(f"DROP TRIGGER IF EXISTS {table}_no_delete"))
                else:
                    connection.execute(text(f"DROP TRIGGER IF EXISTS {table}_stay ON {table}"))
            for statement in statements:
                assert connection.execute(text(statement)).rowcount > 0, statement

    def rehash(self, chain="main"):
        """Hash every event of a chain anew, as an attacker does after a change."""
        e, c = tables.events.c, tables.chains.c
        with self.database.reader() as connection:
            rows = list(rows_of_chain(connection, chain))
        with self.database.transaction() as connection:
            head = GENESIS
            for row in rows:
                head = event_hash(head, row[:-1])
                connection.execute(update(tables.events).where(e.chain == chain, e.seq == row.seq).values(hash=head))
            connection.execute(update(tables.chains).where(c.chain == chain).values(head=head))
