"""Blind sessions: each policy runs every trial from the same scene, nobody is told which, and the journal proves it."""

from __future__ import annotations

import json
import stat
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import polars as pl
import pytest
import yaml
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from line_world import LineBench, SwappingLineBench, line_evaluation

from robocontrast_ros.analysis.estimates.comparison import compare_all
from robocontrast_ros.analysis.estimates.results import compute_results
from robocontrast_ros.configuration import ConfigurationError, parse_record
from robocontrast_ros.domain import Fault, Judgement
from robocontrast_ros.episodes.bench import BenchFault
from robocontrast_ros.runs.blinding import Assignment, blinding_of, events_of_policies
from robocontrast_ros.runs.events import (
    BlindingBegan,
    BlindingOpened,
    BlindSwap,
    PolicyLoaded,
    PolicyRefused,
    SessionFinished,
    SessionInterrupted,
    SetUp,
    TrialCorrected,
    TrialFinished,
    TrialSkipped,
    TrialStarted,
    TrialVoid,
)
from robocontrast_ros.runs.history import History
from robocontrast_ros.runs.journal import Journal, JournalError, read_journal
from robocontrast_ros.sessions.blinding import orders
from robocontrast_ros.sessions.control import SessionControl
from robocontrast_ros.sessions.loop import run_session
from robocontrast_ros.sessions.plan import plan_session
from robocontrast_ros.sessions.resolving import resolve
from robocontrast_ros.sessions.schema import BlindParameters, SessionParameters

POLICIES = {"first": 0.9, "second": 0.3, "third": 0.0}
SEEDS = st.integers(0, 2**31)
SESSION = {
    "name": "blind",
    "seed": 1,
    "task": "language_table",
    "robot": "franka",
    "strategy": {"name": "standard"},
    "test_set": {"size": 1},
    "blind": {"policies": ["oracle", "random"]},
}


def blind_evaluation(policies=2, **changes):
    return evaluation_of(*tuple(POLICIES)[:policies], **changes)


def evaluation_of(*policies, **changes):
    evaluation = line_evaluation(**changes)
    session = replace(evaluation.session, policy="", blind=BlindParameters(policies=policies, swap_time=0.0))
    return replace(evaluation, session=session, blind_files=policies)


def bench_of(**attributes):
    return SwappingLineBench(policies=dict(POLICIES), **attributes)


def run(evaluation, path, bench=None, **arguments):
    end = run_session(evaluation, bench or bench_of(), path, **arguments)
    return read_journal(path).events, end


def of(events, *kinds):
    return [event for event in events if isinstance(event, kinds)]


def trials(events):
    return [repr((e.trial, e.result, e.cost)) for e in of(events, TrialFinished)]


@given(SEEDS, st.integers(2, 5), st.integers(0, 30))
def test_no_policy_is_in_a_place_more_than_once_more_often_than_another(seed, policies, number):
    table = orders(seed, policies, number)
    assert len(table) >= max(number, 1)
    assert table == orders(seed, policies, number)
    assert all(sorted(order) == list(range(policies)) for order in table)
    for done in range(1, len(table) + 1):
        for place in range(policies):
            counts = Counter(dict.fromkeys(range(policies), 0))
            counts.update(order[place] for order in table[:done])
            assert max(counts.values()) - min(counts.values()) <= 1


def test_which_policy_is_first_is_left_to_chance():
    firsts = Counter(orders(seed, 2, 1)[0][0] for seed in range(200))
    assert 70 <= firsts[0] <= 130


@examples(15, quick=5)
@given(SEEDS, st.integers(2, 3), st.integers(1, 2))
def test_every_policy_runs_each_trial_from_the_same_scene_with_the_same_seed(tmp_path_factory, seed, policies, repeats):
    evaluation = blind_evaluation(policies, seed=seed, repeats=repeats)
    bench = bench_of()
    served = []
    bench.before_trial = lambda trial: served.append(bench.serving)
    events, end = run(evaluation, tmp_path_factory.mktemp("blind") / "journal.jsonl", bench)
    assert isinstance(end, SessionFinished)
    assert len(bench.executed) % policies == 0
    names = list(POLICIES)[:policies]
    for begin in range(0, len(bench.executed), policies):
        group = bench.executed[begin : begin + policies]
        assert sorted(served[begin : begin + policies]) == sorted(names)
        assert len({repr(start) for _, _, start in group}) == 1
        assert len({repr(replace(trial, index=0)) for trial, _, _ in group}) == 1
    assignment = Assignment.of(of(events, BlindingOpened)[0].assignment)
    assert served == [names[assignment.policy_of(trial.index)] for trial, _, _ in bench.executed]


