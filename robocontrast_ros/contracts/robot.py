"""The contract of robots of every kind."""

from __future__ import annotations

import math
import re

import numpy as np
import yaml

from robocontrast_ros.configuration import dump_record, parse_record
from robocontrast_ros.contracts.checking import once, promise, refuses
from robocontrast_ros.domain import Pose, RobotState
from robocontrast_ros.domain.products import norm
from robocontrast_ros.objects import SHIPPED, model_of_uri
from robocontrast_ros.objects.frames import compose, inverse
from robocontrast_ros.objects.joints import Joint, part_pose
from robocontrast_ros.robots.action_spaces import Move
from robocontrast_ros.robots.commands import JointTrajectoryCommand, RobotCommand, TwistCommand
from robocontrast_ros.robots.controllers.protocol import Controller
from robocontrast_ros.robots.kinds import make_controller, make_safety_filter, make_state_estimator, stop_command
from robocontrast_ros.robots.kinematics import Kinematics, Unreachable
from robocontrast_ros.robots.profile import RobotProfile, load_profile
from robocontrast_ros.robots.profile_base import Triple
from robocontrast_ros.worlds.mujoco.entities import VALID_NAME, EntityState
from robocontrast_ros.worlds.mujoco.world import World

PERIOD = 0.1
"""A control period [s]."""
STEPS = 40
"""Control periods of random actions."""
TRUE = 2e-3
"""Greatest error of the robot's own estimate in the embedded world, at rest [m]."""
DRIVEN = 5e-3
"""Greatest distance of a base at rest beyond its profile's tolerances in the embedded world [m or rad]."""
FOLLOWED = 0.5
"""Greatest lag of the tool behind its displacements, as a share of the greatest one."""
UPRIGHT = 2e-3
"""Greatest angle of the tool from pointing straight down [rad]."""
AWAY = 0.05
"""Least distance of a joint from its limits in the tool's workspace [rad]."""
CABINET, DRAWER = f"{SHIPPED}/kitchen/cabinet.yaml#brown", "top_drawer"
"""A thing with a moving part, which a hand may open."""
BESIDE = 0.4
"""Distance of that thing from the tool's workspace, its front towards it [m]."""
PULLED = 0.1
"""Distance by which its drawer is open [m]."""
MOVED = 1e-3
"""Greatest motion of a drawer that nothing touches [m]."""


