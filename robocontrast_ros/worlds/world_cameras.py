"""Names of the cameras of a world model, read without MuJoCo, which takes longer to import than a session to check."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from robocontrast_ros.configuration import resolve_uri


def world_cameras(world: str) -> tuple[str, ...]:
    """Return the names of the cameras of a world's MJCF file, and of the files that it includes.

    Args:
        world: URI or path of the file.

    Raises:
        OSError: a file cannot be read.
        ValueError: a file is no XML.
    """
    return tuple(_cameras(resolve_uri(world)))


def _cameras(file: Path) -> list[str]:
    try:
        root = ElementTree.fromstring(file.read_bytes())
    except ElementTree.ParseError as error:
        raise ValueError(f"{file}: {error}") from None
    found = []
    for element in root.iter():
        if element.tag == "include":
            found += _cameras(file.parent / element.get("file", ""))
        elif element.tag == "camera" and element.get("name"):
            found.append(str(element.get("name")))
    return found
