"""The record that another person needs to run a session again."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import yaml

from robocontrast_ros.analysis.data.run_record import RunRecord
from robocontrast_ros.runs.events import PolicyLoaded
from robocontrast_ros.runs.run_folder import RunFolder


@dataclass(frozen=True)
class Reproduction:
    """Versions, digests, parameters and commands to run a session again.

    Attributes:
        versions: package -> version.
        digests: file, policy or ``resolved parameters`` -> SHA-256 in hex.
        parameters: file -> YAML text.
        commands: command -> its effect, in words.
    """

    versions: dict[str, str]
    digests: dict[str, str]
    parameters: dict[str, str]
    commands: dict[str, str]


def reproduction_of(run: RunFolder, record: RunRecord) -> Reproduction:
    """Return the record to run a session again, from a run that has one."""
    started = record.started
    assert started is not None, "compute_results refuses a journal without"
    digests = {"resolved parameters": started.digest}
    for loaded in policies_loaded(record):
        digests[f"policy {loaded.name}"] = loaded.digest
    for file in (*sorted(run.parameters.glob("*.yaml")), run.journal):
        digests[str(file.relative_to(run.path))] = hashlib.sha256(file.read_bytes()).hexdigest()
    return Reproduction(
        versions=started.versions,
        digests=digests,
        parameters={
            f"{name}.yaml": yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
            for name, content in started.parameters.items()
        },
        commands={
            "robocontrast evaluate session.yaml": "runs the session again, from session.yaml below",
            f"robocontrast score {run.name}": "recomputes every score from the bags alone",
            f"robocontrast report {run.name}": "makes this page again",
        },
    )


def policies_loaded(record: RunRecord) -> tuple[PolicyLoaded, ...]:
    """Return the policies of a run, each where it was loaded for the first time."""
    return tuple({(event.name, event.digest): event for event in reversed(record.loaded)}.values())[::-1]
