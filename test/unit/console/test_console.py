"""The state of the console: what is asked, what is allowed, and each command carried out once."""

from __future__ import annotations

import threading
import weakref
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from examples import examples
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from recorded_console import (
    DOUBTED,
    JUDGE,
    NUMBERS,
    SET_UP,
    START,
    TIME_LIMIT,
    Asked,
    Clock,
    Steered,
    given,
    phase_of,
    wait_until,
)

from robocontrast_ros.configuration import load_configured, resolve_uri
from robocontrast_ros.console import commands as c
from robocontrast_ros.console.console import (
    ALLOWED,
    PREPARED,
    PROMPT,
    REMEMBERED,
    UNDO,
    Console,
    ConsolePhase,
    Refused,
    SessionFacts,
)
from robocontrast_ros.console.new_instances import NewInstances
from robocontrast_ros.console.questions import OperatorAnswer
from robocontrast_ros.domain import Fault, Judgement

BOARD = load_configured("tasks", resolve_uri("package://robocontrast_ros/config/tasks/language_table.yaml"))
INSTANCE = BOARD.sample(np.random.default_rng(1), "x")
GOOD = {"success": True, "progress": 0.5, "by": "Ada", "tags": ("slipped",)}


def made(checklist=(), **more):
    steered, clock = Steered(), Clock()
    return Console(steered, checklist, clock, **more), steered, clock


def test_a_set_up_is_answered_with_what_was_ticked():
    console, _, _ = made()
    asked = Asked(console, SET_UP)
    assert phase_of(console) is ConsolePhase.SET_UP and console.view().limit == 20.0
    assert given(console, c.Tick, name="cup").accepted
    assert given(console, c.Ready).accepted
    assert asked.answer() == OperatorAnswer("done", moved=("cup",))
    assert phase_of(console) is ConsolePhase.WAITING


def test_all_moves_are_ticked_and_unticked_at_once_and_one_that_is_not_asked_for_is_refused():
    console, _, _ = made()
    asked = Asked(console, SET_UP)
    given(console, c.Tick, name="")
    assert console.view().moved == {"cup": True, "red_block": True}
    given(console, c.Tick, name="", done=False)
    given(console, c.Tick, name="red_block")
    reply = given(console, c.Tick, name="spoon")
    assert not reply.accepted and reply.detail == "there is no 'spoon'"
    given(console, c.Ready)
    assert asked.answer().moved == ("red_block",)


def test_only_what_is_doubted_can_be_overruled():
    console, _, _ = made()
    asked = Asked(console, SET_UP)
    assert not given(console, c.Ready, overrule=True).accepted
    given(console, c.Ready)
    assert not asked.answer().overruled
    asked = Asked(console, DOUBTED)
    assert given(console, c.Ready, overrule=True).accepted
    assert asked.answer().overruled


def test_the_checklist_comes_first_and_once_and_all_of_it_has_to_be_checked():
    long = "the cell is empty, the gates are closed, and the lamp over the door says so to everybody outside"
    console, _, _ = made((long, "E-stop"))
    asked = Asked(console, SET_UP)
    assert phase_of(console) is ConsolePhase.CHECKLIST
    assert not given(console, c.Ready).accepted and not given(console, c.Checked).accepted
    assert not given(console, c.Tick, name="cup").accepted
    for item in (long, "E-stop"):
        content = f'{{"command": "tick", "id": "{len(item)}", "step": {console.view().step}, "name": "{item}"}}'
        assert console.carry_out(c.read_command(content.encode())).accepted
    assert given(console, c.Checked).accepted
    assert phase_of(console) is ConsolePhase.SET_UP
    given(console, c.Ready)
    asked.answer()
    Asked(console, START)
    assert phase_of(console) is ConsolePhase.START
    console.close()


@pytest.mark.parametrize("ago", [PROMPT + 0.1, -PROMPT - 0.1])
def test_what_makes_the_robot_move_is_not_done_when_it_comes_late(ago):
    console, steered, clock = made()
    asked = Asked(console, START)
    tapped = clock.now - ago
    reply = given(console, c.Start, at=tapped)
    assert not reply.accepted and "too late" in reply.detail and asked.open
    console.tell_stop("near")
    assert not given(console, c.Release, by="Ada", at=tapped).accepted
    console.tell_stop("")
    given(console, c.Pause)
    asked.answer()
    console.tell(SessionFacts("paused"))
    assert not given(console, c.Resume, at=tapped).accepted
    assert steered.done == ["pause"]
    assert given(console, c.Resume, at=clock.now - PROMPT).accepted


