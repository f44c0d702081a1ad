"""What is read of a session's parameters after it."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, asdict, replace

import pytest

from robocontrast_ros.configuration import ConfigurationError, dump_record, parse_record
from robocontrast_ros.runs.events import SessionStarted, from_line, to_line
from robocontrast_ros.runs.recorded_session import RecordedSession
from robocontrast_ros.sessions.schema import (
    BlindParameters,
    SessionParameters,
    SetupParameters,
    StrategyParameters,
    TestSetParameters,
    WorldParameters,
)
from robocontrast_ros.strategies.effort import HandlingTimes, Tolerance, Tolerances

LEAST = SessionParameters(
    name="least",
    seed=7,
    task="tabletop",
    robot="franka_hand",
    policy="oracle",
    strategy=StrategyParameters(name="standard"),
    test_set=TestSetParameters(size=2),
)
OF_LEAST = RecordedSession(seed=7, task="tabletop", robot="franka_hand", policy="oracle", strategy="standard")


def recorded(parameters) -> RecordedSession:
    """Return what is read of parameters after they were written to a journal."""
    started = SessionStarted("mine", 1, {}, parameters, "", "m", 1.0, 0.0)
    return from_line(to_line(started)).recorded


def test_a_key_of_the_session_s_file_is_read_by_its_name_there():
    asked = replace(
        LEAST,
        strategy=StrategyParameters(name="adaptive", perturbations=("LB1", {"name": "S", "distance": 0.1})),
        test_set=TestSetParameters(size=2, families=("put", "push")),
        world=WorldParameters(judge="outside"),
        scores=("clutter",),
        repeats=3,
        stop_on_success=False,
        compare_within=2.5,
        handling_times=HandlingTimes(taking=9.0),
        setup=SetupParameters(position_tolerance=0.01, orientation_tolerance=0.2),
    )
    found = recorded({"session": dump_record(asked)})
    assert found == replace(
        OF_LEAST,
        strategy="adaptive",
        perturbations=("LB1", {"name": "S", "distance": 0.1}),
        families=("put", "push"),
        judge="outside",
        scores=("clutter",),
        repeats=3,
        stop_on_success=False,
        compare_within=2.5,
        handling_times=HandlingTimes(taking=9.0),
        position_tolerance=0.01,
        orientation_tolerance=0.2,
    )
    assert found.tolerance == Tolerance(0.01, 0.2)
    blind = replace(LEAST, policy="", blind=BlindParameters(policies=("oracle", "random")))
    assert recorded({"session": dump_record(blind)}) == replace(
        OF_LEAST, policy="", blind_policies=("oracle", "random")
    )


def test_the_files_beside_it_are_read_as_they_were():
    task = {"task": "mine", "name": "pushing", "step_limit": 50, "store": [0.4, 0.75, 0.0], "own": {"key": 1}}
    policy, test_set = [{"policy": "oracle"}, {"policy": "random"}], {"instances": []}
    person = Tolerances(Tolerance(0.01, 0.15), {"banana": Tolerance(0.05, 0.15)}, frozenset({"oak_table"}))
    written = {"usual": asdict(person.usual), "own": {"banana": asdict(person.own["banana"])}, "fixed": ["oak_table"]}
    files = {"robot": {"name": "arm"}, "task": task, "policy": policy, "test_set": test_set}
    found = recorded(files | {"set_up_tolerances": written})
    assert found == RecordedSession(
        task_name="pushing",
        step_limit=50,
        store=(0.4, 0.75, 0.0),
        task_parameters=task,
        policy_parameters=policy,
        test_set_parameters=test_set,
        set_up_tolerances=person,
    )
    assert found.tolerance == person


@pytest.mark.parametrize("parameters", [{}, {"session": {}}, {"session": {"blind": None, "world": None}, "task": None}])
def test_a_journal_without_a_key_has_the_default_of_the_session_s_file(parameters):
    assert recorded(parameters) == RecordedSession()
    assert recorded({"session": dump_record(LEAST)}) == OF_LEAST


def test_older_names_are_read_and_keys_of_other_versions_are_none_of_ours():
    found = recorded({"session": {"mover": {"taking": 9.0}, "gone_since": 1}, "of_later": {"seed": 3}})
    assert found == RecordedSession(handling_times=HandlingTimes(taking=9.0))


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        (
            {"session": {"repeats": "many"}},
            "session 'mine': `session.repeats`: got 'many', expected a whole",
        ),
        ({"session": {"policy": ["oracle"]}}, r"`session.policy`: got \['oracle'\], expected text"),
        ({"session": {"handling_times": {"taking": -1.0}}}, "`session.handling_times.taking`: got -1.0"),
        ({"task": {"store": [0.4, 0.75]}}, "`task.store"),
    ],
)
def test_a_value_of_another_type_is_one_line_with_its_key(parameters, words):
    with pytest.raises(ConfigurationError, match=words) as refused:
        recorded(parameters)
    assert "\n" not in str(refused.value)


def test_what_is_misspelled_is_an_error_and_nothing_can_be_changed():
    with pytest.raises(AttributeError):
        _ = OF_LEAST.polcy
    with pytest.raises(FrozenInstanceError):
        OF_LEAST.policy = "random"
    assert parse_record(RecordedSession, {"session": dump_record(LEAST)}, "here") == OF_LEAST
