"""Checks of problems beyond their text: one skill that somebody can be asked for, on a table that holds all places."""

from __future__ import annotations

from collections.abc import Mapping

import shapely
from shapely import Polygon

from robocontrast_ros.domain import PART
from robocontrast_ros.objects import Top
from robocontrast_ros.tasks.bddl import Flaw, Problem
from robocontrast_ros.tasks.bddl.kitchen import TypesRecord
from robocontrast_ros.tasks.bddl.problem import IN, ON
from robocontrast_ros.tasks.kitchen.drawing import Names
from robocontrast_ros.tasks.kitchen.goals import instruction_of
from robocontrast_ros.tasks.kitchen.library import Things

TABLE = "table"
"""Category of what regions with ranges are places on."""


def one_skill(problem: Problem) -> Flaw | None:
    """Return the flaw of a goal of two atoms or more; None if it has one."""
    if len(problem.goal) == 1:
        return None
    got = " ".join(map(str, problem.goal))
    return Flaw(("goal", 1), got, "one atom: a problem of the kitchen has one skill", "Make a file for each.")


class KitchenChecks:
    """Checks that need the things of the kitchen, and the parts that problems' types are of them."""

    def __init__(self, things: Things, types: TypesRecord) -> None:
        """Take the things and the types."""
        self._things, self._types = things, types

    def askable(self, problem: Problem) -> Flaw | None:
        """Return the flaw of a goal that no instruction asks for; None if one does."""
        for index, atom in enumerate(problem.goal):
            for number, name in enumerate(atom.arguments):
                region = problem.named_regions.get(name)
                if region is not None and region.ranges:
                    expected = "an object, or a part of a fixture: nobody is asked to use a place on the table"
                    return Flaw(("goal", index, number), name, expected)
            try:
                instruction_of(Names(problem, self._types).atom(atom, self._things))
            except ValueError as error:
                return Flaw(("goal", index), str(atom), f"a skill of the kitchen ({error})")
        return None

    def held(self, problem: Problem) -> Flaw | None:
        """Return the first thing in ``init`` that is put on or in what holds nothing; None if there is none."""
        names = Names(problem, self._types)
        for index, atom in enumerate(problem.init):
            place = atom.arguments[-1]
            region = problem.named_regions.get(place)
            if atom.predicate not in (ON, IN) or (region is not None and region.ranges):
                continue
            thing = names.thing(place, self._things)
            whole, _, part = thing.rpartition(PART)
            model = self._things.models[f"{names.model(whole)}{PART}{part}" if whole else names.model(thing)]
            if model.top is None and model.cavity is None:
                return Flaw(("init", index, 1), place, "something that holds things: it has neither a top nor a cavity")
        return None

    def on_the_table(self, problem: Problem) -> Flaw | None:
        """Return the first place that is on no table, or beyond its edge; None if all are on one."""
        used = {atom.arguments[1] for atom in problem.init if len(atom.arguments) == 2}
        for index, region in enumerate(problem.regions):
            if not region.ranges or region.full_name not in used:
                continue
            top = self._tops(problem).get(region.target)
            if top is None:
                expected = "a table, which alone has places with ranges"
                return Flaw(("regions", index), region.target, expected, "Take the ranges out to name a site of it.")
            area = Polygon(top.polygon)
            for number, (left, low, right, high) in enumerate(region.ranges):
                if not area.buffer(1e-9).covers(shapely.box(left, low, right, high)):
                    x0, y0, x1, y1 = (f"{value:g}" for value in area.bounds)
                    got = " ".join(f"{value:g}" for value in (left, low, right, high))
                    expected = f"a place on the table: x from {x0} to {x1} m, y from {y0} to {y1} m"
                    return Flaw(("regions", index, "ranges", number), got, expected)
        return None

    def _tops(self, problem: Problem) -> Mapping[str, Top]:
        """Return the tops of a problem's tables, by their names."""
        found = {}
        for name in problem.fixtures:
            model = self._things.models[Names(problem, self._types).model(name)]
            if model.category == TABLE and model.top is not None:
                found[name] = model.top
        return found
