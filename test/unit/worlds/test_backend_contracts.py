"""Every scene backend of the package keeps its contract."""

from dataclasses import replace

import kitchen_instances
import numpy as np
import pytest
from language_table_instances import EIGHT
from vln_scenes import APARTMENT

from robocontrast_ros.configuration import load_plugin, plugin_names
from robocontrast_ros.console.questions import OperatorAnswer
from robocontrast_ros.contracts.backend import BackendContract
from robocontrast_ros.robots.commands import JointTrajectoryCommand
from robocontrast_ros.worlds.backends import TableReading
from robocontrast_ros.worlds.engines.starting import StartedWorld, engine_named
from robocontrast_ros.worlds.in_process import WorldSimulation
from robocontrast_ros.worlds.mujoco.world import World


class TestEmbedded(BackendContract):
    def task(self):
        return EIGHT

    def make(self, context):
        return load_plugin("scene_backends", "embedded", "test", "")(context)


class InTheKitchen:
    """Scenes with an open drawer, an open door and a knob that is on."""

    robot = "franka_hand"

    def task(self):
        return kitchen_instances.KITCHEN

    def wanted(self):
        names = "kitchen_10_bowl_in_top_drawer", "kitchen_6_close_microwave", "kitchen_8_turn_off_stove"
        return [kitchen_instances.instance(name).scene for name in names]


class TestEmbeddedKitchen(InTheKitchen, TestEmbedded):
    pass


class TestSimulationInterfaces(BackendContract):
    robot = "locobot"

    def task(self):
        return APARTMENT

    def make(self, context):
        return load_plugin("scene_backends", "simulation_interfaces", "test", "")(context)


class TestSimulationInterfacesOfAKitchen(InTheKitchen, TestSimulationInterfaces):
    pass


class TestDart(BackendContract):
    """With the engine itself: the first set-up proves it."""

    draws = 2

    def make(self, context):
        pytest.importorskip("dartpy", reason="dartpy has no wheel for this Python")
        world = StartedWorld(engine_named("dart", "test"), self.profile(), self.used_task(), "test")
        resources = world.resources(self.used_task().scenes.models)
        context = replace(context, simulation=lambda: WorldSimulation(world), resources=resources)
        return load_plugin("scene_backends", "dart", "test", "")(context)


class Obedient:
    """A person who moves all that is asked for, and a camera that sees it where it is expected."""

    def ask_moves(self, question):
        return OperatorAnswer("done", moved=question.things)

    def read_table(self, expected):
        return TableReading(expected)


class ByHandContract(BackendContract):
    name = ""

    def task(self):
        return EIGHT

    def context(self):
        return replace(super().context(), console=Obedient)

    def make(self, context):
        return load_plugin("scene_backends", self.name, "test", "")(context)


class TestOperator(ByHandContract):
    name = "operator"


class TestOperatorOfAKitchen(InTheKitchen, TestOperator):
    pass


class TestOperatorCamera(ByHandContract):
    name = "operator_camera"


class TestPractice(ByHandContract):
    name = "practice"


class TestPracticeOfAKitchen(InTheKitchen, TestPractice):
    pass


class TestPracticeCamera(ByHandContract):
    name = "practice_camera"


class TestPracticeWithARobotThatMovesAbout(ByHandContract):
    name, robot = "practice", "locobot"

    def task(self):
        return APARTMENT


class TestOperatorOfARobotThatMovesAbout(TestPracticeWithARobotThatMovesAbout):
    name = "operator"


@pytest.mark.parametrize("case", [TestEmbedded, TestPractice, TestPracticeCamera])
def test_setting_up_puts_an_arm_to_its_start_only_where_the_features_say_so(case):
    contract = case()
    profile, (first, second, _) = contract.profile(), contract.wanted()
    world = World(profile, EIGHT.scenes.world, EIGHT.scenes.start_position)
    backend = contract.make(replace(contract.context(), simulation=lambda: WorldSimulation(world)))
    contract.set_up(backend, first)
    start = np.array(world.reading().positions)
    away = start - 0.2 * np.eye(len(start))[1]  # lifted, so that it touches nothing
    world.apply_command(JointTrajectoryCommand(profile.joint_names, tuple(away), 0.5))
    world.step(500)
    left = np.array(world.reading().positions)
    assert np.abs(left - away).max() < 0.02
    contract.set_up(backend, second)
    there = start if backend.features.resets_robot else left
    assert np.abs(np.array(world.reading().positions) - there).max() < 0.02
    world.close()


def test_no_backend_is_without_a_contract():
    by_hand = {case.name for case in (TestOperator, TestOperatorCamera, TestPractice, TestPracticeCamera)}
    assert set(plugin_names("scene_backends")) == {"dart", "embedded", "simulation_interfaces"} | by_hand


def test_only_with_the_backend_operator_nothing_sees_what_the_robot_moved():
    names = ("operator", "operator_camera", "practice", "practice_camera")
    unseen = [name for name in names if load_plugin("scene_backends", name, "test", "").features.unseen]
    assert unseen == ["operator"]
