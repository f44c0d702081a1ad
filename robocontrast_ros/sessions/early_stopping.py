"""Ending a session as soon as its base trials have answered the session's question."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robocontrast_ros.configuration import ConfigurationError, parse_record
from robocontrast_ros.configuration.differences import first_difference
from robocontrast_ros.domain import ScoreSpec, TestInstance
from robocontrast_ros.domain.words import counted
from robocontrast_ros.episodes.scoring.standard import Success
from robocontrast_ros.runs.blinding import is_of_several_policies
from robocontrast_ros.runs.events import PolicyLoaded, SequentialTest, SessionStarted, TrialFinished
from robocontrast_ros.runs.history import History
from robocontrast_ros.runs.journal import Journal, JournalError, read_journal
from robocontrast_ros.runs.recorded_session import RecordedSession
from robocontrast_ros.sessions.evaluation import Evaluation
from robocontrast_ros.sessions.schema import StopEarlyParameters
from robocontrast_ros.statistics.sequential import BettingTest
from robocontrast_ros.statistics.sign_test import SequentialSignTest

KEY = "stop_early.compare_with"


@dataclass(frozen=True)
class Reference:
    """The run with which a session is compared.

    Attributes:
        name: of its folder.
        scores: base instance -> mean of its base trials.
        single: whether none of them has more than one.
    """

    name: str
    scores: Mapping[str, float]
    single: bool


class Stopping:
    """The sequential test over a session's base trials.

    One value a base instance, the mean of its repeats, in the order they were run, which is a random one
    (``Strategy.base_trials_iid``); with a reference, the difference from the same instance there. If the policy is
    swapped, the test begins anew.

    The betting test decides. If successes of one trial an instance are compared, the sequential sign test does, which
    takes fewer trials; the confidence sequence is still that of the betting test.
    """

    def __init__(
        self,
        parameters: StopEarlyParameters,
        score: ScoreSpec,
        repeats: int,
        reference: Reference | None = None,
        pairs: int | None = None,
    ) -> None:
        """Begin without a trial.

        Args:
            parameters: the question.
            score: that of the base trials; its range has two ends.
            repeats: of each base instance.
            reference: the run to compare with, if the question is about one.
            pairs: maximum number of pairs for the sequential sign test; None if the betting test decides.
        """
        self._parameters, self._repeats, self._reference = parameters, repeats, reference
        self.pairs = pairs
        self._score = score
        self._policy: tuple[str, str] | None = None
        self._restart()

    def _restart(self) -> None:
        error_rate, low, high = self._parameters.error_rate, self._score.low, self._score.high
        if self._reference is not None:
            low, high = low - high, high - low
        self._test = BettingTest(error_rate, low, high)
        self._signs = None if self.pairs is None else SequentialSignTest(error_rate, self.pairs)
        self._of_instance: list[float] = []

    def add(self, finished: TrialFinished, policy: PolicyLoaded | None) -> None:
        """Take one more trial into account.

        Args:
            finished: the trial, in order; perturbed ones change nothing.
            policy: the policy that served; None if unknown.
        """
        served = (policy.name, policy.digest) if policy else None
        if served != self._policy:
            self._policy = served
            self._restart()
        trial = finished.trial
        if not trial.is_base:
            return
        if trial.repeat == 0:
            self._of_instance = []
        self._of_instance.append(finished.result.scores[self._score.name])
        if len(self._of_instance) < self._repeats:
            return
        value = math.fsum(self._of_instance) / self._repeats
        if math.isnan(value):
            return
        if self._reference is not None:
            if trial.base_id not in self._reference.scores:
                return
            there = self._reference.scores[trial.base_id]
            if self._signs is not None:
                self._signs.update(value, there)
            value -= there
        self._test.update(value)

    @property
    def state(self) -> SequentialTest:
        """State of the test, for the journal."""
        (low, high), signs = self._interval, self._signs
        return SequentialTest(
            score=self._score.name,
            question=next(q for q in _QUESTIONS if getattr(self._parameters, q) is not None),
            decided=self.decided,
            instances=self._test.number,
            low=low,
            high=high,
            error_rate=self._parameters.error_rate,
            pairs=self.pairs,
            here_alone=signs.first_alone if signs is not None else None,
            there_alone=signs.second_alone if signs is not None else None,
        )

    @property
    def _interval(self) -> tuple[float, float]:
        """The confidence sequence; it contains 0 as long as the sign test has not answered."""
        low, high = self._test.interval
        if self._signs is None or self._signs.answer:
            return low, high
        return min(low, 0.0), max(high, 0.0)

    @property
    def decided(self) -> bool:
        """Whether the question is answered."""
        if self._signs is not None:
            return self._signs.answer != 0
        low, high = self._test.interval
        wanted = self._parameters
        if wanted.half_width is not None:
            return (high - low) / 2 <= wanted.half_width
        return self._test.rejects(wanted.threshold or 0.0)

    @property
    def detail(self) -> str:
        """The answer in words, or the state of the test before it has one."""
        wanted, name = self._parameters, self._score.symbol
        low, high = self._interval
        known = (
            f"confidence sequence {low:.3f} to {high:.3f}, error rate {wanted.error_rate:g}, "
            f"{counted(self._test.number, 'test instance')}"
        )
        if self._signs is not None:
            signs = self._signs
            known = (
                f"of {counted(signs.number, 'pair')}, this policy alone succeeded in {signs.first_alone}, that of "
                f"{self._reference.name} alone in {signs.second_alone} (sequential sign test for at most "
                f"{counted(signs.most, 'pair')}, error rate {wanted.error_rate:g}); confidence sequence {low:.3f} to "
                f"{high:.3f}, which has the same error rate and may contain 0"
            )
        subject = f"mean {name} of base trials"
        if self._reference is not None:
            subject = f"difference to {self._reference.name} in {subject}"
            above = low > 0.0 if self._signs is None else self._signs.answer > 0
            answer = "above 0" if above else "below 0"
        elif wanted.threshold is not None:
            answer = f"{'above' if low > wanted.threshold else 'below'} {wanted.threshold:g}"
        else:
            answer = f"known to ±{wanted.half_width:g}"
        if self.decided:
            return f"stop_early: {subject} is {answer}: {known}"
        return f"stop_early has not decided about the {subject}: {known}"


_QUESTIONS = ("threshold", "compare_with", "half_width")


def begin_stopping(evaluation: Evaluation, begun: SessionStarted | None = None) -> Stopping | None:
    """Return the sequential test of a session that is about to be run, or resumed; None without one.

    Args:
        evaluation: of the session.
        begun: first event of a resumed session, which keeps its test and its maximum number of pairs.

    Raises:
        ConfigurationError: the run to compare with cannot be read, or is not of the same seed, task and test set; or
            it has repeats now.
    """
    parameters, repeats = evaluation.session.stop_early, evaluation.session.repeats
    if parameters is None:
        return None
    score = stopping_score(parameters, evaluation)
    if parameters.compare_with is None:
        return Stopping(parameters, score, repeats)
    path = Path(parameters.compare_with)
    try:
        journal = read_journal(path / "journal.jsonl").corrected
    except (OSError, JournalError) as error:
        raise ConfigurationError(
            "session",
            KEY,
            str(path),
            "a run folder with a journal.jsonl that can be read",
            f"Give the folder that `robocontrast evaluate` printed. ({error})",
        ) from None
    if journal.started is None:
        raise ConfigurationError("session", KEY, str(path), "a run folder in which a session was begun")
    _refuse_other_trials(journal, evaluation.parameters)
    instances = {instance.instance_id: instance for instance in evaluation.test_set()}
    reference = _reference(journal, path.name, instances, score)
    if begun is not None:
        if begun.pairs is not None and not reference.single:
            raise ConfigurationError(
                str(journal.path),
                "",
                "several base trials of an instance",
                "one, as it was when the session that is compared with it began",
                "Start a new session.",
            )
        return Stopping(parameters, score, repeats, reference, begun.pairs)
    pairs = None
    if parameters.score == "success" and repeats == 1 and reference.single:
        pairs = min(len(reference.scores), evaluation.session.max_trials or len(reference.scores))
    return Stopping(parameters, score, repeats, reference, pairs)


def stopping_score(parameters: StopEarlyParameters, evaluation: Evaluation) -> ScoreSpec:
    """Return the score that the question is about."""
    return evaluation.metric_spec if parameters.score == "metric" else Success.spec


def _refuse_other_trials(journal: Journal, session: dict[str, Any]) -> None:
    """Refuse a run whose base trials are of another test set, or are scored differently."""
    there = _compared(journal.started.recorded)
    here = _compared(parse_record(RecordedSession, session, "the session"))
    if there == here:
        return
    key, got, expected = first_difference(there, here)
    raise ConfigurationError(
        str(journal.path),
        key,
        got,
        f"{expected!r}, as in the session that is to be compared with it",
        f"`{KEY}` takes a run of the same seed, task and test set.",
    )


def _compared(session: RecordedSession) -> dict[str, Any]:
    """Return the parameters that determine the base trials and their scores."""
    return {
        "session": {
            "seed": session.seed,
            "test_set": {"families": list(session.families or ()) or None},
            "stop_on_success": session.stop_on_success,
        },
        "task": session.task_parameters,
        "test_set": session.test_set_parameters,
    }


def _reference(journal: Journal, name: str, instances: Mapping[str, TestInstance], score: ScoreSpec) -> Reference:
    """Return the mean score of the base trials of each base instance, for those of the test set."""

    def refused(got: str, expected: str, cure: str = "") -> ConfigurationError:
        return ConfigurationError(str(journal.path), "", got, expected, cure)

    if is_of_several_policies(journal.events):
        cure = f"Once that blind session is opened, take a folder of {journal.path.parent / 'policies'}."
        raise refused("the trials of several policies", "those of one", cure)
    history = History.of(journal.events)
    values: dict[str, list[float]] = {}
    policies = set()
    for finished, policy in zip(history.finished, history.served, strict=True):
        trial = finished.trial
        if not trial.is_base or trial.base_id not in instances:
            continue
        if trial.instance != instances[trial.base_id]:
            raise refused(
                f"'{trial.instance.instruction.text}' as base trial of {trial.base_id}",
                f"'{instances[trial.base_id].instruction.text}' in the scene of the test set",
                f"`{KEY}` takes a run whose base trials start as this session's do: not one of "
                "limited_intervention or limited_intervention_skip, nor of another version of the task.",
            )
        policies.add((policy.name, policy.digest) if policy else None)
        values.setdefault(trial.base_id, []).append(finished.result.scores[score.name])
    if not values:
        raise refused("no base trial of this test set", "some that count", "Let that session go on first.")
    if len(policies) > 1:
        raise refused("several policies", "one, for the policy was swapped there")
    means = {base_id: math.fsum(found) / len(found) for base_id, found in values.items()}
    return Reference(name, means, all(len(found) == 1 for found in values.values()))
