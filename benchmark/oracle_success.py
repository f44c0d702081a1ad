"""How often the oracle solves unperturbed instances by contact, family by family and robot by robot.

World, controller, policy and goal run in one process, without ROS:

    python benchmark/oracle_success.py --instances 50 --robots franka ur5e
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scipy.stats import binomtest

from robocontrast_ros.configuration import load_plugin, resolve_uri
from robocontrast_ros.domain import ObjectState, Scene, TestInstance
from robocontrast_ros.policies.protocol import Observation, Policy
from robocontrast_ros.robots import load_profile, make_controller
from robocontrast_ros.simulators.entities import EntityState, ResetScope
from robocontrast_ros.simulators.world import World
from robocontrast_ros.tasks.language_table import LanguageTable

CONFIG = "package://robocontrast_ros/config"


@dataclass(frozen=True)
class Score:
    """What one trial came to.

    Attributes:
        success: whether the goal was reached.
        steps: control steps it took.
        spl: success weighted by path length.
        clamped: control steps whose action was clamped.
        remaining: distance to the goal at the end [m].
    """

    success: bool
    steps: int
    spl: float
    clamped: int
    remaining: float


class Cell:
    """A simulated robot at its board, in one process."""

    def __init__(self, robot: str, task: LanguageTable) -> None:
        """Compose the world with the task's blocks."""
        self.task, self.profile = task, load_profile(robot)
        self.world = World(self.profile, task.world, task.start_position)
        self.period = 1.0 / task.control_rate
        scene = task.sample(np.random.default_rng(0), "").scene
        for block in scene:
            self.world.spawn(block.name, block.pose, uri=task.models[block.model])

    def scene(self) -> Scene:
        """Return where the blocks are."""
        return Scene(
            tuple(ObjectState(b, b, self.world.entity_state(b).pose) for b in self.task.parameters.blocks)
        )

    def run(self, policy: Policy, instance: TestInstance, seed: int = 0) -> Score:
        """Set up an instance and run one trial of it."""
        world, task = self.world, self.task
        world.reset(ResetScope.STATE | ResetScope.TIME)
        for block in instance.scene:
            world.set_entity_state(block.name, EntityState(block.pose))
        controller = make_controller(self.profile, policy.describe().action_space, self.period)
        controller.reset(world.joint_state().positions)
        policy.reset(instance.instruction.text, seed)
        goal = task.goal(instance.instruction, instance.scene)
        path, clamped, steps = 0.0, 0, 0
        while not goal.satisfied(scene := self.scene()) and steps < task.step_limit:
            tool, joints = world.tool_pose(), world.joint_state()
            observation = Observation(world.time, {}, joints.names, joints.positions, tool, scene)
            step = controller.command(policy.act(observation)[0], joints.positions)
            world.follow(step.command)
            world.step(round(self.period / world.step_duration))
            path += math.dist(tool.xy, world.tool_pose().xy)
            clamped += step.clamped
            steps += 1
        success = goal.satisfied(scene)
        best = instance.optimal_path_length
        return Score(success, steps, success * best / max(best, path), clamped, goal.distance(scene))


def instances(task: LanguageTable, family: str, count: int, seed: int) -> Iterator[TestInstance]:
    """Draw instances of one family."""
    for index in range(count):
        rng = np.random.default_rng([seed, task.families.index(family), index])
        yield task.sample(rng, f"{family}-{index}", family)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robots", nargs="+", default=["franka", "ur5e"])
    parser.add_argument("--families", nargs="+", help="default: all")
    parser.add_argument("--instances", type=int, default=50, help="trials a family and robot")
    parser.add_argument("--policy", default="oracle", help="name of a policy with a file in config/policies/")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--failures", action="store_true", help="print each failed instance")
    arguments = parser.parse_args()

    console = Console()
    task = LanguageTable.from_file(resolve_uri(f"{CONFIG}/tasks/language_table.yaml"))
    kind = load_plugin("policies", arguments.policy, "command line", "--policy")
    policy = kind.from_file(Path(resolve_uri(f"{CONFIG}/policies/{arguments.policy}.yaml")))
    table = Table("robot", "family", "solved", "success", "95 % Wilson", "steps", "SPL", "clamped", "trials/min")
    for robot in arguments.robots:
        cell = Cell(robot, task)
        for family in arguments.families or task.families:
            drawn = list(instances(task, family, arguments.instances, arguments.seed))
            began = time.perf_counter()
            scores = []
            for index, instance in enumerate(track(drawn, f"{robot} {family}", console=console, transient=True)):
                score = cell.run(policy, instance, seed=index)
                scores.append(score)
                if arguments.failures and not score.success:
                    console.print(f"{robot} {index} '{instance.instruction.text}': {score}", highlight=False)
            rate = 60.0 * len(scores) / (time.perf_counter() - began)
            solved = sum(s.success for s in scores)
            interval = binomtest(solved, len(scores)).proportion_ci(method="wilson")
            steps = [s.steps for s in scores]
            table.add_row(
                robot,
                family,
                f"{solved}/{len(scores)}",
                f"{solved / len(scores):.2f}",
                f"{interval.low:.2f} to {interval.high:.2f}",
                f"{np.mean(steps):.0f}",
                f"{np.mean([s.spl for s in scores]):.2f}",
                f"{sum(s.clamped for s in scores) / max(sum(steps), 1):.3f}",
                f"{rate:.0f}",
            )
        cell.world.close()
    console.print(table)


if __name__ == "__main__":
    main()
