"""Pages of tags for objects, to print in true size, with the place and the turn of each tag."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from robocontrast_ros.domain import whole_of
from robocontrast_ros.images.boards import INCH, RULER
from robocontrast_ros.images.portraits import portrait
from robocontrast_ros.images.tag_families import in_words, modules
from robocontrast_ros.objects import ObjectModel
from robocontrast_ros.objects.mjcf import object_spec
from robocontrast_ros.perception.part_tags import place_on_front
from robocontrast_ros.perception.plates import add_plates, picture, with_border
from robocontrast_ros.perception.tags import ObjectTag

Picture = NDArray[np.uint8]

PAGE = 210.0, 297.0
"""Width and height of A4 [mm]."""
LEFT, TOP, FOOT = 10.0, 16.0, 266.0
"""Left and top of the tags, and top of the foot [mm]. Letter paper is 18 mm shorter than A4: 9 mm at each end."""
GAP, LINE = 2.0, 3.4
"""Distance between printed parts, and between lines of words [mm]."""
PICTURE = 30.0
"""Side of an object's picture [mm]."""
SMALL, LARGE = 2.5, 3.2
"""Heights of letters [mm]."""
GREY = (120, 120, 120)
PART_YAW = math.radians(150.0)
"""Turn of an object in the pictures of its parts: its front is seen."""

Tagged = tuple[str, ObjectModel, Sequence[ObjectTag]]
"""Name of an object, or of a part of it, as in ``tags_for``; the object; the tags on it."""


def pictures_of(model: ObjectModel, tags: Sequence[ObjectTag], part: str = "", size: int = 192) -> tuple[Picture, ...]:
    """Return pictures of an object with its x axis to the right: without its tags and, if it has several, with them.

    Of a part there is one, of the front of its object, with the tags.

    Args:
        model: the object.
        part: name of its part that has the tags; empty if the object itself has them.
        tags: the tags on it.
        size: side of the pictures [pixel].

    Returns:
        One or two pictures, RGB, each of the shape (size, size, 3).

    Raises:
        RenderingUnavailable: OpenGL does not work on this machine.
    """
    found = []
    for plates in (tags,) if part else ((), tags) if len(tags) > 1 else ((),):
        spec = object_spec(model)
        whole = spec.worldbody.first_body()
        add_plates(spec, next(body for body in whole.find_all("body") if body.name == part) if part else whole, plates)
        found.append(portrait(spec, PART_YAW if part else -math.pi / 2.0, size))
    return tuple(found)


def tag_pages(
    tagged: Sequence[Tagged], pictures: Mapping[str, Sequence[Picture]], dots_per_inch: int = 300
) -> Iterator[Image.Image]:
    """Return the pages, A4, in the order of the objects.

    Args:
        tagged: the objects and their tags.
        pictures: name -> its pictures, as from ``pictures_of``; a missing one has none on the page.
        dots_per_inch: resolution of the pages.
    """
    families = ", ".join(dict.fromkeys(in_words(tag.family) for *_, own in tagged for tag in own))
    page = _Page(1, dots_per_inch, families)
    for row in _rows(tagged):
        if not page.has_room(row):
            yield page.image
            page = _Page(page.number + 1, dots_per_inch, families)
        page.add(row, pictures)
    yield page.image


def place_in_words(tag: ObjectTag, model: ObjectModel, of_part: bool = False) -> str:
    """Return the place of a tag on its object, or on a part of that, in words."""
    if of_part:
        return place_on_front(tag)
    x, y, z = tag.position
    if z >= model.size[2]:
        return "flat on top, over the middle"
    corners = np.array(model.footprint, dtype=np.float32)
    if cv2.pointPolygonTest(corners, (float(x), float(y)), False) < 0.0:
        return "beside it, on a card under it"
    return "where the numbers say"


def _width(tag: ObjectTag) -> float:
    """Return the width of a tag with its white border [mm]."""
    return 1e3 * with_border(tag)


def _size(tags: Sequence[ObjectTag]) -> tuple[float, float]:
    """Return the width and the height of an object's tags, words and pictures [mm]."""
    high = max(_width(tag) for tag in tags) + 3.0 * LINE
    return sum(_width(tag) + GAP for tag in tags) + PICTURE, max(high, 2.0 * PICTURE)


