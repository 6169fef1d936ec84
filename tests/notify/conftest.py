"""What the tests of notices share."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))
from receiver import receiving


@pytest.fixture
def receiver():
    with receiving() as made:
        yield made
