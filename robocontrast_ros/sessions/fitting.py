"""Whether robot, task, cameras, strategy and perturbations of a session fit together."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

from robocontrast_ros.configuration import ConfigurationError, load_plugin, make_plugin, plugin_names, resolve_uri
from robocontrast_ros.configuration.files import is_file, known_names
from robocontrast_ros.domain import ScoreSpec
from robocontrast_ros.episodes.judging import Judge
from robocontrast_ros.episodes.scoring import Score
from robocontrast_ros.episodes.scoring.standard import Success
from robocontrast_ros.perturbations.loading import Entry, load_perturbation, perturbation_names
from robocontrast_ros.perturbations.protocol import Perturbation
from robocontrast_ros.policies.loading import description_by_file
from robocontrast_ros.robots.drivers import DRIVER_PORTS, SIMULATED_PORT
from robocontrast_ros.robots.kinds import kind_of
from robocontrast_ros.robots.kinematics import Unreachable
from robocontrast_ros.robots.profile import RobotProfile, load_profile
from robocontrast_ros.sessions.schema import (
    ALL,
    DEFAULT_IMAGE_SIZE,
    CameraParameters,
    SessionParameters,
    SetupParameters,
    StopEarlyParameters,
    StrategyParameters,
    WorldParameters,
)
from robocontrast_ros.strategies.protocol import PerturbationUse, Strategy
from robocontrast_ros.tasks.protocol import Task
from robocontrast_ros.worlds.backends import BackendFeatures, backends_with, features_of
from robocontrast_ros.worlds.world_cameras import world_cameras

Origin = tuple[str, str, Path]
"""Where a value was written: source and key for errors, and the base folder of relative paths."""


def steps_per_control(task: Task, source: str) -> int:
    """Return the number of physics steps in one control period.

    Args:
        task: the task.
        source: its file, for the error.

    Raises:
        ConfigurationError: the period is no whole number of steps.
    """
    steps = 1.0 / (task.control_rate * task.scenes.physics_step)
    if round(steps) < 1 or abs(steps - round(steps)) > 1e-3:
        raise ConfigurationError(
            source,
            "physics_step",
            task.scenes.physics_step,
            f"a whole part of the control period, which is 1 / {task.control_rate:g} Hz",
            f"{1.0 / (task.control_rate * max(round(steps), 1)):g} would do.",
        )
    return round(steps)


def wanted_cameras(policy: Any, policy_file: Path) -> dict[str, CameraParameters]:
    """Return the cameras whose images the policy wants in one size, by its file alone."""
    description = description_by_file(policy, policy_file)
    if description is None:
        return {}
    wanted = {}
    for name, size in zip(description.cameras, description.image_sizes, strict=False):
        if size is None:
            continue
        try:
            wanted[name] = CameraParameters(name=name, width=size[0], height=size[1])
        except ValueError:
            raise ConfigurationError(
                str(policy_file),
                "image_sizes",
                f"{size[0]}x{size[1]} for '{name}'",
                "images of 16x16 to 4096x4096 pixels",
            ) from None
    return wanted


def with_cameras(
    parameters: SessionParameters,
    robot: RobotProfile,
    wanted: Mapping[str, CameraParameters],
    origin: Origin,
    robot_file: Path,
    scenery: str | None = None,
) -> SessionParameters:
    """Return the parameters with the cameras in use, which robot and world have to have.

    Args:
        parameters: of the session; if they name no cameras, all that there are will be in use.
        robot: the robot, whose file lists cameras.
        wanted: cameras whose images the policy wants in one size.
        origin: where the cameras were written.
        robot_file: file of the robot.
        scenery: URI of the simulated world model; None for another world, whose cameras are not known here.
    """
    known = [camera.name for camera in robot.cameras]
    there = _there(robot, scenery)
    if parameters.cameras is None:
        width, height = DEFAULT_IMAGE_SIZE
        usual = {name: CameraParameters(name=name, width=width, height=height) for name in known if name in there}
        return replace(parameters, cameras=tuple(wanted.get(name, usual[name]) for name in usual))
    for camera in parameters.cameras:
        if camera.name not in known:
            raise ConfigurationError.unknown(
                *origin[:2], camera.name, known, f"camera of the robot '{robot.name}' ({robot_file})"
            )
        if camera.name not in there:
            raise ConfigurationError.unknown(
                *origin[:2], camera.name, there, f"camera of the robot '{robot.name}' in the task's world ({scenery})"
            )
    return parameters


def without_cameras(parameters: SessionParameters, engine: str, origin: Origin) -> SessionParameters:
    """Return the parameters of a session whose simulator draws no images.

    Raises:
        ConfigurationError: they name cameras.
    """
    if parameters.cameras:
        expected = f"no cameras, because the simulator with the engine '{engine}' draws no images"
        cure = "Leave them out; for a policy that sees take `world.backend: embedded`."
        raise ConfigurationError(*origin[:2], [camera.name for camera in parameters.cameras], expected, cure)
    return replace(parameters, cameras=())


def check_world_is_there(scenery: str, task_file: Path) -> None:
    """Refuse a task's world model that does not exist; its content is checked when the world starts.

    Raises:
        ConfigurationError: it does not exist.
    """
    if not is_file(resolve_uri(scenery)):
        raise ConfigurationError(str(task_file), "world", scenery, "the URI or path of an MJCF file that exists")


def _there(robot: RobotProfile, scenery: str | None) -> list[str]:
    """Return the names of the robot's cameras that it carries, or that its simulated world has."""
    known = [camera.name for camera in robot.cameras]
    if scenery is None:
        return known
    try:
        standing = world_cameras(scenery)
    except (OSError, ValueError):
        # The start of the world says what is wrong with its file.
        return known
    return [name for name in known if name in (*robot.own_cameras, *standing)]


