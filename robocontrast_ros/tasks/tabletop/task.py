"""The tabletop task."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from robocontrast_ros.configuration import ConfigurationError, load_record
from robocontrast_ros.domain import Instruction, Scene, TestInstance
from robocontrast_ros.objects import ObjectModel
from robocontrast_ros.tasks.base import ModelTask
from robocontrast_ros.tasks.protocol import Backdrop, Infeasible
from robocontrast_ros.tasks.tabletop.clutter import ClutterViews, TabletopClutter, TargetAlone
from robocontrast_ros.tasks.tabletop.difficulty import TabletopDifficulty
from robocontrast_ros.tasks.tabletop.goals import TabletopGoals
from robocontrast_ros.tasks.tabletop.language import TabletopLanguage
from robocontrast_ros.tasks.tabletop.neighbourhood import TabletopNeighbourhood
from robocontrast_ros.tasks.tabletop.parameters import FAMILIES, TabletopParameters
from robocontrast_ros.tasks.tabletop.planner import TabletopPlanner
from robocontrast_ros.tasks.tabletop.scenes import (
    NoRoom,
    SceneDraw,
    Settle,
    at_rest,
    objects_in_use,
    table_scenes,
    views_of,
)
from robocontrast_ros.tasks.tabletop.variation import TabletopVariation

RIM = 0.1
"""Width of the table around region and start that maps show [m]."""


class Tabletop(ModelTask):
    """Pick, move near, stack, put on and put in, on a table with other things."""

    metric = "success"
    path_dimensions = 3
    # Collisions mean nothing here, because a grasp is one, and there is no reference path.
    scores = ("success", "spl", "progress", "subgoals_reached", "distance_to_goal", "path_length")

    def __init__(
        self, parameters: TabletopParameters, library: dict[str, ObjectModel], settle: Settle, views: ClutterViews
    ) -> None:
        """Take the task file, the objects in use, the settling of scenes and their views."""
        super().__init__(parameters, FAMILIES, table_scenes(parameters, library))
        self.library, self.store = library, parameters.store
        self.goals = TabletopGoals(parameters, library)
        self.planner = TabletopPlanner(parameters, library, self.goals)
        region = parameters.region
        low = min(region.x_min, parameters.start[0]) - RIM, region.y_min - RIM
        high = region.x_max + RIM, region.y_max + RIM
        self.backdrop = Backdrop((low, (high[0], low[1]), high, (low[0], high[1])), up="x")
        self._draw = SceneDraw(parameters, library, self.planner, settle)
        self.language = self.rewording = self.wording = TabletopLanguage(library, self._draw.pairs)
        self.handling = TargetAlone(library)
        self.neighbourhood = TabletopNeighbourhood(self, parameters, library, self.planner, self.goals, self.language)
        if parameters.distracting is not None:
            self.clutter = TabletopClutter(self, parameters.distracting, library, settle, views)
        self.difficulty = TabletopDifficulty(self, parameters, library, self.planner, self.language, settle)
        self.variation = TabletopVariation(self, parameters, library, self._draw, self.language)
        self.looks = {name: (model.type, name.removesuffix(model.type).rstrip("_")) for name, model in library.items()}

    @classmethod
    def from_file(cls, path: Path, objects: tuple[int, int] | None = None) -> Tabletop:
        """Return the task that a parameter file describes.

        Args:
            path: of the file.
            objects: fewest and most objects of a scene, in place of the file's ``sampling.objects``; None for those.

        Raises:
            ConfigurationError: the file, or that of an object, does not fit.
        """
        parameters = load_record(TabletopParameters, path)
        if objects is not None:
            parameters = replace(parameters, sampling=replace(parameters.sampling, objects=objects))
        library = objects_in_use(parameters, str(path))
        return cls(
            parameters,
            library,
            lambda s: at_rest(s, library, parameters.world),
            views_of(parameters, library, str(path)),
        )

    def premise(self, instruction: Instruction, scene: Scene) -> str | None:
        """Return why an instruction makes no sense in a scene: a thing is missing, or its words are ambiguous."""
        return self.planner.premise(instruction, scene) or self.language.premise(instruction, scene)

    def sample(self, rng: np.random.Generator, instance_id: str, family: str | None = None) -> TestInstance:
        """Draw one i.i.d. test instance.

        The family is uniform over the five (unless given), the pair of objects uniform over those of the family for
        which a scene is found, and the scene uniform over those that settle, in which the planner has a plan, and in
        which words name each object alone.

        Raises:
            ValueError: the family is unknown.
            ConfigurationError: too few scenes suit the task's parameters.
        """
        p = self.parameters.sampling
        chosen = self.family(rng, family)
        pairs = self._draw.pairs(chosen)
        if not pairs:
            raise ConfigurationError(
                f"task '{self.name}'",
                "objects",
                list(self.parameters.objects),
                f"objects that {chosen} can be asked of",
                "Name more `objects`, or sample other families.",
            )
        unplaced, reason = "", ""
        for _ in range(p.condition_draws):
            wanted = Instruction("", chosen, tuple(pairs[rng.integers(len(pairs))].items()))
            for _ in range(p.scene_draws):
                try:
                    found = self._drawn(wanted, instance_id, rng)
                except NoRoom as error:
                    unplaced = str(error)
                    continue
                if isinstance(found, TestInstance):
                    return found
                unplaced, reason = "", found.reason
        if unplaced:
            raise ConfigurationError(
                f"task '{self.name}'",
                "sampling.objects",
                list(p.objects),
                f"objects for which there is room; there is no free place for '{unplaced}'",
                "Use fewer objects, lower `sampling.gap` and `sampling.named_gap`, or widen `region`.",
            )
        raise ConfigurationError(
            f"task '{self.name}'",
            "sampling.condition_draws",
            p.condition_draws,
            f"a scene for {chosen} among {p.condition_draws} times {p.scene_draws}; the last was refused: {reason}",
            "Use fewer objects or other ones, wider gaps, or raise `sampling.scene_draws`.",
        )

    def _drawn(self, wanted: Instruction, instance_id: str, rng: np.random.Generator) -> TestInstance | Infeasible:
        """Draw a scene and return its instance, or why there is none.

        Raises:
            NoRoom: a thing found no place.
        """
        p = self.parameters.sampling
        scene = self._draw.scene(wanted, rng)
        first = self.make_instance(instance_id, wanted, scene)
        if isinstance(first, Infeasible):
            return first
        # Settling takes longest, so it comes last.
        rested = self._draw.settled(wanted, scene)
        if rested is None:
            return Infeasible("something moved while the scene came to rest")
        found = self.make_instance(instance_id, wanted, rested)
        if isinstance(found, Infeasible):
            return found
        try:
            return replace(found, instruction=self.language.realise(wanted, rested, rng, p.clear))
        except ValueError as error:
            return Infeasible(str(error))
