"""The verdict about two policies, from the trials of any tool: better, worse, undecided or not comparable.

The word follows one rule: the p-value of the named test, two-sided, adjusted by Holm's procedure for the number of
others, is at most 5 %. The interval is a second method for the same question; where it disagrees with the test a note
says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
from numpy.typing import NDArray
from scipy import special

from robocontrast_ros.analysis.foreign.outcomes import Outcome
from robocontrast_ros.analysis.foreign.reading import Arm
from robocontrast_ros.domain.words import counted, on_one_line
from robocontrast_ros.statistics import power
from robocontrast_ros.statistics.changes import difference_in_differences
from robocontrast_ros.statistics.clusters import cluster_mean
from robocontrast_ros.statistics.equivalence import equivalence
from robocontrast_ros.statistics.estimate import CONFIDENCE, NO_ESTIMATE, Estimate
from robocontrast_ros.statistics.multiplicity import holm
from robocontrast_ros.statistics.proportions import wilson
from robocontrast_ros.statistics.unpaired import unpaired_difference

ERROR_RATE = 0.05
MOST_BOSCHLOO = 400
"""Trials of both sides together up to which Boschloo's test takes seconds; beyond it, Fisher's has nearly its power."""
MIX = 0.05
"""Greatest difference of two mixes of tasks, in share of trials, with which unpaired trials are comparable."""
ENOUGH_FOR_MOVER = 20
"""Trials of each of four groups with which, in simulation, 5 % of MOVER's tests are wrong; with 10 up to 8 % are."""
FISHER, PERMUTATION, MOVER = "Fisher", "permutation", "MOVER"


class Word(str, Enum):
    """The four verdicts about the first of two policies."""

    BETTER = "better"
    WORSE = "worse"
    UNDECIDED = "undecided"
    NOT_COMPARABLE = "not comparable"


@dataclass(frozen=True)
class Needed:
    """The trials of each side that find a difference as large as the one seen, with a power of 80 %.

    Attributes:
        unpaired: of trials without pairs; None if no difference was seen, or it is not known.
        paired: of pairs.
    """

    unpaired: int | None = None
    paired: int | None = None


@dataclass(frozen=True)
class Verdict:
    """The first policy against another.

    Attributes:
        first: the first source, as it was named.
        second: the other.
        word: the verdict.
        measure: `success` or `score`.
        trials: trials of either side that were used.
        means: their means.
        successes: their successes; None for scores.
        pairs: number of pairs; None if trials are not paired.
        difference: the first mean minus the second, or with controls the difference in differences.
        p_value: two-sided p-value of the test; None if nothing was tested.
        adjusted: the same by Holm's procedure; None if there is one other alone.
        test: name of the test.
        smallest_drop: the smallest drop that this comparison finds with a power of 80 %; None if it finds none.
        needed: trials for a difference as large as the one seen.
        control: the difference of the controls; empty without.
        p_not_worse: p-value of the hypothesis that the first is worse by the margin or more, adjusted in the same way;
            None without a margin.
        margin: that margin.
        reason: why both are not comparable.
        notes: sentences that a reader has to know.
    """

    first: str
    second: str
    word: Word
    measure: str = "success"
    trials: tuple[int, int] = (0, 0)
    means: tuple[float, float] | None = None
    successes: tuple[int, int] | None = None
    pairs: int | None = None
    difference: Estimate = NO_ESTIMATE
    p_value: float | None = None
    adjusted: float | None = None
    test: str = ""
    smallest_drop: float | None = None
    needed: Needed = Needed()
    control: Estimate = NO_ESTIMATE
    p_not_worse: float | None = None
    margin: float | None = None
    reason: str = ""
    notes: tuple[str, ...] = ()

    @property
    def not_worse(self) -> bool:
        """Whether the first is shown not to be worse by the margin."""
        return self.p_not_worse is not None and self.p_not_worse <= ERROR_RATE


def verdicts(
    first: Arm, others: Sequence[Arm], controls: Sequence[Arm] = (), measure: str = "", margin: float | None = None
) -> tuple[Verdict, ...]:
    """Return the verdict of the first against each other.

    Args:
        first: the policy in question.
        others: those that it is compared with.
        controls: trials of the same policies without the perturbation, the first's own first; empty without.
        measure: `success` or `score`; empty for success where both have it.
        margin: the largest loss that does not matter; None without.
    """
    found = [
        _verdict((first, other), (controls[0], controls[number]) if controls else None, measure, margin)
        for number, other in enumerate(others, 1)
    ]
    adjusted = holm([one.p_value for one in found])
    not_worse = holm([one.p_not_worse for one in found])
    return tuple(
        _worded(replace(one, adjusted=p, p_not_worse=one.p_not_worse if q is None else q))
        for one, p, q in zip(found, adjusted, not_worse, strict=True)
    )


