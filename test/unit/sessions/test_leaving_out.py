"""What the person at the robot leaves out, or declares void."""

import math

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from line_world import Invert, LineBench, MoveSource, line_evaluation

from robocontrast_ros.analysis.estimates.results import compute_results
from robocontrast_ros.domain import BASE, Fault
from robocontrast_ros.episodes.bench import BenchFault, SetByPerson
from robocontrast_ros.runs.events import SessionInterrupted, SetUp, TrialFinished, TrialSkipped, TrialVoid
from robocontrast_ros.runs.journal import read_journal
from robocontrast_ros.sessions.loop import run_session
from robocontrast_ros.strategies.adaptive import Adaptive
from robocontrast_ros.strategies.contrast_set import ContrastSet
from robocontrast_ros.strategies.cost_ordered import CostOrdered
from robocontrast_ros.strategies.effort import MetresMoved, Tolerance, setup_moves
from robocontrast_ros.strategies.limited_intervention import LimitedIntervention, LimitedInterventionSkip
from robocontrast_ros.strategies.protocol import PerturbationUse, Proposal
from robocontrast_ros.strategies.standard import Standard
from robocontrast_ros.worlds.backends import BackendFeatures


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.jsonl"


class Person(LineBench):
    """Skips or voids what it is told to, once."""

    def __init__(self, fault, *trials):
        super().__init__()
        self.fault, self.trials, self.asked = fault, list(trials), []

    def execute(self, trial, attempt):
        self.asked.append((trial.base_id, trial.perturbation))
        if (trial.base_id, trial.perturbation, trial.repeat) in self.trials:
            self.trials.remove((trial.base_id, trial.perturbation, trial.repeat))
            raise BenchFault(self.fault, "the block is broken")
        return super().execute(trial, attempt)


def of(path, kind):
    return [event for event in read_journal(path).events if isinstance(event, kind)]


def run_of(path):
    return [(e.trial.base_id, e.trial.perturbation) for e in of(path, TrialFinished)]


def all_trials(tmp_path, **changes):
    path = tmp_path / "undisturbed.jsonl"
    run_session(line_evaluation(**changes), LineBench(), path)
    return run_of(path)


def test_a_perturbed_trial_that_is_left_out_is_not_run_and_the_others_are(path, tmp_path):
    undisturbed = all_trials(tmp_path)
    wanted = next(trial for trial in undisturbed if trial[1] != BASE)
    assert run_session(line_evaluation(), Person(Fault.SKIPPED, (*wanted, 0)), path).reason == "all_trials"
    assert set(run_of(path)) == set(undisturbed) - {wanted}
    skipped = [e for e in of(path, TrialSkipped) if e.by_person]
    assert [(e.base_id, e.perturbation) for e in skipped] == [wanted]
    assert "the block is broken" in skipped[0].reason
    assert [e.fault for e in of(path, TrialVoid)] == [Fault.SKIPPED]


def test_a_base_trial_is_left_out_with_the_perturbed_trials_of_its_instance(path, tmp_path):
    undisturbed = all_trials(tmp_path)
    base_id = undisturbed[-1][0]
    run_session(line_evaluation(), Person(Fault.SKIPPED, (base_id, BASE, 0)), path)
    assert run_of(path) == [trial for trial in undisturbed if trial[0] != base_id]
    skipped = {(e.base_id, e.perturbation) for e in of(path, TrialSkipped) if e.by_person}
    assert {trial for trial in undisturbed if trial[0] == base_id} <= skipped


def test_a_session_that_is_resumed_leaves_the_same_out(path, tmp_path):
    undisturbed = all_trials(tmp_path)
    wanted = next(trial for trial in undisturbed if trial[1] != BASE)
    later = undisturbed[-1]
    bench = Person(Fault.SKIPPED, (*wanted, 0))
    whole, stop = bench.execute, later

    def execute(trial, attempt):
        if (trial.base_id, trial.perturbation) == stop:
            raise BenchFault(Fault.ABORTED, "enough for today")
        return whole(trial, attempt)

    bench.execute = execute
    assert isinstance(run_session(line_evaluation(), bench, path), SessionInterrupted)
    fresh = LineBench()
    fresh.present = bench.present
    assert run_session(line_evaluation(), fresh, path, resume=True).reason == "all_trials"
    assert set(run_of(path)) == set(undisturbed) - {wanted}


