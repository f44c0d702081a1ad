"""The interfaces of real drivers over joints that something else moves, and what real drivers do wrong.

ros2_control's controllers and their manager, ur_robot_driver's modes, franka_ros2's actions and MoveIt Servo, as their
clients see them. How joints and fingers move is given as functions: ``emulated_lab.py`` puts a MuJoCo world behind
them. Servo is the exception: it takes velocities, and moves nothing.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from control_msgs.action import FollowJointTrajectory, GripperCommand
from controller_manager_msgs.msg import ControllerState
from controller_manager_msgs.srv import ListControllers, SwitchController
from emulated_wrench import EmulatedWrench
from franka_msgs.action import ErrorRecovery, Grasp, Homing, Move
from geometry_msgs.msg import TwistStamped
from moveit_msgs.srv import ServoCommandType
from rcl_interfaces.msg import ParameterType, ParameterValue
from rcl_interfaces.srv import GetParameters
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.node import Node
from rclpy.task import Future
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Float64, Float64MultiArray
from std_srvs.srv import SetBool, Trigger
from ur_dashboard_msgs.msg import RobotMode, SafetyMode

from robocontrast_ros.domain import nanoseconds
from robocontrast_ros.nodes.conversions.domain import time_to_msg
from robocontrast_ros.nodes.runtime.qos import LATCHED
from robocontrast_ros.robots.drivers import FrankaGripper, GripperAction
from robocontrast_ros.robots.end_effectors.base import EndEffector
from robocontrast_ros.robots.manipulator import ManipulatorProfile

SPEED_SCALING = "speed_scaling_state_broadcaster/speed_scaling"
"""Where ur_robot_driver says what its speed slider leaves [percent]."""

TRAJECTORY, POSITION, VELOCITY = "trajectory_controller", "position_controller", "velocity_controller"
"""Names of the controllers where nothing else is said; all of them move the same joints."""

RATE = 100.0
"""How often goals are looked at, and joint states published [Hz]."""

FOREVER = 60.0
"""How long a velocity holds that nothing replaces [s]."""

REACHED = 2e-3
"""How near to where it was sent a finger ends its motion [m or rad]."""

STALL = 0.3
"""How long fingers stand still until they count as held up [s]."""

PREEMPTED = "libfranka gripper: Command aborted!"
"""What franka_gripper says of a goal that another one, or a stop, ended."""


@dataclass(frozen=True)
class Interfaces:
    """Names of what a driver serves; empty for what it does not have.

    Attributes:
        trajectory: a joint_trajectory_controller.
        position: a forward_command_controller of positions.
        velocity: a forward_command_controller of velocities.
        manager: the controller manager.
        status: ur_robot_driver's controller that publishes its modes; empty also where there is no speed slider.
        gripper: franka_gripper's node.
        gripper_command: an action of control_msgs/action/GripperCommand.
        recovery: franka_ros2's action.
        servo: MoveIt Servo's node.
    """

    trajectory: str = TRAJECTORY
    position: str = POSITION
    velocity: str = VELOCITY
    manager: str = "controller_manager"
    status: str = "io_and_status_controller"
    gripper: str = "franka_gripper"
    gripper_command: str = "gripper_controller/gripper_cmd"
    recovery: str = "action_server/error_recovery"
    servo: str = "servo_node"

    @property
    def controllers(self) -> tuple[str, ...]:
        """The controllers that there are."""
        return tuple(filter(None, (self.trajectory, self.position, self.velocity)))


def interfaces_of(profile: ManipulatorProfile) -> Interfaces:
    """Return what the driver of an arm has to serve, as the arm's file names it."""
    driver = profile.driver
    streaming, hand = driver.streaming, driver.hand
    return Interfaces(
        trajectory=driver.follow_joint_trajectory.controller if driver.follow_joint_trajectory else "",
        position=streaming.controller if streaming and streaming.interface == "position" else "",
        velocity=streaming.controller if streaming and streaming.interface == "velocity" else "",
        manager=driver.controller_manager,
        status=driver.universal_robots.status if driver.universal_robots else "",
        gripper=hand.node if isinstance(hand, FrankaGripper) else "",
        gripper_command=hand.action if isinstance(hand, GripperAction) else "",
        recovery=driver.franka.error_recovery if driver.franka else "",
        servo="",
    )


