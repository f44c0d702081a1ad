"""Scenes by bins of DvFC: which are drawn, when there is none, and where the bins' edges are."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from tabletop_scenes import CLUTTER_FILE, fresh

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain import NotApplicable, Perturbed
from robocontrast_ros.perturbations.clutter_bin import TAIL, ClutterBin, ClutterBinParameters, bin_of, edges_of
from robocontrast_ros.perturbations.loading import load_perturbation
from robocontrast_ros.tasks.tabletop.goals import argument

FEW = ("red_mug", "banana", "green_can", "blue_cube", "yellow_sponge", "red_apple", "white_bowl", "red_bowl")
# Few textures and small images take less time.
TASK = fresh(CLUTTER_FILE, FEW, {"size": (80, 60)})


@cache
def base(seed):
    return TASK.sample(np.random.default_rng([11, seed]), f"x{seed}")


def drawn(rng, seed=0, task=TASK, **parameters):
    origin = base(seed)
    return ClutterBin(ClutterBinParameters(**{"count": 6} | parameters)).apply(task, origin, origin.scene, rng)


def measures(answer):
    return dict(answer.instance.proof.measures)


@cache
def edges():
    """Return the edges of three bins of some reference draws."""
    rng = np.random.default_rng(5)
    return edges_of([measures(drawn(rng, seed % 3))["dvfc"] for seed in range(9)], 3)


@examples(4)
@given(seed=st.integers(0, 2), draw=st.integers(0, 2**16), wanted=st.sampled_from([1, 2, 3, None]))
def test_a_scene_is_of_the_wanted_bin_and_its_proof_says_so(seed, draw, wanted):
    answer = drawn(np.random.default_rng(draw), seed, edges=edges(), bin=wanted, candidates=12)
    if isinstance(answer, NotApplicable):
        assert answer.reason.startswith("no scene of bin ")
        return
    new, found = answer.instance, measures(answer)
    clutter = dict(TASK.clutter.measures(new.instruction, new.scene))
    assert {name: found[name] for name in clutter} == clutter
    low, high = (-np.inf, *edges(), np.inf)[int(found["bin"]) - 1 :][:2]
    assert wanted in (None, found["bin"]) and low <= found["dvfc"] < high
    assert 1 <= found["distractors"] <= 6 and set(found) == set(ClutterBin.measures)
    assert new.instruction == base(seed).instruction and all(new.scene[o.name] == o for o in base(seed).scene)
    assert f"candidate {found['candidates']:.0f}" in answer.note


@pytest.mark.parametrize("wanted", [1, 3])
def test_a_scene_of_a_bin_is_the_first_of_the_reference_draw_that_is_in_it(wanted):
    rng, answer = np.random.default_rng(8), drawn(np.random.default_rng(8), edges=edges(), bin=wanted)
    one, number = drawn(rng, bin=1), 1
    while bin_of(measures(one)["dvfc"], edges()) != wanted:
        one, number = drawn(rng, bin=1), number + 1
    assert measures(answer) == measures(one) | {"bin": wanted, "candidates": number}
    assert answer.instance.scene == one.instance.scene


def test_a_bin_that_is_not_reached_has_no_scene_and_the_reason_says_which_are():
    answer = drawn(np.random.default_rng(0), edges=(0.5, 90.0), bin=3, candidates=2)
    expected = "no scene of bin 3 of 3 (DvFC at least 90) in 2 candidates: 2 in bin 2"
    assert answer == NotApplicable(expected)


def test_a_bin_that_is_not_named_is_each_as_often():
    # Where there are no other things no image is drawn, and the reason names the bin.
    task, four = fresh(CLUTTER_FILE, (argument(base(0).instruction, "target"),), scene_draws=1), (1.0, 2.0, 3.0)
    reasons = [drawn(np.random.default_rng(seed), 0, task, edges=four, candidates=1).reason for seed in range(200)]
    assert all("in 1 candidates: none is a scene; 1 are no scene, the last because: " in reason for reason in reasons)
    counts = [sum(f"bin {number} of 4" in reason for reason in reasons) for number in range(1, 5)]
    # The chi-square statistic of three degrees of freedom is below 16.3 in 999 of 1,000 cases.
    assert sum(counts) == 200 and sum((count - 50) ** 2 / 50 for count in counts) < 16.3, counts


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"edges": [2.0, 3.0, 3.0]},
            r"`strategy\.perturbations\.edges`: got \[2\.0, 3\.0, 3\.0\], expected increasing",
        ),
        ({"edges": [2.0], "bin": 3}, r"`strategy\.perturbations\.bin`: got 3, expected at most 2, the number of bins"),
        ({"edges": [2.0, float("nan")]}, r"`strategy\.perturbations\.edges\.1`: got nan, expected a finite number"),
        ({"bin": 0}, r"`strategy\.perturbations\.bin`: got 0, expected greater than or equal to 1"),
        ({"candidates": 0}, r"`strategy\.perturbations\.candidates`: got 0, expected greater than or equal to 1"),
    ],
)
def test_parameters_that_do_not_fit_are_refused_by_name(parameters, message):
    with pytest.raises(ConfigurationError, match=message):
        load_perturbation({"name": "clutter_bin", **parameters}, "test", "strategy.perturbations")


def test_a_name_has_the_bin_and_what_is_drawn():
    names = [
        ClutterBin(ClutterBinParameters(**parameters)).name
        for parameters in ({}, {"edges": (2.0, 3.0)}, {"edges": (2.0,), "bin": 2, "similar": "alike", "looks": True})
    ]
    assert names == ["clutter_bin", "clutter_bin_of_3", "clutter_bin_2_of_2_alike_looks"]


def test_more_distractors_than_there_is_room_for_are_refused_with_the_number_that_fits():
    region = TASK.parameters.distracting.region
    narrow = fresh(CLUTTER_FILE, distracting={"region": replace(region, x_max=0.45, y_max=-0.4), "place_draws": 5})
    with pytest.raises(ValueError, match=r"at most \d distractors, for which there is room"):
        ClutterBin().supports(narrow)


@given(hundredths=st.sets(st.integers(100, 900), min_size=40, max_size=80), bins=st.integers(2, 8))
def test_edges_are_of_equal_width_or_have_as_many_draws_between_them(hundredths, bins):
    dvfc = [number / 100 for number in hundredths]
    low, high = np.quantile(dvfc, (TAIL, 1.0 - TAIL))
    wide, even = edges_of(dvfc, bins), edges_of(dvfc, bins, quantiles=True)
    assert len(wide) == len(even) == bins - 1
    assert np.allclose(np.diff((low, *wide, high)), (high - low) / bins, atol=0.0011)
    counts = np.bincount([bin_of(one, even) for one in dvfc], minlength=bins + 1)[1:]
    assert max(abs(counts - len(dvfc) / bins)) <= 2


def test_draws_that_are_too_few_or_too_alike_make_no_bins():
    with pytest.raises(ValueError, match="at most 2, the number of draws that are scenes"):
        edges_of([2.0, 3.0], 3)
    with pytest.raises(ValueError, match="draws whose DvFC differ enough for 3 bins"):
        edges_of([2.0] * 9, 3)


def test_the_base_trial_is_the_twin_so_it_does_not_apply_elsewhere():
    left = TASK.planner.plan(base(0).instruction, base(0).scene).final_scene
    answer = ClutterBin().apply(TASK, base(0), left, np.random.default_rng(0))
    assert answer == NotApplicable("a scene of a bin is that of the test instance itself, with distractors")
    assert isinstance(drawn(np.random.default_rng(0)), Perturbed)
