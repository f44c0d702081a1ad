"""What a run cost beside a standard evaluation, in metres and in seconds."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from io import StringIO

import polars as pl
import pytest
from line_world import Invert, LineBench, OnlyAtHome, line, line_evaluation
from rich.console import Console

from robocontrast_ros.analysis.data.effort_model import Effort, EffortModel
from robocontrast_ros.analysis.data.run_record import RunRecord
from robocontrast_ros.analysis.data.trials import trials_table
from robocontrast_ros.analysis.estimates.effort import (
    MeanEffort,
    compute_effort,
    cumulative,
    standard_evaluation,
)
from robocontrast_ros.analysis.estimates.results import compute_results
from robocontrast_ros.analysis.tables.summary import effort_block, placing_words, summary_report
from robocontrast_ros.domain import Pose, Scene
from robocontrast_ros.domain.words import counted
from robocontrast_ros.episodes.bench import SetByPerson
from robocontrast_ros.runs.events import SetUp, TrialFinished
from robocontrast_ros.runs.journal import Journal, read_journal
from robocontrast_ros.sessions.loop import run_session
from robocontrast_ros.strategies.contrast_set import ContrastSet
from robocontrast_ros.strategies.effort import HandlingTimes, SecondsToMove
from robocontrast_ros.strategies.limited_intervention import LimitedIntervention, LimitedInterventionSkip
from robocontrast_ros.strategies.standard import Standard


@pytest.fixture
def ran(tmp_path):
    """Run a session and return its journal."""

    def run(bench=None, **changes) -> Journal:
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.jsonl"
        run_session(line_evaluation(**changes), bench or LineBench(), path)
        return read_journal(path)

    return run


def effort_of(journal: Journal):
    model, run = EffortModel(journal.started), RunRecord.of(journal.events)
    return compute_effort(run, trials_table(run), standard_evaluation(run, model), model)


def standard_of(journal: Journal):
    return standard_evaluation(RunRecord.of(journal.events), EffortModel(journal.started))


def table_of(journal: Journal) -> pl.DataFrame:
    return trials_table(RunRecord.of(journal.events))


def empty() -> LineBench:
    """Return a bench whose first scene is brought in from outside, as in simulation."""
    return LineBench(present=Scene())


@pytest.mark.parametrize("repeats", [1, 3])
def test_the_standard_evaluation_in_a_contrast_set_costs_what_a_real_one_does(ran, repeats):
    contrast = ran(empty(), test_set_size=6, repeats=repeats)
    real = ran(empty(), test_set_size=6, repeats=repeats, strategy=Standard(), perturbations=())
    computed = standard_of(contrast)
    finished = [e for e in real.events if isinstance(e, TrialFinished)]
    assert [t.effort.metres for t in computed] == pytest.approx([e.cost for e in finished])
    assert [repr(t.result) for t in computed] == [repr(e.result) for e in finished]


def test_the_scene_that_was_brought_in_is_in_no_mean_but_in_the_sums(ran):
    journal = ran(empty(), test_set_size=4)
    effort, standard = effort_of(journal), standard_of(journal)
    assert [t.brought_in for t in standard] == [True, False, False, False]
    assert standard[0].effort == Effort()
    assert effort.standard_instance.number == 3
    total = cumulative(standard, "m")[-1]
    assert effort.standard_instance.mean.metres == pytest.approx(total / 3)


def test_a_first_scene_that_was_set_up_by_hand_counts_like_any_other(ran):
    effort = effort_of(ran(test_set_size=4))
    assert effort.standard_instance.number == 4


def test_what_going_back_to_the_scene_of_a_test_instance_costs_is_told_apart(ran):
    journal = ran(empty(), test_set_size=6, repeats=2, perturbations=(Invert(), OnlyAtHome()))
    back = [e for e in journal.events if isinstance(e, SetUp) and "back in the scene" in e.trial.note]
    effort = effort_of(journal)
    assert effort.gone_back.metres == pytest.approx(math.fsum(e.cost for e in back))
    assert 0.0 < effort.gone_back.metres < effort.total.metres
    assert effort.went_back == len({(e.trial.base_id, e.trial.perturbation) for e in back})
    ((_, lines),) = effort_block(compute_results(journal).summary).lines()
    words = lines[-1].cells
    assert words[0] == "going back, in total"
    assert words[1] == f"{effort.gone_back.metres:.2f}"
    effort = effort_of(ran(empty(), test_set_size=6, perturbations=(Invert(),)))
    assert (effort.gone_back, effort.went_back) == (Effort(), 0)


def test_the_means_of_perturbed_instances_add_up_to_what_was_spent_on_them(ran):
    journal = ran(empty(), test_set_size=6, repeats=2)
    effort = effort_of(journal)
    spent = math.fsum(e.cost for e in journal.events if isinstance(e, SetUp) and not e.trial.is_base)
    assert effort.perturbed_instance.mean.metres * effort.perturbed_instance.number == pytest.approx(spent)
    assert effort.perturbations.mean.metres * effort.perturbations.number == pytest.approx(spent)
    assert effort.perturbed_trial.mean.metres * effort.perturbed_trial.number == pytest.approx(spent)
    trials = [e for e in journal.events if isinstance(e, TrialFinished) and not e.trial.is_base]
    assert effort.perturbed_trial.number == len(trials)
    assert effort.total.metres == pytest.approx(math.fsum(e.cost for e in journal.events if isinstance(e, SetUp)))


def test_without_a_budget_trials_are_counted_within_what_the_standard_evaluation_costs(ran):
    journal = ran(empty(), test_set_size=6)
    effort, table = effort_of(journal), table_of(journal)
    assert effort.within_is == "what the standard evaluation costs"
    assert (effort.standard_within, effort.standard_trials) == (6, 6)
    assert effort.trials_within == sum(table["cumulative_cost"] <= effort.within)
    assert effort.trials_within < effort.trials


def test_trials_are_counted_within_the_budget_or_what_the_session_names(ran):
    journal = ran(empty(), test_set_size=6, budget=1.5)
    effort = effort_of(journal)
    assert (effort.within, effort.within_is) == (1.5, "the budget")
    assert effort.trials_within == effort.trials
    named = {"parameters": {"session": {"compare_within": 0.5}}}
    effort = effort_of(ran(empty(), test_set_size=6, budget=1.5, **named))
    assert (effort.within, effort.within_is) == (0.5, "compare_within")
    assert effort.trials_within < effort.trials


@pytest.mark.parametrize("strategy", [LimitedIntervention(), LimitedInterventionSkip()], ids=lambda s: s.name)
def test_limited_intervention_tells_no_standard_evaluation(ran, strategy):
    effort = effort_of(ran(strategy=strategy, perturbations=()))
    assert effort.standard_instance == MeanEffort()
    assert (effort.standard_trials, effort.within) == (0, None)
    assert effort.total.metres > 0.0


def test_a_session_in_seconds_still_tells_its_metres_and_the_other_way_round(ran):
    in_seconds = ran(empty(), cost_model=SecondsToMove(), strategy=ContrastSet())
    in_metres = ran(empty())
    seconds, metres = (compute_results(journal).summary for journal in (in_seconds, in_metres))
    assert (seconds.cost_unit, metres.cost_unit) == ("s", "m")
    assert seconds.effort.total == metres.effort.total
    assert seconds.row("all").cost == pytest.approx(seconds.effort.total.seconds)
    assert metres.row("all").cost == pytest.approx(metres.effort.total.metres)
    assert seconds.effort.total.seconds > 0.0


@pytest.mark.parametrize("key", ["handling_times", "mover"])
def test_the_seconds_are_those_of_the_person_in_the_session_s_file(ran, key):
    slow = {"session": {key: {"taking": 104.0}}}
    usual, slower = effort_of(ran(empty())), effort_of(ran(empty(), parameters=slow))
    assert slower.total.metres == usual.total.metres
    assert slower.total.seconds > usual.total.seconds + 100.0
    assert HandlingTimes().taking == 4.0


@dataclass
class Operated(LineBench):
    """A person sets up the scenes in this bench, and takes a minute for each."""

    def set_by_person(self) -> SetByPerson:
        return SetByPerson(60.0)


def test_measured_seconds_are_in_the_journal_and_count_instead_of_the_model(ran):
    journal = ran(Operated(), cost_model=SecondsToMove(), test_set_size=3, budget=100_000.0)
    set_ups = [e for e in journal.events if isinstance(e, SetUp)]
    assert {(e.measured, e.cost) for e in set_ups} == {(60.0, 60.0)}
    effort, table = effort_of(journal), table_of(journal)
    assert effort.measured == effort.set_ups == len(set_ups)
    assert effort.total.seconds == 60.0 * len(set_ups)
    assert table["setup_seconds"].to_list() == [60.0] * len(table)
    assert table["setup_measured"].all()
    moved = [e for e in set_ups if e.moves]
    assert effort.handling.set_ups == len(moved) and effort.handling.measured == 60.0 * len(moved)


def test_without_a_person_nothing_is_measured(ran):
    journal = ran(test_set_size=2)
    assert effort_of(journal).measured == 0
    assert not table_of(journal)["setup_measured"].any()


def test_a_scene_within_the_session_s_tolerance_of_the_one_before_costs_nothing(ran):
    journal = ran(LineBench(present=line(a=0.02, b=0.2, c=0.4, d=0.98)), test_set_size=2)
    wide = {"session": {"setup": {"position_tolerance": 2.0}}}
    started = replace(journal.started, parameters=wide)
    trials = standard_evaluation(RunRecord.of(journal.events), EffortModel(started))
    assert trials[1].effort == Effort()


def test_one_is_singular_and_what_costs_nothing_is_compared_with_nothing(ran):
    journal = ran(test_set_size=1, perturbations=(), bench=empty())
    shown = Console(file=StringIO(), width=120)
    shown.print(summary_report(compute_results(journal).summary))
    words = shown.file.getvalue()
    assert re.search(r"\b1 set-up\b", words)
    assert "Trials within" not in words
    at_no_cost = ran(test_set_size=1, perturbations=(), bench=empty(), budget=0.0)
    shown.print(summary_report(compute_results(at_no_cost).summary))
    assert "Trials at no cost (the budget): 1 of 1 of this session" in shown.file.getvalue()
    assert [counted(n, "trial is", "trials are") for n in (0, 1, 2)] == [
        "0 trials are",
        "1 trial is",
        "2 trials are",
    ]


class Placed(LineBench):
    """A person puts the first thing of each set-up 4 mm aside, and is believed that a doubted one stands right."""

    def set_up(self, target, moves):
        self.count = getattr(self, "count", -1) + 1
        after = super().set_up(target, moves)
        goals = [move for move in moves if move.goal is not None]
        self.read = target
        if goals:
            x, y = goals[0].goal.xy
            self.read = target.moved(goals[0].name, Pose.planar(x + 0.004, y, goals[0].goal.yaw))
        return after

    def set_by_person(self) -> SetByPerson:
        return SetByPerson(60.0, self.read, ("a is not seen: it is dark",) if self.count == 1 else ())


def test_how_exactly_a_person_placed_things_and_what_they_overruled_is_told(ran):
    journal = ran(Placed(), test_set_size=3)
    set_ups = [e for e in journal.events if isinstance(e, SetUp)]
    placing = effort_of(journal).placing
    placed = sum(move.goal is not None for e in set_ups for move in e.moves)
    assert (placing.set_ups, placing.objects) == (len(set_ups), placed)
    assert placing.position.greatest == pytest.approx(0.004) and placing.orientation.greatest == 0.0
    assert placing.position.median in (pytest.approx(0.004), 0.0)
    words = placing_words(placing)
    assert f"Set-up error of {placed} objects" in words and "4.0 mm" in words
    assert f"1 doubted set-up: {set_ups[1].trial.trial_id}: a is not seen: it is dark." in words
    table = table_of(journal)
    assert table["setup_overruled"].to_list() == [e.overruled != () for e in set_ups]
    errors = table.filter(pl.col("setup_moves") > 0)["setup_error_m"].drop_nulls()
    assert errors.to_list() == [pytest.approx(0.004)] * len(errors) and len(errors) > 0


def test_where_nothing_saw_what_a_person_placed_no_error_is_told(ran):
    journal = ran(Operated(), test_set_size=2)
    assert effort_of(journal).placing is None
    assert table_of(journal)["setup_error_m"].is_null().all()
