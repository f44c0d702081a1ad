"""Does a policy understand its instruction and its view? The check of seed 004, section III and figure 1.

A policy that understands is robust to *plausible* input, and drops in performance if the input is *unrealistic*.
The paper infers that from two averages. Here each perturbation is compared with the same instances' own base trials, as
a paired difference, and a verdict follows from two tests alone: whether it harms, and whether it takes less than a
margin (``statistics.equivalence``). Test instances are taken as independent, not their trials.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl

from robocontrast_ros.analysis.data.levels import levels_of
from robocontrast_ros.analysis.estimates.results import Results
from robocontrast_ros.analysis.estimates.scores import draws, pairs_with_base
from robocontrast_ros.configuration import ConfigurationError, load_plugin, plugin_names
from robocontrast_ros.domain import BASE, Expectation, PerturbationSpec
from robocontrast_ros.perturbations.loading import load_perturbation
from robocontrast_ros.perturbations.protocol import spec_of
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.statistics.clusters import cluster_mean, paired_difference
from robocontrast_ros.statistics.equivalence import Equivalence, equivalence, harm
from robocontrast_ros.statistics.estimate import NO_ESTIMATE, Estimate
from robocontrast_ros.statistics.multiplicity import holm
from robocontrast_ros.statistics.unpaired import unpaired_difference
from robocontrast_ros.tasks.levels import Level

MARGIN = 0.15
"""A loss of the share of successes that is smaller does not matter; ours, because the paper has none."""

LEVEL = 0.05
"""A verdict needs an adjusted p-value below it."""

WRONG_INSTRUCTION = "wrong_instruction"
"""The perturbation that measures chance."""

TOLD_AND_SHOWN = frozenset("LO")
"""Axes of a perturbation of the policy's input alone (instruction, observation): the scene is the base trial's."""

WITHOUT_MISTAKES = "success_without_mistakes"
"""The score of success without mistakes."""


class Verdict(str, Enum):
    """The verdict on a policy under a perturbation."""

    ROBUST = "robust"
    BRITTLE = "brittle"
    SOUND = "sound"
    WITHOUT_UNDERSTANDING = "acts without understanding"
    UNDECIDED = "undecided"
    NO_SKILL = "no skill"
    NO_EXPECTATION = "no expectation"
    SAME_AS_BASE = "same as base"


MEANINGS: Mapping[Verdict, str] = {
    Verdict.ROBUST: "plausible, and shown to be harmless",
    Verdict.BRITTLE: "plausible, and shown to harm",
    Verdict.SOUND: "implausible, and shown to harm",
    Verdict.WITHOUT_UNDERSTANDING: "implausible, and shown to be harmless: it succeeds all the same",
    Verdict.UNDECIDED: "neither is shown",
    Verdict.NO_SKILL: "base success is not shown to be above chance, so nothing can be concluded",
    Verdict.NO_EXPECTATION: "nobody can say what a sound policy does",
    Verdict.SAME_AS_BASE: "what the policy received is what it received in the base trials: nothing was perturbed",
}
"""Verdict -> its meaning, in the order of the figures."""


class ChanceBy(str, Enum):
    """The measurement of success without understanding."""

    CONTROL = "control run"
    WRONG = WRONG_INSTRUCTION
    NOTHING = "not measured"


@dataclass(frozen=True)
class Chance:
    """Success that needs no understanding.

    Attributes:
        by: its measurement.
        measured: the share of successes in it; empty if it was not measured.
        counted: the value that base success is compared with: 0 if it was not measured, and of ``wrong_instruction`` no
            more than the margin. A policy that ignores words succeeds there as ever, and the check has to find it.
    """

    by: ChanceBy
    measured: Estimate
    counted: Estimate


@dataclass(frozen=True)
class Retest:
    """Base trials of the same instance, run again with another seed of the policy: the reference of every difference.

    Attributes:
        pairs: number of pairs of repeats of an instance.
        instances: test instances among them.
        changed: mean absolute difference of success: the share of pairs whose outcomes differ.
        difference: mean of the later repeat minus the earlier.
    """

    pairs: int
    instances: int
    changed: Estimate
    difference: Estimate


@dataclass(frozen=True)
class UnderstandingRow:
    """A perturbation of a policy, or several with the same input to it.

    Attributes:
        names: the perturbations; more than one if the policy received the same under all of them, with ``base`` first
            if it also received that in the base trials.
        symbols: the paper's symbols of them, in the same order.
        spec: axes, plausibility and expectation; of several, those of the first, without expectation if that differs.
        trials: number of perturbed trials that count.
        base: success of the same instances' base trials.
        perturbed: success of the perturbed trials.
        change: perturbed minus base, instance by instance (repeats averaged), and whether it is less than the margin.
        p_harm: p-value of the hypothesis that the change is 0 or more.
        p_harm_adjusted: by Holm's procedure over the perturbations of the policy; None if it is the only one.
        p_harmless_adjusted: the same of ``change.p_not_worse``.
        p_same_adjusted: the same of ``change.p_value``, of both one-sided tests together.
        verdict: the verdict that follows.
    """

    names: tuple[str, ...]
    symbols: tuple[str, ...]
    spec: PerturbationSpec
    trials: int
    base: Estimate
    perturbed: Estimate
    change: Equivalence
    p_harm: float | None
    p_harm_adjusted: float | None = None
    p_harmless_adjusted: float | None = None
    p_same_adjusted: float | None = None
    verdict: Verdict = Verdict.UNDECIDED

    @property
    def name(self) -> str:
        """The names, joined by an equals sign."""
        return " = ".join(self.names)

    @property
    def symbol(self) -> str:
        """The symbols, joined by an equals sign."""
        return " = ".join(self.symbols)

    @property
    def tested(self) -> bool:
        """Whether the verdict depends on tests."""
        return self.verdict not in (Verdict.NO_EXPECTATION, Verdict.SAME_AS_BASE)


@dataclass(frozen=True)
class Cell:
    """Success of a policy at one level under one condition.

    Attributes:
        level: level of generalisation, L1 to L4; the task if it is unknown.
        name: name of the condition: ``base``, or the perturbation.
        symbol: the paper's symbol of it.
        trials: number of trials that count.
        instances: test instances among them.
        success: share of the trials that succeeded.
        without_mistakes: share that succeeded without a mistake before; empty if that is unknown of a success.
    """

    level: str
    name: str
    symbol: str
    trials: int
    instances: int
    success: Estimate
    without_mistakes: Estimate


@dataclass(frozen=True)
class Check:
    """The check of one policy.

    Attributes:
        policy: its name.
        level: levels of generalisation, L1 to L4, of its test instances, joined by commas; the task if unknown.
        base: success of all base trials.
        base_trials: their number.
        instances: test instances among them.
        chance: success without understanding.
        skill: base success minus ``chance.counted``.
        retest: test-retest of its base trials; None if no instance was repeated.
        rows: its perturbations, in the order of the session.
        left_out: perturbations without a description: the journal is older, and none of that name is installed.
        cells: success at each level under each condition, in the order of the session.
    """

    policy: str
    level: str
    base: Estimate
    base_trials: int
    instances: int
    chance: Chance
    skill: Estimate
    retest: Retest | None
    rows: tuple[UnderstandingRow, ...]
    left_out: tuple[str, ...]
    cells: tuple[Cell, ...]

    @property
    def flagged(self) -> tuple[UnderstandingRow, ...]:
        """The perturbations under which it succeeds although it should fail."""
        return tuple(row for row in self.rows if row.verdict is Verdict.WITHOUT_UNDERSTANDING)

    def row(self, name: str) -> UnderstandingRow | None:
        """Return the row of a perturbation; None if there is none."""
        return next((row for row in self.rows if name in row.names), None)


@dataclass(frozen=True)
class Understanding:
    """The check of each policy of some runs.

    Attributes:
        margin: largest loss of the share of successes that does not matter.
        checks: one a run and policy; one a policy if runs are pooled.
        no_mistakes: whether success without mistakes is also shown.
    """

    margin: float
    checks: tuple[Check, ...]
    no_mistakes: bool = False


def understanding_of(
    runs: Sequence[Results],
    margin: float = MARGIN,
    control: Sequence[Results] = (),
    *,
    pooled: bool = False,
    no_mistakes: bool = False,
) -> Understanding | None:
    """Return the check of each policy of some runs; None if no perturbation changes the policy's input alone.

    A policy that no file of config/levels/ names, such as an oracle, is given the levels of the other policies, on
    the tasks that these were run on, if they were all trained on the same.

    Args:
        runs: different runs.
        margin: largest loss of the share of successes that does not matter, in (0, 1).
        control: runs of the random policy, whose base trials measure chance; without them, ``wrong_instruction`` of
            each check does.
        pooled: whether the runs of a policy are one check: its test instances are those of all of them. Else each run
            is one; of two runs of a policy that share a level, the run is part of the policy's name.
        no_mistakes: whether success without mistakes is also shown.

    Raises:
        ValueError: the margin is out of bounds.
    """
    parts = _parts(runs)
    groups: dict[str, list[_Part]] = defaultdict(list)
    for part in parts:
        groups[part.policy if pooled else _name_alone(part, parts)].append(part)
    checks = tuple(
        _check(policy, joined, margin, control)
        for policy, own in groups.items()
        for joined in ([own] if pooled else [[part] for part in own])
    )
    if not any(_only_told_or_shown(row.spec) for check in checks for row in check.rows):
        return None
    return Understanding(margin, checks, no_mistakes)


def specs_of(results: Results) -> Mapping[str, PerturbationSpec]:
    """Return name -> description of each perturbation of a run.

    If its journal has no descriptions, those of the installed perturbations with the same names are taken.
    """
    if results.record.started.perturbations:
        return results.record.started.perturbations
    found: dict[str, PerturbationSpec] = {}
    for entry in (*results.record.recorded.perturbations, *results.trials["perturbation"].unique(maintain_order=True)):
        # A perturbation of another package may lack an attribute that this version needs.
        try:
            one = load_perturbation(entry, "journal", "perturbations")
            found.setdefault(one.name, spec_of(one))
        except (ConfigurationError, AttributeError):
            continue
    return found


def verdict_of(expectation: Expectation, *, harmful: bool, harmless: bool) -> Verdict:
    """Return the verdict of a policy that has skill.

    Args:
        expectation: the answer of a sound policy.
        harmful: whether the perturbation was shown to harm.
        harmless: whether it was shown to take less than the margin; this counts even if a harm was shown.
    """
    if expectation is Expectation.UNKNOWN:
        return Verdict.NO_EXPECTATION
    should_fail = expectation is Expectation.SHOULD_FAIL
    if harmless:
        return Verdict.WITHOUT_UNDERSTANDING if should_fail else Verdict.ROBUST
    if harmful:
        return Verdict.SOUND if should_fail else Verdict.BRITTLE
    return Verdict.UNDECIDED


@dataclass(frozen=True)
class _Part:
    """The trials of a policy in a run.

    Attributes:
        policy: its name.
        run: the run.
        task: name of its task.
        trials: those that count; ``base_id`` is an instance's name among those of all runs, ``level`` is never empty.
    """

    policy: str
    run: Results
    task: str
    trials: pl.DataFrame


def _parts(runs: Sequence[Results]) -> list[_Part]:
    parts = []
    for number, run in enumerate(runs):
        counting = _counting(run, number)
        parts += [
            _Part(policy, run, Path(run.record.recorded.task).stem, counting.filter(pl.col("policy") == policy))
            for policy in counting["policy"].unique(maintain_order=True)
        ]
    trained = {levels.name: levels for part in parts if (levels := part.run.trained.get(part.policy))}
    tasks = {part.task for part in parts if part.policy in part.run.trained}
    for number, part in enumerate(parts):
        found: Mapping[str, str] = {}
        if part.policy not in part.run.trained and len(trained) == 1 and part.task in tasks:
            (levels,) = trained.values()
            found = levels_of(RunFolder(part.run.run), part.run.record.instances, levels)
        own = pl.col("instance").replace_strict(found, default=None, return_dtype=pl.String)
        level = pl.coalesce("level", own, pl.lit(part.task))
        parts[number] = replace(part, trials=part.trials.with_columns(level=level))
    return parts


def _counting(run: Results, number: int) -> pl.DataFrame:
    """Return the trials of a run that count; ``base_id`` is unique among runs, ``instance`` has the instance's name."""
    own = pl.concat_str(pl.lit(f"{number} "), "base_id")
    cluster = pl.concat_str(pl.lit(f"{number} "), "cluster")
    return run.trials.filter("counts").with_columns(instance="base_id", base_id=own, cluster=cluster)