def _worded(verdict: Verdict) -> Verdict:
    """Return the verdict with its word, by the adjusted p-value."""
    p, d = verdict.p_value if verdict.adjusted is None else verdict.adjusted, verdict.difference
    if p is None or d.mean is None:
        return verdict
    decided = p <= ERROR_RATE and d.mean != 0.0
    word = Word.UNDECIDED if not decided else Word.BETTER if d.mean > 0.0 else Word.WORSE
    notes = verdict.notes
    if d.low is not None and d.high is not None and (d.low > 0.0 or d.high < 0.0) != decided:
        contains = "contains 0 although p is at most" if decided else "excludes 0 although p is above"
        which = "adjusted " if verdict.adjusted is not None else ""
        notes = (*notes, f"The interval {contains} 0.05; the word follows the {which}p-value.")
    return replace(verdict, word=word, notes=notes)


@dataclass(frozen=True)
class _Pairs:
    """Values of trials that pair, in one order; each independent unit has a number."""

    a: NDArray[np.float64]
    b: NDArray[np.float64]
    clusters: NDArray[np.int64]
    keys: tuple[tuple[str, str, str], ...]

    def estimate(self, confidence: float) -> Estimate:
        return cluster_mean(self.a - self.b, self.clusters, confidence, bounds=(-1.0, 1.0))


@dataclass(frozen=True)
class _Groups:
    """Values of independent units of either side, which do not pair; of success 0 and 1."""

    a: NDArray[np.float64]
    b: NDArray[np.float64]
    counts: bool

    def estimate(self, confidence: float) -> Estimate:
        def mean(values: NDArray[np.float64]) -> Estimate:
            if self.counts:
                return wilson(int(values.sum()), len(values), confidence)
            return cluster_mean(values, np.arange(len(values)), confidence)

        return unpaired_difference(mean(self.a), mean(self.b))


class _NotComparable(Exception):
    """Two arms have nothing to compare; the message says why."""


def _verdict(arms: tuple[Arm, Arm], controls: tuple[Arm, Arm] | None, measure: str, margin: float | None) -> Verdict:
    notes = [note for arm in (*arms, *(controls or ())) for note in (*arm.notes, *_voids(arm))]
    names = arms[0].source, arms[1].source
    try:
        measure = _measure((*arms, *(controls or ())), measure)
        data, used = _aligned(arms, measure, notes)
        base = _aligned(controls, measure, notes)[0] if controls else None
    except _NotComparable as error:
        reason = str(error)
        return Verdict(*names, Word.NOT_COMPARABLE, measure or "success", reason=reason, notes=_once(notes))
    successes = None
    if measure == "success":
        successes = tuple(sum(outcome.success is True for outcome in side) for side in used)
    values = [[_value(outcome, measure) for outcome in side] for side in used]
    means = tuple(float(np.mean(side)) for side in values)
    blank = Verdict(
        *names,
        Word.UNDECIDED,
        measure,
        trials=(len(used[0]), len(used[1])),
        means=means,
        successes=successes,
        pairs=len(data.a) if isinstance(data, _Pairs) else None,
        margin=margin,
    )
    if base is not None:
        found = _beyond_control(blank, data, base)
        if found.pairs is not None and isinstance(data, _Pairs) and found.pairs < len(data.keys):
            notes.append(f"{found.pairs} of {counted(len(data.keys), 'pair')} have controls; these are used.")
        fewest = min(map(len, (data.a, data.b, base.a, base.b)))
        if found.test == MOVER and fewest < ENOUGH_FOR_MOVER:
            notes.append(
                f"With {fewest} trials in a group MOVER's p-value is rough: equal policies differ in up to 8 %."
            )
    elif isinstance(data, _Pairs):
        found = _paired(blank, data)
    else:
        found = _unpaired(blank, data)
    if found.difference.low is None:
        notes.append("One instance alone has no interval and no test.")
    return replace(found, notes=_once(notes))


