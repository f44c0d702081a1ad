"""Blocks without tags: found by colour, and fitted by their outline.

Each colour gives a map of the share of each pixel that it covers. A block's pose is the one whose drawn silhouette, top
and sides, is most like that map: first the best of a few yaws, then least squares over x, y and yaw. Blocks that are
nearer to the camera hide those behind them; anything that is neither background nor a block also hides, and gives no
information.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import cv2
import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.perception.camera import CalibratedCamera, Floats
from robocontrast_ros.perception.solids import SolidBlock

Map = NDArray[np.float32]
"""Covered share of each pixel, 0 to 1, shape (rows, columns)."""

FINE = 3
"""Drawn pixels along each side of a pixel."""
SHIFT = 6
"""Binary digits of a pixel's fractions that OpenCV draws with."""

SEEN = 0.5
"""Cover from which a pixel counts as the block's."""
LEAST_CHROMA = 14.0
"""Least chroma of a pixel that may have a block's colour, CIE Lab; background has less once its own tint is taken
away."""
LEAST_COLOUR = 30.0
"""Least chroma of a block's colour."""
APART = math.radians(22.0)
"""Angle in Lab's plane of colours up to which a pixel may have a block's colour."""
AROUND = 7
"""Side of the square in which a pixel's chroma is compared with the greatest one [pixel]."""
LEAST_SHADE = 0.4
"""Least chroma of a block's sides, as a share of its top's."""
COMMON = 0.03
"""Share of the picture from which a colour is background; a rarer colour that is no block's hides something."""

LEAST_PART = 0.10
"""Share of a block's silhouette that a patch of its colour needs to count."""
MERGED = 1.35
"""Size of a patch, in silhouettes, above which it may be several blocks."""

YAWS = 14
"""Yaws that are tried in a whole turn, shared among the turns that look the same."""
WIDE = 2.0
"""Blur of pictures and silhouettes that are still far from each other, standard deviation [pixel]."""
FIRST_STEPS, STEPS, ROUNDS = 6, 8, 2
"""Steps of least squares, first and with the others in place, and number of the latter rounds over all blocks."""

HIDDEN = 0.35
"""Hidden share of a block from which its pose is unsure."""
LEAST_MATCH = 0.8
"""Overlap of silhouette and patch, divided by their union, below which the pose is unsure."""
CLEAR = 0.88
"""Overlap from which it is this block, even if other things have its colour."""
AREA = 0.30
"""Share of the silhouette by which the visible area may differ from the expected area."""
ALIKE = 0.08
"""Difference of two ways to name patches, as a share of a silhouette, below which both fit."""
LEFT = 0.35
"""Area of a colour that no block explains, in silhouettes, from which blocks of the colour may be mistaken."""
NOISE = 0.10
"""Least error of a pixel's cover, as least squares takes it; edges are correlated with their neighbours."""
SYSTEMATIC = 0.10
"""Error of a silhouette's place that no average takes away: blur, shades of sides [pixel]."""
TURNED = 0.5
"""The same for a corner, whose error turns the silhouette [pixel]."""


@dataclass(frozen=True)
class Found:
    """A block in the picture.

    Attributes:
        x, y: place of its origin, world frame [m].
        yaw: [rad].
        position_std, yaw_std: standard deviations [m], [rad].
        hidden: share that something hides.
        unsure: reasons for a person to look.
    """

    x: float
    y: float
    yaw: float
    position_std: float
    yaw_std: float
    hidden: float
    unsure: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Window:
    """A part of the picture: its first column and row, its width and height."""

    u: int
    v: int
    width: int
    height: int

    @property
    def part(self) -> tuple[slice, slice]:
        return slice(self.v, self.v + self.height), slice(self.u, self.u + self.width)


@dataclass
class _Candidate:
    """One block at one place: pose, and its silhouette in a window."""

    name: str
    block: SolidBlock
    state: Floats  # x, y, yaw
    window: _Window
    cover: Map
    std: tuple[float, float] = (math.nan, math.nan)
    match: float = 0.0
    hidden: float = 0.0
    area: float = 1.0  # visible, as a share of the expected one
    reasons: list[str] = field(default_factory=list)


