"""Draw the suite's scenes and choose their tasks: `python -m scripts.suite config/suite`.

A task is kept if its goal is right, its words mean what they should, and the planner has a plan in the stored scene and
in those drawn about it. No robot and no policy is asked. Of these, those are chosen that bring the shares of
the difficulties, the attributes and the templates nearest to what is wanted.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import shapely

from robocontrast_ros.configuration import load_record, resolve_uri
from robocontrast_ros.domain import ObjectState, Pose, Scene
from robocontrast_ros.objects import SHIPPED, ObjectModel, load_library
from robocontrast_ros.objects.frames import about, multiply
from robocontrast_ros.objects.settling import PHYSICS
from robocontrast_ros.tasks.bddl import Atom
from robocontrast_ros.tasks.composed import subtasks
from robocontrast_ros.tasks.kitchen import Kitchen
from robocontrast_ros.tasks.kitchen.library import Things
from robocontrast_ros.tasks.kitchen.parameters import KitchenParameters
from robocontrast_ros.tasks.plans import NoPlan
from robocontrast_ros.tasks.suite import checks
from robocontrast_ros.tasks.suite.attributes import LABELS, difficulty
from robocontrast_ros.tasks.suite.files import VARIANTS, SuiteTask, parse_tree, scene_content, tree_content, write_scene
from robocontrast_ros.tasks.suite.planner import RAISED
from robocontrast_ros.tasks.suite.predicates import PICKED_UP, UP
from robocontrast_ros.tasks.suite.task import Suite, SuiteParameters
from robocontrast_ros.tasks.suite.uprighting import ROUND
from robocontrast_ros.tasks.tabletop import shapes
from scripts.suite.scenes import KITCHEN, SCENES, SceneSpec
from scripts.suite.templates import Draft, Words, drafts, phrase

SEED = 2
SHARES = dict(zip(LABELS, (0.53, 0.33, 0.14), strict=True))
A_SCENE = 3
"""Tasks of a scene."""
WORKERS = 3
TRIED = 1
"""Tasks of a template that are tried in a scene."""
SEVERAL, PATIENCE = ("all", "sort", "tower", "sized"), (3, 10)
"""Templates of several things, or of few pairs; drafts that are tried of the others, and of these."""
FEW = 10
"""An attribute with fewer tasks goes first."""
DRAWS = 5
"""Scenes about the stored one in which a task has to have a plan."""
GAP, NAMED = 0.045, 2000
ASIDE = np.radians(15.0)
"""Greatest angle of the axis of what has fallen over from the line across the robot's view [rad]."""


def main(folder: Path) -> None:
    """Write the scene files."""
    used: Counter[str] = Counter()
    chosen: list[SuiteTask] = []
    folder.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(WORKERS) as pool:
        drawn = [*pool.map(_of_kitchen, KITCHEN), *pool.map(_of_table, SCENES)]
    for name, scene, tried in drawn:
        kept = [task for _, task in tried] if name in KITCHEN else _chosen(tried, chosen, used, A_SCENE)
        if kept:
            _write(folder / f"{name}.yaml", scene, kept)
        chosen += kept
        print(f"{name}: {', '.join(f'{t.name} ({t.difficulty.label})' for t in kept)}", flush=True)
    labels, attributes = Counter(t.difficulty.label for t in chosen), Counter(a for t in chosen for a in t.attributes)
    print(len(chosen), dict(labels), dict(attributes), dict(used))


Drawn = tuple[str, Scene, list[tuple[str, SuiteTask]]]
"""Name of a scene, the scene, and its tasks that are right, each with its template."""


@cache
def _parts() -> tuple[Suite, KitchenParameters, Kitchen]:
    """Return a suite without tasks, and the kitchen that it is like."""
    parameters = load_record(
        SuiteParameters, resolve_uri("package://robocontrast_ros/config/tasks/tabletop_suite.yaml")
    )
    like = load_record(KitchenParameters, resolve_uri(parameters.like))
    things = Things.of(load_library((SHIPPED, like.things)).values())
    return Suite(parameters, like, things, {}), like, Kitchen.from_file(resolve_uri(parameters.like))


def _random(name: str) -> np.random.Generator:
    """Return the randomness of a scene, which depends on its name alone."""
    return np.random.default_rng([SEED, *name.encode()])


