"""Golden digests: whether a run's trials equal, to the last bit, those behind this version's documents.

A file of ``config/golden/`` holds one digest for each trial of a shipped session. ``evaluate`` compares a run of that
session with it. docs/reproducibility.md lists causes of differences.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from robocontrast_ros.analysis.data.run_record import RunRecord
from robocontrast_ros.configuration import read_yaml, resolve_uri
from robocontrast_ros.configuration.files import known_names
from robocontrast_ros.domain import Pose, Scene
from robocontrast_ros.runs.events import SessionStarted, TrialFinished

FOLDER = "package://robocontrast_ros/config/golden"

KEYED = ("mujoco", "numpy", "scipy", "torch")
"""Packages whose versions belong to a digest."""

UNRELATED = frozenset(
    {
        *(
            "description",
            "task",
            "robot",
            "policy",
            "policy_server",
            "watchdog",
            "operator",
            "composed",
            "compare_within",
            "max_trials",
            "fast",
        ),
        *("void_retries", "speed_scaling", "stop_early", "timeouts", "camera_images", "recording", "output", "scores"),
    }
)
"""Keys of a session that no simulated trial depends on, and keys whose files are compared themselves."""

DIGESTED = ("success", "spl", "progress", "distance_to_goal", "path_length")
"""The scores that are part of a trial's digest."""

DIGITS = 16
"""Length of a digest in hex: 64 bits."""


@dataclass(frozen=True)
class Golden:
    """The digests of one session's trials.

    Attributes:
        session: name of the shipped session; empty if a study's job was run.
        policy: the policy that replaced the session's own; None if none did.
        command: the command that made the run.
        versions: package -> version, of the packages ``KEYED``.
        machine: the machine of the run.
        world: simulator and renderer of the scenes.
        trials: one digest a trial, in order.
    """

    session: str
    policy: str | None
    command: str
    versions: dict[str, str]
    machine: dict[str, str]
    world: str
    trials: tuple[str, ...]

    @classmethod
    def of(cls, run: RunRecord, command: str, policy: str | None = None) -> Golden:
        """Return the digests of a run whose journal has the session's start."""
        started = run.started
        assert started is not None
        return cls(
            session=started.session,
            policy=policy,
            command=command,
            versions=_keyed(started.versions),
            machine=started.machine,
            world=started.world,
            trials=_digests(run),
        )

    @classmethod
    def load(cls, path: Path) -> Golden:
        """Read a file that ``save`` wrote."""
        content = json.loads(path.read_text(encoding="utf-8"))
        return cls(**{**content, "trials": tuple(content["trials"])})

    def save(self, path: Path) -> None:
        """Write a file, one trial a line."""
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")


def trial_digest(event: TrialFinished) -> str:
    """Return a digest of a trial: its instance, its scenes, its result with the scores ``DIGESTED``, and its cost.

    Other scores, notes, wall-clock times and names in the code are not part of it.
    """
    trial, result = event.trial, event.result
    return digest(
        trial.base_id,
        trial.perturbation,
        trial.repeat,
        trial.seed,
        trial.instance.instruction.text,
        trial.instance.optimal_path_length,
        _places(trial.instance.scene),
        event.observed.image_digest,
        int(result.outcome),
        int(result.fault),
        *(result.scores[name] for name in DIGESTED),
        *(result.optimal_path_length, result.steps, result.duration, result.clamped_steps),
        _places(result.final_scene),
        event.cost,
    )


def digest(*values: Any) -> str:
    """Return a digest of all bits of numbers, texts and lists of them."""
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()[:DIGITS]


def find_golden(started: SessionStarted) -> Golden | None:
    """Return the digests of the shipped session that this one is a run of; None if there are none."""
    files = sorted(resolve_uri(FOLDER).glob("*.json"))
    found = (Golden.load(file) for file in files)
    own = _conditions(started.parameters)
    for golden in found:
        # The policy's file is compared first, because resolving a session takes as long as the tables of many runs.
        if golden.session == started.session and _policy_of(golden) == started.recorded.policy_parameters:
            from robocontrast_ros.sessions.overrides import Overrides
            from robocontrast_ros.sessions.resolving import resolve

            shipped = resolve(golden.session, Overrides(policy=golden.policy))
            if _conditions(shipped.snapshot()) == own:
                return golden
    return None


def golden_words(run: RunRecord) -> str:
    """Return the comparison of a run's trials with the golden ones; empty without those, or after a policy's swap."""
    swapped = len({policy.digest for policy in run.loaded}) > 1
    golden = None if run.started is None or swapped else find_golden(run.started)
    return "" if golden is None else compared(run, golden)


def compared(run: RunRecord, golden: Golden) -> str:
    """Return the comparison of a run's trials with the golden ones, in words."""
    own = _digests(run)
    others = [index for index, (a, b) in enumerate(zip(own, golden.trials, strict=False)) if a != b]
    number = min(len(own), len(golden.trials))
    said = f"golden digest of this version: {number - len(others)} of {number} trials are the same to the last bit"
    if not others:
        return said
    return (
        f"{said}, the first that differs is {others[0]:04d}; numbers differ in detail from the documents'. "
        f"Reason: {_reason(run.started, golden)}"
    )


def _reason(started: SessionStarted, golden: Golden) -> str:
    here = _keyed(started.versions)
    if here != golden.versions:
        return "other versions, " + _differences(here, golden.versions)
    if started.machine.get("vectors") not in ("avx2", "avx512f"):
        return f"the processor has no AVX2 ({started.machine.get('processor', 'unknown')})"
    if _renderer(started.world) != _renderer(golden.world):
        return f"images of another renderer, {_renderer(started.world)} for {_renderer(golden.world)}"
    if started.machine.get("libc") != golden.machine.get("libc"):
        return f"another C library, {started.machine.get('libc')} for {golden.machine.get('libc')}"
    return "not known; please report it with the first line of the run's journal"


def _policy_of(golden: Golden) -> Any:
    """Return the content of the policy's file, as a run's parameters have it."""
    policy = golden.policy or read_yaml(known_names("sessions")[golden.session])["policy"]
    return read_yaml(known_names("policies")[policy])


def _conditions(parameters: Mapping[str, Any]) -> dict[str, Any]:
    session = {k: v for k, v in parameters.get("session", {}).items() if k not in UNRELATED}
    return {**parameters, "session": session}


def _renderer(world: str) -> str:
    """Return the renderer without the width of its vectors, because images do not depend on it."""
    drawn = world.partition("drawn by ")[2]
    return drawn.replace(", 128 bits", "").replace(", 256 bits", "").replace(", 512 bits", "") or "nothing drawn"


def _differences(here: dict[str, str], there: dict[str, str]) -> str:
    names = sorted(name for name in {*here, *there} if here.get(name) != there.get(name))
    return ", ".join(f"{name} {here.get(name, 'not installed')} for {there.get(name, 'none')}" for name in names)


def _keyed(versions: dict[str, str]) -> dict[str, str]:
    # The suffix of a build (+cpu) is left out.
    return {name: versions[name].partition("+")[0] for name in KEYED if name in versions}


def _digests(run: RunRecord) -> tuple[str, ...]:
    return tuple(trial_digest(each.first) for each in run.trials if each.counts)


def _places(scene: Scene) -> list[Any]:
    poses: list[tuple[str, Pose | None]] = [(o.name, o.pose) for o in sorted(scene, key=lambda o: o.name)]
    poses.append(("", scene.robot))
    return [[name, *pose.position, *pose.orientation] if pose is not None else [name] for name, pose in poses]
