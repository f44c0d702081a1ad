"""Images whose feature congestion the published implementation computed once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

PHOTOGRAPHS = Path(__file__).parents[1] / "unit" / "images" / "photographs"


def images() -> dict[str, np.ndarray]:
    """Return name -> image, shape (rows, columns, 3), uint8: photographs, drawings, odd sizes, flat and noise."""
    found = {file.stem: np.asarray(Image.open(file).convert("RGB")) for file in sorted(PHOTOGRAPHS.glob("*.png"))}
    rng = np.random.default_rng(0)
    found["flat"] = np.full((240, 320, 3), 128, np.uint8)
    found["noise"] = rng.integers(0, 256, (240, 320, 3), dtype=np.uint8)
    found["noise_small"] = rng.integers(0, 256, (57, 91, 3), dtype=np.uint8)
    found["blocks"] = rng.integers(0, 256, (8, 11, 3), dtype=np.uint8).repeat(29, 0).repeat(29, 1)[:223, :301]
    y, x = np.mgrid[:240, :320]
    found["gradient"] = np.stack([x * 255 // 319, y * 255 // 239, 255 - x * 255 // 319], axis=-1).astype(np.uint8)
    found["stripes"] = _two_colours((x + 2 * y) % 24 < 9, (20, 60, 160), (240, 230, 90))
    found["chequers"] = _two_colours((x // 20 + y // 15) % 2 == 0, (0, 0, 0), (255, 255, 255))[:199, :277]
    discs = np.full((240, 320, 3), (200, 190, 170), np.uint8)
    for radius in rng.integers(5, 25, 40):
        column, row = rng.integers(0, 320), rng.integers(0, 240)
        discs[(x - column) ** 2 + (y - row) ** 2 <= radius**2] = rng.integers(0, 256, 3)
    found["discs"] = discs
    return found


def _two_colours(mask: np.ndarray, one: tuple[int, ...], other: tuple[int, ...]) -> np.ndarray:
    return np.where(mask[..., None], np.array(one, np.uint8), np.array(other, np.uint8))
