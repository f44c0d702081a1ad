"""Which perturbed trials are left out, and that nothing known of an instance decides about it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from line_world import Invert, LineBench, LineTask, Mirrored, line, line_evaluation, to_place, with_scores

from robocontrast_ros.domain import BASE, Expectation, Fault, Perturbed, TestInstance
from robocontrast_ros.episodes.scoring.spl import Spl
from robocontrast_ros.runs.events import TrialFinished, TrialSkipped
from robocontrast_ros.runs.journal import read_journal
from robocontrast_ros.sessions.loop import run_session
from robocontrast_ros.sessions.seeding import generator
from robocontrast_ros.strategies.adaptive import PILOTS, Adaptive
from robocontrast_ros.strategies.contrast_set import ContrastSet
from robocontrast_ros.strategies.prediction import result_of_success
from robocontrast_ros.strategies.protocol import Completed, Proposal, Skipped, StrategyContext

TASK = LineTask()
ONE = TASK.make_instance("x", to_place("a", "left"), line(a=0.3, b=0.5, c=0.7, d=0.8))
DONE = result_of_success(TASK, ONE, Spl.spec)
LEFT_OUT = "left out: less information for its cost than the next test instance"


@dataclass(frozen=True)
class Again:
    """A perturbation that leaves everything as it is, and so always applies."""

    name: str
    axes = ""
    plausible, expectation = True, Expectation.KEEPS_SUCCESS

    def apply(self, task: LineTask, base: TestInstance, scene, rng) -> Perturbed:
        """Return the instance again."""
        return Perturbed(base, "again")


def context(number: int, rows: tuple[str, ...], budget: float) -> StrategyContext:
    """Return as many instances as wanted, with perturbations of these names."""
    instances = tuple(replace(ONE, instance_id=f"x{n:03d}") for n in range(number))
    return StrategyContext(TASK, instances, tuple(map(Again, rows)), 1, partial(generator, 0), budget, metric=Spl.spec)


Score = Callable[[str, str], float]
"""Base instance and row -> score."""


def run(given: StrategyContext, score: Score, costs: dict[str, float]) -> list[tuple[str, str, float | None]]:
    """Return (base instance, row, score; None where it was left out) of all that the budget allows."""
    steps, out, answer, spent = Adaptive().run(given), [], None, 0.0
    while True:
        try:
            step = steps.send(answer)
        except StopIteration:
            return out
        if isinstance(step, Skipped):
            assert step.reason == LEFT_OUT
            out.append((step.base_id, step.perturbation, None))
            answer = None
            continue
        cost = costs.get(step.perturbation, 1.0)
        if spent + cost > given.budget:
            return out
        spent += cost
        value = score(step.base_id, step.perturbation)
        out.append((step.base_id, step.perturbation, value))
        answer = Completed(with_scores(DONE, spl=value), cost)


def coin(seed: int, chances: dict[str, float]) -> Score:
    """Return scores of 0 and 1 by independent tosses, which do not depend on the order of asking."""

    def toss(base_id: str, row: str) -> float:
        rng = np.random.default_rng([seed, *f"{base_id}/{row}".encode()])
        return float(rng.random() < chances.get(row, 0.5))

    return toss


def numbers(trials) -> Counter:
    return Counter(row for _, row, score in trials if score is not None)


@given(seed=st.integers(0, 2**63 - 1), repeats=st.integers(1, 2))
@settings(max_examples=4, deadline=None)
def test_without_a_budget_it_is_the_contrast_set(tmp_path_factory, seed, repeats):
    folder, told = tmp_path_factory.mktemp("runs"), []
    for strategy in (Adaptive(), ContrastSet()):
        path = folder / strategy.name
        run_session(
            line_evaluation(strategy=strategy, seed=seed, repeats=repeats, test_set_size=12),
            LineBench(),
            path,
        )
        told.append([repr((e.trial, e.result)) for e in read_journal(path).events if isinstance(e, TrialFinished)])
    assert told[0] == told[1]


@given(seed=st.integers(0, 2**32 - 1), budget=st.floats(0.0, 150.0), dear=st.floats(0.0, 5.0))
@examples(15, quick=6)
def test_base_trials_are_in_shuffled_order_nothing_is_run_twice_and_the_first_instances_have_all(seed, budget, dear):
    given_ = context(40, ("P", "Q"), budget)
    trials = run(given_, coin(seed, {"P": 0.9}), {"P": dear})
    seen = [(base_id, row) for base_id, row, _ in trials]
    assert len(seen) == len(set(seen))
    bases = [base_id for base_id, row in seen if row == BASE]
    assert bases == [i.instance_id for i in given_.test_set][: len(bases)]
    pilots = set(bases[:PILOTS])
    assert all(score is not None for base_id, _, score in trials if base_id in pilots)


@given(
    seed=st.integers(0, 2**32 - 1),
    other=st.integers(0, 2**32 - 1),
    turn=st.integers(0, 39),
    dear=st.floats(0.0, 5.0),
)
@examples(15, quick=6)
def test_what_is_run_of_an_instance_depends_on_earlier_instances_alone(seed, other, turn, dear):
    given_ = context(40, ("P", "Q", "R"), 100.0)
    chances = {"P": 0.9, "Q": 0.1}
    before, after = coin(seed, chances), coin(other, chances)
    costs = {"P": dear, "Q": 2.0}
    one = run(given_, before, costs)
    two = run(given_, lambda base, row: (before if base < f"x{turn:03d}" else after)(base, row), costs)

    def decided(trials):
        # The budget ends the session in the middle of an instance; how far it goes is no choice of trials.
        upto = [(base, row, score is not None) for base, row, score in trials if base <= f"x{turn:03d}"]
        return sorted(upto)

    assert decided(one) == decided(two)


def test_more_is_spent_on_what_is_uncertain_and_on_what_is_cheap():
    steady = run(context(200, ("P", "Q"), 250.0), coin(1, {"P": 1.0, "Q": 0.5}), {"P": 2.0, "Q": 2.0})
    assert numbers(steady)["P"] < 0.6 * numbers(steady)["Q"] < 0.9 * numbers(steady)[BASE]
    priced = run(context(200, ("P", "Q"), 250.0), coin(2, {}), {"P": 6.0, "Q": 1.5})
    assert numbers(priced)["P"] < 0.7 * numbers(priced)["Q"]


def test_trials_whose_set_up_is_free_are_run_as_long_as_they_are_as_uncertain_as_base_trials():
    free = run(context(60, ("P",), 40.0), coin(3, {}), {"P": 0.0})
    assert numbers(free)["P"] == numbers(free)[BASE] == 40
    certain = run(context(250, ("P",), 200.0), coin(3, {"P": 1.0}), {"P": 0.0})
    assert PILOTS < numbers(certain)["P"] < numbers(certain)[BASE] == 200


def test_nothing_is_left_out_once_the_budget_suffices_for_all_that_is_left():
    trials = run(context(40, ("P",), 90.0), coin(4, {"P": 1.0}), {"P": 2.0})
    left_out = [base_id for base_id, _, score in trials if score is None]
    assert 0 < len(left_out) < 25
    assert numbers(trials)[BASE] == 40
    last = max(left_out)
    assert all(row == BASE or base_id > last or score in (None, 1.0) for base_id, row, score in trials)
    assert sum(base_id > last for base_id, row, _ in trials if row == "P") >= 3


def test_a_perturbation_that_has_never_applied_is_tried_again():
    class Never(Again):
        def apply(self, task, base, scene, rng):
            return Invert().apply(task, replace(base, instruction=to_place("a", "middle")), scene, rng)

    steps, answer, tried = (
        Adaptive().run(replace(context(20, (), 30.0), perturbations=(Never("P"), Again("Q")))),
        None,
        0,
    )
    while True:
        try:
            step = steps.send(answer)
        except StopIteration:
            break
        tried += isinstance(step, Skipped) and "no place" in step.reason
        answer = Completed(DONE, 1.0) if isinstance(step, Proposal) else None
    assert tried == 20


def test_means_are_not_biased_where_those_of_trials_chosen_by_their_own_instance_are():
    rows, sessions = ("P", "Q", "R"), 150
    chances = {BASE: 0.6, "P": 0.85, "Q": 0.6, "R": 0.3}
    given_ = context(60, rows, 100.0)
    ours, chosen = {row: [] for row in chances}, []

    def hard(seed):
        """Scores that resemble each other within an instance."""
        luck = np.random.default_rng(seed).random((60, 1 + len(rows)))
        luck[:, 1:] = np.where(np.random.default_rng([seed, 1]).random((60, 3)) < 0.7, luck[:, :1], luck[:, 1:])
        return lambda base, row: float(luck[int(base[1:]), ((BASE, *rows)).index(row)] < chances[row])

    for seed in range(sessions):
        score = hard(seed)
        trials = run(given_, score, {"P": 1.5, "Q": 1.0, "R": 1.0})
        for row in chances:
            ours[row].append(np.mean([s for _, r, s in trials if r == row and s is not None]))
        failed = [i.instance_id for i in given_.test_set if score(i.instance_id, BASE) == 0.0]
        chosen.append(np.mean([score(base_id, "Q") for base_id in failed]))
    for row, chance in chances.items():
        error = np.std(ours[row]) / math.sqrt(sessions)
        assert abs(np.mean(ours[row]) - chance) <= 0.02 + 3 * error
        assert 3 * error < 0.03
    assert np.mean(chosen) < chances["Q"] - 0.3


@pytest.mark.parametrize("breaks", [(5,), (20, 11), (27, 28, 3)])
def test_a_session_that_was_interrupted_leaves_out_what_one_that_was_not_does(tmp_path, breaks):
    evaluation = line_evaluation(
        strategy=Adaptive(), test_set_size=30, budget=30.0, perturbations=(Invert(), Mirrored()), seed=5
    )

    def told(path):
        events = [e for e in read_journal(path).events if isinstance(e, (TrialFinished, TrialSkipped))]
        return [
            (e.base_id, e.perturbation, e.reason) if isinstance(e, TrialSkipped) else repr((e.trial, e.result, e.cost))
            for e in events
        ]

    whole, broken = tmp_path / "whole", tmp_path / "broken"
    run_session(evaluation, LineBench(skill=1.0, policy_faults=0.0), whole)
    for index in breaks:
        bench = LineBench(skill=1.0, policy_faults=0.0, faults={(index, n): Fault.ABORTED for n in range(3)})
        run_session(evaluation, bench, broken, resume=broken.exists())
    run_session(evaluation, LineBench(skill=1.0, policy_faults=0.0), broken, resume=True)
    assert told(broken) == told(whole)
    assert any(LEFT_OUT in step for step in told(whole))
