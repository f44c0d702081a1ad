"""A bench in one process: the embedded world, the policy and the scorer, without ROS.

It runs the same loop, scoring, set-up and controllers as the graph, so that the graph's overhead can be measured, and
whole studies run fast.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.configuration.files import find_file
from robocontrast_ros.domain import (
    Intervention,
    JointTracking,
    Pose,
    Progress,
    RobotState,
    Scene,
    Segment,
    SetupMove,
    Trial,
)
from robocontrast_ros.episodes.assembly import EpisodeAssembly
from robocontrast_ros.episodes.bench import BenchFault, Execution, PolicyBench, PolicyRefusal, Recording, ServingPolicy
from robocontrast_ros.episodes.judging import TRUE_SCENE, Judge
from robocontrast_ros.episodes.loop import EpisodeReport, EpisodeRequest, run_episode
from robocontrast_ros.episodes.pacing import Lockstep
from robocontrast_ros.episodes.ports import Images, PendingAnswer
from robocontrast_ros.episodes.scoring import STANDARD, EpisodeScorer, Sample, Score, need_joints
from robocontrast_ros.images.rendering import Camera
from robocontrast_ros.policies.fit import check_fit
from robocontrast_ros.policies.protocol import Observation, PolicyDescription
from robocontrast_ros.policies.segments import to_send
from robocontrast_ros.policies.serving.lifecycle import NothingStaged, PolicySlot
from robocontrast_ros.policies.serving.runner import Answer, PolicyRunner
from robocontrast_ros.robots.commands import RobotCommand
from robocontrast_ros.robots.controllers.protocol import Controller
from robocontrast_ros.robots.kinds import make_controller, make_safety_filter, make_state_estimator, stop_command
from robocontrast_ros.robots.profile_base import RobotProfile
from robocontrast_ros.robots.state_estimation import Reading
from robocontrast_ros.strategies.effort import Tolerance, setup_moves
from robocontrast_ros.system.numerics import one_thread
from robocontrast_ros.tasks.protocol import Task, robot_start
from robocontrast_ros.worlds.mujoco.entities import EntityState, ResetScope
from robocontrast_ros.worlds.mujoco.world import World
from robocontrast_ros.worlds.recording import EpisodePorts, TrialRecorder, TrialRecording, recorded
from robocontrast_ros.worlds.simulated_scene import SimulatedScene
from robocontrast_ros.worlds.simulation import Feature, SimulationError

SETTLE_STEPS = 50
"""Physics steps after a set-up, before the scene is read back."""

TOLERANCE = 0.01
"""Greatest distance of an object from its place after that [m]."""


class WorldSimulation:
    """A ``worlds.Simulation`` that calls the embedded world directly."""

    formats: frozenset[str] = frozenset()

    def __init__(self, world: World) -> None:
        """Take the world."""
        self._world = world

    def features(self) -> frozenset[int]:
        """Return all features that a set-up can use."""
        return frozenset(int(feature) for feature in Feature)

    def poses(self) -> tuple[int, dict[str, Pose]]:
        """Return the time [ns] and every entity's pose in the world frame."""
        return self._world.time_ns, self._world.poses()

    def request_poses(self, then: Callable[[int, dict[str, Pose]], None]) -> None:
        """Pass the poses to ``then`` at once."""
        then(*self.poses())

    @property
    def description(self) -> str:
        """The simulator and renderer of the world, in words."""
        return self._world.description

    def play(self, playing: bool) -> None:
        """Do nothing: this world always waits."""

    def set_pose(self, entity: str, pose: Pose) -> None:
        """Put an entity, at rest, at a pose."""
        with _refusals():
            self._world.set_entity_state(entity, EntityState(pose))

    @contextlib.contextmanager
    def at_once(self) -> Iterator[None]:
        """Compose the world once for all entities that are spawned and deleted meanwhile."""
        with _refusals(), self._world.at_once():
            yield

    def spawn(self, entity: str, uri: str, pose: Pose) -> None:
        """Spawn an entity."""
        with _refusals():
            self._world.spawn(entity, pose, uri=uri)

    def delete(self, entity: str) -> None:
        """Delete an entity."""
        with _refusals():
            self._world.delete(entity)

    def reset_state(self) -> None:
        """Put everything back to its place at the beginning; time goes on."""
        self._world.reset(ResetScope.STATE)

    def step(self, steps: int) -> None:
        """Let that many physics steps pass."""
        self._world.step(steps)

    def bounds(self, entity: str) -> tuple[float, float] | None:
        """Return length and width of an entity in its own frame, from above [m]."""
        found = self._world.bounds(entity)
        return found and (found.upper[0] - found.lower[0], found.upper[1] - found.lower[1])


