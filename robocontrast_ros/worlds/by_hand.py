"""Scenes that a person sets up: the console shows the moves, and afterwards the errors of the set-up."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from typing import ClassVar, Protocol

from robocontrast_ros.console.questions import ROBOT, SetUpQuestion
from robocontrast_ros.console.table_map import doubts_in_words, misplaced
from robocontrast_ros.domain import ObjectState, Scene, SetupMove, whole_of
from robocontrast_ros.domain.geometry import Vector3
from robocontrast_ros.episodes.bench import SetByPerson, SetUpOutcome
from robocontrast_ros.objects import fixed_models
from robocontrast_ros.strategies.effort import Tolerance, Tolerances, setup_moves, with_whole_in_place
from robocontrast_ros.strategies.visit_order import in_cheapest_order
from robocontrast_ros.worlds.backends import (
    BackendContext,
    BackendFeatures,
    BrokenOff,
    ConsolePort,
    EmbeddedBackend,
    TableReading,
)


class Table(Protocol):
    """A table with objects that a person carries.

    Attributes:
        seen: whether a camera, or the simulator of a practised table, sees it.
    """

    seen: bool

    def read(self) -> tuple[int, TableReading]:
        """Return the time [ns] and the table's reading, as far as it is known."""

    def carry(self, target: Scene, moved: tuple[str, ...]) -> None:
        """Record that the person says these objects were brought to the target; a simulated table moves them."""


class ByHand:
    """A scene backend over a table and the console."""

    def __init__(
        self,
        table: Table,
        console: ConsolePort,
        tolerances: Tolerances,
        store: Vector3 | None,
    ) -> None:
        """Take the parts.

        Args:
            table: the person's table.
            console: asks the person.
            tolerances: tolerances of the objects' poses.
            store: place of the objects that are in no scene [m]; None if it is not known.
        """
        self._table, self._console, self._tolerances, self._store = table, console, tolerances, store

    def read(self) -> tuple[int, Scene]:
        """Return the time [ns] of the scene, and the scene as far as it is known."""
        stamp, reading = self._table.read()
        return stamp, reading.scene

    def set_up(self, target: Scene, moves: tuple[SetupMove, ...]) -> SetUpOutcome:
        """Have a person carry out moves until the scene is the target.

        Their time is from the question to the answer that all is done, without pauses.

        The person is asked for all objects outside their tolerances, whether they were to be moved or were pushed away;
        objects within them stay. Fixed objects are taken to be as in the target. A mobile robot is brought to its start
        each time, because it has driven away from there. Unseen objects that were not ticked off stay in the list. If
        the person breaks off, the objects that were ticked off have been moved.

        Raises:
            BenchFault: the person declares the attempt void or skips the trial, or the console or the camera is gone.
        """
        present, problems, doubts, doubted = self._table.read()[1].scene, (), False, ()
        background, bring_robot = self._background(present, target), target.robot is not None
        told: set[str] = set()
        while True:
            told |= {move.name for move in moves}
            question = SetUpQuestion(target, present, moves, problems, doubts, bring_robot=bring_robot)
            try:
                answer = self._console.ask_moves(question)
            except BrokenOff as fault:
                self._table.carry(_with_moved(present, target, fault.moved), fault.moved)
                raise
            # A person who overrules has also corrected the doubted objects: one that fell over is not in the list.
            moved = (*question.things, *doubted) if answer.overruled else answer.moved
            self._table.carry(target, (*background, *moved))
            stamp, reading = self._table.read()
            present, background = reading.scene, ()
            certain = tuple(o for o in present if o.name not in reading.unsure)
            seen = replace(present, objects=certain) if self._table.seen else None
            if answer.overruled:
                believed = _believed(present, target, {*told, *reading.unsure})
                return SetUpOutcome(stamp, believed, SetByPerson(answer.seconds, seen, problems))
            wrong = self._misplaced(reading, target)
            if not wrong and not reading.unsure:
                return SetUpOutcome(stamp, present, SetByPerson(answer.seconds, seen))
            problems, doubted = (*wrong.values(), *doubts_in_words(reading.unsure)), tuple(reading.unsure)
            # An unseen object that was not ticked off may have been forgotten.
            undone = [move for move in moves if move.name in reading.unsure and move.name not in answer.moved]
            doubts = not wrong and not undone
            told |= wrong.keys()
            moves = self._moves(present, target, wrong.keys(), reading.unsure.keys(), undone)
            bring_robot = ROBOT in wrong

    def _background(self, present: Scene, target: Scene) -> tuple[str, ...]:
        """Return the fixed objects that are to be put up or taken away; nobody ticks them off."""
        changed = setup_moves(present, target, self._tolerances.usual)
        return tuple(move.name for move in changed if move.model in self._tolerances.fixed)

    def _misplaced(self, reading: TableReading, target: Scene) -> dict[str, str]:
        """Return the errors of the seen objects, and the objects that should not be there."""
        scene = reading.scene
        looked_at = {o.name for o in target if o.name not in reading.unsure}
        seen = replace(scene, objects=tuple(o for o in scene if o.name in looked_at or o.name not in target))
        sought = replace(target, objects=tuple(o for o in target if o.name in looked_at))
        return misplaced(seen, sought, self._tolerances, reading.deviations)

    def _moves(
        self,
        present: Scene,
        target: Scene,
        wrong: Collection[str],
        unsure: Collection[str],
        undone: Iterable[SetupMove],
    ) -> tuple[SetupMove, ...]:
        """Return the moves that are left: of wrong objects, and of unsure ones that were not in their places."""
        moves = setup_moves(present, target, Tolerance())
        left = {m.name: m for m in moves if m.name in wrong or (m.name in unsure and not self._stays(m))}
        return in_cheapest_order(tuple(({move.name: move for move in undone} | left).values()), self._store)

    def _stays(self, move: SetupMove) -> bool:
        here, goal = move.start, move.goal
        return here is not None and goal is not None and self._tolerances.of(move.model).accepts(here, goal)


