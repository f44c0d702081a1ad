"""How often the perturbations of navigation apply, and what they move, after a success of the trial before.

No robot drives: each perturbation gets the scene that the one before it left, as after a success, in the order L, LB,
S, SB:

    python -m benchmark.navigation_perturbations --instances 50
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Sequence

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmark.navigation_success import CONFIG, PERTURBATIONS
from robocontrast_ros.configuration import resolve_uri
from robocontrast_ros.domain import Perturbed, Scene
from robocontrast_ros.strategies.effort import MetresMoved, Tolerance, setup_moves
from robocontrast_ros.tasks.navigation import VisionLanguageNavigation
from robocontrast_ros.tasks.navigation.arrangements import arranged_scene

Line = list[str | int | float]


def lines(task: VisionLanguageNavigation, families: Sequence[str], instances: int, seed: int) -> list[Line]:
    """Return for each perturbation: symbol, instances it applies to, all instances, metres moved over the former."""
    applied = {perturbation.symbol: [] for perturbation in PERTURBATIONS}
    drawn = [(family, index) for family in families for index in range(instances)]
    for family, index in drawn:
        key = [seed, task.families.index(family), index]
        base = task.sample(np.random.default_rng(key), f"{family}-{index}", family)
        scene = base.scene
        for number, perturbation in enumerate(PERTURBATIONS):
            answer = perturbation.apply(task, base, scene, np.random.default_rng([*key, number]))
            if isinstance(answer, Perturbed):
                applied[perturbation.symbol].append(metres(scene, answer.instance.scene))
                scene = answer.instance.scene
    return [
        [symbol, len(moved), len(drawn), float(np.mean(moved)) if moved else 0.0]
        for symbol, moved in applied.items()
    ]


def between(task: VisionLanguageNavigation, families: Sequence[str]) -> float:
    """Return how far objects are carried from one arrangement to another, on the mean of all pairs [m]."""
    scenes = [arranged_scene(task.parameters, family) for family in families]
    return float(np.mean([metres(one, other) for one, other in itertools.permutations(scenes, 2)]))


def metres(before: Scene, after: Scene) -> float:
    """Return how far objects are carried from one scene to another [m]."""
    return float(MetresMoved().cost(setup_moves(before, after, Tolerance(0.0, 0.0))))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--instances", type=int, default=50, help="generated instances")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    asked = parser.parse_args()
    task = VisionLanguageNavigation.from_file(resolve_uri(f"{CONFIG}/tasks/studio_apartment.yaml"))
    arrangements = [family for family in task.families if family != "generated"]
    found = {
        "arrangements": lines(task, arrangements, 1, asked.seed),
        "generated": lines(task, ["generated"], asked.instances, asked.seed),
    }
    if asked.json:
        print(json.dumps({"seed": asked.seed, "between": between(task, arrangements), **found}))
        return
    for name, rows in found.items():
        table = Table("", "applies", "of", "moved [m]", title=name)
        for symbol, number, of, moved in rows:
            table.add_row(str(symbol), str(number), str(of), f"{moved:.2f}")
        Console().print(table)
    print(f"from one arrangement to another {between(task, arrangements):.1f} m")


if __name__ == "__main__":
    main()
