"""How often ΔL, ΔLB, ΔS and ΔSB apply on the table, how long they take, and what each order of them costs.

The instances of seeds 0, 1, 2, … of each skill, none left out: in their own scenes, and in those that a solved trial
leaves by the plan. Then the contrast sets of the first of them in all orders, if every trial is solved.

    python -m benchmark.tabletop_perturbations                  20 instances of each skill, some minutes
    python -m benchmark.tabletop_perturbations --json           all numbers as one JSON object
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import time
import zlib

import numpy as np
from rich.console import Console
from rich.table import Table

from robocontrast_ros.configuration import load_configured, make_plugin, resolve_uri
from robocontrast_ros.domain import BASE, Perturbed, TestInstance
from robocontrast_ros.episodes.scoring import STANDARD
from robocontrast_ros.strategies.contrast_set import run_contrasts
from robocontrast_ros.strategies.effort import MetresMoved, SecondsToMove, Tolerance, setup_moves
from robocontrast_ros.strategies.prediction import result_of_success
from robocontrast_ros.strategies.protocol import Completed, Proposal, Start, StrategyContext
from robocontrast_ros.studies.memo import RememberingPerturbation
from robocontrast_ros.tasks.tabletop import Tabletop

TASK = "package://robocontrast_ros/config/tasks/tabletop.yaml"
NAMES = ("L", "LB", "S", "SB")
TOLERANCE = Tolerance(0.002, 0.05)


def drawn(task: Tabletop, instances: int) -> list[TestInstance]:
    """Return instances of each skill, in turn."""
    return [
        task.sample(np.random.default_rng(seed), f"{family}_{seed}", family)
        for seed in range(instances)
        for family in task.families
    ]


def generator(*keys: object) -> np.random.Generator:
    """Return the generator of some keys."""
    return np.random.default_rng(zlib.crc32("/".join(map(str, keys)).encode()))


def applied(task: Tabletop, bases: list[TestInstance]) -> dict[str, dict[str, object]]:
    """Return how many of each skill each perturbation applies to, how many keep it, and the time it takes [s]."""
    found: dict[str, dict[str, object]] = {}
    for name in NAMES:
        perturbation = make_plugin("perturbations", name, "benchmark", "")
        own, same, left = (dict.fromkeys(task.families, 0) for _ in range(3))
        seconds = []
        for base in bases:
            began = time.process_time()
            answer = perturbation.apply(task, base, base.scene, generator(base.instance_id, name))
            seconds.append(time.process_time() - began)
            own[base.instruction.family] += isinstance(answer, Perturbed)
            if isinstance(answer, Perturbed) and answer.instance.instruction.family == base.instruction.family:
                same[base.instruction.family] += 1
            end = task.planner.plan(base.instruction, base.scene).final_scene
            after = perturbation.apply(task, base, end, generator(base.instance_id, name, "left"))
            left[base.instruction.family] += isinstance(after, Perturbed)
        found[name] = {
            "own": own,
            "same_skill": same,
            "left": left,
            "seconds": statistics.median(seconds),
            "longest": max(seconds),
        }
    return found


def visits(task: Tabletop, bases: list[TestInstance]) -> list[dict[str, object]]:
    """Return what the perturbed trials of an instance cost in each order, the cheapest first, if all are solved."""
    made = {name: RememberingPerturbation(make_plugin("perturbations", name, "benchmark", "")) for name in NAMES}
    metric = next(score.spec for score in STANDARD if score.spec.name == task.metric)
    found = []
    for order in itertools.permutations(NAMES):
        context = StrategyContext(task, tuple(bases), tuple(made[n] for n in order), 1, generator, metric=metric)
        metres, seconds, back = 0.0, 0.0, dict.fromkeys(NAMES, 0)
        for base in bases:
            steps, answer, scene = run_contrasts(context, base, context.perturbations), None, base.scene
            while True:
                try:
                    step = steps.send(answer)
                except StopIteration:
                    break
                answer = None
                if not isinstance(step, Proposal):
                    continue
                if step.perturbation != BASE:
                    moves = setup_moves(scene, step.instance.scene, TOLERANCE)
                    metres += MetresMoved(task.store).cost(moves)
                    seconds += SecondsToMove(store=task.store).cost(moves)
                    back[step.perturbation] += step.start is Start.GONE_BACK
                answer = Completed(result_of_success(task, step.instance, metric), 0.0)
                scene = answer.result.final_scene
        count = len(bases)
        found.append({"order": list(order), "metres": metres / count, "seconds": seconds / count, "back": back})
    return sorted(found, key=lambda visit: visit["metres"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--instances", type=int, default=20, help="of each skill")
    parser.add_argument("--ordered", type=int, default=4, help="of each skill, of which all orders are tried")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    asked = parser.parse_args()
    if not 0 < asked.ordered <= asked.instances:
        parser.error(f"--ordered: got {asked.ordered}, expected 1 to {asked.instances}, the number of --instances")
    task: Tabletop = load_configured("tasks", resolve_uri(TASK))
    bases = drawn(task, asked.instances)
    ordered = bases[: asked.ordered * len(task.families)]
    values = {
        "instances": asked.instances,
        "ordered": len(ordered),
        "perturbations": applied(task, bases),
        "orders": visits(task, ordered),
    }
    if asked.json:
        # Times differ from machine to machine.
        for row in values["perturbations"].values():
            del row["seconds"], row["longest"]
        print(json.dumps({"seed": list(range(asked.instances)), **values}))
        return
    console = Console()
    table = Table("perturbation", *task.families, "after a solved trial", "median [ms]", "longest [ms]")
    for name, row in values["perturbations"].items():
        times = (f"{1000 * row[key]:.0f}" for key in ("seconds", "longest"))
        share = f"{sum(row['left'].values())} of {len(bases)}"
        table.add_row(name, *(f"{row['own'][f]} of {asked.instances}" for f in task.families), share, *times)
    console.print(table)
    table = Table("order", "m an instance", "s an instance", "back in the instance's own scene")
    for row in values["orders"]:
        back = ", ".join(f"{name} {row['back'][name]}" for name in row["order"])
        table.add_row(", ".join(row["order"]), f"{row['metres']:.2f}", f"{row['seconds']:.0f}", back)
    console.print(table)


if __name__ == "__main__":
    main()
