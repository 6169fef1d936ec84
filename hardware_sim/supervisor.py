"""An supervisor of the floor who confirms wins and resumes tables through the console, as a supervisor would."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from http import HTTPStatus
from http.client import HTTPException
from typing import Any, Final

ATTEMPTS: Final = 5
AGAIN_SECONDS: Final = 1.0
TIMEOUT_SECONDS: Final = 10.0
COMES_SECONDS: Final = 30.0
"""How long a supervisor takes to come, at a real table."""
ACTING: Final = ("supervisor", "manager")
_TOO_LATE: Final = (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT)
"""Somebody else was quicker."""
_AGAIN: Final = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)


class SupervisorError(Exception):
    """An supervisor whom the console does not let act."""


class Supervisor:
    """Who is called to a table; `problem` says why the last call was in vain."""

    def __init__(self, console: str, token: str, wait_seconds: float) -> None:
        if not console.startswith(("http://", "https://")):
            raise SupervisorError("the console's address is not understood: write http://127.0.0.1:8080")
        self.console = console.rstrip("/")
        self.problem = ""
        self._token = token
        self._wait_seconds = wait_seconds

    async def require_role(self) -> None:
        """Refuse where this supervisor may not act, before anybody waits for it."""
        try:
            told = await asyncio.to_thread(self._asked, "session")
        except urllib.error.HTTPError as error:
            raise SupervisorError(f"the console at {self.console} refuses the token: {_detail(error)}") from None
        except (OSError, HTTPException, ValueError) as error:
            raise SupervisorError(f"the console at {self.console} cannot be asked: {_reason(error)}") from None
        if told.get("role") not in ACTING:
            raise SupervisorError(f"{told.get('name')} is no supervisor, who could confirm a win or resume a table")

    async def confirm(self, table: str, number: int) -> None:
        """Come to a table whose win waits, and confirm it."""
        await self._act(f"rounds/{table}/{number}/confirm")

    async def resume(self, table: str) -> None:
        """Come to a table that is suspended, and resume it."""
        await self._act(f"tables/{table}/resume")

    async def _act(self, path: str) -> None:
        """Act once; again where the console was not there."""
        await asyncio.sleep(self._wait_seconds)
        for _ in range(ATTEMPTS):
            try:
                await asyncio.to_thread(self._asked, path, b"{}")
            except urllib.error.HTTPError as error:
                detail = _detail(error)
                self.problem = "" if error.code in _TOO_LATE else detail
                if error.code not in _AGAIN:
                    return
            except (OSError, HTTPException, ValueError) as error:
                self.problem = f"the console at {self.console} cannot be asked: {_reason(error)}"
            else:
                self.problem = ""
                return
            await asyncio.sleep(AGAIN_SECONDS)

    def _asked(self, path: str, body: bytes | None = None) -> dict[str, Any]:
        own = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        asked = urllib.request.Request(f"{self.console}/api/v1/{path}", body, own)  # noqa: S310 - http, see above
        with urllib.request.urlopen(asked, timeout=TIMEOUT_SECONDS) as reply:  # noqa: S310 - http, see above
            told: dict[str, Any] = json.load(reply)
        return told


def _detail(error: urllib.error.HTTPError) -> str:
    """The console's own sentence, where it said one."""
    with error:
        try:
            return str(json.load(error)["detail"])
        except (OSError, ValueError, KeyError, TypeError):
            return f"HTTP {error.code}"


def _reason(error: Exception) -> str:
    reason = getattr(error, "reason", error)
    return getattr(reason, "strerror", None) or str(reason)
