"""How a session ends that does not come to its end: signals, deaths, a full disk; and what keeps two of them apart."""

from __future__ import annotations

import os
import pty
import shutil
import signal
import subprocess
import sys
import termios
import time
from dataclasses import replace
from fcntl import ioctl

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from session_runs import COMMAND, SUPPORT, Workplace, events_of, finish, finished, node_pids, wait_until
from small_disks import NotAllowed, small_disk

from robocontrast_ros.cli.processes import node_environment
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.graph import ros_domain as domains
from robocontrast_ros.graph.ros_domain import Domain, GraphProbe
from robocontrast_ros.runs.events import (
    ProcessDied,
    SessionFinished,
    SessionInterrupted,
    TrialStarted,
    to_line,
)


@pytest.fixture
def place(tmp_path):
    return Workplace(tmp_path)


@pytest.fixture
def session(place):
    return place.session(policy="random", test_set={"size": 40}, task=place.short_task(60))


@pytest.fixture
def disk(tmp_path):
    try:
        with small_disk(tmp_path / "disk", 24) as small:
            yield small
    except NotAllowed as reason:
        pytest.skip(str(reason))


def begun(place):
    """Wait until a session's first trial runs, and return its run folder."""
    run = wait_until(lambda: place.runs and place.runs[0], "a run folder")
    wait_until(lambda: any(isinstance(e, TrialStarted) for e in events_of(run)), "the first trial")
    return run


@pytest.mark.parametrize("how", ["--graph", "--fast"])
def test_sigterm_ends_a_session_in_order_however_often_it_comes(place, session, how):
    # Under load the first trial of a fast session could be the last.
    process = place.begin("evaluate", session, how, "--size", "200" if how == "--fast" else "40")
    run = begun(place)
    for _ in range(3):
        process.send_signal(signal.SIGTERM)
        time.sleep(0.1)
    code, output = finish(process)
    assert code == 143, output
    assert "Traceback" not in output
    assert "SIGTERM: stopping; the current trial is void" in output
    assert f"--resume {run}" in output and f"robocontrast results {run}" in output
    assert isinstance(events_of(run)[-1], SessionInterrupted)
    assert node_pids(run) == {}
    assert not (run / "graph.yaml").exists()


def test_a_terminal_that_is_closed_ends_a_session_in_order(place, session):
    ours, terminal = pty.openpty()

    def in_terminal():
        ioctl(0, termios.TIOCSCTTY, 0)
        # Whoever runs the tests with nohup has it ignored, and the command would heed that.
        signal.signal(signal.SIGHUP, signal.SIG_DFL)

    environment = {**os.environ, "PYTHONPATH": str(SUPPORT), "TERM": "xterm"}
    process = subprocess.Popen(
        [*COMMAND, "evaluate", str(session)],
        cwd=place.folder,
        env=environment,
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
        preexec_fn=in_terminal,
    )
    os.close(terminal)
    read = []

    def shown():
        read.append(os.read(ours, 65536))
        return place.runs

    run = wait_until(shown, "a run folder")[0]
    wait_until(lambda: shown() and any(isinstance(e, TrialStarted) for e in events_of(run)), "the first trial")
    os.close(ours)
    assert process.wait(timeout=120) == 129, b"".join(read)
    assert isinstance(events_of(run)[-1], SessionInterrupted)
    assert node_pids(run) == {}


