"""Textures, drawn by arithmetic: the same bytes on every machine, and nothing to download.

A texture is a cube map. MuJoCo looks a geom's surface up in it by the direction from its centre, after scaling the geom
to the unit cube. So each texel belongs to a point of the surface, and a texture is a function of such points: labels
go around cans, and wood's grain goes through a board.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocontrast_ros.domain.geometry import Vector3
from robocontrast_ros.objects.font import GLYPHS, HEIGHT, WIDTH
from robocontrast_ros.objects.schema import Paint, Rgb

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Mixed = NDArray[np.uint32]

AT_ONCE = 8192
"""Points whose noise is computed together, so that it stays in a processor's cache."""

SMALL, LARGE = 128, 256
"""Texels along an edge of the cube, for things that fit in a hand and for furniture."""

FURNITURE = 0.3
"""Half length from which on a geom is furniture [m]."""

FINE = 2
"""Samples of a texel along each edge."""


@dataclass(frozen=True)
class Surface:
    """The points of a geom for the texels, each array of shape (6, n, n).

    Attributes:
        type: type of the geom.
        half: half lengths of the box around it [m].
        x: coordinate in the geom's frame [m].
        y: coordinate in the geom's frame [m].
        z: coordinate in the geom's frame [m].
    """

    type: str
    half: Vector3
    x: Array
    y: Array
    z: Array


@functools.lru_cache(maxsize=256)
def texture(type_: str, size: Vector3, paint: Paint) -> tuple[int, bytes] | None:
    """Return the texels along an edge, and the six faces as RGB bytes in MuJoCo's order; None for one colour.

    Args:
        type_: type of the geom.
        size: size of the geom, as in MuJoCo.
        paint: its paint.
    """
    if paint.texture not in PATTERNS:
        return None
    half = _half(type_, size)
    edge = LARGE if max(half) >= FURNITURE else SMALL
    surface = _surface(type_, half, edge * FINE)
    image = PATTERNS[paint.texture](surface, paint)
    image = image.reshape(6, edge, FINE, edge, FINE, 3).mean(axis=(2, 4))
    return edge, np.floor(np.clip(image, 0.0, 1.0) * 255.0 + 0.5).astype(np.uint8).tobytes()


def _half(type_: str, size: Vector3) -> Vector3:
    if type_ == "sphere":
        return size[0], size[0], size[0]
    if type_ == "cylinder":
        return size[0], size[0], size[1]
    if type_ == "capsule":
        return size[0], size[0], size[0] + size[1]
    return size


def _surface(type_: str, half: Vector3, edge: int) -> Surface:
    along = (np.arange(edge) + 0.5) / edge * 2.0 - 1.0
    u, v = np.meshgrid(along, along)  # u grows with the column, v with the row
    one = np.ones_like(u)
    # Right, left, up, down, front, back, as OpenGL lays out a cube map.
    x = np.stack((one, -one, u, u, u, -u))
    y = np.stack((-v, -v, one, -one, -v, -v))
    z = np.stack((-u, u, v, -v, one, -one))
    if type_ == "cylinder":
        scale = 1.0 / np.maximum(np.sqrt(x * x + y * y), np.abs(z))
    elif type_ == "box":
        scale = one
    else:
        scale = 1.0 / np.sqrt(x * x + y * y + z * z)
    return Surface(type_, half, x * scale * half[0], y * scale * half[1], z * scale * half[2])


# -- parts of patterns -----------------------------------------------------------------------------


def _noise(x: Array, y: Array, z: Array, seed: int) -> Array:
    """Return smooth noise in [0, 1] whose details have the length 1."""
    found, points = np.empty(x.size), np.stack((x, y, z)).reshape(3, -1)
    for begin in range(0, x.size, AT_ONCE):
        part = slice(begin, begin + AT_ONCE)
        found[part] = _noise_at(*points[:, part], seed)
    return found.reshape(x.shape)


def _noise_at(x: Array, y: Array, z: Array, seed: int) -> Array:
    low = [np.floor(axis) for axis in (x, y, z)]
    share = [axis - corner for axis, corner in zip((x, y, z), low, strict=True)]
    share = [part * part * (3.0 - 2.0 * part) for part in share]
    sides = [(1.0 - part, part) for part in share]
    parts = [_part(corner, prime) for corner, prime in zip(low, PRIMES, strict=True)]
    parts[0] += _wrapped(seed)
    corners = [(part, part + prime) for part, prime in zip(parts, PRIMES, strict=True)]
    total = np.zeros_like(x)
    for dx, dy in itertools.product((0, 1), repeat=2):
        weight_xy, part_xy = sides[0][dx] * sides[1][dy], corners[0][dx] + corners[1][dy]
        for dz in (0, 1):
            weight = weight_xy * sides[2][dz]
            weight *= _scattered(part_xy + corners[2][dz])
            total += weight
    return total


