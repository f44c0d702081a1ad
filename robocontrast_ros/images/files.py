"""Pictures that a user names."""

from __future__ import annotations

import math
import warnings
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from robocontrast_ros.configuration import ConfigurationError

AREA = 320 * 240
"""Area of the images whose numbers can be compared [px]."""

LARGEST = 200_000_000
"""Greatest area of a picture that is read [px]; larger ones fill the memory of a laptop."""


def read_picture(file: Path) -> NDArray[np.uint8]:
    """Return a picture as sRGB, shape (rows, columns, 3), turned as recorded in it, on white where it is transparent.

    Raises:
        ConfigurationError: the file does not exist, is no picture, or is too large.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            picture = Image.open(file)
        with picture:
            if math.prod(picture.size) > LARGEST:
                raise Image.DecompressionBombError
            return _srgb(ImageOps.exif_transpose(picture))
    except UnidentifiedImageError:
        raise _unreadable(file, "no picture", "a JPEG, PNG or another picture") from None
    except Image.DecompressionBombError:
        expected = f"a picture of at most {LARGEST // 1_000_000} million pixels"
        raise _unreadable(file, "a larger one", expected, "Make a smaller copy of it.") from None
    except (OSError, SyntaxError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise _unreadable(file, why, "a whole picture that can be read") from None


def resized(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return an image with the area of 320x240 pixels and the same ratio of sides; a smaller one unchanged.

    Args:
        image: shape (rows, columns, 3).
    """
    rows, columns = image.shape[:2]
    scale = math.sqrt(AREA / (rows * columns))
    if scale >= 1.0:
        return image
    size = max(round(columns * scale), 1), max(round(rows * scale), 1)
    return np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)


def _srgb(picture: Image.Image) -> NDArray[np.uint8]:
    if picture.mode.startswith("I"):  # 16 bits of grey, which Pillow would cut to 255
        grey = np.clip(np.asarray(picture, dtype=np.float64) / 257, 0, 255).round().astype(np.uint8)
        return np.repeat(grey[..., None], 3, axis=2)
    if picture.has_transparency_data:
        picture = picture.convert("RGBA")
        picture = Image.alpha_composite(Image.new("RGBA", picture.size, "white"), picture)
    return np.asarray(picture.convert("RGB"))


def _unreadable(file: Path, got: str, expected: str, cure: str = "") -> ConfigurationError:
    return ConfigurationError(str(file), "", got, expected, cure)
