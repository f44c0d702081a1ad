"""What every scene that the task `tabletop` draws has to be, checked on many of them.

    python -m benchmark.tabletop_scenes                    2,000 scenes, seeds 0, 1, 2, …, of all skills in turn
    python -m benchmark.tabletop_scenes --scenes 100

Prints each property with the number of scenes that lack it, and names them; the exit code is 1 where there is one.
"""

from __future__ import annotations

import argparse
import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np
import shapely
from rich.console import Console

from robocontrast_ros.configuration import load_configured, resolve_uri
from robocontrast_ros.domain import Instruction, TestInstance
from robocontrast_ros.domain.products import norm
from robocontrast_ros.objects.settling import settle
from robocontrast_ros.robots.kinematics import Kinematics, Unreachable
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.robots.reach import pointing_down, turned
from robocontrast_ros.system.numerics import one_thread
from robocontrast_ros.tasks.protocol import Plan
from robocontrast_ros.tasks.tabletop import Tabletop, shapes
from robocontrast_ros.tasks.tabletop.goals import named
from robocontrast_ros.tasks.tabletop.hand import ToolPlace
from robocontrast_ros.tasks.tabletop.scenes import SETTLED_GAP

TASK = "package://robocontrast_ros/config/tasks/tabletop.yaml"
ARMS = ("franka_hand", "ur5e_2f85")
SAME_PLACE = 5e-4
"""What settles once more, and what is at rest, moves less [m]."""

TURN = math.radians(30.0)
"""Turn of the tool from one posture to the next on the way to a pose [rad]."""

STEP = 0.005
"""Distance of the points of a path that are looked at [m]."""


def apart(task: Tabletop, instance: TestInstance) -> bool:
    """Tell whether footprints are inside the region, and as far apart as is left of the gaps at rest."""
    p, things = task.parameters, task.planner.movable(instance.scene)
    region = shapely.box(p.region.x_min, p.region.y_min, p.region.x_max, p.region.y_max)
    areas = {o.name: shapes.footprint(task.library[o.model], o.pose) for o in things}
    first = named(instance.instruction)
    for a, b in itertools.combinations(things, 2):
        least = p.sampling.named_gap if a.name in first or b.name in first else p.sampling.gap
        if shapes.gap(areas[a.name], areas[b.name]) < least * SETTLED_GAP:
            return False
    return all(region.covers(area) for area in areas.values())


def settled(task: Tabletop, instance: TestInstance) -> bool:
    """Tell whether everything stands upright, and stays where it is when it settles once more."""
    again = settle(instance.scene, task.library, task.parameters.world)
    stays = all(o.pose.distance_to(again.scene[o.name].pose) < SAME_PLACE for o in instance.scene)
    return again.still and stays and all(shapes.is_upright(o.pose) for o in task.planner.movable(instance.scene))


def unsolved(task: Tabletop, instance: TestInstance) -> bool:
    """Tell whether the goal does not hold at the start, and holds where the plan ends."""
    goal = task.goals.goal(instance.instruction, instance.scene)
    plan = task.planner.plan(instance.instruction, instance.scene)
    return isinstance(plan, Plan) and not goal.satisfied(instance.scene) and goal.satisfied(plan.final_scene)


def unambiguous(task: Tabletop, instance: TestInstance) -> bool:
    """Tell whether the words alone, in the scene, mean the instruction, and its premise holds."""
    understood: Instruction = task.language.parse(instance.instruction.text, instance.scene)
    return understood == instance.instruction and task.premise(instance.instruction, instance.scene) is None


