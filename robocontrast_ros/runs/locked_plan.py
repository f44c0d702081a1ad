"""A session's plan, written down and locked by its hash before the first trial, as one preregisters a study."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pydantic_core import to_json

from robocontrast_ros.configuration import ConfigurationError, parse_record
from robocontrast_ros.configuration.differences import differences
from robocontrast_ros.domain import Scene, Start, TestInstance, Trial
from robocontrast_ros.system.disk import write_file

LOCKED = "locked_plan"
"""The key of a session, and of its resolved parameters, that names a locked plan."""

_NO_SETTINGS = (LOCKED, "session.output", "session.description", "session.fast")
"""Keys of the resolved parameters that no trial depends on."""

_FILES = ("session.task", "session.robot", "session.policy", "session.test_set.file")
"""Keys that may be paths, which differ from machine to machine; what the files hold is compared by itself."""


@dataclass(frozen=True)
class LockedTrial:
    """A trial of a locked plan.

    Attributes:
        index: its position, from 0.
        instance: instance_id of its unperturbed test instance.
        perturbation: ``base``, or the perturbation's name.
        repeat: number of the repeat, from 0.
        instruction: what the policy is told.
        start: name of its start (``domain.Start``).
        seed: seed of the policy's own randomness.
        digest: SHA-256, in hex, of its initial conditions; see ``digest_of``.
    """

    index: int
    instance: str
    perturbation: str
    repeat: int
    instruction: str
    start: str
    seed: int
    digest: str

    @classmethod
    def of(cls, trial: Trial) -> LockedTrial:
        """Return a planned trial as it is locked."""
        return cls(
            index=trial.index,
            instance=trial.base_id,
            perturbation=trial.perturbation,
            repeat=trial.repeat,
            instruction=trial.instance.instruction.text,
            start=trial.start.name,
            seed=trial.seed,
            digest=digest_of(trial.instance, trial.start.name),
        )

    @property
    def name(self) -> str:
        """Its test instance and perturbation in words, and its repeat if it is not the first."""
        return name_of(self.instance, self.perturbation, self.repeat)


@dataclass(frozen=True)
class LockedPlan:
    """The plan of a session before its first trial.

    Attributes:
        session: name of the session.
        seed: its seed.
        software: package -> version.
        parameters: the resolved parameters, by file.
        trials: the planned trials in order, within the budget, if each succeeds.
        sha256: SHA-256, in hex, of all this as canonical JSON: keys sorted, no spaces, UTF-8.
    """

    session: str
    seed: int
    software: dict[str, str]
    parameters: dict[str, Any]
    trials: tuple[LockedTrial, ...]
    sha256: str = ""

    def locked(self) -> LockedPlan:
        """Return the plan with its hash."""
        return replace(self, sha256=_hash(_content(self)))


def name_of(instance: str, perturbation: str, repeat: int) -> str:
    """Return the name of a trial for readers, which does not depend on its position."""
    return f"{instance} {perturbation}{f' ({repeat})' if repeat else ''}"


def digest_of(instance: TestInstance, start: str) -> str:
    """Return the SHA-256, in hex, of the initial conditions of a trial.

    Args:
        instance: the initial conditions.
        start: name of the start that is planned. Where the trial is to start in the scene that another leaves, nobody
            knows that scene before: then neither the scene nor what is computed from it is part of the digest.
    """
    if start != Start.FULL_RESET.name:
        instance = replace(instance, scene=Scene(), optimal_path_length=float("nan"), reference_path=(), proof=None)
    return hashlib.sha256(to_json(instance, inf_nan_mode="strings", bytes_mode="base64")).hexdigest()


def write_locked_plan(plan: LockedPlan, file: Path) -> None:
    """Write a plan that is locked.

    Raises:
        ConfigurationError: there is such a file, which may be a plan that somebody has locked.
        DiskError: it cannot be written.
    """
    refuse_existing(file)
    content = {**_content(plan), "sha256": plan.sha256}
    write_file(file, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def refuse_existing(file: Path) -> None:
    """Raise ConfigurationError if there is a file of that name: a locked plan is never written over."""
    if file.exists():
        raise ConfigurationError(
            "command line", "--lock", str(file), "a new file: a locked plan is not written over", "Name another one."
        )


def read_locked_plan(file: Path) -> LockedPlan:
    """Return the plan of a file.

    Raises:
        ConfigurationError: there is no such plan, or it was changed after it was locked.
    """
    expected = "a plan that `robocontrast plan SESSION --lock FILE` wrote"
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigurationError(str(file), "", error.strerror, expected) from None
    except ValueError:
        raise ConfigurationError(str(file), "", "no JSON", expected) from None
    if not isinstance(content, dict) or "sha256" not in content:
        raise ConfigurationError(str(file), "sha256", "nothing", expected)
    said = content.pop("sha256")
    if said != (found := _hash(content)):
        raise ConfigurationError(
            str(file),
            "sha256",
            said,
            f"{found}, the SHA-256 of its content: the plan was changed after it was locked",
            "Take the file as it was locked, or lock a new plan before a new session.",
        )
    return replace(parse_record(LockedPlan, content, str(file)), sha256=said)


def other_settings(plan: LockedPlan, parameters: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Return the dotted key, the planned and the present value of each parameter that is not the planned one.

    Args:
        plan: the plan.
        parameters: the resolved parameters of the session that runs, or ran.
    """
    found = list(differences(plan.parameters, parameters))
    policy = [key for key, planned, present in found if key == "session.policy" and _file(planned) != _file(present)]
    for key, planned, present in found:
        below = key == "policy" or key.startswith("policy.")
        if key in _NO_SETTINGS or key.startswith(f"{LOCKED}.") or (policy and below):
            continue
        if key in _FILES:
            planned, present = _file(planned), _file(present)
        if planned != present:
            yield key, planned, present


def _file(name: Any) -> Any:
    """Return the file's name of what may be a path, without the folders of a machine."""
    return name.rpartition("/")[2].removesuffix(".yaml") if isinstance(name, str) else name


def _content(plan: LockedPlan) -> dict[str, Any]:
    content = asdict(plan)
    del content["sha256"]
    return content


def _hash(content: Any) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
