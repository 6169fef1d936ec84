"""A display: shows the meter and celebrates wins, and says when it cannot know the meter."""

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
)

SILENCE_SECONDS: Final = 15.0
KEPT_WINS: Final = 1_000


class SimulatedDisplay:
    """One display as a real MQTT client."""

    def __init__(self, name: str, context: DeviceContext) -> None:
        topics, jackpot = context.topics, context.jackpot
        self.name = name
        self.wins: dict[str, ReceivedWin] = {}
        self.won = 0
        self._jackpot = jackpot
        self._meter: ReceivedMeter | None = None
        self._heard_at = 0.0
        self._position: MessagePosition = NO_POSITION
        self._epoch = -1
        self._controller_is_there = True
        self._topics = {kind: topics.jackpot(jackpot, kind) for kind in ("meter", "wins", "controller")}
        self._shown_topic = topics.display(name, "shown")
        self.connection = DeviceConnection(
            context.broker,
            f"{topics.site}-{name}",
            status_topic=topics.display(name, "status"),
            topics=list(self._topics.values()),
            on_message=self._hear,
            on_connect=self._show,
        )

    @property
    def shown(self) -> ReceivedMeter | None:
        """What it shows; None is "unavailable", never a stale figure as if it were live."""
        silent = asyncio.get_running_loop().time() - self._heard_at > SILENCE_SECONDS
        return None if silent or not self._controller_is_there else self._meter

    def disconnect(self) -> None:
        """Lose the connection, not the memory."""
        self.connection.cut()

    def power_cycle(self) -> None:
        """Lose the power and forget everything."""
        self._meter, self._position, self._epoch, self._controller_is_there = None, NO_POSITION, -1, True
        self.connection.cut(away_seconds=1.0)

    def _hear(self, topic: str, payload: bytes) -> None:
        if topic == self._topics["meter"]:
            self._hear_meter(read_meter(payload))
        elif topic == self._topics["wins"]:
            self._hear_win(read_win(payload))
        else:
            said = read_controller(payload)
            if said is not None and said.epoch >= self._epoch:
                self._epoch, self._controller_is_there = said.epoch, said.online

    def _hear_meter(self, meter: ReceivedMeter | None) -> None:
        if meter is None or meter.position < self._position:
            return
        if meter.position.epoch > self._epoch:
            self._epoch, self._controller_is_there = meter.position.epoch, True
        self._meter, self._position = meter, meter.position
        self._heard_at = asyncio.get_running_loop().time()
        self._show()

    def _hear_win(self, win: ReceivedWin | None) -> None:
        """Celebrate each win once; what comes later under the same id is its confirmation or correction."""
        if win is None or (win.win_id in self.wins and self.wins[win.win_id].status == win.status):
            return
        self.won += win.win_id not in self.wins
        self.wins[win.win_id] = win
        if len(self.wins) > KEPT_WINS:
            del self.wins[next(iter(self.wins))]

    def _show(self) -> None:
        meter = self.shown
        if meter is not None:
            shown = {"jackpot": self._jackpot, "amount_cents": meter.amount_cents, **meter.position._asdict()}
            self.connection.publish(self._shown_topic, encode(shown))
