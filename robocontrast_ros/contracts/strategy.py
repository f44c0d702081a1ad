"""The contract of strategies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest

import numpy as np

from robocontrast_ros.configuration import load_configured, make_plugin, resolve_uri
from robocontrast_ros.contracts.checking import has_all, once, promise
from robocontrast_ros.domain import BASE, Outcome, Scene, Start, TestInstance, TrialResult, find_spec
from robocontrast_ros.episodes.scoring import load_scores
from robocontrast_ros.perturbations.protocol import Perturbation
from robocontrast_ros.sessions.seeding import generator, trial_seed
from robocontrast_ros.strategies.effort import MetresMoved, setup_moves
from robocontrast_ros.strategies.prediction import result_of_success
from robocontrast_ros.strategies.protocol import (
    Completed,
    PerturbationUse,
    Proposal,
    Skipped,
    Strategy,
    StrategyContext,
    solved_at_start,
)
from robocontrast_ros.tasks.protocol import Plan, Task

ENDLESS = 2_000
"""Steps after which a strategy counts as endless."""


@dataclass(frozen=True)
class Step:
    """An item that a strategy yielded, and the answer to it; None if the trial was skipped or left out."""

    asked: Proposal | Skipped
    answer: Completed | None


class StrategyContract:
    """Inherit, and return a strategy from ``make``; by default the tests use Language-Table.

    Attributes:
        test_set_size: number of its test instances.
        repeats: number of runs of each.
    """

    test_set_size = 5
    repeats = 2

    def make(self) -> Strategy:
        """Return a strategy, made afresh."""
        raise NotImplementedError

    def task(self) -> Task:
        """Return the task of the tests."""
        return load_configured("tasks", resolve_uri("package://robocontrast_ros/config/tasks/language_table.yaml"))

    def perturbations(self) -> tuple[Perturbation, ...]:
        """Return perturbations that the task supports."""
        return tuple(make_plugin("perturbations", name, "the contract", "perturbations") for name in ("LB2", "SB2"))

    @once
    def context(self) -> StrategyContext:
        """Return the context of the strategy, without a budget."""
        task = self.task()
        draws = (task.sample(np.random.default_rng([1, n]), f"x{n}") for n in range(self.test_set_size))
        used = () if self.make().uses_perturbations is PerturbationUse.NONE else self.perturbations()
        metric = find_spec((score.spec for score in load_scores(task, (), "the contract")), task.metric)
        return StrategyContext(task, tuple(draws), used, self.repeats, partial(generator, 1), metric=metric)

    def played(
        self,
        strategy: Strategy,
        context: StrategyContext,
        seed: int = 0,
        until: Callable[[float], bool] | None = None,
        left_out: Callable[[Proposal], bool] = lambda proposal: False,
    ) -> list[Step]:
        """Run all trials, of which about a half succeed, and the others move nothing.

        Args:
            strategy: the strategy.
            context: its context.
            seed: seed of the choice of trials that succeed.
            until: takes the sum of the costs; true ends the run, as a session does at the end of its budget.
            left_out: returns whether a person leaves a trial out; the strategy is sent None for it.
        """
        steps: list[Step] = []
        trials, answer, spent, scene = strategy.run(context), None, 0.0, None
        while len(steps) < ENDLESS:
            try:
                asked = trials.send(answer)
            except StopIteration:
                return steps
            answer = None
            if not isinstance(asked, Proposal):
                promise(isinstance(asked, Skipped), f"a strategy yields Proposal or Skipped; got {asked!r}")
            elif not left_out(asked):
                cost = 0.0 if scene is None else _cost(scene, asked.instance.scene, context)
                if until is not None and until(spent + cost):
                    return steps
                spent += cost
                luck = np.random.default_rng([seed, trial_seed(0, asked.base_id, asked.repeat)]).random()
                answer = Completed(_result(context, asked.instance, luck < 0.5), cost)
                scene = answer.result.final_scene
            steps.append(Step(asked, answer))
        raise AssertionError(f"a strategy ends; after {ENDLESS} trials of {len(context.test_set)} instances it has not")

    @once
    def runs(self) -> tuple[list[Step], ...]:
        """Return runs with other successes, and one with too small a budget."""
        context = self.context()
        free = [self.played(self.make(), context, seed) for seed in (0, 1)]
        whole = sum(step.answer.cost for step in free[0] if step.answer)
        short = replace(context, budget=whole / 2)
        return (*free, self.played(self.make(), short, 0, until=lambda spent: spent > whole / 2))

    def proposals(self) -> list[Proposal]:
        """Return all trials that were proposed."""
        return [step.asked for run in self.runs() for step in run if isinstance(step.asked, Proposal)]

    def test_it_says_what_it_is(self) -> None:
        """It has a name, and its use of perturbations."""
        strategy = self.make()
        has_all("strategies", strategy)
        for attribute in ("name", "description"):
            text = getattr(strategy, attribute)
            promise(isinstance(text, str) and text, f"a strategy has a `{attribute}`, a text; got {text!r}")
        use = strategy.uses_perturbations
        promise(
            isinstance(use, PerturbationUse), f"`uses_perturbations` is one of the enum PerturbationUse; got {use!r}"
        )
        iid = strategy.base_trials_iid
        promise(isinstance(iid, bool), f"`base_trials_iid` is True or False; got {iid!r}")

    def test_the_same_results_give_the_same_trials(self) -> None:
        """Else a session could not be resumed, because resuming sends the results of its journal again."""
        first = self.runs()[0]
        strategy = self.make()
        words = "a strategy that is sent the same results yields the same trials"
        for attempt in ("in another object", "in an object that was used before"):
            trials, answer = strategy.run(self.context()), None
            for number, step in enumerate(first):
                asked = _next(trials, answer)
                promise(asked == step.asked, f"{words}; {attempt}, step {number} is {asked!r}, not {step.asked!r}")
                answer = step.answer
            asked = _next(trials, answer)
            promise(asked is None, f"{words}; {attempt}, it goes on with {asked!r}")

    def test_every_trial_is_of_a_test_instance_and_is_named_after_what_was_perturbed(self) -> None:
        """The name is ``base``, or that of one of its perturbations."""
        context = self.context()
        known = {x.instance_id: x for x in context.test_set}
        own = getattr(self.make(), "conditions", ())
        names = (BASE, *(p.name for p in context.perturbations), *own)
        promise(any(p.perturbation == BASE for p in self.proposals()), "unperturbed trials are run, named `base`")
        for proposal in self.proposals():
            base_id, name = proposal.base_id, proposal.perturbation
            promise(base_id in known, f"`base_id` is of an instance of the test set; got '{base_id}'")
            promise(name in names, f"`perturbation` is one of {', '.join(names)}; got '{name}'")
            if name == BASE:
                promise(
                    proposal.instance.instruction == known[base_id].instruction,
                    f"a trial named `base` has the instruction of its test instance; that of '{base_id}' has another",
                )

    def test_no_trial_is_solved_or_infeasible_at_its_start(self) -> None:
        """Such a trial would measure nothing."""
        task = self.context().task
        for proposal in {(p.base_id, p.perturbation, p.instance): p for p in self.proposals()}.values():
            words = f"'{proposal.instance.instruction.text}' ({proposal.base_id}, {proposal.perturbation})"
            promise(
                not solved_at_start(task, proposal.instance),
                f"no trial is proposed whose goal holds at its start; {words} is",
            )
            promise(
                isinstance(task.planner.plan(proposal.instance.instruction, proposal.instance.scene), Plan),
                f"no trial is proposed that the planner finds infeasible; {words} is",
            )

    def test_each_instance_is_run_as_often_as_the_repeats_say(self) -> None:
        """Each run has the same start."""
        for run in self.runs()[:2]:
            groups: dict[tuple[str, str], list[Proposal]] = {}
            for step in run:
                if isinstance(step.asked, Proposal):
                    groups.setdefault((step.asked.base_id, step.asked.perturbation), []).append(step.asked)
            for (base_id, name), group in groups.items():
                promise(
                    [p.repeat for p in group] == list(range(self.repeats)),
                    f"each instance is run `repeats` times, numbered from 0; '{base_id}' ({name}) has the repeats "
                    f"{[p.repeat for p in group]}, not {list(range(self.repeats))}",
                )
                promise(
                    len({p.instance for p in group}) == 1,
                    f"repeats start from the same instance; those of '{base_id}' ({name}) do not",
                )

    def test_what_is_left_out_is_said_with_a_reason_and_without_a_budget_nothing_else_is(self) -> None:
        """Every test instance is run or skipped."""
        for run in self.runs()[:2]:
            done: set[tuple[str, str]] = set()
            for asked in (step.asked for step in run):
                if isinstance(asked, Skipped):
                    promise(asked.reason, f"what is skipped has a `reason`; '{asked.base_id}' has none")
                done.add((asked.base_id, asked.perturbation))
            missing = [x.instance_id for x in self.context().test_set if (x.instance_id, BASE) not in done]
            promise(
                not missing,
                f"without a budget every test instance is run or skipped with a reason; not so: {', '.join(missing)}",
            )

    def test_it_goes_on_where_a_trial_is_left_out(self) -> None:
        """After a base trial, a perturbed one, or later repeats, it still runs the other test instances."""
        context = self.context()
        proposals = [step.asked for step in self.runs()[0] if isinstance(step.asked, Proposal)]
        for gone in {(p.base_id, p.perturbation, p.repeat): p for p in proposals}.values():

            def left_out(asked: Proposal, gone: Proposal = gone) -> bool:
                own = gone.perturbation in (BASE, asked.perturbation)
                return asked.base_id == gone.base_id and own and asked.repeat >= gone.repeat

            words = f"a strategy goes on where {gone.perturbation} of '{gone.base_id}' is left out and it is sent None"
            try:
                steps = self.played(self.make(), context, left_out=left_out)
            except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
                raise AssertionError(f"{words}; it raises {type(error).__name__}: {error}") from error
            asked = {step.asked.base_id for step in steps}
            missing = [x.instance_id for x in context.test_set if x.instance_id not in asked]
            promise(not missing, f"{words}; after that it leaves out {', '.join(missing)}, too")

    def test_there_are_no_more_trials_than_were_expected(self) -> None:
        """``trials_expected`` is an upper bound."""
        expected = self.make().trials_expected(self.context())
        for run in self.runs():
            trials = sum(isinstance(step.asked, Proposal) for step in run)
            promise(
                trials <= expected, f"`trials_expected` is an upper bound; it said {expected}, and {trials} were run"
            )

    def test_base_trials_that_are_said_to_be_a_random_sample_are_one(self) -> None:
        """They come in the order of the test set, each in its own scene."""
        if not self.make().base_trials_iid:
            return
        order = [x.instance_id for x in self.context().test_set]
        own = {x.instance_id: x for x in self.context().test_set}
        for run in self.runs():
            base = [s.asked for s in run if isinstance(s.asked, Proposal) and s.asked.perturbation == BASE]
            ran = list(dict.fromkeys(p.base_id for p in base))
            promise(
                ran == [name for name in order if name in ran] and set(order[: len(ran)]) >= set(ran),
                f"with `base_trials_iid`, base trials are run in the order of the test set; they were: "
                f"{', '.join(ran)}",
            )
            promise(
                all(p.instance == own[p.base_id] for p in base),
                "with `base_trials_iid`, every base trial starts in its own scene",
            )

    def test_blocks_that_are_said_to_be_independent_can_be_run_alone(self) -> None:
        """A block is the successive trials of one test instance; it may be run anywhere."""
        if not getattr(self.make(), "blocks_independent", False):
            return
        context = self.context()
        whole = [step.asked for step in self.runs()[0]]
        alone = [
            step.asked
            for base in context.test_set
            for step in self.played(self.make(), replace(context, test_set=(base,)))
        ]
        promise(
            whole == alone,
            "with `blocks_independent`, the trials of a test instance are the same, in the order of the test set, "
            f"when each is run alone; together they are {_named(whole)}, alone {_named(alone)}",
        )

    def test_blocks_that_are_said_to_be_independent_are_the_same_on_their_own(self) -> None:
        """Then they could be run apart from each other, and in any order."""
        if not getattr(self.make(), "blocks_independent", False):
            return
        context = self.context()
        for seed, run in zip((0, 1, 0), self.runs(), strict=True):
            alone: list[Proposal | Skipped] = []
            for base in context.test_set:
                steps = self.played(self.make(), replace(context, test_set=(base,)), seed)
                alone += [step.asked for step in steps]
            together = [step.asked for step in run]
            other = next((a for a, b in zip_longest(together, alone[: len(together)]) if a != b), None)
            promise(
                other is None,
                "with `blocks_independent`, the trials of each test instance are the same when it is run on its own; "
                f"not so: {other!r}",
            )

    def test_a_full_reset_starts_in_the_scene_of_the_test_instance(self) -> None:
        """The value of ``start`` is true."""
        own = {x.instance_id: x.scene for x in self.context().test_set}
        for proposal in self.proposals():
            if proposal.start is Start.FULL_RESET:
                promise(
                    proposal.instance.scene == own[proposal.base_id],
                    f"a full reset is to the scene of the test instance; that of '{proposal.base_id}' is to another",
                )


def _named(steps: list[Proposal | Skipped]) -> str:
    return ", ".join(f"{asked.base_id} {asked.perturbation}" for asked in steps)


def _next(trials: object, answer: Completed | None) -> Proposal | Skipped | None:
    try:
        return trials.send(answer)
    except StopIteration:
        return None


def _cost(present: Scene, wanted: Scene, context: StrategyContext) -> float:
    return MetresMoved().cost(setup_moves(present, wanted, context.tolerance))


def _result(context: StrategyContext, instance: TestInstance, success: bool) -> TrialResult:
    """Return the result of a trial that succeeds as planned, or that moves nothing."""
    task = context.task
    planned = result_of_success(task, instance, context.metric)
    if success:
        return planned
    left = task.goals.goal(instance.instruction, instance.scene).distance(instance.scene)
    nothing = {**dict.fromkeys(planned.scores, 0.0), "distance_to_goal": left}
    return replace(planned, outcome=Outcome.FAILURE, scores=nothing, final_scene=instance.scene)
