"""From one picture of a calibrated camera to the poses of the objects of an expected scene."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.domain import ObjectState, Pose, Scene, whole_of
from robocontrast_ros.domain.words import name_in_words
from robocontrast_ros.objects.frames import compose
from robocontrast_ros.objects.joints import Joint, part_pose
from robocontrast_ros.perception.blocks import BlockFinder, Found
from robocontrast_ros.perception.camera import CalibratedCamera
from robocontrast_ros.perception.estimate import ObjectEstimate, SceneEstimate
from robocontrast_ros.perception.parts import SeenWhole, place_part
from robocontrast_ros.perception.pictures import problems_of
from robocontrast_ros.perception.solids import SolidBlock
from robocontrast_ros.perception.tags import (
    FITS,
    KnownTagReader,
    ObjectTag,
    Placed,
    SeenTags,
    Support,
    place,
    seen_off,
)

MISFIT = 3.0
"""Least distance of a world-fixed tag from its expected place that shows that something was moved [pixel]."""
AROUND = 0.015
"""Greatest distance from a support at which something on it may be seen [m]."""
WELL_INSIDE = 0.004
"""Depth inside of a support from which something cannot be beside it [m]."""
MOST = 0.5
"""Share of badly fitting objects from which the calibration is the likely reason."""
SHAPE = "what is seen has another shape"
"""First words of the reason that a block's silhouette does not fit."""