def _paired(blank: Verdict, data: _Pairs) -> Verdict:
    """Return the comparison of pairs: McNemar's test of single successes, else the bootstrap of whole instances."""
    a, b, clusters = data.a, data.b, data.clusters
    number = int(clusters.max()) + 1
    single = blank.measure == "success" and number == len(a)
    # It imports scipy.stats, which takes long.
    from robocontrast_ros.statistics.decisions import mcnemar, paired_bootstrap

    decision = mcnemar(a, b) if single else paired_bootstrap(a, b, clusters, np.random.default_rng(0))
    mean = float(np.mean(a - b))
    if single:
        only = float(np.mean(a > b)), float(np.mean(a < b))
        drop = power.smallest_drop_of_pairs(len(a), min(only))
        pairs = power.pairs_for_shares(*only)
    else:
        variance = _variance(_cluster_means(a - b, clusters))
        drop, found = power.smallest_drop_of_clusters(number, variance), power.clusters_for(mean, variance)
        pairs = None if found is None else int(np.ceil(found * len(a) / number))
    if blank.measure == "success":
        unpaired = power.trials_for_shares(float(a.mean()), float(b.mean()))
    else:
        spreads = (_variance(_cluster_means(side, clusters)) for side in (a, b))
        unpaired = power.trials_for_means(mean, *spreads)
    p_not_worse = equivalence(a, b, clusters, margin=blank.margin).p_not_worse if blank.margin else None
    return replace(
        blank,
        difference=decision.difference,
        p_value=decision.p_value,
        test=decision.name,
        smallest_drop=drop,
        needed=Needed(unpaired, pairs),
        p_not_worse=p_not_worse,
    )


