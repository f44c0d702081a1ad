"""A whole little evaluation without robot or simulator: blocks on a line, one metre long.

The task, its perturbations and the bench are real implementations of the house's protocols, small
enough to be computed in one's head. Every number follows from a seed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

import numpy as np

from robocontrast_ros.domain import (
    Delivery,
    Expectation,
    Fault,
    Instruction,
    NotApplicable,
    ObjectState,
    Observed,
    Outcome,
    Perturbed,
    Pose,
    Scene,
    SetupMove,
    TestInstance,
    Trial,
    TrialResult,
)
from robocontrast_ros.episodes.bench import (
    Bench,
    BenchFault,
    Execution,
    PolicyBench,
    PolicyRefusal,
    Recording,
    ServingPolicy,
)
from robocontrast_ros.policies.protocol import PolicyDescription
from robocontrast_ros.sessions.evaluation import Evaluation
from robocontrast_ros.sessions.schema import SessionParameters, StrategyParameters, TestSetParameters
from robocontrast_ros.strategies.contrast_set import ContrastSet
from robocontrast_ros.tasks.protocol import Infeasible, Plan, Task
from robocontrast_ros.tasks.wording import FixedLanguage

BLOCKS = ("a", "b", "c", "d")
HEAVY = "d"
"""Other blocks can be pushed past one another, but not past this one."""
WITHIN = 0.05
"""Success: the source is this near to the point where it belongs [m]."""
APART = 0.02
"""No two blocks are nearer to each other than this [m]."""
PLACES = {"left": 0.1, "middle": 0.5, "right": 0.9}
OPPOSITE = {"left": "right", "right": "left", "middle": "middle"}


def line(**positions: float) -> Scene:
    """Return the scene with blocks at these places [m]."""
    return Scene(tuple(ObjectState(n, n, Pose((x, 0.0, 0.0))) for n, x in positions.items()))


def x_of(scene: Scene, name: str) -> float:
    """Return where a block is [m]."""
    return scene[name].pose.position[0]


def to_place(source: str, place: str) -> Instruction:
    """Return the instruction to push a block to a place."""
    return Instruction(f"push {source} to the {place}", "block_to_place", (("source", source), ("place", place)))


def to_block(source: str, target: str) -> Instruction:
    """Return the instruction to push a block to another."""
    return Instruction(f"push {source} to {target}", "block_to_block", (("source", source), ("target", target)))


@dataclass(frozen=True)
class LineGoal:
    """The source is near its point."""

    source: str
    place: str | None
    target: str | None

    def distance(self, scene: Scene) -> float:
        """Return how far it still is [m]."""
        point = PLACES[self.place] if self.place else x_of(scene, self.target)
        off = abs(x_of(scene, self.source) - point)
        return max(off - WITHIN, 0.0)

    def satisfied(self, scene: Scene) -> bool:
        """Tell whether it is there."""
        return self.distance(scene) == 0.0


class LineLanguage(FixedLanguage):
    """One wording for each condition."""

    def __init__(self) -> None:
        places = (to_place(s, p) for s in BLOCKS for p in PLACES)
        super().__init__((*places, *(to_block(s, t) for s, t in itertools.permutations(BLOCKS, 2))))


class LineScenes:
    """Blocks that are little squares."""

    world = "package://line"
    models = MappingProxyType({name: f"package://{name}" for name in BLOCKS})
    start_position = (0.0, 0.0, 0.0)
    region = None
    physics_step = 0.002
    clear_height = 0.0

    def outline(self, model: str) -> tuple[tuple[float, float], ...]:
        """Return a little square."""
        return ((-0.01, -0.01), (0.01, -0.01), (0.01, 0.01), (-0.01, 0.01))


class LineGoals:
    """When a block is where it belongs."""

    def goal(self, instruction: Instruction, start: Scene) -> LineGoal:
        """Return the goal."""
        return LineGoal(instruction.get("source"), instruction.get("place"), instruction.get("target"))


class LinePlanner:
    """Push straight, unless the heavy block stands between."""

    def plan(self, instruction: Instruction, scene: Scene) -> Plan | Infeasible:
        """Return the plan."""
        source, target = instruction.get("source"), instruction.get("target")
        here = x_of(scene, source)
        point = PLACES[instruction.get("place")] if target is None else x_of(scene, target)
        there = point + math.copysign(WITHIN / 2, here - point)
        low, high = sorted((here, there))
        if source != HEAVY and low <= x_of(scene, HEAVY) <= high:
            return Infeasible("the heavy block is in the way")
        final = scene.moved(source, Pose((there, 0.0, 0.0)))
        return Plan(((0.0, 0.0), (here, 0.0), (there, 0.0)), final)


class LineTask(Task):
    """Push a block along the line; the heavy one in between makes it infeasible."""

    name = "line"
    families = ("block_to_place", "block_to_block")
    metric = "spl"
    control_rate = 10.0
    step_limit = 20
    language, scenes, goals, planner = LineLanguage(), LineScenes(), LineGoals(), LinePlanner()

    @classmethod
    def from_file(cls, path: Path) -> LineTask:
        """Return the task; it has no parameters."""
        return cls()

    def sample(self, rng: np.random.Generator, instance_id: str, family: str | None = None) -> TestInstance:
        """Draw an instance."""
        conditions = [c for c in self.language.conditions() if family in (None, c.family)]
        while True:
            instruction = conditions[rng.integers(len(conditions))]
            positions = rng.random(len(BLOCKS))
            scene = line(**dict(zip(BLOCKS, positions.tolist(), strict=True)))
            if _crowded(scene):
                continue
            instance = self.make_instance(instance_id, instruction, scene)
            if isinstance(instance, TestInstance):
                return instance


def _crowded(scene: Scene) -> bool:
    xs = sorted(o.pose.position[0] for o in scene)
    return any(b - a < APART for a, b in itertools.pairwise(xs))


class _Named:
    plausible, expectation = True, Expectation.CHANGES_BEHAVIOUR

    def supports(self, task: LineTask) -> bool:
        """The line's perturbations fit the line alone."""
        return task.name == "line"

    def _made(self, task: LineTask, base: TestInstance, instruction: Instruction, scene: Scene, note: str):
        instance = task.make_instance(f"{base.instance_id}-{self.name}", instruction, scene)
        if isinstance(instance, Infeasible):
            return NotApplicable(f"'{instruction.text}' is not open: {instance.reason}")
        return Perturbed(instance, note)


