"""Every contract refuses what does not keep it, with a message that names the promise."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from itertools import count
from pathlib import Path
from unittest import SkipTest

import numpy as np
import pytest
from line_world import (
    AlreadySolved,
    Invert,
    LineGoal,
    LineGoals,
    LineLanguage,
    LinePlanner,
    LineScenes,
    LineTask,
    MoveSource,
    line,
)

from robocontrast_ros.analysis.foreign.outcomes import Outcome, ResultSet, outcome
from robocontrast_ros.contracts.backend import BackendContract
from robocontrast_ros.contracts.judge import JudgeContract
from robocontrast_ros.contracts.observation_filter import ObservationFilterContract
from robocontrast_ros.contracts.perturbation import PerturbationContract
from robocontrast_ros.contracts.policy import PolicyContract
from robocontrast_ros.contracts.result_format import ResultFormatContract
from robocontrast_ros.contracts.robot import RobotContract
from robocontrast_ros.contracts.score import ScoreContract
from robocontrast_ros.contracts.strategy import StrategyContract
from robocontrast_ros.contracts.task import TaskContract
from robocontrast_ros.domain import NotApplicable, ObjectState, Perturbed, Pose, Scene, ScoreSpec
from robocontrast_ros.episodes.bench import SetUpOutcome
from robocontrast_ros.episodes.judging import Outside, TrueScene
from robocontrast_ros.episodes.scoring.score import OfTrial
from robocontrast_ros.objects import SHIPPED, model_of_uri, with_parts
from robocontrast_ros.objects.joints import part_pose
from robocontrast_ros.observations.cameras import MovedCamera
from robocontrast_ros.policies.protocol import PolicyDescription
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.robots.profile_base import Shape
from robocontrast_ros.strategies.limited_intervention import LimitedIntervention
from robocontrast_ros.strategies.protocol import PerturbationUse, Proposal, Strategy
from robocontrast_ros.strategies.repeats import run_repeats
from robocontrast_ros.strategies.standard import Standard
from robocontrast_ros.tasks.protocol import Infeasible
from robocontrast_ros.worlds.backends import BackendFeatures
from robocontrast_ros.worlds.mujoco.world import World


def check(contract, test, **attributes):
    """Run one test of a contract on something, as pytest would."""
    case = type("Case", (contract,), attributes)()
    getattr(case, test)()


def broken(made, **attributes):
    """Return a class like another with some attributes changed."""
    return type("Broken", (made,), attributes)


STOVE = model_of_uri(f"{SHIPPED}/kitchen/stove.yaml#plain")
KNOB = STOVE.joints[0].joint


def stove(knob=1.0, raised=0.0):
    """Return a stove and its knob, turned so far [rad] and raised [m]."""
    here = Pose((0.4, 0.0, 0.0))
    at = part_pose(here, KNOB, knob)
    x, y, z = at.position
    part = ObjectState("stove/knob", f"{STOVE.model}/knob", replace(at, position=(x, y, z + raised)))
    return ObjectState("stove", STOVE.model, here), part


# -- tasks --------------------------------------------------------------------------------------

numbers = count()


class Unseeded(LineTask):
    def sample(self, rng, instance_id, family=None):
        return super().sample(np.random.default_rng(next(numbers)), instance_id, family)


class SolvedAtTheStart(LineTask):
    def sample(self, rng, instance_id, family=None):
        drawn = super().sample(rng, instance_id, family)
        return replace(drawn, scene=self.planner.plan(drawn.instruction, drawn.scene).final_scene)


class Unfaithful(LinePlanner):
    def plan(self, instruction, scene):
        plan = super().plan(instruction, scene)
        return plan if isinstance(plan, Infeasible) else replace(plan, final_scene=scene)


class Forgetful(LineLanguage):
    def parse(self, text, scene):
        return replace(super().parse(text, scene), arguments=())


class Rough(LineGoal):
    def distance(self, scene):
        return 0.0 if super().distance(scene) < 0.3 else 1.0

    def satisfied(self, scene):
        return super().distance(scene) == 0.0


class RoughGoals(LineGoals):
    def goal(self, instruction, start):
        return Rough(instruction.get("source"), instruction.get("place"), instruction.get("target"))


class Repeating(LineLanguage):
    def conditions(self):
        yield from super().conditions()
        yield from super().conditions()


class Indulgent(LineTask):
    def make_instance(self, instance_id, instruction, scene):
        made = super().make_instance(instance_id, instruction, scene)
        elsewhere = line(a=0.3, b=0.5, c=0.7, d=0.99)
        return super().make_instance(instance_id, instruction, elsewhere) if isinstance(made, Infeasible) else made


class Muddled(LineLanguage):
    arguments = ("source",)

    def reword(self, instruction, arguments, scene, rng):
        return instruction

    def rephrase(self, instruction, scene, rng):
        return next(c for c in self.conditions() if c.arguments != instruction.arguments)


def with_scenes(**attributes):
    """Return the class of the line's task with other attributes of its scenes."""
    return broken(LineTask, name="x", scenes=broken(LineScenes, **attributes)())


