"""Every scene backend of the package keeps its contract."""

from dataclasses import replace

from language_table_instances import EIGHT
from vln_scenes import APARTMENT

from robocontrast_ros.configuration import load_plugin, plugin_names
from robocontrast_ros.console.questions import Answer
from robocontrast_ros.contracts.backend import BackendContract
from robocontrast_ros.worlds.backends import TableReading


class TestEmbedded(BackendContract):
    def task(self):
        return EIGHT

    def make(self, context):
        return load_plugin("scene_backends", "embedded", "test", "")(context)


class TestSimulationInterfaces(BackendContract):
    robot = "locobot"

    def task(self):
        return APARTMENT

    def make(self, context):
        return load_plugin("scene_backends", "simulation_interfaces", "test", "")(context)


class Obedient:
    """A person who moves all that is asked for, and a camera that sees it where it is expected."""

    def ask_moves(self, question):
        return Answer("done", moved=question.things)

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


class TestOperatorCamera(ByHandContract):
    name = "operator_camera"


class TestPractice(ByHandContract):
    name = "practice"


class TestPracticeCamera(ByHandContract):
    name = "practice_camera"


class TestPracticeWithARobotThatMovesAbout(ByHandContract):
    name, robot = "practice", "locobot"

    def task(self):
        return APARTMENT


class TestOperatorOfARobotThatMovesAbout(TestPracticeWithARobotThatMovesAbout):
    name = "operator"


def test_no_backend_is_without_a_contract():
    by_hand = {case.name for case in (TestOperator, TestOperatorCamera, TestPractice, TestPracticeCamera)}
    assert set(plugin_names("scene_backends")) == {"embedded", "simulation_interfaces"} | by_hand


def test_only_with_the_backend_operator_nothing_sees_what_the_robot_moved():
    names = ("operator", "operator_camera", "practice", "practice_camera")
    unseen = [name for name in names if load_plugin("scene_backends", name, "test", "").features.unseen]
    assert unseen == ["operator"]