class Invert(_Named):
    """Left becomes right."""

    name, symbol, axes, description = "LB2", "ΔLB2", "LB", "invert the place"

    def apply(self, task: LineTask, base: TestInstance, scene: Scene, rng: np.random.Generator):
        """Perturb."""
        place = base.instruction.get("place")
        if place is None or OPPOSITE[place] == place:
            return NotApplicable("there is no place that has an opposite")
        inverted = to_place(base.instruction.get("source"), OPPOSITE[place])
        return self._made(task, base, inverted, scene, f"{place} became {OPPOSITE[place]}")


class MoveSource(_Named):
    """The source block goes elsewhere."""

    name, symbol, axes, description = "SB2", "ΔSB2", "SB", "move the source block"

    def apply(self, task: LineTask, base: TestInstance, scene: Scene, rng: np.random.Generator):
        """Perturb."""
        source = base.instruction.get("source")
        for x in rng.random(20).tolist():
            moved = scene.moved(source, Pose((x, 0.0, 0.0)))
            answer = self._made(task, base, base.instruction, moved, f"moved {source}")
            if isinstance(answer, Perturbed) and not _crowded(moved):
                return answer
        return NotApplicable(f"no place found for {source}")


class Mirrored(_Named):
    """A perturbation whose set-up is dear: all blocks change sides."""

    name, symbol, axes, description = "M", "ΔM", "SB", "mirror the scene of the test instance"

    def apply(self, task: LineTask, base: TestInstance, scene: Scene, rng: np.random.Generator):
        """Perturb."""
        mirrored = line(**{name: 1.0 - x_of(base.scene, name) for name in base.scene.names})
        return self._made(task, base, base.instruction, mirrored, "mirrored")


