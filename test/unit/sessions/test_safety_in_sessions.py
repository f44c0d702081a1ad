"""Sessions without ROS in which the safety filter intervenes: what is recorded, counted, scored again and reported."""

from __future__ import annotations

from pathlib import Path

import polars
import pytest
import yaml
from here import command_here, session_here
from session_runs import Workplace, finished

from robocontrast_ros.bags.reader import read_bag
from robocontrast_ros.configuration import read_yaml, resolve_uri
from robocontrast_ros.domain import Fault, Outcome

STEPS = 30


def robot(folder: Path, safety: dict, of: str = "franka") -> str:
    """Write the file of a robot with other limits; return its path."""
    path = folder / f"careful_{of}.yaml"
    path.write_text(yaml.safe_dump({"extends": of, "safety": safety}))
    return str(path)


def run_of(session):
    """Run a session without ROS; return its run folder and its trials."""
    run = session_here(session)
    return run, finished(run)


def interventions(run, event):
    """Return those of a trial's bag."""
    found = read_bag(run / event.recording.bag, lambda name, type_name: name.endswith("/safety")).messages
    return [message.decode() for message in found]


def by_kind(messages):
    kinds = sorted({message.kind for message in messages})
    return {kind: sum(message.kind == kind for message in messages) for kind in kinds}


def test_a_policy_that_is_too_fast_or_leaves_the_workspace_is_slowed_and_all_that_is_told(tmp_path):
    place = Workplace(tmp_path)
    limits = {"velocity": {"limit": 0.3}, "workspace": {"margin": -0.12}}
    run, trials = run_of(place.session(robot=robot(tmp_path, limits), task=place.short_task(STEPS)))
    for event in trials:
        result, told = event.result, interventions(run, event)
        assert result.outcome is not Outcome.POLICY_FAULT and result.steps > 1
        assert result.interventions == by_kind(told)
        assert result.interventions["velocity"] > 1
        for message in told:
            assert message.value > message.limit and message.action == "slow" and not message.person_near
    assert any("workspace" in event.result.interventions for event in trials)
    code, output = command_here("score", run, "--processes", 1)
    assert code == 0 and f"{len(trials)} of {len(trials)} trials" in output, output
    for command in ("results", "report"):
        code, output = command_here(command, run)
        assert code == 0, output
    table = polars.read_parquet(run / "trials.parquet")
    counts = [", ".join(f"{kind} {n}" for kind, n in event.result.interventions.items()) for event in trials]
    assert table["interventions"].to_list() == counts
    pages = "".join(page.read_text() for page in run.rglob("*.html"))
    assert f"<dt>Safety filter</dt><dd>{counts[0]}</dd>" in pages


@pytest.mark.parametrize(
    ("limits", "kind"),
    [
        ({"velocity": {"limit": 0.3, "action": "stop"}}, "velocity"),
        ({"workspace": {"margin": -0.12, "action": "stop"}}, "workspace"),
        ({"jump": {"limit": 0.02}}, "jump"),
    ],
)
def test_a_policy_that_is_stopped_has_failed_and_the_session_goes_on(tmp_path, limits, kind):
    place = Workplace(tmp_path)
    run, trials = run_of(place.session(robot=robot(tmp_path, limits), task=place.short_task(STEPS)))
    assert len(trials) == 2
    stopped = [event for event in trials if event.result.fault is Fault.POLICY_UNSAFE]
    assert stopped
    for event in stopped:
        assert event.result.outcome is Outcome.POLICY_FAULT and event.result.success == 0.0
        assert event.result.detail.startswith(f"{kind} of ")
        assert event.result.interventions[kind] == 1
        (last,) = interventions(run, event)
        assert (last.kind, last.action) == (kind, "stop") and last.value > last.limit
    code, output = command_here("score", run, "--processes", 1)
    assert code == 0 and "2 of 2 trials" in output, output


def test_a_base_is_slowed_alike(tmp_path):
    place = Workplace(tmp_path)
    task = place.folder / "short.yaml"
    content = read_yaml(resolve_uri("package://robocontrast_ros/config/tasks/studio_apartment.yaml"))
    task.write_text(yaml.safe_dump({**content, "step_limit": STEPS}))
    session = place.session(
        task=str(task),
        robot=robot(tmp_path, {"linear_velocity": {"limit": 0.1}, "angular_velocity": {"limit": 0.5}}, "locobot"),
        policy="vln_oracle",
        test_set={"size": 1},
        cameras=[{"name": "camera", "width": 64, "height": 48}],
    )
    run, (event,) = run_of(session)
    told = interventions(run, event)
    assert event.result.interventions == by_kind(told) and set(by_kind(told)) == {"velocity"}
    assert {(m.where, m.unit, m.limit) for m in told} <= {("linear", "m/s", 0.1), ("angular", "rad/s", 0.5)}
    sent = read_bag(run / event.recording.bag, lambda name, type_name: name.endswith("/cmd_vel")).messages
    for message in (each.decode() for each in sent):
        assert abs(message.linear.x) <= 0.1 + 1e-9 and abs(message.angular.z) <= 0.5 + 1e-9
