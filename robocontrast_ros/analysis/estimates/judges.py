"""The agreement of the camera and the person about the same trials."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from robocontrast_ros.configuration import ConfigurationError, make_plugin
from robocontrast_ros.runs.events import TrialFinished
from robocontrast_ros.statistics.agreement import JudgeAgreement, agreement


@dataclass(frozen=True)
class Judges:
    """The judgements of the camera and the person.

    Attributes:
        both: number of trials that the camera decided and the person also judged, without seeing its answer.
        asked: number of trials that the person decided, because the camera was unsure.
        agreement: agreement of the camera (first) and the person (second) about the trials of ``both``.
    """

    both: int
    asked: int
    agreement: JudgeAgreement


def judges_of(finished: Iterable[TrialFinished], judge: str, cluster_of: Callable[[str], str] = str) -> Judges | None:
    """Return the agreement of a session's judges; None if its judge is no camera or not installed, or no person judged.

    Args:
        finished: its trials that count.
        judge: name of the session's judge, or its ``module:Class``.
        cluster_of: returns what is independent of a test instance (``RunRecord.cluster_of``); itself if left out.
    """
    try:
        needs = make_plugin("judges", judge, "journal", "world.judge").needs
    except ConfigurationError:
        return None  # it belongs to a package that is not installed here
    if needs != "camera":
        return None
    told = [event for event in finished if event.judgement is not None]
    both = [event for event in told if event.judgement.advises]
    if not told:
        return None
    return Judges(
        len(both),
        len(told) - len(both),
        agreement(
            [bool(event.result.success) for event in both],
            [event.judgement.success for event in both],
            [cluster_of(event.trial.base_id) for event in both],
        ),
    )
