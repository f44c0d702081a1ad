"""The state of the console: the open question, the commands that are allowed now, and each command carried out once.

The state belongs to the session, never to a page: any number of pages show it, and a reloaded page shows it again.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from robocontrast_ros.console import commands
from robocontrast_ros.console.new_instances import NewInstances, NotRecorded, Recording
from robocontrast_ros.console.questions import JudgeQuestion, OperatorAnswer, Question, SetUpQuestion, StartQuestion
from robocontrast_ros.domain import Fault, Judgement, Scene

UNDO = 10.0
"""Time for which a judgement can be taken back [s]."""

REMEMBERED = 10_000
"""Commands whose answers are kept, so that a command that comes again is not carried out again."""

PROMPT = 6.0
"""Greatest age of a command that lets the robot move [s]: after an old tap, a person may be in the robot's reach."""

RECURRING = 12
"""Tags, and notes, that are offered again."""

PREPARED = 3600.0
"""Least length of a pause after which the checklist is asked again [s]."""


class ConsolePhase(str, Enum):
    """The part of a session that the page shows."""

    WAITING = "waiting"
    """The session works by itself: it plans, loads a policy, or brings the robot home."""
    CHECKLIST = "checklist"
    SET_UP = "set_up"
    START = "start"
    RUNNING = "running"
    JUDGE = "judge"
    CONFIRMED = "confirmed"
    """The trial is judged, and the judgement can be taken back for some seconds."""
    PAUSED = "paused"
    STOPPED = "stopped"
    """The robot is stopped, until a person releases it."""
    FINISHED = "finished"


ALWAYS = frozenset({"stop"})
ENDED = (
    "The session has ended and does not hold the robot any more: nothing was stopped from here. "
    "If the robot moves, stop it at the robot itself, by its emergency stop or its teach pendant."
)
"""The answer to a stop that comes too late."""

ALLOWED: dict[ConsolePhase, frozenset[str]] = {
    ConsolePhase.WAITING: frozenset({"pause", "resume", "end"}),
    ConsolePhase.CHECKLIST: frozenset({"tick", "checked", "end"}),
    ConsolePhase.SET_UP: frozenset({"tick", "ready", "skip", "correct", "pause", "end"}),
    ConsolePhase.START: frozenset({"start", "void", "skip", "correct", "pause", "end"}),
    ConsolePhase.RUNNING: frozenset({"pause", "resume", "reached"}),
    ConsolePhase.JUDGE: frozenset({"judge", "void"}),
    ConsolePhase.CONFIRMED: frozenset({"undo", "next"}),
    ConsolePhase.PAUSED: frozenset({"resume", "correct", "survey", "propose", "keep", "discard", "end"}),
    ConsolePhase.STOPPED: frozenset({"release", "end"}),
    ConsolePhase.FINISHED: frozenset(),
}
"""Phase -> commands that make sense in it, besides ``ALWAYS``."""

STEPLESS = frozenset({"stop", "pause"})
"""Commands that are valid whatever the page showed."""


class Steering(Protocol):
    """Actions of the console on the session and the robot. Each raises ``Refused`` if it is not done."""

    def stop(self, reason: str) -> None:
        """Stop the robot, and keep it stopped."""

    def release(self, by: str, note: str) -> None:
        """Let the robot move again."""

    def reached(self) -> None:
        """Let the trial end: its goal is reached."""

    def pause(self) -> None:
        """Have the session wait after the present trial."""

    def resume(self) -> None:
        """Have the session go on."""

    def correct(self, trial_id: str, judgement: Judgement, reason: str) -> None:
        """Correct how a trial was judged."""

    def end(self) -> None:
        """End the session."""


class Refused(Exception):
    """A command is not carried out; the message says why."""


@dataclass(frozen=True)
class Reply:
    """The result of a command.

    Attributes:
        accepted: whether it was carried out, now or when it came for the first time.
        detail: the reason of a refusal, in words.
    """

    accepted: bool
    detail: str = ""


