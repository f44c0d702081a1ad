"""A plan that is locked before the first trial: a session that follows it, and every way to deviate from it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from here import command_here, session_here
from typer.testing import CliRunner

from robocontrast_ros.analysis.data.deviations import deviations_of
from robocontrast_ros.analysis.data.run_record import RunRecord
from robocontrast_ros.cli.main import app
from robocontrast_ros.configuration import dump_record, load_record
from robocontrast_ros.domain import BASE, Fault
from robocontrast_ros.runs.events import (
    SessionFinished,
    SessionInterrupted,
    TrialFinished,
    TrialSkipped,
    TrialStarted,
    TrialVoid,
)
from robocontrast_ros.runs.journal import read_journal
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.sessions.resolving import resolve
from robocontrast_ros.sessions.schema import SessionParameters

pytestmark = pytest.mark.usefixtures("figures_undrawn")

TITLE = "Deviations from the locked plan"


def session(folder, **changes):
    """Write a session of three base trials, which take the oracle seconds; return its file."""
    content = {
        "name": "locked",
        "seed": 3,
        "task": "language_table",
        "robot": "franka",
        "policy": "oracle",
        "strategy": {"name": "standard"},
        "test_set": {"size": 3},
        "cameras": [],
        "recording": "none",
        "output": str(folder / "runs"),
        **changes,
    }
    file = folder / "session.yaml"
    file.write_text(yaml.safe_dump(content))
    return file


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("locked")
    code, said = command_here("plan", session(folder), "--lock", folder / "plan.json")
    assert code == 0, said
    assert f"locked plan: {folder}/plan.json" in said.replace("\n", "")
    return folder


@pytest.fixture(scope="module")
def followed(place):
    """Return the run of a session that follows the plan."""
    return RunFolder(session_here(session(place, locked_plan="plan.json")))


def found(run, events=None):
    """Return the deviations of a run, with other events in place of its own."""
    of = deviations_of(run, RunRecord.of(events or read_journal(run.journal).events))
    return [(one.what, one.trials, one.planned, one.run) for one in of.found]


def test_a_plan_has_its_trials_its_parameters_and_the_hash_of_all_of_it(place):
    plan = json.loads((place / "plan.json").read_text())
    said = plan.pop("sha256")
    text = json.dumps(plan, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert said == hashlib.sha256(text.encode()).hexdigest()
    assert (plan["session"], plan["seed"]) == ("locked", 3)
    assert {"robocontrast_ros", "mujoco"} < plan["software"].keys()
    assert plan["parameters"]["session"]["test_set"]["size"] == 3
    assert plan["parameters"]["policy"]["policy"] == "oracle"
    assert [one["perturbation"] for one in plan["trials"]] == [BASE] * 3
    assert len({one["digest"] for one in plan["trials"]}) == 3


def test_the_same_session_has_the_same_plan(place):
    assert command_here("plan", session(place), "--lock", place / "again.json")[0] == 0
    assert (place / "again.json").read_bytes() == (place / "plan.json").read_bytes()


def test_a_session_that_follows_its_plan_deviates_in_nothing(place, followed):
    assert followed.locked_plan.read_bytes() == (place / "plan.json").read_bytes()
    started = read_journal(followed.journal).started
    assert started.parameters["locked_plan"] == {"sha256": json.loads(followed.locked_plan.read_text())["sha256"]}
    again = resolve(followed.session_file)
    assert again.evaluation().digest == started.digest, "it may be resumed"
    assert Path(again.parameters.locked_plan) == followed.locked_plan, "wherever the plan itself is by then"
    assert found(followed) == []
    code, said = command_here("results", followed.path)
    assert code == 0, said
    assert "none" in said.partition(TITLE)[2].splitlines()[2]
    assert "none" in (followed.path / "deviations.tex").read_text()
    assert TITLE in (followed.path / "summary.txt").read_text()


def test_every_deviation_of_a_session_is_in_the_results_the_report_and_the_table_for_papers(place):
    file = session(place, locked_plan="plan.json", policy="noisy_oracle", max_trials=2, void_retries=5)
    run = RunFolder(session_here(file))
    code, said = command_here("results", run.path)
    assert code == 0, said
    planned = [one["instance"] for one in json.loads(run.locked_plan.read_text())["trials"]]
    expected = [
        ("setting", "session.max_trials", "none", "2"),
        ("setting", "session.policy", "oracle", "noisy_oracle"),
        ("setting", "session.void_retries", "2", "5"),
        ("not run", f"{planned[2]} base", "1 trial", "the session had ended"),
        ("ended", "", "3 trials", read_journal(run.journal).events[-1].detail),
    ]
    assert found(run) == expected
    assert command_here("report", run.path)[0] == 0
    for text in (said, (run.path / "deviations.tex").read_text(), (run.path / "report.html").read_text()):
        text = text.replace("\\_", "_")
        assert TITLE in text
        for what, key, _, _ in expected:
            assert what in text
            assert key.split(" ")[0] in text


def test_what_was_swapped_repeated_skipped_reordered_and_changed_is_told(followed):
    events = list(read_journal(followed.journal).events)
    places = [number for number, event in enumerate(events) if isinstance(event, TrialFinished)]
    first, second, third = (events[number] for number in places)
    names = [f"{event.trial.base_id} base" for event in (first, second, third)]
    skip = TrialSkipped(third.trial.base_id, BASE, "the table is wet", 0.0, by_person=True)
    without = [event for event in events if getattr(event, "trial", None) != third.trial]
    assert found(followed, [*without[:-1], skip, without[-1]]) == [
        ("not run", names[2], "1 trial", "left out by the person: the table is wet")
    ]
    swapped = [{0: third, 2: first}.get(places.index(n), e) if n in places else e for n, e in enumerate(events)]
    (order,) = found(followed, swapped)
    assert order[0] == "other order"
    assert len(moved := order[1].split(", ")) == 2, "one of the three may be taken for one that stayed"
    assert set(moved) < set(names)
    void = TrialVoid(second.trial, 0, Fault.SIMULATOR_LOST, "it is gone", None, 0.0)
    assert found(followed, [*events[: places[1]], void, *events[places[1] :]]) == [
        ("void, run again", names[1], "one attempt", "1 void attempt: SIMULATOR_LOST")
    ]
    told = replace(first.trial, instance=replace(first.trial.instance, instruction=second.trial.instance.instruction))
    scene = replace(second.trial, instance=replace(second.trial.instance, scene=third.trial.instance.scene), seed=1)
    changed = {places[0]: replace(first, trial=told), places[1]: replace(second, trial=scene)}
    assert found(followed, [changed.get(number, event) for number, event in enumerate(events)]) == [
        (
            "other instruction",
            names[0],
            first.trial.instance.instruction.text,
            second.trial.instance.instruction.text,
        ),
        ("other conditions", names[1], "as locked", "another scene, or other observations"),
        ("other seed", names[1], "as locked", "another seed of the policy"),
    ]
    other = replace(events[0], versions={**events[0].versions, "mujoco": "2.0"})
    assert [one[:2] for one in found(followed, [other, *events[1:]])] == [("software", "mujoco")]


def test_a_session_that_was_cut_off_says_which_trials_it_did_not_run(followed):
    events = [*read_journal(followed.journal).events]
    begun = next(number for number, event in enumerate(events) if isinstance(event, TrialStarted))
    cut = [*events[:begun], SessionInterrupted(Fault.ABORTED, "stopped", 0.0)]
    assert not any(isinstance(event, SessionFinished) for event in cut)
    missing, end = found(followed, cut)
    assert (missing[0], missing[2:]) == ("not run", ("3 trials", "the session was not finished"))
    assert end[0] == "not finished"


def test_a_plan_that_was_changed_is_refused_before_the_session_and_after_it(place, followed, tmp_path):
    changed = tmp_path / "plan.json"
    changed.write_text((place / "plan.json").read_text().replace('"seed": 3', '"seed": 4', 1))
    refused = CliRunner().invoke(app, ["evaluate", str(session(place)), "--fast", "--plan", str(changed)])
    assert refused.exit_code == 2
    (line,) = refused.stderr.strip().splitlines()
    assert line.startswith(f"error: {changed}: `sha256`: got ")
    assert "the plan was changed after it was locked. Take the file as it was locked, or lock a new plan" in line
    kept = followed.locked_plan.read_bytes()
    plan = json.loads(kept)
    del plan["sha256"], plan["trials"][1:]
    text = json.dumps(plan, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    # Its own hash is right, and it is not the plan of this session.
    plan["sha256"] = hashlib.sha256(text.encode()).hexdigest()
    followed.locked_plan.write_text(json.dumps(plan))
    try:
        refused = CliRunner().invoke(app, ["results", str(followed.path)])
    finally:
        followed.locked_plan.write_bytes(kept)
    assert refused.exit_code == 2
    assert "which the journal has of the plan. Put the plan back" in refused.stderr


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "got 'No such file or directory', expected a plan that `robocontrast plan SESSION --lock FILE` wrote."),
        ("name: x", "got 'no JSON', expected a plan that"),
        ('{"seed": 3}', "`sha256`: got 'nothing', expected a plan that"),
    ],
)
def test_what_is_no_plan_is_refused_in_one_line(tmp_path, text, words):
    file = tmp_path / "plan.json"
    if text is not None:
        file.write_text(text)
    refused = CliRunner().invoke(app, ["plan", str(session(tmp_path, locked_plan=str(file)))])
    assert refused.exit_code == 2
    (line,) = refused.stderr.strip().splitlines()
    assert line.startswith(f"error: {file}: ")
    assert words in line


def test_a_plan_is_not_written_over_and_a_blind_session_has_none(place, tmp_path):
    kept = (place / "plan.json").read_bytes()
    refused = CliRunner().invoke(app, ["plan", str(session(place)), "--lock", str(place / "plan.json")])
    assert refused.exit_code == 2
    assert "a locked plan is not written over" in refused.stderr
    assert (place / "plan.json").read_bytes() == kept
    content = yaml.safe_load(session(tmp_path, blind={"policies": ["oracle", "random"]}).read_text())
    del content["policy"]
    (tmp_path / "blind.yaml").write_text(yaml.safe_dump(content))
    refused = CliRunner().invoke(app, ["plan", str(tmp_path / "blind.yaml"), "--lock", str(tmp_path / "plan.json")])
    assert refused.exit_code == 2
    assert "`blind`: got ['oracle', 'random'], expected one `policy` in a plan to be locked." in refused.stderr
    assert not (tmp_path / "plan.json").exists()


def test_a_session_without_a_locked_plan_records_nothing_of_one(tmp_path):
    file = session(tmp_path, max_trials=1)
    assert "locked_plan" not in dump_record(load_record(SessionParameters, file))
    run = RunFolder(session_here(file))
    assert "locked_plan" not in read_journal(run.journal).started.parameters
    assert not run.locked_plan.exists()
    code, said = command_here("results", run.path)
    assert code == 0
    assert TITLE not in said
    assert not (run.path / "deviations.tex").exists()