def _name_alone(part: _Part, parts: Sequence[_Part]) -> str:
    """Return the policy's name, with the run's if another run of it shares a level."""
    levels = set(part.trials["level"])
    others = (other for other in parts if other is not part and other.policy == part.policy)
    if not any(levels & set(other.trials["level"]) for other in others):
        return part.policy
    folder = part.run.run
    alike = {other.run.run for other in parts if other.run.run.name == folder.name}
    return f"{part.policy} ({folder.name if len(alike) < 2 else folder})"


def _check(policy: str, parts: Sequence[_Part], margin: float, control: Sequence[Results]) -> Check:
    """Return the check of a policy in one run, or in several as if they were one."""
    specs: dict[str, PerturbationSpec] = {}
    symbols: dict[str, str] = {}
    for part in parts:
        specs = dict(specs_of(part.run)) | specs
        own = {row.perturbation: row.symbol for row in part.run.summary.rows if row.policy == part.policy}
        symbols |= {name: symbol for name, symbol in own.items() if name not in symbols}
    trials = pl.concat([part.trials for part in parts], how="diagonal_relaxed")
    base = trials.filter(pl.col("perturbation") == BASE)
    there = set(trials["perturbation"])
    run = [name for name in symbols if name in there and name != BASE]
    chance = _chance(trials, margin, control)
    skill = unpaired_difference(_success(base), chance.counted)
    rows = (_row(trials, names, specs, symbols, margin) for names in _alike(trials, run, specs))
    levels = sorted(trials["level"].unique(maintain_order=True), key=level_place)
    return Check(
        policy or "policy",
        ", ".join(levels),
        _success(base),
        len(base),
        base["base_id"].n_unique(),
        chance,
        skill,
        _retest(base),
        _judged(rows, skill, margin),
        tuple(name for name in run if name not in specs),
        tuple(
            _cell(chosen, level, name, symbols.get(name, name))
            for level in levels
            for name in (BASE, *(name for name in run if name in specs))
            if len(chosen := trials.filter((pl.col("level") == level) & (pl.col("perturbation") == name)))
        ),
    )


