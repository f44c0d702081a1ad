"""The contract of grippers: a gripper's numbers are those of its model, and it holds a grasped object."""

from __future__ import annotations

import math

import mujoco
import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.configuration import dump_record, parse_record
from robocontrast_ros.contracts.checking import once, promise
from robocontrast_ros.domain import Pose
from robocontrast_ros.domain.products import product
from robocontrast_ros.robots.commands import GripperCommand, JointTrajectoryCommand
from robocontrast_ros.robots.end_effectors.base import DRIVE, EndEffector
from robocontrast_ros.robots.kinematics import Kinematics
from robocontrast_ros.robots.manipulator import ManipulatorProfile
from robocontrast_ros.robots.manipulator_mjcf import arm_mjcf
from robocontrast_ros.robots.mjcf import TOOL_SITE
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.worlds.mujoco.world import World

WORLD = "package://robocontrast_ros/models/tabletop.xml"
OBJECTS = "package://robocontrast_ros/config/objects"
PLACE, GRASP, LIFTED = (0.45, 0.0), 0.02, 0.15
"""Place of a cube; height of the tool when it grasps the cube, and when it holds it [m]."""
HELD = 1e-3
"""Greatest motion of a held object in the hand within two seconds [m]."""
BESIDE = 2e-3
"""Greatest reach of a geom beyond the envelope [m]."""


