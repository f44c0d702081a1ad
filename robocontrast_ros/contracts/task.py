"""The contract of tasks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np

from robocontrast_ros.configuration import ConfigurationError, load_configured, resolve_uri
from robocontrast_ros.contracts.checking import once, promise, refuses
from robocontrast_ros.contracts.played import between
from robocontrast_ros.domain import PART, Scene, TestInstance, whole_of
from robocontrast_ros.episodes.scoring import load_scores
from robocontrast_ros.objects import moving_parts
from robocontrast_ros.objects.joints import part_pose, position_in
from robocontrast_ros.sessions.fitting import steps_per_control
from robocontrast_ros.tasks.protocol import (
    AT_ONCE,
    Goal,
    Infeasible,
    Plan,
    RegionGoal,
    StagedGoal,
    Task,
    path_dimensions,
    robot_start,
)

NEAR = 1e-6
"""Difference of two lengths up to which they count as equal [m]."""


class TaskContract:
    """Inherit, and return the task's parameter file from ``parameter_file``.

    Attributes:
        draws: test instances that are drawn for the checks, from all families in turn.
    """

    draws = 8

    def parameter_file(self) -> Path:
        """Return the parameter file, whose key ``task`` names the task."""
        raise NotImplementedError

    def made(self) -> Task:
        """Return the task, made afresh from its file as a session makes it."""
        return load_configured("tasks", self.parameter_file())

    @once
    def task(self) -> Task:
        """Return the task of all checks."""
        return self.made()

    @once
    def drawn(self) -> tuple[TestInstance, ...]:
        """Return test instances of all families in turn."""
        return tuple(self.draw(self.task(), seed) for seed in range(self.draws))

    @staticmethod
    def draw(task: Task, seed: int) -> TestInstance:
        """Return the test instance of a seed."""
        return task.sample(np.random.default_rng(seed), f"x{seed}", task.families[seed % len(task.families)])

    @staticmethod
    def goal_of(task: Task, instance: TestInstance) -> Goal:
        """Return the expected behaviour of an instance."""
        return task.goals.goal(instance.instruction, instance.scene)

    def test_it_says_what_a_session_has_to_know(self) -> None:
        """It has name, families, metric, rates, world and models."""
        task, scenes = self.task(), self.task().scenes
        promise(isinstance(task.name, str) and task.name, f"a task has a `name`, a text; got {task.name!r}")
        families = tuple(task.families)
        promise(
            families and len(set(families)) == len(families) and all(isinstance(f, str) and f for f in families),
            f"a task names its `families`, each once; got {families!r}",
        )
        scores = [score.spec.name for score in load_scores(task, (), str(self.parameter_file()))]
        promise(task.metric in scores, f"`metric` is one of its scores, {', '.join(scores)}; got {task.metric!r}")
        promise(task.control_rate > 0, f"`control_rate` is above 0 Hz; got {task.control_rate!r}")
        promise(scenes.physics_step > 0, f"`scenes.physics_step` is above 0 s; got {scenes.physics_step!r}")
        steps_per_control(task, str(self.parameter_file()))
        limit = task.step_limit
        promise(isinstance(limit, int) and limit >= 1, f"`step_limit` is a whole number from 1; got {limit!r}")
        start = scenes.start_position
        promise(
            start is None or (len(start) == 3 and all(map(math.isfinite, start))),
            f"`scenes.start_position` is x, y and z in metres, or None where scenes have the "
            f"robot's pose; got {start!r}",
        )
        region = scenes.region
        promise(
            region is None or (len(region) == 3 and all(low <= high for low, high in region)),
            f"`scenes.region` is the least and greatest x, y and z in metres, or None; got {region!r}",
        )
        promise(
            0.0 <= scenes.clear_height < math.inf,
            f"`scenes.clear_height` is a height in metres, or 0; got {scenes.clear_height!r}",
        )
        for uri in (scenes.world, *scenes.models.values()):
            try:
                there = resolve_uri(uri.partition("#")[0]).is_file()
            except ConfigurationError:  # the URI of another package
                there = False
            promise(
                there,
                f"`scenes.world` and `scenes.models` name files that exist; there is no {uri}",
            )

    def test_the_same_seed_draws_the_same_instance(self) -> None:
        """A draw depends on its generator alone."""
        task = self.task()
        for seed, first in enumerate(self.drawn()[:3]):
            promise(
                self.draw(task, seed) == first,
                f"`sample` draws from the generator that it is given alone; seed {seed} gave another instance "
                "the second time",
            )
            promise(
                self.draw(self.made(), seed) == first,
                f"two tasks of one file draw the same; seed {seed} gave another instance",
            )
        promise(len({x.scene for x in self.drawn()}) > 1, "another seed draws another scene; all scenes are the same")

    def test_an_instance_is_what_was_asked_for(self) -> None:
        """It has the right id, task, objects and robot's start."""
        task, models = self.task(), self.task().scenes.models
        for seed, instance in enumerate(self.drawn()):
            promise(
                (instance.instance_id, instance.task) == (f"x{seed}", task.name),
                f"an instance has the id that it was given and the task's name; got '{instance.instance_id}' and "
                f"'{instance.task}' in place of 'x{seed}' and '{task.name}'",
            )
            strangers = sorted({o.model for o in instance.scene} - set(models))
            promise(not strangers, f"every object of a scene has one of the `models`; not so: {', '.join(strangers)}")
            start = robot_start(task, instance.scene)
            promise(all(map(math.isfinite, start.position)), f"the robot's start is finite; got {start.position}")

    def test_a_trial_ends_within_the_limit(self) -> None:
        """That of an instance is at most the task's."""
        for instance in self.drawn():
            limit = self.task().limit(instance)
            promise(
                isinstance(limit, int) and 1 <= limit <= self.task().step_limit,
                f"`limit` is a whole number from 1 to `step_limit`, {self.task().step_limit}; got {limit!r}",
            )

    def test_moving_parts_are_with_their_objects_and_on_their_joints(self) -> None:
        """Only a task with drawers, doors or knobs is checked: where instances start, and where their plans end."""
        task = self.task()
        parts = moving_parts(task.scenes.models.values())
        for instance in self.drawn() if parts else ():
            for scene in (instance.scene, task.planner.plan(instance.instruction, instance.scene).final_scene):
                own = {
                    item.name: [part.name for model, part in parts.items() if whole_of(model) == item.model]
                    for item in scene
                }
                lacks = sorted({f"{name}{PART}{part}" for name in own for part in own[name]} - set(scene.names))
                promise(not lacks, f"a scene has all moving parts of its objects; one lacks {', '.join(lacks)}")
                for item in (item for item in scene if item.model in parts):
                    joint, whole = parts[item.model].joint, scene[whole_of(item.name)].pose
                    off = part_pose(whole, joint, position_in(scene, item.name, joint)).distance_to(item.pose)
                    promise(
                        off <= NEAR, f"a moving part is where its joint lets it be; '{item.name}' is {off:.4f} m away"
                    )

    def test_every_model_has_an_outline(self) -> None:
        """A polygon in the object's frame, empty for an object that covers nothing; other names are refused."""
        scenes = self.task().scenes
        for model in scenes.models:
            outline = np.asarray(scenes.outline(model), dtype=float)
            if not outline.size:
                continue
            promise(
                outline.ndim == 2 and outline.shape[0] >= 3 and outline.shape[1] == 2 and np.isfinite(outline).all(),
                f"`outline` gives three or more corners (x, y), or none; '{model}' has the shape {outline.shape}",
            )
            x, y = outline.T
            promise(
                abs(float((x * np.roll(y, -1) - y * np.roll(x, -1)).sum())) > 0.0, f"'{model}' covers an area above 0"
            )
        refuses(lambda: scenes.outline("no such model"), KeyError, "`outline` raises KeyError for an unknown model")

    def test_an_instance_is_not_solved_at_its_start(self) -> None:
        """Such a trial would measure nothing."""
        for instance in self.drawn():
            goal = self.goal_of(self.task(), instance)
            promise(
                not goal.satisfied(instance.scene),
                f"an instance is not solved at its start; '{instance.instruction.text}' is, in {instance.instance_id}",
            )

    def test_the_plan_reaches_the_goal(self) -> None:
        """Its length is the instance's."""
        task = self.task()
        for instance in self.drawn():
            words = f"'{instance.instruction.text}' ({instance.instance_id})"
            plan = task.planner.plan(instance.instruction, instance.scene)
            promise(
                isinstance(plan, Plan),
                f"every instance that is drawn is feasible; `planner.plan` gives no plan for {words}, but {plan!r}",
            )
            path = np.asarray(plan.path, dtype=float)
            promise(
                path.ndim == 2 and path.shape[1] == path_dimensions(task) and np.isfinite(path).all(),
                f"a plan's path has finite points of {path_dimensions(task)} coordinates (`path_dimensions`); that of "
                f"{words} has the shape {path.shape}",
            )
            start = robot_start(task, instance.scene).position[: path_dimensions(task)]
            promise(
                math.dist(path[0], start) <= NEAR,
                f"a plan's path begins where the robot starts, {start}; that of {words} begins at {tuple(path[0])}",
            )
            promise(
                self.goal_of(task, instance).satisfied(plan.final_scene),
                f"the plan reaches the goal; that of {words} ends where the goal is not satisfied",
            )
            promise(
                set(plan.final_scene.names) == set(instance.scene.names),
                f"a plan's final scene has the objects of the first; that of {words} has others",
            )
            promise(plan.length > 0.0, f"an instance that is not solved takes a path; that of {words} is of length 0")
            promise(
                abs(plan.length - instance.optimal_path_length) <= NEAR,
                f"`optimal_path_length` is the plan's length, {plan.length} m; {words} has "
                f"{instance.optimal_path_length} m",
            )

    def test_the_distance_is_0_exactly_where_the_goal_is_satisfied(self) -> None:
        """This holds between the start and the planned end."""
        for instance in self.drawn():
            goal = self.goal_of(self.task(), instance)
            for scene in self.between(instance):
                distance, satisfied = goal.distance(scene), goal.satisfied(scene)
                promise(
                    math.isfinite(distance) and distance >= 0.0,
                    f"`distance` is a number of metres from 0; got {distance!r}",
                )
                promise(
                    (distance == 0.0) == bool(satisfied),
                    f"`distance` is 0 exactly where the goal is satisfied; for '{instance.instruction.text}' it is "
                    f"{distance} m where `satisfied` is {satisfied}",
                )

    def between(self, instance: TestInstance) -> Iterator[Scene]:
        """Return scenes on the way from an instance's start to its planned end."""
        end = self.task().planner.plan(instance.instruction, instance.scene).final_scene
        yield from (between(instance.scene, end, share) for share in (0.0, 0.3, 0.6, 0.9, 1.0))
        yield end

    def test_words_and_structure_of_an_instruction_agree(self) -> None:
        """Parsing the words gives the structure."""
        language = self.task().language
        for seed, instance in enumerate(self.drawn()):
            said = instance.instruction
            promise(said.text.strip(), "an instruction has words; got an empty text")
            self.understood(said, instance.scene)
            again, once_more = (language.realise(said, instance.scene, np.random.default_rng(seed)) for _ in range(2))
            promise(
                again == once_more, f"`realise` draws from the generator that it is given alone; not so for {said!r}"
            )
            promise(
                (again.family, again.arguments) == (said.family, said.arguments),
                f"`realise` changes words alone; it made {again!r} of {said!r}",
            )
            self.understood(again, instance.scene)
        refuses(
            lambda: language.parse("what no grammar knows: zzyzx", self.drawn()[0].scene),
            ValueError,
            "`parse` raises ValueError for words that the grammar does not know",
        )

    def understood(self, said: object, scene: Scene) -> None:
        """Check that `parse` gives an instruction back."""
        found = self.task().language.parse(said.text, scene)
        promise(
            found == said, f"`parse` gives back the structure that was put into words: expected {said!r}, got {found!r}"
        )

    def test_conditions_are_listed_once_each(self) -> None:
        """Each condition has words."""
        conditions = list(islice(self.task().language.conditions(), 100_000))
        promise(conditions, "`conditions` lists at least one condition")
        structures = {(c.family, c.arguments) for c in conditions}
        promise(
            len(structures) == len(conditions),
            f"`conditions` lists each condition once; of {len(conditions)}, {len(structures)} differ",
        )
        promise(all(c.text for c in conditions), "every condition of `conditions` is in words")

    def test_an_instance_can_be_made_again_and_none_is_made_where_it_is_solved(self) -> None:
        """``make_instance`` and ``sample`` agree."""
        task = self.task()
        for instance in self.drawn():
            made = task.make_instance(instance.instance_id, instance.instruction, instance.scene)
            promise(
                isinstance(made, TestInstance) and replace(made, problem="") == replace(instance, problem="", after=""),
                f"`make_instance` makes of an instance's instruction and scene the instance: expected {instance!r}, "
                f"got {made!r}",
            )
            end = task.planner.plan(instance.instruction, instance.scene).final_scene
            if self.goal_of(task, replace(instance, scene=end)).satisfied(end):
                none = task.make_instance("solved", instance.instruction, end)
                promise(
                    isinstance(none, Infeasible) and none.reason,
                    f"`make_instance` answers Infeasible, with a reason, where the instruction is fulfilled already; "
                    f"for '{instance.instruction.text}' it gives {none!r}",
                )

    def test_a_reworded_instruction_is_understood(self) -> None:
        """Only a task that can change instructions part by part is checked."""
        rewording = self.task().rewording
        for seed, instance in enumerate(self.drawn() if rewording else ()):
            scene, rng = instance.scene, np.random.default_rng(seed)
            drawn = instance.instruction
            for said in (drawn, replace(drawn, text="do it", segments=(), meant=drawn.text)):
                for what, other in (
                    ("`reword` of no argument", rewording.reword(said, {}, scene, rng)),
                    ("`rephrase`", rewording.rephrase(said, scene, rng)),
                ):
                    promise(
                        (other.family, other.arguments, other.meant) == (said.family, said.arguments, ""),
                        f"{what} keeps the meaning, and says it itself; it made {other!r} of {said!r}",
                    )
                    self.understood(other, scene)

    def test_the_premise_holds_in_every_scene_that_is_drawn(self) -> None:
        """Only a task with a premise is checked."""
        task = self.task()
        for instance in self.drawn() if task.premise else ():
            reason = task.premise(instance.instruction, instance.scene)
            promise(
                reason is None,
                f"the `premise` holds where an instance is drawn; '{instance.instruction.text}': {reason}",
            )

    def test_what_a_goal_has_besides_fits_it(self) -> None:
        """Subgoals are in order, and regions on the map, if it has them."""
        for instance in self.drawn():
            goal, scene = self.goal_of(self.task(), instance), instance.scene
            if isinstance(goal, StagedGoal):
                promise(goal.subgoals, "a goal with `subgoals` has at least one")
                promise(goal.reach > 0.0, f"`reach` is above 0 m; got {goal.reach!r}")
                for subgoal in goal.subgoals:
                    strangers = sorted(set((getattr(subgoal, "holding", None) or AT_ONCE).still) - set(scene.names))
                    promise(not strangers, f"what is `still` is in the scene; not so: {', '.join(strangers)}")
                for where in self.between(instance):
                    promise(
                        goal.subgoals[-1].satisfied(where) or not goal.satisfied(where),
                        "the last subgoal is satisfied wherever the goal is",
                    )
            if isinstance(goal, RegionGoal):
                regions = goal.regions(scene)
                promise(
                    regions and all(len(region) >= 3 and np.isfinite(region).all() for region in regions),
                    f"`regions` gives polygons of three or more corners; got {regions!r}",
                )
