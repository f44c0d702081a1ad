"""In the embedded world, where a bit more or less ends in another scene, a resumed session is the same."""

from __future__ import annotations

from dataclasses import dataclass

from robocontrast_ros.domain import Fault
from robocontrast_ros.episodes.bench import Bench, BenchFault
from robocontrast_ros.policies.serving.runner import PolicyRunner
from robocontrast_ros.runs.events import TrialFinished
from robocontrast_ros.runs.journal import read_journal
from robocontrast_ros.sessions.loop import run_session
from robocontrast_ros.sessions.overrides import Overrides
from robocontrast_ros.sessions.resolving import resolve
from robocontrast_ros.worlds.in_process import InProcessBench
from robocontrast_ros.worlds.mujoco.world import World


@dataclass
class DyingBench(Bench):
    """Loses the simulator at the end of an execution."""

    bench: InProcessBench
    lives: int

    def scene(self):
        return self.bench.scene()

    def set_up(self, target, moves):
        return self.bench.set_up(target, moves)

    def execute(self, trial, attempt):
        execution = self.bench.execute(trial, attempt)
        self.lives -= 1
        if not self.lives:
            raise BenchFault(Fault.SIMULATOR_LOST, "the process ended")
        return execution


def test_a_session_resumed_in_a_new_simulator_gives_every_float_and_scene_of_one_that_was_not(tmp_path):
    session = resolve("language_table_demo", Overrides(max_trials=4))
    evaluation = session.evaluation()

    def bench() -> InProcessBench:
        task = session.task
        world = World(session.robot, task.scenes.world, task.scenes.start_position)
        return InProcessBench(world, task, PolicyRunner(session.policy_file, timeout=30.0))

    whole, broken = tmp_path / "whole.jsonl", tmp_path / "broken.jsonl"
    run_session(evaluation, bench(), whole)
    for _ in range(2):
        run_session(evaluation, DyingBench(bench(), 2), broken, resume=True)
    run_session(evaluation, bench(), broken, resume=True)
    results = [
        [repr((e.trial, e.result, e.cost)) for e in read_journal(path).events if isinstance(e, TrialFinished)]
        for path in (whole, broken)
    ]
    assert len(results[0]) == 4
    assert results[0] == results[1]
