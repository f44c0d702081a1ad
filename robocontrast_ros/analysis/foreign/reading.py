"""The trials of one policy, read from a word of the command line in any format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from robocontrast_ros.analysis.foreign.outcomes import Outcome, ResultFormat, ResultSet
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.configuration.plugins import make_plugin, plugin_names

KIND = "result_formats"


@dataclass(frozen=True)
class Arm:
    """All trials of one policy.

    Attributes:
        source: the word of the command line.
        outcomes: the trials, sorted; each key once, unless trials have no instance.
        notes: sentences about the file.
    """

    source: str
    outcomes: tuple[Outcome, ...]
    notes: tuple[str, ...] = ()


def read_arm(source: str, named: str = "") -> Arm:
    """Return the trials of one policy.

    Args:
        source: counts, or the path of a file or folder, after which `#POLICY` chooses one of several policies.
        named: name of the format; empty for the one that matches.

    Raises:
        ConfigurationError: no format matches, or several; the file does not fit its format; it has several policies, or
            a trial twice.
    """
    path, _, policy = (source, "", "") if Path(source).exists() else source.partition("#")
    found = _format_of(path, named).read(path)
    return Arm(source, _one_each(path, _chosen(path, policy, found)), found.notes)


def _format_of(source: str, named: str) -> ResultFormat:
    if named:
        return make_plugin(KIND, named, "command line", "--format")
    formats = {name: make_plugin(KIND, name, "command line", "RUNS") for name in plugin_names(KIND)}
    matching = [name for name, one in formats.items() if one.matches(source)]
    if len(matching) > 1:
        raise ConfigurationError(
            "command line", "RUNS", source, "one format", f"Add --format, of: {', '.join(matching)}."
        )
    if not matching:
        exists = "no known layout" if Path(source).exists() else "no such file or folder"
        known = "; ".join(one.description for one in formats.values())
        raise ConfigurationError("command line", "RUNS", source, f"one of these, but it is {exists}: {known}")
    return formats[matching[0]]


def _chosen(source: str, policy: str, found: ResultSet) -> tuple[Outcome, ...]:
    """Return the trials of the policy that is named, or of the only one."""
    policies = sorted({outcome.policy for outcome in found.outcomes})
    if policy:
        if policy not in policies:
            raise ConfigurationError.unknown(source, "policy", policy, policies, "policy of this file")
        return tuple(outcome for outcome in found.outcomes if outcome.policy == policy)
    if len(policies) > 1:
        cure = f"Name one after the file: `{source}#{policies[0]}`."
        raise ConfigurationError(source, "policy", ", ".join(policies), "the trials of one policy", cure)
    return found.outcomes


def check_distinct_sources(sources: Sequence[str]) -> None:
    """Refuse a file or folder that is named twice.

    Raises:
        ConfigurationError: two are the same.
    """
    seen: set[tuple[Path, str]] = set()
    for source in sources:
        path, _, policy = (source, "", "") if Path(source).exists() else source.partition("#")
        if Path(path).exists():
            if (Path(path).resolve(), policy) in seen:
                raise ConfigurationError("command line", "RUNS", source, "each result once")
            seen.add((Path(path).resolve(), policy))


def _one_each(source: str, outcomes: tuple[Outcome, ...]) -> tuple[Outcome, ...]:
    """Return the trials in an order that does not depend on the file's; refuse a trial that is there twice."""
    seen: set[tuple[str, str, str]] = set()
    for outcome in outcomes:
        if outcome.instance is not None and outcome.key in seen:
            cure = "Keep one of them, or number repeats of an instance (in a table by the column `replicate`)."
            raise ConfigurationError(source, "", f"{outcome.words} twice", "each trial once", cure)
        seen.add(outcome.key)
    return tuple(sorted(outcomes, key=lambda outcome: (outcome.key, outcome.success is not True)))
