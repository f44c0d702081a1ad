"""Filters of camera images. Severities are our own; the levels describe each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import cv2
import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.domain import Aspect
from robocontrast_ros.policies.protocol import Observation

Image = NDArray[np.uint8]
"""Shape (height, width, 3), RGB."""


class _OfImages(ABC):
    """Base of the filters that change images one by one.

    Attributes:
        amounts: the number of each severity.
        words: text of a level, with a place for the number.
    """

    amounts: ClassVar[Sequence[float]]
    words: ClassVar[str]
    levels: ClassVar[tuple[str, ...]] = ()
    description: ClassVar[str] = ""
    plausible: ClassVar[bool] = True
    of_images: ClassVar[bool] = True

    def __init_subclass__(cls) -> None:
        if "amounts" in vars(cls):
            cls.levels = tuple(cls.words.format(amount) for amount in cls.amounts)

    def __init__(self, severity: int, camera: str, rng: np.random.Generator) -> None:
        self._amount, self._camera, self._rng = self.amounts[severity - 1], camera, rng
        self._asked = 0

    def apply(self, observation: Observation) -> Observation:
        """Change the images of the camera, or of all."""
        self._asked += 1
        # Each camera's draws come in the order of the names, not of the sensors.
        changed = {
            name: self._changed(name, observation.images[name]) if self._camera in ("", name) else image
            for name, image in sorted(observation.images.items())
        }
        return replace(observation, images={name: changed[name] for name in observation.images})

    @abstractmethod
    def _changed(self, camera: str, image: Image) -> Image:
        """Return the image in place of one."""


class Noise(_OfImages):
    """Gaussian noise of the sensor, independent in each channel of each pixel."""

    description = "Gaussian noise in each pixel"
    amounts, words = (4, 8, 16, 32, 64), "standard deviation {} of 255"

    def _changed(self, camera: str, image: Image) -> Image:
        noisy = image + self._rng.normal(0.0, self._amount, image.shape)
        return np.clip(np.rint(noisy), 0, 255).astype(np.uint8)


class Blur(_OfImages):
    """Gaussian blur, as of a lens out of focus."""

    description = "Gaussian blur"
    amounts, words = (0.25, 0.5, 1.0, 2.0, 4.0), "standard deviation {} % of the width"

    def _changed(self, camera: str, image: Image) -> Image:
        return cv2.GaussianBlur(np.ascontiguousarray(image), (0, 0), self._amount / 100 * image.shape[1])


class Jpeg(_OfImages):
    """Compression by JPEG, as on a slow network."""

    description = "JPEG compression"
    amounts, words = (80, 50, 25, 10, 5), "quality {} of 100"

    def _changed(self, camera: str, image: Image) -> Image:
        bgr = np.ascontiguousarray(image[:, :, ::-1])
        _, coded = cv2.imencode(".jpg", bgr, [cv2.IMWRITE_JPEG_QUALITY, int(self._amount)])
        return np.ascontiguousarray(cv2.imdecode(coded, cv2.IMREAD_COLOR)[:, :, ::-1])


class _Exposure(_OfImages):
    erases = ((Aspect.EXPOSURE,),) * 5

    def _changed(self, camera: str, image: Image) -> Image:
        return np.clip(np.rint(image * 2.0**self._amount), 0, 255).astype(np.uint8)


class Underexposed(_Exposure):
    """Too short an exposure."""

    description = "darker images"
    amounts, words = (-0.5, -1.0, -1.5, -2.0, -3.0), "{} f-stops"


class Overexposed(_Exposure):
    """Too long an exposure: bright parts become white."""

    description = "brighter images"
    amounts, words = (0.25, 0.5, 1.0, 1.5, 2.0), "+{} f-stops"


class ColourCast(_OfImages):
    """A wrong white balance: more red, and less blue."""

    description = "a reddish cast"
    amounts, words = (10, 20, 30, 45, 60), "red + {0} %, blue - {0} %"

    def _changed(self, camera: str, image: Image) -> Image:
        gains = np.array([1 + self._amount / 100, 1.0, 1 - self._amount / 100])
        return np.clip(np.rint(image * gains), 0, 255).astype(np.uint8)


class Blocked(_OfImages):
    """A black rectangle with the image's own proportions, at a place that is drawn for the trial."""

    description = "a part of each image is black"
    amounts, words = (2, 5, 10, 20, 40), "{} % of the image"

    def __init__(self, severity: int, camera: str, rng: np.random.Generator) -> None:
        super().__init__(severity, camera, rng)
        self._places: dict[str, tuple[float, float]] = {}

    def _changed(self, camera: str, image: Image) -> Image:
        height, width = (round(side * (self._amount / 100) ** 0.5) for side in image.shape[:2])
        if camera not in self._places:
            self._places[camera] = tuple(self._rng.random(2).tolist())
        across, down = self._places[camera]
        top, left = int(down * (image.shape[0] - height + 1)), int(across * (image.shape[1] - width + 1))
        blocked = image.copy()
        blocked[top : top + height, left : left + width] = 0
        return blocked


class _FromThenOn(_OfImages):
    """Base of filters that begin at some observation of a trial."""

    @property
    def _begun(self) -> bool:
        return self._asked > self._amount


class Frozen(_FromThenOn):
    """A camera that repeats its last image without end."""

    description = "images stand still from some observation on"
    amounts, words = (16, 8, 4, 2, 1), "after {} observations"

    def __init__(self, severity: int, camera: str, rng: np.random.Generator) -> None:
        super().__init__(severity, camera, rng)
        self._last: dict[str, Image] = {}

    def _changed(self, camera: str, image: Image) -> Image:
        if not self._begun or camera not in self._last:
            self._last[camera] = image.copy()
        return self._last[camera]


class Unplugged(_FromThenOn):
    """A camera without a signal, whose driver delivers black images."""

    description = "images are black from some observation on"
    plausible = False
    amounts, words = (16, 8, 4, 2, 0), "after {} observations"
    erases = (*(((),) * 4), (Aspect.IMAGES,))

    def _changed(self, camera: str, image: Image) -> Image:
        return np.zeros_like(image) if self._begun else image


class Dropped(_OfImages):
    """Lost images: the one before is shown again."""

    description = "some images are lost, and the last is shown again"
    amounts, words = (10, 20, 40, 60, 80), "{} % of the images"

    def __init__(self, severity: int, camera: str, rng: np.random.Generator) -> None:
        super().__init__(severity, camera, rng)
        self._last: dict[str, Image] = {}

    def _changed(self, camera: str, image: Image) -> Image:
        lost = self._rng.random() < self._amount / 100
        if not lost or camera not in self._last:
            self._last[camera] = image.copy()
        return self._last[camera]