def check_shown_camera(parameters: SessionParameters, world: LoadedWorld, origin: Callable[[str], Origin]) -> None:
    """Refuse a camera of the console that the session does not use.

    Args:
        parameters: with the cameras in use.
        world: of the session.
        origin: where a key was written.
    """
    cameras, shown = [camera.name for camera in parameters.cameras or ()], parameters.operator.camera
    if world.features.console and shown and shown not in cameras:
        raise ConfigurationError.unknown(*origin("operator.camera")[:2], shown, cameras, "camera of the session")


def check_answer_time(parameters: SessionParameters, world: LoadedWorld, origin: Callable[[str], Origin]) -> None:
    """Refuse a blind session on the wall clock without a time of answers: the robot's pauses would reveal the policy.

    Args:
        parameters: of the session.
        world: of the session.
        origin: where a key was written.
    """
    if parameters.blind is None or world.lockstep or parameters.blind.answer_time is not None:
        return
    expected = "the least duration of each answer [s], longer than the slowest policy needs; 0 to hold no answer back"
    cure = "`policy_latency_max_s` in trials.csv of a run of each policy has the duration of its answers."
    raise ConfigurationError(*origin("blind.answer_time")[:2], "nothing", expected, cure)


def check_composed(parameters: SessionParameters, world: LoadedWorld, origin: Callable[[str], Origin]) -> None:
    """Refuse all in one process if the world goes on by itself, or if simulator or policy server are elsewhere.

    Args:
        parameters: of the session.
        world: of the session.
        origin: where a key was written.
    """
    if parameters.composed != ALL:
        return
    named = parameters.world
    reasons = {
        f"`world.pacing: {named.pacing}`, where no policy may delay what stops the robot": not world.lockstep,
        f"`world.backend: {named.backend}`, whose simulator the session does not start": not world.features.embedded,
        "`policy_server.external: true`, where the policy server runs elsewhere": parameters.policy_server.external,
    }
    if reason := next((words for words, holds in reasons.items() if holds), ""):
        raise ConfigurationError(*origin("composed")[:2], ALL, f"true or false with {reason}", "The default is true.")