def _with_moved(scene: Scene, target: Scene, moved: Collection[str]) -> Scene:
    """Return a scene in which some objects, or ``ROBOT``, were brought to their places in the target.

    An object takes its moving parts along; a part that is moved has its joint as in the target.
    """

    def taken(name: str) -> bool:
        return name in moved or whole_of(name) in moved

    def now(o: ObjectState) -> ObjectState:
        if not taken(o.name):
            return o
        wanted = target[o.name]
        if o.name not in moved and wanted.model == o.model:
            return replace(o, pose=with_whole_in_place(scene, target, o.name))
        if whole_of(o.name) in moved:
            return wanted
        return replace(wanted, pose=with_whole_in_place(target, scene, o.name))

    left = (o for o in scene if o.name in target or not taken(o.name))
    brought = (o for o in target if taken(o.name) and o.name not in scene)
    robot = target.robot if ROBOT in moved else scene.robot
    return replace(scene, objects=(*map(now, left), *brought), robot=robot)


def _believed(scene: Scene, target: Scene, names: Collection[str]) -> Scene:
    """Return the scene with these objects, and the robot, in their target places, and without unwanted objects."""
    wanted = replace(scene, objects=tuple(o for o in scene if o.name in target))
    return replace(_with_moved(wanted, target, names), robot=target.robot)


class ToldTable:
    """A table of which only the requested scene is known, and not the objects that the robot moved."""

    seen = False

    def __init__(self, now: Callable[[], int], frame_id: str) -> None:
        """Begin with an empty table; ``now`` is the clock of the robot's stamps [ns]."""
        self._now, self._scene = now, Scene(frame_id=frame_id)

    def read(self) -> tuple[int, TableReading]:
        """Return the scene that was set up last."""
        return self._now(), TableReading(self._scene)

    def carry(self, target: Scene, moved: tuple[str, ...]) -> None:
        """Take the target as the present scene."""
        self._scene = target


class SeenTable:
    """A table that a camera sees."""

    seen = True

    def __init__(self, now: Callable[[], int], frame_id: str, console: ConsolePort) -> None:
        """Begin with an empty table.

        Args:
            now: the clock of the robot's stamps [ns].
            frame_id: frame of the scenes.
            console: has the camera that sees the table.
        """
        self._now, self._expected, self._console = now, Scene(frame_id=frame_id), console

    def read(self) -> tuple[int, TableReading]:
        """Return the camera's reading."""
        if not self._expected.objects:
            return self._now(), TableReading(self._expected)
        reading = self._console.read_table(self._expected)
        # An unexpected object is reported as long as it is seen, and not searched for when it is gone.
        known = tuple(o for o in reading.scene if o.name in self._expected)
        self._expected = replace(reading.scene, objects=known)
        return self._now(), reading

    def carry(self, target: Scene, moved: tuple[str, ...]) -> None:
        """Search for the objects of the target from now on, first in their places."""
        self._expected = target


