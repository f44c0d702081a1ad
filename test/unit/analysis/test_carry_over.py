"""Which changes carry over: the rule, its errors in simulation, and the tables of real runs."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from line_world import Invert, LineBench, Mirrored, MoveSource, line_evaluation
from rich.console import Console

from robocontrast_ros.analysis.estimates.carry_over import MARGIN, Carried, adjusted, carry_over
from robocontrast_ros.analysis.estimates.comparison import compare_all
from robocontrast_ros.analysis.estimates.results import compute_results
from robocontrast_ros.analysis.tables.comparison import comparison_json, comparison_report, comparison_table
from robocontrast_ros.domain import ScoreSpec
from robocontrast_ros.runs.journal import read_journal
from robocontrast_ros.sessions.loop import run_session
from robocontrast_ros.statistics.clusters import paired_difference
from robocontrast_ros.statistics.equivalence import equivalence
from robocontrast_ros.statistics.estimate import Estimate

SUCCESS = ScoreSpec("success", "success", "", 0.0, 1.0, "higher", False, "scene", "whether the goal was reached")
CHANGES = st.lists(st.tuples(st.sampled_from([-1.0, 0.0, 1.0]), st.sampled_from([-1.0, 0.0, 1.0])), min_size=2)


def decided(first, second, margin=MARGIN, spec=SUCCESS):
    first, second = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    ends = paired_difference(first, np.zeros(len(first)))
    return adjusted([carry_over(first, second, np.arange(len(first)), spec, margin, ends)])[0]


def test_instances_without_any_difference_show_that_a_change_carries_over_if_there_are_enough():
    """(1 - margin / 2)^n: a share of margin / 2 of all instances may differ by 2."""
    assert decided(np.zeros(58), np.zeros(58)).word is Carried.UNDECIDED
    found = decided(np.zeros(59), np.zeros(59))
    assert found.word is Carried.CARRIES and found.p_equal == pytest.approx(0.95**59)
    assert decided(np.zeros(29), np.zeros(29), margin=0.2).word is Carried.CARRIES


def test_a_difference_that_is_shown_but_smaller_than_the_margin_carries_over():
    apart = np.tile([0.02, 0.01], 200)
    found = decided(apart, np.zeros(400))
    assert found.p_different < 0.05 and found.word is Carried.CARRIES
    assert decided(apart, np.zeros(400), margin=0.01).word is Carried.DIFFERS


def test_the_margin_is_a_share_of_the_range_and_an_open_range_has_none():
    apart = np.random.default_rng(0).choice([0.0, 0.1], 100)
    wide = replace(SUCCESS, high=10.0)
    assert decided(10 * apart, np.zeros(100), spec=wide).p_equal == pytest.approx(decided(apart, np.zeros(100)).p_equal)
    seconds = replace(SUCCESS, high=float("inf"))
    found = decided(10 * apart, np.zeros(100), spec=seconds)
    assert found.p_equal is None and found.word is Carried.DIFFERS


def test_held_is_told_by_the_interval_of_the_first_alone():
    apart = np.zeros(10), np.full(10, 0.4)
    assert carry_over(*apart, np.arange(10), SUCCESS, MARGIN, Estimate(0.0, -0.3, 0.3)).held is False
    assert carry_over(*apart, np.arange(10), SUCCESS, MARGIN, Estimate(0.0, -0.5, 0.5)).held is True
    assert carry_over(*apart, np.arange(10), SUCCESS, MARGIN, Estimate(0.0)).held is None


@given(CHANGES)
def test_exchanging_the_runs_changes_no_word_and_the_tests_are_those_of_the_package(pairs):
    first, second = np.array(pairs).T
    one, other = decided(first, second), decided(second, first)
    assert (one.word, one.p_different) == (other.word, other.p_different)
    assert one.p_equal == pytest.approx(other.p_equal)
    halves = equivalence(first / 2, second / 2, margin=MARGIN / 2)
    assert one.p_equal == pytest.approx(halves.p_value)


def test_of_a_hundred_comparisons_with_equal_changes_at_most_five_say_that_one_does_not_carry_over():
    """Four perturbations of eight instances, for which all signs are enumerated; each comparison is one family."""
    rng, draws, wrong = np.random.default_rng(0), 250, 0
    rates = 0.9 - np.array([0.1, 0.2, 0.4, 0.5])
    for _ in range(draws):
        base = (rng.random((2, 8)) < 0.9).astype(float)
        family = [
            carry_over(*((rng.random((2, 8)) < rate) - base), np.arange(8), SUCCESS, MARGIN, Estimate())
            for rate in rates
        ]
        # None of four p-values above 5 % is adjusted to less; the adjustment itself takes most of the time.
        likely = min(one.p_different for one in family) <= 0.05
        wrong += likely and any(one.word is Carried.DIFFERS for one in adjusted(family))
    # Three standard errors of 5 % in so many draws.
    assert wrong / draws <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / draws), wrong


@pytest.fixture
def results(tmp_path):
    """Run a session on some robot in some world; return what came of it."""

    def ran(robot, skill, perturbations=(Invert, MoveSource, Mirrored), **world):
        session = {"task": "line", "policy": "oracle", "robot": robot, "world": world}
        evaluation = line_evaluation(
            12, parameters={"session": session}, perturbations=[one() for one in perturbations]
        )
        folder = tmp_path / robot
        folder.mkdir()
        run_session(evaluation, LineBench(skill=skill), folder / "journal.jsonl")
        return compute_results(read_journal(folder / "journal.jsonl"))

    return ran


def shown(comparisons, labels):
    console = Console(width=80)
    with console.capture() as capture:
        console.print(comparison_report(comparisons, labels))
    return capture.get()


def test_both_runs_worlds_gap_and_agreement_are_told_in_terminal_and_files(results):
    first = results("franka", 0.9, backend="embedded", pacing="lockstep")
    others = [results("ur5e", 0.5, backend="simulation_interfaces", pacing="wall_clock"), results("third", 0.8)]
    comparisons = compare_all(first, others, 0.2)
    family = [row.change.carry_over for one in comparisons for row in one.rows if row.change.carry_over]
    assert len(family) == 6
    tested = [one for one in family if one.p_equal is not None]
    least = min(tested, key=lambda one: one.p_equal)
    assert least.p_equal_holm == pytest.approx(min(1.0, len(tested) * least.p_equal))
    words = shown(comparisons, ["line", "line", "line"])
    assert "Worlds: first franka, embedded, lockstep; second ur5e, simulation_interfaces, \nwall_clock." in words
    for part in (
        "carry-over",
        "Pearson's r",
        "MMRV, second for first",
        "Margin: 0.2. Gap of the score",
        "no p is below",
    ):
        assert part in words, part
    assert max(map(len, words.splitlines())) <= 80
    table = comparison_table(comparisons)
    assert set(table.filter(table["perturbation"] == "LB2")["change_carry_over"]) <= {one.value for one in Carried}
    assert table.filter(table["perturbation"] == "base")["change_carry_over"].null_count() == 2
    content = json.loads(comparison_json(comparisons))["comparisons"][0]
    assert content["agreement"]["perturbations"] == 3 and content["first_world"] == "franka, embedded, lockstep"
    assert content["rows"][1]["success_change"]["carry_over"]["word"] in {one.value for one in Carried}


def test_what_is_not_asked_is_not_told(results):
    comparisons = compare_all(results("franka", 0.9), [results("ur5e", 0.5)])
    assert "carry-over" not in shown(comparisons, ["line", "line"])
    assert comparison_table(comparisons)["change_carry_over"].null_count() == 5
    assert comparisons[0].agreement is None


def test_two_perturbations_have_no_agreement_and_other_policies_are_told_of(results):
    pair = [results(robot, 0.9, (Invert, MoveSource)) for robot in ("franka", "ur5e")]
    (comparison,) = compare_all(pair[0], pair[1:], MARGIN)
    assert comparison.agreement is comparison.success_agreement is None
    other = replace(comparison, second="another")
    words = " ".join(shown([other], ["line", "another"]).split())
    assert "No agreement: it takes 3 perturbations that both runs have, and there are 2." in words
    assert f"The policies differ ({comparison.first}, another)" in words
    assert "The policies differ" not in shown([comparison], ["line", "line"])


def test_a_run_against_itself_changes_alike(results):
    run = results("franka", 0.6)
    (comparison,) = compare_all(run, [run], MARGIN)
    rows = [row for row in comparison.rows if row.change.carry_over]
    assert [row.change.difference.mean for row in rows] == [0.0] * 3
    assert {row.change.carry_over.held for row in rows if row.change.instances > 1} == {True}
    assert comparison.agreement.mmrv_first.value.mean == comparison.agreement.mmrv_second.value.mean == 0.0
    assert comparison.agreement.pearson.value.mean == pytest.approx(1.0)
