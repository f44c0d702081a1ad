"""vla-eval's aggregate: `<benchmark>_aggregate.json`, which `vla-eval export` (once `merge`) writes."""

from __future__ import annotations

from itertools import chain
from typing import Any

from robocontrast_ros.analysis.foreign.files import checked, each, json_of, read_json, score_of, success_of, taken
from robocontrast_ros.analysis.foreign.outcomes import Outcome, ResultSet, outcome
from robocontrast_ros.configuration import ConfigurationError


class VlaEval:
    """Trials pair by task and episode; an infrastructure error, which the file counts as a failure, is void."""

    description = "vla-eval's <benchmark>_aggregate.json"

    def matches(self, source: str) -> bool:
        """Return whether it has the benchmark's tasks."""
        content = json_of(source)
        return isinstance(content, dict) and isinstance(content.get("tasks"), list) and "benchmark" in content

    def read(self, source: str) -> ResultSet:
        """Return the trials; one shard of several, and a rate that disagrees with them, are refused."""
        content = read_json(source)
        shard = taken(source, "", content, "shard", (dict, type(None)), None) or {}
        if shard.get("total", 1) != 1:
            cure = "Merge all shards into one file by `vla-eval export` (`vla-eval merge` in versions before 0.8)."
            raise ConfigurationError(source, "shard", shard, "the results of a whole run", cure)
        rows = list(chain(*each(source, "tasks", content["tasks"], _task)))
        checked(source, "", content, rows)
        partial = (f"{source} is marked `partial`: its run did not end.",) if content.get("partial") else ()
        return ResultSet(tuple(rows), partial)


def _task(source: str, where: str, task: Any) -> list[Outcome]:
    name, episodes = taken(source, where, task, "task", str), taken(source, where, task, "episodes", list)
    rows = each(source, f"{where}.episodes", episodes, lambda _, place, one: _episode(source, place, one, name))
    return checked(source, where, task, rows)


def _episode(source: str, where: str, episode: Any, task: str) -> Outcome:
    number = str(taken(source, where, episode, "episode_id", (int, str)))
    index = taken(source, where, episode, "task_idx", (int, type(None)), None)
    metrics = taken(source, where, episode, "metrics", dict, {})
    return outcome(
        task=task if index is None else f"{task} ({index})",
        instance=number,
        success=success_of(source, f"{where}.metrics.success", metrics.get("success")),
        score=score_of(metrics.get("score")),
        void_reason=str(episode.get("failure_reason") or ""),
    )
