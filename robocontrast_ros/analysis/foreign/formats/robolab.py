"""RoboLab's `episode_results.jsonl`, and the list `episode_results.json` of older versions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from robocontrast_ros.analysis.foreign.files import each, json_of, parse_json, read_lines, score_of, success_of, taken
from robocontrast_ros.analysis.foreign.outcomes import Outcome, ResultSet, outcome

UNPROVEN = "RoboLab: pairs have the same environment and episode number; the file has no seed; scene not proven."


class RoboLab:
    """Trials pair by environment, kind of instruction and episode."""

    description = "RoboLab's episode_results.jsonl, or .json"

    def matches(self, source: str) -> bool:
        """Return whether its rows have RoboLab's keys."""
        if source.lower().endswith(".jsonl") and Path(source).is_file():
            row = next((parse_json(line, source, n) for n, line in read_lines(source)), None)
        else:
            content = json_of(source)
            row = content[0] if isinstance(content, list) and content else None
        return isinstance(row, dict) and {"env_name", "episode"} <= row.keys()

    def read(self, source: str) -> ResultSet:
        """Return the trials."""
        if source.lower().endswith(".jsonl"):
            rows = [_row(source, f"line {n}", parse_json(line, source, n)) for n, line in read_lines(source)]
        else:
            rows = each(source, "", json_of(source), _row)
        return ResultSet(tuple(rows), (UNPROVEN,))


def _row(source: str, where: str, row: Any) -> Outcome:
    name = taken(source, where, row, "env_name", str)
    words = taken(source, where, row, "instruction_type", (str, type(None)), None)
    return outcome(
        policy=taken(source, where, row, "policy", (str, type(None)), None) or "",
        task=f"{name}, {words}" if words else name,
        instance=str(taken(source, where, row, "episode", int)),
        success=success_of(source, f"{where}.success", taken(source, where, row, "success", object)),
        score=score_of(row.get("score")),
    )