@dataclass(frozen=True)
class SessionFacts:
    """The state of the session, as far as a person at the robot should know it.

    Attributes:
        state: ``idle``, ``running``, ``paused``, ``finished`` or ``interrupted``.
        detail: the reason of the state, in words.
        void_fault: fault of the present trial's last attempt if it was void; ``NONE`` in the first attempt.
        void_detail: the same in words for an engineer, or in those of the person who declared the attempt void.
        trials_done: number of trials that count.
        trials_expected: number of trials in all; 0 if it is not known.
        trials_void: number of void attempts.
        spent: the part of the budget that is used.
        limit: the budget; None for none.
        unit: unit of both.
        time_left: estimated [s]; None if it is not known.
        code: shown in a blind session instead of the policy's name; empty in others.
        looks: whether the session has a question, after whose answer it ends.
    """

    state: str = "idle"
    detail: str = ""
    void_fault: Fault = Fault.NONE
    void_detail: str = ""
    trials_done: int = 0
    trials_expected: int = 0
    trials_void: int = 0
    spent: float = 0.0
    limit: float | None = None
    unit: str = "m"
    time_left: float | None = None
    code: str = ""
    looks: bool = False

    @property
    def look(self) -> str:
        """The result of the interim looks, ``continue`` or ``stop`` and no more; empty without a question."""
        if not self.looks:
            return ""
        return {"running": "continue", "paused": "continue", "finished": "stop"}.get(self.state, "")


@dataclass(frozen=True)
class Judged:
    """The judgement of a trial that has ended.

    Attributes:
        judgement: the person's judgement; None if nobody was asked.
        subgoals: number of the trial's subgoals, at least 1.
    """

    judgement: Judgement | None
    subgoals: int = 1


@dataclass
class _SetUpTime:
    """The time of a set-up, without its interruptions.

    Attributes:
        target: the wanted scene.
        expected: time that the handling model expects, for all objects that are to be moved [s].
        seconds: time for which the page has shown the set-up, until the page last showed something else [s].
        paused: whether a pause has interrupted the set-up, so that it is asked again.
    """

    target: Scene | None = None
    expected: float = 0.0
    seconds: float = 0.0
    paused: bool = False


@dataclass(eq=False)
class _Asked:
    question: Question
    answer: OperatorAnswer | None = None


