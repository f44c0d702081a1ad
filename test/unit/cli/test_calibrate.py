"""`robocontrast print-tags` and `robocontrast calibrate` as their user meets them."""

from __future__ import annotations

import math

import numpy as np
import pytest
import yaml
from board_images import LENS, looking_at, photograph
from perceived_scenes import put_tag
from PIL import Image
from typer.testing import CliRunner

from robocontrast_ros.cli.main import app
from robocontrast_ros.configuration import ConfigurationError, load_configured, read_yaml, resolve_uri
from robocontrast_ros.domain import Pose
from robocontrast_ros.images.boards import Board
from robocontrast_ros.objects import SHIPPED, load_library
from robocontrast_ros.perception import CalibratedCamera, ObjectTag
from robocontrast_ros.perception.plates import tags_for
from robocontrast_ros.perception.tag_pages import tag_pages
from robocontrast_ros.perception.tags import TagReader
from robocontrast_ros.sessions.resolving import resolve
from robocontrast_ros.worlds.camera_files import load_camera_files
from robocontrast_ros.worlds.table_camera import load_fixed_tags, load_tags, standard_tags

BOARD = Board()
CAMERA = looking_at((0.1, -0.2, 0.5), (BOARD.size[0] / 2.0, BOARD.size[1] / 2.0, 0.0))
INFO = {
    "width": LENS.width,
    "height": LENS.height,
    "distortion_model": "plumb_bob",
    "d": [0.0] * 5,
    "k": LENS.matrix.ravel().tolist(),
}


def run(*words: object):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def place(tmp_path):
    """Return a folder with two pictures of the board and the camera's intrinsics."""
    show(BOARD, tmp_path)
    # As `ros2 topic echo --once` ends it.
    (tmp_path / "info.yaml").write_text(yaml.safe_dump(INFO) + "---\n")
    return tmp_path


def show(board, place):
    """Take two pictures of a board."""
    for number in range(2):
        Image.fromarray(photograph(board, CAMERA, blur=0.5, noise=3.0, seed=number)).save(place / f"{number}.png")


def calibrate(place, *words: object):
    pictures = [place / "0.png", place / "1.png"]
    return run("calibrate", *pictures, "--info", place / "info.yaml", "--to", place / "camera.yaml", *words)


def test_a_camera_is_found_and_written_with_its_error(place):
    done = calibrate(place)
    assert done.exit_code == 0, done.output
    written = yaml.safe_load((place / "camera.yaml").read_text())
    found = Pose(tuple(written["position"]), tuple(written["orientation_xyzw"]))
    assert found.distance_to(CAMERA) < 0.002
    assert 0.0 < written["position_error"] < 0.001 and written["images"] == 2
    assert "static_transform_publisher" in done.output and "mm apart at most" in done.output


def lay(place, *tags):
    """Have tags lie on the table, or stand on it, in all pictures."""
    for number in range(2):
        file = place / f"{number}.png"
        image = np.array(Image.open(file))
        for tag, pose in tags:
            put_tag(image, tag, pose, CalibratedCamera(LENS, CAMERA))
        Image.fromarray(image).save(file)


def tag(number, tilt=0.0, **options):
    """Return a tag on the table that is tilted about its own x axis [rad]."""
    turn = (math.sin(tilt / 2.0), 0.0, 0.0, math.cos(tilt / 2.0))
    return ObjectTag(number=number, size=0.03, position=(0.0, 0.0, 0.0), orientation=turn, **options)


