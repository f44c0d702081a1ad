"""What a policy can do: success and score by what problems ask of it (seed 002, its tables by attribute).

Problems are taken as independent, not their test instances: a group says something of problems like those in it. A
difference is that of a group to all other problems; of a variant of the words, the paired one to the usual words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import polars as pl

from robocontrast_ros.analysis.data.profiles import profiles_of
from robocontrast_ros.analysis.estimates.results import Results
from robocontrast_ros.analysis.estimates.scores import difference_to_base, mean_score, score_difference
from robocontrast_ros.domain import BASE, ScoreSpec, find_spec
from robocontrast_ros.perturbations.instructions import Variant
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.statistics.estimate import NO_ESTIMATE, Estimate
from robocontrast_ros.statistics.unpaired import unpaired_difference
from robocontrast_ros.tasks.protocol import Profile

SCORE = "score"
"""The score with partial credit; the session's metric is shown if a session has none."""

ALL, AXIS, ATTRIBUTE, DIFFICULTY, SUBTASKS, WORDS = "all", "axis", "attribute", "difficulty", "subtasks", "words"
BY = (ALL, AXIS, ATTRIBUTE, DIFFICULTY, SUBTASKS, WORDS)
"""Groupings, in the order of tables."""

VOCABULARY, KNOWN, UNKNOWN = "vocabulary", "known", "unknown"
"""Grouping by a policy's vocabulary, where it says what that is, and its two groups."""


@dataclass(frozen=True)
class Group:
    """Problems that are alike, or the words in which they are said.

    Attributes:
        by: one of BY, or VOCABULARY.
        name: its name: of an axis, an attribute, a label of difficulty, a number of subtasks or a variant; KNOWN if a
            policy's vocabulary has all object words of the trials, else UNKNOWN.
        axis: the axis of an attribute; else empty.
    """

    by: str
    name: str
    axis: str = ""

    @property
    def heading(self) -> str:
        """What stands above its rows, if anything does: attributes are grouped by their axis."""
        return "" if self.by == ALL else f"{self.axis} attributes" if self.axis else self.by


@dataclass(frozen=True)
class ObjectWords:
    """The words of instructions that name things, beside the vocabulary of a policy's training.

    Attributes:
        all: the words, each once; at least one.
        unknown: those that the vocabulary does not have.
    """

    all: tuple[str, ...]
    unknown: tuple[str, ...]

    @property
    def known(self) -> int:
        """Number of words that the vocabulary has."""
        return len(self.all) - len(self.unknown)

    @property
    def share(self) -> float:
        """Share of them that the vocabulary has."""
        return self.known / len(self.all)


@dataclass(frozen=True)
class ProfileRow:
    """The results of a policy in a group.

    Attributes:
        policy: its name.
        group: the group.
        problems: number of problems with a trial.
        trials: number of trials that count.
        success: share of them that succeeded.
        score: mean of the profile's score.
        success_difference: success minus that of the other problems; of words, the mean paired difference to the usual
            ones. Empty for all problems, for the usual words, and without other problems.
        difference: the same of the score.
        object_words: those of its trials; None if the policy declares no vocabulary, or there are none.
    """

    policy: str
    group: Group
    problems: int
    trials: int
    success: Estimate
    score: Estimate
    success_difference: Estimate
    difference: Estimate
    object_words: ObjectWords | None = None


@dataclass(frozen=True)
class ProblemRow:
    """The base trials of a policy in a problem.

    Attributes:
        policy: its name.
        problem: the problem's name.
        profile: what it asks of a policy.
        trials: number of trials that count.
        successes: how many of them succeeded.
        score: mean of the profile's score; its interval takes test instances as independent.
        index: position in the session of the trial with the lowest score.
        object_words: those of its usual words; None if the policy declares no vocabulary, or there are none.
    """

    policy: str
    problem: str
    profile: Profile
    trials: int
    successes: int
    score: Estimate
    index: int
    object_words: ObjectWords | None = None

    @property
    def words(self) -> str:
        """The usual words of its instruction."""
        return next(iter(self.profile.texts.values()))


