"""How well a camera knows where objects are and whether a goal is reached, compared with the truth of rendered scenes.

    python -m benchmark.camera_judge                                 100 scenes of each task, three minutes
    python -m benchmark.camera_judge --scenes 20 --first 500 --to build/try.json
    python -m benchmark.camera_judge --json --picture build/scenes.png

Scenes are those of consecutive seeds; none is left out. In turns they are as at the start, somewhere inside the goal,
and a few millimetres inside and outside of the goal's edge. Light, noise, blur, what hides something and the error of
the calibration are drawn for each. Blocks of Language-Table have no tags; objects of the table have tags of 40 mm.
What is reported (docs/operator.md) is of seeds on which nothing was developed: those below 10000 were looked at.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import cv2
import numpy as np
import shapely
from rich.console import Console
from rich.progress import track
from rich.table import Table
from transforms3d.quaternions import quat2mat

from robocontrast_ros.configuration import load_configured, resolve_uri
from robocontrast_ros.domain import Pose, Scene, TestInstance
from robocontrast_ros.domain.rotations import from_vector, turned
from robocontrast_ros.images.boards import Intrinsics
from robocontrast_ros.images.rendering import Camera
from robocontrast_ros.images.tag_families import FAMILIES, USUAL
from robocontrast_ros.perception import CalibratedCamera, SceneEstimate, SceneEstimator, read_block
from robocontrast_ros.perception.plates import supports, tags_for
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.system.disk import write_file
from robocontrast_ros.system.numerics import one_thread
from robocontrast_ros.tasks.protocol import Goal, Plan, Task
from robocontrast_ros.tasks.tabletop import shapes
from robocontrast_ros.worlds.mujoco.entities import EntityState
from robocontrast_ros.worlds.mujoco.world import World
from robocontrast_ros.worlds.table_camera import seen_verdict

TASKS = "package://robocontrast_ros/config/tasks/{}.yaml"
WIDTH, HEIGHT = 640, 480

LIGHTS = {"usual": (1.0, 1.0, 1.0), "dim": (0.55, 0.55, 0.55), "warm": (1.2, 1.05, 0.8)}
NOISE = (2.0, 5.0, 8.0)
"""Standard deviation of each pixel [of 255]."""
BLUR = (0.0, 0.7, 1.2)
"""Standard deviation [pixel]."""
PATCHES = (0, 0, 2)
"""How many patches hide something."""
PATCH = (20, 90)
"""Least and greatest side of a patch [pixel]."""
POSITION_ERROR, ORIENTATION_ERROR = 0.0007, 0.0005
"""Standard deviation of the calibration along [m] and about [rad] each axis."""

KINDS = ("start", "reached", "just inside", "just outside")
EDGE = (0.001, 0.008)
"""Least and greatest distance from the goal's edge [m]."""
DEEP = 0.04
"""Greatest distance from the planned end of what is somewhere inside the goal [m]."""
ARMS = ((0.185, 0.0, 0.01), (0.30, -0.12, 0.02), (0.40, 0.10, 0.02), (0.45, -0.05, 0.05))
"""Where the tool is in scenes of Language-Table, in turns [m]."""
TOOL = 0.045
"""Blocks keep away from the tool by this [m]."""
CLOSER = Pose((0.0, 0.0, 0.35))
"""Where the table's top camera is moved, in its optical frame: 0.9 m above the table."""

WAYS = (*(0.001 * k for k in range(1, 11)), 0.015, 0.02, 0.03, 0.05)
"""How far an object is moved to see how near a scene is to the goal's limit [m]."""
LIMITS = (0.002, 0.004, 0.006, 0.01, math.inf)
"""Distances to the limit by which scenes are sorted [m]."""
SHOWN = 4
"""Pictures of each task that are shown."""

COVER2, COVER1 = 2.4477, 1.9600
"""Standard deviations that hold 95 % of errors in the plane, and of a yaw."""


@dataclass(frozen=True)
class Case:
    """A scene to be seen: of an instance, at some stage."""

    task: Task
    instance: TestInstance
    kind: str
    scene: Scene
    arm: int = 0


