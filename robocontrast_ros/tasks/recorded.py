"""Test instances that people recorded: a file of scenes, instructions and walked paths, checked as drawn ones are.

In seed 000, appendix C.2, each participant furnished the room, wrote an instruction and the path that it means.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pydantic import Field

from robocontrast_ros.configuration import ConfigurationError, load_record, record
from robocontrast_ros.domain import Instruction, ObjectState, Pose, Scene, TestInstance
from robocontrast_ros.domain.geometry import IDENTITY, Quaternion, Vector3
from robocontrast_ros.tasks.plans import Infeasible
from robocontrast_ros.tasks.protocol import Task

ID = r"^[A-Za-z0-9_]{1,40}$"


@record
class RecordedPose:
    """A pose in the scene's frame."""

    position: Vector3 = Field(description="x, y, z [m]")
    orientation: Quaternion = Field(default=IDENTITY, description="x, y, z, w; not turned when left out")


@record
class RecordedObject(RecordedPose):
    """An object and its pose."""

    model: str = Field(min_length=1, description="a model of the task")


@record
class RecordedInstance:
    """One test instance."""

    id: str = Field(pattern=ID, description="of its trials; letters, digits and _")
    instruction: str = Field(min_length=1, max_length=500, description="instruction for the policy")
    objects: dict[str, RecordedObject] = Field(description="name of each object -> where it stands")
    robot: RecordedPose | None = Field(
        default=None, description="start of a mobile robot; left out if the robot is fixed"
    )
    path: tuple[tuple[float, float], ...] = Field(
        default=(), description="walked reference path, x and y of its corners [m]; the planner's when left out"
    )
    by: str = Field(default="", max_length=64, description="who recorded it")
    meant: str = Field(
        default="",
        max_length=500,
        description="the instruction in the task's words, if the task does not understand the person's words",
    )


@record
class InstancesFile:
    """A file of recorded instances."""

    task: str = Field(min_length=1, description="name of the task that they are of")
    instances: tuple[RecordedInstance, ...] = Field(min_length=1, description="the instances, each id once")

    def __post_init__(self) -> None:
        ids = [instance.id for instance in self.instances]
        if len(set(ids)) != len(ids):
            raise ValueError(f"each id once; {next(i for i in ids if ids.count(i) > 1)} is there twice")


def load_instances(file: Path, task: Task) -> tuple[TestInstance, ...]:
    """Return the test instances of a file, in its order.

    Raises:
        ConfigurationError: the file does not fit, or an instance does not fit the task; the error names it and the
            reason.
    """
    content = load_record(InstancesFile, file)
    if content.task != task.name:
        raise ConfigurationError(str(file), "task", content.task, f"the session's task '{task.name}'")
    found = []
    for number, recorded in enumerate(content.instances):
        try:
            found.append(instance_of(recorded, task))
        except ValueError as error:
            key = f"instances.{number}"
            expected = "an instance that the robot can be given"
            raise ConfigurationError(str(file), key, recorded.id, expected, f"{error}.") from None
    return tuple(found)


def scene_of(recorded: RecordedInstance) -> Scene:
    """Return the scene of a recorded instance.

    Raises:
        ValueError: a pose is invalid.
    """
    robot = recorded.robot
    return Scene(
        tuple(ObjectState(n, o.model, Pose(o.position, o.orientation)) for n, o in recorded.objects.items()),
        robot=None if robot is None else Pose(robot.position, robot.orientation),
    )


def instance_of(recorded: RecordedInstance, task: Task) -> TestInstance:
    """Return the test instance that was recorded, checked like those that a task draws.

    Its length l_i is the planner's. Its reference path is the walked one, if one was walked.

    Raises:
        ValueError: the task has no such object or does not understand the instruction, it cannot be fulfilled or is
            already fulfilled, or the path does not fulfil it.
    """
    scene = scene_of(recorded)
    for item in scene:
        if item.model not in task.scenes.models:
            raise ValueError(f"'{item.name}' is of no model of the task: {item.model}")
    if task.scenes.start_position is None and scene.robot is None:
        raise ValueError("where the robot starts is missing (robot)")
    instruction = understood(recorded, task, scene)
    instance = task.make_instance(recorded.id, instruction, scene)
    if isinstance(instance, Infeasible):
        raise ValueError(instance.reason)
    if not recorded.path:
        return instance
    if task.walkable is None:
        raise ValueError(f"the task '{task.name}' takes no walked path")
    if reason := task.walkable(instance, recorded.path):
        raise ValueError(reason)
    return replace(instance, reference_path=recorded.path)


def understood(recorded: RecordedInstance, task: Task, scene: Scene) -> Instruction:
    """Return the instruction of a recorded instance: in a person's own words it has the meaning of ``meant``.

    Policies that parse the task's sentences, as oracles do, do not understand such words.

    Raises:
        ValueError: the task does not understand ``meant`` in this scene, or it understands the instruction itself in
            another way.
    """
    told, meant = (" ".join(text.split()) for text in (recorded.instruction, recorded.meant))
    if not meant:
        return task.language.parse(told, scene)
    found = task.language.parse(meant, scene)
    try:
        itself = task.language.parse(told, scene)
    except ValueError:
        return replace(found, text=told, meant=meant)
    if (itself.family, itself.arguments) != (found.family, found.arguments):
        raise ValueError(f"'{told}' means something else to the task than '{meant}'")
    return itself


def recorded_of(
    instance_id: str, text: str, scene: Scene, path: tuple[tuple[float, float], ...], by: str = "", meant: str = ""
) -> RecordedInstance:
    """Return the record of an instance as it is written to a file; millimetres and tenths of a milliradian are kept."""
    return RecordedInstance(
        id=instance_id,
        instruction=" ".join(text.split()),
        objects={o.name: RecordedObject(model=o.model, **_rounded(o.pose)) for o in scene},
        robot=None if scene.robot is None else RecordedPose(**_rounded(scene.robot)),
        path=tuple((round(x, 4), round(y, 4)) for x, y in path),
        by=by,
        meant=" ".join(meant.split()),
    )


def _rounded(pose: Pose) -> dict[str, tuple[float, ...]]:
    return {
        "position": tuple(round(value, 4) for value in pose.position),
        "orientation": tuple(round(value, 6) for value in pose.orientation),
    }
