"""Words below the pictures of a video."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from textwrap import shorten

import matplotlib
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

INK, SOFT, SUCCESS, FAILURE = "#1a1a1a", "#4a4a4a", "#00664a", "#a34700"
SIZE, LINE, MARGIN = 13, 18, 6
"""Of letters, from line to line, and around them [pixel]."""

HEIGHT = 3 * LINE + 2 * MARGIN
"""Height of a caption [pixel]: two lines of instruction and one of facts."""


@lru_cache
def _font() -> ImageFont.FreeTypeFont:
    # The one of the figures: it has the perturbations' symbols.
    return ImageFont.truetype(str(Path(matplotlib.get_data_path(), "fonts", "ttf", "DejaVuSans.ttf")), SIZE)


class Caption:
    """The caption of one trial: its instruction, its facts, its outcome, and the time."""

    def __init__(self, width: int, instruction: str, note: str, facts: str, success: bool, outcome: str) -> None:
        """Take the words.

        Args:
            width: of the picture above it [pixel].
            instruction: what the policy was told.
            note: what was changed; it is left out if the instruction is long.
            facts: which trial it is.
            success: whether it succeeded.
            outcome: how it ended, in words.
        """
        self._width = width
        self._image = Image.new("RGB", (width, HEIGHT), "white")
        draw, room = ImageDraw.Draw(self._image), width - 2 * MARGIN
        lines = _lines(f"“{instruction}”", room, 2)
        colours = (INK, INK if len(lines) > 1 else SOFT)
        for number, line in enumerate([*lines, *_lines(note, room, 1)][:2]):
            draw.text((MARGIN, MARGIN + number * LINE), line, colours[number], _font())
        mark = f"{'✓' if success else '✗'} {outcome}"
        draw.text((MARGIN, MARGIN + 2 * LINE), mark, SUCCESS if success else FAILURE, _font())
        begin = MARGIN + _font().getlength(f"{mark}  ")
        # The time is at the right.
        (line,) = _lines(facts, width - begin - _font().getlength("000.0 / 000.0 s") - 2 * MARGIN, 1)
        draw.text((begin, MARGIN + 2 * LINE), line, SOFT, _font())

    def at(self, seconds: float, duration: float) -> NDArray[np.uint8]:
        """Return the caption at a time, RGB, shape (``HEIGHT``, width, 3)."""
        image = self._image.copy()
        words = f"{seconds:.1f} / {duration:.1f} s"
        place = self._width - MARGIN, MARGIN + 2 * LINE
        ImageDraw.Draw(image).text(place, words, INK, _font(), anchor="ra")
        return np.asarray(image)


def headline(words: str, width: int) -> NDArray[np.uint8]:
    """Return a line over pictures, RGB, shape (height, width, 3)."""
    image = Image.new("RGB", (width, LINE + 2 * MARGIN), "white")
    (line,) = _lines(words, width - 2 * MARGIN, 1)
    ImageDraw.Draw(image).text((MARGIN, MARGIN), line, INK, _font())
    return np.asarray(image)


def _lines(words: str, room: float, count: int) -> list[str]:
    """Return words on at most so many lines, each no wider than the room [pixel]."""
    lines, left = [], " ".join(words.split())
    while left and len(lines) < count:
        fits = len(left)
        while fits > 1 and _font().getlength(left[:fits]) > room:
            fits -= 1
        last = len(lines) == count - 1
        cut = left
        if fits < len(left):
            cut = shorten(left, max(fits, 4), placeholder=" …" if last else "") or left[:fits]
        lines.append(cut)
        left = "" if last else left[len(cut) :].lstrip()
    return lines or [""]
