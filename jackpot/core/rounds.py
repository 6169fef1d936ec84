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
from jackpot.core.ledger import POOLS, Account, Kind, Purse, Transfer, payers
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


def open_round(jackpot: Jackpot, table: Table, asked: OpenRound) -> Decision:
    """Open the next round for wagers, under the configuration in force."""
    if table.suspended:
        raise Refused(
            CommandError.TABLE_SUSPENDED, f"table {table.id} is suspended ({table.suspended}): a supervisor resumes it"
        )
    if table.phase is not Phase.IDLE:
        raise _wrong_phase(table, "a round is open already")
    if jackpot.retired:
        raise _wrong_phase(table, f"the jackpot {jackpot.id} is retired, and plays no more rounds")
    number = table.number + 1
    event = Event(
        EventType.ROUND_OPENED, asked.at, asked.actor.name, table.id, number, {"config_version": jackpot.version}
    )
    return Decision((event,), {"round": number})


def close_wagers(_jackpot: Jackpot, table: Table, asked: CloseWagers) -> Decision:
    """The first card is dealt: no more wagers; boxes with a standing wager but a dark lamp are named (reading 2)."""
    played = _require(table, asked.round, Phase.OPEN)
    unconfirmed = sorted(set(asked.dark) & set(played.lit))
    answer = {"lit": played.lit, "unconfirmed": unconfirmed}
    return Decision((_event(EventType.WAGERS_CLOSED, table, asked, answer),), answer)


def fold(_jackpot: Jackpot, table: Table, asked: Fold) -> Decision:
    """A fold drops the box's declaration."""
    played = _require(table, asked.round, Phase.CLOSED)
    _require_wager(table, played, asked.box)
    data = {"box": asked.box, "reason": asked.reason}
    return Decision((_event(EventType.HAND_FOLDED, table, asked, data),), {})


def unfold(_jackpot: Jackpot, table: Table, asked: Unfold) -> Decision:
    """A fold is taken back; the declaration it dropped does not come back."""
    played = _require(table, asked.round, Phase.CLOSED)
    _require_wager(table, played, asked.box)
    data = {"box": asked.box, "reason": asked.reason}
    return Decision((_event(EventType.HAND_UNFOLDED, table, asked, data),), {})


def declare(jackpot: Jackpot, table: Table, asked: Declare) -> Decision:
    """The dealer states a box's cards; the answer says what they would be paid now, alone."""
    played = _require(table, asked.round, Phase.CLOSED)
    _require_wager(table, played, asked.box)
    if asked.box in played.folded:
        raise Refused(CommandError.FOLDED, f"box {asked.box} has folded: take the fold back first")
    cards = _require_cards(played, {asked.box: asked.cards})[asked.box]
    displayed = jackpot.meter_cents if asked.displayed_cents is None else asked.displayed_cents
    declaration = Declaration(cards, displayed)
    config = jackpot.configs[played.config_version]
    hand, prize, cents = prize_alone(jackpot.instrument, declaration, config, _pools(jackpot))
    answer = {"hand": prize or hand, "qualifies": prize is not None, "amount_cents": cents}
    data = {"box": asked.box, "cards": list(cards), "displayed_cents": displayed, **answer}
    return Decision((_event(EventType.HAND_DECLARED, table, asked, data),), answer)


def settle_round(jackpot: Jackpot, table: Table, asked: Settle) -> Decision:
    """The lock: the round's prizes on the pools of this moment (readings 10, 11)."""
    played = _require(table, asked.round, Phase.CLOSED)
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
    event = _event(EventType.ROUND_SETTLED, table, asked, data, settled.transfers)
    return Decision((event,), {"payouts": [_told(payout) for payout in settled.payouts]})


