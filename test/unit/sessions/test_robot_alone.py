"""Between the skills of a chain the robot alone is reset: the scene stays, and nothing may be held."""

from __future__ import annotations

import yaml

from robocontrast_ros.configuration import read_yaml, resolve_uri
from robocontrast_ros.domain import Fault, Outcome, Start
from robocontrast_ros.runs.events import SessionFinished, SessionInterrupted, SetUp, TrialFinished, TrialVoid
from robocontrast_ros.runs.journal import read_journal
from robocontrast_ros.sessions.fast_mode import open_bench
from robocontrast_ros.sessions.loop import run_session
from robocontrast_ros.sessions.overrides import Overrides
from robocontrast_ros.sessions.resolving import resolve

TASK = "package://robocontrast_ros/config/tasks/kitchen.yaml"


def events_of(folder, family, **settings):
    """Return how a session of one chain ended, and its events."""
    chain = {"test_set.families": [family], "cameras": [], "strategy.name": "chained:Twice"}
    session = resolve("kitchen_demo", Overrides(size=1, settings=chain | settings))
    bench = open_bench(session)
    end = run_session(session.evaluation(), bench, folder / "journal.jsonl")
    bench.close()
    return end, read_journal(folder / "journal.jsonl").events


def test_a_drawer_stays_open_while_the_robot_alone_goes_back_to_its_start_and_is_closed_by_the_next_skill(tmp_path):
    end, events = events_of(tmp_path, "open")
    assert isinstance(end, SessionFinished)
    opened, closed = (event for event in events if isinstance(event, TrialFinished))
    assert [trial.result.outcome for trial in (opened, closed)] == [Outcome.SUCCESS] * 2
    assert closed.trial.start is Start.ROBOT_ALONE and closed.cost == 0.0
    left = opened.result.final_scene
    (set_up,) = (e for e in events if isinstance(e, SetUp) and e.trial.index == closed.trial.index)
    assert set_up.moves == ()
    assert {o.name: o.pose.distance_to(left[o.name].pose) < 1e-3 for o in set_up.after} == dict.fromkeys(
        left.names, True
    )
    (part,) = (value for role, value in opened.trial.instance.instruction.arguments if role == "target")
    first, last = (event.result.final_scene[part].pose for event in (opened, closed))
    assert first.distance_to(last) > 0.1


def test_a_thing_that_the_robot_holds_does_not_stay_and_no_next_skill_begins(tmp_path):
    # At its step limit the oracle has the bowl in its hand, above the table.
    short = tmp_path / "short.yaml"
    short.write_text(yaml.safe_dump({**read_yaml(resolve_uri(TASK)), "step_limit": 35}))
    end, events = events_of(tmp_path, "put_in", task=str(short), void_retries=1)
    assert isinstance(end, SessionInterrupted)
    (event,) = (e for e in events if isinstance(e, TrialFinished))
    held = event.trial.instance.instruction.get("target")
    assert event.result.final_scene[held].pose.position[2] > 0.05
    voids = [event for event in events if isinstance(event, TrialVoid)]
    assert len(voids) == 2 and {void.fault for void in voids} == {Fault.SETUP_FAILED}
    assert f"'{held}' did not stay" in voids[0].detail and "was it held?" in end.detail
