"""A session's parameter file, and everything it names, loaded and checked before anything starts."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import AfterValidator, Field
from pydantic_core import from_json, to_json

from robocontrast_ros.configuration import (
    ConfigurationError,
    dump_record,
    find_configured,
    load_configured,
    load_plugin,
    parse_record,
    plugin_names,
    read_yaml,
    record,
    resolve_uri,
    with_settings,
)
from robocontrast_ros.configuration.disk import write_file
from robocontrast_ros.perturbations.protocol import Perturbation
from robocontrast_ros.policies.protocol import PolicyDescription
from robocontrast_ros.policies.runner import LOAD_TIMEOUT
from robocontrast_ros.robots.profile import RobotProfile, load_profile
from robocontrast_ros.sessions.evaluation import Evaluation
from robocontrast_ros.sessions.stopping import StopEarlyParameters
from robocontrast_ros.strategies.cost import COST_MODELS, CostModel, Mover, Tolerance, cost_model
from robocontrast_ros.strategies.protocol import PerturbationUse, Strategy
from robocontrast_ros.tasks.protocol import Task

SUFFIXES = (".yaml", ".yml")

IMAGE_SIZE = (320, 180)
"""Width and height of images where neither the session nor the policy's file says it [pixel]."""


@record
class StrategyParameters:
    """Which trials are run, and in which order."""

    name: str = Field(
        description="strategy: standard, contrast_set, limited_intervention, limited_intervention_skip, "
        "cost_ordered, adaptive, or a plug-in's name"
    )
    perturbations: tuple[str, ...] = Field(
        default=(),
        description="perturbation set P, in the order they are applied; for contrast_set and adaptive, and "
        "for cost_ordered where it is wanted",
    )

    def __post_init__(self) -> None:
        """Refuse a perturbation that is named twice."""
        if len(set(self.perturbations)) != len(self.perturbations):
            raise ValueError("each of the perturbations once")


@record
class TestSetParameters:
    """The i.i.d. evaluation set X."""

    __test__ = False  # not a pytest class

    size: int = Field(ge=1, le=100_000, description="number of test instances")
    families: tuple[str, ...] | None = Field(
        default=None,
        min_length=1,
        description="families of the task to draw from, in turn; as the task draws them when left out",
    )

    def __post_init__(self) -> None:
        """Refuse a family that is named twice."""
        if self.families and len(set(self.families)) != len(self.families):
            raise ValueError("each of the families once")


@record
class SetupParameters:
    """When an object need not be moved."""

    position_tolerance: float = Field(
        default=0.002, ge=0, le=1, description="an object this near to where it is wanted may stay [m]"
    )
    orientation_tolerance: float = Field(
        default=0.05, ge=0, le=math.pi, description="… and turned by no more than this [rad]"
    )


@record
class PolicyServerParameters:
    """Where the policy is served."""

    external: bool = Field(
        default=False,
        description="whether a policy server that runs elsewhere is waited for, instead of one being started",
    )
    node: str = Field(
        default="policy_server", min_length=1, description="name of that server's node, with its namespace"
    )
    composed: bool = Field(
        default=False,
        description="whether it is in the process of rollout, scorer and sim_bridge: faster, but a policy that crashes "
        "takes these with it",
    )

    def __post_init__(self) -> None:
        """Refuse a name for a server that is started here, and a process for one that is not."""
        if self.external and self.composed:
            raise ValueError("`composed: true` or `external: true`, not both")
        if not self.external and self.node != "policy_server":
            raise ValueError("`external: true` with another node's name")


