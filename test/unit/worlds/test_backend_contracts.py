"""Every scene backend of the package keeps its contract."""

from language_table_instances import EIGHT
from vln_scenes import APARTMENT

from robocontrast_ros.configuration import load_plugin, plugin_names
from robocontrast_ros.contracts.backend import BackendContract


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


def test_no_backend_is_without_a_contract():
    assert set(plugin_names("scene_backends")) == {"embedded", "simulation_interfaces"}
