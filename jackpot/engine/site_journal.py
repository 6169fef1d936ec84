"""The journal of the site: one command in, one transaction, its decision out."""

from __future__ import annotations

from jackpot.core.site.commands import IdentifiedSite, SiteCommand, not_before
from jackpot.core.site.decide import SiteDecision, decide_site
from jackpot.core.site.evolve import evolve_site
from jackpot.core.site.state import Site, plain_site
from jackpot.engine.lease import Lease, Seal, acquire_lease, unsealed
from jackpot.store import queries
from jackpot.store.database import Database
from jackpot.store.hash_chain import SITE
from jackpot.store.idempotency import look_up_command
from jackpot.store.projection import new_projection
from jackpot.store.state_tables import read_site, state_rows, write_states
from jackpot.store.write_connection import WriteConnection


class SiteJournal:
    """The site's chain of events with the state it gives."""

    def __init__(self, lease: Lease, site: Site, last_at: str = "") -> None:
        self.lease = lease
        self.site = site
        self._last_at = last_at

    @classmethod
    def open(cls, database: Database, owner: str, *, seen_epoch: int = 0, seal: Seal = unsealed) -> SiteJournal:
        """Acquire the lease on the site's chain and read its state."""
        lease = acquire_lease(database, SITE, owner, seen_epoch=seen_epoch, seal=seal)
        with database.reader() as connection:
            return cls(lease, read_site(connection), queries.last_event_time(connection, SITE) or "")

    def execute(self, command: SiteCommand | IdentifiedSite) -> SiteDecision:
        """Carry out one command durably, or raise its refusal; a repeat under the same id gets the same answer."""
        decision = decide_site(self.site, self._with_earlier(not_before(command, self._last_at)))
        if decision.event is None:
            return decision
        after = evolve_site(self.site, decision.event)
        states = state_rows(SITE, {"site": plain_site(after)})
        rows = self.lease.next_rows([decision.event])
        projection = new_projection(SITE)
        projection.add_site(rows[0].seq, decision.event)

        def write(connection: WriteConnection) -> None:
            write_states(connection, states)
            projection.write(connection)

        self.lease.append(rows, write)
        self.site, self._last_at = after, decision.event.at
        return decision

    def _with_earlier(self, command: SiteCommand | IdentifiedSite) -> SiteCommand | IdentifiedSite:
        """Return the command with what the store knows of its id."""
        if not isinstance(command, IdentifiedSite):
            return command
        with self.lease.database.reader() as connection:
            return command._replace(earlier=look_up_command(connection, SITE, command.command_id))
