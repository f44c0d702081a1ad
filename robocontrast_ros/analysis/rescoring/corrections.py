"""A person's correction of how a trial was judged."""

from __future__ import annotations

import time

from robocontrast_ros.analysis.rescoring.scores_from_bags import with_judgement
from robocontrast_ros.bags.errors import BagError
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain import Judgement
from robocontrast_ros.runs.events import TrialCorrected
from robocontrast_ros.runs.history import History
from robocontrast_ros.runs.journal import JournalWriter, read_journal
from robocontrast_ros.runs.run_folder import RunFolder


def correct(run: RunFolder, writer: JournalWriter, trial_id: str, right: Judgement, reason: str) -> TrialCorrected:
    """Write down how a trial is to be judged; its map, which shows the outcome, is drawn again when it is wanted.

    What was judged first stays in the journal, and is what the strategy went on from.

    Args:
        run: the run folder.
        writer: what has its journal open.
        trial_id: a trial that counts.
        right: how it is to be judged; ``by`` names the person.
        reason: why.

    Raises:
        ConfigurationError: nobody is named, there is no reason, no such trial, it cannot be scored anew, or the run
            folder is that of one policy of a blind session, which is written from the session's.
        JournalError: the journal cannot be read.
        DiskError: the journal cannot be written.
    """

    def refused(key: str, got: str, expected: str) -> ConfigurationError:
        return ConfigurationError(str(run.path), key, got, expected)

    if not right.by.strip():
        raise refused("by", right.by, "the name of who corrects a judgement")
    if not reason.strip():
        raise refused("reason", reason, "why a judgement is corrected")
    if not 0.0 <= right.progress <= 1.0:
        raise refused("progress", str(right.progress), "a number from 0 to 1")
    session = RunFolder(run.path.parent.parent)
    if run.path.parent == session.policies and session.journal.is_file():
        expected = f"the run folder of the blind session, {session.path}, from which this one is written"
        raise refused("run", run.name, expected)
    finished = {e.trial.trial_id: e for e in History.of(read_journal(run.journal).events).finished}
    if trial_id not in finished:
        raise ConfigurationError.unknown(str(run.path), "trial", trial_id, finished, "trial that counts")
    bag = finished[trial_id].recording.bag
    if not bag:
        raise refused("trial", trial_id, "a recorded trial: its scores are computed anew from its bag")
    try:
        result = with_judgement(run.path / bag, right)
    except BagError as error:
        raise refused("trial", trial_id, f"a trial whose scores can be computed anew: {error}") from None
    correction = TrialCorrected(trial_id, right, reason.strip(), result, time.time())
    writer.append(correction)
    run.map(trial_id).unlink(missing_ok=True)
    return correction