def _of_kitchen(name: str) -> Drawn:
    (suite, _, kitchen), rng = _parts(), _random(name)
    problem, tasks = KITCHEN[name]
    scene = kitchen.sample_of(problem, rng, name).scene
    words, found, trier = Words(scene, suite.things.models), [], Trier(suite, name, scene, rng)
    for task, default, vague, specific, attributes, goal in tasks:
        named = [n for n in parse_names(goal) if n in words.things]
        said = {said: list(meant) for said, meant in (_plain(words, n) for n in named)}
        texts = dict(zip(VARIANTS, (default, vague, specific), strict=True))
        made = trier.task(Draft(task, "kitchen", texts, said, attributes, goal))
        found += [("kitchen", made)] if made else []
    return name, scene, found


def _of_table(spec: SceneSpec) -> Drawn:
    (suite, like, _), rng = _parts(), _random(spec.name)
    scene = _scene(spec, suite, like, rng)
    every = list(drafts(Words(scene, suite.things.models), rng))
    kinds: Counter[str] = Counter()
    found, trier = [], Trier(suite, spec.name, scene, rng)
    for index in rng.permutation(len(every)):
        draft = every[index]
        if kinds[draft.kind] < TRIED:
            task = trier.task(draft)
            kinds[draft.kind] += 1 if task else 1 / PATIENCE[draft.kind.partition("_")[0] in SEVERAL]
            found += [(draft.kind, task)] if task else []
    return spec.name, scene, found


def parse_names(goal: Any) -> Iterator[str]:
    """Yield the names of things in a goal."""
    if isinstance(goal, str):
        yield goal
    elif isinstance(goal, dict):
        for value in goal.values():
            yield from parse_names(value)
    elif isinstance(goal, list):
        for value in goal:
            yield from parse_names(value)


def _plain(words: Words, name: str) -> tuple[str, tuple[str, ...]]:
    usual = words.ways(name)[0]
    return phrase(usual), words.all_of(usual)


def _scene(spec: SceneSpec, suite: Suite, like: KitchenParameters, rng: np.random.Generator) -> Scene:
    """Draw the places of a scene's things until they are at rest."""
    inside = {name: holder for holder, names in spec.inside.items() for name in names.split()}
    looks = [names[0] for names in like.fixtures.kinds.values()]
    things = suite.things
    for _ in range(NAMED):
        poses: dict[str, Pose] = {}
        areas: list[Any] = []
        names = sorted(spec.things.split(), key=lambda n: (n in inside, -max(things.models[n].size[:2])))
        for name in names:
            model = things.models[name]
            for _ in range(300):
                if name in inside:
                    holder, at = things.models[inside[name]], poses[inside[name]]
                    place = holder.cavity or holder.top
                    room = shapes.placed(place.polygon, at).buffer(-0.004)
                    x0, y0, x1, y1 = room.bounds
                    ground = place.floor if holder.cavity else place.z
                else:
                    room, ground = like.region.box, 0.0
                    x0, y0, x1, y1 = room.bounds
                pose = Pose.planar(
                    rng.uniform(x0, x1), rng.uniform(y0, y1), rng.uniform(-np.pi, np.pi), ground + 0.0005
                )
                if name in spec.lying.split():
                    pose = _fallen(model, pose, rng)
                area = shapes.footprint(model, pose)
                others = [a for n, a in areas if n != inside.get(name)]
                if room.covers(area) and (
                    not others or min(shapely.distance(area, np.array(others, dtype=object))) > GAP
                ):
                    poses[name] = pose
                    areas.append((name, area))
                    break
            else:
                break
        if len(poses) < len(names):
            continue
        order = [names[k] for k in rng.permutation(len(names))]
        scene = Scene((*(ObjectState(n, n, Pose()) for n in looks), *(ObjectState(n, n, poses[n]) for n in order)))
        rested = suite.settled(scene)
        if rested is None or not _in_reach(suite, rested):
            continue
        if all(_in_reach(suite, suite.moved(rested, rng)) for _ in range(DRAWS if spec.lying else 0)):
            return replace(rested, objects=tuple(_stored(state) for state in rested))
    raise SystemExit(f"{spec.name}: no room")


