"""Refuse a task file that contradicts itself, and an arrangement that is impossible, by one clear message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shapely import Point

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain import Instruction, Scene
from robocontrast_ros.tasks.navigation.floor import FloorPlan, Shapes
from robocontrast_ros.tasks.navigation.parameters import GENERATED, NavigationParameters
from robocontrast_ros.tasks.navigation.placing import outside_by, overlapping

if TYPE_CHECKING:
    from robocontrast_ros.tasks.navigation.task import VisionLanguageNavigation

_OUT = 5e-3
"""Poses are written with few digits, so that something may seem to stand in a wall by this little [m]."""

_NARROWEST = 0.02
_WIDTH_STEPS = 8


def check_parameters(parameters: NavigationParameters, source: str) -> None:
    """Check what no single value of a task's file shows.

    Raises:
        ConfigurationError: the first contradiction.
    """
    p = parameters
    if "{model}" not in p.furniture_model:
        raise ConfigurationError(
            source, "furniture_model", p.furniture_model, "a URI with the placeholder {model}"
        )
    if p.reach <= p.base.clearance:
        raise ConfigurationError(
            source,
            "reach",
            p.reach,
            f"more than base.radius + base.margin = {p.base.clearance:g} m",
            "Nearer than that the robot does not come to furniture.",
        )
    for name, model in p.objects.items():
        if model not in p.furniture:
            raise ConfigurationError.unknown(
                source, f"objects.{name}", model, p.furniture, "model of `furniture`"
            )
    owners: dict[str, str] = {}
    for model, furniture in p.furniture.items():
        for noun in furniture.nouns:
            if owners.setdefault(noun, model) != model:
                raise ConfigurationError(
                    source,
                    f"furniture.{model}.nouns",
                    noun,
                    f"a noun of its own; {owners[noun]} has it already",
                )
    places = [model for model in p.objects.values() if p.furniture[model].place]
    if len(set(places)) < 2:
        raise ConfigurationError(
            source, "objects", sorted(p.objects), "objects of at least two models that are places"
        )
    if GENERATED in p.arrangements:
        raise ConfigurationError(
            source,
            "arrangements",
            GENERATED,
            f"other names than '{GENERATED}', which stands for instances that are drawn",
            "Rename it.",
        )


def check_arrangements(task: VisionLanguageNavigation, source: str) -> None:
    """Check every arrangement of a task's file.

    Raises:
        ConfigurationError: the first mistake: an unknown object; furniture outside the room or in other
            furniture; the robot outside, or in furniture; an instruction that the grammar does not know or
            that names a place that is not there; a goal without a way to it, or none that is wide enough;
            a robot that starts where it is to go.
    """
    for name in task.parameters.arrangements:
        _check(task, name, source, f"arrangements.{name}")


def _check(task: VisionLanguageNavigation, name: str, source: str, key: str) -> None:
    arrangement = task.parameters.arrangements[name]
    for known in arrangement.furniture:
        if known not in task.parameters.objects:
            raise ConfigurationError.unknown(
                source, f"{key}.furniture", known, task.parameters.objects, "object of `objects`"
            )
    scene = task.arranged_scene(name)
    _check_furniture(task, scene, source, key)
    _check_robot(task, scene, source, key)
    try:
        instruction = task.parse(arrangement.instruction, scene)
    except ValueError as error:
        raise ConfigurationError(
            source,
            f"{key}.instruction",
            arrangement.instruction,
            "a sentence that names two places of the arrangement",
            f"{str(error)[:1].upper()}{str(error)[1:]}.",
        ) from None
    _check_way(task, instruction, scene, source, key)


def _check_furniture(task: VisionLanguageNavigation, scene: Scene, source: str, key: str) -> None:
    room = task.parameters.room
    footprints = task.floor_plan(scene).footprints
    poses = task.parameters.arrangements[key.split(".")[1]].furniture
    for name, shape in footprints.items():
        out = outside_by(shape, task.shapes)
        if out > _OUT:
            raise ConfigurationError(
                source,
                f"{key}.furniture.{name}",
                list(poses[name]),
                f"a pose inside the room of {room.length:g} x {room.width:g} m",
                f"It stands {out:.2f} m out of it: move it in.",
            )
    pair = overlapping(footprints)
    if pair is not None:
        a, b = pair
        raise ConfigurationError(
            source,
            f"{key}.furniture.{b}",
            list(poses[b]),
            f"a place of its own; it stands in {a} at {list(poses[a])}",
            "Move one of the two.",
        )


def _check_robot(task: VisionLanguageNavigation, scene: Scene, source: str, key: str) -> None:
    assert scene.robot is not None
    base, start = task.parameters.base, scene.robot.xy
    plan = task.floor_plan(scene)
    if plan.free(start):
        return
    gaps = {name: shape.distance(Point(start)) for name, shape in plan.footprints.items()}
    nearest = min(gaps, key=lambda n: gaps[n], default="")
    what = nearest if nearest and gaps[nearest] <= plan.gap([start]) + 1e-9 else "a wall"
    raise ConfigurationError(
        source,
        f"{key}.robot",
        list(task.parameters.arrangements[key.split(".")[1]].robot),
        f"a start whose centre is at least {base.clearance:.2f} m from furniture and walls",
        f"It is {plan.gap([start]):.2f} m from {what}: move the robot or {what}.",
    )


def _check_way(
    task: VisionLanguageNavigation, instruction: Instruction, scene: Scene, source: str, key: str
) -> None:
    reason = task.refusal(instruction, scene)
    if reason is None:
        return
    expected, cure = "two places that the robot can visit, neither of which it starts at", f"But {reason}."
    if task.plan(instruction, scene) is None:
        wide = _widest_passage(task, instruction, scene)
        need = 2 * task.parameters.base.clearance
        expected = f"places that the robot can get to through passages at least {need:.2f} m wide"
        cure = (
            f"The widest way there is {wide:.2f} m wide: move the furniture apart."
            if wide
            else "There is no way there at all: the furniture closes it off; move it."
        )
    raise ConfigurationError(source, f"{key}.instruction", instruction.text, expected, cure)


def _widest_passage(task: VisionLanguageNavigation, instruction: Instruction, scene: Scene) -> float:
    """Return the width of the widest way through both places [m]; 0 when there is none at all."""
    assert scene.robot is not None
    first, last = task.named(instruction)

    def passes(clearance: float) -> bool:
        plan = FloorPlan(scene, Shapes(task.parameters, clearance))
        return plan.free(scene.robot.xy) and plan.route(scene.robot.xy, first, last) is not None

    low, high = _NARROWEST, task.parameters.base.clearance
    if not passes(low):
        return 0.0
    for _ in range(_WIDTH_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if passes(middle) else (low, middle)
    return 2 * low
