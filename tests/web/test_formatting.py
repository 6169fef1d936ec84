"""Words for people: several hands in one heading, refusals as sentences."""

import pytest

from jackpot.web.formatting import as_sentence, hand_names


@pytest.mark.parametrize(
    ("hands", "told"),
    [
        (["flush"], "Flush"),
        (["flush", "flush"], "Flush"),
        (["straight_flush", "royal_flush"], "Straight flush and royal flush"),
        (["flush", "full_house", "flush", "royal_flush"], "Flush, full house and royal flush"),
    ],
)
def test_hands_are_named_in_the_order_they_are_paid_each_kind_once(hands, told):
    assert hand_names(hands) == told


def test_a_refusal_is_a_sentence_and_nothing_else_in_it_changes():
    assert as_sentence("write 2026-11-15T09:30:00Z") == "Write 2026-11-15T09:30:00Z."
    assert as_sentence("Try again!") == "Try again!"
