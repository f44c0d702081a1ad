"""LeRobot's `eval_info.json`: the layouts of 0.3 (`per_episode`), and of 0.6 and 0.7 (`per_task`)."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from robocontrast_ros.analysis.foreign.files import checked, each, json_of, read_json, score_of, success_of, taken
from robocontrast_ros.analysis.foreign.outcomes import Outcome, ResultSet, outcome

UNPROVEN = "LeRobot: pairs have the same task and episode number: the same seed, if --seed was; scene not proven."


class LeRobot:
    """Trials pair by task and episode number; the policy is the file's folder."""

    description = "LeRobot's eval_info.json"

    def matches(self, source: str) -> bool:
        """Return whether it has the lists of one of the layouts."""
        content = json_of(source)
        return isinstance(content, dict) and ("per_task" in content or "per_episode" in content)

    def read(self, source: str) -> ResultSet:
        """Return the trials; a rate that disagrees with them is refused."""
        content = read_json(source)
        if "per_task" in content:
            rows = list(chain(*each(source, "per_task", taken(source, "", content, "per_task", list), _task)))
            for suite, stated in taken(source, "", content, "per_group", dict, {}).items():
                own = [row for row in rows if str(row.task).rpartition("/")[0] == suite]
                checked(source, f"per_group.{suite}", stated, own, 100.0)
            checked(source, "overall", content.get("overall"), rows, 100.0)
        else:
            rows = each(source, "per_episode", taken(source, "", content, "per_episode", list), _episode)
            checked(source, "aggregated", content.get("aggregated"), rows, 100.0)
        policy = Path(source).resolve().parent.name
        graded = all(row.score is not None for row in rows)  # rewards beyond 1 are no partial credit
        rows = [replace(row, policy=policy, score=row.score if graded else None) for row in rows]
        return ResultSet(tuple(rows), (UNPROVEN,))


def _task(source: str, where: str, task: Any) -> list[Outcome]:
    name = f"{taken(source, where, task, 'task_group', str)}/{taken(source, where, task, 'task_id', int)}"
    metrics = taken(source, where, task, "metrics", dict)
    marks = taken(source, f"{where}.metrics", metrics, "successes", list)
    successes, rewards = each(source, f"{where}.metrics.successes", marks, success_of), metrics.get("max_rewards")
    scores = rewards if isinstance(rewards, list) and len(rewards) == len(marks) else [None] * len(marks)
    pairs = enumerate(zip(successes, map(score_of, scores), strict=True))
    rows = [outcome(task=name, instance=str(i), success=success, score=score) for i, (success, score) in pairs]
    return checked(source, where, task, rows, 100.0)


def _episode(source: str, where: str, episode: Any) -> Outcome:
    success = success_of(source, f"{where}.success", taken(source, where, episode, "success", object))
    seed = taken(source, where, episode, "seed", (int, type(None)), None)
    instance = taken(source, where, episode, "episode_ix", int) if seed is None else seed
    return outcome(instance=str(instance), seed=seed, success=success, score=score_of(episode.get("max_reward")))
