"""Whether what a camera says of a goal is certain."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from perceived_scenes import CAMERA, noisy, put_tag, table

from robocontrast_ros.domain import ObjectState, Pose, Scene
from robocontrast_ros.domain.rotations import from_vector, turned
from robocontrast_ros.perception import ObjectTag, SceneEstimator, Support, verdict

TAGS = {
    "mug": (ObjectTag(number=100, size=0.06, position=(0.0, 0.0, 0.08)),),
    "box": (ObjectTag(number=101, size=0.06, position=(0.07, 0.0, 0.02)),),
}
MUG, BOX = (0.45, -0.08), (0.38, 0.06)
APART = math.dist(MUG, BOX)
CALIBRATED = replace(CAMERA, position_error=0.003, orientation_error=0.002)


@dataclass
class Within:
    """The mug is within a distance of a place, or of the box."""

    limit: float
    place: tuple[float, float] | None = None

    def satisfied(self, scene):
        return math.dist(scene["mug"].pose.xy, self.place or scene["box"].pose.xy) <= self.limit


class HigherThan(Within):
    def satisfied(self, scene):
        return scene["mug"].pose.position[2] > self.limit


def seen(camera=CALIBRATED, **options):
    image = table()
    put_tag(image, TAGS["box"][0], Pose.planar(*BOX))
    put_tag(image, TAGS["mug"][0], Pose.planar(*MUG, 1.0))
    scene = Scene(tuple(ObjectState(name, name, Pose()) for name in TAGS))
    return SceneEstimator(camera, scene, tags=TAGS, **options).estimate(noisy(image))


def test_the_calibrations_errors_shift_what_is_seen_as_told():
    point, small = np.array((0.42, -0.1, 0.05)), 1e-4
    told, pose = CALIBRATED.shifts(point), CALIBRATED.pose
    for axis, part in enumerate(np.eye(3)):
        x, y, z = pose.position + small * part
        moved = replace(CAMERA, pose=replace(pose, position=(x, y, z))).on_plane(CAMERA.project([point]), point[2])[0]
        assert (moved - point[:2]) / small == pytest.approx(told[axis] / (0.003 / math.sqrt(3.0)), rel=0.01, abs=1e-3)
    around = [replace(pose, orientation=turned(pose.orientation, from_vector(small * part))) for part in np.eye(3)]
    shaken = [replace(CAMERA, pose=each).on_plane(CAMERA.project([point]), point[2])[0] - point[:2] for each in around]
    # About whichever axes: together they spread what is seen alike.
    assert np.cov(np.array([*shaken, *np.negative(shaken)]).T, ddof=0) * 3.0 / small**2 == pytest.approx(
        np.cov(np.array([*told[3:], *-told[3:]]).T, ddof=0) * 3.0 / (0.002 / math.sqrt(3.0)) ** 2, rel=0.02, abs=1e-3
    )


def test_what_shifts_all_objects_alike_leaves_a_goal_between_them_certain():
    estimate, margin = seen(), 0.003
    for sign in (-1.0, 1.0):
        between = verdict(Within(APART + sign * margin), estimate, TAGS)
        assert between.certain and between.success == (sign > 0.0), between.doubts
        at = verdict(Within(0.05 + sign * margin, (MUG[0], MUG[1] - 0.05)), estimate, ["mug"])
        assert "near the limit" in at.doubts[0]
    assert not verdict(Within(APART + 0.0003), estimate, TAGS).certain
    assert verdict(Within(0.05 + margin, (MUG[0], MUG[1] - 0.05)), seen(CAMERA), ["mug"]).certain


def test_two_heights_that_explain_a_picture_are_in_doubt_only_where_the_answer_depends_on_them():
    # The mug is 5 mm beside where something may stand on the box.
    beside = MUG[1] - BOX[1] + 0.005
    support = Support(0.006, ((-0.2, beside), (0.2, beside), (0.2, 0.2), (-0.2, 0.2)))
    estimate = seen(supports={"box": (support,)})
    assert estimate["mug"].others, "the picture fits a mug on the table and one on the box"
    assert "may stand at a height of" in estimate.doubts()[0]
    assert verdict(Within(1.0), estimate, TAGS).certain
    assert "may stand at a height of" in verdict(HigherThan(0.003), estimate, TAGS).doubts[0]
