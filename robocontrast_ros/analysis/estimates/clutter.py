"""Results of policies among distractors: the measures of seed 001 (sections III-B, IV and V), with 95 % intervals.

A trial is *cluttered* if its perturbation added distractors, and is no composition: its proof then has the measures
``distractors``, ``occlusion`` and ``dvfc`` (``tasks.protocol.Clutter``). Its *twins* are the base trials of the same
test instance: the same scene without distractors. Test instances are taken as independent, not their trials. A measure
whose scores a run does not have is left out for that run.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, permutations
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from robocontrast_ros.analysis.estimates.results import Results
from robocontrast_ros.analysis.estimates.scores import draws
from robocontrast_ros.domain import BASE
from robocontrast_ros.statistics.clusters import DIFFERENCES, UNIT, cluster_mean, paired_difference
from robocontrast_ros.statistics.estimate import NO_ESTIMATE, Estimate
from robocontrast_ros.statistics.slopes import cluster_slope

OCCLUDED = 0.01
"""A target counts as occluded if more than this share of it is hidden from the robot's view."""

OCCLUSION_EDGES = (OCCLUDED, 0.1, 0.2, 0.35, 0.5)
"""Upper ends of the bins by occlusion [share of the target]; greater values belong to the last bin."""

BINS = 8
"""Bins by DvFC, as in section IV-B."""

BINS_IN_SET_SIZE = 3
"""Bins by DvFC among the scenes of one set size."""

ALL, DVFC, SET_SIZE, OCCLUSION, FAMILY, DVFC_IN_SET_SIZE = (
    "all",
    "dvfc",
    "set_size",
    "occlusion",
    "family",
    "dvfc_in_set_size",
)
BY: Mapping[str, str] = {
    ALL: "all",
    DVFC: "DvFC bin",
    SET_SIZE: "set size",
    OCCLUSION: "occlusion",
    FAMILY: "skill",
    DVFC_IN_SET_SIZE: "DvFC within set size",
}
"""Grouping of trials -> its name in tables."""

KEY = ("base_id", "instance_id", "perturbation", "repeat", "instruction", "proof")
"""Columns that are the same in trials that started in the same scene with the same instruction."""

_SCORES = (
    *("success", "h_success", "touched_by_robot", "touched_by_carried", "grasped", "reached"),
    *("nearest_distance_m", "wrong_grasped", "wrong_moved", "steps"),
)
_PROOF = ("distractors", "occlusion", "dvfc")


@dataclass(frozen=True)
class Measure:
    """A row of the table of measures, which the tables, CSV files and figures follow.

    Attributes:
        name: its name in CSV files.
        symbol: its symbol in tables and figures.
        meaning: its meaning in words.
        values: its value in each trial; null in trials that are no part of it.
        bounds: its least and greatest value; None if it has no such ends.
        of_twins: whether it is over the twins of the cluttered trials.
        by_instances: whether each test instance counts once, however many trials it has.
    """

    name: str
    symbol: str
    meaning: str
    values: pl.Expr
    bounds: tuple[float, float] | None = UNIT
    of_twins: bool = False
    by_instances: bool = False


_SUCCESS, _HIDDEN = pl.col("success"), pl.col("occlusion") > OCCLUDED
_FAILED = _SUCCESS < 1.0
_BY_ROBOT, _BY_CARRIED = pl.col("touched_by_robot"), pl.col("touched_by_carried")
_REACHED, _GRASPED = pl.col("reached") > 0.0, pl.col("grasped") > 0.0
_STAGE_KNOWN = _REACHED.is_not_null() & _GRASPED.is_not_null()
_EFFORT = (pl.col("steps") / pl.col("step_limit")).clip(0.0, 1.0)
_STAGES: Mapping[str, tuple[str, pl.Expr]] = {
    "reach": ("the robot never reaches the target", ~_REACHED),
    "grasp": ("it reaches the target and never grasps it", _REACHED & ~_GRASPED),
    "after": ("it grasps the target, and the trial fails all the same", _REACHED & _GRASPED),
}
STAGES = tuple(_STAGES)
"""Stages at which a trial fails; exactly one applies to a failure (section IV-B)."""


def _only(where: pl.Expr, values: pl.Expr) -> pl.Expr:
    return pl.when(where).then(values)


