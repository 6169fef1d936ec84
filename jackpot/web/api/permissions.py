"""The role that each path needs, declared beside it, and acts in the name of the caller."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any, Final, NamedTuple

from fastapi import Depends, Header, Request
from fastapi.routing import APIRoute

from jackpot.clock import now
from jackpot.core.commands import Command, Identified, Role
from jackpot.core.results import CommandError, Refused
from jackpot.core.site.commands import IdentifiedSite, SiteCommand
from jackpot.core.site.decide import SiteDecision
from jackpot.engine.jackpots import JackpotSource
from jackpot.store.idempotency import look_up_command
from jackpot.web.authentication import Caller
from jackpot.web.services import WebServices, services_of

Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=255,
        description="a repeat with the same key, by the same operator at the same table, jackpot or site, acts once",
    ),
]
_RANK: Final = {Role.AUDITOR: 0, Role.SUPERVISOR: 1, Role.MANAGER: 2}
_ARTICLE: Final = {Role.AUDITOR: "an auditor's", Role.SUPERVISOR: "a supervisor's", Role.MANAGER: "a manager's"}


class RequireRole:
    """A dependency that requires at least this role; it gives the caller."""

    def __init__(self, role: Role) -> None:
        self.role = role

    async def __call__(self, request: Request) -> Caller:
        """Return the caller if the role is sufficient."""
        return self.require(request)

    def require(self, request: Request) -> Caller:
        """Return the caller, whom the API guard has authenticated; refuse a lesser role."""
        caller: Caller = request.state.caller
        if _RANK[caller.operator.role] < _RANK[self.role]:
            sentence = f"{caller.operator.name} may not do this: it is {_ARTICLE[self.role]} act"
            raise Refused(CommandError.FORBIDDEN, sentence)
        return caller


class ActAs(RequireRole):
    """A dependency that requires at least this role; it gives an act in the caller's name."""

    async def __call__(self, request: Request, key: Key = None) -> Act:  # type: ignore[override]
        """Return an act of the caller."""
        return Act(services_of(request), self.require(request), key)


class Act(NamedTuple):
    """One act of a caller, with the key under which repeats are recognised."""

    services: WebServices
    caller: Caller
    key: str | None

    async def at_table(self, kind: type, table: str, *fields: Any, content: Any = None) -> dict[str, Any]:  # noqa: ANN401 - each command's own
        """Execute a command of a table.

        `content` is the client's part of it, by which a repeat is compared, if that is not all its fields.
        """
        return await self._execute(self.service_of(table), kind, (table, *fields), content)

    def service_of(self, table: str) -> JackpotSource:
        """Return the service of a table, also of one unlinked since: a repeat gets the first answer."""
        return self.services.owned(self.services.jackpot_of(table))

    async def at_jackpot(self, kind: type, jackpot: str, *fields: Any, content: Any = None) -> dict[str, Any]:  # noqa: ANN401
        """Execute a command of a whole jackpot."""
        return await self._execute(self.services.owned(jackpot), kind, fields, content)

    async def was_carried_out(self, jackpot: str) -> bool:
        """Return True if a command of this jackpot was carried out under this key before."""
        if self.key is None:
            return False
        command_id = self._command_id()
        return await self.services.read(lambda connection: look_up_command(connection, jackpot, command_id)) is not None

    async def at_site(self, kind: type, *fields: Any, content: Any = None) -> SiteDecision:  # noqa: ANN401
        """Execute a command of the site."""
        command: SiteCommand = kind(now(), self.caller.actor, *fields)
        if self.key is None:
            return await self.services.execute_site(command)
        return await self.services.execute_site(IdentifiedSite(*self._identity(kind, fields, content), command))

    async def _execute(
        self,
        service: JackpotSource,
        kind: type,
        fields: tuple[Any, ...],
        content: Any,  # noqa: ANN401
    ) -> dict[str, Any]:
        command: Command = kind(now(), self.caller.actor, *fields)
        if self.key is None:
            return await self.services.execute(service, command)
        return await self.services.execute(service, Identified(*self._identity(kind, fields, content), command))

    def _identity(self, kind: type, fields: tuple[Any, ...], content: Any) -> tuple[str, str]:  # noqa: ANN401
        """Return the command's id, and a digest of its content."""
        name = self.caller.operator.name
        text = json.dumps([kind.__name__, name, *(fields if content is None else content)], default=str, sort_keys=True)
        return self._command_id(), hashlib.sha256(text.encode()).hexdigest()

    def _command_id(self) -> str:
        """Return the key as the store keeps it; each operator has keys of their own."""
        return f"operator.{hashlib.sha256(f'{self.caller.operator.name} {self.key}'.encode()).hexdigest()[:48]}"


Auditor = Annotated[Caller, Depends(RequireRole(Role.AUDITOR))]
ByAnyone = Annotated[Act, Depends(ActAs(Role.AUDITOR))]
BySupervisor = Annotated[Act, Depends(ActAs(Role.SUPERVISOR))]
ByManager = Annotated[Act, Depends(ActAs(Role.MANAGER))]
Services = Annotated[WebServices, Depends(services_of)]


def role_of(route: APIRoute) -> Role | None:
    """Return the role that a route declares, or None."""
    for dependency in route.dependant.dependencies:
        if isinstance(dependency.call, RequireRole):
            return dependency.call.role
    return None
