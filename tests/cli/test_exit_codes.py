"""Expected errors have a sentence and an exit code; all others are faults of the program."""

import pytest

from hardware_sim.floor import FloorError
from hardware_sim.reconciliation import BooksError
from jackpot.cli.exit_codes import sentence_of
from jackpot.wire.embedded_broker import BrokerError


@pytest.mark.parametrize("kind", [FloorError, BooksError, BrokerError])
def test_expected_errors_of_the_demonstration_are_one_sentence(kind):
    assert sentence_of(kind("the broker cannot be reached")) == ("the broker cannot be reached", 1)


def test_a_fault_of_the_program_has_no_sentence():
    assert sentence_of(KeyError("seq")) is None
