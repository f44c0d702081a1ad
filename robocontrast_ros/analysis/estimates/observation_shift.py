"""Observation-space shift of a run: skills in changed scenes, and chains of skills (seed 003, sections IV and V).

A perturbation is one of these if it modifies scenes in what the skill does not concern: its proof has the measure
``modifications``. The condition ``chain`` is another: the scene that the skill before it has left. Pairs are trials of
one test instance and repeat, the base trial and the other, so both have the same number of trials.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from robocontrast_ros.analysis.estimates.results import Results, is_modified
from robocontrast_ros.analysis.estimates.scores import draws
from robocontrast_ros.domain import BASE
from robocontrast_ros.statistics.clusters import cluster_mean
from robocontrast_ros.statistics.difficulty import Difficulty, difficulty
from robocontrast_ros.statistics.estimate import Estimate
from robocontrast_ros.statistics.observation_shift import (
    ChainShift,
    ObservationShift,
    Pair,
    PooledShift,
    chain_shifts,
    observation_shift,
    pooled_shift,
    rpd,
)
from robocontrast_ros.strategies.chain import CHAIN, chains_of
from robocontrast_ros.tasks.bddl.modifications import KINDS

SEVERAL = "several kinds"
"""Modifications of one trial that are of different kinds."""


@dataclass(frozen=True)
class SkillShift:
    """A skill in its own scenes, and in the changed ones.

    Attributes:
        skill: name of its problem; the family of instructions where instances are of no problem.
        pair: the successes.
        rpd: its RPD; None, which is undefined, if it never succeeds in its own scenes.
    """

    skill: str
    pair: Pair
    rpd: float | None


@dataclass(frozen=True)
class KindShift:
    """The trials whose modifications are of one kind.

    Attributes:
        kind: ``kind_of`` their proofs.
        trials: number of pairs.
        pooled: RPD of the mean rates of the skills among them.
    """

    kind: str
    trials: int
    pooled: PooledShift


@dataclass(frozen=True)
class Tried:
    """A trial in a modified scene beside the base trial of its test instance.

    Attributes:
        policy: its policy, or the label of its run.
        repeat: number of the repeat, from 0.
        base_index: position in the session of the base trial.
        index: that of the trial in the modified scene.
        alone: whether the base trial succeeds.
        modified: whether the other does.
    """

    policy: str
    repeat: int
    base_index: int
    index: int
    alone: bool
    modified: bool

    @property
    def lost(self) -> int:
        """Success that the modification costs: 1 if it breaks it, -1 if it helps."""
        return self.alone - self.modified


@dataclass(frozen=True)
class Modification:
    """What a perturbation modified in the scene of a test instance, and what became of the success there.

    Attributes:
        skill: name of the skill.
        base_id: the test instance.
        perturbation: the perturbation's name.
        kind: ``kind_of`` its proof.
        note: what was modified.
        tried: its trials, policy by policy, in the order of their repeats.
    """

    skill: str
    base_id: str
    perturbation: str
    kind: str
    note: str
    tried: tuple[Tried, ...]

    @property
    def lost(self) -> float:
        """Success that it costs, as mean of its trials: 1 where all are broken, below 0 where it helps."""
        return float(np.mean([one.lost for one in self.tried]))

    @property
    def discordant(self) -> bool:
        """Whether policies differ in their success under it."""
        outcomes: dict[str, list[bool]] = {}
        for one in self.tried:
            outcomes.setdefault(one.policy, []).append(one.modified)
        return len({float(np.mean(own)) for own in outcomes.values()}) > 1


@dataclass(frozen=True)
class Shift:
    """The shift of a policy by one perturbation, or by what comes before in chains.

    Attributes:
        policy: its name.
        perturbation: the perturbation's name, or ``chain``.
        symbol: the paper's symbol of it; else the name.
        skills: one a skill, in the order of their names.
        numbers: those over skills.
        pooled: RPD of the mean rates, and its test.
        difficulty: whether the harder skills are harmed more.
        independent: whether the pairs of each skill are independent of each other. If not, the null expectations and
            Fisher's tests of ``numbers`` do not hold, nor does the test of ``difficulty``.
        kinds: one a kind of modification, in the order of their names; empty for chains.
    """

    policy: str
    perturbation: str
    symbol: str
    skills: tuple[SkillShift, ...]
    numbers: ObservationShift
    pooled: PooledShift
    difficulty: Difficulty
    independent: bool
    kinds: tuple[KindShift, ...]


@dataclass(frozen=True)
class Step:
    """A skill of a run of a chain.

    Attributes:
        skill: its name.
        base_id: its test instance.
        index: position in the session of its trial in the chain; None if it was not reached.
        success: the outcome of that trial; None without one.
        reason: why it was not run, in words; empty if it was.
    """

    skill: str
    base_id: str
    index: int | None
    success: bool | None
    reason: str = ""


@dataclass(frozen=True)
class ChainRun:
    """One run of a chain: a test instance's skills one after the other.

    Attributes:
        cluster: name of the chain: its first test instance.
        repeat: number of the repeat, from 0.
        steps: its skills in order; what follows a failure was not reached.
    """

    cluster: str
    repeat: int
    steps: tuple[Step, ...]

    @property
    def skills(self) -> tuple[str, ...]:
        """Names of its skills."""
        return tuple(step.skill for step in self.steps)

    @property
    def level(self) -> int:
        """Number of the skills that were done, one after the other from the first on."""
        return next((number for number, step in enumerate(self.steps) if not step.success), len(self.steps))


@dataclass(frozen=True)
class ChainRow:
    """A chain of skills, or all of them.

    Attributes:
        skills: names of its skills; empty for all chains together.
        runs: number of runs.
        chains: test chains among them: what is independent.
        alone: the rate of each of its skills in its own scenes, over all chains that have the skill; None without a
            trial. Empty for all together.
        levels: share of the runs that did the first skill, the first two, and so on.
        shift: the share that was done to the end beside the product of ``alone``.
    """

    skills: tuple[str, ...]
    runs: int
    chains: int
    alone: tuple[float | None, ...]
    levels: tuple[Estimate, ...]
    shift: ChainShift


@dataclass(frozen=True)
class Chains:
    """The chains of a policy.

    Attributes:
        policy: its name.
        rows: one a chain of skills, in the order in which they were begun.
        all: all of them together, weighted by their runs.
        runs: the runs themselves.
        incomplete: number of runs that a void trial or the end of the session cut off; they are in no number.
        step_limit: control steps after which a skill ended; None if unknown. DUBR depends on it.
    """

    policy: str
    rows: tuple[ChainRow, ...]
    all: ChainRow
    runs: tuple[ChainRun, ...]
    incomplete: int
    step_limit: int | None


@dataclass(frozen=True)
class Shifts:
    """What a run says of observation-space shift.

    Attributes:
        shifts: one a policy and perturbation.
        chains: one a policy with complete runs of chains.
    """

    shifts: tuple[Shift, ...]
    chains: tuple[Chains, ...]


def shifts_of(results: Results) -> Shifts | None:
    """Return the shifts of a run; None if it has neither modifications nor chains."""
    if not results.has_shifts:
        return None
    symbols = {row.perturbation: row.symbol for row in results.summary.rows}
    shifts, chains = [], []
    for policy in results.summary.policies:
        trials = results.trials.filter(pl.col("counts") & (pl.col("policy") == policy))
        for name in shifting(trials):
            pairs = pairs_of(trials, name)
            if len(pairs):
                shifts.append(shift_of(policy, name, symbols.get(name, name), pairs))
        if (found := _chains(results, policy, trials)) is not None:
            chains.append(found)
    return Shifts(tuple(shifts), tuple(chains)) if shifts or chains else None


def shifting(trials: pl.DataFrame) -> tuple[str, ...]:
    """Return the perturbations of a table that modify scenes, and ``chain``, in the order of their trials."""
    names = trials.filter(is_modified(trials) | (pl.col("perturbation") == CHAIN))["perturbation"]
    return tuple(names.unique(maintain_order=True))


def pairs_of(trials: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return the pairs of one policy's trials that count: those of a perturbation, and their base trials.

    Its columns are those of the table, ``success_of_base``, ``index_of_base``, and ``skill``.
    """
    base = trials.filter(pl.col("perturbation") == BASE).select("base_id", "repeat", "success", "index")
    own = trials.filter(pl.col("perturbation") == name).with_columns(skill=_skill())
    return own.join(base, on=("base_id", "repeat"), suffix="_of_base").sort("skill", "index", maintain_order=True)


