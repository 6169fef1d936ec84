"""Alarms of one controller: conditions that need attention, from the moment they are seen until they end."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

import structlog

from jackpot import metrics
from jackpot.clock import now
from jackpot.store.hash_chain import SITE

log = structlog.get_logger()


class AlarmCode(StrEnum):
    """Every kind of alarm."""

    STORE_FAILED = "store_failed"
    NOT_SIGNED = "not_signed"
    NOT_TAKEN_OVER = "not_taken_over"
    FOREIGN_MESSAGE = "foreign_message"
    CLIENT_ID_TAKEN = "client_id_taken"
    EPOCH_REFUSED = "epoch_refused"
    BROKER_AHEAD = "broker_ahead"
    CLOCK_STEPPED = "clock_stepped"


class Alarm(NamedTuple):
    """One condition: the chain it concerns, its code, a sentence that says what to do, and since when."""

    chain: str
    code: AlarmCode
    says: str
    since: str


class Alarms:
    """The alarms that are raised now, each once for a chain and code; used from any thread."""

    def __init__(self) -> None:
        self._raised: dict[tuple[str, AlarmCode], Alarm] = {}
        for code in AlarmCode:
            metrics.ALARM.labels(SITE, code).set(0)  # so that the series exists before the first alarm

    def raise_alarm(self, chain: str, code: AlarmCode, says: str) -> None:
        """Raise an alarm; one that is raised already keeps its beginning and gets the new sentence."""
        before = self._raised.get((chain, code))
        self._raised[chain, code] = Alarm(chain, code, says, before.since if before else now())
        metrics.ALARM.labels(chain, code).set(1)
        if before is None or before.says != says:
            log.error("alarm", chain=chain, code=code, problem=says)

    def end_alarm(self, chain: str, code: AlarmCode) -> None:
        """End an alarm, if it is raised."""
        if self._raised.pop((chain, code), None) is not None:
            metrics.ALARM.labels(chain, code).set(0)
            log.info("alarm ended", chain=chain, code=code)

    def all(self) -> list[Alarm]:
        """Return the alarms that are raised now, the oldest first."""
        return sorted(self._raised.values(), key=lambda alarm: (alarm.since, alarm.chain, alarm.code))
