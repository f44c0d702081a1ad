"""The line of blocks as a place without a simulator: an arm that moves by itself, a helper who carries blocks.

Nothing here can be stepped, there is no simulated time, and where the blocks are is known to the helper alone, who
looks when asked. The arm's driver follows joint trajectories on the wall clock; what its tool meets is pushed along.
"""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import ClassVar

import rclpy
from line_world import LineScenes, LineTask, x_of
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool
from trajectory_msgs.msg import JointTrajectory

from robocontrast_ros.domain import Pose, Scene
from robocontrast_ros.nodes.conversions.driver import command_from_msg
from robocontrast_ros.nodes.runtime.qos import LATCHED, LOCKSTEP, RECORDED
from robocontrast_ros.policies.protocol import PolicyDescription
from robocontrast_ros.robots.kinematics import Kinematics
from robocontrast_ros.worlds.backends import BackendContext, BackendFeatures

START = (0.4, -0.2, 0.01)
"""Where the tool starts, in the world [m]; the line runs along the world's y."""
AHEAD = 0.02
"""How far ahead of the tool a block is that it pushes [m]."""
RATE = 50.0
"""Of the arm's driver [Hz]."""


def along(y: float) -> float:
    """Return the place on the line of a point of the world [m]."""
    return y + 0.5


class WallClockScenes(LineScenes):
    """The line on a table."""

    start_position = START


class WallClockLine(LineTask):
    """The line's task for an arm."""

    scenes = WallClockScenes()
    step_limit = 10


class PushOn:
    """Moves the tool along the line, whatever it is told."""

    @classmethod
    def from_file(cls, path):
        """Return the policy; it has no parameters."""
        return cls()

    def describe(self):
        """See nothing."""
        return PolicyDescription("push_on", "planar_delta", 2)

    def reset(self, instruction, seed):
        """Begin anew."""

    def act(self, observation):
        """Go on by two centimetres."""
        return [[0.0, 0.02]]


class LongLine(WallClockLine):
    """The same with trials that take a minute."""

    step_limit = 600


class EndlessLine(WallClockLine):
    """The same with trials that take an hour."""

    step_limit = 36_000


class BackAndForth(PushOn):
    """Moves the tool along the line and back again, all the time."""

    turn = 0

    def act(self, observation):
        """Go on by a centimetre, and after ten of them back."""
        self.turn += 1
        return [[0.0, 0.01 if self.turn % 20 < 10 else -0.01]]


class Arm:
    """An arm's driver, with joints that are where its trajectory has them.

    On ``first_command`` it says whether the first thing that it was told is to stay where it is.
    """

    def __init__(self, context: BackendContext, moved) -> None:
        self._kinematics, self._names = Kinematics(context.robot), context.robot.joint_names
        self._from = self._to = tuple(context.robot.home)
        self._began, self._duration = 0.0, 1.0
        self._moved = moved
        self._context = Context()
        rclpy.init(context=self._context)
        self._node = Node("arm_driver", context=self._context)
        self._states = self._node.create_publisher(JointState, context.robot.state.topic, RECORDED)
        self._first = self._node.create_publisher(Bool, "first_command", LATCHED)
        self._told = False
        self._node.create_subscription(JointTrajectory, context.robot.command.topic, self._on_command, LOCKSTEP)
        self._node.create_timer(1.0 / RATE, self._publish)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._thread = threading.Thread(target=self._executor.spin, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._executor.shutdown(timeout_sec=2.0)
        self._thread.join(timeout=10.0)
        self._node.destroy_node()
        rclpy.shutdown(context=self._context)

    def _joints(self) -> tuple[float, ...]:
        share = min((time.monotonic() - self._began) / self._duration, 1.0)
        return tuple(a + share * (b - a) for a, b in zip(self._from, self._to, strict=True))

    def _on_command(self, message: JointTrajectory) -> None:
        command = command_from_msg(message)
        order = [command.names.index(name) for name in self._names]
        self._from, self._to = self._joints(), tuple(command.positions[i] for i in order)
        if not self._told:
            # Latched: whoever finds this driver later than its commander does hears of it, too.
            self._told = True
            self._first.publish(Bool(data=self._from == self._to))
        self._began, self._duration = time.monotonic(), max(command.duration, 1.0 / RATE)

    def _publish(self) -> None:
        joints = self._joints()
        message = JointState(name=list(self._names), position=list(joints))
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._moved(self._kinematics.tool_pose(joints))
        self._states.publish(message)


class Helper:
    """A scene backend: carries blocks where they are wanted, and says where they are when asked."""

    features: ClassVar[BackendFeatures] = BackendFeatures()
    description = "a line of blocks, and somebody who carries them"
    arm: ClassVar[type] = Arm

    def __init__(self, context: BackendContext) -> None:
        self._now, self._scene, self._lock = context.now, Scene(), threading.Lock()
        self._tool = along(START[1])
        self._arm = self.arm(context, self._push)

    def close(self) -> None:
        """Switch the arm off."""
        self._arm.close()

    def read(self) -> tuple[int, Scene]:
        """Look."""
        with self._lock:
            return self._now(), self._scene

    def set_up(self, target, moves) -> tuple[int, Scene]:
        """Carry what the moves name, and nothing else."""
        with self._lock:
            objects = {o.name: o for o in self._scene}
            for move in moves:
                objects.pop(move.name, None)
                if move.goal is not None:
                    objects[move.name] = replace(target[move.name], pose=move.goal)
            self._scene = Scene(tuple(objects[name] for name in target.names))
            return self._now(), self._scene

    def _push(self, tool: Pose) -> None:
        """Push along what the tool meets on its way up the line."""
        with self._lock:
            before, self._tool = self._tool, along(tool.position[1])
            if self._tool <= before or tool.position[2] > 0.05:
                return
            for name in self._scene.names:
                if before <= x_of(self._scene, name) < self._tool + AHEAD:
                    self._scene = self._scene.moved(name, Pose((self._tool + AHEAD, 0.0, 0.0)))


class Absent:
    """No arm: another process has its driver."""

    def __init__(self, context: BackendContext, moved) -> None:
        pass

    def close(self) -> None:
        pass


class Onlooker(Helper):
    """A helper at an arm that is not here."""

    arm = Absent


class LookOn(PushOn):
    """Moves on while it sees what the camera of these tests shows: more red than blue."""

    def describe(self):
        """See the board."""
        return PolicyDescription("look_on", "planar_delta", 2, cameras=("board",))

    def act(self, observation):
        """Go on by two centimetres, or fail."""
        red, _, blue = observation.images["board"].reshape(-1, 3).mean(axis=0)
        if not red > 2 * blue:
            raise RuntimeError(f"red {red} and blue {blue}: are the channels the other way round?")
        return super().act(observation)
