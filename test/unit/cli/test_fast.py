"""`robocontrast evaluate --fast`: a session in one process, as a user runs it."""

from __future__ import annotations

import shutil
import signal

import pytest
from session_runs import Workplace, events_of, finish, scores, wait_for_line, wait_until
from small_disks import NotAllowed, small_disk
from typer.testing import CliRunner

from robocontrast_ros.cli import fast
from robocontrast_ros.cli.main import app
from robocontrast_ros.runs.events import SessionFinished, SessionInterrupted, TrialStarted
from robocontrast_ros.runs.journal import read_journal
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.sessions.resolving import resolve


@pytest.fixture
def place(tmp_path):
    return Workplace(tmp_path, results=True)


CONTRAST = {"strategy": {"name": "contrast_set", "perturbations": ["LB1", "SB2"]}}


def ended(run, resume, monkeypatch):
    """Run a session in this process; return its exit code."""
    monkeypatch.setattr("sys.argv", fast.command(run, resume)[2:])
    with pytest.raises(SystemExit) as end:
        fast.main()
    return end.value.code


def started(run):
    return sum(isinstance(event, TrialStarted) for event in events_of(run))


@pytest.fixture
def disk(tmp_path):
    try:
        with small_disk(tmp_path / "disk", 24) as small:
            yield small
    except NotAllowed as reason:
        pytest.skip(str(reason))


def test_a_full_disk_is_one_line(place, disk):
    place.folder = disk.folder
    session = place.session(policy="random", test_set={"size": 40}, task=place.short_task(30), fast=True)
    process = place.begin("evaluate", session)
    run = wait_until(lambda: place.runs and place.runs[0], "a run folder")
    wait_until(lambda: started(run), "the first trial")
    disk.fill()
    code, output = finish(process)
    assert code == 3, output
    (line,) = [line for line in output.splitlines() if line.startswith("error: ") and "full" in line][:1]
    assert str(run) in line and "The disk is full: free some space" in line
    assert "Traceback" not in output and f"--resume {run}" in output


@pytest.fixture
def _signals():
    """Leave Control-C as it was: the session's process takes it for itself."""
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_signals")
def test_signals_end_a_fast_session_in_order_however_often_they_come_and_it_goes_on_as_without(place, monkeypatch):
    session = place.session(
        **CONTRAST,
        policy="noisy_oracle",
        task=place.short_task(100),
        test_set={"size": 5},
        cameras=[],
        fast=True,
        recording="none",
    )

    def stopped(number, times, *words):
        """Begin the session, or go on with it, and send it a signal in its third trial so many times."""
        before = len(place.runs) and started(place.runs[0])
        process = place.begin("evaluate", *words)
        try:
            run = wait_until(lambda: place.runs and place.runs[0], "a run folder")
            wait_until(lambda: started(run) >= before + 3, "the third trial")
            process.send_signal(number)
            said = wait_for_line(process, f"{number.name}: ")
            for _ in range(times - 1):
                process.send_signal(number)
        finally:
            code, output = finish(process)
        assert code == 128 + number, output
        assert said == f"{number.name}: stopping; the current trial is void …\n"
        assert "Traceback" not in output and f"--resume {run}" in output
        assert isinstance(events_of(run)[-1], SessionInterrupted)
        return run, output

    run, output = stopped(signal.SIGTERM, 3, session)
    assert f"robocontrast results {run}" in output and not (run / "figures").exists()
    # Once: a second one would end the drawing of the results.
    stopped(signal.SIGINT, 1, "--resume", run)
    assert list((run / "bags").iterdir()) == [] and (run / "trials.parquet").exists()
    assert (run / "figures" / "overview.png").exists()
    assert ended(RunFolder.open(run), True, monkeypatch) == 0
    assert isinstance(events_of(run)[-1], SessionFinished)

    whole = resolve(session).new_run(0.0)
    assert ended(whole, False, monkeypatch) == 0
    assert scores(run) == scores(whole.path), "nothing is lost, and nothing is different"

    scored = CliRunner().invoke(app, ["score", str(run)])
    assert scored.exit_code == 1 and "none of them recorded: there is no bag to score" in scored.output
    swapped = CliRunner().invoke(app, ["swap", str(run), "oracle"])
    assert swapped.exit_code == 2 and "a fast one keeps its policy" in swapped.output


