"""Posterior over prior: estimators that agree where the truth is planted, and see nothing where there is nothing."""

from __future__ import annotations

import importlib.util
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robocontrast_ros.statistics.sensitivity import bin_of, binned, neural, quantile_bins, splines


def planted(trials: int, seed: int = 0, per_instance: int = 2):
    """Return distances up to 0.1 m at which success falls by a logistic curve, successes, instances, and the curve."""
    rng = np.random.default_rng(seed)
    distance = rng.uniform(0.0, 0.1, trials)

    def curve(at):
        return 1.0 / (1.0 + np.exp((np.asarray(at) - 0.05) / 0.015))

    return distance, rng.random(trials) < curve(distance), np.arange(trials) // per_instance, curve


def holds(estimate, truth) -> bool:
    return estimate.low <= truth <= estimate.high


def test_bins_and_splines_hold_a_planted_curve_and_agree():
    distance, success, instances, curve = planted(800)
    edges = quantile_bins(distance, 6)
    overall = curve(np.linspace(0.0, 0.1, 2001)).mean()
    bins = binned(bin_of(distance, edges), success, instances)
    middles = [(low + high) / 2 for low, high in pairwise(edges)]
    smooth = splines(distance, success, instances, middles)
    held = []
    for number, ((low, high), middle) in enumerate(zip(pairwise(edges), middles, strict=True)):
        share, ratio = bins[number]
        truth = curve(np.linspace(low, high, 201)).mean()
        held += [holds(share, truth), holds(ratio, truth / overall)]
        held += [holds(smooth.success[number], curve(middle)), holds(smooth.ratio[number], curve(middle) / overall)]
        assert smooth.ratio[number].low < ratio.high and ratio.low < smooth.ratio[number].high
    # One in twenty may miss, share and ratio together.
    assert sum(held) >= len(held) - 4
    assert smooth.ratio[0].low > 1.0 > smooth.ratio[-1].high


@pytest.mark.skipif(importlib.util.find_spec("sbi") is None, reason="the extra `neural` is not installed")
def test_the_neural_estimator_agrees_with_the_bins():
    distance, success, instances, _ = planted(800)
    edges = quantile_bins(distance, 6)
    bins = binned(bin_of(distance, edges), success, instances)
    found = neural(distance, success, edges, 1)
    # It has no interval of its own; a fifth of the prior is more than the draws of the flow vary.
    assert all(bins[number][1].low - 0.2 < ratio < bins[number][1].high + 0.2 for number, ratio in enumerate(found))


@pytest.mark.parametrize(
    ("share", "per_instance"),
    [(0.5, 1), *(pytest.param(*each, marks=pytest.mark.long) for each in ((0.5, 4), (0.15, 1)))],
)
def test_a_condition_without_effect_has_a_ratio_of_1_at_the_nominal_rate(share, per_instance):
    rng, held = np.random.default_rng(5), []
    for _ in range(120):
        x, y, instances = rng.random(240), rng.random(240) < share, np.arange(240) // per_instance
        bins = binned(bin_of(x, np.linspace(0.0, 1.0, 5)), y, instances)
        smooth = splines(x, y, instances, [0.05, 0.3, 0.7, 0.95])
        held.append([[holds(ratio, 1.0) for _, ratio in bins.values()], [holds(one, 1.0) for one in smooth.ratio]])
    # 480 intervals each: three standard deviations of their share, were all independent, are 0.03.
    for number in (0, 1):
        assert 0.90 < np.mean([one[number] for one in held]) < 0.99


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.booleans(), st.integers(0, 5)), min_size=1, max_size=40),
)
def test_ratios_lie_in_their_intervals_and_average_to_1(trials):
    names, success, instances = (np.array(each) for each in zip(*trials, strict=True))
    found = binned(names, success, instances)
    assert set(found) == set(names.tolist())
    if not success.any():
        assert all(ratio.mean is None for _, ratio in found.values())
        return
    shares = {name: np.mean(names == name) for name in found}
    assert sum(shares[name] * ratio.mean for name, (_, ratio) in found.items()) == pytest.approx(1.0)
    for name, (_, ratio) in found.items():
        if ratio.low is not None:
            assert 0.0 <= ratio.low <= ratio.mean <= ratio.high <= 1.0 / shares[name] + 1e-9


def test_a_name_that_never_succeeds_has_an_interval_with_a_width():
    names, success = np.repeat(["dim", "bright"], [10, 30]), np.repeat([0, 1], [10, 30])
    found = binned(names, success, np.arange(40))
    assert found["dim"][1].mean == 0.0 and found["dim"][1].high > 0.2
    assert found["bright"][1].mean == pytest.approx(4 / 3) and found["bright"][1].low < 1.3


def test_copies_of_a_trial_in_its_own_cluster_tell_the_splines_nothing_new():
    distance, success, instances, _ = planted(100, per_instance=1)
    once = splines(distance, success, instances, [0.02, 0.08])
    often = splines(np.repeat(distance, 4), np.repeat(success, 4), np.repeat(instances, 4), [0.02, 0.08])
    for a, b in zip(once.ratio, often.ratio, strict=True):
        # The ridge weighs less among more trials; four independent trials would have half of the width.
        assert b.high - b.low > 0.8 * (a.high - a.low)


def test_where_all_trials_of_one_end_succeed_the_fit_stays_finite():
    x = np.linspace(0.0, 1.0, 60)
    found = splines(x, x < 0.5, np.arange(60), [0.0, 0.5, 1.0])
    assert found.success[0].mean > 0.85 and found.success[2].mean < 0.15
    assert all(np.isfinite([e.low, e.mean, e.high]).all() for e in (*found.success, *found.ratio))


def test_without_a_success_there_is_no_ratio_and_with_nothing_else_it_is_1():
    x, instances = np.linspace(0.0, 1.0, 20), np.arange(20)
    assert all(e.mean is None for e in splines(x, np.zeros(20), instances, [0.2, 0.4]).ratio)
    assert all(e.mean == 1.0 for e in splines(x, np.ones(20), instances, [0.2, 0.4]).ratio)
    with pytest.raises(ValueError, match="one value alone"):
        splines(np.zeros(20), x > 0.5, instances, [0.0])


def test_bins_have_about_equally_many_values_and_hold_all():
    x = np.random.default_rng(3).random(100) ** 3
    edges = quantile_bins(x, 5)
    assert (edges[0], edges[-1]) == (x.min(), x.max())
    assert np.bincount(bin_of(x, edges)).tolist() == [20] * 5
    assert len(quantile_bins([1.0, 1.0, 2.0], 6)) < 7
