"""Sessions of browsers: in memory, bounded, their ids kept only as a hash. The time is told, never read."""

from __future__ import annotations

import secrets
from hashlib import sha256
from typing import Final, NamedTuple

from jackpot.core.site.state import Operator, Site

IDLE_SECONDS: Final = 30 * 60.0
LONGEST_SECONDS: Final = 12 * 3_600.0
MAX_SESSIONS: Final = 1_000
MAX_OF_ONE: Final = 20
"""Sessions of one operator: whoever opens more loses the oldest, and pushes nobody else out."""


class Session(NamedTuple):
    """A signed-in browser: whose it is, the token it was opened with, and what its pages prove themselves with."""

    key: str
    name: str
    token_hash: str
    csrf: str
    began: float
    seen: float

    def ends_in(self, at: float) -> float:
        """Seconds until this session ends if nothing more is heard of it."""
        return min(self.seen + IDLE_SECONDS, self.began + LONGEST_SECONDS) - at


class Sessions:
    """Every session, by the hash of its id."""

    def __init__(self) -> None:
        self._known: dict[str, Session] = {}

    def __len__(self) -> int:
        return len(self._known)

    def open(self, operator: Operator, at: float) -> tuple[str, Session]:
        """A new session of this operator: the id for the browser alone, and what is kept."""
        self._make_room(operator.name, at)
        secret = secrets.token_urlsafe(32)
        session = Session(key_of(secret), operator.name, operator.token_hash, secrets.token_urlsafe(32), at, at)
        self._known[session.key] = session
        return secret, session

    def find(self, secret: str, site: Site, now: str, at: float, *, attended: bool = True) -> Session | None:
        """The session of this id, seen just now if somebody attends; None where it ended, or its operator's access."""
        session = self._known.get(key_of(secret))
        if session is None:
            return None
        if not self.holds(session, site, now, at):
            del self._known[session.key]
            return None
        self._known[session.key] = seen = session._replace(seen=at) if attended else session
        return seen

    def holds(self, session: Session, site: Site, now: str, at: float) -> bool:
        """Whether a session still stands: in its time, and on the token it was opened with."""
        kept = self._known.get(session.key)
        operator = site.operators.get(session.name)
        return (
            kept is not None
            and kept.ends_in(at) > 0
            and operator is not None
            and operator.active
            and operator.token_hash == session.token_hash
            and not operator.is_expired(now)
        )

    def end(self, session: Session) -> None:
        """The operator signs out."""
        self._known.pop(session.key, None)

    def _make_room(self, name: str, at: float) -> None:
        self._known = {key: session for key, session in self._known.items() if session.ends_in(at) > 0}
        own = [session for session in self._known.values() if session.name == name]
        if len(own) >= MAX_OF_ONE:
            self.end(min(own, key=lambda session: session.seen))
        elif len(self._known) >= MAX_SESSIONS:
            self.end(min(self._known.values(), key=lambda session: session.seen))


def key_of(secret: str) -> str:
    """What is kept of a session's id; it is random and long, so a plain hash is enough."""
    return sha256(secret.encode(errors="surrogateescape")).hexdigest()
