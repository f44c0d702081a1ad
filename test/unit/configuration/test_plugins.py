"""What a file names is a plug-in of the kind that is wanted, or is refused by what it lacks."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from robocontrast_ros.configuration import ConfigurationError, load_configured, load_plugin, make_plugin, plugins


class Maker:
    """Makes something that is no policy."""

    @classmethod
    def from_file(cls, path):
        return SimpleNamespace(describe=print)


def test_what_a_plug_in_makes_and_that_is_no_policy_is_refused(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "makers", SimpleNamespace(Maker=Maker))
    path = tmp_path / "policy.yaml"
    path.write_text("policy: makers:Maker\n")
    with pytest.raises(ConfigurationError) as caught:
        load_configured("policies", path)
    assert str(caught.value) == (
        f"{path}: `policy`: got 'SimpleNamespace, made by its `from_file`', expected a policy, which has "
        "describe, reset, act. It lacks reset, act."
    )


class Registered:
    """Stands for an entry point of an installed package."""

    name = "mine"

    def __init__(self, load):
        self.load = load


class NoMethods:
    """Whoever wrote it forgot everything."""


class WantsArguments:
    uses_perturbations, base_trials_iid, name, description = None, True, "mine", "mine"

    def __init__(self, strength):
        self.strength = strength

    def run(self, context):
        return iter(())

    def trials_expected(self, context):
        return 0

    def supports(self, task):
        return True

    def apply(self, task, base, scene, rng):
        return None


def raising():
    raise RuntimeError("no licence\nfor this machine")


def refusal(monkeypatch, kind, load):
    """Return the message with which a registered object is refused."""
    monkeypatch.setattr(plugins, "registered", lambda kind: [Registered(load)])
    with pytest.raises(ConfigurationError) as caught:
        make_plugin(kind, "mine", "session.yaml", "key")
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("kind", plugins.PROTOCOLS)
def test_a_registered_class_without_the_methods_of_its_kind_is_refused_in_one_line(monkeypatch, kind):
    methods = ", ".join(plugins.members(kind)[0])
    said = refusal(monkeypatch, kind, lambda: NoMethods)
    assert said.startswith("session.yaml: `key`: got 'mine', expected a ")
    assert said.endswith(f", which has {methods}. It lacks {methods}.")


SHIPPED = [(kind, name) for kind in plugins.PROTOCOLS for name in plugins.plugin_names(kind)]


@pytest.mark.parametrize(("kind", "name"), SHIPPED)
def test_a_shipped_plug_in_has_all_that_the_protocol_of_its_kind_has(kind, name):
    if kind == "robot_ports":
        pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")
    made = ("strategies", "perturbations", "judges")  # their contracts make the others
    found = (make_plugin if kind in made else load_plugin)(kind, name, "test", "name")
    assert [member for member in plugins.members(kind)[kind in made] if not hasattr(found, member)] == []


@pytest.mark.parametrize(
    ("kind", "member"),
    [
        ("observation_filters", "of_images"),
        ("scene_backends", "features"),
        ("pacers", "steps_world"),
        ("pacers", "answered"),
        ("robot_ports", "prepare"),
        ("robot_ports", "stop_sending"),
        ("robot_kinds", "axes"),
        ("end_effectors", "drive_speed"),
    ],
)
def test_a_plug_in_that_lacks_one_member_of_its_protocol_is_refused_by_its_name(monkeypatch, kind, member):
    rest = {name: None for name in plugins.members(kind)[0] if name != member}
    said = refusal(monkeypatch, kind, lambda: SimpleNamespace(**rest))
    assert said.endswith(f" It lacks {member}.")


@pytest.mark.parametrize("member", ["difficulty", "looks", "walkable", "store", "path_dimensions", "make_instance"])
def test_a_task_that_lacks_one_member_of_its_protocol_is_refused_by_its_name(monkeypatch, tmp_path, member):
    task = SimpleNamespace(**{name: None for name in plugins.members("tasks")[1] if name != member})
    maker = SimpleNamespace(from_file=lambda path: task)
    monkeypatch.setitem(sys.modules, "makers", SimpleNamespace(Maker=maker))
    (tmp_path / "task.yaml").write_text("task: makers:Maker\n")
    with pytest.raises(ConfigurationError, match=rf"expected a task, which has name, .* It lacks {member}\.$"):
        load_configured("tasks", tmp_path / "task.yaml")


@pytest.mark.parametrize(
    ("kind", "of_class", "of_made"),
    [
        ("policies", "from_file", "describe, reset, act"),
        ("recipes", "from_file", "parameters, train"),
        (
            "strategies",
            "run, trials_expected",
            "name, description, uses_perturbations, base_trials_iid, run, trials_expected",
        ),
        ("pacers", "steps_world, begin, step, answered", "errors, steps_world, begin, step, answered"),
    ],
)
def test_a_class_is_asked_for_less_than_what_it_makes_and_neither_for_what_may_be_left_out(kind, of_class, of_made):
    assert [", ".join(names) for names in plugins.members(kind)] == [of_class, of_made]


@pytest.mark.parametrize("kind", ["strategies", "perturbations"])
def test_a_class_that_cannot_be_called_without_arguments_is_refused_in_one_line(monkeypatch, kind):
    said = refusal(monkeypatch, kind, lambda: WantsArguments)
    assert "made by calling its class without arguments. It raises TypeError: " in said
    assert "missing 1 required positional argument: 'strength'" in said


def test_what_is_made_without_an_attribute_is_refused_by_its_name(monkeypatch):
    lacking = type("Lacking", (WantsArguments,), {"__init__": lambda self: None})
    said = refusal(monkeypatch, "perturbations", lambda: lacking)
    assert said.endswith("It lacks symbol, axes, plausible, expectation.")


def test_a_registered_object_whose_import_fails_is_refused_in_one_line(monkeypatch):
    said = refusal(monkeypatch, "strategies", raising)
    assert "expected an importable `module:Object`. It raises RuntimeError: no licence for this machine (" in said


@pytest.mark.parametrize("name", [":x", "os:", "os:nothing", "nowhere:At", ".x:y"])
def test_a_name_that_cannot_be_imported_is_refused_in_one_line(name):
    with pytest.raises(
        ConfigurationError, match=r"expected an importable `module:Object`\. (Python says|It raises)"
    ) as caught:
        load_plugin("policies", name, "file", "policy")
    assert "\n" not in str(caught.value)


def test_a_module_that_is_not_found_is_told_how_python_finds_it_and_one_that_it_lacks_itself_is_named(
    monkeypatch, tmp_path
):
    def said(name: str) -> str:
        with pytest.raises(ConfigurationError) as caught:
            load_plugin("policies", name, "mine.yaml", "policy")
        return str(caught.value)

    assert "`PYTHONPATH=. robocontrast …`, or install its package: `pip install -e .`" in said("no_such.module:Thing")
    (tmp_path / "lacks_another.py").write_text("import no_such_package\n")
    monkeypatch.syspath_prepend(tmp_path)
    other = said("lacks_another:Thing")
    assert other.endswith("Python says: No module named 'no_such_package'.")
