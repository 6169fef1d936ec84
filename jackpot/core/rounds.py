"""A round from its opening to its end: open, close, fold, declare, settle, confirm, correct, void."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from jackpot.core.commands import (
    Actor,
    CloseWagers,
    Confirm,
    Correct,
    Declare,
    Fold,
    OpenRound,
    Settle,
    Unfold,
    VoidHand,
    VoidHands,
    VoidRound,
)
from jackpot.core.events import Event, EventType
from jackpot.core.ledger import POOLS, Account, Kind, Transfer, TransferBuilder, payers
from jackpot.core.results import CommandError, Decision, Refused
from jackpot.core.settlement import flows_of, prize_alone, settle
from jackpot.core.state import (
    Declaration,
    Jackpot,
    Lock,
    Payout,
    PayoutStatus,
    Phase,
    Round,
    Table,
    Wager,
    WagerStatus,
)
from rules import INSTRUMENTS, RulesError
from rules.instruments import canberra_poker_2016
from rules.jackpot_prizes import PoolAmounts


def open_round(jackpot: Jackpot, table: Table, command: OpenRound) -> Decision:
    """Open the next round for wagers, under the configuration in force."""
    if table.suspended:
        raise Refused(
            CommandError.TABLE_SUSPENDED,
            f"table {table.id} is suspended ({table.suspended}): a supervisor must resume it",
        )
    if table.phase is not Phase.IDLE:
        raise _wrong_phase(table, "a round is open already")
    if jackpot.retired:
        raise _wrong_phase(table, f"the jackpot {jackpot.id} is retired")
    number = table.number + 1
    event = Event(
        EventType.ROUND_OPENED, command.at, command.actor.name, table.id, number, {"config_version": jackpot.version}
    )
    return Decision((event,), {"round": number})


def close_wagers(_jackpot: Jackpot, table: Table, command: CloseWagers) -> Decision:
    """Close wagers at the first card; name the boxes with a standing wager but a dark lamp (reading 2)."""
    played = _require(table, command.round, Phase.OPEN)
    unconfirmed = sorted(set(command.dark) & set(played.lit))
    answer = {"lit": played.lit, "unconfirmed": unconfirmed}
    return Decision((_event(EventType.WAGERS_CLOSED, table, command, answer),), answer)


def fold(_jackpot: Jackpot, table: Table, command: Fold) -> Decision:
    """Fold a box, which drops its declaration."""
    played = _require(table, command.round, Phase.CLOSED)
    _require_wager(table, played, command.box)
    data = {"box": command.box, "reason": command.reason}
    return Decision((_event(EventType.HAND_FOLDED, table, command, data),), {})


def unfold(_jackpot: Jackpot, table: Table, command: Unfold) -> Decision:
    """Take a fold back; the declaration it dropped stays dropped."""
    played = _require(table, command.round, Phase.CLOSED)
    _require_wager(table, played, command.box)
    data = {"box": command.box, "reason": command.reason}
    return Decision((_event(EventType.HAND_UNFOLDED, table, command, data),), {})


def declare(jackpot: Jackpot, table: Table, command: Declare) -> Decision:
    """Record a box's cards; the answer holds the prize that they alone would be paid now."""
    played = _require(table, command.round, Phase.CLOSED)
    _require_wager(table, played, command.box)
    if command.box in played.folded:
        raise Refused(CommandError.FOLDED, f"box {command.box} has folded: take the fold back first")
    cards = _require_cards(played, {command.box: command.cards})[command.box]
    displayed = jackpot.meter_cents if command.displayed_cents is None else command.displayed_cents
    declaration = Declaration(cards, displayed)
    config = jackpot.configs[played.config_version]
    hand, prize, cents = prize_alone(jackpot.instrument, declaration, config, _pools(jackpot))
    answer = {"hand": prize or hand, "qualifies": prize is not None, "amount_cents": cents}
    data = {"box": command.box, "cards": list(cards), "displayed_cents": displayed, **answer}
    return Decision((_event(EventType.HAND_DECLARED, table, command, data),), answer)


def settle_round(jackpot: Jackpot, table: Table, command: Settle) -> Decision:
    """Lock the round: compute and post its prizes on the present pools (readings 10, 11)."""
    played = _require(table, command.round, Phase.CLOSED)
    config = jackpot.configs[played.config_version]
    pools = _pools(jackpot)
    lock = Lock(pools.jackpot_cents, pools.reserve_cents, jackpot.split_totals[config.version])
    settled = settle(jackpot.instrument, played, config, lock, lock.split_before_cents)
    data = {
        "payouts": [_plain(payout) for payout in settled.payouts],
        "lock": lock._asdict(),
        "pooled": [list(shares) for shares in settled.pooled],
        "ends": not _any_pending(settled.payouts),
    }
    event = _event(EventType.ROUND_SETTLED, table, command, data, settled.transfers)
    return Decision((event,), {"payouts": [_payout_answer(payout) for payout in settled.payouts]})


