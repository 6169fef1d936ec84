"""Describe each event of the audit trail in one sentence."""

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
    """Return the name of an event type: "Round settled"."""
    return kind.replace("_", " ").capitalize()


def sentence(event: AuditEvent) -> str:
    """Describe an event; only by its type if its data has an unknown form."""
    try:
        return _SENTENCES[event.type](json.loads(event.data), event)
    except (KeyError, TypeError, ValueError):
        return f"{event_name(event.type)}."


def transfers(text: str) -> list[tuple[str, str, int, str]]:
    """Parse the transfers of an event: from, to, cents, kind."""
    return [(source, target, cents, kind) for source, target, cents, kind in json.loads(text)]


def indented(text: str) -> str:
    """Indent JSON for reading; the hashed text is the same without the spaces."""
    return json.dumps(json.loads(text), indent=2, ensure_ascii=False)


def _boxes(numbers: Iterable[int]) -> str:
    texts = [str(number) for number in numbers]
    return f"box {texts[0]}" if len(texts) == 1 else f"boxes {', '.join(texts)}" if texts else "no box"


def _because(reason: str | None) -> str:
    return f": {reason}" if reason else ""


def _hand(cards: Iterable[str]) -> str:
    return " ".join(card_face(card) for card in cards)


def _prizes(payouts: Iterable[Data]) -> str:
    texts = [
        f"box {p['box']} {hand_name(p['hand']).lower()} {money(p['amount_cents'])}"
        f"{' awaiting confirmation' if p['status'] == 'pending' else ''}"
        for p in payouts
    ]
    return ", ".join(texts) or "no prize"


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
    unlit = f"; the pad reports the lamp off at {_boxes(data['unconfirmed'])}" if data["unconfirmed"] else ""
    return f"Wagers closed with {_boxes(data['lit'])} lit{unlit}."


def _declared(data: Data, _event: AuditEvent) -> str:
    return f"Box {data['box']} declared {_hand(data['cards'])}: {hand_name(data['hand']).lower()}."


def _corrected(data: Data, event: AuditEvent) -> str:
    hands = [
        f"box {box} {'wins nothing' if cards is None else 'is ' + _hand(cards)}" for box, cards in data["hands"].items()
    ]
    return f"Round {event.round} corrected ({', '.join(hands)}): {_prizes(data['payouts'])}{_because(data['reason'])}."


def _suspended(data: Data, event: AuditEvent) -> str:
    details = ", ".join(part for part in (data["equipment"], data["note"]) if part)
    return f"Table {event.table_id} suspended. {cause(data['cause'])}{_because(details)}."


def _shown(data: Data, _event: AuditEvent) -> str:
    verdict = "which is correct" if data["right"] else "which is wrong"
    return f"Display {data['display']} shows {money(data['amount_cents'])}, {verdict}."


def _mode(data: Data, event: AuditEvent) -> str:
    if not data["tournament"]:
        return f"Table {event.table_id} back to normal play."
    return f"Tournament at table {event.table_id}{', without jackpot wagers' if data['restricted'] else ''}."


def _adjustment_proposed(data: Data, _event: AuditEvent) -> str:
    body = data["body"]
    ends = f"from {account_name(body['source'])} to {account_name(body['target'])}"
    return f"Proposal {data['proposal']}: move {money(body['amount_cents'])} {ends}{_because(data['reason'])}."


def _adjusted(data: Data, event: AuditEvent) -> str:
    ((source, target, cents, _),) = transfers(event.transfers)
    ends = f"from {account_name(source)} to {account_name(target)}"
    return f"Proposal {data['proposal']} of {data['proposed_by']} approved: {money(cents)} moved {ends}."


def _retired(data: Data, event: AuditEvent) -> str:
    held = money(sum(cents for _, _, cents, _ in transfers(event.transfers)))
    return f"Jackpot ended by proposal {data['proposal']} of {data['proposed_by']}: {held} moves to {data['heir']}."


def _added(data: Data, _event: AuditEvent) -> str:
    proposed = f", proposed by {data['proposed_by']}" if data.get("proposed_by") else ""
    return f"{data['name']} added as {data['role']}{proposed}{_until(data)}."


def _renewed(data: Data, _event: AuditEvent) -> str:
    proposed = f", proposed by {data['proposed_by']}" if data.get("proposed_by") else ""
    return f"{data['name']} has a new token{proposed}{_until(data)}."


def _until(data: Data) -> str:
    return f"; the token expires on {data['expires_at'][:10]}" if data.get("expires_at") else ""


def _controller(name: str) -> str:
    return "another controller" if name == "*" else name


def _refused(data: Data, _event: AuditEvent) -> str:
    times = data["attempts"]
    return f"Sign-in refused {'once' if times == 1 else f'{times} times'} from {data['address']}."