def check_tolerances(
    parameters: SessionParameters, task: Task, world: LoadedWorld, origin: Callable[[str], Origin]
) -> None:
    """Refuse a tolerance of a name that is no object of the task, and those of `setup` if a person sets scenes up.

    Args:
        parameters: of the session.
        task: of the session.
        world: of the session.
        origin: where a key was written.
    """
    unused = SetupParameters()
    for key, usual in ((f.name, getattr(unused, f.name)) for f in fields(SetupParameters)):
        value = getattr(parameters.setup, key)
        if world.features.person and value != usual:
            cure = f"Set `operator.{key}` instead: objects within it need not be moved."
            expected = "no tolerances of `setup` if a person sets scenes up"
            raise ConfigurationError(*origin(f"setup.{key}")[:2], value, expected, cure)
    models = task.scenes.models
    if unknown := next((model for model in parameters.operator.tolerances if model not in models), None):
        where = origin(f"operator.tolerances.{unknown}")[:2]
        raise ConfigurationError.unknown(*where, unknown, models, f"object of the task '{task.name}'")


def check_port(robot: RobotProfile, robot_file: Path, world: LoadedWorld) -> None:
    """Refuse an unknown robot port; a port needs ROS, so that the rollout alone loads it.

    A port of a real driver is also refused in lockstep, because no real robot waits, and if our simulator plays the
    world: a real robot would follow the simulation. In practice nobody expects any robot to move, and a port of one's
    own is also refused.
    """
    known = plugin_names("robot_ports")
    if ":" not in robot.port and robot.port not in known:
        raise ConfigurationError.unknown(str(robot_file), "port", robot.port, known, "robot port")
    real = robot.port in DRIVER_PORTS or (world.practised and robot.port != SIMULATED_PORT)
    if real and (world.lockstep or world.features.embedded):
        raise ConfigurationError(
            str(robot_file),
            "port",
            robot.port,
            f"`port: {SIMULATED_PORT}` in a world that our simulator plays, or that is stepped",
            "In simulation, name the robot's file that this one extends. On the real robot, whose driver is reached "
            f"by '{robot.port}', choose a `world.backend` for it, and set world.pacing to wall_clock.",
        )


def check_commands_stay(robot: RobotProfile, robot_file: Path, world: LoadedWorld) -> None:
    """Refuse in practice a topic of commands outside the session's namespace: a real driver may listen there."""
    for topic, _ in robot.command_topics:
        if world.practised and topic.startswith("/"):
            raise ConfigurationError(
                str(robot_file),
                "topic",
                topic,
                "in practice a relative name, so that no real driver takes the commands",
                f"Write '{topic.lstrip('/')}': without a namespace it is the same topic.",
            )


def check_transports(robot: RobotProfile, robot_file: Path, world: LoadedWorld) -> None:
    """Refuse compressed images of the embedded simulator, which compresses none."""
    for index, camera in enumerate(robot.cameras):
        if world.features.embedded and camera.transport != "raw":
            raise ConfigurationError(
                str(robot_file),
                f"cameras.{index}.transport",
                camera.transport,
                "raw, because the embedded simulator compresses no images",
                "For sessions in simulation write a robot's file that `extends` this one, with its `cameras`.",
            )


def check_robot_fits_task(robot: RobotProfile, robot_file: Path, task: Task, task_file: Path, origin: Origin) -> None:
    """Refuse a fixed robot if scenes contain the robot's pose, and a mobile one if they do not."""
    wanted = task.scenes.start_position is None
    if robot.mobile == wanted:
        return
    kinds = ("is fixed", "is mobile")
    source, key, _ = origin
    raise ConfigurationError(
        source,
        key,
        robot.name,
        f"a robot that {kinds[wanted]}, for the task '{task.name}' ({task_file}); "
        f"{robot_file} describes one that {kinds[robot.mobile]}",
        _robots_for(task, wanted, robot.driver is not None),
    )