def confirm(_jackpot: Jackpot, table: Table, command: Confirm) -> Decision:
    """Confirm all of the round's pending prizes together, as a supervisor: they are paid, and the round ends."""
    require_supervisor(command.actor)
    played = _require(table, command.round, Phase.PENDING)
    pending = [payout for payout in played.payouts if payout.status is PayoutStatus.PENDING]
    paid = [
        Transfer(Account.PAYABLE, Account.PLAYERS, payout.amount_cents, Kind.PAYMENT)
        for payout in pending
        if payout.amount_cents
    ]
    data = {"boxes": [payout.box for payout in pending]}
    event = _event(EventType.PAYOUTS_CONFIRMED, table, command, data, tuple(paid))
    answer = [_payout_answer(payout._replace(status=PayoutStatus.PAID)) for payout in pending]
    return Decision((event,), {"payouts": answer})


def correct(jackpot: Jackpot, table: Table, command: Correct) -> Decision:
    """Settle the round again with the corrected hands on the pools at the lock; post the differences (reading 11)."""
    require_supervisor(command.actor)
    played = _require(table, command.round, Phase.PENDING)
    _require_reason(command.reason)
    corrected = _with_true_hands(table, played, command.hands)
    config = jackpot.configs[played.config_version]
    if played.lock is None:
        raise AssertionError("a pending round must have a lock")
    settled = settle(jackpot.instrument, corrected, config, played.lock, jackpot.split_totals[config.version])
    transfers = _differences(jackpot, played, flows_of(settled.transfers))
    before = {payout.box: payout for payout in played.payouts}
    changed = [box for box, old in before.items() if _has_changed(old, settled.payouts)]
    data = {
        "hands": {
            str(box): list(corrected.declared[box].cards) if cards else None for box, cards in command.hands.items()
        },
        "reason": command.reason,
        "payouts": [_plain(payout) for payout in settled.payouts],
        "changed": sorted(changed),
        "pooled": [list(shares) for shares in settled.pooled],
        "flows": dict(flows_of(settled.transfers)),
        "ends": not _any_pending(settled.payouts),
    }
    event = _event(EventType.ROUND_CORRECTED, table, command, data, transfers)
    return Decision((event,), {"payouts": [_payout_answer(payout) for payout in settled.payouts]})


def void_hand(jackpot: Jackpot, table: Table, command: VoidHand) -> Decision:
    """Return one box's wager, to the cent as it was posted (reading 13)."""
    _require_reason(command.reason)
    played = _require_voidable(table, command.round, command.actor, (Phase.OPEN, Phase.CLOSED))
    wager = _require_wager(table, played, command.box)
    builder = TransferBuilder(jackpot.balances, Kind.VOID)
    _return_wager(builder, jackpot.instrument, wager)
    data = {"box": command.box, "wager_id": wager.wager_id, "reason": command.reason}
    event = _event(EventType.HAND_VOIDED, table, command, data, tuple(builder.transfers))
    return Decision((event,), {"returned_cents": wager.amount_cents})


def void_hands(jackpot: Jackpot, table: Table, command: VoidHands) -> Decision:
    """Return the wagers of several boxes together; if one of them cannot be returned, none is."""
    _require_reason(command.reason)
    played = _require_voidable(table, command.round, command.actor, (Phase.OPEN, Phase.CLOSED))
    if not command.boxes or len(set(command.boxes)) != len(command.boxes):
        raise Refused(CommandError.MALFORMED, "name each box to void exactly once")
    builder, events, returned = TransferBuilder(jackpot.balances, Kind.VOID), [], 0
    for box in command.boxes:
        wager, before = _require_wager(table, played, box), len(builder.transfers)
        _return_wager(builder, jackpot.instrument, wager)
        data = {"box": box, "wager_id": wager.wager_id, "reason": command.reason}
        events.append(_event(EventType.HAND_VOIDED, table, command, data, tuple(builder.transfers[before:])))
        returned += wager.amount_cents
    return Decision(tuple(events), {"returned_cents": returned})


def void_round(jackpot: Jackpot, table: Table, command: VoidRound) -> Decision:
    """Return every wager and reverse every posting of the round by new entries (reading 13)."""
    _require_reason(command.reason)
    played = _require_voidable(table, command.round, command.actor, (Phase.OPEN, Phase.CLOSED, Phase.PENDING))
    builder = TransferBuilder(jackpot.balances, Kind.VOID)
    _reverse(builder, played.posted)
    standing = sorted(wager for wager in played.wagers.values() if wager.status is WagerStatus.ACCEPTED)
    for wager in standing:
        _return_wager(builder, jackpot.instrument, wager)
    returned = sum(wager.amount_cents for wager in standing)
    event = _event(EventType.ROUND_VOIDED, table, command, {"reason": command.reason}, tuple(builder.transfers))
    return Decision((event,), {"returned_cents": returned})