MEASURES: Mapping[str, Measure] = {
    measure.name: measure
    for measure in (
        Measure("sr_base", "SR_base", "share of the twins that are solved", _SUCCESS, of_twins=True),
        Measure("sr", "SR", "share of trials that are solved; contacts are allowed", _SUCCESS),
        Measure(
            "difference_to_base",
            "difference to base",
            "mean, over test instances, of the success of the trials minus that of the instance's own twins",
            _SUCCESS - pl.col("base_success"),
            DIFFERENCES,
            by_instances=True,
        ),
        Measure(
            "sr_noocc",
            "SR_noocc",
            "share of all trials that are solved with the target not occluded; SR = SR_noocc + SR_occ",
            _only(_HIDDEN.is_not_null(), (_SUCCESS > 0.0) & ~_HIDDEN),
        ),
        Measure(
            "sr_occ",
            "SR_occ",
            "share of all trials that are solved with the target occluded",
            _only(_HIDDEN.is_not_null(), (_SUCCESS > 0.0) & _HIDDEN),
        ),
        Measure(
            "sr_if_noocc",
            "SR, if not occluded",
            "share of the trials without occlusion that are solved",
            _only(~_HIDDEN, _SUCCESS),
        ),
        Measure(
            "sr_if_occ",
            "SR, if occluded",
            "share of the trials with occlusion that are solved",
            _only(_HIDDEN, _SUCCESS),
        ),
        Measure(
            "h_sr", "h-SR", "share of trials that are solved without a contact with a distractor", pl.col("h_success")
        ),
        Measure(
            "cr",
            "CR",
            "share of trials in which the robot or what it carries touches a distractor",
            (_BY_ROBOT + _BY_CARRIED) > 0.0,
        ),
        Measure("cr_robot", "CR, robot", "the same of the robot alone", _BY_ROBOT > 0.0),
        Measure("cr_carried", "CR, carried", "the same of what it carries alone", _BY_CARRIED > 0.0),
        Measure("gfr", "GFR", "share of trials in which the target is never grasped", ~_GRASPED),
        Measure("er", "ER", "control steps over the step limit, in all trials", _EFFORT),
        Measure(
            "er_solved",
            "ER, if solved",
            "control steps over the step limit, in the trials that are solved",
            _only(~_FAILED, _EFFORT),
        ),
        *(
            Measure(
                f"fail_{name}",
                f"fail: {name}",
                f"share of trials that fail because {words}",
                _only(_STAGE_KNOWN, _FAILED & stage),
            )
            for name, (words, stage) in _STAGES.items()
        ),
        *(
            Measure(
                f"{name}_of_failures",
                f"{name}, of failures",
                f"share of the failures in which {words}",
                _only(_STAGE_KNOWN & _FAILED, stage),
            )
            for name, (words, stage) in _STAGES.items()
        ),
        Measure(
            "nearest_m",
            "nearest [m]",
            "smallest distance between tool and target, in the trials that fail to reach it [m]",
            _only(_FAILED & ~_REACHED, pl.col("nearest_distance_m")),
            None,
        ),
        Measure(
            "wrong_grasped",
            "wrong grasped",
            "share of trials in which an object other than the target is grasped",
            pl.col("wrong_grasped") > 0.0,
        ),
        Measure(
            "wrong_moved",
            "wrong moved",
            "share of trials in which an object other than the target is moved",
            pl.col("wrong_moved") > 0.0,
        ),
    )
}
"""Name -> measure, in the order of tables."""

TABLE_I = ("sr_base", "sr", "sr_noocc", "sr_occ", "h_sr", "cr", "gfr", "er")
"""Columns of the paper's table I."""

TABLE_II = ("sr", "h_sr", "cr", "gfr")
"""Columns of the paper's table II."""


@dataclass(frozen=True)
class ClutterRow:
    """The measures of one policy over one group of trials.

    Attributes:
        policy: name of the policy.
        by: grouping of the trials, a key of ``BY``.
        group: name of the group.
        place: its place on a figure's axis: mean DvFC, number of distractors, or mean occlusion; None if it has none.
        trials: number of trials in the group.
        instances: test instances among them.
        measures: name -> estimate; measures without a value in the group are left out.
        numbers: name -> number of trials, or of test instances, that the estimate is over.
    """

    policy: str
    by: str
    group: str
    place: float | None
    trials: int
    instances: int
    measures: Mapping[str, Estimate]
    numbers: Mapping[str, int]

    def of(self, name: str) -> Estimate:
        """Return the estimate of a measure; an empty one if there is none."""
        return self.measures.get(name, NO_ESTIMATE)