def with_language(language):
    """Return the class of the line's task with another language."""
    return broken(LineTask, language=language())


def beside_a_stove(*objects):
    """Return the class of the line's task with some objects of a stove in each scene."""

    def sample(self, rng, instance_id, family=None):
        drawn = LineTask.sample(self, rng, instance_id, family)
        return replace(drawn, scene=replace(drawn.scene, objects=(*drawn.scene.objects, *objects)))

    return broken(with_scenes(models={**LineScenes.models, **with_parts([STOVE])}), sample=sample)


@pytest.mark.parametrize(
    ("task", "test", "message"),
    [
        (broken(LineTask, metric="beauty"), "it_says_what_a_session_has_to_know", "`metric` is one of .*'beauty'"),
        (LineTask, "it_says_what_a_session_has_to_know", "files that exist; there is no package://line"),
        (broken(LineTask, step_limit=0.5), "it_says_what_a_session_has_to_know", "`step_limit` is a whole number"),
        (Unseeded, "the_same_seed_draws_the_same_instance", "from the generator that it is given alone"),
        (
            with_scenes(models={}),
            "an_instance_is_what_was_asked_for",
            "has one of the `models`",
        ),
        (
            beside_a_stove(stove()[0]),
            "moving_parts_are_with_their_objects_and_on_their_joints",
            "has all moving parts of its objects; one lacks stove/knob",
        ),
        (
            beside_a_stove(*stove(raised=0.02)),
            "moving_parts_are_with_their_objects_and_on_their_joints",
            "'stove/knob' is 0.0200 m away",
        ),
        (
            with_scenes(outline=lambda s, m: ((0, 0),)),
            "every_model_has_an_outline",
            "three or more corners",
        ),
        (SolvedAtTheStart, "an_instance_is_not_solved_at_its_start", "is not solved at its start"),
        (broken(LineTask, planner=Unfaithful()), "the_plan_reaches_the_goal", "the plan reaches the goal"),
        (
            with_scenes(start_position=(0.5, 0.0, 0.0)),
            "the_plan_reaches_the_goal",
            "path begins where the robot starts",
        ),
        (
            broken(LineTask, goals=RoughGoals()),
            "the_distance_is_0_exactly_where_the_goal_is_satisfied",
            "0 exactly where the goal is satisf",
        ),
        (
            with_language(Forgetful),
            "words_and_structure_of_an_instruction_agree",
            "`parse` gives back the structure",
        ),
        (
            with_language(broken(LineLanguage, parse=lambda s, text, scene: next(s.conditions()))),
            "words_and_structure_of_an_instruction_agree",
            "`parse` gives back the structure",
        ),
        (
            with_language(Repeating),
            "conditions_are_listed_once_each",
            "lists each condition once; of 48, 24 differ",
        ),
        (
            Indulgent,
            "an_instance_can_be_made_again_and_none_is_made_where_it_is_solved",
            "answers Infeasible, with a reason, where the instruction is fulfilled already",
        ),
        (
            broken(LineTask, rewording=Muddled()),
            "a_reworded_instruction_is_understood",
            "`rephrase` keeps the meaning",
        ),
        (
            broken(LineTask, premise=staticmethod(lambda instruction, scene: "no block is red")),
            "the_premise_holds_in_every_scene_that_is_drawn",
            "the `premise` holds where an instance is drawn; .*: no block is red",
        ),
    ],
)
def test_a_task_that_breaks_a_promise_is_refused_by_it(task, test, message):
    with pytest.raises(AssertionError, match=message):
        check(TaskContract, f"test_{test}", made=lambda self: task(), parameter_file=lambda self: Path("line.yaml"))


# -- strategies ---------------------------------------------------------------------------------


class Shuffled(Standard):
    def run(self, context):
        order = np.random.default_rng(next(numbers)).permutation(len(context.test_set))
        yield from super().run(replace(context, test_set=tuple(context.test_set[k] for k in order)))


class Endless(Standard):
    def run(self, context):
        while True:
            yield from super().run(context)


class Changing(Standard):
    """Changes each of its proposals, as `changed` says."""

    def run(self, context):
        trials, answer = super().run(context), None
        while True:
            try:
                answer = yield self.changed(context, trials.send(answer))
            except StopIteration:
                return


class WithMemory(Changing):
    runs = 0

    def run(self, context):
        self.runs += 1
        yield from super().run(context)

    def changed(self, context, proposal):
        return replace(proposal, note=f"run {self.runs}")


class Misnamed(Changing):
    def changed(self, context, proposal):
        return replace(proposal, perturbation="upside_down")


class Solved(Changing):
    def changed(self, context, proposal):
        instance = proposal.instance
        scene = context.task.planner.plan(instance.instruction, instance.scene).final_scene
        return replace(proposal, instance=replace(instance, scene=scene))


