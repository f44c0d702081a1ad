"""What the two hands hold, how well, and how fast the physics is with ten objects on the table.

Each type of the library is grasped in its first colour by each of its grasps, alone on the table, by each hand: it
is lifted by 15 cm, held for 3 s, and carried 0.3 m aside and back within 2 s. The tool goes straight to where the
grasp says, in the nearest of its equal turns, with no planner. Creep is how far the object moves in the hand while it
is held; shift, while it is carried. Then physics steps a second of one core: ten objects stand, the arm moves about,
holds one of them, and is commanded at 10 Hz.

    python -m benchmark.hands [mug spoon]
"""

from __future__ import annotations

import argparse
import math
import os
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from robocontrast_ros.domain import NANOSECONDS, Pose
from robocontrast_ros.domain.rotations import between
from robocontrast_ros.objects import Grasp, ObjectModel, load_library, tool_pose
from robocontrast_ros.robots.commands import GripperCommand, JointTrajectoryCommand
from robocontrast_ros.robots.kinematics import Kinematics, Unreachable
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.robots.reach import pointing_down
from robocontrast_ros.system.numerics import pin
from robocontrast_ros.worlds.mujoco.entities import ResetScope
from robocontrast_ros.worlds.mujoco.world import World

WORLD = "package://robocontrast_ros/models/tabletop.xml"
PLACE, YAW = (0.45, 0.0), 0.3
"""Where an object stands, in `world` [m], and how it is turned [rad]."""
ABOVE, LIFT, ASIDE = 0.12, 0.15, 0.30
"""How far above the grasp the tool begins, how far it lifts, and how far it carries [m]."""
SPEED = 0.3
"""Greatest speed of the tool [m/s]."""
PERIOD = 0.1
"""Of a command [s]."""
HELD = 0.10
"""Least rise of an object that counts as held [m]."""
NEIGHBOURS = ("can", "mug", "banana", "cube", "bowl", "tennis_ball", "cracker_box", "sponge", "lemon", "plate")
"""Types of ten objects; the fourth is held."""


@dataclass(frozen=True)
class Held:
    """What became of one grasp.

    Attributes:
        lifted: whether the object was in the hand at the end of the lift.
        held: whether it was in the hand after it was carried.
        wide: distance of the pads less the width that the grasp names [m].
        creep: how far it moved in the hand while it was held [m/s].
        shift: how far it was displaced in the hand by carrying it [m].
    """

    lifted: bool
    held: bool
    wide: float
    creep: float
    shift: float


