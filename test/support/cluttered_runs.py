"""Run folders of trials with distractors, written as journals of real events without running anything."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from line_world import LineTask
from trial_bags import TRIAL_TOPICS, known_messages

from robocontrast_ros.bags.writer import BagWriter
from robocontrast_ros.domain import BASE, NANOSECONDS, Fault, Observed, Outcome, Proof, ScoreSpec, Trial, TrialResult
from robocontrast_ros.episodes.bench import Recording
from robocontrast_ros.episodes.scoring import STANDARD_SPECS
from robocontrast_ros.runs.events import SessionFinished, SessionStarted, TrialFinished
from robocontrast_ros.runs.journal import JournalWriter
from robocontrast_ros.runs.run_folder import RunFolder

STEP_LIMIT = 100
COUNTS = ("touched_by_robot", "touched_by_carried", "wrong_grasped", "wrong_moved")
UNITS = {**dict.fromkeys(COUNTS, "count"), "nearest_distance": "m"}
SPECS = STANDARD_SPECS + tuple(
    ScoreSpec(name, name, UNITS.get(name, ""), 0.0, math.inf if name in UNITS else 1.0, "", False, "scenes", name)
    for name in ("h_success", *COUNTS, "grasped", "reached", "nearest_distance")
)


@dataclass(frozen=True)
class Ran:
    """A trial that was run.

    Attributes:
        base: number of its base instance.
        distractors: how many; 0 for the base trial.
        occlusion: share of the target that they hide.
        dvfc: of its scene.
        solved: whether it was.
        touched: distractors that the robot touched, and that the carried object touched.
        reached: whether the target was.
        grasped: whether the target was.
        nearest: of tool and target [m].
        wrong: other objects that were grasped, and that were moved.
        steps: of control.
    """

    base: int
    distractors: int = 0
    occlusion: float = 0.0
    dvfc: float = 0.0
    solved: bool = False
    touched: tuple[int, int] = (0, 0)
    reached: bool = True
    grasped: bool = True
    nearest: float = 0.0
    wrong: tuple[int, int] = (0, 0)
    steps: int = STEP_LIMIT

    @property
    def scores(self) -> dict[str, float]:
        """Name of each score -> its value."""
        values = (self.solved and not sum(self.touched), *self.touched, *self.wrong, self.grasped, self.reached)
        names = ("h_success", *COUNTS, "grasped", "reached")
        own = {name: float(value) for name, value in zip(names, values, strict=True)}
        return {"success": float(self.solved), **own, "nearest_distance": self.nearest}


HAND_MADE = (
    Ran(0, solved=True, steps=40),
    Ran(0, 2, 0.0, 2.0, solved=True, steps=50),
    Ran(0, 4, 0.3, 3.0, solved=True, touched=(0, 1), steps=60),
    Ran(0, 8, 0.5, 4.0, grasped=False),
    Ran(1),
    Ran(1, 2, 0.0, 2.2, touched=(2, 0), reached=False, grasped=False, nearest=0.4, wrong=(1, 0)),
    Ran(1, 4, 0.005, 3.4, wrong=(0, 2)),
)
"""Small enough for all measures to be computed in one's head."""


def cluttered_run(
    folder: Path, policy: str, trials: Sequence[Ran] = HAND_MADE, *, images: bool = False, scores: bool = True
) -> RunFolder:
    """Write a run folder.

    Args:
        folder: of the run.
        policy: its name.
        trials: that were run; the same numbers are the same scenes.
        images: whether each trial has a bag with camera images.
        scores: whether the session has the scores of clutter beside the standard ones.
    """
    run = RunFolder(folder)
    run.parameters.mkdir(parents=True)
    run.session_file.write_text("name: cluttered\n")
    parameters = {"session": {"policy": policy, "robot": "franka"}, "task": {"step_limit": STEP_LIMIT}}
    specs = SPECS if scores else STANDARD_SPECS
    with JournalWriter(run.journal) as journal:
        time = float(sum(map(ord, policy)))
        journal.append(
            SessionStarted("cluttered", 1, {}, parameters, "0" * 64, "m", math.inf, time, "success", scores=specs)
        )
        for index, ran in enumerate(trials):
            trial = _trial(index, ran)
            bag = f"bags/{trial.trial_id}" if images else ""
            if images:
                _record(run.path / bag, index)
            result = _result(trial, ran)
            recording = Recording(bag, (("camera", 3),) if images else ())
            journal.append(
                TrialFinished(
                    trial=trial,
                    attempt=0,
                    result=result,
                    observed=Observed(),
                    recording=recording,
                    cost=0.0,
                    wall_time=1.0,
                    time=0.0,
                )
            )
        journal.append(SessionFinished("all_trials", "all trials were run", 1.0))
    return run


def _trial(index: int, ran: Ran) -> Trial:
    base = LineTask().sample(np.random.default_rng(ran.base), f"x-{ran.base}")
    if not ran.distractors:
        return Trial(index, base.instance_id, BASE, 0, base, index)
    name = f"distractors_{ran.distractors}"
    measures = (("distractors", float(ran.distractors)), ("occlusion", ran.occlusion), ("dvfc", ran.dvfc))
    proof = Proof("what is expected stays", measures)
    return Trial(
        index,
        base.instance_id,
        name,
        0,
        replace(base, instance_id=f"{base.instance_id}-{name}", proof=proof),
        index,
    )


def _result(trial: Trial, ran: Ran) -> TrialResult:
    return TrialResult(
        outcome=Outcome.SUCCESS if ran.solved else Outcome.FAILURE,
        fault=Fault.NONE,
        detail="",
        scores={spec.name: ran.scores.get(spec.name, math.nan) for spec in SPECS},
        optimal_path_length=trial.instance.optimal_path_length,
        steps=ran.steps,
        duration=0.1 * ran.steps,
        clamped_steps=0,
        final_scene=trial.instance.scene,
    )


def _record(bag: Path, index: int) -> None:
    messages, rng = known_messages(), np.random.default_rng(index)
    with closing(BagWriter(bag, TRIAL_TOPICS)) as writer:
        for stamp in (1, 2, 3):
            pixels = rng.integers(0, 256, (72, 96, 3), dtype=np.uint8)
            image = messages.image(pixels, stamp * NANOSECONDS)
            writer.write("/eval/camera/image_raw", stamp, messages.cdr(image))