@record
class TimeoutParameters:
    """How long each part may take on the wall clock before it counts as lost."""

    policy: float = Field(default=10.0, gt=0, le=3600, description="one answer of the policy [s]")
    load: float = Field(
        default=LOAD_TIMEOUT, gt=0, le=86400, description="loading a policy, and warming it up [s]"
    )
    sensors: float = Field(
        default=10.0, gt=0, le=3600, description="sensors and scene after a control step [s]"
    )
    set_up: float = Field(default=30.0, gt=0, le=86400, description="one set-up; a person may need long [s]")
    scoring: float = Field(default=10.0, gt=0, le=3600, description="one answer of the scorer [s]")
    recording: float = Field(
        default=30.0,
        gt=0,
        le=60,
        description="wait for a recorder that is too far behind, and for the last messages of a trial [s]",
    )
    start_up: float = Field(default=60.0, gt=0, le=3600, description="until all parts are there [s]")


@record
class CameraParameters:
    """One camera, and the size of its images."""

    name: str = Field(min_length=1, description="name of the camera in the robot's profile")
    width: int = Field(ge=16, le=4096, description="columns [pixel]")
    height: int = Field(ge=16, le=4096, description="rows [pixel]")


@record
class RecordingParameters:
    """What goes into the bags besides what scoring them again needs."""

    images: bool = Field(default=True, description="whether the cameras' images are recorded")
    compression: Literal["zstd", "none"] = Field(
        default="zstd", description="of the bags' chunks: zstd or none"
    )
    format: Literal["jazzy", "humble"] = Field(
        default="jazzy",
        description="of the bags' metadata.yaml: jazzy, for Jazzy and later, or humble, which all of them read",
    )
    topics: tuple[str, ...] = Field(
        default=(), description="further topics, relative to the session's namespace"
    )


@record
class SessionParameters:
    """A file of config/sessions/. docs/sessions.md explains it with examples."""

    name: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", description="name of the session and of its run folders"
    )
    description: str = Field(default="", description="one line for tables")
    seed: int = Field(ge=0, lt=2**63, description="every random draw of the session comes from it")
    task: str = Field(min_length=1, description="name in config/tasks/, or path of a file")
    robot: str = Field(min_length=1, description="name in config/robots/, or path of a file")
    policy: str = Field(
        default="",
        description="name in config/policies/, or path of a file; left out where policy_server.external is true",
    )
    policy_server: PolicyServerParameters = Field(default_factory=PolicyServerParameters)
    composed: bool = Field(
        default=True,
        description="whether rollout, scorer and sim_bridge are in one process, which is faster, or each in its own",
    )
    strategy: StrategyParameters
    test_set: TestSetParameters
    repeats: int = Field(default=1, ge=1, le=1000, description="how often each instance is run")
    cost: str = Field(
        default="metres_moved", description="cost model of the budget: metres_moved or seconds_to_move"
    )
    mover: Mover = Field(default_factory=Mover, description="the person of seconds_to_move")
    budget: (
        Annotated[
            float, Field(ge=0, allow_inf_nan=True), AfterValidator(lambda k: None if k == math.inf else k)
        ]
        | None
    ) = Field(default=None, description="budget K in the cost model's unit; no limit when left out")
    compare_within: float | None = Field(
        default=None,
        ge=0,
        description="cost within which the summary counts the trials of this session and of a standard "
        "evaluation; the budget when left out, and without one what the standard evaluation costs",
    )
    max_trials: int | None = Field(
        default=None, ge=1, description="trials after which it ends; no limit when left out"
    )
    fast: bool = Field(
        default=False,
        description="whether it runs in one process without ROS, many times as fast: the same trials and scores, "
        "no bags",
    )
    void_retries: int = Field(default=2, ge=0, le=100, description="how often a void trial is tried again")
    stop_early: StopEarlyParameters | None = Field(
        default=None, description="what is to be found out, after which it ends; never when left out"
    )
    stop_on_success: bool = Field(
        default=True, description="whether a trial ends as soon as the goal is reached"
    )
    setup: SetupParameters = Field(default_factory=SetupParameters)
    timeouts: TimeoutParameters = Field(default_factory=TimeoutParameters)
    cameras: tuple[CameraParameters, ...] | None = Field(
        default=None,
        description="cameras in use; all of the robot's when left out, with the sizes that the policy's file asks "
        "for, else 320x180 pixels",
    )
    camera_images: Literal["every_step", "when_asked"] = Field(
        default="every_step",
        description="whether cameras take images at every control step, or when the policy is asked; "
        "the policy sees the same",
    )
    recording: RecordingParameters = Field(default_factory=RecordingParameters)
    output: str = Field(
        default="runs",
        min_length=1,
        description="folder of the run folders, relative to the working directory",
    )

    def __post_init__(self) -> None:
        """Refuse a camera that is named twice, no policy and one too many."""
        names = [camera.name for camera in self.cameras or ()]
        if len(set(names)) != len(names):
            raise ValueError("each of the cameras once")
        if self.policy_server.composed and not self.composed:
            raise ValueError("`composed: true` where `policy_server.composed` is true")
        if not self.policy and not self.policy_server.external:
            raise ValueError("a `policy`, or `policy_server` with `external: true`")
        if self.policy and self.policy_server.external:
            raise ValueError(
                "no `policy`, for a policy server elsewhere has its own; `robocontrast swap` changes it"
            )


