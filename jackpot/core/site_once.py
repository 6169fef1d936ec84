"""A command of the site under an id acts once: a repeat is answered as the first time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from jackpot.core.answers import Error, Refused
from jackpot.core.site import Site, SiteCommand, SiteEvent, decide_site


class IdentifiedSite(NamedTuple):
    """A command of the site with its id and a digest of its content, so that a repeat acts once.

    `earlier` is the digest and the answer that the store keeps of this id.
    """

    command_id: str
    digest: str
    command: SiteCommand
    earlier: tuple[str, str] | None = None


class SiteDecision(NamedTuple):
    """Carried out: what happened, and the answer. A repeat of something carried out has no event."""

    event: SiteEvent | None
    answer: Mapping[str, Any]


def decide_site_once(site: Site, asked: SiteCommand | IdentifiedSite) -> SiteDecision:
    """Carry out a command; one that was carried out under the same id is answered again and acts once."""
    if not isinstance(asked, IdentifiedSite):
        event = decide_site(site, asked)
        return SiteDecision(event, _answer(event))
    if asked.earlier is not None:
        digest, answer = asked.earlier
        if digest != asked.digest:
            raise Refused(Error.COMMAND_ID_REUSED, f"command {asked.command_id} was carried out with other content")
        return SiteDecision(None, json.loads(answer))
    event = decide_site(site, asked.command)
    answered = _answer(event)
    mark = {"id": asked.command_id, "digest": asked.digest, "answer": answered}
    return SiteDecision(event._replace(data={**event.data, "command": mark}), answered)


def _answer(event: SiteEvent) -> dict[str, Any]:
    """What is told of an event to whoever asked for it; never a token, nor its hash."""
    told = ("role", "expires_at", "jackpot", "table")
    name = {"operator": event.data["name"]} if "name" in event.data else {}
    return {**name, **{key: event.data[key] for key in told if key in event.data}}
