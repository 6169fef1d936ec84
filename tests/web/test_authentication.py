"""The authenticator with its own store: records of refused sign-ins, and rate limits."""

import asyncio
import json

import pytest
from sqlalchemy import select, text
from starlette.requests import Request

from jackpot.core.commands import Role
from jackpot.core.site.commands import INSTALLER, AddOperator
from jackpot.engine.site_journal import SiteJournal
from jackpot.engine.site_writer import SiteWriter
from jackpot.store import tables
from jackpot.store.database import Database
from jackpot.store.errors import StoreError
from jackpot.store.schema import migrate
from jackpot.tokens import new_token, token_hash
from jackpot.web.authentication import MAX_FAILURES, Authenticator
from jackpot.web.problems import Problem

AT, YEAR = "2026-11-15T09:30:00.000Z", "2099-11-15T09:30:00.000Z"
TOKEN = new_token()


@pytest.fixture
def database(tmp_path):
    made = Database(f"sqlite:///{tmp_path / 'store.db'}")
    migrate(made)
    SiteJournal.open(made, "test").execute(AddOperator(AT, INSTALLER, "max", Role.MANAGER, token_hash(TOKEN), YEAR))
    yield made
    made.close()


@pytest.fixture
def authenticator(database):
    site_writer = SiteWriter(database, "test", lambda: None)
    yield Authenticator(site_writer)
    site_writer.close()


def request(address, token=None):
    headers = [] if token is None else [(b"authorization", f"Bearer {token}".encode())]
    return Request({"type": "http", "method": "GET", "headers": headers, "client": (address, 1), "scheme": "http"})


async def guess(authenticator, address):
    with pytest.raises(Problem):
        await authenticator.authenticate(request(address, "wrong"))


def entries(database):
    e = tables.events.c
    query = select(e.data).where(e.type == "sign_in_refused").order_by(e.seq)
    with database.reader() as connection:
        recorded = [json.loads(data) for data in connection.execute(query).scalars()]
    return [(data["address"], data["attempts"]) for data in recorded]


def rename(database, name, other):
    with database.transaction() as connection:
        connection.execute(text(f"ALTER TABLE {name} RENAME TO {other}"))


def test_refusals_that_the_store_cannot_take_are_recorded_later_and_none_is_lost(authenticator, database):
    async def run():
        for address in ("10.0.0.7", "10.0.0.8", "10.0.0.7", "10.0.0.9"):
            await guess(authenticator, address)
        rename(database, "events", "elsewhere")
        for _ in range(2):
            with pytest.raises(StoreError):
                await authenticator.record_refusals()
        rename(database, "elsewhere", "events")
        await guess(authenticator, "10.0.0.9")
        await authenticator.record_refusals()
        await authenticator.record_refusals()

    asyncio.run(run())
    assert entries(database) == [("10.0.0.7", 2), ("10.0.0.8", 1), ("10.0.0.9", 2)]


def test_valid_tokens_are_never_rate_limited(authenticator):
    async def run():
        for _ in range(MAX_FAILURES + 5):
            await guess(authenticator, "10.0.0.7")
        with pytest.raises(Problem) as refused:
            await authenticator.sign_in(request("10.0.0.7"), "wrong")
        assert refused.value.status == 429
        assert (await authenticator.authenticate(request("10.0.0.7", TOKEN))).operator.name == "max"
        _, caller = await authenticator.sign_in(request("10.0.0.7"), TOKEN)
        assert caller.operator.name == "max"

    asyncio.run(run())
