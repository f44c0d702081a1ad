"""The moving pictures of a trial: its camera images, else its map with the robot on its way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.analysis.data.run_record import TrialRecord
from robocontrast_ros.analysis.export.timing import Timing, at_constant_rate
from robocontrast_ros.analysis.figures.trial_map import TrialMap, map_with_path
from robocontrast_ros.analysis.figures.trial_picture import images_only
from robocontrast_ros.bags.errors import BagError
from robocontrast_ros.bags.reader import BagMessage, read_bag, read_trial
from robocontrast_ros.messages.decoding import stamp_from_msg
from robocontrast_ros.messages.images import image_to_array
from robocontrast_ros.tasks.protocol import Task

ROBOT = (0, 114, 178)
"""Colour of the robot on a map, RGB."""

Pixels = NDArray[np.uint8]


@dataclass(frozen=True)
class Clip:
    """The pictures of a trial in time.

    Attributes:
        timing: when each picture is shown.
        picture: returns a picture by its number, RGB, shape (height, width, 3).
        problems: what is wrong with them, each as a sentence.
    """

    timing: Timing
    picture: Callable[[int], Pixels]
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class CameraImages:
    """The images of a camera in a bag, not yet decoded but for their stamps.

    Attributes:
        topic: of the camera.
        messages: in the order of their receipt.
        stamps: of each [ns].
    """

    topic: str
    messages: tuple[BagMessage, ...]
    stamps: tuple[int, ...]

    def decoded(self, number: int) -> Pixels:
        """Return an image, RGB, shape (height, width, 3).

        Raises:
            BagError: it cannot be decoded.
        """
        return self.messages[number].converted(image_to_array)


def cameras_of(bag: Path) -> tuple[tuple[CameraImages, ...], str]:
    """Return the images of each camera of a bag, by topic, and what is wrong with the bag, in words.

    Raises:
        BagError: there is no bag, or nothing of it can be read.
    """
    content = read_bag(bag, images_only)
    found: dict[str, list[BagMessage]] = {}
    for message in content.messages:
        found.setdefault(message.topic, []).append(message)
    cameras = tuple(
        CameraImages(topic, tuple(own), tuple(message.converted(_stamp) for message in own))
        for topic, own in sorted(found.items())
    )
    return cameras, content.broken


def _stamp(message: Any) -> int:
    return stamp_from_msg(message.header.stamp)


def clip_of(run: Path, task: Task | None, record: TrialRecord, symbol: str) -> Clip | None:
    """Return the moving pictures of a trial: of its first camera, else its map; None if there is neither.

    Args:
        run: its run folder.
        task: its task; None if the run folder does not have it.
        record: what the journal says of it.
        symbol: of its perturbation.
    """
    bag, duration = record.ended.recording.bag, record.ended.result.duration
    duration = duration if duration > 0.0 else 0.0  # not a number, if no scene was scored
    problem = "it was not recorded"
    if bag:
        try:
            cameras, broken = cameras_of(run / bag)
            if cameras:
                return _camera_clip(cameras[0], duration, broken)
            problem = "there are no images in its bag"
        except BagError as error:
            problem = str(error).replace(f"{run / bag}: ", "").rstrip(".")
    if task is None or record.start is None:
        return None
    return _map_clip(run, task, record, symbol, duration, problem)


def _camera_clip(camera: CameraImages, duration: float, broken: str) -> Clip:
    timing = at_constant_rate(camera.stamps, duration)
    camera.decoded(0)
    decoded = lru_cache(maxsize=1)(camera.decoded)
    problems = tuple(filter(None, (timing.problem, f"its bag is broken: {broken}" if broken else "")))
    return Clip(timing, _of_one_size(decoded), problems)


def _of_one_size(picture: Callable[[int], Pixels]) -> Callable[[int], Pixels]:
    """Return pictures as large as the first: a camera may change its mode; one that is no image repeats the last."""
    last = picture(0)
    height, width = last.shape[:2]

    def sized(number: int) -> Pixels:
        nonlocal last
        try:
            pixels = picture(number)
            last = pixels if pixels.shape[:2] == (height, width) else cv2.resize(pixels, (width, height))
        except BagError:
            pass
        return last

    return sized


def _map_clip(run: Path, task: Task, record: TrialRecord, symbol: str, duration: float, problem: str) -> Clip:
    samples = ()
    if record.ended.recording.bag:
        try:
            samples = read_trial(run / record.ended.recording.bag).samples
        except BagError:
            samples = ()
    content = TrialMap.of(task, record.trial, record.start, samples, record.ended.result, record.moves, symbol)
    pixels, places = map_with_path(content)
    timing = at_constant_rate([sample.stamp for sample in samples] or [0], duration)
    words = f"{problem}: its map is shown" + ("" if samples else ", without the robot's path")

    def picture(number: int) -> Pixels:
        shown = pixels.copy()
        if samples:
            # The first place is the robot's start, before the first sample.
            x, y = places[number + 1]
            cv2.circle(shown, (round(x), round(y)), 7, ROBOT, -1, cv2.LINE_AA)
        return shown

    return Clip(timing, picture, (words,))
