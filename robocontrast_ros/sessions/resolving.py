"""A session's parameter file, and everything it names, loaded and checked before anything starts."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from pydantic_core import from_json, to_json

from robocontrast_ros.configuration import (
    ConfigurationError,
    dump_record,
    find_configured,
    load_configured,
    make_plugin,
    parse_record,
    read_yaml,
)
from robocontrast_ros.configuration.files import find_file, is_file, is_path
from robocontrast_ros.domain import TestInstance
from robocontrast_ros.episodes.scoring import Score, load_scores, need_joints
from robocontrast_ros.perturbations.protocol import Perturbation
from robocontrast_ros.robots.profile import RobotProfile, load_profile
from robocontrast_ros.runs.locked_plan import LOCKED, LockedPlan, read_locked_plan
from robocontrast_ros.runs.run_folder import LOCKED_PLAN, TEST_SET, RunFolder
from robocontrast_ros.sessions.evaluation import Evaluation
from robocontrast_ros.sessions.fitting import (
    LoadedWorld,
    Origin,
    check_answer_time,
    check_commands_stay,
    check_composed,
    check_needs,
    check_port,
    check_robot_fits_task,
    check_robot_reaches,
    check_shown_camera,
    check_tolerances,
    check_transports,
    check_world_is_there,
    checked_metric,
    checked_stop_early,
    loaded_perturbations,
    loaded_world,
    steps_per_control,
    wanted_cameras,
    with_cameras,
    without_cameras,
)
from robocontrast_ros.sessions.given_keys import given_keys, overridden
from robocontrast_ros.sessions.overrides import Overrides
from robocontrast_ros.sessions.schema import CameraParameters, OperatorParameters, SessionParameters
from robocontrast_ros.strategies.effort import COST_MODELS, AnyTolerance, CostModel, Tolerance, Tolerances, cost_model
from robocontrast_ros.strategies.protocol import Strategy
from robocontrast_ros.tasks.protocol import Task
from robocontrast_ros.tasks.recorded import load_instances
from robocontrast_ros.worlds.backends import SECOND_SIMULATOR, BackendFeatures


@dataclass(frozen=True)
class ConsoleFile:
    """A file that the session's key `operator` names.

    Attributes:
        used: whether a console uses it, by the features of the session's backend.
        cure: remedy if it is not there.
        copied: whether a run folder has a copy, as of each file that a camera's judgement depends on.
    """

    used: Callable[[BackendFeatures], bool]
    cure: str
    copied: bool = True


# A simulated camera is calibrated by the simulator, and never moved by accident.
CONSOLE_FILES = {
    "calibration": ConsoleFile(lambda of: not of.embedded, "`robocontrast calibrate` writes it."),
    "tags": ConsoleFile(lambda of: of.camera, "`robocontrast print-tags --objects TASK` writes it."),
    "fixed_tags": ConsoleFile(
        lambda of: of.camera and not of.embedded, "`robocontrast calibrate` writes it with --fixed-tags."
    ),
    "certificate": ConsoleFile(lambda of: True, "Leave it and `key` out for a page without TLS.", copied=False),
    "key": ConsoleFile(lambda of: True, "Leave it and `certificate` out for a page without TLS.", copied=False),
}
"""Key below `operator` -> its kind of file."""


@dataclass(frozen=True)
class ResolvedSession:
    """A session with everything that it names.

    Attributes:
        source: the session's file.
        parameters: its record, overrides applied; robot, policy and task are known names or absolute paths, and so
            are the console's files.
        robot: the robot's profile.
        robot_file: its file.
        policy_file: the policy's parameter file; its plug-in exists, but nothing is loaded yet. None if a policy server
            elsewhere has it. Of a blind session, the first policy's.
        task: the task.
        task_file: its file.
        strategy: the order of trials.
        perturbations: the perturbation set P.
        cost_model: model of set-up costs.
        world: the robot's world, and the judge.
        scores: those of the session, in the order of tables.
        recorded: the test instances of ``test_set.file``; none if they are drawn.
        blind_files: parameter file of each policy of a blind session; empty of any other.
        locked_plan: the plan that it follows; None without one.
        output_said_in: the file, or the command line, that says where run folders are made.
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
    world: LoadedWorld
    scores: tuple[type[Score], ...]
    recorded: tuple[TestInstance, ...] = ()
    blind_files: tuple[Path, ...] = ()
    locked_plan: LockedPlan | None = None
    output_said_in: str = ""

    @property
    def set_up_tolerances(self) -> Tolerances:
        """How far a person may leave objects from their wanted poses."""
        return self.parameters.operator.set_up_tolerances(self.task)

    @property
    def tolerance(self) -> AnyTolerance:
        """How far an object may be from its wanted pose and still stay; for a person, as far as they may leave it."""
        setup = self.parameters.setup
        simulated = Tolerance(setup.position_tolerance, setup.orientation_tolerance)
        return self.set_up_tolerances if self.world.features.person else simulated

    @property
    def images_when_asked(self) -> bool:
        """Whether the world takes images only for the policy; a camera that reads the table needs them always."""
        features = self.world.features
        return features.embedded and not features.camera and self.parameters.camera_images == "when_asked"

    @property
    def simulator(self) -> str:
        """Name of the simulator's node, which is put before the names of its services; empty for none."""
        return SECOND_SIMULATOR if self.world.features.engine else self.parameters.world.simulator.rstrip("/")

    @property
    def tracks_joints(self) -> bool:
        """Whether a score needs the robot's joints or gripper at each control step."""
        return need_joints(self.scores)

    @property
    def policy_files(self) -> tuple[Path, ...]:
        """Parameter file of each policy; none if a policy server elsewhere has it."""
        return self.blind_files or ((self.policy_file,) if self.policy_file else ())

    def snapshot(self) -> dict[str, Any]:
        """Return every parameter that a result may depend on, as JSON: session, robot, policy, task."""
        everything = {
            "session": dump_record(self.parameters),
            "robot": dump_record(self.robot),
            "policy": [read_yaml(file) for file in self.blind_files]
            or (read_yaml(self.policy_file) if self.policy_file else None),
            "task": read_yaml(self.task_file),
        }
        if self.world.features.person:
            found = self.set_up_tolerances
            own = {model: asdict(tolerance) for model, tolerance in found.own.items()}
            everything["set_up_tolerances"] = {"usual": asdict(found.usual), "own": own, "fixed": sorted(found.fixed)}
        if self.parameters.test_set.file:
            everything["test_set"] = read_yaml(Path(self.parameters.test_set.file))
        if self.locked_plan is not None:
            # Wherever its file is, the plan is the same.
            del everything["session"][LOCKED]
            everything[LOCKED] = {"sha256": self.locked_plan.sha256}
        return from_json(to_json(everything, inf_nan_mode="strings", fallback=str))

    def console_files(self) -> dict[str, Path]:
        """Return the files that the session's console uses, by their keys.

        Raises:
            ConfigurationError: one is not there.
        """
        features = self.world.features
        used = (key for key, kind in CONSOLE_FILES.items() if features.console and kind.used(features))
        files = {key: Path(name) for key in used if (name := getattr(self.parameters.operator, key))}
        for key, file in files.items():
            if not is_file(file):
                where = str(self.source), f"operator.{key}"
                raise ConfigurationError(*where, str(file), "a file that exists", CONSOLE_FILES[key].cure)
        return files

    def new_run(self, now: float) -> RunFolder:
        """Make a new run folder that holds the session's parameters.

        Args:
            now: seconds since the epoch, for the folder's name.

        Raises:
            ConfigurationError: the folder cannot be made, or a file that the console uses is not there.
            DiskError: its content cannot be written; there is no folder then.
        """
        given = dump_record(self.parameters)
        files = {"robot": self.robot_file, "policy": self.policy_file, "task": self.task_file}
        if self.parameters.test_set.file:
            files[TEST_SET] = Path(self.parameters.test_set.file)
        files |= {key: file for key, file in self.console_files().items() if CONSOLE_FILES[key].copied}
        if self.locked_plan is not None:
            files[LOCKED_PLAN] = Path(self.parameters.locked_plan)
            # The run folder's own copy, beside the file that names it.
            given[LOCKED] = LOCKED_PLAN
        if self.blind_files:
            del files["policy"]
            files |= {f"policy_{number}": file for number, file in enumerate(self.blind_files, start=1)}
        return RunFolder.create(
            Path(self.parameters.output),
            self.parameters.name,
            now,
            session=given,
            copies={kind: file for kind, file in files.items() if file is not None},
            profiles={name: asdict(profile) for name, profile in (self.task.profiles or {}).items()},
            source=self.output_said_in or str(self.source),
        )

    def evaluation(self) -> Evaluation:
        """Return what the session's loop needs."""
        return Evaluation(
            session=self.parameters,
            task=self.task,
            strategy=self.strategy,
            perturbations=self.perturbations,
            recorded=self.recorded,
            cost_model=self.cost_model,
            tolerance=self.tolerance,
            scores=self.scores,
            features=self.world.features,
            blind_files=self.blind_files,
            parameters=self.snapshot(),
        )


