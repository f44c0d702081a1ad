"""A session in blocks: which trials belong together, what each is compared with, and what the budget allows."""

from __future__ import annotations

import math
import random
import re
from dataclasses import dataclass, replace

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from line_world import Invert, LineBench, Mirrored, line, line_evaluation

from robocontrast_ros.domain import BASE, Budget, Fault, Scene
from robocontrast_ros.runs.events import SessionFinished, TrialFinished
from robocontrast_ros.runs.journal import EventsInMemory, JournalWriter, read_journal
from robocontrast_ros.sessions.blocks import TrialSequence, blocks_of, settle
from robocontrast_ros.sessions.control import SessionControl
from robocontrast_ros.sessions.loop import Session, run_session
from robocontrast_ros.strategies.adaptive import Adaptive
from robocontrast_ros.strategies.contrast_set import ContrastSet
from robocontrast_ros.strategies.cost_ordered import CostOrdered
from robocontrast_ros.strategies.effort import MetresMoved, SecondsToMove, Tolerance
from robocontrast_ros.strategies.limited_intervention import LimitedIntervention, LimitedInterventionSkip
from robocontrast_ros.strategies.protocol import Proposal
from robocontrast_ros.strategies.standard import Standard

INDEPENDENT = (Standard(), ContrastSet())
DEPENDENT = (Adaptive(), CostOrdered(), LimitedIntervention(), LimitedInterventionSkip())


def run(evaluation, bench, limit=None):
    """Return the events of a session in memory."""
    events = EventsInMemory()
    Session(evaluation, bench, events, SessionControl(), lambda status: None, lambda: 0.0, limit=limit).run()
    return events.kept


def finished(events):
    return [event for event in events if isinstance(event, TrialFinished)]


class OneInstance:
    """A strategy on one instance of its test set, as a worker would run a block."""

    def __init__(self, strategy, number):
        self._strategy, self._number = strategy, number

    def run(self, context):
        return self._strategy.run(replace(context, test_set=(context.test_set[self._number],)))

    def trials_expected(self, context):
        return 1


@dataclass
class VoidBench(LineBench):
    """The first attempts of some trials are void, by what they are and not by when they are run."""

    void: frozenset[tuple[str, str, int]] = frozenset()

    def execute(self, trial, attempt):
        if attempt == 0 and (trial.base_id, trial.perturbation, trial.repeat) in self.void:
            self.faults = {(trial.index, 0): Fault.SENSOR_LOST}
        return super().execute(trial, attempt)


ANY_SCENE = st.permutations([0.05, 0.35, 0.65, 0.95]).map(lambda xs: line(**dict(zip("abcd", xs, strict=True))))


@pytest.mark.parametrize("strategy", INDEPENDENT, ids=lambda s: s.name)
@given(
    seed=st.integers(0, 2**63 - 1),
    budget=st.one_of(st.just(math.inf), st.floats(0.0, 40.0)),
    repeats=st.integers(1, 2),
    void=st.sets(
        st.tuples(st.sampled_from([f"x{k:04d}" for k in range(4)]), st.sampled_from([BASE, "LB2", "SB2"]), st.just(0))
    ),
    start=ANY_SCENE,
    elsewhere=ANY_SCENE,
    in_seconds=st.booleans(),
    order=st.randoms(use_true_random=False),
)
@examples(60)
def test_blocks_that_were_run_in_any_order_and_anywhere_are_settled_as_the_loop_would_have_run_them(
    strategy, seed, budget, repeats, void, start, elsewhere, in_seconds, order: random.Random
):
    assert strategy.blocks_independent
    model = SecondsToMove() if in_seconds else MetresMoved()
    given_budget = budget * (10.0 if in_seconds else 0.1)
    void = frozenset(void)
    whole = line_evaluation(
        seed=seed,
        strategy=strategy,
        budget=given_budget,
        repeats=repeats,
        cost_model=model,
        tolerance=Tolerance(0.02, 0.1),
    )
    blocks, ran = [], {}
    instances = len(whole.test_set())
    for number in order.sample(range(instances), instances):
        alone = replace(whole, strategy=OneInstance(strategy, number))
        events = run(alone, VoidBench(present=elsewhere, void=void), limit=math.inf)
        (block,) = blocks_of(events)
        blocks.append(replace(block, index=number))
        ran[number] = [
            (e.trial.base_id, e.trial.perturbation, e.trial.repeat, e.trial.instance, e.result)
            for e in finished(events)
        ]
    settled = settle(blocks, start, Budget(given_budget, unit=model.unit), model, whole.tolerance)
    trials = [trial for number in sorted(ran) for trial in ran[number]]
    assert len(settled) == len(trials)
    allowed = [(*trial, s.block, s.cost) for trial, s in zip(trials, settled, strict=True) if s.within_budget]

    events = run(whole, VoidBench(present=start, void=void))
    expected = [
        (e.trial.base_id, e.trial.perturbation, e.trial.repeat, e.trial.instance, e.result, e.trial.block, e.cost)
        for e in finished(events)
    ]
    assert repr(allowed) == repr(expected)
    assert (len(allowed) < len(settled)) == (isinstance(events[-1], SessionFinished) and events[-1].reason == "budget")


