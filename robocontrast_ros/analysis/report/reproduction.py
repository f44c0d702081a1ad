"""The record that another person needs to run a session again."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import yaml

from robocontrast_ros.runs.events import Event, PolicyLoaded
from robocontrast_ros.runs.journal import Journal
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


def reproduction_of(run: RunFolder, journal: Journal) -> Reproduction:
    """Return the record to run a session again, from a journal that holds one."""
    started = journal.started
    assert started is not None, "compute_results refuses a journal without"
    digests = {"resolved parameters": started.digest}
    for loaded in policies_loaded(journal.events):
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


def policies_loaded(events: Sequence[Event]) -> tuple[PolicyLoaded, ...]:
    """Return the first loading of each policy of a run, in the order of their last loadings."""
    loaded = [event for event in events if isinstance(event, PolicyLoaded)]
    return tuple({(event.name, event.digest): event for event in reversed(loaded)}.values())[::-1]