def test_putting_back_costs_as_any_set_up_and_the_next_trial_begins_where_the_last_policy_left(tmp_path):
    events, _ = run(blind_evaluation(), tmp_path / "journal.jsonl")
    finished, set_ups = of(events, TrialFinished), of(events, SetUp)
    assert sum(event.cost for event in finished) == pytest.approx(sum(event.cost for event in set_ups))
    for before, after in pairwise(zip(finished, set_ups, strict=True)):
        assert after[1].before == before[0].scene_left
    back = [s for s in set_ups if s.trial.index % 2]
    assert any(s.cost > 0.0 for s in back)
    assert {len({m.name for m in s.moves}) for s in back} <= {0, 1}  # at most what one policy moved


def test_the_journal_names_no_policy_before_the_end_and_the_file_is_its_owners_alone(tmp_path):
    bench, seen = bench_of(), []
    path = tmp_path / "journal.jsonl"

    def look(trial):
        seen.append(path.read_bytes())
        assert stat.S_IMODE((tmp_path / "blinding.json").stat().st_mode) == 0o600

    bench.before_trial = look
    told = []
    events, _ = run(blind_evaluation(), path, bench, observer=told.append)
    assert not any(name in seen[-1] for name in (b"first.yaml", b"second.yaml", b"skill"))
    assert {status.policy for status in told} == {"blind", "1 of 2", "2 of 2"}
    assert not any(name in status.detail for status in told for name in POLICIES)
    assert not of(events, PolicyLoaded)
    assert [type(event) for event in events[-2:]] == [BlindingOpened, SessionFinished]
    assert not (tmp_path / "blinding.json").exists()
    assert len(of(events, BlindSwap)) == len(of(events, TrialStarted))
    assert {event.trial.twin for event in of(events, TrialFinished)} == {""}


def test_a_session_is_the_same_whatever_its_salt(tmp_path):
    first, second = (
        run(blind_evaluation(3), tmp_path / name / "journal.jsonl")[0] for name in _folders(tmp_path, "ab")
    )
    assert trials(first) == trials(second)
    assert of(first, BlindingBegan)[0].commitment != of(second, BlindingBegan)[0].commitment


def _folders(tmp_path, names):
    for name in names:
        (tmp_path / name).mkdir()
        yield name


@examples(15, quick=5)
@given(SEEDS, st.integers(1, 40), st.sampled_from(["execute", "set_up", "stage_policy", "serve_policy"]))
def test_a_resumed_session_equals_one_that_was_not_interrupted(tmp_path_factory, seed, at, where):
    evaluation = blind_evaluation(seed=seed)
    whole, _ = run(evaluation, tmp_path_factory.mktemp("whole") / "journal.jsonl")
    bench, calls = bench_of(), Counter()

    def fail(name):
        calls[name] += 1
        if name == where and calls[name] == at:
            raise BenchFault(Fault.SIMULATOR_LOST, "gone")

    bench.on_call = fail
    path = tmp_path_factory.mktemp("resumed") / "journal.jsonl"
    _, end = run(evaluation, path, bench)
    if isinstance(end, SessionInterrupted):
        _, end = run(evaluation, path, bench, resume=True)
    events = read_journal(path).events
    assert isinstance(end, SessionFinished)
    assert trials(events) == trials(whole)
    assert blinding_of(events).kept


def test_a_void_attempt_is_tried_again_by_the_same_policy(tmp_path):
    bench, served = bench_of(faults={(1, 0): Fault.SENSOR_LOST}), []
    bench.before_trial = lambda trial: served.append((trial.index, bench.serving))
    events, _ = run(blind_evaluation(), tmp_path / "journal.jsonl", bench)
    assert len(of(events, TrialVoid)) == 1
    (first, again) = (name for index, name in served if index == 1)
    assert first == again
    assert len(of(events, BlindSwap)) == len(served)


def test_max_trials_ends_after_the_last_policy(tmp_path):
    events, _ = run(blind_evaluation(max_trials=5), tmp_path / "journal.jsonl")
    assert len(of(events, TrialFinished)) == 4


def test_a_swap_is_refused(tmp_path):
    control = SessionControl()
    control.swap("third")
    events, _ = run(blind_evaluation(), tmp_path / "journal.jsonl", control=control)
    assert "the session is blind" in of(events, PolicyRefused)[0].reason


def test_a_policy_that_fails_in_the_middle_is_not_named(tmp_path):
    bench = bench_of()
    bench.before_trial = lambda trial: trial.index == 2 and setattr(bench, "policies", Forgotten(bench.policies))
    events, end = run(blind_evaluation(), tmp_path / "journal.jsonl", bench)
    assert end.fault is Fault.POLICY_SERVER_LOST
    assert "there is no policy '(blind)'" in end.detail
    assert not of(events, BlindingOpened)
    assert not blinding_of(events).kept


