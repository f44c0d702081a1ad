"""The verdict about two policies: its word, its numbers, and how often it is wrong."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from robocontrast_ros.analysis.foreign.outcomes import Outcome
from robocontrast_ros.analysis.foreign.reading import Arm, read_arm
from robocontrast_ros.analysis.foreign.verdict import Word, verdicts
from robocontrast_ros.analysis.tables.verdict import verdict_lines
from robocontrast_ros.statistics.clusters import cluster_mean
from robocontrast_ros.statistics.decisions import boschloo, mcnemar, paired_bootstrap

OPPOSITE = {Word.BETTER: Word.WORSE, Word.WORSE: Word.BETTER}


def arm(name, successes, task="t", start=0, **parts):
    """Return an arm with a trial an instance."""
    return Arm(
        name,
        tuple(
            Outcome(task=task, instance=f"{start + i:04}", success=bool(s), **parts) for i, s in enumerate(successes)
        ),
    )


def repeated(name, rows):
    """Return an arm with an instance a row, and its repeats."""
    return Arm(
        name,
        tuple(
            Outcome(task="t", instance=f"{i:04}", replicate=str(r), success=bool(s))
            for i, row in enumerate(rows)
            for r, s in enumerate(row)
        ),
    )


def verdict(first, second, **options):
    (found,) = verdicts(first, [second], **options)
    return found


@cache
def of_counts(s1, n1, s2, n2):
    return verdict(read_arm(f"{s1}/{n1}"), read_arm(f"{s2}/{n2}"))


def test_counts_have_boschloos_test_and_newcombes_interval():
    found, expected = of_counts(17, 20, 14, 20), boschloo(17, 20, 14, 20)
    assert (found.word, found.test, found.pairs) == (Word.UNDECIDED, "Boschloo", None)
    assert (found.p_value, found.difference) == (expected.p_value, expected.difference)
    assert (found.smallest_drop, found.needed.unpaired) == (0.43, 121)
    assert (found.trials, found.successes, found.adjusted) == ((20, 20), (17, 14), None)


def test_many_counts_have_fishers_test_which_needs_no_minutes():
    found = of_counts(500, 1000, 450, 1000)
    assert found.test == "Fisher"
    assert found.p_value == pytest.approx(stats.fisher_exact([[500, 450], [500, 550]]).pvalue)
    assert found.word is Word.BETTER


def test_single_pairs_have_mcnemars_test():
    rng = np.random.default_rng(1)
    a, b = rng.random(40) < 0.8, rng.random(40) < 0.4
    found, expected = verdict(arm("a", a), arm("b", b)), mcnemar(a, b)
    assert (found.test, found.pairs, found.word) == ("McNemar", 40, Word.BETTER)
    assert (found.p_value, found.difference) == (expected.p_value, expected.difference)


def test_repeats_of_an_instance_are_one_cluster():
    rows = np.random.default_rng(2).random((2, 12, 3)) < 0.6
    found = verdict(repeated("a", rows[0]), repeated("b", rows[1]))
    clusters = np.repeat(np.arange(12), 3)
    expected = paired_bootstrap(rows[0].ravel(), rows[1].ravel(), clusters, np.random.default_rng(0))
    assert (found.test, found.pairs) == ("paired bootstrap", 36)
    assert (found.p_value, found.difference) == (expected.p_value, expected.difference)


def test_instances_that_only_one_has_are_told_and_left_out():
    found = verdict(arm("a", [1] * 16), arm("b", [0] * 16, start=4))
    assert found.pairs == 12 and found.word is Word.BETTER
    assert "12 of 20 instances are in both; these are used." in found.notes


def test_other_instances_of_the_same_task_are_independent_groups():
    found = verdict(arm("a", [1] * 16), arm("b", [0] * 16, start=100))
    assert (found.pairs, found.test, found.word) == (None, "Boschloo", Word.BETTER)
    assert any("No instance is in both" in note for note in found.notes)


def test_pairs_with_other_seeds_are_none():
    found = verdict(arm("a", [1] * 10, seed=1), arm("b", [0] * 10, seed=2))
    assert found.pairs is None
    assert any("10 instances have other seeds" in note for note in found.notes)


def test_repeats_without_pairs_count_once_an_instance():
    rows = np.ones((6, 5))
    found = verdict(repeated("a", rows), Arm("b", arm("b", [0] * 6, start=100).outcomes))
    assert found.test == "permutation" and found.pairs is None
    # 6 instances against 6, not 30 trials against 6: two of the 924 ways to deal them.
    assert found.p_value == pytest.approx(2 / 924)


def test_void_trials_are_neither_successes_nor_failures_and_told():
    a = arm("a", [1] * 10)
    void = tuple(replace(o, success=False, void_reason="server lost") for o in a.outcomes[:3])
    found = verdict(Arm("a", void + a.outcomes[3:]), arm("b", [1] * 10))
    assert found.pairs == 7 and found.difference.mean == 0.0
    assert "a: 3 of 10 trials void, neither successes nor failures (server lost)." in found.notes


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        (arm("a", [1] * 9), arm("b", [0] * 9, task="u"), "they share no task: a has t and b has u"),
        (arm("a", [1] * 9), Arm("b", ()), "b has no trial"),
        (arm("a", [1] * 9), arm("b", [1] * 9, void_reason="lost"), "b has no trial that counts: all are void"),
        (
            arm("a", [1] * 9),
            Arm("b", tuple(replace(o, success=None, score=0.5) for o in arm("b", [1] * 9).outcomes)),
            "their measures differ",
        ),
        (
            Arm("a", arm("a", [1] * 9).outcomes + arm("a", [1] * 9, task="u").outcomes),
            Arm("b", arm("b", [1] * 9, start=50).outcomes + arm("b", [1] * 2, task="u", start=50).outcomes),
            "the same mix of tasks",
        ),
    ],
)
def test_what_has_nothing_to_compare_is_not_comparable_with_the_reason(first, second, reason):
    found = verdict(first, second)
    assert found.word is Word.NOT_COMPARABLE and reason in found.reason
    assert found.p_value is None and found.difference.mean is None
    assert verdict_lines(found)[0] == f"a against b: not comparable ({found.reason})"


def test_scores_are_compared_where_they_are_wanted():
    values = np.random.default_rng(3).random((2, 20)) * [[1.0], [0.4]]
    arms = [
        Arm(name, tuple(Outcome(task="t", instance=f"{i:02}", success=True, score=v) for i, v in enumerate(own)))
        for name, own in zip("ab", values, strict=True)
    ]
    assert verdict(*arms).difference.mean == 0.0
    found = verdict(*arms, measure="score")
    assert (found.measure, found.word, found.successes) == ("score", Word.BETTER, None)
    assert found.difference.mean == pytest.approx(np.mean(values[0] - values[1]))


def test_holm_counts_all_others():
    a, others = read_arm("19/20"), [read_arm(f"{s}/20") for s in (13, 13, 13)]
    alone, together = verdict(a, others[0]), verdicts(a, others)
    assert alone.word is Word.BETTER and alone.adjusted is None
    assert [one.word for one in together] == [Word.UNDECIDED] * 3
    assert together[0].adjusted == pytest.approx(3 * alone.p_value)
    assert "The interval excludes 0 although p is above 0.05" in " ".join(together[0].notes)


def test_a_margin_shows_that_nothing_that_matters_was_lost():
    a = arm("a", [1] * 60)
    same = verdict(a, arm("b", [1] * 60), margin=0.1)
    assert same.word is Word.UNDECIDED and same.not_worse
    assert same.p_not_worse == pytest.approx(0.9**60)
    assert not verdict(a, arm("b", [1] * 60), margin=0.01).not_worse
    counts = verdict(read_arm("90/100"), read_arm("88/100"), margin=0.1)
    assert counts.not_worse and 0.0 < counts.p_not_worse < 0.05
    # The p-value is at most 5 % where the 90 % interval is above the margin.
    ends = [cluster_mean([1] * s + [0] * (100 - s), range(100), 0.9) for s in (90, 88)]
    low = 0.02 - np.hypot(0.9 - ends[0].low, ends[1].high - 0.88)
    assert verdict(read_arm("90/100"), read_arm("88/100"), margin=-low + 0.001).p_not_worse < 0.05
    assert verdict(read_arm("90/100"), read_arm("88/100"), margin=-low - 0.001).p_not_worse > 0.05


def test_a_control_is_subtracted_instance_by_instance():
    rng = np.random.default_rng(4)
    easy = [rng.random(60) < p for p in (0.9, 0.9)]
    hard = [rng.random(60) < p for p in (0.85, 0.2)]
    found = verdict(arm("a", hard[0]), arm("b", hard[1]), controls=[arm("a0", easy[0]), arm("b0", easy[1])])
    changes = [h.astype(float) - e for h, e in zip(hard, easy, strict=True)]
    assert found.word is Word.BETTER and found.pairs == 60 and found.test == "paired bootstrap"
    assert found.difference.mean == pytest.approx(np.mean(changes[0] - changes[1]))
    assert found.control.mean == pytest.approx(easy[0].mean() - easy[1].mean())
    # What the controls differ by already is no effect.
    assert (
        verdict(
            *[arm(n, h) for n, h in zip("ab", hard, strict=True)], controls=[arm("c", hard[0]), arm("d", hard[1])]
        ).p_value
        == 1
    )


def test_pairs_without_controls_are_left_out_and_told():
    hard, easy = [arm("a", [1] * 12), arm("b", [0] * 12)], [arm("a0", [1] * 9), arm("b0", [1] * 9)]
    found = verdict(*hard, controls=easy)
    assert found.pairs == 9 and found.word is Word.BETTER
    assert "9 of 12 pairs have controls; these are used." in found.notes


def test_controls_on_other_instances_are_subtracted_as_a_whole():
    hard, easy = (
        [arm("a", [1] * 40), arm("b", [0] * 40)],
        [arm("a0", [1] * 40, start=50), arm("b0", [1] * 40, start=50)],
    )
    found = verdict(*hard, controls=easy)
    assert (found.test, found.word, found.difference.mean) == ("MOVER", Word.BETTER, 1.0)


def test_a_control_of_counts_has_an_interval_and_a_p_value_that_agree():
    def found(s, control):
        arms = [read_arm(f"{n}/100") for n in (s, 50, *control)]
        return verdict(*arms[:2], controls=arms[2:])

    clear, none = found(90, (50, 50)), found(90, (90, 50))
    assert (clear.word, clear.test) == (Word.BETTER, "MOVER")
    assert clear.difference.mean == pytest.approx(0.4) and clear.difference.low > 0.0
    assert none.word is Word.UNDECIDED and none.difference.mean == pytest.approx(0.0) and none.p_value > 0.9
    for s in range(55, 80, 3):
        one = found(s, (50, 50))
        assert (one.difference.low > 0.0) is (one.p_value <= 0.05)


COUNTS = st.integers(4, 14).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
MARKS = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=2, max_size=25)


@given(COUNTS, COUNTS)
@examples(20, quick=6)
def test_swapped_counts_have_the_opposite_word_and_difference(first, second):
    one, other = of_counts(*first, *second), of_counts(*second, *first)
    assert other.word is OPPOSITE.get(one.word, one.word)
    assert other.difference.mean == -one.difference.mean and other.difference.low == -one.difference.high
    assert one.p_value == pytest.approx(other.p_value, rel=1e-6)
    assert one.needed == other.needed


@given(MARKS, st.randoms())
@examples(40)
def test_swapped_pairs_have_the_opposite_word_and_the_order_of_rows_does_not_matter(marks, random):
    a, b = (arm(name, [pair[side] for pair in marks]) for side, name in enumerate("ab"))
    one, other = verdict(a, b), verdict(b, a)
    assert other.word is OPPOSITE.get(one.word, one.word)
    assert other.p_value == one.p_value and other.needed == one.needed
    rows = list(a.outcomes)
    random.shuffle(rows)
    assert verdict(Arm("a", tuple(sorted(rows, key=lambda row: row.key))), b) == one


@given(MARKS, st.integers(1, 20))
@examples(40)
def test_pairs_in_which_both_do_the_same_change_no_word_and_no_p_value(marks, more):
    a, b = ([pair[side] for pair in marks] for side in (0, 1))
    one = verdict(arm("a", a), arm("b", b))
    grown = verdict(arm("a", [*a, *[True] * more]), arm("b", [*b, *[True] * more]))
    assert (grown.word, grown.p_value) == (one.word, one.p_value)
    assert abs(grown.difference.mean) <= abs(one.difference.mean)


@given(COUNTS)
@examples(10, quick=3)
def test_equal_counts_are_undecided(counts):
    assert of_counts(*counts, *counts).word is Word.UNDECIDED


def wrong(words):
    return sum(word is not Word.UNDECIDED for word in words) / len(words)


@pytest.mark.parametrize("share", [0.5, 0.775])
def test_equal_policies_with_20_trials_are_told_apart_in_at_most_5_percent(share):
    draws = np.random.default_rng(5).binomial(20, share, (600, 2))
    pairs = np.sort(draws, axis=1)  # the word of swapped counts is the opposite one
    found = wrong([of_counts(int(s), 20, int(t), 20).word for s, t in pairs])
    assert found <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / len(draws))


@pytest.mark.parametrize("shares", [(0.5, 0.5, 0.5, 0.5), (0.9, 0.5, 0.9, 0.5), (0.7, 0.7, 0.95, 0.95)])
def test_equal_changes_of_20_trials_are_told_apart_in_5_percent(shares):
    draws = np.random.default_rng(7).binomial(20, shares, (150, 4))
    arms = [[Arm(str(s), read_arm(f"{s}/20").outcomes) for s in row] for row in draws]
    words = [verdict(a, b, controls=[a0, b0]).word for a, b, a0, b0 in arms]
    assert wrong(words) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / len(draws))


def test_a_control_of_few_counts_is_told_to_be_rough():
    found = verdict(read_arm("9/10"), read_arm("5/10"), controls=[read_arm("9/10"), read_arm("5/10")])
    assert any("up to 8 %" in note for note in found.notes)


def test_equal_policies_on_12_instances_with_repeats_are_told_apart_in_at_most_5_percent():
    rng = np.random.default_rng(6)
    words = []
    for _ in range(150):
        chance = rng.beta(0.5, 0.5, (12, 1))  # of an instance, of both policies
        rows = rng.random((2, 12, 3)) < chance
        words.append(verdict(repeated("a", rows[0]), repeated("b", rows[1])).word)
    assert wrong(words) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / len(words))
