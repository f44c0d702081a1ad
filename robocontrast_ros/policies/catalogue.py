"""Which policies there are and what each needs, found out without loading one where that can be helped."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import Distribution, EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from robocontrast_ros.configuration import ConfigurationError, find_configured, read_yaml
from robocontrast_ros.configuration.plugins import GROUP_PREFIX
from robocontrast_ros.policies.protocol import PolicyDescription

OURS = "robocontrast_ros"


@dataclass(frozen=True)
class Listed:
    """A parameter file of a policy.

    Attributes:
        file: the file.
        description: what the policy needs and answers with; None where that cannot be told here.
        needs: what must be there besides the robot, in a few words each.
        by_file: whether the file alone told it; else the policy was loaded.
        problem: why it has no description; empty where it has.
    """

    file: Path
    description: PolicyDescription | None
    needs: tuple[str, ...] = ()
    by_file: bool = True
    problem: str = ""


def look_up(file: Path) -> Listed:
    """Return what can be told about the policy of a parameter file.

    Weights are loaded, and servers asked, for a policy without ``describe_file`` only. Nothing is raised, since a
    policy that cannot be had here is to be listed, too.
    """
    needs: tuple[str, ...] = ()
    try:
        maker = find_configured("policies", file)
        needs = tuple(maker.needs(file)) if hasattr(maker, "needs") else ()
        by_file = hasattr(maker, "describe_file")
        description = maker.describe_file(file) if by_file else load_and_describe(maker, file)
    except ConfigurationError as error:
        # Its file is in the next column.
        return Listed(file, None, needs, problem=str(error).removeprefix(f"{file}: "))
    except Exception as error:  # whatever a user's class raises is to be listed, not ours to fail with
        return Listed(file, None, needs, problem=f"{type(error).__name__}: {error}")
    if description.privileged:
        needs = ("ground truth", *needs)
    return Listed(file, description, needs, by_file)


def load_and_describe(maker: Any, file: Path) -> PolicyDescription:
    """Load the policy that a parameter file describes, let it describe itself, and let it go again.

    Args:
        maker: what the file names, as ``find_configured`` finds it.
        file: the parameter file.

    Raises:
        ConfigurationError: it cannot be loaded.
    """
    policy = maker.from_file(file)
    try:
        return policy.describe()
    finally:
        getattr(policy, "close", lambda: None)()


def plugin_files() -> dict[str, tuple[Path, ...]]:
    """Return the policies that other installed packages register, as 'name (package)', and their parameter files.

    A parameter file is any YAML file among the package's installed files that names the policy.
    """
    found: dict[str, tuple[Path, ...]] = {}
    for entry in entry_points(group=f"{GROUP_PREFIX}policies"):
        if entry.dist is not None and entry.dist.name != OURS:
            found[f"{entry.name} ({entry.dist.name})"] = _files_of(entry, entry.dist)
    return found


def package_need(module: str, words: str) -> str:
    """Return the words for a Python package that is needed, and whether it is missing here."""
    return words if find_spec(module) is not None else f"{words}: not installed here"


def _files_of(entry: EntryPoint, package: Distribution) -> tuple[Path, ...]:
    files = (Path(str(file.locate())) for file in package.files or () if file.suffix in (".yaml", ".yml"))
    return tuple(sorted(file for file in files if _policy_of(file) == entry.name))


def _policy_of(file: Path) -> str | None:
    try:
        content = read_yaml(file)
    except ConfigurationError:
        return None
    return content.get("policy") if isinstance(content, dict) else None
