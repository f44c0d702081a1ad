"""The tutorial's files and commands, as they stand, in an empty folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
FILE = re.compile(r"^```\w+\n# (\S+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.mark.long
@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("tutorial_*.md")), ids=lambda page: page.stem)
def test_a_tutorial_works_as_it_stands(page, tmp_path):
    text = page.read_text()
    for name, content in FILE.findall(text):
        (tmp_path / name).write_text(content)
    lines = [line.removeprefix("$ ") for block in CONSOLE.findall(text) for line in block.splitlines()]
    assert lines
    # A comparison that decides nothing has an exit code of its own.
    script = "\n".join(f"{line} || [ $? = 3 ] || exit 1" for line in lines)
    environment = {**os.environ, "PATH": os.pathsep.join((os.path.dirname(sys.executable), os.environ["PATH"]))}
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert "seeing" in done.stdout and "Traceback" not in done.stderr
    assert list(tmp_path.glob("runs/*/report.html"))