def level_place(level: str) -> int:
    """Return the place of a level among levels: L1 to L4 are before tasks."""
    known = [one.value for one in Level]
    return known.index(level) if level in known else len(known)


def _cell(trials: pl.DataFrame, level: str, name: str, symbol: str) -> Cell:
    # A failure counts as one, whether or not its mistakes are known.
    without = pl.col(WITHOUT_MISTAKES) if WITHOUT_MISTAKES in trials.columns else pl.lit(None)
    known = trials.with_columns(success=pl.when(pl.col("success") == 0.0).then(0.0).otherwise(without))
    return Cell(
        level,
        name,
        symbol,
        len(trials),
        trials["base_id"].n_unique(),
        _success(trials),
        NO_ESTIMATE if known["success"].null_count() else _success(known),
    )


def _success(trials: pl.DataFrame) -> Estimate:
    return cluster_mean(trials["success"].to_numpy(), trials["cluster"].to_numpy())


def _chance(trials: pl.DataFrame, margin: float, control: Sequence[Results]) -> Chance:
    if control:
        beside = pl.concat([_counting(run, number) for number, run in enumerate(control)], how="diagonal_relaxed")
        found = _success(beside.filter(pl.col("perturbation") == BASE))
        return Chance(ChanceBy.CONTROL, found, found)
    found = _success(trials.filter(pl.col("perturbation") == WRONG_INSTRUCTION))
    if found.mean is None:
        return Chance(ChanceBy.NOTHING, NO_ESTIMATE, Estimate(0.0, 0.0, 0.0))
    counted = found if found.mean <= margin else Estimate(margin, margin, margin)
    return Chance(ChanceBy.WRONG, found, counted)


