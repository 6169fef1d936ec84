"""A dealer terminal: plays whole rounds, guided by the table's state alone, so that it can restart at any moment."""

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
"""The time of a fold or a declaration at a real table."""
LAMP_WAIT_SECONDS: Final = 2.0
"""The time the dealer waits for the lamps of wagers on the table; network time, not divided by the speed."""
OFF_SECONDS: Final = 5.0
RECHECK_SECONDS: Final = 1.0
"""The time a terminal waits for an expected state, or for people, before it checks the state again."""

ConfirmWin = Callable[[str, int], Awaitable[None]]
"""Called with a table and a round whose prizes await confirmation."""
ResumeTable = Callable[[str], Awaitable[None]]
"""Called with a table that is suspended."""


class PowerCutError(Exception):
    """The terminal lost its power."""


class SimulatedDealerTerminal:
    """One table's dealer terminal as a real MQTT client."""

    def __init__(
        self,
        table: SimulatedTable,
        context: DeviceContext,
        confirm_win: ConfirmWin | None = None,
        resume_table: ResumeTable | None = None,
    ) -> None:
        topics, name = context.topics, table.name
        self.name = f"{name}/dealer"
        self.state: ReceivedState | None = None
        self.commands = 0
        self.repeated = 0
        self._table = table
        self._context = context
        self._confirm_win = confirm_win
        self._resume_table = resume_table
        self._ids = context.ids(f"{name}d")
        self._state_topic = topics.state(name)
        self.connection = DeviceConnection(
            context.broker,
            f"{topics.site}-{name}-dealer",
            status_topic=topics.dealer(name, "status"),
            topics=[self._state_topic, topics.dealer(name, "reply")],
            on_message=self._receive,
            on_connect=self._on_connect,
        )
        self._sender = RetryingSender(self.name, self.connection, topics.dealer(name, "command"), context.faults)
        self._reply: asyncio.Future[ReceivedReply] | None = None
        self._open_command: tuple[str, dict[str, Any]] | None = None
        self._changed = asyncio.Event()
        self._called_for: MessagePosition | None = None
        self._power_is_cut = False
        self._stopping = False
        self._hurry = asyncio.Event()

    async def play(self, rounds: int | None = None) -> None:
        """Play so many rounds, or until `stop` is called.

        It ends between rounds; only a win that awaits confirmation, if there is no supervisor, is left pending.
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
                if self._stopping and state.phase == "pending" and self._confirm_win is None:
                    return
                await self._continue(state)
            except PowerCutError:
                await asyncio.sleep(self._context.timing.scaled(OFF_SECONDS))

    def stop(self) -> None:
        """Finish the current round without pauses, and open no other."""
        self._stopping = True
        self._hurry.set()
        self._changed.set()

    def disconnect(self) -> None:
        """Lose the connection, not the memory."""
        self.connection.cut()

    def power_cycle(self) -> None:
        """Lose the power and all memory except the counter, then start again from the table's state."""
        self.state, self._open_command = None, None
        self._power_is_cut = True
        self._changed.set()
        if self._reply is not None and not self._reply.done():
            self._reply.set_exception(PowerCutError())
        self.connection.cut(away_seconds=self._context.timing.scaled(OFF_SECONDS))

    def _on_connect(self) -> None:
        if self._open_command is not None:
            self._sender.repeat(self._open_command[1])

    def _receive(self, topic: str, payload: bytes) -> None:
        if topic == self._state_topic:
            state = read_state(payload)
            before = self.state
            if state is None or (before and before.jackpot == state.jackpot and state.position < before.position):
                return
            self.state = state
            self._table.receive_state(state)
            self._changed.set()
            return
        reply = read_reply(payload)
        if reply is not None and self._open_command is not None and reply.command_id == self._open_command[0]:
            self._open_command = None
            if self._reply is not None and not self._reply.done():
                self._reply.set_result(reply)

    async def _continue(self, state: ReceivedState) -> None:
        """Do the next act of this phase."""
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
            if self._resume_table is not None and self._is_first_call(state):
                await self._resume_table(self._table.name)
            await self._until(lambda state: state.suspended is None)
            return
        await self._pause(PAUSE_SECONDS)
        if not self._stopping:
            reply = await self._command("open_round")
            if reply.ok:
                number = int(reply.result["round"])
                await self._until(lambda state: state.round >= number)
            else:
                await self._await_newer_state()

    async def _take_wagers(self, state: ReceivedState) -> None:
        await self._pause(WAGERING_SECONDS)
        await self._wait_for_lamps()
        table, deal = self._table, self._table.deal_number(state.round)
        if table.people.voids_round(deal) and not self._stopping:
            await self._act("void_round", state.round, reason="misdeal")
            await self._until_phase_ends(state)
            return
        for box in self.state.lit if self.state else ():
            if table.people.voids_hand(deal, box) and (state.round, box) not in table.voided and not self._stopping:
                table.voided.add((state.round, box))
                await self._act("void_hand", state.round, box=box, reason="chip fell over")
                await self._pause(ACT_SECONDS)
                await self._wait_for_lamps()
        await self._act("close_wagers", state.round)
        await self._until_phase_ends(state)

    async def _deal(self, state: ReceivedState) -> None:
        """Deal five cards to every box, send the folds and declarations, and settle."""
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
        await self._until_phase_ends(state)

    async def _await_confirmation(self, state: ReceivedState) -> None:
        """Call a supervisor to a pending prize, which the dealer cannot confirm, and wait."""
        if self._confirm_win is not None and self._is_first_call(state):
            await self._confirm_win(self._table.name, state.round)
        await self._until_phase_ends(state)

    def _is_first_call(self, state: ReceivedState) -> bool:
        """Return True if no supervisor has been called for this state yet; count it as called."""
        called, self._called_for = self._called_for, state.position
        return called != state.position

    async def _act(self, kind: str, number: int, **fields: object) -> ReceivedReply:
        """Send a command for this round; if the round has moved on meanwhile, wait for the newer state."""
        reply = await self._command(kind, round=number, **fields)
        if not reply.ok and reply.error in {"wrong_phase", "wrong_round", "needs_supervisor"}:
            await self._await_newer_state()
        return reply

    async def _command(self, kind: str, **fields: object) -> ReceivedReply:
        """Send a command, and the same again until it is answered."""
        own_id = next(self._ids)
        message = {"command_id": own_id, "type": kind, **fields}
        self._reply = asyncio.get_running_loop().create_future()
        self._open_command = own_id, message
        self.commands += 1
        self._sender.send(message, own_id)
        if self._context.faults.occurs(Fault.POWER_CYCLE, self.name):
            self.power_cycle()
        elif self._context.faults.occurs(Fault.DISCONNECT, self.name):
            self.disconnect()
        wait = self._context.timing.first_retry_seconds
        while True:
            done, _ = await asyncio.wait([self._reply], timeout=jittered(wait))
            if done:
                self._power_is_cut = False
                return self._reply.result()
            self.repeated += 1
            self._sender.repeat(message)
            wait = next_retry_seconds(wait)

    async def _current(self) -> ReceivedState:
        """Return the table's state, as soon as there is one."""
        while self.state is None:
            self._power_is_cut = False
            self._changed.clear()
            await self._changed.wait()
        return self.state

    async def _until(self, reached: Callable[[ReceivedState], bool]) -> None:
        """Wait until the state meets the condition, for a limited time; then the caller checks the state again."""
        loop = asyncio.get_running_loop()
        limit = loop.time() + RECHECK_SECONDS
        while loop.time() < limit:
            self._raise_if_power_cut()
            if self.state is not None and reached(self.state):
                return
            self._changed.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(limit):
                    await self._changed.wait()

    async def _until_phase_ends(self, state: ReceivedState) -> None:
        await self._until(lambda newer: (newer.round, newer.phase) != (state.round, state.phase))

    async def _await_newer_state(self) -> None:
        before = self.state
        await self._until(lambda state: before is None or state.position > before.position)

    async def _wait_for_lamps(self) -> None:
        """Wait a moment for the lamps of wagers that the dealer sees on the table."""
        loop = asyncio.get_running_loop()
        limit = loop.time() + LAMP_WAIT_SECONDS
        while self._table.unlit and loop.time() < limit:
            self._raise_if_power_cut()
            await asyncio.sleep(0.01)

    async def _pause(self, seconds: float) -> None:
        """Wait as long as people take; not at all once the floor closes."""
        self._raise_if_power_cut()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._context.timing.scaled(seconds)):
                await self._hurry.wait()
                return
        self._raise_if_power_cut()

    def _raise_if_power_cut(self) -> None:
        if self._power_is_cut:
            self._power_is_cut = False
            raise PowerCutError
