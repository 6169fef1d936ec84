"""The rules of the wire protocol in the core: reasons, errors, verdicts, phases, repeats and suspension."""

import json
from itertools import combinations

import pytest

from jackpot.core.commands import (
    Actor,
    CloseWagers,
    Confirm,
    Correct,
    Declare,
    Fold,
    Identified,
    OpenRound,
    PlaceWager,
    ReportMalfunction,
    ResumeTable,
    SetMode,
    Settle,
    Unfold,
    VoidHand,
    VoidRound,
)
from jackpot.core.decide import decide
from jackpot.core.events import EventType
from jackpot.core.results import CommandError, Refused, WagerRejection
from jackpot.core.state import Phase, Wager, WagerStatus
from tests.support.core_floor import (
    AT,
    DEALER,
    FLUSH,
    MANAGER,
    NOTHING,
    OTHER_MANAGER,
    PAD,
    ROYALS,
    STRAIGHT_FLUSHES,
    SUPERVISOR,
    Floor,
)

CONTROLLER = Actor("controller")
FOUR_OF_A_KIND = ("Qs", "Qh", "Qd", "Qc", "2d")
FULL_HOUSE = ("6s", "6h", "6d", "5c", "5d")
STRAIGHT = ("9c", "8d", "7h", "6c", "5s")
ACCEPTED = {"verdict": "accepted", "reason": None}

# Wagers: every reason, in the protocol's order. The shell checks `malformed` before the core.

REASONS = (
    "unknown_box",
    "wager_id_reused",
    "table_suspended",
    "tournament",
    "no_open_round",
    "stale_round",
    "wagers_closed",
    "no_ante",
    "wrong_amount",
    "box_already_wagered",
)
CANNOT_MEET = {("unknown_box", "box_already_wagered")}
PAIRS_OF_REASONS = [pair for pair in combinations(REASONS, 2) if pair not in CANNOT_MEET]


def wager_with(*faults):
    """Return a floor, and a wager on its table t1 with exactly these faults."""
    floor = Floor(tables=("t1",))
    floor.open()
    if "box_already_wagered" in faults:
        floor.wager(1)
    if {"wagers_closed", "no_open_round"} & set(faults):
        floor.close()
    if "no_open_round" in faults:
        floor.settle()
    if "tournament" in faults:
        floor.execute(SetMode(AT, MANAGER, "t1", True, True))
    if "table_suspended" in faults:
        suspend(floor)
    box = 8 if "unknown_box" in faults else 1
    return floor, floor.wagered(
        box,
        wager_id="fresh",
        number=99 if "stale_round" in faults else 1,
        amount=500 if "wrong_amount" in faults else 100,
        ante="no_ante" not in faults,
        earlier=Wager(box, "fresh", 77, 100, 70, 30) if "wager_id_reused" in faults else None,
    )


def suspend(floor, table="t1", cause="dealer_report"):
    floor.execute(ReportMalfunction(AT, DEALER, table, "pad 3", "dark", cause))


def phase(floor, table="t1"):
    return floor.jackpot.tables[table].phase


def test_the_reasons_are_those_of_the_protocol_in_its_order():
    assert [reason.value for reason in WagerRejection] == ["malformed", *REASONS]


def test_a_wager_without_fault_is_accepted():
    floor, command = wager_with()
    assert floor.execute(command) == ACCEPTED


@pytest.mark.parametrize("reason", REASONS)
def test_a_wager_is_rejected_with_its_reason_and_nothing_changes(reason):
    floor, command = wager_with(reason)
    before = floor.jackpot
    assert floor.refusal(command) == reason
    assert floor.jackpot == before


@pytest.mark.parametrize(("first", "second"), PAIRS_OF_REASONS, ids=lambda reason: reason)
def test_of_two_reasons_the_first_listed_is_given(first, second):
    floor, command = wager_with(first, second)
    assert floor.refusal(command) == first


@pytest.mark.parametrize("since", range(len(REASONS)), ids=lambda since: REASONS[since])
def test_the_first_of_several_reasons_is_given(since):
    floor, command = wager_with(*REASONS[since:])
    assert floor.refusal(command) == REASONS[since]


@pytest.mark.parametrize("box", [0, -1, 8, 1_000])
def test_a_box_the_table_does_not_have_is_unknown(box):
    floor = Floor()
    floor.open()
    assert floor.refusal(floor.wagered(box)) == "unknown_box"


def test_the_first_and_the_last_box_are_known():
    floor = Floor()
    floor.open()
    assert floor.execute(floor.wagered(1)) == floor.execute(floor.wagered(7)) == ACCEPTED


def test_a_wager_at_a_table_of_no_jackpot_is_rejected():
    floor = Floor(tables=("t1",))
    assert floor.refusal(PlaceWager(AT, PAD, "t9", 1, "w", 1, 100, True)) == "unknown_box"


