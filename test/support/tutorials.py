"""A tutorial's files and commands, as they stand, in an empty folder; at a real robot in an emulated laboratory."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs").glob("tutorial_*.md"))
FILE = re.compile(r"^```\w+\n# (\S+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def needs_robot(page: Path) -> bool:
    """Return whether sessions of a page are at a real robot, on the wall clock."""
    return "pacing: wall_clock" in page.read_text(encoding="utf-8")


def write_files(page: Path, folder: Path, changes: dict[str, object] | None = None) -> list[Path]:
    """Write the files of a page; return the sessions at a real robot, in which ``changes`` replace keys."""
    at_robot = []
    for name, text in FILE.findall(page.read_text(encoding="utf-8")):
        file = folder / name
        if "pacing: wall_clock" in text:
            at_robot.append(file)
            text = yaml.safe_dump(yaml.safe_load(text) | (changes or {}))
        file.write_text(text, encoding="utf-8")
    return at_robot


def commands_of(page: Path) -> list[str]:
    """Return the commands of a page, in their order; one instance runs as two do."""
    blocks = CONSOLE.findall(page.read_text(encoding="utf-8"))
    lines = [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]
    assert lines
    return [line.replace("--size 2", "--size 1") for line in lines]


def run_commands(lines: list[str], folder: Path, environment: dict[str, str] | None = None) -> None:
    """Run commands, one after the other; a report of a run is there afterwards."""
    # A comparison that decides nothing has an exit code of its own.
    script = "\n".join(f"{line} || [ $? = 3 ] || exit 1" for line in lines)
    path = os.pathsep.join((os.path.dirname(sys.executable), os.environ["PATH"]))
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env={**os.environ, **(environment or {}), "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert "Traceback" not in done.stderr
    assert list(folder.glob("runs/*/report.html"))