def _require_reason(reason: str) -> None:
    if not reason.strip():
        raise Refused(CommandError.MALFORMED, "give a reason: it is kept in the audit trail")


def require_supervisor(actor: Actor) -> None:
    """Refuse an actor who is neither supervisor nor manager."""
    if not actor.supervises:
        raise Refused(CommandError.FORBIDDEN, f"{actor.name} may not do this: only a supervisor may")


def _wrong_round(table: Table, number: int) -> Refused:
    at = f"is at round {table.number}, not {number}" if table.round else "has not played a round yet"
    return Refused(CommandError.WRONG_ROUND, f"table {table.id} {at}")


def _require(table: Table, number: int, phase: Phase) -> Round:
    """Return the table's round if it is this one and in this phase, else refuse."""
    if number != table.number or table.round is None:
        raise _wrong_round(table, number)
    if table.phase is not phase:
        raise _wrong_phase(table, f"this needs a round that is {phase}")
    return table.round


def _require_voidable(table: Table, number: int, actor: Actor, phases: tuple[Phase, ...]) -> Round:
    """Return the round if this actor may void it: the dealer until the first card, a supervisor afterwards."""
    if number != table.number or table.round is None:
        raise _wrong_round(table, number)
    if table.phase in (Phase.CLOSED, Phase.PENDING) and not actor.supervises:
        raise Refused(CommandError.NEEDS_SUPERVISOR, "from the first card on, only a supervisor may void")
    if table.phase not in phases:
        raise _wrong_phase(table, "there is nothing to void")
    return table.round


def _wrong_phase(table: Table, why: str) -> Refused:
    return Refused(CommandError.WRONG_PHASE, f"round {table.number} of table {table.id} is {table.phase}: {why}")


def _require_wager(table: Table, played: Round, box: int) -> Wager:
    if not 1 <= box <= table.boxes:
        raise Refused(CommandError.UNKNOWN_BOX, f"table {table.id} has boxes 1 to {table.boxes}, and no box {box}")
    wager = played.standing(box)
    if wager is None:
        raise Refused(CommandError.NO_WAGER, f"box {box} has no jackpot wager on round {played.number}")
    return wager


def _require_cards(played: Round, hands: Mapping[int, Iterable[str]]) -> dict[int, tuple[str, ...]]:
    """Return each box's five cards as the rules write them; refuse a card that another box has."""
    game = canberra_poker_2016.load()
    found: dict[int, tuple[str, ...]] = {}
    for box, names in hands.items():
        try:
            found[box] = tuple(str(card) for card in game.hand(list(names)).given)
        except RulesError as error:
            raise Refused(CommandError.WRONG_CARDS, f"box {box}: {error}") from None
    others = {box: hand.cards for box, hand in played.declared.items() if box not in found}
    holder: dict[str, int] = {}
    for box, cards in [*others.items(), *found.items()]:
        for card in cards:
            if card in holder:
                raise Refused(
                    CommandError.CARD_ALREADY_DECLARED, f"{card} is declared by box {holder[card]} and by box {box}"
                )
            holder[card] = box
    return found


def _with_true_hands(table: Table, played: Round, hands: Mapping[int, tuple[str, ...] | None]) -> Round:
    """Return the round with each named hand corrected, or removed if it wins nothing."""
    if not hands:
        raise Refused(CommandError.MALFORMED, "a correction names at least one box")
    for box in hands:
        _require_wager(table, played, box)
        if box in played.folded:
            raise Refused(CommandError.FOLDED, f"box {box} folded, so it cannot win")
        if box not in played.declared:
            raise Refused(CommandError.CONFLICT, f"box {box} was not declared before the lock, so it cannot win")
    without = {box: hand for box, hand in played.declared.items() if box not in hands}
    true_cards = _require_cards(
        played._replace(declared=without), {box: cards for box, cards in hands.items() if cards is not None}
    )
    declared = dict(without)
    for box, cards in true_cards.items():
        declared[box] = Declaration(cards, played.declared[box].displayed_cents)
    return played._replace(declared=declared)


