"""The same session a second time, and what is different then."""

from __future__ import annotations

import shutil
from dataclasses import replace

from equal_bags import differences
from session_runs import finished

from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.sessions.fast_mode import open_bench
from robocontrast_ros.sessions.loop import run_session
from robocontrast_ros.sessions.recording import trial_recorder
from robocontrast_ros.sessions.resolving import resolve


def recorded_fast(run):
    """Run and record the session of a run in one process, into another run folder of the same name; return that."""
    folder = run.parent.parent / "fast" / run.name
    shutil.copytree(run / "parameters", folder / "parameters")
    again = RunFolder.open(folder)
    session = resolve(again.session_file)
    bench = open_bench(session, recorder=trial_recorder(session, again))
    run_session(session.evaluation(), bench, again.journal)
    bench.close()
    return folder


def unequal(run, other, number=None):
    """Return in what recordings of two runs with the same trials, or of the first ones, differ, log times aside."""
    found = []
    for event, same in zip(finished(run)[:number], finished(other)[:number], strict=True):
        found += differences(run / event.recording.bag, other / same.recording.bag)
        # The bag of a later attempt has another name.
        recordings = [replace(each.recording, bag="") for each in (event, same)]
        found += [] if recordings[0] == recordings[1] else [f"{event.recording}, {same.recording}"]
    return found