@dataclass(frozen=True)
class ProfileOfRun:
    """What the policies of a run can do.

    Attributes:
        score: description of the score.
        rows: one a policy and group that has trials.
        problems: one a policy and problem with a base trial that counts, in the order of the profiles.
    """

    score: ScoreSpec
    rows: tuple[ProfileRow, ...]
    problems: tuple[ProblemRow, ...]

    @property
    def policies(self) -> tuple[str, ...]:
        """Names of the policies."""
        return tuple(dict.fromkeys(row.policy for row in self.rows))

    @property
    def of_success(self) -> bool:
        """Whether the score is success, which tables then show once."""
        return self.score.name == "success"

    @property
    def has_vocabularies(self) -> bool:
        """Whether a policy declares its vocabulary, and problems have object words."""
        return any(row.object_words is not None for row in self.rows)

    def of(self, policy: str) -> tuple[ProfileRow, ...]:
        """Return the rows of a policy."""
        return tuple(row for row in self.rows if row.policy == policy)

    def worst(self, policy: str, number: int) -> tuple[ProblemRow, ...]:
        """Return the problems with the lowest scores, the lowest first; none that was always solved."""
        failed = [row for row in self.problems if row.policy == policy and row.successes < row.trials]
        return tuple(sorted(failed, key=_place))[:number]


@dataclass(frozen=True)
class ComparedGroup:
    """Two runs in a group, on the trials that both have.

    Attributes:
        group: the group.
        problems: number of problems among them.
        pairs: number of pairs of trials.
        first_success: the first run's share of successes.
        second_success: the second's.
        success_difference: mean paired difference of success, first minus second.
        first: the first run's mean of the score.
        second: the second's.
        difference: mean paired difference of the score.
    """

    group: Group
    problems: int
    pairs: int
    first_success: Estimate
    second_success: Estimate
    success_difference: Estimate
    first: Estimate
    second: Estimate
    difference: Estimate


Row = TypeVar("Row", ProfileRow, ComparedGroup)


@dataclass(frozen=True)
class ComparedProfile:
    """Two runs by what problems ask of a policy.

    Attributes:
        score: description of the score.
        rows: one a group with pairs.
    """

    score: ScoreSpec
    rows: tuple[ComparedGroup, ...]

    @property
    def of_success(self) -> bool:
        """Whether the score is success."""
        return self.score.name == "success"


def _place(row: ProblemRow) -> tuple[float, float, str]:
    return -1.0 if row.score.mean is None else row.score.mean, row.successes / row.trials, row.problem


def profile_of(results: Results) -> ProfileOfRun | None:
    """Return the profile of a run; None if its problems have no profiles, or no trial of one counts.

    Raises:
        ConfigurationError: the run's file of profiles cannot be read.
    """
    profiles = profiles_of(RunFolder(results.run))
    trials = _counting(results, profiles)
    if trials.is_empty():
        return None
    score, success = score_of(results), find_spec(results.summary.scores, "success")
    rows: list[ProfileRow] = []
    problems: list[ProblemRow] = []
    for policy in trials["policy"].unique(maintain_order=True):
        vocabulary = results.record.vocabularies.get(policy)
        own = trials.filter(pl.col("policy") == policy)
        own = own.with_columns(_known(own, profiles, vocabulary))
        rows += _without_usual(tuple(_rows(policy, own, profiles, (success, score), vocabulary)))
        problems += _problems(policy, own.filter(pl.col("perturbation") == BASE), profiles, score, vocabulary)
    return ProfileOfRun(score, tuple(rows), tuple(problems))