@dataclass(frozen=True)
class Overrides:
    """What the command line may set instead of the file; None leaves the file's value.

    Attributes:
        robot: name, or path relative to the working directory.
        policy: the same.
        budget: K; infinity takes the file's limit away.
        seed: the session's seed.
        max_trials: trials after which it ends.
        output: folder of the run folders.
        policy_server: ``external`` for one that runs elsewhere, in place of the file's policy; ``composed`` for one in
            the container.
        fast: whether it runs in one process without ROS.
        repeats: how often each instance is run.
        size: number of test instances.
        strategy: its name. One that uses no perturbations takes those of the file away.
        settings: dotted key of the session's file -> value; none that an option above sets.
    """

    robot: str | None = None
    policy: str | None = None
    budget: float | None = None
    seed: int | None = None
    max_trials: int | None = None
    output: str | None = None
    policy_server: str | None = None
    fast: bool | None = None
    repeats: int | None = None
    size: int | None = None
    strategy: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    def given(self) -> dict[str, Any]:
        """Return all of it as dotted keys of the session's file with their values.

        Raises:
            ConfigurationError: two of them set the same key, or exclude one another.
        """
        options = {key: value for key, value in vars(self).items() if value is not None and key != "settings"}
        given = {_KEYS.get(option, option): value for option, value in options.items()}
        if self.policy_server is not None:
            wanted = _SERVERS.get(self.policy_server)
            if wanted is None:
                raise ConfigurationError(
                    "command line", "policy_server", self.policy_server, "'external', 'composed', or nothing"
                )
            del given[_KEYS["policy_server"]]
            given = {**wanted, **given}
        for key, value in self.settings.items():
            if key in given:
                raise ConfigurationError("command line", f"--set {key}", value, "each key once")
            given[key] = value
        return given


_KEYS = {"policy_server": "policy_server.external", "size": "test_set.size", "strategy": "strategy.name"}
"""Option -> key of the session's file, where they differ."""

_SERVERS: dict[str, dict[str, Any]] = {
    "external": {"policy": "", "policy_server.external": True},
    "composed": {"policy_server.composed": True},
}
"""What the option `policy_server` stands for."""


