"""Notices that another client uses a jackpot's client id: the broker closes our connection again and again."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable
from typing import Final

from jackpot.engine.alarms import AlarmCode, Alarms

MANY_LOSSES: Final = 3
LOSSES_SECONDS: Final = 30.0
"""This many lost connections within this time, while the broker keeps the watch's, are no accident."""
CALM_SECONDS: Final = 60.0
"""The alarm ends when the connection has lasted this long."""
BROKER_LOG: Final = "$SYS/broker/log/#"
"""Where Mosquitto reports connections, if it is configured with `log_dest topic`."""
MAX_ADDRESSES: Final = 20
_CONNECTED: Final = re.compile(rb"New client connected from (\S+) as (\S+) ")


class ClientIdTheft:
    """Counts lost connections, and raises the alarm with the other client's address where the broker reports it."""

    def __init__(self, jackpot: str, client_id: str, alarms: Alarms, broker_steady_since: Callable[[], float]) -> None:
        self._jackpot = jackpot
        self._client_id = client_id
        self._alarms = alarms
        self._broker_steady_since = broker_steady_since
        self._losses: deque[float] = deque(maxlen=MANY_LOSSES)
        self._own_addresses: deque[str] = deque(maxlen=MAX_ADDRESSES)
        self._addresses: deque[str] = deque(maxlen=MAX_ADDRESSES)
        self._raised_at: float | None = None

    def connected(self, own_address: str) -> None:
        """Note our own address: the broker reports it, too."""
        self._own_addresses.append(own_address)

    def lost(self) -> bool:
        """Count a connection that the broker closed; return True if another client has the client id."""
        at = time.monotonic()
        self._losses.append(at)
        first = self._losses[0]
        if len(self._losses) < MANY_LOSSES or at - first > LOSSES_SECONDS or self._broker_steady_since() > first:
            return False
        self._raised_at = at
        self._raise()
        return True

    def read_log(self, line: bytes) -> None:
        """Take in a line of the broker's log."""
        found = _CONNECTED.search(line)
        if found is None or found[2].decode(errors="replace") != self._client_id:
            return
        self._addresses.append(found[1].decode(errors="replace"))
        if self._raised_at is not None:
            self._raise()

    def check(self) -> None:
        """End the alarm when nothing was lost for a while; called now and then while our client id is in use."""
        if self._raised_at is not None and time.monotonic() - self._losses[-1] > CALM_SECONDS:
            self._raised_at = None
            self._addresses.clear()
            self._alarms.end_alarm(self._jackpot, AlarmCode.CLIENT_ID_TAKEN)

    def _raise(self) -> None:
        others = [address for address in self._addresses if address not in self._own_addresses]
        where = f"from {others[-1]}" if others else "from an address that the broker does not report"
        says = (
            f"another client connects {where} with the client id {self._client_id}: "
            "stop it, and give the broker access rules that keep this id for the controller"
        )
        self._alarms.raise_alarm(self._jackpot, AlarmCode.CLIENT_ID_TAKEN, says)