PRIMES = (np.uint32(374761393), np.uint32(668265263), np.uint32(2147483647))
"""Factors of the coordinates of a lattice's point; bits beyond 32 are lost."""


def _lattice(i: ArrayLike, j: ArrayLike, k: ArrayLike, seed: int) -> Array:
    """Return a number in [0, 1) for each point of a lattice, which depends on it and the seed alone."""
    return _scattered(_part(i, PRIMES[0]) + _part(j, PRIMES[1]) + _part(k, PRIMES[2]) + _wrapped(seed))


def _part(coordinate: ArrayLike, prime: np.uint32) -> Mixed:
    """Return a coordinate's addition to the number of a lattice's point."""
    return np.atleast_1d(coordinate).astype(np.int64).astype(np.uint32) * prime


def _wrapped(seed: int) -> np.uint32:
    return np.uint32(seed * 1274126177 & 0xFFFFFFFF)


def _scattered(mixed: Mixed) -> Array:
    """Return a number in [0, 1) for each number; these are overwritten."""
    for shift, factor in ((13, 1274126177), (16, 2246822519)):
        mixed ^= mixed >> np.uint32(shift)
        mixed *= np.uint32(factor)
    mixed ^= mixed >> np.uint32(15)
    mixed &= np.uint32(0xFFFFFF)
    return mixed / float(1 << 24)


def _octaves(x: Array, y: Array, z: Array, seed: int) -> Array:
    """Return noise with coarse and fine details, in [0, 1]."""
    return sum(_noise(x * 2**n, y * 2**n, z * 2**n, seed + n) * share for n, share in enumerate((0.55, 0.3, 0.15)))


def _wave(x: Array) -> Array:
    """Return a triangle wave of the period 1, in [0, 1]; a sine's last bit would depend on the processor."""
    return np.abs(2.0 * (x - np.floor(x)) - 1.0)


def _angle(x: Array, y: Array) -> Array:
    """Return the angle of points about z, to 0.3 degrees, by arithmetic that is the same everywhere [rad]."""
    ax, ay = np.abs(x), np.abs(y)
    share = np.minimum(ax, ay) / np.maximum(np.maximum(ax, ay), 1e-12)
    first = share * (math.pi / 4 + 0.273 * (1.0 - share))
    first = np.where(ay > ax, math.pi / 2 - first, first)
    first = np.where(x < 0.0, math.pi - first, first)
    return np.where(y < 0.0, -first, first)


def _mixed(first: Rgb | Array, second: Rgb | Array, share: Array | Mask) -> Array:
    """Return colours between two, shape (6, n, n, 3); a share of 1 is the second."""
    part = np.asarray(share, dtype=float)[..., None]
    return np.asarray(first) * (1.0 - part) + np.asarray(second) * part


def _brightness(colour: Rgb) -> float:
    return 0.3 * colour[0] + 0.59 * colour[1] + 0.11 * colour[2]


def _seed(paint: Paint) -> int:
    """Return a number that depends on the colours and the text."""
    return sum(ord(letter) * (n + 3) for n, letter in enumerate(repr((paint.colour, paint.text)))) % 9973


def _along(surface: Surface) -> tuple[Array, Array, Array]:
    """Return the coordinate along the longest side of a geom, and the two across it [m]."""
    axes = (surface.x, surface.y, surface.z)
    longest = max(range(3), key=lambda n: surface.half[n])
    others = [axes[n] for n in range(3) if n != longest]
    return axes[longest], others[0], others[1]


# -- patterns --------------------------------------------------------------------------------------


def _wood(surface: Surface, paint: Paint) -> Array:
    along, a, b = _along(surface)
    a, b, along = a / paint.grain, b / paint.grain, along / paint.grain
    rings = _wave(a * 1.1 + b * 0.7 + 1.6 * _noise(along * 0.13, a * 0.6, b * 0.6, _seed(paint)))
    fibres = _noise(along * 0.7, a * 9.0, b * 9.0, _seed(paint) + 5)
    return _mixed(paint.colour, paint.second, 0.65 * rings + 0.35 * fibres)


def _planks(surface: Surface, paint: Paint) -> Array:
    """Return boards side by side, each of a shade of its own."""
    along, a, b = _along(surface)
    board = np.floor(a / (paint.grain * 4.0))
    shade = _lattice(board.astype(np.int64), np.zeros_like(board, dtype=np.int64), np.zeros_like(board, np.int64), 7)
    shifted = Surface(surface.type, surface.half, along + shade * 9.0, a, b)
    axes = (shifted.x / paint.grain, shifted.y / paint.grain, shifted.z / paint.grain)
    rings = _wave(axes[1] * 1.1 + axes[2] * 0.7 + 1.6 * _noise(axes[0] * 0.13, axes[1] * 0.6, axes[2] * 0.6, 3))
    fibres = _noise(axes[0] * 0.7, axes[1] * 9.0, axes[2] * 9.0, 5)
    image = _mixed(paint.colour, paint.second, 0.45 * rings + 0.25 * fibres + 0.3 * shade)
    seam = np.abs(a / (paint.grain * 4.0) - np.round(a / (paint.grain * 4.0))) < 0.02
    return _mixed(image, (0.12, 0.08, 0.05), 0.7 * seam)


