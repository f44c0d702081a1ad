"""Who judges a trial that has ended: the camera if it is certain, else the person."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
from recorded_console import Asked, Clock, Steered, given, phase_of
from tabletop_scenes import asked, scene, tabletop

from robocontrast_ros.console import commands as c
from robocontrast_ros.console.console import Console, ConsolePhase, Judged, SessionFacts
from robocontrast_ros.console.judgements import EndedTrial, TrialJudgements
from robocontrast_ros.console.questions import OperatorAnswer
from robocontrast_ros.domain import Fault, Judgement, TestInstance, Trial
from robocontrast_ros.episodes.judging import Person, success_in_words
from robocontrast_ros.perception import Verdict

TASK = tabletop()
START = scene(red_cube=(0.42, 0.12), blue_cube=(0.36, -0.08))
WORDS = replace(asked("stack", "red_cube", "blue_cube"), text="put the red cube on the blue one")
TRIAL = Trial(3, "x", "base", 0, TestInstance("x", "tabletop", WORDS, START), 1)
ENDED = EndedTrial(TRIAL, START)
SUCCESS, FAILURE = Verdict(True), Verdict(False)
UNSURE = Verdict(True, ("the red cube is hidden",))
UNSEEN = Verdict(None, ("no picture was looked at",))


class Session:
    """A session's judgements, at a console that one person sits at."""

    def __init__(self, verdict=None, **more):
        self.console = Console(Steered(), clock=Clock())
        counts = partial(success_in_words, judge=Person(), control_rate=10.0)
        camera = (lambda goal, instruction: verdict) if verdict is not None else None
        self.judgements = TrialJudgements(self.console, TASK, counts, camera, **more)

    def asks(self, ended=ENDED):
        return Asked(self.console, ended, self.judgements.judge)

    @property
    def question(self):
        return self.console.view().question

    @property
    def remembered(self):
        return self.console.view().judgements

    def answered(self, waiting, **said):
        """Judge as the person does, and return what became of it."""
        assert phase_of(self.console) is ConsolePhase.JUDGE
        given(self.console, c.Judge, **said)
        given(self.console, c.Next)
        return waiting.answer()


@pytest.mark.parametrize("verdict", [SUCCESS, FAILURE], ids=["success", "failure"])
def test_nobody_is_asked_about_a_trial_of_which_the_camera_is_certain_and_it_may_be_corrected(verdict):
    session = Session(verdict)
    assert session.asks().answer() == OperatorAnswer("done")
    assert session.remembered == (("0003", Judged(None, 2)),)


@pytest.mark.parametrize("verdict", [None, UNSURE, UNSEEN], ids=["no camera", "unsure", "unseen"])
def test_the_person_decides_where_the_camera_is_not_certain(verdict):
    session = Session(verdict)
    waiting = session.asks()
    assert session.question.trial_id == "0003" and session.question.instruction == WORDS.text
    assert session.question.subgoals == 2 and session.question.counts.startswith("Success: ")
    answer = session.answered(waiting, success=False, progress=0.5, by="Ada")
    assert answer.fault is Fault.NONE and answer.judgement == Judgement(False, 0.5, "Ada")
    assert session.remembered == (("0003", Judged(answer.judgement, 2)),)


@pytest.mark.parametrize(("verdict", "advises"), [(SUCCESS, True), (FAILURE, True), (UNSURE, False), (UNSEEN, False)])
def test_a_person_who_is_always_asked_only_advises_where_the_camera_is_certain_and_may_contradict_it(verdict, advises):
    session = Session(verdict, ask_always=True)
    answer = session.answered(session.asks(), success=not verdict.success, by="Ada")
    assert answer.judgement.success is not verdict.success and answer.judgement.advises is advises


def test_a_success_that_the_hand_may_have_dropped_there_is_left_to_the_person_and_a_failure_is_not():
    ended = replace(ENDED, may_have_dropped=True)
    assert Session(FAILURE).asks(ended).answer() == OperatorAnswer("done")
    for ask_always in (False, True):
        session = Session(SUCCESS, ask_always=ask_always)
        answer = session.answered(session.asks(ended), success=False, by="Ada")
        assert answer.judgement == Judgement(False, 0.0, "Ada")


@pytest.mark.parametrize("blind", [False, True])
@pytest.mark.parametrize("fault", [fault for fault in Fault if fault.of_policy] + [Fault.ROBOT_FAULT])
def test_in_a_blind_session_the_person_is_not_told_what_the_policy_did_wrong(fault, blind):
    session = Session(blind=blind)
    waiting = session.asks(replace(ENDED, fault=fault, detail="KeyError in policy_a"))
    hidden = blind and fault.of_policy
    assert session.question.detail == ("" if hidden else "KeyError in policy_a")
    assert session.question.ended == ("The policy failed." if hidden else fault.words)
    session.answered(waiting, success=False)


@pytest.mark.parametrize(("stopped", "words"), [(True, "The policy stopped."), (False, "The time was over.")])
def test_why_a_trial_ended_is_told_with_the_question(stopped, words):
    session = Session(blind=True)
    waiting = session.asks(replace(ENDED, stopped=stopped))
    assert session.question.ended == words
    session.answered(waiting, success=True)


def test_a_trial_that_the_person_declares_void_is_not_offered_to_be_corrected():
    session = Session(SUCCESS, ask_always=True)
    waiting = session.asks()
    given(session.console, c.Void, reason="the table was pushed")
    answer = waiting.answer()
    assert answer.fault is Fault.VOIDED and answer.reason == "the table was pushed" and answer.judgement is None
    assert session.remembered == ()


@pytest.mark.parametrize(("decision", "fault"), [("void", Fault.VOIDED), ("skip", Fault.SKIPPED), ("done", Fault.NONE)])
def test_an_answer_says_whether_the_attempt_counts(decision, fault):
    assert OperatorAnswer(decision).fault is fault


def test_a_judgement_that_was_confirmed_counts_when_a_session_is_stopped_early_and_says_whether_it_advises():
    session = Session(SUCCESS, ask_always=True)
    session.console.tell(SessionFacts("running", looks=True))
    waiting = session.asks()
    given(session.console, c.Judge, success=True, by="Ada")
    session.console.tell(SessionFacts("finished", looks=True))
    assert session.console.settle()
    assert waiting.answer().judgement == Judgement(True, 1.0, "Ada", advises=True)
    assert session.console.view().facts.look == "stop"


def test_trials_of_before_are_offered_to_be_corrected_newest_first():
    session = Session()
    said = Judgement(False, 0.5, "Ada", tags=("slipped",))
    session.judgements.remember(TRIAL, START, None)
    session.judgements.remember(replace(TRIAL, index=4), START, said)
    assert session.remembered == (("0004", Judged(said, 2)), ("0003", Judged(None, 2)))
    assert session.console.view().tags == ("slipped",) and session.console.view().by == "Ada"