def compared_profile(first: Results, second: Results, keys: tuple[str, ...]) -> ComparedProfile | None:
    """Return two runs side by side, with the profiles of the first; None if it has none, or they have no common trial.

    Args:
        first: a run of one policy.
        second: another on the same test set.
        keys: columns of the table of trials in which a pair's are the same.

    Raises:
        ConfigurationError: the first run's file of profiles cannot be read.
    """
    profiles, score = profiles_of(RunFolder(first.run)), score_of(first)
    tables = [_counting(results, profiles) for results in (first, second)]
    if any(score.column not in table.columns for table in tables):
        return None
    pairs = tables[0].join(tables[1], on=keys, suffix="_of_second", maintain_order="left")
    rows = []
    for group in groups_of(profiles):
        own, _ = _split(group, pairs, profiles)
        if len(own):
            estimates = [_compared(own, spec) for spec in (find_spec(first.summary.scores, "success"), score)]
            rows.append(ComparedGroup(group, own["problem"].n_unique(), len(own), *estimates[0], *estimates[1]))
    return ComparedProfile(score, _without_usual(rows)) if rows else None


def score_of(results: Results) -> ScoreSpec:
    """Return the score of a run's profile."""
    return next((spec for spec in results.summary.scores if spec.name == SCORE), results.summary.metric_spec)


def groups_of(profiles: Mapping[str, Profile]) -> tuple[Group, ...]:
    """Return the groups of problems, in the order of BY, and the variants of their words."""
    found = {group for profile in profiles.values() for group in _groups(profile)}
    variants = [variant for profile in profiles.values() for variant in profile.texts]
    hard = {profile.difficulty: profile.score for profile in sorted(profiles.values(), key=lambda each: each.score)}
    number = {DIFFICULTY: hard.get, SUBTASKS: int, WORDS: variants.index}
    return tuple(
        sorted(found, key=lambda g: (BY.index(g.by), g.axis, number.get(g.by, lambda name: 0)(g.name), g.name))
    )


def _groups(profile: Profile) -> tuple[Group, ...]:
    """Return the groups that a problem is in."""
    return (
        Group(ALL, ALL),
        *(Group(AXIS, axis) for axis in set(profile.attributes.values())),
        *(Group(ATTRIBUTE, attribute, axis) for attribute, axis in profile.attributes.items()),
        Group(DIFFICULTY, profile.difficulty),
        Group(SUBTASKS, str(profile.subtasks)),
        *(Group(WORDS, variant) for variant in profile.texts),
    )


def _counting(results: Results, profiles: Mapping[str, Profile]) -> pl.DataFrame:
    """Return the trials that count of problems with profiles, in the usual words or in a variant of them.

    Their column ``cluster`` is the problem; ``words`` is the variant. Other perturbations are left out.
    """
    usual = {name: next(iter(profile.texts)) for name, profile in profiles.items()}
    said = {Variant.name_of(variant): variant for profile in profiles.values() for variant in profile.texts}
    kept = pl.col("counts") & pl.col("problem").is_in(list(usual)) & pl.col("perturbation").is_in([BASE, *said])
    return results.trials.filter(kept).with_columns(
        cluster="problem",
        words=pl.when(pl.col("perturbation") == BASE)
        .then(pl.col("problem").replace_strict(usual, default="", return_dtype=pl.String))
        .otherwise(pl.col("perturbation").replace_strict(said, default="", return_dtype=pl.String)),
    )


