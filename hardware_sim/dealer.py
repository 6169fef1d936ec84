"""A dealer terminal: runs whole rounds from what the table's state says, so it can start again at any moment."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any, Final

from hardware_sim.connection import DeviceConnection
from hardware_sim.device_context import DeviceContext
from hardware_sim.faults import Fault
from hardware_sim.messages import MessagePosition, ReceivedReply, ReceivedState, read_payouts, read_reply, read_state
from hardware_sim.retrying_sender import RetryingSender
from hardware_sim.table import SimulatedTable
from hardware_sim.timing import jittered, next_retry_seconds

PAUSE_SECONDS: Final = 6.0
WAGERING_SECONDS: Final = 13.0
DEALING_SECONDS: Final = 12.0
ACT_SECONDS: Final = 2.0
"""A fold or a declaration, at a real table."""
PATIENCE_SECONDS: Final = 2.0
"""How long the dealer waits for lamps of wagers that lie on the table; the network's time, whatever the speed."""
OFF_SECONDS: Final = 5.0
LOOK_AGAIN_SECONDS: Final = 1.0
"""How long a terminal waits for a state that an answer has promised, or for people, before it looks again."""

ConfirmWin = Callable[[str, int], Awaitable[None]]
"""Called with a table and a round whose prizes await confirmation."""
ResumeTable = Callable[[str], Awaitable[None]]
"""Called with a table that is suspended."""


class PowerCutError(Exception):
    """The terminal lost its power in the middle of whatever it did."""