class Elsewhere(Changing):
    base_trials_iid = False

    def changed(self, context, proposal):
        return replace(proposal, instance=context.test_set[0])


class Once(Standard):
    def run(self, context):
        yield from super().run(replace(context, repeats=1))


class Silent(Standard):
    def run(self, context):
        yield from super().run(replace(context, test_set=context.test_set[1:]))


class Backwards(Standard):
    def run(self, context):
        yield from super().run(replace(context, test_set=context.test_set[::-1]))


class Dependent(Changing):
    def run(self, context):
        self.first = context.test_set[0].instance_id
        yield from super().run(context)

    def changed(self, context, proposal):
        return replace(proposal, note=f"after {self.first}")


class Attached(LimitedIntervention):
    blocks_independent = True


class Underestimating(Standard):
    def trials_expected(self, context):
        return 1


class Looking(Standard):
    def run(self, context):
        for base in context.test_set:
            for repeat in range(context.repeats):
                completed = yield Proposal(base.instance_id, base, repeat=repeat)
                if not completed.result.scores:
                    return


class GivingUp(Standard):
    def run(self, context):
        for base in context.test_set:
            if not (yield from run_repeats(Proposal(base.instance_id, base), context.repeats)):
                return


class Nameless(Strategy):
    description, uses_perturbations, base_trials_iid = "none", PerturbationUse.NONE, False


class Wordless(Standard):
    uses_perturbations = "none"


class Talking(Standard):
    def run(self, context):
        yield "hello"


@pytest.mark.parametrize(
    ("strategy", "test", "message"),
    [
        (Nameless, "it_says_what_it_is", "a strategy has name, .* it lacks name"),
        (Wordless, "it_says_what_it_is", "one of the enum PerturbationUse; got 'none'"),
        (Shuffled, "the_same_results_give_the_same_trials", "the same results yields the same trials"),
        (WithMemory, "the_same_results_give_the_same_trials", "in an object that was used before, step 0"),
        (Endless, "there_are_no_more_trials_than_were_expected", "a strategy ends; after 2000 trials"),
        (Talking, "there_are_no_more_trials_than_were_expected", "yields Proposal or Skipped; got 'hello'"),
        (Misnamed, "every_trial_is_of_a_test_instance_and_is_named_after_what_was_perturbed", "named `base`"),
        (Elsewhere, "every_trial_is_of_a_test_instance_and_is_named_after_what_was_perturbed", "has another"),
        (Solved, "no_trial_is_solved_or_infeasible_at_its_start", "goal holds at its start"),
        (Once, "each_instance_is_run_as_often_as_the_repeats_say", r"has the repeats \[0\], not \[0, 1\]"),
        (
            Silent,
            "what_is_left_out_is_said_with_a_reason_and_without_a_budget_nothing_else_is",
            "run or skipped with a reason; not so: x0",
        ),
        (Looking, "it_goes_on_where_a_trial_is_left_out", "it raises AttributeError"),
        (GivingUp, "it_goes_on_where_a_trial_is_left_out", "after that it leaves out x1, x2, x3, x4, too"),
        (Underestimating, "there_are_no_more_trials_than_were_expected", "an upper bound; it said 1, and 10"),
        (Backwards, "base_trials_that_are_said_to_be_a_random_sample_are_one", "in the order of the test set"),
        (Backwards, "blocks_that_are_said_to_be_independent_can_be_run_alone", "together they are x4 base, "),
        (Dependent, "blocks_that_are_said_to_be_independent_can_be_run_alone", "are the same, in the order of"),
        (
            Attached,
            "blocks_that_are_said_to_be_independent_are_the_same_on_their_own",
            "the trials of each test instance are the same when it is run on its own",
        ),
        (Elsewhere, "a_full_reset_starts_in_the_scene_of_the_test_instance", "is to another"),
    ],
)
def test_a_strategy_that_breaks_a_promise_is_refused_by_it(strategy, test, message):
    attributes = {
        "make": lambda self: strategy(),
        "task": lambda self: LineTask(),
        "perturbations": lambda self: (Invert(), MoveSource()),
    }
    with pytest.raises(AssertionError, match=message):
        check(StrategyContract, f"test_{test}", **attributes)


# -- perturbations ------------------------------------------------------------------------------


class AnyPlace(MoveSource):
    def apply(self, task, base, scene, rng):
        return super().apply(task, base, scene, np.random.default_rng(next(numbers)))


class Anonymous(Invert):
    def apply(self, task, base, scene, rng):
        answer = super().apply(task, base, scene, rng)
        if isinstance(answer, Perturbed):
            return replace(answer, instance=replace(answer.instance, instance_id=base.instance_id))
        return answer


class Untold(Invert):
    def apply(self, task, base, scene, rng):
        answer = super().apply(task, base, scene, rng)
        return NotApplicable("") if isinstance(answer, NotApplicable) else answer


