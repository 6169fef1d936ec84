"""Sessions of browsers: in memory, bounded, their ids kept only as a hash; the time is passed in."""

from __future__ import annotations

import secrets
from hashlib import sha256
from typing import Final, NamedTuple

from jackpot.core.site.state import Operator, Site

IDLE_SECONDS: Final = 30 * 60.0
MAX_SECONDS: Final = 12 * 3_600.0
MAX_SESSIONS: Final = 1_000
MAX_PER_OPERATOR: Final = 20
"""An operator who opens more loses the oldest of their own, and ends no other operator's session."""


class Session(NamedTuple):
    """A signed-in browser: its operator, the token it was opened with, and its CSRF token."""

    key: str
    name: str
    token_hash: str
    csrf: str
    began: float
    seen: float

    def ends_in(self, at: float) -> float:
        """Return the seconds until this session ends if no more requests come."""
        return min(self.seen + IDLE_SECONDS, self.began + MAX_SECONDS) - at


class Sessions:
    """All sessions, by the hash of their id."""

    def __init__(self) -> None:
        self._sessions: dict[str, Session] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def open(self, operator: Operator, at: float) -> tuple[str, Session]:
        """Open a session for this operator; return its id, for the browser's cookie only, and the session."""
        self._make_room(operator.name, at)
        secret = secrets.token_urlsafe(32)
        session = Session(key_of(secret), operator.name, operator.token_hash, secrets.token_urlsafe(32), at, at)
        self._sessions[session.key] = session
        return secret, session

    def find(self, secret: str, site: Site, now: str, at: float, *, attended: bool = True) -> Session | None:
        """Return the valid session with this id or None; an attended request restarts its idle time."""
        session = self._sessions.get(key_of(secret))
        if session is None:
            return None
        if not self.is_valid(session, site, now, at):
            del self._sessions[session.key]
            return None
        self._sessions[session.key] = seen = session._replace(seen=at) if attended else session
        return seen

    def is_valid(self, session: Session, site: Site, now: str, at: float) -> bool:
        """Return True if a session has not ended, and the token it was opened with is still valid."""
        known = self._sessions.get(session.key)
        operator = site.operators.get(session.name)
        return (
            known is not None
            and known.ends_in(at) > 0
            and operator is not None
            and operator.active
            and operator.token_hash == session.token_hash
            and not operator.is_expired(now)
        )

    def end(self, session: Session) -> None:
        """End a session."""
        self._sessions.pop(session.key, None)

    def _make_room(self, name: str, at: float) -> None:
        self._sessions = {key: session for key, session in self._sessions.items() if session.ends_in(at) > 0}
        own = [session for session in self._sessions.values() if session.name == name]
        if len(own) >= MAX_PER_OPERATOR:
            self.end(min(own, key=lambda session: session.seen))
        elif len(self._sessions) >= MAX_SESSIONS:
            self.end(min(self._sessions.values(), key=lambda session: session.seen))


def key_of(secret: str) -> str:
    """Return the hash under which a session is kept; ids are long and random, so a plain hash is enough."""
    return sha256(secret.encode(errors="surrogateescape")).hexdigest()
