"""How often policies solve held-out instances and their perturbations, family by family, with Wilson intervals.

World, controller, policy and scores run in one process each, without ROS. Each perturbation is applied to
the base instance in its own scene, where it applies; SB1 and SB2 move a block, LB1 and LB2 say something else:

    python -m benchmark.policy_success film_bc film_bc_state --instances 100 --processes 4 --output results.jsonl

What the output file holds already is not run again, so that an interrupted run goes on. With ``--markdown`` the tables
are printed as Markdown, for instance for a model card.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmark.jobs import markdown, run_jobs, stored
from robocontrast_ros.configuration import resolve_uri
from robocontrast_ros.domain import BASE, Perturbed, TestInstance, Trial
from robocontrast_ros.policies.serving.runner import PolicyRunner
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.statistics.proportions import wilson
from robocontrast_ros.tasks.language_table import LanguageTable
from robocontrast_ros.tasks.language_table.goals import FAMILIES
from robocontrast_ros.tasks.language_table.perturbations import (
    InvertDirection,
    MoveSource,
    MoveTarget,
    SwapBlocks,
)
from robocontrast_ros.worlds.in_process import InProcessBench
from robocontrast_ros.worlds.mujoco.rendering import Camera
from robocontrast_ros.worlds.mujoco.world import World

CONFIG = "package://robocontrast_ros/config"
PERTURBATIONS = {kind.name: kind for kind in (SwapBlocks, InvertDirection, MoveTarget, MoveSource)}


@dataclass(frozen=True)
class Job:
    """Trials that one process runs in one world: one instance and what is made of it."""

    policy: str
    robot: str
    family: str
    index: int
    seed: int
    perturbations: tuple[str, ...]


@dataclass(frozen=True)
class Row:
    """One trial."""

    policy: str
    robot: str
    family: str
    index: int
    seed: int
    perturbation: str
    instruction: str
    success: float
    spl: float
    steps: int
    distance_to_goal: float


class Worker:
    """A world, a bench and a policy, kept from job to job."""

    benches: ClassVar[dict[tuple[str, str], tuple[LanguageTable, InProcessBench]]] = {}

    @classmethod
    def run(cls, job: Job) -> list[Row]:
        """Return the results of a job; a perturbation that does not apply gives none."""
        task, bench = cls.bench(job.policy, job.robot)
        rng = np.random.default_rng([job.seed, FAMILIES.index(job.family), job.index])
        base = task.sample(rng, f"{job.family}-{job.index}", job.family)
        rows = []
        for name in job.perturbations:
            instance = base if name == BASE else _perturbed(task, base, name, job)
            if instance is None:
                continue
            bench.bring(instance.scene)
            trial = Trial(job.index, instance.instance_id, name, 0, instance, seed=job.index)
            result = bench.execute(trial, attempt=0).result
            rows.append(
                Row(
                    job.policy,
                    job.robot,
                    job.family,
                    job.index,
                    job.seed,
                    name,
                    instance.instruction.text,
                    float(result.success),
                    float(result.spl),
                    result.steps,
                    float(result.distance_to_goal),
                )
            )
        return rows

    @classmethod
    def bench(cls, policy: str, robot: str) -> tuple[LanguageTable, InProcessBench]:
        """Return the task and the bench of a policy and a robot, made at the first call."""
        if (policy, robot) not in cls.benches:
            task = LanguageTable.from_file(resolve_uri(f"{CONFIG}/tasks/language_table.yaml"))
            runner = PolicyRunner(policy_file(policy), timeout=60.0)
            cameras = tuple(Camera(name) for name in runner.description.cameras)
            world = World(load_profile(robot), task.world, task.start_position, cameras=cameras)
            cls.benches[policy, robot] = task, InProcessBench(world, task, runner)
        return cls.benches[policy, robot]


def policy_file(policy: str) -> Path:
    """Return the parameter file of a policy given by name or by path."""
    return Path(policy) if policy.endswith(".yaml") else resolve_uri(f"{CONFIG}/policies/{policy}.yaml")


def _perturbed(task: LanguageTable, base: TestInstance, name: str, job: Job) -> TestInstance | None:
    number = list(PERTURBATIONS).index(name)
    rng = np.random.default_rng([job.seed, FAMILIES.index(job.family), job.index, number])
    answer = PERTURBATIONS[name]().apply(task, base, base.scene, rng)
    return answer.instance if isinstance(answer, Perturbed) else None


def solved(rows: Sequence[Row]) -> str:
    """Return how many of some trials were solved, with the 95 % Wilson interval of the rate."""
    if not rows:
        return "-"
    count = sum(row.success == 1.0 for row in rows)
    share = wilson(count, len(rows))
    return f"{count}/{len(rows)} ({share.low:.2f} to {share.high:.2f})"


def mean_steps(rows: Sequence[Row]) -> str:
    """Return the mean number of control steps of some trials."""
    return f"{np.mean([row.steps for row in rows]):.0f}" if rows else "-"


def having(rows: Iterable[Row], **values: object) -> list[Row]:
    """Return the rows with these values."""
    return [row for row in rows if all(getattr(row, key) == value for key, value in values.items())]


Lines = list[list[str]]


def unperturbed(rows: Sequence[Row], policies: Sequence[str], families: Sequence[str]) -> Lines:
    """Return a table, its header first, of families by policies."""
    base = having(rows, perturbation=BASE)
    lines = [["family", *(cell for policy in policies for cell in (policy, "steps"))]]
    for family in (*families, "all"):
        line = [family]
        for policy in policies:
            own = (
                having(base, policy=policy) if family == "all" else having(base, policy=policy, family=family)
            )
            line += [solved(own), mean_steps(own)]
        lines.append(line)
    return lines


def perturbed(rows: Sequence[Row], policies: Sequence[str], families: Sequence[str] = ()) -> Lines:
    """Return a table of policies (in each family) by perturbations, over the instances that were perturbed."""
    names = [name for name in (BASE, *PERTURBATIONS) if having(rows, perturbation=name)]
    known = {(row.policy, row.family, row.index) for row in rows if row.perturbation != BASE}
    rows = [row for row in rows if (row.policy, row.family, row.index) in known]
    heads = [name if name == BASE else f"Δ{name}" for name in names]
    if not families:
        own = {policy: having(rows, policy=policy) for policy in policies}
        return [
            ["policy", *heads],
            *(
                [policy, *(solved(having(its, perturbation=name)) for name in names)]
                for policy, its in own.items()
            ),
        ]
    return [
        ["policy", "family", *heads],
        *(
            [
                policy,
                family,
                *(solved(having(rows, policy=policy, family=family, perturbation=name)) for name in names),
            ]
            for policy in policies
            for family in families
        ),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("policies", nargs="+", help="names of policies, or paths of their parameter files")
    parser.add_argument("--robots", nargs="+", default=["franka"])
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--perturbations", nargs="*", choices=PERTURBATIONS, default=list(PERTURBATIONS))
    parser.add_argument("--instances", type=int, default=100, help="instances of each family")
    parser.add_argument("--perturbed", type=int, default=40, help="how many of them are perturbed, too")
    parser.add_argument(
        "--seed", type=int, default=0, help="of the instances; policies are trained on others"
    )
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--output", type=Path, default=Path("policy_success.jsonl"))
    parser.add_argument("--markdown", action="store_true", help="print the tables as Markdown")
    arguments = parser.parse_args()

    console = Console()
    done = stored(arguments.output, Row)
    known = {(row.policy, row.robot, row.family, row.index, row.seed, row.perturbation) for row in done}
    jobs = []
    for policy, robot in itertools.product(arguments.policies, arguments.robots):
        for index in range(arguments.instances):
            names = (BASE, *arguments.perturbations) if index < arguments.perturbed else (BASE,)
            for family in arguments.families:
                key = (policy, robot, family, index, arguments.seed)
                left = tuple(name for name in names if (*key, name) not in known)
                if left:
                    jobs.append(Job(policy, robot, family, index, arguments.seed, left))
    run_jobs(Worker.run, jobs, arguments.processes, arguments.output, console)
    policies, families = arguments.policies, arguments.families
    for robot in arguments.robots:
        rows = having(stored(arguments.output, Row), seed=arguments.seed, robot=robot)
        tables = [unperturbed(rows, policies, families)]
        if any(row.perturbation != BASE for row in rows):
            tables += [perturbed(rows, policies), perturbed(rows, policies, families)]
        for lines in tables:
            if arguments.markdown:
                print(f"\n{markdown(lines)}")
                continue
            shown = Table(*lines[0], title=robot)
            for line in lines[1:]:
                shown.add_row(*line)
            console.print(shown)


if __name__ == "__main__":
    main()
