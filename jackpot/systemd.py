"""What systemd is told, where it has started us: that we are ready, that the loop turns, that we stop."""

from __future__ import annotations

import asyncio
import os
import socket


def tell(message: str) -> None:
    """Say something to systemd; where nobody asked for it, nothing happens."""
    where = os.environ.get("NOTIFY_SOCKET")
    if not where:
        return
    address = f"\0{where[1:]}" if where.startswith("@") else where
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as speaking:
        speaking.setblocking(False)  # nothing waits for a listener that does not listen
        try:
            speaking.sendto(message.encode(), address)
        except OSError:
            return  # it watches us by other means, or not at all


async def keep_telling() -> None:
    """Say that the loop turns, twice as often as systemd's watchdog wants to hear it; ends where it wants nothing."""
    wanted = os.environ.get("WATCHDOG_USEC", "")
    if not wanted.isdigit() or os.environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return
    while True:
        tell("WATCHDOG=1")
        await asyncio.sleep(int(wanted) / 2_000_000)
