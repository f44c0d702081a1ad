"""What holds for every test over a ROS graph."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from domains import own_domain


@pytest.fixture(scope="module", autouse=True)
def domain() -> Iterator[int]:
    """Keep the graphs of a module's tests in a ROS domain of their own."""
    with own_domain() as number:
        yield number