class OnlyAtHome(_Named):
    """Applies to the scene of the test instance alone."""

    name, symbol, axes, description = "HOME", "ΔHOME", "S", "the base instance again, in its own scene"

    def apply(self, task: LineTask, base: TestInstance, scene: Scene, rng: np.random.Generator):
        """Perturb."""
        if scene != base.scene:
            return NotApplicable("the scene is another")
        return self._made(task, base, base.instruction, scene, "the same again")


class AlreadySolved(_Named):
    """Breaks its contract: the goal holds at the start."""

    name, symbol, axes, description = "SOLVED", "ΔSOLVED", "S", "put the source where it belongs"

    def apply(self, task: LineTask, base: TestInstance, scene: Scene, rng: np.random.Generator):
        """Perturb."""
        final = task.planner.plan(base.instruction, base.scene).final_scene
        return Perturbed(replace(base, scene=final), "solved")


@dataclass
class LineBench(Bench):
    """A deterministic bench: what a trial does depends on its seed and its starting scene alone.

    Attributes:
        present: the scene that is.
        skill: share of trials that succeed.
        policy_faults: share of trials in which the policy raises.
        faults: (index of a trial, attempt) -> fault of the bench in its execution.
        on_call: called before whatever the bench does; may raise.
        after_trial: called with a trial and the scene it leaves; returns the scene that then is.
        rests: whether the robot goes to rest after a trial, after which the scene is looked at again.
    """

    task: LineTask = field(default_factory=LineTask)
    present: Scene = field(default_factory=lambda: line(a=0.02, b=0.2, c=0.4, d=0.98))
    skill: float = 0.6
    policy_faults: float = 0.1
    faults: dict[tuple[int, int], Fault] = field(default_factory=dict)
    on_call: Callable[[str], None] = lambda name: None
    after_trial: Callable[[Trial, Scene], Scene] = lambda trial, scene: scene
    rests: bool = False
    executed: list[tuple[Trial, int, Scene]] = field(default_factory=list)
    moved: list[tuple[SetupMove, ...]] = field(default_factory=list)

    def scene(self) -> Scene:
        """Return the scene that is."""
        self.on_call("scene")
        return self.present

    def set_up(self, target: Scene, moves: tuple[SetupMove, ...]) -> Scene:
        """Carry out the moves."""
        self.on_call("set_up")
        self.moved.append(moves)
        self.present = target
        return target

    def execute(self, trial: Trial, attempt: int) -> Execution:
        """Push well or badly, as the seed says."""
        self.on_call("execute")
        start = self.present
        self.executed.append((trial, attempt, start))
        rng = np.random.default_rng(trial.seed)
        luck, share = rng.random(2).tolist()
        fault = self.faults.get((trial.index, attempt), Fault.NONE)
        if fault.voids:
            self.present = _pushed(trial, start, share)
            raise BenchFault(fault, "injected")
        result = self._result(trial, start, luck, share)
        self.present = self.after_trial(trial, result.final_scene)
        bag = f"bags/{trial.trial_id}-{attempt}"
        return Execution(
            result=result,
            observed=Observed(trial.instance.instruction.text, "0" * 64),
            recording=Recording(bag, (("scene", 3),)),
            wall_time=0.25,
            policy_latency=tuple(0.01 * (k + 1) for k in range(21)),
            delivered=Delivery.CONFIRMED,
            left=self.present if self.rests else None,
        )

    def _result(self, trial: Trial, start: Scene, luck: float, share: float) -> TrialResult:
        optimal = trial.instance.optimal_path_length
        fault, final, path, success = Fault.NONE, start, 0.0, 0.0
        if luck < self.policy_faults:
            fault = Fault.POLICY_RAISED
        elif luck < self.policy_faults + self.skill:
            final = self.task.planner.plan(trial.instance.instruction, start).final_scene
            path, success = optimal * (1.0 + share), 1.0
        else:
            final = _pushed(trial, start, share / 10.0)
            path = optimal * share
            success = float(self.task.goals.goal(trial.instance.instruction, start).satisfied(final))
        outcome = Outcome.POLICY_FAULT if fault.of_policy else (Outcome.SUCCESS if success else Outcome.FAILURE)
        return TrialResult(
            outcome=outcome,
            fault=fault,
            detail="ValueError: no idea" if fault else "",
            scores={
                "success": success,
                "spl": success * optimal / max(path, optimal),
                "progress": success,
                "subgoals_reached": 0.0,
                "ndtw": math.nan,
                "collisions": 0.0,
                "distance_to_goal": self.task.goals.goal(trial.instance.instruction, start).distance(final),
                "path_length": path,
            },
            optimal_path_length=optimal,
            steps=5,
            duration=0.5,
            clamped_steps=0,
            final_scene=final,
        )


