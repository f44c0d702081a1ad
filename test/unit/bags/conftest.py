"""Messages to put into bags."""

import pytest
from trial_bags import Messages


@pytest.fixture(scope="session")
def messages() -> Messages:
    return Messages()