@pytest.mark.parametrize("family", ["apriltag_36h11", "aruco_6x6_1000"])
def test_tags_that_lie_beside_the_board_are_written_as_a_session_takes_them(place, family):
    (place / "board.yaml").write_text(f"family: {family}\n")
    show(Board(family=family), place)
    first, second = (tag(number, family=family) for number in (500, 501))
    lay(place, (first, Pose.planar(-0.05, 0.05, 0.7)), (second, Pose.planar(0.22, 0.12, -2.0)))
    words = ["--fixed-tags", place / "fixed.yaml", "--board", place / "board.yaml"]
    done = calibrate(place, *words, "--at", 0.3, -0.1, 0.0, math.pi / 2)
    assert done.exit_code == 0 and "tag 500: " in done.output, done.output
    first, second = load_fixed_tags(place / "fixed.yaml", {})
    # The board's lower left corner is at (0.3, -0.1), and its lower edge points along y.
    for found, number, (x, y), yaw in ((first, 500, (0.25, -0.15), 2.27), (second, 501, (0.18, 0.12), -0.43)):
        assert (found.number, found.family) == (number, family) and found.size == pytest.approx(0.03, abs=0.001)
        assert found.position == pytest.approx((x, y, 0.0), abs=0.001)
        off = Pose((0.0, 0.0, 0.0), found.orientation).yaw - yaw
        assert abs(math.remainder(off, math.tau)) < 0.03


@pytest.mark.parametrize(
    ("tags", "words"),
    [
        ([], "no tag but the board's is seen"),
        ([(tag(500, 0.5), Pose.planar(-0.05, 0.05))], "tag 500 does not lie flat"),
        ([(tag(500), Pose.planar(-0.05, 0.05)), (tag(500), Pose.planar(0.22, 0.12))], "tag 500 is there twice"),
    ],
)
def test_tags_of_which_it_is_not_clear_where_they_lie_are_refused_in_one_line(place, tags, words):
    lay(place, *tags)
    done = calibrate(place, "--fixed-tags", place / "fixed.yaml")
    assert done.exit_code == 2 and words in " ".join(done.output.split()) and "Traceback" not in done.output
    assert not (place / "camera.yaml").exists() and not (place / "fixed.yaml").exists()


def test_a_file_of_camera_calibration_does_as_well(place):
    matrix = {"rows": 3, "cols": 3, "data": INFO["k"]}
    distortion = {"rows": 1, "cols": 5, "data": INFO["d"]}
    content = {"image_width": LENS.width, "image_height": LENS.height, "camera_matrix": matrix}
    (place / "info.yaml").write_text(yaml.safe_dump(content | {"distortion_coefficients": distortion}))
    assert calibrate(place).exit_code == 0
    # A rectified or simulated camera has no model.
    (place / "info.yaml").write_text(yaml.safe_dump(INFO | {"distortion_model": "", "d": []}))
    assert calibrate(place).exit_code == 0


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"width": 400}, "640x480 pixels"),
        ({"k": [0.0] * 9, "distortion_model": "", "d": []}, "run camera_calibration first"),
        ({"k": [300.0, 0.0, 320.0, 0.0, 900.0, 240.0, 0.0, 0.0, 1.0]}, "pixels between where corners are seen"),
        ({"d": ["a"]}, "0 or 4 or 5 or 8 numbers"),
        ({"distortion_model": "equidistant"}, "rectified images"),
    ],
)
def test_intrinsics_that_do_not_fit_are_refused_in_one_line(place, wrong, words):
    (place / "info.yaml").write_text(yaml.safe_dump(INFO | wrong))
    done = calibrate(place)
    assert done.exit_code == 2 and words in done.output and "Traceback" not in done.output
    assert not (place / "camera.yaml").exists()


def test_a_picture_without_the_board_is_named(place):
    Image.new("RGB", (640, 480), "grey").save(place / "1.png")
    done = calibrate(place)
    assert done.exit_code == 2 and "1.png" in done.output and "0 of 24 corners" in done.output


def test_the_board_is_printed_in_its_true_size(tmp_path):
    (tmp_path / "board.yaml").write_text("columns: 4\nrows: 5\nsquare: 0.03\ntag: 0.02\n")
    done = run("print-tags", "--board", tmp_path / "board.yaml", "--to", tmp_path / "board.png")
    assert done.exit_code == 0 and "120 x 150 mm" in done.output
    page = Image.open(tmp_path / "board.png")
    assert page.info["dpi"] == pytest.approx((300, 300), abs=0.5)
    assert page.width / 300 * 25.4 == pytest.approx(140.0, abs=0.2)
    done = run("print-tags", "--to", tmp_path / "board.pdf")
    assert done.exit_code == 0 and (tmp_path / "board.pdf").read_bytes().startswith(b"%PDF")