def repeats_of(path):
    found = {}
    for event in of(path, TrialFinished):
        found.setdefault((event.trial.base_id, event.trial.perturbation), []).append(event.trial.repeat)
    return found


def test_of_a_perturbed_trial_the_repeats_that_were_run_count_and_the_others_are_left_out(path, tmp_path):
    base_id, perturbation = next(trial for trial in all_trials(tmp_path, repeats=3) if trial[1] != BASE)
    bench = Person(Fault.SKIPPED, (base_id, perturbation, 1))
    assert run_session(line_evaluation(repeats=3), bench, path).reason == "all_trials"
    found = repeats_of(path)
    assert found.pop((base_id, perturbation)) == [0]
    assert found and all(repeats == [0, 1, 2] for repeats in found.values())
    (skip,) = [e for e in of(path, TrialSkipped) if e.by_person]
    assert (skip.base_id, skip.perturbation, skip.repeat, skip.trials) == (base_id, perturbation, 1, ())
    row = compute_results(read_journal(path)).summary.row(perturbation)
    # Three of each instance, but one of this; it was run, so it is not among the instances that were skipped.
    assert row.trials == 3 * row.instances - 2
    assert row.skipped == len({e.base_id for e in of(path, TrialSkipped) if e.perturbation == perturbation} - {base_id})


def test_without_a_repeat_of_its_base_trial_no_such_repeat_of_a_perturbed_trial_is_run(path, tmp_path):
    base_id, _ = next(trial for trial in all_trials(tmp_path, repeats=2) if trial[1] != BASE)
    bench = Person(Fault.SKIPPED, (base_id, BASE, 1))
    assert run_session(line_evaluation(repeats=2), bench, path).reason == "all_trials"
    found = repeats_of(path)
    assert {base_id} == {base for (base, _), repeats in found.items() if repeats != [0, 1]}
    own = {perturbation: repeats for (base, perturbation), repeats in found.items() if base == base_id}
    assert len(own) > 1 and all(repeats == [0] for repeats in own.values())
    skipped = {e.perturbation: e.repeat for e in of(path, TrialSkipped) if e.by_person}
    assert skipped == dict.fromkeys(own, 1)


STRATEGIES = [Standard, ContrastSet, Adaptive, CostOrdered, LimitedIntervention, LimitedInterventionSkip]


@examples(40)
@given(data=st.data(), strategy=st.sampled_from(STRATEGIES), seed=st.integers(0, 2**31), repeats=st.integers(1, 2))
def test_every_strategy_goes_on_without_any_trial_and_is_resumed(tmp_path_factory, data, strategy, seed, repeats):
    folder = tmp_path_factory.mktemp("left_out")
    limit = data.draw(st.sampled_from([math.inf, 8.0]))
    perturbations = () if strategy.uses_perturbations is PerturbationUse.NONE else (Invert(), MoveSource())
    changes = {"strategy": strategy(), "perturbations": perturbations}
    evaluation = line_evaluation(seed=seed, repeats=repeats, test_set_size=6, budget=limit, **changes)
    whole = folder / "undisturbed.jsonl"
    run_session(evaluation, LineBench(), whole)
    trials = [(e.trial.base_id, e.trial.perturbation, e.trial.repeat) for e in of(whole, TrialFinished)]
    skips = data.draw(st.lists(st.sampled_from(trials), min_size=1, max_size=2, unique=True))
    ends = [run_session(evaluation, bench := Person(Fault.SKIPPED, *skips), folder / "journal.jsonl")]
    assert len(bench.trials) < len(skips), "the first of them was met, and left out"
    at, calls = data.draw(st.integers(1, len(bench.asked))), []
    again = Person(Fault.SKIPPED, *skips)

    def lost(name):
        calls.append(name)
        if calls.count("execute") == at and name == "execute":
            raise BenchFault(Fault.SIMULATOR_LOST, "gone")

    again.on_call = lost
    resumed = folder / "resumed.jsonl"
    ends.append(run_session(evaluation, again, resumed))
    if isinstance(ends[1], SessionInterrupted):
        ends[1] = run_session(evaluation, again, resumed, resume=True)
    assert ends[0].reason == ends[1].reason
    assert ends[0].reason in ("all_trials", "budget")
    assert repr_of(folder / "journal.jsonl") == repr_of(resumed)