@pytest.mark.parametrize(
    ("perturbation", "test", "message"),
    [
        (broken(Invert, symbol=""), "it_says_what_it_is", "has a `symbol`, a text; got ''"),
        (broken(Invert, axes="BL"), "it_says_what_it_is", "L, S, B and O, in this order; got 'BL'"),
        (broken(Invert, supports=lambda s, t: True), "it_says_which_tasks_it_supports", "false of a task that has no"),
        (Untold, "it_answers_with_an_instance_or_with_a_reason", "NotApplicable has a reason"),
        (
            broken(Invert, apply=lambda s, t, b, scene, rng: NotApplicable("never")),
            "it_answers_with_an_instance_or_with_a_reason",
            "applied to none: never",
        ),
        (
            broken(Invert, apply=lambda s, t, b, scene, rng: None),
            "it_answers_with_an_instance_or_with_a_reason",
            "Perturbed or NotApplicable; got None",
        ),
        (AnyPlace, "the_same_generator_gives_the_same_answer", "from the generator that it is given alone"),
        (AlreadySolved, "what_comes_out_is_feasible_and_not_solved", "not solved at its start"),
        (Anonymous, "what_comes_out_is_feasible_and_not_solved", "has an id of its own"),
        (broken(MoveSource, axes="LB"), "nothing_but_its_axes_is_changed", "with L in `axes` other words are said"),
        (broken(Invert, axes="SB"), "nothing_but_its_axes_is_changed", "without L in `axes` the instruction stays"),
        (broken(Invert, axes="L"), "nothing_but_its_axes_is_changed", "L without B keeps the meaning"),
        (broken(Invert, axes="LSB"), "nothing_but_its_axes_is_changed", "with S in `axes` an object is moved"),
    ],
)
def test_a_perturbation_that_breaks_a_promise_is_refused_by_it(perturbation, test, message):
    with pytest.raises(AssertionError, match=message):
        check(
            PerturbationContract,
            f"test_{test}",
            make=lambda self: perturbation(),
            task=lambda self: LineTask(),
        )


# -- policies -----------------------------------------------------------------------------------


class Steady:
    """Keeps its contract: always the same small step, of which the seed decides the side."""

    cameras = ()

    def describe(self):
        return PolicyDescription("steady", "planar_delta", 2, cameras=self.cameras)

    def reset(self, instruction, seed):
        self.rng = np.random.default_rng(seed)

    def act(self, observation):
        return self.rng.normal(scale=0.01, size=(1, 2))


class Lucky(Steady):
    def act(self, observation):
        return np.random.default_rng(next(numbers)).normal(size=(1, 2))


class Single(Steady):
    def act(self, observation):
        return super().act(observation).astype(np.float32)


class Flat(Steady):
    def act(self, observation):
        return super().act(observation)[0]


class Undefined(Steady):
    def act(self, observation):
        return np.full((1, 2), np.nan)


class Remembering(Steady):
    trials = 0

    def reset(self, instruction, seed):
        super().reset(instruction, seed + self.trials)
        self.trials += 1


class Peeping(Steady):
    def act(self, observation):
        return np.array([observation.scene["red_moon"].pose.xy])


class Looking(Steady):
    def act(self, observation):
        return super().act(observation) * observation.images["wrist"].mean()


class Painting(Steady):
    cameras = ("board",)

    def act(self, observation):
        observation.images["board"][:] = 0
        return super().act(observation)


class Moody(Steady):
    def describe(self):
        return replace(super().describe(), name=f"moody {next(numbers)}")


class Heating(Steady):
    warm = 0

    def reset(self, instruction, seed):
        super().reset(instruction, seed + self.warm)

    def warm_up(self):
        self.warm = 1


class Seeing(Steady):
    """Takes pictures and masks; the number of what it sees decides its steps, too."""

    def describe(self):
        return replace(super().describe(), referents="crop", mask="native")

    def reset_segments(self, segments, seed):
        self.reset("", seed + sum(segment.visible for segment in segments))


class Promising(Steady):
    def describe(self):
        return Seeing().describe()


class Named(Seeing):
    def reset_segments(self, segments, seed):
        self.reset("".join([segment.text[0] for segment in segments]), seed)


class Dreaming(Seeing):
    def reset_segments(self, segments, seed):
        self.reset("", next(numbers))


class Picturing(Seeing):
    seen = 0

    def reset(self, instruction, seed):
        super().reset(instruction, seed + self.seen)

    def reset_segments(self, segments, seed):
        super().reset_segments(segments, seed)
        self.seen += any(segment.crop is not None for segment in segments)


