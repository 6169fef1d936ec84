"""What happened, in words: one sentence for each event of the audit trail."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from jackpot.core.events import EventType
from jackpot.core.site.events import SiteEventType
from jackpot.web.api.audit import AuditEvent
from jackpot.web.formatting import account_name, card_face, cause, hand_name, money, share

Data = Mapping[str, Any]


def event_name(kind: str) -> str:
    """A type of event as people say it: "Round settled"."""
    return kind.replace("_", " ").capitalize()


def sentence(event: AuditEvent) -> str:
    """What an event says; one that is written in a way we do not know is told by its type alone."""
    try:
        return _SENTENCES[event.type](json.loads(event.data), event)
    except (KeyError, TypeError, ValueError):
        return f"{event_name(event.type)}."


def moves(transfers: str) -> list[tuple[str, str, int, str]]:
    """The transfers of an event: from, to, cents, kind."""
    return [(source, target, cents, kind) for source, target, cents, kind in json.loads(transfers)]


def pretty(text: str) -> str:
    """JSON laid out for people; the hashed text is the same without the spaces."""
    return json.dumps(json.loads(text), indent=2, ensure_ascii=False)


def _boxes(numbers: Iterable[int]) -> str:
    told = [str(number) for number in numbers]
    return f"box {told[0]}" if len(told) == 1 else f"boxes {', '.join(told)}" if told else "no box"


def _because(reason: str | None) -> str:
    return f": {reason}" if reason else ""


def _hand(cards: Iterable[str]) -> str:
    return " ".join(card_face(card) for card in cards)


def _prizes(payouts: Iterable[Data]) -> str:
    told = [
        f"box {p['box']} {hand_name(p['hand']).lower()} {money(p['amount_cents'])}"
        f"{' awaiting confirmation' if p['status'] == 'pending' else ''}"
        for p in payouts
    ]
    return ", ".join(told) or "no prize"


def _config(config: Data) -> str:
    return (
        f"wager {money(config['wager_cents'])}, {share(config['jackpot_bps'])} to the jackpot pool and "
        f"{share(config['reserve_bps'])} to the reserve, reset to {money(config['reset_cents'])}, "
        f"fixed prizes from the {account_name(config['fixed_prizes_from'])}"
    )


def _wager(data: Data, _event: AuditEvent) -> str:
    split = f"{money(data['jackpot_cents'])} to the jackpot pool, {money(data['reserve_cents'])} to the reserve pool"
    return f"Box {data['box']} wagered {money(data['amount_cents'])}: {split}."


def _closed(data: Data, _event: AuditEvent) -> str:
    dark = f"; the pad reports a dark lamp at {_boxes(data['unconfirmed'])}" if data["unconfirmed"] else ""
    return f"Wagers closed with {_boxes(data['lit'])} lit{dark}."


def _declared(data: Data, _event: AuditEvent) -> str:
    return f"Box {data['box']} declared {_hand(data['cards'])}: {hand_name(data['hand']).lower()}."


def _corrected(data: Data, event: AuditEvent) -> str:
    hands = [
        f"box {box} {'wins nothing' if cards is None else 'is ' + _hand(cards)}" for box, cards in data["hands"].items()
    ]
    return f"Round {event.round} corrected ({', '.join(hands)}): {_prizes(data['payouts'])}{_because(data['reason'])}."


def _suspended(data: Data, event: AuditEvent) -> str:
    told = ", ".join(part for part in (data["equipment"], data["note"]) if part)
    return f"Table {event.table_id} suspended. {cause(data['cause'])}{_because(told)}."


def _shown(data: Data, _event: AuditEvent) -> str:
    right = "which is the meter" if data["right"] else "which is not the meter"
    return f"Display {data['display']} shows {money(data['amount_cents'])}, {right}."


def _mode(data: Data, event: AuditEvent) -> str:
    if not data["tournament"]:
        return f"Table {event.table_id} plays as usual, no tournament."
    return f"Tournament at table {event.table_id}{', without jackpot wagers' if data['restricted'] else ''}."


def _adjustment_proposed(data: Data, _event: AuditEvent) -> str:
    body = data["body"]
    ends = f"from {account_name(body['source'])} to {account_name(body['target'])}"
    return f"Proposal {data['proposal']}: move {money(body['amount_cents'])} {ends}{_because(data['reason'])}."


def _adjusted(data: Data, event: AuditEvent) -> str:
    ((source, target, cents, _),) = moves(event.transfers)
    ends = f"from {account_name(source)} to {account_name(target)}"
    return f"Proposal {data['proposal']} of {data['proposed_by']} approved: {money(cents)} moved {ends}."


def _retired(data: Data, event: AuditEvent) -> str:
    held = money(sum(cents for _, _, cents, _ in moves(event.transfers)))
    return (
        f"The jackpot ended by proposal {data['proposal']} of {data['proposed_by']}: {held} goes on to {data['heir']}."
    )


def _added(data: Data, _event: AuditEvent) -> str:
    proposed = f", proposed by {data['proposed_by']}" if data.get("proposed_by") else ""
    return f"{data['name']} added as {data['role']}{proposed}{_until(data)}."


def _renewed(data: Data, _event: AuditEvent) -> str:
    proposed = f", proposed by {data['proposed_by']}" if data.get("proposed_by") else ""
    return f"{data['name']} has a new token{proposed}{_until(data)}."


def _until(data: Data) -> str:
    return f"; the token ends on {data['expires_at'][:10]}" if data.get("expires_at") else ""


def _refused(data: Data, _event: AuditEvent) -> str:
    times = data["attempts"]
    return f"Sign-in refused {'once' if times == 1 else f'{times} times'}, from {data['address']}."


_SENTENCES: Final[dict[str, Callable[[Data, AuditEvent], str]]] = {
    EventType.JACKPOT_CREATED: lambda d, e: (
        f"The jackpot {d['jackpot']} began under {d['instrument']} ({_config(d['config'])}), by {e.actor} "
        f"and {d['approved_by']}."
    ),
    EventType.TABLE_LINKED: lambda d, e: f"Table {e.table_id} linked, with {d['boxes']} boxes.",
    EventType.TABLE_UNLINKED: lambda d, e: f"Table {e.table_id} unlinked{_because(d['reason'])}.",
    EventType.ROUND_OPENED: lambda d, e: f"Round {e.round} opened under configuration {d['config_version']}.",
    EventType.WAGER_ACCEPTED: _wager,
    EventType.WAGERS_CLOSED: _closed,
    EventType.HAND_FOLDED: lambda d, _: f"Box {d['box']} folded{_because(d['reason'])}.",
    EventType.HAND_UNFOLDED: lambda d, _: f"The fold of box {d['box']} taken back{_because(d['reason'])}.",
    EventType.HAND_DECLARED: _declared,
    EventType.ROUND_SETTLED: lambda d, e: f"Round {e.round} settled: {_prizes(d['payouts'])}.",
    EventType.PAYOUTS_CONFIRMED: lambda d, e: f"Prizes of round {e.round} confirmed and paid, {_boxes(d['boxes'])}.",
    EventType.ROUND_CORRECTED: _corrected,
    EventType.HAND_VOIDED: lambda d, _: f"Box {d['box']} void, its wager returned{_because(d['reason'])}.",
    EventType.ROUND_VOIDED: lambda d, e: f"Round {e.round} void, its wagers returned{_because(d['reason'])}.",
    EventType.TABLE_SUSPENDED: _suspended,
    EventType.METER_SHOWN: _shown,
    EventType.TABLE_RESUMED: lambda d, e: f"Table {e.table_id} resumed{_because(d['note'])}.",
    EventType.MODE_SET: _mode,
    EventType.CONFIG_PROPOSED: lambda d, _: (
        f"Proposal {d['proposal']}: configuration with {_config(d['body'])}{_because(d['reason'])}."
    ),
    EventType.CONFIG_APPROVED: lambda d, _: (
        f"Proposal {d['proposal']} of {d['proposed_by']} approved: configuration {d['config']['version']} with "
        f"{_config(d['config'])}."
    ),
    EventType.ADJUSTMENT_PROPOSED: _adjustment_proposed,
    EventType.ADJUSTMENT_APPROVED: _adjusted,
    EventType.RETIREMENT_PROPOSED: lambda d, _: (
        f"Proposal {d['proposal']}: end this jackpot, its pools go on to {d['body']['heir']}{_because(d['reason'])}."
    ),
    EventType.JACKPOT_RETIRED: _retired,
    EventType.PROPOSAL_WITHDRAWN: lambda d, _: f"Proposal {d['proposal']} withdrawn{_because(d['reason'])}.",
    SiteEventType.OPERATOR_ADDED: _added,
    SiteEventType.OPERATOR_REVOKED: lambda d, _: f"The access of {d['name']} revoked{_because(d['reason'])}.",
    SiteEventType.MANAGER_PROPOSED: lambda d, _: f"{d['name']} proposed as a manager.",
    SiteEventType.RENEWAL_PROPOSED: lambda d, _: f"A new token proposed for the manager {d['name']}.",
    SiteEventType.PERSON_WITHDRAWN: lambda d, _: f"The proposal for {d['name']} withdrawn{_because(d['reason'])}.",
    SiteEventType.TOKEN_RENEWED: _renewed,
    SiteEventType.JACKPOT_ADDED: lambda d, _: f"The jackpot {d['jackpot']} entered in the site's list.",
    SiteEventType.TABLE_ADDED: lambda d, _: f"Table {d['table']} entered in the site's list, for {d['jackpot']}.",
    SiteEventType.SOFTWARE_STARTED: lambda d, _: f"Software {d['version']} started, digest {d['digest'][:16]}….",
    SiteEventType.SIGNED_IN: lambda d, _: f"Signed in from {d['address']}.",
    SiteEventType.SIGNED_OUT: lambda d, _: f"Signed out from {d['address']}.",
    SiteEventType.SIGN_IN_REFUSED: _refused,
}
