"""Signals to the command end it in one way, and output that is lost breaks nothing."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
import yaml
from session_runs import COMMAND, wait_until

from robocontrast_ros.cli.signals import Outlasting, Stopped, exit_code, signals_held, signals_raise
from robocontrast_ros.configuration import read_yaml
from robocontrast_ros.configuration.files import known_names


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_raises_what_says_the_exit_code(number, code):
    before = signal.getsignal(number)
    try:
        with pytest.raises(KeyboardInterrupt) as stop, signals_raise():
            os.kill(os.getpid(), number)
    finally:
        for changed in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(changed, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(number, before)
    assert exit_code(stop.value) == code


def test_held_signals_wait_until_somebody_looks_and_only_the_first_counts():
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        with signals_raise(), signals_held() as look:
            look()
            os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGINT)
            with pytest.raises(Stopped) as stop:
                look()
            assert stop.value.signal is signal.SIGTERM
            os.kill(os.getpid(), signal.SIGTERM)
            look()
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def test_a_signal_that_is_ignored_stays_so():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with signals_raise():
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_output_to_a_pipe_that_nobody_reads_is_lost_without_an_error():
    read, write = os.pipe()
    stream = Outlasting(os.fdopen(write, "w"))
    os.close(read)
    for _ in range(3):
        stream.write("x")
        stream.flush()


def simulates(folder, group):
    """Tell whether both processes of a study's pool have loaded what they simulate with."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if os.getpgid(int(process.name)) == group and b"spawn_main" in (process / "cmdline").read_bytes():
                found += [process] * ("libmujoco" in (process / "maps").read_text())
    return len(found) == 2


def trains(folder, group):
    """Tell whether a recipe is being followed."""
    return list(folder.rglob("recipe.yaml"))


def is_alive(group):
    """Tell whether a process of a group is there."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(
    ("command", "number", "works"),
    [
        pytest.param(
            ("study", "two_policies.yaml", "--processes", "2"), signal.SIGTERM, simulates, marks=pytest.mark.long
        ),
        (("train", "film_bc", "--processes", "2"), signal.SIGTERM, trains),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_a_long_command_ends_after_a_signal_without_a_traceback_and_leaves_no_process(tmp_path, command, number, works):
    study = read_yaml(known_names("studies")["language_table_small"])
    # Without the policy whose network each process would load.
    study |= {"name": "two_policies", "policies": ["direction_biased", "oracle"]}
    (tmp_path / "two_policies.yaml").write_text(yaml.safe_dump(study))
    process = subprocess.Popen(
        [*COMMAND, *command],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        wait_until(lambda: works(tmp_path, process.pid) or process.poll() is not None, "its work")
    finally:
        process.send_signal(number)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 128 + number, output
    assert "Traceback" not in output and "stopped" in output
    wait_until(lambda: not is_alive(process.pid), "the end of each process of the command", timeout=5.0)


def test_a_reader_that_leaves_does_not_break_a_command(tmp_path):
    words = " ".join([shlex.quote(sys.executable), "-c", "'from robocontrast_ros.cli.main import app; app()'", "list"])
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{words} | true"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