def test_before_the_first_round_there_is_no_open_round():
    floor = Floor()
    assert floor.refusal(floor.wagered(1, number=0)) == "no_open_round"
    assert floor.refusal(floor.wagered(1, number=1)) == "no_open_round"


@pytest.mark.parametrize("number", [0, 1, 3])
def test_a_message_delayed_into_another_round_is_stale_and_not_misplaced(number):
    floor = Floor()
    floor.play({})
    floor.open()
    assert floor.refusal(floor.wagered(1, number=number)) == "stale_round"


@pytest.mark.parametrize("amount", [1, 99, 101, 200])
def test_a_wager_is_of_exactly_the_approved_amount(amount):
    floor = Floor()
    floor.open()
    assert floor.refusal(floor.wagered(1, amount=amount)) == "wrong_amount"


def test_wagers_on_a_pending_round_are_closed():
    floor = Floor()
    floor.play({7: STRAIGHT_FLUSHES[0]})
    assert phase(floor) is Phase.PENDING
    assert floor.refusal(floor.wagered(1)) == "wagers_closed"
    assert floor.refusal(floor.wagered(1, number=2)) == "stale_round"


def test_after_a_void_the_table_is_idle_and_has_no_open_round():
    floor = Floor()
    floor.open()
    floor.void()
    assert floor.refusal(floor.wagered(1)) == "no_open_round"


def test_a_box_wagers_once_a_round_and_again_in_the_next():
    floor = Floor()
    floor.open()
    floor.wager(3)
    assert floor.refusal(floor.wagered(3)) == "box_already_wagered"
    floor.close()
    floor.settle()
    floor.open()
    floor.wager(3)


# Verdicts and repeats.


def test_a_repeat_of_an_accepted_wager_is_accepted_again_and_posted_once():
    floor = Floor()
    floor.open()
    command = floor.wagered(3)
    assert floor.execute(command) == ACCEPTED
    pools, events = floor.pools, len(floor.events)
    assert floor.execute(command) == ACCEPTED
    assert (floor.pools, len(floor.events)) == (pools, events)


@pytest.mark.parametrize("since", ["suspended", "restricted", "closed", "pending", "ended", "next round"])
def test_a_repeat_is_accepted_again_after_any_later_event(since):
    floor = Floor()
    floor.open()
    command = floor.wagered(3)
    floor.execute(command)
    earlier = floor.jackpot.tables["t1"].round.standing(3)
    if since == "suspended":
        suspend(floor)
    elif since == "restricted":
        floor.execute(SetMode(AT, MANAGER, "t1", True, True))
    else:
        floor.close()
        floor.declare(3, STRAIGHT_FLUSHES[0] if since == "pending" else NOTHING)
    if since in ("pending", "ended", "next round"):
        floor.settle()
    if since == "next round":
        floor.open()
        command = command._replace(earlier=earlier)
    decision = decide(floor.jackpot, command)
    assert (decision.events, decision.answer) == ((), ACCEPTED)


def test_wagers_of_past_rounds_are_answered_from_the_store_for_ever():
    floor = Floor()
    earlier = Wager(3, "w-old", 451, 100, 70, 30)
    command = floor.wagered(3, wager_id="w-old", number=451, amount=100, earlier=earlier)
    assert decide(floor.jackpot, command) == ((), ACCEPTED)
    returned = earlier._replace(status=WagerStatus.RETURNED, reason="shoe jammed")
    command = command._replace(earlier=returned)
    assert decide(floor.jackpot, command) == ((), {"verdict": "returned", "reason": "shoe jammed"})


@pytest.mark.parametrize("status", list(WagerStatus))
@pytest.mark.parametrize("other", [{"number": 2}, {"amount": 200}, {"ante": False}], ids=str)
@pytest.mark.parametrize("place", ["this round", "a past round"])
def test_an_id_once_accepted_with_another_round_amount_or_ante_is_reused(place, other, status):
    floor = Floor()
    floor.open()
    floor.execute(floor.wagered(3, wager_id="w-1"))
    if status is WagerStatus.RETURNED:
        floor.void_hand(3)
    earlier = None
    if place == "a past round":
        earlier = floor.jackpot.tables["t1"].round.wagers["3/w-1"]
        floor.close()
        floor.settle()
        floor.open()
    content = {"number": 1, "amount": 100, "ante": True} | other
    assert floor.refusal(floor.wagered(3, wager_id="w-1", earlier=earlier, **content)) == "wager_id_reused"


def test_the_time_of_sending_is_not_content():
    floor = Floor()
    floor.open()
    command = floor.wagered(3)
    floor.execute(command)
    assert floor.execute(command._replace(at="2026-11-15T10:00:00.000Z")) == ACCEPTED


def test_a_wager_id_belongs_to_one_pad():
    floor = Floor()
    for table in ("t1", "t2"):
        floor.open(table)
        for box in (3, 4):
            floor.execute(floor.wagered(box, table=table, wager_id="same"))
    assert floor.holds("players") == -400


