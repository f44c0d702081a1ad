"""Score trials again from their bags alone, and compare with the journal.

The scorer, the join of scenes with tool poses and the conversion of messages are those of the live graph, so the
numbers are equal to the last bit. docs/rescoring.md says what a bag has to hold for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path

from robocontrast_ros.analysis.rescoring.recorded_trials import RecordedTrial, find_scores, find_task, session_of
from robocontrast_ros.analysis.rescoring.thresholds import Rescored, Thresholds, load_other, rescore
from robocontrast_ros.bags.errors import BagError
from robocontrast_ros.bags.reader import TrialRecording, read_trial
from robocontrast_ros.configuration import ConfigurationError, load_plugin
from robocontrast_ros.domain import Judgement, ScoreSpec, Trial, TrialResult, seconds
from robocontrast_ros.episodes.scoring import STANDARD_SPECS, EpisodeScorer, Sample, Score
from robocontrast_ros.runs.blinding import is_code
from robocontrast_ros.system.processes import ProcessLost, processors, run_in_processes
from robocontrast_ros.tasks.protocol import Task

ROUNDING = 1000
"""Stamps that went through seconds in floating point are off by up to this at the present date [ns]."""

WORTH_A_PROCESS = 50
"""Bags that take as long as starting a process does."""


@dataclass(frozen=True)
class OfflineScore:
    """One trial, scored again.

    Attributes:
        trial_id: the trial.
        run: its run folder; None for a bag that lies in none.
        bag: its bag; None when it was not recorded.
        journal: the scores in the journal; None without one.
        offline: the scores from the bag; None when it cannot be scored. Of a trial that is not complete it
            holds the scores so far, with the outcome UNKNOWN, and NaN for success and SPL.
        trial: what was run, as the bag says; None when it cannot be read.
        policy: the policy's name in the bag.
        complete: whether the bag holds the trial to its end.
        scored_until: stamp of the last control step that was scored [s]; None without one.
        differences: what differs from the journal, as sentences.
        problem: why the bag cannot be scored or relied on, in words; empty when it can.
        rescored: the scores under other thresholds, where those were asked for.
        specs: what the trial's scores are, in the order of tables.
    """

    trial_id: str
    run: Path | None
    bag: Path | None
    journal: TrialResult | None
    offline: TrialResult | None
    trial: Trial | None = None
    policy: str = ""
    complete: bool = False
    scored_until: float | None = None
    differences: tuple[str, ...] = ()
    problem: str = ""
    rescored: Rescored | None = None
    specs: tuple[ScoreSpec, ...] = STANDARD_SPECS

    @property
    def equal(self) -> bool:
        """Whether the bag is whole, and every number from it equals the journal's, if there is one."""
        return not self.differences and not self.problem