def _split(group: Group, trials: pl.DataFrame, profiles: Mapping[str, Profile]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the trials of a group, and those that it is compared with.

    Trials in other words are only in the group of these words, which is compared with all base trials.
    """
    base = trials.filter(pl.col("perturbation") == BASE)
    if group.by == WORDS:
        return trials.filter(pl.col("words") == group.name), base
    if group.by == VOCABULARY:
        named = base.drop_nulls("known")
        return named.filter(pl.col("known") == group.name), named.filter(pl.col("known") != group.name)
    its = pl.col("problem").is_in([name for name, profile in profiles.items() if group in _groups(profile)])
    return base.filter(its), base.filter(~its)


def _without_usual(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Return rows without that of the usual words, which says what all problems say, unless there are other words."""
    several = sum(row.group.by == WORDS for row in rows) > 1
    return tuple(row for row in rows if several or row.group.by != WORDS)


def _known(trials: pl.DataFrame, profiles: Mapping[str, Profile], vocabulary: frozenset[str] | None) -> pl.Series:
    """Return for each trial KNOWN or UNKNOWN; null without a vocabulary, or without object words."""

    def of(problem: str, variant: str) -> str | None:
        words = profiles[problem].object_words.get(variant)
        return None if vocabulary is None or not words else KNOWN if vocabulary.issuperset(words) else UNKNOWN

    return pl.Series("known", [of(*said) for said in trials.select("problem", "words").iter_rows()], pl.String)


def _object_words(
    trials: pl.DataFrame, profiles: Mapping[str, Profile], vocabulary: frozenset[str] | None
) -> ObjectWords | None:
    if vocabulary is None:
        return None
    said = trials.select("problem", "words").unique(maintain_order=True).iter_rows()
    words = tuple(sorted({word for name, variant in said for word in profiles[name].object_words.get(variant, ())}))
    return ObjectWords(words, tuple(word for word in words if word not in vocabulary)) if words else None


def _rows(
    policy: str,
    trials: pl.DataFrame,
    profiles: Mapping[str, Profile],
    scores: tuple[ScoreSpec, ScoreSpec],
    vocabulary: frozenset[str] | None,
) -> Iterator[ProfileRow]:
    of_vocabulary = tuple(Group(VOCABULARY, name) for name in (KNOWN, UNKNOWN))
    groups = groups_of(profiles)
    last = sum(group.by != WORDS for group in groups)
    for group in (*groups[:last], *of_vocabulary, *groups[last:]):
        own, others = _split(group, trials, profiles)
        if own.is_empty():
            continue
        means = [mean_score(own, spec) for spec in scores]
        if group.by == WORDS:
            again = own.filter(pl.col("perturbation") != BASE)
            differences = [difference_to_base(again, others, spec)[0] for spec in scores]
        else:
            apart = [mean_score(others, spec) for spec in scores]
            differences = [unpaired_difference(a, b) for a, b in zip(means, apart, strict=True)]
        words = _object_words(own, profiles, vocabulary)
        yield ProfileRow(policy, group, own["problem"].n_unique(), len(own), *means, *differences, words)


def _problems(
    policy: str,
    base: pl.DataFrame,
    profiles: Mapping[str, Profile],
    score: ScoreSpec,
    vocabulary: frozenset[str] | None,
) -> Iterator[ProblemRow]:
    found = base.partition_by("problem", as_dict=True)
    for name, profile in profiles.items():
        if (own := found.get((name,))) is not None:
            lowest = own.sort(score.column, nulls_last=True, maintain_order=True)["index"][0]
            estimate = mean_score(own.with_columns(cluster="base_id"), score)
            words = _object_words(own, profiles, vocabulary)
            yield ProblemRow(policy, name, profile, len(own), int(own["success"].sum()), estimate, lowest, words)


def _compared(pairs: pl.DataFrame, spec: ScoreSpec) -> tuple[Estimate, Estimate, Estimate]:
    second = f"{spec.column}_of_second"
    known = pairs.drop_nulls([spec.column, second])
    if known.is_empty():
        return NO_ESTIMATE, NO_ESTIMATE, NO_ESTIMATE
    # A table of the second run's scores, for the same statistics.
    means = [mean_score(table, spec) for table in (known, known.with_columns(pl.col(second).alias(spec.column)))]
    a, b, clusters = (known[name].to_numpy() for name in (spec.column, second, "cluster"))
    return *means, score_difference(a, b, spec, clusters)
