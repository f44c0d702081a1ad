"""The pictures of a trial, small enough for embedding in a page."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.analysis.figures.trial_picture import images_of, images_only, pick_at_equal_times
from robocontrast_ros.bags.errors import BagError
from robocontrast_ros.bags.reader import read_bag
from robocontrast_ros.domain import seconds
from robocontrast_ros.images.congestion import SMALLEST, feature_congestion
from robocontrast_ros.images.files import resized
from robocontrast_ros.system.disk import write_file

KEY_FRAMES = 4
"""Number of camera images of a trial: the first, the last, and those between at equal distances in time."""

FRAME_WIDTH = 480
"""Width to which wider camera images are reduced [pixel]."""

CHANGE_WIDTH, CHANGE_GAP = 320, 4
"""Greatest width of each picture of a changed scene, and the distance between two [pixel]."""

FRAME_QUALITY = 75
LOSSLESS = 101
"""Quality above 100 is lossless WebP in OpenCV; a map of few colours is half the size of its PNG."""


@dataclass(frozen=True)
class Picture:
    """A picture inside a page.

    Attributes:
        source: a data URI.
        width: [pixel].
        height: [pixel].
        words: its caption.
    """

    source: str
    width: int
    height: int
    words: str


@dataclass(frozen=True)
class TrialPictures:
    """The pictures of a trial.

    Attributes:
        frames: images of the first camera, in order.
        map: the trial from above; None if there is no map.
        missing: why pictures are missing, as sentences.
    """

    frames: tuple[Picture, ...] = ()
    map: Picture | None = None
    missing: tuple[str, ...] = ()


NO_PICTURES = TrialPictures()


def trial_pictures(run: Path, bag: str, map_file: Path, what: str) -> TrialPictures:
    """Return the pictures of a trial.

    Args:
        run: the run folder.
        bag: folder of the trial's bag, relative to it; empty if it was not recorded.
        map_file: the picture from above.
        what: the trial in words, for the captions.
    """
    frames, missing = _frames(run, bag, what)
    above = cv2.imread(str(map_file)) if map_file.is_file() else None
    if above is None:
        missing = (*missing, "There is no map of this trial.")
        return TrialPictures(frames, None, missing)
    return TrialPictures(frames, _picture(above, LOSSLESS, f"{what} from above"), missing)


def change_file(folder: Path, trial_id: str) -> Path:
    """Return the path, in a folder of `robocontrast shift`, for the picture of a trial in a changed scene."""
    return folder / f"{trial_id}.webp"


def write_change(images: Sequence[tuple[NDArray[np.uint8], NDArray[np.uint8]]], path: Path) -> None:
    """Write the pictures of a changed scene as one: the own scene left, the changed one right, a row a camera.

    Args:
        images: of each camera both pictures, RGB, shape (rows, columns, 3) each.
        path: the file to write (``change_file``).

    Raises:
        DiskError: it cannot be written.
    """
    width = min(max(before.shape[1] for before, _ in images), CHANGE_WIDTH)
    rows = [_beside([_as_wide(image, width) for image in pair], axis=1) for pair in images]
    write_file(path, _packed(cv2.cvtColor(_beside(rows, axis=0), cv2.COLOR_RGB2BGR), FRAME_QUALITY))


def change_picture(path: Path, words: str) -> Picture | None:
    """Return the picture that ``write_change`` wrote, as it is; None if there is none that can be read.

    Args:
        path: its file.
        words: its caption.
    """
    pixels = cv2.imread(str(path)) if path.is_file() else None
    if pixels is None:
        return None
    height, width, _ = pixels.shape
    return Picture(_embedded(path.read_bytes()), width, height, words)


def _beside(images: Sequence[NDArray[np.uint8]], axis: int) -> NDArray[np.uint8]:
    """Return images in one, with white between them."""
    shape = list(images[0].shape)
    shape[axis] = CHANGE_GAP
    between = np.full(shape, 255, np.uint8)
    return np.concatenate([part for image in images for part in (between, image)][1:], axis)


def congestion_pictures(images: Sequence[NDArray[np.uint8]], words: Sequence[str]) -> tuple[Picture | None, ...]:
    """Return maps of the images' congestion, on one scale of colours; None for an image that is too small for it.

    Args:
        images: RGB, shape (rows, columns, 3) each.
        words: the caption of each.
    """
    views = [resized(image) for image in images]
    maps = [feature_congestion(view).map if min(view.shape[:2]) >= SMALLEST else None for view in views]
    top = max((float(found.max()) for found in maps if found is not None), default=1.0)
    return tuple(
        None if found is None else _picture(_narrowed(_over(view, found / top)), FRAME_QUALITY, caption)
        for view, found, caption in zip(views, maps, words, strict=True)
    )


def _over(image: NDArray[np.uint8], shares: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Return shares of 0 to 1 as colours over a grey image; channels are in OpenCV's order."""
    colours = cv2.applyColorMap(np.round(255.0 * shares).astype(np.uint8), cv2.COLORMAP_INFERNO)
    return np.round(0.75 * colours + 0.25 * image.mean(axis=2, keepdims=True)).astype(np.uint8)


def _frames(run: Path, bag: str, what: str) -> tuple[tuple[Picture, ...], tuple[str, ...]]:
    if not bag:
        return (), ("The trial was not recorded.",)
    try:
        content = read_bag(run / bag, images_only)
        images = images_of(content, run / bag)
    except BagError as error:
        # The page is shared: it names the bag relative to the run folder.
        return (), (f"No images: {str(error).replace(str(run / bag), bag)}",)
    missing = (f"The bag is broken: {content.broken}.",) if content.broken else ()
    if not images:
        return (), (*missing, f"There are no images in {bag}.")
    begin = images[0].stamp
    # A short trial may have fewer images than ``KEY_FRAMES``.
    frames = {image.stamp: image for image in pick_at_equal_times(images, KEY_FRAMES)}
    return tuple(
        _picture(
            _narrowed(cv2.cvtColor(image.pixels, cv2.COLOR_RGB2BGR)),
            FRAME_QUALITY,
            f"{what}, camera after {seconds(image.stamp - begin):.1f} s",
        )
        for image in frames.values()
    ), missing


def _narrowed(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return _as_wide(pixels, min(pixels.shape[1], FRAME_WIDTH))


def _as_wide(pixels: NDArray[np.uint8], wide: int) -> NDArray[np.uint8]:
    height, width, _ = pixels.shape
    if width == wide:
        return pixels
    size = wide, max(round(height * wide / width), 1)
    method = cv2.INTER_AREA if width > wide else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(pixels, size, interpolation=method), np.uint8)


def _picture(pixels: NDArray[np.uint8], quality: int, words: str) -> Picture:
    """Encode an image whose channels are in OpenCV's order."""
    height, width, _ = pixels.shape
    return Picture(_embedded(_packed(pixels, quality)), width, height, words)


def _packed(pixels: NDArray[np.uint8], quality: int) -> bytes:
    _, packed = cv2.imencode(".webp", pixels, [cv2.IMWRITE_WEBP_QUALITY, quality])
    return packed.tobytes()


def _embedded(packed: bytes) -> str:
    return f"data:image/webp;base64,{b64encode(packed).decode()}"
