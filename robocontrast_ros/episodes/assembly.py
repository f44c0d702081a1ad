"""One episode put together from its ports: the same for the graph and for one process without ROS."""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from robocontrast_ros.domain import Fault, Intervention, Observed, Pose, Progress, RobotState, Segment
from robocontrast_ros.episodes.bench import BenchFault
from robocontrast_ros.episodes.loop import EpisodeRequest
from robocontrast_ros.episodes.ports import Images, Pacer, PendingAnswer, PolicyConnection, RobotPort, Surroundings
from robocontrast_ros.episodes.thinking import ThoughtOver
from robocontrast_ros.observations.protocol import Filters
from robocontrast_ros.policies.protocol import Observation, PolicyFault
from robocontrast_ros.policies.segments import as_told
from robocontrast_ros.policies.serving.runner import image_digest
from robocontrast_ros.robots.commands import JointTrajectoryCommand, RobotCommand
from robocontrast_ros.robots.homing import farthest_joint
from robocontrast_ros.robots.readings import CheckedEstimator, ImpossibleReading, TooFar
from robocontrast_ros.robots.safety.filter import SafetyFilter
from robocontrast_ros.robots.state_estimation import NotAtStart, Reading

ARRIVED = 0.05
"""How far a joint may be from the end of a piece of its way when the next one begins [rad]."""

REPEAT = 1.0
"""Delay after which a piece of a robot's way is commanded again [s]."""

SLOWEST, LATE = 9.0, 5.0
"""A piece of the way that is late by more than this factor of its duration, plus this time [s], will not end any more:
a robot's own speed slider may slow it down."""


