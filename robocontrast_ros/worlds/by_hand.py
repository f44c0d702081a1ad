"""Scenes that a person sets up: told on the console what to move, and told what stands wrong afterwards."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from typing import ClassVar, Protocol

from robocontrast_ros.console.questions import ROBOT, SetUpQuestion
from robocontrast_ros.console.table_map import doubts_in_words, misplaced
from robocontrast_ros.domain import Scene, SetupMove
from robocontrast_ros.domain.geometry import Vector3
from robocontrast_ros.episodes.bench import SetByPerson, SetUpOutcome
from robocontrast_ros.objects import fixed_models
from robocontrast_ros.strategies.effort import Tolerance, Tolerances, setup_moves
from robocontrast_ros.strategies.tour import in_cheapest_order
from robocontrast_ros.worlds.backends import (
    BackendContext,
    BackendFeatures,
    BrokenOff,
    ConsolePort,
    EmbeddedBackend,
    TableReading,
)


class Table(Protocol):
    """Where a person carries things.

    Attributes:
        seen: whether something sees it: a camera, or the simulator that plays it.
    """

    seen: bool

    def read(self) -> tuple[int, TableReading]:
        """Return the time [ns] and what stands where, as far as it can be told."""

    def carry(self, target: Scene, moved: tuple[str, ...]) -> None:
        """Take note that the person says these objects were brought to the target; a simulated table moves them."""


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
            table: what the person works at.
            console: where they are asked.
            tolerances: how far they may leave objects from where they should be.
            store: where objects stand that are in no scene [m]; None where it is not known.
        """
        self._table, self._console, self._tolerances, self._store = table, console, tolerances, store

    def read(self) -> tuple[int, Scene]:
        """Return the scene as far as it can be told, and its time [ns]."""
        stamp, reading = self._table.read()
        return stamp, reading.scene

    def set_up(self, target: Scene, moves: tuple[SetupMove, ...]) -> SetUpOutcome:
        """Have a person carry out moves until the scene is the target.

        Their time is from being asked to the word that it was done, without pauses.

        All that stands farther from its place than the tolerances allow is asked for, whether it was to be moved or was
        pushed away; what stands within them stays. What is fixed is taken to stand as the target says. A robot that
        moves about is to be brought to its start each time, for it has driven away from there. What is not seen and was
        not ticked off stays in the list. Where the person breaks off, what was ticked off has been moved.

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
            # Who overrules has put right what was in doubt, too: what fell over is not in the list.
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
            # Who did not tick something that is not seen may have forgotten it.
            undone = [move for move in moves if move.name in reading.unsure and move.name not in answer.moved]
            doubts = not wrong and not undone
            told |= wrong.keys()
            moves = self._moves(present, target, wrong.keys(), reading.unsure.keys(), undone)
            bring_robot = ROBOT in wrong

    def _background(self, present: Scene, target: Scene) -> tuple[str, ...]:
        """Return what is fixed and is to be put up or to be taken away, which nobody ticks off."""
        changed = setup_moves(present, target, self._tolerances.usual)
        return tuple(move.name for move in changed if move.model in self._tolerances.fixed)

    def _misplaced(self, reading: TableReading, target: Scene) -> dict[str, str]:
        """Return what stands wrong of what is seen, and what should not be there."""
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
        """Return what is left to move: what stands wrong, and of what is unsure, what was not where it should be."""
        moves = setup_moves(present, target, Tolerance())
        left = {m.name: m for m in moves if m.name in wrong or (m.name in unsure and not self._stays(m))}
        return in_cheapest_order(tuple(({move.name: move for move in undone} | left).values()), self._store)

    def _stays(self, move: SetupMove) -> bool:
        here, goal = move.start, move.goal
        return here is not None and goal is not None and self._tolerances.of(move.model).accepts(here, goal)


def _with_moved(scene: Scene, target: Scene, moved: Collection[str]) -> Scene:
    """Return a scene in which some objects, or ``ROBOT``, were brought to where they should be."""
    left = (o for o in scene if o.name in target or o.name not in moved)
    moved_or_not = (target[o.name] if o.name in moved else o for o in left)
    brought = (o for o in target if o.name in moved and o.name not in scene)
    return replace(scene, objects=(*moved_or_not, *brought), robot=target.robot if ROBOT in moved else scene.robot)


def _believed(scene: Scene, target: Scene, names: Collection[str]) -> Scene:
    """Return the scene, with these objects where the person says that they stand, and without what is not wanted."""
    told = {o.name: o for o in target if o.name in names}
    kept = (told.get(o.name, o) for o in scene if o.name in target)
    brought = (o for name, o in told.items() if name not in scene)
    return replace(scene, objects=(*kept, *brought), robot=target.robot)


class ToldTable:
    """A table of which nothing is known but what was asked for; what the robot moved is not known."""

    seen = False

    def __init__(self, now: Callable[[], int], frame_id: str) -> None:
        """Begin with an empty table; ``now`` is the clock of the robot's stamps [ns]."""
        self._now, self._scene = now, Scene(frame_id=frame_id)

    def read(self) -> tuple[int, TableReading]:
        """Return the scene that was set up last."""
        return self._now(), TableReading(self._scene)

    def carry(self, target: Scene, moved: tuple[str, ...]) -> None:
        """Believe it."""
        self._scene = target


