"""The adjusted mean: on target where the plain mean is not, and never much worse than base trials alone."""

from __future__ import annotations

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from robocontrast_ros.statistics.clusters import cluster_mean
from robocontrast_ros.statistics.estimate import NO_ESTIMATE, Estimate
from robocontrast_ros.statistics.prediction import adjusted_mean

HARDER = np.array([0.0, -3.0, -2.0, -1.0, -1.5])
"""How much harder than a base trial each perturbed one is, on the logit scale."""


def world(rng, run, size, slope):
    """Draw a test set of which `run` instances were run, each with four harder perturbed trials.

    Returns the arguments of adjusted_mean, and the scores of all base trials.
    """
    kind, length = rng.integers(0, 5, size), rng.random(size)
    ease = slope * (kind - 2.0) - slope * (length - 0.5) + rng.normal(0.0, 0.5, size)
    outcomes, covariates = [], []
    features = np.column_stack([kind[:, None] == np.arange(5), length]).astype(float)
    truth = np.zeros(size)
    for number, harder in enumerate(HARDER):
        scores = (rng.random(size) < 1.0 / (1.0 + np.exp(-ease - harder))) * rng.beta(8, 2, size)
        truth = scores if number == 0 else truth
        outcomes.append(scores[:run])
        which = np.zeros((size, 4))
        if number:
            which[:, number - 1] = 1.0
        covariates.append(np.hstack([features, which])[:run])
    given_ = {
        "outcomes": np.concatenate(outcomes),
        "covariates": np.vstack(covariates),
        "clusters": np.tile(np.arange(run), 5),
        "is_base": np.arange(5 * run) < run,
        "covariates_of_all": np.hstack([features, np.zeros((size, 4))]),
    }
    return given_, truth


def errors(slope, run, size=200, draws=150):
    """Return errors of the adjusted, the base and the plain mean of X, and how often X's mean was covered."""
    rng = np.random.default_rng(11)
    found, covered = [], 0
    for _ in range(draws):
        arguments, truth = world(rng, run, size, slope)
        target = truth.mean()
        estimate = adjusted_mean(**arguments, finite=True)
        found.append([estimate.mean - target, truth[:run].mean() - target, arguments["outcomes"].mean() - target])
        covered += estimate.low <= target <= estimate.high
    assert covered >= stats.binom.ppf(1e-4, draws, 0.95)
    return np.array(found).T


def test_it_is_on_target_where_perturbed_trials_are_much_harder_and_nearer_than_base_trials_alone():
    adjusted, base, plain = errors(slope=1.2, run=60)
    assert plain.mean() < -0.1, "the plain mean is far below"
    assert abs(adjusted.mean()) < 4.0 * adjusted.std() / np.sqrt(len(adjusted))
    assert adjusted.std() < 0.93 * base.std()


@pytest.mark.parametrize("run", [8, 40])
def test_covariates_that_say_nothing_cost_next_to_nothing(run):
    adjusted, base, _ = errors(slope=0.0, run=run)
    assert adjusted.std() < 1.05 * base.std()


def test_the_error_goes_to_zero_with_the_instances_that_are_run():
    few, more = (errors(slope=1.2, run=run, size=240, draws=60)[0] for run in (15, 120))
    assert np.sqrt(np.mean(more**2)) < 0.4 * np.sqrt(np.mean(few**2))


@pytest.mark.parametrize(("run", "size"), [(12, 14), (6, 12)])
def test_the_interval_covers_the_mean_of_a_test_set_of_which_little_is_left(run, size):
    # What is left may all fail: errors() says how often that was not foreseen.
    errors(slope=0.0, run=run, size=size, draws=250)


@pytest.mark.parametrize("run", [12, 40])
def test_the_interval_for_the_domain_covers_it(run):
    rng, draws, covered = np.random.default_rng(3), 150, 0
    truth = np.concatenate([world(rng, 2, 20_000, 1.0)[1] for _ in range(5)]).mean()
    for _ in range(draws):
        arguments, _ = world(rng, run, 150, 1.0)
        estimate = adjusted_mean(**arguments, finite=False)
        covered += estimate.low <= truth <= estimate.high
    assert covered >= stats.binom.ppf(1e-4, draws, 0.95)