def test_the_time_of_a_trial_goes_on_while_the_policy_moves_the_robot():
    console, _, clock = made()
    console.set_limit(20.0)
    asked = Asked(console, START)
    given(console, c.Start)
    asked.answer()
    clock.now += 7.0
    assert console.view().limit == 0.0
    console.tell_moving(True)
    clock.now += 3.0
    assert (console.view().elapsed, console.view().limit) == (3.0, 20.0)
    console.tell_moving(False)
    assert console.view().limit == 0.0


def test_two_consoles_number_what_they_ask_differently():
    first, second = made()[0], made()[0]
    Asked(first, START), Asked(second, START)
    assert first.view().step != second.view().step
    assert not given(second, c.Start, step=first.view().step).accepted


@pytest.mark.parametrize(
    ("question", "kind", "decision"),
    [(SET_UP, c.Skip, "skip"), (START, c.Void, "void"), (START, c.Skip, "skip"), (JUDGE, c.Void, "void")],
)
def test_an_attempt_is_void_or_left_out_for_a_reason(question, kind, decision):
    console, _, _ = made()
    asked = Asked(console, question)
    things = ("cup",) if question is SET_UP else ()
    for name in things:
        given(console, c.Tick, name=name)
    assert given(console, kind, reason="it fell").accepted
    # What was carried before stays where it is.
    assert asked.answer() == OperatorAnswer(decision, "it fell", moved=things)


def test_a_trial_runs_from_its_start_to_its_judgement_and_its_goal_may_be_reached_before():
    console, steered, _ = made()
    console.set_limit(30.0)
    asked = Asked(console, START)
    given(console, c.Start)
    assert asked.answer() == OperatorAnswer("done")
    console.tell_moving(True)
    view = console.view()
    assert (view.phase, view.limit, view.question) == (ConsolePhase.RUNNING, 30.0, START)
    assert given(console, c.Reached).accepted and steered.done == ["reached"] and console.view().reached
    console.trial_ended()
    assert phase_of(console) is ConsolePhase.WAITING
    asked = Asked(console, JUDGE)
    assert console.view().reached
    given(console, c.Judge, **GOOD)
    given(console, c.Next)
    assert asked.answer().judgement == Judgement(True, 1.0, "Ada", tags=("slipped",))
    assert console.view().tags == ("slipped",) and console.view().by == "Ada"
    asked = Asked(console, START)
    given(console, c.Start)
    asked.answer()
    assert not console.view().reached


def test_a_goal_cannot_be_said_to_be_reached_where_no_person_judges():
    console, steered, _ = made(judged=False)
    asked = Asked(console, START)
    given(console, c.Start)
    asked.answer()
    assert "reached" not in console.view().allowed
    assert not given(console, c.Reached).accepted and steered.done == []


def test_a_judgement_is_taken_back_within_the_time_and_given_anew():
    console, _, clock = made()
    asked = Asked(console, JUDGE)
    given(console, c.Judge, success=False, progress=0.5, note="slipped", stage="did not reach it")
    assert phase_of(console) is ConsolePhase.CONFIRMED and console.view().limit == UNDO
    clock.now += UNDO - 0.1
    assert given(console, c.Undo).accepted
    assert phase_of(console) is ConsolePhase.JUDGE and console.view().draft.note == "slipped"
    clock.now += 100.0
    console.tell_problems(("dark",))
    assert asked.open
    given(console, c.Judge, success=False, progress=0.25)
    given(console, c.Next)
    assert asked.answer().judgement == Judgement(False, 0.25, "person")


def test_a_judgement_holds_when_its_time_is_over():
    console, _, clock = made()
    asked = Asked(console, JUDGE)
    given(console, c.Judge, **GOOD)
    step = console.view().step
    clock.now += UNDO - 0.1
    console.tell_problems(("dark",))
    assert asked.open
    clock.now += 0.2
    console.tell_problems(())
    assert asked.answer().judgement.success
    reply = given(console, c.Undo, step=step)
    assert not reply.accepted