def _rows(tagged: Sequence[Tagged]) -> Iterator[list[Tagged]]:
    """Return the objects whose tags are beside each other."""
    row: list[Tagged] = []
    for item in tagged:
        if row and sum(_size(tags)[0] + GAP for *_, tags in (*row, item)) - GAP > PAGE[0] - 2.0 * LEFT:
            yield row
            row = []
        row.append(item)
    if row:
        yield row


class _Page:
    def __init__(self, number: int, dots_per_inch: int, families: str) -> None:
        """Begin with the foot: a line to check the printed size, and instructions."""
        self.number, self._scale, self._next = number, dots_per_inch / (1e3 * INCH), TOP
        self.image = Image.new("RGB", self._dots(*PAGE), "white")
        self._draw = ImageDraw.Draw(self.image)
        x, y = self._dots(LEFT, FOOT)
        self._draw.rectangle((x, y, x + self._dots(1e3 * RULER)[0] - 1, y + self._dots(0.5)[0] - 1), fill="black")
        self._write(LEFT + 1e3 * RULER + GAP, FOOT - 1.0, f"100 mm. {families}. Page {number}.", SMALL)
        self._write(LEFT, FOOT + 2.0, "Print at 100 %, and measure the line. Cut along the grey lines.", SMALL)
        turned = (
            "The arrow on a tag points along the object's x axis, right in the pictures; on a front it points right."
        )
        self._write(LEFT, FOOT + 2.0 + LINE, turned, SMALL)

    def has_room(self, row: Sequence[Tagged]) -> bool:
        return self._next == TOP or self._next + max(_size(tags)[1] for *_, tags in row) <= FOOT - GAP

    def add(self, row: Sequence[Tagged], pictures: Mapping[str, Sequence[Picture]]) -> None:
        left = LEFT
        for name, model, tags in row:
            for tag in tags:
                self._add_tag(left, tag, name, model)
                left += _width(tag) + GAP
            for index, shown in enumerate(pictures.get(name, ())):
                side = self._dots(PICTURE)[0]
                small = Image.fromarray(shown).resize((side, side), Image.Resampling.LANCZOS)
                self.image.paste(small, self._dots(left, self._next + index * PICTURE))
            left += PICTURE + GAP
        self._next += max(_size(tags)[1] for *_, tags in row) + GAP

    def _add_tag(self, left: float, tag: ObjectTag, name: str, model: ObjectModel) -> None:
        top, width = self._next, _width(tag)
        (x, y), side = self._dots(left, top), self._dots(width)[0]
        drawn = cv2.resize(picture(tag, 64), (side, side), interpolation=cv2.INTER_AREA)
        self.image.paste(Image.fromarray(drawn), (x, y))
        self._draw.rectangle((x, y, x + side - 1, y + side - 1), outline=GREY)
        # Print in the white border is small and near the edge, so that the black square keeps its contrast.
        border = width / (modules(tag.family) + 2)
        tip, middle = left + width - 0.05 * border, top + width / 2.0
        arrow = [
            (tip, middle),
            (tip - 0.4 * border, middle - 0.25 * border),
            (tip - 0.4 * border, middle + 0.25 * border),
        ]
        self._draw.polygon([self._dots(*point) for point in arrow], fill=GREY)
        self._write(
            left + 0.15 * border, top + width - 0.5 * border, f"{tag.number} {_words(name)}", 0.36 * border, GREY
        )
        self._write(left, top + width + 0.6, f"{tag.number} {_words(name)}", LARGE)
        self._write(left, top + width + 0.9 + LINE, place_in_words(tag, model, bool(whole_of(name))), SMALL)
        place = ", ".join(f"{axis} {1e3 * value:.0f}" for axis, value in zip("xyz", tag.position, strict=True))
        self._write(left, top + width + 0.6 + 2.0 * LINE, f"{place} mm", SMALL)

    def _write(self, x: float, y: float, words: str, height: float, fill: object = "black") -> None:
        font = ImageFont.load_default(self._dots(height)[0])
        self._draw.text(self._dots(x, y), words, font=font, fill=fill)

    def _dots(self, *lengths: float) -> tuple[int, ...]:
        """Return lengths [mm] in pixels."""
        return tuple(round(length * self._scale) for length in lengths)


def _words(name: str) -> str:
    return name.replace("_", " ")