@given(st.integers(0, 2**32 - 1), st.integers(8, 20), st.booleans())
@examples(25)
def test_neither_the_order_of_trials_nor_names_nor_units_matter(seed, run, finite):
    rng = np.random.default_rng(seed)
    arguments, _ = world(rng, run, 30, 1.0)
    one = adjusted_mean(**arguments, finite=finite)
    order = rng.permutation(len(arguments["outcomes"]))
    changed = {name: arguments[name][order] for name in ("outcomes", "covariates", "is_base")}
    scale = np.linspace(0.5, 100.0, arguments["covariates"].shape[1])
    changed["covariates"] = changed["covariates"] * scale
    changed["covariates_of_all"] = rng.permutation(arguments["covariates_of_all"]) * scale
    changed["clusters"] = np.array([f"x{(3 * c) % 101}" for c in arguments["clusters"]])[order]
    other = adjusted_mean(**changed, finite=finite)
    assert (other.mean, other.low, other.high) == pytest.approx((one.mean, one.low, one.high), abs=1e-7)
    assert 0.0 <= one.low <= one.mean <= one.high <= 1.0


def test_with_few_base_instances_it_is_the_mean_of_the_base_trials():
    arguments, truth = world(np.random.default_rng(0), 7, 50, 1.0)
    estimate = adjusted_mean(**arguments, finite=False)
    expected = cluster_mean(truth[:7], np.arange(7))
    assert (estimate.mean, estimate.low, estimate.high) == pytest.approx((expected.mean, expected.low, expected.high))
    narrower = adjusted_mean(**arguments, finite=True)
    assert narrower.mean == estimate.mean
    assert narrower.half_width < estimate.half_width


def test_once_all_of_the_test_set_was_run_its_mean_is_known():
    arguments, truth = world(np.random.default_rng(0), 30, 30, 1.0)
    assert adjusted_mean(**arguments, finite=True) == Estimate(*(pytest.approx(truth.mean()),) * 3)
    assert adjusted_mean(**arguments, finite=False).half_width > 0.1


def test_repeats_of_a_base_trial_are_one_instance():
    arguments, _ = world(np.random.default_rng(0), 10, 40, 1.0)
    twice = {name: np.concatenate([value, value]) for name, value in arguments.items() if name != "covariates_of_all"}
    once = adjusted_mean(**arguments, finite=True)
    again = adjusted_mean(**twice, covariates_of_all=arguments["covariates_of_all"], finite=True)
    assert again.half_width == pytest.approx(once.half_width, rel=0.05)


def test_nothing_and_one_instance():
    nothing = {"outcomes": [], "covariates": np.zeros((0, 1)), "clusters": [], "is_base": []}
    assert adjusted_mean(**nothing, covariates_of_all=np.zeros((5, 1)), finite=True) == NO_ESTIMATE
    perturbed = {"outcomes": [0.5], "covariates": [[1.0]], "clusters": [0], "is_base": [False]}
    assert adjusted_mean(**perturbed, covariates_of_all=np.zeros((5, 1)), finite=True) == NO_ESTIMATE
    one = {"outcomes": [0.5], "covariates": [[1.0]], "clusters": [0], "is_base": [True]}
    assert adjusted_mean(**one, covariates_of_all=np.zeros((5, 1)), finite=False) == Estimate(0.5)
    assert adjusted_mean(**one, covariates_of_all=np.zeros((1, 1)), finite=True) == Estimate(0.5, 0.5, 0.5)
    with pytest.raises(ValueError, match="got 0 instances, expected at least the 1 that were run"):
        adjusted_mean(**one, covariates_of_all=np.zeros((0, 1)), finite=True)
