"""Claims come out true, false and undecided as the trials have it."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import polars as pl
import pytest

from robocontrast_ros.configuration import ConfigurationError, parse_record
from robocontrast_ros.statistics.difficulty import difficulty
from robocontrast_ros.statistics.estimate import Estimate
from robocontrast_ros.statistics.observation_shift import Pair
from robocontrast_ros.studies.claims import Claim, ClaimedRange, Claims, check_claims
from robocontrast_ros.studies.evidence import Evidence
from robocontrast_ros.studies.measures import (
    Bias,
    Closer,
    CostPerTrial,
    CostRatio,
    DifficultyAndHarm,
    ErrorAtEqualCost,
    ErrorOverOrders,
    Offered,
    PairedSensitivity,
    PerturbingCost,
    PooledRpd,
    Selection,
    Sensitivity,
    TrialsRatio,
    TrialsWithin,
)
from robocontrast_ros.studies.orders import expected_error
from robocontrast_ros.studies.report import write_claims
from robocontrast_ros.studies.seed_run import SeedRun
from robocontrast_ros.studies.tables import claims_block

LABELS = ("standard", "contrast", "better", "cheap")


def study(seed, instances, perturbed=0.0, cheap=0.0, spread=0.3, cost=1.0, refused=0.0):
    """Return one seed's trials.

    Perturbed trials score that much more than base trials, those of `cheap` that. Every third instance of `contrast`
    refuses the perturbation, and its base trial scores that much more.
    """
    rng = np.random.default_rng(seed)
    rows = []

    def trial(strategy, instance, perturbation, score, price):
        rows.append(
            {
                "counts": True,
                "strategy": strategy,
                "base_id": f"x{instance:04d}",
                "perturbation": perturbation,
                "family": f"f{instance % 2}",
                "optimal_path_length_m": 0.5,
                "spl": float(np.clip(score, 0.0, 1.0)),
                "success": float(score > 0.5),
                "setup_cost": price,
                "setup_metres": price,
                "setup_seconds": 20.0 + 10.0 * price,
            }
        )

    scores = rng.normal(0.5, spread, instances).clip(0.2, 0.8)
    for i, score in enumerate(scores):
        trial("standard", i, "base", score, cost)
        if i < instances // 2:
            refuses = refused and i % 3 == 0
            trial("contrast", i, "base", score + (refused if refuses else 0.0), cost)
            for _ in range(0 if refuses else 2):
                trial("contrast", i, "P", score + perturbed + rng.normal(0.0, 0.02), 0.1 * cost)
        if i < instances // 2:
            trial("better", i, "base", score, cost)
            trial("better", i, "P", score + rng.normal(0.0, 0.02), 0.1 * cost)
        trial("cheap", i, "base", score + cheap, 0.2 * cost)
    table = pl.DataFrame(rows)
    return table.with_columns(pl.col("setup_cost").cum_sum().over("strategy").alias("cumulative_cost"))


def seed_runs(instances=60, seeds=3, **given):
    return [SeedRun(study(s, instances, **given), LABELS, "standard", "spl") for s in range(seeds)]


def evidence(instances=60, seeds=3, control=None, **given):
    """Return what the trials say; `control` is what a control's perturbed trials score more than its base trials."""
    of_control = None if control is None else evidence(instances, seeds, perturbed=control)
    return Evidence(seed_runs(instances, seeds, **given), 50, 1000, np.random.default_rng(0), of_control)


def verdict(holds, instances=60, seeds=3, measure=None, **given):
    claim = Claim(id="it", source="ours", says="it is so", measure=measure, holds=ClaimedRange(**holds))
    return claim.decide(evidence(instances, seeds, **given), "policy").verdict


BIAS = Bias(of=("contrast",))
SENSITIVITY = Sensitivity(of=("contrast",), perturbation="P")
PAIRED = PairedSensitivity(of=("contrast",), perturbation="P")
RPD = PooledRpd(of=("contrast",), perturbation="P")
RATIO = TrialsRatio(of=("contrast",), against=("standard",))
PRICE = CostPerTrial(of=("standard",))
CHEAPEST = CostRatio(of=("cheap",), against=("standard", "contrast", "better"))
CLOSER = Closer(of=("better",), against=("contrast", "cheap"))
EQUAL = ErrorAtEqualCost(of=("contrast",), against=("better",))
EXPECTED = ErrorOverOrders(of=("contrast",), against=("standard",))
BEYOND = replace(PAIRED, less_control=True)
SELECTION = Selection(of=("contrast",), perturbation="P")
WITHIN = TrialsWithin(of=("contrast",), against=("standard",), budget=0.8)
PERTURBING = PerturbingCost(of=("contrast",))