def _fallen(model: ObjectModel, pose: Pose, rng: np.random.Generator) -> Pose:
    """Return the pose of a thing that lies at a pose, its top to the left or to the right of the robot."""
    side = float(rng.choice([-1.0, 1.0])) * np.pi / 2 + rng.uniform(-ASIDE, ASIDE)
    # The line along which a hand closes is level, or the longer side of what is round there.
    grasp, (width, depth, _) = model.grasps[0], model.size
    longer = (1.0, 0.0) if width > depth else (0.0, 1.0)
    x, y = grasp.closing[:2] if grasp.turns < ROUND else longer
    roll = np.pi / 2 - np.arctan2(y, x)
    turn = multiply(about((0.0, 1.0, 0.0), np.pi / 2), about((0.0, 0.0, 1.0), roll))
    turn = tuple(float(part) for part in multiply(about((0.0, 0.0, 1.0), side), turn))
    lying = Pose(pose.position, turn)
    px, py, pz = pose.position
    return Pose((px, py, pz - shapes.lowest(model, lying)), turn)


def _in_reach(suite: Suite, scene: Scene) -> bool:
    """Return whether the hand has room at everything that stands on the table itself."""
    try:
        for state in suite.planner.movable(scene):
            free = not suite.things.models[state.model].fixed and state.pose.position[2] < RAISED
            if not shapes.is_upright(state.pose):
                suite.planner.step(Atom(UP, (state.name,)), scene)
            elif free and not suite.planner.borne(scene, state.name):
                suite.planner.step(Atom(PICKED_UP, (state.name,)), scene)
    except NoPlan:
        return False
    return True


def _stored(state: ObjectState) -> ObjectState:
    ((_, said),) = scene_content(Scene((state,))).items()
    return ObjectState(state.name, state.model, Pose(tuple(said["pose"][:3]), tuple(said["pose"][3:])))


class Trier:
    """Tries drafts in a scene and in those drawn about it."""

    def __init__(self, suite: Suite, name: str, scene: Scene, rng: np.random.Generator) -> None:
        """Draw the scenes."""
        self._suite, self._name, self._scene = suite, name, scene
        drawn = (suite.settled(suite.moved(scene, rng)) for _ in range(DRAWS))
        self._scenes = [scene, *(scene for scene in drawn if scene is not None)]

    def task(self, draft: Draft) -> SuiteTask | None:
        """Return the task of a draft that is right and has a plan in all scenes; None else."""
        tree = parse_tree(dict(draft.goal), self._name, "goal")
        texts = " ".join(draft.texts.values())
        words = {phrase: tuple(meant) for phrase, meant in draft.words.items() if phrase in texts}
        level = difficulty(subtasks(tree), draft.attributes)
        name = f"{self._name}/{draft.name}"
        task = SuiteTask(
            name, Path(self._name), self._scene, draft.texts, words, tuple(draft.attributes), tree, (), level
        )
        things = self._suite.things
        if checks.first_error(task, things, self._suite.predicates) is not None:
            return None
        try:
            for scene in self._scenes:
                if checks.unclear(task, scene, things) is not None:
                    return None
                self._suite.planner.steps(tree, scene)
        except NoPlan:
            return None
        return task


def _chosen(
    tried: list[tuple[str, SuiteTask]], so_far: list[SuiteTask], used: Counter[str], count: int
) -> list[SuiteTask]:
    """Choose a scene's tasks: the label that lacks most, then the attribute and the template that are rarest."""
    kept: list[SuiteTask] = []
    while len(kept) < count and tried:
        every = [*so_far, *kept]
        best = min(tried, key=partial(_rank, every=every, used=used))
        tried = [item for item in tried if item is not best]
        if checks.said_twice([*kept, best[1]]) is None:
            kept.append(best[1])
            used[best[0].partition("_")[0]] += 1
    return kept


def _rank(item: tuple[str, SuiteTask], every: list[SuiteTask], used: Counter[str]) -> tuple[Any, ...]:
    kind, task = item
    labels, attributes = Counter(t.difficulty.label for t in every), Counter(a for t in every for a in t.attributes)
    lacking = SHARES[task.difficulty.label] * (len(every) + 1) - labels[task.difficulty.label]
    rarest = min((attributes[a] for a in task.attributes), default=len(every) / 4)
    return -lacking, rarest // FEW, used[kind.partition("_")[0]], rarest, task.name


def _write(path: Path, scene: Scene, tasks: list[SuiteTask]) -> None:
    if not tasks:
        print(f"{path.stem}: no task is kept, so that it has no file")
        return
    content = {"physics": PHYSICS, "things": scene_content(scene), "tasks": {}}
    for task in tasks:
        content["tasks"][task.name.partition("/")[2]] = {
            "instruction": dict(task.texts),
            "words": {phrase: list(meant) for phrase, meant in task.words.items()},
            "attributes": list(task.attributes),
            "goal": tree_content(task.tree),
        }
    write_scene(path, content)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
