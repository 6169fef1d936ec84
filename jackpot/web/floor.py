"""The running floor as the web sees it: who asks, which jackpot a table belongs to, and the way to its writer."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from jackpot.core.answers import Error, Refused
from jackpot.core.commands import Actor, Command, Identified, Role
from jackpot.store.book import read_site
from jackpot.store.database import Database
from jackpot.store.writer import Writer
from jackpot.tokens import operator_of
from jackpot.web.problems import Problem

_bearer = HTTPBearer(auto_error=False, description="an operator's token")


class Floor:
    """Every jackpot that this process serves."""

    def __init__(self, database: Database, writers: Mapping[str, Writer]) -> None:
        self._database = database
        self._writers = writers

    def operator(self, token: str) -> Actor:
        """Whom a token belongs to."""
        with self._database.reader() as connection:
            site = read_site(connection)
        try:
            return operator_of(site, token).actor
        except Refused:
            raise Problem(401, "unauthenticated", "this token belongs to no active operator") from None

    async def ask(self, table: str, command: Command | Identified) -> dict[str, Any]:
        """Carry out an act at a table, durably, or raise its refusal."""
        actor = command.command.actor if isinstance(command, Identified) else command.actor
        if actor.role not in (Role.SUPERVISOR, Role.MANAGER):
            raise Refused(Error.FORBIDDEN, f"{actor.name} may not do this: it is a supervisor's act")
        for writer in self._writers.values():
            known = writer.book.jackpot.tables.get(table)
            if known is not None and not known.unlinked:
                decision = await asyncio.wrap_future(writer.ask(command))
                return dict(decision.answer)
        raise Refused(Error.UNKNOWN_TABLE, f"the site has no table {table!r}")


def floor_of(request: Request) -> Floor:
    """The floor that this application serves."""
    floor: Floor = request.app.state.floor
    return floor


async def operator(
    request: Request, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)] = None
) -> Actor:
    """Who asks; a token is needed, and one that belongs to an active operator."""
    if credentials is None:
        raise Problem(401, "unauthenticated", "this needs an operator's token: Authorization: Bearer …")
    return await asyncio.to_thread(floor_of(request).operator, credentials.credentials)