def _skill() -> pl.Expr:
    return pl.when(pl.col("problem") == "").then("family").otherwise("problem")


def pooled_of(pairs: pl.DataFrame) -> PooledShift:
    """Return the RPD of the mean rates over skills of ``pairs_of``, which has a row at least."""
    columns = ("success_of_base", "success", "skill", "cluster")
    return pooled_shift(*(pairs[name].to_numpy() for name in columns), draws())


def shift_of(policy: str, name: str, symbol: str, pairs: pl.DataFrame) -> Shift:
    """Return the shift of a policy by a perturbation, of a table of pairs as ``pairs_of`` returns it, not empty."""
    counted = pairs.group_by("skill", maintain_order=True).agg(
        pl.col("success_of_base", "success").sum(), pl.len(), pl.col("cluster").n_unique()
    )
    skills = []
    for row in counted.iter_rows(named=True):
        pair = Pair(int(row["success_of_base"]), int(row["success"]), row["len"])
        skills.append(SkillShift(row["skill"], pair, rpd(pair.original / pair.trials, pair.modified / pair.trials)))
    return Shift(
        policy,
        name,
        symbol,
        tuple(skills),
        observation_shift([one.pair for one in skills]),
        pooled_of(pairs),
        difficulty([one.pair for one in skills], draws()),
        (counted["len"] == counted["cluster"]).all(),
        tuple(_kinds(pairs)) if name != CHAIN else (),
    )


