"""Executions that several strategies ask for are simulated once.

In lockstep simulation, for one robot and one policy, an execution is a function of the scene that is set up, the
instruction and the trial's seed, because set-up resets everything that an earlier trial may have changed. So an
execution need not be simulated again for another strategy or after an interruption. Executions are kept in a file,
one per line.
A test shows that sessions with and without this memory are equal to the last bit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

import numpy as np
from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

from robocontrast_ros.domain import NotApplicable, Perturbed, Scene, SetupMove, TestInstance, Trial
from robocontrast_ros.episodes.bench import Bench, Execution
from robocontrast_ros.perturbations.protocol import Perturbation
from robocontrast_ros.tasks.protocol import Task


@dataclass(frozen=True)
class Remembered:
    """One execution, with the scenes before and after it.

    Attributes:
        key: ``execution_key`` of the trial.
        target: SHA-256, in hex, of the scene to set up.
        start: the scene as read back after set-up.
        execution: the result, without the policy's latencies, which differ each time.
        end: the scene after it.
    """

    key: str
    target: str
    start: Scene
    execution: Execution
    end: Scene


_ADAPTER: TypeAdapter[Remembered] = TypeAdapter(Remembered)


class Memory:
    """Executions in a file, of one robot and one policy.

    Attributes:
        executions: by their keys.
        starts: digest of a scene to set up -> the scene as read back.
    """

    def __init__(self, path: Path) -> None:
        """Read the file, remove a line that a crash cut off, and open the file for more."""
        self.executions: dict[str, Remembered] = {}
        self.starts: dict[str, Scene] = {}
        whole = 0
        self._file: BinaryIO = path.open("a+b")
        self._file.seek(0)
        for line in self._file:
            try:
                self._keep(_ADAPTER.validate_json(line))
            except ValidationError:
                break
            whole += len(line)
        self._file.truncate(whole)

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def add(self, remembered: Remembered) -> None:
        """Add an execution to the memory and to its file."""
        self._file.write(to_json(remembered, inf_nan_mode="strings", bytes_mode="base64") + b"\n")
        self._file.flush()
        self._keep(remembered)

    def _keep(self, remembered: Remembered) -> None:
        self.executions[remembered.key] = remembered
        self.starts[remembered.target] = remembered.start


class RememberingBench(Bench):
    """A bench that remembers executions, and runs only the unknown ones on another bench."""

    def __init__(self, bench: Bench, memory: Memory, done: Callable[[bool], None]) -> None:
        """Keep the parts.

        Args:
            bench: the bench that runs executions that are not known yet.
            memory: executions with that bench's robot and policy.
            done: called after every trial with whether it was simulated.
        """
        self._bench, self._memory, self._done = bench, memory, done
        self.begin()

    def begin(self) -> None:
        """Begin a session: no object has been brought in yet."""
        self._scene: Scene | None = Scene()
        self._target = Scene()
        self._moves: tuple[SetupMove, ...] = ()
        self._start = Scene()
        self._is_set_up = False

    def scene(self) -> Scene:
        """Return the scene of the other bench, or the scene that it would have if every execution were simulated."""
        return self._bench.scene() if self._scene is None else self._scene

    def set_up(self, target: Scene, moves: tuple[SetupMove, ...]) -> Scene:
        """Return the scene as read back after set-up, from the memory if it is known.

        Raises:
            BenchFault: from the other bench.
        """
        self._scene, self._target, self._moves, self._is_set_up = None, target, moves, False
        known = self._memory.starts.get(_digest(target))
        self._start = self._scene = self._set_up() if known is None else known
        return self._start

    def execute(self, trial: Trial, attempt: int) -> Execution:
        """Return the execution from the memory; if it is not known, run it and remember it.

        Raises:
            BenchFault: from the other bench; it is not remembered.
        """
        key = execution_key(self._target, trial)
        known = self._memory.executions.get(key)
        simulated = known is None
        if known is None:
            known = self._simulate(key, trial, attempt)
        self._scene = known.end
        self._done(simulated)
        return known.execution

    def _set_up(self) -> Scene:
        self._is_set_up = True
        return self._bench.set_up(self._target, self._moves)

    def _simulate(self, key: str, trial: Trial, attempt: int) -> Remembered:
        self._scene = None
        if not self._is_set_up:
            self._set_up()
        self._is_set_up = False
        execution = replace(self._bench.execute(trial, attempt), policy_latency=())
        remembered = Remembered(key, _digest(self._target), self._start, execution, self._bench.scene())
        self._memory.add(remembered)
        return remembered


class RememberingPerturbation:
    """A ``Perturbation`` that remembers its answers, because planning one takes as long as many trials."""

    def __init__(self, perturbation: Perturbation) -> None:
        self._perturbation = perturbation
        self.name, self.symbol = perturbation.name, perturbation.symbol
        self.axes, self.description = perturbation.axes, perturbation.description
        self.plausible, self.expectation = perturbation.plausible, perturbation.expectation
        self.parts = getattr(perturbation, "parts", ())
        self._answers: dict[tuple[str, str], Perturbed | NotApplicable] = {}

    def supports(self, task: Task) -> bool:
        """Return whether the perturbation supports the task."""
        return self._perturbation.supports(task)

    def apply(
        self, task: Task, base: TestInstance, scene: Scene, rng: np.random.Generator
    ) -> Perturbed | NotApplicable:
        """Return the answer; a known answer leaves the generator unchanged.

        All calls must have the same task.
        """
        key = _digest((base, scene)), repr(rng.bit_generator.state)
        if key not in self._answers:
            self._answers[key] = self._perturbation.apply(task, base, scene, rng)
        return self._answers[key]


def execution_key(target: Scene, trial: Trial) -> str:
    """Return the SHA-256, in hex, of everything on which the execution of a trial depends.

    The instance's id and its proof are left out, because no policy and no score depends on them.
    """
    instance = replace(trial.instance, instance_id="", proof=None)
    return _digest((target, instance, trial.seed))


def _digest(value: object) -> str:
    return hashlib.sha256(to_json(value, inf_nan_mode="strings", bytes_mode="base64")).hexdigest()