def cases(
    task: Task, seeds: Iterable[int], families: tuple[str, ...], legal: Callable[[Scene, int], bool]
) -> Iterator[Case]:
    """Draw cases of seeds; where one cannot be made, the next draw of its seed is taken."""
    for seed in seeds:
        kind, arm = KINDS[seed % len(KINDS)], (seed // len(KINDS)) % len(ARMS)
        rng = np.random.default_rng([seed, 2511])
        for _ in range(100):
            instance = task.sample(rng, f"x{seed}", families[(seed // len(KINDS)) % len(families)])
            scene = staged(task, instance, kind, rng)
            if scene is not None and legal(scene, arm):
                yield Case(task, instance, kind, scene, arm)
                break
        else:
            raise RuntimeError(f"seed {seed}: no scene of the kind '{kind}' in 100 draws")


def staged(task: Task, instance: TestInstance, kind: str, rng: np.random.Generator) -> Scene | None:
    """Return the scene of an instance at some stage; None where it cannot be made."""
    if kind == "start":
        return instance.scene
    plan = task.planner.plan(instance.instruction, instance.scene)
    if not isinstance(plan, Plan):
        return None
    goal = task.goals.goal(instance.instruction, instance.scene)
    reached = plan.final_scene
    name = instance.instruction.get("source") or instance.instruction.get("target")
    pose = reached[name].pose
    angle = rng.uniform(-math.pi, math.pi)
    way = np.array((math.cos(angle), math.sin(angle)))

    def at(distance: float) -> Scene:
        x, y = pose.xy + distance * way
        return reached.moved(name, Pose((float(x), float(y), pose.position[2]), pose.orientation))

    if kind == "reached":
        # Plans end at the goal's very edge: somewhere inside it.
        for _ in range(100):
            scene = at(rng.uniform(0.0, DEEP))
            if goal.satisfied(scene):
                return scene
        return None
    steps = np.arange(0.0, 0.3, 0.005)
    beyond = next((k for k, step in enumerate(steps) if not goal.satisfied(at(step))), 0)
    if beyond == 0:
        return None
    inside, outside = steps[beyond - 1], steps[beyond]
    while outside - inside > 1e-5:
        middle = (inside + outside) / 2.0
        inside, outside = (middle, outside) if goal.satisfied(at(middle)) else (inside, middle)
    by = rng.uniform(*EDGE)
    scene = at(inside - by if kind == "just inside" else outside + by)
    return scene if goal.satisfied(scene) == (kind == "just inside") else None


class Boards:
    """Pictures of Language-Table's board, by the camera that policies have, in 640x480."""

    camera = "board"
    given: frozenset[str] = frozenset()

    def __init__(self) -> None:
        self.task = load_configured("tasks", resolve_uri(TASKS.format("language_table")))
        self.families = self.task.families
        self._models = self.task.scenes.models
        self.blocks = {name: read_block(resolve_uri(self._models[name])) for name in self.task.parameters.blocks}
        self._worlds: dict[int, World] = {}

    def legal(self, scene: Scene, arm: int) -> bool:
        """Tell whether blocks are inside the board, and neither in each other nor under the tool."""
        areas = [shapely.Polygon(self.blocks[o.model].outline) for o in scene]
        placed = [shapes.moved(area, o.pose.xy, o.pose.yaw) for area, o in zip(areas, scene, strict=True)]
        if any(a.intersects(b) for k, a in enumerate(placed) for b in placed[:k]):
            return False
        board = self.task.parameters.board
        return all(math.dist(o.pose.xy, ARMS[arm][:2]) > TOOL and board.contains(*o.pose.xy) for o in scene)

    def world(self, case: Case) -> World:
        """Return the world as it is in a case."""
        if case.arm not in self._worlds:
            scenes = self.task.scenes
            world = World(load_profile("ur5e"), scenes.world, ARMS[case.arm], [Camera(self.camera, WIDTH, HEIGHT)])
            with world.at_once():
                for item in case.scene:
                    world.spawn(item.name, item.pose, uri=self._models[item.model])
            self._worlds[case.arm] = world
        world = self._worlds[case.arm]
        for item in case.scene:
            world.set_entity_state(item.name, EntityState(item.pose))
        return world

    def estimator(self, camera: CalibratedCamera, case: Case) -> SceneEstimator:
        """Return what looks for the blocks."""
        board = self.task.parameters.board
        return SceneEstimator(camera, case.instance.scene, blocks=self.blocks, region=(board.low, board.high))

    def outlined(self, image: np.ndarray, camera: CalibratedCamera, estimate: SceneEstimate) -> np.ndarray:
        """Return a picture with the outlines of the tops of blocks where they were found."""
        tops = {
            o.name: [(*corner, self.blocks[o.model].height) for corner in self.blocks[o.model].outline]
            for o in estimate.objects
        }
        return outlined(image, camera, estimate, tops)


class Tables:
    """Pictures of a table with tagged objects, by the camera above it. In `pick` a camera always asks."""

    camera = "top"
    families = ("move_near", "stack", "put_on", "put_in")

    def __init__(self, family: str) -> None:
        self.task = load_configured("tasks", resolve_uri(TASKS.format("tabletop")))
        library = self.task.library.values()
        self._tags, self._supports = tags_for(library, family=family), supports(library)
        self.given = frozenset(model.model for model in library if model.fixed)
        scenes = self.task.scenes
        cameras = [Camera(self.camera, WIDTH, HEIGHT)]
        profile = load_profile("franka_hand")
        self._world = World(profile, scenes.world, scenes.start_position, cameras, tags=self._tags)
        self._spawned: list[str] = []

    def legal(self, scene: Scene, arm: int) -> bool:
        """Tell whether what stands on the table stands in nothing else."""
        del arm
        standing = [o for o in scene if o.model not in self.given and o.pose.position[2] < 0.005]
        areas = [shapes.footprint(self.task.library[o.model], o.pose) for o in standing]
        return not any(a.intersects(b) for k, a in enumerate(areas) for b in areas[:k])

    def world(self, case: Case) -> World:
        """Return the world as it is in a case."""
        with self._world.at_once():
            for name in self._spawned:
                self._world.delete(name)
            for item in case.scene:
                self._world.spawn(item.name, item.pose, uri=self.task.scenes.models[item.model])
        self._spawned = list(case.scene.names)
        for item in case.scene:
            self._world.set_entity_state(item.name, EntityState(item.pose))
        self._world.cameras.move({self.camera: CLOSER})
        return self._world

    def estimator(self, camera: CalibratedCamera, case: Case) -> SceneEstimator:
        """Return what looks for the objects."""
        given = [o.name for o in case.instance.scene if o.model in self.given]
        return SceneEstimator(camera, case.instance.scene, tags=self._tags, supports=self._supports, given=given)

    def outlined(self, image: np.ndarray, camera: CalibratedCamera, estimate: SceneEstimate) -> np.ndarray:
        """Return a picture with the footprints of objects where they were found."""
        found = [o for o in estimate.objects if o.model not in self.given]
        footprints = {o.name: [(*corner, 0.0) for corner in self.task.library[o.model].footprint] for o in found}
        return outlined(image, camera, estimate, footprints)


CERTAIN, UNSURE = (0, 220, 60), (255, 150, 0)
"""Colours of outlines, RGB."""


def outlined(
    image: np.ndarray, camera: CalibratedCamera, estimate: SceneEstimate, outlines: dict[str, list]
) -> np.ndarray:
    """Return a picture with outlines, each in its object's frame [m], where their objects were found."""
    image = image.copy()
    for name, corners in outlines.items():
        found = estimate[name]
        if found.pose is not None:
            x, y, z, w = found.pose.orientation
            placed = np.einsum("ij,kj->ki", quat2mat((w, x, y, z)), np.array(corners)) + found.pose.position
            pixels = np.round(camera.project(placed) * 16).astype(np.int32)
            colour = CERTAIN if found.certain else UNSURE
            cv2.polylines(image, [pixels], True, colour, 1, cv2.LINE_AA, 4)
    return image


def photograph(world: World, camera: str, light: str, noise: float, blur: float, patches: int, rng) -> np.ndarray:
    """Return a picture as a real camera would take it."""
    model = world._bodies.model
    tint = np.array(LIGHTS[light])
    kept = model.light_diffuse.copy(), model.light_ambient.copy()
    head = model.vis.headlight.diffuse.copy(), model.vis.headlight.ambient.copy()
    model.light_diffuse[:], model.light_ambient[:] = kept[0] * tint, kept[1] * tint
    model.vis.headlight.diffuse[:], model.vis.headlight.ambient[:] = head[0] * tint, head[1] * tint
    image = world.cameras.render(camera)
    model.light_diffuse[:], model.light_ambient[:] = kept
    model.vis.headlight.diffuse[:], model.vis.headlight.ambient[:] = head
    for _ in range(patches):
        width, height = rng.integers(*PATCH, 2)
        u, v = rng.integers(0, WIDTH - width), rng.integers(0, HEIGHT - height)
        image[v : v + height, u : u + width] = rng.integers(30, 220, 3)
    if blur:
        image = cv2.GaussianBlur(image, (0, 0), blur)
    return np.clip(image + rng.normal(0.0, noise, image.shape), 0.0, 255.0).astype(np.uint8)


def calibrated(world: World, name: str, rng: np.random.Generator) -> CalibratedCamera:
    """Return the camera as a calibration with errors tells."""
    info, true = world.cameras.info(name), world.cameras.pose(name)
    intrinsics = Intrinsics(WIDTH, HEIGHT, np.array(info.k).reshape(3, 3), np.zeros(5))
    x, y, z = np.add(true.position, rng.normal(0.0, POSITION_ERROR, 3)).tolist()
    turn = turned(true.orientation, from_vector(rng.normal(0.0, ORIENTATION_ERROR, 3)))
    errors = math.sqrt(3.0) * POSITION_ERROR, math.sqrt(3.0) * ORIENTATION_ERROR
    return CalibratedCamera(intrinsics, Pose((x, y, z), turn), "world", *errors)


def to_the_limit(goal: Goal, scene: Scene, name: str) -> float:
    """Return the least distance by which an object has to be moved for the answer to change, up to the last of WAYS."""
    truth, pose = goal.satisfied(scene), scene[name].pose
    for far in WAYS:
        for k in range(24):
            x, y = (far * part(math.tau * k / 24) for part in (math.cos, math.sin))
            place = (pose.position[0] + x, pose.position[1] + y, pose.position[2])
            if goal.satisfied(scene.moved(name, Pose(place, pose.orientation))) != truth:
                return far
    return math.inf


class Tally:
    """What is counted of one task."""

    def __init__(self) -> None:
        self.objects: list[dict] = []
        self.trials: list[dict] = []
        self.seconds: list[float] = []

    def add(self, case: Case, estimate: SceneEstimate, given: set[str], conditions: dict) -> None:
        """Compare an estimate with the truth."""
        for found in estimate.objects:
            if found.name in given:
                continue
            row = conditions | {"name": found.name, "seen": found.pose is not None, "certain": found.certain}
            row["certain"] = found.certain and not estimate.problems
            if found.pose is not None:
                true = case.scene[found.name].pose
                row["position"] = math.dist(found.pose.xy, true.xy)
                row["yaw"] = abs(math.remainder(found.pose.yaw - true.yaw, math.tau / found.turns))
                row["position_std"], row["yaw_std"] = found.position_std, found.yaw_std
            self.objects.append(row)
        goal = case.task.goals.goal(case.instance.instruction, case.instance.scene)
        arguments = dict(case.instance.instruction.arguments)
        names = [name for name in arguments.values() if name in case.scene]
        said = seen_verdict(goal, estimate, names)
        row = {"kind": case.kind, "family": case.instance.instruction.family, "truth": goal.satisfied(case.scene)}
        row |= {"said": said.success, "certain": said.certain, "doubts": list(said.doubts)}
        row["limit"] = to_the_limit(goal, case.scene, arguments.get("source") or arguments.get("target"))
        self.trials.append(conditions | row)

    def numbers(self) -> dict:
        """Return the results: counts, and of errors the median, the 95th percentile and the greatest."""
        seen = [o for o in self.objects if o["seen"]]
        sure = [o for o in seen if o["certain"]]
        return {
            "objects": len(self.objects),
            "seen": len(seen),
            "certain": len(sure),
            "position": errors(sure, "position"),
            "yaw": errors(sure, "yaw"),
            "position_of_all_seen": errors(seen, "position"),
            "covered_position": sum(o["position"] <= COVER2 * o["position_std"] for o in sure),
            "covered_yaw": sum(o["yaw"] <= COVER1 * o["yaw_std"] for o in sure),
            **judged(self.trials),
            "by_kind": {kind: judged([t for t in self.trials if t["kind"] == kind]) for kind in KINDS},
            "by_light": {light: judged([t for t in self.trials if t["light"] == light]) for light in LIGHTS},
            "hidden": {
                str(bool(many)): judged([t for t in self.trials if bool(t["patches"]) == bool(many)]) for many in (0, 2)
            },
            "by_limit": [
                [
                    low,
                    high if math.isfinite(high) else None,
                    judged([t for t in self.trials if low < t["limit"] <= high]),
                ]
                for low, high in pairwise((0.0, *LIMITS))
            ],
            "why": dict(Counter(kind for t in self.trials for kind in {cause(doubt) for doubt in t["doubts"]})),
        }


def judged(trials: list[dict]) -> dict[str, int]:
    """Return how many scenes there are, in how many a person is asked, and how many answers are right."""
    alone = [t for t in trials if t["certain"]]
    told = [t for t in trials if t["said"] is not None]
    return {
        "scenes": len(trials),
        "successes": sum(t["truth"] for t in trials),
        "alone": len(alone),
        "alone_successes": sum(t["truth"] for t in alone),
        "alone_right": sum(t["said"] == t["truth"] for t in alone),
        "told": len(told),
        "told_right": sum(t["said"] == t["truth"] for t in told),
    }


CAUSES = (
    "near the limit",
    "does not show",
    "height of",
    "not seen",
    "of its colour",
    "hidden",
    "cover it",
    "could also",
)


def cause(doubt: str) -> str:
    """Return which kind of doubt it is."""
    return next((words for words in CAUSES if words in doubt), "another")


def errors(rows: list[dict], key: str) -> list[float]:
    """Return median, 95th percentile and the greatest."""
    return np.quantile([row[key] for row in rows], (0.5, 0.95, 1.0)).tolist() if rows else [math.nan] * 3


def measured(bench: Boards | Tables, seeds: range, title: str) -> tuple[Tally, list[np.ndarray]]:
    """Draw, look, compare; return what is counted, and the first pictures with what was found drawn in them."""
    tally, shown = Tally(), []
    drawn = cases(bench.task, seeds, bench.families, bench.legal)
    progress = Console(stderr=True)
    for seed, case in zip(seeds, track(drawn, title, total=len(seeds), console=progress), strict=True):
        rng = np.random.default_rng([seed, 7])
        light = tuple(LIGHTS)[int(rng.integers(len(LIGHTS)))]
        noise, blur, patches = (float(rng.choice(some)) for some in (NOISE, BLUR, PATCHES))
        world = bench.world(case)
        image = photograph(world, bench.camera, light, noise, blur, int(patches), rng)
        camera = calibrated(world, bench.camera, rng)
        estimator = bench.estimator(camera, case)
        began = time.perf_counter()
        estimate = estimator.estimate(image)
        tally.seconds.append(time.perf_counter() - began)
        conditions = {"seed": seed, "light": light, "noise": noise, "blur": blur, "patches": patches}
        tally.add(case, estimate, bench.given, conditions)
        if len(shown) < SHOWN:
            shown.append(bench.outlined(image, camera, estimate))
    return tally, shown


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", type=int, default=100, help="of each task")
    parser.add_argument("--first", type=int, default=0, help="seed of the first scene")
    parser.add_argument("--to", type=Path, help="JSON file to write, with each scene in which a person is asked")
    parser.add_argument("--only", choices=("language_table", "tabletop"), help="one of the tasks")
    parser.add_argument("--family", choices=FAMILIES, default=USUAL, help="of the tags of the table's objects")
    parser.add_argument("--json", action="store_true", help="print one JSON object in place of tables")
    parser.add_argument("--picture", type=Path, help="PNG file to draw: the first scenes, and what was found in them")
    asked = parser.parse_args()
    console, results, rows, pictures = Console(width=140), {}, {}, []
    seeds = range(asked.first, asked.first + asked.scenes)
    benches = {"language_table": Boards, "tabletop": lambda: Tables(asked.family)}
    for name, bench in benches.items():
        if asked.only in (None, name):
            tally, shown = measured(bench(), seeds, name)
            results[name] = tally.numbers()
            rows[name] = [t for t in tally.trials if not t["certain"] or t["said"] != t["truth"]]
            pictures.append(np.hstack(shown))
            times = ", ".join(f"{1e3 * q:.0f}" for q in np.quantile(tally.seconds, (0.5, 0.95)))
            Console(stderr=True).print(f"{name}: median and 95th percentile of a picture's time: {times} ms")
    if asked.picture:
        cv2.imwrite(str(asked.picture), np.vstack(pictures)[..., ::-1])
    if asked.to:
        asked.to.parent.mkdir(parents=True, exist_ok=True)
        write_file(asked.to, json.dumps({"results": results, "asked_or_wrong": rows}, indent=1) + "\n")
    if asked.json:
        print(json.dumps({"seed": asked.first, "scenes": asked.scenes, "results": results}))
        return
    table = Table("", *results)
    for key in next(iter(results.values())):
        table.add_row(key, *(str(result[key]) for result in results.values()))
    console.print(table)


if __name__ == "__main__":
    with one_thread():
        main()