class BlockFinder:
    """Looks for blocks on a table in pictures of one camera."""

    def __init__(
        self,
        camera: CalibratedCamera,
        blocks: Mapping[str, SolidBlock],
        table: float = 0.0,
        region: tuple[tuple[float, float], tuple[float, float]] | None = None,
    ) -> None:
        """Take the blocks to look for.

        Args:
            camera: the camera of the pictures.
            blocks: name in the scene -> block.
            table: height of the surface under them, world frame [m].
            region: least x and y, and greatest x and y, of their places [m]; None for everything in view.
        """
        self._camera, self._blocks, self._table = camera, dict(blocks), table
        self._colours: dict[tuple[float, float, float], list[str]] = {}
        for name, block in self._blocks.items():
            self._colours.setdefault(block.colour, []).append(name)
        size = camera.intrinsics.height, camera.intrinsics.width
        self._inside = np.full(size, 255, np.uint8)
        self._region = region
        if region is not None and blocks:
            (x0, y0), (x1, y1) = region
            top = table + max(block.height for block in blocks.values())
            corners = [(x, y, z) for x in (x0, x1) for y in (y0, y1) for z in (table, top)]
            if (camera.depth(corners) > 0.01).all():
                hull = cv2.convexHull(camera.project(corners).astype(np.float32))
                self._inside[:] = 0
                cv2.fillConvexPoly(self._inside, np.round(hull).astype(np.int32), 255)

    def find(self, image: NDArray[np.uint8]) -> dict[str, Found | None]:
        """Return the place of each block; None if it is not seen.

        Args:
            image: RGB, shape (rows, columns, 3), of the camera's size.
        """
        if not self._blocks:
            return {}
        covers, self._unknown = self._maps(image)
        chosen: dict[str, _Candidate | None] = {}
        for colour, names in self._colours.items():
            chosen |= self._named(names, covers[colour])
        for number in range(ROUNDS):
            present = sorted(filter(None, chosen.values()), key=self._distance)
            for candidate in present:
                own = candidate.window
                others = [c for c in present if c is not candidate and _overlap(own, c.window)[0] is not None]
                if number > 0 and not others:
                    continue
                self._fit(candidate, covers[candidate.block.colour], others, STEPS)
        present = [c for c in chosen.values() if c is not None]
        for candidate in present:
            self._measure(candidate, covers[candidate.block.colour], [c for c in present if c is not candidate])
        for colour, names in self._colours.items():
            self._doubt_strangers([chosen[name] for name in names if chosen[name] is not None], covers[colour])
        return {name: self._told(candidate) if candidate else None for name, candidate in chosen.items()}

    def turns(self, name: str) -> int:
        """Return the number of turns in which a block looks the same."""
        return self._blocks[name].turns

    # -- colours ----------------------------------------------------------------------------------

    def _maps(self, image: NDArray[np.uint8]) -> tuple[dict[tuple[float, float, float], Map], NDArray[np.bool_]]:
        """Return each colour's cover of each pixel, and the pixels that are neither blocks nor background."""
        smooth = cv2.GaussianBlur(image, (0, 0), 0.6)
        inside = self._inside > 0
        # The light's tint and the table's own are taken away: most of the inside is table, and becomes grey.
        tint = np.maximum(np.median(smooth[::4, ::4][inside[::4, ::4]], axis=0), 1.0)
        gains = np.clip(tint.mean() / tint, 0.6, 1.7)
        scale = np.clip(np.arange(256)[:, None] * gains, 0.0, 255.0).astype(np.uint8)
        lab = cv2.cvtColor(cv2.LUT(smooth, scale.reshape(1, 256, 3)), cv2.COLOR_RGB2LAB)
        a, b = (lab[..., k].astype(np.float32) - 128.0 for k in (1, 2))
        chroma, angle = cv2.cartToPolar(a, b)
        strong = inside & (chroma > LEAST_CHROMA)
        colours = list(self._colours)
        wanted = np.array([_angle(colour) for colour in colours])
        covers = dict.fromkeys(colours, None)
        values, angles = chroma[strong], angle[strong]
        # Lamps shift colours: twice, each colour's angle becomes that of its pixels.
        for _ in range(2):
            off = np.abs((angles[:, None] - wanted + math.pi) % math.tau - math.pi)
            nearest, near = off.argmin(axis=1), off.min(axis=1) < APART
            for k in range(len(colours)):
                own = near & (nearest == k) & (values > LEAST_COLOUR)
                if own.sum() >= 20:
                    wanted[k] = math.atan2(float(np.median(np.sin(angles[own]))), float(np.median(np.cos(angles[own]))))
        any_block = np.zeros(inside.shape, dtype=bool)
        nearest_map = np.full(inside.shape, -1, dtype=np.int8)
        nearest_map[strong] = np.where(near, nearest, -1)
        for k, colour in enumerate(colours):
            own = nearest_map == k
            strength = chroma[own]
            strong_ones = strength[strength > LEAST_COLOUR]
            full = float(np.quantile(strong_ones, 0.7)) if strong_ones.size > 20 else LEAST_COLOUR
            cover = np.zeros(inside.shape, dtype=np.float32)
            # Half of a pixel's cover gives half of the chroma around it, which is less at a block's sides than on top.
            own_chroma = np.where(own, chroma, np.float32(0.0))
            around = cv2.dilate(cv2.blur(own_chroma, (3, 3)), np.ones((AROUND, AROUND), np.uint8))
            local = np.clip(around[own], LEAST_SHADE * full, full)
            cover[own] = np.clip(strength / local * 2.0 - 0.5, 0.0, 1.0)
            covers[colour] = cover
            any_block |= cover > 0.1
        return covers, self._hiding(lab, any_block, inside)

    @staticmethod
    def _hiding(lab: NDArray[np.uint8], any_block: NDArray[np.bool_], inside: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the pixels that are neither of a block nor of a common colour, shape (rows, columns)."""
        bins = (lab[..., 0] >> 4).astype(np.int32) * 256 + (lab[..., 1] >> 4).astype(np.int32) * 16 + (lab[..., 2] >> 4)
        free = inside & ~cv2.dilate(any_block.astype(np.uint8), np.ones((3, 3), np.uint8)).astype(bool)
        counts = np.bincount(bins[free], minlength=4096).reshape(16, 16, 16)
        # A colour at the edge of a bin is also in its neighbours.
        around = sum(np.roll(counts, shift, (0, 1, 2)) for shift in itertools.product((-1, 0, 1), repeat=3))
        common = (around >= COMMON * max(int(free.sum()), 1)).ravel()
        strange = (inside & ~any_block & ~common[bins]).astype(np.uint8)
        # Thin lines are edges.
        return cv2.morphologyEx(strange, cv2.MORPH_OPEN, np.ones((5, 5), np.uint8)).astype(bool)

    # -- which patch is which block ---------------------------------------------------------------

    def _named(self, names: Sequence[str], cover: Map) -> dict[str, _Candidate | None]:
        """Return a first pose of each block of one colour; None if it is not seen."""
        seeds = self._seeds(names, cover)
        table = {
            (name, k): self._first(name, self._blocks[name], at, cover, own)
            for name in names
            for k, (at, own) in enumerate(seeds)
        }
        best: list[tuple[float, tuple[int | None, ...]]] = []
        slots: list[int | None] = [*range(len(seeds)), *[None] * max(len(names) - len(seeds), 0)]
        for order in dict.fromkeys(itertools.permutations(slots, len(names))):
            chosen = [table[name, k] for name, k in zip(names, order, strict=True) if k is not None]
            best.append((self._cost(chosen, cover), order))
        best.sort(key=lambda pair: pair[0])
        cost, order = best[0]
        found = {n: table[n, k] if k is not None else None for n, k in zip(names, order, strict=True)}
        for other_cost, other in best[1:]:
            if other_cost - cost > ALIKE:
                break
            for index, name in enumerate(names):
                if other[index] == order[index] or found[name] is None:
                    continue
                taken = next((n for n, k in zip(names, other, strict=True) if k == order[index] and n != name), None)
                if taken is not None and self._blocks[taken].outline != self._blocks[name].outline:
                    found[name].reasons.append(f"it could also be the {taken.replace('_', ' ')}")
                elif taken is None:
                    found[name].reasons.append("something else of its colour could be it, too")
        return found

    def _seeds(self, names: Sequence[str], cover: Map) -> list[tuple[tuple[float, float], NDArray[np.bool_] | None]]:
        """Return possible places of blocks of one colour: columns and rows of patches, and their pixels."""
        count, labels, stats, centres = cv2.connectedComponentsWithStats(
            (cover > SEEN).astype(np.uint8), connectivity=4
        )
        order = sorted(range(1, count), key=lambda k: -stats[k, cv2.CC_STAT_AREA])
        seeds = []
        for k in order[: 2 * len(names) + 2]:
            area = stats[k, cv2.CC_STAT_AREA]
            full = self._area_at(names, centres[k])
            if area < max(LEAST_PART * full, 12) or not math.isfinite(full):
                continue
            several = min(round(area / full), len(names)) if area > MERGED * full else 1
            if several < 2:
                seeds.append((tuple(centres[k]), None))
                continue
            rows, columns = np.nonzero(labels == k)
            points = np.column_stack((columns, rows)).astype(np.float32)
            criteria = cv2.TERM_CRITERIA_MAX_ITER + cv2.TERM_CRITERIA_EPS, 20, 0.1
            # OpenCV's own generator draws the first centres: the same picture has to give the same answer.
            cv2.setRNGSeed(0)
            _, label, middles = cv2.kmeans(points, several, None, criteria, 3, cv2.KMEANS_PP_CENTERS)
            for part in range(several):
                others = np.zeros(cover.shape, dtype=bool)
                others[rows[label.ravel() != part], columns[label.ravel() != part]] = True
                seeds.append((tuple(middles[part].tolist()), others))
        return seeds[: len(names) + 2]

    def _area_at(self, names: Sequence[str], centre: Sequence[float]) -> float:
        """Return the mean area of the silhouettes of some blocks there [pixel]."""
        areas = []
        for name in names:
            block = self._blocks[name]
            x, y = self._camera.on_plane([centre], self._table + block.height / 2.0)[0]
            if not math.isfinite(x):
                return math.nan
            areas.append(self._drawn(block, np.array((x, y, 0.0)), None, 1)[1].sum())
        return float(np.mean(areas))

    def _first(
        self, name: str, block: SolidBlock, at: tuple[float, float], cover: Map, others: NDArray[np.bool_] | None
    ) -> _Candidate:
        """Return the best of a few yaws at a patch; the silhouette has the patch's middle."""
        x, y = self._camera.on_plane([at], self._table + 0.55 * block.height)[0]
        best, least = None, math.inf
        count = max(round(YAWS / block.turns), 3)
        # The middle of a silhouette hardly depends on the yaw, if the block turns about its own middle.
        middle, own = np.array((x, y)), block.middle
        if others is None:
            for _ in range(2):
                middle += self._step_to(*self._drawn(block, np.array((*(middle - own), 0.0)), None, 1), at, block)
        for yaw in np.arange(count) * (math.tau / block.turns / count):
            c, s = math.cos(yaw), math.sin(yaw)
            state = np.array((middle[0] - c * own[0] + s * own[1], middle[1] - s * own[0] - c * own[1], yaw))
            if others is None and block.turns == 1:
                state[:2] += self._step_to(*self._drawn(block, state, None, 1), at, block)
            window, drawn = self._drawn(block, state, None, 1, margin=4)
            seen = cover[window.part]
            weight = self._weight(window)
            if others is not None:
                weight = weight & ~others[window.part]
            cost = float(np.abs(drawn - seen)[weight].sum())
            if cost < least:
                best, least = state, cost
        window, drawn = self._drawn(block, best, None, FINE, margin=5)
        candidate = _Candidate(name, block, best, window, drawn)
        self._fit(candidate, cover, (), FIRST_STEPS, others, rough=True)
        return candidate

    def _step_to(self, window: _Window, drawn: Map, at: tuple[float, float], block: SolidBlock) -> Floats:
        """Return the displacement that brings a silhouette's middle to a patch's [m], shape (2,)."""
        total = float(drawn.sum())
        if total <= 0.0:
            return np.zeros(2)
        u = window.u + float((drawn.sum(axis=0) * np.arange(window.width)).sum()) / total
        v = window.v + float((drawn.sum(axis=1) * np.arange(window.height)).sum()) / total
        here, there = self._camera.on_plane([(u, v), at], self._table + block.height / 2.0)
        return there - here

    def _cost(self, chosen: Iterable[_Candidate], cover: Map) -> float:
        """Return the area in which silhouettes and patches of one colour differ, in silhouettes."""
        chosen = list(chosen)
        drawn, free = np.zeros_like(cover), ~self._unknown
        for candidate in chosen:
            part = candidate.window.part
            np.maximum(drawn[part], candidate.cover, out=drawn[part])
        one = np.mean([c.cover.sum() for c in chosen]) if chosen else max(float(cover.sum()), 1.0)
        return float(np.abs(drawn - cover)[free].sum() / one)

    @staticmethod
    def _doubt_strangers(chosen: Sequence[_Candidate], cover: Map) -> None:
        """Doubt blocks of a colour that do not fit clearly if much of that colour belongs to no block."""
        if not chosen:
            return
        left = cover > SEEN
        for candidate in chosen:
            left[candidate.window.part] &= cv2.dilate(candidate.cover, np.ones((3, 3), np.uint8)) < 0.1
        if left.sum() > LEFT * np.mean([candidate.cover.sum() for candidate in chosen]):
            for candidate in chosen:
                if candidate.match < CLEAR:
                    candidate.reasons.append("something else of its colour is in the picture")

    # -- fitting ----------------------------------------------------------------------------------

    def _fit(
        self,
        candidate: _Candidate,
        cover: Map,
        others: Iterable[_Candidate],
        steps: int,
        ignored: NDArray[np.bool_] | None = None,
        rough: bool = False,
    ) -> None:
        """Move a candidate until its silhouette is most like the map, and set its standard deviations.

        Far away from it, ``rough``, both are blurred, because an edge has no effect beyond its own width.
        """
        fine = 2 if rough else FINE

        def shown(state: Floats) -> Map:
            picture = np.maximum(self._drawn(block, state, window, fine)[1], fixed)
            return cv2.GaussianBlur(picture, (0, 0), WIDE) if rough else picture

        block, others = candidate.block, list(others)
        scale = self._metres_per_pixel(candidate)
        radius = float(np.sqrt((block.corners**2).sum(axis=1).mean()))
        turn = np.array((0.0, 0.0, (1.5 if rough else 0.5) * scale / radius))
        middle = np.array((*candidate.state[:2], self._table + block.height / 2.0))
        ends = self._camera.project(middle + scale * np.array(((0, 0, 0), (1, 0, 0), (0, 1, 0))))
        flow = ((ends[1:] - ends[0]) / scale).T  # columns and rows by x and y
        window = self._drawn(block, candidate.state, None, 1, margin=6)[0]
        seen = cover[window.part]
        if rough:
            seen = cv2.GaussianBlur(seen, (0, 0), WIDE)
        weight, fixed = self._visible(candidate, window, others)
        if ignored is not None:
            weight = weight & ~ignored[window.part]
        state, damping = candidate.state.copy(), 1e-3
        drawn = shown(state)
        error = (drawn - seen)[weight]
        cost = float((error**2).sum())
        normal = np.eye(3)
        for _ in range(steps):
            # A silhouette that moves a little is the same one elsewhere; one that turns is another.
            free = drawn > fixed
            across, down = np.gradient(drawn)[::-1]
            turned = shown(state + turn)
            columns = [-(across * flow[0, k] + down * flow[1, k]) * free for k in range(2)]
            jacobian = np.stack([column[weight] for column in (*columns, (turned - drawn) / turn[2])], axis=1)
            normal = np.einsum("ij,ik->jk", jacobian, jacobian)
            gradient = np.einsum("ij,i->j", jacobian, error)
            step = -np.linalg.solve(normal + damping * np.diag(np.diag(normal)) + 1e-9 * np.eye(3), gradient)
            # No step of more than three pixels: the map is only known near its edges.
            step *= min(1.0, 3.0 * scale / max(float(np.hypot(*step[:2])), radius * abs(float(step[2])), 1e-12))
            candidate_drawn = shown(state + step)
            new_error = (candidate_drawn - seen)[weight]
            new_cost = float((new_error**2).sum())
            if new_cost < cost:
                small = damping < 0.1 and max(abs(step[:2]).max(), radius * abs(step[2])) < 0.04 * scale
                state, drawn, error, cost, damping = state + step, candidate_drawn, new_error, new_cost, damping / 3
                if small:
                    break
            else:
                damping = max(10.0 * damping, 0.1)
        pixels = max(int(weight.sum()), 1)
        edge = max(int(((drawn > 0.05) & (drawn < 0.95))[weight].sum()), 1)
        # Errors are at the edges, where neighbours have the same errors.
        variance = max(cost / max(min(edge, pixels) - 3, 1), NOISE**2) * 2.0
        try:
            spread = variance * np.linalg.inv(normal)
        except np.linalg.LinAlgError:
            spread = np.full((3, 3), math.inf)
        position = (
            math.sqrt(max(float(np.linalg.eigvalsh(spread[:2, :2])[-1]), 0.0)) if np.isfinite(spread).all() else 1.0
        )
        yaw = math.sqrt(max(float(spread[2, 2]), 0.0)) if np.isfinite(spread).all() else math.pi
        candidate.std = math.hypot(position, SYSTEMATIC * scale), math.hypot(yaw, TURNED * scale / radius)
        candidate.state = state
        candidate.window, candidate.cover = self._drawn(block, state, None, fine, margin=5)

    def _visible(
        self, candidate: _Candidate, window: _Window, others: Iterable[_Candidate]
    ) -> tuple[NDArray[np.bool_], Map]:
        """Return the pixels of a window that count for a block, and the cover of others of its colour there."""
        weight, fixed = self._weight(window), np.zeros((window.height, window.width), dtype=np.float32)
        near = self._distance(candidate)
        for other in others:
            own, theirs = _overlap(window, other.window)
            if own is None:
                continue
            if other.block.colour == candidate.block.colour:
                np.maximum(fixed[own], other.cover[theirs], out=fixed[own])
            elif self._distance(other) < near:
                weight[own] &= other.cover[theirs] < 0.2
        return weight, fixed

    def _measure(self, candidate: _Candidate, cover: Map, others: Sequence[_Candidate]) -> None:
        """Set the match of a fitted block with the map, its hidden share and its visible area."""
        window = self._drawn(candidate.block, candidate.state, None, 1, margin=4)[0]
        drawn = self._drawn(candidate.block, candidate.state, window)[1]
        weight, fixed = self._visible(candidate, window, others)
        near = self._distance(candidate)
        behind = ~weight
        for other in others:
            own, theirs = _overlap(window, other.window)
            if own is not None and other.block.colour == candidate.block.colour and self._distance(other) < near:
                behind[own] |= other.cover[theirs] > SEEN
        total = max(float(drawn.sum()), 1e-6)
        candidate.hidden = float(drawn[behind].sum()) / total
        visible = weight & (fixed < 0.05)
        seen = cover[window.part]
        both, either = (float(f(drawn, seen)[visible].sum()) for f in (np.minimum, np.maximum))
        candidate.match = both / either if either > 0.0 else 0.0
        should = float(drawn[visible].sum())
        # Blur spreads a block's colour, and takes none of it away.
        around = cv2.dilate(drawn, np.ones((5, 5), np.uint8)) > 0.0
        candidate.area = float(seen[visible & around].sum()) / should if should > 0.0 else 0.0

    def _told(self, candidate: _Candidate) -> Found:
        reasons = list(dict.fromkeys(candidate.reasons))
        x, y, yaw = candidate.state.tolist()
        if candidate.hidden > HIDDEN:
            reasons.append(f"{candidate.hidden:.0%} of it is hidden")
        elif candidate.area < 1.0 - AREA:
            reasons.append(f"only {candidate.area:.0%} of it is seen; something may cover it")
        elif candidate.match < LEAST_MATCH:
            reasons.append(f"what is seen has another shape ({candidate.match:.0%} alike)")
        if self._region is not None:
            (x0, y0), (x1, y1) = self._region
            if not (x0 <= x <= x1 and y0 <= y <= y1):
                reasons.append("it seems to be outside the area of the task")
        height, width = self._camera.intrinsics.height, self._camera.intrinsics.width
        w = candidate.window
        if w.u <= 0 or w.v <= 0 or w.u + w.width >= width or w.v + w.height >= height:
            reasons.append("it is at the edge of the picture")
        equal = math.tau / candidate.block.turns
        return Found(x, y, yaw % equal, *candidate.std, candidate.hidden, tuple(reasons))

    # -- geometry ---------------------------------------------------------------------------------

    def _weight(self, window: _Window) -> NDArray[np.bool_]:
        return ~self._unknown[window.part]

    def _distance(self, candidate: _Candidate) -> float:
        x, y, z = self._camera.pose.position
        return math.dist((*candidate.state[:2], self._table), (x, y, z))

    def _metres_per_pixel(self, candidate: _Candidate) -> float:
        depth = float(self._camera.depth([(*candidate.state[:2], self._table)])[0])
        return max(depth, 1e-3) / float(self._camera.intrinsics.matrix[0, 0])

    def _drawn(
        self, block: SolidBlock, state: Floats, window: _Window | None, fine: int = FINE, margin: int = 2
    ) -> tuple[_Window, Map]:
        """Return a block's silhouette: its top and its sides.

        Args:
            block: the block.
            state: x, y [m] and yaw [rad].
            window: the window to draw in; None for the smallest one around the block.
            fine: drawn pixels along each side of a pixel.
            margin: around the smallest window [pixel].
        """
        c, s = math.cos(state[2]), math.sin(state[2])
        outline = block.corners
        count = len(outline)
        points = np.empty((2 * count, 3))
        points[:count, 0] = points[count:, 0] = state[0] + c * outline[:, 0] - s * outline[:, 1]
        points[:count, 1] = points[count:, 1] = state[1] + s * outline[:, 0] + c * outline[:, 1]
        points[:count, 2], points[count:, 2] = self._table, self._table + block.height
        pixels = self._camera.project(points)
        if window is None:
            height, width = self._unknown_shape
            u0, v0 = np.floor(pixels.min(axis=0)).astype(int) - margin
            u1, v1 = np.ceil(pixels.max(axis=0)).astype(int) + margin + 1
            u0, v0 = min(max(u0, 0), width - 1), min(max(v0, 0), height - 1)
            window = _Window(u0, v0, max(min(u1, width) - u0, 1), max(min(v1, height) - v0, 1))
        # A drawn polygon covers its edge's pixels wholly: half a drawn pixel more on each side.
        placed = (pixels - (window.u - 0.5, window.v - 0.5)) * fine - 0.5
        fixed = np.round(placed * 2**SHIFT).astype(np.int32)
        canvas = np.zeros((window.height * fine, window.width * fine), dtype=np.uint8)
        if block.convex:
            cv2.fillConvexPoly(canvas, cv2.convexHull(fixed), 255, cv2.LINE_8, SHIFT)
        else:
            for quad in fixed[block.sides]:
                cv2.fillConvexPoly(canvas, quad, 255, cv2.LINE_8, SHIFT)
            cv2.fillPoly(canvas, [fixed[count:]], 255, cv2.LINE_8, SHIFT)
        if fine > 1:
            canvas = cv2.resize(canvas, (window.width, window.height), interpolation=cv2.INTER_AREA)
        return window, canvas.astype(np.float32) / np.float32(255.0)

    @property
    def _unknown_shape(self) -> tuple[int, int]:
        return self._inside.shape


def _angle(colour: tuple[float, float, float]) -> float:
    """Return the angle of a colour in Lab's plane of colours [rad]."""
    pixel = np.round(255.0 * np.array([[colour]])).astype(np.uint8)
    _, a, b = cv2.cvtColor(pixel, cv2.COLOR_RGB2LAB)[0, 0].astype(float) - (0.0, 128.0, 128.0)
    return math.atan2(b, a)


def _overlap(one: _Window, other: _Window) -> tuple[tuple[slice, slice] | None, tuple[slice, slice] | None]:
    """Return the common part of two windows, in each; None if there is none."""
    u0, v0 = max(one.u, other.u), max(one.v, other.v)
    u1, v1 = min(one.u + one.width, other.u + other.width), min(one.v + one.height, other.v + other.height)
    if u0 >= u1 or v0 >= v1:
        return None, None
    return (
        (slice(v0 - one.v, v1 - one.v), slice(u0 - one.u, u1 - one.u)),
        (slice(v0 - other.v, v1 - other.v), slice(u0 - other.u, u1 - other.u)),
    )
