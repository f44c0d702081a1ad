"""Runs on the Language-Table board with bags, pictures included, as the graph leaves them but without ROS."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from trial_bags import TRIAL_TOPICS, known_messages, play

from robocontrast_ros.bags.writer import BagWriter
from robocontrast_ros.domain import NANOSECONDS, Scene, SetupMove, Trial
from robocontrast_ros.episodes.bench import Bench, Execution, Recording
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.sessions.fast_mode import open_bench
from robocontrast_ros.sessions.loop import run_session
from robocontrast_ros.sessions.overrides import Overrides
from robocontrast_ros.sessions.resolving import resolve
from robocontrast_ros.worlds.in_process import InProcessBench

IMAGES = 9


@dataclass
class RecordedBench(Bench):
    """The fast bench; what it does is recorded, with a wandering robot and images of one colour each.

    Attributes:
        bench: what really runs.
        run: the folder of the run.
    """

    bench: InProcessBench
    run: RunFolder

    def scene(self) -> Scene:
        return self.bench.scene()

    def set_up(self, target: Scene, moves: tuple[SetupMove, ...]) -> Scene:
        return self.bench.set_up(target, moves)

    def policy(self) -> object:
        return self.bench.policy()

    def execute(self, trial: Trial, attempt: int) -> Execution:
        start = self.bench.scene()
        done = self.bench.execute(trial, attempt)
        bag = self.run.bag(trial.trial_id, attempt)
        self._record(bag, trial, start)
        return replace(done, recording=Recording(str(bag.relative_to(self.run.path)), (("trial", 1),)))

    def _record(self, bag: Path, trial: Trial, start: Scene) -> None:
        messages = known_messages()
        rng = np.random.default_rng(trial.seed)
        with closing(BagWriter(bag, TRIAL_TOPICS)) as writer:
            writer.write("/eval/trial", 1, messages.cdr(messages.trial(trial, start)))
            for step, (scene, tool) in enumerate(play(self.bench._task, trial, rng, IMAGES), start=1):
                stamp = step * NANOSECONDS // 10
                pixels = np.full((90, 160, 3), (20 * step, 80, 160), np.uint8)
                for topic, message in (
                    ("scene", messages.scene(scene, stamp)),
                    ("tool_pose", messages.tool_pose(tool, stamp)),
                    ("camera/image_raw", messages.image(pixels, stamp)),
                ):
                    writer.write(f"/eval/{topic}", 1 + stamp, messages.cdr(message))


def recorded_run(folder: Path, policy: str = "noisy_oracle", trials: int = 6) -> RunFolder:
    """Run the first trials of the shipped demonstration and return its run folder, with its bags.

    Args:
        folder: in which the run folder is made.
        policy: name of the policy.
        trials: how many.
    """
    session = resolve("language_table_demo", Overrides(policy=policy, max_trials=trials, output=str(folder)))
    run = session.new_run(1_790_000_000.0)
    bench = open_bench(session)
    try:
        run_session(session.evaluation(), RecordedBench(bench, run), run.journal)
    finally:
        bench.close()
    return run
