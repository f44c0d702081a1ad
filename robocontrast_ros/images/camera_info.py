"""Files with a camera's intrinsics, as ROS's tools write them.

`ros2 topic echo` and `rostopic echo` print a CameraInfo; camera_calibration and camera_info_manager write keys of their
own. Numbers may have any decimal form of YAML 1.1 and 1.2: ``600.``, ``.5``, ``1e-05``, ``1_000``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.configuration.strict_yaml import parse_yaml
from robocontrast_ros.images.boards import Intrinsics

MODELS = ("plumb_bob", "rational_polynomial")

_HOW = "Take what `ros2 topic echo --once …/camera_info` prints, or the file ost.yaml of camera_calibration."
_RECTIFIED = "Calibrate with the pinhole model, or take rectified images with distortion 0."

_HEAD = re.compile(r"\A(?:[ \t]*(?:[%#][^\n]*|---[ \t]*)?\r?\n)*")
"""Lines before a YAML document's content."""

_END = re.compile(r"^(?:---|\.\.\.)[ \t]*\r?$", re.MULTILINE)
"""The line with which `ros2 topic echo` ends each message."""

_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
"""Numbers of YAML 1.2, some of which PyYAML reads as texts, such as ``1e-05``."""


def read_intrinsics(file: Path) -> Intrinsics:
    """Return a camera's intrinsics, from the output of `ros2 topic echo --once` or the file of camera_calibration.

    Raises:
        ConfigurationError: a value is missing or wrong, or values contradict each other.
    """
    content = read_fields(file)
    width, height = (_size(file, content, *names) for names in (("width", "image_width"), ("height", "image_height")))
    matrix = numbers_of(file, content, ("k", "K", "camera_matrix"), (9,), _HOW).reshape(3, 3)
    if not (matrix[0, 0] > 0.0 and matrix[1, 1] > 0.0):
        # Before the model: a driver without a calibration has none either.
        cure = "The driver has no calibration: run camera_calibration first."
        raise ConfigurationError(str(file), "k", matrix.ravel().tolist(), "focal lengths above 0", cure)
    _check_matrix(file, matrix, width, height)
    distortion = _distortion(file, content)
    _check_part(file, content)
    _check_projection(file, content, matrix, distortion)
    return Intrinsics(width, height, matrix, distortion)


def read_fields(file: Path) -> dict[str, Any]:
    """Return the keys of the first YAML document of a file.

    Raises:
        ConfigurationError: it cannot be read, or is no mapping in YAML.
    """
    try:
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ConfigurationError(str(file), "", error.strerror, "a file that can be read") from None
    except UnicodeDecodeError:
        raise ConfigurationError(str(file), "", "not UTF-8 text", "YAML", _HOW) from None
    if text.startswith("%YAML:"):
        cure = f"Write its numbers under the keys width, height, distortion_model, k and d. {_HOW}"
        raise ConfigurationError(str(file), "", "a file of OpenCV's FileStorage", "the keys of a CameraInfo", cure)
    content = parse_yaml(_END.split(_HEAD.sub("", text), 1)[0], str(file))
    if not isinstance(content, dict):
        raise ConfigurationError(str(file), "", type(content).__name__, "the fields of a CameraInfo", _HOW)
    return content


def numbers_of(
    file: Path, content: dict[str, Any], names: Sequence[str], sizes: tuple[int, ...], cure: str = ""
) -> NDArray[np.float64]:
    """Return the numbers under the first present one of some keys.

    Args:
        file: for errors.
        content: of the file.
        names: the keys.
        sizes: the allowed counts of numbers.
        cure: for errors.

    Raises:
        ConfigurationError: no numbers, another count of them, or one is not finite.
    """
    expected = f"a list of {' or '.join(map(str, sizes))} numbers"
    for name in names:
        if name in content:
            value = content[name]
            value = value.get("data") if isinstance(value, dict) else value
            found = list(map(number, value)) if isinstance(value, list) else [None]
            if None in found or len(found) not in sizes:
                if isinstance(value, list) and any(isinstance(part, str) and " " in part.strip() for part in value):
                    cure = "Put commas between the numbers."
                raise ConfigurationError(str(file), name, content[name], expected, cure)
            return np.array(found, dtype=float)
    raise ConfigurationError(str(file), names[0], "nothing", expected, cure)


