"""Backends that set scenes up and read them: our simulator, another one, or that of a plug-in."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Protocol, runtime_checkable

from robocontrast_ros.configuration import ConfigurationError, load_plugin, plugin_names
from robocontrast_ros.console.questions import OperatorAnswer, SetUpQuestion
from robocontrast_ros.console.tolerances import PERSON
from robocontrast_ros.domain import Fault, Scene, SetupMove
from robocontrast_ros.episodes.bench import BenchFault, SetUpOutcome
from robocontrast_ros.robots.profile_base import RobotProfile
from robocontrast_ros.strategies.effort import Tolerance, Tolerances
from robocontrast_ros.tasks.protocol import Polygon, Task
from robocontrast_ros.worlds.simulated_scene import SimulatedScene
from robocontrast_ros.worlds.simulation import Simulation
from robocontrast_ros.worlds.simulation_proof import Proof

SECOND_SIMULATOR = "second_simulator"
"""Name of the node that simulates with another physics engine than MuJoCo."""


@dataclass(frozen=True)
class BackendFeatures:
    """Abilities of a backend; a session is checked against them before anything starts.

    Attributes:
        embedded: whether it works on our own simulator, which the graph then starts.
        steps: whether its world waits to be stepped; else it runs by itself.
        streams: whether the scene of every control step can be read (if the world runs by itself: the scene at the time
            of the request); else the scene is known only after a set-up, and at the end of a trial.
        resets_robot: whether a set-up brings the robot to its start; else an arm is sent there before a trial, and
            whoever sets scenes up brings any other robot there.
        moves_cameras: whether the service MoveCameras, beside those of the session's simulator, can move cameras for a
            trial, and a set-up puts them back; else trials with moved cameras are left out.
        person: whether a person sets scenes up; their time is measured and is the cost in seconds.
        console: whether that person is asked on the console's page, which the graph then serves.
        camera: whether a camera reads the scenes, so that the robot must be out of its sight.
        engine: physics engine of the simulator that the graph starts, another one than MuJoCo; empty for none.
    """

    embedded: bool = False
    steps: bool = False
    streams: bool = False
    resets_robot: bool = False
    moves_cameras: bool = False
    person: bool = False
    console: bool = False
    camera: bool = False
    engine: str = ""

    @property
    def started(self) -> bool:
        """Whether the graph starts its simulator."""
        return self.embedded or bool(self.engine)

    @property
    def practised_by(self) -> str:
        """The backend that simulates this one's world in our simulator, in a practised session."""
        return "practice_camera" if self.camera else "practice"

    @property
    def unseen(self) -> bool:
        """Whether nothing shows which objects the robot has moved."""
        return not (self.embedded or self.streams or self.camera)


def features_of(backend: str, source: str, key: str) -> BackendFeatures:
    """Return the features of the backend of a name, or of ``module:Class``; no object is made.

    Args:
        backend: the name.
        source: the file that names it, for the error.
        key: the key in that file.

    Raises:
        ConfigurationError: there is no such backend, or it does not declare its features.
    """
    features = load_plugin("scene_backends", backend, source, key).features
    if not isinstance(features, BackendFeatures):
        expected = "a backend, whose `features` are `robocontrast_ros.worlds.backends.BackendFeatures`"
        raise ConfigurationError(source, key, backend, expected, "Give its class these.")
    return features


def backends_with(feature: str) -> list[str]:
    """Return the names of the installed backends that have a feature, one of ``BackendFeatures``."""
    found = []
    for name in plugin_names("scene_backends"):
        # A backend of another package that cannot be loaded is no cure.
        with contextlib.suppress(ConfigurationError):
            found += [name] if vars(features_of(name, "installed packages", name)).get(feature) else []
    return found


class BrokenOff(BenchFault):
    """A person declares a set-up void, or skips its trial.

    Attributes:
        moved: names of the objects that the person had brought to their places, as far as they say; ``ROBOT`` means the
            robot's base.
    """

    def __init__(self, fault: Fault, detail: str, moved: tuple[str, ...] = ()) -> None:
        """Take the reason, and the objects that were moved."""
        super().__init__(fault, detail)
        self.moved = moved


class ConsolePort(Protocol):
    """The console, for a backend."""

    def ask_moves(self, question: SetUpQuestion) -> OperatorAnswer:
        """Return the person's answer, however long it takes.

        Raises:
            BrokenOff: the person declares the attempt void or skips the trial.
            BenchFault: the console is gone.
        """

    def read_table(self, expected: Scene) -> TableReading:
        """Return the camera's present reading of the table.

        Args:
            expected: the objects on the table, at their last known poses.

        Raises:
            BenchFault: no picture shows the table.
        """


@dataclass(frozen=True)
class TableReading:
    """A camera's reading of a table.

    Attributes:
        scene: the estimated scene; an unsure object has its expected pose. It includes objects that are seen
            unexpectedly.
        unsure: name of an object -> the reason why its pose is not certain.
        deviations: name of an object -> standard deviations of its position along x and y [m] and of its yaw [rad].
    """

    scene: Scene
    unsure: Mapping[str, str] = field(default_factory=dict)
    deviations: Mapping[str, Tolerance] = field(default_factory=dict)