@pytest.mark.parametrize(
    ("policy", "test", "message"),
    [
        (Moody, "it_describes_itself", "describe themselves alike"),
        (Peeping, "what_it_declares_is_all_that_it_needs", r"cameras: none; without the ground truth\); it raises"),
        (Looking, "what_it_declares_is_all_that_it_needs", "raises KeyError: 'wrist'"),
        (Single, "an_answer_is_a_chunk_of_finite_double_precision_numbers", "array of float64; got float32"),
        (Flat, "an_answer_is_a_chunk_of_finite_double_precision_numbers", r"shape \(1 to 1, 2\); got \(2,\)"),
        (Undefined, "an_answer_is_a_chunk_of_finite_double_precision_numbers", "an answer is finite"),
        (Lucky, "the_same_seed_words_and_observations_give_the_same_answers", "the second time they were others"),
        (Remembering, "nothing_of_a_trial_is_left_in_the_next", "nothing is left of the trial before"),
        (Painting, "images_are_left_as_they_were", "leaves the images as they are; it changed board"),
        (Heating, "warming_up_leaves_no_trace_in_later_answers", "`warm_up` changes no later answer"),
        (Promising, "it_takes_segments_as_it_declares", r"has `reset_segments\(segments, seed\)`; it has not"),
        (Named, "it_takes_segments_as_it_declares", "after `reset_segments` with pictures; it raises IndexError"),
        (Dreaming, "it_takes_segments_as_it_declares", "with words the second were others"),
        (Picturing, "it_takes_segments_as_it_declares", "after `reset_segments` with pictures it answers otherwise"),
    ],
)
def test_a_policy_that_breaks_a_promise_is_refused_by_it(policy, test, message):
    with pytest.raises(AssertionError, match=message):
        check(PolicyContract, f"test_{test}", make=lambda self: policy())


def test_a_policy_that_takes_segments_keeps_its_promise():
    check(PolicyContract, "test_it_takes_segments_as_it_declares", make=lambda self: Seeing())


def test_a_policy_without_the_optional_methods_is_not_asked_for_them():
    class TestSteady(PolicyContract):
        def make(self):
            return Steady()

    with pytest.raises(SkipTest, match="it takes text alone"):
        TestSteady().test_it_takes_segments_as_it_declares()
    for name in ("warming_up_leaves_no_trace_in_later_answers", "its_file_says_what_it_says_itself"):
        with pytest.raises(SkipTest, match="it has no"):
            getattr(TestSteady(), f"test_{name}")()


# -- scores -------------------------------------------------------------------------------------


class Odd(OfTrial):
    """A score that is changed where it is to break a promise."""

    spec = ScoreSpec("odd", "odd", "", 0.0, 1.0, "higher", True, "nothing", "an odd number")

    def value(self, end):
        return min(self.trial.path.length, 1.0)


class Percent(Odd):
    def value(self, end):
        return 100.0 * super().value(end)


class Halves(Odd):
    spec = replace(Odd.spec, unit="count")


class Whole(Odd):
    def value(self, end):
        return 1


class Never(Odd):
    def value(self, end):
        return np.nan


class Common(Odd):
    seen = 0.0

    def update(self, sample):
        type(self).seen += 1e-3

    def value(self, end):
        return type(self).seen % 1.0


class Counting(Odd):
    asked = 0.0

    def value(self, end):
        self.asked += 1e-3
        return self.asked


class Surprising(Odd):
    def value(self, end):
        return 1.0 if end.stopped else 0.5


class Early(Odd):
    def update(self, sample):
        self.last = sample

    def value(self, end):
        return 0.0 * self.last.stamp


@pytest.mark.parametrize(
    ("score", "test", "message"),
    [
        (broken(Odd, spec="odd"), "it_says_what_it_is", "a ScoreSpec; got 'odd'"),
        (broken(Odd, spec=replace(Odd.spec, symbol="")), "it_says_what_it_is", "has a `symbol`, a text; got ''"),
        (broken(Odd, spec=replace(Odd.spec, better="more")), "it_says_what_it_is", "lower, or empty; got 'more'"),
        (Percent, "its_values_are_in_its_range", "within its range, 0 to 1, or NaN where there is none; at step"),
        (Halves, "its_values_are_in_its_range", "unit `count` is a whole number"),
        (Whole, "its_values_are_in_its_range", "a score's value is a float; .* it is 1$"),
        (Never, "its_values_are_in_its_range", "a value at the end of some trial"),
        (Common, "the_same_samples_give_the_same_values", "on its own samples alone"),
        (Counting, "asking_for_the_value_does_not_change_it", "`value` changes nothing; asked three times"),
        (Surprising, "the_last_live_value_is_the_one_at_the_end", "is its value at the end"),
        (Early, "a_trial_without_a_step_has_a_value_or_nan", "a trial that ends before its first step; it raises"),
    ],
)
def test_a_score_that_breaks_a_promise_is_refused_by_it(score, test, message):
    with pytest.raises(AssertionError, match=message):
        check(ScoreContract, f"test_{test}", make=lambda self: score, task=lambda self: LineTask())


# -- judges -------------------------------------------------------------------------------------


