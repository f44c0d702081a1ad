"""Families of square tags in OpenCV: AprilTags and ArUco markers."""

from __future__ import annotations

import functools
from typing import Literal

import cv2


def _name(constant: str) -> str:
    name = constant.removeprefix("DICT_").lower()
    return name if name.startswith(("apriltag", "aruco")) else f"aruco_{name}"


FAMILIES = {_name(c): getattr(cv2.aruco, c) for c in sorted(dir(cv2.aruco)) if c.startswith("DICT_")}
"""Name of a family in parameter files -> OpenCV's number for the family."""

Family = Literal[tuple(FAMILIES)]
"""Name of a family, such as ``apriltag_36h11``, ``aruco_5x5_250`` or ``aruco_original``."""

USUAL = "apriltag_36h11"
"""The default family: of those with so many tags the one in which errors are least likely."""


@functools.cache
def dictionary(family: str) -> cv2.aruco.Dictionary:
    """Return OpenCV's dictionary of a family."""
    return cv2.aruco.getPredefinedDictionary(FAMILIES[family])


def modules(family: str) -> int:
    """Return the number of modules along a side of a tag's black square, its black border included."""
    return dictionary(family).markerSize + 2


def last_number(family: str) -> int:
    """Return the number of the last tag of a family; the first has 0."""
    return len(dictionary(family).bytesList) - 1


def in_words(family: str) -> str:
    """Return the name of a family as its authors write it."""
    kind, _, name = family.partition("_")
    return f"{'AprilTag' if kind == 'apriltag' else 'ArUco'} {name}"
