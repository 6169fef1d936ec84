"""The jackpots that a controller serves: those it owns as services, the others as followers of what is stored."""

from __future__ import annotations

import asyncio
from collections import UserDict
from collections.abc import Callable
from concurrent.futures import Future
from typing import Protocol

from jackpot.core.commands import Command, Identified
from jackpot.core.results import Decision
from jackpot.engine.committed_state import CommittedState
from jackpot.engine.equipment import EquipmentMonitor
from jackpot.engine.quarantine import Quarantine


class JackpotSource(Protocol):
    """A jackpot that this controller owns or follows; both show the same, only an owner takes commands."""

    @property
    def id(self) -> str:
        """The jackpot's id."""

    @property
    def owned(self) -> bool:
        """True if this controller owns the jackpot."""

    @property
    def has_owner(self) -> bool:
        """True if a controller that runs owns the jackpot."""

    @property
    def committed(self) -> CommittedState:
        """The committed state and its subscribers."""

    @property
    def equipment(self) -> EquipmentMonitor:
        """The equipment of the tables; it reports to the owner only, so it is unknown to a follower."""

    @property
    def quarantine(self) -> Quarantine:
        """The last messages that could not be read."""

    @property
    def listening(self) -> asyncio.Event:
        """Set once the jackpot's devices are listened to, or its events are followed."""

    on_reload: Callable[[], None]
    """Called after the state was read as a whole, so that subscribers have missed events."""

    def submit(self, command: Command | Identified) -> Future[Decision]:
        """Carry out a command; the future raises `StoreError` if this controller does not own the jackpot."""

    def stop(self) -> None:
        """End."""


class Jackpots(UserDict[str, JackpotSource]):
    """The jackpots by id; those who watch are notified when one is put in place of another, or has missed events."""

    def __init__(self) -> None:
        self._watchers: list[Callable[[str], None]] = []
        super().__init__()

    def watch(self, replaced: Callable[[str], None]) -> None:
        """Call this with the id of each jackpot whose source is replaced, or read as a whole; in the loop's thread."""
        self._watchers.append(replaced)

    def __setitem__(self, name: str, source: JackpotSource) -> None:
        super().__setitem__(name, source)
        source.on_reload = lambda: self._notify(name)
        self._notify(name)

    def _notify(self, name: str) -> None:
        for replaced in self._watchers:
            replaced(name)
