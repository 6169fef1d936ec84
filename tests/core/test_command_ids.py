"""Commands of a jackpot with ids act once; a repeat gets the same answer."""

import json

import pytest

from jackpot.core.commands import (
    Approve,
    Identified,
    LinkTable,
    ProposeAdjustment,
    ProposeConfig,
    UnlinkTable,
)
from jackpot.core.decide import decide
from jackpot.core.ledger import Account
from jackpot.core.results import Refused
from tests.support.core_floor import AT, MANAGER, OTHER_MANAGER, Floor, config


def jackpot_wide(floor):
    floor.open("t2")
    floor.void("t2")
    proposed = floor.propose(wager_cents=300)
    return [
        ProposeConfig(AT, MANAGER, config(wager_cents=200), "season"),
        ProposeAdjustment(AT, MANAGER, Account.RESERVE, Account.JACKPOT, 5, "count", "t2", 1),
        Approve(AT, OTHER_MANAGER, proposed),
        LinkTable(AT, MANAGER, "t9", 5),
        UnlinkTable(AT, MANAGER, "t2", "moved"),
    ]


@pytest.mark.parametrize("number", range(5))
def test_a_jackpots_command_carries_its_id_and_its_answer_in_its_first_event(number):
    floor = Floor()
    command = jackpot_wide(floor)[number]
    events, answer = decide(floor.jackpot, Identified("k1", "digest", command))
    recorded = events[0].data["command"]
    assert recorded == {"id": "k1", "digest": "digest", "answer": dict(answer), "scope": "jackpot"}
    floor.execute(Identified("k1", "digest", command))
    assert all("k1" not in table.commands for table in floor.jackpot.tables.values())


@pytest.mark.parametrize("number", range(5))
def test_a_jackpots_command_that_the_store_knows_gets_its_answer_again_and_acts_once(number):
    floor = Floor()
    command = jackpot_wide(floor)[number]
    before = json.dumps({"as": "before"})
    assert decide(floor.jackpot, Identified("k1", "digest", command, ("digest", before))) == ((), {"as": "before"})
    with pytest.raises(Refused) as refused:
        decide(floor.jackpot, Identified("k1", "digest", command, ("other", before)))
    assert refused.value.code == "command_id_reused"


def test_a_refused_jackpots_command_leaves_its_id_free():
    floor = Floor()
    number = floor.propose(wager_cents=200)
    assert floor.refusal(Identified("k1", "d", Approve(AT, MANAGER, number))) == "same_person"
    assert floor.execute(Identified("k1", "d", Approve(AT, OTHER_MANAGER, number))) == {"version": 2}