class EpisodeAssembly:
    """The ``episodes.loop.EpisodeBench`` made of ports.

    Attributes:
        policy: the policy that serves; another may replace it between two episodes.
        sent: the instruction, and the digest of the first images, sent to it in this episode.
        interventions: commands of this episode in which the safety filter intervened, by kind of limit.
    """

    def __init__(
        self,
        robot: RobotPort,
        estimator: CheckedEstimator,
        pacer: Pacer,
        surroundings: Surroundings,
        policy: PolicyConnection,
        period: float,
        safety: SafetyFilter,
    ) -> None:
        """Take the parts; ``period`` is that of a control step [s], and ``safety`` is asked about each command."""
        self.policy = policy
        self._robot, self._estimator, self._pacer = robot, estimator, pacer
        self._surroundings, self._period = surroundings, period
        self._stamp, self._filters = 0, Filters((), 0)
        self._observation: Observation | None = None
        self.sent, self._asked = Observed(), False
        self._safety, self._state, self.interventions = safety, RobotState(0, Pose()), Counter[str]()
        self._targets: dict[str, float] = {}

    def begin(self, request: EpisodeRequest, cancelled: Callable[[], bool] = lambda: False) -> None:
        """Move the cameras that the filters displace, and bring the robot to its start if the world has not.

        The estimator gets the start pose. A way that is cancelled ends with ABORTED.
        """
        self._filters = Filters(request.filters, request.seed)
        self._safety.begin()
        self._estimator.forget()
        self.interventions = Counter[str]()
        self._targets = {}
        if offsets := self._filters.offsets(self._surroundings.movable):
            self._surroundings.move_cameras(offsets)
        self._robot.prepare()
        self._pacer.begin()
        if self._robot.homes:
            self._pacer.step()
            self._go(request.start_pose, request.start, cancelled)
        self._estimator.begin(request.start_pose)

    def rest(self) -> None:
        """Bring a robot that the world does not reset to its posture of rest, after an episode.

        Raises:
            BenchFault: ROBOT_NOT_READY if there is no checked way, or if something is in it; the robot stops.
        """
        if self._robot.homes:
            self._estimator.forget()
            self._robot.prepare()
            self._pacer.begin()
            # In a world that waits there is no newer reading before a step.
            self._pacer.step()
            self._go(None, self._stamp)

    def _go(self, start: Pose | None, after: int, cancelled: Callable[[], bool] = lambda: False) -> None:
        way = self._robot.way(start, after)
        try:
            reading = self._read(after) if way else None
            for command in way:
                reading = self._go_one_piece(command, reading, cancelled)
        except BenchFault:
            # It has a command to the end of a piece, and would go on.
            with contextlib.suppress(BenchFault):
                self.stop()
            raise

    def _go_one_piece(self, command: RobotCommand, reading: Reading, cancelled: Callable[[], bool]) -> Reading:
        """Return the reading with which the robot has arrived: the next piece was checked from there.

        Its state is read in each control period: its driver may have a fault, the force may become too great, and a
        person may come near, or leave, for whom the rest of the piece is commanded again at another speed.
        """
        piece, sent, speed, number = farthest_joint(command, reading), command, 0.0, 0
        while True:
            off, allowed = farthest_joint(command, reading), self._homing_speed(reading)
            late = number * self._period - sent.duration
            if number and late >= 0.0 and off <= ARRIVED:
                return reading
            if late > SLOWEST * sent.duration + LATE:
                raise BenchFault(
                    Fault.ROBOT_NOT_READY,
                    f"on its way the robot is still {off:.2f} rad from where it was sent, {late:.1f} s after it "
                    "should be there: is its speed slider down, or something in its way?",
                )
            if allowed != speed:
                ahead = min(off / piece, 1.0) if speed and piece > ARRIVED else 1.0
                duration = max(command.duration * ahead / allowed, min(command.duration, self._period))
                sent, speed, number = replace(command, duration=duration), allowed, 0
            # A command can be lost.
            if number % math.ceil((sent.duration + REPEAT) / self._period) == 0:
                self._robot.command(sent, reading.stamp)
            if cancelled():
                raise BenchFault(Fault.ABORTED, "somebody stopped the trial while the robot was on its way")
            self._pacer.step()
            number += 1
            reading = self._read(reading.stamp)

    def _read(self, after: int) -> Reading:
        """Return the first reading later than a time [ns].

        Raises:
            BenchFault: ROBOT_FAULT if the robot cannot be there.
        """
        reading = self._robot.state(after)
        try:
            self._estimator.check(reading)
        except ImpossibleReading as error:
            raise BenchFault(Fault.ROBOT_FAULT, str(error)) from None
        return reading

    def _homing_speed(self, reading: Reading) -> float:
        """Return the share of its speed at which the robot may go on its way.

        Raises:
            BenchFault: ROBOT_NOT_READY if it has to stop.
        """
        share, stopping = self._safety.homing(reading, self._surroundings.person_near)
        if stopping is not None:
            self.interventions[stopping.kind] += 1
            self._surroundings.intervened(reading.stamp, (stopping,))
            raise BenchFault(Fault.ROBOT_NOT_READY, f"on its way, {stopping.words}: is something in its way?")
        return share

    def reset_policy(self, instruction: str, seed: int, segments: tuple[Segment, ...] = ()) -> None:
        """Give the policy the instruction, or its segments if it takes them."""
        told = as_told(instruction, segments, self.policy.description)
        self.sent, self._asked = told.sent, False
        self.policy.reset(told.text, seed, told.segments or ())
        # A reset may take long, and is no part of a control period.
        self._pacer.begin()

    @property
    def period_errors(self) -> tuple[float, ...]:
        """Excess length of each control period [s]; empty if the world waits."""
        return tuple(self._pacer.errors)

    def step(self) -> None:
        """Let one control period pass."""
        self._pacer.step()

    def observe(self, after: int) -> Observation:
        """Return the first observation later than a time [ns], without images, which only the policy is shown.

        A robot that the policy pressed against something may spring to its target: then the policy is at fault.
        """
        try:
            reading = self._robot.state(after)
            robot = self._estimator.update(reading)
        except ImpossibleReading as error:
            jump = self._safety.sprung(self._state, reading) if isinstance(error, TooFar) else None
            if jump is None:
                raise BenchFault(Fault.ROBOT_FAULT, str(error)) from None
            self._intervene((jump,))
            detail = f"{jump.words}: it was pressed against something, and sprang"
            raise PolicyFault(Fault.POLICY_UNSAFE, detail) from None
        except NotAtStart as error:
            raise BenchFault(Fault.ROBOT_NOT_READY, str(error)) from None
        except ValueError as error:
            raise BenchFault(Fault.SENSOR_LOST, str(error)) from None
        self._stamp, self._state = robot.stamp, robot
        self._surroundings.located(robot, self._targets)
        self._observation = Observation(
            stamp=robot.stamp,
            images={},
            joint_names=robot.joint_names,
            joint_positions=robot.joint_positions,
            tool_pose=robot.pose,
            scene=self._surroundings.scene(robot.stamp) if self.policy.description.privileged else None,
            gripper_width=robot.gripper_width,
            gripper_closed=robot.gripper_closed,
        )
        return self._observation

    def last_shown(self) -> Observation | None:
        """Return the last observation as the policy would be shown it, with images; None if there was none."""
        if self._observation is None:
            return None
        observation, images = self._observation, self._surroundings.images(self._observation.stamp)
        if self._filters:
            observation, images = self._filtered(observation, images)
        return replace(observation, images=self.policy.shown(images))

    def request_actions(self, observation: Observation) -> PendingAnswer:
        """Ask the policy, with images of this control step, without waiting for it."""
        images = self._surroundings.images(observation.stamp)
        if self._filters:
            observation, images = self._filtered(observation, images)
        if not self._asked:
            # Before the policy has them: one in this process could change them. Only for the first, because it costs
            # time.
            self.sent = replace(self.sent, image_digest=image_digest(self.policy.shown(images)))
            self._asked = True
        pending = self.policy.request_actions(observation, images)
        return ThoughtOver(pending, observation.stamp, self._filters.delay) if self._filters.delays else pending

    def answered(self, pending: PendingAnswer, wait: bool) -> bool:
        """Return whether the robot need not go on without an answer; wait for it while the control period lasts."""
        if not self._pacer.answered(pending, wait):
            return False
        return not isinstance(pending, ThoughtOver) or pending.due(self._stamp)

    def _filtered(self, observation: Observation, images: Images) -> tuple[Observation, Images]:
        shown = self._filters.apply(replace(observation, images=self.policy.shown(images)))
        images = self.policy.packed(shown.images, images)
        shown = replace(shown, images={})
        self._surroundings.shown(shown, images)
        return shown, images

    def progress(self, stamp: int) -> Progress:
        """Return the score of a time [ns]."""
        return self._surroundings.progress(stamp)

    def command(self, command: RobotCommand) -> None:
        """Send a command, which answers the last observation, as far as the safety filter lets it pass."""
        checked = self._safety.check(command, self._state, self._surroundings.person_near)
        if checked.interventions:
            self._intervene(checked.interventions)
        if checked.command is None:
            stopping = next(each for each in checked.interventions if each.action == "stop")
            raise PolicyFault(Fault.POLICY_UNSAFE, stopping.words)
        self._robot.command(checked.command, self._stamp)
        self._aim(checked.command)

    def _aim(self, command: RobotCommand) -> None:
        if isinstance(command, JointTrajectoryCommand):
            self._targets.update(zip(command.names, command.positions, strict=True))

    def _intervene(self, interventions: tuple[Intervention, ...]) -> None:
        self.interventions.update(each.kind for each in interventions)
        self._surroundings.intervened(self._stamp, interventions)

    def hold(self, command: RobotCommand) -> None:
        """End a motion by the controller's command to stop and stay."""
        self._safety.held(command)
        self._robot.hold(command, self._stamp)
        self._aim(command)

    def stop(self) -> None:
        """Have the robot stop where it is."""
        self._safety.begin()
        self._robot.stop()
