"""Count the files of the package that know one thing of each kind: what a further one of its kind has to touch.

    .venv/bin/python -m scripts.spread            # of the working tree
    .venv/bin/python -m scripts.spread COMMIT     # as it was

A file knows a thing that it names as a word, in code or in a comment. CONTRIBUTING.md has the table.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ("robocontrast_ros", "msg", "srv", "action")
EXAMPLES = {
    "key of a session that reaches a node": "answer_time",
    "field of a message": "period_errors",
    "score": "ndtw",
    "table of results": "set_ups_block",
    "perturbation": "gobbledygook_words",
    "feature of a backend": "moves_cameras",
    "kind of robot": "differential_drive",
}
"""What is added -> one that is there."""


def files_with(word: str, commit: str = "") -> list[str]:
    """Return the files of the package that have a word, in a commit or, without one, in the working tree."""
    at = [commit] if commit else ["--untracked"]
    command = ["git", "grep", "-l", "-w", "-F", "-I", "-e", word, *at, "--", *PACKAGE]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if found.returncode > 1:
        raise SystemExit(found.stderr)
    return found.stdout.splitlines()


def table(commit: str = "") -> str:
    """Return the numbers of files as a table in Markdown."""
    rows = (f"| {what} | `{word}` | {len(files_with(word, commit))} |" for what, word in EXAMPLES.items())
    return "\n".join(["| a further | as | files |", "|---|---|---|", *rows])


if __name__ == "__main__":
    print(table(*sys.argv[1:2]))