def _unpaired(blank: Verdict, data: _Groups) -> Verdict:
    """Return the comparison of independent groups: Boschloo's test of counts, else a permutation test."""
    a, b, difference = data.a, data.b, data.estimate(CONFIDENCE)
    mean = difference.mean or 0.0
    if data.counts:
        s1, n1, s2, n2 = int(a.sum()), len(a), int(b.sum()), len(b)
        name, p = _counts_test(s1, n1, s2, n2)
        p1, p2 = s1 / n1, s2 / n2
        drop = power.smallest_drop_of_shares(p2, n1, n2)
        # Pairs of policies that succeed independently of each other; real pairs are more alike, so that fewer suffice.
        needed = Needed(power.trials_for_shares(p1, p2), power.pairs_for_shares(p1 * (1.0 - p2), p2 * (1.0 - p1)))
    else:
        from scipy.stats import permutation_test

        from robocontrast_ros.statistics.decisions import MOST_DRAWN

        name, p = PERMUTATION, None
        if min(len(a), len(b)) > 1:
            p = float(
                permutation_test(
                    (a, b),
                    lambda x, y, axis: np.mean(x, axis=axis) - np.mean(y, axis=axis),
                    vectorized=True,
                    batch=max(1, MOST_DRAWN // (len(a) + len(b))),
                    rng=np.random.default_rng(0),
                ).pvalue
            )
        spreads = _variance(a), _variance(b)
        drop = power.smallest_drop_of_means(float(np.sqrt(spreads[0] / len(a) + spreads[1] / len(b))))
        needed = Needed(power.trials_for_means(mean, *spreads), power.clusters_for(mean, sum(spreads)))
    p_not_worse = _one_sided(data.estimate, -blank.margin) if blank.margin else None
    return replace(
        blank,
        difference=difference,
        p_value=p,
        test=name,
        smallest_drop=drop,
        needed=needed,
        p_not_worse=p_not_worse,
    )


def _counts_test(s1: int, n1: int, s2: int, n2: int) -> tuple[str, float | None]:
    if n1 + n2 <= MOST_BOSCHLOO:
        from robocontrast_ros.statistics.decisions import boschloo

        decision = boschloo(s1, n1, s2, n2)
        return decision.name, decision.p_value
    from scipy.stats import fisher_exact

    return FISHER, float(fisher_exact([[s1, s2], [n1 - s1, n2 - s2]]).pvalue)


def _beyond_control(blank: Verdict, data: _Pairs | _Groups, base: _Pairs | _Groups) -> Verdict:
    """Return the difference in differences: that of the perturbed trials minus that of the controls."""
    control = base.estimate(CONFIDENCE)
    if isinstance(data, _Pairs) and isinstance(base, _Pairs) and (common := sorted({*data.keys} & {*base.keys})):
        places = ({key: place for place, key in enumerate(side.keys)} for side in (data, base))
        at, of = ([place[key] for key in common] for place in places)
        first, second = 0.5 * (data.a[at] - base.a[of]), 0.5 * (data.b[at] - base.b[of])
        clusters = np.unique(data.clusters[at], return_inverse=True)[1]
        number, variance = int(clusters.max()) + 1, _variance(_cluster_means(2.0 * (first - second), clusters))
        from robocontrast_ros.statistics.decisions import paired_bootstrap

        decision = paired_bootstrap(first, second, clusters, np.random.default_rng(0))
        difference = difference_in_differences(2.0 * first, 2.0 * second, clusters)
        found = power.clusters_for(difference.mean or 0.0, variance)
        own = base.a[of] - base.b[of]
        not_worse = None
        if blank.margin:
            not_worse = equivalence(first, second, clusters, margin=0.5 * blank.margin).p_not_worse
        return replace(
            blank,
            pairs=len(common),
            difference=difference,
            control=cluster_mean(own, clusters, bounds=(-1.0, 1.0)),
            p_value=decision.p_value,
            test=decision.name,
            smallest_drop=power.smallest_drop_of_clusters(number, variance, 2.0),
            needed=Needed(None, None if found is None else int(np.ceil(found * len(common) / number))),
            p_not_worse=not_worse,
        )

    def estimate(confidence: float) -> Estimate:
        return unpaired_difference(data.estimate(confidence), base.estimate(confidence))

    difference = estimate(CONFIDENCE)
    p = None if difference.low is None else 2.0 * min(_one_sided(estimate, 0.0), _one_sided(estimate, 0.0, below=False))
    error = (difference.half_width or 0.0) / float(special.ndtri(0.5 + CONFIDENCE / 2))
    return replace(
        blank,
        difference=difference,
        control=control,
        p_value=None if p is None else min(1.0, p),
        test=MOVER,
        smallest_drop=power.smallest_drop_of_means(error, 2.0) if error else None,
        p_not_worse=_one_sided(estimate, -blank.margin) if blank.margin and p is not None else None,
    )


def _one_sided(estimate: Callable[[float], Estimate], value: float, below: bool = True) -> float:
    """Return the p-value of a mean at ``value`` or below it (or above it): the level whose interval just ends there."""
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        found = estimate(middle)
        end = found.low if below else found.high
        inside = end is not None and (end <= value if below else end >= value)
        low, high = (low, middle) if inside else (middle, high)
    p = 0.5 * (1.0 - low)
    mean = estimate(CONFIDENCE).mean
    # At level 0 the interval is the mean alone: beyond it p-values are more than a half.
    return p if mean is None or (mean > value if below else mean < value) else 1.0


def _aligned(
    arms: tuple[Arm, Arm], measure: str, notes: list[str]
) -> tuple[_Pairs | _Groups, tuple[list[Outcome], ...]]:
    """Return the values of two arms, as pairs if any trials pair, and the trials that they are of.

    Raises:
        _NotComparable: they share no task, one has no trial that counts, or their mixes of tasks differ.
    """
    counted_ones = [[o for o in arm.outcomes if o.void_reason is None and _has(o, measure)] for arm in arms]
    for arm, own in zip(arms, counted_ones, strict=True):
        if not own:
            raise _NotComparable(f"{arm.source} has no trial with a {measure} that counts")
    a, b = _shared_tasks(arms, counted_ones, notes)
    found = [{o.key: o for o in side if o.instance is not None} for side in (a, b)]
    common = [key for key in found[0] if key in found[1]]
    seeds = [(found[0][key].seed, found[1][key].seed) for key in common]
    keys = tuple(k for k, (s, t) in zip(common, seeds, strict=True) if s is None or t is None or s == t)
    if len(keys) < len(common):
        notes.append(f"{counted(len(common) - len(keys), 'instance')} have other seeds in either; they are no pairs.")
    if keys:
        _told_overlap(arms, (a, b), keys, notes)
        used = [found[0][key] for key in keys], [found[1][key] for key in keys]
        values = (np.array([_value(o, measure) for o in side]) for side in used)
        numbers = np.unique([f"{task}\0{instance}" for task, instance, _ in keys], return_inverse=True)[1]
        return _Pairs(*values, numbers, keys), used
    if found[0] and found[1] and not common:
        notes.append("No instance is in both: trials are compared as independent ones.")
    _told_mix(a, b, notes)
    sides = [_units(side, measure) for side in (a, b)]
    single = measure == "success" and all(len(units) == len(side) for units, side in zip(sides, (a, b), strict=True))
    return _Groups(*map(np.array, sides), single), (a, b)


def _shared_tasks(arms: tuple[Arm, Arm], sides: list[list[Outcome]], notes: list[str]) -> list[list[Outcome]]:
    tasks = [{outcome.task for outcome in side} for side in sides]
    if any(None in own for own in tasks):  # counts fit any task
        return sides
    shared = tasks[0] & tasks[1]
    if not shared:
        shown = " and ".join(f"{arm.source} has {_some(own)}" for arm, own in zip(arms, tasks, strict=True))
        raise _NotComparable(f"they share no task: {shown}")
    for arm, own in zip(arms, tasks, strict=True):
        if own - shared:
            notes.append(f"{arm.source} alone has {_some(own - shared)}; left out.")
    return [[outcome for outcome in side if outcome.task in shared] for side in sides]


def _told_overlap(arms: tuple[Arm, Arm], sides: tuple[list[Outcome], ...], keys: Sequence, notes: list[str]) -> None:
    instances = [{o.key[:2] for o in side} for side in sides]
    both = {key[:2] for key in keys}
    if both != instances[0] or both != instances[1]:
        everything = len(instances[0] | instances[1])
        notes.append(f"{len(both)} of {everything} instances are in both; these are used.")
    elif len(keys) < max(map(len, sides)):
        more = [len(side) - len(keys) for side in sides]
        notes.append(f"Trials without a partner: {more[0]} of the first, {more[1]} of the second; left out.")


def _told_mix(a: list[Outcome], b: list[Outcome], notes: list[str]) -> None:
    """Refuse mixes of tasks that differ: the mix alone would make a difference."""
    if any(outcome.task is None for outcome in (*a, *b)):
        return
    mixes = [Counter(outcome.task for outcome in side) for side in (a, b)]
    apart = 0.5 * sum(abs(mixes[0][task] / len(a) - mixes[1][task] / len(b)) for task in mixes[0] | mixes[1])
    if apart > MIX:
        raise _NotComparable(
            f"no trials pair, and {apart:.0%} of the trials would have to be of another task for the same mix of tasks"
        )
    if apart > 1e-9:
        notes.append(f"The mixes of tasks differ by {apart:.1%} of the trials, which can make a difference of as much.")


def _units(side: list[Outcome], measure: str) -> list[float]:
    """Return the mean of each instance; a trial without an instance is one of its own."""
    groups: dict[object, list[float]] = {}
    for number, outcome in enumerate(side):
        key = number if outcome.instance is None else outcome.key[:2]
        groups.setdefault(key, []).append(_value(outcome, measure))
    return [sum(values) / len(values) for values in groups.values()]


def _measure(arms: Sequence[Arm], wanted: str) -> str:
    """Return the measure that all have.

    Raises:
        _NotComparable: there is none.
    """

    def has(measure: str) -> bool:
        return all(any(_has(outcome, measure) for outcome in arm.outcomes) for arm in arms)

    for arm in arms:
        if not arm.outcomes:
            raise _NotComparable(f"{arm.source} has no trial")
        if all(outcome.void_reason is not None for outcome in arm.outcomes):
            raise _NotComparable(f"{arm.source} has no trial that counts: all are void")
    measures = (wanted,) if wanted else ("success", "score")
    found = next((measure for measure in measures if has(measure)), "")
    if not found:
        raise _NotComparable(f"their measures differ: not all of them have a {' or a '.join(measures)}")
    return found


def _voids(arm: Arm) -> list[str]:
    """Return a sentence about trials that are set aside."""
    reasons = Counter(outcome.void_reason for outcome in arm.outcomes if outcome.void_reason is not None)
    if not reasons:
        return []
    total = sum(reasons.values())
    return [
        f"{arm.source}: {total} of {counted(len(arm.outcomes), 'trial')} void, neither successes nor failures "
        f"({_some(reasons)})."
    ]


def _some(names: object, most: int = 3) -> str:
    ordered = [on_one_line(name, 60) for name in sorted(map(str, names))]
    return ", ".join(ordered[:most]) + (f" and {len(ordered) - most} more" if len(ordered) > most else "")


def _has(outcome: Outcome, measure: str) -> bool:
    return outcome.void_reason is None and getattr(outcome, measure) is not None


def _value(outcome: Outcome, measure: str) -> float:
    return float(getattr(outcome, measure))


def _cluster_means(values: NDArray[np.float64], clusters: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.bincount(clusters, values) / np.bincount(clusters)


def _variance(values: NDArray[np.float64]) -> float:
    return float(np.var(values, ddof=1)) if len(values) > 1 else 0.0


def _once(notes: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(notes))
