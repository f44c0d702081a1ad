"""Messages to put into bags."""

import pytest
from trial_bags import Messages, known_messages


@pytest.fixture(scope="session")
def messages() -> Messages:
    return known_messages()
