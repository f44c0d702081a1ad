"""Small result files of other tools."""

from __future__ import annotations

import json
from pathlib import Path


def lerobot(file: Path, tasks: dict[tuple[str, int], list[bool]], **overall) -> str:
    """Write the layout of 0.6; with ``overall`` in place of the right rates."""
    rows = [
        {
            "task_group": group,
            "task_id": number,
            "metrics": {
                "sum_rewards": [float(s) for s in successes],
                "max_rewards": [float(s) for s in successes],
                "successes": successes,
                "video_paths": [],
            },
        }
        for (group, number), successes in tasks.items()
    ]
    everything = [success for successes in tasks.values() for success in successes]
    rate = 100.0 * sum(everything) / len(everything) if everything else float("nan")
    content = {
        "per_task": rows,
        "per_group": {},
        "overall": {"pc_success": rate, "n_episodes": len(everything), "eval_s": 9.1, **overall},
        "safety_costs": {"surplus": 1},
    }
    return write(file, content)


def vla_eval(file: Path, episodes: list[dict], **more) -> str:
    """Write an aggregate of one task."""
    return write(file, {"benchmark": "LIBERO", "tasks": [{"task": "open drawer", "episodes": episodes}], **more})


def vla_episode(number: int, success: object, **more) -> dict:
    return {"episode_id": number, "metrics": {"success": success}, "steps": 88, "task_idx": 0, **more}


def robolab(file: Path, successes: list[bool], policy: str = "pi05", **more) -> str:
    """Write a line an episode."""
    rows = [
        {"env_name": "BananaInBowl", "run": 0, "episode": i, "policy": policy, "success": s, "score": 0.5, **more}
        for i, s in enumerate(successes)
    ]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(file)


def table(file: Path, *lines: str) -> str:
    """Write a CSV file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(lines) + "\n")
    return str(file)


def write(file: Path, content: object) -> str:
    """Write JSON as Python does, with NaN."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content, indent=2))
    return str(file)