def _kinds(pairs: pl.DataFrame) -> Iterator[KindShift]:
    kinds = pl.Series([_kind(proof) for proof in pairs["proof"]], dtype=pl.String)
    pairs = pairs.with_columns(kind=kinds).filter(pl.col("kind") != "")
    for (kind,), own in pairs.sort("kind", maintain_order=True).group_by("kind", maintain_order=True):
        yield KindShift(str(kind), len(own), pooled_of(own))


def kind_of(measures: Mapping[str, float]) -> str:
    """Return the kind of the modifications that a proof's measures count: one of ``KINDS``.

    ``SEVERAL`` if they are of different kinds; empty if the proof counts none of these kinds.
    """
    kinds = [kind for kind in KINDS if measures.get(kind)]
    return SEVERAL if len(kinds) > 1 else next(iter(kinds), "")


def _kind(proof: str) -> str:
    return kind_of(json.loads(proof)) if proof else ""


def modifications_of(trials: Mapping[str, pl.DataFrame]) -> tuple[Modification, ...]:
    """Return the modifications of scenes, in the order in which they were tried first.

    Trials of one test instance and perturbation in which the same was modified are of one modification, whatever
    their policy and repeat.

    Args:
        trials: policy, or label of a run -> its trials that count.
    """
    rows: dict[tuple[str, str, str], list[tuple[str, dict[str, Any]]]] = {}
    for policy, own in trials.items():
        for name in shifting(own):
            if name != CHAIN:
                for row in pairs_of(own, name).sort("index").iter_rows(named=True):
                    rows.setdefault((row["base_id"], name, _modified(row["note"])), []).append((policy, row))
    return tuple(_modification(*key, own) for key, own in rows.items())


def _modification(
    base_id: str, perturbation: str, note: str, rows: Sequence[tuple[str, Mapping[str, Any]]]
) -> Modification:
    _, first = rows[0]
    tried = tuple(
        Tried(
            policy=policy,
            repeat=row["repeat"],
            base_index=row["index_of_base"],
            index=row["index"],
            alone=row["success_of_base"] == 1.0,
            modified=row["success"] == 1.0,
        )
        for policy, row in rows
    )
    return Modification(first["skill"], base_id, perturbation, _kind(first["proof"]), note, tried)


def _modified(note: str) -> str:
    """Return what a trial's note says of its modifications, without why the scene was set up anew."""
    return note.partition("; ")[0]