def test_a_rejected_wager_is_decided_anew():
    floor = Floor()
    floor.open()
    command = floor.wagered(3)
    suspend(floor)
    assert floor.refusal(command) == "table_suspended"
    floor.execute(ResumeTable(AT, SUPERVISOR, "t1"))
    assert floor.execute(command) == ACCEPTED


def test_a_rejected_id_may_be_used_again_with_other_content():
    floor = Floor()
    floor.open()
    assert floor.refusal(floor.wagered(3, wager_id="w-1", amount=500)) == "wrong_amount"
    assert floor.execute(floor.wagered(3, wager_id="w-1")) == ACCEPTED


def test_a_voided_wager_is_returned_with_the_reason_of_the_void():
    floor = Floor()
    floor.open()
    by_hand, with_round = floor.wagered(3), floor.wagered(4)
    floor.execute(by_hand)
    floor.execute(with_round)
    floor.void_hand(3)
    floor.void()
    assert floor.execute(by_hand) == {"verdict": "returned", "reason": "misdeal"}
    assert floor.execute(with_round) == {"verdict": "returned", "reason": "shoe jammed"}


def test_a_voided_box_may_wager_again_while_the_round_is_open_with_a_new_id():
    floor = Floor()
    floor.open()
    first = floor.wagered(3)
    floor.execute(first)
    floor.void_hand(3)
    assert floor.execute(first)["verdict"] == "returned"
    assert floor.jackpot.tables["t1"].round.lit == []
    assert floor.execute(floor.wagered(3)) == ACCEPTED
    assert floor.jackpot.tables["t1"].round.lit == [3]
    assert floor.execute(first)["verdict"] == "returned"
    assert floor.holds("players") == -100


def test_a_box_voided_after_the_close_may_not_wager_again():
    floor = Floor()
    floor.open()
    floor.wager(3)
    floor.close()
    floor.void_hand(3)
    assert floor.refusal(floor.wagered(3)) == "wagers_closed"


def test_a_new_id_at_a_lit_box_is_refused_though_the_old_one_is_accepted_again():
    floor = Floor()
    floor.open()
    command = floor.wagered(3)
    floor.execute(command)
    assert floor.refusal(floor.wagered(3)) == "box_already_wagered"
    assert floor.execute(command) == ACCEPTED


# Dealer commands: every error, in the protocol's order. The shell checks `malformed` before the core.

ERRORS = (
    "command_id_reused",
    "table_suspended",
    "wrong_round",
    "needs_supervisor",
    "wrong_phase",
    "unknown_box",
    "no_wager",
    "folded",
    "wrong_cards",
    "card_already_declared",
)
OF_A_ROUND = {"command_id_reused", "wrong_round", "wrong_phase"}
OF_A_BOX = OF_A_ROUND | {"unknown_box", "no_wager"}
CAN_GO_WRONG = {
    "open_round": {"command_id_reused", "table_suspended", "wrong_phase"},
    "close_wagers": OF_A_ROUND,
    "fold": OF_A_BOX,
    "unfold": OF_A_BOX,
    "declare": OF_A_BOX | {"folded", "wrong_cards", "card_already_declared"},
    "settle": OF_A_ROUND,
    "void_round": OF_A_ROUND | {"needs_supervisor"},
    "void_hand": OF_A_BOX | {"needs_supervisor"},
    "report_malfunction": {"command_id_reused"},
}
CANNOT_BOTH_BE = {("unknown_box", "folded"), ("no_wager", "folded")}
SINGLE_ERRORS = [(kind, error) for kind, errors in CAN_GO_WRONG.items() for error in ERRORS if error in errors]
PAIRS_OF_ERRORS = [
    (kind, first, second)
    for kind, errors in CAN_GO_WRONG.items()
    for first, second in combinations([error for error in ERRORS if error in errors], 2)
    if (first, second) not in CANNOT_BOTH_BE
]
HELD_BY_BOX_2 = FLUSH[0]
GOOD_CARDS = ("Ad", "Qc", "9s", "7s", "2c")


def dealt(kind, *, number=1, box=1, cards=GOOD_CARDS, actor=DEALER, table="t1"):
    """Return a valid command of the dealer."""
    match kind:
        case "open_round":
            return OpenRound(AT, actor, table)
        case "close_wagers":
            return CloseWagers(AT, actor, table, number)
        case "fold":
            return Fold(AT, actor, table, number, box)
        case "unfold":
            return Unfold(AT, actor, table, number, box)
        case "declare":
            return Declare(AT, actor, table, number, box, cards)
        case "settle":
            return Settle(AT, actor, table, number)
        case "void_round":
            return VoidRound(AT, actor, table, number, "spilled drink")
        case "void_hand":
            return VoidHand(AT, actor, table, number, box, "spilled drink")
        case "report_malfunction":
            return ReportMalfunction(AT, actor, table, "pad 3", "dark")


