"""A display: shows the meter and wins, and shows "unavailable" when the meter may be stale."""

from __future__ import annotations

import asyncio
from typing import Final

from hardware_sim.connection import DeviceConnection
from hardware_sim.device_context import DeviceContext
from hardware_sim.messages import (
    NO_POSITION,
    MessagePosition,
    ReceivedMeter,
    ReceivedWin,
    encode,
    read_controller,
    read_meter,
    read_win,
)  # fmt: skip

STALE_SECONDS: Final = 15.0
MAX_WINS: Final = 1_000


class SimulatedDisplay:
    """One display as a real MQTT client."""

    def __init__(self, name: str, context: DeviceContext) -> None:
        topics, jackpot = context.topics, context.jackpot
        self.name = name
        self.wins: dict[str, ReceivedWin] = {}
        self.win_count = 0
        self._jackpot = jackpot
        self._meter: ReceivedMeter | None = None
        self._meter_received_at = 0.0
        self._position: MessagePosition = NO_POSITION
        self._epoch = -1
        self._controller_is_online = True
        self._topics = {kind: topics.jackpot(jackpot, kind) for kind in ("meter", "wins", "controller")}
        self._shown_topic = topics.display(name, "shown")
        self.connection = DeviceConnection(
            context.broker,
            f"{topics.site}-{name}",
            status_topic=topics.display(name, "status"),
            topics=list(self._topics.values()),
            on_message=self._receive,
            on_connect=self._report_shown,
        )

    @property
    def shown(self) -> ReceivedMeter | None:
        """The meter that it shows; None means "unavailable": it never shows a stale value as live."""
        is_stale = asyncio.get_running_loop().time() - self._meter_received_at > STALE_SECONDS
        return None if is_stale or not self._controller_is_online else self._meter

    def disconnect(self) -> None:
        """Lose the connection, not the memory."""
        self.connection.cut()

    def power_cycle(self) -> None:
        """Lose the power and the memory."""
        self._meter, self._position, self._epoch, self._controller_is_online = None, NO_POSITION, -1, True
        self.connection.cut(away_seconds=1.0)

    def _receive(self, topic: str, payload: bytes) -> None:
        if topic == self._topics["meter"]:
            self._receive_meter(read_meter(payload))
        elif topic == self._topics["wins"]:
            self._receive_win(read_win(payload))
        else:
            status = read_controller(payload)
            if status is not None and status.epoch >= self._epoch:
                self._epoch, self._controller_is_online = status.epoch, status.online

    def _receive_meter(self, meter: ReceivedMeter | None) -> None:
        if meter is None or meter.position < self._position:
            return
        if meter.position.epoch > self._epoch:
            self._epoch, self._controller_is_online = meter.position.epoch, True
        self._meter, self._position = meter, meter.position
        self._meter_received_at = asyncio.get_running_loop().time()
        self._report_shown()

    def _receive_win(self, win: ReceivedWin | None) -> None:
        """Count each win once; a later message with the same id is its confirmation or correction."""
        if win is None or (win.win_id in self.wins and self.wins[win.win_id].status == win.status):
            return
        self.win_count += win.win_id not in self.wins
        self.wins[win.win_id] = win
        if len(self.wins) > MAX_WINS:
            del self.wins[next(iter(self.wins))]

    def _report_shown(self) -> None:
        """Publish the meter that it shows."""
        meter = self.shown
        if meter is not None:
            shown = {"jackpot": self._jackpot, "amount_cents": meter.amount_cents, **meter.position._asdict()}
            self.connection.publish(self._shown_topic, encode(shown))
