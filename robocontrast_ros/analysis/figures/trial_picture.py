"""One trial as a picture: camera images, and its map."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from robocontrast_ros.analysis.figures.charts import GREY
from robocontrast_ros.analysis.figures.maps import map_of_recording
from robocontrast_ros.analysis.figures.trial_map import draw_map, legend_of, title_of
from robocontrast_ros.analysis.rescoring.recorded_trials import find_task
from robocontrast_ros.bags.errors import BagError
from robocontrast_ros.bags.reader import BagContent, read_bag, read_trial
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain import seconds
from robocontrast_ros.messages.decoding import stamp_from_msg
from robocontrast_ros.messages.images import image_to_array
from robocontrast_ros.messages.topics import COMPRESSED_IMAGE, IMAGE

FRAMES = 3
"""Number of camera images in the picture: the first, the last, and those between at equal distances in time."""


@dataclass(frozen=True)
class CameraImage:
    """One image of a bag.

    Attributes:
        stamp: time at which it was taken [ns].
        pixels: RGB, shape (height, width, 3).
    """

    stamp: int
    pixels: NDArray[np.uint8]


def draw_trial(bag: Path, path: Path) -> None:
    """Draw a recorded trial: camera images from start to end, and its map.

    Args:
        bag: the trial's bag.
        path: the PNG file to write.

    Raises:
        BagError: there is no bag, it holds no trial, or the task's parameter file is missing.
        JournalError: the run folder has a journal that cannot be read.
        ConfigurationError: the picture cannot be written.
    """
    if path.suffix.lower() != ".png":
        raise _unwritable(path, "The name of a picture ends in .png.")
    recording = read_trial(bag)
    images = read_images(bag)
    figure = Figure(figsize=(13.0, 3.7), dpi=120, layout="constrained")
    ratios = [images[0].pixels.shape[1] / images[0].pixels.shape[0]] * FRAMES if images else []
    *frames, above = np.atleast_1d(figure.subplots(1, len(ratios) + 1, width_ratios=[*ratios, 2.0]))
    content = map_of_recording(find_task(recording)[0], recording)
    who = f"{recording.policy} on {recording.robot}"
    figure.suptitle(f"{title_of(content)} · {who}", fontsize=9)
    for image, axes in zip(pick_at_equal_times(images, FRAMES), frames, strict=False):
        axes.imshow(image.pixels)
        axes.set_title(f"{seconds(image.stamp - images[0].stamp):.1f} s", fontsize=9)
        axes.axis("off")
    draw_map(above, content, names_size=5.0)
    above.set_title("\n".join(wrap(legend_of(content), 60)), fontsize=6, color=GREY)
    try:
        figure.savefig(path)
    except OSError as error:
        raise _unwritable(path, f"{error.strerror}.") from None


def _unwritable(path: Path, why: str) -> ConfigurationError:
    return ConfigurationError("command line", "--to", str(path), "a .png file that can be written", why)


def read_images(bag: Path) -> list[CameraImage]:
    """Return the images of a bag's first camera, in order.

    Raises:
        BagError: there is no bag, or an image cannot be decoded.
    """
    return images_of(read_bag(bag, images_only), bag)


def images_only(topic: str, type_name: str) -> bool:
    """Return whether a topic carries camera images."""
    return type_name in (IMAGE, COMPRESSED_IMAGE)


def images_of(content: BagContent, bag: Path) -> list[CameraImage]:
    """Return the images of the first camera of a bag's content, in order.

    Raises:
        BagError: an image cannot be decoded.
    """
    messages = [message for message in content.messages if images_only(message.topic, message.type_name)]
    first = min((message.topic for message in messages), default="")
    try:
        return [message.converted(_image) for message in messages if message.topic == first]
    except BagError as error:
        raise BagError(f"{bag}: {error}") from None


def _image(message: Any) -> CameraImage:
    return CameraImage(stamp_from_msg(message.header.stamp), image_to_array(message))


def pick_at_equal_times(images: list[CameraImage], count: int) -> list[CameraImage]:
    """Return ``count`` images at nearly equal distances in time, from the first image to the last."""
    if not images:
        return []
    stamps = np.array([image.stamp for image in images])
    return [images[np.abs(stamps - t).argmin()] for t in np.linspace(stamps[0], stamps[-1], count)]