def test_a_board_without_white_borders_is_refused(tmp_path):
    (tmp_path / "board.yaml").write_text("square: 0.03\ntag: 0.03\n")
    done = run("print-tags", "--board", tmp_path / "board.yaml", "--to", tmp_path / "board.pdf")
    assert done.exit_code == 2 and "white border" in done.output


MM = 300 / 25.4
"""Pixels of a millimetre of a page."""


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """Print the tags of a task with three objects; return the task and the folder."""
    folder = tmp_path_factory.mktemp("printed")
    content = read_yaml(resolve_uri("package://robocontrast_ros/config/tasks/tabletop.yaml"))
    content["objects"] = ["banana", "lemon", "red_mug"]
    content["sampling"]["objects"] = [2, 3]
    (folder / "few.yaml").write_text(yaml.safe_dump(content))
    done = run("print-tags", "--objects", folder / "few.yaml", "--to", folder / "tags.png")
    assert done.exit_code == 0, done.output
    assert "5 tags for 3 objects" in done.output
    page = Image.open(folder / "tags.png")
    assert page.info["dpi"] == pytest.approx((300, 300), abs=0.5)
    assert np.array(page.size) / MM == pytest.approx((210, 297), abs=0.1)
    return load_configured("tasks", folder / "few.yaml"), folder


@pytest.mark.parametrize("family", ["apriltag_36h11", "aruco_4x4_50"])
def test_printed_tags_are_read_at_their_true_size_with_their_x_axis_to_the_right(family):
    models = load_library(f"{SHIPPED}/{name}.yaml" for name in ("banana", "lemon", "mug", "plate", "stapler"))
    tags = tags_for(models.values(), family=family)
    pages = [
        np.array(page.convert("L")) for page in tag_pages([(name, models[name], own) for name, own in tags.items()], {})
    ]
    assert len(pages) > 1
    found = {}
    for page in pages:
        found |= TagReader(family).read(page).corners
        ruler = np.flatnonzero(page[round(266.2 * MM), : round(112 * MM)] < 50)
        assert (ruler[-1] - ruler[0] + 1) / MM == pytest.approx(100.0, abs=0.1)
    assert found.keys() == {tag.number for own in tags.values() for tag in own}
    for tag in (tag for own in tags.values() for tag in own):
        left_top, right_top, right_bottom, _ = found[tag.number] / MM / 1e3
        assert right_top - left_top == pytest.approx((tag.size, 0.0), abs=0.0002)
        assert right_bottom - right_top == pytest.approx((0.0, tag.size), abs=0.0002)


def test_the_file_beside_the_printed_tags_has_the_tags_of_the_task(printed):
    task, folder = printed
    assert load_tags(folder / "tags.yaml", task) == standard_tags(task.scenes.models.values())
    done = run("print-tags", "--objects", folder / "few.yaml", "--family", "aruco_4x4_50", "--to", folder / "aruco.pdf")
    assert done.exit_code == 0, done.output
    markers = load_tags(folder / "aruco.yaml", task)
    assert markers == standard_tags(task.scenes.models.values(), "aruco_4x4_50")
    assert {marker.family for own in markers.values() for marker in own} == {"aruco_4x4_50"}


def test_a_file_of_tags_that_somebody_may_have_edited_is_not_written_over(printed):
    _, folder = printed
    before = (folder / "few.yaml").read_bytes()
    done = run("print-tags", "--objects", folder / "few.yaml", "--to", folder / "few.pdf")
    said = " ".join(done.output.split()).replace(f"{folder}/", "")
    assert done.exit_code == 2 and "few.yaml does not exist yet" in said
    assert (folder / "few.yaml").read_bytes() == before and not (folder / "few.pdf").exists()