def check_robot_reaches(robot: RobotProfile, robot_file: Path, task: Task, task_file: Path, origin: Origin) -> None:
    """Refuse an arm whose tool does not reach all of the task's region."""
    if error := _out_of_reach(robot, task):
        source, key, _ = origin
        cure = _robots_for(task, robot.mobile, robot.driver is not None)
        if robot_file not in known_names("robots").values():
            cure = f"Change `base_position` in {robot_file}, or: {cure}"
        raise ConfigurationError(
            source,
            key,
            robot.name,
            f"a robot that reaches all of the region of the task '{task.name}' ({task_file}): {error}",
            cure,
        )


def _out_of_reach(robot: RobotProfile, task: Task) -> str:
    """Return the part of the task's region that a robot does not reach, in words; empty if it reaches all."""
    check = kind_of(robot).check_reach
    if task.scenes.region is not None and check is not None:
        try:
            check(robot, *task.scenes.region)
        except Unreachable as error:
            return str(error)
    return ""


def _robots_for(task: Task, mobile: bool, real: bool) -> str:
    """Return the cure for a robot that does not fit a task: the known robots that fit, simulated or real."""
    robots = {name: load_profile(path) for name, path in known_names("robots").items()}
    fitting = [
        name
        for name, robot in robots.items()
        if (robot.mobile, robot.driver is not None) == (mobile, real) and not _out_of_reach(robot, task)
    ]
    return f"Name another task, or one of the robots {', '.join(fitting) or '(none is shipped)'}."


@dataclass(frozen=True)
class LoadedWorld:
    """The parts of a world that a session names.

    Attributes:
        features: abilities of its backend.
        lockstep: whether the world is stepped.
        judge: it decides success and progress.
    """

    features: BackendFeatures
    lockstep: bool
    judge: Judge

    @property
    def streams(self) -> bool:
        """Whether the scene is known at every control step."""
        return self.features.streams

    @property
    def follows_pose(self) -> bool:
        """Whether each scene is read for a `tool_pose`: a world that runs by itself, or a simulator of others."""
        return not (self.lockstep and self.features.embedded)

    @property
    def practised(self) -> bool:
        """Whether our simulator plays a real table, which a person sets up."""
        return self.features.embedded and self.features.person


def loaded_world(parameters: WorldParameters, origin: Callable[[str], Origin]) -> LoadedWorld:
    """Return the parts of a world.

    Raises:
        ConfigurationError: one is unknown, or backend and pacing do not fit.
    """
    features = features_of(parameters.backend, *origin("world.backend")[:2])
    pacer = load_plugin("pacers", parameters.pacing, *origin("world.pacing")[:2])
    judge: Judge = make_plugin("judges", parameters.judge, *origin("world.judge")[:2])
    if pacer.steps_world and not features.steps:
        expected = f"a pacing that steps no world, because backend '{parameters.backend}' cannot be stepped"
        raise ConfigurationError(*origin("world.pacing")[:2], parameters.pacing, expected, "Take `wall_clock`.")
    if features.started and parameters.simulator != "simulator":
        expected = f"simulator, because backend '{parameters.backend}' has its own simulator"
        cure = "For a simulator that runs already take `backend: simulation_interfaces`."
        raise ConfigurationError(*origin("world.simulator")[:2], parameters.simulator, expected, cure)
    for key in ("resources", "entities"):
        if features.started and getattr(parameters, key):
            expected = f"nothing, because backend '{parameters.backend}' has its own simulator"
            raise ConfigurationError(*origin(f"world.{key}")[:2], sorted(getattr(parameters, key)), expected)
    if parameters.resets_robot and not features.resets_robot:
        expected = f"false, because backend '{parameters.backend}' brings no robot to its start"
        raise ConfigurationError(*origin("world.resets_robot")[:2], True, expected, "Leave it out.")
    if parameters.resets_robot is False and features.started and features.resets_robot:
        expected = f"true, because backend '{parameters.backend}' brings the robot to its start"
        raise ConfigurationError(*origin("world.resets_robot")[:2], False, expected, "Leave it out.")
    if parameters.resets_robot is False:
        features = replace(features, resets_robot=False)
    _check_judge(parameters, judge, features, origin)
    return LoadedWorld(features, pacer.steps_world, judge)


