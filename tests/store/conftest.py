"""What the tests of the store share."""

import postgres
import pytest


@pytest.fixture(scope="session")
def postgres_url():
    """The address of a real PostgreSQL server, started once for all tests."""
    with postgres.server() as url:
        yield url