class GripperContract:
    """Inherit, and name the gripper.

    Attributes:
        gripper: name in config/grippers/, or path of a file.
        arm: name or path of an arm that holds it in these tests.
    """

    gripper: str
    arm = "franka_hand"

    @once
    def profile(self) -> ManipulatorProfile:
        """Return the arm with the gripper."""
        return parse_record(
            ManipulatorProfile, dump_record(load_profile(self.arm)) | {"end_effector": self.gripper}, self.gripper
        )

    @property
    def hand(self) -> EndEffector:
        """The gripper."""
        return self.profile().end_effector

    def test_its_widths_are_those_of_its_joints(self) -> None:
        """This holds from closed to wide open, in both directions."""
        hand = self.hand
        promise(hand.joints, "a gripper has joints; got none")
        promise(hand.greatest_width > 0.0, f"`greatest_width` is above 0 m; got {hand.greatest_width}")
        for width in np.linspace(0.0, hand.greatest_width, 9).tolist():
            back = hand.width(hand.positions(width)[: len(hand.joints)])
            promise(abs(back - width) < 1e-6, f"`width` undoes `positions`; {width:.4f} m came back as {back:.4f} m")
        for name, closed in (("open", 0.0), ("closed", 1.0)):
            end = getattr(hand.joints[0], name)
            promise(
                abs(hand.drive(closed) - end) < 1e-6,
                f"the driven joint's `{name}` is where `drive` puts it; got {end} and {hand.drive(closed)}",
            )
        promise(hand.drive_speed > 0.0, f"`drive_speed` is above 0; got {hand.drive_speed}")

    def test_its_model_has_its_joints_and_one_drive(self) -> None:
        """The model for kinematics has none of them."""
        profile = self.profile()
        moving = mujoco.MjModel.from_xml_string(arm_mjcf(profile))
        names = [moving.joint(k).name for k in range(moving.njnt)]
        missing = [joint.name for joint in self.hand.joints if joint.name not in names]
        promise(not missing, f"the model has all `joints`; it lacks {', '.join(missing)}")
        drives = [moving.actuator(k).name for k in range(moving.nu)]
        promise(
            drives[len(profile.joints) :] == [DRIVE],
            f"the model has one actuator beside the arm's, '{DRIVE}'; got {', '.join(drives[len(profile.joints) :])}",
        )
        still = mujoco.MjModel.from_xml_string(arm_mjcf(profile, moving_hand=False))
        promise(still.nq == len(profile.joints), f"without `moving` no finger has a joint; got {still.nq} positions")

    def test_its_envelope_holds_the_open_hand(self) -> None:
        """Planners keep the envelope away from other objects."""
        profile = self.profile()
        arm = mujoco.MjModel.from_xml_string(arm_mjcf(profile, moving_hand=False))
        data = mujoco.MjData(arm)
        mujoco.mj_kinematics(arm, data)
        below = int(arm.jnt_bodyid[-1])
        bare = len(profile.links[-1].shapes)
        own = [g for g in range(arm.ngeom) if arm.geom_bodyid[g] >= below][bare:]
        promise(own, "the gripper has at least one geom")
        for geom in own:
            points = self._extent(arm, data, geom)
            inside = (
                (np.abs(points - box.center) <= np.asarray(box.half) + BESIDE).all() for box in self.hand.envelope
            )
            promise(
                any(inside),
                f"each geom is in a box of `envelope`; that from {points.min(0).round(3)} to "
                f"{points.max(0).round(3)} m in the frame `tool` is in none",
            )

    def test_it_lifts_a_cube_holds_it_and_lets_it_go(self) -> None:
        """The cube is on a table in the embedded world."""
        profile = self.profile()
        world, arm = World(profile, WORLD), Kinematics(profile)
        grasp, lifted = (arm.posture(Pose((*PLACE, z), (1.0, 0.0, 0.0, 0.0))) for z in (GRASP, LIFTED))
        world.spawn("table", Pose(), uri=f"{OBJECTS}/table.yaml#oak")
        world.spawn("cube", Pose.planar(*PLACE), uri=f"{OBJECTS}/cube.yaml#red")

        def go(joints: tuple[float, ...], seconds: float = 1.5) -> None:
            world.apply_command(JointTrajectoryCommand(profile.joint_names, joints, seconds))
            wait(seconds + 0.3)

        def wait(seconds: float) -> None:
            world.step(round(seconds / world.step_duration))

        def height() -> float:
            return world.entity_state("cube").pose.position[2]

        go(lifted)
        go(grasp)
        promise("cube" not in world.touched(), "the open hand comes down around a cube without touching it")
        world.apply_command(GripperCommand(self.hand.drive(1.0)))
        wait(1.5)
        promise(world.touched() == ("cube",), f"the closed hand touches the cube alone; it touches {world.touched()}")
        go(lifted)
        up = height()
        promise(up > (LIFTED - GRASP) * 0.8, f"the hand lifts the cube by {LIFTED - GRASP} m; it is {up:.3f} m up")
        wait(2.0)
        promise(abs(height() - up) < HELD, f"the cube stays where it is in the hand; it moved by {height() - up:.4f} m")
        go(grasp)
        world.apply_command(GripperCommand(self.hand.drive(0.0)))
        wait(1.5)
        wait(0.1)  # contacts are those since the last wait
        promise(world.touched() == (), f"the open hand lets the cube go; it touches {world.touched()}")
        speed = math.hypot(*world.entity_state("cube").twist.linear)
        promise(speed < HELD, f"the cube that was let go is at rest; its speed is {speed:.4f} m/s")

    def _extent(self, model: mujoco.MjModel, data: mujoco.MjData, geom: int) -> NDArray[np.float64]:
        """Return points that bound a geom, in the frame `tool`, shape (n, 3) [m]; a capsule's are its axis' ends."""
        box = model.geom_aabb[geom].copy()
        if model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_CAPSULE:
            box[3:] = 0.0, 0.0, model.geom_size[geom, 1]
        signs = np.array(np.meshgrid((-1, 1), (-1, 1), (-1, 1))).reshape(3, -1).T
        corners = product(box[:3] + signs * box[3:], data.geom_xmat[geom].reshape(3, 3).T) + data.geom_xpos[geom]
        tool = data.site(TOOL_SITE)
        return product(corners - tool.xpos, tool.xmat.reshape(3, 3))
