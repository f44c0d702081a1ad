"""The package of docs/extending*.md, as files and installed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

PAGES = sorted((Path(__file__).resolve().parents[2] / "docs").glob("extending*.md"))
BLOCK = re.compile(r"^```\w+\n(# (\S+)\n.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks_of(page: Path) -> dict[str, str]:
    """Return name of a file -> its text, of all files that a page has."""
    found = [(name, text) for text, name in BLOCK.findall(page.read_text(encoding="utf-8"))]
    assert len({name for name, _ in found}) == len(found), page
    return dict(found)


def blocks() -> dict[str, str]:
    """Return name of a file -> its text, as a reader of all pages has them."""
    found: dict[str, str] = {}
    for page in PAGES:
        own = blocks_of(page)
        assert not found.keys() & own.keys(), page
        found |= own
    return found


def install(project: Path, site: Path) -> dict[str, str]:
    """Write the project, install it into an empty folder, and return the variables of an environment that has it."""
    for name, text in blocks().items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text, encoding="utf-8")
    offline = ("--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check")
    command = (sys.executable, "-m", "pip", "install", *offline, "--target", str(site), ".")
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return {**os.environ, "PYTHONPATH": str(site)}