class SeenTable:
    """A table that a camera sees."""

    seen = True

    def __init__(self, now: Callable[[], int], frame_id: str, console: ConsolePort) -> None:
        """Begin with an empty table.

        Args:
            now: the clock of the robot's stamps [ns].
            frame_id: of the scenes.
            console: whose camera looks at it.
        """
        self._now, self._expected, self._console = now, Scene(frame_id=frame_id), console

    def read(self) -> tuple[int, TableReading]:
        """Return what the camera sees."""
        if not self._expected.objects:
            return self._now(), TableReading(self._expected)
        reading = self._console.read_table(self._expected)
        # What should not be there is told as long as it is seen, and not looked for when it is gone.
        known = tuple(o for o in reading.scene if o.name in self._expected)
        self._expected = replace(reading.scene, objects=known)
        return self._now(), reading

    def carry(self, target: Scene, moved: tuple[str, ...]) -> None:
        """Look for the objects of the target from now on, and first where they should be."""
        self._expected = target


class PractisedTable:
    """A simulated table that plays the real one: the ticks of the page move its objects."""

    seen = True

    def __init__(self, simulated: EmbeddedBackend, camera: SeenTable | None = None) -> None:
        """Take the simulated scene, and what looks at it; the truth where nothing does."""
        self._simulated, self._camera = simulated, camera

    def read(self) -> tuple[int, TableReading]:
        """Return what stands where, as the camera sees it, or as it is."""
        if self._camera is not None:
            return self._camera.read()
        stamp, scene = self._simulated.read()
        return stamp, TableReading(scene)

    def carry(self, target: Scene, moved: tuple[str, ...]) -> None:
        """Put these objects where they should be; what was not ticked stays where it is."""
        if self._camera is not None:
            self._camera.carry(target, moved)
        _, present = self._simulated.read()
        if moved:
            scene = _with_moved(present, target, moved)
            self._simulated.set_up(scene, setup_moves(present, scene, Tolerance()))


class OperatorBackend(ByHand):
    """A real table: what was asked for is taken to be done, and nobody can tell what the robot moved."""

    features: ClassVar[BackendFeatures] = BackendFeatures(person=True, console=True)
    description = "a table, and a person at the console"

    def __init__(self, context: BackendContext) -> None:
        """Connect to the console."""
        table = ToldTable(context.now, context.robot.world_frame)
        super().__init__(table, _console(context), _tolerances(context), context.task.store)


class OperatorCameraBackend(ByHand):
    """A real table that a camera sees, which checks set-ups and tells what the robot moved."""

    features: ClassVar[BackendFeatures] = BackendFeatures(person=True, console=True, camera=True)
    description = "a table under a camera, and a person at the console"

    def __init__(self, context: BackendContext) -> None:
        """Connect to the console."""
        console = _console(context)
        table = _seen(context, console)
        super().__init__(table, console, _tolerances(context), context.task.store)


class PracticeBackend(ByHand):
    """The embedded simulator plays the real table: a lab tries its session, and people learn, without the robot."""

    features: ClassVar[BackendFeatures] = BackendFeatures(embedded=True, streams=True, person=True, console=True)

    def __init__(self, context: BackendContext) -> None:
        """Connect to the simulator and the console."""
        console = _console(context)
        self._simulated = EmbeddedBackend(_free(context))
        self.description = f"practice: {self._simulated.description}"
        self.request = self._simulated.request
        super().__init__(PractisedTable(self._simulated), console, _tolerances(context), context.task.store)


class PracticeCameraBackend(ByHand):
    """The same, seen by the simulated camera alone."""

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
    """Return the context of a simulated table on which any scene may be found, not the one that was asked for alone.

    Nobody who carries things puts an arm to its start at once: its watchdog would have seen it jump, and send it back.
    """
    return replace(context, tolerance=_ANYWHERE, resets_robot=False)


_ANYWHERE = math.inf
"""Set-ups are checked against the target by ``ByHand``, as on a real table [m]."""
