"""One trial as a picture: what the camera saw, and the path from above."""

from __future__ import annotations

from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from robocontrast_ros.analysis.figures import BLUE, GREY, ORANGE
from robocontrast_ros.bags.errors import BagError
from robocontrast_ros.bags.reader import TrialRecording, read_bag, read_trial

FRAMES = 3
"""Camera images in the picture: the first, the last, and those between at equal distances."""


def draw_trial(bag: Path, path: Path) -> None:
    """Draw a recorded trial: camera images from start to end, and the scene with the tool's path from above.

    Args:
        bag: the trial's bag.
        path: the PNG file to write.

    Raises:
        BagError: there is no bag, or it holds no trial.
    """
    recording = read_trial(bag)
    images = read_images(bag)
    figure = Figure(figsize=(13.0, 3.4), dpi=120, layout="constrained")
    ratios = [images[0].shape[1] / images[0].shape[0]] * FRAMES if images else []
    *frames, above = np.atleast_1d(figure.subplots(1, len(ratios) + 1, width_ratios=[*ratios, 1.4]))
    trial = recording.trial
    result = recording.result
    scores = "no result" if result is None else f"{result.outcome.name.lower()}, SPL {result.spl:.2f}"
    who = f"{recording.policy} on {recording.robot}"
    title = f"“{trial.instance.instruction.text}”  ({trial.perturbation}; {who}; {scores})"
    figure.suptitle("\n".join(wrap(title, 130)), fontsize=10)
    for index, axes in zip(np.linspace(0, len(images) - 1, FRAMES).round().astype(int), frames, strict=False):
        axes.imshow(images[index])
        axes.set_title(f"control step {index}", fontsize=9)
        axes.axis("off")
    _draw_from_above(above, recording)
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


def _draw_from_above(axes: Axes, recording: TrialRecording) -> None:
    """Draw with x downwards and y to the right, the way the instructions mean top, bottom, left and right."""
    final = recording.samples[-1].scene if recording.samples else recording.start_scene
    for start in recording.start_scene:
        (x0, y0), (x1, y1) = start.pose.xy, final[start.name].pose.xy
        moved = np.hypot(x1 - x0, y1 - y0) > 0.005
        axes.plot(y0, x0, "s", color=GREY, alpha=0.35, markersize=8)
        if moved:
            axes.annotate("", (y1, x1), (y0, x0), arrowprops={"arrowstyle": "->", "color": ORANGE, "lw": 1.5})
            axes.plot(y1, x1, "s", color=ORANGE, markersize=8)
        axes.annotate(start.name, (y1, x1), (0, 7), textcoords="offset points", fontsize=6, ha="center")
    path = np.array([sample.tool_pose.xy for sample in recording.samples])
    if len(path):
        axes.plot(path[:, 1], path[:, 0], color=BLUE, linewidth=1.2)
        axes.plot(path[0, 1], path[0, 0], "o", color=BLUE, markersize=4)
    axes.invert_yaxis()
    axes.set_aspect("equal")
    axes.set_xlabel("y [m]", fontsize=8)
    axes.set_ylabel("x [m]", fontsize=8)
    axes.tick_params(labelsize=7)
    axes.set_title("tool's path (blue), objects moved (orange)", fontsize=9)
