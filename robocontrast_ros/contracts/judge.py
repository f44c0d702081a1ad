"""The contract of judges."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from itertools import pairwise

import numpy as np

from robocontrast_ros.contracts.checking import has_all, nothing_to_check, promise
from robocontrast_ros.contracts.on_a_task import OnATask
from robocontrast_ros.contracts.played import played_scenes
from robocontrast_ros.domain import Judgement, TestInstance
from robocontrast_ros.episodes.judging import Judge, Judging
from robocontrast_ros.worlds.backends import BackendFeatures

State = tuple[float, float, int, bool, bool, bool, bool]


class JudgeContract(OnATask):
    """Inherit, and return a judge from ``make``; by default the tests use Language-Table.

    Attributes:
        draws: test instances whose trials are judged.
    """

    draws = 5
    stream = 3

    def make(self) -> Judge:
        """Return a judge, made afresh."""
        raise NotImplementedError

    def begun(self, instance: TestInstance) -> Judging:
        """Begin a trial of an instance."""
        return self.make().begin(self.used_task(), instance, instance.scene)

    def judged(self, instance: TestInstance) -> list[State]:
        """Return the judge's states at the start and at each control step of a trial to the goal and back."""
        judging = self.begun(instance)
        states = [_state(judging)]
        for scene in played_scenes(self.used_task(), instance):
            judging.update(scene)
            states.append(_state(judging))
        return states

    def test_it_says_whether_it_asks_somebody(self) -> None:
        """This is known before anything starts."""
        judge = self.make()
        has_all("judges", judge)
        promise(isinstance(judge.asks, bool), f"`asks` is True or False; got {judge.asks!r}")

    def test_it_says_what_it_needs(self) -> None:
        """A session without that feature is refused."""
        needs, known = getattr(self.make(), "needs", None), [field.name for field in fields(BackendFeatures)]
        promise(needs in ("", *known), f"`needs` is empty or a feature of BackendFeatures; got {needs!r}")

    def test_a_trial_begins_without_success(self) -> None:
        """Nothing counts as reached before the policy acts."""
        for instance in self.drawn():
            judging = self.begun(instance)
            promise(judging.subgoals >= 1, f"a trial has at least one of `subgoals`; got {judging.subgoals!r}")
            said = [name for name in ("holds", "succeeded") if getattr(judging, name)]
            said += ["success"] if judging.success(True) or judging.success(False) else []
            promise(
                not said,
                f"a trial begins without success; `{'`, `'.join(said)}` is true at the start of "
                f"'{instance.instruction.text}'",
            )

    def test_what_it_says_is_in_range(self) -> None:
        """Progress is in [0, 1], or NaN for a judge that asks; a distance is at least 0, or NaN if not measured."""
        asks = self.make().asks
        for instance in self.drawn():
            for distance, progress, *_ in self.judged(instance):
                promise(
                    0.0 <= progress <= 1.0 or (asks and math.isnan(progress)),
                    f"`progress` is from 0 to 1, or NaN before a judge that asks was told; got {progress!r}",
                )
                promise(
                    distance >= 0.0 or math.isnan(distance),
                    f"`distance` is 0 m or more, or NaN where it is not measured; got {distance!r}",
                )

    def test_what_is_reached_stays_reached(self) -> None:
        """Later scenes do not change it."""
        for instance in self.drawn():
            subgoals = self.begun(instance).subgoals
            states = self.judged(instance)
            for before, after in pairwise(states):
                _, _, reached, _, succeeded, *_ = before
                promise(
                    after[4] or not succeeded,
                    f"a success stays one, whatever comes later; `succeeded` of '{instance.instruction.text}' became "
                    "false again",
                )
                promise(
                    reached <= after[2] <= subgoals,
                    f"`reached` counts up to `subgoals`, {subgoals}; it went from {reached} to {after[2]}",
                )

    def test_what_it_says_fits_together(self) -> None:
        """`holds`, `succeeded` and `success` are one account of a trial."""
        for instance in self.drawn():
            for _, _, _, holds, succeeded, left, stopped in self.judged(instance):
                promise(succeeded or not holds, "where the goal `holds` the trial has `succeeded`; it has not")
                promise(
                    (left and stopped) or not succeeded,
                    "a trial that has `succeeded` is a success, whoever ends it; `success` says it is none",
                )

    def test_the_same_trial_is_judged_in_the_same_way(self) -> None:
        """This holds also while another one is judged."""
        for instance, other in zip(self.drawn(), (*self.drawn()[1:], self.drawn()[0]), strict=True):
            judge = self.make()
            first = judge.begin(self.used_task(), instance, instance.scene)
            states = [_state(first)]
            beside = judge.begin(self.used_task(), other, other.scene)
            for scene, elsewhere in zip(
                played_scenes(self.used_task(), instance), played_scenes(self.used_task(), other), strict=True
            ):
                first.update(scene)
                beside.update(elsewhere)
                states.append(_state(first))
            promise(
                np.array_equal(states, self.judged(instance), equal_nan=True),
                f"a trial is judged by its own scenes alone; that of '{instance.instruction.text}' is judged in "
                "another way while another trial is judged",
            )

    def test_what_it_is_told_is_what_it_says(self) -> None:
        """Only a judge that asks is checked."""
        if not self.make().asks:
            nothing_to_check("it asks nobody")
        for judgement in (Judgement(True, 1.0), Judgement(False, 0.25), replace(Judgement(False, 0.0), note="gone")):
            judging = self.begun(self.drawn()[0])
            judging.tell(judgement)
            said = Judgement(judging.success(False), judging.progress, judgement.by, judgement.note)
            promise(said == judgement, f"what is told is what is said: expected {judgement}, got {said}")


def _state(judging: Judging) -> State:
    return (
        judging.distance,
        judging.progress,
        judging.reached,
        bool(judging.holds),
        bool(judging.succeeded),
        bool(judging.success(False)),
        bool(judging.success(True)),
    )
