"""What a session did otherwise than the plan that was locked before it."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from robocontrast_ros.analysis.data.run_record import RunRecord, TrialRecord
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain import BASE, Trial
from robocontrast_ros.domain.words import counted
from robocontrast_ros.runs.locked_plan import (
    LOCKED,
    LockedPlan,
    LockedTrial,
    digest_of,
    name_of,
    other_settings,
    read_locked_plan,
)
from robocontrast_ros.runs.run_folder import RunFolder

NAMED = 4
"""Greatest number of trials that one deviation names; of more, the first are named, and the others counted."""

STARTS = {
    "FULL_RESET": "in its own scene",
    "LEFT": "in the scene that the trial before left",
    "GONE_BACK": "in its own scene again, perturbed",
    "ROBOT_ALONE": "in the scene that the trial before left, the robot reset",
}
"""Name of a start -> its words."""


@dataclass(frozen=True)
class Deviation:
    """A deviation from a locked plan.

    Attributes:
        what: its kind.
        trials: the trials that it is about; empty if it is about all.
        planned: the plan, in words.
        run: the session, in words.
    """

    what: str
    trials: str
    planned: str
    run: str


@dataclass(frozen=True)
class Deviations:
    """The deviations of a run from its locked plan.

    Attributes:
        sha256: the plan's hash, in hex.
        trials: number of planned trials.
        found: the deviations.
    """

    sha256: str
    trials: int
    found: tuple[Deviation, ...]


def deviations_of(run: RunFolder, record: RunRecord) -> Deviations | None:
    """Return the deviations of a run; None if no plan was locked for it.

    Args:
        run: the run folder, which holds a copy of the plan.
        record: the content of its journal, which holds the plan's hash.

    Raises:
        ConfigurationError: the copy is not there, or is not the plan whose hash is in the journal.
    """
    started = record.started
    said = started.parameters.get(LOCKED) if started is not None else None
    if started is None or said is None:
        return None
    plan = read_locked_plan(run.locked_plan)
    if plan.sha256 != said["sha256"]:
        raise ConfigurationError(
            str(run.locked_plan),
            "sha256",
            plan.sha256,
            f"{said['sha256']}, which the journal has of the plan",
            "Put the plan back that the session was started with.",
        )
    found = (
        *(
            Deviation("setting", key, _shown(planned), _shown(present))
            for key, planned, present in other_settings(plan, started.parameters)
        ),
        *_software(plan, started.versions),
        *_policies(record),
        *_trials(plan, record),
        *_end(plan, record),
    )
    return Deviations(plan.sha256, len(plan.trials), found)


def _software(plan: LockedPlan, versions: Mapping[str, str]) -> Iterator[Deviation]:
    for name in sorted({*plan.software, *versions}):
        planned, present = plan.software.get(name, "none"), versions.get(name, "none")
        if planned != present:
            yield Deviation("software", name, planned, present)


def _policies(record: RunRecord) -> Iterator[Deviation]:
    """Return the trials of each policy that another was swapped for."""
    served: dict[str, list[str]] = defaultdict(list)
    for one in _finished(record):
        served[one.policy].append(_name(one.trial))
    first = record.loaded[0].name if record.loaded else ""
    for policy, names in served.items():
        if policy != first:
            yield Deviation("policy swapped", _named(names), first, policy)


def _trials(plan: LockedPlan, record: RunRecord) -> Iterator[Deviation]:
    planned = {_key(one): one for one in plan.trials}
    run = _run(record)
    missing: dict[str, list[str]] = defaultdict(list)
    for key, one in planned.items():
        if key not in run:
            missing[_why(one, record)].append(one.name)
    for why, names in missing.items():
        yield Deviation("not run", _named(names), _times(len(names)), why)
    more = [_name(trial) for key, trial in run.items() if key not in planned]
    if more:
        yield Deviation("not planned", _named(more), "none", _times(len(more)))
    both = {key: trial for key, trial in run.items() if key in planned}
    moved = _out_of_order([planned[key].index for key in both])
    if moved:
        names = [_name(trial) for number, trial in enumerate(both.values()) if number in moved]
        yield Deviation("other order", _named(names), "in the order of the plan", "at another place")
    yield from _otherwise([(planned[key], trial) for key, trial in both.items()])
    faults: dict[str, Counter[str]] = defaultdict(Counter)
    for one in record.trials:
        if not one.counts:
            faults[_name(one.trial)][one.ended.fault.name] += 1
    for name, of in faults.items():
        attempts = counted(sum(of.values()), "void attempt")
        yield Deviation("void, run again", name, "one attempt", f"{attempts}: {', '.join(of)}")


def _otherwise(pairs: Sequence[tuple[LockedTrial, Trial]]) -> Iterator[Deviation]:
    """Return what trials that were planned and run had otherwise."""
    starts: dict[tuple[str, str], list[str]] = defaultdict(list)
    seeds, conditions = [], []
    for planned, trial in pairs:
        told, start = trial.instance.instruction.text, trial.start.name
        if told != planned.instruction:
            yield Deviation("other instruction", planned.name, planned.instruction, told)
        elif start == planned.start and digest_of(trial.instance, planned.start) != planned.digest:
            conditions.append(planned.name)
        if start != planned.start:
            starts[planned.start, start].append(planned.name)
        if trial.seed != planned.seed:
            seeds.append(planned.name)
    for (before, after), names in starts.items():
        yield Deviation("other start", _named(names), STARTS.get(before, before), STARTS.get(after, after))
    if conditions:
        yield Deviation("other conditions", _named(conditions), "as locked", "another scene, or other observations")
    if seeds:
        yield Deviation("other seed", _named(seeds), "as locked", "another seed of the policy")


def _end(plan: LockedPlan, record: RunRecord) -> Iterator[Deviation]:
    all_of_them = _times(len(plan.trials))
    if record.end is None:
        yield Deviation("not finished", "", all_of_them, "the journal has no end of the session")
    elif record.end.reason != "all_trials" and {_key(one) for one in plan.trials} - _run(record).keys():
        yield Deviation("ended", "", all_of_them, record.end.detail)


def _why(one: LockedTrial, record: RunRecord) -> str:
    """Return why a planned trial was not run."""
    for _, skip in record.skips:
        whole = skip.by_person and skip.perturbation == BASE
        if (
            skip.base_id == one.instance
            and (whole or skip.perturbation == one.perturbation)
            and skip.repeat <= one.repeat
        ):
            return f"left out by the person: {skip.reason}" if skip.by_person else f"skipped: {skip.reason}"
    return "the session had ended" if record.end is not None else "the session was not finished"


def _out_of_order(indices: Sequence[int]) -> set[int]:
    """Return the positions that are not part of a longest increasing subsequence."""
    last: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for position, index in enumerate(indices):
        place = bisect_left(last, index)
        before.append(ends[place - 1] if place else -1)
        last[place : place + 1], ends[place : place + 1] = [index], [position]
    kept, at = set(), ends[-1] if ends else -1
    while at >= 0:
        kept.add(at)
        at = before[at]
    return set(range(len(indices))) - kept


def _finished(record: RunRecord) -> list[TrialRecord]:
    return [one for one in record.trials if one.counts]


def _run(record: RunRecord) -> dict[tuple[str, str, int], Trial]:
    """Return the trials that count, in the order in which they were run, by instance, perturbation and repeat."""
    trials = (one.trial for one in _finished(record))
    return {(trial.base_id, trial.perturbation, trial.repeat): trial for trial in trials}


def _key(one: LockedTrial) -> tuple[str, str, int]:
    return one.instance, one.perturbation, one.repeat


def _name(trial: Trial) -> str:
    return name_of(trial.base_id, trial.perturbation, trial.repeat)


def _named(names: Sequence[str]) -> str:
    more = len(names) - NAMED
    return ", ".join(names) if more <= 0 else f"{', '.join(names[:NAMED])} and {more} more"


def _times(number: int) -> str:
    return counted(number, "trial")


def _shown(value: Any) -> str:
    return "none" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
