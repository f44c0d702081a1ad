"""A task's objects as its camera tells them: without a picture, without a tag, and what is wrong on the whole."""

from __future__ import annotations

import numpy as np
from perceived_scenes import CAMERA, put_tag, table
from tabletop_scenes import asked, scene, tabletop

from robocontrast_ros.worlds.table_camera import TableCamera, standard_tags

TASK = tabletop()
TAGS = standard_tags(TASK.scenes.models.values())
EXPECTED = scene(banana=(0.4, -0.12), red_apple=(0.45, 0.1))
NEAR = asked("move_near", "red_apple", "banana")


def camera(*without):
    return TableCamera(TASK, CAMERA, {name: own for name, own in TAGS.items() if name not in without})


def picture():
    drawn = table()
    for item in EXPECTED:
        put_tag(drawn, TAGS[item.name][0], item.pose)
    return drawn


def says(reader):
    return reader.verdict(TASK.goals.goal(NEAR, EXPECTED), NEAR)


def test_without_a_picture_nothing_is_sure_and_nothing_is_judged():
    reader = camera()
    assert reader.read(picture(), EXPECTED).unsure == {} and says(reader).certain
    reading = reader.unseen(EXPECTED, "No picture.")
    assert reading.scene == EXPECTED and reading.unsure == dict.fromkeys(EXPECTED.names, "No picture.")
    assert not says(reader).certain


def test_an_object_that_is_in_no_file_of_tags_is_unsure_and_the_person_judges_what_is_done_with_it():
    reader = camera("red_apple")
    reading = reader.read(picture(), EXPECTED)
    assert reading.scene["red_apple"] == EXPECTED["red_apple"]
    assert list(reading.unsure) == ["red_apple"] and "no tag in the file" in reading.unsure["red_apple"]
    assert says(reader).success is None


def test_what_is_wrong_with_a_picture_is_said_as_long_as_it_is_so():
    reader, dark = camera(), (picture() // 12).astype(np.uint8)
    reader.read(dark, EXPECTED)
    assert "Switch a light on" in reader.problems(dark)[0]
    assert reader.problems(picture()) == ()