@pytest.mark.parametrize(
    ("measure", "holds", "true", "false", "undecided"),
    [
        (BIAS, {"below": 0.0}, {"perturbed": -0.15}, {"perturbed": 0.15}, {"instances": 12, "seeds": 1}),
        (BIAS, {"above": 0.0}, {"perturbed": 0.15}, {"perturbed": -0.15}, {"instances": 12, "seeds": 1}),
        (BIAS, {"about_zero": 0.1}, {}, {"perturbed": 0.15}, {"instances": 12, "seeds": 1}),
        (
            SENSITIVITY,
            {"below": 0.0},
            {"perturbed": -0.15},
            {"perturbed": 0.15},
            {"instances": 12, "seeds": 1},
        ),
        (PAIRED, {"below": 0.0}, {"perturbed": -0.1}, {"perturbed": 0.1}, {"instances": 12, "seeds": 1}),
        (RPD, {"above": 0.0}, {"perturbed": -0.1}, {"perturbed": 0.1}, {"instances": 12, "seeds": 1}),
        (RATIO, {"above": 1.0}, {}, None, None),
        (RATIO, {"above": 2.4, "below": 2.6}, {}, None, None),
        (RATIO, {"above": 1.0, "below": 2.0}, None, {}, None),
        (PRICE, {"above": 0.9, "below": 1.1}, {}, {"cost": 2.0}, None),
        (CHEAPEST, {"below": 1.0}, {}, None, None),
        (CHEAPEST, {"below": 0.3}, None, {}, None),
        (CLOSER, {"above": 0.0}, {"perturbed": -0.3, "cheap": 0.2}, None, {"instances": 12, "seeds": 1}),
        (CLOSER, {"above": 0.05}, None, {}, None),
        (EQUAL, {"above": 0.0}, {"perturbed": -0.3}, None, {"instances": 12, "seeds": 1}),
        (EQUAL, {"below": 0.0}, None, {"perturbed": -0.3}, None),
        (EXPECTED, {"below": 0.0}, None, {"perturbed": -0.3}, {"instances": 8, "seeds": 1}),
        (replace(EXPECTED, estimator="base"), {"below": 0.0}, None, {"perturbed": -0.3}, None),
        (
            BEYOND,
            {"below": 0.0},
            {"perturbed": -0.15, "control": -0.05},
            {"perturbed": -0.05, "control": -0.15},
            None,
        ),
        (
            SELECTION,
            {"below": 0.0},
            {"refused": 0.2, "spread": 0.05},
            {"refused": -0.2, "spread": 0.05},
            {"refused": 0.01, "instances": 12, "seeds": 1},
        ),
        (WITHIN, {"above": 2.3, "below": 2.7}, {}, None, {"instances": 8, "seeds": 1}),
        (WITHIN, {"above": 2.9}, None, {}, None),
        (PERTURBING, {"above": 0.19, "below": 0.21}, {}, {"cost": 2.0}, None),
    ],
)
def test_a_claim_is_true_false_or_undecided_by_the_interval(measure, holds, true, false, undecided):
    for wanted, given in (("holds", true), ("does not hold", false), ("undecided", undecided)):
        if given is not None:
            assert verdict(holds, measure=measure, **given) == wanted


def test_the_mean_of_base_trials_and_the_adjusted_mean_have_no_bias_where_the_plain_mean_has():
    found = evidence(perturbed=-0.3)
    biases = {name: Bias(of=("contrast",), estimator=name).estimate(found) for name in ("plain", "base", "adjusted")}
    assert biases["plain"].high < -0.1
    for name in ("base", "adjusted"):
        assert biases[name].low < 0.0 < biases[name].high
    assert biases["adjusted"].half_width < 0.1


