"""The bench in one process swaps policies as the graph does."""

from __future__ import annotations

import pytest
import yaml

from robocontrast_ros.episodes.bench import PolicyBench, PolicyRefusal
from robocontrast_ros.images.rendering import Camera
from robocontrast_ros.policies.serving.runner import PolicyRunner
from robocontrast_ros.runs.events import PolicyLoaded, PolicyRefused, TrialFinished
from robocontrast_ros.runs.journal import read_journal
from robocontrast_ros.sessions.control import SessionControl
from robocontrast_ros.sessions.loop import run_session
from robocontrast_ros.sessions.overrides import Overrides
from robocontrast_ros.sessions.resolving import resolve
from robocontrast_ros.worlds.in_process import InProcessBench
from robocontrast_ros.worlds.mujoco.world import World


@pytest.fixture
def policy(tmp_path):
    def write(name, **content):
        path = tmp_path / f"{name}.yaml"
        path.write_text(yaml.safe_dump({"policy": "lifecycle_policies:Warm", "name": name, **content}))
        return str(path)

    return write


@pytest.fixture
def bench(session):
    world = World(
        session.robot, session.task.scenes.world, session.task.scenes.start_position, cameras=(Camera("board", 64, 48),)
    )
    bench = InProcessBench(world, session.task, PolicyRunner(session.policy_file, timeout=30.0))
    yield bench
    bench.close()


@pytest.fixture
def session():
    return resolve("language_table_demo", Overrides(policy="oracle", max_trials=2))


def test_a_policy_that_sees_follows_one_that_is_told_the_truth(session, bench, policy, tmp_path):
    assert isinstance(bench, PolicyBench)
    control = SessionControl()

    def observe(status):
        if status.result is not None and status.policy == "oracle":
            control.swap(policy("seeing", cameras=["board"]))

    journal = tmp_path / "journal.jsonl"
    run_session(session.evaluation(), bench, journal, control=control, observer=observe)
    events = read_journal(journal).events
    assert [e.name for e in events if isinstance(e, PolicyLoaded)] == ["oracle", "seeing"]
    first, second = (e for e in events if isinstance(e, TrialFinished))
    assert first.observed.image_digest == "" != second.observed.image_digest
    assert [e.reason for e in events if isinstance(e, PolicyRefused)] == []


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ("orcale", "Did you mean 'oracle'"),
        ("vln_random", "the policy answers in discrete_navigation"),
        ({"cameras": ["wrist"]}, "the policy needs 'wrist', in use are board"),
        ({"warming": "raise"}, "RuntimeError: no idea"),
    ],
)
def test_what_does_not_fit_or_cannot_be_loaded_does_not_serve(bench, policy, wanted, words):
    with pytest.raises(PolicyRefusal, match=words):
        bench.stage_policy(wanted if isinstance(wanted, str) else policy("new", **wanted))
    with pytest.raises(PolicyRefusal, match="no policy was loaded"):
        bench.serve_policy()
    assert bench.policy().name == "oracle"
