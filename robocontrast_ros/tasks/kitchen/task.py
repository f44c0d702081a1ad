"""The kitchen task: problems with one skill each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from robocontrast_ros.configuration import ConfigurationError, load_record, resolve_uri
from robocontrast_ros.domain import Instruction, Scene, TestInstance
from robocontrast_ros.objects import SHIPPED, load_library, with_parts
from robocontrast_ros.tasks.base import ModelScenes, ModelTask
from robocontrast_ros.tasks.bddl import (
    Flaw,
    Problem,
    done_at_start,
    error_at,
    problem_files,
    read_domain,
    read_problem,
    read_types,
)
from robocontrast_ros.tasks.bddl import Kitchen as Buildable
from robocontrast_ros.tasks.bddl.modifications import read_vocabulary
from robocontrast_ros.tasks.kitchen.checks import KitchenChecks, one_skill
from robocontrast_ros.tasks.kitchen.clutter import KitchenClutter
from robocontrast_ros.tasks.kitchen.difficulty import KitchenDifficulty
from robocontrast_ros.tasks.kitchen.drawing import Names, NoScene, ProblemScenes
from robocontrast_ros.tasks.kitchen.goals import KitchenGoals, instruction_of
from robocontrast_ros.tasks.kitchen.handling import KitchenHandling
from robocontrast_ros.tasks.kitchen.language import KitchenLanguage
from robocontrast_ros.tasks.kitchen.library import Things
from robocontrast_ros.tasks.kitchen.modifying import KitchenModifications
from robocontrast_ros.tasks.kitchen.neighbourhood import KitchenNeighbourhood
from robocontrast_ros.tasks.kitchen.parameters import FAMILIES, KitchenParameters
from robocontrast_ros.tasks.kitchen.planner import KitchenPlanner
from robocontrast_ros.tasks.kitchen.predicates import Predicates, Thresholds
from robocontrast_ros.tasks.protocol import SOLVED, Backdrop, Infeasible
from robocontrast_ros.tasks.tabletop.scenes import at_rest, views_of

RIM = 0.1
"""Width of the table around region and start that maps show [m]."""

BEHIND = 0.2
"""Width of the table behind the region that maps show [m]: fixtures stand there, with their fronts in the region."""


@dataclass(frozen=True)
class Skill:
    """A problem with one skill.

    Attributes:
        name: name of its file.
        problem: the problem.
        instruction: what it asks for, in its own words, about things by their names in its scenes.
        file: its file.
    """

    name: str
    problem: Problem
    instruction: Instruction
    file: Path


class Kitchen(ModelTask):
    """Drawers, doors and knobs, and things that are put on, in and beside others."""

    metric = "success"
    path_dimensions = 3
    # Collisions mean nothing here, because a grasp is one, and there is no reference path.
    scores = ("success", "spl", "progress", "distance_to_goal", "path_length")

    def __init__(
        self, parameters: KitchenParameters, things: Things, buildable: Buildable, skills: dict[str, Skill]
    ) -> None:
        """Take the task file, the things, the types of problems with the operators, and the problems."""
        types = buildable.types
        models = with_parts(model for name, model in things.models.items() if name not in things.parts)
        scenes = ModelScenes(
            parameters.world,
            parameters.physics_step,
            models,
            lambda name: things.models[name].footprint,
            parameters.start,
            parameters.tool_region,
            thing="thing",
            clear_height=things.clear_height,
        )
        asked = tuple(f for f in FAMILIES if any(skill.instruction.family == f for skill in skills.values()))
        super().__init__(parameters, asked, scenes)
        self.problems = tuple(skills)
        self.things, self.skills, self.store = things, skills, parameters.store
        self.predicates = Predicates(things, Thresholds(parameters.success.height, parameters.success.near))
        self.goals = KitchenGoals(parameters, things, self.predicates)
        self.planner = KitchenPlanner(parameters, things, self.goals)
        self.language = self.rewording = self.wording = KitchenLanguage(
            things, (skill.instruction for skill in skills.values())
        )
        self.handling = KitchenHandling(things, self.predicates)
        self.neighbourhood = self.relocation = KitchenNeighbourhood(
            self, parameters, things, self.planner, self.goals, self.predicates, self.language
        )
        self.looks = {name: (m.type, name.removesuffix(m.type).rstrip("_")) for name, m in things.models.items()}
        region = parameters.region
        low = min(region.x_min, parameters.start[0]) - RIM, region.y_min - RIM
        high = region.x_max + BEHIND, region.y_max + RIM
        self.backdrop = Backdrop((low, (high[0], low[1]), high, (low[0], high[1])), up="x")
        still = things.still

        def settle(scene: Scene) -> Scene | None:
            return at_rest(scene, still, parameters.world)

        self._scenes_of = ProblemScenes(parameters, things, types, settle)
        self.modifications = KitchenModifications(
            self,
            parameters,
            things,
            buildable,
            read_vocabulary(),
            self._scenes_of,
            self.neighbourhood,
            self.predicates,
            settle,
        )
        distracting = parameters.distracting
        if distracting is not None:
            views, bare = (views_of(parameters, still, f"task '{self.name}'") for _ in range(2))
            self.clutter = KitchenClutter(self, distracting, things, self.handling, settle, views, bare)
        usual = frozenset(
            things.models[Names(skill.problem, types).model(reference)].category
            for skill in skills.values()
            if (reference := skill.instruction.get("reference")) in skill.problem.objects
        )
        self.difficulty = KitchenDifficulty(self, parameters, things, self.planner, self.language, settle, usual)

    @classmethod
    def from_file(cls, path: Path) -> Kitchen:
        """Return the task that a parameter file describes.

        Raises:
            ConfigurationError: the file, that of a thing, or that of a problem does not fit.
        """
        parameters = load_record(KitchenParameters, path)
        library = load_library((SHIPPED, parameters.things))
        types = read_types()
        wanted = {kind.model for kind in (*types.fixtures.values(), *types.objects.values())}
        further = parameters.distracting
        looks = (parameters.fixtures, *((further.looks,) if further is not None else ()))
        used = wanted | {name for fixtures in looks for names in fixtures.kinds.values() for name in names}
        if further is not None:
            used |= {n for n, m in library.items() if m.uri.startswith(parameters.things) and not m.fixed}
        things = Things.of(model for name, model in library.items() if name in used)
        folder = resolve_uri(parameters.problems)
        if not folder.is_dir():
            raise ConfigurationError(str(path), "problems", parameters.problems, "a folder of problems, one file each")
        skills: dict[str, Skill] = {}
        buildable = Buildable(types, read_domain(), frozenset(things.models))
        for file in problem_files([folder]):
            skill = _skill(file, things, buildable)
            if skill.name in skills:
                other = skills[skill.name].file
                raise ConfigurationError(str(file), "", skill.name, f"a name that no other problem has; {other} has it")
            skills[skill.name] = skill
        return cls(parameters, things, buildable, skills)

    def premise(self, instruction: Instruction, scene: Scene) -> str | None:
        """Return why an instruction makes no sense in a scene: a thing is missing, or its words are ambiguous."""
        return self.planner.premise(instruction, scene) or self.language.premise(instruction, scene)

    def sample(self, rng: np.random.Generator, instance_id: str, family: str | None = None) -> TestInstance:
        """Draw one i.i.d. test instance.

        The problem is uniform over those of the family, or over all, or the one that is named; the scene is uniform
        over its scenes that settle, in which the goal does not hold and the planner has a plan.

        Raises:
            ValueError: the family is unknown, and no problem has its name.
            ConfigurationError: too few scenes suit the problem.
        """
        names = [name for name, skill in self.skills.items() if family in (None, name, skill.instruction.family)]
        if not names:
            raise ValueError(f"family: got '{family}', expected one of {', '.join(self.families)}")
        return self.sample_of(names[int(rng.integers(len(names)))], rng, instance_id)

    def sample_of(self, name: str, rng: np.random.Generator, instance_id: str) -> TestInstance:
        """Draw a test instance of a problem.

        Raises:
            KeyError: there is no such problem.
            ConfigurationError: too few scenes suit it.
        """
        skill, draws = self.skills[name], self.parameters.drawing.draws
        goal = ("goal", 0), str(skill.problem.goal[0])
        for _ in range(draws):
            try:
                scene = self._scenes_of.draw(skill.problem, rng)
            except NoScene as error:
                flaw = error.flaw
                continue
            found = self._instance(skill.instruction, scene, instance_id)
            if isinstance(found, TestInstance):
                return found
            if found.reason == SOLVED:
                expected = "a goal that does not hold in the scenes of `init`"
                flaw = Flaw(*goal, expected, "Change init or goal.")
            else:
                expected = f"a goal that can be reached in one of {draws} drawn scenes; the last: {found.reason}"
                flaw = Flaw(*goal, expected)
        raise error_at(skill.file, flaw)

    def _instance(self, instruction: Instruction, scene: Scene, instance_id: str) -> TestInstance | Infeasible:
        """Return the test instance of a drawn scene, or why it is none."""
        unclear = self.premise(instruction, scene)
        if unclear is None:
            return self.make_instance(instance_id, instruction, scene)
        try:
            solved = self.goals.goal(instruction, scene).satisfied(scene)
        except ValueError:
            solved = False
        return Infeasible(SOLVED if solved else unclear)


def _skill(file: Path, things: Things, buildable: Buildable) -> Skill:
    """Return the skill of a problem's file.

    Raises:
        ConfigurationError: the problem is wrong, cannot be built, or is no single skill.
    """
    types = buildable.types
    checks = KitchenChecks(things, types)
    problem = read_problem(
        file, (buildable.first_unbuildable, done_at_start, one_skill, checks.askable, checks.held, checks.on_the_table)
    )
    asked = instruction_of(Names(problem, types).atom(problem.goal[0], things))
    return Skill(file.stem, problem, replace(asked, text=problem.language), file)