def test_a_file_of_tags_with_a_number_twice_or_an_object_of_another_task_is_refused(printed):
    task, folder = printed
    content = yaml.safe_load((folder / "tags.yaml").read_text())
    content["tags"]["lemon"] = content["tags"]["banana"]
    with pytest.raises(ConfigurationError, match=r"each number on one tag; 10\d is there twice"):
        load_tags(written(folder, content))
    content["tags"] = {"bananna": content["tags"]["banana"]}
    with pytest.raises(ConfigurationError, match="Did you mean 'banana'"):
        load_tags(written(folder, content), task)


def written(folder, content):
    (folder / "edited.yaml").write_text(yaml.safe_dump(content))
    return folder / "edited.yaml"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--objects", "tabeltop"], "Did you mean 'tabletop'"),
        (["--objects", "language_table"], "by colour and outline"),
        (["--objects", "tabletop", "--board", "board.yaml"], "nothing, if --objects is given"),
        (["--objects", "tabletop", "--to", "tags.docx"], "a .pdf or .png file"),
        (["--objects", "tabletop", "--family", "aruco_4x4_50"], "the objects need 186 tags, and ArUco 4x4_50 has 50"),
        (["--objects", "tabletop", "--family", "aruco_5x5"], "Did you mean 'aruco_5x5_50'"),
        (["--family", "aruco_5x5_250"], "Write `family: aruco_5x5_250` into a file for --board"),
    ],
)
def test_what_cannot_be_printed_is_refused_in_one_line(arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run("print-tags", *arguments)
    assert done.exit_code == 2 and words in " ".join(done.output.split()) and "Traceback" not in done.output
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("operator", "words"),
    [
        ({}, "session.yaml: `operator.calibration`: got 'nothing'"),
        ({"calibration": "camera.yaml"}, "camera.yaml: `position`: got .0.0.+robocontrast calibrate"),
        ({"calibration": "elsewhere.yaml"}, "session.yaml: `operator.calibration`: got .+elsewhere.yaml.+calibrate"),
        ({"tags": "tags.yaml"}, "tags.yaml: `tags.bannana`: .+Did you mean 'banana'"),
    ],
)
def test_a_session_whose_camera_could_not_be_used_is_refused_before_it_starts(operator, words, tmp_path):
    (tmp_path / "camera.yaml").write_text("frame_id: world\nposition: [0.0]\n")
    (tmp_path / "tags.yaml").write_text("tags: {bannana: [{number: 1, size: 0.04, position: [0.0, 0.0, 0.04]}]}\n")
    session = {
        "name": "mine",
        "seed": 1,
        "task": "tabletop",
        "robot": "franka_hand_real",
        "policy": "random",
        "strategy": {"name": "standard"},
        "test_set": {"size": 1},
        "cameras": [{"name": "top", "width": 640, "height": 480}],
        "world": {"backend": "operator_camera", "pacing": "wall_clock", "judge": "camera"},
        "operator": operator,
    }
    (tmp_path / "session.yaml").write_text(yaml.safe_dump(session))
    found = resolve(tmp_path / "session.yaml")
    with pytest.raises(ConfigurationError, match=words):
        load_camera_files(found.console_files(), found.task, found.world.features, str(found.source))


def test_a_calibration_that_a_session_only_draws_with_is_checked_before_it_starts_too(tmp_path):
    session = {
        "name": "mine",
        "seed": 1,
        "task": "language_table",
        "robot": "ur5e_real",
        "policy": "random",
        "strategy": {"name": "standard"},
        "test_set": {"size": 1},
        "world": {"backend": "operator", "pacing": "wall_clock", "judge": "person"},
        "operator": {"calibration": "camera.yaml"},
        "output": str(tmp_path / "runs"),
    }
    (tmp_path / "session.yaml").write_text(yaml.safe_dump(session))
    (tmp_path / "camera.yaml").write_text("frame_id: world\nposition: [0.0]\n")
    for arguments, words in (
        ([], "camera.yaml: `position`: got [0.0]"),
        (["--practice", "--set", "world.backend=operator_camera", "--set", "operator.tags=no.yaml"], "`operator.tags`"),
    ):
        done = run("evaluate", str(tmp_path / "session.yaml"), *arguments)
        assert done.exit_code == 2 and words in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "runs").exists()
