"""A session that is paused, gets another policy, and ends before its end: whatever ends it, it goes on as without."""

from __future__ import annotations

import os
import pty
import shutil
import signal
import subprocess
import sys
import termios
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from fcntl import ioctl

import pytest
import yaml

pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from robocontrast_ros.msg import SessionStatus
from robocontrast_ros.srv import PauseSession, ResumeSession, StartSession, SwapPolicy
from session_runs import ALONE, SUPPORT, Workplace, events_of, finish, finished, node_pids, wait_until
from small_disks import NotAllowed, small_disk
from spinning import spun_node
from typer.testing import CliRunner

from robocontrast_ros.analysis.data.run_record import RunRecord
from robocontrast_ros.analysis.data.trials import trials_table
from robocontrast_ros.cli.main import app
from robocontrast_ros.cli.processes import node_environment
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain import Fault, Outcome
from robocontrast_ros.graph import ros_domain as domains
from robocontrast_ros.graph.ros_domain import Domain, GraphProbe
from robocontrast_ros.nodes.runtime.channel import DiscoveryProbe, call, wait_for
from robocontrast_ros.nodes.runtime.qos import LATCHED
from robocontrast_ros.runs.events import (
    Paused,
    PolicyLoaded,
    PolicyRefused,
    ProcessDied,
    Resumed,
    SessionFinished,
    SessionInterrupted,
    TrialStarted,
    TrialVoid,
    to_line,
)
from robocontrast_ros.sessions.fast_mode import open_bench
from robocontrast_ros.sessions.loop import run_session
from robocontrast_ros.sessions.resolving import resolve
from robocontrast_ros.system.forking import ForkServer

MANAGER = "from robocontrast_ros.nodes.episode_manager_node import main; main()"
NODES = {"simulator", "policy_server", "container", "recorder", "episode_manager"}


@pytest.fixture
def place(tmp_path):
    return Workplace(tmp_path)


@pytest.fixture
def disk(tmp_path):
    try:
        with small_disk(tmp_path / "disk", 48) as small:
            yield small
    except NotAllowed as reason:
        pytest.skip(str(reason))


def of(run, kind):
    return [event for event in events_of(run) if isinstance(event, kind)]


def check_as_without(run, number, session, folder):
    """Assert that the first trials of a run are those of the same session in one process, which nothing interrupts."""
    resolved = resolve(session)
    bench = open_bench(resolved)
    run_session(resolved.evaluation(), bench, folder / "journal.jsonl")
    bench.close()
    for event, same in zip(finished(run)[:number], finished(folder), strict=False):
        # As text NaN equals NaN.
        one, other = (repr((e.trial, e.result, e.observed, e.delivered)) for e in (event, same))
        assert one == other, "nothing is lost, and nothing is different"
        assert event.cost == same.cost or event.attempt, "what a void attempt moved has to be put back"


def begun(place, *arguments, run=None):
    """Start a session, or resume it, and wait until it begins a trial; return its process and its folder."""
    before = len(of(run, TrialStarted)) if run else 0
    process = place.begin("evaluate", *arguments)
    run = run or wait_until(lambda: place.runs and place.runs[0], "a run folder")
    wait_until(lambda: len(of(run, TrialStarted)) > before or process.poll() is not None, "a trial")
    return process, run


def ended(process, run, code):
    """Wait for the end of a session that can be resumed; return what it printed."""
    found, output = finish(process)
    check_ended(run, found, output, code)
    return output


def check_ended(run, found, output, code):
    assert found == code, output
    assert f"--resume {run}" in output and "Traceback" not in output
    assert node_pids(run) == {}, "no process is left behind"