@pytest.mark.parametrize("name", ["film_bc", "FilmBc", "FILM_BC", "/policies/film_bc.yaml", "acme:Net"])
def test_a_fault_names_no_policy_to_the_session_s_observer_however_it_is_written(tmp_path, name):
    bench, told = OwnClass(policies={"film_bc": 0.9, "oracle": 0.3}, serving="film_bc"), []
    failed = []

    def fail_once(trial):
        if not failed:
            failed.append(trial)
            raise BenchFault(Fault.SENSOR_LOST, f"no picture came for {name}Policy")

    bench.before_trial = fail_once
    evaluation = evaluation_of("film_bc", "oracle")
    run(evaluation, tmp_path / "journal.jsonl", bench, observer=told.append)
    (words,) = {status.detail for status in told if status.detail.startswith("void")}
    assert words == "void: SENSOR_LOST: no picture came for (blind)Policy"


class OwnClass(SwappingLineBench):
    """Its policies are of a class of a user."""

    def _told(self, name):
        told = super()._told(name)
        return replace(told, parameters=f"policy: acme:Net\n{told.parameters}")


class Forgotten(dict):
    """Policies of which the one that runs is there, and none can be loaded any more."""

    def __contains__(self, name):
        return False


def test_an_altered_assignment_is_noticed_when_a_session_is_resumed(tmp_path):
    path, secret = tmp_path / "journal.jsonl", tmp_path / "blinding.json"
    bench = bench_of()
    bench.on_call = _lost_after(4)
    evaluation = blind_evaluation()
    run(evaluation, path, bench)
    content = json.loads(secret.read_text())
    content["assignment"]["orders"] = [order[::-1] for order in content["assignment"]["orders"]]
    secret.write_text(json.dumps(content))
    with pytest.raises(JournalError, match="it was changed"):
        run(evaluation, path, bench, resume=True)
    secret.unlink()
    with pytest.raises(JournalError, match="Restore the file"):
        run(evaluation, path, bench, resume=True)


def _lost_after(trials):
    count = Counter()

    def on_call(name):
        count[name] += 1
        if name == "execute" and count[name] == trials:
            raise BenchFault(Fault.SIMULATOR_LOST, "gone")

    return on_call