@contextlib.contextmanager
def _refusals() -> Iterator[None]:
    """Raise refusals of the world as SimulationError."""
    try:
        yield
    except (ValueError, KeyError) as error:
        raise SimulationError(str(error)) from None


class WorldRobot:
    """The ``episodes.ports.RobotPort`` of the embedded world's robot, which a set-up brings to its start."""

    homes = False

    def __init__(self, world: World, period: float) -> None:
        """Take the world, and the period of a control step [s]."""
        self._world, self._period = world, period

    def prepare(self) -> None:
        """Do nothing: the robot is always ready."""

    def state(self, after: int) -> Reading:
        """Return the present reading."""
        return self._world.reading()

    def command(self, command: RobotCommand, stamp: int) -> None:
        """Apply a command for the coming control period."""
        self._world.apply_command(command)

    hold = command

    def way(self, start: Pose | None, after: int) -> Sequence[RobotCommand]:
        """Return no commands: the robot is at its start."""
        return ()

    def stop(self) -> None:
        """Have the robot stay in its place."""
        self._world.apply_command(stop_command(self._world.profile, self._world.reading(), self._period))


class WorldSurroundings:
    """The ``episodes.ports.Surroundings`` of one trial in the embedded world."""

    person_near = False

    def __init__(self, world: World, scene: SimulatedScene, scorer: EpisodeScorer, joints: bool) -> None:
        """Take the world, the reader of its scene, the trial's scorer, and whether a score needs the joints."""
        self._world, self._scene, self._scorer, self._joints = world, scene, scorer, joints
        self._contacts = world.profile.reports_contacts
        self.movable = tuple(camera.name for camera in world.cameras)
        self._sample: Sample | None = None

    def move_cameras(self, offsets: Mapping[str, Pose]) -> None:
        """Move cameras of the world until it is reset."""
        self._world.cameras.move(offsets)

    def located(self, state: RobotState, targets: Mapping[str, float]) -> None:
        """Read the scene of this time, to be scored with the robot's own estimate of its pose."""
        _, scene = self._scene.read()
        if self._contacts:
            scene = replace(scene, contacts=self._world.touched(), carried=self._world.carried())
        joints = JointTracking.of(state, targets) if self._joints else None
        self._sample = Sample(self._world.time_ns, scene, state.pose, joints)

    def scene(self, stamp: int) -> Scene:
        """Return the scene of this time."""
        return self._sample.scene

    def images(self, stamp: int) -> Images:
        """Render every camera, as in the graph."""
        return {camera.name: self._world.cameras.render(camera.name) for camera in self._world.cameras}

    def shown(self, observation: Observation, images: Images) -> None:
        """Do nothing: the recorder's ports record this, if there is a recorder."""

    def intervened(self, stamp: int, interventions: Sequence[Intervention]) -> None:
        """Do nothing: the recorder's ports record this, if there is a recorder."""

    def progress(self, stamp: int) -> Progress:
        """Score the scene of this time."""
        return self._scorer.update(self._sample)


@dataclass(frozen=True)
class _PendingAnswer:
    runner: PolicyRunner
    observation: Observation

    def arrived(self, timeout: float) -> bool:
        """Return True: the policy is called when its answer is taken."""
        return True

    def result(self) -> Answer:
        return self.runner.act(self.observation)


@dataclass(frozen=True)
class LocalPolicy:
    """The ``episodes.ports.PolicyConnection`` to a policy in this thread."""

    runner: PolicyRunner

    @property
    def description(self) -> PolicyDescription:
        """The policy's inputs and actions."""
        return self.runner.description

    def reset(self, instruction: str, seed: int, segments: tuple[Segment, ...] = ()) -> None:
        """Begin a trial."""
        self.runner.reset(instruction, seed, segments)

    def shown(self, images: Images) -> dict[str, NDArray[np.uint8]]:
        """Return the images of the cameras that the policy asks for."""
        return {name: images[name] for name in self.description.cameras}

    def packed(self, images: Mapping[str, NDArray[np.uint8]], like: Images) -> Images:
        """Return the images as they are."""
        return images

    def request_actions(self, observation: Observation, images: Images) -> PendingAnswer:
        """Return the policy's answer, computed when it is waited for."""
        return _PendingAnswer(self.runner, replace(observation, images=self.shown(images)))


