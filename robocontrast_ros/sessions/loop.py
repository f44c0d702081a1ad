"""The loop of a session: ask for a trial, set it up, run it, write it down.

It knows no ROS and no simulator: the world is a ``Bench``, the disk an ``EventSink``. For each trial
that the strategy proposes:

1. Wait while the session is paused, the robot is stopped, or it could not go home; go on with another policy if
   one is requested; end when the session is aborted.
2. Compute the moves from the actual scene to the wanted one, and their cost. A set-up that would
   exceed the budget K is not made: the session ends.
3. Set up the scene, and record it.
4. Record the start of the trial, run it, record its result, and send that to the strategy. If that decides the
   sequential test (``stop_early``), the session ends.

A fault of the bench makes the attempt void: it is recorded and tried again from step 1. When the
simulator or the policy server is lost, when somebody stops the trial, or after too many void attempts,
the session ends as interrupted and can be resumed: the strategy is sent the results in the journal
again, the last known scene is restored, unless a person has to do it, and the loop goes on.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain import Budget, Fault, Observed, Outcome, Scene, SetupMove, Start, Trial, TrialResult
from robocontrast_ros.domain.words import counted
from robocontrast_ros.episodes.bench import Bench, BenchFault, PolicyBench
from robocontrast_ros.episodes.delivery import compare_delivery, unchanged_words
from robocontrast_ros.perturbations.protocol import Perturbation, spec_of
from robocontrast_ros.policies.protocol import PolicyDescription
from robocontrast_ros.policies.segments import as_told, to_send
from robocontrast_ros.runs.events import (
    Event,
    Paused,
    ProcessDied,
    Resumed,
    SessionFinished,
    SessionInterrupted,
    SessionStarted,
    SetUp,
    SpeedScalingNoted,
    TrialFinished,
    TrialSkipped,
    TrialStarted,
    TrialVoid,
)
from robocontrast_ros.runs.history import History
from robocontrast_ros.runs.journal import EventSink, Journal, JournalError, JournalWriter
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.runs.versions import session_versions
from robocontrast_ros.sessions.blind_policies import BlindPolicies
from robocontrast_ros.sessions.blinding import run_by_each
from robocontrast_ros.sessions.blocks import TrialSequence
from robocontrast_ros.sessions.control import SessionControl, SessionState, SessionStatus
from robocontrast_ros.sessions.early_stopping import Stopping, begin_stopping
from robocontrast_ros.sessions.evaluation import Evaluation
from robocontrast_ros.sessions.leaving_out import REASON, why_left_out, why_not_without
from robocontrast_ros.sessions.reading import AsRead, unread
from robocontrast_ros.sessions.resume_checks import refuse_other_parameters, refuse_other_trial
from robocontrast_ros.sessions.swapping import PolicySwapping
from robocontrast_ros.strategies.effort import scenes_match, setup_moves
from robocontrast_ros.strategies.protocol import (
    Completed,
    Proposal,
    Skipped,
    StrategyContext,
    StrategyRun,
    solved_at_start,
)
from robocontrast_ros.strategies.visit_order import in_cheapest_order
from robocontrast_ros.system.disk import DiskError
from robocontrast_ros.system.numerics import machine

SessionEnd = SessionFinished | SessionInterrupted

ENDS_SESSION = frozenset({Fault.SIMULATOR_LOST, Fault.POLICY_SERVER_LOST, Fault.ABORTED, Fault.INSTRUCTION_NOT_READ})
"""Faults after which a trial is not tried again."""


def run_session(
    evaluation: Evaluation,
    bench: Bench,
    journal: Path | JournalWriter,
    *,
    resume: bool = False,
    control: SessionControl | None = None,
    observer: Callable[[SessionStatus], None] = lambda status: None,
    clock: Callable[[], float] = time.time,
) -> SessionEnd:
    """Run a session, or resume one, and return how it ended.

    Args:
        evaluation: the evaluation to run.
        bench: the world.
        journal: the file to write, or its open writer.
        resume: whether to resume the session of that journal.
        control: pause, resume, swap and abort.
        observer: called at every change, in the caller's thread; it must not raise.
        clock: seconds since the epoch.

    Raises:
        JournalError: there is a session in the journal and ``resume`` is false, or the journal cannot
            be read, or it does not fit.
        ConfigurationError: the parameters differ from those of the session to resume, or a blind session has a bench
            with one policy.
        DiskError: the journal cannot be written any more.
    """
    if evaluation.blind_files and not isinstance(bench, PolicyBench):
        cure = "Run it by `robocontrast evaluate`, or on another bench."
        expected = "a bench that loads policies"
        raise ConfigurationError(evaluation.session.name, "blind", type(bench).__name__, expected, cure)
    with JournalWriter(journal) if isinstance(journal, Path) else contextlib.nullcontext(journal) as writer:
        past = writer.past
        if past.events and not resume:
            raise JournalError(f"{past.path}: it holds a session already. Resume it, or choose another run folder.")
        session = Session(
            evaluation,
            bench,
            writer,
            control or SessionControl(),
            observer,
            clock,
            secret=RunFolder(past.path.parent).secret,
        )
        return session.run(past)


@dataclass(frozen=True)
class _Begun:
    """A set-up that a person broke off: the scene before it, and the wanted one."""

    before: Scene
    target: Scene


class _Finished(Exception):
    """Leaves the loop with the reason and detail of ``SessionFinished``."""


class _LeftOut(Exception):
    """A trial was left out."""


class Session:
    """One run of an evaluation on a bench."""

    def __init__(
        self,
        evaluation: Evaluation,
        bench: Bench,
        sink: EventSink,
        control: SessionControl,
        observer: Callable[[SessionStatus], None],
        clock: Callable[[], float],
        *,
        limit: float | None = None,
        secret: Path | None = None,
    ) -> None:
        """Take the parts; nothing happens before ``run``.

        Args:
            evaluation: the evaluation to run.
            bench: the world.
            sink: writes the events.
            control: pause, resume, swap and abort.
            observer: called at every change.
            clock: seconds since the epoch.
            limit: of the cost, in place of the evaluation's budget; the strategy still plans with the budget.
            secret: file of a blind session's assignment of policies to trials; None to keep it in memory.
        """
        self._evaluation, self._bench, self._sink = evaluation, bench, sink
        self._limit = evaluation.budget if limit is None else limit
        self._control, self._observer, self._clock = control, observer, clock
        self._history = History()
        parts = bench, self._history, self._append, self._report, clock
        self._policies = BlindPolicies(evaluation, *parts, secret) if evaluation.blind_files else PolicySwapping(*parts)
        self._restore = False
        self._begun: _Begun | None = None
        self._void_fault, self._void_detail = Fault.NONE, ""
        self._expected = 0
        self._next: int | None = 0
        self._stopping: Stopping | None = None
        self._tested = 0
        self._context: StrategyContext | None = None
        self._trial: Trial | None = None
        self._result: TrialResult | None = None

    def run(self, past: Journal | None = None) -> SessionEnd:
        """Run to the end.

        Args:
            past: the journal of the session to resume; None or without events for a new session.

        Raises:
            ConfigurationError: the parameters differ from those of the journal, or the session cannot be
                compared with the run that its ``stop_early`` names.
            JournalError: the journal's trials are not those of this evaluation.
        """
        resumed = past is not None and bool(past.events)
        if resumed:
            refuse_other_parameters(past, self._evaluation)
            for event in past.events:
                self._history.add(event)
            if self._history.end is not None:
                return self._history.end
        self._stopping = begin_stopping(self._evaluation, past.started if resumed else None)
        try:
            try:
                self._open(past if resumed else None)
                if words := self._bench.speed_scaling():
                    self._append(SpeedScalingNoted(words, self._clock()))
                self._policies.begin(self._trials_of_strategy)
                self._run_trials()
                done = len(self._history.finished)
                detail = f"{'all ' if done > 1 else ''}{counted(done, 'trial is', 'trials are')} done"
                end: SessionEnd = SessionFinished("all_trials", detail, self._clock())
            except _Finished as finished:
                end = SessionFinished(*finished.args, self._clock())
            except BenchFault as fault:
                end = SessionInterrupted(fault.fault, self._policies.masked(fault.detail), self._clock())
            told = self._without_estimates(end)
            end = self._with_sequential_test(end)
            self._policies.end(self._control.take_swaps())
            if isinstance(end, SessionFinished):
                self._policies.open()
            self._append(end)
        except (Exception, KeyboardInterrupt) as error:
            with contextlib.suppress(DiskError):
                detail = str(error) if isinstance(error, DiskError) else f"{type(error).__name__}: {error}"
                self._append(SessionInterrupted(Fault.NONE, detail, self._clock()))
            raise
        state = SessionState.FINISHED if isinstance(end, SessionFinished) else SessionState.INTERRUPTED
        self._report(state, told)
        return end

    def _trials_of_strategy(self) -> int:
        return self._evaluation.strategy.trials_expected(self._evaluation.context())

    def _open(self, past: Journal | None) -> None:
        """Record that the session starts, or is resumed."""
        evaluation, now = self._evaluation, self._clock()
        if past is None:
            self._append(
                SessionStarted(
                    session=evaluation.session.name,
                    seed=evaluation.session.seed,
                    versions=session_versions(),
                    parameters=evaluation.parameters,
                    digest=evaluation.digest,
                    cost_unit=evaluation.cost_model.unit,
                    budget=evaluation.budget,
                    time=now,
                    metric=evaluation.metric_spec.name,
                    symbols={p.name: p.symbol for p in evaluation.perturbations},
                    perturbations={p.name: spec_of(p) for p in evaluation.perturbations},
                    machine=machine(),
                    world=self._bench.description(),
                    pairs=self._stopping.pairs if self._stopping is not None else None,
                    scores=tuple(score.spec for score in evaluation.scores),
                )
            )
            return
        if not past.ended:
            detail = "it terminated without a final event" + (f"; {past.warning}" if past.torn else "")
            self._append(ProcessDied("session", detail, now))
        running = self._history.running
        if running is not None:
            detail = "the session's process ended during the trial"
            self._append(TrialVoid(running.trial, running.attempt, Fault.ABORTED, detail, None, now))
        self._append(Resumed(True, now))
        self._restore = self._history.scene is not None

    def _run_trials(self) -> None:
        """Send results to the strategy until it has no more trials.

        Raises:
            _Finished: it ends before.
            BenchFault: it is interrupted.
        """
        evaluation, each = self._evaluation, self._policies.each
        context = evaluation.context()
        context = replace(context, perturbations=tuple(map(self._as_read, context.perturbations)))
        self._expected = evaluation.strategy.trials_expected(context) * each
        self._report(SessionState.RUNNING, "resumed" if self._history.finished else "started")
        self._report(SessionState.RUNNING, "planning the trials")
        while True:
            try:
                self._follow(context)
                return
            except _LeftOut:
                # The strategy begins anew and is sent the results so far again, as in a resumed session.
                self._report(SessionState.RUNNING, "planning the trials")

    def _steps(self, context: StrategyContext) -> StrategyRun:
        """Return the strategy's proposals, for each policy of a blind session."""
        steps = self._evaluation.strategy.run(context)
        return run_by_each(steps, self._policies.each) if self._evaluation.blind_files else steps

    def _sequence(self) -> TrialSequence:
        # A trial of a blind session keeps the indices of all its runs, whichever of them count.
        each = self._policies.each
        firsts = {index // each * each for index in self._history.retracted}
        taken = {index for first in firsts for index in range(first, first + each)}
        return TrialSequence(self._evaluation.session.seed, not self._evaluation.blind_files, taken)

    def _follow(self, context: StrategyContext) -> None:
        """Send results to the strategy until it has no more trials.

        Raises:
            _Finished: it ends before.
            _LeftOut: a trial was left out, so that the strategy has to be asked anew.
            BenchFault: it is interrupted.
        """
        limit, each = self._evaluation.session.max_trials, self._policies.each
        self._context, self._next = context, 0
        done = tuple(self._history.finished)
        steps = self._steps(context)
        answer: Completed | None = None
        sequence = self._sequence()
        number = 0
        while True:
            try:
                step = steps.send(answer)
            except StopIteration:
                return
            answer = None
            if isinstance(step, Skipped):
                if (step.base_id, step.perturbation) not in self._history.skipped:
                    self._append(TrialSkipped(step.base_id, step.perturbation, step.reason, self._clock()))
                continue
            if skip := why_left_out(step, self._history.left_out):
                self._follows(skip, step)
                continue
            trial = sequence.next(step)
            if number < len(done):
                refuse_other_trial(done[number].trial, trial)
            else:
                # What one policy ran, each of the others runs, too.
                if limit is not None and number >= limit // each * each:
                    detail = f"max_trials: {counted(number, 'trial is', 'trials are')} done"
                    raise _Finished("max_trials", detail)
                self._run_trial(trial)
            finished = self._history.finished[number]
            answer = _sent(finished)
            if self._stopping is not None and number >= self._tested:
                self._tested = number + 1
                self._stopping.add(finished, self._history.served[number])
                if self._stopping.decided:
                    raise _Finished("decided", self._stopping.detail)
            number += 1
            self._next = number

    def _as_read(self, perturbation: Perturbation) -> Perturbation:
        """Return a perturbation that applies only if each policy of the next trial takes in its result."""
        readers = self._policies.readers() if self._evaluation.blind_files else (self._next_policy,)
        for reader in readers:
            perturbation = AsRead(perturbation, reader, self._evaluation.features.moves_cameras)
        return perturbation

    def _next_policy(self) -> PolicyDescription | None:
        """Return the description of the next trial's policy; None if unknown.

        For a trial in the journal of a resumed session, it is the policy that served then. After those, a requested
        policy is swapped in first, so that the perturbation is chosen for it.

        Raises:
            BenchFault: the policy server is lost.
        """
        served = self._history.served
        if self._next is not None and self._next < len(served):
            policy = served[self._next]
        else:
            if self._next is not None and (swaps := self._control.take_swaps()):
                # Reports of the swap are about the trial that comes next.
                self._result = None
                self._policies.swap(swaps, SessionState.RUNNING)
            policy = self._history.policy
        return policy.description if policy is not None else None

    def _without_estimates(self, end: SessionEnd) -> str:
        """Return for its observer how a session ended: a person who still judges trials is shown no estimate."""
        if self._stopping is None or not isinstance(end, SessionFinished):
            return end.detail
        if self._stopping.decided:
            return "the question of stop_early is answered"
        return f"{end.detail}; the question of stop_early is not answered"

    def _with_sequential_test(self, end: SessionEnd) -> SessionEnd:
        """Add the state of the sequential test, if there is one."""
        if self._stopping is None or not isinstance(end, SessionFinished):
            return end
        detail = end.detail if self._stopping.decided else f"{end.detail}; {self._stopping.detail}"
        return replace(end, detail=detail, sequential=self._stopping.state)

    def _run_trial(self, trial: Trial) -> None:
        """Run a trial until it counts.

        Raises:
            _Finished: the session ends before.
            BenchFault: it ends before, interrupted.
        """
        self._trial, self._result = trial, None
        self._void_fault, self._void_detail = Fault.NONE, ""
        retries = 0
        while True:
            self._checkpoint()
            try:
                self._policies.serve_for(trial)
                self._require_read(trial)
                self._prepare(trial)
                self._execute(trial)
                return
            except BenchFault as error:
                fault = _explained(error, trial)
                if fault.fault is Fault.ABORTED and self._control.abort_reason:
                    fault = BenchFault(Fault.ABORTED, self._control.abort_reason)
                if fault.fault is Fault.SKIPPED:
                    fault = self._leave_out(trial, fault)
                self._void(trial, fault)
                if fault.fault in ENDS_SESSION:
                    raise fault from None
                # If a person decides it, or helps the robot, no number of attempts shows that it cannot work.
                by_person = (
                    fault.fault is Fault.VOIDED
                    or (fault.fault is Fault.ROBOT_STOPPED and self._bench.stopped())
                    or (fault.fault is Fault.ROBOT_NOT_READY and self._bench.not_home())
                )
                retries += not by_person
                if retries > self._evaluation.session.void_retries:
                    detail = (
                        f"trial {trial.trial_id} was void {retries} times in a row, the last time because of "
                        f"{fault}. Fix the cause, then resume the session."
                    )
                    raise BenchFault(fault.fault, detail) from None

    def _leave_out(self, trial: Trial, fault: BenchFault) -> BenchFault:
        """Leave the rest of a trial out, as the person at the robot asks: this repeat and those after it.

        With a base trial, the perturbed trials of its instance are left out. Runs of this repeat by other policies of a
        blind session count no longer.

        Returns:
            The fault of an attempt that is made again, if the strategy cannot go on without the trial.

        Raises:
            _LeftOut: it is left out.
        """
        each, finished = self._policies.each, self._history.finished
        reason = f"{REASON}{f', from repeat {trial.repeat + 1} on' if trial.repeat else ''}: {fault.detail}"
        ran = tuple(e.trial.trial_id for e in finished if e.trial.index // each == trial.index // each)
        key = trial.base_id, trial.perturbation
        skip = TrialSkipped(*key, reason, self._clock(), by_person=True, repeat=trial.repeat, trials=ran)
        done = [(event.trial, _sent(event)) for event in finished if event.trial.trial_id not in ran]
        steps, left_out = self._steps(self._context), {**self._history.left_out, key: skip}
        why = why_not_without(steps, self._sequence(), done, left_out, self._go_to)
        self._go_to(len(finished))
        if why:
            name = self._evaluation.strategy.name
            why = f"cannot be left out: '{name}' does not go on without it ({why}); it is run again"
            return BenchFault(Fault.VOIDED, f"{why} ({fault.detail})")
        self._void(trial, fault)
        self._append(skip)
        if trial.is_base and not trial.repeat:
            for perturbation in self._context.perturbations:
                self._follows(skip, replace(trial, perturbation=perturbation.name))
        raise _LeftOut

    def _follows(self, skip: TrialSkipped, what: Trial | Proposal) -> None:
        """Record a trial that is left out with another, once."""
        key = what.base_id, what.perturbation
        if key not in self._history.skipped and key not in self._history.left_out:
            now = self._clock()
            self._append(replace(skip, perturbation=what.perturbation, repeat=what.repeat, trials=(), time=now))

    def _go_to(self, trial: int | None) -> None:
        self._next = trial

    def _checkpoint(self) -> None:
        """Wait while paused, while the robot is stopped, and while it is not home; swap the policy on request.

        Raises:
            BenchFault: the session was aborted, or the policy server is lost.
        """
        self._wait_while_paused()
        self._await_release()
        while reason := self._bench.not_home():
            self._control.pause()
            self._wait_while_paused(reason)
            self._await_release()
            self._report(SessionState.RUNNING, "the robot goes home")
            self._bench.go_home()
        self._policies.notice_other()

    def _wait_while_paused(self, reason: str = "") -> None:
        """Wait while paused; the reason is empty if somebody asked for the pause.

        Raises:
            BenchFault: the session was aborted, or the policy server is lost.
        """
        control, waited = self._control, False
        while not control.abort_reason:
            state = SessionState.PAUSED if waited else SessionState.RUNNING
            if swaps := control.take_swaps():
                self._policies.swap(swaps, state)
            elif control.paused:
                if not waited:
                    self._append(Paused(self._clock(), reason))
                    self._report(SessionState.PAUSED, reason or "waiting to go on")
                waited = True
                control.wait()
            else:
                break
        if waited:
            self._append(Resumed(False, self._clock()))
        if control.abort_reason:
            raise BenchFault(Fault.ABORTED, control.abort_reason)

    def _await_release(self) -> None:
        """Wait while the robot is stopped.

        Raises:
            BenchFault: the session was aborted meanwhile, or nobody watches the robot any more.
        """
        if not (reason := self._bench.stopped()):
            return
        self._append(Paused(self._clock(), reason))
        self._report(SessionState.PAUSED, reason)
        by = self._bench.await_release()
        self._append(Resumed(False, self._clock(), by))

    def _require_read(self, trial: Trial) -> None:
        """Refuse a trial that the policy that serves, or another that is to run it, would not take in completely.

        Raises:
            BenchFault: it would not.
        """
        policies = self._policies.descriptions(trial)
        reason = next(filter(None, (unread(policy, trial.instance) for policy in policies)), "")
        if not reason:
            return
        cure = (
            "a test instance is not left out because of a policy; swap to a policy that can read it, or begin "
            "a session of a task with other sentences"
            if trial.is_base
            else "the trial was chosen before this policy served; resume the session, or let another policy serve"
        )
        raise BenchFault(Fault.INSTRUCTION_NOT_READ, f"trial {trial.trial_id}: {reason}; {cure}")

    def _prepare(self, trial: Trial) -> None:
        """Set up the trial's starting scene.

        Raises:
            BenchFault: the bench failed, the instruction makes no sense in the scene as read back, or it is fulfilled.
            _Finished: the budget does not allow it.
        """
        self._report(SessionState.RUNNING, "setting up the scene")
        if self._restore and not self._evaluation.features.person:
            self._restore_scene(trial)
        after = self._set_up(trial)
        instruction, premise = trial.instance.instruction, self._evaluation.task.premise
        if premise is not None and (reason := premise(instruction, after)):
            raise BenchFault(
                Fault.PREMISE_FALSE,
                f"'{instruction.words}' makes no sense in the scene as it was read back: {reason}",
            )
        if solved_at_start(self._evaluation.task, replace(trial.instance, scene=after)):
            raise BenchFault(
                Fault.SETUP_FAILED,
                "the goal holds already in the scene as it was read back; "
                "set it up more exactly, or lower the tolerances of `setup`, or of `operator` where a person sets up",
            )

    def _restore_scene(self, trial: Trial) -> None:
        """Restore the last known scene, at no cost: the effect of an interruption is no cost of the evaluation.

        When the trial had been set up before the interruption, that is its starting scene, and its set-up
        costs nothing more.
        """
        target = self._history.scene
        before = self._bench.scene()
        moves = self._moves(before, target)
        after = self._bench.set_up(target, moves)
        self._restore = False
        self._append(SetUp(trial, before, target, moves, 0.0, after, True, self._clock()))

    def _set_up(self, trial: Trial) -> Scene:
        evaluation, target = self._evaluation, trial.instance.scene
        alone = trial.start is Start.ROBOT_ALONE and not self._history.attempts[trial.index]
        if alone and not self._restore:
            return self._reset_robot(trial)
        # A person need not restore a scene only to change it: in a resumed session they set up the trial's at once, and
        # it costs what it would have cost without the interruption. So does a set-up that a person broke off.
        begun, goes_on = self._begun, self._restore or self._begun is not None
        before = begun.before if begun else self._history.scene if self._restore else self._present_scene()
        moves = self._moves(before, target)
        cost = evaluation.cost_model.cost(moves)
        budget = self._budget
        if not budget.allows(cost):
            detail = (
                f"the budget of {budget.limit:g} {budget.unit} does not allow the next set-up: "
                f"{cost:.3f} {budget.unit}, with {budget.remaining:.3f} {budget.unit} left"
            )
            raise _Finished("budget", detail)
        try:
            after = self._bench.set_up(target, self._moves(self._bench.scene(), target) if goes_on else moves)
        except BenchFault as fault:
            if fault.fault in (Fault.VOIDED, Fault.SKIPPED):
                self._begun = _Begun(before, target)
            raise
        # The time of another scene, which was skipped, is not known.
        timed = not self._restore and (begun is None or begun.target == target)
        person = self._bench.set_by_person()
        measured = person.seconds if person is not None and timed else None
        read, overruled = (person.read, person.overruled) if person is not None else (None, ())
        self._restore, self._begun = False, None
        cost = evaluation.cost_model.cost(moves, measured)
        now = self._clock()
        self._append(SetUp(trial, before, target, moves, cost, after, False, now, measured, read, overruled))
        return after

    def _reset_robot(self, trial: Trial) -> Scene:
        """Bring the robot alone to its start: the scene stays as the trial before left it.

        Raises:
            BenchFault: the bench failed, or something did not stay, because the robot held it.
        """
        evaluation, target = self._evaluation, trial.instance.scene
        after = self._bench.reset_robot()
        if moved := setup_moves(target, after, evaluation.tolerance):
            raise BenchFault(
                Fault.SETUP_FAILED,
                f"'{moved[0].name}' did not stay where the trial before left it when the robot went to its start: "
                "was it held?",
            )
        self._append(SetUp(trial, target, target, (), 0.0, after, False, self._clock()))
        return after

    def _moves(self, before: Scene, target: Scene) -> tuple[SetupMove, ...]:
        moves = setup_moves(before, target, self._evaluation.tolerance)
        return (
            in_cheapest_order(moves, self._evaluation.cost_model.store) if self._evaluation.features.person else moves
        )

    def _present_scene(self) -> Scene:
        """Return the actual scene: the last known one, unless somebody has moved something since.

        If both match, the known one is taken, so that noise in reading a scene adds no cost, and a resumed session
        computes the same costs. For a person it is the actual one: they move the objects that are wrong now.
        """
        actual, known = self._bench.scene(), self._history.scene
        if self._evaluation.features.person:
            return actual
        return known if known is not None and scenes_match(actual, known, self._evaluation.tolerance) else actual

    def _execute(self, trial: Trial) -> None:
        """Run the trial in the present scene.

        Raises:
            BenchFault: the attempt is void.
        """
        attempt = self._history.attempts[trial.index]
        self._append(TrialStarted(trial, attempt, self._clock()))
        self._report(SessionState.RUNNING, "running")
        execution = self._bench.execute(trial, attempt)
        result = execution.result
        if result.outcome is Outcome.VOID or result.fault.voids:
            raise BenchFault(result.fault, result.detail)
        self._check_told(trial, execution.observed)
        self._append(
            TrialFinished(
                trial=trial,
                attempt=attempt,
                cost=self._history.pending_cost,
                time=self._clock(),
                **vars(execution),
            )
        )
        self._result = result
        self._report(SessionState.RUNNING, result.outcome.name.lower().replace("_", " "))

    def _check_told(self, trial: Trial, received: Observed) -> None:
        """Refuse a trial in which the policy received another instruction than the strategy chose.

        Refuse it also if its perturbation changes the instruction and the policy received that of its base trial.

        Raises:
            BenchFault: it did.
        """
        description, told = self._policies.description(trial), trial.instance.instruction
        chosen = Observed(told.text)
        if description is not None and description.takes_segments:
            chosen = as_told(told.text, to_send(told, self._evaluation.task, description), description).sent
        _, difference = compare_delivery(chosen, replace(received, image_digest=""))
        if difference:
            raise BenchFault(Fault.PERTURBATION_NOT_DELIVERED, difference)
        if chosen.segments_digest and not received.segments_digest:  # the words alone do not distinguish two trials
            return
        twin = self._policies.twin(trial)
        if twin is None:
            return
        axes = next((p.axes for p in self._evaluation.perturbations if p.name == trial.perturbation), "")
        if words := unchanged_words(axes, received, twin.observed):
            raise BenchFault(Fault.PERTURBATION_NOT_DELIVERED, words)

    def _void(self, trial: Trial, fault: BenchFault) -> None:
        """Record a void attempt, with the scene that it left if the next attempt needs it."""
        scene = None
        if fault.fault not in ENDS_SESSION and not self._restore and self._begun is None:
            with contextlib.suppress(BenchFault):
                scene = self._bench.scene()
        running = self._history.running
        attempt = running.attempt if running else self._history.attempts[trial.index]
        self._append(TrialVoid(trial, attempt, fault.fault, fault.detail, scene, self._clock()))
        self._void_fault, self._void_detail = fault.fault, self._policies.masked(fault.detail)
        self._report(SessionState.RUNNING, f"void: {self._policies.masked(str(fault))}")

    @property
    def _budget(self) -> Budget:
        return Budget(self._limit, self._history.spent, self._evaluation.cost_model.unit)

    def _append(self, event: Event) -> None:
        self._sink.append(event)
        self._history.add(event)

    def _report(self, state: SessionState, detail: str) -> None:
        history = self._history
        self._observer(
            SessionStatus(
                state=state,
                detail=detail,
                trials_done=len(history.finished),
                trials_expected=self._trials_expected(),
                trials_void=history.void,
                trials_skipped=len(history.skipped),
                budget=self._budget,
                trial=self._trial,
                result=self._result,
                time_left=self._time_left(),
                policy=self._policies.shown,
                void_fault=self._void_fault,
                void_detail=self._void_detail,
            )
        )

    def _trials_expected(self) -> int:
        each, session = self._policies.each, self._evaluation.session
        limit, repeats = session.max_trials, session.repeats
        skipped = len(self._history.skipped) * repeats
        skipped += sum(repeats - skip.repeat for skip in self._history.left_out.values() if skip.repeat)
        expected = max(self._expected - skipped * each, 0)
        return expected if limit is None else min(expected, limit)

    def _time_left(self) -> float:
        """Estimate from the mean time and cost of a trial so far, with its set-ups [s]; NaN before the first."""
        finished = self._history.finished
        if not finished:
            return math.nan
        left = float(max(self._trials_expected() - len(finished), 0))
        budget = self._budget
        if math.isfinite(budget.limit) and budget.spent > 0.0:
            left = min(left, budget.remaining / (budget.spent / len(finished)))
        took = math.fsum((self._history.carried, *map(attrgetter("wall_time"), finished)))
        return left * took / len(finished)


def _sent(finished: TrialFinished) -> Completed:
    """Return the result of a trial for the strategy."""
    return Completed(replace(finished.result, final_scene=finished.scene_left), finished.cost)


def _explained(fault: BenchFault, trial: Trial) -> BenchFault:
    """Return the fault; for a base trial, with the reason why it is void although nothing was perturbed."""
    if fault.fault is not Fault.PERTURBATION_NOT_DELIVERED or not trial.is_base:
        return fault
    return BenchFault(fault.fault, f"{fault.detail}; a base trial is void, too: perturbed trials are compared with it")
