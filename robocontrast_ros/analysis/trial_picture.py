"""One trial as a picture: what the camera saw, and its map."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from robocontrast_ros.analysis.figures import GREY
from robocontrast_ros.analysis.maps import map_of_recording
from robocontrast_ros.analysis.offline import find_task
from robocontrast_ros.analysis.trial_map import draw_map, legend_of, title_of
from robocontrast_ros.bags.errors import BagError
from robocontrast_ros.bags.reader import read_bag, read_trial

FRAMES = 3
"""Camera images in the picture: the first, the last, and those between at equal distances."""


def draw_trial(bag: Path, path: Path) -> None:
    """Draw a recorded trial: camera images from start to end, and its map.

    Args:
        bag: the trial's bag.
        path: the PNG file to write.

    Raises:
        BagError: there is no bag, it holds no trial, or the task's parameter file is not to be found.
        JournalError: the run folder has a journal that cannot be read.
    """
    recording = read_trial(bag)
    images = read_images(bag)
    figure = Figure(figsize=(13.0, 3.4), dpi=120, layout="constrained")
    ratios = [images[0].shape[1] / images[0].shape[0]] * FRAMES if images else []
    *frames, above = np.atleast_1d(figure.subplots(1, len(ratios) + 1, width_ratios=[*ratios, 1.4]))
    content = map_of_recording(find_task(recording), recording)
    who = f"{recording.policy} on {recording.robot}"
    figure.suptitle(f"{title_of(content)} · {who}", fontsize=9)
    for index, axes in zip(np.linspace(0, len(images) - 1, FRAMES).round().astype(int), frames, strict=False):
        axes.imshow(images[index])
        axes.set_title(f"control step {index}", fontsize=9)
        axes.axis("off")
    draw_map(above, content)
    above.set_title(legend_of(content), fontsize=5.5, color=GREY)
    figure.savefig(path)


def read_images(bag: Path) -> list[NDArray[np.uint8]]:
    """Return the images of a bag's first camera, RGB, shape (height, width, 3) each, in order.

    Raises:
        BagError: there is no bag, or an image cannot be decoded.
    """
    messages = read_bag(bag, lambda topic, type_name: type_name == "sensor_msgs/msg/Image").messages
    topics = sorted({message.topic for message in messages})
    images = [message.decode() for message in messages if message.topic == topics[0]]
    for image in images:
        if image.encoding != "rgb8":
            raise BagError(f"{bag}: images of encoding '{image.encoding}'; expected rgb8.")
    return [_pixels(image) for image in images]


def _pixels(image: Any) -> NDArray[np.uint8]:
    rows = np.asarray(image.data, np.uint8).reshape(image.height, image.step)
    return rows[:, : 3 * image.width].reshape(image.height, image.width, 3)