def confirm(_jackpot: Jackpot, table: Table, asked: Confirm) -> Decision:
    """A supervisor confirms all of the round's pending prizes together: they are paid, and the round ends."""
    require_supervisor(asked.actor)
    played = _require(table, asked.round, Phase.PENDING)
    pending = [payout for payout in played.payouts if payout.status is PayoutStatus.PENDING]
    paid = [
        Transfer(Account.PAYABLE, Account.PLAYERS, payout.amount_cents, Kind.PAYMENT)
        for payout in pending
        if payout.amount_cents
    ]
    data = {"boxes": [payout.box for payout in pending]}
    event = _event(EventType.PAYOUTS_CONFIRMED, table, asked, data, tuple(paid))
    told = [_told(payout._replace(status=PayoutStatus.PAID)) for payout in pending]
    return Decision((event,), {"payouts": told})


def correct(jackpot: Jackpot, table: Table, asked: Correct) -> Decision:
    """Settle the round anew with the true hands on the pools as at the lock; post the differences (reading 11)."""
    require_supervisor(asked.actor)
    played = _require(table, asked.round, Phase.PENDING)
    _require_reason(asked.reason)
    truly = _with_true_hands(table, played, asked.hands)
    config = jackpot.configs[played.config_version]
    if played.lock is None:
        raise AssertionError("a pending round has its lock")
    settled = settle(jackpot.instrument, truly, config, played.lock, jackpot.split_totals[config.version])
    transfers = _differences(jackpot, played, flows_of(settled.transfers))
    before = {payout.box: payout for payout in played.payouts}
    changed = [box for box, old in before.items() if _unlike(old, settled.payouts)]
    data = {
        "hands": {str(box): list(truly.declared[box].cards) if cards else None for box, cards in asked.hands.items()},
        "reason": asked.reason,
        "payouts": [_plain(payout) for payout in settled.payouts],
        "changed": sorted(changed),
        "pooled": [list(shares) for shares in settled.pooled],
        "flows": dict(flows_of(settled.transfers)),
        "ends": not _any_pending(settled.payouts),
    }
    event = _event(EventType.ROUND_CORRECTED, table, asked, data, transfers)
    return Decision((event,), {"payouts": [_told(payout) for payout in settled.payouts]})


def void_hand(jackpot: Jackpot, table: Table, asked: VoidHand) -> Decision:
    """One box's wager goes back, to the cent as it was posted (reading 13)."""
    _require_reason(asked.reason)
    played = _require_voidable(table, asked.round, asked.actor, (Phase.OPEN, Phase.CLOSED))
    wager = _require_wager(table, played, asked.box)
    purse = Purse(jackpot.balances, Kind.VOID)
    _give_back(purse, jackpot.instrument, wager)
    data = {"box": asked.box, "wager_id": wager.wager_id, "reason": asked.reason}
    event = _event(EventType.HAND_VOIDED, table, asked, data, tuple(purse.transfers))
    return Decision((event,), {"returned_cents": wager.amount_cents})


def void_hands(jackpot: Jackpot, table: Table, asked: VoidHands) -> Decision:
    """The wagers of several boxes go back together: where one of them cannot, none does."""
    _require_reason(asked.reason)
    played = _require_voidable(table, asked.round, asked.actor, (Phase.OPEN, Phase.CLOSED))
    if not asked.boxes or len(set(asked.boxes)) != len(asked.boxes):
        raise Refused(CommandError.MALFORMED, "name the boxes that are void, each of them once")
    purse, events, returned = Purse(jackpot.balances, Kind.VOID), [], 0
    for box in asked.boxes:
        wager, before = _require_wager(table, played, box), len(purse.transfers)
        _give_back(purse, jackpot.instrument, wager)
        data = {"box": box, "wager_id": wager.wager_id, "reason": asked.reason}
        events.append(_event(EventType.HAND_VOIDED, table, asked, data, tuple(purse.transfers[before:])))
        returned += wager.amount_cents
    return Decision(tuple(events), {"returned_cents": returned})


