"""Kitchen problems for tests: one as text, any as hypothesis draws them, and how a problem is written in BDDL."""

from __future__ import annotations

from hypothesis import strategies as st

from robocontrast_ros.tasks.bddl import Atom, Problem, Region
from robocontrast_ros.tasks.bddl.problem import NO_COLOUR, NO_TURN

BOWL_ON_PLATE = """\
(define (problem LIBERO_Kitchen_Tabletop_Manipulation)
  (:domain robosuite)
  (:language put the black bowl on the plate)
  (:regions
    (cabinet_region
      (:target kitchen_table)
      (:ranges ((-0.01 -0.31 0.01 -0.29)))
      (:yaw_rotation ((3.141592653589793 3.141592653589793)))
    )
    (bowl_region (:target kitchen_table) (:ranges ((-0.025 -0.025 0.025 0.025))))
    (plate_region (:target kitchen_table) (:ranges ((-0.05 0.2 0.0 0.25) (0.0 0.2 0.05 0.25))) (:rgba (1 0 0 0.5)))
    (top_region (:target wooden_cabinet_1))
    (top_side (:target wooden_cabinet_1))
  )
  (:fixtures
    kitchen_table - kitchen_table
    wooden_cabinet_1 - wooden_cabinet
  )
  (:objects
    akita_black_bowl_1 akita_black_bowl_2 - akita_black_bowl
    plate_1 - plate  ; white, with rings
  )
  (:obj_of_interest akita_black_bowl_1 plate_1)
  (:init
    (On wooden_cabinet_1 kitchen_table_cabinet_region)
    (On akita_black_bowl_1 kitchen_table_bowl_region)
    (In akita_black_bowl_2 wooden_cabinet_1_top_region)
    (On plate_1 kitchen_table_plate_region)
    (Open wooden_cabinet_1_top_region)
  )
  (:goal (And (On akita_black_bowl_1 plate_1)))
)
"""
"""A problem that the kitchen can build, with each form that occurs in LIBERO's files, and :rgba."""

ODD = (
    "on",
    "Off",
    "yes",
    "null",
    "~",
    "1",
    "1e5",
    "0x1f",
    "#a",
    "a:b",
    "'q'",
    '"q"',
    "?x",
    "&a",
    "*a",
    "!t",
    "ü",
    "2024-01-01",
)
"""Names that YAML would take for something else if they were not quoted."""

NAMES = st.sampled_from(ODD) | st.text("abXY_-1.", min_size=1, max_size=4).filter(lambda name: name != "-")


def bddl_of(problem: Problem) -> str:
    """Write a problem in BDDL."""

    def atoms(each: tuple[Atom, ...]) -> str:
        return "".join(f"\n    {atom}" for atom in each)

    def region(r: Region) -> str:
        words = f"({r.name} (:target {r.target})"
        if r.ranges:
            words += f" (:ranges ({' '.join(_numbers(box) for box in r.ranges)}))"
        if r.yaw != NO_TURN:
            words += f" (:yaw_rotation ({_numbers(r.yaw)}))"
        if r.rgba != NO_COLOUR:
            words += f" (:rgba {_numbers(r.rgba)})"
        return words + ")"

    def things(each: dict[str, str]) -> str:
        return "".join(f"\n    {name} - {kind}" for name, kind in each.items())

    return f"""(define (problem {problem.name})
  (:domain robosuite)
  (:language {problem.language})
  (:regions {" ".join(map(region, problem.regions))})
  (:fixtures {things(problem.fixtures)})
  (:objects {things(problem.objects)})
  (:obj_of_interest {" ".join(problem.of_interest)})
  (:init {atoms(problem.init)})
  (:goal (And {atoms(problem.goal)}))
)
"""


def _numbers(values: tuple[float, ...]) -> str:
    return f"({' '.join(map(repr, values))})"


@st.composite
def problems(draw) -> Problem:
    """Draw a problem that is right: a table, with other fixtures and objects on it and on each other."""
    names = draw(st.lists(NAMES, unique=True, min_size=2, max_size=6))
    split = draw(st.integers(1, len(names) - 1))
    fixtures = {name: draw(NAMES) for name in names[:split]}
    objects = {name: draw(NAMES) for name in names[split:]}
    number = st.floats(-3, 3)
    regions: dict[str, Region] = {}
    for index in range(draw(st.integers(1, 5))):
        target, name = (draw(st.sampled_from(names)) if index else names[0]), draw(NAMES)
        boxes = draw(st.lists(st.tuples(*[number] * 4), max_size=2)) if index else [(0.0, 0.0, 0.0, 0.0)]
        ranges = tuple((min(a, c), min(b, d), max(a, c), max(b, d)) for a, b, c, d in boxes)
        yaw = tuple(sorted(draw(st.tuples(number, number) | st.just(NO_TURN))))
        rgba = draw(st.tuples(*[st.floats(0, 1)] * 4) | st.just(NO_COLOUR))
        region = Region(name, target, ranges, yaw, rgba)
        if region.full_name not in names:
            regions.setdefault(region.full_name, region)
    if not regions:
        regions[""] = Region("a_table_region", names[0], ((0.0, 0.0, 1.0, 1.0),))
    ground = next(iter(regions.values())).full_name
    parts = [r.full_name for r in regions.values() if not r.ranges and r.target in fixtures]
    states = [draw(st.sampled_from([("Open", "Close"), ("Turnon", "Turnoff")])) for _ in (*fixtures, *parts)]
    init, placed = [], [names[0]]
    for name in names[1:]:
        places = [ground]
        if name in objects:
            places += [r.full_name for r in regions.values() if r.target in placed]
            places += [other for other in placed if other in objects]
        place = draw(st.sampled_from(places))
        inside = place in {r.full_name for r in regions.values()} and draw(st.booleans())
        init.append(Atom("In" if inside else "On", (name, place)))
        placed.append(name)
    goal = [Atom("On", (draw(st.sampled_from(list(objects))), ground))]
    for thing, state in zip((*fixtures, *parts), states, strict=True):
        init += [Atom(draw(st.sampled_from(state)), (thing,))] if draw(st.booleans()) else []
        goal += [Atom(draw(st.sampled_from(state)), (thing,))] if draw(st.booleans()) else []
    return Problem(
        name=draw(NAMES),
        language=" ".join(draw(st.lists(NAMES, min_size=1, max_size=4))),
        fixtures=fixtures,
        objects=objects,
        regions=tuple(regions.values()),
        of_interest=tuple(
            draw(st.lists(st.sampled_from([*names, *(r.full_name for r in regions.values())]), unique=True, max_size=3))
        ),
        init=tuple(init),
        goal=tuple(goal),
    )
