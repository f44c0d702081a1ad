"""How far navigation policies get in generated instances and in their perturbations.

World, controller, policy and scores run in one process each, without ROS:

    python -m benchmark.navigation_success vln_modular --instances 40 --processes 2 --output results.jsonl

What the output file holds already is not run again, so that an interrupted run goes on. Intervals are 95 % and take
instances as independent, not trials: Wilson's, with an effective sample size (docs/statistics.md).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmark.jobs import run_jobs, stored
from robocontrast_ros.configuration import resolve_uri
from robocontrast_ros.domain import BASE, Perturbed, Scene, TestInstance, Trial
from robocontrast_ros.policies.serving.runner import PolicyRunner
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.statistics.clusters import cluster_mean
from robocontrast_ros.statistics.estimate import Estimate
from robocontrast_ros.statistics.proportions import wilson
from robocontrast_ros.tasks.navigation import VisionLanguageNavigation
from robocontrast_ros.tasks.navigation.perturbations import MoveGoalOrObstruct, MovePassive, Redirect, Reword
from robocontrast_ros.worlds.in_process import InProcessBench
from robocontrast_ros.worlds.mujoco.rendering import Camera
from robocontrast_ros.worlds.mujoco.world import World

CONFIG = "package://robocontrast_ros/config"
PERTURBATIONS = (Reword(), Redirect(), MovePassive(), MoveGoalOrObstruct())
HEADINGS = ("trials", "progress", "success", "SPL", "nDTW", "collisions", "steps")


@dataclass(frozen=True)
class Job:
    """Trials that one process runs: one instance, and its perturbations unless ``base_only``."""

    policy: str
    family: str
    index: int
    seed: int
    base_only: bool


@dataclass(frozen=True)
class Row:
    """One trial; ``kind`` is ``base`` or the perturbation's symbol."""

    policy: str
    family: str
    index: int
    seed: int
    kind: str
    instruction: str
    progress: float
    success: float
    spl: float
    ndtw: float
    collisions: int
    steps: int
    distance_to_goal: float


class Worker:
    """A world, a bench and a policy, kept from job to job."""

    benches: ClassVar[dict[str, tuple[VisionLanguageNavigation, InProcessBench]]] = {}

    @classmethod
    def run(cls, job: Job) -> list[Row]:
        """Return the results of a job; a perturbation that does not apply gives none."""
        task, bench = cls.bench(job.policy)
        rows = []
        for kind, instance in instances(task, job.family, job.index, job.seed):
            if job.base_only and kind != BASE:
                break
            # Nothing of the trial before is left.
            bench.bring(Scene(robot=instance.scene.robot))
            bench.bring(instance.scene)
            trial = Trial(job.index, instance.instance_id, BASE, 0, instance, seed=job.index)
            result = bench.execute(trial, attempt=0).result
            rows.append(
                Row(
                    job.policy,
                    job.family,
                    job.index,
                    job.seed,
                    kind,
                    instance.instruction.text,
                    float(result.progress),
                    float(result.success),
                    float(result.spl),
                    float(result.ndtw),
                    int(result.collisions),
                    int(result.steps),
                    float(result.distance_to_goal),
                )
            )
        return rows

    @classmethod
    def bench(cls, policy: str) -> tuple[VisionLanguageNavigation, InProcessBench]:
        """Return the task and the bench of a policy, made at the first call."""
        if policy not in cls.benches:
            task = VisionLanguageNavigation.from_file(resolve_uri(f"{CONFIG}/tasks/studio_apartment.yaml"))
            runner = PolicyRunner(resolve_uri(f"{CONFIG}/policies/{policy}.yaml"), timeout=30.0)
            cameras = [Camera(name, 320, 240) for name in runner.description.cameras]
            world = World(
                load_profile("locobot"), task.world, cameras=cameras, physics_step=task.physics_step
            )
            cls.benches[policy] = task, InProcessBench(world, task, runner)
        return cls.benches[policy]


def instances(
    task: VisionLanguageNavigation, family: str, index: int, seed: int
) -> Iterator[tuple[str, TestInstance]]:
    """Draw an instance, and each of its perturbations that there is."""
    drawn = [seed, task.families.index(family), index]
    base = task.sample(np.random.default_rng(drawn), f"{family}-{index}", family)
    yield BASE, base
    for number, perturbation in enumerate(PERTURBATIONS):
        rng = np.random.default_rng([*drawn, number])
        answer = perturbation.apply(task, base, base.scene, rng)
        if isinstance(answer, Perturbed):
            yield perturbation.symbol, answer.instance


def table(rows: Sequence[Row]) -> list[list[str]]:
    """Return a line for each kind of trial and one for all, without a header."""
    kinds = [BASE, *(perturbation.symbol for perturbation in PERTURBATIONS)]
    parts = {kind: [row for row in rows if row.kind == kind] for kind in kinds} | {"all": list(rows)}
    return [[kind, *cells(own)] for kind, own in parts.items() if own]


def cells(rows: Sequence[Row]) -> list[str]:
    """Return what stands under ``HEADINGS`` for some trials."""
    clusters = [f"{row.family}-{row.index}" for row in rows]

    def mean(score: str) -> Estimate:
        values = [getattr(row, score) for row in rows]
        if score == "success" and len(set(clusters)) == len(rows):
            return wilson(sum(value == 1.0 for value in values), len(rows))
        return cluster_mean(values, clusters)

    return [
        str(len(rows)),
        *(in_words(mean(score)) for score in ("progress", "success", "spl")),
        f"{np.mean([row.ndtw for row in rows]):.2f}",
        f"{np.mean([row.collisions for row in rows]):.1f}",
        f"{np.mean([row.steps for row in rows]):.0f}",
    ]


def in_words(estimate: Estimate) -> str:
    """Return an estimate and its interval as ``0.60 (0.30 to 0.90)``."""
    if estimate.low is None:
        return f"{estimate.mean:.2f}"
    return f"{estimate.mean:.2f} ({estimate.low:.2f} to {estimate.high:.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("policies", nargs="+", help="names of policies with a file in config/policies/")
    parser.add_argument("--families", nargs="+", default=["generated"], help="families of instances")
    parser.add_argument("--instances", type=int, default=20, help="instances of each family")
    parser.add_argument("--base-only", action="store_true", help="without perturbations")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--output", type=Path, default=Path("navigation_success.jsonl"))
    parser.add_argument("--failures", action="store_true", help="print each trial without full progress")
    arguments = parser.parse_args()

    console = Console(width=120)
    known = {(row.policy, row.family, row.index, row.seed) for row in stored(arguments.output, Row)}
    jobs = [
        Job(policy, family, index, arguments.seed, arguments.base_only)
        for policy in arguments.policies
        for family in arguments.families
        for index in range(arguments.instances)
        if (policy, family, index, arguments.seed) not in known
    ]
    run_jobs(Worker.run, jobs, arguments.processes, arguments.output, console)
    rows = [row for row in stored(arguments.output, Row) if row.seed == arguments.seed]
    for policy in arguments.policies:
        own = [row for row in rows if row.policy == policy]
        shown = Table("", *HEADINGS, title=f"{policy}, seed {arguments.seed}")
        for line in table(own):
            shown.add_row(*line)
        console.print(shown)
        for row in own:
            if arguments.failures and row.progress < 1.0:
                console.print(
                    f"{row.family}-{row.index} {row.kind} '{row.instruction}': progress {row.progress:g}, "
                    f"{row.steps} steps, {row.collisions} collisions, {row.distance_to_goal:.2f} m off",
                    highlight=False,
                )


if __name__ == "__main__":
    main()
