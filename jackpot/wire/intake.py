"""What a jackpot hears: each message decoded, made a command, and answered when it is durable."""

from __future__ import annotations

import hashlib
import json
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

import structlog

from jackpot import metrics
from jackpot.clock import now
from jackpot.core import commands as core
from jackpot.core.answers import Decision, Reason, Refused
from jackpot.core.commands import CONTROLLER, DEALER, DISPLAY, PAD, Command, Identified, PlaceWager
from jackpot.core.state import Phase
from jackpot.store.errors import Rejected
from jackpot.store.writer import Answer, TooBusyError, Writer, nobody_waits
from jackpot.wire import messages
from jackpot.wire.announcer import Announcer
from jackpot.wire.devices import Displays, Pads
from jackpot.wire.messages import DealerCommand, Malformed
from jackpot.wire.stream import Letter
from jackpot.wire.topics import Heard, Source
from jackpot.wire.views import Told, brief

MOST_BOX: Final = 10**9
"""No database need look for a box above this."""
MOST_QUARANTINED: Final = 100
LOG_SECONDS: Final = 60.0

log = structlog.get_logger()


class Quarantined(NamedTuple):
    """A message that could not be read, kept for support."""

    at: str
    topic: str
    problem: str
    payload: bytes


class Intake:
    """Takes letters, and acknowledges each when there is nothing more to lose."""

    def __init__(
        self,
        *,
        writer: Writer,
        announcer: Announcer,
        pads: Pads,
        displays: Displays,
        acknowledge: Callable[[Letter], None],
    ) -> None:
        self._writer = writer
        self._announcer = announcer
        self._pads = pads
        self._displays = displays
        self._acknowledge = acknowledge
        self._logged: dict[str, float] = {}
        self._silent: dict[tuple[str, int], int] = {}
        self.left_behind = False
        """Whether a letter was left with the broker, which may not bring it again on this connection."""
        self.quarantine: deque[Quarantined] = deque(maxlen=MOST_QUARANTINED)
        self._accepted = metrics.WAGERS.labels(announcer.jackpot.id, "accepted", "")
        self._lamp_seconds = metrics.LAMP.labels(announcer.jackpot.id)
        self._handlers: dict[Heard, Callable[[Letter, Source], None]] = {
            Heard.WAGER: self._wager,
            Heard.COMMAND: self._command,
            Heard.PAD_STATUS: self._pad_status,
            Heard.PAD_SHOWN: self._pad_shown,
            Heard.DEALER_STATUS: self._dealer_status,
            Heard.DISPLAY_STATUS: self._display_status,
            Heard.DISPLAY_SHOWN: self._display_shown,
        }

    def take(self, letter: Letter, source: Source) -> None:
        """Handle one letter; what cannot be taken now is left with the broker, uncomplainingly."""
        try:
            self._handlers[source.kind](letter, source)
        except TooBusyError:
            self.left_behind = True
            metrics.UNTAKEN.labels(self._announcer.jackpot.id).inc()
        except Malformed as malformed:
            self._set_aside(letter, source, malformed)
            self._acknowledge(letter)

    # Pads.

    def _wager(self, letter: Letter, source: Source) -> None:
        table = self._announcer.jackpot.tables.get(source.name)
        if table is None or table.unlinked:
            self._acknowledge(letter)  # nobody here owns this table
            return
        try:
            message = messages.read_wager(letter.payload)
        except Malformed as malformed:
            self._answer_wager(source, malformed.device_id, "rejected", Reason.MALFORMED)
            raise
        if source.box > MOST_BOX:
            self._answer_wager(source, message.wager_id, "rejected", Reason.UNKNOWN_BOX)
            self._acknowledge(letter)
            return
        asked = PlaceWager(
            now(), PAD, source.name, source.box, message.wager_id, message.round, message.amount_cents, message.ante
        )
        self._writer.put(asked, partial(self._wager_decided, letter, source, message.wager_id, time.perf_counter()))

    def _wager_decided(self, letter: Letter, source: Source, wager_id: str, began: float, answer: Answer) -> None:
        if isinstance(answer, Decision):
            is_told = self._answer_wager(source, wager_id, answer.answer["verdict"], answer.answer["reason"])
        elif isinstance(answer, Refused):
            is_told = self._answer_wager(source, wager_id, "rejected", answer.code.value)
        elif isinstance(answer, Rejected):
            self._set_aside(letter, source, Malformed(str(answer)))
            is_told = self._answer_wager(source, wager_id, "rejected", Reason.MALFORMED)
        else:
            return  # not durable, so not answered; the broker or the pad says it again
        self._lamp_seconds.observe(time.perf_counter() - began)
        if is_told:
            self._acknowledge(letter)

    def _answer_wager(self, source: Source, wager_id: str | None, verdict: str, reason: str | None) -> bool:
        """Answer on the lamp; says whether that is done. A table that was removed meanwhile is not answered for."""
        table = self._announcer.jackpot.tables[source.name]
        if table.unlinked:
            return True
        if verdict == "accepted":
            self._accepted.inc()
        else:
            told = reason if verdict == "rejected" and reason else ""
            metrics.WAGERS.labels(self._announcer.jackpot.id, verdict, told).inc()
        return self._announcer.lamp(table, source.box, Told(wager_id, verdict, reason))

    def _pad_status(self, letter: Letter, source: Source) -> None:
        said = messages.read(messages.StatusMessage, letter.payload)
        online = said.state == "online"
        self._pads.set_status(source.name, source.box, online=online)
        if online:
            self._silent.pop((source.name, source.box), None)
        if not self.suspend_for_pad(source.name, source.box, partial(self._recorded, letter)):
            self._acknowledge(letter)

    def suspend_for_pad(self, name: str, box: int, reply: Callable[[Answer], None]) -> bool:
        """A pad that went silent with a lit wager suspends its table (reading 14); says whether it does.

        It is told of once a round while it stays away: a supervisor who has resumed the table knows of it.
        """
        if not self._pads.is_offline(name, box):
            return False
        table = self._announcer.jackpot.tables.get(name)
        if table is None or table.unlinked or self._silent.get((name, box)) == table.number:
            return False
        if table.phase is Phase.IDLE or table.round is None or table.round.standing(box) is None:
            return False
        note = f"went silent with a lit wager in round {table.number}"
        self._writer.put(core.ReportMalfunction(now(), CONTROLLER, name, f"pad {box}", note, "pad_offline"), reply)
        self._silent[name, box] = table.number
        return True

    def look_for_silent_pads(self) -> None:
        """Report every pad that is away from its lit wager and was not reported; what there is no room for waits."""
        try:
            for table, box in self._pads.offline():
                self.suspend_for_pad(table, box, nobody_waits)
        except TooBusyError:
            metrics.UNTAKEN.labels(self._announcer.jackpot.id).inc()

    def _recorded(self, letter: Letter, answer: Answer) -> None:
        if isinstance(answer, Decision | Refused):
            self._acknowledge(letter)

    def _pad_shown(self, letter: Letter, source: Source) -> None:
        said = messages.read(messages.PadShownMessage, letter.payload)
        table = self._announcer.jackpot.tables.get(source.name)
        if table is not None and said.round == table.number:  # one that comes late must not hide the present one
            self._pads.set_shown(source.name, source.box, said)
        self._acknowledge(letter)

    # Dealer terminals.

    def _dealer_status(self, letter: Letter, source: Source) -> None:
        said = messages.read(messages.StatusMessage, letter.payload)
        self._pads.set_dealer(source.name, online=said.state == "online")
        self._acknowledge(letter)

    def _command(self, letter: Letter, source: Source) -> None:
        table = self._announcer.jackpot.tables.get(source.name)
        if table is None or table.unlinked:
            self._acknowledge(letter)
            return
        try:
            message = messages.read_command(letter.payload)
        except Malformed as malformed:
            if malformed.device_id is not None:
                self._refuse(source.name, malformed.device_id, "malformed", malformed.problem)
            raise
        content = json.dumps(message.model_dump(exclude={"command_id"}), sort_keys=True)
        digest = hashlib.sha256(content.encode(errors="surrogatepass")).hexdigest()
        asked = Identified(message.command_id, digest, self._core_command(source.name, message))
        self._writer.put(asked, partial(self._command_decided, letter, source.name, message))

    def _core_command(self, table: str, message: DealerCommand) -> Command:
        """What the core is asked, with what only the shell knows: lamps that are dark, the meter that is displayed."""
        at = now()
        match message:
            case messages.OpenRoundMessage():
                return core.OpenRound(at, DEALER, table)
            case messages.CloseWagersMessage():
                return core.CloseWagers(at, DEALER, table, message.round, self._pads.dark(table, message.round))
            case messages.FoldMessage():
                return core.Fold(at, DEALER, table, message.round, message.box, message.reason)
            case messages.UnfoldMessage():
                return core.Unfold(at, DEALER, table, message.round, message.box, message.reason)
            case messages.DeclareMessage():
                displayed = self._announcer.shown_cents
                return core.Declare(at, DEALER, table, message.round, message.box, tuple(message.cards), displayed)
            case messages.SettleMessage():
                return core.Settle(at, DEALER, table, message.round)
            case messages.VoidRoundMessage():
                return core.VoidRound(at, DEALER, table, message.round, message.reason)
            case messages.VoidHandMessage():
                return core.VoidHand(at, DEALER, table, message.round, message.box, message.reason)
            case messages.ReportMalfunctionMessage():
                return core.ReportMalfunction(at, DEALER, table, message.equipment, message.note)

    def _command_decided(self, letter: Letter, table: str, message: DealerCommand, answer: Answer) -> None:
        if isinstance(answer, Decision):
            is_told = self._announcer.reply(table, {"command_id": message.command_id, "ok": True, **answer.answer})
            metrics.COMMANDS.labels(self._announcer.jackpot.id, message.type, "").inc()
        elif isinstance(answer, Refused):
            is_told = self._announcer.jackpot.tables[table].unlinked or self._refuse(
                table, message.command_id, answer.code.value, answer.message
            )
            metrics.COMMANDS.labels(self._announcer.jackpot.id, message.type, answer.code.value).inc()
        elif isinstance(answer, Rejected):
            self._set_aside(letter, Source(Heard.COMMAND, table), Malformed(str(answer)))
            is_told = self._refuse(table, message.command_id, "malformed", str(answer))
        else:
            return
        if is_told:
            self._acknowledge(letter)

    def _refuse(self, table: str, command_id: str, error: str, message: str) -> bool:
        told = {"command_id": command_id, "ok": False, "error": error, "message": brief(message)}
        return self._announcer.reply(table, told)

    # Displays.

    def _display_status(self, letter: Letter, source: Source) -> None:
        said = messages.read(messages.StatusMessage, letter.payload)
        self._displays.set_status(source.name, online=said.state == "online")
        self._acknowledge(letter)

    def _display_shown(self, letter: Letter, source: Source) -> None:
        said = messages.read(messages.DisplayShownMessage, letter.payload)
        self._acknowledge(letter)
        if said.jackpot == self._announcer.jackpot.id and self._displays.show(source.name, said, time.monotonic()):
            self._sample(source.name, said)

    def _sample(self, display: str, said: messages.DisplayShownMessage) -> None:
        """Record what a display shows; where too much waits for that, what it shows next is recorded."""
        right = self._displays.is_right(display)
        sample = core.RecordShown(now(), DISPLAY, display, said.amount_cents, said.epoch, said.seq, right)
        try:
            self._writer.put(sample, nobody_waits)
        except TooBusyError:
            self._displays.sample_again(display)

    # What cannot be read.

    def _set_aside(self, letter: Letter, source: Source, malformed: Malformed) -> None:
        """Count it, keep it for support, and log it once a minute for each device."""
        metrics.MALFORMED.labels(self._announcer.jackpot.id, source.kind.value).inc()
        self.quarantine.append(
            Quarantined(now(), letter.topic, malformed.problem, letter.payload[: messages.MOST_BYTES])
        )
        at = time.monotonic()
        if at - self._logged.get(letter.topic, -LOG_SECONDS) >= LOG_SECONDS:
            if len(self._logged) > MOST_QUARANTINED:
                self._logged.clear()
            self._logged[letter.topic] = at
            log.warning("malformed message", topic=letter.topic, problem=malformed.problem, bytes=len(letter.payload))