def _check_judge(
    parameters: WorldParameters, judge: Judge, features: BackendFeatures, origin: Callable[[str], Origin]
) -> None:
    """Refuse a judge whose needs the backend lacks: a console, or a camera that reads the scene."""
    if judge.needs and not vars(features).get(judge.needs):
        backends = ", ".join(backends_with(judge.needs))
        expected = f"a judge that needs no {judge.needs}, or one of the backends {backends}"
        raise ConfigurationError(
            *origin("world.judge")[:2], parameters.judge, f"{expected}, for backend '{parameters.backend}'"
        )


class _Need(NamedTuple):
    """What a score may need of a robot.

    Attributes:
        attribute: attribute of the score's class that says so.
        words: what it is.
        reported: returns whether a robot reports it.
        cure: what to do, besides leaving the score out.
    """

    attribute: str
    words: str
    reported: Callable[[RobotProfile], bool]
    cure: str


NEEDS = (
    _Need("needs_contacts", "contacts", lambda robot: robot.reports_contacts, "give the robot a `contacts_topic`"),
    _Need("needs_joints", "joints", lambda robot: "joint_positions" in robot.observations, "take an arm"),
    _Need(
        "needs_gripper",
        "gripper width",
        lambda robot: "gripper_closed" in robot.observations,
        "take a robot with a gripper",
    ),
)
"""What scores may need of a robot."""


def check_needs(scores: Sequence[type[Score]], robot: RobotProfile, robot_file: Path, origin: Origin) -> None:
    """Refuse a score that would take a robot that does not report something for one to which nothing happens.

    Raises:
        ConfigurationError: the robot does not report what a score needs.
    """
    for score, need in itertools.product(scores, NEEDS):
        if getattr(score, need.attribute, False) and not need.reported(robot):
            raise ConfigurationError(
                *origin[:2],
                score.spec.name,
                f"a score that needs no {need.words}, because '{robot.name}' ({robot_file}) reports none",
                f"Leave it out, or {need.cure}.",
            )


def checked_metric(
    named: str | None,
    task: Task,
    task_file: Path,
    scores: Sequence[type[Score]],
    strategy: Strategy,
    origin: Callable[[str], Origin],
) -> ScoreSpec:
    """Return the session's metric M.

    Args:
        named: by the session; None to take the task's.
        task: the task.
        task_file: its file.
        scores: those of the session.
        strategy: the order of trials.
        origin: where a key was written.

    Raises:
        ConfigurationError: it is not one of the session's scores, or its range is open and the strategy needs its ends.
    """
    specs = {score.spec.name: score.spec for score in scores}
    where = origin("metric")[:2] if named else (str(task_file), "metric")
    metric = specs.get(named or task.metric)
    if metric is None:
        cure = "To use a score that is not the task's own, name it in the session's `scores`."
        raise ConfigurationError.unknown(*where, named or task.metric, specs, "score of the session", cure)
    if getattr(strategy, "needs_bounds", False) and not metric.bounded:
        raise ConfigurationError(
            *where,
            metric.name,
            f"a score whose range has two ends, for strategy '{strategy.name}'",
            f"Take one of {', '.join(name for name, spec in specs.items() if spec.bounded)}, or another strategy.",
        )
    return metric


