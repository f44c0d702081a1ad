"""What of a Foxglove layout a bag does not have: topics, message paths, and types that its panels can show."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from numbers import Number
from pathlib import Path
from typing import Any

from robocontrast_ros.bags.reader import BagMessage, read_bag

LAYOUTS = Path(__file__).resolve().parents[2] / "config" / "foxglove"
IMAGE, CAMERA_INFO = "sensor_msgs/msg/Image", "sensor_msgs/msg/CameraInfo"
SHOWN_IN_3D = {"geometry_msgs/msg/PoseStamped", "nav_msgs/msg/Odometry", CAMERA_INFO}


def layout(name: str) -> dict[str, Any]:
    """Return a shipped layout."""
    return json.loads((LAYOUTS / f"{name}.json").read_text())


def panels_on_screen(tree: str | dict[str, Any]) -> Iterator[str]:
    """Return the names of the panels that the layout's tree shows."""
    if isinstance(tree, str):
        yield tree
    else:
        yield from panels_on_screen(tree["first"])
        yield from panels_on_screen(tree["second"])


def missing(content: dict[str, Any], bag: Path) -> list[str]:
    """Return what the panels of a layout ask for and the bag lacks, as sentences; none where all is there."""
    messages = {message.topic: message for message in read_bag(bag).messages}
    return [
        f"{panel}: {problem}"
        for panel, config in content["configById"].items()
        for problem in _missing(panel.partition("!")[0], config, messages)
    ]


def _missing(kind: str, config: dict[str, Any], messages: dict[str, BagMessage]) -> Iterator[str]:
    if kind == "Image":
        mode = config["imageMode"]
        yield from _of_type(mode["imageTopic"], {IMAGE}, messages)
        yield from _of_type(mode["calibrationTopic"], {CAMERA_INFO}, messages)
    elif kind == "3D":
        for topic in config["topics"]:
            yield from _of_type(topic, SHOWN_IN_3D, messages)
    elif kind == "RawMessages":
        yield from _not_found(config["topicPath"], messages, object)
    else:
        wanted = {"Plot": Number, "StateTransitions": (bool, Number, str)}[kind]
        for path in (*config["paths"], *filter(None, [config.get("xAxisPath")])):
            yield from _not_found(path["value"], messages, wanted)


def _of_type(topic: str, types: set[str], messages: dict[str, BagMessage]) -> Iterator[str]:
    found = messages[topic].type_name if topic in messages else "no such topic"
    if found not in types:
        yield f"{topic}: {found}"


def _not_found(path: str, messages: dict[str, BagMessage], wanted: Any) -> Iterator[str]:
    topic, _, fields = path.partition(".")
    if topic not in messages:
        yield f"{path}: no such topic"
        return
    values = [messages[topic].decode()]
    for name, slice_of, key, wanted_key in re.findall(r'(\w+)(\[:\])?(?:\{(\w+)=="(\w+)"\})?', fields):
        if not all(hasattr(value, name) for value in values):
            yield f"{path}: no field {name}"
            return
        values = [getattr(value, name) for value in values]
        values = [item for value in values for item in value] if slice_of else values
        values = [value for value in values if getattr(value, key) == wanted_key] if key else values
    if not values or not all(isinstance(value, wanted) for value in values):
        yield f"{path}: nothing that the panel can show"
