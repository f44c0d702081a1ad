"""What RViz shows of the embedded world: frames where things are, and pixels where camera_info says."""

from __future__ import annotations

import math

import numpy as np
import pytest

from robocontrast_ros.bags.messages import Messages
from robocontrast_ros.domain import Pose
from robocontrast_ros.images.rendering import Camera
from robocontrast_ros.objects.frames import compose, rotate
from robocontrast_ros.robots.commands import JointTrajectoryCommand, TwistCommand
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.worlds.driver_messages import DriverEncoder
from robocontrast_ros.worlds.mujoco.sensors import Transforms
from robocontrast_ros.worlds.mujoco.world import World

MODELS = "package://robocontrast_ros/models"
WORLDS = {
    "franka": (f"{MODELS}/language_table/world.xml", ("board",)),
    "ur5e": (f"{MODELS}/language_table/world.xml", ("board",)),
    "franka_hand": (f"{MODELS}/kitchen.xml", ("wrist", "front", "top", "agent")),
    "ur5e_2f85": (f"{MODELS}/kitchen.xml", ("wrist", "front", "top", "agent")),
    "locobot": (f"{MODELS}/apartment/world.xml", ("camera",)),
}
RADIUS = 0.008
MARKER = f"""<mujoco><worldbody><body mocap="true">
  <geom type="sphere" size="{RADIUS}" rgba="1 0 0 1" contype="0" conaffinity="0"/></body></worldbody></mujoco>"""


DEPTH = 0.22
"""How far before a camera the marker is [m]."""


def redness(image: np.ndarray) -> np.ndarray:
    return image[..., 0] - image[..., 1:].max(axis=2)


def make_world(name: str, width: int = 160, height: int = 120) -> World:
    uri, cameras = WORLDS[name]
    return World(load_profile(name), uri, cameras=[Camera(camera, width, height) for camera in cameras])


def move(world: World) -> None:
    """Bring the robot elsewhere, so that frames that move have moved."""
    profile = world.profile
    if profile.mobile:
        world.apply_command(TwistCommand(0.2, 0.3))
    else:
        joints = tuple((np.asarray(profile.home) + 0.1).tolist())
        hand = profile.end_effector.drive(0.7) if profile.has_hand else None
        world.apply_command(JointTrajectoryCommand(profile.joint_names, joints, 0.3, hand))
    world.step(400)


def frames(world: World) -> dict[str, Pose]:
    """Return every frame's pose in the root of what is published, which is the world of an arm, odometry of a base."""
    sent = [sensor.value for sensor in (*world.latched_sensors(), *world.sensors())]
    known = [frame for value in sent if isinstance(value, Transforms) for frame in value.transforms]
    parents = {frame.child_frame: frame for frame in (*known, *world.moving_frames())}
    assert len({frame.child_frame for frame in known}) == len(known), "each frame has one parent"

    def pose(frame: str) -> Pose:
        return compose(pose(parents[frame].frame_id), parents[frame].pose) if frame in parents else Pose()

    return {frame: pose(frame) for frame in parents}


@pytest.mark.parametrize("name", ["franka", "ur5e", "franka_hand", "ur5e_2f85"])
def test_the_tool_and_the_base_of_an_arm_are_where_tf_has_them(name):
    world = make_world(name)
    move(world)
    found, profile = frames(world), world.profile
    assert found[profile.tool_frame].distance_to(world.tool_pose()) < 1e-9
    assert found[profile.base_frame] == profile.base_pose


def test_frames_of_a_base_follow_its_odometry():
    world = make_world("locobot")
    move(world)
    found, profile = frames(world), world.profile
    assert found[profile.base_frame] == world.reading().pose
    assert found[profile.base_frame].distance_to(Pose()) > 0.1
    height = found["locobot/wheel_left_link"].position[2]
    assert height == pytest.approx(profile.wheels.radius)


@pytest.mark.parametrize("name", sorted(WORLDS))
def test_a_point_is_at_the_pixel_that_tf_and_camera_info_say(name):
    world = make_world(name, 320, 240)
    move(world)
    encoder = DriverEncoder(Messages().make)
    # Odometry begins where the base starts, and drifts: compared in the world, from the base's true place.
    found = frames(world)
    truth = world.tool_pose() if world.profile.mobile else Pose()
    for interface in world.profile.cameras:
        camera = found[interface.frame_id]
        if world.profile.mobile:
            base = found[world.profile.base_frame]
            inverse = (*(-part for part in base.orientation[:3]), base.orientation[3])
            shifted = rotate(inverse, np.subtract(camera.position, base.position))
            turned = compose(Pose(orientation=inverse), Pose(orientation=camera.orientation)).orientation
            camera = compose(truth, Pose(shifted, turned))
        info = encoder.camera_info(world.cameras.info(interface.name), interface.frame_id, 0)
        assert (info.header.frame_id, info.width, info.height) == (interface.frame_id, 320, 240)
        assert list(info.d) == [0.0] * 5 and np.array_equal(np.reshape(info.r, (3, 3)), np.eye(3))
        assert np.array_equal(np.reshape(info.p, (3, 4))[:, :3], np.reshape(info.k, (3, 3)))
        empty = world.cameras.render(interface.name).astype(int)
        seen = 0
        for aside, down in ((0.0, 0.0), (-0.06, 0.04), (0.07, -0.05)):
            # In the optical frame: x right, y down, z ahead.
            place = compose(camera, Pose((aside, down, DEPTH)))
            world.spawn("marker", Pose(place.position), resource=MARKER)
            image = world.cameras.render(interface.name).astype(int)
            world.delete("marker")
            changed = np.argwhere(redness(image) - redness(empty) > 40)
            if len(changed) < 0.9 * math.pi * (info.k[0] * RADIUS / DEPTH) ** 2:
                continue  # it is partly behind the hand
            seen += 1
            u, v, depth = np.reshape(info.p, (3, 4)) @ (aside, down, DEPTH, 1.0)
            # A sphere off the axis looks a little further out than its middle is.
            assert changed.mean(axis=0) == pytest.approx((v / depth, u / depth), abs=0.7), interface.name
        assert seen >= 1, interface.name
    world.close()


def test_every_image_is_as_wide_as_its_camera_sees():
    world = make_world("locobot")
    info = world.cameras.info("camera")
    assert 2 * math.atan(info.width / 2 / info.k[0]) == pytest.approx(world.profile.mount.horizontal_view, rel=1e-6)
