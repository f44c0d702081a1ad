"""ROS domains for tests, which run beside other tests and beside the user's own nodes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from robocontrast_ros.graph.ros_domain import Domain


@contextmanager
def own_domain() -> Iterator[int]:
    """Hold a ROS domain that nothing else uses; all that is started meanwhile takes it from the environment."""
    with pytest.MonkeyPatch.context() as environment:
        environment.delenv("ROS_DOMAIN_ID", raising=False)
        # In a namespace of its own, so that a session under test may have the domain without one.
        held = Domain("held_by_tests")
        environment.setenv("ROS_DOMAIN_ID", str(held.number))
        environment.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
        yield held.number
        held.close()