class RobotContract:
    """Inherit, and name the robot.

    Attributes:
        robot: name in config/robots/, or path of a file.
        world: URI or path of the world model that the robot is put into; the shipped world of its kind if empty.
        board: least and greatest x, then y, of the places that an arm with `planar_delta` has to reach, `world` frame
            [m].
    """

    robot: str
    world = ""
    board = ((0.10, 0.65), (-0.3548, 0.3548))  # the board of Language-Table and 5 cm beyond

    @once
    def profile(self) -> RobotProfile:
        """Return the robot."""
        return load_profile(self.robot)

    def embedded(self, start: Triple | None = None) -> World:
        """Return the embedded world with this robot, made afresh, and its tool at ``start`` [m] if that is given."""
        folder = "apartment" if self.profile().mobile else "language_table"
        return World(self.profile(), self.world or f"package://robocontrast_ros/models/{folder}/world.xml", start)

    def state(self, world: World) -> RobotState:
        """Return the robot's state by its own estimate, at the beginning of an episode."""
        estimator = make_state_estimator(self.profile())
        estimator.begin(world.tool_pose())
        return estimator.update(world.reading())

    def test_its_file_can_be_written_and_read_again(self) -> None:
        """Runs do so, because they keep it."""
        profile = self.profile()
        promise(
            parse_record(type(profile), yaml.safe_load(yaml.safe_dump(dump_record(profile))), self.robot) == profile,
            "a profile that is written down and read again is the same",
        )

    def test_it_says_what_a_session_has_to_know(self) -> None:
        """It has name, action spaces, topics."""
        profile = self.profile()
        promise(
            re.fullmatch(VALID_NAME, profile.name),
            f"a robot's `name` has letters, digits and _, a letter first; got '{profile.name}'",
        )
        promise(profile.action_spaces.offered, "a robot offers at least one of the `action_spaces`")
        driver = (*profile.command_topics, *profile.driver_topics, *profile.latched_topics)
        topics = [topic.name for topic in driver]
        topics += [topic for camera in profile.cameras for topic in (camera.image_topic, camera.info_topic)]
        absolute = [topic for topic in topics if topic.startswith("/")]
        promise(
            not absolute,
            f"topics are relative, so that a session can be in a namespace; these are not: {', '.join(absolute)}",
        )

    def test_the_embedded_world_has_it_where_its_sensors_say(self) -> None:
        """State estimation recovers the state from the driver's messages."""
        world = self.embedded()
        estimate, truth = self.state(world).pose, world.tool_pose()
        promise(
            estimate.distance_to(truth) <= TRUE,
            f"the estimate of a robot that stands still is where the robot is, within {TRUE} m; it is "
            f"{estimate.distance_to(truth):.4f} m away",
        )

    def test_its_safety_filter_never_refuses_a_hold(self) -> None:
        """This holds for a controller's hold, and for the one that is sent when nothing else is known."""
        world = self.embedded()
        state, safety = self.state(world), make_safety_filter(self.profile(), PERIOD)
        holds = [controller.hold(state) for _, controller in self.controllers(state)]
        for command in (*holds, stop_command(self.profile(), world.reading(), PERIOD)):
            checked = safety.check(command, state, person_near=True)
            promise(
                checked.command is command and not checked.interventions,
                f"the safety filter passes a hold on as it is; of {command} it made {checked}",
            )

    def test_its_safety_filter_sees_no_jump_of_a_robot_that_is_where_it_was_sent(self) -> None:
        """A robot that was sent nowhere, or stands where it was told to stay, did not spring."""
        world = self.embedded()
        state, safety = self.state(world), make_safety_filter(self.profile(), PERIOD)
        for command in (None, stop_command(self.profile(), world.reading(), PERIOD)):
            if command is not None:
                safety.held(command)
            jump = safety.sprung(state, world.reading())
            promise(jump is None, f"`sprung` is None for a robot that stands still; got {jump}")

    def test_every_action_space_that_it_offers_refuses_what_is_no_action(self) -> None:
        """The action has another size, or is not finite; the robot can be stopped then."""
        world = self.embedded()
        state = self.state(world)
        for space, controller in self.controllers(state):
            size = controller.action_size
            promise(size >= 1, f"an action of {space} has at least one number; got {size}")
            joints = self.profile().observed_joints
            promise(
                sum(channel.numbers(joints) for channel in controller.channels) == size,
                f"the numbers of an action of {space} are those of its `channels`",
            )
            promise(controller.conventions.reference, f"the conventions of {space} say what its numbers refer to")
            for wrong in ([0.0] * (size + 1), [0.0] * (size - 1), [math.nan] * size, [math.inf] * size):
                refuses(
                    lambda controller=controller, wrong=wrong: controller.begin(wrong, state),
                    ValueError,
                    f"{space} raises ValueError for {wrong}, which is no action of {size} finite numbers",
                )
            promise(
                self.is_still(controller.hold(state), state),
                f"`hold` stops the robot where it is; that of {space} commands {controller.hold(state)}",
            )

    def test_whatever_a_policy_answers_the_robot_keeps_its_limits(self) -> None:
        """It gets random actions in the embedded world, of which many are too great."""
        for space in self.profile().action_spaces.offered:
            world = self.embedded()
            self.act_at_random(world, space)

    def act_at_random(self, world: World, space: str) -> None:
        """Carry out random actions, and check each command."""
        estimator = make_state_estimator(self.profile())
        estimator.begin(world.tool_pose())
        state = estimator.update(world.reading())
        controller = make_controller(self.profile(), space, PERIOD)
        controller.reset(state)
        rng = np.random.default_rng(0)
        done = 0
        while done < STEPS:
            controller.begin(self.random_action(controller, rng), state)
            while done < STEPS and (step := controller.step(state)) is not None:
                promise(
                    step.clamped == bool(step.reasons),
                    f"a step of {space} that is clamped has reasons, and no other; got {step!r}",
                )
                self.check_limits(space, step.command, state)
                world.apply_command(step.command)
                world.step(round(PERIOD / world.step_duration))
                state = estimator.update(world.reading())
                done += 1

    def test_beside_drawers_it_is_the_same_robot_and_moves_none_that_it_does_not_touch(self) -> None:
        """Only an arm with a hand is checked: its joints are told from those of things."""
        profile = self.profile()
        if profile.mobile or not profile.has_hand:
            return
        world, place, joint = self.embedded(), self.beside(), _drawer()
        before = world.reading()
        world.spawn("cabinet", place, uri=CABINET)
        part = f"cabinet/{DRAWER}"
        world.set_entity_state(part, EntityState(part_pose(place, joint, PULLED)))
        promise(
            world.reading() == before,
            f"a thing that comes, or is opened, leaves the sensors as they are; {before} became {world.reading()}",
        )
        if "tool_delta" in profile.action_spaces.offered:
            self.act_at_random(world, "tool_delta")  # its tool stays in the workspace
        now = joint.position(compose(inverse(world.poses()["cabinet"]), world.poses()[part]))
        promise(
            abs(now - PULLED) <= MOVED,
            f"a drawer that the robot does not touch stays as it is; one at {PULLED} m is at {now:.4f} m",
        )

    def beside(self) -> Pose:
        """Return the pose of a cabinet before the robot, out of its reach, with its front towards it."""
        box = self.profile().workspace
        return Pose.planar(box.x[1] + BESIDE, sum(box.y) / 2.0, math.pi)

    def test_its_actions_lead_where_they_should(self) -> None:
        """Action spaces are checked if the profile gives the place to which an action leads."""
        checks = {
            "planar_delta": self.check_planar_delta,
            "tool_delta": self.check_tool_delta,
            "discrete_navigation": self.check_discrete_navigation,
        }
        for space in self.profile().action_spaces.offered:
            checks.get(space, lambda: None)()

    def check_planar_delta(self) -> None:
        """The tool points down everywhere on the board, and goes to the commanded places."""
        profile, arm = self.profile(), Kinematics(self.profile())
        height = profile.action_spaces.planar_delta.height
        bound = profile.action_spaces.planar_delta.max_step
        for x in np.linspace(*self.board[0], 8):
            for y in np.linspace(*self.board[1], 9):
                place = (float(x), float(y), height)
                where = f"at ({x:.2f}, {y:.2f}, {height:.2f}) m"
                try:
                    joints = arm.posture(place)
                except Unreachable as error:
                    raise AssertionError(f"the tool reaches all of the board; not so {where}: {error}") from None
                tool = arm.tool_pose(joints)
                promise(
                    math.dist(tool.position, place) < 1e-3 and _lean(tool) < UPRIGHT,
                    f"the tool is where inverse kinematics puts it and points down; {where} it is at {tool.position} "
                    f"and leans by {_lean(tool):.4f} rad",
                )
                margin = min(min(q - j.lower, j.upper - q) for j, q in zip(profile.joints, joints, strict=True))
                promise(
                    margin > AWAY,
                    f"joints keep {AWAY} rad from their limits on the board; {where} one is {margin:.3f} rad away",
                )
        middle = (*(sum(sides) / 2 for sides in self.board), height)
        for along, across in ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)):
            world = self.embedded(middle)
            state = self.state(world)
            controller = make_controller(profile, "planar_delta", PERIOD)
            controller.reset(state)
            for _ in range(5):
                controller.begin((along * bound / 2, across * bound / 2), state)
                world.apply_command(controller.step(state).command)
                world.step(round(PERIOD / world.step_duration))
                state = self.state(world)
            wanted = (middle[0] + along * 2.5 * bound, middle[1] + across * 2.5 * bound, height)
            off = math.dist(world.tool_pose().position, wanted)
            promise(
                off < FOLLOWED * bound,
                f"in the embedded world the tool goes where it is told; after 5 displacements from {middle} it is "
                f"{off:.3f} m from {wanted}. Look at `servo`, and at `links` that may touch something",
            )

    def check_tool_delta(self) -> None:
        """From its start the tool goes and turns as commanded, and a hand closes and opens."""
        profile = self.profile()
        space, box = profile.action_spaces.tool_delta, profile.workspace
        world = self.embedded()
        state = first = self.state(world)
        middle = np.array([sum(sides) / 2 for sides in (box.x, box.y, box.z)])
        way = middle - first.pose.position
        step = way * (space.max_step / (2.0 * float(norm(way))))
        controller = make_controller(profile, "tool_delta", PERIOD)
        controller.reset(state)
        widths = []
        for closed in (1.0, 0.0):
            for sign in (1.0, -1.0):
                for _ in range(5):
                    turn = sign * space.max_turn / 4.0
                    action = (*(sign * step), 0.0, 0.0, turn, closed)[: controller.action_size]
                    controller.begin(action, state)
                    world.apply_command(controller.step(state).command)
                    world.step(round(PERIOD / world.step_duration))
                    state = self.state(world)
                if sign > 0.0:
                    wanted = np.add(first.pose.position, 5 * step)
                    off = float(norm(np.subtract(world.tool_pose().position, wanted)))
                    promise(
                        off < FOLLOWED * space.max_step,
                        f"in the embedded world the tool goes where it is told; after 5 displacements it is {off:.3f} "
                        "m away. Look at `servo`, and at `links` that may touch something",
                    )
            widths.append(state.gripper_width)
        if profile.has_hand:
            promise(
                widths[0] < FOLLOWED * profile.end_effector.greatest_width < widths[1],
                f"a hand closes with 1 and opens with 0, within a second; its widths were {widths} m",
            )

    def check_discrete_navigation(self) -> None:
        """Forward drives its distance, left and right turn by their angle, and the base comes to rest there."""
        space = self.profile().action_spaces.discrete_navigation
        for move, ahead, turn in ((Move.FORWARD, space.distance, 0.0), (Move.LEFT, 0.0, 1.0), (Move.RIGHT, 0.0, -1.0)):
            world = self.embedded()
            start = world.tool_pose()
            estimator = make_state_estimator(self.profile())
            estimator.begin(start)
            state = estimator.update(world.reading())
            controller = make_controller(self.profile(), "discrete_navigation", PERIOD)
            controller.reset(state)
            controller.begin((float(move),), state)
            while (step := controller.step(state)) is not None:
                promise(not step.clamped, f"on free floor {move.name} is not blocked; it says {step.reasons}")
                world.apply_command(step.command)
                world.step(round(PERIOD / world.step_duration))
                state = estimator.update(world.reading())
            end = world.tool_pose()
            driven, turned = math.dist(start.xy, end.xy), math.remainder(end.yaw - start.yaw, math.tau)
            promise(
                abs(driven - ahead) <= space.distance_tolerance + DRIVEN
                and abs(turned - turn * space.angle) <= space.angle_tolerance + DRIVEN,
                f"{move.name} drives {ahead} m and turns by {turn * space.angle:.3f} rad; it drove {driven:.3f} m and "
                f"turned by {turned:.3f} rad",
            )

    def controllers(self, state: RobotState) -> list[tuple[str, Controller]]:
        """Return a controller for each action space that it offers."""
        made = [(s, make_controller(self.profile(), s, PERIOD)) for s in self.profile().action_spaces.offered]
        for _, controller in made:
            controller.reset(state)
        return made

    def random_action(self, controller: Controller, rng: np.random.Generator) -> tuple[float, ...]:
        """Return a valid action: one of a few moves, or numbers of any size that a robot may meet."""
        if controller.conventions.reference == "discrete":
            moves = [(float(k),) for k in range(1, 4)]
            return moves[rng.integers(len(moves))]
        return tuple(rng.normal(scale=0.3, size=controller.action_size).tolist())

    def is_still(self, command: RobotCommand, state: RobotState) -> bool:
        """Return whether a command stops the robot at its place."""
        if isinstance(command, TwistCommand):
            return command == TwistCommand()
        return bool(np.allclose(command.positions, state.joint_positions, rtol=0.0, atol=1e-6))

    def check_limits(self, space: str, command: RobotCommand, state: RobotState) -> None:
        """Check a command against the profile."""
        profile = self.profile()
        if isinstance(command, TwistCommand):
            limits = profile.limits
            promise(
                abs(command.linear) <= limits.linear_speed and abs(command.angular) <= limits.angular_speed,
                f"{space} keeps the speeds of `limits`; it commands {command}",
            )
        elif isinstance(command, JointTrajectoryCommand):
            named = dict(zip(command.names, command.positions, strict=True))
            for joint in profile.joints:
                promise(
                    joint.lower <= named[joint.name] <= joint.upper,
                    f"{space} keeps '{joint.name}' within [{joint.lower}, {joint.upper}]; it commands "
                    f"{named[joint.name]}",
                )
            for joint in profile.end_effector.joints[:1] if command.gripper is not None else ():
                promise(
                    min(joint.open, joint.closed) <= command.gripper <= max(joint.open, joint.closed),
                    f"{space} keeps '{joint.name}' between open and closed; it commands {command.gripper}",
                )
        else:
            raise AssertionError(f"{space} commands what no driver takes: {command!r}")


def _drawer() -> Joint:
    """Return the joint of the cabinet's drawer."""
    return next(part.joint for part in model_of_uri(CABINET).joints if part.name == DRAWER)


def _lean(tool: Pose) -> float:
    """Return the angle between the tool's axis and straight down [rad]."""
    x, y, _, _ = tool.orientation
    return math.acos(min(1.0, max(-1.0, -(1.0 - 2.0 * (x * x + y * y)))))