def identified(command, command_id="c-1", digest="content", earlier=None):
    return Identified(command_id, digest, command, earlier)


def prepared(kind, faults):
    """Return a floor whose table t1 is in the phase of this command, or in one with these faults."""
    floor = Floor(tables=("t1",))
    if kind != "open_round" or "wrong_phase" in faults:
        floor.open()
        floor.wager(1, 2)
    closes = kind in ("fold", "unfold", "declare", "settle") or "needs_supervisor" in faults
    if closes or (kind != "open_round" and "wrong_phase" in faults):
        floor.close()
        floor.declare(2, STRAIGHT_FLUSHES[0] if "needs_supervisor" in faults else FLUSH)
        if "folded" in faults:
            floor.fold(1)
        if "wrong_phase" in faults:
            floor.settle()
    if "table_suspended" in faults:
        suspend(floor)
    return floor


def command_with(kind, *faults):
    """Return a floor, and a command to its table t1 with exactly these faults."""
    cards = {
        (): GOOD_CARDS,
        ("wrong_cards",): GOOD_CARDS[:4],
        ("card_already_declared",): (*GOOD_CARDS[:4], HELD_BY_BOX_2),
        ("wrong_cards", "card_already_declared"): (*GOOD_CARDS[:3], HELD_BY_BOX_2),
    }[tuple(fault for fault in faults if "card" in fault)]
    command = dealt(
        kind,
        number=99 if "wrong_round" in faults else 1,
        box=8 if "unknown_box" in faults else 5 if "no_wager" in faults else 1,
        cards=cards,
    )
    earlier = ("other content", "{}") if "command_id_reused" in faults else None
    return prepared(kind, faults), identified(command, earlier=earlier)


def test_the_errors_are_those_of_the_protocol_in_its_order():
    assert [error.value for error in CommandError][: len(ERRORS) + 1] == ["malformed", *ERRORS]


@pytest.mark.parametrize("kind", CAN_GO_WRONG)
def test_a_command_without_fault_is_carried_out(kind):
    floor, command = command_with(kind)
    assert decide(floor.jackpot, command).events


@pytest.mark.parametrize(("kind", "error"), SINGLE_ERRORS)
def test_a_command_is_refused_with_its_error_and_nothing_changes(kind, error):
    floor, command = command_with(kind, error)
    before = floor.jackpot
    assert floor.refusal(command) == error
    assert floor.jackpot == before


@pytest.mark.parametrize(("kind", "first", "second"), PAIRS_OF_ERRORS)
def test_of_two_errors_the_first_listed_is_given(kind, first, second):
    floor, command = command_with(kind, first, second)
    assert floor.refusal(command) == first


@pytest.mark.parametrize(
    "cards",
    [
        (),
        ("Ad",),
        GOOD_CARDS[:4],
        (*GOOD_CARDS, "2d"),
        ("Ad", "Ad", "9s", "7s", "2c"),
        ("Td", "10d", "9s", "7s", "2c"),
        ("Jk", "Qc", "9s", "7s", "2c"),
        ("1d", "Qc", "9s", "7s", "2c"),
        ("", "Qc", "9s", "7s", "2c"),
        ("Ad Qc", "9s", "7s", "2c", "2d"),
    ],
    ids=str,
)
def test_cards_that_are_too_few_too_many_unknown_or_doubled_are_wrong(cards):
    floor = Floor()
    floor.open()
    floor.wager(1)
    floor.close()
    assert floor.refusal(dealt("declare", cards=cards)) == "wrong_cards"


def test_a_card_is_the_same_in_every_notation():
    floor = Floor()
    floor.open()
    floor.wager(1, 2)
    floor.close()
    floor.declare(2, ("10d", "9s", "7s", "2c", "2d"))
    assert floor.refusal(dealt("declare", cards=("Td", "9c", "7c", "3c", "3d"))) == "card_already_declared"


# Rounds and phases.

PHASES = {
    "open_round": {"idle"},
    "close_wagers": {"open"},
    "fold": {"closed"},
    "unfold": {"closed"},
    "declare": {"closed"},
    "settle": {"closed"},
    "void_round": {"open"},
    "void_hand": {"open"},
    "report_malfunction": {"idle", "open", "closed", "pending"},
}
KINDS_AND_PHASES = [(kind, now) for kind in PHASES for now in Phase]


def in_phase(now):
    """Return a floor whose table t1 is at round 1 in this phase; idle: the round has ended. Box 1 has wagered."""
    floor = Floor()
    floor.open()
    floor.wager(1)
    if now is not Phase.OPEN:
        floor.close()
    if now in (Phase.IDLE, Phase.PENDING):
        floor.declare(1, STRAIGHT_FLUSHES[0] if now is Phase.PENDING else NOTHING)
        floor.settle()
    assert phase(floor) is now
    return floor


