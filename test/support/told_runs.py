"""Run folders of trials whose words or observations are perturbed, written as journals without running anything."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from line_world import LineTask

from robocontrast_ros.domain import (
    BASE,
    Fault,
    Filter,
    Instruction,
    Observed,
    Outcome,
    PerturbationSpec,
    Proof,
    Trial,
    TrialResult,
)
from robocontrast_ros.episodes.bench import Recording
from robocontrast_ros.episodes.scoring import STANDARD_SPECS
from robocontrast_ros.perturbations.loading import load_perturbation
from robocontrast_ros.perturbations.protocol import spec_of
from robocontrast_ros.policies.protocol import PolicyDescription
from robocontrast_ros.runs.events import (
    Event,
    PolicyLoaded,
    SessionFinished,
    SessionStarted,
    TrialFinished,
    TrialSkipped,
    to_line,
)
from robocontrast_ros.runs.run_folder import RunFolder

PERTURBATIONS = (
    *("paraphrase", "lower_case", "vague", "LB", "S"),
    *("gobbledygook_words", "mask_words", "mask_referents", "mask_all", "wrong_instruction"),
)
LOADED = {name: load_perturbation(name, "test", "perturbations") for name in PERTURBATIONS}
SPECS: Mapping[str, PerturbationSpec] = {name: spec_of(loaded) for name, loaded in LOADED.items()}
MASKS = ("mask_words", "mask_referents", "mask_all")

Solves = Callable[[int], bool]
"""Tells of the number of an instance whether it is solved."""


@dataclass(frozen=True)
class Told:
    """A trial that was run.

    Attributes:
        base: number of its base instance.
        perturbation: its name, or ``base``.
        solved: whether it was.
        words: what the policy received; None for what was sent.
        filters: between the sensors and the policy.
        repeat: from 0.
        segments: digest of the segments that the policy received; empty for one that takes text alone.
        problem: of the base instance: the skill.
        after: number of the base instance before it in its chain; None without one.
        note: what was perturbed.
        measures: those of the perturbation's proof.
    """

    base: int
    perturbation: str = BASE
    solved: bool = False
    words: str | None = None
    filters: tuple[Filter, ...] = ()
    repeat: int = 0
    segments: str = ""
    problem: str = ""
    after: int | None = None
    note: str = ""
    measures: tuple[tuple[str, float], ...] = ()


def always(solved: bool) -> Solves:
    """Return what solves all instances, or none."""
    return lambda base: solved


def often(base: int) -> bool:
    """Solve nine of ten instances."""
    return base % 10 != 3


def trials_of(instances: int, base: Solves, **perturbed: Solves) -> list[Told]:
    """Return a base trial of each instance, and a trial of each perturbation."""
    return [
        Told(number, name, solves(number))
        for number in range(instances)
        for name, solves in {BASE: base, **perturbed}.items()
    ]


def told_run(
    folder: Path,
    policy: str,
    trials: Sequence[Told],
    *,
    specs: Mapping[str, PerturbationSpec] = SPECS,
    task: str = "line",
    says: bool = True,
    sees: bool = True,
    skipped: Sequence[TrialSkipped] = (),
    step_limit: int | None = None,
    metric: str = "spl",
    vocabulary: Sequence[str] = (),
) -> RunFolder:
    """Write a run folder.

    Args:
        folder: of the run.
        policy: its name.
        trials: that were run; the same numbers are the same scenes.
        specs: what the journal says of the perturbations; empty for an older journal.
        task: name of the task.
        says: whether the policy server says what it received.
        sees: whether the policy receives images.
        skipped: what was not run.
        step_limit: of the task's file.
        metric: of the session; all scores but success are unknown.
        vocabulary: words of the policy's training; empty if it does not say.
    """
    run = RunFolder(folder)
    run.parameters.mkdir(parents=True)
    run.session_file.write_text("name: told\n")
    used = dict.fromkeys(told.perturbation for told in trials if told.perturbation != BASE)
    session = {"policy": policy, "robot": "franka", "task": task, "strategy": {"perturbations": list(used)}}
    time = float(sum(map(ord, str(folder))))
    started = SessionStarted(
        "told", 1, {}, {"session": session, "task": {"step_limit": step_limit}}, "0" * 64, "m", math.inf, time
    )
    symbols = {name: LOADED[name].symbol if name in LOADED else name for name in used}
    known = {name: specs[name] for name in used if name in specs}
    events: list[Event] = [replace(started, symbols=symbols, perturbations=known, metric=metric)]
    if vocabulary:
        described = PolicyDescription(policy, "planar_delta", 2, vocabulary=tuple(vocabulary))
        events.append(PolicyLoaded(policy, f"{policy}.yaml", "", "0" * 64, 1.0, None, time, described))
    for index, told in enumerate(trials):
        trial = _trial(index, told)
        text = trial.instance.instruction.text
        words = text if told.words is None else told.words
        observed = Observed(words, "0" * 64 if sees else "", True, told.segments) if says else Observed()
        events.append(
            TrialFinished(
                trial=trial,
                attempt=0,
                result=_result(trial, told),
                observed=observed,
                recording=Recording("", ()),
                cost=0.0,
                wall_time=1.0,
                time=0.0,
            )
        )
    events += skipped
    events.append(SessionFinished("all_trials", "all trials were run", 1.0))
    # At once: a journal's writer waits for the disk after each event.
    run.journal.write_bytes(b"".join(map(to_line, events)))
    return run


def _trial(index: int, told: Told) -> Trial:
    base = LineTask().sample(np.random.default_rng(told.base), f"x-{told.base}")
    after = "" if told.after is None else f"x-{told.after}"
    instance = base = replace(base, problem=told.problem, after=after)
    if told.perturbation != BASE:
        changes = "L" in told.perturbation or (told.perturbation in SPECS and "L" in SPECS[told.perturbation].axes)
        text = f"{base.instruction.text}, {told.perturbation}" if changes else base.instruction.text
        said = Instruction("" if told.perturbation == "mask_all" else text, base.instruction.family)
        instance = replace(
            base,
            instance_id=f"{base.instance_id}-{told.perturbation}",
            instruction=said,
            observation=told.filters,
            proof=Proof("nothing that counts has changed", told.measures) if told.measures else None,
        )
    return Trial(index, base.instance_id, told.perturbation, told.repeat, instance, index, told.note)


def _result(trial: Trial, told: Told) -> TrialResult:
    return TrialResult(
        outcome=Outcome.SUCCESS if told.solved else Outcome.FAILURE,
        fault=Fault.NONE,
        detail="",
        scores={spec.name: float(told.solved) if spec.name == "success" else math.nan for spec in STANDARD_SPECS},
        optimal_path_length=trial.instance.optimal_path_length,
        steps=10,
        duration=1.0,
        clamped_steps=0,
        final_scene=trial.instance.scene,
    )