class Terminal:
    """A session in a terminal of its own."""

    def __init__(self, place, *arguments):
        self._ours, terminal = pty.openpty()

        def in_terminal():
            ioctl(0, termios.TIOCSCTTY, 0)
            # Whoever runs the tests with nohup has it ignored, and the command would heed that.
            signal.signal(signal.SIGHUP, signal.SIG_DFL)

        self.process = subprocess.Popen(
            [*ALONE, "evaluate", *map(str, arguments)],
            cwd=place.folder,
            env={**os.environ, "PYTHONPATH": str(SUPPORT), "TERM": "xterm", "COLUMNS": "500"},
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            start_new_session=True,
            preexec_fn=in_terminal,
        )
        os.close(terminal)
        self._shown = []
        self._closing = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        with suppress(OSError):  # of a terminal whose other end is closed
            while not self._closing.is_set() and (shown := os.read(self._ours, 65536)):
                self._shown.append(shown)

    def type(self, keys):
        os.write(self._ours, keys)

    def close(self):
        """Close the window: what is written from now on is lost."""
        self._closing.set()
        self._reader.join()  # it has something to read soon: the view is drawn again and again
        os.close(self._ours)

    def wait(self):
        """Return the exit code and what was shown."""
        code = self.process.wait(timeout=400)
        self._reader.join(timeout=60)
        return code, b"".join(self._shown).decode(errors="replace")


@contextmanager
def halted_in_turn(run) -> Iterator[None]:
    """Let one node after the other stand still for some time, as on a machine that does other things besides."""
    over = threading.Event()

    def halt():
        while not over.is_set():
            for pid in node_pids(run).values():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGSTOP)
                    over.wait(0.2)
                    os.kill(pid, signal.SIGCONT)

    thread = threading.Thread(target=halt)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextmanager
def standing_still(run) -> Iterator[None]:
    """Let no trial end meanwhile, however long others take on a busy machine: its policy server stands still."""
    pid = node_pids(run)["policy_server"]
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


SIZE = 14
"""Trials of a session that is paused twice, ended and resumed: more than it takes until the last pause."""


def test_a_session_goes_on_after_a_pause_and_control_c_and_each_trial_is_as_without(
    place, domain, monkeypatch, tmp_path
):
    session = place.session(policy="noisy_oracle", test_set={"size": SIZE}, task=place.short_task(40))
    told = []
    services = {"start": StartSession, "pause": PauseSession, "resume": ResumeSession, "swap_policy": SwapPolicy}
    with spun_node("operator") as operator:
        operator.create_subscription(SessionStatus, "session_status", told.append, LATCHED)
        clients = {name: operator.create_client(kind, f"episode_manager/{name}") for name, kind in services.items()}

        def ask(name, **fields):
            wait_for(clients[name], 240.0)
            return call(clients[name], services[name].Request(**fields), 120.0)

        known = DiscoveryProbe(operator, "episode_manager")
        terminal = Terminal(place, session)
        try:
            run = wait_until(lambda: place.runs and place.runs[0], "a run folder")
            wait_until(lambda: of(run, TrialStarted) or terminal.process.poll() is not None, "a trial")
            with standing_still(run):
                known.wait(240.0)
                again = ask("start")
                assert not again.accepted and "started already" in again.detail
                assert not ask("resume").accepted, "it is not paused"
                assert not ask("swap_policy").accepted, "which?"
                assert ask("pause").accepted
            wait_until(lambda: of(run, Paused), "the pause")
            wait_until(lambda: told[-1].state == SessionStatus.PAUSED, "the status")
            beside_it(place, session, terminal.process, run, domain, monkeypatch, tmp_path)
            done = len(finished(run))
            assert ask("resume").accepted
            wait_until(lambda: of(run, Resumed), "the resumption")
            wait_until(lambda: len(finished(run)) > done, "a further trial")
        finally:
            terminal.type(b"\x03")
            code, output = terminal.wait()
        check_ended(run, code, output, 130)
        assert isinstance(events_of(run)[-1], SessionInterrupted) and not (run / "graph.yaml").exists()
        assert {event.fault for event in of(run, TrialVoid)} <= {Fault.ABORTED}

        known = DiscoveryProbe(operator, "episode_manager")
        process, _ = begun(place, "--resume", run, run=run)
        try:
            # Before the trials go on, of which few are left.
            with standing_still(run):
                known.wait(240.0)
            done = len(finished(run))
            with halted_in_turn(run):
                wait_until(lambda: len(finished(run)) > done + 1, "two further trials")
            assert ask("pause").accepted
            wait_until(lambda: len(of(run, Paused)) == 2, "the pause")
            done = len(finished(run))
            swaps(place, run, ask, told)
            assert ask("resume").accepted
        finally:
            code, output = finish(process)
    assert code == 0, output
    assert "Traceback" not in output and node_pids(run) == {} and not (run / "graph.yaml").exists()
    events = events_of(run)
    assert isinstance(events[-1], SessionFinished)
    check_as_without(run, done, session, place.folder)
    loaded = [event.name for event in events if isinstance(event, PolicyLoaded)]
    assert (set(loaded[:-1]), loaded[-1]) == ({"noisy_oracle"}, "seeing")
    trials = finished(run)
    assert {event.observed.image_digest == "" for event in trials[:done]} == {True}
    assert {event.observed.image_digest == "" for event in trials[done:]} == {False}, "it was shown images"
    assert all(event.recording.missing == () for event in trials)
    table = trials_table(RunRecord.of(events))
    counted = table.filter(table["outcome"] != Outcome.VOID.name)
    assert counted["policy"].to_list() == ["noisy_oracle"] * done + ["seeing"] * (SIZE - done)