def test_a_pause_takes_back_what_was_asked_before_a_trial_as_void_and_waits_for_nothing_else():
    console, steered, _ = made()
    for question in (SET_UP, START):
        asked = Asked(console, question)
        assert console.carry_out(c.Pause(id=f"p{next(NUMBERS)}")).accepted
        assert asked.answer() == OperatorAnswer("void", "the session was paused before the trial began")
    console.tell(SessionFacts(state="paused"))
    assert phase_of(console) is ConsolePhase.PAUSED
    assert given(console, c.Resume).accepted
    console.tell(SessionFacts(state="running"))
    asked = Asked(console, JUDGE)
    assert not console.carry_out(c.Pause(id="late")).accepted and asked.open
    console.close()
    assert steered.done == ["pause", "pause", "resume"]


def test_a_set_up_is_timed_while_it_is_shown_alone_and_its_ticks_outlast_a_pause():
    console, _, clock = made(("Nobody at the robot",))
    asked = Asked(console, SET_UP)
    clock.now += 100.0  # with the checklist
    given(console, c.Tick, name="Nobody at the robot")
    given(console, c.Checked)
    given(console, c.Tick, name="cup")
    clock.now += 20.0
    given(console, c.Pause)
    asked.answer()
    clock.now += 86400.0
    asked = Asked(console, SET_UP)
    assert console.view().moved == {"cup": True, "red_block": False}
    clock.now += 3.0
    console.tell_stop("the emergency stop was pressed")
    clock.now += 50.0
    console.tell_stop("")
    clock.now += 4.0
    assert console.view().elapsed == 27.0
    given(console, c.Ready)
    assert asked.answer().seconds == 27.0
    clock.now += 2.0  # while the camera looks
    asked = Asked(console, DOUBTED)
    clock.now += 5.0
    given(console, c.Ready, overrule=True)
    assert asked.answer().seconds == 32.0
    asked = Asked(console, SET_UP)
    assert not any(console.view().moved.values())
    clock.now += 6.0
    given(console, c.Ready)
    assert asked.answer().seconds == 6.0


def test_a_pause_that_the_session_refuses_takes_nothing_back():
    console, steered, _ = made()
    steered.refuses = {"pause"}
    asked = Asked(console, START)
    reply = console.carry_out(c.Pause(id="p"))
    assert (reply.accepted, reply.detail) == (False, "no pause now") and asked.open
    console.close()


def test_what_is_asked_is_hidden_while_the_robot_is_stopped_and_comes_back():
    console, steered, _ = made()
    asked = Asked(console, START)
    old = console.view().step
    assert console.carry_out(c.Stop(id="s")).accepted and steered.done == ["stop"]
    console.tell_stop("stopped on the console")
    assert phase_of(console) is ConsolePhase.STOPPED and console.view().stop == "stopped on the console"
    assert not given(console, c.Start).accepted
    assert given(console, c.Release, by="Ada").accepted
    console.tell_stop("")
    assert phase_of(console) is ConsolePhase.START
    assert not given(console, c.Start, step=old).accepted and asked.open
    assert given(console, c.Start).accepted
    assert asked.answer().decision == "done"


def test_a_judgement_may_settle_while_the_robot_is_stopped():
    console, _, clock = made()
    asked = Asked(console, JUDGE)
    given(console, c.Judge, **GOOD)
    console.tell_stop("near")
    clock.now += UNDO
    console.tell_problems(("x",))
    assert asked.answer().judgement.success and phase_of(console) is ConsolePhase.STOPPED


@pytest.mark.parametrize("question", [SET_UP, START, JUDGE])
def test_closing_answers_what_is_asked_as_void_and_nothing_is_asked_any_more(question):
    console, _, _ = made()
    asked = Asked(console, question)
    before = console.version
    console.close()
    assert asked.answer().decision == "void"
    assert console.ask(question).decision == "void"
    view = console.view()
    assert view.phase is ConsolePhase.FINISHED and view.allowed == () and view.version > before
    assert not given(console, c.Stop).accepted


def test_a_question_that_another_one_takes_the_place_of_is_void():
    console, _, _ = made()
    first = Asked(console, SET_UP)
    second = Asked(console, START)
    assert first.answer().decision == "void"
    given(console, c.Start)
    assert second.answer() == OperatorAnswer("done")
    assert phase_of(console) is ConsolePhase.RUNNING