@pytest.mark.usefixtures("_signals")
@pytest.mark.parametrize("how", [pytest.param("moved", marks=pytest.mark.long), "deleted"])
def test_a_run_folder_that_is_gone_ends_its_session_with_one_line_and_every_result_is_kept(place, monkeypatch, how):
    session = place.session(policy="noisy_oracle", test_set={"size": 5}, fast=True, task=place.short_task(60))
    place.environment["TMPDIR"] = str(place.folder)
    process = place.begin("evaluate", session)
    try:
        run = wait_until(lambda: place.runs and place.runs[0], "a run folder")
        wait_until(lambda: any(isinstance(e, TrialStarted) for e in events_of(run)), "the first trial")
        moved = place.folder / "a [b]c"
        if how == "moved":
            run.rename(moved)
        else:
            # The journal first: until it is gone, the session may put new bags into the folder.
            (run / "journal.jsonl").unlink()
            shutil.rmtree(run, ignore_errors=True)
    finally:
        code, output = finish(process)
    assert code == 3 and "Traceback" not in output, output
    (line,) = [line for line in output.splitlines() if "error" in line]
    assert line.startswith(f"error: {run}: the run folder was {how}"), line
    if how == "deleted":
        (journal,) = place.folder.glob("*/journal.jsonl")
        assert str(journal) in line and isinstance(read_journal(journal).end, SessionInterrupted)
        assert "No trial was started" not in output and "--resume" not in output
        return
    assert f"evaluate --resume '{moved}'" in output and f"run folder: {moved}" in output
    assert ended(RunFolder.open(moved), True, monkeypatch) == 0
    whole = resolve(session).new_run(0.0)
    assert ended(whole, False, monkeypatch) == 0
    assert scores(moved) == scores(whole.path), "nothing is lost, and nothing is different"


@pytest.mark.usefixtures("_signals")
def test_the_oracle_is_told_from_random_moves_after_six_of_eight_pairs(place, monkeypatch):
    # The betting test, which knows no most number of pairs, takes all eight.
    def run_of(**changes):
        session = place.session(
            **{"test_set": {"size": 8}, "cameras": [], "fast": True, "recording": "none", **changes}
        )
        run = resolve(session).new_run(0.0)
        assert ended(run, False, monkeypatch) == 0
        return run

    reference = run_of(name="reference", task=place.short_task(30), policy="random")
    question = {"compare_with": str(reference.path), "score": "success"}
    end = events_of(run_of(task=place.short_task(30), stop_early=question).path)[-1]
    found = end.sequential
    assert (end.reason, found.instances, found.pairs) == ("decided", 6, 8)
    assert (found.here_alone, found.there_alone) == (6, 0)
    assert found.low <= 0.0, "the confidence sequence is not yet as sure"


def test_a_policy_elsewhere_is_refused_before_anything_starts(place):
    refused = CliRunner().invoke(
        app, ["evaluate", str(place.session(policy="", policy_server={"external": True})), "--fast"]
    )
    assert refused.exit_code == 2 and place.runs == []
    (line,) = refused.output.splitlines()
    assert "`fast`" in line and "needs the graph" in line


@pytest.mark.usefixtures("_signals")
def test_a_mistake_that_only_the_session_s_process_finds_is_its_last_line(place, monkeypatch, capsys):
    run = resolve(place.session(fast=True)).new_run(0.0)
    run.session_file.write_text("name: other\n")
    assert ended(run, False, monkeypatch) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ") and "session.yaml" in line
