"""The camera that the console shows: its files, and the table that is read in its pictures."""

from __future__ import annotations

import numpy as np
import pytest
import yaml
from language_table_instances import EIGHT
from perceived_scenes import CAMERA, LENS, noisy, put_tag, table
from tabletop_scenes import scene, tabletop

from robocontrast_ros.configuration import ConfigurationError, dump_record
from robocontrast_ros.console.new_instances import NotRecorded
from robocontrast_ros.domain import ObjectState, Pose, Scene
from robocontrast_ros.images.rendering import Camera
from robocontrast_ros.perception import ObjectTag
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.worlds.backends import BackendFeatures
from robocontrast_ros.worlds.camera_files import load_camera_files
from robocontrast_ros.worlds.console_camera import TableReader, console_camera, how_known
from robocontrast_ros.worlds.table_camera import TableCamera

TASK = tabletop()
TAGS = {
    name: (ObjectTag(number=100 + k, size=0.05, position=(0.0, 0.0, 0.0)),)
    for k, name in enumerate(("red_cube", "blue_cube"))
}
START = scene(red_cube=(0.42, 0.12), blue_cube=(0.5, -0.08))
BOARD = Camera("board", 640, 480)
BLOCKS = {"red_moon": (0.35, -0.1, 0.3), "blue_cube": (0.42, 0.12, 0.2)}
ON_BOARD = Scene(tuple(ObjectState(name, name, Pose.planar(*at)) for name, at in BLOCKS.items()))
UNSEEN = BackendFeatures(person=True, console=True)
SEEN = BackendFeatures(person=True, console=True, camera=True)
PRACTISED = BackendFeatures(person=True, console=True, camera=True, embedded=True)


@pytest.fixture(scope="module")
def robot():
    return load_profile("ur5e")


@pytest.fixture
def calibration(tmp_path):
    pose = CAMERA.pose
    content = {
        "frame_id": "world",
        "position": list(map(float, pose.position)),
        "orientation_xyzw": list(map(float, pose.orientation)),
        "width": 640,
        "height": 480,
        "k": LENS.matrix.ravel().tolist(),
        "d": [0.0] * 5,
    }
    (tmp_path / "camera.yaml").write_text(yaml.safe_dump(content))
    return tmp_path / "camera.yaml"


@pytest.fixture
def tags_file(tmp_path):
    content = {"tags": {name: [dump_record(tag)] for name, (tag,) in TAGS.items()}}
    (tmp_path / "tags.yaml").write_text(yaml.safe_dump(content))
    return tmp_path / "tags.yaml"


class Pictures:
    """A camera whose next picture is what a test says."""

    def __init__(self, image, silence=""):
        self.image, self.silence = image, silence

    def picture(self):
        return self.image

    def next_picture(self, timeout):
        return self.image


def seen(things):
    image = table()
    for item in things:
        put_tag(image, TAGS[item.name][0], item.pose)
    return noisy(image)


def reader(image, silence=""):
    pictures = Pictures(image, silence)
    return TableReader(pictures, TableCamera(TASK, CAMERA, TAGS)), pictures


def test_the_files_of_a_camera_are_loaded_and_no_fixed_tag_has_the_number_of_another(calibration, tags_file, tmp_path):
    (tmp_path / "fixed.yaml").write_text("tags: [{number: 101, size: 0.05, position: [0.3, 0.2, 0.0]}]")
    files = {"calibration": calibration, "tags": tags_file}
    calibrated, tags, fixed = load_camera_files(files, TASK, SEEN, "session.yaml")
    assert calibrated.intrinsics.width == 640 and tags == TAGS and fixed == ()
    files["fixed_tags"] = tmp_path / "fixed.yaml"
    with pytest.raises(ConfigurationError, match=r"fixed.yaml: `tags.0.number`: .* a tag on 'blue_cube'"):
        load_camera_files(files, TASK, SEEN, "session.yaml")
    del files["tags"]
    # The blocks of this task have no tags.
    calibrated, tags, (tag,) = load_camera_files(files, EIGHT, SEEN, "session.yaml")
    assert tags is None and tag.number == 101


