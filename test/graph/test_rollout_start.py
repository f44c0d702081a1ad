"""A rollout on the wall clock whose robot or camera is not as it should be ends before anything is moved."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from geometry_msgs.msg import PoseStamped
from robocontrast_ros.msg import Progress
from robocontrast_ros.srv import Act, DescribePolicy, ResetPolicy
from sensor_msgs.msg import CameraInfo, Image, JointState
from spinning import spun_node
from trajectory_msgs.msg import JointTrajectory

from robocontrast_ros.configuration import resolve_uri
from robocontrast_ros.domain import nanoseconds
from robocontrast_ros.nodes.conversions.domain import description_to_msg, time_to_msg
from robocontrast_ros.policies.protocol import PolicyDescription
from robocontrast_ros.robots.profile import load_profile

MAIN = "from robocontrast_ros.nodes.rollout_node import main; main()"
ROBOT = resolve_uri("package://robocontrast_ros/config/robots/franka.yaml")
PROFILE = load_profile("franka")
CAMERA = next(camera for camera in PROFILE.cameras if camera.name == "board")
POLICY = PolicyDescription("looks", "planar_delta", 2, cameras=("board",))
SIZE = (64, 48)


class Others:
    """What a rollout needs besides: a policy server, a scorer, and the drivers of robot and camera."""

    def __init__(self, node, states: str, offset: float) -> None:
        """Begin to publish; ``states`` is the topic of the joint states, ``offset`` their clock's [s]."""
        self.told: list[JointTrajectory] = []
        self._offset = offset
        node.create_service(DescribePolicy, "policy_server/describe", self._describe)
        for kind, name in ((Act, "policy_server/act"), (ResetPolicy, "policy_server/reset")):
            node.create_service(kind, name, lambda _, response: response)
        node.create_subscription(PoseStamped, "tool_pose", lambda _: None, 10)
        node.create_subscription(JointTrajectory, PROFILE.command.topic, self.told.append, 10)
        node.create_publisher(Progress, "progress", 10)
        self._states = node.create_publisher(JointState, states, 10) if states else None
        self._images = node.create_publisher(Image, CAMERA.image_topic, 10)
        self._infos = node.create_publisher(CameraInfo, CAMERA.info_topic, 10)
        node.create_timer(0.05, self._publish)

    @staticmethod
    def _describe(_, response: DescribePolicy.Response) -> DescribePolicy.Response:
        response.description = description_to_msg(POLICY, "")
        return response

    def _publish(self) -> None:
        now = time.time_ns()
        if self._states is not None:
            state = JointState(name=list(PROFILE.joint_names), position=list(PROFILE.home))
            state.header.stamp = time_to_msg(now + nanoseconds(self._offset))
            self._states.publish(state)
        image = Image(
            width=SIZE[0], height=SIZE[1], encoding="rgb8", step=3 * SIZE[0], data=bytes(3 * SIZE[0] * SIZE[1])
        )
        info = CameraInfo(width=SIZE[0], height=SIZE[1])
        image.header.frame_id = info.header.frame_id = CAMERA.frame_id
        image.header.stamp = info.header.stamp = time_to_msg(now)
        self._images.publish(image)
        self._infos.publish(info)


@pytest.mark.parametrize(
    ("states", "offset", "width", "words"),
    [
        ("", 0.0, 64, "SENSOR_LOST: not all of joint_states"),
        pytest.param("elsewhere/joint_states", 0.0, 64, "SENSOR_LOST: not all of joint_states", marks=pytest.mark.long),
        ("joint_states", -3600.0, 64, "ROBOT_FAULT: the stamps of joint_states are 3600."),
        ("joint_states", 0.0, 128, "have 64x48 pixels, expected 128x48, as the session's `cameras`"),
    ],
    ids=["no driver", "a driver in another namespace", "a clock that is an hour behind", "images of another size"],
)
def test_what_is_silent_in_another_time_or_of_another_size_is_told_before_anything_moves(states, offset, width, words):
    given = {
        "robot": ROBOT,
        "pacing": "wall_clock",
        "steps_per_control": 1,
        "control_period": 0.1,
        "image_cameras": "[board]",
        "image_widths": f"[{width}]",
        "image_heights": "[48]",
        # Nodes of a session that are not here.
        "sources": "[others]",
        "startup_timeout": 20.0,
    }
    arguments = [word for key, value in given.items() for word in ("-p", f"{key}:={value}")]
    with spun_node("others") as node:
        others = Others(node, states, offset)
        rollout = subprocess.run(
            [sys.executable, "-c", MAIN, "--ros-args", *arguments],
            text=True,
            capture_output=True,
            timeout=240,
            check=False,
        )
        assert not others.told
    assert rollout.returncode == 3, rollout.stderr
    assert words in rollout.stderr and "Traceback" not in rollout.stderr, rollout.stderr