def resolve(session: str | Path, overrides: Overrides | None = None) -> ResolvedSession:
    """Load a session and everything that it names, and check all of it.

    Args:
        session: name in config/sessions/, or path of a file. Paths in the file are relative to it.
        overrides: values of the command line in place of the file's.

    Raises:
        ConfigurationError: something does not fit: it names the file, the key, the known ones and the cure.
    """
    source = find_file("sessions", str(session), "command line", "session", Path.cwd())
    content = read_yaml(source)
    parameters = parse_record(SessionParameters, content, str(source))
    given = given_keys(parameters, overrides or Overrides(), source)
    if given:
        parameters = overridden(content, given)
    return resolve_parameters(parameters, source, given)


def resolve_parameters(parameters: SessionParameters, source: Path, given: Collection[str] = ()) -> ResolvedSession:
    """Load everything that a session's record names, and check all of it.

    Args:
        parameters: the record.
        source: the file that it came from, for errors.
        given: dotted keys that the command line set.

    Raises:
        ConfigurationError: as ``resolve``.
    """
    origin = partial(_origin, source=source, given=given)
    files = {
        key: find_file(kind, getattr(parameters, key), *origin(key))
        for key, kind in (("robot", "robots"), ("policy", "policies"), ("task", "tasks"))
        if getattr(parameters, key)
    }
    blind_files: tuple[Path, ...] = ()
    if parameters.blind is not None:
        named = parameters.blind.policies
        blind_files = tuple(find_file("policies", policy, *origin("blind.policies")) for policy in named)
        known = (str(file) if is_path(name) else name for name, file in zip(named, blind_files, strict=True))
        parameters = replace(parameters, blind=replace(parameters.blind, policies=tuple(known)))
    policy_file = files.get("policy", blind_files[0] if blind_files else None)
    parameters = replace(
        parameters,
        **{key: name if not is_path(name := getattr(parameters, key)) else str(file) for key, file in files.items()},
    )
    robot = load_profile(str(files["robot"]))
    world = loaded_world(parameters.world, origin)
    check_transports(robot, files["robot"], world)
    check_port(robot, files["robot"], world)
    check_commands_stay(robot, files["robot"], world)
    wanted = _wanted_of_all(blind_files or ((policy_file,) if policy_file else ()))
    task: Task = load_configured("tasks", files["task"])
    steps_per_control(task, str(files["task"]))
    check_robot_fits_task(robot, files["robot"], task, files["task"], origin("robot"))
    check_robot_reaches(robot, files["robot"], task, files["task"], origin("robot"))
    if world.features.engine:
        parameters = without_cameras(parameters, world.features.engine, origin("cameras"))
    scenery = task.scenes.world if world.features.embedded else None
    if scenery is not None:
        check_world_is_there(scenery, files["task"])
    parameters = with_cameras(parameters, robot, wanted, origin("cameras"), files["robot"], scenery)
    check_shown_camera(parameters, world, origin)
    check_tolerances(parameters, task, world, origin)
    check_answer_time(parameters, world, origin)
    check_composed(parameters, world, origin)
    if parameters.test_set.families:
        test_set = replace(parameters.test_set, families=_families(parameters.test_set.families, task, origin))
        parameters = replace(parameters, test_set=test_set)
    for number, chain in enumerate(parameters.test_set.chains or ()):
        where = origin(f"test_set.chains.{number}")[:2]
        if task.sample_chain is None:
            raise ConfigurationError(*where, list(chain), f"no chains: the task '{task.name}' has none")
        for problem in chain:
            if problem not in task.problems:
                raise ConfigurationError.unknown(*where, problem, task.problems, f"problem of the task '{task.name}'")
    parameters, recorded = _with_recorded(parameters, task, origin)
    parameters, locked_plan = _with_locked_plan(parameters, origin)
    parameters = replace(parameters, operator=_with_places(parameters.operator, origin))
    if parameters.cost not in COST_MODELS:
        raise ConfigurationError.unknown(*origin("cost")[:2], parameters.cost, COST_MODELS, "cost model")
    strategy: Strategy = make_plugin("strategies", parameters.strategy.name, *origin("strategy.name")[:2])
    scores = load_scores(task, parameters.scores, *origin("scores")[:2])
    check_needs(scores, robot, files["robot"], origin("scores"))
    metric = checked_metric(parameters.metric, task, files["task"], scores, strategy, origin)
    if parameters.stop_early is not None:
        early = checked_stop_early(parameters.stop_early, strategy, metric, origin)
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
        perturbations=loaded_perturbations(
            parameters.strategy,
            strategy,
            task,
            [camera.name for camera in parameters.cameras or ()],
            *origin("strategy.perturbations")[:2],
        ),
        cost_model=cost_model(parameters.cost, parameters.handling_times, task.store),
        world=world,
        scores=scores,
        recorded=recorded,
        blind_files=blind_files,
        locked_plan=locked_plan,
        output_said_in=origin("output")[0],
    )