def test_in_practice_the_table_is_read_with_the_calibration_of_the_simulator(robot):
    wanted, camera = console_camera(BOARD, {}, robot, EIGHT, PRACTISED, "session.yaml")
    try:
        reading = camera.read(wanted.draw(ON_BOARD), ON_BOARD)
    finally:
        wanted.close()
    assert not reading.unsure, reading.unsure
    for item in ON_BOARD:
        assert reading.scene[item.name].pose.distance_to(item.pose) < 0.003


def test_a_real_table_is_read_with_its_own_calibration_and_tags(robot, calibration, tags_file):
    files = {"calibration": calibration, "tags": tags_file}
    wanted, camera = console_camera(BOARD, files, robot, TASK, SEEN, "session.yaml")
    wanted.close()
    reading = camera.read(seen(START), START)
    assert not reading.unsure, reading.unsure
    for item in START:
        assert reading.scene[item.name].pose.distance_to(item.pose) < 0.005


def test_where_no_camera_reads_the_table_scenes_are_drawn_as_it_sees_them_if_it_was_calibrated(robot, calibration):
    assert console_camera(BOARD, {}, robot, EIGHT, UNSEEN, "session.yaml") == (None, None)
    assert console_camera(None, {"calibration": calibration}, robot, EIGHT, UNSEEN, "session.yaml") == (None, None)
    wanted, camera = console_camera(BOARD, {"calibration": calibration}, robot, EIGHT, UNSEEN, "session.yaml")
    wanted.close()
    assert camera is None


@pytest.mark.parametrize(
    ("camera", "features", "words"),
    [(None, PRACTISED, "`cameras`: got 'none'"), (BOARD, SEEN, "`operator.calibration`: got 'nothing'")],
)
def test_a_session_whose_table_no_camera_can_read_is_refused_in_one_line(robot, camera, features, words):
    with pytest.raises(ConfigurationError, match=f"session.yaml: {words}") as refused:
        console_camera(camera, {}, robot, EIGHT, features, "session.yaml")
    assert "\n" not in str(refused.value)


def test_without_a_picture_nothing_is_sure_and_why_is_said():
    silent, pictures = reader(None, "No picture comes from camera 'top'.")
    assert silent.read(START).unsure == dict.fromkeys(START.names, "No picture comes from camera 'top'.")
    pictures.silence = ""
    assert silent.read(START).unsure == dict.fromkeys(START.names, "No new picture came.")
    pictures.image = seen(START)
    assert silent.read(START).unsure == {}


def test_a_scene_is_recorded_where_the_camera_was_sure_of_it_and_doubts_of_before_do_not_count():
    camera, pictures = reader(seen([START["red_cube"]]))

    def told():
        return camera.read(START).scene

    with pytest.raises(NotRecorded, match="the camera cannot tell where everything stands: blue cube: "):
        camera.standing(told)
    pictures.image = seen(START)
    assert camera.standing(told).names == START.names
    pictures.image = None
    camera.read(START)
    assert camera.standing(lambda: START) == START, "nothing was read meanwhile"


def test_what_is_wrong_with_the_camera_is_told_and_a_silent_one_first():
    dark = np.zeros((480, 640, 3), np.uint8)
    camera, pictures = reader(dark)
    assert "Switch a light on." in camera.problems()[0]
    assert TableReader(pictures, None).problems() == ()
    pictures.silence = "No picture comes from camera 'top'."
    assert camera.problems() == TableReader(pictures, None).problems() == (pictures.silence,)
    pictures.image, pictures.silence = seen(START), ""
    assert camera.problems() == ()
    assert TableReader(None, None).problems() == ()


def test_the_person_is_told_how_the_scene_is_known():
    assert how_known(SEEN) == how_known(PRACTISED) == "as the camera sees it"
    assert how_known(UNSEEN) == "as it was set up last, for nothing sees it"
    assert how_known(BackendFeatures(embedded=True, streams=True)) == "as it is in the simulator"
