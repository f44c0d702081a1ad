"""Every event of a journal belongs to a policy, and no two policies have one name."""

from __future__ import annotations

import hashlib

from robocontrast_ros.analysis.data.serving_policies import serving_policies
from robocontrast_ros.runs.events import Paused, PolicyLoaded, Resumed, SessionStarted

START = SessionStarted("s", 1, {}, {"session": {"policy": "/there/oracle.yaml"}}, "", "m", 1.0, 0.0)
TRIAL = Paused(0.0)
RESUMED = Resumed(True, 0.0)


def loaded(name, file, text="a: 1"):
    return PolicyLoaded(name, file, text, hashlib.sha256(text.encode()).hexdigest(), 0.1, None, 0.0)


def names(*events):
    return [name for event, name in zip(events, serving_policies(events), strict=True) if isinstance(event, Paused)]


def test_a_journal_that_names_no_policy_loaded_has_the_one_of_its_parameters():
    assert names(START, TRIAL) == ["oracle"]
    assert serving_policies(()) == ()


def test_each_event_has_the_policy_loaded_last():
    assert names(START, loaded("a", "/a"), TRIAL, loaded("b", "/b"), TRIAL, loaded("a", "/a"), TRIAL) == [
        "a",
        "b",
        "a",
    ]


def test_policies_of_one_name_are_told_apart():
    first, second = loaded("film", "/one/film_1.yaml"), loaded("film", "/one/film_2.yaml")
    assert names(START, first, TRIAL, second, TRIAL) == ["film (film_1)", "film (film_2)"]
    elsewhere = loaded("film", "/data/me/two/film_1.yaml")
    assert names(START, first, TRIAL, elsewhere, TRIAL) == ["film (one/film_1)", "film (two/film_1)"], "no home is told"
    edited = loaded("film", "/one/film_1.yaml", "a: 2")
    assert names(START, first, TRIAL, edited, TRIAL, elsewhere, TRIAL) == [
        f"film (one/film_1 {first.digest[:8]})",
        f"film (one/film_1 {edited.digest[:8]})",
        "film (two/film_1)",
    ]


def test_a_policy_that_is_loaded_again_elsewhere_when_the_session_goes_on_is_the_same():
    before, after = loaded("film", "/old/film.yaml"), loaded("film", "/new/film.yaml")
    assert names(START, before, TRIAL, RESUMED, after, TRIAL) == ["film", "film"]
    assert len(set(names(START, before, TRIAL, after, TRIAL))) == 2, "without a new process it is a swap"
