"""Setting up scenes through the standard services, against simulators with their ways."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

import pytest

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain import NANOSECONDS, Fault, ObjectState, Pose, Scene, SetupMove
from robocontrast_ros.episodes.bench import BenchFault
from robocontrast_ros.worlds.simulated_scene import SimulatedScene
from robocontrast_ros.worlds.simulation import REQUIRED, TO_PAUSE, Feature, SimulationError

MODELS = {"cup": "uri:cup", "plate": "uri:plate"}
ALL = frozenset(int(f) for f in Feature)


class Simulator:
    """A simulator without physics, which remembers what it was asked."""

    def __init__(self, features=ALL, slip=0.0, refuse=(), turn=0.0):
        self.known, self.slip, self.refuse, self.turn = features, slip, refuse, turn
        self.entities = {"robot": Pose(), "table": Pose()}
        self.time = NANOSECONDS
        self.log = []

    def _do(self, *what):
        self.log.append(what)
        if what[:2] in self.refuse:
            raise SimulationError(f"refused {what[0]} of '{what[1]}'")

    def features(self):
        return self.known

    description = "a list of entities"

    def poses(self):
        return self.time, dict(self.entities)

    def request_poses(self, then):
        then(*self.poses())

    def set_pose(self, entity, pose):
        self._do("set", entity)
        assert entity in self.entities, "Gazebo misbehaves for an entity that is not there"
        x, y = pose.xy
        self.entities[entity] = Pose.planar(x + self.slip, y, pose.yaw + self.turn)

    def at_once(self):
        return nullcontext()

    def spawn(self, entity, uri, pose):
        self._do("spawn", entity, uri)
        self.entities[entity] = pose

    def delete(self, entity):
        self._do("delete", entity)
        del self.entities[entity]

    def reset_state(self):
        self._do("reset", "")

    def play(self, playing):
        self._do("play", playing)

    def step(self, steps):
        self._do("step", steps)
        self.time += 2_000_000 * steps


def scene(**places):
    return Scene(tuple(ObjectState(name, name, Pose.planar(*xy)) for name, xy in places.items()))


def make(simulator, robot=""):
    return SimulatedScene(simulator, MODELS, settle_steps=50, tolerance=0.01, robot=robot)


def test_objects_are_brought_in_moved_and_taken_out_and_read_back_in_the_wanted_order():
    simulator = Simulator()
    bridge = make(simulator)
    found = bridge.set_up(scene(plate=(0.2, 0.1), cup=(0.3, 0.0)))
    stamp, got = found.stamp, found.scene
    assert got == scene(plate=(0.2, 0.1), cup=(0.3, 0.0)) and stamp == 1_100_000_000
    assert ("spawn", "cup", "uri:cup") in simulator.log
    bridge.set_up(scene(cup=(0.4, 0.0)))
    assert ("delete", "plate") in simulator.log and ("set", "cup") in simulator.log
    assert bridge.read()[1] == scene(cup=(0.4, 0.0))
    assert {"robot", "table"} <= set(simulator.entities), "what is no object of the task is left alone"


def test_the_robot_is_reset_before_objects_are_placed_and_the_scene_settles_after():
    simulator = Simulator()
    make(simulator).set_up(scene(cup=(0.3, 0.0)))
    assert [entry[0] for entry in simulator.log] == ["reset", "spawn", "step"]


def test_a_simulator_without_partial_reset_is_not_asked_for_one():
    simulator = Simulator(features=ALL - {Feature.SIMULATION_RESET_STATE})
    make(simulator).set_up(scene(cup=(0.3, 0.0)))
    assert "reset" not in [entry[0] for entry in simulator.log]


@pytest.mark.parametrize("feature", REQUIRED)
def test_a_simulator_that_lacks_a_feature_is_refused_by_its_name(feature):
    with pytest.raises(ConfigurationError, match=feature.name):
        make(Simulator(features=ALL - {feature}))


def test_a_simulator_that_goes_on_by_itself_is_paused_while_a_scene_is_set_up_even_where_that_fails():
    simulator = Simulator(refuse=[("spawn", "plate")])
    bridge = SimulatedScene(simulator, MODELS, 50, 0.01, plays=True)
    assert simulator.log == [("play", True)]
    bridge.set_up(scene(cup=(0.1, 0.0)))
    assert simulator.log[1] == ("play", False) and simulator.log[-2:] == [("step", 50), ("play", True)]
    with pytest.raises(BenchFault):
        bridge.set_up(scene(plate=(0.1, 0.0)))
    assert simulator.log[-2:] == [("spawn", "plate", "uri:plate"), ("play", True)]


@pytest.mark.parametrize("feature", TO_PAUSE)
def test_a_simulator_that_cannot_be_paused_is_refused_where_it_goes_on_by_itself(feature):
    simulator = Simulator(ALL - {feature})
    SimulatedScene(simulator, MODELS, 50, 0.01)
    with pytest.raises(ConfigurationError, match=feature.name):
        SimulatedScene(simulator, MODELS, 50, 0.01, plays=True)


def test_an_object_that_does_not_stay_where_it_was_put_voids_the_set_up():
    simulator = Simulator(slip=0.02)
    bridge = make(simulator)
    simulator.entities["cup"] = Pose()
    with pytest.raises(BenchFault, match=r"'cup' is 0\.020 m from where it was put") as error:
        bridge.set_up(scene(cup=(0.3, 0.0)))
    assert error.value.fault is Fault.SETUP_FAILED


def test_an_object_that_was_there_already_may_slide_when_the_robot_lets_go():
    simulator = Simulator(slip=0.02)
    simulator.entities["cup"] = Pose.planar(0.3, 0.0)
    got = make(simulator).set_up(scene(cup=(0.3, 0.0))).scene
    assert got["cup"].pose.xy == pytest.approx((0.32, 0.0))


def test_what_is_checked_is_what_the_moves_name_wherever_it_was():
    simulator = Simulator(slip=0.02)
    simulator.entities["cup"] = Pose.planar(0.3, 0.0)
    moved = SetupMove("cup", "cup", Pose.planar(0.3, 0.0), Pose.planar(0.3, 0.0))
    with pytest.raises(BenchFault, match=r"'cup' is 0\.020 m from where it was put"):
        make(simulator).set_up(scene(cup=(0.3, 0.0)), (moved,))
    simulator.entities["cup"] = Pose()
    got = make(simulator).set_up(scene(cup=(0.3, 0.0)), ()).scene
    assert got["cup"].pose.xy == pytest.approx((0.32, 0.0))


def test_a_scene_can_be_asked_for_without_waiting_and_a_robot_that_is_lost_is_said_apart():
    simulator, scenes, lost = Simulator(), [], []
    bridge = make(simulator, "robot")
    bridge.set_up(replace(scene(cup=(0.3, 0.0)), robot=START))
    bridge.request(lambda stamp, got: scenes.append((stamp, got)), lost.append)
    assert scenes == [bridge.read()] and bridge.description == "a list of entities"
    del simulator.entities["robot"]
    bridge.request(lambda stamp, got: scenes.append((stamp, got)), lost.append)
    assert len(scenes) == 1 and "no entity 'robot' any more" in str(lost[0])


@pytest.mark.parametrize(
    ("simulator", "words"),
    [
        (Simulator(refuse=[("spawn", "cup")]), "refused spawn of 'cup'"),
        (Simulator(features=ALL - {Feature.SPAWNING}), "'cup' needs SPAWNING"),
    ],
)
def test_what_cannot_be_brought_in_is_named(simulator, words):
    with pytest.raises(BenchFault, match=words):
        make(simulator).set_up(scene(cup=(0.3, 0.0)))


def test_an_unknown_model_is_refused_with_the_known_ones():
    fork = Scene((ObjectState("fork", "fork", Pose()),))
    with pytest.raises(BenchFault, match="model 'fork'; the task has cup, plate"):
        make(Simulator()).set_up(fork)


def test_a_scene_in_another_frame_is_refused():
    with pytest.raises(BenchFault, match="frame 'map', expected 'world'"):
        make(Simulator()).set_up(Scene(frame_id="map"))


START = Pose.planar(1.0, 2.0, 3.1)


def test_a_robot_that_moves_about_is_put_where_the_scene_says_after_the_objects_and_read_back():
    simulator = Simulator()
    bridge = make(simulator, "robot")
    target = replace(scene(cup=(0.3, 0.0)), robot=START)
    got = bridge.set_up(target).scene
    assert [entry[0] for entry in simulator.log] == ["reset", "spawn", "set", "step"]
    assert got.names == ("cup",) and got.contacts == ()
    assert got.robot.distance_to(START) < 1e-9 and got.robot.yaw == pytest.approx(START.yaw)
    simulator.entities["robot"] = Pose.planar(1.5, 2.0)
    assert bridge.read()[1].robot == Pose.planar(1.5, 2.0)


def test_a_robot_that_stands_still_is_no_part_of_the_scene():
    assert make(Simulator()).set_up(scene(cup=(0.3, 0.0))).scene.robot is None
    with pytest.raises(BenchFault, match="the robot is fixed") as error:
        make(Simulator()).set_up(replace(scene(), robot=START))
    assert error.value.fault is Fault.SETUP_FAILED


@pytest.mark.parametrize(
    ("simulator", "words"),
    [
        (Simulator(slip=0.02), r"'robot' is 0\.020 m from where it was put"),
        (Simulator(turn=-0.1), r"'robot' is 0\.100 rad from the heading it was given"),
    ],
)
def test_a_robot_that_is_not_where_it_was_put_voids_the_set_up(simulator, words):
    with pytest.raises(BenchFault, match=words) as error:
        make(simulator, "robot").set_up(replace(scene(), robot=START))
    assert error.value.fault is Fault.SETUP_FAILED


def test_a_simulator_without_the_robot_is_refused_with_what_it_has():
    with pytest.raises(ConfigurationError, match=r"\['robot', 'table'\], expected also 'locobot', the robot"):
        make(Simulator(), "locobot")
    simulator = Simulator()
    bridge = make(simulator, "robot")
    del simulator.entities["robot"]
    with pytest.raises(BenchFault, match="no entity 'robot' any more") as error:
        bridge.read()
    assert error.value.fault is Fault.SIMULATOR_LOST


def test_a_knob_that_does_not_turn_where_it_is_does_not_pass_for_one_that_was_set():
    class Stiff(Simulator):
        def set_pose(self, entity, pose):
            if entity == "stove/knob":
                pose = self.entities[entity]
            super().set_pose(entity, pose)

        def spawn(self, entity, uri, pose):
            super().spawn(entity, uri, pose)
            self.entities["stove/knob"] = Pose.planar(0.1, 0.0)

    on = Scene(
        (ObjectState("stove", "stove", Pose()), ObjectState("stove/knob", "stove/knob", Pose.planar(0.1, 0.0, 1.2)))
    )
    models = {"stove": "uri:stove", "stove/knob": "uri:stove"}
    simulated = SimulatedScene(Stiff(), models, settle_steps=50, tolerance=0.01)
    with pytest.raises(
        BenchFault, match=r"'stove/knob' is turned by 1.200 rad from how it was put, more than 0.05 rad"
    ):
        simulated.set_up(on)
    off = on.moved("stove/knob", Pose.planar(0.1, 0.0))
    assert simulated.set_up(off).scene == off
