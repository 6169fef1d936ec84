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
)  # fmt: skip
from hardware_sim.retrying_sender import RetryingSender
from hardware_sim.table import SimulatedTable
from hardware_sim.timing import jittered, next_retry_seconds
from hardware_sim.wager_log import SentWager

PLAYERS_SECONDS: Final = 10.0
"""The longest time that players at a real table take to place their wagers."""
OFF_SECONDS: Final = 3.0
"""The time that a pad stays without power."""


class _Retry(NamedTuple):
    """A wager that is sent again until it is answered."""

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
            on_message=self._receive,
            on_connect=self._on_connect,
        )
        self._sender = RetryingSender(
            self.name, self.connection, topics.pad(name, box, "wager"), context.faults, holds_repeats=True
        )
        self._state: ReceivedState | None = None
        self._lamp_position: MessagePosition = NO_POSITION
        self._decided_round = 0
        self._placing: asyncio.TimerHandle | None = None
        self._retries: dict[str, _Retry] = {}
        self._delayed: list[SentWager] = []
        table.listeners.append(self._on_round_end)

    def stop_wagering(self) -> None:
        """Take no more wagers; those already sent are still repeated until they are answered."""
        self.wagering = False
        self._cancel_placing()
        self._sender.release()
        delayed, self._delayed = self._delayed, []
        for wager in delayed:
            self._start(wager, self._sender.repeat)

    def disconnect(self) -> None:
        """Lose the connection, not the memory."""
        self.connection.cut()

    def power_cycle(self) -> None:
        """Lose the power and all memory except the counter, then start again from the retained messages."""
        self.close()
        self._state, self.lamp, self._lamp_position = None, None, NO_POSITION
        self._decided_round = 0
        self._delayed = []
        self.connection.cut(away_seconds=self._context.timing.scaled(OFF_SECONDS))

    def close(self) -> None:
        """Send nothing more."""
        for wager_id in list(self._retries):
            self._cancel_retry(wager_id)
        self._cancel_placing()

    def clear_up(self) -> None:
        """Send every unanswered wager again, such as those of a power cycle; only when their round has ended."""
        delayed = {wager.wager_id for wager in self._delayed}
        for wager in self._wager_log.unanswered_of(self._table.name, self.box):
            if wager.wager_id not in delayed:
                self._start(wager, self._sender.repeat)

    def _on_connect(self) -> None:
        self._report_shown()
        for retry in self._retries.values():
            self._sender.repeat(retry.wager.message)

    def _receive(self, topic: str, payload: bytes) -> None:
        if topic == self._state_topic:
            state = read_state(payload)
            if state is not None:
                self._receive_state(state)
        else:
            lamp = read_lamp(payload)
            if lamp is not None and lamp.position >= self._lamp_position:
                self._receive_lamp(lamp)

    def _receive_state(self, state: ReceivedState) -> None:
        before = self._state
        if before is not None and before.jackpot != state.jackpot:
            self._lamp_position = NO_POSITION
        elif before is not None and state.position < before.position:
            return
        self._state = state
        self._table.receive_state(state)
        if state.phase != "open":
            return
        delayed, self._delayed = self._delayed, []
        for wager in delayed:
            if wager.round < state.round:
                self._start(wager, self._sender.repeat)
            else:
                self._delayed.append(wager)
        if self.wagering and state.round > self._decided_round and self._table.deal_number(state.round) > 0:
            self._decided_round = state.round
            self._decide(state)

    def _decide(self, state: ReceivedState) -> None:
        """Let the player place a wager, or none."""
        self._cancel_placing()
        choice = self._table.people.choice(self._table.deal_number(state.round), self.box)
        if choice.wagers:
            wait = self._context.timing.scaled(choice.when * PLAYERS_SECONDS)
            cents = state.wager_cents + choice.extra_cents
            loop = asyncio.get_running_loop()
            self._placing = loop.call_later(wait, self._place, state.round, cents, choice.ante)

    def _place(self, number: int, amount_cents: int, ante: bool) -> None:
        """Send a wager, unless the round is no longer open or the box already has a standing wager."""
        self._placing = None
        state, lamp = self._state, self.lamp
        if state is None or (state.round, state.phase) != (number, "open"):
            return
        if lamp is not None and lamp.lit and lamp.round == number:
            return
        wager = SentWager(next(self._ids), self._table.name, self.box, number, amount_cents, ante, now())
        self._wager_log.add(wager)
        if self._occurs(Fault.DELAY):
            self._delayed.append(wager)
            return
        self._table.unlit.add(wager.wager_id)
        self._start(wager, lambda message: self._sender.send(message, wager.wager_id))
        if self._occurs(Fault.POWER_CYCLE):
            self.power_cycle()
        elif self._occurs(Fault.DISCONNECT):
            self.disconnect()

    def _start(self, wager: SentWager, send: Callable[[dict[str, object]], None]) -> None:
        """Send a wager, and again until it is answered."""
        if wager.wager_id in self._retries:
            return
        send(wager.message)
        self._retry_later(wager, self._context.timing.first_retry_seconds)

    def _retry_later(self, wager: SentWager, wait: float) -> None:
        timer = asyncio.get_running_loop().call_later(jittered(wait), self._retry, wager, wait)
        self._retries[wager.wager_id] = _Retry(wager, timer)

    def _retry(self, wager: SentWager, wait: float) -> None:
        self._wager_log.repeated += 1
        self._sender.repeat(wager.message)
        self._retry_later(wager, next_retry_seconds(wait))

    def _cancel_retry(self, wager_id: str) -> None:
        retry = self._retries.pop(wager_id, None)
        if retry is not None:
            retry.timer.cancel()
        self._table.unlit.discard(wager_id)

    def _cancel_placing(self) -> None:
        if self._placing is not None:
            self._placing.cancel()
            self._placing = None

    def _receive_lamp(self, lamp: ReceivedLamp) -> None:
        before, self.lamp = self.lamp, lamp
        self._lamp_position = lamp.position
        if before is None or (before.round, before.lit, before.wager_id) != (lamp.round, lamp.lit, lamp.wager_id):
            self._report_shown()
        if lamp.lit and lamp.wager_id is not None:
            self._receive_answer(lamp.wager_id, "accepted", None)
        if lamp.answer is not None and lamp.answer.wager_id is not None:
            self._receive_answer(*lamp.answer)
        if before is not None and before.lit and not lamp.lit and before.round == lamp.round:
            self._query_dark_lamp(before)

    def _receive_answer(self, wager_id: str | None, verdict: str, reason: str | None) -> None:
        if wager_id is None or not self._wager_log.record_answer(wager_id, verdict, reason):
            return
        self._cancel_retry(wager_id)
        wager, state = self._wager_log.wager(wager_id), self._state
        if verdict == "returned" and self.wagering and wager and state and wager.round == state.round:
            self._cancel_placing()
            loop = asyncio.get_running_loop()
            wait = self._context.timing.scaled(1.0)
            self._placing = loop.call_later(wait, self._place, state.round, state.wager_cents, True)

    def _query_dark_lamp(self, before: ReceivedLamp) -> None:
        """Send the wager again whose lamp went dark in an open round: it was voided, and the answer confirms it."""
        state, wager_id = self._state, before.wager_id
        if state is not None and (state.round, state.phase) == (before.round, "open") and wager_id is not None:
            wager = self._wager_log.wager(wager_id)
            if wager is not None:
                self._start(wager, self._sender.repeat)

    def _on_round_end(self, number: int, standing: frozenset[int] | None) -> None:
        stood = None if standing is None else self.box in standing
        self._table.unlit -= {retry.wager.wager_id for retry in self._retries.values()}
        self._wager_log.end_round(self._table.name, self.box, number, standing=stood)
        self.clear_up()

    def _report_shown(self) -> None:
        """Publish what the lamp really shows."""
        lamp = self.lamp
        if lamp is not None:
            shown = {"round": lamp.round, "wager_id": lamp.wager_id, "lit": lamp.lit}
            self.connection.publish(self._shown_topic, encode(shown), retain=True)

    def _occurs(self, fault: Fault) -> bool:
        return self._context.faults.occurs(fault, self.name)
