"""The line on a table of ``wall_clock_line``, with an arm whose controllers take goals and may refuse them."""

from __future__ import annotations

import math
import threading
import time
from typing import ClassVar

import rclpy
from emulated_controllers import EmulatedControllers, PointJoints
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from wall_clock_line import RATE, START, Helper

from robocontrast_ros.robots.kinematics import Kinematics
from robocontrast_ros.worlds.backends import BackendContext

TRIPPED = 6
"""After how many goals the robot has its one protective stop; a person unlocks it at the next set-up."""


PUSHED = 0.05
"""How far along the line the tool was pushing when it meets somebody's hand, once, on its way up from there [m]."""

SLIDER, LOWERED = 0.9, 0.4
"""Share of full speed that the speed slider leaves, and to which somebody lowers it, once, in the second trial."""

LOWERING = 3
"""Number of the set-up after which that is: the first trial has two."""

HELD = 5.0
"""How long that hand stays [s]."""


class DrivenArm:
    """An arm behind emulated controllers."""

    def __init__(self, context: BackendContext, moved) -> None:
        self._kinematics, self._moved = Kinematics(context.robot), moved
        self._joints = PointJoints(context.robot.home)
        self._tripped, self._begun, self._pushed, self._met = False, False, False, 0.0
        self._set_ups, self._lower_at = 0, math.inf
        self._context = Context()
        rclpy.init(context=self._context)
        self._node = Node("arm_driver", context=self._context)
        self.controllers = EmulatedControllers(
            self._node, context.robot.joint_names, self._joints.positions, self._joints.follow, active=()
        )
        self.controllers.misbehaviour.speed = SLIDER
        self._node.create_timer(1.0 / RATE, self._look)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._thread = threading.Thread(target=self._executor.spin, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._executor.shutdown(timeout_sec=2.0)
        self._thread.join(timeout=10.0)
        self.controllers.close()
        self._node.destroy_node()
        rclpy.shutdown(context=self._context)

    def set_up(self) -> None:
        """Let a person have unlocked the robot, and set its slider back."""
        self._set_ups += 1
        goals = len(self.controllers.seen.goals)
        self._lower_at = goals + TRIPPED if self._set_ups == LOWERING else math.inf
        self.controllers.misbehaviour.speed = SLIDER
        self.controllers.unlock()

    def _look(self) -> None:
        if len(self.controllers.seen.goals) >= self._lower_at:
            self.controllers.misbehaviour.speed = LOWERED
        tool = self._kinematics.tool_pose(self._joints.positions())
        self._moved(tool)
        x, y, z = tool.position
        low = z < START[2] + 0.02
        # A hand is in the way home alone, of the attempt after the protective stop.
        self._begun = self._begun or (self._tripped and low and math.hypot(x - START[0], y - START[1]) < 0.01)
        self._pushed = self._pushed or (self._begun and low and y > START[1] + PUSHED)
        if self._pushed and not self._met and z > START[2] + 0.05:
            self._met = time.monotonic()
            self.controllers.wrench.force = 0.0, 0.0, -40.0
        elif self._met and time.monotonic() > self._met + HELD:
            self.controllers.wrench.force = 0.0, 0.0, 0.0
        if not self._tripped and len(self.controllers.seen.goals) >= TRIPPED:
            self._tripped = True
            self.controllers.protective_stop()


class DrivenHelper(Helper):
    """The helper, who also looks after the robot before each trial."""

    arm: ClassVar[type] = DrivenArm

    def set_up(self, target, moves):
        """Look after the robot, then carry blocks."""
        self._arm.set_up()
        return super().set_up(target, moves)