def _recovered(data: Data, _event: AuditEvent) -> str:
    lost = f"events {data['from_seq']:,} to {data['to_seq']:,}"
    return f"Loss of {lost} recorded, approved by {data['approved_by']}{_because(data['reason'])}."


def _restored(data: Data, _event: AuditEvent) -> str:
    heads = ", ".join(f"{chain} up to event {head['seq']:,}" for chain, head in sorted(data["heads"].items()))
    behind = ", ".join(f"{chain} {mark['seq']:,}" for chain, mark in sorted(data["behind"].items()))
    return f"Store restored from a copy: {heads}{f'; known before: {behind}' if behind else ''}."


def _stepped(data: Data, _event: AuditEvent) -> str:
    seconds = data["seconds"]
    return f"The controller's clock was set {'back' if seconds < 0 else 'forward'} by {abs(seconds)} s."


_SENTENCES: Final[dict[str, Callable[[Data, AuditEvent], str]]] = {
    EventType.JACKPOT_CREATED: lambda d, e: (
        f"Jackpot {d['jackpot']} created under {d['instrument']} ({_config(d['config'])}), by {e.actor} "
        f"and {d['approved_by']}."
    ),
    EventType.TABLE_LINKED: lambda d, e: f"Table {e.table_id} linked, with {d['boxes']} boxes.",
    EventType.TABLE_UNLINKED: lambda d, e: f"Table {e.table_id} unlinked{_because(d['reason'])}.",
    EventType.ROUND_OPENED: lambda d, e: f"Round {e.round} opened under configuration {d['config_version']}.",
    EventType.WAGER_ACCEPTED: _wager,
    EventType.WAGERS_CLOSED: _closed,
    EventType.HAND_FOLDED: lambda d, _: f"Box {d['box']} folded{_because(d['reason'])}.",
    EventType.HAND_UNFOLDED: lambda d, _: f"Fold of box {d['box']} undone{_because(d['reason'])}.",
    EventType.HAND_DECLARED: _declared,
    EventType.ROUND_SETTLED: lambda d, e: f"Round {e.round} settled: {_prizes(d['payouts'])}.",
    EventType.PAYOUTS_CONFIRMED: lambda d, e: f"Prizes of round {e.round} confirmed and paid, {_boxes(d['boxes'])}.",
    EventType.ROUND_CORRECTED: _corrected,
    EventType.HAND_VOIDED: lambda d, _: f"Box {d['box']} voided, its wager returned{_because(d['reason'])}.",
    EventType.ROUND_VOIDED: lambda d, e: f"Round {e.round} voided, its wagers returned{_because(d['reason'])}.",
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
        f"Proposal {d['proposal']}: end this jackpot and move its pools to {d['body']['heir']}{_because(d['reason'])}."
    ),
    EventType.JACKPOT_RETIRED: _retired,
    EventType.PROPOSAL_WITHDRAWN: lambda d, _: f"Proposal {d['proposal']} withdrawn{_because(d['reason'])}.",
    SiteEventType.OPERATOR_ADDED: _added,
    SiteEventType.OPERATOR_REVOKED: lambda d, _: f"Access of {d['name']} revoked{_because(d['reason'])}.",
    SiteEventType.MANAGER_PROPOSED: lambda d, _: f"{d['name']} proposed as a manager.",
    SiteEventType.RENEWAL_PROPOSED: lambda d, _: f"New token proposed for the manager {d['name']}.",
    SiteEventType.PERSON_WITHDRAWN: lambda d, _: f"Proposal for {d['name']} withdrawn{_because(d['reason'])}.",
    SiteEventType.TOKEN_RENEWED: _renewed,
    SiteEventType.JACKPOT_ADDED: lambda d, _: f"Jackpot {d['jackpot']} added to the site.",
    SiteEventType.TABLE_ADDED: lambda d, _: f"Table {d['table']} added to the site, for {d['jackpot']}.",
    SiteEventType.SOFTWARE_STARTED: lambda d, _: f"Software {d['version']} started, digest {d['digest'][:16]}….",
    SiteEventType.SIGNED_IN: lambda d, _: f"Signed in from {d['address']}.",
    SiteEventType.SIGNED_OUT: lambda d, _: f"Signed out from {d['address']}.",
    SiteEventType.SIGN_IN_REFUSED: _refused,
    SiteEventType.HANDOVER_REQUESTED: lambda d, _: (
        f"Hand-over of {d['jackpot']} to {_controller(d['controller'])} requested{_because(d['reason'])}."
    ),
    SiteEventType.HISTORY_RECOVERED: _recovered,
    SiteEventType.STORE_RESTORED: _restored,
    SiteEventType.CLOCK_STEPPED: _stepped,
}