def _retest(base: pl.DataFrame) -> Retest | None:
    earlier, later, instances, clusters = [], [], [], []
    for (instance,), repeats in base.sort("base_id", "repeat").group_by("base_id", maintain_order=True):
        for first, second in combinations(repeats["success"].to_list(), 2):
            earlier.append(first)
            later.append(second)
            instances.append(instance)
            clusters.append(repeats["cluster"][0])
    if not instances:
        return None
    changed = cluster_mean(np.abs(np.subtract(later, earlier)), clusters)
    return Retest(len(instances), len(set(instances)), changed, paired_difference(later, earlier, clusters))


def _alike(
    trials: pl.DataFrame, names: Sequence[str], specs: Mapping[str, PerturbationSpec]
) -> Iterable[tuple[str, ...]]:
    """Return the names of each row: those under which the policy received the same in all trials are in one.

    If the policy does not report its instruction, the one that was sent is taken. Filters of images alone are left out
    for a policy that received no image.
    """
    no_images = (pl.col("image_digest") == "") & pl.col("observed_instruction").is_not_null()
    without_effect = no_images & pl.col("filters").is_in(_of_images_alone(trials["filters"].unique()))
    filters = pl.when(without_effect).then(pl.lit("")).otherwise(pl.col("filters")).alias("filters")
    received = {
        name: frozenset(
            trials.filter(pl.col("perturbation") == name)
            .select("base_id", "repeat", pl.coalesce("observed_instruction", "instruction"), "segments_digest", filters)
            .rows()
        )
        for name in (BASE, *names)
        if name == BASE or (name in specs and _only_told_or_shown(specs[name]))
    }
    rows: dict[object, list[str]] = defaultdict(list)
    for name in names:
        if name in specs:
            own = received.get(name, name)
            as_base = isinstance(own, frozenset) and own <= received[BASE]
            rows[BASE if as_base else own].append(name)
    return ((BASE, *found) if key == BASE else tuple(found) for key, found in rows.items())


