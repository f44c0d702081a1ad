"""The contract of perturbations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from robocontrast_ros.contracts.checking import has_all, once, promise
from robocontrast_ros.contracts.on_a_task import OnATask
from robocontrast_ros.domain import AXES, Expectation, Instruction, NotApplicable, Perturbed, Scene, TestInstance
from robocontrast_ros.perturbations.protocol import Perturbation
from robocontrast_ros.tasks.protocol import Infeasible, Task


@dataclass(frozen=True)
class Applied:
    """One answer, and its request."""

    base: TestInstance
    scene: Scene
    seed: int
    answer: Perturbed | NotApplicable


class Bare(Task):
    """A task with nothing but its name."""

    name, families = "another task", ("any",)

    @classmethod
    def from_file(cls, path: Path) -> Task:
        """Return the task."""
        return cls()

    def sample(self, rng: np.random.Generator, instance_id: str, family: str | None = None) -> TestInstance:
        """Draw nothing."""
        raise NotImplementedError


class PerturbationContract(OnATask):
    """Inherit, and return a perturbation from ``make``, and from ``task`` a task that it supports.

    Attributes:
        draws: number of test instances it is applied to, from all families of the task in turn.
    """

    draws = 10

    def make(self) -> Perturbation:
        """Return a perturbation, made afresh."""
        raise NotImplementedError

    @once
    def applied(self) -> tuple[Applied, ...]:
        """Return its answers in the scenes of test instances, and in those after a solved trial."""
        task, perturbation = self.used_task(), self.make()
        done = []
        for seed in range(self.draws):
            family = task.families[seed % len(task.families)]
            base = task.sample(np.random.default_rng([2, seed]), f"x{seed}", family)
            for scene in (base.scene, task.planner.plan(base.instruction, base.scene).final_scene):
                answer = perturbation.apply(task, base, scene, np.random.default_rng(seed))
                done.append(Applied(base, scene, seed, answer))
        return tuple(done)

    def perturbed(self) -> Iterator[tuple[Applied, TestInstance]]:
        """Return the cases in which it applied, with the new instances."""
        for case in self.applied():
            if isinstance(case.answer, Perturbed):
                yield case, case.answer.instance

    def test_it_says_what_it_is(self) -> None:
        """It has name, symbol, axes, description, plausibility, expectation."""
        made = self.make()
        has_all("perturbations", made)
        for attribute in ("name", "symbol", "axes", "description"):
            text = getattr(made, attribute)
            promise(isinstance(text, str) and text, f"a perturbation has a `{attribute}`, a text; got {text!r}")
        promise(
            made.axes == "".join(letter for letter in AXES if letter in made.axes),
            f"`axes` has some of the letters L, S, B and O, in this order; got {made.axes!r}",
        )
        promise(isinstance(made.plausible, bool), f"`plausible` is true or false; got {made.plausible!r}")
        known = ", ".join(expectation.name for expectation in Expectation)
        promise(
            isinstance(made.expectation, Expectation),
            f"`expectation` is one of Expectation's {known}; got {made.expectation!r}",
        )

    def test_it_says_which_tasks_it_supports(self) -> None:
        """It raises nothing for others."""
        promise(self.make().supports(self.used_task()) is True, "`supports` is true of the task that it is tried on")
        answer = self.make().supports(Bare())
        promise(answer is False, f"`supports` is false of a task that has nothing but its name; got {answer!r}")

    def test_it_answers_with_an_instance_or_with_a_reason(self) -> None:
        """It answers with an instance at least once."""
        for case in self.applied():
            answer = case.answer
            promise(
                isinstance(answer, Perturbed | NotApplicable),
                f"`apply` answers Perturbed or NotApplicable; got {answer!r}",
            )
            if isinstance(answer, NotApplicable):
                promise(answer.reason, f"NotApplicable has a reason; that for '{case.base.instruction.text}' has none")
            else:
                promise(answer.note, f"Perturbed has a note; that for '{case.base.instruction.text}' has none")
        reasons = {case.answer.reason for case in self.applied() if isinstance(case.answer, NotApplicable)}
        promise(
            any(self.perturbed()),
            f"it applies to some of {self.draws} test instances; it applied to none: {'; '.join(sorted(reasons))}",
        )

    def test_the_same_generator_gives_the_same_answer(self) -> None:
        """Applying it changes nothing but the returned value."""
        task, used = self.used_task(), self.make()
        for number, case in enumerate(self.applied()):
            made = self.make() if number % 2 else used
            again = made.apply(task, case.base, case.scene, np.random.default_rng(case.seed))
            promise(
                again == case.answer,
                f"`apply` draws from the generator that it is given alone; for '{case.base.instruction.text}' it gave "
                f"{again!r} after {case.answer!r}",
            )

    def test_what_comes_out_is_feasible_and_not_solved(self) -> None:
        """The instance has an id of its own."""
        task = self.used_task()
        for case, new in self.perturbed():
            words = f"'{new.instruction.text}', made of '{case.base.instruction.text}',"
            promise(
                not task.goals.goal(new.instruction, new.scene).satisfied(new.scene),
                f"a perturbed instance is not solved at its start; {words} is",
            )
            plan = task.planner.plan(new.instruction, new.scene)
            promise(not isinstance(plan, Infeasible), f"a perturbed instance is feasible; {words} is not, {plan!r}")
            promise(
                new.optimal_path_length == plan.length,
                f"`optimal_path_length` is that of the new instance, {plan.length} m; {words} has "
                f"{new.optimal_path_length} m",
            )
            meant = new.instruction.words
            promise(
                _meaning(task.language.parse(meant, new.scene)) == _meaning(new.instruction),
                f"the task's grammar knows the words of a perturbed instance, or those that are `meant`; {words} has "
                f"'{meant}', which means something else to it",
            )
            promise(
                new.instance_id != case.base.instance_id,
                f"a perturbed instance has an id of its own; it has that of its base, '{new.instance_id}'",
            )
            promise(new.task == task.name, f"a perturbed instance is of the task '{task.name}'; got '{new.task}'")

    def test_nothing_but_its_axes_is_changed(self) -> None:
        """L: the instruction; S: the scene; B: the expected behaviour; O: the observation."""
        axes = self.make().axes
        for case, new in self.perturbed():
            old = case.base.instruction
            words = f"for '{old.text}'"
            if "L" in axes:
                promise(
                    new.instruction.text != old.text or new.instruction.pictured,
                    f"with L in `axes` other words are said, or pictures shown; not so {words}",
                )
                # With S, too, the scene alone may change what is expected.
                promise(
                    {*"SB"} <= {*axes} or ("B" in axes) == (_meaning(new.instruction) != _meaning(old)),
                    f"L without B keeps the meaning of the instruction, LB changes it; not so {words}, which became "
                    f"'{new.instruction.text}'",
                )
            else:
                promise(
                    new.instruction == old,
                    f"without L in `axes` the instruction stays; {words} it became '{new.instruction.text}'",
                )
            moved = [o.name for o in case.scene if o.name not in new.scene or new.scene[o.name] != o]
            moved += [name for name in new.scene.names if name not in case.scene]
            if "S" in axes:
                promise(moved, f"with S in `axes` an object is moved; none was {words}")
            else:
                promise(
                    not moved, f"without S in `axes` the scene stays as it was; moved were {', '.join(moved)} {words}"
                )
            promise(
                ("O" in axes) == (new.observation != case.base.observation),
                f"with O in `axes`, and only then, other filters are in `observation`; not so {words}, which has "
                f"{new.observation}",
            )


def _meaning(instruction: Instruction) -> tuple[object, ...]:
    return instruction.family, instruction.arguments