@dataclass
class Misbehaviour:
    """What goes wrong from now on; by default nothing.

    Attributes:
        rejected_goals: how many of the next trajectories are rejected.
        abort: error code and text with which the present and the next trajectories are aborted.
        latency: how much later a command is followed [s].
        silent: whether goals are neither accepted nor rejected.
        drop: whether goals are accepted, and never followed nor ended.
        refuse_switch: why controllers are not switched; empty where they are.
        state_names: the names in the joint states, in their order; None for the joints'.
        shift: added to the joints' positions in the joint states, by name [rad or m].
        clock_offset: added to the stamps of the joint states [s].
        hand_error: what the hand's driver says in place of moving.
        in_error: whether an error keeps controllers from being activated until it is recovered from.
        speed: share of full speed that a UR's slider leaves: goals take as much longer.
    """

    rejected_goals: int = 0
    abort: tuple[int, str] | None = None
    latency: float = 0.0
    silent: bool = False
    drop: bool = False
    refuse_switch: str = ""
    state_names: tuple[str, ...] | None = None
    shift: Mapping[str, float] = field(default_factory=dict)
    clock_offset: float = 0.0
    hand_error: str = ""
    in_error: bool = False
    speed: float = 1.0


@dataclass
class Seen:
    """What clients asked for.

    Attributes:
        goals: trajectories that were accepted.
        streamed: (controller, values) of each command of a forward controller.
        switches: (activated, deactivated) of each switch.
        hand: (action, width or position) of each goal of the hand, and of each stop.
        cancelled: names of the actions of which a goal was asked to end.
        twists: what Servo received.
        servo: names of Servo's services that were called.
        recoveries: how often an error was recovered from.
    """

    goals: list[Any] = field(default_factory=list)
    streamed: list[tuple[str, list[float]]] = field(default_factory=list)
    switches: list[tuple[list[str], list[str]]] = field(default_factory=list)
    hand: list[tuple[str, float]] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    twists: list[TwistStamped] = field(default_factory=list)
    servo: list[str] = field(default_factory=list)
    recoveries: int = 0