@dataclass(frozen=True)
class Trend:
    """The slope of success with DvFC (section IV-B, figure 7).

    Attributes:
        policy: name of the policy.
        slope: change of the share of successes, a unit of DvFC.
        slope_in_set_size: the same with DvFC and success centred among the trials of the same number of distractors.
        trials: number of cluttered trials.
        instances: test instances among them.
    """

    policy: str
    slope: Estimate
    slope_in_set_size: Estimate
    trials: int
    instances: int


@dataclass(frozen=True)
class Shared:
    """The share of a policy's successes that another one also has (section IV-B, figure 4).

    Attributes:
        policy: the policy that has the successes.
        other: the other policy.
        solved: number of cluttered trials that both ran and ``policy`` solved.
        share: share of these that ``other`` solved.
    """

    policy: str
    other: str
    solved: int
    share: Estimate


@dataclass(frozen=True)
class SceneAgreement:
    """The overlap of the scenes that policies solve (section IV-B, figure 4).

    Attributes:
        pairs: each policy with each other one that ran some of the same trials.
        trials: number of cluttered trials that all policies ran.
        union: share of them that at least one policy solved.
        solved_by: policies that solved a trial, none included -> number of such trials, the largest first.
    """

    pairs: tuple[Shared, ...]
    trials: int
    union: Estimate
    solved_by: Mapping[tuple[str, ...], int]


@dataclass(frozen=True)
class PolicyChange:
    """Two policies over the same cluttered trials (section V, table II): before and after a change.

    Attributes:
        first: the policy before.
        second: the policy after.
        trials: number of trials that both ran.
        measures: name -> mean of the first, mean of the second, and mean of second minus first, trial by trial.
    """

    first: str
    second: str
    trials: int
    measures: Mapping[str, tuple[Estimate, Estimate, Estimate]]


@dataclass(frozen=True)
class Clutter:
    """All estimates of cluttered trials.

    Attributes:
        policies: in the order of the runs.
        rows: by group, then by policy.
        trends: one a policy.
        agreement: overlap of the policies' successes; None if no two policies ran the same trial.
        changes: the first policy with each other that ran some of the same trials.
        trials: cluttered trials and their twins, with the columns that the measures use, and ``policy``, ``run``,
            ``index`` and ``cluttered``.
    """

    policies: tuple[str, ...]
    rows: tuple[ClutterRow, ...]
    trends: tuple[Trend, ...]
    agreement: SceneAgreement | None
    changes: tuple[PolicyChange, ...]
    trials: pl.DataFrame

    def by(self, by: str, policy: str | None = None) -> tuple[ClutterRow, ...]:
        """Return the rows of a grouping, of all policies or of one."""
        return tuple(row for row in self.rows if row.by == by and policy in (None, row.policy))

    def groups(self, by: str) -> tuple[str, ...]:
        """Return the names of the groups of a grouping, in order."""
        return tuple(dict.fromkeys(row.group for row in self.by(by)))

    def has(self, name: str) -> bool:
        """Return whether some row has a measure."""
        return any(name in row.measures for row in self.rows)


def clutter_of(runs: Sequence[Results], bins: int = BINS) -> Clutter | None:
    """Return the estimates over the cluttered trials of some runs; None if there is no such trial.

    Each run's policies are policies of their own: if several runs have one of the same name, it has the run's name.

    Args:
        runs: different runs.
        bins: number of bins by DvFC, at least 1.
    """
    tables = [_scenes_of(results) for results in runs]
    used = Counter(policy for table in tables for policy in table["policy"].unique())
    folders = Counter(results.run.name for results in runs)
    for number, (table, results) in enumerate(zip(tables, runs, strict=True)):
        run = results.run.name if folders[results.run.name] < 2 else str(results.run)
        names = {name: f"{name} ({run})" if used[name] > 1 else name for name in table["policy"].unique()}
        tables[number] = table.with_columns(pl.col("policy").replace(names), run=pl.lit(number))
    trials = pl.concat(tables) if tables else None
    if trials is None or trials.is_empty():
        return None
    trials = trials.with_columns(cluster=pl.col("cluster").rank("dense").cast(pl.Int64))
    policies = tuple(trials["policy"].unique(maintain_order=True))
    cluttered = trials.filter("cluttered")
    groups = tuple(_groups(cluttered, bins))
    by_policy = {policy: trials.filter(pl.col("policy") == policy) for policy in policies}
    rows = [
        _row(group, policy, found, by_policy[policy])
        for group in groups
        for policy in policies
        if len(found := by_policy[policy].filter(group.chosen))
    ]
    wide = _side_by_side(cluttered, policies)
    changes = [_change(wide, policies, second) for second in policies[1:]]
    return Clutter(
        policies,
        tuple(rows),
        tuple(_trend(policy, by_policy[policy].filter("cluttered")) for policy in policies),
        _agreement(wide, policies),
        tuple(change for change in changes if change.trials),
        trials,
    )


