"""Formatting for pages: several hands in one heading, messages as sentences."""

import pytest

from jackpot.web.formatting import as_sentence, hand_names


@pytest.mark.parametrize(
    ("hands", "expected"),
    [
        (["flush"], "Flush"),
        (["flush", "flush"], "Flush"),
        (["straight_flush", "royal_flush"], "Straight flush and royal flush"),
        (["flush", "full_house", "flush", "royal_flush"], "Flush, full house and royal flush"),
    ],
)
def test_hands_are_named_once_each_in_the_order_they_are_paid(hands, expected):
    assert hand_names(hands) == expected


def test_a_message_becomes_a_sentence_and_is_otherwise_unchanged():
    assert as_sentence("write 2026-11-15T09:30:00Z") == "Write 2026-11-15T09:30:00Z."
    assert as_sentence("Try again!") == "Try again!"