@dataclass(frozen=True)
class ResolvedSession:
    """A session with everything that it names.

    Attributes:
        source: the session's file.
        parameters: its record, overrides applied; robot, policy and task are known names or absolute paths.
        robot: the robot's profile.
        robot_file: where it came from.
        policy_file: the policy's parameter file; its plug-in exists, but nothing is loaded yet. None where a policy
            server elsewhere has it.
        task: the task.
        task_file: where it came from.
        strategy: the order of trials.
        perturbations: the perturbation set P.
        cost_model: what a set-up costs.
    """

    source: Path
    parameters: SessionParameters
    robot: RobotProfile
    robot_file: Path
    policy_file: Path | None
    task: Task
    task_file: Path
    strategy: Strategy
    perturbations: tuple[Perturbation, ...]
    cost_model: CostModel

    def snapshot(self) -> dict[str, Any]:
        """Return every parameter that a result may depend on, as JSON: session, robot, policy, task."""
        everything = {
            "session": dump_record(self.parameters),
            "robot": dump_record(self.robot),
            "policy": read_yaml(self.policy_file) if self.policy_file else None,
            "task": read_yaml(self.task_file),
        }
        return from_json(to_json(everything, inf_nan_mode="strings", fallback=str))

    def evaluation(self) -> Evaluation:
        """Return what the session's loop needs."""
        parameters = self.parameters
        return Evaluation(
            name=parameters.name,
            seed=parameters.seed,
            task=self.task,
            strategy=self.strategy,
            test_set_size=parameters.test_set.size,
            perturbations=self.perturbations,
            families=parameters.test_set.families or (),
            repeats=parameters.repeats,
            cost_model=self.cost_model,
            budget=math.inf if parameters.budget is None else parameters.budget,
            max_trials=parameters.max_trials,
            void_retries=parameters.void_retries,
            stop_early=parameters.stop_early,
            tolerance=Tolerance(parameters.setup.position_tolerance, parameters.setup.orientation_tolerance),
            parameters=self.snapshot(),
        )


def resolve(session: str | Path, overrides: Overrides | None = None) -> ResolvedSession:
    """Load a session and everything that it names, and check all of it.

    Args:
        session: name in config/sessions/, or path of a file. Paths in the file are relative to it.
        overrides: what the command line sets instead.

    Raises:
        ConfigurationError: something does not fit: it names the file, the key, the known ones and the cure.
    """
    source = find_file("sessions", str(session), "command line", "session", Path.cwd())
    content = read_yaml(source)
    parameters = parse_record(SessionParameters, content, str(source))
    given = _given(parameters, overrides or Overrides())
    if given:
        parameters = _override(content, given)
    return resolve_parameters(parameters, source, given)


def resolve_parameters(
    parameters: SessionParameters, source: Path, given: Collection[str] = ()
) -> ResolvedSession:
    """Load everything that a session's record names, and check all of it.

    Args:
        parameters: the record.
        source: the file that it came from, for errors.
        given: dotted keys of what the command line said instead.

    Raises:
        ConfigurationError: as ``resolve``.
    """
    origin = partial(_origin, source=source, given=given)
    files = {
        key: find_file(kind, getattr(parameters, key), *origin(key))
        for key, kind in (("robot", "robots"), ("policy", "policies"), ("task", "tasks"))
        if getattr(parameters, key)
    }
    policy_file = files.get("policy")
    parameters = replace(
        parameters,
        **{
            key: name if not is_path(name := getattr(parameters, key)) else str(file)
            for key, file in files.items()
        },
    )
    robot = load_profile(str(files["robot"]))
    wanted = _wanted_cameras(find_configured("policies", policy_file), policy_file) if policy_file else {}
    task: Task = load_configured("tasks", files["task"])
    steps_per_control(task, str(files["task"]))
    _check_fit(robot, files["robot"], task, files["task"], origin("robot"))
    parameters = _with_cameras(parameters, robot, wanted, origin("cameras"), files["robot"])
    for family in parameters.test_set.families or ():
        if family not in task.families:
            where = origin("test_set.families")[:2]
            raise ConfigurationError.unknown(
                *where, family, task.families, f"family of the task '{task.name}'"
            )
    if parameters.cost not in COST_MODELS:
        raise ConfigurationError.unknown(*origin("cost")[:2], parameters.cost, COST_MODELS, "cost model")
    strategy: Strategy = load_plugin("strategies", parameters.strategy.name, *origin("strategy.name")[:2])()
    if parameters.stop_early is not None:
        early = _stop_early(parameters.stop_early, strategy, origin)
        parameters = replace(parameters, stop_early=early)
    return ResolvedSession(
        source=source,
        parameters=parameters,
        robot=robot,
        robot_file=files["robot"],
        policy_file=policy_file,
        task=task,
        task_file=files["task"],
        strategy=strategy,
        perturbations=_perturbations(
            parameters.strategy, strategy, task, *origin("strategy.perturbations")[:2]
        ),
        cost_model=cost_model(parameters.cost, parameters.mover),
    )