def test_what_the_control_loses_too_is_taken_off_and_equal_losses_leave_nothing():
    found = evidence(perturbed=-0.15, control=-0.15)
    assert PAIRED.estimate(found).high < -0.1
    nothing = BEYOND.estimate(found)
    assert nothing.mean == 0.0
    # That 87 instances changed alike does not say that all do.
    assert nothing.low == pytest.approx(-nothing.high)
    assert 0.0 < nothing.high < 0.1
    assert BEYOND.estimate(evidence(perturbed=-0.15)).mean is None


def test_strategies_that_ran_the_same_trials_decide_nothing():
    claim = Claim(
        id="it",
        source="ours",
        says="it is so",
        measure=ErrorAtEqualCost(of=("contrast",), against=("twin",)),
        holds=ClaimedRange(below=0.0),
    )
    table = study(0, 30, perturbed=-0.2)
    twin = table.filter(pl.col("strategy") == "contrast").with_columns(pl.lit("twin").alias("strategy"))
    both = SeedRun(pl.concat([table, twin]), (*LABELS, "twin"), "standard", "spl")
    found = Evidence([both], 50, 100, np.random.default_rng(0))
    assert claim.decide(found, "policy").verdict == "same trials"
    changed = ErrorAtEqualCost(of=("contrast",), against=("better",))
    assert replace(claim, measure=changed).decide(found, "policy").verdict != "same trials"


def test_applied_and_refused_instances_are_counted_without_the_last_that_the_budget_cut_off():
    found = evidence(instances=60, seeds=2, refused=0.1)
    # 30 instances of `contrast` in each seed; every third refuses, and the last one is not among them.
    assert found.applied("contrast", "P") == (2 * 20, 2 * 10)
    # One more, which refuses, may have been cut off before it was asked.
    assert evidence(instances=62, seeds=2, refused=0.1).applied("contrast", "P") == (2 * 20, 2 * 10)
    applied, refused = found.base_means("contrast", "P")
    selection = SELECTION.estimate(found)
    assert selection.mean == pytest.approx(applied.mean - refused.mean)
    assert selection.low < selection.mean < selection.high


def test_the_first_scene_of_a_session_which_is_brought_in_is_in_no_price():
    table = study(0, 10).with_columns(
        pl.when(pl.int_range(pl.len()).over("strategy") == 0).then(0.0).otherwise("setup_cost").alias("setup_cost")
    )
    table = table.with_columns(pl.col("setup_cost").cum_sum().over("strategy").alias("cumulative_cost"))
    found = Evidence([SeedRun(table, LABELS, "standard", "spl")], 50, 100, np.random.default_rng(0))
    price = PRICE.estimate(found)
    assert (price.mean, price.low, price.high) == pytest.approx((1.0, 1.0, 1.0))
    # Five instances at 1 and ten perturbed trials at 0.1, less the first, are 14 trials for 5.
    assert RATIO.estimate(found).mean == pytest.approx(14.0 / 5.0)


def test_success_and_seconds_are_measured_like_the_metric_and_the_budget():
    tables = [study(seed, 20, perturbed=-0.2) for seed in range(2)]
    own = [SeedRun(table, LABELS, "standard", "success", "seconds") for table in tables]
    found = Evidence(own, 50, 100, np.random.default_rng(0))
    assert PRICE.estimate(found).mean == pytest.approx(30.0)
    assert PERTURBING.estimate(found).mean == pytest.approx(42.0)
    by_hand = [
        table.filter(pl.col("strategy") == "contrast", pl.col("perturbation") == "P")["success"].mean()
        - table.filter(pl.col("strategy") == "standard")["success"].mean()
        for table in tables
    ]
    assert SENSITIVITY.estimate(found).mean == pytest.approx(np.mean(by_hand))


def test_the_expected_error_is_that_of_many_shuffled_orders():
    """Of N instances each of which costs the same, |mean of n - mean of N| has a known size."""
    own = seed_runs(40, 6, spread=0.2)
    plain = expected_error(own, "standard", "plain", "standard", np.random.default_rng(0), orders=60)
    assert plain.difference.mean == 0.0 == plain.difference.high
    variances = [np.var(s.sessions["standard"].score, ddof=1) for s in own]
    n = np.arange(2, 41, 2)
    wanted = np.mean([np.sqrt(2.0 / np.pi * v / n * (1.0 - n / 40)) for v in variances], axis=0)
    assert plain.of == pytest.approx(wanted, rel=0.2, abs=1e-9)
    assert plain.costs == pytest.approx(n)


