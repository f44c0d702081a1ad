"""How exactly each object has to be placed, from the session's file to what is checked."""

from __future__ import annotations

import math

import pytest
import yaml
from tabletop_scenes import tabletop

from robocontrast_ros.analysis.data.effort_model import EffortModel
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.console.table_map import place_in_words
from robocontrast_ros.console.tolerances import tolerances_of
from robocontrast_ros.domain import Pose
from robocontrast_ros.graph.description import nodes_of
from robocontrast_ros.graph.parameters.sim_bridge import SimBridgeParameters
from robocontrast_ros.runs.events import SessionStarted
from robocontrast_ros.sessions.resolving import resolve
from robocontrast_ros.strategies.effort import Tolerance

USUAL = Tolerance(0.01, 0.15)


@pytest.fixture
def session(tmp_path):
    """Return what resolves a session of the tabletop with these keys of the console."""

    def resolved(**operator):
        content = {
            "name": "mine",
            "seed": 1,
            "task": "tabletop",
            "robot": "franka_hand",
            "policy": "random",
            "strategy": {"name": "standard"},
            "test_set": {"size": 2},
            "world": {"backend": "practice", "pacing": "wall_clock", "judge": "person"},
            "operator": operator,
        }
        (tmp_path / "mine.yaml").write_text(yaml.safe_dump(content))
        return resolve(tmp_path / "mine.yaml")

    return resolved


def test_what_is_round_may_be_turned_by_any_angle_and_what_is_named_has_its_own():
    found = tolerances_of(tabletop(), USUAL, {"red_mug": Tolerance(0.02, 0.3), "red_can": Tolerance(0.01, 0.2)})
    assert found.of("banana") == USUAL and found.of("white_plate") == Tolerance(0.01, math.pi)
    assert found.of("red_mug") == Tolerance(0.02, 0.3) and found.of("red_can") == Tolerance(0.01, 0.2)
    there = Pose.planar(0.381, -0.069, 1.0)
    assert place_in_words(there, False, found.of("white_plate")) == "x 38.1 cm, y \u22126.9 cm, any angle (±1 cm)"
    assert place_in_words(there, True, found.of("red_mug")) == "x 0.38 m, y \u22120.07 m, 57° (±2 cm, ±17°)"


def test_a_session_names_tolerances_of_single_objects_and_the_bridge_has_the_same(session, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = session(position_tolerance=0.02, tolerances={"banana": {"position": 0.05}, "padlock": {"orientation": 1.0}})
    own = found.set_up_tolerances
    assert own.usual == Tolerance(0.02, 0.15)
    assert own.of("banana") == Tolerance(0.05, 0.15) and own.of("padlock") == Tolerance(0.02, 1.0)
    assert own.of("red_can") == Tolerance(0.02, math.pi)
    given = {node.name: node.parameters for node in nodes_of(found, found.new_run(0.0))}["sim_bridge"]
    assert SimBridgeParameters(**given).set_up_tolerances(found.task) == own


@pytest.mark.parametrize(
    ("tolerances", "words"),
    [
        ({"bananna": {"position": 0.05}}, "operator.tolerances.bananna.+Did you mean 'banana'"),
        ({"banana": {"position": 0.0}}, "operator.tolerances.banana.position"),
        ({"banana": {"angle": 0.1}}, "operator.tolerances.banana"),
    ],
)
def test_a_tolerance_that_cannot_be_is_refused_by_its_key(session, tolerances, words):
    with pytest.raises(ConfigurationError, match=words):
        session(tolerances=tolerances)


def test_what_a_person_may_leave_is_what_the_session_asks_and_pays_for_and_is_not_said_twice(session, tmp_path):
    found = session(tolerances={"banana": {"position": 0.05}})
    asked = found.evaluation().tolerance
    assert asked == found.set_up_tolerances and asked.usual == Tolerance(0.01, 0.15)
    assert asked.fixed == {"oak_table", "ceiling_lamp", "beige_room"}
    # The effort that a standard evaluation would have taken is computed from the journal alone.
    started = SessionStarted("mine", 1, {}, found.snapshot(), "", "s", 1.0, 0.0)
    assert EffortModel(started).tolerance == asked
    content = yaml.safe_load((tmp_path / "mine.yaml").read_text())
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(content | {"setup": {"orientation_tolerance": 0.1}}))
    with pytest.raises(
        ConfigurationError, match=r"setup.orientation_tolerance.+0\.1.+`operator.orientation_tolerance`"
    ):
        resolve(tmp_path / "mine.yaml")


def test_a_simulated_session_keeps_the_tolerance_of_its_own():
    assert resolve("language_table_demo").evaluation().tolerance == Tolerance(0.002, 0.05)