def outcome(floor, command):
    """Return "carried out", or the error."""
    try:
        decide(floor.jackpot, command)
    except Refused as refused:
        return refused.code.value
    return "carried out"


def expected_of_the_dealer(kind, now):
    if now in PHASES[kind]:
        return "carried out"
    late_void = kind.startswith("void") and now in (Phase.CLOSED, Phase.PENDING)
    return "needs_supervisor" if late_void else "wrong_phase"


@pytest.mark.parametrize(("kind", "now"), KINDS_AND_PHASES)
def test_each_command_of_the_dealer_has_its_phases(kind, now):
    assert outcome(in_phase(now), dealt(kind)) == expected_of_the_dealer(kind, now)


@pytest.mark.parametrize(("kind", "now"), KINDS_AND_PHASES)
def test_a_suspended_table_keeps_its_phase_and_refuses_only_to_open_a_round(kind, now):
    floor = in_phase(now)
    suspend(floor)
    assert phase(floor) is now
    expected = "table_suspended" if kind == "open_round" else expected_of_the_dealer(kind, now)
    assert outcome(floor, dealt(kind)) == expected


@pytest.mark.parametrize("operator", [SUPERVISOR, MANAGER], ids=lambda actor: actor.role.value)
@pytest.mark.parametrize("now", list(Phase))
def test_a_supervisor_may_void_a_round_until_it_has_ended_and_a_hand_until_the_lock(now, operator):
    floor = in_phase(now)
    round_ends = "wrong_phase" if now is Phase.IDLE else "carried out"
    hand_ends = "wrong_phase" if now in (Phase.IDLE, Phase.PENDING) else "carried out"
    assert outcome(floor, dealt("void_round", actor=operator)) == round_ends
    assert outcome(floor, dealt("void_hand", actor=operator)) == hand_ends


@pytest.mark.parametrize("now", list(Phase))
def test_only_a_pending_round_is_confirmed_or_corrected(now):
    floor = in_phase(now)
    expected = "carried out" if now is Phase.PENDING else "wrong_phase"
    assert outcome(floor, Confirm(AT, SUPERVISOR, "t1", 1)) == expected
    assert outcome(floor, Correct(AT, SUPERVISOR, "t1", 1, {1: None}, "misread")) == expected


@pytest.mark.parametrize("kind", [kind for kind in PHASES if kind not in ("open_round", "report_malfunction")])
@pytest.mark.parametrize("now", list(Phase))
@pytest.mark.parametrize("number", [-1, 0, 2, 99])
def test_any_number_but_the_last_rounds_is_the_wrong_round(number, now, kind):
    assert outcome(in_phase(now), dealt(kind, number=number)) == "wrong_round"


@pytest.mark.parametrize("ending", ["settled", "confirmed", "corrected", "voided"])
def test_a_command_for_the_last_ended_round_is_the_wrong_phase_for_every_kind_of_end(ending):
    floor = in_phase(Phase.CLOSED if ending in ("settled", "voided") else Phase.PENDING)
    match ending:
        case "settled":
            floor.settle()
        case "confirmed":
            floor.confirm()
        case "corrected":
            floor.correct({1: None})
        case "voided":
            floor.void()
    assert phase(floor) is Phase.IDLE
    for kind in ("close_wagers", "fold", "unfold", "declare", "settle", "void_round", "void_hand"):
        assert outcome(floor, dealt(kind)) == "wrong_phase"


@pytest.mark.parametrize("number", [0, 1])
def test_before_the_first_round_every_number_is_the_wrong_round(number):
    for kind in ("close_wagers", "fold", "declare", "settle", "void_round", "void_hand"):
        assert outcome(Floor(), dealt(kind, number=number)) == "wrong_round"


def test_rounds_count_per_table_and_are_never_reused():
    floor = Floor()
    assert floor.jackpot.tables["t1"].number == 0
    assert (floor.open(), floor.open("t2")) == (1, 1)
    floor.void()
    assert floor.jackpot.tables["t1"].number == 1
    assert floor.open() == 2
    assert floor.round("t2") == 1


def test_a_command_to_a_table_of_no_jackpot_is_refused():
    for kind in PHASES:
        assert outcome(Floor(), dealt(kind, table="t9")) == "unknown_table"
        assert outcome(Floor(), identified(dealt(kind, table="t9"))) == "unknown_table"


def test_payouts_stay_until_the_next_round_opens():
    floor = Floor()
    floor.play({3: FLUSH})
    assert [payout.box for payout in floor.jackpot.tables["t1"].round.payouts] == [3]
    floor.open()
    assert floor.jackpot.tables["t1"].round.payouts == ()


# Repeats of commands.


@pytest.mark.parametrize("kind", PHASES)
def test_a_repeat_of_a_carried_out_command_gets_the_same_answer_and_acts_once(kind):
    floor, command = command_with(kind)
    answer = floor.execute(command)
    after = floor.jackpot
    assert decide(floor.jackpot, command) == ((), answer)
    assert floor.execute(command) == answer
    assert floor.jackpot == after


