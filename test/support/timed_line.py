"""Blocks on a line that a person carries, who is timed."""

from __future__ import annotations

from typing import ClassVar

from wall_clock_line import Helper

from robocontrast_ros.worlds.backends import BackendFeatures


class TimedHelper(Helper):
    """The helper, as a person."""

    features: ClassVar[BackendFeatures] = BackendFeatures(person=True)
