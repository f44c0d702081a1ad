"""Read a problem from a file, whatever it is written in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.configuration.files import SUFFIXES
from robocontrast_ros.tasks.bddl.libero import read_bddl
from robocontrast_ros.tasks.bddl.problem import Check, Flaw, Problem
from robocontrast_ros.tasks.bddl.yaml_form import read_yaml_problem

BDDL = ".bddl"


def read_problem(path: Path, checks: Iterable[Check] = ()) -> Problem:
    """Return the problem of a file in BDDL or YAML.

    Args:
        path: the file.
        checks: what is to be looked at after what is wrong with any problem.

    Raises:
        ConfigurationError: the file has another ending, cannot be read, or its problem is wrong. The source is
            ``FILE:LINE:COLUMN`` for BDDL, and the key is that of the file for YAML.
    """
    if path.suffix == BDDL:
        return read_bddl(path, checks)
    if path.suffix in SUFFIXES:
        return read_yaml_problem(path, checks)
    raise ConfigurationError(str(path), "", path.suffix or path.name, f"a file that ends in {BDDL} or {SUFFIXES[0]}")


def error_at(path: Path, flaw: Flaw) -> ConfigurationError:
    """Return what was found wrong with a file's problem as the error at its place in the file."""
    try:
        read_problem(path, (lambda problem: flaw,))
    except ConfigurationError as error:
        return error
    return ConfigurationError(str(path), ".".join(map(str, flaw.where)), flaw.got, flaw.expected, flaw.cure)


def problem_files(places: Iterable[Path]) -> Iterator[Path]:
    """Yield files, and all files of problems in folders and what they hold, in the order of their names.

    Raises:
        ConfigurationError: a folder has no such file.
    """
    for place in places:
        if not place.is_dir():
            yield place
            continue
        found = sorted(path for path in place.rglob("*") if path.suffix in (BDDL, *SUFFIXES) and path.is_file())
        if not found:
            raise ConfigurationError(str(place), "", "no such file", f"a folder with files in {BDDL} or {SUFFIXES[0]}")
        yield from found