@pytest.mark.parametrize("kind", PHASES)
def test_the_answer_of_a_past_round_comes_from_the_store(kind):
    floor, command = command_with(kind)
    answer = floor.execute(command)
    marked = floor.events[-1].data["command"]
    assert (marked["id"], marked["digest"]) == ("c-1", "content")
    later = in_phase(Phase.IDLE)
    later.open()
    command = command._replace(earlier=(marked["digest"], json.dumps(marked["answer"])))
    assert decide(later.jackpot, command) == ((), answer)
    assert later.refusal(command._replace(digest="other content")) == "command_id_reused"


@pytest.mark.parametrize("kind", PHASES)
def test_a_carried_out_id_with_other_content_is_reused(kind):
    floor, command = command_with(kind)
    floor.execute(command)
    assert floor.refusal(command._replace(digest="other content")) == "command_id_reused"


def test_an_id_is_remembered_from_the_opening_of_its_round_to_the_next_opening():
    floor = Floor()
    ids = {}
    for kind in ("open_round", "close_wagers", "settle"):
        ids[kind] = identified(dealt(kind), command_id=f"c-{kind}")
        floor.execute(ids[kind])
    for command in ids.values():
        assert decide(floor.jackpot, command).events == ()


def test_the_table_itself_remembers_no_more_than_a_rounds_ids():
    floor = Floor()
    for number in range(1, 4):
        for kind in ("open_round", "close_wagers", "settle"):
            floor.execute(identified(dealt(kind, number=number), command_id=f"c-{number}-{kind}"))
    floor.execute(identified(dealt("open_round"), command_id="c-last"))
    assert list(floor.jackpot.tables["t1"].commands) == ["c-last"]


def test_a_refused_command_is_decided_anew():
    floor = Floor()
    command = identified(dealt("close_wagers"))
    assert floor.refusal(command) == "wrong_round"
    floor.open()
    assert floor.execute(command) == {"lit": [], "unconfirmed": []}


def test_a_command_id_is_unique_per_table():
    floor = Floor()
    assert floor.execute(identified(dealt("open_round", table="t1"))) == {"round": 1}
    assert floor.execute(identified(dealt("open_round", table="t2"), digest="other content")) == {"round": 1}
    assert phase(floor, "t2") is Phase.OPEN


def test_a_repeated_settlement_answers_the_same_payouts():
    floor = Floor()
    floor.open()
    floor.wager(7, 1)
    floor.close()
    floor.declare(7, STRAIGHT_FLUSHES[0])
    floor.declare(1, FLUSH)
    command = identified(dealt("settle"))
    first = floor.execute(command)
    floor.confirm()
    assert floor.execute(command) == first
    assert json.loads(json.dumps(first)) == first


# The answers.


def test_open_round_answers_the_round():
    floor = Floor()
    assert floor.execute(dealt("open_round")) == {"round": 1}


def test_close_answers_the_lit_boxes_and_those_whose_pad_reports_a_dark_lamp():
    floor = Floor()
    floor.open()
    floor.wager(5, 1, 3)
    floor.void_hand(3)
    answer = floor.execute(CloseWagers(AT, DEALER, "t1", 1, dark=(7, 5, 3, 1)))
    assert answer == {"lit": [1, 5], "unconfirmed": [1, 5]}


def test_close_names_no_unconfirmed_box_without_a_standing_wager():
    floor = Floor()
    floor.open()
    floor.wager(2)
    assert floor.execute(CloseWagers(AT, DEALER, "t1", 1, dark=(4,))) == {"lit": [2], "unconfirmed": []}


def test_a_fold_drops_the_declaration_and_unfold_does_not_bring_it_back():
    floor = Floor()
    floor.open()
    floor.wager(3)
    floor.close()
    floor.declare(3, FLUSH)
    assert floor.fold(3) == {}
    assert floor.jackpot.tables["t1"].round.declared == {}
    assert floor.refusal(dealt("declare", box=3)) == "folded"
    assert floor.execute(dealt("unfold", box=3)) == {}
    assert floor.jackpot.tables["t1"].round.declared == {}
    assert floor.settle() == []


def test_a_box_may_be_declared_again_once_its_fold_is_taken_back():
    floor = Floor()
    floor.open()
    floor.wager(3)
    floor.close()
    floor.fold(3)
    floor.execute(dealt("unfold", box=3))
    assert floor.declare(3, FLUSH)["amount_cents"] == 10_000


def test_a_folded_box_frees_its_cards_for_another_box():
    floor = Floor()
    floor.open()
    floor.wager(3, 4)
    floor.close()
    floor.declare(3, FLUSH)
    assert floor.refusal(dealt("declare", box=4, cards=FLUSH)) == "card_already_declared"
    floor.fold(3)
    assert floor.declare(4, FLUSH)["qualifies"] is True