def _families(names: tuple[str, ...], task: Task, origin: Origin) -> tuple[str, ...]:
    """Return the families and problems of a task that a test set names; one with a ``*`` means all that it matches.

    Raises:
        ConfigurationError: one is unknown, or matches none.
    """
    known, found = (*task.families, *task.problems), dict[str, None]()
    for name in names:
        matching = fnmatch.filter(known, name) if "*" in name else [name] if name in known else []
        if not matching:
            where, kind = origin("test_set.families")[:2], "family or problem" if task.problems else "family"
            raise ConfigurationError.unknown(*where, name, known, f"{kind} of the task '{task.name}'")
        found.update(dict.fromkeys(matching))
    return tuple(found)


def _with_recorded(
    parameters: SessionParameters, task: Task, origin: Origin
) -> tuple[SessionParameters, tuple[TestInstance, ...]]:
    """Return the parameters with the size of the test set and the path of its file, and the instances of the file."""
    test_set = parameters.test_set
    if test_set.file is None:
        return parameters, ()
    source, key, folder = origin("test_set.file")
    file = (folder / Path(test_set.file).expanduser()).resolve()
    if not file.is_file():
        raise ConfigurationError(source, key, test_set.file, "a file of recorded instances", f"There is no {file}.")
    recorded = load_instances(file, task)
    if test_set.size is not None and test_set.size > len(recorded):
        where = origin("test_set.size")[:2]
        raise ConfigurationError(*where, test_set.size, f"at most {len(recorded)}, for {file} has no more")
    size = test_set.size or len(recorded)
    return replace(parameters, test_set=replace(test_set, size=size, file=str(file))), recorded