def _chains(results: Results, policy: str, trials: pl.DataFrame) -> Chains | None:
    """Return the chains of a policy; None without a complete run of one."""
    runs, incomplete = _runs(results, policy, trials)
    if not runs:
        return None
    skills = {skill: number for number, skill in enumerate(dict.fromkeys(s for run in runs for s in run.skills))}
    names = {chain: number for number, chain in enumerate(dict.fromkeys(run.skills for run in runs))}
    there = {(step.base_id, run.repeat): run for run in runs for step in run.steps}
    alone = [
        (success, skills[skill], there[base_id, repeat].cluster)
        for base_id, repeat, skill, success in trials.filter(pl.col("perturbation") == BASE)
        .select("base_id", "repeat", _skill(), "success")
        .iter_rows()
        if (base_id, repeat) in there
    ]
    done = [(run.level == len(run.steps), names[run.skills], run.cluster) for run in runs]
    each, every = chain_shifts(
        tuple(zip(*alone, strict=True)),
        tuple(zip(*done, strict=True)),
        [[skills[skill] for skill in chain] for chain in names],
        draws(),
    )
    rates = {
        skill: float(np.mean(own))
        for skill, number in skills.items()
        if (own := [success for success, one, _ in alone if one == number])
    }
    rows = tuple(
        _chain_row(chain, [run for run in runs if run.skills == chain], rates, shift)
        for chain, shift in zip(names, each, strict=True)
    )
    limit = results.record.recorded.step_limit
    return Chains(policy, rows, _chain_row((), runs, rates, every), tuple(runs), incomplete, limit)


def _chain_row(
    chain: tuple[str, ...], runs: Sequence[ChainRun], rates: Mapping[str, float], shift: ChainShift
) -> ChainRow:
    clusters = [run.cluster for run in runs]
    # Where chains are of different lengths, a level is one of the chains that have it.
    levels = [
        cluster_mean(*zip(*((run.level > number, run.cluster) for run in runs if len(run.steps) > number), strict=True))
        for number in range(max(len(run.steps) for run in runs))
    ]
    alone = tuple(rates.get(skill) for skill in chain)
    return ChainRow(chain, len(runs), len(set(clusters)), alone, tuple(levels), shift)


def _runs(results: Results, policy: str, trials: pl.DataFrame) -> tuple[list[ChainRun], int]:
    """Return the complete runs of chains of a policy in the order of the session, and the number of the others."""
    rows = {
        (row["base_id"], row["perturbation"], row["repeat"]): row
        for row in trials.filter(pl.col("perturbation").is_in([BASE, CHAIN])).iter_rows(named=True)
    }
    # Their place in a chain is known, and they do not count.
    void = set(results.trials.filter(~pl.col("counts")).select("base_id", "perturbation", "repeat").iter_rows())
    reasons = {
        skip.base_id: skip.reason for by, skip in results.record.skips if by == policy and skip.perturbation == CHAIN
    }
    found, incomplete = [], 0
    for chain in chains_of(tuple(results.record.instances.values())):
        if len(chain) < 2:
            continue
        for repeat in sorted({number for base_id, _, number in rows if base_id == chain[0].instance_id}):
            steps: list[Step] = []
            for instance in chain:
                name, skill = instance.instance_id, instance.problem or instance.instruction.family
                row = rows.get((name, CHAIN, repeat))
                if row is None and not steps:
                    # The base trial of the first skill is also its first in the chain, unless steps are pooled.
                    row = rows.get((name, BASE, repeat))
                if steps and not steps[-1].success:
                    steps.append(Step(skill, name, None, None, reasons.get(name, "")))
                elif row is not None:
                    steps.append(Step(skill, name, row["index"], bool(row["success"])))
                elif name in reasons and (name, CHAIN, repeat) not in void:
                    steps.append(Step(skill, name, None, False, reasons[name]))
                else:
                    break
            if len(steps) == len(chain):
                found.append(ChainRun(chain[0].instance_id, repeat, tuple(steps)))
            else:
                incomplete += 1
    first = {run: run.steps[0].index for run in found}
    return sorted(found, key=first.__getitem__), incomplete
