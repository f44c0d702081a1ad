"""Claims about measures of perturbed scenes, families and pairs of policies, from trials made by hand."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from robocontrast_ros.configuration import ConfigurationError, parse_record
from robocontrast_ros.statistics.clusters import DIFFERENCES, cluster_mean
from robocontrast_ros.statistics.estimate import Estimate
from robocontrast_ros.studies.claims import Claim, ClaimedRange, Claims, check_claims
from robocontrast_ros.studies.evidence import Evidence
from robocontrast_ros.studies.figures import Picture, draw_by_measures
from robocontrast_ros.studies.measures import (
    ChangeFromBase,
    FamilyDifference,
    Offered,
    PolicyAgreement,
    PolicyDifference,
    Slope,
)
from robocontrast_ros.studies.seed_run import SeedRun

SIZES = (1, 2, 4, 8, 16)
LABELS = ("standard", "contrast")


def table_of(solved, seed=0, instances=30, proof=lambda values: values):
    """Return trials of one seed: each instance without distractors, and with each number of them.

    Args:
        solved: called with distractors, DvFC, family and a generator; returns the score.
        seed: of the scenes; the scores have a generator of their own.
        instances: their number.
        proof: what it says of a scene's measures.
    """
    scenes, luck = np.random.default_rng(seed), np.random.default_rng(1000 + seed)
    rows = []
    for i in range(instances):
        family = ("pick", "stack")[i % 2]
        for size in (0, *SIZES):
            dvfc = 2.0 + 0.1 * size + scenes.uniform(0.0, 1.0)
            values = {"distractors": float(size), "dvfc": dvfc}
            row = {
                "counts": True,
                "base_id": f"x{i:04d}",
                "perturbation": f"P{size}" if size else "base",
                "repeat": 0,
                "instruction": "lift it",
                "proof": json.dumps(proof(values)) if size else "",
                "family": family,
                "optimal_path_length_m": 0.5,
                "success": float(solved(size, dvfc, family, luck)),
                "setup_cost": 1.0,
                "setup_metres": 1.0,
                "setup_seconds": 10.0,
            }
            rows.append(row | {"strategy": "contrast"})
            if not size:
                rows.append(row | {"strategy": "standard"})
    return pl.DataFrame(rows).with_columns(pl.col("setup_cost").cum_sum().over("strategy").alias("cumulative_cost"))


def runs(solved, seeds=2, **given):
    return [SeedRun(table_of(solved, seed, **given), LABELS, "standard", "success") for seed in range(seeds)]


def evidence(solved, others=None, control=None, **given):
    of_control = None if control is None else evidence(control)
    rng = np.random.default_rng(0)
    return Evidence(runs(solved, **given), 10, 500, rng, of_control, others and others.get)


def slope(found, **given):
    return Slope(of=("contrast",), **given).estimate(found)


def chance(share):
    """Return what solves a trial with a probability that depends on the scene."""
    return lambda size, dvfc, family, rng: rng.random() < share(size, dvfc, family)


FALLS = chance(lambda size, dvfc, family: 1.0 - 0.2 * min(size, 4))


def perturbed(seed_runs):
    """Return distractors, DvFC and score of all perturbed trials."""
    parts = []
    for seed_run in seed_runs:
        trials = seed_run.sessions["contrast"]
        own = ~trials.is_base
        parts.append((trials.measures["distractors"][own], trials.measures["dvfc"][own], trials.score[own]))
    return (np.concatenate(part) for part in zip(*parts, strict=True))


def test_trials_carry_the_measures_of_their_scenes_and_base_trials_have_none():
    trials = runs(FALLS)[0].sessions["contrast"]
    assert set(trials.measures) == {"distractors", "dvfc"}
    assert np.isnan(trials.measures["dvfc"][trials.is_base]).all()
    assert not np.isnan(trials.measures["dvfc"][~trials.is_base]).any()
    assert np.array_equal(trials.taken(np.array([3, 1])).measures["distractors"], [4.0, 1.0])
    assert len(set(trials.key)) == len(trials.key)


def test_the_slope_is_that_of_the_least_squares_line_and_falls_until_it_is_flat():
    found = evidence(FALLS)
    sizes, dvfc, score = perturbed(runs(FALLS))
    assert slope(found, by="dvfc").mean == pytest.approx(np.polyfit(dvfc, score, 1)[0])
    early, late = slope(found, by="distractors", range=(0, 5), base=0), slope(found, by="distractors", range=(4, 16))
    chosen = sizes >= 4
    assert late.mean == pytest.approx(np.polyfit(sizes[chosen], score[chosen], 1)[0])
    # The score is 1 without distractors and 0.2 less with each, up to four.
    assert early.low < -0.2 < early.high < -0.15
    assert late.low < 0.0 < late.high
    # Trials without distractors are part of it only where the claim says how many they have.
    without = slope(found, by="distractors", range=(0, 5))
    chosen = sizes <= 5
    assert without.mean == pytest.approx(np.polyfit(sizes[chosen], score[chosen], 1)[0])
    assert without.mean != pytest.approx(early.mean)


def test_success_is_held_against_the_difficulty_of_each_problem_in_base_trials_too(tmp_path):
    """The problem is of a difficulty from 1 to 6, of which each point costs a tenth of the success; then of none."""
    difficulty = {f"p{number}": float(number) for number in range(1, 7)}

    def of_difficulty(costs, seed):
        table = table_of(chance(lambda size, dvfc, family: 1.0), seed, instances=60)
        number = table["base_id"].str.slice(1).cast(pl.Int64) % 6 + 1
        luck = np.random.default_rng(seed).random(len(table))
        table = table.with_columns(
            problem="p" + number.cast(pl.String), success=pl.Series(luck < 1.0 - costs * number.to_numpy()).cast(float)
        )
        return SeedRun(table, LABELS, "standard", "success", difficulty=difficulty), table

    made = [of_difficulty(0.1, seed) for seed in range(4)]
    runs_of, tables = zip(*made, strict=True)
    found = Slope(of=("standard",), by="difficulty").estimate(Evidence(runs_of, 10, 500, np.random.default_rng(0)))
    own = pl.concat(tables).filter(pl.col("strategy") == "standard")
    x = own["problem"].replace_strict(difficulty).to_numpy()
    assert found.mean == pytest.approx(np.polyfit(x, own["success"], 1)[0])
    assert found.low < -0.1 < found.high < 0.0
    equal = [of_difficulty(0.0, seed)[0] for seed in range(2)]
    assert Slope(of=("standard",), by="difficulty").estimate(Evidence(equal, 10, 500, np.random.default_rng(0))) == (
        Estimate(0.0)
    )
    pictures = [Picture("p", "contrast", {}, "success", "m", list(runs_of))]
    draw_by_measures(pictures, ["difficulty"], tmp_path / "measures")
    assert (tmp_path / "measures.png").stat().st_size > 2000


def test_clutter_and_set_size_are_told_apart_by_the_slope_among_scenes_of_one_set_size():
    by_size = evidence(chance(lambda size, dvfc, family: 1.0 - 0.05 * size), seeds=4)
    by_clutter = evidence(chance(lambda size, dvfc, family: 1.5 - 0.3 * dvfc), seeds=4)
    assert slope(by_size, by="dvfc").high < 0.0
    within = slope(by_size, by="dvfc", within="distractors")
    assert within.low < 0.0 < within.high
    within = slope(by_clutter, by="dvfc", within="distractors")
    assert within.low < -0.3 < within.high < 0.0
    sizes, dvfc, score = perturbed(runs(FALLS))
    for size in SIZES:
        dvfc[sizes == size] -= dvfc[sizes == size].mean()
        score[sizes == size] -= score[sizes == size].mean()
    wanted = (dvfc @ score) / (dvfc @ dvfc)
    assert slope(evidence(FALLS), by="dvfc", within="distractors").mean == pytest.approx(wanted)


def test_a_slope_through_equal_scores_or_along_one_value_has_no_interval():
    always = evidence(lambda *_: 1.0)
    assert slope(always, by="dvfc").mean == pytest.approx(0.0)
    assert slope(always, by="dvfc").low is None
    assert slope(evidence(FALLS), by="distractors", range=(3, 5)).mean is None
    assert slope(evidence(FALLS), by="occlusion").mean is None
    claim = Claim(
        id="flat",
        source="ours",
        says="it is flat",
        measure=Slope(of=("contrast",), by="dvfc"),
        holds=ClaimedRange(about_zero=0.1),
    )
    assert claim.decide(always, "policy").verdict == "undecided"
    # The score depends on the number of distractors alone.
    assert slope(evidence(lambda size, *_: size < 8), by="dvfc", within="distractors").low is None
    # A control without a slope leaves what there is.
    beyond = slope(evidence(FALLS, control=lambda *_: 1.0), by="dvfc", less_control=True)
    assert beyond.mean == pytest.approx(slope(evidence(FALLS), by="dvfc").mean)
    assert beyond.low is not None


def test_intervals_of_a_slope_cover_what_is_there():
    rng, covered, number = np.random.default_rng(2), 0, 60
    for _ in range(number):
        seed = int(rng.integers(2**31))
        own = [SeedRun(table_of(chance(lambda size, *_: 0.9 - 0.04 * size), seed), LABELS, "standard", "success")]
        found = slope(Evidence(own, 10, 200, rng), by="distractors")
        covered += found.low <= -0.04 <= found.high
    # Three standard errors below 95 %.
    assert covered / number > 0.95 - 3.0 * np.sqrt(0.95 * 0.05 / number)


def test_the_change_is_of_all_perturbed_trials_and_may_differ_between_families():
    harder = chance(lambda size, dvfc, family: 1.0 if not size else 0.9 if family == "pick" else 0.3)
    found = evidence(harder)
    changes = {"pick": [], "stack": []}
    for seed_run in runs(harder):
        trials = seed_run.sessions["contrast"]
        for i in range(seed_run.size):
            own = trials.instance == i
            base = own & trials.is_base
            changes[seed_run.family[i]].append(trials.score[own & ~base].mean() - trials.score[base].mean())

    def change(**given):
        return ChangeFromBase(of=("contrast",), **given).estimate(found)

    both = changes["pick"] + changes["stack"]
    assert change().mean == pytest.approx(np.mean(both))
    of_stack = change(families=("stack",))
    assert of_stack == cluster_mean(changes["stack"], np.arange(len(changes["stack"])), bounds=DIFFERENCES)
    grows = FamilyDifference(of=("contrast",), families=("stack",), other_families=("pick",))
    difference = grows.estimate(found)
    assert difference.mean == pytest.approx(np.mean(changes["stack"]) - np.mean(changes["pick"]))
    assert difference.low < -0.6 < difference.high < 0.0


def test_two_policies_are_compared_in_the_trials_that_both_ran():
    weak, strong = (lambda size, *_: size <= 2), (lambda size, *_: size <= 8 and size != 1)
    found = evidence(weak, {"strong": runs(strong)})

    def two(kind):
        return kind(of=("contrast",), policy="weak", than="strong").estimate(found)

    # Of five set sizes one is solved by both, one by the weak policy alone, two by the strong one alone.
    difference = two(PolicyDifference)
    assert difference.mean == pytest.approx((1 - 2) / 5)
    assert difference.low < -0.2 < difference.high < 0.0
    agreement = two(PolicyAgreement)
    assert agreement.mean == pytest.approx(1 / 2)
    assert agreement.low < 0.5 < agreement.high


def test_trials_that_start_in_other_scenes_are_not_the_same_trials():
    def moved(values):
        return values | {"dvfc": values["dvfc"] + (0.1 if values["distractors"] == 16 else 0.0)}

    others = {"other": runs(lambda size, *_: True, proof=moved)}
    found = evidence(lambda size, *_: size == 16, others)
    measure = PolicyDifference(of=("contrast",), policy="one", than="other")
    # Those with 16 distractors, the only ones that are solved, are left out.
    assert measure.estimate(found).mean == -1.0
    assert measure.estimate(evidence(FALLS)).mean is None


def test_success_is_drawn_against_each_measure_for_all_policies(tmp_path):
    def picture(name):
        return Picture(name, "contrast", {}, "success", "m", runs(FALLS))

    draw_by_measures([picture("one"), picture("other")], ("dvfc", "distractors"), tmp_path / "measures")
    assert (tmp_path / "measures.pdf").read_bytes().startswith(b"%PDF")
    assert (tmp_path / "measures.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("measure", "reason"),
    [
        ({"kind": "slope"}, "a value for `by` where `kind` is slope"),
        ({"kind": "bias", "by": "dvfc"}, "no value for `by` where `kind` is bias"),
        ({"kind": "bias", "range": [0, 5]}, "no `range` where `kind` is bias"),
        ({"kind": "change", "base": 0}, "no `base` where `kind` is change"),
        ({"kind": "slope", "by": "dvfc", "range": [5, 0]}, "less for the first number of `range`"),
        ({"kind": "slope", "by": "dvfc", "within": "dvfc"}, "for `within` another measure than `by`"),
        ({"kind": "slope", "by": "difficulty", "base": 0}, "no `base` where `by` is difficulty"),
        ({"kind": "slope", "by": "dvfc", "families": ["pick"]}, "no `families` where `kind` is slope"),
        ({"kind": "family_difference", "families": ["pick"]}, "a value for `other_families`"),
        ({"kind": "family_difference", "other_families": ["pick"]}, "values for `families` and `other_families`"),
        ({"kind": "policy_difference", "policy": "a"}, "a value for `than` where `kind` is policy_difference"),
        ({"kind": "agreement", "policy": "a", "than": "a"}, "another policy for `than`"),
        ({"kind": "agreement", "policy": "a", "than": "b", "less_control": True}, "no `less_control`"),
    ],
)
def test_keys_that_do_not_fit_the_kind_are_refused(measure, reason):
    claim = {"id": "it", "source": "ours", "says": "it", "measure": {"of": ["both"], **measure}, "holds": {"above": 0}}
    with pytest.raises(ConfigurationError) as caught:
        parse_record(Claims, {"claims": [claim]}, "claims.yaml")
    assert reason in str(caught.value)


OFFERED = Offered(
    perturbations={"both": ("D",), "standard": ()},
    measures={"both": ("distractors", "dvfc"), "standard": ()},
    policies=("one", "other"),
    families=("pick", "stack"),
    scores={"h_success": True, "success": True, "nearest_distance": False},
)


@pytest.mark.parametrize(
    ("kind", "keys", "words"),
    [
        (Slope, {"by": "dvcf"}, "'dvcf', expected a known measure of the scenes of 'both'"),
        (Slope, {"by": "dvfc", "within": "size"}, "'size', expected a known measure of the scenes of 'both'"),
        (ChangeFromBase, {"families": ("pik",)}, "Did you mean 'pick'"),
        (PolicyAgreement, {"policy": "one", "than": "othr"}, "Did you mean 'other'"),
        (ChangeFromBase, {"score": "h_sucess"}, "Did you mean 'h_success'"),
        (
            ChangeFromBase,
            {"score": "nearest_distance"},
            "got 'nearest_distance', expected a score whose range is 0 to 1",
        ),
    ],
)
def test_what_the_study_does_not_have_is_refused_by_name(kind, keys, words):
    def claim(kind, **keys):
        return Claim(id="it", source="ours", says="it", measure=kind(of=("both",), **keys), holds=ClaimedRange(above=0))

    with pytest.raises(ConfigurationError, match=r"claims\.it\.measure") as caught:
        check_claims([claim(kind, **keys)], OFFERED, "claims.yaml")
    assert words in str(caught.value)
    check_claims([claim(ChangeFromBase, score="h_success", families=("pick",))], OFFERED, "claims.yaml")
