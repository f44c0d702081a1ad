"""A problem as our own YAML, which says what LIBERO's BDDL says; every error has a file and a key."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from robocontrast_ros.configuration import ConfigurationError, parse_record, read_yaml, record, write_yaml
from robocontrast_ros.tasks.bddl.problem import (
    NO_COLOUR,
    NO_TURN,
    Atom,
    Check,
    Flaw,
    Problem,
    Range,
    Region,
    atom_of,
    first_flaw,
)

_NAME = re.compile(r"[^\s();]+")


def _name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise ValueError("a name without blanks, brackets and `;`")
    return text


Name = Annotated[str, AfterValidator(_name)]


@record
class RegionRecord:
    """A region, as a file declares it."""

    name: Name = Field(description="name, unique among the regions of its target; atoms call it TARGET_NAME")
    target: Name = Field(description="fixture or object that it is a part of")
    ranges: tuple[Range, ...] = Field(
        default=(),
        description="rectangles [least x, least y, greatest x, greatest y] in the frame of the target [m]; none: a "
        "site that the target's model has",
    )
    yaw: tuple[float, float] = Field(
        default=NO_TURN, description="least and greatest turn about z of a fixture that is put there [rad]"
    )
    rgba: tuple[float, float, float, float] = Field(
        default=NO_COLOUR, description="colour and opacity, each from 0 to 1"
    )


@record
class ProblemRecord:
    """A problem, as a file declares it."""

    name: Name = Field(description="name of the kind of problem")
    language: str = Field(min_length=1, description="the instruction")
    fixtures: dict[Name, Name] = Field(description="what stands fast -> its type")
    objects: dict[Name, Name] = Field(description="what can be moved -> its type")
    regions: tuple[RegionRecord, ...] = Field(default=(), description="parts of fixtures and objects")
    of_interest: tuple[Name, ...] = Field(
        default=(), description="fixtures, objects and regions that the instruction is about"
    )
    init: tuple[str, ...] = Field(description="what holds at the start: a predicate and its arguments, as one text")
    goal: tuple[str, ...] = Field(description="what shall hold at the end, all of it")


def read_yaml_problem(path: Path, checks: Iterable[Check] = ()) -> Problem:
    """Return the problem of a file. Its key ``scene`` names a file with the keys that it leaves out.

    Args:
        path: the file.
        checks: what is to be looked at after what is wrong with any problem.

    Raises:
        ConfigurationError: the file cannot be read, or the problem is wrong.
    """
    content, files = read_yaml(path), {}
    if isinstance(content, dict) and "scene" in content:
        scene = path.parent / str(content.pop("scene"))
        if not scene.is_file():
            raise ConfigurationError(
                str(path), "scene", str(scene), "a file with the scene of the problem", "Check the path."
            )
        shared = read_yaml(scene)
        if not isinstance(shared, dict):
            raise ConfigurationError(str(scene), "", shared, "a mapping of keys of a problem")
        files = {key: str(scene) for key in shared if key not in content}
        content = {**shared, **content}
    return parse_yaml_problem(content, str(path), checks, files)


def parse_yaml_problem(
    content: Any, source: str, checks: Iterable[Check] = (), files: Mapping[str, str] | None = None
) -> Problem:
    """Return the problem that a file's content describes.

    Args:
        content: the content.
        source: name of the file in errors.
        checks: as ``read_yaml_problem``.
        files: key -> name of another file that has it.

    Raises:
        ConfigurationError: as ``read_yaml_problem``.
    """
    try:
        return _problem(parse_record(ProblemRecord, content, source), source, checks)
    except ConfigurationError as error:
        where = (files or {}).get(error.key.partition(".")[0], source)
        raise ConfigurationError(where, error.key, error.got, error.expected, error.cure) from None


def _problem(said: ProblemRecord, source: str, checks: Iterable[Check]) -> Problem:
    problem = Problem(
        name=said.name,
        language=said.language,
        fixtures=said.fixtures,
        objects=said.objects,
        regions=tuple(Region(r.name, r.target, r.ranges, r.yaw, r.rgba) for r in said.regions),
        of_interest=said.of_interest,
        init=_atoms(said.init, "init", source),
        goal=_atoms(said.goal, "goal", source),
    )
    for check in (first_flaw, *checks):
        flaw = check(problem)
        if flaw is not None:
            raise _error(flaw, source)
    return problem


def write_yaml_problem(path: Path, problem: Problem) -> None:
    """Write a problem as YAML.

    Raises:
        DiskError: the file cannot be written.
    """
    write_yaml(path, problem_content(problem))


def problem_content(problem: Problem) -> dict[str, Any]:
    """Return a problem as plain mappings, lists and scalars, without what a file need not say."""
    return {
        "name": problem.name,
        "language": problem.language,
        "fixtures": dict(problem.fixtures),
        "objects": dict(problem.objects),
        "regions": [_region_content(region) for region in problem.regions],
        "of_interest": list(problem.of_interest),
        "init": [_words(atom) for atom in problem.init],
        "goal": [_words(atom) for atom in problem.goal],
    }


def _region_content(region: Region) -> dict[str, Any]:
    content: dict[str, Any] = {"name": region.name, "target": region.target}
    if region.ranges:
        content["ranges"] = [list(box) for box in region.ranges]
    if region.yaw != NO_TURN:
        content["yaw"] = list(region.yaw)
    if region.rgba != NO_COLOUR:
        content["rgba"] = list(region.rgba)
    return content


def _words(atom: Atom) -> str:
    return " ".join((atom.predicate, *atom.arguments))


def _atoms(texts: tuple[str, ...], section: str, source: str) -> tuple[Atom, ...]:
    atoms = []
    for index, text in enumerate(texts):
        atom = atom_of(tuple(text.split()), (section, index))
        if isinstance(atom, Flaw):
            raise _error(atom, source)
        atoms.append(atom)
    return tuple(atoms)


def _error(flaw: Flaw, source: str) -> ConfigurationError:
    # An atom is one text, so its arguments have no keys.
    where = flaw.where[:2] if flaw.where[0] in ("init", "goal") else flaw.where
    return ConfigurationError(source, ".".join(map(str, where)), flaw.got, flaw.expected, flaw.cure)
