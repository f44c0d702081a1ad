"""Video files: H.264 by PyAV if the extra `video` is installed, else VP9 by OpenCV."""

from __future__ import annotations

import errno
import importlib.util
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.system.disk import new_file

Write = Callable[[NDArray[np.uint8]], None]
"""Adds a frame: RGB, shape (height, width, 3), both even."""

QUALITY = 23
"""Constant rate factor of H.264: smaller is better and larger."""


def has_h264() -> bool:
    """Return whether the package `av` is installed."""
    return importlib.util.find_spec("av") is not None


def codec_in_words() -> str:
    """Return the codec of videos here, and why, in a line."""
    if has_h264():
        return "H.264, because the package `av` is installed: every browser plays it."
    return (
        "VP9 by OpenCV, because the package `av` is not installed (extra `video`): browsers play it, some older "
        "players do not, and writing takes several times as long."
    )


@contextmanager
def new_video(path: Path, rate: Fraction, size: tuple[int, int], key_frames: int = 0) -> Iterator[Write]:
    """Write an MP4 file, which replaces an older one when it is whole; yield what adds a frame.

    Args:
        path: the file.
        rate: frames in a second.
        size: width and height [pixel], even.
        key_frames: distance of two key frames, where the codec lets one choose; 0 for a second.

    Raises:
        ConfigurationError: this OpenCV has no VP9.
        DiskError: the file cannot be written.
    """
    video = _h264 if has_h264() else _vp9
    with new_file(path) as part, video(part, rate, size, key_frames or max(round(rate), 1)) as write:
        yield write


@contextmanager
def _h264(path: Path, rate: Fraction, size: tuple[int, int], key_frames: int) -> Iterator[Write]:
    import av

    # A player that reads from the front, as a browser from a server, finds its index there.
    with av.open(str(path), "w", format="mp4", options={"movflags": "+faststart"}) as file:
        options = {"crf": str(QUALITY), "preset": "veryfast", "g": str(key_frames), "bf": "0"}
        stream = file.add_stream("libx264", rate=rate, options=options)
        stream.width, stream.height = size
        stream.pix_fmt = "yuv420p"
        # More threads, other bits.
        stream.codec_context.thread_count = 1

        def write(pixels: NDArray[np.uint8]) -> None:
            file.mux(stream.encode(av.VideoFrame.from_ndarray(np.ascontiguousarray(pixels), format="rgb24")))

        yield write
        file.mux(stream.encode())


@contextmanager
def _vp9(path: Path, rate: Fraction, size: tuple[int, int], key_frames: int) -> Iterator[Write]:
    file = cv2.VideoWriter(str(path), cv2.CAP_FFMPEG, cv2.VideoWriter.fourcc(*"vp09"), float(rate), size)
    if not file.isOpened():
        # An unwritable folder and a full disk are told as such.
        path.write_bytes(bytes(1 << 16))
        expected = "an OpenCV with VP9, as opencv-python-headless has it, or the package av"
        raise ConfigurationError("command line", "--format", "video", expected, "pip install av.")
    written = 0

    def write(pixels: NDArray[np.uint8]) -> None:
        nonlocal written
        file.write(cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR))
        written += 1

    try:
        yield write
    finally:
        file.release()
    # OpenCV does not say of a full disk.
    if round(cv2.VideoCapture(str(path)).get(cv2.CAP_PROP_FRAME_COUNT)) != written:
        raise OSError(errno.ENOSPC, "the video is not whole")