def free(task: Tabletop, instance: TestInstance) -> bool:
    """Tell whether no finger and no palm of the open hand reaches into anything along the planned path.

    Above everything nothing is looked at, nor is the target, nor what it is put on or in, which may be hollow.
    """
    target, *reference = named(instance.instruction)
    hollow = reference if instance.instruction.family in ("put_on", "put_in") else []
    others = [o for o in task.planner.movable(instance.scene) if o.name not in (target, *hollow)]
    solids = [(shapes.footprint(task.library[o.model], o.pose), task.library[o.model].size[2]) for o in others]
    tallest = max((top for _, top in solids), default=0.0)
    way = task.planner.handling(instance.instruction, instance.scene)
    path = np.asarray(way.path)
    for k, (a, b) in enumerate(itertools.pairwise(path)):
        # The hand turns where it is above everything; below, it is turned as for the grasp, or for the place.
        place = way.grasp if way.place is None or k < len(path) - 3 else way.place
        if min(a[2], b[2]) - task.parameters.hand.tip >= tallest:
            continue
        for share in np.linspace(0.0, 1.0, max(int(norm(b - a) / STEP), 2)):
            point = a + share * (b - a)
            if _reaches_into(task, ToolPlace(tuple(point.tolist()), place.yaw), solids):
                return False
    return True


def _reaches_into(task: Tabletop, tool: ToolPlace, solids: list[tuple[shapely.Polygon, float]]) -> bool:
    c, s = np.cos(tool.yaw), np.sin(tool.yaw)
    x, y, z = tool.position
    for box in task.parameters.hand.boxes:
        corners = [(u, -v) for u in (box.low[0], box.high[0]) for v in (box.low[1], box.high[1])]
        area = shapely.MultiPoint([(x + c * u - s * v, y + s * u + c * v) for u, v in corners]).convex_hull
        if any(top > z - box.high[2] and area.intersects(solid) for solid, top in solids):
            return True
    return False


class Reachable:
    """Tells whether all corners of a planned path are in reach of both arms, the tool turned as planned."""

    def __init__(self) -> None:
        self._arms = [Kinematics(load_profile(name)) for name in ARMS]

    def __call__(self, task: Tabletop, instance: TestInstance) -> bool:
        """Tell it of one instance."""
        way = task.planner.handling(instance.instruction, instance.scene)
        for k, point in enumerate(way.path[1:], 1):
            place = way.grasp if way.place is None or k < len(way.path) - 3 else way.place
            for arm in self._arms:
                try:
                    # As the hand goes there: from ahead, turning; straight from home it may meet a limit on the way.
                    joints = arm.posture(pointing_down(*point, 0.0))
                    steps = max(math.ceil(abs(place.yaw) / TURN), 1)
                    for step in range(1, steps + 1):
                        joints = turned(arm, joints, pointing_down(*point, place.yaw * step / steps))
                except Unreachable:
                    return False
        return True


def properties() -> dict[str, Callable[[Tabletop, TestInstance], bool]]:
    """Return each property's name and check."""
    return {
        "things stand apart, inside the region": apart,
        "at rest": settled,
        "not solved at the start, solved where the plan ends": unsolved,
        "unambiguous": unambiguous,
        "the way of the open hand is free": free,
        "in reach of both arms": Reachable(),
    }


def instances(task: Tabletop, count: int) -> Iterator[TestInstance]:
    """Draw instances of seeds 0, 1, 2, …, of all families in turn."""
    for seed in range(count):
        yield task.sample(np.random.default_rng(seed), f"x{seed}", task.families[seed % len(task.families)])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", type=int, default=2000, help="scenes that are drawn")
    asked = parser.parse_args()
    task: Tabletop = load_configured("tasks", resolve_uri(TASK))
    checks, console = properties(), Console(width=140)
    lacking: dict[str, list[str]] = {name: [] for name in checks}
    with one_thread():
        for instance in instances(task, asked.scenes):
            for name, check in checks.items():
                if not check(task, instance):
                    lacking[name].append(instance.instance_id)
    for name, without in lacking.items():
        console.print(f"{name}: {asked.scenes - len(without)} of {asked.scenes} {' '.join(without[:20])}".rstrip())
    return int(any(lacking.values()))


if __name__ == "__main__":
    raise SystemExit(main())