def is_path(name: str) -> bool:
    """Tell a path or package URI of a parameter file from a name that stands for one in config/."""
    return "/" in name or name.endswith(SUFFIXES)


def known_names(kind: str) -> dict[str, Path]:
    """Return the names that stand for files of config/<kind>/ in this package."""
    folder = resolve_uri(f"package://robocontrast_ros/config/{kind}")
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def find_file(kind: str, name: str, source: str, key: str, relative_to: Path) -> Path:
    """Return the parameter file that a name or a path stands for.

    Args:
        kind: folder of config/: ``sessions``, ``robots``, ``policies`` or ``tasks``.
        name: name or path.
        source: where it was written, for the error.
        key: its key there, for the error.
        relative_to: folder that a relative path starts from.

    Raises:
        ConfigurationError: there is no such name or file.
    """
    known = known_names(kind)
    if not is_path(name):
        if name not in known:
            raise ConfigurationError.unknown(source, key, name, known, f"{key}, or the path of a .yaml file")
        return known[name]
    path = resolve_uri(name, relative_to).resolve()
    if not _is_file(path):
        raise ConfigurationError(
            source,
            key,
            name,
            f"a file that exists, or a known {key}: {', '.join(known) or '(none)'}",
            f"There is no file {path}.",
        )
    return path


def _is_file(path: Path) -> bool:
    """Tell whether there is such a file; there is none where the path is too long, or leads through what is private."""
    try:
        return path.is_file()
    except OSError:
        return False


Origin = tuple[str, str, Path]
"""Where a value was written: source and key for errors, and the folder that its relative path starts from."""


def _origin(key: str, source: Path, given: Collection[str]) -> Origin:
    """Return where the value of a key was written: on the command line, where that gave it or what holds it."""
    parts = key.split(".")
    if any(".".join(parts[:depth]) in given for depth in range(1, len(parts) + 1)):
        return "command line", key, Path.cwd()
    return str(source), key, source.parent


def _given(parameters: SessionParameters, overrides: Overrides) -> dict[str, Any]:
    """Return what the command line sets, as dotted keys, with what follows from it."""
    given = overrides.given()
    if overrides.policy and (overrides.policy_server == "external" or parameters.policy_server.external):
        raise ConfigurationError(
            "command line",
            "policy",
            overrides.policy,
            "nothing beside a policy server elsewhere, which has its own",
            "Name it to `robocontrast serve`, or to `robocontrast swap` while the session runs.",
        )
    if overrides.strategy is not None and "strategy.perturbations" not in given:
        strategy = load_plugin("strategies", overrides.strategy, "command line", "strategy.name")()
        if strategy.uses_perturbations is PerturbationUse.NONE:
            given["strategy.perturbations"] = []
    return given


def _override(content: dict[str, Any], given: Mapping[str, Any]) -> SessionParameters:
    """Return the record of a file, which has one, with other values; what does not fit is the command line's."""
    try:
        return parse_record(SessionParameters, with_settings(content, given), "command line")
    except ConfigurationError as error:
        if error.key:
            raise
        said = ", ".join(f"{key}: {value!r}" for key, value in given.items())
        raise ConfigurationError("command line", ", ".join(given), said, error.expected) from None


def steps_per_control(task: Task, source: str) -> int:
    """Return how many steps of the physics one control period takes.

    Args:
        task: the task.
        source: its file, for the error.

    Raises:
        ConfigurationError: the period is no whole number of them.
    """
    steps = 1.0 / (task.control_rate * task.physics_step)
    if round(steps) < 1 or abs(steps - round(steps)) > 1e-3:
        raise ConfigurationError(
            source,
            "physics_step",
            task.physics_step,
            f"a whole part of the control period, which is 1 / {task.control_rate:g} Hz",
            f"{1.0 / (task.control_rate * max(round(steps), 1)):g} would do.",
        )
    return round(steps)