def _scenes_of(results: Results) -> pl.DataFrame:
    """Return the cluttered trials of a run that count, and their twins, which have an occlusion of 0."""
    table = results.trials.filter("counts")
    proofs = [json.loads(proof) if proof else {} for proof in table["proof"]]
    kinds: dict[str, Any] = dict.fromkeys(_PROOF, pl.Float64)
    measures = pl.DataFrame([{name: proof.get(name) for name in _PROOF} for proof in proofs], schema=kinds)
    scores = {name: pl.col(name) if name in table.columns else pl.lit(None) for name in _SCORES}
    table = table.select(
        *("policy", "index", "bag", "family", "cluster", *KEY),
        *(values.cast(pl.Float64).alias(name) for name, values in scores.items()),
        step_limit=pl.lit(results.record.recorded.step_limit, pl.Float64),
    ).hstack(measures)
    is_base = pl.col("perturbation") == BASE
    table = table.with_columns(
        cluttered=~pl.col("perturbation").is_in([BASE, *results.record.composed])
        & pl.col("distractors").is_not_null()
        & pl.col("dvfc").is_not_null(),
        occlusion=pl.when(is_base).then(0.0).otherwise("occlusion"),
        success_of_base=pl.when(is_base).then("success"),
    )
    of_instance = ["policy", "base_id"]
    return (
        table.with_columns(
            base_success=pl.col("success_of_base").mean().over(of_instance),
            has_cluttered=pl.col("cluttered").any().over(of_instance),
        )
        .filter(pl.col("cluttered") | (is_base & pl.col("has_cluttered")))
        .drop("success_of_base", "has_cluttered")
    )


@dataclass(frozen=True)
class _Group:
    by: str
    name: str
    place: float | None
    chosen: pl.Expr


def _groups(cluttered: pl.DataFrame, bins: int) -> Iterator[_Group]:
    """Return every group that has a trial, in the order of tables."""
    one = pl.col("cluttered")
    yield _Group(ALL, "all", None, one)
    for number, values in enumerate(equal_bins(cluttered["dvfc"].to_numpy(), bins), start=1):
        yield _dvfc_group(DVFC, f"{number}", values, one)
    yield _Group(SET_SIZE, "0 (base)", 0.0, ~one)
    sizes = cluttered["distractors"].unique().sort().to_list()
    for size in sizes:
        yield _Group(SET_SIZE, f"{size:g}", size, one & (pl.col("distractors") == size))
    for low, high in pairwise((-np.inf, *OCCLUSION_EDGES)):
        last = high == OCCLUSION_EDGES[-1]
        chosen = one & (pl.col("occlusion") > low) & (pl.lit(last) | (pl.col("occlusion") <= high))
        found = cluttered.filter(chosen)
        if len(found):
            name = f"up to {high:g}" if low < 0.0 else f"above {low:g}" if last else f"{low:g} to {high:g}"
            yield _Group(OCCLUSION, name, float(found["occlusion"].to_numpy().mean()), chosen)
    for family in cluttered["family"].unique().sort():
        yield _Group(FAMILY, family, None, one & (pl.col("family") == family))
    for size in sizes:
        own = cluttered.filter(pl.col("distractors") == size)["dvfc"].to_numpy()
        for number, values in enumerate(equal_bins(own, BINS_IN_SET_SIZE), start=1):
            begin = f"{size:g}, bin {number}"
            yield _dvfc_group(DVFC_IN_SET_SIZE, begin, values, one & (pl.col("distractors") == size))


def _dvfc_group(by: str, begin: str, values: NDArray[np.float64], where: pl.Expr) -> _Group:
    low, high = float(values[0]), float(values[-1])
    name = f"{begin}: {low:.2f} to {high:.2f}"
    return _Group(by, name, float(values.mean()), where & pl.col("dvfc").is_between(low, high))


def equal_bins(values: NDArray[np.float64], bins: int) -> tuple[NDArray[np.float64], ...]:
    """Return the different values in ascending bins, whose sizes differ by at most one (section III-B).

    A scene that several policies or repeats ran has one value, so each scene counts once.

    Args:
        values: shape (n,).
        bins: their number, at least 1; with fewer different values there are fewer bins.
    """
    different = np.unique(values)
    return tuple(part for part in np.array_split(different, bins) if len(part))