class InProcessBench(PolicyBench):
    """A bench that records its trials if it has a recorder."""

    def __init__(
        self,
        world: World,
        task: Task,
        runner: PolicyRunner,
        settle_steps: int = SETTLE_STEPS,
        tolerance: float = TOLERANCE,
        stop_on_success: bool = True,
        aborted: Callable[[], bool] = lambda: False,
        judge: Judge = TRUE_SCENE,
        scores: Sequence[type[Score]] = STANDARD,
        recorder: TrialRecorder | None = None,
        feedback: Callable[[int, Progress], None] = lambda step, progress: None,
    ) -> None:
        """Put the parts together; see the parameters of sim_bridge for the numbers.

        ``aborted`` is called before every action; True ends the trial, which is void. The judge asks no person.
        ``feedback`` is called as by ``run_episode``.
        """
        self._recorder = recorder
        if recorder is not None:
            recorder.keep(world.time_ns, world.latched_sensors())
        self._world, self._task, self._slot = world, task, PolicySlot(runner)
        self._scene = _scene_of(world, task, settle_steps, tolerance)
        self._period = 1.0 / task.control_rate
        self._steps = round(self._period / world.step_duration)
        self._estimator = make_state_estimator(world.profile)
        self._safety = make_safety_filter(world.profile, self._period)
        self._controller = self._make_controller()
        self._stop_on_success, self._aborted = stop_on_success, aborted
        self._judge, self._scores = judge, scores
        self._feedback = feedback
        self._episode: EpisodeAssembly | None = None
        self._shown = ""

    @property
    def cameras(self) -> tuple[Camera, ...]:
        """The cameras that are rendered for every request to the policy."""
        return tuple(self._world.cameras)

    def policy(self) -> ServingPolicy:
        """Return the policy that serves."""
        return _serving_policy(self._slot.serving)

    def stage_policy(self, policy: str) -> ServingPolicy:
        """Load another policy beside the serving one."""
        try:
            file = find_file("policies", policy, "swap", "policy", Path.cwd())
            staged = self._slot.stage(file)
            cameras = {camera.name: (camera.width, camera.height) for camera in self._world.cameras}
            check_fit(staged.description, self._world.profile, self._task.control_rate, cameras, str(file))
        except ConfigurationError as error:
            self._slot.drop()
            raise PolicyRefusal(str(error)) from None
        return _serving_policy(staged)

    def serve_policy(self) -> None:
        """Let the staged policy serve."""
        try:
            self._slot.serve()
        except NothingStaged as error:
            raise PolicyRefusal(str(error)) from None
        self._controller = self._make_controller()

    def show_policy_as(self, code: str) -> None:
        """Name the policy by this code in the bags of later trials."""
        self._shown = code

    def close(self) -> None:
        """Free the policies and the renderer."""
        self._slot.close()
        self._world.close()

    def _make_controller(self) -> Controller:
        return make_controller(self._world.profile, self._slot.serving.description.action_space, self._period)

    def scene(self) -> Scene:
        """Return the present scene."""
        return self._scene.read()[1]

    def set_up(self, target: Scene, moves: tuple[SetupMove, ...]) -> Scene:
        """Put the robot to its start and the objects to their poses."""
        return self._scene.set_up(target, moves).scene

    def bring(self, target: Scene) -> Scene:
        """Set up a scene, starting from the present one."""
        return self.set_up(target, setup_moves(self.scene(), target, Tolerance()))

    def description(self) -> str:
        """Return the simulator and renderer of the scenes, in words."""
        return self._world.description

    def last_shown(self) -> Observation | None:
        """Return the last observation of the last trial, as the policy would be shown it; None without one."""
        return None if self._episode is None else self._episode.last_shown()

    @one_thread()
    def execute(self, trial: Trial, attempt: int) -> Execution:
        """Run one trial in the present scene and score it."""
        began = time.monotonic()
        start = self.scene()
        scorer = EpisodeScorer.for_instance(self._task, trial.instance, start, self._judge, self._scores)
        recording = None
        if self._recorder is not None:
            policy = self._shown or self._slot.serving.description.name
            recording = self._recorder.begin(trial, attempt, policy, start, self._world.time_ns)
        with contextlib.closing(recording) if recording is not None else contextlib.nullcontext():
            report = self._run(trial, start, scorer, recording)
            result = scorer.result(
                report.fault,
                report.detail,
                report.steps,
                report.clamped_steps,
                report.stopped,
                report.interventions,
            )
            # As in the graph: the first fault makes the trial void; its recording is ended in any case.
            void = BenchFault(report.fault, report.detail) if report.fault.voids else None
            where = Recording()
            try:
                if recording is not None:
                    where = recording.end(result, scorer.last_stamp or 0)
            except BenchFault as error:
                void = void or error
        if void is not None:
            raise void
        took = time.monotonic() - began
        return Execution(result=result, recording=where, wall_time=took, **report.episode)

    def _run(
        self, trial: Trial, start: Scene, scorer: EpisodeScorer, recording: TrialRecording | None
    ) -> EpisodeReport:
        """Run the episode of a trial that starts in a scene."""
        ports = EpisodePorts(
            WorldRobot(self._world, self._period),
            WorldSurroundings(self._world, self._scene, scorer, need_joints(self._scores)),
            lambda: self._world.step(self._steps),
        )
        if recording is not None:
            ports = recorded(ports, self._world, recording, self._recorder.every_step, self._period)
        episode = EpisodeAssembly(
            ports.robot,
            self._estimator,
            Lockstep(self._period, ports.step),
            ports.surroundings,
            LocalPolicy(self._slot.serving),
            self._period,
            self._safety,
        )
        request = EpisodeRequest(
            trial_id=trial.trial_id,
            instruction=trial.instance.instruction.text,
            segments=to_send(trial.instance.instruction, self._task, self._slot.serving.description),
            seed=trial.seed,
            step_limit=trial.step_limit or self._task.limit(trial.instance),
            stop_on_success=self._stop_on_success,
            start=self._world.time_ns,
            start_pose=robot_start(self._task, start),
            filters=trial.instance.observation,
        )
        self._episode = episode
        return run_episode(
            episode, self._controller, episode.policy.description, request, self._feedback, cancelled=self._aborted
        )