@dataclass(frozen=True)
class BackendContext:
    """The parts of a session from which a backend is made.

    Attributes:
        task: the session's task.
        robot: the robot's profile.
        now: returns the time in the clock of the robot's stamps [ns].
        simulation: connects to a simulator's standard services, and returns them.
        settle_steps: physics steps of a simulator between placing the objects and reading them.
        tolerance: greatest distance of an object from its place after a set-up [m]; infinite for no check.
        plays: whether the session's world runs by itself, on the wall clock.
        resets_robot: whether a simulator puts the robot to its start in a set-up.
        console: connects to the console of the person at the robot, and returns it.
        set_up_tolerances: tolerances of a set-up by a person.
        resources: model -> URI of the file that the simulator spawns, in place of the task's; ``*`` for all others,
            with ``{name}`` for the model's name.
    """

    task: Task
    robot: RobotProfile
    now: Callable[[], int]
    simulation: Callable[[], Simulation]
    settle_steps: int = 50
    tolerance: float = 0.01
    plays: bool = False
    resets_robot: bool = True
    console: Callable[[], ConsolePort] | None = None
    set_up_tolerances: Tolerances = field(default_factory=lambda: Tolerances(PERSON))
    resources: Mapping[str, str] = field(default_factory=dict)


class SceneBackend(Protocol):
    """Sets scenes up and reads them. Its entry point names the class, which takes a ``BackendContext``.

    A backend with the feature ``streams`` is also a ``StreamingBackend``; one that holds threads or connections is also
    a ``ClosingBackend``.

    Attributes:
        features: the backend's abilities.
        description: description of its world, in words, with versions; empty if nothing is known.
    """

    features: ClassVar[BackendFeatures]
    description: str

    def read(self) -> tuple[int, Scene]:
        """Return the time [ns] of the present scene, and the scene.

        Raises:
            BenchFault: the scene cannot be read.
        """

    def set_up(self, target: Scene, moves: tuple[SetupMove, ...]) -> SetUpOutcome:
        """Carry out moves, so that the scene is the target.

        A backend without a person may return a plain pair of time and scene, as ``read`` does.

        Args:
            target: the wanted scene; an object without a move is to stay in its place.
            moves: the moves, in order.

        Raises:
            BenchFault: the scene could not be set up.
        """


@runtime_checkable
class StreamingBackend(Protocol):
    """A backend that can read the scene of every control step."""

    def request(self, then: Callable[[int, Scene], None], failed: Callable[[BenchFault], None]) -> None:
        """Request the scene without waiting; ``then`` receives time [ns] and scene when they are known."""


@runtime_checkable
class ClosingBackend(Protocol):
    """A backend that holds threads or connections."""

    def close(self) -> None:
        """Free the threads and connections, before the process ends."""


def reset_robot(backend: SceneBackend) -> SetUpOutcome:
    """Bring the robot alone to its start: nothing in the scene is moved, and nobody is asked.

    Where a person sets scenes up, an arm goes there by itself when the trial begins.

    Raises:
        BenchFault: the scene cannot be read, or the robot cannot be reset.
    """
    stamp, scene = backend.read()
    return SetUpOutcome(stamp, scene) if backend.features.person else SetUpOutcome(*backend.set_up(scene, ()))


def named(names: Mapping[str, str], name: str, otherwise: str) -> str:
    """Return the name that a simulator has for something: its own, or that of ``*``, or ``otherwise``."""
    return names.get(name, names.get("*", otherwise).replace("{name}", name))


def _size(outline: Polygon) -> tuple[float, float] | None:
    """Return length and width of a polygon [m]; None if it is empty."""
    if not outline:
        return None
    length, width = (max(along) - min(along) for along in zip(*outline, strict=True))
    return length, width


class SimulatorBackend(SimulatedScene):
    """Any simulator that serves simulation_interfaces, such as Gazebo or Isaac Sim; the graph does not start it."""

    features: ClassVar[BackendFeatures] = BackendFeatures(steps=True, streams=True, resets_robot=True)

    def __init__(self, context: BackendContext) -> None:
        """Connect to the simulator.

        Raises:
            BenchFault: the simulator does not start in time.
            ConfigurationError: the simulator lacks a required feature, or the robot.
        """
        # Commands look at the features of backends, and need no MuJoCo for that.
        from robocontrast_ros.worlds.mujoco.composition import moves_freely

        robot, scenes = context.robot, context.task.scenes
        super().__init__(
            context.simulation(),
            {name: named(context.resources, name, uri) for name, uri in scenes.models.items()},
            context.settle_steps,
            context.tolerance,
            robot.world_frame,
            robot.name if robot.mobile else "",
            context.plays,
            context.resets_robot,
            None
            if self.features.embedded
            else Proof(
                scenes.physics_step,
                lambda model: _size(scenes.outline(model)),
                lambda model: moves_freely(scenes.models[model]),
                robot.name,
            ),
        )


class DartBackend(SimulatorBackend):
    """The node `second_simulator` with the engine DART, which the graph starts with the task's exported models."""

    features: ClassVar[BackendFeatures] = replace(SimulatorBackend.features, engine="dart")


class EmbeddedBackend(SimulatorBackend):
    """Our own simulator, which the graph starts."""

    features: ClassVar[BackendFeatures] = BackendFeatures(
        embedded=True, steps=True, streams=True, resets_robot=True, moves_cameras=True
    )