def _row(group: _Group, policy: str, trials: pl.DataFrame, own: pl.DataFrame) -> ClutterRow:
    """Return the measures of a policy over a group of its trials."""
    twins = own.filter(~pl.col("cluttered") & pl.col("cluster").is_in(trials["cluster"].unique().implode()))
    measures, numbers = {}, {}
    for name, measure in MEASURES.items():
        known = _values(twins if measure.of_twins else trials, measure)
        if len(known):
            if measure.by_instances:
                known = known.group_by("cluster", maintain_order=True).agg(pl.col("value").mean())
            measures[name] = cluster_mean(known["value"].to_numpy(), known["cluster"].to_numpy(), bounds=measure.bounds)
            numbers[name] = len(known)
    instances = trials["cluster"].n_unique()
    return ClutterRow(policy, group.by, group.name, group.place, len(trials), instances, measures, numbers)


def _values(trials: pl.DataFrame, measure: Measure) -> pl.DataFrame:
    """Return the known values of a measure, with the cluster of each."""
    return trials.select("cluster", value=measure.values.cast(pl.Float64)).drop_nulls()


def _trend(policy: str, trials: pl.DataFrame) -> Trend:
    known = trials.drop_nulls("success")
    dvfc, success, clusters, sizes = (known[name].to_numpy() for name in ("dvfc", "success", "cluster", "distractors"))
    slopes = (cluster_slope(dvfc, success, clusters, draws(), strata) for strata in (None, sizes))
    return Trend(policy, *slopes, len(known), len(np.unique(clusters)))


def _side_by_side(cluttered: pl.DataFrame, policies: Sequence[str]) -> pl.DataFrame:
    """Return a row a trial: ``KEY``, ``cluster``, and each measure of table II of each policy, ``sr_0`` for instance.

    The measures of a policy that did not run the trial are null.
    """
    joined: pl.DataFrame | None = None
    for number, policy in enumerate(policies):
        values = {f"{name}_{number}": MEASURES[name].values.cast(pl.Float64) for name in TABLE_II}
        own = cluttered.filter(pl.col("policy") == policy).select(*KEY, "cluster", **values)
        joined = own if joined is None else joined.join(own, on=[*KEY, "cluster"], how="full", coalesce=True)
    assert joined is not None, "there is a policy"
    return joined.sort(KEY)


def _change(wide: pl.DataFrame, policies: Sequence[str], second: str) -> PolicyChange:
    number = policies.index(second)
    both = wide.drop_nulls(["sr_0", f"sr_{number}"])
    measures = {}
    for name in TABLE_II:
        known = both.drop_nulls([f"{name}_0", f"{name}_{number}"])
        if len(known):
            a, b, clusters = (known[column].to_numpy() for column in (f"{name}_0", f"{name}_{number}", "cluster"))
            difference = paired_difference(b, a, clusters)
            measures[name] = (cluster_mean(a, clusters), cluster_mean(b, clusters), difference)
    return PolicyChange(policies[0], second, len(both), measures)


def _agreement(wide: pl.DataFrame, policies: Sequence[str]) -> SceneAgreement | None:
    pairs = []
    for a, b in permutations(range(len(policies)), 2):
        both = wide.drop_nulls([f"sr_{a}", f"sr_{b}"])
        solved = both.filter(pl.col(f"sr_{a}") > 0.0)
        if len(both):
            share = cluster_mean(solved[f"sr_{b}"].to_numpy(), solved["cluster"].to_numpy())
            pairs.append(Shared(policies[a], policies[b], len(solved), share))
    if not pairs:
        return None
    columns = [f"sr_{number}" for number in range(len(policies))]
    common = wide.drop_nulls(columns)
    succeeded = common.select(columns).to_numpy() > 0.0
    counts = Counter(
        tuple(policy for policy, one in zip(policies, row, strict=True) if one) for row in succeeded.tolist()
    )
    return SceneAgreement(
        tuple(pairs),
        len(common),
        cluster_mean(succeeded.any(axis=1), common["cluster"].to_numpy()) if len(common) else NO_ESTIMATE,
        dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))),
    )


def failures(trials: pl.DataFrame, stage: str) -> pl.DataFrame:
    """Return the cluttered trials that failed at a stage, one of ``STAGES``."""
    return trials.filter(pl.col("cluttered") & _FAILED & _STAGES[stage][1])