def _wanted_cameras(policy: Any, policy_file: Path) -> dict[str, CameraParameters]:
    """Return the cameras whose images the policy wants in one size, by its file alone."""
    describe_file = getattr(policy, "describe_file", None)
    if describe_file is None:
        return {}
    description: PolicyDescription = describe_file(policy_file)
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


def _with_cameras(
    parameters: SessionParameters,
    robot: RobotProfile,
    wanted: Mapping[str, CameraParameters],
    origin: Origin,
    robot_file: Path,
) -> SessionParameters:
    """Return the parameters with the cameras in use, which the robot has to have."""
    known = [camera.name for camera in robot.cameras]
    if parameters.cameras is None:
        width, height = IMAGE_SIZE
        usual = {name: CameraParameters(name=name, width=width, height=height) for name in known}
        return replace(parameters, cameras=tuple(wanted.get(name, usual[name]) for name in known))
    for camera in parameters.cameras:
        if camera.name not in known:
            raise ConfigurationError.unknown(
                *origin[:2], camera.name, known, f"camera of the robot '{robot.name}' ({robot_file})"
            )
    return parameters


def _check_fit(robot: RobotProfile, robot_file: Path, task: Task, task_file: Path, origin: Origin) -> None:
    """Refuse a robot that stands still where scenes say where the robot is, and the other way round."""
    wanted = task.start_position is None
    if robot.mobile == wanted:
        return
    kinds = ("stands still", "moves about")
    source, key, _ = origin
    fitting = [name for name, path in known_names("robots").items() if load_profile(path).mobile == wanted]
    raise ConfigurationError(
        source,
        key,
        robot.name,
        f"a robot that {kinds[wanted]}, for the task '{task.name}' ({task_file}); "
        f"{robot_file} describes one that {kinds[robot.mobile]}",
        f"Name another task, or one of the robots {', '.join(fitting) or '(none is shipped)'}.",
    )


def _stop_early(
    parameters: StopEarlyParameters, strategy: Strategy, origin: Callable[[str], Origin]
) -> StopEarlyParameters:
    """Return the record with an absolute path; refuse a strategy whose base trials say nothing one by one."""
    if not strategy.base_trials_iid:
        raise ConfigurationError(
            *origin("strategy.name")[:2],
            strategy.name,
            "beside `stop_early`, a strategy whose base trials are an i.i.d. sample of the test set at every moment",
            "Take `standard`, `contrast_set` or `adaptive`, or leave `stop_early` out.",
        )
    if parameters.compare_with is None:
        return parameters
    run = resolve_uri(parameters.compare_with, origin("stop_early.compare_with")[2]).resolve()
    return replace(parameters, compare_with=str(run))


def _perturbations(
    parameters: StrategyParameters, strategy: Strategy, task: Task, source: str, key: str
) -> tuple[Perturbation, ...]:
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
            f"none, for strategy '{strategy.name}' uses no perturbations",
            "Take `contrast_set`, or leave them out.",
        )
    found = tuple(load_plugin("perturbations", name, source, key)() for name in parameters.perturbations)
    for perturbation in found:
        if not perturbation.supports(task):
            known = (
                load_plugin("perturbations", name, source, key)() for name in plugin_names("perturbations")
            )
            supported = [other.name for other in known if other.supports(task)]
            raise ConfigurationError(
                source,
                key,
                perturbation.name,
                f"perturbations that task '{task.name}' supports: {', '.join(supported) or '(none)'}",
                "Leave it out, or give the task what it needs (the perturbation's documentation says what).",
            )
    return found


def write_yaml(path: Path, content: Any) -> None:
    """Write plain mappings, lists and scalars as YAML, in the order they have.

    Raises:
        DiskError: the file cannot be written.
    """
    write_file(path, yaml.safe_dump(content, sort_keys=False, allow_unicode=True))
