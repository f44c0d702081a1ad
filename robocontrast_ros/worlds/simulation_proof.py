"""The proof that a simulator of others does what it answers: before the first trial, and once a session.

Servers of simulation_interfaces answer OK and do nothing, drop orientations and frames, make a cube of a model that
they do not find, step another number of steps, or have bodies that no force moves. In such a world each trial would be
valid and each score wrong. So every object is lifted and turned, stands still while nothing steps, falls, and has the
size of its model; and one object bears another.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from statistics import median

from robocontrast_ros.domain import Fault, Pose, Scene, whole_of
from robocontrast_ros.domain.rotations import turned
from robocontrast_ros.episodes.bench import BenchFault
from robocontrast_ros.strategies.effort import angle_between
from robocontrast_ros.worlds.simulation import Feature, Simulation

GRAVITY = 9.81
"""Of every world [m/s2]."""
LIFT, ASIDE = 0.02, 0.005
"""Height to which each object is lifted, more than it falls meanwhile, and how far it is moved along x [m]."""
TURN = 0.5
"""Angle about the vertical by which it is turned [rad]."""
FALL = 0.04
"""Time for which it falls [s]."""
SINGLE_STEPS = 10
"""Number of requests for a single step."""
PLACE, ANGLE = 0.002, 0.02
"""Greatest error of a pose that was set and is read back [m, rad]."""
STILL, LATE = 0.2, 1.0
"""Time for which a world is watched that nobody steps, and in which a pose has to be there [s]."""
TIMES = 0.7, 1.4
"""Least and greatest ratio of a fall to the fall that is expected: a tenth more time makes it 1.2."""
AT_REST = 0.05
"""Share of the expected fall below which an object has not moved."""
ABOVE, DROP, HIGHER = 0.06, 0.4, 0.004
"""Height from which one object is dropped on another [m], the time for it [s], and how much higher it ends [m]."""
SAME_SURFACE = 0.05
"""Greatest difference of the heights of two objects on one surface [m]."""
PAIRS = 4
"""Number of pairs that are tried: a thing may slide off a round one."""
SIZE, SIZE_SHARE = 0.003, 0.2
"""Greatest error of the size of an object: absolute [m], and as a share."""


@dataclass(frozen=True)
class Proof:
    """Checks of a simulator.

    Attributes:
        physics_step: time of one step, as the task has it [s].
        size: returns length and width of a model that is not turned, from above [m]; None if it covers nothing.
        moves: returns whether a model can move, rather than being furniture.
        robot: name of the robot's entity.
    """

    physics_step: float
    size: Callable[[str], tuple[float, float] | None]
    moves: Callable[[str], bool]
    robot: str

    def prove(self, simulation: Simulation, features: frozenset[int], scene: Scene) -> None:
        """Check a paused world in which the objects of a scene stand; they are elsewhere afterwards.

        Raises:
            SimulationError: the simulator refused a request.
            BenchFault: SETUP_FAILED, with what was asked for, and what is so instead.
        """
        entities = simulation.poses()[1]
        if self.robot not in entities:
            raise _failed(
                f"the robot '{self.robot}' is none of its entities ({', '.join(sorted(entities))}): what moves by its "
                "driver may be elsewhere. Name its entity under `world.entities` in the session"
            )
        poses = {each.name: each.pose for each in scene if not whole_of(each.name) and self.moves(each.model)}
        if not poses:
            return
        if lost := sorted(poses.keys() - entities.keys()):
            raise _failed(
                f"{', '.join(map(repr, lost))} was spawned, which was answered with OK, and there is no such entity "
                f"({', '.join(sorted(entities))})"
            )
        lifted = {name: _moved(pose, x=ASIDE, z=LIFT) for name, pose in poses.items()}
        _put(simulation, {name: _turned(pose) for name, pose in lifted.items()})
        _put(simulation, lifted)
        time.sleep(STILL)
        if problem := _misplaced(_read(simulation, lifted), lifted):
            raise _failed(problem)
        number = max(round(FALL / self.physics_step), 1)
        self._falls(simulation, lifted, number, lambda: simulation.step(number), f"a request for {number} steps")
        _put(simulation, lifted)
        self._falls(
            simulation,
            lifted,
            SINGLE_STEPS,
            lambda: [simulation.step(1) for _ in range(SINGLE_STEPS)],
            f"{SINGLE_STEPS} requests for one step",
        )
        if Feature.ENTITY_BOUNDS in features:
            self._has_the_size(simulation, scene, poses)
        self._bears(simulation, poses)

    def _falls(
        self, simulation: Simulation, lifted: Mapping[str, Pose], steps: int, act: Callable[[], object], words: str
    ) -> None:
        """Check by how far objects fall that they can move, and that steps have their number and time."""
        act()
        found = _read(simulation, lifted)
        fallen = {name: pose.position[2] - found[name].position[2] for name, pose in lifted.items()}
        # Each step changes the speed before the position.
        expected = 0.5 * GRAVITY * self.physics_step**2 * steps * (steps + 1)
        low, high = (share * expected for share in TIMES)
        usual = median(fallen.values())
        stuck = [name for name, pose in lifted.items() if found[name].distance_to(pose) < AT_REST * expected]
        if stuck:
            raise _failed(
                f"{', '.join(map(repr, stuck))} stays in the air for {words}: it cannot fall, so nothing can push it. "
                "Give it a body that moves, with a mass and a collision shape"
            )
        if not low <= usual <= high:
            took = self.physics_step * steps * (usual / expected) ** 0.5 if usual > 0.0 else 0.0
            raise _failed(
                f"{words} let objects fall by {1000 * usual:.1f} mm, expected {1000 * expected:.1f} mm: they took "
                f"{1000 * took:.0f} ms, expected {steps} times {1000 * self.physics_step:g} ms. Set the simulator's "
                "step to the task's `physics_step`; a version of it that makes other steps cannot be used"
            )

    def _has_the_size(self, simulation: Simulation, scene: Scene, poses: Mapping[str, Pose]) -> None:
        _put(simulation, {name: Pose(_moved(pose, z=LIFT).position) for name, pose in poses.items()})
        for name in poses:
            bounds, wanted = simulation.bounds(name), self.size(scene[name].model)
            if not bounds or not wanted:
                continue
            if any(abs(a - b) > SIZE + SIZE_SHARE * b for a, b in zip(bounds, wanted, strict=True)):
                raise _failed(
                    f"'{name}' is {_size(bounds)} large, expected {_size(wanted)}, the size of its model "
                    f"'{scene[name].model}': is its resource another thing?"
                )

    def _bears(self, simulation: Simulation, poses: Mapping[str, Pose]) -> None:
        """Check that one object that is dropped on another one does not fall through it."""
        pairs = [
            (one, two)
            for one, two in itertools.permutations(poses, 2)
            if abs(poses[one].position[2] - poses[two].position[2]) < SAME_SURFACE
        ]
        for first, second in pairs[:PAIRS]:
            _put(simulation, {first: _moved(poses[second], z=ABOVE), second: poses[second]})
            simulation.step(max(round(DROP / self.physics_step), 1))
            if _read(simulation, [first])[first].position[2] - poses[first].position[2] > HIGHER:
                return
        if pairs:
            first, second = pairs[0]
            raise _failed(
                f"'{first}' was dropped on '{second}', and fell through it: what touches does not push. Give the "
                "models collision shapes"
            )


def _put(simulation: Simulation, poses: Mapping[str, Pose]) -> None:
    """Set poses, and check that they are there; a simulator may need a moment for it."""
    for name, pose in poses.items():
        simulation.set_pose(name, pose)
    end = time.monotonic() + LATE
    while problem := _misplaced(_read(simulation, poses), poses):
        if time.monotonic() > end:
            raise _failed(problem)
        time.sleep(LATE / 20)


def _read(simulation: Simulation, names: Collection[str]) -> dict[str, Pose]:
    """Return the poses of all entities, of which some have to be there."""
    found = simulation.poses()[1]
    if lost := sorted(set(names) - found.keys()):
        raise _failed(f"{', '.join(map(repr, lost))} has no pose any more after it was moved or stepped")
    return found


def _misplaced(found: Mapping[str, Pose], wanted: Mapping[str, Pose]) -> str:
    """Return what is not where it was put, in words; empty for nothing."""
    for name, pose in wanted.items():
        off, angle = found[name].distance_to(pose), angle_between(found[name], pose)
        sunk = pose.position[2] - found[name].position[2]
        if sunk > PLACE and math.dist(found[name].xy, pose.xy) <= PLACE:
            return f"'{name}' sank by {sunk:.3f} m while nothing was stepped: pause the simulator before the session"
        if off > PLACE:
            return f"'{name}' was moved, which was answered with OK, and is {off:.3f} m from where it was put"
        if angle > ANGLE:
            return f"'{name}' was turned, which was answered with OK, and is {angle:.2f} rad from how it was put"
    return ""


def _moved(pose: Pose, x: float = 0.0, z: float = 0.0) -> Pose:
    place = pose.position
    return Pose((place[0] + x, place[1], place[2] + z), pose.orientation)


def _turned(pose: Pose) -> Pose:
    turn = Pose.planar(0.0, 0.0, TURN).orientation
    return Pose(pose.position, turned(pose.orientation, turn))


def _size(size: tuple[float, float]) -> str:
    return " x ".join(f"{1000 * length:.0f}" for length in size) + " mm"


def _failed(detail: str) -> BenchFault:
    return BenchFault(Fault.SETUP_FAILED, f"the simulator: {detail}")
