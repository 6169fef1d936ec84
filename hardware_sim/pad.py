"""A pad: the sensors for ante and jackpot wager at one box, and the lamp that answers them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, NamedTuple

from hardware_sim.connection import DeviceConnection
from hardware_sim.device_context import DeviceContext
from hardware_sim.faults import Fault
from hardware_sim.messages import (
    NO_POSITION,
    MessagePosition,
    ReceivedLamp,
    ReceivedState,
    encode,
    now,
    read_lamp,
    read_state,
)
from hardware_sim.retrying_sender import RetryingSender
from hardware_sim.table import SimulatedTable
from hardware_sim.timing import jittered, next_retry_seconds
from hardware_sim.wager_log import SentWager

PLAYERS_SECONDS: Final = 10.0
"""How long players take, at most, to put their wagers down, at a real table."""
OFF_SECONDS: Final = 3.0
"""How long a pad without power stays dark."""


class _Saying(NamedTuple):
    """A wager that is said again until its answer comes."""

    wager: SentWager
    timer: asyncio.TimerHandle


class SimulatedPad:
    """One box's pad as a real MQTT client."""

    def __init__(self, table: SimulatedTable, box: int, context: DeviceContext) -> None:
        topics, name = context.topics, table.name
        self.name = f"{name}/{box}"
        self.box = box
        self.lamp: ReceivedLamp | None = None
        self.wagering = True
        self._table = table
        self._context = context
        self._wager_log = context.wager_log
        self._ids = context.ids(f"{name}b{box}")
        self._shown_topic = topics.pad(name, box, "shown")
        self._state_topic = topics.state(name)
        self.connection = DeviceConnection(
            context.broker,
            f"{topics.site}-{name}-pad-{box}",
            status_topic=topics.pad(name, box, "status"),
            topics=[self._state_topic, topics.pad(name, box, "lamp")],
            on_message=self._hear,
            on_connect=self._connected,
        )
        self._sender = RetryingSender(
            self.name, self.connection, topics.pad(name, box, "wager"), context.faults, holds_repeats=True
        )
        self._state: ReceivedState | None = None
        self._lamp_position: MessagePosition = NO_POSITION
        self._decided = 0
        self._placing: asyncio.TimerHandle | None = None
        self._saying: dict[str, _Saying] = {}
        self._held: list[SentWager] = []
        table.listeners.append(self._round_over)

    def stop_wagering(self) -> None:
        """Take no more wagers; those that were sent are still said until they are answered."""
        self.wagering = False
        self._take_up()
        self._sender.let_go()
        held, self._held = self._held, []
        for wager in held:
            self._start(wager, self._sender.repeat)

    def disconnect(self) -> None:
        """Lose the connection, not the memory."""
        self.connection.cut()

    def power_cycle(self) -> None:
        """Lose the power: forget everything but the counter, then start again from what the broker retains."""
        for wager_id in list(self._saying):
            self._hush(wager_id)
        self._take_up()
        self._state, self.lamp, self._lamp_position = None, None, NO_POSITION
        self._decided = 0
        self._held = []
        self.connection.cut(away_seconds=self._context.timing.seconds(OFF_SECONDS))

    def close(self) -> None:
        """Say nothing more."""
        for wager_id in list(self._saying):
            self._hush(wager_id)
        self._take_up()

    def _connected(self) -> None:
        self._show()
        for saying in self._saying.values():
            self._sender.repeat(saying.wager.message)

    def _hear(self, topic: str, payload: bytes) -> None:
        if topic == self._state_topic:
            state = read_state(payload)
            if state is not None:
                self._hear_state(state)
        else:
            lamp = read_lamp(payload)
            if lamp is not None and lamp.position >= self._lamp_position:
                self._hear_lamp(lamp)

    def _hear_state(self, state: ReceivedState) -> None:
        before = self._state
        if before is not None and before.jackpot != state.jackpot:
            self._lamp_position = NO_POSITION
        elif before is not None and state.position < before.position:
            return
        self._state = state
        self._table.hear(state)
        if state.phase != "open":
            return
        held, self._held = self._held, []
        for wager in held:
            if wager.round < state.round:
                self._start(wager, self._sender.repeat)
            else:
                self._held.append(wager)
        if self.wagering and state.round > self._decided and self._table.deal_number(state.round) > 0:
            self._decided = state.round
            self._decide(state)

    def _decide(self, state: ReceivedState) -> None:
        """The player puts something down, or not."""
        self._take_up()
        choice = self._table.people.choice(self._table.deal_number(state.round), self.box)
        if choice.wagers:
            wait = self._context.timing.seconds(choice.when * PLAYERS_SECONDS)
            cents = state.wager_cents + choice.extra_cents
            loop = asyncio.get_running_loop()
            self._placing = loop.call_later(wait, self._place, state.round, cents, choice.ante)

    def _place(self, number: int, amount_cents: int, ante: bool) -> None:
        """A wager lies on the pad: send it, unless the round has gone on or a wager of this box stands already."""
        self._placing = None
        state, lamp = self._state, self.lamp
        if state is None or (state.round, state.phase) != (number, "open"):
            return
        if lamp is not None and lamp.lit and lamp.round == number:
            return
        wager = SentWager(next(self._ids), self._table.name, self.box, number, amount_cents, ante, now())
        self._wager_log.write(wager)
        if self._occurs(Fault.DELAY):
            self._held.append(wager)
            return
        self._table.awaited.add(wager.wager_id)
        self._start(wager, lambda message: self._sender.say(message, wager.wager_id))
        if self._occurs(Fault.POWER_CYCLE):
            self.power_cycle()
        elif self._occurs(Fault.DISCONNECT):
            self.disconnect()

    def _start(self, wager: SentWager, say: Callable[[dict[str, object]], None]) -> None:
        """Say a wager, and the same again until it is answered."""
        if wager.wager_id in self._saying:
            return
        say(wager.message)
        self._say_later(wager, self._context.timing.first_retry_seconds)

    def _say_later(self, wager: SentWager, wait: float) -> None:
        timer = asyncio.get_running_loop().call_later(jittered(wait), self._say_again, wager, wait)
        self._saying[wager.wager_id] = _Saying(wager, timer)

    def _say_again(self, wager: SentWager, wait: float) -> None:
        self._wager_log.repeated += 1
        self._sender.repeat(wager.message)
        self._say_later(wager, next_retry_seconds(wait))

    def _hush(self, wager_id: str) -> None:
        saying = self._saying.pop(wager_id, None)
        if saying is not None:
            saying.timer.cancel()
        self._table.awaited.discard(wager_id)

    def _take_up(self) -> None:
        if self._placing is not None:
            self._placing.cancel()
            self._placing = None

    def _hear_lamp(self, lamp: ReceivedLamp) -> None:
        before, self.lamp = self.lamp, lamp
        self._lamp_position = lamp.position
        if before is None or (before.round, before.lit, before.wager_id) != (lamp.round, lamp.lit, lamp.wager_id):
            self._show()
        if lamp.lit and lamp.wager_id is not None:
            self._learn(lamp.wager_id, "accepted", None)
        if lamp.answer is not None and lamp.answer.wager_id is not None:
            self._learn(*lamp.answer)
        if before is not None and before.lit and not lamp.lit and before.round == lamp.round:
            self._ask_why_dark(before)

    def _learn(self, wager_id: str | None, verdict: str, reason: str | None) -> None:
        if wager_id is None or not self._wager_log.hear(wager_id, verdict, reason):
            return
        self._hush(wager_id)
        wager, state = self._wager_log.wager(wager_id), self._state
        if verdict == "returned" and self.wagering and wager and state and wager.round == state.round:
            self._take_up()
            loop = asyncio.get_running_loop()
            wait = self._context.timing.seconds(1.0)
            self._placing = loop.call_later(wait, self._place, state.round, state.wager_cents, True)

    def _ask_why_dark(self, before: ReceivedLamp) -> None:
        """A lamp that goes dark before the first card was voided; the answer to the same wager says so."""
        state, wager_id = self._state, before.wager_id
        if state is not None and (state.round, state.phase) == (before.round, "open") and wager_id is not None:
            wager = self._wager_log.wager(wager_id)
            if wager is not None:
                self._start(wager, self._sender.repeat)

    def clear_up(self) -> None:
        """Ask about every wager whose answer never came, lost in a power cycle perhaps; only when its round is over."""
        held = {wager.wager_id for wager in self._held}
        for wager in self._wager_log.unanswered_of(self._table.name, self.box):
            if wager.wager_id not in held:
                self._start(wager, self._sender.repeat)

    def _round_over(self, number: int, standing: frozenset[int] | None) -> None:
        stood = None if standing is None else self.box in standing
        self._table.awaited -= {saying.wager.wager_id for saying in self._saying.values()}
        self._wager_log.doubt(self._table.name, self.box, number, standing=stood)
        self.clear_up()

    def _show(self) -> None:
        """Tell what the lamp really shows."""
        lamp = self.lamp
        if lamp is not None:
            shown = {"round": lamp.round, "wager_id": lamp.wager_id, "lit": lamp.lit}
            self.connection.publish(self._shown_topic, encode(shown), retain=True)

    def _occurs(self, fault: Fault) -> bool:
        return self._context.faults.occurs(fault, self.name)