class Changed(TrueScene):
    """Says what the true scene says, changed by `change`."""

    def begin(self, task, instance, start_scene):
        return self.change(super().begin(task, instance, start_scene))


class Says:
    """A judgement that says what another does, but for what is given."""

    def __init__(self, judging, **said):
        self._judging, self._said = judging, said

    def __getattr__(self, name):
        return self._said[name](self._judging) if name in self._said else getattr(self._judging, name)


class Generous(Changed):
    def change(self, judging):
        return Says(judging, succeeded=lambda j: True)


class Boastful(Changed):
    def change(self, judging):
        return Says(judging, progress=lambda j: 100.0 * j.progress)


class Forgiving(Changed):
    def change(self, judging):
        return Says(judging, succeeded=lambda j: j.holds)


class Severe(Changed):
    def change(self, judging):
        return Says(judging, success=lambda j: lambda stopped: stopped and j.success(stopped))


class Shared(TrueScene):
    def begin(self, task, instance, start_scene):
        self.__dict__["judging"] = self.__dict__.get("judging") or super().begin(task, instance, start_scene)
        return self.__dict__["judging"]


class Deaf(Outside):
    def begin(self, task, instance, start_scene):
        judging = super().begin(task, instance, start_scene)
        judging.tell = lambda judgement: None
        return judging


@pytest.mark.parametrize(
    ("judge", "test", "message"),
    [
        (broken(TrueScene, asks="nobody"), "it_says_whether_it_asks_somebody", "True or False; got 'nobody'"),
        (Generous, "a_trial_begins_without_success", "begins without success; `succeeded` is true"),
        (Boastful, "what_it_says_is_in_range", "`progress` is from 0 to 1"),
        (Forgiving, "what_is_reached_stays_reached", "a success stays one, whatever comes later"),
        (Severe, "what_it_says_fits_together", "is a success, whoever ends it"),
        (Shared, "the_same_trial_is_judged_in_the_same_way", "by its own scenes alone"),
        (Deaf, "what_it_is_told_is_what_it_says", "what is told is what is said"),
    ],
)
def test_a_judge_that_breaks_a_promise_is_refused_by_it(judge, test, message):
    with pytest.raises(AssertionError, match=message):
        check(JudgeContract, f"test_{test}", make=lambda self: judge(), task=lambda self: LineTask())


# -- scene backends -----------------------------------------------------------------------------


class Person:
    """Keeps its contract: believes that what it asks for is done."""

    features = BackendFeatures()
    description = ""

    def __init__(self, context):
        self.now, self.present = context.now, Scene()

    def read(self):
        return self.now(), self.present

    def set_up(self, target, moves):
        self.present = target
        return SetUpOutcome(*self.read())


class Clumsy(Person):
    def set_up(self, target, moves):
        for move in moves:
            if move.goal is not None:
                x, y, z = move.goal.position
                target = target.moved(move.name, replace(move.goal, position=(x + 0.03, y, z)))
        return super().set_up(target, moves)


class Lazy(Person):
    def set_up(self, target, moves):
        return SetUpOutcome(self.now(), target)


class Crowding(Person):
    def set_up(self, target, moves):
        kept = tuple(o for o in self.present if o.name not in target)
        return super().set_up(replace(target, objects=(*target.objects, *kept)), moves)


class Stirring(Person):
    def set_up(self, target, moves):
        first = target.objects[0]
        x, y, z = first.pose.position
        return super().set_up(target.moved(first.name, replace(first.pose, position=(x, y + 0.002, z))), moves)


class Idle(Person):
    """Says that all is in its place, and moves nothing that is there already."""

    def set_up(self, target, moves):
        there = {o.name: o.pose for o in self.present}
        objects = tuple(replace(o, pose=there.get(o.name, o.pose)) for o in target)
        return super().set_up(replace(target, objects=objects), moves)


class Restless(Person):
    """Lays things out anew whenever it is asked, as far as the tolerance allows."""

    def read(self):
        x, y, z = self.present.objects[0].pose.position if self.present.objects else (0.0, 0.0, 0.0)
        for item in self.present.objects[:1]:
            self.present = self.present.moved(item.name, replace(item.pose, position=(x + 0.002, y, z)))
        return super().read()


class Timeless(Person):
    def read(self):
        return -super().read()[0], self.present