@pytest.mark.filterwarnings("error")
def test_a_strategy_that_has_no_trial_yet_at_a_cost_has_no_expected_error_there():
    def dear(cost, instances):
        priced = pl.when(pl.col("strategy") == "contrast").then(cost).otherwise("setup_cost").alias("setup_cost")
        spent = pl.col("setup_cost").cum_sum().over("strategy").alias("cumulative_cost")
        table = study(0, instances).with_columns(priced).with_columns(spent)
        own = [SeedRun(table, LABELS, "standard", "spl")]
        return expected_error(own, "contrast", "plain", "standard", np.random.default_rng(0), orders=5)

    for instances in (4, 40):
        never = dear(1000.0, instances)
        assert never.difference == Estimate() and np.isnan(never.of).all() and np.isnan(never.against).all()
    # Eleven instances have a known cost, 11: at that alone is the first trial done, and without one of them never.
    late = dear(10.7, 24)
    assert late.difference.mean is not None and late.difference.low is None
    assert np.isnan(late.of[:-1]).all() and np.isfinite(late.of[-1])


def test_intervals_of_the_expected_error_cover_what_endless_test_sets_have():
    """The truth is the mean over many test sets."""
    rng = np.random.default_rng(3)
    differences = []
    for _ in range(40):
        own = [SeedRun(study(int(rng.integers(2**31)), 30, perturbed=-0.1), LABELS, "standard", "spl")]
        differences.append(expected_error(own, "contrast", "plain", "standard", rng, orders=20).difference)
    truth = np.mean([d.mean for d in differences])
    covered = np.mean([d.low <= truth <= d.high for d in differences])
    # Three standard errors below 95 %.
    assert covered >= 0.95 - 3.0 * np.sqrt(0.95 * 0.05 / 40)
    assert np.mean([d.half_width for d in differences]) < 4.0 * np.std([d.mean for d in differences])


def test_numbers_are_those_that_are_computed_by_hand():
    tables = [study(seed, 10, perturbed=0.1) for seed in range(2)]
    seed_runs = [SeedRun(table, LABELS, "standard", "spl") for table in tables]
    found = Evidence(seed_runs, 50, 100, np.random.default_rng(0))
    own = [table.filter(pl.col("strategy") == "contrast") for table in tables]
    target = [table.filter(pl.col("strategy") == "standard")["spl"].mean() for table in tables]
    bias = np.mean([o["spl"].mean() - t for o, t in zip(own, target, strict=True)])
    assert BIAS.estimate(found).mean == pytest.approx(bias)
    perturbed = [o.filter(pl.col("perturbation") == "P")["spl"].mean() for o in own]
    assert SENSITIVITY.estimate(found).mean == pytest.approx(
        np.mean([p - t for p, t in zip(perturbed, target, strict=True)])
    )
    # Five instances at 1 and ten perturbed trials at 0.1 are fifteen trials for 6; ten standard ones cost 10.
    assert RATIO.estimate(found).mean == pytest.approx(15.0 / 6.0)
    assert seed_runs[0].within("contrast") == 15
    assert seed_runs[0].within("cheap") == 10


@pytest.mark.parametrize("kind", ["base", "perturbed"])
def test_intervals_of_a_bias_cover_what_is_there(kind):
    """The truth is the bias that endless test sets would have."""
    rng, covered, number = np.random.default_rng(1), 0, 100
    offset = 0.0 if kind == "base" else -0.1
    for _ in range(number):
        table = study(int(rng.integers(2**31)), 40, perturbed=-0.1, spread=0.1)
        found = Evidence([SeedRun(table, LABELS, "standard", "spl")], 50, 200, rng)
        if kind == "base":
            estimate = Bias(of=("contrast",), estimator="base").estimate(found)
        else:
            estimate = SENSITIVITY.estimate(found)
        covered += estimate.low <= offset <= estimate.high
    # Three standard errors below 95 %, and what a percentile bootstrap lacks with 20 instances.
    assert covered / number > 0.95 - 3.0 * np.sqrt(0.95 * 0.05 / number) - 0.03