def void_round(jackpot: Jackpot, table: Table, asked: VoidRound) -> Decision:
    """Every wager goes back and every posting of the round is reversed, by new entries (reading 13)."""
    _require_reason(asked.reason)
    played = _require_voidable(table, asked.round, asked.actor, (Phase.OPEN, Phase.CLOSED, Phase.PENDING))
    purse = Purse(jackpot.balances, Kind.VOID)
    _reverse(purse, played.posted)
    standing = sorted(wager for wager in played.wagers.values() if wager.status is WagerStatus.ACCEPTED)
    for wager in standing:
        _give_back(purse, jackpot.instrument, wager)
    returned = sum(wager.amount_cents for wager in standing)
    event = _event(EventType.ROUND_VOIDED, table, asked, {"reason": asked.reason}, tuple(purse.transfers))
    return Decision((event,), {"returned_cents": returned})


def _require_reason(reason: str) -> None:
    if not reason.strip():
        raise Refused(CommandError.MALFORMED, "this needs a reason: it stays in the audit trail")


def require_supervisor(actor: Actor) -> None:
    """Confirming, correcting, resuming and late voids are supervisors' acts."""
    if not actor.supervises:
        raise Refused(CommandError.FORBIDDEN, f"{actor.name} may not do this: it is a supervisor's act")


def _wrong_round(table: Table, number: int) -> Refused:
    at = f"is at round {table.number}, not {number}" if table.round else "has not played a round yet"
    return Refused(CommandError.WRONG_ROUND, f"table {table.id} {at}")


def _require(table: Table, number: int, phase: Phase) -> Round:
    """The table's round, if it is this one and in this phase."""
    if number != table.number or table.round is None:
        raise _wrong_round(table, number)
    if table.phase is not phase:
        raise _wrong_phase(table, f"this needs a round that is {phase}")
    return table.round


def _require_voidable(table: Table, number: int, actor: Actor, phases: tuple[Phase, ...]) -> Round:
    """While wagers are open the dealer may void; from the first card on it is a supervisor's act."""
    if number != table.number or table.round is None:
        raise _wrong_round(table, number)
    if table.phase in (Phase.CLOSED, Phase.PENDING) and not actor.supervises:
        raise Refused(CommandError.NEEDS_SUPERVISOR, "from the first card on, a void is a supervisor's act")
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
    """Five cards of the deck for each box, none with another box."""
    game = canberra_poker_2016.load()
    found: dict[int, tuple[str, ...]] = {}
    for box, names in hands.items():
        try:
            found[box] = tuple(str(card) for card in game.hand(list(names)).given)
        except RulesError as error:
            raise Refused(CommandError.WRONG_CARDS, f"box {box}: {error}") from None
    others = {box: told.cards for box, told in played.declared.items() if box not in found}
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
    """The round with each named hand as it truly was, or with none."""
    if not hands:
        raise Refused(CommandError.MALFORMED, "a correction names at least one box")
    for box in hands:
        _require_wager(table, played, box)
        if box in played.folded:
            raise Refused(CommandError.FOLDED, f"box {box} folded, and a fold wins nothing")
        if box not in played.declared:
            raise Refused(CommandError.CONFLICT, f"box {box} was not declared before the lock, so it cannot win")
    without = {box: told for box, told in played.declared.items() if box not in hands}
    true_cards = _require_cards(
        played._replace(declared=without), {box: cards for box, cards in hands.items() if cards is not None}
    )
    declared = dict(without)
    for box, cards in true_cards.items():
        declared[box] = Declaration(cards, played.declared[box].displayed_cents)
    return played._replace(declared=declared)


def _differences(jackpot: Jackpot, played: Round, new: Mapping[str, int]) -> tuple[Transfer, ...]:
    """What must move today so that each account is as the new settlement has it (reading 11).

    What a pool lacks, its helpers pay: the reserve, then an advance. What a pool gets back goes to those who helped it
    before, the last helper first. What flows into a pool, such as a reset, comes last and helps to pay no prize.
    """
    changes = {flow: new.get(flow, 0) - played.flows.get(flow, 0) for flow in sorted({*played.flows, *new})}
    late = {flow: cents for flow, cents in changes.items() if cents > 0 and _ends(flow)[1] in POOLS}
    moves = _net({flow: cents for flow, cents in changes.items() if flow not in late})
    _give_to_helpers(moves, _net(played.posted), _net(played.flows))
    _let_helpers_pay(moves, jackpot.balances)
    for account, cents in _net(late).items():
        moves[account] += cents
    _let_helpers_pay(moves, jackpot.balances)
    return tuple(Transfer(source, target, cents, Kind.CORRECTION) for source, target, cents in _pairs(moves))