class Console:
    """The state that the pages and the session share. Every method may be called from any thread."""

    def __init__(
        self,
        steering: Steering,
        checklist: Sequence[str] = (),
        clock: Callable[[], float] = time.monotonic,
        *,
        judged: bool = True,
        ends_trials: bool = True,
        instances: NewInstances | None = None,
    ) -> None:
        """Begin without a question.

        Args:
            steering: acts on the session and the robot.
            checklist: items to check before the first trial, and before the next one after a long pause.
            judged: whether a person may be asked how a trial went, and may correct it.
            ends_trials: whether the person may end a trial when its goal is reached.
            instances: records new test instances; None if none are recorded.
            clock: returns seconds that never decrease.
        """
        self._steering, self._clock = steering, clock
        self._judged, self._ends_trials = judged, ends_trials
        self._instances, self._recording, self._one_step = instances, Recording(), threading.Lock()
        self._judgements: OrderedDict[str, Judged] = OrderedDict()
        self._changed = threading.Condition()
        self._items = tuple(checklist)
        self._require_checks()
        self._paused_since: float | None = None
        self._asked: _Asked | None = None
        self._moved: dict[str, bool] = {}
        self._set_up = _SetUpTime()
        self._confirmed_until: float | None = None
        self._draft: Judgement | None = None
        self._replies: OrderedDict[str, Reply] = OrderedDict()
        self._under_way: set[str] = set()
        self._facts = SessionFacts()
        self._stop = ""
        self._running: StartQuestion | None = None
        self._reached = False
        self._pausing = False
        self._limit = 0.0
        self._moving_since: float | None = None
        self._problems: tuple[str, ...] = ()
        self._tags: OrderedDict[str, None] = OrderedDict()
        self._notes: OrderedDict[str, None] = OrderedDict()
        self._by = ""
        self._closed = False
        # A page that was open before the session was resumed must not have the same number for another state.
        self._step, self.version = secrets.randbelow(2**40), 0
        self._questions = self._step
        self._shown = (ConsolePhase.WAITING, self._questions)
        self._since = clock()

    # -- calls of the session ----------------------------------------------------------------------

    def ask(self, question: Question) -> OperatorAnswer:
        """Show a question and return its answer, however long it takes.

        If another question is asked meanwhile, or the console is closed, the first one is void.
        """
        with self._changed:
            if isinstance(question, SetUpQuestion):
                self._begin_set_up(question)
            self._questions += 1
            mine = self._asked = _Asked(question)
            self._running = self._confirmed_until = self._draft = None
            self._note_change()
            while mine.answer is None and not self._closed and self._asked is mine:
                left = None if self._confirmed_until is None else self._confirmed_until - self._clock()
                if left is not None and left <= 0.0:
                    self._settle(OperatorAnswer("done", judgement=self._draft))
                    break
                self._changed.wait(left)
            if self._asked is mine:
                self._asked = None
                if isinstance(question, StartQuestion) and mine.answer is not None and mine.answer.decision == "done":
                    self._running, self._reached = question, False
                self._note_change()
            return mine.answer or OperatorAnswer("void", "the console was asked something else, or has ended")

    def _begin_set_up(self, question: SetUpQuestion) -> None:
        """Begin to time a set-up, unless it is the same one: it was wrong and is asked again, or it was paused."""
        self._set_up.seconds, self._since = self._set_up_seconds(), self._clock()
        resumed = self._set_up.paused and self._set_up.target == question.target
        if not (resumed or (question.problems and self._set_up.target == question.target)):
            self._set_up = _SetUpTime(question.target, question.expected)
        ticked = {name for name, done in self._moved.items() if done} if resumed else set()
        self._moved = {name: name in ticked for name in question.things}
        self._set_up.paused = False

    def _set_up_seconds(self) -> float:
        now = self._clock() - self._since if self._shown[0] is ConsolePhase.SET_UP else 0.0
        return self._set_up.seconds + now

    def trial_ended(self) -> None:
        """Record that no trial is running any more."""
        with self._changed:
            self._running = None
            self._note_change()

    def tell(self, facts: SessionFacts) -> None:
        """Record the state of the session."""
        with self._changed:
            self._facts = facts
            if facts.state == "paused":
                self._paused_since = self._clock() if self._paused_since is None else self._paused_since
            elif self._paused_since is not None:
                if self._clock() - self._paused_since >= PREPARED:
                    self._require_checks()
                self._paused_since = None
            if facts.state in ("finished", "interrupted"):
                self._running = None
            if facts.state != "running":
                self._pausing = False
            self._note_change()

    def _require_checks(self) -> None:
        self._checklist = dict.fromkeys(self._items, False)
        self._checked = not self._items

    def tell_moving(self, moving: bool) -> None:
        """Record whether the policy moves the robot: a trial's time does not run while the robot goes to its start."""
        with self._changed:
            if moving != (self._moving_since is not None):
                self._moving_since = self._clock() if moving else None
                self._note_change()

    def tell_stop(self, reason: str) -> None:
        """Record the reason of the robot's stop; empty if it is not stopped."""
        with self._changed:
            if reason != self._stop:
                self._stop = reason
                self._note_change()

    def tell_problems(self, problems: tuple[str, ...]) -> None:
        """Record the problems of the camera, in words."""
        with self._changed:
            if problems != self._problems:
                self._problems = problems
                self._note_change()

    def set_limit(self, seconds: float) -> None:
        """Set the time limit of a trial [s]."""
        self._limit = seconds

    def remember(self, trial_id: str, judgement: Judgement | None, subgoals: int = 1) -> None:
        """Offer to correct a trial, and offer the tags, the note and the judge's name of its judgement again.

        Args:
            trial_id: id of a trial that has ended.
            judgement: the person's judgement; None if nobody was asked.
            subgoals: number of subgoals of the trial, at least 1.
        """
        with self._changed:
            self._judgements[trial_id] = Judged(judgement, subgoals)
            self._judgements.move_to_end(trial_id)
            if judgement is not None:
                self._keep(judgement)
            self._note_change()

    def settle(self) -> bool:
        """Make a confirmed judgement count now, because the session ends; return whether there was one."""
        with self._changed:
            confirmed = self._confirmed_until is not None
            if confirmed:
                self._settle(OperatorAnswer("done", judgement=self._draft))
            return confirmed

    def close(self) -> None:
        """Answer the open question as void; no other is asked any more."""
        with self._changed:
            self._closed = True
            self._note_change()

    # -- calls of the pages ------------------------------------------------------------------------

    def carry_out(self, command: commands.Command) -> Reply:
        """Carry a command out, once, and return the result; a command that comes again gets the same reply."""
        with self._changed:
            # A command with the same id, in another thread, may still be refused.
            self._changed.wait_for(lambda: command.id not in self._under_way)
            if (known := self._replies.get(command.id)) is not None:
                return known
            refused = self._refusal(command)
            if refused:
                return self._replied(command, Reply(False, refused))
            if not isinstance(command, commands.SteeringCommand):
                # Under the same lock as the check of the step, so that it cannot answer another question.
                self._answer_with(command)
                return self._replied(command, Reply(True))
            self._under_way.add(command.id)
        try:
            return self._replied(command, self._steer(command))
        finally:
            with self._changed:
                self._under_way.discard(command.id)
                self._changed.notify_all()

    def _replied(self, command: commands.Command, reply: Reply) -> Reply:
        with self._changed:
            self._replies[command.id] = reply
            while len(self._replies) > REMEMBERED:
                self._replies.popitem(last=False)
            return reply

    def _refusal(self, command: commands.Command) -> str:
        name, phase = command.command, self._phase()
        if name in ALWAYS:
            return ENDED if phase is ConsolePhase.FINISHED else ""
        if name not in self._allowed(phase):
            return f"'{name}' cannot be done now: the session is at '{phase.value}'"
        if name not in STEPLESS and command.step != self._step:
            return "the page was behind: look at it again"
        if isinstance(command, commands.Prompt) and not abs(self._clock() - command.at) <= PROMPT:
            return "it came too late, and was not done: look at the robot, and press again"
        if name == "checked" and not all(self._checklist.values()):
            return "not all items are checked yet"
        if isinstance(command, commands.Tick):
            names = self._checklist if phase is ConsolePhase.CHECKLIST else self._moved
            if command.name and command.name not in names:
                return f"there is no '{command.name}'"
        if isinstance(command, commands.Correct) and command.trial not in self._judgements:
            return f"there is no trial '{command.trial}' that was judged here"
        if isinstance(command, commands.Ready) and command.overrule and not self._doubted:
            return "there is nothing to overrule"
        return ""

    def _allowed(self, phase: ConsolePhase) -> frozenset[str]:
        without = set() if self._judged else {"correct"}
        if not self._ends_trials or self._moving_since is None:
            without.add("reached")
        if phase in (ConsolePhase.WAITING, ConsolePhase.RUNNING):
            # A pause that was asked for can be taken back until it begins.
            without.add("pause" if self._pausing else "resume")
        if self._instances is None:
            without |= {"survey", "propose", "keep", "discard"}
        elif self._recording.scene is None:
            without |= {"propose", "keep", "discard"}
        elif self._recording.draft is None:
            without.add("keep")
        if not self._judgements:
            without.add("correct")
        return ALLOWED[phase] - without

    @property
    def _ticked(self) -> tuple[str, ...]:
        """The objects of the open set-up that were moved, as the person says."""
        asked = isinstance(self._open, SetUpQuestion)
        return tuple(name for name, done in self._moved.items() if done) if asked else ()

    @property
    def _doubted(self) -> bool:
        question = self._open
        return isinstance(question, SetUpQuestion) and bool(question.problems)

    def _steer(self, command: commands.Command) -> Reply:
        try:
            self._act(command)
        except Refused as error:
            return Reply(False, str(error))
        return Reply(True)

    def _act(self, command: commands.Command) -> None:
        match command:
            case commands.Stop():
                self._steering.stop(command.reason)
            case commands.Release():
                self._steering.release(command.by, command.note)
            case commands.Reached():
                trial = self._running
                self._steering.reached()
                with self._changed:
                    self._reached = self._reached or self._running is trial
            case commands.Pause():
                self._steering.pause()
                with self._changed:
                    self._pausing = True
                    self._note_change()
                    if isinstance(self._open, SetUpQuestion | StartQuestion):
                        self._set_up.paused = isinstance(self._open, SetUpQuestion)
                        why = "the session was paused before the trial began"
                        self._settle(OperatorAnswer("void", why, moved=self._ticked))
            case commands.Resume():
                self._steering.resume()
                self._pausing = False
                self._record(Recording())
            case commands.Correct():
                progress = 1.0 if command.success else command.progress
                right = Judgement(command.success, progress, command.by)
                self._steering.correct(command.trial, right, command.reason)
                self.remember(command.trial, right, self._judgements[command.trial].subgoals)
            case commands.Survey() | commands.Propose() | commands.Keep() | commands.Discard():
                self._record_instance(command)
            case commands.End():
                self._steering.end()

    def _record_instance(self, command: commands.Command) -> None:
        """Take a step towards a new test instance.

        Raises:
            Refused: the step is not taken.
        """
        recorder = self._instances
        try:
            # If two phones keep the same instance, the second finds that it is kept already.
            with self._one_step:
                recording = self._recording
                match command:
                    case commands.Survey():
                        self._record(recorder.survey())
                    case commands.Propose():
                        said = (command.instruction, command.path, command.by, command.meant)
                        self._record(recorder.check(recording, *said))
                    case commands.Keep():
                        self._record(recorder.keep(recording))
                    case _:
                        self._record(Recording())
        except NotRecorded as error:
            raise Refused(str(error)) from None

    def _record(self, recording: Recording) -> None:
        with self._changed:
            self._recording = recording
            self._note_change()

    def _answer_with(self, command: commands.Command) -> None:
        match command:
            case commands.Tick():
                names = self._checklist if self._phase() is ConsolePhase.CHECKLIST else self._moved
                names.update(dict.fromkeys([command.name] if command.name else names, command.done))
            case commands.Checked():
                self._checked = True
            case commands.Ready():
                done, seconds = self._ticked, self._set_up_seconds()
                self._settle(OperatorAnswer("done", moved=done, overruled=command.overrule, seconds=seconds))
            case commands.Start():
                self._settle(OperatorAnswer("done"))
            case commands.Judge():
                self._draft = Judgement(
                    command.success,
                    1.0 if command.success else command.progress,
                    command.by or "person",
                    command.note,
                    stage=command.stage,
                    tags=command.tags,
                )
                self._confirmed_until = self._clock() + UNDO
            case commands.Undo():
                self._confirmed_until = None
            case commands.Next():
                self._settle(OperatorAnswer("done", judgement=self._draft))
            case commands.Void():
                self._settle(OperatorAnswer("void", command.reason))
            case commands.Skip():
                self._settle(OperatorAnswer("skip", command.reason, moved=self._ticked))
        self._note_change()

    def _settle(self, answer: OperatorAnswer) -> None:
        if answer.judgement is not None:
            self._keep(answer.judgement)
        if self._asked is not None:
            self._asked.answer = answer
        self._note_change()

    def _keep(self, judgement: Judgement) -> None:
        for kept, said in ((self._tags, judgement.tags), (self._notes, filter(None, [judgement.note]))):
            for words in said:
                kept.pop(words, None)
                kept[words] = None
        self._by = judgement.by if judgement.by != "person" else self._by

    # -- content of the pages ----------------------------------------------------------------------

    @property
    def now(self) -> float:
        """The time on the console's clock [s]."""
        return self._clock()

    @property
    def _open(self) -> Question | None:
        return self._asked.question if self._asked is not None and self._asked.answer is None else None

    def _phase(self) -> ConsolePhase:
        if self._closed or self._facts.state in ("finished", "interrupted"):
            return ConsolePhase.FINISHED
        if self._stop:
            return ConsolePhase.STOPPED
        question = self._open
        if question is not None and not self._checked:
            return ConsolePhase.CHECKLIST
        if isinstance(question, SetUpQuestion):
            return ConsolePhase.SET_UP
        if isinstance(question, StartQuestion):
            return ConsolePhase.START
        if isinstance(question, JudgeQuestion):
            return ConsolePhase.CONFIRMED if self._confirmed_until is not None else ConsolePhase.JUDGE
        if self._facts.state == "paused":
            return ConsolePhase.PAUSED
        return ConsolePhase.RUNNING if self._running is not None else ConsolePhase.WAITING

    def _note_change(self) -> None:
        shown = self._phase(), self._questions
        if shown != self._shown:
            self._set_up.seconds = self._set_up_seconds()
            self._shown = shown
            self._step += 1
            self._since = self._clock()
        self.version += 1
        self._changed.notify_all()

    def view(self) -> ConsoleView:
        """Return the present content of the pages."""
        with self._changed:
            phase, question = self._phase(), self._asked.question if self._asked is not None else self._running
            since = self._since
            if phase is ConsolePhase.RUNNING and self._moving_since is not None:
                since = max(since, self._moving_since)
            limit = {
                ConsolePhase.RUNNING: self._limit if self._moving_since is not None else 0.0,
                ConsolePhase.SET_UP: self._set_up.expected,
                ConsolePhase.CONFIRMED: UNDO,
            }.get(phase, 0.0)
            return ConsoleView(
                version=self.version,
                step=self._step,
                asked=self._questions,
                phase=phase,
                question=question,
                checklist=dict(self._checklist),
                moved=dict(self._moved),
                draft=self._draft,
                facts=self._facts,
                stop=self._stop,
                problems=self._problems,
                now=self._clock(),
                elapsed=self._set_up_seconds() if phase is ConsolePhase.SET_UP else self._clock() - since,
                limit=limit,
                reached=self._reached,
                pausing=self._pausing,
                tags=tuple(reversed(self._tags))[:RECURRING],
                notes=tuple(reversed(self._notes))[:RECURRING],
                by=self._by,
                judgements=tuple(reversed(self._judgements.items()))[:RECURRING],
                recording=self._recording if phase is ConsolePhase.PAUSED else Recording(),
                recorder=self._instances,
                allowed=tuple(
                    sorted(self._allowed(phase) | (ALWAYS if phase is not ConsolePhase.FINISHED else frozenset()))
                ),
            )


