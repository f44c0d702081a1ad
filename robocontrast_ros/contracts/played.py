"""A trial that goes as planned, and then back, for the tests of judges and scores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from robocontrast_ros.domain import Pose, Scene, TestInstance
from robocontrast_ros.tasks.protocol import Task

STEPS = 12
"""Control steps to the goal, at the goal, and back, each."""


def between(start: Scene, end: Scene, share: float) -> Scene:
    """Return the scene at a share of the straight way from one scene to another of the same objects."""
    scene = start
    for old in start:
        scene = scene.moved(old.name, pose_between(old.pose, end[old.name].pose, share))
    if start.robot is not None and end.robot is not None:
        scene = replace(scene, robot=pose_between(start.robot, end.robot, share))
    return scene


def pose_between(start: Pose, end: Pose, share: float) -> Pose:
    """Return a pose on the straight way from one to another; it has the orientation of the nearer one."""
    x, y, z = (a + share * (b - a) for a, b in zip(start.position, end.position, strict=True))
    return Pose((x, y, z), start.orientation if share < 0.5 else end.orientation)


def played_scenes(task: Task, instance: TestInstance) -> Iterator[Scene]:
    """Return the scenes of a trial: straight to the end of the plan, along its path, some steps there, and back.

    A mobile robot follows the plan's path, so that it comes by every subgoal.
    """
    plan = task.planner.plan(instance.instruction, instance.scene)
    there = [*_on_the_way(instance.scene, plan.final_scene, plan.path), *([plan.final_scene] * STEPS)]
    yield from there
    yield from (between(plan.final_scene, instance.scene, (k + 1) / STEPS) for k in range(STEPS))


def _on_the_way(start: Scene, end: Scene, path: tuple[tuple[float, ...], ...]) -> Iterator[Scene]:
    count = 5 * STEPS
    for k in range(count):
        share = (k + 1) / count
        scene = between(start, end, share)
        if scene.robot is not None:
            x, y = path[round(share * (len(path) - 1))][:2]
            scene = replace(scene, robot=Pose((x, y, scene.robot.position[2]), scene.robot.orientation))
        yield scene