class SceneEstimator:
    """Looks for the objects of one expected scene, and for nothing else."""

    def __init__(
        self,
        camera: CalibratedCamera,
        expected: Scene,
        *,
        tags: Mapping[str, Sequence[ObjectTag]] | None = None,
        blocks: Mapping[str, SolidBlock] | None = None,
        supports: Mapping[str, Sequence[Support]] | None = None,
        joints: Mapping[str, Joint] | None = None,
        fixed_tags: Sequence[ObjectTag] = (),
        given: Collection[str] = (),
        table: float = 0.0,
        region: tuple[tuple[float, float], tuple[float, float]] | None = None,
    ) -> None:
        """Take the known facts of the scene.

        An object with tags is found by them; one without, by its model's colour and outline. A part on a joint is found
        by its tags, relative to its object.

        Args:
            camera: the camera of the pictures.
            expected: scene whose objects are looked for; its poses are not used, except those of ``given``.
            tags: name in the scene -> tags on it.
            blocks: model -> block, for those without tags.
            supports: model -> places for something else on it, or in it.
            joints: model of a moving part -> its joint; the scene has the part's object, too.
            fixed_tags: tags that are fixed to the world, with their poses in its frame: they show whether the camera is
                still at its calibrated pose.
            given: names of objects that are not looked for and are as expected, such as the table itself.
            table: height of the surface under the objects, world frame [m].
            region: least x and y, and greatest x and y, of the objects' places [m]; None for everything in view.

        Raises:
            ValueError: an object has neither tags nor a block, a tag is named twice, a name is in no scene, or a part
                is without its object.
        """
        self._camera, self._expected, self._given = camera, expected, frozenset(given)
        tags, blocks, self._joints = tags or {}, blocks or {}, joints or {}
        if strange := sorted(self._given - set(expected.names)):
            raise ValueError(
                f"given: got {', '.join(strange)}, expected names of the scene: {', '.join(expected.names)}"
            )
        wanted = [o for o in expected if o.name not in self._given]
        self._tags = {o.name: tuple(tags[o.name]) for o in wanted if tags.get(o.name)}
        known = {o.name: blocks[o.model] for o in wanted if o.name not in self._tags and o.model in blocks}
        for item in wanted:
            if item.name not in self._tags and item.name not in known:
                raise ValueError(
                    f"{item.name}: it has no tag and is no known block; fix a tag to it and name it in `tags`"
                )
            if item.model in self._joints and whole_of(item.name) not in expected:
                raise ValueError(f"{item.name}: it is a part of '{whole_of(item.name)}', which is not in the scene")
        all_tags = [t for own in (*self._tags.values(), fixed_tags) for t in own]
        numbers = [tag.number for tag in all_tags]
        if twice := sorted({number for number in numbers if numbers.count(number) > 1}):
            raise ValueError(f"tags: tag {twice[0]} is named twice; each number belongs to one place")
        self._supports, self._fixed, self._table = supports or {}, tuple(fixed_tags), table
        self._reader = KnownTagReader(all_tags)
        self._finder = BlockFinder(camera, known, table, region)

    def estimate(self, image: NDArray[np.uint8]) -> SceneEstimate:
        """Return the estimate from a picture.

        Args:
            image: RGB, shape (rows, columns, 3), 8 bits.

        Raises:
            ValueError: it is no such image.
        """
        problems = problems_of(image, self._camera.intrinsics)
        if problems:
            why = ("the picture cannot be used",)
            objects = tuple(
                self._as_expected(o.name) if o.name in self._given else _unseen(o.name, o.model, why)
                for o in self._expected
            )
            return SceneEstimate(objects, problems, self._camera.frame_id)
        seen = self._reader.read(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY))
        placed = self._placed(seen)
        found = self._finder.find(image)
        objects: dict[str, ObjectEstimate] = {}
        # The place of a part depends on that of its object.
        for item in sorted(self._expected, key=self._on_joint):
            if item.name in self._given:
                objects[item.name] = self._as_expected(item.name)
            elif self._on_joint(item):
                objects[item.name] = self._part(item, objects[whole_of(item.name)], seen)
            elif item.name in self._tags:
                objects[item.name] = self._tagged(item.name, placed.get(item.name), seen)
            else:
                objects[item.name] = self._block(item.name, found[item.name])
        in_order = tuple(objects[name] for name in self._expected.names)
        return SceneEstimate(in_order, self._misfits(placed, found, seen), self._camera.frame_id)

    def _on_joint(self, item: ObjectState) -> bool:
        return item.model in self._joints

    def _placed(self, seen: SeenTags) -> dict[str, Placed]:
        """Return the places of tagged objects; first those on the table, then those on others."""
        placed: dict[str, Placed] = {}
        for name, own in self._tags.items():
            if self._on_joint(self._expected[name]):
                continue
            found = place(self._camera, own, seen.corners, (), self._table)
            if found is not None:
                placed[name] = found
        # From below upwards; of two that seem equally high the wider one is below.
        below = [name for name in placed if self._supports.get(self._expected[name].model)]
        order = {name: found.pose.position[2] - self._width(name) / 4.0 for name, found in placed.items()}
        for name in sorted(order, key=order.get):
            mine, heights, on_top = placed[name].pose.xy, [], False
            for other in below:
                if other == name or order[other] >= order[name]:
                    continue
                for support in self._supports[self._expected[other].model]:
                    away = support.away(placed[other].pose, mine)
                    if away < AROUND:
                        heights.append(placed[other].pose.position[2] + support.height)
                        on_top |= away < -WELL_INSIDE
            # An object right above another one is on it.
            if not on_top:
                heights.append(self._table)
            again = place(self._camera, self._tags[name], seen.corners, heights, self._table)
            if again is not None:
                placed[name] = again
        return placed

    def _width(self, name: str) -> float:
        """Return the width of an object's supports for others [m]; 0 if it has none."""
        corners = [c for support in self._supports.get(self._expected[name].model, ()) for c in support.polygon]
        return 2.0 * max((math.hypot(*corner) for corner in corners), default=0.0)

    def _as_expected(self, name: str) -> ObjectEstimate:
        item = self._expected[name]
        return ObjectEstimate(name, item.model, item.pose, 0.0, 0.0)

    def _tagged(self, name: str, placed: Placed | None, seen: SeenTags) -> ObjectEstimate:
        model = self._expected[name].model
        reasons = self._twice(name, seen)
        if placed is None:
            return _unseen(name, model, reasons or self._hidden(name))
        own, shifts = self._with_calibration(placed.position_std, placed.pose)
        return ObjectEstimate(
            name,
            model,
            placed.pose,
            own,
            placed.yaw_std,
            unsure=(*reasons, *placed.unsure),
            shifts=shifts,
            others=placed.others,
        )

    def _part(self, item: ObjectState, whole: ObjectEstimate, seen: SeenTags) -> ObjectEstimate:
        """Return the estimate of a moving part of an object."""
        joint, holder = self._joints[item.model], f"the {name_in_words(whole.name)}"
        reasons = self._twice(item.name, seen)
        if whole.pose is None:
            return _unseen(item.name, item.model, (f"{holder}, which it is a part of, is not seen",))
        errors = None if whole.name in self._given else self._errors(whole, seen)
        placed = place_part(self._camera, joint, whole.pose, self._tags[item.name], seen.corners, errors)
        if placed is None:
            return _unseen(item.name, item.model, reasons or self._hidden(item.name))
        if not placed.fits:
            moved = f"{holder} may have been moved, or the camera"
            reasons += (f"its tag is {placed.off:.0f} pixels from where its joint can bring it; {moved}",)
        if placed.small:
            reasons += (f"its tag is small in the picture ({placed.side:.0f} pixels)",)
        if whole.reasons:
            reasons += (f"the camera is not certain of {holder}, which it is a part of",)
        pose, *ends = (
            part_pose(whole.pose, joint, position) for position in (placed.position, placed.low, placed.high)
        )
        states = (joint.state(position) for position in (placed.low, placed.position, placed.high))
        hinge = joint.type == "hinge"
        arm = math.dist(joint.pose(placed.position + 1e-4).position, joint.pose(placed.position).position) / 1e-4
        return ObjectEstimate(
            item.name,
            item.model,
            pose,
            placed.std * arm,
            placed.std if hinge else 0.0,
            unsure=reasons,
            ends=tuple(ends),
            states=tuple(dict.fromkeys(states)),
        )

    def _errors(self, whole: ObjectEstimate, seen: SeenTags) -> SeenWhole:
        """Return the errors of the pose of an object that is found by its tags."""
        shared = sum(x * x + y * y for x, y in whole.shifts) / 2.0
        own = [tag.position for tag in self._tags[whole.name] if tag.number in seen.corners]
        x, y, z = (sum(values) / len(own) for values in zip(*own, strict=True))
        # The calibration shifts the object as it shifts its tags, which are where the camera sees it.
        shifts = self._camera.shifts(compose(whole.pose, Pose((x, y, z))).position)
        return SeenWhole(math.sqrt(max(whole.position_std**2 - shared, 0.0)), whole.yaw_std, shifts)

    def _twice(self, name: str, seen: SeenTags) -> tuple[str, ...]:
        """Return the doubts about an object whose tags are seen several times."""
        twice = (tag.number for tag in self._tags[name] if tag.number in seen.twice)
        return tuple(f"two tags of number {number} are in the picture; take one away" for number in twice)

    def _hidden(self, name: str) -> tuple[str, ...]:
        """Return the reason that no tag of an object is seen."""
        own = self._tags[name]
        numbers, be = " and ".join(str(tag.number) for tag in own), "is" if len(own) == 1 else "are"
        return (f"its tag {numbers} {be} not seen: hidden, out of the picture, or too small in it",)

    def _block(self, name: str, found: Found | None) -> ObjectEstimate:
        model = self._expected[name].model
        if found is None:
            return _unseen(name, model, ("it is not seen: hidden, or out of the picture",))
        pose = Pose.planar(found.x, found.y, found.yaw, self._table)
        deviation, shifts = self._with_calibration(found.position_std, pose)
        turns = self._finder.turns(name)
        return ObjectEstimate(
            name,
            model,
            pose,
            deviation,
            math.hypot(found.yaw_std, self._camera.orientation_error),
            turns,
            found.unsure,
            found.hidden,
            shifts,
        )

    def _with_calibration(self, deviation: float, pose: Pose) -> tuple[float, tuple[tuple[float, float], ...]]:
        """Return a position's standard deviation with the calibration's error, and the shifts by that error [m]."""
        shifts = self._camera.shifts(pose.position)
        along, across = (shifts**2).sum(axis=0).tolist()
        return math.sqrt(deviation**2 + (along + across) / 2.0), tuple((x, y) for x, y in shifts.tolist())

    def _misfits(
        self, placed: Mapping[str, Placed], found: Mapping[str, Found | None], seen: SeenTags
    ) -> tuple[str, ...]:
        """Return the reasons to believe that the calibration is wrong."""
        advice = "The camera or the table may have been moved. Run `robocontrast calibrate` again."
        off = {
            t.number: seen_off(self._camera, t, seen.corners[t.number]) for t in self._fixed if t.number in seen.corners
        }
        if off and (worst := max(off, key=off.get)) is not None and off[worst] > MISFIT:
            return (f"Tag {worst} is {off[worst]:.0f} pixels from where the calibration puts it. {advice}",)
        problems = []
        if self._fixed and not off:
            numbers = ", ".join(str(tag.number) for tag in self._fixed)
            problems.append(f"None of the tags {numbers} that are fixed to the table is seen. Uncover one.")
        bad = [p.off > FITS or any("above or below" in reason for reason in p.unsure) for p in placed.values()]
        bad += [any(SHAPE in reason for reason in f.unsure) for f in found.values() if f is not None]
        if sum(bad) > 2 and sum(bad) > MOST * len(bad):
            problems.append(f"{sum(bad)} of {len(bad)} objects do not look as the calibration tells. {advice}")
        return tuple(problems)


def _unseen(name: str, model: str, reasons: tuple[str, ...]) -> ObjectEstimate:
    return ObjectEstimate(name, model, None, math.nan, math.nan, 1, reasons)


def nearest_turn(yaw: float, turns: int, wanted: float) -> float:
    """Return the yaw nearest to a wanted one, of those that look the same [rad]."""
    options = (yaw + math.tau * k / turns for k in itertools.count())
    return min(itertools.islice(options, turns), key=lambda angle: abs(math.remainder(angle - wanted, math.tau)))
