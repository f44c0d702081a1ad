"""A laboratory's own world under a camera, and its own judge by that camera."""

from __future__ import annotations

from robocontrast_ros.episodes.judging import Camera
from robocontrast_ros.worlds.backends import BackendFeatures


class CameraTable:
    """A table whose scenes a camera reads."""

    features = BackendFeatures(person=True, console=True, camera=True)
    description = "a table"

    def __init__(self, context):
        self.now, self.scene = context.now, None

    def read(self):
        return self.now(), self.scene

    def set_up(self, target, moves):
        self.scene = target
        return self.read()


class TagJudge(Camera):
    """Judges as the shipped one does."""