def proposals_of(strategy, **changes):
    events = run(line_evaluation(strategy=strategy, **changes), LineBench(skill=1.0, policy_faults=0.0))
    return [(e.trial.base_id, e.trial.perturbation, e.trial.instance) for e in finished(events)]


@pytest.mark.parametrize("strategy", DEPENDENT, ids=lambda s: s.name)
def test_a_strategy_whose_blocks_depend_on_those_before_would_run_other_trials_on_its_own(strategy):
    assert not strategy.blocks_independent
    size, perturbations = 30, (Invert(), Mirrored())
    changes = {"test_set_size": size, "budget": 40.0, "perturbations": perturbations, "seed": 5}
    together = proposals_of(strategy, **changes)
    alone = []
    for number in range(size):
        alone += proposals_of(OneInstance(strategy, number), **changes)
    assert together != alone[: len(together)]


@pytest.mark.parametrize("strategy", [*INDEPENDENT, *DEPENDENT], ids=lambda s: s.name)
def test_a_block_is_the_base_trial_its_perturbed_trials_and_their_repeats(strategy):
    events = finished(run(line_evaluation(strategy=strategy, repeats=2, test_set_size=6), LineBench()))
    blocks = [e.trial.block for e in events]
    assert blocks == sorted(blocks) and set(blocks) == set(range(max(blocks) + 1))
    owners = {(e.trial.block, e.trial.base_id) for e in events}
    assert len(owners) == max(blocks) + 1


@pytest.mark.parametrize("strategy", [*INDEPENDENT, *DEPENDENT], ids=lambda s: s.name)
def test_a_perturbed_trial_names_the_base_trial_of_its_repeat_and_has_its_seed(strategy):
    events = finished(run(line_evaluation(strategy=strategy, repeats=2, test_set_size=6), LineBench()))
    by_id = {e.trial.trial_id: e.trial for e in events}
    perturbed = [e.trial for e in events if not e.trial.is_base]
    assert bool(perturbed) == (not isinstance(strategy, (Standard, LimitedIntervention)))
    for trial in perturbed:
        twin = by_id[trial.twin]
        assert twin.is_base and twin.index < trial.index
        assert (twin.base_id, twin.repeat, twin.seed) == (trial.base_id, trial.repeat, trial.seed)
    assert all(e.trial.twin == "" for e in events if e.trial.is_base)


INSTANCES = line_evaluation().test_set()


def test_a_strategy_that_comes_back_to_an_instance_begins_another_block_whose_twin_is_in_the_first():
    sequence = TrialSequence(seed=0)
    steps = [(0, BASE), (1, BASE), (0, "LB2"), (0, "SB2"), (1, "LB2")]
    trials = [sequence.next(Proposal(INSTANCES[k].instance_id, INSTANCES[k], name)) for k, name in steps]
    assert [t.block for t in trials] == [0, 1, 2, 2, 3]
    assert [t.twin for t in trials] == ["", "", "0000", "0000", "0001"]


def test_a_perturbed_trial_without_a_base_trial_of_its_repeat_before_it_has_no_twin():
    sequence, (first, *_) = TrialSequence(seed=0), INSTANCES
    steps = [("LB2", 0), (BASE, 0), ("LB2", 1), ("LB2", 0)]
    trials = [sequence.next(Proposal(first.instance_id, first, name, repeat)) for name, repeat in steps]
    assert [t.twin for t in trials] == ["", "", "", "0001"]


def test_a_block_that_is_missing_or_there_twice_is_refused():
    blocks = blocks_of(run(line_evaluation(), LineBench()))
    rest = (Scene(), Budget(), MetresMoved(), Tolerance())
    for wrong in (blocks[1:], (*blocks, blocks[0])):
        with pytest.raises(ValueError, match=r"blocks: got .*, expected each from 0 on, once"):
            settle(wrong, *rest)


def test_a_session_that_an_older_version_began_is_resumed_with_blocks_and_twins_from_there_on(tmp_path):
    path = tmp_path / "journal.jsonl"

    run_session(line_evaluation(), LineBench(faults={(5, 0): Fault.SIMULATOR_LOST}), path)
    done = len(finished(read_journal(path).events))
    assert done == 5
    whole = path.read_text()
    assert '"twin":"0000"' in whole and '"block":1' in whole
    path.write_text(re.sub(r',"twin":"\d*","block":\d+', "", whole))
    assert {e.trial.block for e in finished(read_journal(path).events)} == {-1}
    with JournalWriter(path) as writer:
        end = run_session(line_evaluation(), LineBench(), writer, resume=True)
    assert isinstance(end, SessionFinished)
    ran = finished(read_journal(path).events)
    expected = finished(run(line_evaluation(), LineBench()))
    assert [e.trial for e in ran[done:]] == [e.trial for e in expected[done:]]
