"""Physics steps a second of a kitchen in which everything stands, with an arm, without images.

    python -m benchmark.kitchen_physics                steps of 2 and 4 ms
    python -m benchmark.kitchen_physics --steps 100

Prints, for each step, how many a second the world of sessions takes, and MuJoCo alone: the best of some rounds, by the
processor time of one core. The scene has the five fixtures, three bowls, a plate, a pan, three mugs and three pieces of
food.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable

import mujoco

from robocontrast_ros.configuration import resolve_uri
from robocontrast_ros.domain import Pose
from robocontrast_ros.objects import SHIPPED
from robocontrast_ros.objects.settling import WORLD
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.worlds.mujoco.world import World

ROBOT = "package://robocontrast_ros/config/robots/franka_hand.yaml"
START = (0.30, 0.0, 0.45)
"""Place of the arm's tool [m]."""

SETTLING = 1.0
"""Time in which things come to rest, simulated [s]."""

ROUNDS = 15

THINGS = {
    "cabinet": ("cabinet", "brown", Pose.planar(0.70, 0.42, math.pi)),
    "microwave": ("microwave", "white", Pose.planar(0.76, -0.42, math.pi)),
    "stove": ("stove", "plain", Pose.planar(0.60, -0.02, math.pi)),
    "shelf": ("shelf", "plain", Pose.planar(0.86, 0.05, math.pi)),
    "rack": ("wine_rack", "plain", Pose.planar(0.55, 0.66)),
    "bowl_1": ("rice_bowl", "black", Pose.planar(0.36, 0.05)),
    "bowl_2": ("rice_bowl", "white", Pose.planar(0.36, 0.19)),
    "bowl_3": ("rice_bowl", "black", Pose.planar(0.25, 0.12)),
    "plate": ("side_plate", "white", Pose.planar(0.33, -0.12)),
    "pan": ("frying_pan", "plain", Pose.planar(0.64, 0.03, math.pi / 2 + 0.3, 0.035)),
    "mug_1": ("coffee_mug", "red", Pose.planar(0.44, 0.30, 2.0)),
    "mug_2": ("coffee_mug", "white", Pose.planar(0.34, 0.33, 1.0)),
    "mug_3": ("coffee_mug", "yellow", Pose.planar(0.46, 0.12, 2.5)),
    "pudding": ("chocolate_pudding", "plain", Pose.planar(0.30, -0.25, -1.2)),
    "egg": ("egg", "plain", Pose.planar(0.35, -0.47, 0.4)),
    "onion": ("onion", "plain", Pose.planar(0.28, -0.48)),
}
"""Name -> file in ``config/objects/kitchen``, variant, pose."""


def kitchen(step: float) -> World:
    """Return the world at rest, with a physics step [s]."""
    world = World(load_profile(resolve_uri(ROBOT)), WORLD, start=START, physics_step=step)
    with world.at_once():
        world.spawn("table", Pose(), uri=f"{SHIPPED}/table.yaml#oak")
        for name, (kind, variant, pose) in THINGS.items():
            world.spawn(name, pose, uri=f"{SHIPPED}/kitchen/{kind}.yaml#{variant}")
    world.step(round(SETTLING / step))
    return world


def speed(advance: Callable[[int], None], steps: int) -> float:
    """Return the steps a second of processor time, in the best round."""
    best = math.inf
    for _ in range(ROUNDS):
        begin = time.process_time()
        advance(steps)
        best = min(best, time.process_time() - begin)
    return steps / best


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=100, help="steps of a round")
    steps = parser.parse_args().steps
    for step in (0.002, 0.004):
        world = kitchen(step)
        model, data = world._bodies.model, world._bodies.data
        in_world = speed(world.step, steps)
        alone = speed(lambda count, m=model, d=data: mujoco.mj_step(m, d, nstep=count), steps)
        print(
            f"{1000 * step:g} ms: {in_world:,.0f} steps a second, {alone:,.0f} in MuJoCo alone; {model.ngeom} geoms, "
            f"{model.nv} degrees of freedom, {data.ncon} contacts"
        )
        world.close()


if __name__ == "__main__":
    main()