def test_a_session_that_ends_shows_it_until_the_console_closes():
    console, _, _ = made()
    console.tell(SessionFacts(state="finished"))
    assert phase_of(console) is ConsolePhase.FINISHED and console.view().allowed == ()


def test_tags_and_notes_of_earlier_judgements_are_offered_newest_first_and_each_once():
    console, _, _ = made()
    earlier = (("Ada", "it slid", ("a", "b")), ("Ada", "too dark", ()), ("person", "it slid", ("a",)), ("Ada", "", ()))
    for k, (by, note, tags) in enumerate(earlier):
        console.remember(str(k), Judgement(True, 1.0, by, note, tags=tags))
    view = console.view()
    assert (view.tags, view.notes, view.by) == (("a", "b"), ("it slid", "too dark"), "Ada")
    for k in range(40):
        console.remember(f"more {k}", Judgement(True, 1.0, note=f"n{k}", tags=(f"t{k}",)))
    view = console.view()
    assert len(view.tags) == len(view.notes) == 12 and (view.tags[0], view.notes[0]) == ("t39", "n39")
    asked = Asked(console, JUDGE)
    given(console, c.Judge, success=True, note="said now")
    given(console, c.Next)
    asked.answer()
    assert console.view().notes[0] == "said now"


def test_the_checklist_is_asked_again_after_a_long_pause_and_not_after_a_short_one():
    console, _, clock = made(("lamp",))
    asked = Asked(console, SET_UP)
    for seconds, phase in (
        (0.0, ConsolePhase.CHECKLIST),
        (PREPARED - 1.0, ConsolePhase.SET_UP),
        (PREPARED, ConsolePhase.CHECKLIST),
    ):
        console.tell(SessionFacts(state="paused"))
        clock.now += seconds
        # A pause is one pause, however often the session says that it is paused.
        console.tell(SessionFacts(state="paused", detail="still"))
        console.tell(SessionFacts(state="running"))
        assert phase_of(console) is phase
        if phase is ConsolePhase.CHECKLIST:
            assert console.view().checklist == {"lamp": False}
            given(console, c.Tick, name="lamp")
            assert given(console, c.Checked).accepted
    console.close()
    asked.answer()


@pytest.mark.parametrize(
    ("state", "look"), [("idle", ""), ("running", "continue"), ("paused", "continue"), ("finished", "stop")]
)
def test_an_interim_look_says_continue_or_stop_where_there_is_a_question(state, look):
    assert SessionFacts(state, looks=True).look == look and SessionFacts(state).look == ""


# -- once -----------------------------------------------------------------------------------------


def together(*calls):
    """Make calls at once, each in a thread of its own, and return what they returned."""
    gate, results = threading.Barrier(len(calls)), [None] * len(calls)

    def run(k):
        gate.wait(TIME_LIMIT)
        results[k] = calls[k]()

    threads = [threading.Thread(target=run, args=(k,), daemon=True) for k in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TIME_LIMIT)
        assert not thread.is_alive()
    return results


def test_a_command_that_comes_from_many_threads_is_carried_out_once():
    console, steered, _ = made()
    for k in range(20):
        replies = together(*[lambda k=k: console.carry_out(c.Stop(id=f"s{k}"))] * 8)
        assert all(reply.accepted for reply in replies)
    assert steered.done == ["stop"] * 20


def test_an_instance_that_two_phones_keep_at_once_is_kept_once(tmp_path):
    recorder = NewInstances(BOARD, tmp_path / "instances.yaml", lambda: INSTANCE.scene, "as it is")
    console, _, _ = made(instances=recorder)
    console.tell(SessionFacts(state="paused"))
    for k in range(10):
        assert given(console, c.Survey).accepted
        assert given(console, c.Propose, instruction=INSTANCE.instruction.text).accepted
        step = console.view().step
        replies = together(
            *[lambda n=n, k=k, at=step: console.carry_out(c.Keep(id=f"k{k}-{n}", step=at)) for n in range(4)]
        )
        assert [reply.accepted for reply in replies].count(True) == 1
        assert len(recorder.kept) == k + 1


def test_of_two_answers_at_once_one_is_taken():
    console, _, _ = made()
    for k in range(50):
        asked = Asked(console, START)
        step = console.view().step
        start, skip = together(
            lambda step=step, k=k: console.carry_out(c.Start(id=f"a{k}", step=step, at=console.view().now)),
            lambda step=step, k=k: console.carry_out(c.Skip(id=f"b{k}", step=step, reason="no")),
        )
        assert start.accepted != skip.accepted
        assert asked.answer() == (OperatorAnswer("done") if start.accepted else OperatorAnswer("skip", "no"))


