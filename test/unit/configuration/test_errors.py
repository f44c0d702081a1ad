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


def test_it_shows_the_beginning_of_a_large_value_and_stays_short():
    nested = ["x" * 1000] * 1000
    for _ in range(60):
        nested = [nested] * 9
    for value in (nested, "y" * 10**6, {"a": nested}, dict.fromkeys(range(100), nested)):
        error = ConfigurationError("file", "z" * 10**6, value, "e" * 10**6, "c" * 10**6)
        assert len(str(error)) < 5000
        assert error.got is value
    unknown = ConfigurationError.unknown("file", "robot", "fran" * 10**6, ["franka"], "robot")
    assert len(str(unknown)) < 400
    assert "got {'a': [2], 'b': 1}," in str(ConfigurationError("file", "key", {"a": [2], "b": 1}, "it"))