def test_a_declaration_replaces_the_boxs_earlier_one_and_may_use_the_same_cards():
    floor = Floor()
    floor.open()
    floor.wager(3)
    floor.close()
    floor.declare(3, ROYALS[0])
    floor.declare(3, ROYALS[0])
    assert floor.declare(3, ("As", "Ks", "Qs", "Js", "9s"))["hand"] == "flush"
    assert [payout["amount_cents"] for payout in floor.settle()] == [10_000]


@pytest.mark.parametrize(
    ("cards", "answer"),
    [
        (ROYALS[0], ("royal_flush", True, 5_000_070)),
        (STRAIGHT_FLUSHES[0], ("straight_flush", True, 500_007)),
        (("5h", "4h", "3h", "2h", "Ah"), ("straight_flush", True, 500_007)),
        (FOUR_OF_A_KIND, ("four_of_a_kind", True, 50_000)),
        (FULL_HOUSE, ("full_house", True, 15_000)),
        (FLUSH, ("flush", True, 10_000)),
        (STRAIGHT, ("straight", False, 0)),
        (("Qs", "Qh", "Qd", "8c", "5d"), ("three_of_a_kind", False, 0)),
        (("Ac", "Ad", "8c", "8d", "2c"), ("two_pairs", False, 0)),
        (("Ts", "Th", "Kd", "6c", "2d"), ("one_pair", False, 0)),
        (NOTHING, ("five_odd_cards", False, 0)),
    ],
    ids=lambda value: value[0],
)
def test_declare_answers_the_hand_its_qualification_and_its_present_prize(cards, answer):
    floor = Floor()
    floor.open()
    floor.wager(1)
    floor.close()
    assert tuple(floor.declare(1, cards).values()) == answer
    assert list(floor.declare(1, cards)) == ["hand", "qualifies", "amount_cents"]


def test_declare_answers_the_prize_of_a_hand_alone_though_another_box_has_the_same():
    floor = Floor()
    floor.open()
    floor.wager(1, 2)
    floor.close()
    assert floor.declare(1, ROYALS[0])["amount_cents"] == 5_000_140
    assert floor.declare(2, ROYALS[1])["amount_cents"] == 5_000_140


def test_declare_answers_the_minimum_if_the_pool_gives_less():
    floor = Floor(jackpot=0, reserve=0)
    floor.open()
    floor.wager(1)
    floor.close()
    assert floor.declare(1, ROYALS[0])["amount_cents"] == 1_000_000
    assert floor.declare(1, STRAIGHT_FLUSHES[0])["amount_cents"] == 100_000


def test_settle_answers_box_hand_amount_status_and_clause_in_payout_order():
    """11.2: from the highest box down; 11.4: royals directly after the last straight flush."""
    floor = Floor(jackpot=4_876_543 - 350)
    payouts = floor.play(
        {7: ROYALS[0], 6: STRAIGHT_FLUSHES[1], 5: FLUSH, 4: STRAIGHT_FLUSHES[2], 1: ROYALS[3]},
    )
    r = "NI2016-268 r "
    assert [tuple(payout.values()) for payout in payouts] == [
        (6, "straight_flush", 463_271, "pending", f"{r}11.3(b)"),
        (5, "flush", 10_000, "paid", f"{r}11.1(e)"),
        (4, "straight_flush", 463_271, "pending", f"{r}11.3(b)"),
        (7, "royal_flush", 1_975_000, "pending", f"{r}11.3(a)"),
        (1, "royal_flush", 1_975_000, "pending", f"{r}11.3(a)"),
    ]
    assert list(payouts[0]) == ["box", "hand", "amount_cents", "status", "clause"]


def test_settle_cites_the_clause_of_each_single_prize():
    floor = Floor()
    four, house, flush = (
        ("4s", "4h", "4d", "4c", "2d"),
        ("3s", "3h", "3d", "2c", "2s"),
        ("Kc", "Jc", "9c", "7c", "5c"),
    )
    payouts = floor.play({7: ROYALS[0], 6: STRAIGHT_FLUSHES[1], 5: four, 4: house, 3: flush})
    assert {payout["hand"]: payout["clause"].rsplit(" ", 1)[1] for payout in payouts} == {
        "straight_flush": "11.1(b)",
        "royal_flush": "11.1(a)",
        "four_of_a_kind": "11.1(c)",
        "full_house": "11.1(d)",
        "flush": "11.1(e)",
    }


def test_settle_answers_no_payouts_without_a_winner_and_the_round_ends():
    floor = Floor()
    assert floor.play({3: NOTHING}) == []
    assert phase(floor) is Phase.IDLE


