"""Records declared as ROS parameters: names, types, ranges, and refusals that name the parameter."""

from __future__ import annotations

import ast
import inspect
import pkgutil
from importlib import import_module
from pathlib import Path

import pytest

rclpy = pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from pydantic import Field  # noqa: E402
from rclpy.node import Node  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402

from robocontrast_ros import nodes as shells  # noqa: E402
from robocontrast_ros.configuration import ConfigurationError, record  # noqa: E402
from robocontrast_ros.nodes.runtime.parameters import declare_record  # noqa: E402


@record
class Gripper:
    """A record with one field of each kind."""

    file: Path = Field(description="A file.")
    speed: float = Field(default=0.1, gt=0.0, le=2.0, description="Speed [m/s].")
    fingers: int = Field(default=2, ge=1, le=5, description="Number of fingers.")
    soft: bool = Field(default=True, description="Whether it is soft.")
    names: tuple[str, ...] = Field(default=(), description="Names.")
    offsets: tuple[float, ...] = Field(default=(0.0, 0.1), description="Offsets [m].")


@pytest.fixture
def make_node():
    """Return a function that makes a node with parameter overrides; its graph is closed afterwards."""
    context = rclpy.Context()
    rclpy.init(context=context)
    nodes = []

    def make(**overrides):
        parameters = [Parameter(name, value=value) for name, value in overrides.items()]
        nodes.append(Node("gripper", context=context, parameter_overrides=parameters))
        return nodes[-1]

    yield make
    for node in nodes:
        node.destroy_node()
    rclpy.shutdown(context=context)


def test_values_are_read_into_the_record_and_the_rest_keeps_its_default(make_node):
    values = declare_record(make_node(file="/tmp/x.yaml", speed=0.5, names=["a", "b"]), Gripper)
    assert values == Gripper(file=Path("/tmp/x.yaml"), speed=0.5, names=("a", "b"))


def test_each_parameter_is_described_ranged_and_read_only(make_node):
    node = make_node(file="/tmp/x.yaml")
    declare_record(node, Gripper)
    speed = node.describe_parameter("speed")
    assert speed.description == "Speed [m/s]." and speed.read_only
    assert (speed.floating_point_range[0].from_value, speed.floating_point_range[0].to_value) == (0.0, 2.0)
    assert "gt 0.0" in speed.additional_constraints and "default 0.1" in speed.additional_constraints
    fingers = node.describe_parameter("fingers").integer_range[0]
    assert (fingers.from_value, fingers.to_value) == (1, 5)
    assert node.describe_parameter("soft").floating_point_range == []


def test_a_parameter_that_nobody_gave_is_listed_with_its_default(make_node):
    node = make_node(file="/tmp/x.yaml")
    declare_record(node, Gripper)
    values = {name: node.get_parameter(name) for name in node.list_parameters([], 0).names}
    assert values["speed"].value == 0.1 and values["soft"].value is True
    assert list(values["offsets"].value) == [0.0, 0.1]
    assert list(values["names"].value) == [] and values["names"].type_ is Parameter.Type.STRING_ARRAY


@pytest.mark.parametrize("name", ["speed", "names", "file"])
def test_a_parameter_cannot_be_set_later(make_node, name):
    node = make_node(file="/tmp/x.yaml", names=["a"])
    declare_record(node, Gripper)
    before = node.get_parameter(name)
    (result,) = node.set_parameters([before])
    assert not result.successful and "read-only" in result.reason
    assert node.get_parameter(name).value == before.value


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ({}, ["`file`", "required"]),
        ({"file": "x", "speeed": 0.5}, ["`speeed`", "Did you mean 'speed'?"]),
        ({"file": "x", "speed": 3.0}, ["`speed`", "3.0"]),
        ({"file": "x", "speed": 0.0}, ["`speed`", "0.0", "greater than 0"]),
        ({"file": "x", "speed": "fast"}, ["`speed`", "fast", "double"]),
        ({"file": "x", "fingers": 9}, ["`fingers`", "9"]),
        ({"file": 3}, ["`file`", "3", "string"]),
    ],
)
def test_what_does_not_fit_is_refused_by_name(make_node, overrides, words):
    with pytest.raises(ConfigurationError) as error:
        declare_record(make_node(**overrides), Gripper)
    for word in ["node 'gripper'", *words]:
        assert word in str(error.value)


def _node_classes():
    for module in pkgutil.iter_modules(shells.__path__, f"{shells.__name__}."):
        if module.name.endswith(".launching"):
            continue  # needs launch, and has no node
        for _, cls in inspect.getmembers(import_module(module.name), inspect.isclass):
            if issubclass(cls, Node) and cls.__module__ == module.name:
                yield cls


def test_no_node_of_ours_takes_an_attribute_that_is_rclpy_s(make_node):
    ours = list(_node_classes())
    modules = {path.stem for path in Path(shells.__path__[0]).glob("*_node.py")}
    assert {cls.__module__.rpartition(".")[2] for cls in ours} == modules - {"container_node"}
    for cls in ours:
        base = next(parent for parent in cls.__mro__ if parent.__module__.startswith("rclpy"))
        theirs = {*dir(base), *vars(make_node()), *vars(base("base", context=make_node().context))}
        assigned = {
            node.attr
            for node in ast.walk(ast.parse(inspect.getsource(cls)))
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
        }
        assert not assigned & theirs, (cls.__name__, assigned & theirs)