def _give_to_helpers(moves: dict[Account, int], posted: Mapping[Account, int], due: Mapping[Account, int]) -> None:
    """What a pool gets back goes first to those who paid in its place."""
    helped = {account: posted[account] - due[account] for account in Account}
    for pool in (Account.JACKPOT, Account.RESERVE):
        for helper in reversed(payers(pool)[1:]):
            back = max(0, min(moves[pool], helped[pool], -helped[helper]))
            for amounts in (moves, helped):
                amounts[pool] -= back
                amounts[helper] += back


def _let_helpers_pay(moves: dict[Account, int], balances: Mapping[Account, int]) -> None:
    """What a pool does not hold, the next one in line pays."""
    for pool in (Account.JACKPOT, Account.RESERVE):
        lacking = max(0, -moves[pool] - balances[pool])
        moves[pool] += lacking
        moves[payers(pool)[1]] -= lacking


def _reverse(purse: Purse, flows: Mapping[str, int]) -> None:
    """Undo flows account by account: whoever is up on balance gives, pools last, to whoever is down."""
    for source, target, cents in _pairs({account: -cents for account, cents in _net(flows).items()}):
        purse.move(source, target, cents)


def _net(flows: Mapping[str, int]) -> dict[Account, int]:
    """What flows did to each account."""
    net = dict.fromkeys(Account, 0)
    for flow, cents in flows.items():
        source, target = _ends(flow)
        net[source] -= cents
        net[target] += cents
    return net


def _pairs(moves: Mapping[Account, int]) -> list[tuple[Account, Account, int]]:
    """(from, to, cents) that change each account by so much: who gives, pools last, to who gets."""
    left = dict(moves)
    pairs = []
    for giver in sorted((account for account in Account if left[account] < 0), key=lambda account: account in POOLS):
        for receiver in [account for account in Account if left[account] > 0]:
            cents = min(-left[giver], left[receiver])
            if cents:
                pairs.append((giver, receiver, cents))
                left[giver] += cents
                left[receiver] -= cents
    return pairs


def _ends(flow: str) -> tuple[Account, Account]:
    source, target = flow.split(">")
    return Account(source), Account(target)


def _give_back(purse: Purse, instrument: str, wager: Wager) -> None:
    if INSTRUMENTS[instrument].pools_wagers_at_settlement:
        purse.move(Account.WAGERS, Account.PLAYERS, wager.amount_cents)
        return
    purse.move(Account.JACKPOT, Account.PLAYERS, wager.jackpot_cents)
    purse.move(Account.RESERVE, Account.PLAYERS, wager.reserve_cents)


def _unlike(old: Payout, payouts: Iterable[Payout]) -> bool:
    new = next((payout for payout in payouts if payout.box == old.box), None)
    return new is None or (new.hand, new.amount_cents) != (old.hand, old.amount_cents)


def _any_pending(payouts: Iterable[Payout]) -> bool:
    return any(payout.status is PayoutStatus.PENDING for payout in payouts)


def _pools(jackpot: Jackpot) -> PoolAmounts:
    return PoolAmounts(jackpot.balances[Account.JACKPOT], jackpot.balances[Account.RESERVE])


def _plain(payout: Payout) -> dict[str, Any]:
    return payout._asdict()


def _told(payout: Payout) -> dict[str, Any]:
    return {key: payout._asdict()[key] for key in ("box", "hand", "amount_cents", "status", "clause")}


def _event(
    kind: EventType,
    table: Table,
    asked: CloseWagers | Fold | Unfold | Declare | Settle | Confirm | Correct | VoidHand | VoidHands | VoidRound,
    data: Mapping[str, Any],
    transfers: tuple[Transfer, ...] = (),
) -> Event:
    return Event(kind, asked.at, asked.actor.name, table.id, asked.round, data, transfers)