@pytest.mark.parametrize(
    ("region", "estimate", "wanted"),
    [
        ({"above": 1.0}, Estimate(1.2, 1.1, 1.3), "holds"),
        ({"above": 1.0}, Estimate(0.8, 0.7, 0.9), "does not hold"),
        ({"above": 1.0}, Estimate(1.1, 0.9, 1.3), "undecided"),
        ({"above": 1.0}, Estimate(1.5), "undecided"),
        ({"above": 1.0, "below": 2.0}, Estimate(2.2, 2.1, 2.3), "does not hold"),
        ({"about_zero": 0.05}, Estimate(0.0, -0.04, 0.04), "holds"),
        ({"about_zero": 0.05}, Estimate(0.0, -0.04, 0.06), "undecided"),
        ({"about_zero": 0.05}, Estimate(0.02, 0.01, 0.03), "does not hold"),
    ],
)
def test_a_region_decides_by_the_whole_interval(region, estimate, wanted):
    assert ClaimedRange(**region).verdict(estimate) == wanted


def test_files_of_claims_are_the_same_claims_for_people_programs_and_papers(tmp_path):
    claim = Claim(
        id="lb2",
        source="figure 3",
        says="ΔLB2 is below",
        measure=SENSITIVITY,
        holds=ClaimedRange(below=0.0),
    )
    decided = [claim.decide(evidence(perturbed=-0.15), policy) for policy in ("film_bc_state", "other")]
    write_claims(decided, tmp_path)
    rows = pl.read_csv(tmp_path / "claims.csv")
    assert list(rows["policy"]) == ["film_bc_state", "other"]
    assert set(rows["verdict"]) == {"holds"}
    assert float(rows["high"][0]) < 0.0
    markdown = (tmp_path / "claims.md").read_text()
    assert "| “ΔLB2 is below” | figure 3 |" in markdown
    assert markdown.count(": holds |") == 2
    latex = (tmp_path / "claims.tex").read_text()
    assert r"\begin{longtable}{p{0.240\linewidth}" in latex and r"\toprule" in latex
    assert r"film\_bc\_state" in latex and r"``$\Delta$LB2 is below''" in latex
    assert not set("Δ“”±") & set(latex)
    assert len(claims_block(decided).rows) == 1


@pytest.mark.parametrize(
    ("measure", "reason"),
    [
        ({"kind": "sensitivity", "of": ["both"]}, "a value for `perturbation` where `kind` is sensitivity"),
        ({"kind": "bias", "of": ["both"], "against": ["x"]}, "no value for `against` where `kind` is bias"),
        ({"kind": "bias", "of": ["both", "scene"]}, "one strategy in `of`"),
        ({"kind": "closer", "of": ["both"], "against": ["x"], "estimator": "base"}, "no `estimator`"),
        ({"kind": "speed", "of": ["both"]}, "'bias'"),
        ({"kind": "bias", "of": ["both"], "budget": 0.5}, "no value for `budget` where `kind` is bias"),
        ({"kind": "bias", "of": ["both"], "less_control": True}, "no `less_control` where `kind` is bias"),
    ],
)
def test_a_measure_that_does_not_fit_its_kind_is_refused(measure, reason):
    claim = {"id": "it", "source": "ours", "says": "it", "measure": measure, "holds": {"above": 0.0}}
    with pytest.raises(ConfigurationError, match=r"claims\.yaml") as caught:
        parse_record(Claims, {"claims": [claim]}, "claims.yaml")
    assert reason in str(caught.value)


@pytest.mark.parametrize("region", [{}, {"above": 1.0, "about_zero": 0.1}, {"above": 2.0, "below": 1.0}])
def test_a_region_that_is_none_is_refused(region):
    with pytest.raises(ValueError, match=r"`above`"):
        ClaimedRange(**region)


def test_a_claim_about_what_the_study_does_not_have_is_refused_with_what_it_has():
    offered = Offered({"both": ("LB1",), "standard": ()})
    claim = Claim(id="it", source="ours", says="it", measure=Bias(of=("bth",)), holds=ClaimedRange(above=0))
    with pytest.raises(ConfigurationError, match=r"claims\.it\.measure.*'bth'.*Did you mean 'both'"):
        check_claims([claim], offered, "claims.yaml")
    measure = Sensitivity(of=("both",), perturbation="LB2")
    claim = Claim(id="it", source="ours", says="it", measure=measure, holds=ClaimedRange(above=0))
    with pytest.raises(ConfigurationError, match=r"'LB2', expected a known perturbation of 'both': LB1"):
        check_claims([claim], offered, "claims.yaml")
    measure = Sensitivity(of=("both",), perturbation="LB1", less_control=True)
    claim = Claim(id="it", source="ours", says="it", measure=measure, holds=ClaimedRange(above=0))
    with pytest.raises(ConfigurationError, match=r"a study that has a `control`"):
        check_claims([claim], offered, "claims.yaml")


