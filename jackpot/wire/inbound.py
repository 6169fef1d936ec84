"""Handles the messages of one jackpot's devices: each is decoded, made a command, and answered when it is durable."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from functools import partial
from typing import Final

import structlog

from jackpot import metrics
from jackpot.clock import now
from jackpot.core import commands as core
from jackpot.core.commands import DEALER, PAD, Command, Identified, PlaceWager
from jackpot.core.results import Decision, Refused, WagerRejection
from jackpot.core.state import Table
from jackpot.engine.devices import DisplayReport, PadReport
from jackpot.engine.quarantine import MAX_QUARANTINED, QuarantinedMessage
from jackpot.engine.service import JackpotService
from jackpot.engine.writer import Answer, TooBusyError
from jackpot.store.errors import Rejected
from jackpot.wire import messages
from jackpot.wire.malformed_limit import MalformedLimit
from jackpot.wire.messages import DealerCommand, Malformed
from jackpot.wire.mqtt_transport import ReceivedMessage
from jackpot.wire.payloads import WagerAnswer, shorten
from jackpot.wire.publisher import Publisher
from jackpot.wire.topics import InboundKind, Source

MAX_BOX: Final = 10**9
"""A higher box number is refused without asking the store."""
LOG_SECONDS: Final = 60.0

log = structlog.get_logger()


class Inbound:
    """Handles received messages, and acknowledges each to the broker when nothing more can be lost."""

    def __init__(
        self, *, service: JackpotService, publisher: Publisher, acknowledge: Callable[[ReceivedMessage], None]
    ) -> None:
        self._id = service.id
        self._service = service
        self._committed = service.committed
        self._equipment = service.equipment
        self._publisher = publisher
        self._acknowledge = acknowledge
        self._logged: set[str] = set()
        self.left_untaken = False
        """A message was left with the broker, which may not redeliver it on this connection."""
        self._accepted = metrics.WAGERS.labels(self._id, "accepted", "")
        self._lamp_seconds = metrics.LAMP.labels(self._id)
        self._handlers: dict[InboundKind, Callable[[ReceivedMessage, Source], None]] = {
            InboundKind.WAGER: self._wager,
            InboundKind.COMMAND: self._command,
            InboundKind.PAD_STATUS: self._pad_status,
            InboundKind.PAD_SHOWN: self._pad_shown,
            InboundKind.DEALER_STATUS: self._dealer_status,
            InboundKind.DISPLAY_STATUS: self._display_status,
            InboundKind.DISPLAY_SHOWN: self._display_shown,
        }
        self._malformed = {kind: metrics.MALFORMED.labels(self._id, kind.value) for kind in InboundKind}
        self._unanswered = metrics.UNANSWERED.labels(self._id)
        self._malformed_limit = MalformedLimit()
        self._logged_since = -LOG_SECONDS

    def receive(self, message: ReceivedMessage, source: Source) -> bool:
        """Handle one message, and return True if it was read; without room at the writer it is left with the broker."""
        try:
            self._handlers[source.kind](message, source)
        except TooBusyError:
            self.left_untaken = True
            metrics.UNTAKEN.labels(self._id).inc()
        except Malformed as malformed:
            self._acknowledge(message)
            self._malformed[source.kind].inc()
            if self._malformed_limit.allows(message.topic):
                self._refuse_malformed(source, malformed)
                self._quarantine(message, malformed)
            else:
                self._unanswered.inc()
            return False
        return True

    def _refuse_malformed(self, source: Source, malformed: Malformed) -> None:
        """Answer a wager or a command that cannot be read."""
        if source.kind is InboundKind.WAGER:
            self._answer_wager(source, malformed.device_id, "rejected", WagerRejection.MALFORMED)
        elif source.kind is InboundKind.COMMAND and malformed.device_id is not None:
            self._refuse(source.name, malformed.device_id, "malformed", malformed.problem)

    def _linked_table(self, name: str) -> Table | None:
        """Return a table of this jackpot; None if this controller does not own it."""
        table = self._committed.jackpot.tables.get(name)
        return None if table is None or table.unlinked else table

    # Pads.

    def _wager(self, message: ReceivedMessage, source: Source) -> None:
        if self._linked_table(source.name) is None:
            self._acknowledge(message)
            return
        wager = messages.read_wager(message.payload)
        if source.box > MAX_BOX:
            self._answer_wager(source, wager.wager_id, "rejected", WagerRejection.UNKNOWN_BOX)
            self._acknowledge(message)
            return
        command = PlaceWager(
            now(), PAD, source.name, source.box, wager.wager_id, wager.round, wager.amount_cents, wager.ante
        )
        self._service.enqueue(
            command, partial(self._wager_decided, message, source, wager.wager_id, time.perf_counter())
        )

    def _wager_decided(
        self, message: ReceivedMessage, source: Source, wager_id: str, began: float, answer: Answer
    ) -> None:
        if isinstance(answer, Decision):
            answered = self._answer_wager(source, wager_id, answer.answer["verdict"], answer.answer["reason"])
        elif isinstance(answer, Refused):
            answered = self._answer_wager(source, wager_id, "rejected", answer.code.value)
        elif isinstance(answer, Rejected):
            self._malformed[source.kind].inc()
            self._quarantine(message, Malformed(str(answer)))
            answered = self._answer_wager(source, wager_id, "rejected", WagerRejection.MALFORMED)
        else:
            return  # not durable, so not answered; the broker redelivers it, or the pad repeats it
        self._lamp_seconds.observe(time.perf_counter() - began)
        if answered:
            self._acknowledge(message)

    def _answer_wager(self, source: Source, wager_id: str | None, verdict: str, reason: str | None) -> bool:
        """Answer on the lamp, unless the table was removed meanwhile; return False if that could not be published."""
        table = self._linked_table(source.name)
        if table is None:
            return True
        if verdict == "accepted":
            self._accepted.inc()
        else:
            metrics.WAGERS.labels(self._id, verdict, reason if verdict == "rejected" and reason else "").inc()
        return self._publisher.lamp(table, source.box, WagerAnswer(wager_id, verdict, reason))

    def _pad_status(self, message: ReceivedMessage, source: Source) -> None:
        status = messages.read(messages.StatusMessage, message.payload)
        online = status.state == "online"
        self._equipment.pads.set_status(source.name, source.box, online=online)
        if online:
            self._equipment.pad_is_back(source.name, source.box)
        if not self._equipment.suspend_for_pad(source.name, source.box, partial(self._recorded, message)):
            self._acknowledge(message)

    def _recorded(self, message: ReceivedMessage, answer: Answer) -> None:
        if isinstance(answer, Decision | Refused):
            self._acknowledge(message)

    def _pad_shown(self, message: ReceivedMessage, source: Source) -> None:
        shown = messages.read(messages.PadShownMessage, message.payload)
        table = self._committed.jackpot.tables.get(source.name)
        if table is not None and shown.round == table.number:  # a late report must not hide the present one
            self._equipment.pads.set_report(source.name, source.box, PadReport(shown.round, shown.lit))
        self._acknowledge(message)

    # Dealer terminals.

    def _dealer_status(self, message: ReceivedMessage, source: Source) -> None:
        status = messages.read(messages.StatusMessage, message.payload)
        self._equipment.pads.set_dealer(source.name, online=status.state == "online")
        self._acknowledge(message)

    def _command(self, message: ReceivedMessage, source: Source) -> None:
        if self._linked_table(source.name) is None:
            self._acknowledge(message)
            return
        command = messages.read_command(message.payload)
        content = json.dumps(command.model_dump(exclude={"command_id"}), sort_keys=True)
        digest = hashlib.sha256(content.encode(errors="surrogatepass")).hexdigest()
        identified = Identified(command.command_id, digest, self._core_command(source.name, command))
        self._service.enqueue(identified, partial(self._command_decided, message, source.name, command))

    def _core_command(self, table: str, command: DealerCommand) -> Command:
        """Return the core's command, with what only the shell knows: dark lamps, and the meter on display."""
        at = now()
        match command:
            case messages.OpenRoundMessage():
                return core.OpenRound(at, DEALER, table)
            case messages.CloseWagersMessage():
                dark = self._equipment.pads.dark(table, command.round)
                return core.CloseWagers(at, DEALER, table, command.round, dark)
            case messages.FoldMessage():
                return core.Fold(at, DEALER, table, command.round, command.box, command.reason)
            case messages.UnfoldMessage():
                return core.Unfold(at, DEALER, table, command.round, command.box, command.reason)
            case messages.DeclareMessage():
                displayed = self._committed.displayed_cents
                return core.Declare(at, DEALER, table, command.round, command.box, tuple(command.cards), displayed)
            case messages.SettleMessage():
                return core.Settle(at, DEALER, table, command.round)
            case messages.VoidRoundMessage():
                return core.VoidRound(at, DEALER, table, command.round, command.reason)
            case messages.VoidHandMessage():
                return core.VoidHand(at, DEALER, table, command.round, command.box, command.reason)
            case messages.ReportMalfunctionMessage():
                return core.ReportMalfunction(at, DEALER, table, command.equipment, command.note)

    def _command_decided(self, message: ReceivedMessage, table: str, command: DealerCommand, answer: Answer) -> None:
        if isinstance(answer, Decision):
            result = {"command_id": command.command_id, "ok": True, **answer.answer}
            answered = self._publisher.reply(table, result)
            metrics.COMMANDS.labels(self._id, command.type, "").inc()
        elif isinstance(answer, Refused):
            answered = self._committed.jackpot.tables[table].unlinked or self._refuse(
                table, command.command_id, answer.code.value, answer.message
            )
            metrics.COMMANDS.labels(self._id, command.type, answer.code.value).inc()
        elif isinstance(answer, Rejected):
            self._malformed[InboundKind.COMMAND].inc()
            self._quarantine(message, Malformed(str(answer)))
            answered = self._refuse(table, command.command_id, "malformed", str(answer))
        else:
            return  # not durable, so not answered
        if answered:
            self._acknowledge(message)

    def _refuse(self, table: str, command_id: str, error: str, sentence: str) -> bool:
        payload = {"command_id": command_id, "ok": False, "error": error, "message": shorten(sentence)}
        return self._publisher.reply(table, payload)

    # Displays.

    def _display_status(self, message: ReceivedMessage, source: Source) -> None:
        status = messages.read(messages.StatusMessage, message.payload)
        self._equipment.displays.set_status(source.name, online=status.state == "online")
        self._acknowledge(message)

    def _display_shown(self, message: ReceivedMessage, source: Source) -> None:
        shown = messages.read(messages.DisplayShownMessage, message.payload)
        self._acknowledge(message)
        if shown.jackpot == self._id:
            self._equipment.display_shows(source.name, DisplayReport(shown.amount_cents, shown.epoch, shown.seq))

    # Messages that cannot be read.

    def _quarantine(self, message: ReceivedMessage, malformed: Malformed) -> None:
        """Keep it for support, and log it once a minute for each of the first devices."""
        kept = message.payload[: messages.MAX_BYTES]
        self._service.quarantine.append(QuarantinedMessage(now(), message.topic, malformed.problem, kept))
        at = time.monotonic()
        if at - self._logged_since >= LOG_SECONDS:
            self._logged_since = at
            self._logged.clear()
        if message.topic not in self._logged and len(self._logged) < MAX_QUARANTINED:
            self._logged.add(message.topic)
            log.warning("malformed message", topic=message.topic, problem=malformed.problem, bytes=len(message.payload))