@pytest.mark.parametrize(
    ("backend", "test", "message"),
    [
        (broken(Person, features={}), "it_says_what_it_can_do", "a BackendFeatures; got {}"),
        (
            broken(Person, features=BackendFeatures(steps=True, streams=True)),
            "it_says_what_it_can_do",
            "say `streams` has `request`",
        ),
        (broken(Person, description=None), "it_says_what_it_can_do", "`description` is a text"),
        (broken(Person, read=lambda s: (np.nan, Scene())), "the_scene_is_known_before_one_was_set_up", "got nan"),
        (Clumsy, "a_scene_that_is_set_up_is_the_one_that_was_wanted", "is 0.030 m from its place"),
        (Lazy, "a_scene_that_is_set_up_is_the_one_that_was_wanted", "after `set_up`, `read` returns the objects"),
        (Timeless, "a_scene_that_is_set_up_is_the_one_that_was_wanted", "time does not go back"),
        (Stirring, "moves_are_carried_out_and_everything_else_stays", "without a move stays where it is"),
        (Idle, "moves_are_carried_out_and_everything_else_stays", "an object with a move is moved"),
        (Restless, "everything_stays_when_the_robot_alone_is_reset", r"everything stays .* is 0.00[2-8]0 m away"),
        (Crowding, "moves_are_carried_out_and_everything_else_stays", "the objects that were wanted"),
    ],
)
def test_a_backend_that_breaks_a_promise_is_refused_by_it(backend, test, message):
    with pytest.raises(AssertionError, match=message):
        check(
            BackendContract,
            f"test_{test}",
            make=lambda self, context: backend(context),
            task=lambda self: LineTask(),
        )


class TurningOff(Person):
    def set_up(self, target, moves):
        return super().set_up(target.moved("stove/knob", part_pose(target["stove"].pose, KNOB, 0.0)), moves)


class Detaching(Person):
    """Leaves a part where its object was."""

    def set_up(self, target, moves):
        if "stove/knob" in self.present and "stove/knob" in target and [m.name for m in moves] == ["stove"]:
            target = target.moved("stove/knob", replace(self.present["stove/knob"].pose, position=(0.0, 0.0, 0.5)))
        return super().set_up(target, moves)


class Jolting(Person):
    def set_up(self, target, moves):
        if [m.name for m in moves] == ["stove/knob"]:
            target = target.moved("stove", Pose((0.403, 0.0, 0.0)))
        return super().set_up(target, moves)


@pytest.mark.parametrize(
    ("backend", "test", "message"),
    [
        (Person, "a_part_is_moved_alone_and_keeps_its_state_with_its_object", ""),
        (TurningOff, "a_scene_that_is_set_up_is_the_one_that_was_wanted", "'stove/knob' is 1.000 rad away from it"),
        (TurningOff, "a_part_is_moved_alone_and_keeps_its_state_with_its_object", "each joint at its position"),
        (Detaching, "a_part_is_moved_alone_and_keeps_its_state_with_its_object", "'stove/knob' is .* m from its place"),
        (Jolting, "a_part_is_moved_alone_and_keeps_its_state_with_its_object", "'stove' is 0.0030 m away"),
    ],
)
def test_a_backend_that_loses_the_state_of_a_part_is_refused(backend, test, message):
    with pytest.raises(AssertionError, match=message) if message else nullcontext():
        check(
            BackendContract,
            f"test_{test}",
            make=lambda self, context: backend(context),
            task=lambda self: with_scenes(models=with_parts([STOVE]))(),
            wanted=lambda self: [Scene(stove())],
        )


@pytest.mark.parametrize("test", [name for name in dir(BackendContract) if name.startswith("test_")])
def test_a_backend_that_streams_nothing_keeps_the_contract(test):
    check(BackendContract, test, make=lambda self, context: Person(context), task=lambda self: LineTask())


# -- robots -------------------------------------------------------------------------------------

UR5E, LOCOBOT = load_profile("ur5e"), load_profile("locobot")
NARROW = tuple(replace(joint, upper=-2.0) if joint.name == "wrist_1_joint" else joint for joint in UR5E.joints)
LOW = replace(UR5E.links[1], shapes=(Shape("capsule", (0.0, 0.0, 0.0), (0.9, 0.0, 0.0), 0.05),))
TABLETOP = "package://robocontrast_ros/models/tabletop.xml"
IN_THE_WAY = Pose((0.5, 0.0, 0.2), Pose.planar(0.0, 0.0, np.pi).orientation)


class Loose(World):
    """Forgets where the arm is when something comes."""

    def spawn(self, name, pose, **of):
        super().spawn(name, pose, **of)
        self.step(200)


HASTY = replace(LOCOBOT.action_spaces.discrete_navigation, time_limit=0.3)