def _of_images_alone(filters: Iterable[str]) -> list[str]:
    """Return the texts of the column ``filters`` in which each filter changes images and nothing else."""
    known = {
        name
        for name in plugin_names("observation_filters")
        if load_plugin("observation_filters", name, "trials", "filters").of_images
    }
    return [text for text in filters if text and all(part.split()[0] in known for part in text.split(", "))]


def _only_told_or_shown(spec: PerturbationSpec) -> bool:
    return bool(spec.axes) and TOLD_AND_SHOWN.issuperset(spec.axes)


def _row(
    trials: pl.DataFrame,
    names: tuple[str, ...],
    specs: Mapping[str, PerturbationSpec],
    symbols: Mapping[str, str],
    margin: float,
) -> UnderstandingRow:
    """Return a row without adjusted p-values, and without a verdict that needs tests."""
    perturbed = trials.filter(pl.col("perturbation").is_in(names) & (pl.col("perturbation") != BASE))
    base = trials.filter((pl.col("perturbation") == BASE) & pl.col("base_id").is_in(perturbed["base_id"].implode()))
    pairs = pairs_with_base(perturbed, base, "success")
    a, b, clusters = (pairs[column].to_numpy() for column in ("success", "success_of_base", "cluster"))
    first, *others = (specs[name] for name in names if name != BASE)
    differ = any(other.expectation is not first.expectation for other in others)
    spec = replace(first, expectation=Expectation.UNKNOWN) if differ else first
    verdict = Verdict.UNDECIDED
    if spec.expectation is Expectation.UNKNOWN:
        verdict = Verdict.NO_EXPECTATION
    if names[0] == BASE:
        verdict = Verdict.SAME_AS_BASE
    return UnderstandingRow(
        names,
        tuple(symbols.get(name, name) for name in names),
        spec,
        len(perturbed),
        _success(base),
        _success(perturbed),
        equivalence(a, b, clusters, margin=margin),
        harm(a, b, clusters, draws()),
        verdict=verdict,
    )


def _judged(rows: Iterable[UnderstandingRow], skill: Estimate, margin: float) -> tuple[UnderstandingRow, ...]:
    """Return the rows with adjusted p-values and verdicts.

    The tests of one kind of all perturbations of the policy are a family, as everywhere in this package.
    """
    found = tuple(rows)
    tested = [row for row in found if row.tested]
    families = (
        holm([row.p_harm for row in tested]),
        holm([row.change.p_not_worse for row in tested]),
        holm([row.change.p_value for row in tested]),
    )
    judged = {}
    for row, harms, harmless, same in zip(tested, *families, strict=True):
        adjusted = replace(row, p_harm_adjusted=harms, p_harmless_adjusted=harmless, p_same_adjusted=same)
        judged[row.names] = replace(adjusted, verdict=_verdict(adjusted, skill, margin))
    return tuple(judged.get(row.names, row) for row in found)


def _verdict(row: UnderstandingRow, skill: Estimate, margin: float) -> Verdict:
    if skill.low is not None and skill.low <= 0.0:
        return Verdict.NO_SKILL
    # A policy that seldom succeeds cannot lose more than the margin.
    can_lose = skill.low is not None and skill.low > margin
    harmful = _rejects(row.p_harm_adjusted, row.p_harm)
    harmless = can_lose and _rejects(row.p_harmless_adjusted, row.change.p_not_worse)
    return verdict_of(row.spec.expectation, harmful=harmful, harmless=harmless)


def _rejects(adjusted: float | None, alone: float | None) -> bool:
    """Return whether a test rejects; the only one of its family needs no adjustment."""
    p = alone if adjusted is None else adjusted
    return p is not None and p < LEVEL