class SimulatedDealerTerminal:
    """One table's dealer terminal as a real MQTT client."""

    def __init__(
        self,
        table: SimulatedTable,
        context: DeviceContext,
        supervisor: ConfirmWin | None = None,
        resume: ResumeTable | None = None,
    ) -> None:
        topics, name = context.topics, table.name
        self.name = f"{name}/dealer"
        self.state: ReceivedState | None = None
        self.commands = 0
        self.repeated = 0
        self._table = table
        self._context = context
        self._supervisor = supervisor
        self._resume = resume
        self._ids = context.ids(f"{name}d")
        self._state_topic = topics.state(name)
        self.connection = DeviceConnection(
            context.broker,
            f"{topics.site}-{name}-dealer",
            status_topic=topics.dealer(name, "status"),
            topics=[self._state_topic, topics.dealer(name, "reply")],
            on_message=self._hear,
            on_connect=self._connected,
        )
        self._sender = RetryingSender(self.name, self.connection, topics.dealer(name, "command"), context.faults)
        self._answer: asyncio.Future[ReceivedReply] | None = None
        self._asked: tuple[str, dict[str, Any]] | None = None
        self._changed = asyncio.Event()
        self._called_for: MessagePosition | None = None
        self._power_is_cut = False
        self._stopping = False
        self._hurry = asyncio.Event()

    async def play(self, rounds: int | None = None) -> None:
        """Run rounds until so many are dealt, or until told to stop.

        It ends between rounds; only a win that waits for a supervisor, where there is none to call, is left behind.
        """
        first = await self._current()
        last = None if rounds is None else first.round + rounds
        while True:
            try:
                state = await self._current()
                if state.phase == "idle":
                    self._table.end(state.round)
                    if self._stopping or (last is not None and state.round >= last):
                        return
                if self._stopping and state.phase == "pending" and self._supervisor is None:
                    return
                await self._go_on(state)
            except PowerCutError:
                await asyncio.sleep(self._context.timing.seconds(OFF_SECONDS))

    def stop(self) -> None:
        """Finish the round in hand without dawdling, and open no other."""
        self._stopping = True
        self._hurry.set()
        self._changed.set()

    def disconnect(self) -> None:
        """Lose the connection, not the memory."""
        self.connection.cut()

    def power_cycle(self) -> None:
        """Lose the power: forget everything but the counter, then start again from the table's state."""
        self.state, self._asked = None, None
        self._power_is_cut = True
        self._changed.set()
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(PowerCutError())
        self.connection.cut(away_seconds=self._context.timing.seconds(OFF_SECONDS))

    def _connected(self) -> None:
        if self._asked is not None:
            self._sender.repeat(self._asked[1])

    def _hear(self, topic: str, payload: bytes) -> None:
        if topic == self._state_topic:
            state = read_state(payload)
            before = self.state
            if state is None or (before and before.jackpot == state.jackpot and state.position < before.position):
                return
            self.state = state
            self._table.hear(state)
            self._changed.set()
            return
        reply = read_reply(payload)
        if reply is not None and self._asked is not None and reply.command_id == self._asked[0]:
            self._asked = None
            if self._answer is not None and not self._answer.done():
                self._answer.set_result(reply)

    async def _go_on(self, state: ReceivedState) -> None:
        """Do what comes next in this phase."""
        match state.phase:
            case "idle":
                await self._open(state)
            case "open":
                await self._take_wagers(state)
            case "closed":
                await self._deal(state)
            case _:
                await self._await_confirmation(state)

    async def _open(self, state: ReceivedState) -> None:
        if state.suspended is not None:
            if self._resume is not None and self._is_news(state):
                await self._resume(self._table.name)
            await self._until(lambda now: now.suspended is None)
            return
        await self._pause(PAUSE_SECONDS)
        if not self._stopping:
            reply = await self._command("open_round")
            if reply.ok:
                number = int(reply.result["round"])
                await self._until(lambda now: now.round >= number)
            else:
                await self._look_again()

    async def _take_wagers(self, state: ReceivedState) -> None:
        await self._pause(WAGERING_SECONDS)
        await self._wait_for_lamps()
        table, deal = self._table, self._table.deal_number(state.round)
        if table.people.voids_round(deal) and not self._stopping:
            await self._act("void_round", state.round, reason="misdeal")
            await self._until(lambda now: (now.round, now.phase) != (state.round, "open"))
            return
        for box in self.state.lit if self.state else ():
            if table.people.voids_hand(deal, box) and (state.round, box) not in table.voided and not self._stopping:
                table.voided.add((state.round, box))
                await self._act("void_hand", state.round, box=box, reason="chip fell over")
                await self._pause(ACT_SECONDS)
                await self._wait_for_lamps()
        await self._act("close_wagers", state.round)
        await self._until(lambda now: (now.round, now.phase) != (state.round, "open"))

    async def _deal(self, state: ReceivedState) -> None:
        """Five cards to every box; those who fold, those who show, and the lock."""
        await self._pause(DEALING_SECONDS)
        cards, deal = self._table.cards(state), self._table.deal_number(state.round)
        for box in sorted(set(state.lit) - set(state.folded) - set(state.declared), reverse=True):
            hand = cards.boxes.get(box)
            if hand is None:
                continue
            await self._pause(ACT_SECONDS)
            if self._table.people.folds(deal, box, hand):
                await self._act("fold", state.round, box=box)
            else:
                await self._act("declare", state.round, box=box, cards=list(hand))
        await self._settle(state)

    async def _settle(self, state: ReceivedState) -> None:
        standing = frozenset(self.state.lit if self.state and self.state.round == state.round else state.lit)
        reply = await self._act("settle", state.round)
        if reply.ok and all(payout.status == "paid" for payout in read_payouts(reply.result["payouts"])):
            self._table.settled[state.round] = standing
        await self._until(lambda now: (now.round, now.phase) != (state.round, "closed"))

    async def _await_confirmation(self, state: ReceivedState) -> None:
        """A prize waits for a supervisor; that is not the dealer's act."""
        if self._supervisor is not None and self._is_news(state):
            await self._supervisor(self._table.name, state.round)
        await self._until(lambda now: (now.round, now.phase) != (state.round, "pending"))

    def _is_news(self, state: ReceivedState) -> bool:
        """Whether people have not been called yet for what this state says."""
        called, self._called_for = self._called_for, state.position
        return called != state.position

    async def _act(self, kind: str, number: int, **fields: object) -> ReceivedReply:
        """A command for this round; where the round went on without us, look at the state anew."""
        reply = await self._command(kind, round=number, **fields)
        if not reply.ok and reply.error in {"wrong_phase", "wrong_round", "needs_supervisor"}:
            await self._look_again()
        return reply

    async def _command(self, kind: str, **fields: object) -> ReceivedReply:
        """Say a command, and the same again until it is answered."""
        own_id = next(self._ids)
        message = {"command_id": own_id, "type": kind, **fields}
        self._answer = asyncio.get_running_loop().create_future()
        self._asked = own_id, message
        self.commands += 1
        self._sender.say(message, own_id)
        if self._context.faults.occurs(Fault.POWER_CYCLE, self.name):
            self.power_cycle()
        elif self._context.faults.occurs(Fault.DISCONNECT, self.name):
            self.disconnect()
        wait = self._context.timing.first_retry_seconds
        while True:
            done, _ = await asyncio.wait([self._answer], timeout=jittered(wait))
            if done:
                self._power_is_cut = False
                return self._answer.result()
            self.repeated += 1
            self._sender.repeat(message)
            wait = next_retry_seconds(wait)

    async def _current(self) -> ReceivedState:
        """The table's state, as soon as there is one."""
        while self.state is None:
            self._power_is_cut = False
            self._changed.clear()
            await self._changed.wait()
        return self.state

    async def _until(self, reached: Callable[[ReceivedState], bool]) -> None:
        """Wait for the state to get there, but not for ever: then the caller looks again."""
        loop = asyncio.get_running_loop()
        limit = loop.time() + LOOK_AGAIN_SECONDS
        while loop.time() < limit:
            self._heed_power()
            if self.state is not None and reached(self.state):
                return
            self._changed.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(limit):
                    await self._changed.wait()

    async def _look_again(self) -> None:
        """Give a newer state the time to come."""
        before = self.state
        await self._until(lambda now: before is None or now.position > before.position)

    async def _wait_for_lamps(self) -> None:
        """The dealer sees wagers on the table whose lamp is dark, and gives them a moment."""
        loop = asyncio.get_running_loop()
        limit = loop.time() + PATIENCE_SECONDS
        while self._table.awaited and loop.time() < limit:
            self._heed_power()
            await asyncio.sleep(0.01)

    async def _pause(self, at_a_table: float) -> None:
        """Take the time people take; nobody dawdles once the floor closes."""
        self._heed_power()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._context.timing.seconds(at_a_table)):
                await self._hurry.wait()
                return
        self._heed_power()

    def _heed_power(self) -> None:
        if self._power_is_cut:
            self._power_is_cut = False
            raise PowerCutError
