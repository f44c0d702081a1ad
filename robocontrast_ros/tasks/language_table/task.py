"""The Language-Table task."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from robocontrast_ros.configuration import ConfigurationError, load_record
from robocontrast_ros.domain import Instruction, TestInstance
from robocontrast_ros.tasks.base import ModelTask
from robocontrast_ros.tasks.language_table.difficulty import BoardDifficulty
from robocontrast_ros.tasks.language_table.goals import DISTANCES, BlockGoals
from robocontrast_ros.tasks.language_table.language import BlockLanguage
from robocontrast_ros.tasks.language_table.parameters import FAMILIES, LanguageTableParameters
from robocontrast_ros.tasks.language_table.planner import PushPlanner
from robocontrast_ros.tasks.language_table.scenes import BlockRelocation, SourceAlone, board_scenes, draw_scene
from robocontrast_ros.tasks.protocol import Backdrop


class LanguageTable(ModelTask):
    """The task of seed 000, section 5, with the numbers of the public environment."""

    metric = "spl"

    def __init__(self, parameters: LanguageTableParameters) -> None:
        super().__init__(parameters, parameters.families or FAMILIES, board_scenes(parameters))
        self.language = BlockLanguage(parameters.blocks, parameters.further, self.families)
        self.rewording = self.wording = self.language
        self.handling = SourceAlone()
        self.goals = BlockGoals(parameters)
        self.planner = PushPlanner(parameters)
        self.relocation = BlockRelocation(parameters, self.planner)
        self.difficulty = BoardDifficulty(self, parameters)
        self.looks = {block: tuple(reversed(block.split("_"))) for block in self.scenes.models}
        # Top, bottom, left and right of the map are those of the instructions.
        (x0, y0), (x1, y1) = parameters.board.low, parameters.board.high
        self.backdrop = Backdrop(((x0, y0), (x1, y0), (x1, y1), (x0, y1)), up="-x")

    @classmethod
    def from_file(cls, path: Path) -> LanguageTable:
        """Return the task that a parameter file describes.

        Raises:
            ConfigurationError: the file does not fit.
        """
        return cls(load_record(LanguageTableParameters, path))

    def sample(self, rng: np.random.Generator, instance_id: str, family: str | None = None) -> TestInstance:
        """Draw one i.i.d. test instance.

        The family is uniform over the task's (unless given), the condition uniform within its family,
        near or far with equal chance, the wording uniform choice by choice, and the scene uniform over
        those in which the instruction is feasible and not yet fulfilled.

        Raises:
            ValueError: the family is unknown.
            ConfigurationError: too few scenes suit the task's parameters.
        """
        chosen = self.family(rng, family)
        conditions = list(self.language.structures(chosen))
        arguments = conditions[rng.integers(len(conditions))]
        if chosen == "block_to_relative_location":
            arguments = {**arguments, "distance": DISTANCES[rng.integers(len(DISTANCES))]}
        wanted = Instruction("", chosen, tuple(arguments.items()))
        for _ in range(self.parameters.sampling.scene_draws):
            scene = draw_scene(wanted, self.parameters, rng)
            instance = self.make_instance(instance_id, wanted, scene) if scene else None
            if isinstance(instance, TestInstance):
                return replace(instance, instruction=self.language.realise(wanted, instance.scene, rng))
        parameters = self.parameters
        raise ConfigurationError(
            f"task '{self.name}'",
            "board.margin",
            parameters.board.margin,
            f"room for {len(parameters.blocks)} blocks: none of {parameters.sampling.scene_draws} scenes suits "
            f"{chosen} {arguments}",
            "Lower `board.margin`, use fewer `blocks`, or raise `sampling.scene_draws`.",
        )
