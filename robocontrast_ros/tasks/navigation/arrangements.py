"""The scenes of a task file's arrangements; contradictions in the file and impossible scenes are refused."""

from __future__ import annotations

from collections.abc import Callable

from shapely import Point

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain import Instruction, ObjectState, Pose, Scene, TestInstance
from robocontrast_ros.tasks.navigation.floor import FloorPlan, Shapes
from robocontrast_ros.tasks.navigation.grammar import FIRST, LAST
from robocontrast_ros.tasks.navigation.parameters import GENERATED, Arrangement, NavigationParameters
from robocontrast_ros.tasks.navigation.placing import outside_by, overlapping
from robocontrast_ros.tasks.navigation.planner import RoutePlanner
from robocontrast_ros.tasks.protocol import Infeasible

_OUT = 5e-3
"""Greatest overlap of furniture with a wall [m], because poses have few digits."""

_NARROWEST = 0.02
_WIDTH_STEPS = 8


def check_parameters(parameters: NavigationParameters, source: str) -> None:
    """Check the values of a task file against each other.

    Raises:
        ConfigurationError: the first contradiction.
    """
    p = parameters
    if "{model}" not in p.furniture_model:
        raise ConfigurationError(source, "furniture_model", p.furniture_model, "a URI with the placeholder {model}")
    if p.reach <= p.base.clearance:
        raise ConfigurationError(
            source,
            "reach",
            p.reach,
            f"more than base.radius + base.margin = {p.base.clearance:g} m",
            "The robot does not come nearer to furniture than that.",
        )
    for name, model in p.objects.items():
        if model not in p.furniture:
            raise ConfigurationError.unknown(source, f"objects.{name}", model, p.furniture, "model of `furniture`")
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
        raise ConfigurationError(source, "objects", sorted(p.objects), "objects of at least two models that are places")
    if GENERATED in p.arrangements:
        raise ConfigurationError(
            source,
            "arrangements",
            GENERATED,
            f"other names than '{GENERATED}', which stands for instances that are drawn",
            "Rename it.",
        )
    for name, arrangement in p.arrangements.items():
        for known in arrangement.furniture:
            if known not in p.objects:
                raise ConfigurationError.unknown(
                    source, f"arrangements.{name}.furniture", known, p.objects, "object of `objects`"
                )


def arranged_scene(parameters: NavigationParameters, name: str) -> Scene:
    """Return the scene of an arrangement.

    Raises:
        KeyError: the arrangement is unknown.
    """
    arrangement = parameters.arrangements[name]
    objects = tuple(
        ObjectState(o, parameters.objects[o], Pose.planar(*pose)) for o, pose in arrangement.furniture.items()
    )
    return Scene(objects, robot=Pose.planar(*arrangement.robot))


def check_arrangements(
    planner: RoutePlanner,
    parse: Callable[[str, Scene], Instruction],
    make_instance: Callable[[str, Instruction, Scene], TestInstance | Infeasible],
    source: str,
) -> None:
    """Check every arrangement of the task file ``source``; the callables are methods of the task.

    Raises:
        ConfigurationError: the first mistake: furniture outside the room or in other furniture; the robot
            outside, or in furniture; an instruction that the grammar does not know or that names a missing place;
            a goal without a way that is wide enough; a robot that starts at one of the two places.
    """
    shapes = planner.shapes
    for name, arrangement in shapes.parameters.arrangements.items():
        key, scene = f"arrangements.{name}", arranged_scene(shapes.parameters, name)
        plan = planner.floor_plan(scene)
        _check_furniture(plan, shapes, arrangement, source, key)
        _check_robot(plan, shapes, arrangement, source, key)
        try:
            instruction = parse(arrangement.instruction, scene)
        except ValueError as error:
            raise ConfigurationError(
                source,
                f"{key}.instruction",
                arrangement.instruction,
                "a sentence that names two places of the arrangement",
                f"{str(error)[:1].upper()}{str(error)[1:]}.",
            ) from None
        instance = make_instance(name, instruction, scene)
        if isinstance(instance, Infeasible):
            expected, cure = _expectation(instance.reason, plan, shapes, instruction, scene)
            raise ConfigurationError(source, f"{key}.instruction", instruction.text, expected, cure)


def _check_furniture(plan: FloorPlan, shapes: Shapes, arrangement: Arrangement, source: str, key: str) -> None:
    room, poses = shapes.parameters.room, arrangement.furniture
    for name, shape in plan.footprints.items():
        out = outside_by(shape, shapes)
        if out > _OUT:
            raise ConfigurationError(
                source,
                f"{key}.furniture.{name}",
                list(poses[name]),
                f"a pose inside the room of {room.length:g} x {room.width:g} m",
                f"It stands {out:.2f} m out of it: move it in.",
            )
    pair = overlapping(plan.footprints)
    if pair is not None:
        a, b = pair
        raise ConfigurationError(
            source,
            f"{key}.furniture.{b}",
            list(poses[b]),
            f"a place of its own; it stands in {a} at {list(poses[a])}",
            "Move one of the two.",
        )


def _check_robot(plan: FloorPlan, shapes: Shapes, arrangement: Arrangement, source: str, key: str) -> None:
    start = arrangement.robot[:2]
    if plan.free(start):
        return
    gaps = {name: shape.distance(Point(start)) for name, shape in plan.footprints.items()}
    nearest = min(gaps, key=lambda n: gaps[n], default="")
    what = nearest if nearest and gaps[nearest] <= plan.gap([start]) + 1e-9 else "a wall"
    raise ConfigurationError(
        source,
        f"{key}.robot",
        list(arrangement.robot),
        f"a start whose centre is at least {shapes.clearance:.2f} m from furniture and walls",
        f"It is {plan.gap([start]):.2f} m from {what}: move the robot or {what}.",
    )


def _expectation(
    reason: str, plan: FloorPlan, shapes: Shapes, instruction: Instruction, scene: Scene
) -> tuple[str, str]:
    """Return the expected property of an instruction that is infeasible for this reason, and the cure."""
    assert scene.robot is not None
    start, first, last = scene.robot.xy, str(instruction.get(FIRST)), str(instruction.get(LAST))
    if plan.route(start, first, last) is not None:
        return "two places that the robot can visit, neither of which it starts at", f"But {reason}."

    def passes(clearance: float) -> bool:
        narrow = FloorPlan(scene, Shapes(shapes.parameters, clearance))
        return narrow.free(start) and narrow.route(start, first, last) is not None

    low, high = _NARROWEST, shapes.clearance
    expected = f"places that the robot can get to through passages at least {2 * high:.2f} m wide"
    if not passes(low):
        return expected, "There is no way there at all: the furniture closes it off; move it."
    for _ in range(_WIDTH_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if passes(middle) else (low, middle)
    return expected, f"The widest way there is {2 * low:.2f} m wide: move the furniture apart."
