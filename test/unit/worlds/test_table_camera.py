"""What the camera above a table says of trials, and what it leaves to the person."""

from __future__ import annotations

import cv2
import pytest
from perceived_scenes import CAMERA, noisy, put_tag, table
from tabletop_scenes import asked, scene, tabletop

from robocontrast_ros.domain import Judgement, Pose, TestInstance
from robocontrast_ros.episodes.judging import Camera, may_have_dropped
from robocontrast_ros.perception import ObjectTag
from robocontrast_ros.worlds.table_camera import TableCamera

TASK = tabletop()
TAGS = {
    "red_cube": (ObjectTag(number=100, size=0.035, position=(0.0, 0.0, 0.044)),),
    "blue_cube": (ObjectTag(number=101, size=0.035, position=(0.06, 0.0, 0.0)),),
    "white_plate": (ObjectTag(number=102, size=0.035, position=(0.0, 0.13, 0.0)),),
}
START = scene(red_cube=(0.42, 0.12), blue_cube=(0.36, -0.08), white_plate=(0.5, -0.06))
ON_CUBE, ON_PLATE = Pose.planar(0.36, -0.08, 0.4, 0.044), Pose.planar(0.5, -0.06, 0.4, 0.006)
BESIDE, AWAY, IN_THE_HAND = Pose.planar(0.36, 0.0), Pose.planar(0.5, 0.12), Pose.planar(0.42, 0.0, 0.0, 0.12)


def left(pose, hidden=()):
    """Return a table camera that saw the red cube at a pose when a trial had ended, and what it read."""
    image, camera = table(), TableCamera(TASK, CAMERA, TAGS)
    for name, (tag,) in TAGS.items():
        if name not in hidden:
            put_tag(image, tag, pose if name == "red_cube" else START[name].pose)
    return camera, camera.read(noisy(cv2.GaussianBlur(image, (0, 0), 0.5)), START)


def judged(family, reference, pose, hidden=()):
    """Return what the camera says, and whether the trial then counts as a success where nobody is asked."""
    camera, reading = left(pose, hidden)
    instruction = asked(family, "red_cube", reference)
    said = camera.verdict(TASK.goals.goal(instruction, START), instruction)
    judging = Camera().begin(TASK, TestInstance("x", "tabletop", instruction, START), START)
    judging.update(reading.scene)
    return said, judging


@pytest.mark.parametrize("pose", [START["red_cube"].pose, AWAY, ON_CUBE, IN_THE_HAND], ids=str)
def test_a_camera_never_decides_whether_something_was_picked(pose):
    said, judging = judged("pick", "", pose)
    assert not said.certain
    assert "A picture of the end does not show whether the robot lifted it." in said.doubts
    judging.tell(Judgement(True, 1.0, by="Ada"))
    assert judging.success(False)


@pytest.mark.parametrize(
    ("family", "reference", "pose"),
    [("stack", "blue_cube", ON_CUBE), ("put_on", "white_plate", ON_PLATE)],
)
def test_what_stands_where_only_a_lift_brings_it_is_a_success_that_nobody_is_asked_about(family, reference, pose):
    said, judging = judged(family, reference, pose)
    assert said.success and said.certain, said.doubts
    assert judging.success(False) and judging.progress == 1.0
    for elsewhere in (START["red_cube"].pose, BESIDE, AWAY):
        said, judging = judged(family, reference, elsewhere)
        assert not said.success and said.certain, said.doubts
        assert not judging.success(False) and judging.progress == 0.0


def test_what_may_have_been_pushed_near_is_left_to_the_person():
    said, _ = judged("move_near", "blue_cube", BESIDE)
    assert said.success
    assert said.doubts == ("A picture of the end does not show whether the robot lifted it or pushed it.",)
    said, judging = judged("move_near", "blue_cube", AWAY)
    assert said.certain and not said.success and not judging.success(False)


def test_what_the_hand_still_holds_or_hides_is_left_to_the_person():
    said, _ = judged("stack", "blue_cube", IN_THE_HAND)
    assert "above or below what it can stand on" in said.doubts[0]
    said, _ = judged("stack", "blue_cube", ON_CUBE, hidden=("red_cube",))
    assert said.success is None and "is not seen" in said.doubts[0]


@pytest.mark.parametrize(("closed", "dropped"), [(float("nan"), False), (0.0, False), (0.4, True)])
def test_what_a_closed_hand_may_have_dropped_at_the_goal_is_no_answer_of_the_cameras(closed, dropped):
    assert may_have_dropped(closed) is dropped
