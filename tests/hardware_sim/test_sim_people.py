"""The same seed gives the same people, as it gives the same cards and faults."""

import asyncio
import json

from hardware_sim import Floor, Habits, Shoe
from hardware_sim.player import People
from tests.support.scripted_controller import controller

DIVERSE = Habits(misplace=0.1, fold=0.5, void_hand=0.1, void_round=0.1)
DEALS, BOXES = range(1, 60), range(1, 8)


def decisions(seed, table="t1"):
    """All that the people of a table decide in many rounds."""
    shoe = Shoe(seed=0)
    people = People(seed, table, DIVERSE, shoe)
    hands = {deal: shoe.deal("t1", deal, 7).boxes for deal in DEALS}
    return (
        [people.choice(deal, box) for deal in DEALS for box in BOXES],
        [people.folds(deal, box, hands[deal][box]) for deal in DEALS for box in BOXES],
        [people.voids_hand(deal, box) for deal in DEALS for box in BOXES],
        [people.voids_round(deal) for deal in DEALS],
    )


def test_the_same_seed_gives_the_same_people_and_another_seed_or_table_others():
    first, again, other, elsewhere = decisions(1), decisions(1), decisions(2), decisions(1, "t2")
    assert first == again
    for kind in range(len(first)):
        assert first[kind] != other[kind]
        assert first[kind] != elsewhere[kind]


async def acts(broker, site, seed):
    """What the people of a floor put down and what its dealer declared or folded, as the controller heard it."""
    async with controller(broker, site, ["t1"]) as scripted:
        async with Floor(["t1"], site=site, broker=broker, speed=20, seed=seed, habits=Habits(misplace=0.1)) as floor:
            await floor.play(rounds=2)
            await floor.stop()
        heard = [(topic.removeprefix(scripted.root), json.loads(payload)) for topic, payload in scripted.heard]
    wagers = {(topic, said["round"], said["amount_cents"], said["ante"]) for topic, said in heard if "ante" in said}
    shown = {
        (said["type"], said["round"], said["box"], tuple(said.get("cards", ()))) for _, said in heard if "box" in said
    }
    return wagers, shown


def test_a_floor_of_the_same_seed_is_played_the_same_again(broker):
    async def whole():
        first, again, other = await asyncio.gather(
            acts(broker, "seed-1", 1), acts(broker, "seed-1-again", 1), acts(broker, "seed-2", 2)
        )
        assert first == again
        assert first[0] != other[0]
        assert first[1] != other[1]

    asyncio.run(whole())