def _cloth(surface: Surface, paint: Paint) -> Array:
    along, a, b = _along(surface)
    period = paint.grain
    checks = 0.5 * (_wave(along / period) > 0.5) + 0.5 * (_wave(a / period) > 0.5)
    weave = _wave(along / (period / 8)) * _wave((a + b) / (period / 8))
    return _mixed(_mixed(paint.colour, paint.second, checks), (0.0, 0.0, 0.0), 0.12 * weave)


def _speckle(surface: Surface, paint: Paint) -> Array:
    x, y, z = surface.x / paint.grain, surface.y / paint.grain, surface.z / paint.grain
    coarse = _octaves(x, y, z, _seed(paint))
    spots = _noise(x * 5.0, y * 5.0, z * 5.0, _seed(paint) + 9) > 0.82
    return _mixed(paint.colour, paint.second, np.clip(0.9 * (coarse - 0.45), 0.0, 0.6) + 0.35 * spots)


def _stripes(surface: Surface, paint: Paint) -> Array:
    along, _, _ = _along(surface)
    if surface.type in ("sphere", "ellipsoid"):
        # Along meridians, as on a melon.
        angle = _angle(surface.x, surface.y) / math.tau
        bent = angle * 10.0 + 0.35 * _noise(surface.z / paint.grain, angle * 9.0, angle * 0.0, _seed(paint))
        return _mixed(paint.colour, paint.second, _wave(bent) > 0.55)
    return _mixed(paint.colour, paint.second, _wave(along / paint.grain) > 0.5)


def _marble(surface: Surface, paint: Paint) -> Array:
    x, y, z = surface.x / paint.grain, surface.y / paint.grain, surface.z / paint.grain
    bent = _octaves(x * 0.5, y * 0.5, z * 0.5, _seed(paint))
    veins = _wave(x * 0.12 + y * 0.2 + z * 0.15 + 1.5 * bent)
    thin = np.clip(veins * 7.0 - 6.0, 0.0, 1.0)
    cloudy = 0.25 * _octaves(x, y, z, _seed(paint) + 4)
    return _mixed(paint.colour, paint.second, np.clip(thin * 0.75 + cloudy, 0.0, 1.0))


def _tiles(surface: Surface, paint: Paint) -> Array:
    joint = np.zeros_like(surface.x, dtype=bool)
    parity = np.zeros_like(surface.x)
    for axis, half in zip((surface.x, surface.y, surface.z), surface.half, strict=True):
        scaled = (axis + half * 1e-9) / paint.grain
        # A face has one coordinate that does not vary; it must not decide anything.
        inside = np.abs(np.abs(axis) - half) > 1e-9
        joint |= inside & (np.abs(scaled - np.round(scaled)) < 0.03)
        parity = parity + np.where(inside, np.floor(scaled), 0.0)
    shade = 0.25 * (parity - 2.0 * np.floor(parity / 2.0))
    mottled = 0.15 * _octaves(*(axis / paint.grain * 3.0 for axis in (surface.x, surface.y, surface.z)), 11)
    return _mixed(_mixed(paint.colour, (0.0, 0.0, 0.0), (shade + mottled) * 0.5), paint.second, joint)


def _bricks(surface: Surface, paint: Paint) -> Array:
    along = surface.x if surface.half[0] >= surface.half[1] else surface.y
    row = np.floor(surface.z / (paint.grain / 3.0))
    column = along / paint.grain + 0.5 * (row - 2.0 * np.floor(row / 2.0))
    up = surface.z / (paint.grain / 3.0)
    joint = (np.abs(up - np.round(up)) < 0.08) | (np.abs(column - np.round(column)) < 0.03)
    index = np.floor(column).astype(np.int64)
    shade = _lattice(index, row.astype(np.int64), np.zeros_like(index), 3)
    return _mixed(_mixed(paint.colour, (0.1, 0.03, 0.02), 0.45 * shade), paint.second, joint)


def _seam(surface: Surface, paint: Paint) -> Array:
    """Return the line of a ball that is sewn or moulded of two parts, on a felt ground."""
    x, y, z = (axis / half for axis, half in zip((surface.x, surface.y, surface.z), surface.half, strict=True))
    line = np.abs(z - 0.75 * (x * x - y * y)) < 0.07
    felt = _noise(x * 30.0, y * 30.0, z * 30.0, 2)
    return _mixed(_mixed(paint.colour, (0.0, 0.0, 0.0), 0.15 * felt), paint.second, line)


