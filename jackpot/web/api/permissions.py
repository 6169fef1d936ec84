"""The role each path needs, declared once beside it, and an act in the name of whoever asked for it."""

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
from jackpot.engine.service import JackpotService
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
    """The least role that a path is for."""

    def __init__(self, role: Role) -> None:
        self.role = role

    async def __call__(self, request: Request) -> Caller:
        """Whoever asks, if the role is enough."""
        return self.admit(request)

    def admit(self, request: Request) -> Caller:
        """Refuse a lesser role; the gate has found out who it is."""
        caller: Caller = request.state.caller
        if _RANK[caller.operator.role] < _RANK[self.role]:
            sentence = f"{caller.operator.name} may not do this: it is {_ARTICLE[self.role]} act"
            raise Refused(CommandError.FORBIDDEN, sentence)
        return caller


class ActAs(RequireRole):
    """An act, and the least role that it is for."""

    async def __call__(self, request: Request, key: Key = None) -> Act:  # type: ignore[override]
        """The act of whoever asks."""
        return Act(services_of(request), self.admit(request), key)


class Act(NamedTuple):
    """One act: on which floor, by whom, and under which key a repeat is known."""

    services: WebServices
    caller: Caller
    key: str | None

    async def at_table(self, kind: type, table: str, *fields: Any, said: Any = None) -> dict[str, Any]:  # noqa: ANN401 - each command's own
        """Carry out one command of a table; `said` is what the client said of it, where that is not all its fields."""
        return await self._ask(self.service_of(table), kind, (table, *fields), said)

    def service_of(self, table: str) -> JackpotService:
        """The service of a table, also of one that was unlinked since: a repeat is answered as the first was."""
        return self.services.service(self.services.jackpot_of(table))

    async def at_jackpot(self, kind: type, jackpot: str, *fields: Any, said: Any = None) -> dict[str, Any]:  # noqa: ANN401
        """Carry out one command of a whole jackpot."""
        return await self._ask(self.services.service(jackpot), kind, fields, said)

    async def was_carried_out(self, jackpot: str) -> bool:
        """Whether a command of this jackpot was carried out under this key before."""
        if self.key is None:
            return False
        command_id = self._command_id()
        return await self.services.read(lambda connection: look_up_command(connection, jackpot, command_id)) is not None

    async def at_site(self, kind: type, *fields: Any, said: Any = None) -> SiteDecision:  # noqa: ANN401
        """Carry out one command of the site."""
        command: SiteCommand = kind(now(), self.caller.actor, *fields)
        if self.key is None:
            return await self.services.ask_site(command)
        return await self.services.ask_site(IdentifiedSite(*self._identity(kind, fields, said), command))

    async def _ask(self, service: JackpotService, kind: type, fields: tuple[Any, ...], said: Any) -> dict[str, Any]:  # noqa: ANN401
        command: Command = kind(now(), self.caller.actor, *fields)
        if self.key is None:
            return await self.services.ask(service, command)
        return await self.services.ask(service, Identified(*self._identity(kind, fields, said), command))

    def _identity(self, kind: type, fields: tuple[Any, ...], said: Any) -> tuple[str, str]:  # noqa: ANN401
        """The command's id, and a digest of what was asked."""
        name = self.caller.operator.name
        content = json.dumps([kind.__name__, name, *(fields if said is None else said)], default=str, sort_keys=True)
        return self._command_id(), hashlib.sha256(content.encode()).hexdigest()

    def _command_id(self) -> str:
        """The key as the store keeps it: each operator has keys of their own."""
        return f"operator.{hashlib.sha256(f'{self.caller.operator.name} {self.key}'.encode()).hexdigest()[:48]}"


Auditor = Annotated[Caller, Depends(RequireRole(Role.AUDITOR))]
Supervisor = Annotated[Caller, Depends(RequireRole(Role.SUPERVISOR))]
Manager = Annotated[Caller, Depends(RequireRole(Role.MANAGER))]
ByAnyone = Annotated[Act, Depends(ActAs(Role.AUDITOR))]
BySupervisor = Annotated[Act, Depends(ActAs(Role.SUPERVISOR))]
ByManager = Annotated[Act, Depends(ActAs(Role.MANAGER))]
At = Annotated[WebServices, Depends(services_of)]


def role_of(route: APIRoute) -> Role | None:
    """The role that a route declares; None where it declares none."""
    for needed in route.dependant.dependencies:
        if isinstance(needed.call, RequireRole):
            return needed.call.role
    return None
