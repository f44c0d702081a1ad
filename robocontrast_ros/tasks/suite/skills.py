"""What a robot has to be able to do for a task, by the predicates of its goal."""

from __future__ import annotations

from robocontrast_ros.domain import Scene
from robocontrast_ros.tasks.bddl import Atom
from robocontrast_ros.tasks.composed import leaves
from robocontrast_ros.tasks.kitchen.library import Things
from robocontrast_ros.tasks.suite.files import SuiteTask
from robocontrast_ros.tasks.suite.predicates import PICKED_UP, WORDS

SKILLS = {
    PICKED_UP: "pick",
    "In": "put_in",
    "On": "put_on",
    "Stack": "stack",
    **dict.fromkeys(("NextTo", "LeftOf", "RightOf", "InFrontOf", "Behind"), "put_beside"),
    "OutsideOf": "take_out",
    "Open": "open",
    "Close": "close",
    "Turnon": "turn_on",
    "Turnoff": "turn_off",
    "Up": "set_upright",
}
"""Predicate -> skill that brings it about."""

assert set(SKILLS) == set(WORDS.values())

NAMES = tuple(dict.fromkeys(SKILLS.values()))


def skills(task: SuiteTask, things: Things) -> tuple[str, ...]:
    """Return the skills of a task's subtasks, in the order of its goal."""
    return tuple(dict.fromkeys(_skill(atom, task.scene, things) for atom in leaves(task.tree)))


def _skill(atom: Atom, scene: Scene, things: Things) -> str:
    """Return the skill of a subtask; what can be stacked is stacked on its like, as in the tabletop's families."""
    models = [things.models[scene[name].model] for name in atom.arguments]
    return SKILLS["Stack" if atom.predicate == "On" and all(m.stackable for m in models) else atom.predicate]