def repr_of(path):
    return [repr((e.trial, e.result, e.cost)) for e in of(path, TrialFinished)]


class Needy(Standard):
    """Looks at every result."""

    name = "needy"

    def run(self, context):
        for base in context.test_set:
            completed = yield Proposal(base.instance_id, base)
            assert completed.result.scores


def test_a_strategy_that_cannot_go_on_without_a_result_has_the_trial_run_again(path):
    evaluation = line_evaluation(strategy=Needy(), perturbations=())
    base_id = evaluation.test_set()[1].instance_id
    assert run_session(evaluation, Person(Fault.SKIPPED, (base_id, BASE, 0)), path).reason == "all_trials"
    (void,) = of(path, TrialVoid)
    assert void.fault is Fault.VOIDED
    assert "'needy' does not go on without it (AttributeError: " in void.detail
    assert len(run_of(path)) == len(evaluation.test_set())
    assert not of(path, TrialSkipped)


def test_what_a_person_declares_void_is_no_attempt_that_failed(path, tmp_path):
    undisturbed = all_trials(tmp_path)
    first = (*undisturbed[0], 0)
    bench = Person(Fault.VOIDED, first, first, first)
    assert run_session(line_evaluation(void_retries=0), bench, path).reason == "all_trials"
    assert run_of(path) == undisturbed
    assert [e.fault for e in of(path, TrialVoid)] == [Fault.VOIDED] * 3


class Carrier(LineBench):
    """Carries the first thing only of some set-ups, and then breaks off."""

    def __init__(self, fault, *set_ups):
        super().__init__()
        self.fault, self.breaks_off, self.count = fault, set_ups, -1

    def set_up(self, target, moves):
        self.count += 1
        if self.count not in self.breaks_off:
            return super().set_up(target, moves)
        # What the first moves bring in, or carry, stands on the table now.
        done, left = moves[0], {o.name for o in self.present} - {moves[0].name}
        there = (*(o for o in self.present if o.name in left), *(o for o in target if o.name == done.name))
        self.present = type(target)(there, target.frame_id)
        raise BenchFault(self.fault, "the session was paused before the trial began")

    def set_by_person(self):
        return SetByPerson(10.0)


def test_what_was_carried_before_a_set_up_was_broken_off_is_paid_for_once(path, tmp_path):
    whole = tmp_path / "undisturbed.jsonl"
    run_session(line_evaluation(features=BackendFeatures(person=True)), Carrier(Fault.VOIDED), whole)
    bench = Carrier(Fault.VOIDED, 0, 1, 3, 6)
    assert run_session(line_evaluation(features=BackendFeatures(person=True)), bench, path).reason == "all_trials"
    assert [e.fault for e in of(path, TrialVoid)] == [Fault.VOIDED] * 4
    paid, expected = of(path, SetUp), of(whole, SetUp)
    assert [(e.before, e.moves, e.cost, e.measured) for e in paid] == [
        (e.before, e.moves, e.cost, e.measured) for e in expected
    ]
    # Nobody is asked to carry again what stands right.
    first = bench.moved[0]
    assert len(first) < len(paid[0].moves) and {m.name for m in first} < {m.name for m in paid[0].moves}


def test_what_was_carried_for_a_trial_that_was_skipped_is_paid_for_with_the_next(path):
    bench = Carrier(Fault.SKIPPED, 2)
    assert run_session(line_evaluation(features=BackendFeatures(person=True)), bench, path).reason == "all_trials"
    (void,) = of(path, TrialVoid)
    events = read_journal(path).events
    before = next(e for e in reversed(events[: events.index(void)]) if isinstance(e, TrialFinished)).scene_left
    following = next(e for e in events[events.index(void) :] if isinstance(e, SetUp))
    assert following.before == before and following.measured is None
    assert following.cost == MetresMoved().cost(setup_moves(before, following.target, Tolerance()))
    spent = math.fsum(e.cost for e in of(path, SetUp))
    assert math.isclose(spent, math.fsum(e.cost for e in of(path, TrialFinished)))
