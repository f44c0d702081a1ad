"""The versions of the software on which a result may depend."""

from __future__ import annotations

import contextlib
from importlib.metadata import PackageNotFoundError, version

from robocontrast_ros import __version__

PACKAGES = (
    "numpy",
    "scipy",
    "mujoco",
    "torch",
    "daqp",
    "shapely",
    "opencv-python-headless",
    "ortools",
    "pydantic",
)
"""Packages whose versions every journal records."""


def session_versions() -> dict[str, str]:
    """Return package -> version, for this package and those of ``PACKAGES`` that are installed."""
    found = {"robocontrast_ros": __version__}
    for package in PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            found[package] = version(package)
    return found
