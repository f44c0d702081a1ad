"""The camera that the console shows: its pictures of wanted scenes, and the reader of the table in its pictures."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.console.new_instances import NotRecorded
from robocontrast_ros.console.table_map import doubts_in_words
from robocontrast_ros.domain import Scene
from robocontrast_ros.images.rendering import Camera
from robocontrast_ros.robots.profile_base import RobotProfile
from robocontrast_ros.tasks.protocol import Task
from robocontrast_ros.worlds.backends import BackendFeatures, TableReading
from robocontrast_ros.worlds.camera_files import load_camera_files
from robocontrast_ros.worlds.mujoco.wanted import WantedScenes
from robocontrast_ros.worlds.table_camera import TableCamera

PICTURE = 5.0
"""Time limit of the wait for a new picture [s]."""


def console_camera(
    camera: Camera | None,
    files: Mapping[str, Path],
    robot: RobotProfile,
    task: Task,
    features: BackendFeatures,
    source: str,
) -> tuple[WantedScenes | None, TableCamera | None]:
    """Return the renderer of wanted scenes, None if the camera's pose is not known; and the reader of the table.

    In practice the camera's calibration is that of the simulator.

    Args:
        camera: the camera that the console shows; None for none.
        files: those of ``load_camera_files``.
        robot: the session's robot.
        task: the session's task.
        features: features of the session's backend; without ``camera`` nothing reads the table.
        source: the session's file, for errors.

    Raises:
        ConfigurationError: an error of ``load_camera_files``; or no camera is given, and one has to read the table.
    """
    calibrated, tags, fixed_tags = load_camera_files(files, task, features, source)
    if camera is None and features.camera:
        raise ConfigurationError(source, "cameras", "none", "the camera that reads the table")
    if camera is None or (calibrated is None and not features.embedded):
        return None, None
    wanted = WantedScenes(robot, task, camera, calibrated)
    if not features.camera:
        return wanted, None
    return wanted, TableCamera(task, calibrated or wanted.calibrated(), tags, fixed_tags)


def how_known(features: BackendFeatures) -> str:
    """Return the source of the present scene, in words for the person."""
    if features.camera:
        return "as the camera sees it"
    return "as it was set up last, for nothing sees it" if features.unseen else "as it is in the simulator"


class Pictures(Protocol):
    """The pictures of a camera, each of shape (height, width, 3), RGB.

    Attributes:
        silence: the reason why there is no picture, in words; empty if there is one.
    """

    silence: str

    def picture(self) -> NDArray[np.uint8] | None:
        """Return the newest picture."""

    def next_picture(self, timeout: float) -> NDArray[np.uint8] | None:
        """Return a picture taken after this call; None if none comes within ``timeout`` [s]."""


class TableReader:
    """Reads the table in new pictures, one after the other. Its methods may be called from any thread."""

    def __init__(self, pictures: Pictures | None, table: TableCamera | None) -> None:
        """Take the pictures that the console shows, and the reader of the table; None for none."""
        self._pictures, self._table = pictures, table
        self._reading = threading.Lock()
        self._unsure: Mapping[str, str] = {}

    def read(self, expected: Scene) -> TableReading:
        """Return the reading of a new picture, with ``expected`` on the table; nothing is sure without a picture."""
        with self._reading:
            picture = self._pictures.next_picture(PICTURE)
            if picture is None:
                # The person repairs the camera and has it look again, or says where the objects are.
                reading = self._table.unseen(expected, self._pictures.silence or "No new picture came.")
            else:
                reading = self._table.read(picture, expected)
            self._unsure = reading.unsure
        return reading

    def standing(self, scene: Callable[[], Scene]) -> Scene:
        """Return the present scene.

        Args:
            scene: returns the present scene, and meanwhile has the table read if a camera sees it.

        Raises:
            NotRecorded: the scene is not known, or the camera is unsure of an object.
        """
        self._unsure = {}
        found = scene()
        if self._unsure:
            doubts = "; ".join(doubts_in_words(self._unsure))
            raise NotRecorded(f"the camera cannot tell where everything stands: {doubts}")
        return found

    def problems(self) -> tuple[str, ...]:
        """Return the problems of the camera, in words."""
        if self._pictures is None:
            return ()
        # The reason of a silence is known only after an attempt to get a picture.
        picture, silence = self._pictures.picture(), self._pictures.silence
        if silence:
            return (silence,)
        return self._table.problems(picture) if self._table is not None and picture is not None else ()
