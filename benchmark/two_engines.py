"""One push, by the same commands, in MuJoCo and in DART: where the blocks end, and a picture of both.

python -m benchmark.two_engines --picture two_engines.png
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from PIL import Image

from robocontrast_ros.configuration import load_configured, resolve_uri
from robocontrast_ros.domain import Pose
from robocontrast_ros.images.rendering import Camera
from robocontrast_ros.robots.commands import JointTrajectoryCommand
from robocontrast_ros.robots.kinematics import Kinematics
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.strategies.effort import angle_between
from robocontrast_ros.worlds.engines.starting import StartedWorld, engine_named
from robocontrast_ros.worlds.engines.world import EngineWorld
from robocontrast_ros.worlds.mujoco.world import World

BLOCKS = {
    "red_pentagon": (0.30, 0.02),
    "green_star": (0.37, 0.03),
    "blue_cube": (0.36, -0.10),
    "yellow_star": (0.40, -0.16),
    "red_moon": (0.50, 0.10),
    "green_cube": (0.25, 0.22),
}
"""Block -> where it stands before the push [m]."""
WAY = (
    (0.22, 0.02),
    (0.30, 0.02),
    (0.40, 0.02),
    (0.33, 0.02),
    (0.28, -0.10),
    (0.38, -0.11),
    (0.44, -0.12),
    (0.40, -0.12),
)
"""Places of the tool, a second apart [m]."""
HEIGHT, SECOND = 0.01, 500
"""Height of the tool [m], and physics steps in a second."""
WIDTH, TALL = 480, 270


def main() -> None:
    """Print the table, and write the picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", type=Path, help="PNG file of both scenes, MuJoCo left")
    parser.add_argument("--json", action="store_true", help="print one JSON object, for the documents")
    asked = parser.parse_args()
    task = load_configured("tasks", resolve_uri("package://robocontrast_ros/config/tasks/language_table.yaml"))
    robot, scenes = load_profile("franka"), task.scenes
    ends, engines = [], []
    for world in (
        World(robot, scenes.world, scenes.start_position, physics_step=scenes.physics_step),
        StartedWorld(engine_named("dart", __file__), robot, task, __file__),
    ):
        ends.append(pushed(world, scenes.models))
        engines.append(world.description)
        world.close()
    rows = []
    for name, (x, y) in BLOCKS.items():
        one, two = (end[name] for end in ends)
        moved = [1000.0 * float(np.hypot(pose.position[0] - x, pose.position[1] - y)) for pose in (one, two)]
        rows.append((name, *moved, 1000.0 * one.distance_to(two), angle_between(one, two)))
    if asked.json:
        print(json.dumps({"seed": [], "engines": engines, "rows": rows}))
    else:
        print(*engines, "block         moved [mm]     apart [mm]  turned apart [rad]", sep="\n")
        for name, first, second, apart, turned in rows:
            print(f"{name:13s} {first:5.1f}, {second:5.1f}   {apart:7.1f}  {turned:10.3f}")
    if asked.picture is not None:
        both = [drawn(robot, scenes, end) for end in ends]
        Image.fromarray(np.concatenate(both, axis=1)).save(asked.picture)


def pushed(world: World | EngineWorld, models: dict[str, str]) -> dict[str, Pose]:
    """Push along the way; return where everything is then."""
    resources = world.resources(models)
    for name, (x, y) in BLOCKS.items():
        world.spawn(name, Pose((x, y, 0.0)), uri=resources[name])
    world.step(SECOND // 5)
    kinematics = Kinematics(world.profile)
    for x, y in WAY:
        joints = kinematics.posture((x, y, HEIGHT))
        world.apply_command(JointTrajectoryCommand(world.profile.joint_names, tuple(joints), 1.0))
        world.step(SECOND)
    return world.poses()


def drawn(robot, scenes, poses: dict[str, Pose]) -> np.ndarray:
    """Return an image of blocks at poses, shape (TALL, WIDTH, 3), by our renderer."""
    world = World(robot, scenes.world, (*WAY[-1], HEIGHT), [Camera("board", WIDTH, TALL)])
    for name in BLOCKS:
        world.spawn(name, poses[name], uri=scenes.models[name])
    image = world.cameras.render("board").copy()
    world.close()
    return image


if __name__ == "__main__":
    main()