def test_rpd_is_the_ratio_of_the_mean_rates_of_instances_that_have_both():
    found = evidence(perturbed=-0.1)
    ori = mod = 0.0
    for run in found.seed_runs:
        trials = run.sessions["contrast"]
        base, perturbed = (trials.by_instance(m, run.size) for m in (trials.is_base, trials.perturbation == "P"))
        both = ~np.isnan(base) & ~np.isnan(perturbed)
        ori, mod = ori + base[both].sum(), mod + perturbed[both].sum()
    estimate = RPD.estimate(found)
    assert estimate.mean == pytest.approx((ori - mod) / ori) and estimate.low < estimate.mean < estimate.high


def test_rpd_of_a_policy_that_never_fails_has_no_interval_and_of_one_that_always_does_no_value():
    rows = [
        {
            "counts": True,
            "strategy": strategy,
            "base_id": f"x{i:04d}",
            "perturbation": perturbation,
            "family": "f",
            "optimal_path_length_m": 0.5,
            "setup_cost": 1.0,
            "setup_metres": 1.0,
            "setup_seconds": 1.0,
        }
        for strategy, perturbation in (("standard", "base"), ("contrast", "base"), ("contrast", "P"))
        for i in range(20)
    ]
    for score, mean in ((1.0, 0.0), (0.0, None)):
        table = pl.DataFrame([{**row, "spl": score, "success": score} for row in rows]).with_columns(
            pl.col("setup_cost").cum_sum().over("strategy").alias("cumulative_cost")
        )
        run = SeedRun(table, ("standard", "contrast"), "standard", "spl")
        assert RPD.estimate(Evidence([run], 50, 200, np.random.default_rng(0))) == Estimate(mean)


def test_difficulty_is_the_correlation_over_skills_beyond_what_chance_makes():
    rng, skills, seeds = np.random.default_rng(5), 16, []
    for _ in range(2):
        rows = []
        for i in range(10 * skills):
            rate = 0.3 + 0.7 * (i % skills) / (skills - 1)
            # Only what is solved less often than always is harmed, the more the harder it is.
            outcomes = (("base", rate), ("P", rate * (rate - 0.3) / 0.7))
            for strategy, (perturbation, share) in product(("standard", "contrast"), outcomes):
                if (strategy, perturbation) != ("standard", "P"):
                    rows.append((strategy, f"x{i:04d}", perturbation, f"p{i % skills:02d}", rng.random() < share))
        names = ("strategy", "base_id", "perturbation", "problem", "success")
        table = pl.DataFrame(rows, names, orient="row").with_columns(
            *(pl.lit(1.0).alias(n) for n in ("optimal_path_length_m", "setup_cost", "setup_metres", "setup_seconds")),
            counts=pl.lit(True),
            family=pl.lit("put_on"),
            success=pl.col("success").cast(pl.Float64),
        )
        table = table.with_columns(pl.col("setup_cost").cum_sum().over("strategy").alias("cumulative_cost"))
        seeds.append(SeedRun(table, ("standard", "contrast"), "standard", "success"))
    found = DifficultyAndHarm(of=("contrast",), perturbation="P").estimate(
        Evidence(seeds, 50, 200, np.random.default_rng(0))
    )
    counts = np.zeros((skills, 3), int)
    for run in seeds:
        trials = run.sessions["contrast"]
        base, changed = (trials.by_instance(m, run.size) for m in (trials.is_base, trials.perturbation == "P"))
        for skill, one, other in zip(run.skill, base, changed, strict=True):
            counts[int(skill[1:])] += (int(one), int(other), 1)
    by_hand = difficulty([Pair(*map(int, row)) for row in counts], np.random.default_rng(0))
    assert found.mean == pytest.approx(by_hand.rho.mean - by_hand.by_chance)
    assert found.low < found.mean < found.high < 0.0 and by_hand.p < 0.01