@pytest.mark.parametrize(
    ("robot", "test", "message"),
    [
        (
            {"profile": lambda self: replace(UR5E, name="my arm")},
            "it_says_what_a_session_has_to_know",
            "letters, digits and _, a letter first; got 'my arm'",
        ),
        (
            {"profile": lambda self: replace(UR5E, command=replace(UR5E.command, topic="/joints"))},
            "it_says_what_a_session_has_to_know",
            "topics are relative.*: /joints",
        ),
        ({"robot": "ur5e", "board": ((0.1, 1.5), (0, 0))}, "its_actions_lead_where_they_should", "reaches all of the"),
        (
            {"profile": lambda self: replace(UR5E, joints=NARROW)},
            "its_actions_lead_where_they_should",
            "keep 0.05 rad from their limits|reaches all of the board",
        ),
        (
            {"profile": lambda self: replace(UR5E, links=(UR5E.links[0], LOW, *UR5E.links[2:]))},
            "its_actions_lead_where_they_should",
            "goes where it is told; .* Look at `servo`, and at `links`",
        ),
        (
            {
                "profile": lambda self: replace(
                    LOCOBOT, action_spaces=replace(LOCOBOT.action_spaces, discrete_navigation=HASTY)
                )
            },
            "its_actions_lead_where_they_should",
            "on free floor FORWARD is not blocked; it says",
        ),
        (
            {"robot": "franka_hand", "world": TABLETOP, "beside": lambda self: IN_THE_WAY},
            "beside_drawers_it_is_the_same_robot_and_moves_none_that_it_does_not_touch",
            "a drawer that the robot does not touch stays as it is; one at 0.1 m is at 0.0",
        ),
        (
            {"robot": "franka_hand", "embedded": lambda self: Loose(self.profile(), TABLETOP)},
            "beside_drawers_it_is_the_same_robot_and_moves_none_that_it_does_not_touch",
            "leaves the sensors as they are",
        ),
    ],
)
def test_a_robot_that_breaks_a_promise_is_refused_by_it(robot, test, message):
    with pytest.raises(AssertionError, match=message):
        check(RobotContract, f"test_{test}", **robot)


# -- observation filters --------------------------------------------------------------------------


class Nudged(MovedCamera):
    """Keeps its contract."""


class Unmoved(Nudged):
    def offset(self, camera):
        return Pose()


class Swaying(Nudged):
    asked = 0

    def offset(self, camera):
        self.asked += 1
        return Pose((self.asked / 100, 0.0, 0.0)) if super().offset(camera) else None


class Sweeping(Nudged):
    def __init__(self, severity, camera, rng):
        super().__init__(severity, "", rng)


class Touching(Nudged):
    def apply(self, observation):
        return replace(observation, stamp=observation.stamp + 1)


@pytest.mark.parametrize(
    ("made", "test", "message"),
    [
        (Unmoved, "cameras_are_moved_each_in_the_same_way_whichever_others_there_are", "moves each camera; 'front' is"),
        (Swaying, "cameras_are_moved_each_in_the_same_way_whichever_others_there_are", "in the same way whichever"),
        (Sweeping, "cameras_are_moved_each_in_the_same_way_whichever_others_there_are", "'front' is moved, and no"),
        (broken(Nudged, of_images=False), "it_changes_something_and_of_images_nothing_else", "is one `of_images`"),
        (Touching, "names_shapes_and_types_stay", "the stamp stays"),
    ],
)
def test_an_observation_filter_that_breaks_a_promise_is_refused_by_it(made, test, message):
    check(ObservationFilterContract, f"test_{test}", make=lambda self: Nudged)
    with pytest.raises(AssertionError, match=message):
        check(ObservationFilterContract, f"test_{test}", make=lambda self: made)


# -- formats of results -------------------------------------------------------------------------


class Lines:
    """A format that keeps its promises."""

    description = "a .lines file"

    def matches(self, source):
        return source.endswith(".lines")

    def read(self, source):
        return ResultSet(tuple(outcome(instance=line, success=True) for line in Path(source).read_text().split()))


class Growing(Lines):
    number = count()

    def read(self, source):
        return ResultSet((outcome(instance=str(next(self.number)), success=True),))


@pytest.mark.parametrize(
    ("made", "test", "message"),
    [
        (broken(Lines, description=""), "it_says_what_it_reads", "`description` is a line of text; got ''"),
        (broken(Lines, matches=lambda s, _: True), "it_matches_its_own_results_alone", "returns False for"),
        (broken(Lines, matches=lambda s, _: None), "it_matches_its_own_results_alone", "True for its own result"),
        (Growing, "its_trials_are_records_that_are_read_again_alike", "read twice gives the same trials"),
        (
            broken(Lines, read=lambda s, _: ResultSet(())),
            "its_trials_are_records_that_are_read_again_alike",
            "`write` writes has trials",
        ),
        (
            broken(Lines, read=lambda s, _: ResultSet((Outcome(instance="a"),))),
            "its_trials_are_records_that_are_read_again_alike",
            "has a `void_reason`",
        ),
        (
            broken(Lines, read=lambda s, _: ResultSet((Outcome(score=50.0),))),
            "its_trials_are_records_that_are_read_again_alike",
            "from 0 to 1, or None; got 50.0",
        ),
    ],
)
def test_a_format_of_results_that_breaks_a_promise_is_refused_by_it(made, test, message):
    class Contract(ResultFormatContract):
        def make(self):
            return made()

        def write(self, folder):
            (folder / "r.lines").write_text("a\nb\n")
            return str(folder / "r.lines")

    with pytest.raises(AssertionError, match=message):
        getattr(Contract(), f"test_{test}")()
