"""Executions that are remembered instead of being simulated again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import yaml

from robocontrast_ros.configuration import read_yaml, resolve_uri
from robocontrast_ros.domain import Expectation, Fault, NotApplicable
from robocontrast_ros.episodes.bench import Bench, BenchFault
from robocontrast_ros.runs.events import SetUp, TrialFinished
from robocontrast_ros.sessions.control import SessionControl
from robocontrast_ros.sessions.fast_mode import open_bench
from robocontrast_ros.sessions.loop import Session
from robocontrast_ros.sessions.plan import plan_session
from robocontrast_ros.sessions.resolving import resolve
from robocontrast_ros.studies.memo import Memory, RememberingBench, RememberingPerturbation, execution_key

STRATEGIES = (
    {"name": "standard"},
    {"name": "contrast_set", "perturbations": ["LB1", "SB2"]},
    {"name": "contrast_set", "perturbations": ["LB1", "LB2", "SB2"]},
    {"name": "limited_intervention"},
    {"name": "limited_intervention_skip"},
)


@pytest.fixture(scope="module")
def sessions(tmp_path_factory):
    folder = tmp_path_factory.mktemp("memo")
    task = read_yaml(resolve_uri("package://robocontrast_ros/config/tasks/language_table.yaml"))
    (folder / "short.yaml").write_text(yaml.safe_dump({**task, "step_limit": 12}))
    content = {
        "name": "memo",
        "seed": 3,
        "task": str(folder / "short.yaml"),
        "robot": "franka",
        "policy": "noisy_oracle",
        "test_set": {"size": 3},
    }
    found = []
    for number, strategy in enumerate(STRATEGIES):
        path = folder / f"{number}.yaml"
        path.write_text(yaml.safe_dump({**content, "strategy": strategy}))
        found.append(resolve(path))
    return found


@pytest.fixture(scope="module")
def bench(sessions):
    bench = open_bench(sessions[0])
    yield bench
    bench.close()


class Kept:
    def __init__(self):
        self.events = []

    def append(self, event):
        self.events.append(event)


def run(session, bench, perturbations=None):
    evaluation, kept = session.evaluation(), Kept()
    if perturbations is not None:
        evaluation = replace(evaluation, perturbations=tuple(perturbations[p.name] for p in session.perturbations))
    Session(evaluation, bench, kept, SessionControl(), lambda status: None, lambda: 0.0).run()
    return kept.events


def said(events):
    """Return what must not depend on what is remembered, as text, in which NaN equals NaN."""
    return [
        repr((e.trial, e.moves, e.cost, e.before, e.after))
        if isinstance(e, SetUp)
        else repr((e.trial, e.result, e.observed, e.cost))
        for e in events
        if isinstance(e, (SetUp, TrialFinished))
    ]


@pytest.fixture(scope="module")
def with_memory(sessions, bench, tmp_path_factory):
    path = tmp_path_factory.mktemp("memory") / "executions.jsonl"
    simulated = []
    perturbations = {p.name: RememberingPerturbation(p) for session in sessions for p in session.perturbations}
    with Memory(path) as memory:
        remembering = RememberingBench(bench, memory, simulated.append)
        texts = []
        for session in sessions:
            remembering.begin()
            texts.append(said(run(session, remembering, perturbations)))
    return path, texts, simulated


def test_sessions_with_and_without_memory_are_equal_to_the_last_bit(sessions, with_memory):
    _, texts, simulated = with_memory
    assert 0 < sum(simulated) < len(simulated)
    for session, text in zip(sessions[2:], texts[2:], strict=True):
        fresh = open_bench(session)
        assert said(run(session, fresh)) == text
        fresh.close()


def test_a_file_of_executions_lets_nothing_be_simulated_again_and_is_equal(sessions, with_memory):
    path, texts, _ = with_memory
    simulated = []
    with Memory(path) as memory:
        remembering = RememberingBench(Useless(), memory, simulated.append)
        for session, text in zip(sessions, texts, strict=True):
            remembering.begin()
            assert said(run(session, remembering)) == text
    assert simulated and not any(simulated)


def test_what_a_crash_cut_off_is_simulated_again_and_the_rest_is_not(sessions, with_memory, bench, tmp_path):
    path, texts, _ = with_memory
    lines = path.read_bytes().splitlines(keepends=True)
    torn = tmp_path / "torn.jsonl"
    torn.write_bytes(b"".join(lines[:2]) + lines[2][:100])
    simulated = []
    with Memory(torn) as memory:
        assert len(memory.executions) == 2
        assert said(run(sessions[0], RememberingBench(bench, memory, simulated.append))) == texts[0]
    assert simulated == [False, False, True]
    assert len(Memory(torn).executions) == 3


def test_a_void_attempt_is_not_remembered(sessions, tmp_path):
    with Memory(tmp_path / "executions.jsonl") as memory:
        events = run(sessions[0], RememberingBench(Useless(), memory, lambda simulated: None))
        assert not memory.executions
    assert events[-1].fault is Fault.SETUP_FAILED


def test_a_perturbation_is_asked_once_for_each_instance_scene_and_draw(sessions):
    class Counting:
        name, symbol, axes, description = "P", "ΔP", "L", "counts"
        plausible, expectation = True, Expectation.UNKNOWN
        asked = 0

        def apply(self, task, base, scene, rng):
            self.asked += 1
            return NotApplicable(f"answer {self.asked}")

    counting = Counting()
    remembering = RememberingPerturbation(counting)
    base = sessions[0].evaluation().test_set()[0]

    def ask(seed, scene=base.scene):
        return remembering.apply(sessions[0].task, base, scene, np.random.default_rng(seed)).reason

    assert [ask(0), ask(0), ask(1), ask(0)] == ["answer 1", "answer 1", "answer 2", "answer 1"]
    assert ask(0, replace(base.scene, objects=base.scene.objects[1:])) == "answer 3"


def test_seed_scene_and_words_make_an_execution_another_one_and_its_name_does_not(sessions):
    trial = plan_session(sessions[0].evaluation()).trials[0].trial
    instance = trial.instance
    key = execution_key(instance.scene, trial)
    assert execution_key(instance.scene, replace(trial, index=9, note="other", repeat=1)) == key
    assert execution_key(instance.scene, replace(trial, instance=replace(instance, instance_id="x"))) == key
    words = replace(instance, instruction=replace(instance.instruction, text="push it"))
    assert execution_key(instance.scene, replace(trial, instance=words)) != key
    assert execution_key(instance.scene, replace(trial, seed=trial.seed + 1)) != key
    first = instance.scene.objects[0]
    moved = instance.scene.moved(first.name, replace(first.pose, position=(0.3, 0.0, 1e-9)))
    assert execution_key(moved, trial) != key


class Useless(Bench):
    """A bench that cannot do anything."""

    def scene(self):
        raise BenchFault(Fault.SETUP_FAILED, "it is not to be asked")

    def set_up(self, target, moves):
        raise BenchFault(Fault.SETUP_FAILED, "it is not to be asked")

    def execute(self, trial, attempt):
        raise AssertionError("it is not to be asked")
