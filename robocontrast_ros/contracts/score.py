"""The contract of scores."""

from __future__ import annotations

import math

import numpy as np

from robocontrast_ros.contracts.checking import has_all, once, promise
from robocontrast_ros.contracts.on_a_task import OnATask
from robocontrast_ros.contracts.played import played_scenes
from robocontrast_ros.domain import Fault, JointTracking, Pose, ScoreSpec, TrialResult
from robocontrast_ros.episodes.scoring import EpisodeScorer, Sample, Score, need_joints
from robocontrast_ros.tasks.protocol import robot_start

PERIOD = 100_000_000
"""Time from one control step to the next [ns]."""


def _moved_arm(rng: np.random.Generator) -> JointTracking:
    measured, commanded = rng.normal(size=(2, 2))
    return JointTracking(("shoulder", "elbow"), tuple(measured), tuple(commanded), float(rng.choice([0.0, 0.5, 1.0])))


class ScoreContract(OnATask):
    """Inherit, and return a score's class from ``make``; by default the tests use Language-Table.

    Attributes:
        draws: number of test instances whose trials are scored.
    """

    draws = 4
    stream = 5

    def make(self) -> type[Score]:
        """Return the score: a class, which is made anew for each trial."""
        raise NotImplementedError

    @once
    def samples(self) -> tuple[tuple[Sample, ...], ...]:
        """Return the samples of each trial: to the goal, some steps there, and back; the robot moves about."""
        task, joints = self.used_task(), need_joints((self.make(),))
        trials = []
        for seed, instance in enumerate(self.drawn()):
            rng = np.random.default_rng([6, seed])
            tool = np.array(robot_start(task, instance.scene).position)
            steps = []
            for number, scene in enumerate(played_scenes(task, instance)):
                tool = tool + 0.01 * rng.normal(size=3)
                pose, moved = scene.robot or Pose(tuple(tool.tolist())), _moved_arm(rng) if joints else None
                steps.append(Sample((number + 1) * PERIOD, scene, pose, moved))
            trials.append(tuple(steps))
        return tuple(trials)

    def begun(self, number: int) -> EpisodeScorer:
        """Begin to score a trial."""
        instance = self.drawn()[number]
        return EpisodeScorer.for_instance(self.used_task(), instance, instance.scene, scores=(self.make(),))

    def ended(self, scorer: EpisodeScorer, steps: int, fault: Fault = Fault.NONE) -> TrialResult:
        """Return the result of a trial that ends now, stopped by the policy if that is not at fault."""
        return scorer.result(fault, "", steps, 0, stopped=fault is Fault.NONE)

    def scored(self, number: int) -> tuple[list[float], float]:
        """Return the values at each control step of a trial, NaN if the score is not live, and the one at its end."""
        scorer, name = self.begun(number), self.make().spec.name
        live = [scorer.update(sample).scores.get(name, math.nan) for sample in self.samples()[number]]
        return live, self.ended(scorer, len(live)).scores[name]

    def check_value(self, value: float, words: str) -> None:
        """Check that one value is in the range."""
        spec = self.make().spec
        promise(isinstance(value, float), f"a score's value is a float; {words} it is {value!r}")
        promise(
            math.isnan(value) or spec.low <= value <= spec.high,
            f"a score is within its range, {spec.low:g} to {spec.high:g}, or NaN where there is none; {words} it is "
            f"{value!r}",
        )
        promise(
            spec.unit != "count" or math.isnan(value) or value == int(value),
            f"a score with the unit `count` is a whole number; {words} it is {value!r}",
        )

    def test_it_says_what_it_is(self) -> None:
        """Its row of the table of scores is valid."""
        has_all("scores", self.make())
        spec = self.make().spec
        promise(isinstance(spec, ScoreSpec), f"the class has a `spec`, a ScoreSpec; got {spec!r}")
        for attribute in ("name", "symbol", "source", "description"):
            text = getattr(spec, attribute)
            promise(isinstance(text, str) and text, f"a spec has a `{attribute}`, a text; got {text!r}")
        promise(
            isinstance(spec.unit, str), f"`unit` is a text, empty for a number without dimension; got {spec.unit!r}"
        )
        promise(spec.better in ("higher", "lower", ""), f"`better` is higher, lower, or empty; got {spec.better!r}")
        promise(isinstance(spec.live, bool), f"`live` is True or False; got {spec.live!r}")

    def test_its_values_are_in_its_range(self) -> None:
        """This holds at every control step if it is live, and at the end, whoever ends the trial."""
        name, faults = self.make().spec.name, (Fault.NONE, Fault.POLICY_RAISED)
        finite = False
        for number, samples in enumerate(self.samples()):
            scorer = self.begun(number)
            words = f"in the trial of '{self.drawn()[number].instruction.text}'"
            for step, sample in enumerate(samples):
                said = scorer.update(sample).scores
                promise(
                    (name in said) == self.make().spec.live,
                    "a score that is `live` has a value at every control step, and no other has",
                )
                if name in said:
                    self.check_value(said[name], f"at step {step} {words}")
            for fault in faults:
                value = self.ended(scorer, len(samples), fault).scores[name]
                self.check_value(value, f"at the end {words} ({fault.name})")
                finite = finite or math.isfinite(value)
        promise(
            finite, f"a score has a value at the end of some trial of the task; that of {self.draws} trials was NaN"
        )

    def test_a_trial_without_a_step_has_a_value_or_nan(self) -> None:
        """The policy may fail at once."""
        try:
            value = self.ended(self.begun(0), 0, Fault.POLICY_RAISED).scores[self.make().spec.name]
        except Exception as error:  # a score may raise anything
            raise AssertionError(
                "a score has a value, or NaN, for a trial that ends before its first step; it raises "
                f"{type(error).__name__}: {error}"
            ) from error
        self.check_value(value, "for a trial without a step")

    def test_the_same_samples_give_the_same_values(self) -> None:
        """This holds live and from the bag, also while another trial is scored."""
        name = self.make().spec.name
        for number in range(self.draws):
            first = self.scored(number)
            scorer, beside = self.begun(number), self.begun((number + 1) % self.draws)
            live = []
            for sample, other in zip(self.samples()[number], self.samples()[(number + 1) % self.draws], strict=True):
                live.append(scorer.update(sample).scores.get(name, math.nan))
                beside.update(other)
            again = live, self.ended(scorer, len(live)).scores[name]
            promise(
                np.array_equal([*first[0], first[1]], [*again[0], again[1]], equal_nan=True),
                "a trial's score depends on its own samples alone; scored again, beside another trial, that of "
                f"'{self.drawn()[number].instruction.text}' is {again[1]!r}, not {first[1]!r}",
            )

    def test_asking_for_the_value_does_not_change_it(self) -> None:
        """It is asked for at each step, and more than once at the end."""
        name = self.make().spec.name
        for number, samples in enumerate(self.samples()):
            scorer = self.begun(number)
            for sample in samples:
                scorer.update(sample)
            said = [self.ended(scorer, len(samples)).scores[name] for _ in range(3)]
            promise(
                np.array_equal(said[:-1], said[1:], equal_nan=True),
                f"`value` changes nothing; asked three times, it said {said}",
            )

    def test_the_last_live_value_is_the_one_at_the_end(self) -> None:
        """The value shown during a trial is the recorded one."""
        if not self.make().spec.live:
            return
        for number in range(self.draws):
            live, end = self.scored(number)
            promise(
                np.array_equal([live[-1]], [end], equal_nan=True),
                "the value of a `live` score at the last control step is its value at the end; for "
                f"'{self.drawn()[number].instruction.text}' it is {live[-1]!r} and then {end!r}",
            )