def _with_locked_plan(parameters: SessionParameters, origin: Origin) -> tuple[SessionParameters, LockedPlan | None]:
    """Return the parameters with the path of the locked plan, and the plan, if there is one."""
    if not parameters.locked_plan:
        return parameters, None
    file = (origin(LOCKED)[2] / Path(parameters.locked_plan).expanduser()).resolve()
    return replace(parameters, locked_plan=str(file)), read_locked_plan(file)


def _with_places(operator: OperatorParameters, origin: Origin) -> OperatorParameters:
    """Return the console's parameters with the paths of their files."""
    named = {key: name for key in CONSOLE_FILES if (name := getattr(operator, key))}
    places = {key: origin(f"operator.{key}")[2] / Path(name).expanduser() for key, name in named.items()}
    return replace(operator, **{key: str(place.resolve()) for key, place in places.items()})


def _wanted_of_all(policies: tuple[Path, ...]) -> dict[str, CameraParameters]:
    """Return the cameras whose images policies want in one size; refuse two sizes of one camera."""
    wanted: dict[str, CameraParameters] = {}
    for file in policies:
        for name, camera in wanted_cameras(find_configured("policies", file), file).items():
            if wanted.setdefault(name, camera) != camera:
                other = wanted[name]
                raise ConfigurationError(
                    str(file),
                    "image_sizes",
                    f"{camera.width}x{camera.height} for '{name}'",
                    f"{other.width}x{other.height}, which another policy of the blind session wants of it",
                    "Policies that are compared blindly must receive the same images: choose other policies.",
                )
    return wanted


def _origin(key: str, source: Path, given: Collection[str]) -> Origin:
    """Return where the value of a key was written: on the command line, if that set it or a key above it."""
    parts = key.split(".")
    if any(".".join(parts[:depth]) in given for depth in range(1, len(parts) + 1)):
        return "command line", key, Path.cwd()
    return str(source), key, source.parent