def _differences(jackpot: Jackpot, played: Round, new: Mapping[str, int]) -> tuple[Transfer, ...]:
    """Return the transfers that turn the old settlement into the new one (reading 11).

    If a pool is short, its helpers pay: the reserve, then an advance. Money returned to a pool first repays the helpers
    that paid for it, the last one first. Money that flows into a pool, such as a reset, comes last and pays no prize.
    """
    changes = {flow: new.get(flow, 0) - played.flows.get(flow, 0) for flow in sorted({*played.flows, *new})}
    late = {flow: cents for flow, cents in changes.items() if cents > 0 and _ends(flow)[1] in POOLS}
    moves = _net({flow: cents for flow, cents in changes.items() if flow not in late})
    _repay_helpers(moves, _net(played.posted), _net(played.flows))
    _cover_shortfalls(moves, jackpot.balances)
    for account, cents in _net(late).items():
        moves[account] += cents
    _cover_shortfalls(moves, jackpot.balances)
    return tuple(Transfer(source, target, cents, Kind.CORRECTION) for source, target, cents in _pairs(moves))


def _repay_helpers(moves: dict[Account, int], posted: Mapping[Account, int], due: Mapping[Account, int]) -> None:
    """Use the money that returns to a pool to repay the accounts that paid in its place."""
    helped = {account: posted[account] - due[account] for account in Account}
    for pool in (Account.JACKPOT, Account.RESERVE):
        for helper in reversed(payers(pool)[1:]):
            back = max(0, min(moves[pool], helped[pool], -helped[helper]))
            for amounts in (moves, helped):
                amounts[pool] -= back
                amounts[helper] += back


def _cover_shortfalls(moves: dict[Account, int], balances: Mapping[Account, int]) -> None:
    """Let the next account in line pay what a pool does not hold."""
    for pool in (Account.JACKPOT, Account.RESERVE):
        shortfall = max(0, -moves[pool] - balances[pool])
        moves[pool] += shortfall
        moves[payers(pool)[1]] -= shortfall


def _reverse(builder: TransferBuilder, flows: Mapping[str, int]) -> None:
    """Undo flows account by account: those that gained pay, pools last, to those that lost."""
    for source, target, cents in _pairs({account: -cents for account, cents in _net(flows).items()}):
        builder.move(source, target, cents)


def _net(flows: Mapping[str, int]) -> dict[Account, int]:
    """Return the net change of each account by these flows."""
    net = dict.fromkeys(Account, 0)
    for flow, cents in flows.items():
        source, target = _ends(flow)
        net[source] -= cents
        net[target] += cents
    return net


def _pairs(moves: Mapping[Account, int]) -> list[tuple[Account, Account, int]]:
    """Return the (payer, receiver, cents) that change each account by its amount; pools pay last."""
    open_cents = dict(moves)
    pairs = []
    for payer in sorted(
        (account for account in Account if open_cents[account] < 0), key=lambda account: account in POOLS
    ):
        for receiver in [account for account in Account if open_cents[account] > 0]:
            cents = min(-open_cents[payer], open_cents[receiver])
            if cents:
                pairs.append((payer, receiver, cents))
                open_cents[payer] += cents
                open_cents[receiver] -= cents
    return pairs


def _ends(flow: str) -> tuple[Account, Account]:
    source, target = flow.split(">")
    return Account(source), Account(target)


def _return_wager(builder: TransferBuilder, instrument: str, wager: Wager) -> None:
    if INSTRUMENTS[instrument].pools_wagers_at_settlement:
        builder.move(Account.WAGERS, Account.PLAYERS, wager.amount_cents)
        return
    builder.move(Account.JACKPOT, Account.PLAYERS, wager.jackpot_cents)
    builder.move(Account.RESERVE, Account.PLAYERS, wager.reserve_cents)


def _has_changed(old: Payout, payouts: Iterable[Payout]) -> bool:
    new = next((payout for payout in payouts if payout.box == old.box), None)
    return new is None or (new.hand, new.amount_cents) != (old.hand, old.amount_cents)


def _any_pending(payouts: Iterable[Payout]) -> bool:
    return any(payout.status is PayoutStatus.PENDING for payout in payouts)


def _pools(jackpot: Jackpot) -> PoolAmounts:
    return PoolAmounts(jackpot.balances[Account.JACKPOT], jackpot.balances[Account.RESERVE])


def _plain(payout: Payout) -> dict[str, Any]:
    return payout._asdict()


def _payout_answer(payout: Payout) -> dict[str, Any]:
    return {key: payout._asdict()[key] for key in ("box", "hand", "amount_cents", "status", "clause")}


def _event(
    kind: EventType,
    table: Table,
    command: CloseWagers | Fold | Unfold | Declare | Settle | Confirm | Correct | VoidHand | VoidHands | VoidRound,
    data: Mapping[str, Any],
    transfers: tuple[Transfer, ...] = (),
) -> Event:
    return Event(kind, command.at, command.actor.name, table.id, command.round, data, transfers)
