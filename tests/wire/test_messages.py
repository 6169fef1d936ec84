"""Messages that cannot be decoded are refused with a sentence, and with the sender's id where it can be read."""

import pytest

from jackpot.wire.messages import Malformed, read_command, read_wager

DECLARE = b'"command_id":"c1","type":"declare","round":1,"box":3'


@pytest.mark.parametrize(
    ("payload", "problem", "command_id"),
    [
        (b"{", "this is not JSON: EOF while parsing an object at line 1 column 1", None),
        (b'{"command_id":"c1"}', "type is missing: a command says what it is", "c1"),
        (b'{"command_id":"c1","type":"resume"}', "type: there is no such command", "c1"),
        (b'{"command_id":"c1","type":"settle"}', "round is missing", "c1"),
        (b"{%b}" % DECLARE, "cards is missing", "c1"),
        (b'{%b,"cards":[1]}' % DECLARE, "cards.0: Input should be a valid string", "c1"),
        (b'{"type":"settle","round":1}', "command_id is missing", None),
        (b'{%b,"x":"%b"}' % (DECLARE, b"y" * 4_096), "the payload has 4157 bytes, more than 4096", "c1"),
        (b'{%b,"x":"%b"}' % (DECLARE, b"y" * 65_536), "the payload has 65597 bytes, more than 4096", None),
    ],
)
def test_a_command_that_cannot_be_decoded_is_refused_with_a_sentence(payload, problem, command_id):
    with pytest.raises(Malformed) as refused:
        read_command(payload)
    assert (refused.value.problem, refused.value.device_id) == (problem, command_id)


def test_a_wager_without_its_ante_is_refused_with_its_id():
    with pytest.raises(Malformed) as refused:
        read_wager(b'{"wager_id":"w1","round":1,"amount_cents":200}')
    assert (refused.value.problem, refused.value.device_id) == ("ante is missing", "w1")