def test_an_answer_never_goes_to_the_question_after_the_one_that_it_was_given_to():
    console, _, _ = made()
    for k in range(50):
        asked, ended = Asked(console, START), []
        step = console.view().step

        def session(asked=asked, ended=ended):
            asked.answer()
            ended.append(Asked(console, SET_UP))

        replies = together(
            session,
            *[
                lambda step=step, j=j, k=k: console.carry_out(c.Skip(id=f"{k}-{j}", step=step, reason="x"))
                for j in "ab"
            ],
        )
        assert sorted(reply.accepted for reply in replies[1:]) == [False, True]
        assert ended[0].open
        given(console, c.Ready)
        assert ended[0].answer().decision == "done"


class Slow(Steered):
    """Says when it is asked to stop, waits, and then refuses, or fails."""

    def __init__(self, error):
        super().__init__()
        self.asked, self.go, self.error = threading.Event(), threading.Event(), error

    def stop(self, reason):
        self.done.append("stop")
        self.asked.set()
        self.go.wait(TIME_LIMIT)
        if self.error:
            raise self.error


def test_a_command_that_comes_again_while_it_is_carried_out_is_told_what_became_of_it():
    steered = Slow(Refused("the watchdog is gone"))
    console = Console(steered)
    replies = []
    threads = [
        threading.Thread(target=lambda: replies.append(console.carry_out(c.Stop(id="s"))), daemon=True)
        for _ in range(4)
    ]
    threads[0].start()
    assert steered.asked.wait(TIME_LIMIT)
    for thread in threads[1:]:
        thread.start()
    # The state can be looked at, and other things can be done, meanwhile.
    assert console.view().phase is ConsolePhase.WAITING and console.carry_out(c.Pause(id="p")).accepted
    assert replies == []
    steered.go.set()
    for thread in threads:
        thread.join(TIME_LIMIT)
    assert [reply.detail for reply in replies] == ["the watchdog is gone"] * 4
    assert not any(reply.accepted for reply in replies) and steered.done.count("stop") == 1


def test_a_command_that_failed_unexpectedly_is_not_said_to_be_done_when_it_comes_again():
    steered = Slow(RuntimeError("broken"))
    steered.go.set()
    console = Console(steered)
    for _ in range(2):
        with pytest.raises(RuntimeError):
            console.carry_out(c.Stop(id="s"))
    steered.error = None
    assert console.carry_out(c.Stop(id="s")).accepted and steered.done == ["stop"] * 3


def test_replies_are_kept_for_many_commands_but_not_for_ever():
    console, steered, _ = made()
    for k in range(REMEMBERED + 1):
        console.carry_out(c.Stop(id=f"{k}"))
    console.carry_out(c.Stop(id="1"))
    assert len(steered.done) == REMEMBERED + 1
    console.carry_out(c.Stop(id="0"))
    assert len(steered.done) == REMEMBERED + 2


def test_a_confirmed_judgement_counts_when_the_session_is_ended_and_one_that_is_not_confirmed_does_not():
    console, _, _ = made()
    assert not console.settle()
    asked = Asked(console, JUDGE)
    assert not console.settle() and asked.open
    given(console, c.Judge, **GOOD)
    given(console, c.Undo)
    assert not console.settle() and asked.open
    given(console, c.Judge, **GOOD)
    assert console.settle()
    assert asked.answer().judgement == Judgement(True, 1.0, "Ada", tags=("slipped",))


# -- any order ------------------------------------------------------------------------------------

