"""The error for a user's mistake."""

from __future__ import annotations

import pickle

from robocontrast_ros.configuration import ConfigurationError


def test_it_says_the_same_in_another_process():
    error = ConfigurationError("robot.yaml", "name", 3, "a name", "Write one.")
    there = pickle.loads(pickle.dumps(error))
    assert str(there) == str(error) == "robot.yaml: `name`: got 3, expected a name. Write one."
    assert (there.source, there.key, there.got, there.expected, there.cure) == (
        "robot.yaml",
        "name",
        3,
        "a name",
        "Write one.",
    )
