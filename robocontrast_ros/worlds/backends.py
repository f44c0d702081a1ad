"""Who sets scenes up and reads them: our simulator, another one, or something else that a plug-in brings."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Protocol, runtime_checkable

from robocontrast_ros.configuration import ConfigurationError, load_plugin, plugin_names
from robocontrast_ros.console.questions import OperatorAnswer, SetUpQuestion
from robocontrast_ros.console.tolerances import PERSON
from robocontrast_ros.domain import Fault, Scene, SetupMove
from robocontrast_ros.episodes.bench import BenchFault, SetUpOutcome
from robocontrast_ros.robots.profile_base import RobotProfile
from robocontrast_ros.strategies.effort import Tolerance, Tolerances
from robocontrast_ros.tasks.protocol import Task
from robocontrast_ros.worlds.simulated_scene import SimulatedScene, Simulation


@dataclass(frozen=True)
class BackendFeatures:
    """What a backend can do; a session is checked against it before anything starts.

    Attributes:
        embedded: whether it works on our own simulator, which the graph then starts.
        steps: whether its world waits to be stepped; else it goes on by itself.
        streams: whether the scene of every control step can be read, of a world that goes on by itself the one at the
            time at which it is asked for; else it is known when it was set up, and when it is asked for at the end of a
            trial.
        resets_robot: whether setting a scene up brings the robot to its start; else the robot is sent there before a
            trial, if it is an arm, or is brought there by whoever sets scenes up.
        moves_cameras: whether cameras can be moved for a trial, by the service MoveCameras beside those of the
            session's simulator, and setting a scene up puts them back; else trials with moved cameras are left out.
        person: whether a person sets scenes up, whose time is measured and is the cost in seconds.
        console: whether that person is asked on the console's page, which the graph then serves.
        camera: whether scenes are read by a camera, and the robot must be out of its sight.
    """

    embedded: bool = False
    steps: bool = False
    streams: bool = False
    resets_robot: bool = False
    moves_cameras: bool = False
    person: bool = False
    console: bool = False
    camera: bool = False

    @property
    def practised_by(self) -> str:
        """The backend that plays this one's world in our simulator, where a session is practised."""
        return "practice_camera" if self.camera else "practice"

    @property
    def unseen(self) -> bool:
        """Whether nothing tells what the robot has moved."""
        return not (self.embedded or self.streams or self.camera)


def features_of(backend: str, source: str, key: str) -> BackendFeatures:
    """Return what the backend of a name, or of ``module:Class``, can do; it is not made.

    Args:
        backend: the name.
        source: the file that names it, for the error.
        key: the key in that file.

    Raises:
        ConfigurationError: there is no such backend, or it does not say what it can do.
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
        # One of another package that cannot be loaded is no cure.
        with contextlib.suppress(ConfigurationError):
            found += [name] if vars(features_of(name, "installed packages", name)).get(feature) else []
    return found


class BrokenOff(BenchFault):
    """A person declares a set-up void, or skips its trial.

    Attributes:
        moved: names of the objects that they had brought to where they should be, as far as they say; ``ROBOT`` among
            them for the robot's base.
    """

    def __init__(self, fault: Fault, detail: str, moved: tuple[str, ...] = ()) -> None:
        """Say why, and how far they got."""
        super().__init__(fault, detail)
        self.moved = moved


class ConsolePort(Protocol):
    """The console, as a backend reaches it."""

    def ask_moves(self, question: SetUpQuestion) -> OperatorAnswer:
        """Return the person's answer, however long it takes.

        Raises:
            BrokenOff: the person declares the attempt void or skips the trial.
            BenchFault: the console is gone.
        """

    def read_table(self, expected: Scene) -> TableReading:
        """Return what a camera sees now.

        Args:
            expected: what is on the table, and where it was last.

        Raises:
            BenchFault: no picture shows anything.
        """


@dataclass(frozen=True)
class TableReading:
    """What a camera saw of a table.

    Attributes:
        scene: as estimated; an object that is unsure is where it was expected. What is seen and was not expected is in
            it, too.
        unsure: name of an object -> why its pose is not certain.
        deviations: name of an object -> standard deviations of its position along x and y [m] and of its yaw [rad].
    """

    scene: Scene
    unsure: Mapping[str, str] = field(default_factory=dict)
    deviations: Mapping[str, Tolerance] = field(default_factory=dict)


@dataclass(frozen=True)
class BackendContext:
    """What a backend is made from.

    Attributes:
        task: the session's task.
        robot: the robot's profile.
        now: returns the time in the clock of the robot's stamps [ns].
        simulation: connects to a simulator's standard services, and returns them.
        settle_steps: physics steps after objects were placed, before they are read, in a simulator.
        tolerance: how far an object may be from where it was put [m]; infinite: it is not checked.
        plays: whether the session's world goes on by itself, on the wall clock.
        resets_robot: whether a simulator puts the robot to its start when a scene is set up.
        console: connects to the console of the person at the robot, and returns it.
        set_up_tolerances: how far a person may leave objects from where they should be.
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


class SceneBackend(Protocol):
    """Sets scenes up and reads them. Its entry point names the class, which takes a ``BackendContext``.

    One whose features say ``streams`` is a ``StreamingBackend`` as well; one that holds threads or connections is a
    ``ClosingBackend``.

    Attributes:
        features: what it can do.
        description: what its world is, in words, with versions; empty where nothing is known.
    """

    features: ClassVar[BackendFeatures]
    description: str

    def read(self) -> tuple[int, Scene]:
        """Return the scene as it is, and its time [ns].

        Raises:
            BenchFault: it cannot be read.
        """

    def set_up(self, target: Scene, moves: tuple[SetupMove, ...]) -> SetUpOutcome:
        """Carry out moves, so that the scene is the target.

        A backend without a person may return a plain pair of time and scene, as ``read`` does.

        Args:
            target: the scene that is wanted; an object without a move is to stay where it is.
            moves: what has to be moved, in order.

        Raises:
            BenchFault: the scene could not be set up.
        """


@runtime_checkable
class StreamingBackend(Protocol):
    """A backend of which every scene can be asked for."""

    def request(self, then: Callable[[int, Scene], None], failed: Callable[[BenchFault], None]) -> None:
        """Have the scene read without waiting; ``then`` is called with time [ns] and scene when it is known."""


@runtime_checkable
class ClosingBackend(Protocol):
    """A backend that holds threads or connections."""

    def close(self) -> None:
        """Free them, before the process ends."""


class SimulatorBackend(SimulatedScene):
    """Any simulator that serves simulation_interfaces, such as Gazebo or Isaac Sim; somebody else starts it."""

    features: ClassVar[BackendFeatures] = BackendFeatures(steps=True, streams=True, resets_robot=True)

    def __init__(self, context: BackendContext) -> None:
        """Connect to the simulator.

        Raises:
            BenchFault: it does not come up.
            ConfigurationError: it lacks a required feature, or the robot.
        """
        robot = context.robot
        super().__init__(
            context.simulation(),
            context.task.scenes.models,
            context.settle_steps,
            context.tolerance,
            robot.world_frame,
            robot.name if robot.mobile else "",
            context.plays,
            context.resets_robot,
        )


class EmbeddedBackend(SimulatorBackend):
    """Our own simulator, which the graph starts."""

    features: ClassVar[BackendFeatures] = BackendFeatures(
        embedded=True, steps=True, streams=True, resets_robot=True, moves_cameras=True
    )