@dataclass(frozen=True)
class View:
    """What a camera sees of a scene.

    Attributes:
        image: shape (height, width, 3), RGB.
        bodies: name of the body that each pixel shows, shape (height, width); None if it was not asked for.
    """

    image: NDArray[np.uint8]
    bodies: NDArray[np.str_] | None = None


def looked_at(
    profile: RobotProfile,
    task: Task,
    cameras: Sequence[Camera],
    views: Iterable[tuple[Scene, Mapping[str, Pose]]],
    bodies: bool = False,
) -> Iterator[dict[str, View]]:
    """Yield the cameras' views of scenes that are set up one after the other, before any trial.

    Args:
        profile: the robot.
        task: the task.
        cameras: the cameras.
        views: scenes, each with the poses of the moved cameras, in the optical frames of their usual places [m].
        bodies: whether to say what each pixel shows.

    Returns:
        For each scene: camera's name -> its view.

    Raises:
        RenderingUnavailable: this machine cannot render images.
        SimulationError: a scene cannot be set up.
    """
    world = World(profile, task.scenes.world, task.scenes.start_position, cameras, task.scenes.physics_step)
    try:
        simulated = _scene_of(world, task)
        for target, offsets in views:
            simulated.set_up(target, setup_moves(simulated.read()[1], target, Tolerance()))
            world.cameras.move(offsets)
            yield {
                camera.name: View(
                    world.cameras.render(camera.name).copy(), world.cameras.bodies(camera.name) if bodies else None
                )
                for camera in cameras
            }
    finally:
        world.close()


def _scene_of(
    world: World, task: Task, settle_steps: int = SETTLE_STEPS, tolerance: float = TOLERANCE
) -> SimulatedScene:
    return SimulatedScene(
        WorldSimulation(world),
        world.resources(task.scenes.models),
        settle_steps,
        tolerance,
        robot=world.profile.name if world.profile.mobile else "",
    )


def _serving_policy(runner: PolicyRunner) -> ServingPolicy:
    described = runner.description
    return ServingPolicy(
        described.name, str(runner.path), runner.text, runner.load_time, runner.warm_up_time, described
    )