def _label(surface: Surface, paint: Paint) -> Array:
    """Return a printed packet or can: its name, a picture and lines of small print."""
    image = np.broadcast_to(np.asarray(paint.colour), (*surface.x.shape, 3)).copy()
    a, b, c = surface.half
    if surface.type != "box":
        # Printed three times around, so that one label is always visible.
        half = math.pi * a / 3
        right = (_angle(surface.x, surface.y) + math.pi / 3) * a
        right = right - 2.0 * half * np.floor((right + half) / (2.0 * half))
        side = np.abs(surface.z) < c * 0.999
        image = np.where(side[..., None], _print(right, surface.z, half * 0.9, c, paint, True), image)
        lid = _mixed(paint.colour, (0.75, 0.76, 0.78), ~side & (surface.z > 0))
        return np.where(side[..., None], image, lid)
    # Directions to the right and up for a viewer in front of each face; the lid is read along its longer side.
    wide = a >= b
    lid = (surface.x, surface.y, a, b) if wide else (surface.y, -surface.x, b, a)
    views = {
        0: (surface.y, surface.z, b, c),
        1: (-surface.y, surface.z, b, c),
        2: (-surface.x, surface.z, a, c),
        3: (surface.x, surface.z, a, c),
        4: lid,
    }
    for face, (right, up, across, along) in views.items():
        front = across * along > 0.55 * max(a * c, b * c, a * b)
        drawn = _print(right[face], up[face], across, along, paint, front)
        image[face] = drawn
    return image


def _print(right: Array, up: Array, across: float, along: float, paint: Paint, front: bool) -> Array:
    """Return the print on a rectangle, given coordinates from its centre and its half lengths [m]."""
    bright = _brightness(paint.colour)
    ink = (0.08, 0.08, 0.10) if bright > 0.5 else (0.97, 0.96, 0.93)
    u, v = right / across, up / along
    image = _mixed(paint.colour, paint.second, np.abs(np.abs(v) - 0.88) < 0.05)
    if front:
        # The picture: the content, in a bowl.
        radius = min(across, along) * 0.42
        x, y = right / radius, (up + along * 0.22) / radius
        disc = x * x + y * y < 1.0
        image = _mixed(image, paint.second, disc)
        inner = (x * x + y * y < 0.62) & (y < 0.25)
        image = _mixed(image, _mixed(paint.colour, (0.35, 0.2, 0.05), np.float64(0.35)), inner)
        name = _written(u * across, v * along - along * 0.5, across * 0.86, along * 0.24, paint.text)
        return _mixed(image, ink, name)
    lines = _small_print(u, v, _seed(paint))
    return _mixed(image, ink, 0.75 * lines)


def _small_print(u: Array, v: Array, seed: int) -> Mask:
    """Return lines of words that are too small to read."""
    row = np.floor((v + 1.0) * 9.0)
    word = np.floor((u + 1.0) * 7.0 + 0.9 * _lattice(row.astype(np.int64), row.astype(np.int64), seed, 1))
    gap = _lattice(row.astype(np.int64), word.astype(np.int64), np.zeros_like(word, np.int64), seed) < 0.3
    in_line = np.abs((v + 1.0) * 9.0 - row - 0.5) < 0.22
    return in_line & ~gap & (np.abs(u) < 0.8) & (np.abs(v) < 0.7)


def _written(right: Array, up: Array, across: float, along: float, text: str) -> Mask:
    """Return the places of letters, centred, as large as they fit into half lengths [m]."""
    if not text:
        return np.zeros(right.shape, dtype=bool)
    columns = len(text) * (WIDTH + 1) - 1
    pixel = min(2 * across / columns, 2 * along / HEIGHT)
    bitmap = np.zeros((HEIGHT, columns), dtype=bool)
    for index, letter in enumerate(text):
        at = index * (WIDTH + 1)
        bitmap[:, at : at + WIDTH] = GLYPHS[letter]
    column = np.floor(right / pixel + columns / 2).astype(np.int64)
    row = np.floor(HEIGHT / 2 - up / pixel).astype(np.int64)
    inside = (column >= 0) & (column < columns) & (row >= 0) & (row < HEIGHT)
    return inside & bitmap[np.clip(row, 0, HEIGHT - 1), np.clip(column, 0, columns - 1)]


PATTERNS: dict[str, Callable[[Surface, Paint], Array]] = {
    "bricks": _bricks,
    "cloth": _cloth,
    "label": _label,
    "marble": _marble,
    "planks": _planks,
    "seam": _seam,
    "speckle": _speckle,
    "stripes": _stripes,
    "tiles": _tiles,
    "wood": _wood,
}
"""Texture -> function that draws it; a texture without one has one colour."""
