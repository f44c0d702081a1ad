"""Run folders of Language-Table trials with journal and bags, made in a moment, without a simulator."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from trial_bags import record_trial

from robocontrast_ros.configuration import load_configured
from robocontrast_ros.configuration.loading import share_directory
from robocontrast_ros.domain import Fault, Observed, Trial
from robocontrast_ros.episodes.bench import Recording
from robocontrast_ros.runs.events import SessionStarted, TrialFinished, TrialVoid
from robocontrast_ros.runs.journal import JournalWriter

TASK_FILE = share_directory() / "config" / "tasks" / "language_table.yaml"
TASK = load_configured("tasks", TASK_FILE)
DIGEST = hashlib.sha256(TASK_FILE.read_bytes()).hexdigest()


def make_trial(index: int) -> Trial:
    """Return the base trial of an instance of its own."""
    instance = TASK.sample(np.random.default_rng(index), f"x-{index}")
    return Trial(index, instance.instance_id, "base", 0, instance, index)


def record_run(folder: Path, faults: Sequence[Fault], void: int = 0, task: str = "") -> Path:
    """Write a run folder and return it.

    Args:
        folder: of the run.
        faults: how each of its trials ends; each counts and has a bag.
        void: attempts after them that are void.
        task: ``module:Class`` that its bags say they were scored with; Language-Table when empty.
    """
    (folder / "parameters").mkdir(parents=True)
    (folder / "parameters" / "session.yaml").write_text("name: test\nstop_on_success: false\n")
    file = folder / "parameters" / "task.yaml"
    file.write_bytes(f"task: {task}\n".encode() if task else TASK_FILE.read_bytes())
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    with JournalWriter(folder / "journal.jsonl") as journal:
        journal.append(SessionStarted("run", 0, {}, {}, "0" * 64, "m", math.inf, 0.0))
        for index, fault in enumerate(faults):
            trial = make_trial(index)
            bag = f"bags/{trial.trial_id}"
            rng = np.random.default_rng(index)
            played = record_trial(folder / bag, TASK, trial, rng, fault=fault, task_digest=digest)
            recording = Recording(bag, (("scene", 15),))
            journal.append(
                TrialFinished(
                    trial=trial,
                    attempt=0,
                    result=played.result,
                    observed=Observed(),
                    recording=recording,
                    cost=0.0,
                    wall_time=1.0,
                    time=0.0,
                )
            )
        for attempt in range(void):
            trial = make_trial(len(faults))
            journal.append(TrialVoid(trial, attempt, Fault.SENSOR_LOST, "no camera", None, 0.0))
    return folder