def _pushed(trial: Trial, start: Scene, by: float) -> Scene:
    """Return the scene with the source a little way off, to the next free place."""
    source = trial.instance.instruction.get("source")
    x = x_of(start, source) + by
    while any(abs(x - x_of(start, n)) < APART for n in start.names if n != source):
        x += APART
    return start.moved(source, Pose((x, 0.0, 0.0)))


def with_scores(result: TrialResult, **scores: float) -> TrialResult:
    """Return the result with some of its scores changed."""
    return replace(result, scores={**result.scores, **scores})


KEYS = ("seed", "repeats", "metric", "budget", "max_trials", "void_retries", "stop_early")
"""Keys of a session that the evaluation of the line may have other values of."""


def line_evaluation(test_set_size: int = 4, families: tuple[str, ...] | None = None, **changes: object) -> Evaluation:
    """Return a contrast-set evaluation of the line; changed are attributes of it, or ``KEYS`` of its session."""
    session = SessionParameters(
        name="line",
        task="line",
        robot="line",
        policy="line",
        strategy=StrategyParameters(name="contrast_set"),
        test_set=TestSetParameters(size=test_set_size, families=families),
        **{"seed": 1, **{key: changes.pop(key) for key in KEYS if key in changes}},
    )
    attributes = {
        "session": session,
        "task": LineTask(),
        "strategy": ContrastSet(),
        "perturbations": (Invert(), MoveSource()),
        "parameters": {"session": {"seed": 1, "strategy": {"name": "contrast_set"}}},
    }
    return Evaluation(**{**attributes, **changes})


@dataclass
class SwappingLineBench(LineBench, PolicyBench):
    """The same bench with policies by name, whose skill is all that their files say.

    Attributes:
        policies: name -> skill; any other name is refused.
        serving: the policy that serves.
        staged: the one that is to follow.
        loaded: the policies that were staged, in order.
        descriptions: name -> what the policy says of itself, where anything is known.
        before_trial: called with a trial before it is executed.
    """

    policies: dict[str, float] = field(default_factory=lambda: {"first": 0.9, "second": 0.0})
    serving: str = "first"
    staged: str | None = None
    loaded: list[str] = field(default_factory=list)
    descriptions: dict[str, PolicyDescription] = field(default_factory=dict)
    before_trial: Callable[[Trial], None] = lambda trial: None

    def policy(self) -> ServingPolicy:
        """Return the policy that serves."""
        return self._told(self.serving)

    def stage_policy(self, policy: str) -> ServingPolicy:
        """Load a policy by its name or file."""
        self.on_call("stage_policy")
        name = Path(policy).stem
        if name not in self.policies:
            raise PolicyRefusal(f"there is no policy '{name}'")
        self.loaded.append(name)
        self.staged = name
        return self._told(name)

    def serve_policy(self) -> None:
        """Let it serve."""
        self.on_call("serve_policy")
        self.serving, self.staged = self.staged, None

    def execute(self, trial: Trial, attempt: int) -> Execution:
        """Push as well as the policy that serves can."""
        self.before_trial(trial)
        self.skill = self.policies[self.serving]
        return super().execute(trial, attempt)

    def _told(self, name: str) -> ServingPolicy:
        text = f"skill: {self.policies[name]}\n"
        return ServingPolicy(name, f"/policies/{name}.yaml", text, 0.5, None, self.descriptions.get(name))