@examples(30)
@given(data=st.data())
def test_the_proof_fails_when_anything_of_the_assignment_is_altered(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("proof") / "journal.jsonl"
    events, _ = run(blind_evaluation(test_set_size=2), path)
    assert blinding_of(events).kept
    opened = of(events, BlindingOpened)[0]
    what = data.draw(st.sampled_from(["salt", "assignment"]))
    text = getattr(opened, what)
    at = data.draw(st.integers(0, len(text) - 1))
    letter = data.draw(st.sampled_from([letter for letter in "0123456789abcdef" if letter != text[at]]))
    altered = replace(opened, **{what: text[:at] + letter + text[at + 1 :]})
    changed = tuple(altered if event is opened else event for event in events)
    found = blinding_of(changed)
    assert not found.kept
    assert found.problem and "not proved" in found.words
    with pytest.raises(JournalError, match="cannot be taken apart"):
        events_of_policies(Journal(path, changed))


def key_of(trial):
    return trial.base_id, trial.perturbation, trial.repeat


def left_out_by(bench, policies, *skips):
    """Let a person skip, once each, runs that are named by base_id, perturbation, repeat and place in the order."""
    wanted = list(skips)

    def skip(trial):
        if (run := (*key_of(trial), trial.index % policies)) in wanted:
            wanted.remove(run)
            raise BenchFault(Fault.SKIPPED, "the block is broken")

    bench.before_trial = skip
    return bench


def counting(events):
    return [key_of(e.trial) for e in of(events, TrialFinished)]


def check_left_out(path, end, skips):
    """Check that what was left out counts for no policy, and everything else for all; return the trials that count."""
    events = read_journal(path).events
    assert end.reason == "all_trials"
    blinding = blinding_of(events)
    assert blinding.kept
    apart = events_of_policies(Journal(path, events))
    of_each = [counting(own) for own in apart.values()]
    assert all(own == of_each[0] for own in of_each)
    assert blinding.trials == blinding.opened.trials == len(of_each) * len(of_each[0])
    assert not {skip[:3] for skip in skips} & set(of_each[0])
    # Nothing that was recorded is lost: what counts no longer is there as a void attempt of the policy that ran it.
    ran = {e.trial.trial_id: e.attempt for e in of(events, TrialFinished)}
    assert len(ran) == len(of(events, TrialFinished))
    shown = [e for own in apart.values() for e in of(own, TrialFinished, TrialVoid)]
    shown = {e.trial.trial_id: e for e in shown if ran.get(e.trial.trial_id) == e.attempt}
    assert shown.keys() == ran.keys()
    retracted = {trial for e in of(events, TrialSkipped) for trial in e.trials}
    assert retracted == {trial for trial, e in shown.items() if isinstance(e, TrialVoid)}
    # As with void attempts, their set-ups are paid for with what comes next.
    history = History.of(events)
    paid = sum(e.cost for e in history.finished) + history.pending_cost
    assert paid == pytest.approx(sum(e.cost for e in of(events, SetUp)))
    return of_each[0]


@pytest.mark.parametrize(("policies", "repeats"), [(2, 1), (3, 1), (2, 2)])
def test_whatever_run_is_skipped_the_rest_of_the_trial_is_left_out(tmp_path, policies, repeats):
    evaluation = blind_evaluation(policies, repeats=repeats, test_set_size=2, seed=3)
    undisturbed, _ = run(evaluation, tmp_path / "undisturbed.jsonl")
    everything = list(dict.fromkeys(counting(undisturbed)))
    assert {key[1] for key in everything} > {"base"}
    for base_id, perturbation, repeat in everything:
        for place in range(policies):
            folder = tmp_path / f"{base_id}-{perturbation}-{repeat}-{place}"
            folder.mkdir()
            skip = base_id, perturbation, repeat, place
            bench = left_out_by(bench_of(), policies, skip)
            events, end = run(evaluation, folder / "journal.jsonl", bench)
            left = check_left_out(folder / "journal.jsonl", end, [skip])
            without = {perturbation} if perturbation != "base" else {"base", "LB2", "SB2"}
            assert not [k for k in left if k[0] == base_id and k[1] in without and k[2] >= repeat]
            # Later perturbations of this instance start elsewhere, where others may apply; all else is as before.
            before = everything[: everything.index((base_id, perturbation, repeat))]
            assert [k for k in left if k[0] != base_id] == [k for k in everything if k[0] != base_id]
            assert left[: len(before)] == before
            skipped = [e for e in of(events, TrialSkipped) if e.by_person]
            assert {(e.base_id, e.repeat) for e in skipped} == {(base_id, repeat)}
            assert len(skipped[0].trials) == place


@examples(15, quick=5)
@given(data=st.data(), seed=SEEDS, policies=st.integers(2, 3), repeats=st.integers(1, 2))
def test_a_session_that_is_resumed_leaves_the_same_runs_out(tmp_path_factory, data, seed, policies, repeats):
    folder = tmp_path_factory.mktemp("left_out")
    evaluation = blind_evaluation(policies, repeats=repeats, test_set_size=3, seed=seed)
    undisturbed, _ = run(evaluation, folder / "undisturbed.jsonl")
    keys = st.tuples(st.sampled_from(list(dict.fromkeys(counting(undisturbed)))), st.integers(0, policies - 1))
    skips = [(*key, place) for key, place in data.draw(st.lists(keys, min_size=1, max_size=3, unique=True))]
    paths = [folder / name / "journal.jsonl" for name in _folders(folder, ("whole", "resumed"))]
    events, end = run(evaluation, paths[0], left_out_by(bench_of(), policies, *skips))
    check_left_out(paths[0], end, skips)
    bench = left_out_by(bench_of(), policies, *skips)
    bench.on_call = _lost_after(data.draw(st.integers(1, len(of(events, TrialFinished)))))
    _, end = run(evaluation, paths[1], bench)
    if isinstance(end, SessionInterrupted):
        _, end = run(evaluation, paths[1], bench, resume=True)
    check_left_out(paths[1], end, skips)
    assert trials(read_journal(paths[1]).events) == trials(events)


def test_of_a_trial_that_was_left_out_no_table_has_a_score_and_each_shows_the_run(tmp_path):
    path = tmp_path / "journal.jsonl"
    evaluation = blind_evaluation(test_set_size=3)
    base_id = evaluation.test_set()[1].instance_id
    events, _ = run(evaluation, path, left_out_by(bench_of(), 2, (base_id, "base", 0, 1)))
    (gone,) = (trial for e in of(events, TrialSkipped) for trial in e.trials)
    results = [compute_results(Journal(path, own)) for own in events_of_policies(Journal(path, events)).values()]
    rows = [row for found in results for row in found.trials.filter(pl.col("index") == int(gone)).to_dicts()]
    assert [(row["counts"], row["fault"], row["spl"]) for row in rows] == [(False, "SKIPPED", None)]
    assert [found.summary.row("base").trials for found in results] == [2, 2]
    assert [found.summary.row("base").skipped for found in results] == [1, 1]
    (compared,) = compare_all(results[0], results[1:])
    assert (compared.only_first, compared.only_second) == (0, 0)
    spent = sum(e.cost for e in of(events, SetUp))
    assert sum(found.trials["setup_cost"].sum() for found in results) == pytest.approx(spent)


def test_max_trials_counts_what_counts(tmp_path):
    evaluation = blind_evaluation(max_trials=5)
    base_id = evaluation.test_set()[0].instance_id
    bench = left_out_by(bench_of(), 2, (base_id, "base", 0, 1))
    events, end = run(evaluation, tmp_path / "journal.jsonl", bench)
    assert end.reason == "max_trials"
    assert len(History.of(events).finished) == 4
    assert len(of(events, TrialFinished)) == 5


def test_the_journal_is_taken_apart_by_policy_with_the_twins_of_each(tmp_path):
    path = tmp_path / "journal.jsonl"
    run(blind_evaluation(), path)
    journal = read_journal(path)
    apart = events_of_policies(journal)
    assert list(apart) == ["first", "second"]
    indices = [e.trial.index for events in apart.values() for e in of(events, TrialFinished)]
    assert sorted(indices) == [e.trial.index for e in of(journal.events, TrialFinished)]
    for name, events in apart.items():
        assert [e.name for e in of(events, PolicyLoaded)] == [name]
        by_id = {e.trial.trial_id: e.trial for e in of(events, TrialFinished)}
        for trial in by_id.values():
            assert trial.is_base or (by_id[trial.twin].is_base and by_id[trial.twin].base_id == trial.base_id)
        assert blinding_of(events).kept


def test_a_correction_is_in_the_journal_of_the_policy_that_ran_the_trial_alone(tmp_path):
    path = tmp_path / "journal.jsonl"
    events, _ = run(blind_evaluation(), path)
    right = Judgement(False, 0.0, "Ada")
    corrections = [
        TrialCorrected(e.trial.trial_id, right, "seen again", e.result, 1.0) for e in of(events, TrialFinished)
    ]
    apart = events_of_policies(Journal(path, (*events, *corrections)))
    for own in apart.values():
        assert [c.trial_id for c in of(own, TrialCorrected)] == [e.trial.trial_id for e in of(own, TrialFinished)]


def test_a_plan_has_the_trials_of_every_policy(tmp_path):
    alone, blind = plan_session(line_evaluation()), plan_session(blind_evaluation(3))
    # If all succeed, what is put back is what one policy moved.
    assert len(blind.trials) == 3 * len(alone.trials)


def test_a_bench_with_one_policy_runs_no_blind_session(tmp_path):
    with pytest.raises(ConfigurationError, match="loads policies"):
        run(blind_evaluation(), tmp_path / "journal.jsonl", LineBench())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"policy": "oracle"}, "beside `blind`"),
        ({"policy_server": {"external": True}}, "beside `blind`"),
        ({"stop_early": {"threshold": 0.5}}, "no `stop_early`"),
        ({"blind": {"policies": ["oracle"]}}, "policies"),
        ({"blind": {"policies": ["oracle", "oracle"]}}, "each of the policies once"),
        ({"blind": {"policies": ["oracle", "random"], "answer_time": 20.0}}, "below `timeouts.policy`"),
    ],
)
def test_what_does_not_go_with_blind_policies_is_refused(changes, words):
    parse_record(SessionParameters, SESSION, "file")
    with pytest.raises(ConfigurationError, match=words):
        parse_record(SessionParameters, {**SESSION, **changes}, "file")


@pytest.mark.parametrize(
    ("pacing", "given", "refused"),
    [("wall_clock", {}, True), ("wall_clock", {"answer_time": 0.0}, False), ("lockstep", {}, False)],
)
def test_on_the_wall_clock_a_blind_session_says_how_long_answers_take(pacing, given, refused, tmp_path):
    blind = {"policies": ["oracle", "random"], **given}
    (tmp_path / "session.yaml").write_text(yaml.safe_dump({**SESSION, "blind": blind, "world": {"pacing": pacing}}))
    if not refused:
        assert resolve(tmp_path / "session.yaml").evaluation().session.least_answer_time == 0.0
        return
    with pytest.raises(
        ConfigurationError, match=r"`blind.answer_time`: got 'nothing', expected the least duration .+trials.csv"
    ):
        resolve(tmp_path / "session.yaml")
