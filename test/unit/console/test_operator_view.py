"""What the pages are shown: the state as JSON, and pictures."""

from __future__ import annotations

import json

import cv2
import numpy as np
from recorded_console import DOUBTED, JUDGE, SET_UP, START, Asked, Clock, Steered
from tabletop_scenes import tabletop

from robocontrast_ros.console import commands as c
from robocontrast_ros.console.console import Console, SessionFacts
from robocontrast_ros.console.operator_view import ConsoleOperatorView
from robocontrast_ros.console.questions import SetUpQuestion
from robocontrast_ros.console.table_map import TableMap
from robocontrast_ros.console.tolerances import Tolerances
from robocontrast_ros.domain import ObjectState, Pose, Scene, SetupMove
from robocontrast_ros.strategies.effort import Tolerance

RED = np.zeros((48, 64, 3), np.uint8)
RED[..., 0] = 255


def made(camera=None):
    console, drawn = Console(Steered(), clock=Clock()), []

    def wanted(scene):
        drawn.append(scene)
        return RED

    tables = TableMap(tabletop(), Tolerances(Tolerance(0.01, 0.15)))
    operator_view = ConsoleOperatorView(console, tables, lambda: camera, wanted, "run_1", True)
    return console, operator_view, drawn


def shown(operator_view):
    """Return the state as a page reads it."""
    return json.loads(json.dumps(operator_view.shown(), allow_nan=False))


def block(x):
    return Scene((ObjectState("red_block", next(iter(tabletop().scenes.models)), Pose.planar(x, 0.0)),))


def test_each_state_can_be_read_by_a_page():
    console, operator_view, _ = made()
    assert shown(operator_view)["phase"] == "waiting" and shown(operator_view)["session"] == "run_1"
    for question, part in ((START, None), (JUDGE, "judge")):
        asked = Asked(console, question)
        state = shown(operator_view)
        assert state["trial"] == "t1" and state["instruction"] == "pick the cup"
        assert (part is None) or state[part]["subgoals"] == 2
        console.carry_out(c.Void(id=f"v{state['step']}", step=state["step"], reason="x"))
        asked.answer()
    console.tell(SessionFacts("paused", trials_done=2, limit=None))
    assert shown(operator_view)["phase"] == "paused" and shown(operator_view)["session_state"]["done"] == 2
    console.close()
    assert shown(operator_view)["phase"] == "finished" and shown(operator_view)["allowed"] == []


def test_the_moves_of_a_set_up_are_shown_with_their_ticks():
    console, operator_view, _ = made()
    before, after = block(0.4), block(0.5)
    move = SetupMove("red_block", before["red_block"].model, before["red_block"].pose, after["red_block"].pose)
    asked = Asked(console, SetUpQuestion(after, before, (move,), ("red block is off",), True, 12.0))
    state = shown(operator_view)
    assert state["set_up"]["doubts"] and state["set_up"]["problems"] == ["red block is off"] and state["limit"] == 12.0
    assert state["set_up"]["moves"][0]["place"] == "x 50.0 cm, y 0.0 cm, 0° (±1 cm, ±9°)"
    assert [(m["id"], m["words"], m["done"]) for m in state["set_up"]["moves"]] == [("red_block", "by 10.0 cm", False)]
    version = operator_view.version
    assert operator_view.carry_out(c.Tick(id="t", step=state["step"], name="red_block")).accepted
    assert shown(operator_view)["set_up"]["moves"][0]["done"] and operator_view.version > version
    console.close()
    asked.answer()


def test_a_draft_can_be_filled_in_again():
    console, operator_view, _ = made()
    asked = Asked(console, JUDGE)
    console.carry_out(c.Judge(id="j", step=shown(operator_view)["step"], success=False, progress=0.5, tags=("slip",)))
    draft = shown(operator_view)["judge"]["draft"]
    assert draft == {"success": False, "progress": 0.5, "stage": "", "tags": ["slip"], "note": ""}
    console.close()
    asked.answer()


def test_the_camera_s_picture_is_a_jpeg_in_its_own_colours_and_none_is_none():
    _, operator_view, _ = made(camera=RED)
    picture = cv2.imdecode(np.frombuffer(operator_view.picture("camera"), np.uint8), cv2.IMREAD_COLOR)
    assert picture.shape == (48, 64, 3) and picture[..., 2].min() > 240 and picture[..., :2].max() < 15
    assert made()[1].picture("camera") is None
    for name in ("target", "other", "", "../camera"):
        assert operator_view.picture(name) is None


def test_the_wanted_scene_is_drawn_once_for_each_question():
    console, operator_view, drawn = made()
    for question in (SET_UP, DOUBTED):
        asked = Asked(console, question)
        pictures = [operator_view.picture("target") for _ in range(3)]
        assert pictures[0].startswith(b"\xff\xd8") and pictures[0] == pictures[1] == pictures[2]
        console.carry_out(c.Skip(id=f"s{len(drawn)}", step=console.view().step, reason="x"))
        asked.answer()
        assert operator_view.picture("target") is None
    assert len(drawn) == 2