@pytest.mark.parametrize("confirm", [(), ("flush",), ("royal_flush", "straight_flush", "flush")])
def test_a_prize_is_pending_if_the_approved_configuration_lists_its_hand_and_paid_if_not(confirm):
    floor = Floor(confirm=confirm)
    payouts = floor.play({7: STRAIGHT_FLUSHES[0], 1: FLUSH})
    assert {p["hand"]: p["status"] for p in payouts} == {
        hand: "pending" if hand in confirm else "paid" for hand in ("straight_flush", "flush")
    }
    assert phase(floor) is (Phase.PENDING if confirm else Phase.IDLE)


def test_voids_answer_the_returned_cents():
    floor = Floor()
    floor.open()
    floor.wager(1, 2, 3)
    assert floor.execute(dealt("void_hand", box=2)) == {"returned_cents": 100}
    assert floor.execute(dealt("void_round")) == {"returned_cents": 200}


def test_a_void_of_a_round_without_wagers_returns_nothing():
    floor = Floor()
    floor.open()
    assert floor.execute(dealt("void_round")) == {"returned_cents": 0}


def test_a_voided_box_has_no_wager():
    floor = Floor()
    floor.open()
    floor.wager(1)
    floor.close()
    floor.declare(1, FLUSH)
    floor.void_hand(1)
    for kind in ("fold", "unfold", "declare"):
        assert floor.refusal(dealt(kind)) == "no_wager"
    assert floor.refusal(dealt("void_hand", actor=SUPERVISOR)) == "no_wager"
    assert floor.settle() == []


# Suspension and tournament.


@pytest.mark.parametrize("cause", ["dealer_report", "pad_offline", "display", "store"])
def test_a_suspended_tables_round_is_closed_declared_settled_and_confirmed(cause):
    floor = Floor()
    floor.open()
    floor.wager(7)
    suspend(floor, cause=cause)
    assert floor.jackpot.tables["t1"].suspended == cause
    floor.close()
    floor.declare(7, STRAIGHT_FLUSHES[0])
    assert [payout["amount_cents"] for payout in floor.settle()] == [500_007]
    floor.confirm()
    assert phase(floor) is Phase.IDLE
    assert floor.jackpot.tables["t1"].suspended == cause
    assert floor.refusal(dealt("open_round")) == "table_suspended"


def test_a_malfunction_is_answered_and_recorded_with_equipment_and_note():
    floor = Floor()
    assert floor.execute(dealt("report_malfunction")) == {}
    event = floor.events[-1]
    assert event.type is EventType.TABLE_SUSPENDED
    assert {key: event.data[key] for key in ("cause", "equipment", "note")} == {
        "cause": "dealer_report",
        "equipment": "pad 3",
        "note": "dark",
    }


def test_a_second_malfunction_leaves_the_table_suspended_for_the_first_cause():
    floor = Floor()
    suspend(floor, cause="pad_offline")
    suspend(floor, cause="display")
    assert floor.jackpot.tables["t1"].suspended == "pad_offline"


def test_other_tables_play_on_beside_a_suspended_one():
    floor = Floor()
    suspend(floor)
    assert floor.play({3: FLUSH}, table="t2")[0]["amount_cents"] == 10_000


def test_a_suspended_table_that_is_resumed_takes_wagers_again():
    floor = Floor()
    floor.open()
    suspend(floor)
    assert floor.refusal(floor.wagered(1)) == "table_suspended"
    assert floor.execute(ResumeTable(AT, SUPERVISOR, "t1", "pad changed")) == {}
    assert floor.jackpot.tables["t1"].suspended is None
    floor.wager(1)


def test_a_table_that_is_not_suspended_cannot_be_resumed():
    assert Floor().refusal(ResumeTable(AT, SUPERVISOR, "t1")) == "wrong_phase"


@pytest.mark.parametrize(("tournament", "restricted"), [(True, False), (False, True), (False, False)])
def test_a_tournament_table_takes_wagers_unless_its_conditions_restrict_them(tournament, restricted):
    floor = Floor()
    floor.execute(SetMode(AT, MANAGER, "t1", tournament, restricted))
    floor.open()
    floor.wager(1)
    assert floor.pools == (5_000_070, 2_000_030)


def test_a_restriction_holds_for_new_wagers_and_the_round_is_played_to_its_end():
    floor = Floor()
    floor.open()
    floor.wager(1)
    floor.execute(SetMode(AT, OTHER_MANAGER, "t1", True, True))
    assert floor.refusal(floor.wagered(2)) == "tournament"
    floor.close()
    floor.declare(1, FLUSH)
    assert floor.settle()[0]["amount_cents"] == 10_000
    assert floor.execute(dealt("open_round")) == {"round": 2}
    assert floor.refusal(floor.wagered(2)) == "tournament"


def test_a_malfunction_detected_by_the_controller_suspends_like_one_reported_by_the_dealer():
    floor = Floor()
    floor.open()
    floor.execute(ReportMalfunction(AT, CONTROLLER, "t1", "pad 3", "silent", "pad_offline"))
    assert floor.refusal(floor.wagered(1)) == "table_suspended"
