"""However often a session is killed, resuming it gives the trials and scores of one that was not."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from line_world import LineBench, SwappingLineBench, line_evaluation

from robocontrast_ros.domain import Fault
from robocontrast_ros.episodes.bench import BenchFault
from robocontrast_ros.runs.events import (
    PolicyLoaded,
    SessionFinished,
    SetUp,
    TrialFinished,
    TrialSkipped,
    TrialVoid,
    to_line,
)
from robocontrast_ros.runs.journal import JournalWriter, read_journal
from robocontrast_ros.sessions.control import SessionControl
from robocontrast_ros.sessions.loop import Session
from robocontrast_ros.strategies.contrast_set import ContrastSet
from robocontrast_ros.strategies.cost_ordered import CostOrdered
from robocontrast_ros.strategies.limited_intervention import LimitedIntervention, LimitedInterventionSkip
from robocontrast_ros.strategies.standard import Standard
from robocontrast_ros.worlds.backends import BackendFeatures

FAMILIES = ("block_to_place",)


class Killed(BaseException):
    """Stands for SIGKILL: nothing in the session may handle it."""


@dataclass
class Crash:
    """One way to die.

    Attributes:
        where: before, within or after an event's line; or in, or after, something that the bench does;
            or the simulator dies alone.
        after: how many events, or calls of the bench, go well before.
    """

    where: str
    after: int
    count: int = field(default=0)

    def at(self, *places: str) -> bool:
        """Tell whether it happens here and now."""
        if self.where not in places:
            return False
        self.count += 1
        return self.count > self.after


class CrashingJournal:
    """The real writer, until the crash."""

    def __init__(self, path: Path, crash: Crash) -> None:
        self._writer, self._path, self._crash = JournalWriter(path), path, crash
        self.past = self._writer.past
        self.dead = False

    def append(self, event) -> None:
        if self.dead:
            raise Killed
        happens = self._crash.at("before", "within", "after")
        if happens and self._crash.where != "after":
            self.dead = True
            if self._crash.where == "within":
                line = to_line(event)
                with self._path.open("ab") as file:
                    file.write(line[: len(line) // 2])
            raise Killed
        self._writer.append(event)
        if happens:
            self.dead = True
            raise Killed

    def close(self) -> None:
        self._writer.close()


def session_of(path: Path, evaluation, bench: LineBench, crash: Crash, control: SessionControl | None = None) -> None:
    def on_call(name: str) -> None:
        if crash.at("bench"):
            raise Killed
        if crash.at("simulator"):
            raise BenchFault(Fault.SIMULATOR_LOST, "the process ended")

    bench.on_call = on_call
    journal = CrashingJournal(path, crash)
    try:
        control = control or SessionControl()
        Session(evaluation, bench, journal, control, lambda status: None, lambda: 0.0).run(journal.past)
    except Killed:
        pass
    finally:
        journal.close()


NEVER = Crash("never", 0)
crashes = st.lists(
    st.builds(Crash, st.sampled_from(["before", "within", "after", "bench", "simulator"]), st.integers(0, 40)),
    max_size=5,
)


def score(path: Path):
    """Return what must not depend on crashes, trials and results as text, in which NaN equals NaN."""
    events = read_journal(path).events
    finished = [(repr(e.trial), repr(e.result), e.observed, e.cost) for e in events if isinstance(e, TrialFinished)]
    skipped = [(e.base_id, e.perturbation, e.reason) for e in events if isinstance(e, TrialSkipped)]
    ends = [(e.reason, e.detail) for e in events if isinstance(e, SessionFinished)]
    spent = sum(e.cost for e in events if isinstance(e, SetUp))
    return finished, skipped, ends, spent


@pytest.mark.parametrize(
    "strategy",
    [Standard(), ContrastSet(), LimitedIntervention(), LimitedInterventionSkip(), CostOrdered()],
    ids=lambda s: s.name,
)
@pytest.mark.parametrize("survives", [False, True], ids=["a fresh bench", "the same bench"])
@given(deaths=crashes, seed=st.integers(0, 1000), budget=st.sampled_from([float("inf"), 2.5]), person=st.booleans())
@examples(15, quick=5)
def test_a_session_that_was_killed_and_resumed_has_the_trials_scores_and_costs_of_one_that_was_not(
    strategy, survives, deaths, seed, budget, person
):
    evaluation = line_evaluation(
        strategy=strategy,
        seed=seed,
        budget=budget,
        test_set_size=3,
        families=FAMILIES,
        features=BackendFeatures(person=person),
    )
    with tempfile.TemporaryDirectory() as folder:
        whole, broken = Path(folder, "whole.jsonl"), Path(folder, "broken.jsonl")
        session_of(whole, evaluation, LineBench(), NEVER)
        bench = LineBench()
        for crash in deaths:
            session_of(broken, evaluation, bench, Crash(crash.where, crash.after))
            known = any(isinstance(event, SetUp) for event in read_journal(broken).events)
            # What stood there before the first set-up is known to nobody else.
            bench = bench if survives and known else LineBench()
        session_of(broken, evaluation, bench, NEVER)
        assert score(broken) == score(whole)
        assert len(score(broken)[2]) == 1


@given(after=st.integers(0, 60), where=st.sampled_from(["before", "within", "after", "bench"]))
@examples(20, quick=10)
def test_a_void_trial_of_a_killed_session_is_run_again_with_the_same_scores(after, where):
    evaluation = line_evaluation(families=FAMILIES, test_set_size=3)
    faults = {(1, 0): Fault.SENSOR_LOST, (3, 0): Fault.SCORER_LOST, (4, 1): Fault.SENSOR_LOST}
    with tempfile.TemporaryDirectory() as folder:
        whole, broken = Path(folder, "whole.jsonl"), Path(folder, "broken.jsonl")
        session_of(whole, evaluation, LineBench(), NEVER)
        for crash in (Crash(where, after), Crash(where, after // 3), NEVER):
            session_of(broken, evaluation, LineBench(faults=faults), crash)
        expected = [(trial, result) for trial, result, _, _ in score(whole)[0]]
        assert [(trial, result) for trial, result, _, _ in score(broken)[0]] == expected


@pytest.mark.parametrize("where", ["before", "within", "after", "bench", "simulator"])
def test_every_single_moment_to_die_is_survived(tmp_path, where):
    evaluation = line_evaluation(families=FAMILIES, test_set_size=2)
    whole = tmp_path / "whole.jsonl"
    session_of(whole, evaluation, LineBench(), NEVER)
    expected = score(whole)
    moments = len(read_journal(whole).events)
    assert moments > 12
    for after in range(moments):
        broken = tmp_path / f"{after}.jsonl"
        session_of(broken, evaluation, LineBench(), Crash(where, after))
        session_of(broken, evaluation, LineBench(), Crash(where, 2))
        session_of(broken, evaluation, LineBench(), NEVER)
        assert score(broken) == expected


def test_a_person_who_resumes_a_session_sets_the_next_trial_up_at_once(tmp_path):
    evaluation = line_evaluation(
        families=FAMILIES, test_set_size=2, strategy=Standard(), features=BackendFeatures(person=True)
    )
    path = tmp_path / "journal.jsonl"
    # It dies when the second trial is to be set up: its scene is another one than the first trial left.
    kinds = [event.event for event in _whole(tmp_path, evaluation)]
    second = [k for k, kind in enumerate(kinds) if kind == "set_up"][1]
    session_of(path, evaluation, LineBench(), Crash("before", second))
    before = len(read_journal(path).events)
    bench, targets = LineBench(), []
    set_up = bench.set_up
    bench.set_up = lambda target, moves: targets.append((target, moves)) or set_up(target, moves)
    session_of(path, evaluation, bench, NEVER)
    (event,) = [e for e in read_journal(path).events[before:] if isinstance(e, SetUp)]
    ((target, moves),) = targets
    assert target == event.trial.instance.scene and not event.restore
    assert {move.name for move in moves} == set(target.names), "nobody knows what stands on the table"


def _whole(folder: Path, evaluation):
    path = folder / "whole.jsonl"
    session_of(path, evaluation, LineBench(), NEVER)
    return read_journal(path).events


SWAP_AFTER = 3
"""Index of the trial during which somebody asks for another policy."""


def swapped_session(path: Path, evaluation, crash: Crash) -> None:
    """Run a session in which another policy is asked for, again after every death until it serves."""
    control = SessionControl()
    events = read_journal(path).events if path.exists() else ()
    if len([e for e in events if isinstance(e, TrialFinished)]) > SWAP_AFTER and "second" not in [
        e.name for e in events if isinstance(e, PolicyLoaded)
    ]:
        control.swap("second")
    bench = SwappingLineBench(before_trial=lambda trial: control.swap("second") if trial.index == SWAP_AFTER else None)
    session_of(path, evaluation, bench, crash, control)


def served(path: Path) -> list[str]:
    """Return which policy each trial that counts was run by."""
    names, by = [], ""
    for event in read_journal(path).events:
        if isinstance(event, PolicyLoaded):
            by = event.name
        elif isinstance(event, TrialFinished):
            names.append(by)
    return names


@given(deaths=crashes, seed=st.integers(0, 1000))
@examples(12, quick=6)
def test_a_session_resumed_after_a_swap_goes_on_with_the_policy_that_served_last(deaths, seed):
    evaluation = line_evaluation(seed=seed, test_set_size=3, families=FAMILIES)
    with tempfile.TemporaryDirectory() as folder:
        whole, broken = Path(folder, "whole.jsonl"), Path(folder, "broken.jsonl")
        swapped_session(whole, evaluation, NEVER)
        for crash in (*deaths, NEVER):
            swapped_session(broken, evaluation, Crash(crash.where, crash.after))
        assert score(broken) == score(whole)
        assert served(broken) == served(whole)
        assert served(whole) == ["first"] * (SWAP_AFTER + 1) + ["second"] * (len(served(whole)) - SWAP_AFTER - 1)


def test_no_execution_is_ever_lost_from_the_count_of_void_attempts(tmp_path):
    path = tmp_path / "journal.jsonl"
    evaluation = line_evaluation(families=FAMILIES, test_set_size=2)
    for crash in (Crash("simulator", 5), Crash("bench", 2), Crash("bench", 2), NEVER):
        session_of(path, evaluation, LineBench(), crash)
    events = read_journal(path).events
    begun = [(e.trial.index, e.attempt) for e in events if e.event == "trial_started"]
    ended = [(e.trial.index, e.attempt) for e in events if isinstance(e, (TrialFinished, TrialVoid))]
    assert len(begun) == len(set(begun))
    assert set(begun) <= set(ended)
