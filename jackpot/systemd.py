"""Notifications to systemd if it has started us: ready, watchdog, stopping."""

from __future__ import annotations

import asyncio
import os
import socket


def notify(message: str) -> None:
    """Send a notification to systemd; do nothing without `NOTIFY_SOCKET`."""
    path = os.environ.get("NOTIFY_SOCKET")
    if not path:
        return
    address = f"\0{path[1:]}" if path.startswith("@") else path
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.setblocking(False)  # never wait for a receiver that does not read
        try:
            sender.sendto(message.encode(), address)
        except OSError:
            return  # systemd is not reachable; the service works without it


async def feed_watchdog() -> None:
    """Notify systemd's watchdog twice per interval while the event loop runs; return at once if there is none."""
    interval = os.environ.get("WATCHDOG_USEC", "")
    if not interval.isdigit() or os.environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return
    while True:
        notify("WATCHDOG=1")
        await asyncio.sleep(int(interval) / 2_000_000)