KINDS = {
    "tick": st.builds(dict, name=st.sampled_from(["", "cup", "red_block", "lamp", "no"]), done=st.booleans()),
    "checked": st.just({}),
    "ready": st.builds(dict, overrule=st.booleans()),
    "start": st.just({}),
    "reached": st.just({}),
    "judge": st.builds(dict, success=st.booleans(), progress=st.floats(0, 1), note=st.text(max_size=5)),
    "undo": st.just({}),
    "next": st.just({}),
    "void": st.just({"reason": "v"}),
    "skip": st.just({"reason": "s"}),
    "stop": st.just({}),
    "release": st.just({"by": "Ada"}),
    "pause": st.just({}),
    "resume": st.just({}),
    "end": st.just({}),
    "correct": st.builds(
        dict, trial=st.sampled_from(["t0", "no"]), success=st.booleans(), by=st.just("Ada"), reason=st.just("w")
    ),
    "survey": st.just({}),
    "propose": st.builds(dict, instruction=st.sampled_from([INSTANCE.instruction.text, "make tea"])),
    "keep": st.just({}),
    "discard": st.just({}),
}
CLASSES = {name: getattr(c, name.capitalize()) for name in KINDS}
COMMANDS = st.sampled_from(sorted(KINDS)).flatmap(lambda name: st.tuples(st.just(name), KINDS[name]))


QUESTIONS = (JUDGE, START, DOUBTED, SET_UP)


class AnyOrder(RuleBasedStateMachine):
    """A session, and pages that send anything at any time."""

    def __init__(self):
        super().__init__()
        self.begin(())
        self.asked, self.question, self.sent, self.replies = None, None, [], []
        self.expected = None

    def begin(self, checklist):
        folder = TemporaryDirectory()
        weakref.finalize(self, folder.cleanup)
        recorder = NewInstances(BOARD, Path(folder.name) / "instances.yaml", lambda: INSTANCE.scene, "as it is")
        self.console, self.steered, self.clock = made(checklist, instances=recorder)
        self.console.remember("t0", Judgement(True, 1.0, "Ada"))
        self.moving = False

    @initialize(checklist=st.sampled_from([(), (), ("lamp",)]))
    def first(self, checklist):
        self.begin(checklist)

    def state(self):
        view = self.console.view()
        asked = view.step, view.phase, view.moved, view.checklist, view.draft, view.reached
        return *asked, tuple(self.steered.done), view.recording, view.judgements

    @precondition(lambda self: self.asked is None)
    @rule(question=st.sampled_from(QUESTIONS))
    def ask(self, question):
        self.question, self.asked, self.expected = question, Asked(self.console, question), None

    @rule(data=st.data())
    def send_what_is_allowed(self, data):
        if self.asked is None:
            self.ask(data.draw(st.sampled_from(QUESTIONS)))
        allowed = self.console.view().allowed
        name = data.draw(st.sampled_from([name for name in allowed if name not in ("end", "pause", "stop")] or allowed))
        self.send((name, data.draw(KINDS[name])), False, False)

    @rule(command=COMMANDS, old=st.booleans(), refuses=st.booleans())
    def send_anything(self, command, old, refuses):
        self.send(command, old, refuses)

    def send(self, command, old, refuses):
        (name, more), before, view = command, self.state(), self.console.view()
        step = None if name in ("stop", "pause") else max(view.step - old, 0)
        # What the session refuses changes nothing either.
        self.steered.refuses = {name} if refuses else set()
        if issubclass(CLASSES[name], c.Prompt):
            more = more | {"at": view.now}
        made_of = CLASSES[name](id=f"n{next(NUMBERS)}", step=step, **more)
        reply = self.console.carry_out(made_of)
        self.steered.refuses = set()
        self.sent.append(made_of)
        self.replies.append(reply)
        behind = step is not None and step != view.step
        if behind or name not in view.allowed or (refuses and hasattr(self.steered, name)):
            assert not reply.accepted
        if not reply.accepted:
            assert "\n" not in reply.detail and reply.detail and self.state() == before
        else:
            self.note(name, more, view)
        self.settle()

    def note(self, name, more, view):
        ticked = tuple(key for key, done in view.moved.items() if done)
        moved = ticked if self.question in (SET_UP, DOUBTED) else ()
        if name == "ready":
            self.expected = OperatorAnswer("done", moved=moved, overruled=more["overrule"], seconds=view.elapsed)
        elif name == "start":
            self.expected = OperatorAnswer("done")
        elif name in ("void", "skip"):
            self.expected = OperatorAnswer(name, more["reason"], moved=moved)
        elif name == "next":
            self.expected = OperatorAnswer("done", judgement=view.draft)
        elif name == "pause" and self.question in (SET_UP, DOUBTED, START) and self.asked is not None:
            self.expected = OperatorAnswer("void", "the session was paused before the trial began", moved=moved)

    def settle(self):
        if self.expected is not None:
            assert self.asked.answer() == self.expected
            # Until the thread that asked has left, the state may still change.
            self.asked = self.expected = None
            if self.question is JUDGE and self.console.view().phase is ConsolePhase.CONFIRMED:
                raise AssertionError("still confirmed")
        elif self.asked is not None:
            assert self.asked.open

    @precondition(lambda self: self.sent)
    @rule(data=st.data())
    def send_again(self, data):
        k = data.draw(st.integers(0, len(self.sent) - 1))
        before = self.state()
        assert self.console.carry_out(self.sent[k]) == self.replies[k]
        assert self.state() == before

    @rule(reason=st.sampled_from(["", "", "near", "button"]))
    def stop_or_release(self, reason):
        self.console.tell_stop(reason)

    @rule(state=st.sampled_from(["running", "paused", "idle"]))
    def tell(self, state):
        self.console.tell(SessionFacts(state=state))

    @rule()
    def trial_ended(self):
        self.console.trial_ended()

    @rule(moving=st.booleans())
    def tell_moving(self, moving):
        self.console.tell_moving(moving)
        self.moving = moving

    @rule(seconds=st.sampled_from([1.0, UNDO]))
    def time_goes_on(self, seconds):
        view = self.console.view()
        confirmed = self.asked is not None and self.confirmed()
        left = None if not confirmed else self.console._confirmed_until - self.clock.now - seconds
        self.clock.now += seconds
        self.console.tell_problems((f"{next(NUMBERS)}",))
        if confirmed and left <= 0.0:
            self.expected = OperatorAnswer("done", judgement=view.draft)
            self.settle()

    def confirmed(self):
        return self.console._confirmed_until is not None

    @invariant()
    def what_is_allowed_is_that_of_the_phase(self):
        view = self.console.view()
        without = {"propose", "keep", "discard"} if view.recording.scene is None else set()
        without |= {"keep"} if view.recording.draft is None else set()
        if view.phase in (ConsolePhase.WAITING, ConsolePhase.RUNNING):
            without.add("pause" if view.pausing else "resume")
        if not self.moving:
            without.add("reached")
        assert set(view.allowed) == (ALLOWED[view.phase] | {"stop"}) - without
        if view.stop:
            assert view.phase is ConsolePhase.STOPPED

    def teardown(self):
        self.console.close()
        if self.asked is not None:
            assert self.asked.answer().decision == "void"


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = examples(250, stateful_step_count=40)


