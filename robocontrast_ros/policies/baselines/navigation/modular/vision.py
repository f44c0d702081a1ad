"""Finds furniture (by its colour) and free floor in images of the robot's camera, and projects them to the ground."""

from __future__ import annotations

import math
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.policies.baselines.navigation.modular.parameters import CameraView, Colour, VisionParameters

Image = NDArray[np.uint8]
Points = NDArray[np.float64]


@dataclass(frozen=True)
class Sighting:
    """One patch of a category's colour.

    Attributes:
        category: of the furniture.
        bearing: of its centre relative to the robot's heading, left is positive [rad].
        area: pixels in the scaled image.
        contact: points where it meets the floor, in the base's frame, shape (n, 2) [m]; empty if hidden.
    """

    category: str
    bearing: float
    area: int
    contact: Points


@dataclass(frozen=True)
class View:
    """Content of one image, in the base's frame [m].

    Attributes:
        sightings: furniture, larger patches first.
        free: points of free floor, shape (n, 2).
        blocked: points where obstacles meet the floor, shape (m, 2).
    """

    sightings: tuple[Sighting, ...]
    free: Points
    blocked: Points


class Eye:
    """Interprets images of one camera."""

    def __init__(self, parameters: VisionParameters) -> None:
        self._parameters = parameters
        self._ground: Points = np.zeros((0, 0, 2))

    def look(self, image: Image) -> View:
        """Return the content of an RGB image, shape (height, width, 3)."""
        p = self._parameters
        height = max(round(image.shape[0] * p.width / image.shape[1]), 2)
        small = cv2.resize(image, (p.width, height), interpolation=cv2.INTER_AREA)
        if self._ground.shape[:2] != (height, p.width):
            self._ground = ground_points(p.camera, p.width, height)
        hsv = cv2.cvtColor(small, cv2.COLOR_RGB2HSV)
        # Removes single pixels, which are edges and noise.
        floor = cv2.medianBlur(_mask(hsv, p.floor), 3) > 0
        masks = {category: _mask(hsv, colour) for category, colour in p.categories.items()}
        with np.errstate(invalid="ignore"):
            distance = np.hypot(self._ground[..., 0], self._ground[..., 1])
            near, in_the_way = distance <= p.range, distance <= p.obstacle_range
        blocked = np.zeros_like(floor)
        blocked[_lowest(~floor)] = True
        blocked[-1] = False  # It may be nearer than the image shows.
        free = floor & (np.cumsum(~floor[::-1], axis=0)[::-1] == 0)
        furniture = np.any([mask > 0 for mask in masks.values()], axis=0)
        return View(
            sightings=self._sightings(masks, _stands_on(floor, furniture), near),
            free=self._ground[free & near],
            blocked=self._ground[blocked & in_the_way],
        )

    def _sightings(
        self, masks: dict[str, Image], stands_on: NDArray[np.intp], near: NDArray[np.bool_]
    ) -> tuple[Sighting, ...]:
        width = self._parameters.width
        focal = width / 2 / math.tan(self._parameters.camera.horizontal_view / 2)
        found = []
        for category, mask in masks.items():
            count, labels, stats, centres = cv2.connectedComponentsWithStats(mask, connectivity=8)
            for patch in range(1, count):
                area = int(stats[patch, cv2.CC_STAT_AREA])
                if area < self._parameters.least_area:
                    continue
                rows, columns = _lowest(labels == patch)
                rows, columns = (part[stands_on[rows, columns] >= 0] for part in (rows, columns))
                rows = stands_on[rows, columns]
                contact = self._together(self._ground[rows, columns][near[rows, columns]])
                bearing = math.atan2(width / 2 - 0.5 - centres[patch][0], focal)
                found.append(Sighting(category, bearing, area, contact))
        return tuple(sorted(found, key=lambda sighting: -sighting.area))

    def _together(self, contact: Points) -> Points:
        """Return the points of a contact that are about as far away as its nearer ones.

        The others belong to something in front of the patch, or to the wall behind it.
        """
        if len(contact) < self._parameters.least_contact:
            return contact[:0]
        distance = np.hypot(contact[:, 0], contact[:, 1])
        nearer = np.quantile(distance, 0.25)
        return contact[np.abs(distance - nearer) <= self._parameters.depth]


def _lowest(mask: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return row and column of the lowest true pixel of each column that has one."""
    columns = np.flatnonzero(mask.any(axis=0))
    return len(mask) - 1 - mask[::-1, columns].argmax(axis=0), columns


def _stands_on(floor: NDArray[np.bool_], furniture: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return for each pixel the row in which its object meets the floor; -1 if that is hidden.

    Pixels between a coloured patch and the floor that have no colour of furniture are its feet.
    """
    found = np.full(floor.shape, -1)
    for row in range(len(floor) - 2, -1, -1):
        below = row + 1
        found[row] = np.where(floor[below], row, np.where(furniture[below], -1, found[below]))
    return found


def ground_points(camera: CameraView, width: int, height: int) -> Points:
    """Return the point where each pixel's ray meets the floor, in the base's frame, shape (height, width, 2) [m].

    It is NaN at the horizon and above it.
    """
    focal = width / 2 / math.tan(camera.horizontal_view / 2)
    left = (width / 2 - 0.5 - np.arange(width)) / focal
    up = (height / 2 - 0.5 - np.arange(height)) / focal
    forward = math.cos(camera.tilt) + up * math.sin(camera.tilt)
    down = math.sin(camera.tilt) - up * math.cos(camera.tilt)
    x, y, z = camera.position
    scale = np.where(down > 1e-6, z / np.maximum(down, 1e-6), np.nan)[:, None]
    points = np.empty((height, width, 2))
    points[..., 0] = x + scale * forward[:, None]
    points[..., 1] = y + scale * left
    return points


def _mask(hsv: Image, colour: Colour) -> Image:
    """Return the mask of a colour, as 255 and 0; OpenCV's hue is up to 180, saturation and value up to 255."""

    def within(hue_from: float, hue_to: float) -> Image:
        low = (hue_from / 2, 255 * colour.saturation[0], 255 * colour.value[0])
        high = (hue_to / 2, 255 * colour.saturation[1], 255 * colour.value[1])
        return cv2.inRange(hsv, np.array(low), np.array(high))

    first, last = colour.hue
    return within(first, last) if first <= last else within(first, 360.0) | within(0.0, last)