class Bench:
    """An arm with a hand at a table."""

    def __init__(self, robot: str) -> None:
        self.profile = load_profile(robot)
        self.hand = self.profile.end_effector
        self.arm = Kinematics(self.profile)
        self.world = World(self.profile, WORLD)
        library = load_library()
        table = next(model for model in library.values() if model.category == "table")
        self.world.spawn("table", Pose(), uri=table.uri)

    def clear(self) -> None:
        """Take the objects away and begin anew."""
        for name in set(self.world.entities()) - {"table", "floor", self.profile.name}:
            self.world.delete(name)
        self.world.reset(ResetScope.STATE)
        self.joints = tuple(self.profile.home)

    def wait(self, seconds: float) -> None:
        """Let time pass [s]."""
        self.world.step(round(seconds / self.world.step_duration))

    def go(self, target: Pose) -> None:
        """Move the tool straight to a pose."""
        here = self.arm.tool_pose(self.joints)
        turn = math.hypot(*between(here.orientation, target.orientation))
        steps = max(math.ceil(max(here.distance_to(target) / SPEED, turn / 1.5) / PERIOD), 1)
        start, end = np.array(here.position), np.array(target.position)
        for k in range(1, steps + 1):
            way = Pose(tuple((start + (end - start) * k / steps).tolist()), target.orientation)
            self.joints = self.arm.step(self.joints, way, PERIOD).positions
            self.world.apply_command(JointTrajectoryCommand(self.profile.joint_names, self.joints, PERIOD))
            self.wait(PERIOD)

    def grip(self, closed: float) -> None:
        """Close the hand so far, in [0, 1]."""
        self.world.apply_command(GripperCommand(self.hand.drive(closed)))
        self.wait(0.8)

    @property
    def width(self) -> float:
        """Distance of the pads [m]."""
        joints = self.world.joint_state()
        named = dict(zip(joints.names, joints.positions, strict=True))
        return self.hand.width([named[joint.name] for joint in self.hand.joints])

    def in_hand(self) -> NDArray[np.float64]:
        """Return where the object's origin is in the frame `tool` [m]."""
        tool, thing = self.world.tool_pose(), self.world.entity_state("thing").pose
        x, y, z, w = tool.orientation
        axis, off = np.array([x, y, z]), np.array(thing.position) - tool.position
        return off - 2 * w * np.cross(axis, off) + 2 * np.cross(axis, np.cross(axis, off))

    def tool_at(self, grasp: Grasp, pose: Pose) -> Pose:
        """Return the pose of the tool at a grasp, in that of its equal turns which is nearest to home."""
        home = self.arm.tool_pose(self.profile.home)
        poses = [tool_pose(pose, grasp, turn) for turn in range(grasp.turns)]
        return min(poses, key=lambda candidate: math.hypot(*between(home.orientation, candidate.orientation)))

    def try_grasp(self, model: ObjectModel, grasp: Grasp) -> Held:
        """Grasp, lift, hold and carry an object."""
        self.clear()
        self.world.spawn("thing", Pose.planar(*PLACE, YAW), uri=model.uri)
        self.wait(1.0)
        at = self.tool_at(grasp, self.world.entity_state("thing").pose)
        (x, y, z), turn = at.position, at.orientation
        self.joints = self.arm.posture(Pose((x, y, z + ABOVE), turn))
        self.world.apply_command(JointTrajectoryCommand(self.profile.joint_names, self.joints, 1.5))
        self.wait(1.7)
        self.go(at)
        before = self.world.entity_state("thing").pose.position[2]
        self.grip(1.0)
        wide = self.width - grasp.width
        up = Pose((x, y, z + LIFT), turn)
        self.go(up)
        self.wait(0.5)
        lifted = self.world.entity_state("thing").pose.position[2] - before > HELD
        start = self.in_hand()
        self.wait(3.0)
        rest = self.in_hand()
        self.go(Pose((x, y - ASIDE, z + LIFT), turn))
        self.go(up)
        self.wait(0.3)
        end = self.in_hand()
        held = lifted and self.world.entity_state("thing").pose.position[2] - before > HELD
        creep, shift = float(np.linalg.norm(rest - start)) / 3.0, float(np.linalg.norm(end - rest))
        return Held(lifted, held, wide, creep, shift)

    def steps_a_second(self, types: dict[str, ObjectModel], seconds: float = 20.0) -> tuple[float, float]:
        """Return physics steps a second of processor time while ten objects stand: moving about, and holding one."""
        self.clear()
        for k, name in enumerate(NEIGHBOURS):
            place = Pose.planar(0.34 + 0.13 * (k % 3), -0.3 + 0.2 * (k // 3), 0.3 * k)
            self.world.spawn(f"thing_{k}", place, uri=types[name].uri)
        self.wait(1.0)
        rates = []
        for closed in (0.0, 1.0):
            if closed:
                cube = self.world.entity_state("thing_3").pose
                at = self.tool_at(types[NEIGHBOURS[3]].grasps[0], cube)
                (x, y, _), turn = at.position, at.orientation
                self.go(Pose((x, y, 0.25), turn))
                self.go(at)
                self.grip(1.0)
                self.go(Pose((x, y, 0.35), turn))
            begin, steps = time.process_time(), 0
            while steps * self.world.step_duration < seconds:
                for y in (-0.2, 0.2):
                    now = self.world.time_ns
                    self.go(pointing_down(0.45, y, 0.35, 0.0))
                    steps += round((self.world.time_ns - now) / NANOSECONDS / self.world.step_duration)
            rates.append(steps / (time.process_time() - begin))
        return rates[0], rates[1]


def main() -> None:
    """Measure and print tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("types", nargs="*", help="types of objects; all of the library when none is named")
    arguments = parser.parse_args()
    pin(os.environ)
    library = load_library()
    types: dict[str, ObjectModel] = {}
    for model in library.values():
        if model.grasps and not model.fixed:
            types.setdefault(model.type, model)
    speeds = Table("hand", "physics steps/s, moving", "holding one")
    for robot in ("franka_hand", "ur5e_2f85"):
        bench = Bench(robot)
        table = Table(
            robot, "grasp", "width [mm]", "pads beyond it [mm]", "lifted", "held", "creep [mm/s]", "shift [mm]"
        )
        results = []
        for name, model in types.items():
            if arguments.types and name not in arguments.types:
                continue
            for index, grasp in enumerate(model.grasps):
                try:
                    got = bench.try_grasp(model, grasp)
                except Unreachable as error:
                    table.add_row(name, str(index), f"{1e3 * grasp.width:.0f}", str(error))
                    continue
                results.append(got)
                numbers = (f"{1e3 * value:.2f}" for value in (got.creep, got.shift))
                marks = ("yes" if done else "NO" for done in (got.lifted, got.held))
                table.add_row(name, str(index), f"{1e3 * grasp.width:.0f}", f"{1e3 * got.wide:.1f}", *marks, *numbers)
        Console(width=120).print(table)
        kept = [got for got in results if got.held]
        creep, shift = (1e3 * np.array([getattr(got, what) for got in kept]) for what in ("creep", "shift"))
        print(
            f"{robot}: {len(kept)} of {len(results)} grasps held; creep median {np.median(creep):.3f}, greatest "
            f"{creep.max():.3f} mm/s; shift median {np.median(shift):.2f}, greatest {shift.max():.2f} mm"
        )
        speeds.add_row(robot, *(f"{rate:,.0f}" for rate in bench.steps_a_second(types)))
    Console().print(speeds)


if __name__ == "__main__":
    main()
