"""A supervisor who confirms wins and resumes tables through the console's HTTP API."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from http import HTTPStatus
from http.client import HTTPException
from typing import Any, Final

ATTEMPTS: Final = 5
RETRY_SECONDS: Final = 1.0
TIMEOUT_SECONDS: Final = 10.0
ARRIVAL_SECONDS: Final = 30.0
"""The time a supervisor takes to come to a real table."""
SUFFICIENT_ROLES: Final = ("supervisor", "manager")
_ALREADY_DONE: Final = (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT)
"""Another operator has acted first."""
_RETRIED: Final = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)


class SupervisorError(Exception):
    """An operator whom the console does not let act as a supervisor."""


class Supervisor:
    """Acts at tables that wait for a supervisor; `problem` is the reason why the last act failed."""

    def __init__(self, console: str, token: str, wait_seconds: float) -> None:
        if not console.startswith(("http://", "https://")):
            raise SupervisorError("invalid console address: write http://127.0.0.1:8080")
        self.console = console.rstrip("/")
        self.problem = ""
        self._token = token
        self._wait_seconds = wait_seconds

    async def require_role(self) -> None:
        """Raise an error if the token does not allow a supervisor's acts."""
        try:
            session = await asyncio.to_thread(self._request, "session")
        except urllib.error.HTTPError as error:
            raise SupervisorError(f"the console at {self.console} refuses the token: {_detail(error)}") from None
        except (OSError, HTTPException, ValueError) as error:
            raise SupervisorError(f"cannot reach the console at {self.console}: {_reason(error)}") from None
        if session.get("role") not in SUFFICIENT_ROLES:
            raise SupervisorError(
                f"{session.get('name')} is not a supervisor and can neither confirm a win nor resume a table"
            )

    async def confirm(self, table: str, number: int) -> None:
        """Confirm the pending wins of a round."""
        await self._act(f"rounds/{table}/{number}/confirm")

    async def resume(self, table: str) -> None:
        """Resume a suspended table."""
        await self._act(f"tables/{table}/resume")

    async def _act(self, path: str) -> None:
        """Send a request; again if the console is not available."""
        await asyncio.sleep(self._wait_seconds)
        for _ in range(ATTEMPTS):
            try:
                await asyncio.to_thread(self._request, path, b"{}")
            except urllib.error.HTTPError as error:
                detail = _detail(error)
                self.problem = "" if error.code in _ALREADY_DONE else detail
                if error.code not in _RETRIED:
                    return
            except (OSError, HTTPException, ValueError) as error:
                self.problem = f"cannot reach the console at {self.console}: {_reason(error)}"
            else:
                self.problem = ""
                return
            await asyncio.sleep(RETRY_SECONDS)

    def _request(self, path: str, body: bytes | None = None) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.console}/api/v1/{path}", body, headers)  # noqa: S310 - http, see above
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:  # noqa: S310 - http, see above
            answer: dict[str, Any] = json.load(response)
        return answer


def _detail(error: urllib.error.HTTPError) -> str:
    """Return the console's own error text, or the HTTP status."""
    with error:
        try:
            return str(json.load(error)["detail"])
        except (OSError, ValueError, KeyError, TypeError):
            return f"HTTP {error.code}"


def _reason(error: Exception) -> str:
    reason = getattr(error, "reason", error)
    return getattr(reason, "strerror", None) or str(reason)
