"""Pictures that tell nothing, and goals that are near their limit."""

from __future__ import annotations

import math
from dataclasses import dataclass

import cv2
import numpy as np
import pytest
import yaml
from perceived_scenes import CAMERA, LENS, noisy, put_tag, table

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain import ObjectState, Pose, Scene
from robocontrast_ros.perception import (
    ObjectEstimate,
    ObjectTag,
    SceneEstimate,
    SceneEstimator,
    load_camera,
    verdict,
)

MUG = ObjectTag(number=100, size=0.06, position=(0.0, 0.0, 0.08))
SCENE = Scene((ObjectState("mug", "mug", Pose()),))


def good():
    image = table()
    put_tag(image, MUG, Pose.planar(0.4, 0.0))
    return noisy(image)


def estimated(image):
    return SceneEstimator(CAMERA, SCENE, tags={"mug": (MUG,)}).estimate(image)


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda image: (image * 0.1).astype(np.uint8), "dark"),
        (lambda image: np.clip(image * 3.0, 0, 255).astype(np.uint8), "overexposed"),
        (lambda image: cv2.GaussianBlur(image, (0, 0), 5.0), "blurred"),
        (lambda image: np.full_like(image, 120), "one plain colour"),
        (lambda image: image[:240, :320].copy(), "320x240 pixels"),
    ],
)
def test_a_bad_picture_is_told_and_nothing_is_seen_in_it(spoil, told):
    assert estimated(good()).certain()
    estimate = estimated(spoil(good()))
    assert told in estimate.problems[0]
    assert estimate["mug"].pose is None
    assert not estimate.certain()
    assert estimate.scene.names == ()


@pytest.mark.parametrize("image", [np.zeros((480, 640), np.uint8), np.zeros((480, 640, 3))])
def test_what_is_no_rgb_picture_is_refused(image):
    with pytest.raises(ValueError, match="expected uint8 of the shape"):
        estimated(image)


@dataclass(frozen=True)
class Beyond:
    """The mug is beyond a line."""

    line: float

    def satisfied(self, scene: Scene) -> bool:
        return scene["mug"].pose.position[0] > self.line


def test_a_goal_is_certain_unless_the_error_could_change_the_answer():
    found = ObjectEstimate("mug", "mug", Pose.planar(0.4, 0.0), 0.002, 0.01)
    estimate = SceneEstimate((found,))
    sure = [verdict(Beyond(line), estimate, ["mug"]) for line in (0.38, 0.42)]
    assert [(v.success, v.certain) for v in sure] == [(True, True), (False, True)]
    near = verdict(Beyond(0.395), estimate, ["mug"])
    assert near.success and not near.certain and "near the limit" in near.doubts[0]


def test_a_goal_of_something_unseen_is_left_to_a_person():
    unseen = ObjectEstimate("mug", "mug", None, math.nan, math.nan, 1, ("it is not seen",))
    said = verdict(Beyond(0.4), SceneEstimate((unseen,)), ["mug"])
    assert said.success is None and said.doubts == ("mug: it is not seen",)
    with pytest.raises(KeyError, match="no object 'cup'"):
        verdict(Beyond(0.4), SceneEstimate((unseen,)), ["cup"])


CONTENT = {
    "frame_id": "world",
    "child_frame_id": "camera",
    "position": list(CAMERA.pose.position),
    "orientation_xyzw": list(CAMERA.pose.orientation),
    "position_error": 0.001,
    "orientation_error": 0.002,
    "width": 640,
    "height": 480,
    "k": LENS.matrix.ravel().tolist(),
    "d": [0.0] * 5,
}


def written(tmp_path, **changes):
    content = {key: value for key, value in (CONTENT | changes).items() if value is not None}
    (tmp_path / "camera.yaml").write_text(yaml.safe_dump(content))
    return tmp_path / "camera.yaml"


def test_a_calibration_is_read(tmp_path):
    camera = load_camera(written(tmp_path))
    assert camera.pose == CAMERA.pose and camera.position_error == 0.001
    points = np.array(((0.4, 0.1, 0.02), (0.3, -0.1, 0.02)))
    np.testing.assert_allclose(camera.on_plane(camera.project(points), 0.02), points[:, :2], atol=1e-9)
    above = camera.on_plane([(320.0, -4000.0)], 0.0)
    assert np.isnan(above).all()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"position": [0.0, math.nan, 1.0]}, "`position`"),
        ({"position": None}, "`position`: got 'nothing'"),
        ({"orientation_xyzw": [0.0, 0.0, 0.0, 2.0]}, "a quaternion x, y, z, w of length 1"),
        ({"position_error": -1.0}, "`position_error`: got -1.0"),
        ({"frame_id": 3}, "`frame_id`"),
        ({"k": None}, "`k`: got 'nothing', expected the camera's matrix"),
        ({"width": 0}, "`width`: got 0"),
    ],
)
def test_a_wrong_calibration_is_refused_in_one_line(tmp_path, changes, told):
    with pytest.raises(ConfigurationError) as refused:
        load_camera(written(tmp_path, **changes))
    assert told in str(refused.value) and "camera.yaml" in str(refused.value)
    assert "\n" not in str(refused.value)