def number(value: object) -> float | None:
    """Return a value of a YAML file as a finite number; None if it is not one."""
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def _size(file: Path, content: dict[str, Any], *names: str) -> int:
    for name in names:
        if name in content:
            if type(content[name]) is not int or content[name] < 1:
                raise ConfigurationError(str(file), name, content[name], "a whole number of pixels, at least 1")
            return content[name]
    raise ConfigurationError(str(file), names[0], "nothing", "the images' size in pixels", _HOW)


def _check_matrix(file: Path, matrix: NDArray[np.float64], width: int, height: int) -> None:
    """Refuse a K that does not fit these images: of another order or size."""
    k = matrix.ravel().tolist()
    if matrix[0, 1] or matrix[1, 0] or matrix[2].tolist() != [0.0, 0.0, 1.0]:
        expected = "fx, 0, cx, 0, fy, cy, 0, 0, 1, row by row, without skew"
        raise ConfigurationError(str(file), "k", k, expected, _HOW)
    if not (0.0 < matrix[0, 2] < width and 0.0 < matrix[1, 2] < height):
        expected = f"a principal point (the third and the sixth number) within {width}x{height} pixels"
        raise ConfigurationError(str(file), "k", k, expected, "Take size and matrix from the same calibration.")


def _distortion(file: Path, content: dict[str, Any]) -> NDArray[np.float64]:
    model = content.get("distortion_model", MODELS[0])
    keys = ("d", "D", "distortion_coefficients")
    if model not in (*MODELS, "", None):
        raise ConfigurationError(str(file), "distortion_model", model, " or ".join(MODELS), _RECTIFIED)
    if not model and not any(key in content for key in keys):
        return np.zeros(5)
    cure = (
        "More than 8 are for thin prisms and tilted sensors: leave them out where they are 0, calibrate with at most "
        "8, or take rectified images with distortion 0."
    )
    found = numbers_of(file, content, keys, (0, 4, 5, 8), cure)
    if not model and found.any():
        # It is empty for rectified and for simulated images, which have no distortion.
        raise ConfigurationError(
            str(file), "distortion_model", model, f"{' or '.join(MODELS)}, with such `d`", _RECTIFIED
        )
    return found if found.size else np.zeros(5)


def _check_part(file: Path, content: dict[str, Any]) -> None:
    """Refuse images of a part of the sensor, or of fewer pixels than those of K."""
    for key in ("binning_x", "binning_y"):
        if content.get(key) not in (None, 0, 1):
            raise ConfigurationError(str(file), key, content[key], "0 or 1", "Have the driver publish all pixels.")
    roi = content.get("roi")
    if isinstance(roi, dict):
        offset = {key: roi[key] for key in ("x_offset", "y_offset") if roi.get(key) not in (None, 0)}
        if offset:
            raise ConfigurationError(str(file), "roi", offset, "offsets of 0", "Have the driver publish all pixels.")


def _check_projection(
    file: Path, content: dict[str, Any], matrix: NDArray[np.float64], distortion: NDArray[np.float64]
) -> None:
    """Refuse a P that contradicts K for images that are neither distorted nor rectified."""
    names = ("p", "P", "projection_matrix")
    turns = ("r", "R", "rectification_matrix")
    if distortion.any() or not any(name in content for name in names):
        return
    projection = numbers_of(file, content, names, (12,), _HOW).reshape(3, 4)[:, :3]
    turn = numbers_of(file, content, turns, (9,), _HOW) if any(name in content for name in turns) else np.eye(3).ravel()
    if projection.any() and np.allclose(turn, np.eye(3).ravel()) and np.abs(projection - matrix).max() > 1.0:
        expected = f"the numbers of `k` ({matrix.ravel().tolist()}), as without distortion"
        cure = "One of them is of other images; take both from the same calibration."
        raise ConfigurationError(str(file), "p", projection.ravel().tolist(), expected, cure)
