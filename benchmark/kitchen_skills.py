"""How often the oracle solves each of the kitchen's skills on each arm, and what else it moves.

For each skill the scenes of seeds 0, 1, 2, …, none left out, in real physics without ROS and images. Of each trial: its
outcome, and which things that the instruction does not name were moved by more than 1 cm, or whose joint was.

    python -m benchmark.kitchen_skills                                    50 scenes of each skill on the Franka Hand
    python -m benchmark.kitchen_skills --robot franka_hand ur5e_2f85      ... and on the other arm
    python -m benchmark.kitchen_skills --draws 10                         10 scenes of each
    python -m benchmark.kitchen_skills --skills kitchen_3_turn_on_stove   one skill alone
    python -m benchmark.kitchen_skills --keep FOLDER                      goes on from the trials in FOLDER/ROBOT.json
    python -m benchmark.kitchen_skills --json                             all numbers as one JSON object
    python -m benchmark.kitchen_skills --draws 0 --picture FILE.png       one scene of each kind
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from robocontrast_ros.configuration import load_configured, resolve_uri
from robocontrast_ros.domain import BASE, NotApplicable, Scene, TestInstance, Trial, whole_of
from robocontrast_ros.episodes.bench import BenchFault
from robocontrast_ros.objects.settling import PHYSICS
from robocontrast_ros.policies.serving.runner import PolicyRunner
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.statistics.proportions import wilson
from robocontrast_ros.system.numerics import one_thread
from robocontrast_ros.tasks.kitchen import Kitchen
from robocontrast_ros.tasks.kitchen.goals import atom_of
from robocontrast_ros.tasks.protocol import DistractorRequest
from robocontrast_ros.worlds.in_process import InProcessBench
from robocontrast_ros.worlds.mujoco.object_renderer import ObjectRenderer
from robocontrast_ros.worlds.mujoco.world import World

CONFIG = "package://robocontrast_ros/config"
MOVED = 0.01
"""A thing farther than this from where it stood was moved [m]."""

SIZE, COLUMNS = (400, 300), 4
"""Width and height of a picture [pixel]; pictures beside each other on the sheet."""


@dataclass(frozen=True)
class Measured:
    """One trial.

    Attributes:
        skill: name of the problem.
        seed: of its scene.
        success: whether it was solved.
        steps: control steps.
        moved: things that the instruction does not name, and that were moved.
        detail: the fault in words; empty without one.
    """

    skill: str
    seed: int
    success: bool
    steps: int = 0
    moved: tuple[str, ...] = ()
    detail: str = ""


class Arm:
    """A robot in the embedded world that executes trials one after the other.

    Attributes:
        distractors: number of things that are added to each scene.
        task: the kitchen.
        world: the world.
    """

    def __init__(self, robot: str, distractors: int = 0) -> None:
        self.distractors = distractors
        self.task: Kitchen = load_configured("tasks", resolve_uri(f"{CONFIG}/tasks/kitchen.yaml"))
        scenes = self.task.scenes
        self.world = World(load_profile(robot), scenes.world, scenes.start_position, physics_step=scenes.physics_step)
        file = resolve_uri(f"{CONFIG}/policies/kitchen_oracle.yaml")
        self.bench = InProcessBench(self.world, self.task, PolicyRunner(file, timeout=60.0, own_thread=False))

    def draw(self, skill: str, seed: int) -> TestInstance:
        """Return the instance of a seed, with distractors if some are wanted.

        Raises:
            ValueError: no scene suits the skill, or there is no room for so many distractors.
        """
        instance = self.task.sample_of(skill, np.random.default_rng(seed), f"{skill}_{seed}")
        if not self.distractors:
            return instance
        answer = self.task.clutter.add(instance, DistractorRequest(self.distractors), np.random.default_rng(seed))
        if isinstance(answer, NotApplicable):
            raise ValueError(answer.reason)
        return answer.instance

    def measure(self, skill: str, seed: int) -> Measured:
        """Draw the scene of a seed, and execute its trial."""
        try:
            instance = self.draw(skill, seed)
        except ValueError as error:
            return Measured(skill, seed, False, detail=str(error))
        start = self.bench.bring(instance.scene)
        trial = Trial(seed, instance.instance_id, BASE, 0, instance, seed)
        try:
            result = self.bench.execute(trial, 0).result
        except BenchFault as fault:
            return Measured(skill, seed, False, detail=str(fault))
        moved = self._moved(instance, start, self.bench.scene())
        return Measured(skill, seed, bool(result.success), result.steps, moved, result.detail)

    def _moved(self, instance: TestInstance, start: Scene, end: Scene) -> tuple[str, ...]:
        """Return the things that were moved, without the one that is placed and the part that is asked for."""
        (asked, *_) = atom_of(instance.instruction).arguments
        found = []
        for state in start:
            if state.name == asked:
                continue
            far = state.pose.distance_to(end[state.name].pose)
            if whole_of(state.name):
                now, then = (self.task.things.position(scene, state.name) for scene in (start, end))
                # A knob turns where it is.
                far = max(far, abs(then - now))
            if far > MOVED:
                found.append(state.name)
        return tuple(found)


def summary(rows: Sequence[Measured]) -> dict[str, float]:
    """Return the numbers of some trials."""
    rate = wilson(sum(row.success for row in rows), len(rows))
    return {
        "scenes": len(rows),
        "solved": sum(row.success for row in rows),
        "rate": rate.mean,
        "low": rate.low,
        "high": rate.high,
        "moved": sum(bool(row.moved) for row in rows),
        "steps": float(np.mean([row.steps for row in rows])),
    }


def reasons(rows: Iterable[Measured]) -> str:
    """Return why trials were not solved, with their numbers, the most frequent first; empty if all were."""
    found = Counter(row.detail or "not within the step limit" for row in rows if not row.success)
    return "; ".join(f"{number} {why}" for why, number in found.most_common())


def table(rows: Sequence[Measured]) -> str:
    """Return the table of the skills on one arm, as Markdown."""
    lines = ["| skill | solved | rate | 95 % | other things moved | steps |", "|---|---|---|---|---|---|"]
    by_skill = {skill: [row for row in rows if row.skill == skill] for skill in dict.fromkeys(r.skill for r in rows)}
    for skill, own in [*((f"`{skill}`", own) for skill, own in by_skill.items()), ("all", rows)]:
        n = summary(own)
        lines.append(
            f"| {skill} | {n['solved']}/{n['scenes']} | {100 * n['rate']:.1f} % | "
            f"{100 * n['low']:.1f} to {100 * n['high']:.1f} | {n['moved']} | {n['steps']:.0f} |"
        )
    return "\n".join(lines)


def numbers(trials: dict[str, list[Measured]], seeds: range) -> dict[str, object]:
    """Return the numbers of the skills on each robot, as one JSON object."""
    found = []
    for robot, rows in trials.items():
        for skill in dict.fromkeys(row.skill for row in rows):
            own = [row for row in rows if row.skill == skill]
            n = summary(own)
            found.append([robot, skill, n["scenes"], n["solved"], n["moved"], n["steps"], reasons(own)])
    columns = ["robot", "skill", "scenes", "solved", "moved", "steps", "reasons"]
    return {"seed": [seeds[0], seeds[-1]], "physics": PHYSICS, "columns": columns, "rows": found}


class Kept:
    """The trials of a robot in a file, so that an interrupted measurement goes on."""

    def __init__(self, file: Path | None, robot: str, seeds: range, distractors: int = 0) -> None:
        """Take the file, which need not be there; None to keep nothing.

        Raises:
            ValueError: the file is of another robot, of other physics, or with another number of distractors.
        """
        self._file, self.distractors = file, distractors
        self._values = {"robot": robot, "distractors": distractors, "seeds": [seeds[0], seeds[-1]], "physics": PHYSICS}
        self._trials: list[Measured] = []
        if file is None or not file.is_file():
            return
        values = json.loads(file.read_text(encoding="utf-8"))
        for key in ("robot", "distractors", "physics"):
            if values[key] != self._values[key]:
                raise ValueError(f"{file}: {key}: got {values[key]}, expected {self._values[key]}; use another folder")
        self._trials = [Measured(**{**trial, "moved": tuple(trial["moved"])}) for trial in values["trials"]]

    def of(self, skill: str, seeds: range) -> list[Measured] | None:
        """Return the trials of a skill, one for each seed; None if one is not there."""
        own = {row.seed: row for row in self._trials if row.skill == skill}
        return [own[seed] for seed in seeds] if own.keys() >= set(seeds) else None

    def add(self, rows: Iterable[Measured]) -> None:
        """Write more trials to the file."""
        self._trials += rows
        if self._file is not None:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            trials = [asdict(row) for row in self._trials]
            self._file.write_text(json.dumps({**self._values, "trials": trials}), encoding="utf-8")


def measure_all(robot: str, skills: Sequence[str], seeds: range, kept: Kept) -> list[Measured]:
    """Return the trials of skills on a robot: those that were kept, and those that are executed now."""
    arm, rows, began = None, [], time.monotonic()
    for skill in skills:
        own = kept.of(skill, seeds)
        if own is None:
            arm = arm or Arm(robot, kept.distractors)
            own = [arm.measure(skill, seed) for seed in seeds]
            kept.add(own)
        rows += own
        solved, moved = sum(row.success for row in own), sum(bool(row.moved) for row in own)
        print(
            f"{time.monotonic() - began:5.0f} s {robot} {skill}: {solved}/{len(own)}, moved {moved}",
            file=sys.stderr,
            flush=True,
        )
        for row in own:
            if not row.success or row.moved:
                others = f"; moved {', '.join(row.moved)}" if row.moved else ""
                print(f"        seed {row.seed}: {row.detail or 'no fault'}{others}", file=sys.stderr, flush=True)
    return rows


def draw_scenes(file: Path) -> int:
    """Draw one scene of each kind of problem on a sheet, seen by the camera `agent`; return how many."""
    task: Kitchen = load_configured("tasks", resolve_uri(f"{CONFIG}/tasks/kitchen.yaml"))
    models, shown = task.things.still, {}
    kinds = {skill.problem.name: name for name, skill in reversed(task.skills.items())}
    with ObjectRenderer(*SIZE, camera="agent", world=task.scenes.world) as renderer:
        for kind in sorted(kinds, key=lambda kind: (len(kind), kind)):
            scene = task.sample_of(kinds[kind], np.random.default_rng(0), kind).scene
            shown[kind] = Image.fromarray(renderer.scenery((models[state.model], state.pose) for state in scene))
    width, height = SIZE
    sheet = Image.new("RGB", (COLUMNS * width, -(-len(shown) // COLUMNS) * height))
    for k, picture in enumerate(shown.values()):
        sheet.paste(picture, (k % COLUMNS * width, k // COLUMNS * height))
    sheet.save(file)
    return len(shown)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=50, help="scenes of each skill")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--robot", nargs="+", default=["franka_hand"], help="names of the robots' files")
    parser.add_argument("--skills", nargs="*", help="names of problems; all when left out")
    parser.add_argument("--keep", type=Path, help="folder that keeps the trials of each robot, and from which to go on")
    parser.add_argument("--distractors", type=int, default=0, help="things that are added to each scene")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--picture", type=Path, help="draw one scene of each kind to this file")
    asked = parser.parse_args()
    if asked.picture is not None:
        print(json.dumps({"seed": 0, "scenes": draw_scenes(asked.picture)}))
    if asked.draws < 1:
        return
    task: Kitchen = load_configured("tasks", resolve_uri(f"{CONFIG}/tasks/kitchen.yaml"))
    unknown = sorted(set(asked.skills or ()) - set(task.skills))
    if unknown:
        parser.error(f"--skills: got '{unknown[0]}', expected some of {', '.join(task.skills)}")
    seeds, trials = range(asked.first, asked.first + asked.draws), {}
    with one_thread():
        for robot in asked.robot:
            try:
                kept = Kept(asked.keep and asked.keep / f"{robot}.json", robot, seeds, asked.distractors)
            except ValueError as error:
                parser.error(f"--keep: {error}")
            trials[robot] = measure_all(robot, asked.skills or tuple(task.skills), seeds, kept)
    if asked.json:
        print(json.dumps(numbers(trials, seeds)))
        return
    print("\n\n".join(f"{robot}\n\n{table(rows)}" for robot, rows in trials.items()))


if __name__ == "__main__":
    main()