class PractisedTable:
    """A simulated table in place of the real one: the ticks of the page move its objects."""

    seen = True

    def __init__(self, simulated: EmbeddedBackend, camera: SeenTable | None = None) -> None:
        """Take the simulated scene, and the camera that reads it; None to read the true scene."""
        self._simulated, self._camera = simulated, camera

    def read(self) -> tuple[int, TableReading]:
        """Return the reading of the camera, or the true scene."""
        if self._camera is not None:
            return self._camera.read()
        stamp, scene = self._simulated.read()
        return stamp, TableReading(scene)

    def carry(self, target: Scene, moved: tuple[str, ...]) -> None:
        """Put these objects into their target places; objects that were not ticked off stay."""
        if self._camera is not None:
            self._camera.carry(target, moved)
        _, present = self._simulated.read()
        if moved:
            scene = _with_moved(present, target, moved)
            self._simulated.set_up(scene, setup_moves(present, scene, Tolerance()))


class OperatorBackend(ByHand):
    """A real table: requests are taken to be done, and it is not known which objects the robot moved."""

    features: ClassVar[BackendFeatures] = BackendFeatures(person=True, console=True)
    description = "a table, and a person at the console"

    def __init__(self, context: BackendContext) -> None:
        """Connect to the console."""
        table = ToldTable(context.now, context.robot.world_frame)
        super().__init__(table, _console(context), _tolerances(context), context.task.store)


class OperatorCameraBackend(ByHand):
    """A real table under a camera, which checks set-ups and shows which objects the robot moved."""

    features: ClassVar[BackendFeatures] = BackendFeatures(person=True, console=True, camera=True)
    description = "a table under a camera, and a person at the console"

    def __init__(self, context: BackendContext) -> None:
        """Connect to the console."""
        console = _console(context)
        table = _seen(context, console)
        super().__init__(table, console, _tolerances(context), context.task.store)


class PracticeBackend(ByHand):
    """The embedded simulator in place of the real table: labs try sessions, and people learn, without the robot."""

    features: ClassVar[BackendFeatures] = BackendFeatures(embedded=True, streams=True, person=True, console=True)

    def __init__(self, context: BackendContext) -> None:
        """Connect to the simulator and the console."""
        console = _console(context)
        self._simulated = EmbeddedBackend(_free(context))
        self.description = f"practice: {self._simulated.description}"
        self.request = self._simulated.request
        super().__init__(PractisedTable(self._simulated), console, _tolerances(context), context.task.store)


class PracticeCameraBackend(ByHand):
    """``PracticeBackend`` with only the simulated camera to see the table."""

    features: ClassVar[BackendFeatures] = BackendFeatures(embedded=True, person=True, console=True, camera=True)

    def __init__(self, context: BackendContext) -> None:
        """Connect to the simulator and the console."""
        console = _console(context)
        simulated = EmbeddedBackend(_free(context))
        self.description = f"practice: {simulated.description}"
        camera = _seen(context, console)
        super().__init__(PractisedTable(simulated, camera), console, _tolerances(context), context.task.store)


def _seen(context: BackendContext, console: ConsolePort) -> SeenTable:
    return SeenTable(context.now, context.robot.world_frame, console)


def _tolerances(context: BackendContext) -> Tolerances:
    return replace(context.set_up_tolerances, fixed=fixed_models(context.task.scenes.models.values()))


def _console(context: BackendContext) -> ConsolePort:
    if context.console is None:
        raise ValueError("a backend of the console's needs `console` in its context")
    return context.console()


def _free(context: BackendContext) -> BackendContext:
    """Return the context of a simulated table that may be in any scene, not only the requested one.

    A person who carries objects does not put an arm to its start at once: the watchdog would see it jump, and send it
    back.
    """
    return replace(context, tolerance=_ANYWHERE, resets_robot=False)


_ANYWHERE = math.inf
"""Tolerance of the simulator's own check [m]: ``ByHand`` checks set-ups instead, as on a real table."""
