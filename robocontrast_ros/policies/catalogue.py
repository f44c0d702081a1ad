"""The installed policies and their requirements, without loading them if possible."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import Distribution, EntryPoint
from importlib.util import find_spec
from pathlib import Path

from robocontrast_ros.configuration import ConfigurationError, find_configured, read_yaml
from robocontrast_ros.configuration.plugins import registered
from robocontrast_ros.policies.loading import description_by_file, load_and_describe, own_code
from robocontrast_ros.policies.protocol import PolicyDescription

OURS = "robocontrast_ros"


@dataclass(frozen=True)
class Listed:
    """A parameter file of a policy.

    Attributes:
        file: the file.
        description: the policy's inputs and outputs; None if unknown here.
        needs: requirements besides the robot, in a few words each.
        by_file: whether the description is from the file alone; else the policy was loaded.
        problem: the reason why there is no description; empty if there is one.
    """

    file: Path
    description: PolicyDescription | None
    needs: tuple[str, ...] = ()
    by_file: bool = True
    problem: str = ""


def look_up(file: Path) -> Listed:
    """Return the entry of a parameter file's policy.

    Weights are loaded, and servers asked, only for a policy without ``describe_file``. Nothing is raised, because a
    policy that cannot be loaded here is also listed.
    """
    needs: tuple[str, ...] = ()
    try:
        maker = find_configured("policies", file)
        with own_code(file, "says what it needs"):
            needs = tuple(maker.needs(file)) if hasattr(maker, "needs") else ()
        description = description_by_file(maker, file)
        by_file = description is not None
        description = description or load_and_describe(maker, file)
    except ConfigurationError as error:
        # The file is in the next column.
        return Listed(file, None, needs, problem=str(error).removeprefix(f"{file}: "))
    if description.privileged:
        needs = ("ground truth", *needs)
    return Listed(file, description, needs, by_file)


def plugin_files() -> dict[str, tuple[Path, ...]]:
    """Return the policies that other installed packages register, as 'name (package)', and their parameter files.

    A parameter file is any YAML file among the package's installed files that names the policy.
    """
    found: dict[str, tuple[Path, ...]] = {}
    for entry in registered("policies"):
        if entry.dist is not None and entry.dist.name != OURS:
            found[f"{entry.name} ({entry.dist.name})"] = _files_of(entry, entry.dist)
    return found


def package_need(words: str, *modules: str) -> str:
    """Return the words for a required Python package, with a note if none of the modules is installed here."""
    return words if any(map(find_spec, modules)) else f"{words}: not installed here"


def _files_of(entry: EntryPoint, package: Distribution) -> tuple[Path, ...]:
    files = (Path(str(file.locate())) for file in package.files or () if file.suffix in (".yaml", ".yml"))
    return tuple(sorted(file for file in files if _policy_of(file) == entry.name))


def _policy_of(file: Path) -> str | None:
    try:
        content = read_yaml(file)
    except ConfigurationError:
        return None
    return content.get("policy") if isinstance(content, dict) else None