def test_questions_from_many_threads_get_their_own_answers_or_are_void():
    console, _, _ = made()
    done = threading.Event()

    def answering(kind, **more):
        while not done.is_set():
            given(console, kind, **more)

    people = [
        threading.Thread(target=answering, args=(kind,), kwargs=more, daemon=True)
        for kind, more in ((c.Start, {}), (c.Ready, {}), (c.Judge, GOOD), (c.Next, {}))
    ]
    for person in people:
        person.start()
    answers = {SET_UP: [], START: [], JUDGE: []}

    def asking(question):
        for _ in range(30):
            answers[question].append(console.ask(question))

    askers = [threading.Thread(target=asking, args=(question,), daemon=True) for question in answers]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join(TIME_LIMIT)
        assert not asker.is_alive()
    done.set()
    for person in people:
        person.join(TIME_LIMIT)
    for question, got in answers.items():
        assert len(got) == 30
        for answer in got:
            if answer.decision == "done":
                assert (answer.judgement is not None) == (question is JUDGE)
            else:
                assert answer.decision == "void"
    wait_until(lambda: phase_of(console) in (ConsolePhase.WAITING, ConsolePhase.RUNNING))


@pytest.mark.parametrize("fault", [fault for fault in Fault if fault is not Fault.NONE])
def test_each_fault_has_a_sentence_for_the_person_at_the_robot(fault):
    words = fault.words
    assert words.endswith(".") and words.count(".") == 1 and len(words) < 70
    # No name of a topic, a node or a module.
    assert not set(words) & set("_/`") and fault.name not in words


def test_a_stop_that_comes_after_the_session_says_where_the_robot_is_stopped():
    steered = Steered()
    console = Console(steered)
    console.tell(SessionFacts("finished"))
    reply = console.carry_out(c.Stop(id="late"))
    assert not reply.accepted and steered.done == []
    assert "nothing was stopped" in reply.detail and "emergency stop" in reply.detail
    assert "teach pendant" in reply.detail