@dataclass(frozen=True)
class ConsoleView:
    """The content of the pages at one instant.

    Attributes:
        version: grows with every change.
        step: grows when something else is shown; a command names the one that its page showed.
        asked: grows with every new question; an interruption, such as a stopped robot, does not change it.
        phase: see ``ConsolePhase``.
        question: the open question, or that of the running trial.
        checklist: item -> whether it is done.
        moved: object -> whether it was moved, as the person ticks it off.
        draft: the judgement that can still be taken back, or was taken back.
        facts: the state of the session.
        stop: the reason of the robot's stop; empty if it is not stopped.
        problems: the problems of the camera.
        now: time on the console's clock [s].
        elapsed: time since the phase began [s]; of a set-up, since it was first asked, without pauses; of a
            running trial, since the policy moves the robot.
        limit: time limit of the phase [s]; 0 for no limit.
        reached: whether the person ended the trial because its goal was reached.
        pausing: whether the session pauses when the present trial has ended.
        tags: recurring tags, newest first.
        notes: recurring notes, newest first.
        by: name of the person who judged last.
        judgements: trials that have ended, newest first, with their judgements.
        recording: the test instance that is being recorded.
        recorder: the recorder of test instances; None if none are recorded.
        allowed: names of the commands that make sense now.
    """

    version: int
    step: int
    asked: int
    phase: ConsolePhase
    question: Question | None
    checklist: dict[str, bool]
    moved: dict[str, bool]
    draft: Judgement | None
    facts: SessionFacts
    stop: str
    problems: tuple[str, ...]
    now: float
    elapsed: float
    limit: float
    reached: bool
    pausing: bool
    tags: tuple[str, ...]
    notes: tuple[str, ...]
    by: str
    judgements: tuple[tuple[str, Judged], ...]
    recording: Recording
    recorder: NewInstances | None
    allowed: tuple[str, ...]
