"""What a running session shows from its journal."""

from __future__ import annotations

import io
import math

from rich.console import Console

from robocontrast_ros.cli.live import LiveView
from robocontrast_ros.runs.events import Paused, Resumed, SessionStarted, TrialSkipped, to_line


def shown(folder, *events) -> list[str]:
    """Return the lines that are shown when events come."""
    console = Console(file=io.StringIO(), width=60)
    journal = folder / "journal.jsonl"
    with LiveView(console, journal, 1, math.inf, "m"):
        journal.write_bytes(b"".join(map(to_line, events)))
    return [line.strip() for line in console.file.getvalue().splitlines()]


def test_why_a_session_waits_is_shown_and_then_who_released_the_robot(tmp_path):
    assert shown(tmp_path, Paused(1.0, "smoke [red]"), Resumed(False, 2.0, "Ada [Lovelace]")) == [
        "the session waits: smoke [red]",
        "released by Ada [Lovelace]: the session goes on",
    ]


def test_a_pause_between_trials_that_somebody_asked_for_is_not_shown(tmp_path):
    assert shown(tmp_path, Paused(1.0), Resumed(False, 2.0), Resumed(True, 3.0)) == []


def test_columns_stand_below_one_another_also_with_long_names_of_perturbations(tmp_path):
    started = SessionStarted("s", 1, {}, {}, "", "m", 1.0, 0.0, symbols={"my_own_one": "ΔX", "LB1": "ΔLB1"})
    lines = shown(tmp_path, started, *(TrialSkipped("x1", name, "why", 0.0) for name in ("LB1", "my_own_one")))
    assert len(lines) == 2 and len({line.index("skipped") for line in lines}) == 1
