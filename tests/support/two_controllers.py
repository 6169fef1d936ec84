"""Two controllers' HTTP applications in one process, on one PostgreSQL database: one owns the jackpot, one follows."""

import asyncio
from contextlib import asynccontextmanager
from types import SimpleNamespace

import httpx

from jackpot.clock import now
from jackpot.core.commands import Actor, CreateJackpot, LinkTable, OpenRound, PlaceWager, Role
from jackpot.core.site.commands import INSTALLER, AddJackpot, AddOperator, AddTable
from jackpot.engine.alarms import Alarms
from jackpot.engine.controllers import ControllerReport, ControllerReporter, report
from jackpot.engine.follower import JackpotFollower
from jackpot.engine.jackpots import Jackpots
from jackpot.engine.journal import Journal
from jackpot.engine.service import JackpotService
from jackpot.engine.site_journal import SiteJournal
from jackpot.engine.site_writer import SiteWriter
from jackpot.store.database import Database
from jackpot.store.schema import migrate
from jackpot.store.signed_notes import Signer
from jackpot.tokens import token_hash
from jackpot.web.authentication import Authenticator
from jackpot.web.forwarding import Forwarding
from jackpot.web.health import Health
from jackpot.web.live_view import LiveView
from jackpot.web.server import AppContext, application, listening_socket, serve
from jackpot.web.services import SiteInfo, WebServices
from jackpot.web.startup import StartupRouter
from tests.support.core_floor import config
from tests.support.postgres import new_postgres_database

LIMIT_SECONDS = 60
SIGNER = Signer.new("casino")
MAX = Actor("max", Role.MANAGER)
TOKENS = {"max": "token-of-max", "mia": "token-of-mia", "sue": "token-of-sue", "ada": "token-of-ada"}
ROLES = {"sue": Role.SUPERVISOR, "ada": Role.AUDITOR}
VERIFICATION = SimpleNamespace(status=dict, found={})


def new_store(postgres_url):
    """Create a site with two managers, a supervisor, an auditor, and a jackpot with two tables."""
    database = Database(new_postgres_database(postgres_url))
    migrate(database)
    site = SiteJournal.open(database, "test")
    for name in ("max", "mia"):
        site.execute(AddOperator(now(), INSTALLER, name, Role.MANAGER, token_hash(TOKENS[name])))
    for name, role in ROLES.items():
        site.execute(AddOperator(now(), MAX, name, role, token_hash(TOKENS[name])))
    site.execute(AddJackpot(now(), MAX, "main"))
    for table in ("t1", "t2"):
        site.execute(AddTable(now(), MAX, table, "main"))
    journal = Journal.open(database, "main", "nobody")
    created = CreateJackpot(now(), MAX, "main", "canberra-poker-2016", config(), "mia", 1_000_000, 2_000_000)
    journal.execute([created, *(LinkTable(now(), MAX, table, 7) for table in ("t1", "t2"))])
    return database


class ControllerApp:
    """The HTTP side of one controller, with a connection pool of its own."""

    def __init__(self, url, name):
        self.name, self.database = name, Database(url)
        self.jackpots = Jackpots()
        self.site_writer = SiteWriter(self.database, name, lambda: None)
        self.listener = listening_socket("127.0.0.1", 0)
        self.address = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.tasks, self.sources = [], []

    async def own(self):
        """Own the jackpot from now on, in place of what was there."""
        journal = await asyncio.to_thread(Journal.open, self.database, "main", self.name)
        service = JackpotService(journal, lambda: None)
        service.committed.broker_connected = True
        service.listening.set()
        self._put(service)
        return service

    async def follow(self):
        """Follow the jackpot from now on."""
        follower = await asyncio.to_thread(JackpotFollower.open, self.database, "main")
        self._put(follower)
        self.tasks.append(asyncio.create_task(follower.run()))
        return follower

    def _put(self, source):
        if "main" in self.jackpots:
            self.jackpots["main"].stop()
        self.jackpots["main"] = source
        self.sources.append(source)

    async def serve(self):
        """Build the application and serve it."""
        own = ControllerReport(self.name, self.address, True, "0.2.0", now(), {}, ())
        reporter = ControllerReporter(self.database, own, self.jackpots, lambda: True)
        info = SiteInfo("casino", "UTC")
        self.services = WebServices(
            self.database, self.jackpots, self.site_writer, VERIFICATION, info, reporter=reporter
        )
        self.live = LiveView(self.jackpots)
        await asyncio.to_thread(self.live.load, self.database)
        health = Health(self.database, self.jackpots, {}, Alarms())
        self.forwarding = Forwarding(self.services, SIGNER, self.name)
        context = AppContext(self.services, Authenticator(self.site_writer), self.live, health, self.forwarding)
        self.router = StartupRouter(health)
        self.router.route_to(application(context, "0.2.0"))
        await asyncio.to_thread(report, self.database, reporter.current())
        self.tasks.append(asyncio.create_task(reporter.run()))
        self.serving = asyncio.create_task(serve(self.router, self.listener))

    async def stop_serving(self):
        """Stop to answer HTTP and to report, as a controller that ended."""
        for task in (*self.tasks, self.serving):
            task.cancel()
        await asyncio.wait((*self.tasks, self.serving))

    async def close(self):
        await self.stop_serving()
        for source in self.sources:
            await asyncio.to_thread(source.stop)
        await asyncio.to_thread(self.site_writer.close)
        self.database.close()

    async def request(self, method, path, operator="sue", body=None, **headers):
        """Send a request of an operator, and return the response."""
        token = {"Authorization": f"Bearer {TOKENS[operator]}"} if operator else {}
        async with httpx.AsyncClient(base_url=self.address, timeout=LIMIT_SECONDS) as client:
            return await client.request(method, path, json=body, headers={**token, **headers})

    async def act(self, path, body=None, operator="sue", **headers):
        return await self.request("POST", f"/api/v1/{path}", operator, {} if body is None else body, **headers)

    async def get(self, path, operator="ada"):
        answer = await self.request("GET", f"/api/v1/{path}", operator)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def until(self, condition):
        """Wait until a condition of this controller is true."""
        async with asyncio.timeout(LIMIT_SECONDS):
            while not condition():  # noqa: ASYNC110 - not every condition has an event
                await asyncio.sleep(0.02)


@asynccontextmanager
async def two_controllers(postgres_url):
    """Yield the owner and the standby."""
    database = await asyncio.to_thread(new_store, postgres_url)
    url = database.url
    database.close()
    owner, standby = ControllerApp(url, "host-a"), ControllerApp(url, "host-b")
    try:
        await owner.own()
        await owner.serve()
        await standby.follow()
        await standby.serve()
        yield owner, standby
    finally:
        for each in (standby, owner):
            await each.close()


async def open_with_wager(owner, number=1):
    """Open a round at t1 and place a wager at box 3."""
    submit = owner.jackpots["main"].submit
    await asyncio.wrap_future(submit(OpenRound(now(), Actor("dealer"), "t1")))
    await asyncio.wrap_future(submit(PlaceWager(now(), Actor("pad"), "t1", 3, f"w{number}", number, 100, ante=True)))