def beside_it(place, session, process, run, domain, monkeypatch, tmp_path):
    """Try to begin another session in the domain or in the folder of one that runs."""
    graph, manager = (run / "graph.yaml").read_text(), node_pids(run)["episode_manager"]
    code, output = place.run("evaluate", session)
    assert code == 2, output
    (line,) = output.strip().splitlines()
    assert f"`ROS_DOMAIN_ID`: got {domain}" in line and f"process {process.pid} runs {run}" in line
    assert "Unset ROS_DOMAIN_ID" in line and "namespace" in line
    assert place.runs == [run], "no folder of a session that was refused"

    # As for who has another /tmp: the lock is not seen, the graph is.
    environment = node_environment(domain)

    def probe(environment, *arguments, **named):
        """Return a probe that looks longer where there is something to find: it ends when it has."""
        there = environment["ROS_DOMAIN_ID"] == str(domain)
        return GraphProbe(environment, *arguments, duration=25.0 if there else 1.2, **named)

    assert probe(environment, "").found() == ("/episode_manager",)
    assert GraphProbe(environment, "robot1").found() == ()
    with closing(ForkServer(["robocontrast_ros.nodes.graph_probe"], environment)) as server:
        assert probe(environment, "", server=server).found() == ("/episode_manager",)
    with monkeypatch.context() as patched:
        patched.setattr(domains, "_lock_file", lambda number, namespace: tmp_path / f"{number}.lock")
        patched.setattr(domains, "GraphProbe", probe)
        with Domain() as other:
            other.start_probe(environment)
            with pytest.raises(ConfigurationError, match="'/episode_manager' is visible there"):
                other.confirm()
        patched.delenv("ROS_DOMAIN_ID")
        patched.setattr(domains, "DOMAINS", range(domain, 101))
        with Domain() as other:
            assert other.number == domain
            other.start_probe(environment)
            other.confirm()
            assert other.number > domain, "a domain that we chose gives way"

    refused = f"{run}: process {manager} is running this session"
    code, output = place.run("evaluate", "--resume", run)
    assert code == 2 and output.strip() == f"error: {refused}. Wait for it, or end it first."
    file = str(run / "parameters" / "nodes" / "episode_manager.yaml")
    second = subprocess.run(
        [sys.executable, "-c", MANAGER, "--ros-args", "--params-file", file],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert second.returncode == 2, second.stderr
    assert "[FATAL]" in second.stderr and "[episode_manager]: " in second.stderr and refused in second.stderr
    assert (run / "graph.yaml").read_text() == graph


def swaps(place, run, ask, told):
    """Give a session that is paused another policy, after two that it does not take."""

    def policy(name, **content):
        path = place.folder / f"{name}.yaml"
        path.write_text(yaml.safe_dump({"policy": "lifecycle_policies:Warm", "name": name, **content}))
        return str(path)

    assert ask("swap_policy", policy=policy("cold", warming="raise")).accepted
    wait_until(lambda: of(run, PolicyRefused), "the refusal")
    wait_until(lambda: "RuntimeError: no idea" in told[-1].detail, "the status")
    assert (told[-1].state, told[-1].policy) == (SessionStatus.PAUSED, "noisy_oracle")
    code, output = place.run("swap", run, "vln_random")
    assert code == 1, output
    assert "the policy answers in discrete_navigation, robot 'franka' takes" in output
    # A camera that the first policy was not shown, and the rollout did not subscribe to.
    code, output = place.run("swap", run, policy("seeing", cameras=["board"]))
    assert code == 0 and "seeing serves" in output, output
    assert len(of(run, PolicyRefused)) == 2


@pytest.mark.long
def test_a_full_disk_a_moved_folder_a_lost_node_a_closed_terminal_and_signals_to_all_nodes_cost_no_trial(place, disk):
    elsewhere, place.folder = place.folder, disk.folder
    session = place.session(policy="random", test_set={"size": 20}, task=place.short_task(60))

    process, run = begun(place, session)
    disk.fill()
    output = ended(process, run, 3)
    (line,) = [line for line in output.splitlines() if line.startswith("error: ") and "full" in line][:1]
    assert str(run) in line and "The disk is full: free some space" in line
    code, output = place.run("results", run)
    assert code == 2 and "Traceback" not in output, output
    assert output.startswith("error: ") and "The disk is full" in output
    disk.free()

    process, _ = begun(place, "--resume", run, run=run)
    os.kill(node_pids(run)["episode_manager"], signal.SIGKILL)
    output = ended(process, run, 3)
    assert "error: process 'episode_manager' was killed by SIGKILL" in output
    assert isinstance(events_of(run)[-1], ProcessDied) and events_of(run)[-1].process == "episode_manager"

    bags = set(run.glob("bags/*/*.mcap"))
    process, _ = begun(place, "--resume", run, run=run)
    wait_until(lambda: set(run.glob("bags/*/*.mcap")) > bags, "a bag of this part of the session")
    moved = run.rename(disk.folder / "moved")
    output = ended(process, moved, 3)
    assert f"error: {run}: the run folder was moved while its session ran, to {moved}." in output
    assert not run.exists() or [bag.name for bag in run.glob("bags/*")] == [], "nothing new at the old place"
    assert isinstance(events_of(moved)[-1], SessionInterrupted)
    run = moved

    before = len(of(run, TrialStarted))
    terminal = Terminal(place, "--resume", run)
    wait_until(lambda: len(of(run, TrialStarted)) > before or terminal.process.poll() is not None, "a trial")
    terminal.close()
    code, output = terminal.wait()
    assert code == 129, output
    assert isinstance(events_of(run)[-1], SessionInterrupted) and node_pids(run) == {}

    done = len(finished(run))
    process, _ = begun(place, "--resume", run, run=run)
    wait_until(lambda: len(finished(run)) > done or process.poll() is not None, "a trial that is finished")
    pids = node_pids(run)
    assert set(pids) == NODES
    for pid in pids.values():
        os.kill(pid, signal.SIGHUP)
    ended(process, run, 3)
    assert isinstance(events_of(run)[-1], SessionInterrupted)
    faults = {event.fault for event in of(run, TrialVoid)}
    assert faults <= {Fault.ABORTED, Fault.RECORDER_LOST}, faults
    check_as_without(run, len(finished(run)), session, elsewhere)
    assert all((run / event.recording.bag).is_dir() for event in finished(run))
    read_only(disk, run, session)


def read_only(disk, run, session):
    """Assert that each command that writes says in one line that it cannot."""
    # The same trials as another session: it was begun at another time.
    other = disk.folder / "other"
    shutil.copytree(run, other, ignore=shutil.ignore_patterns("bags"))
    journal = events_of(other)
    begun_later = replace(journal[0], time=journal[0].time + 1.0)
    (other / "journal.jsonl").write_bytes(b"".join(map(to_line, (begun_later, *journal[1:]))))
    disk.protect()
    for command in (
        ["results", run],
        ["report", run],
        ["score", run, "--to", run / "scores"],
        ["picture", run / finished(run)[0].recording.bag, "--to", run / "trial.png"],
        ["compare", run, other, "--to", run / "both.html"],
        ["evaluate", "--resume", run],
        ["evaluate", session, "--output", disk.folder / "others"],
    ):
        result = CliRunner().invoke(app, list(map(str, command)))
        assert result.exit_code == 2 and isinstance(result.exception, SystemExit), (command, result.output)
        assert sum(line.startswith("error: ") for line in result.output.splitlines()) == 1, result.output
        assert "Read-only file system" in result.output