def test_a_running_session_keeps_its_domain_and_its_folder_and_the_death_of_its_leader_is_told(
    place, session, domain, monkeypatch, tmp_path
):
    # Longer than all that is tried beside it, however slow that is.
    process = place.begin("evaluate", session, "--size", "400")
    try:
        run = begun(place)
        graph = (run / "graph.yaml").read_text()
        manager = node_pids(run)["episode_manager"]

        code, output = place.run("evaluate", session)
        assert code == 2, output
        (line,) = output.strip().splitlines()
        assert f"`ROS_DOMAIN_ID`: got {domain}" in line and f"process {process.pid} runs {run}" in line
        assert "Unset ROS_DOMAIN_ID" in line and "namespace" in line
        assert place.runs == [run], "no folder of a session that was refused"

        # As for who has another /tmp: the lock is not seen, the graph is.
        environment = node_environment(domain)
        assert GraphProbe(environment, "").found() == ("/episode_manager",)
        assert GraphProbe(environment, "robot1").found() == ()
        monkeypatch.setattr(domains, "_lock_file", lambda number, namespace: tmp_path / f"{number}.lock")
        with Domain() as other:
            other.start_probe(environment)
            with pytest.raises(ConfigurationError, match="'/episode_manager' is visible there"):
                other.confirm()
        monkeypatch.delenv("ROS_DOMAIN_ID")
        monkeypatch.setattr(domains, "DOMAINS", range(domain, 101))
        with Domain() as other:
            assert other.number == domain
            other.start_probe(environment)
            other.confirm()
            assert other.number > domain, "a domain that we chose gives way"
        monkeypatch.setenv("ROS_DOMAIN_ID", str(domain))

        code, output = place.run("evaluate", "--resume", run)
        assert code == 2, output
        assert output.strip() == (
            f"error: {run}: process {manager} is running this session. Wait for it, or end it first."
        )
        main = "from robocontrast_ros.nodes.episode_manager_node import main; main()"
        file = str(run / "parameters" / "nodes" / "episode_manager.yaml")
        second = subprocess.run(
            [sys.executable, "-c", main, "--ros-args", "--params-file", file],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert second.returncode == 2, second.stderr
        assert "[FATAL]" in second.stderr and "[episode_manager]: " in second.stderr
        assert f"{run}: process {manager} is running this session" in second.stderr
        assert (run / "graph.yaml").read_text() == graph

        os.kill(manager, signal.SIGKILL)
    finally:
        code, output = finish(process)
    assert code == 3, output
    assert "error: process 'episode_manager' was killed by SIGKILL" in output
    assert f"--resume {run}" in output and "Traceback" not in output
    assert isinstance(events_of(run)[-1], ProcessDied) and events_of(run)[-1].process == "episode_manager"
    assert node_pids(run) == {}


def test_a_run_folder_that_is_moved_ends_its_session_with_one_line_and_the_session_goes_on_there(place):
    session = place.session(policy="random", test_set={"size": 3}, task=place.short_task(30))
    process = place.begin("evaluate", session)
    run = begun(place)
    wait_until(lambda: list(run.glob("bags/*/*.mcap")), "the first bag")
    moved = run.rename(place.folder / "moved")
    code, output = finish(process)
    assert code == 3, output
    assert f"error: {run}: the run folder was moved while its session ran, to {moved}." in output
    assert f"--resume {moved}" in output and "Traceback" not in output
    assert not run.exists() or [bag.name for bag in run.glob("bags/*")] == [], "nothing new at the old place"
    assert isinstance(events_of(moved)[-1], SessionInterrupted)
    code, output = place.run("evaluate", "--resume", moved)
    assert code == 0, output
    assert len(finished(moved)) == 3 and all((moved / e.recording.bag).is_dir() for e in finished(moved))


@pytest.mark.parametrize("how", ["--graph", "--fast"])
def test_a_full_disk_is_one_line_and_the_session_goes_on_when_there_is_room(place, disk, how):
    place.folder = disk.folder
    session = place.session(policy="random", test_set={"size": 3}, task=place.short_task(30))
    size = "300" if how == "--fast" else "3"
    process = place.begin("evaluate", session, how, "--size", size)
    run = begun(place)
    disk.fill()
    code, output = finish(process)
    assert code == 3, output
    (line,) = [line for line in output.splitlines() if line.startswith("error: ") and "full" in line][:1]
    assert str(run) in line and "The disk is full: free some space" in line
    assert "Traceback" not in output and f"--resume {run}" in output
    assert node_pids(run) == {}
    code, output = place.run("results", run)
    assert code == 2 and "Traceback" not in output, output
    assert output.startswith("error: ") and "The disk is full" in output
    disk.free()
    if how == "--fast":
        return
    done = len(finished(run))
    code, output = place.run("evaluate", "--resume", run)
    assert code == 0, output
    assert isinstance(events_of(run)[-1], SessionFinished) and len(finished(run)) == 3 >= done
    # The same trials as another session: it was begun at another time.
    other = disk.folder / "other"
    shutil.copytree(run, other)
    journal = events_of(other)
    begun_later = replace(journal[0], time=journal[0].time + 1.0)
    (other / "journal.jsonl").write_bytes(b"".join(map(to_line, (begun_later, *journal[1:]))))
    disk.protect()
    bag = run / finished(run)[0].recording.bag
    for command in (
        ["results", run],
        ["report", run],
        ["score", run, "--to", run / "scores"],
        ["picture", bag, "--to", run / "trial.png"],
        ["compare", run, other, "--to", run / "both.html"],
        ["evaluate", "--resume", run],
        ["evaluate", session, "--output", disk.folder / "others"],
    ):
        code, output = place.run(*command)
        assert code == 2 and "Traceback" not in output, output
        assert sum(line.startswith("error: ") for line in output.splitlines()) == 1
        assert "Read-only file system" in output, output
