"""The events of the site's chain."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple


class SiteEventType(StrEnum):
    """Every type of event of a site."""

    OPERATOR_ADDED = "operator_added"
    OPERATOR_REVOKED = "operator_revoked"
    MANAGER_PROPOSED = "manager_proposed"
    RENEWAL_PROPOSED = "renewal_proposed"
    PERSON_WITHDRAWN = "person_withdrawn"
    TOKEN_RENEWED = "token_renewed"  # noqa: S105 - the name of an event
    JACKPOT_ADDED = "jackpot_added"
    TABLE_ADDED = "table_added"
    SOFTWARE_STARTED = "software_started"
    SIGNED_IN = "signed_in"
    SIGNED_OUT = "signed_out"
    SIGN_IN_REFUSED = "sign_in_refused"
    HANDOVER_REQUESTED = "handover_requested"
    HISTORY_RECOVERED = "history_recovered"
    STORE_RESTORED = "store_restored"
    CLOCK_STEPPED = "clock_stepped"


class SiteEvent(NamedTuple):
    """One event: type, time, actor, and data ready for JSON."""

    type: SiteEventType
    at: str
    actor: str
    data: Mapping[str, Any]