@dataclass
class Fingers:
    """The driven joint of a hand.

    Attributes:
        effector: the hand, which knows how far apart its fingers are.
        position: returns where the driven joint is [m or rad].
        go: has it go somewhere [m or rad], at the hand's own speed, until something is in its way.
    """

    effector: EndEffector
    position: Callable[[], float]
    go: Callable[[float], None]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the joints."""
        return tuple(joint.name for joint in self.effector.joints)

    def width(self) -> float:
        """Return how far the fingers are apart [m]."""
        return self.effector.width([self.position()] * len(self.names))

    def stop(self) -> None:
        """Stay."""
        self.go(self.position())


@dataclass
class _Grip:
    """A goal of the hand that is being carried out."""

    handle: Any
    action: str
    target: float
    at: float
    since: float


class EmulatedControllers:
    """Serves the interfaces on a node.

    Attributes:
        misbehaviour: what goes wrong; may be changed at any time.
        seen: what clients asked for.
        states: controller -> inactive or active.
        parameters: (node, parameter) -> what GetParameters answers.
        wrench: the force at the tool.
    """

    def __init__(
        self,
        node: Node,
        joints: Sequence[str],
        positions: Callable[[], Sequence[float]],
        follow: Callable[[Sequence[float], float], None],
        states_topic: str = "joint_states",
        active: Iterable[str] | None = None,
        order: Sequence[str] | None = None,
        interfaces: Interfaces = Interfaces(),
        fingers: Fingers | None = None,
    ) -> None:
        """Serve.

        Args:
            node: served by somebody else, on one thread.
            joints: names of the joints.
            positions: returns where they are [rad].
            follow: has them go to positions [rad] within a time [s]; called from the node's thread.
            states_topic: where joint states are published; empty where somebody else does.
            active: controllers that are active; None for the one that takes trajectories.
            order: of the joints in the controllers; None for that of `joints`.
            interfaces: names of what is served.
            fingers: of the hand; None where its goals succeed and nothing moves.
        """
        self._node, self._joints, self._positions, self._follow = node, tuple(joints), positions, follow
        self._names, self._fingers = interfaces, fingers
        self.misbehaviour, self.seen = Misbehaviour(), Seen()
        active = {interfaces.trajectory} if active is None else set(active)
        self.states = {name: "active" if name in active else "inactive" for name in interfaces.controllers}
        self._order = tuple(order or joints)
        self.parameters: dict[tuple[str, str], Any] = {
            **{(name, "joints"): list(self._order) for name in self.states},
            (interfaces.position, "interface_name"): "position",
            (interfaces.velocity, "interface_name"): "velocity",
            (interfaces.servo, "moveit_servo.command_in_type"): "speed_units",
            (interfaces.servo, "moveit_servo.incoming_command_timeout"): 0.1,
        }
        self._lock = threading.RLock()
        self._goal: tuple[Any, float] | None = None
        self._grip: _Grip | None = None
        self._servers: list[ActionServer] = []
        self._robot_mode = self._speed = None
        self._late: list[tuple[float, Callable[[], None]]] = []
        self._stopped = False
        self._serve_trajectories()
        self._serve_manager()
        self._serve_modes()
        self._serve_franka()
        self._serve_servo()
        self._states = node.create_publisher(JointState, states_topic, 10) if states_topic else None
        node.create_timer(1.0 / RATE, self._tick)
        self.wrench = EmulatedWrench(node)

    def close(self) -> None:
        """Destroy the action servers, which a node does not destroy; its executor has to be shut down before."""
        for server in self._servers:
            # rclpy (9.1) forgets a result that is asked for once it is there, and removes it again here.
            with contextlib.suppress(ValueError):
                server.destroy()

    def protective_stop(self) -> None:
        """Stop as a UR does that met something: the robot stands, its modes change, the trajectory is aborted."""
        with self._lock:
            self._stopped = True
            self._follow(self._positions(), 0.0)
        self.set_modes(safety=SafetyMode.PROTECTIVE_STOP, program=False)

    def unlock(self) -> None:
        """Let a person have unlocked the protective stop and started the program again."""
        with self._lock:
            self._stopped = False
        self.set_modes()

    def set_modes(self, robot: int = RobotMode.RUNNING, safety: int = SafetyMode.NORMAL, program: bool = True) -> None:
        """Publish the modes of a UR, where it is one."""
        if self._robot_mode is None:
            return
        self._robot_mode.publish(RobotMode(mode=robot))
        self._safety_mode.publish(SafetyMode(mode=safety))
        self._program.publish(Bool(data=program))

    def _serve_trajectories(self) -> None:
        if self._names.trajectory:
            name = f"{self._names.trajectory}/follow_joint_trajectory"
            self._serve_action(FollowJointTrajectory, name, self._on_accepted, self._on_goal, self._stop_following)
        for name in filter(None, (self._names.position, self._names.velocity)):
            self._node.create_subscription(
                Float64MultiArray, f"{name}/commands", lambda message, name=name: self._on_stream(name, message), 10
            )
        for name in filter(None, (*self.states, self._names.servo)):
            self._node.create_service(
                GetParameters,
                f"{name}/get_parameters",
                lambda request, response, name=name: self._on_parameters(name, request, response),
            )

    def _serve_action(
        self,
        kind: Any,
        name: str,
        accepted: Callable[[Any], None],
        goal: Callable[[Any], Any] = lambda _: GoalResponse.ACCEPT,
        stop: Callable[[], None] = lambda: None,
    ) -> None:
        """Serve an action whose goals end in ``_tick``; ``stop`` is called when one is asked to end."""

        def cancel(_: Any) -> CancelResponse:
            self.seen.cancelled.append(name)
            stop()
            return CancelResponse.ACCEPT

        server = ActionServer(
            self._node,
            kind,
            name,
            execute_callback=lambda handle: kind.Result(),
            goal_callback=goal,
            handle_accepted_callback=accepted,
            cancel_callback=cancel,
        )
        self._servers.append(server)

    def _serve_manager(self) -> None:
        if not (manager := self._names.manager):
            return
        self._node.create_service(ListControllers, f"{manager}/list_controllers", self._on_list)
        self._node.create_service(SwitchController, f"{manager}/switch_controller", self._on_switch)

    def _serve_modes(self) -> None:
        if not (status := self._names.status):
            return
        self._robot_mode = self._node.create_publisher(RobotMode, f"{status}/robot_mode", LATCHED)
        self._safety_mode = self._node.create_publisher(SafetyMode, f"{status}/safety_mode", LATCHED)
        self._program = self._node.create_publisher(Bool, f"{status}/robot_program_running", LATCHED)
        self._speed = self._node.create_publisher(Float64, SPEED_SCALING, 10)
        self.set_modes()

    def _serve_franka(self) -> None:
        if self._names.gripper:
            for name, kind in (("move", Move), ("grasp", Grasp), ("homing", Homing)):
                served = f"{self._names.gripper}/{name}"
                self._serve_action(kind, served, lambda handle, name=name: self._on_hand(name, handle), stop=self._halt)
            self._node.create_service(Trigger, f"{self._names.gripper}/stop", self._on_hand_stop)
        if name := self._names.gripper_command:
            self._serve_action(
                GripperCommand, name, lambda handle: self._on_hand("gripper_cmd", handle), stop=self._halt
            )
        if self._names.recovery:
            self._servers.append(ActionServer(self._node, ErrorRecovery, self._names.recovery, self._on_recovery))

    def _serve_servo(self) -> None:
        if not (servo := self._names.servo):
            return
        self._node.create_subscription(TwistStamped, f"{servo}/delta_twist_cmds", self.seen.twists.append, 10)
        for kind, name in ((ServoCommandType, "switch_command_type"), (SetBool, "pause_servo")):
            self._node.create_service(
                kind, f"{servo}/{name}", lambda request, response, name=name: self._on_servo(name, response)
            )

    async def _on_goal(self, goal: Any) -> GoalResponse:
        if self.misbehaviour.silent:
            await Future()
        active = self.states[self._names.trajectory] == "active"
        if not active or sorted(goal.trajectory.joint_names) != sorted(self._joints):
            return GoalResponse.REJECT
        begins = goal.trajectory.header.stamp
        last = goal.trajectory.points[-1].time_from_start
        ends = begins.sec + last.sec + 1e-9 * (begins.nanosec + last.nanosec)
        if begins.sec and ends < time.time():
            return GoalResponse.REJECT  # it ends in the past
        if self.misbehaviour.rejected_goals > 0:
            self.misbehaviour.rejected_goals -= 1
            return GoalResponse.REJECT
        return GoalResponse.ACCEPT

    def _on_accepted(self, handle: Any) -> None:
        trajectory = handle.request.trajectory
        point = trajectory.points[-1]
        there = dict(zip(trajectory.joint_names, point.positions, strict=True))
        duration = point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec
        with self._lock:
            if self._goal is not None:
                cancelled = self._goal[0].is_cancel_requested
                code = FollowJointTrajectory.Result.INVALID_GOAL
                self._end("canceled" if cancelled else "abort", code, "Current goal preempted by new incoming action.")
            self.seen.goals.append(trajectory)
            if self.misbehaviour.drop:
                self._goal = handle, math.inf
                return
            duration /= max(self.misbehaviour.speed, 1e-3)
            self._goal = handle, time.monotonic() + duration + self.misbehaviour.latency
            self._later(lambda: self._go([there[name] for name in self._joints], duration))

    def _end(self, how: str, code: int, text: str) -> None:
        """End the present goal: succeed, abort or canceled."""
        (handle, _), self._goal = self._goal, None

        def execute(ended: Any) -> FollowJointTrajectory.Result:
            getattr(ended, how)()
            return FollowJointTrajectory.Result(error_code=code, error_string=text)

        handle.execute(execute)

    def _tick(self) -> None:
        now, kind = time.monotonic(), FollowJointTrajectory.Result
        with self._lock:
            due, self._late = (
                [work for at, work in self._late if at <= now],
                [(at, work) for at, work in self._late if at > now],
            )
            for work in due:
                work()
            if self._goal is not None:
                handle, ends = self._goal
                if handle.is_cancel_requested:
                    self._end("canceled", kind.SUCCESSFUL, "")
                elif self.misbehaviour.abort is not None:
                    self._end("abort", *self.misbehaviour.abort)
                    self._follow(self._positions(), 0.0)
                elif self._stopped:
                    self._end("abort", kind.PATH_TOLERANCE_VIOLATED, "Aborted due to path tolerance violation")
                elif now >= ends:
                    self._end("succeed", kind.SUCCESSFUL, "")
            if self._grip is not None:
                self._look_at_hand(self._grip, now)
        self._publish()

    def _publish(self) -> None:
        if self._speed is not None:
            self._speed.publish(Float64(data=100.0 * self.misbehaviour.speed))
        if self._states is None:
            return
        here = dict(zip(self._joints, self._positions(), strict=True))
        names = self.misbehaviour.state_names or self._joints
        if self._fingers is not None:
            here |= dict.fromkeys(self._fingers.names, self._fingers.position())
            names = self.misbehaviour.state_names or (*self._joints, *self._fingers.names)
        shift = self.misbehaviour.shift
        message = JointState(name=list(names), position=[here.get(name, 0.0) + shift.get(name, 0.0) for name in names])
        message.header.stamp = time_to_msg(time.time_ns() + nanoseconds(self.misbehaviour.clock_offset))
        self._states.publish(message)

    def _later(self, work: Callable[[], None]) -> None:
        if self.misbehaviour.latency > 0.0:
            self._late.append((time.monotonic() + self.misbehaviour.latency, work))
        else:
            work()

    def _go(self, target: Sequence[float], duration: float) -> None:
        if not self._stopped:
            self._follow(target, duration)

    def _on_stream(self, name: str, message: Float64MultiArray) -> None:
        self.seen.streamed.append((name, list(message.data)))
        if self.states[name] != "active":
            return
        values = dict(zip(self._order, message.data, strict=True))
        ordered = [values[joint] for joint in self._joints]
        if name == self._names.velocity:
            target = [at + FOREVER * speed for at, speed in zip(self._positions(), ordered, strict=True)]
            self._later(lambda: self._go(target, FOREVER))
        else:
            self._later(lambda: self._go(ordered, 1.0 / RATE))

    def _on_parameters(self, name: str, request: Any, response: Any) -> Any:
        response.values = [_parameter(self.parameters.get((name, parameter))) for parameter in request.names]
        return response

    def _on_list(self, _: Any, response: Any) -> Any:
        for name, state in self.states.items():
            interface = "velocity" if name == self._names.velocity else "position"
            claims = [f"{joint}/{interface}" for joint in self._joints]
            response.controller.append(
                ControllerState(
                    name=name,
                    state=state,
                    required_command_interfaces=claims,
                    claimed_interfaces=claims if state == "active" else [],
                )
            )
        response.controller.append(ControllerState(name="joint_state_broadcaster", state="active"))
        return response

    def _on_switch(self, request: Any, response: Any) -> Any:
        on, off = list(request.activate_controllers), list(request.deactivate_controllers)
        refusal = self.misbehaviour.refuse_switch or ("hardware is in error" if self.misbehaviour.in_error else "")
        stay = {name for name, state in self.states.items() if state == "active"} - set(off)
        if not refusal and on and (stay or request.strictness != request.STRICT):
            refusal = f"resource conflict with {', '.join(sorted(stay))}"
        response.ok, response.message = not refusal, refusal
        if not refusal:
            self.seen.switches.append((on, off))
            self.states.update(dict.fromkeys(off, "inactive") | dict.fromkeys(on, "active"))
        return response

    def _on_hand(self, name: str, handle: Any) -> None:
        """Begin a goal of the hand; the one before ends."""
        request, fingers = handle.request, self._fingers
        wanted = request.command.position if name == "gripper_cmd" else getattr(request, "width", 0.0)
        with self._lock:
            self.seen.hand.append((name, wanted))
            if self._grip is not None:
                self._end_grip("abort", False, PREEMPTED)
            self._grip = _Grip(handle, name, wanted, math.nan, time.monotonic())
            if self.misbehaviour.hand_error:
                self._end_grip("abort", False, self.misbehaviour.hand_error)
            elif fingers is None:
                self._end_grip("succeed", True)
            else:
                if name == "homing":
                    self._grip.target = fingers.effector.joints[0].open
                elif name != "gripper_cmd":
                    self._grip.target = fingers.effector.positions(wanted)[0]
                fingers.go(self._grip.target)

    def _look_at_hand(self, grip: _Grip, now: float) -> None:
        """End the goal of the hand where its fingers have arrived, are held up, or were asked to stop."""
        here = self._fingers.position()
        if grip.handle.is_cancel_requested:
            self._end_grip("canceled", False, PREEMPTED)
        elif abs(here - grip.target) < REACHED:
            self._end_grip("succeed", True)
        elif not abs(here - grip.at) < REACHED / 4.0:
            grip.at, grip.since = here, now
        elif now - grip.since > STALL:
            holds = False
            if grip.action == "grasp":
                request, width = grip.handle.request, self._fingers.width()
                holds = request.width - request.epsilon.inner <= width <= request.width + request.epsilon.outer
            self._end_grip("succeed" if holds else "abort", holds)

    def _end_grip(self, how: str, success: bool, error: str = "") -> None:
        """End the present goal of the hand: succeed, abort or canceled."""
        grip, self._grip = self._grip, None
        if grip.action == "gripper_cmd":
            here = grip.target if self._fingers is None else self._fingers.position()
            result = GripperCommand.Result(position=here, reached_goal=success, stalled=not (success or error))
        else:
            result = {"move": Move, "grasp": Grasp, "homing": Homing}[grip.action].Result(success=success, error=error)

        def execute(ended: Any) -> Any:
            getattr(ended, how)()
            return result

        grip.handle.execute(execute)

    def _on_hand_stop(self, _: Any, response: Any) -> Any:
        with self._lock:
            self.seen.hand.append(("stop", math.nan if self._fingers is None else self._fingers.width()))
            self._halt()
            if self._grip is not None and not self._grip.handle.is_cancel_requested:
                self._end_grip("abort", False, PREEMPTED)
        response.success = True
        return response

    def _halt(self) -> None:
        """Stop the fingers; what is held stays held."""
        if self._fingers is not None and self._grip is not None:
            self._fingers.stop()

    def _stop_following(self) -> None:
        """Stay, as the controller does at once when a goal is cancelled."""
        with self._lock:
            self._later(lambda: self._follow(self._positions(), 0.0))

    def _on_recovery(self, handle: Any) -> Any:
        self.seen.recoveries += 1
        self.misbehaviour.in_error = False
        handle.succeed()
        return ErrorRecovery.Result()

    def _on_servo(self, name: str, response: Any) -> Any:
        self.seen.servo.append(name)
        response.success = True
        return response


def _parameter(value: Any) -> ParameterValue:
    if isinstance(value, list):
        return ParameterValue(type=ParameterType.PARAMETER_STRING_ARRAY, string_array_value=value)
    if isinstance(value, float):
        return ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=value)
    if isinstance(value, str):
        return ParameterValue(type=ParameterType.PARAMETER_STRING, string_value=value)
    return ParameterValue()


class PointJoints:
    """Joints that are where they were told to be, on a straight line between."""

    def __init__(self, start: Sequence[float]) -> None:
        """Stand."""
        self._lock, self._from, self._to = threading.Lock(), tuple(start), tuple(start)
        self._began, self._duration = 0.0, 1.0

    def positions(self) -> tuple[float, ...]:
        """Return where they are [rad]."""
        with self._lock:
            return self._now()

    def follow(self, target: Sequence[float], duration: float) -> None:
        """Go to positions [rad] within a time [s]."""
        with self._lock:
            self._from, self._to = self._now(), tuple(target)
            self._began, self._duration = time.monotonic(), max(duration, 1e-3)

    def _now(self) -> tuple[float, ...]:
        share = min((time.monotonic() - self._began) / self._duration, 1.0)
        return tuple(a + share * (b - a) for a, b in zip(self._from, self._to, strict=True))
