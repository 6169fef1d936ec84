"""What the tests of notices share."""

import sys
from pathlib import Path

import pytest

sys.path += [str(Path(__file__).parent), str(Path(__file__).parent.parent / "system")]
from receiver import receiving


@pytest.fixture
def receiver():
    with receiving() as made:
        yield made
