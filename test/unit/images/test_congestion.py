"""Feature congestion is that of the published implementation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml
from drawn_images import images

from robocontrast_ros.images.congestion import SMALLEST, feature_congestion

PUBLISHED = yaml.safe_load((Path(__file__).parent / "visual_clutter.yaml").read_text(encoding="utf-8"))
IMAGES = images()


@pytest.mark.parametrize("name", PUBLISHED)
def test_it_is_what_the_published_implementation_computes(name):
    found = feature_congestion(IMAGES[name])
    assert found.total == pytest.approx(PUBLISHED[name]["total"], rel=1e-5)
    for part in ("colour", "contrast", "orientation"):
        assert found.parts[part].mean() == pytest.approx(PUBLISHED[name][part], rel=1e-5, abs=1e-5)


def test_every_image_has_a_published_value():
    assert set(IMAGES) == set(PUBLISHED)
    assert len(PUBLISHED) >= 12


def test_the_map_is_where_the_congestion_is():
    image = np.full((240, 320, 3), 128, np.uint8)
    image[100:140, 200:240] = np.random.default_rng(1).integers(0, 256, (40, 40, 3))
    found = feature_congestion(image)
    assert found.map.shape == (240, 320)
    assert found.map[100:140, 200:240].mean() > 10 * found.map[:, :100].mean()
    assert found.total == pytest.approx(found.map.mean())


@pytest.mark.parametrize(
    "image",
    [
        np.zeros((SMALLEST - 1, 320, 3), np.uint8),
        np.zeros((240, 320), np.uint8),
        np.zeros((240, 320, 4), np.uint8),
        np.zeros((240, 320, 3), np.float32),
    ],
    ids=lambda image: f"{image.shape}-{image.dtype}",
)
def test_what_is_no_image_is_refused(image):
    with pytest.raises(ValueError, match=r"expected \(rows, columns, 3\), uint8"):
        feature_congestion(image)