def checked_stop_early(
    parameters: StopEarlyParameters, strategy: Strategy, metric: ScoreSpec, origin: Callable[[str], Origin]
) -> StopEarlyParameters:
    """Return the record with an absolute path; refuse questions that no sequential test can decide.

    Refused: a strategy whose base trials are no i.i.d. sample, a score whose range is open, a question beyond it.
    """
    if not strategy.base_trials_iid:
        raise ConfigurationError(
            *origin("strategy.name")[:2],
            strategy.name,
            "beside `stop_early`, a strategy whose base trials are an i.i.d. sample of the test set at every moment",
            "Take `standard`, `contrast_set` or `adaptive`, or leave `stop_early` out.",
        )
    score = metric if parameters.score == "metric" else Success.spec
    if not score.bounded:
        raise ConfigurationError(
            *origin("stop_early.score")[:2],
            score.name,
            "a score whose range has two ends",
            "Take `success`, or another `metric`.",
        )
    if parameters.threshold is not None and not score.low < parameters.threshold < score.high:
        expected = f"a number between {score.low:g} and {score.high:g}, the range of {score.symbol}"
        raise ConfigurationError(*origin("stop_early.threshold")[:2], parameters.threshold, expected)
    if parameters.half_width is not None and not parameters.half_width < (score.high - score.low) / 2:
        expected = f"less than {(score.high - score.low) / 2:g}, half of the range of {score.symbol}"
        raise ConfigurationError(*origin("stop_early.half_width")[:2], parameters.half_width, expected)
    if parameters.compare_with is None:
        return parameters
    run = resolve_uri(parameters.compare_with, origin("stop_early.compare_with")[2]).resolve()
    return replace(parameters, compare_with=str(run))


def loaded_perturbations(
    parameters: StrategyParameters, strategy: Strategy, task: Task, cameras: Collection[str], source: str, key: str
) -> tuple[Perturbation, ...]:
    """Return the perturbation set P; refuse one that the strategy does not use or the task does not support.

    Raises:
        ConfigurationError: the first that does not fit.
    """
    if strategy.uses_perturbations is PerturbationUse.REQUIRED and not parameters.perturbations:
        raise ConfigurationError(
            source,
            key,
            "none",
            f"at least one, for strategy '{strategy.name}'",
            "For the base trials alone take `standard`.",
        )
    if strategy.uses_perturbations is PerturbationUse.NONE and parameters.perturbations:
        raise ConfigurationError(
            source,
            key,
            list(parameters.perturbations),
            f"none, because strategy '{strategy.name}' uses no perturbations",
            "Take `contrast_set`, or leave them out.",
        )
    found = tuple(_loaded(entry, task, source, key) for entry in parameters.perturbations)
    names = [perturbation.name for perturbation in found]
    if len(set(names)) != len(names):
        raise ConfigurationError(source, key, names, "each of the perturbations once")
    for perturbation in (part for one in found for part in getattr(one, "parts", (one,))):
        try:
            supported = perturbation.supports(task)
        except ValueError as error:
            raise ConfigurationError(source, key, perturbation.name, str(error)) from None
        if not supported:
            raise ConfigurationError(
                source,
                key,
                perturbation.name,
                f"perturbations that task '{task.name}' supports: {', '.join(_supported(task)) or '(none)'}",
                "Leave it out, or add to the task the parts that the perturbation needs (see its documentation).",
            )
        camera = getattr(perturbation, "camera", "")
        if camera and camera not in cameras:
            expected = f"one of the session's cameras: {', '.join(cameras) or '(none)'}"
            raise ConfigurationError(source, f"{key}.camera", camera, expected)
    return found


def _loaded(entry: Entry, task: Task, source: str, key: str) -> Perturbation:
    """Return a perturbation; the error for an unknown name lists the ones that the task supports."""
    for one in (entry,) if isinstance(entry, str | dict) else entry:
        name, where = (one, key) if isinstance(one, str) else (one.get("name"), f"{key}.name")
        if isinstance(name, str) and ":" not in name and name not in perturbation_names():
            what = f"perturbation of task '{task.name}'"
            raise ConfigurationError.unknown(source, where, name, _supported(task), what)
    return load_perturbation(entry, source, key)


def _supported(task: Task) -> list[str]:
    """Return the names of all perturbations that a task supports as they are, without parameters."""
    supported = []
    for name in perturbation_names():
        with contextlib.suppress(ConfigurationError):
            if load_perturbation(name, "", "").supports(task):
                supported.append(name)
    return supported
