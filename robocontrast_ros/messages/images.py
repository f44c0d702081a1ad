"""Camera images to RGB, by attribute access alone, as ``messages.decoding``.

Encodings are read as ROS's cv_bridge reads them (ros-perception/vision_opencv, ``cv_bridge.cpp``).
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

_CHANNELS = {
    "rgb8": (3, slice(None)),
    "bgr8": (3, slice(None, None, -1)),
    "rgba8": (4, slice(0, 3)),
    "bgra8": (4, slice(2, None, -1)),
}
"""Encoding -> bytes of a pixel, and which of them are red, green and blue."""

_SHARED = ("yuv422", "uyvy", "yuv422_yuy2", "yuyv")
"""Encodings in which two pixels share their colour."""

_CONVERTED = {
    "mono8": 1,
    **dict.fromkeys(_SHARED, 2),
    **dict.fromkeys(("bayer_rggb8", "bayer_bggr8", "bayer_gbrg8", "bayer_grbg8"), 1),
}
"""Encoding that OpenCV converts -> bytes of a pixel."""

_BYTES = {name: count for name, (count, _) in _CHANNELS.items()} | _CONVERTED

_DEPTH = re.compile(r"mono16|\d+[USF]C\d*")
"""Encodings of depth, of infrared, or of numbers of unknown meaning."""


def image_to_array(message: Any) -> NDArray[np.uint8]:
    """Return a sensor_msgs/Image or CompressedImage as uint8 of shape (height, width, 3), RGB; mono is grey.

    Raises:
        ValueError: the encoding is none of those that are decoded, or its sizes do not fit; or a compressed image
            cannot be decoded.
    """
    if not hasattr(message, "encoding"):
        return _decompressed(message)
    check_image(message)
    size = _BYTES[message.encoding]
    rows = np.frombuffer(message.data, dtype=np.uint8).reshape(message.height, message.step)
    pixels = rows[:, : message.width * size].reshape(message.height, message.width, size)
    if message.encoding in _CHANNELS:
        return pixels[:, :, _CHANNELS[message.encoding][1]]
    return _converted(pixels, message.encoding)


def check_image(message: Any) -> None:
    """Refuse a sensor_msgs/Image that cannot be decoded; costs no time.

    Raises:
        ValueError: as ``image_to_array``, but not for compressed images.
    """
    if message.encoding not in _BYTES:
        raise ValueError(
            f"image encoding: got '{message.encoding}', expected one of {', '.join(_BYTES)}; {_cure(message.encoding)}"
        )
    width, height, step, size = message.width, message.height, message.step, len(message.data)
    if width < 1 or height < 1:
        raise ValueError(f"image: got {width}x{height} pixels, expected at least one")
    if message.encoding in _SHARED and width % 2:
        raise ValueError(f"image: got {width}x{height} pixels of '{message.encoding}', expected an even width")
    # Bytes have no order, so that `is_bigendian` does not matter.
    if step < (least := width * _BYTES[message.encoding]):
        what = f"{width} pixels of '{message.encoding}'"
        raise ValueError(f"image: got rows of {step} bytes (`step`), expected at least {least} for {what}")
    if size != height * step:
        raise ValueError(f"image: got {size} bytes, expected {height * step}: {height} rows of {step} bytes (`step`)")


def _converted(pixels: NDArray[np.uint8], encoding: str) -> NDArray[np.uint8]:
    """Return pixels, shape (height, width, bytes), as RGB."""
    # The module takes a moment to load, and few sessions need it.
    import cv2

    conversions = {
        "mono8": cv2.COLOR_GRAY2RGB,
        "yuv422": cv2.COLOR_YUV2RGB_UYVY,
        "uyvy": cv2.COLOR_YUV2RGB_UYVY,
        "yuv422_yuy2": cv2.COLOR_YUV2RGB_YUYV,
        "yuyv": cv2.COLOR_YUV2RGB_YUYV,
        "bayer_rggb8": cv2.COLOR_BayerRGGB2RGB,
        "bayer_bggr8": cv2.COLOR_BayerBGGR2RGB,
        "bayer_gbrg8": cv2.COLOR_BayerGBRG2RGB,
        "bayer_grbg8": cv2.COLOR_BayerGRBG2RGB,
    }
    return cv2.cvtColor(pixels, conversions[encoding])


def _cure(encoding: str) -> str:
    if _DEPTH.fullmatch(encoding):
        return "that is depth, infrared or plain numbers: name the topic of the colour images as `image_topic`"
    return (
        "have the driver publish rgb8 (usb_cam: `pixel_format: yuyv2rgb` or mjpeg2rgb; realsense2_camera: "
        "`rgb_camera.color_format: RGB8`), or name another topic as `image_topic`"
    )


def _decompressed(message: Any) -> NDArray[np.uint8]:
    """Return a sensor_msgs/CompressedImage as RGB: compressors store colours as JPEG and PNG do."""
    import cv2

    # image_transport writes `ENCODING; jpeg compressed bgr8`, others `jpeg`.
    source = message.format.partition(";")[0].strip()
    if _DEPTH.fullmatch(source) or source.startswith("bayer_"):
        cure = _cure(source) if _DEPTH.fullmatch(source) else "leave out `transport: compressed`: it has no colours"
        raise ValueError(f"compressed image: got '{message.format}', expected colours or mono8; {cure}")
    data = np.frombuffer(message.data, dtype=np.uint8)
    try:
        pixels = cv2.imdecode(data, cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION)
    except cv2.error:
        # An image without bytes, or a header with too many pixels.
        pixels = None
    if pixels is None:
        raise ValueError(f"compressed image: got {data.size} bytes of '{message.format}', expected a JPEG or PNG image")
    return cv2.cvtColor(pixels, cv2.COLOR_BGR2RGB)