def score_recorded(
    trials: Sequence[RecordedTrial],
    *,
    thresholds: Thresholds | None = None,
    processes: int | None = None,
    done: Callable[[], None] = lambda: None,
) -> tuple[OfflineScore, ...]:
    """Score trials again, in their order, whatever the number of processes.

    Args:
        trials: from ``find_recorded``.
        thresholds: other thresholds to score with as well.
        processes: number of processes that score; when None one a processor, but no more than one per
            ``WORTH_A_PROCESS`` trials.
        done: called after each trial.

    Raises:
        ConfigurationError: a task's file is not valid any more, or the thresholds do not fit the task.
    """
    if processes is None:
        processes = min(processors(), max(len(trials) // WORTH_A_PROCESS, 1))
    scores: dict[int, OfflineScore] = {}
    for index, score in run_in_processes(_score_job, [(trial, thresholds) for trial in trials], processes):
        if isinstance(score, ProcessLost):
            bag = trials[index].bag
            problem = f"{bag}: the process that scored it died twice. The bag may need more memory than there is."
            score = _unscored(trials[index], problem)
        scores[index] = score
        done()
    return tuple(scores[index] for index in range(len(trials)))


def _unscored(trial: RecordedTrial, problem: str) -> OfflineScore:
    journal = trial.finished.result if trial.finished else None
    of = trial.finished.trial if trial.finished else None
    return OfflineScore(trial.trial_id, trial.run, trial.bag, journal, None, of, problem=problem)


def with_judgement(bag: Path, judgement: Judgement) -> TrialResult:
    """Return the result of a recorded trial with another judgement in place of what was said at its end.

    Raises:
        BagError: the bag cannot be scored, does not hold the trial to its end, or no word of anybody decides there.
    """
    recording = read_trial(bag)
    if recording.result is None or recording.broken:
        raise BagError(f"{bag}: {recording.broken or 'it does not hold the trial to its end'}.")
    if not load_plugin("judges", recording.judge, str(bag), "judge").asks:
        raise BagError(f"{bag}: the judge '{recording.judge}' decides by the scene alone, whatever anybody says.")
    task, _ = find_task(recording)
    said = replace(recording, judgement=replace(judgement, advises=False))
    with _scoring(bag):
        return _score(said, _samples(said), task, find_scores(said, task)).result


@contextmanager
def _scoring(bag: Path) -> Iterator[None]:
    """Turn what a bag lacks for its scores into a ``BagError``; a mistake in a file stays the user's.

    Raises:
        BagError: it lacks something.
    """
    try:
        yield
    except (KeyError, ValueError) as error:
        if isinstance(error, ConfigurationError):
            raise
        raise BagError(f"{bag}: cannot be scored: {error.args[0]}.") from None


def _score_job(job: tuple[RecordedTrial, Thresholds | None]) -> OfflineScore:
    trial, thresholds = job
    if trial.bag is None:
        return _unscored(trial, "the trial was not recorded")
    try:
        recording = read_trial(trial.bag)
        return _compared(trial, recording, thresholds)
    except BagError as error:
        return _unscored(trial, str(error))


def _as_recorded(trial: Trial, recording: TrialRecording) -> Trial:
    """Return a trial as its bag has it: that of a blind session names no twin, which would tell who runs it."""
    return replace(trial, twin="") if is_code(recording.policy) else trial


def _compared(trial: RecordedTrial, recording: TrialRecording, thresholds: Thresholds | None) -> OfflineScore:
    task, file = find_task(recording)
    scores = find_scores(recording, task)
    samples = _samples(recording)
    with _scoring(recording.bag):
        scored = _score(recording, samples, task, scores)
        rescored = None
        if thresholds is not None:
            other, stops = load_other(thresholds, file), _stops_on_success(recording, scored.went_on)
            rescored = rescore(recording, samples, task, other, scored.result, stops)
    complete = recording.result is not None
    unknown = "" if complete else "it holds no trial_result, so outcome and fault are unknown"
    differences: tuple[str, ...] = ()
    if trial.finished is not None:
        differences = (
            *_differences("trial", _as_recorded(trial.finished.trial, recording), recording.trial),
            *(_differences("result", trial.finished.result, scored.result) if complete else ()),
        )
    return OfflineScore(
        trial_id=trial.trial_id,
        run=trial.run,
        bag=trial.bag,
        journal=trial.finished.result if trial.finished else None,
        offline=scored.result,
        trial=recording.trial,
        policy=recording.policy,
        complete=complete,
        scored_until=scored.until,
        differences=differences,
        problem="; ".join(filter(None, (recording.broken, unknown))),
        rescored=rescored,
        specs=tuple(score.spec for score in scores),
    )


def _stops_on_success(recording: TrialRecording, went_on: bool) -> bool:
    """Tell whether the trial's session ends trials at success; without a session's file, guess from the trial."""
    session = session_of(recording.bag)
    return session.stop_on_success if session else not went_on


def _differences(of: str, journal: object, bag: object) -> list[str]:
    """Compare field by field, and score by score; the text of a float is exact, and NaN reads as NaN."""
    a, b = _leaves(journal), _leaves(bag)
    # An older journal lacks scores that came later.
    pairs = [(name, repr(value), repr(b[name]) if name in b else "nothing") for name, value in a.items()]
    return [f"{of}.{name}: journal {a}, bag {b}" for name, a, b in pairs if a != b]


def _leaves(record: object) -> dict[str, object]:
    values = {f.name: getattr(record, f.name) for f in fields(record)}
    return values | dict(values.pop("scores", {}))


@dataclass(frozen=True)
class _Scored:
    """The scores, the stamp of the last control step [s], and whether the trial went on after a success."""

    result: TrialResult
    until: float | None
    went_on: bool


def _samples(recording: TrialRecording) -> tuple[Sample, ...]:
    """Return the control steps that belong to the trial."""
    last = math.inf if recording.result_stamp is None else recording.result_stamp + ROUNDING
    return tuple(sample for sample in recording.samples if sample.stamp <= last)


def _score(recording: TrialRecording, samples: Sequence[Sample], task: Task, scores: Sequence[type[Score]]) -> _Scored:
    """Score a trial from its scenes and tool poses.

    The recorded result gives the fault, the number of control steps, of clamped ones and of interventions, and the last
    control step.
    Where the bag ends before it, the outcome is UNKNOWN, success and SPL are NaN, and scenes are counted as steps.
    """
    judge = load_plugin("judges", recording.judge, str(recording.bag), "judge")()
    scorer = EpisodeScorer.for_instance(task, recording.trial.instance, recording.start_scene, judge, scores)
    states = [scorer.update(s) for s in samples]
    went_on = any(state.success for state in states[:-1])
    until = None if scorer.last_stamp is None else seconds(scorer.last_stamp)
    recorded = recording.result
    if recorded is not None:
        scorer.end(recording.end_scene, recording.judgement)
        result = scorer.result(
            recorded.fault,
            recorded.detail,
            recorded.steps,
            recorded.clamped_steps,
            recorded.stopped,
            recorded.interventions,
        )
        return _Scored(result, until, went_on)
    return _Scored(scorer.unfinished(max(len(samples) - 1, 0)), until, went_on)
