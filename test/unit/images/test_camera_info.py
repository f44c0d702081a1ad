"""Intrinsics in every form in which ROS's tools write them, and those that are refused with the cure."""

from __future__ import annotations

import pytest

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.images.camera_info import read_intrinsics

K = "[600.0, 0.0, 320.0, 0.0, 610.0, 240.0, 0.0, 0.0, 1.0]"
ECHO = f"""header:
  stamp: {{sec: 1, nanosec: 0}}
  frame_id: usb_cam
height: 480
width: 640
distortion_model: plumb_bob
d: [-0.1, 0.02, 0.0005, -0.002, 0.0]
k: {K}
r: [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]
p: [590.0, 0.0, 321.0, 0.0, 0.0, 600.0, 241.0, 0.0, 0.0, 0.0, 1.0, 0.0]
binning_x: 0
binning_y: 0
roi: {{x_offset: 0, y_offset: 0, height: 0, width: 0, do_rectify: false}}
---
"""
WRITTEN = """image_width: 640
image_height: 480
camera_name: mine
camera_matrix:
  rows: 3
  cols: 3
  data: [600., 0, 320, 0, 610, 240, 0, 0, 1]
distortion_model: plumb_bob
distortion_coefficients:
  rows: 1
  cols: 5
  data: [-0.1, 0.02, 5e-04, -2e-3, 0]
"""
COEFFICIENTS = [-0.1, 0.02, 0.0005, -0.002, 0.0]


@pytest.fixture
def read(tmp_path):
    def read(text):
        (tmp_path / "info.yaml").write_bytes(text.encode())
        return read_intrinsics(tmp_path / "info.yaml")

    return read


def echo(*changes):
    """Return what is echoed with some texts replaced."""
    text = ECHO
    for old, new in changes:
        assert text.count(old) == 1
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize(
    ("text", "coefficients"),
    [
        (ECHO, COEFFICIENTS),
        (ECHO + ECHO.replace("600.0", "0.0"), COEFFICIENTS),
        (ECHO.replace("d: ", "D: ").replace("k: ", "K: ").replace("r: [", "R: [").replace("p: ", "P: "), COEFFICIENTS),
        ("\ufeff%YAML 1.2\r\n---\r\n" + ECHO.replace("\n", "\r\n"), COEFFICIENTS),
        (WRITTEN, COEFFICIENTS),
        ("# of camera_calibration\n---\n" + WRITTEN, COEFFICIENTS),
        (echo(("-0.1, 0.02, 0.0005, -0.002, 0.0", "-1e-1, .02, 5.E-4, -2e-03, 0")), COEFFICIENTS),
        (echo(("k: [600.0, 0.0, 320.0", "k: [6_00.0, 0x0, 32e1")), COEFFICIENTS),
        (echo(("[-0.1, 0.02, 0.0005, -0.002, 0.0]", "[]")).split("\nr: ")[0], [0.0] * 5),
        # Of rectified and of simulated images.
        (f"height: 480\nwidth: 640\ndistortion_model: ''\nd: []\nk: {K}\n", [0.0] * 5),
        (f"height: 480\nwidth: 640\ndistortion_model:\nd: [0, 0, 0, 0, 0]\nk: {K}\n", [0.0] * 5),
        (f"height: 480\nwidth: 640\ndistortion_model: ''\nk: {K}\n", [0.0] * 5),
        (
            f"height: 480\nwidth: 640\ndistortion_model: rational_polynomial\nd: [1, 2, 0, 0, .1, 1, 2, .1]\nk: {K}\n",
            [1.0, 2.0, 0.0, 0.0, 0.1, 1.0, 2.0, 0.1],
        ),
    ],
)
def test_a_file_is_read_in_every_form_in_which_ros_writes_it(read, text, coefficients):
    found = read(text)
    assert (found.width, found.height, found.matrix.ravel().tolist()) == (640, 480, [600, 0, 320, 0, 610, 240, 0, 0, 1])
    assert found.distortion.tolist() == coefficients


@pytest.mark.parametrize(
    ("text", "words"),
    [
        # usb_cam without a calibration.
        (echo(("plumb_bob", "''"), (K, "[0.0, 0, 0, 0, 0, 0, 0, 0, 0]")), "The driver has no calibration"),
        (echo(("k: [600.0", "k: [-600.0")), "`k`.*focal lengths above 0"),
        (echo(("k: [600.0", "k: [.nan")), "`k`.*a list of 9 numbers"),
        (echo(("k: [600.0", "k: [true")), "`k`.*a list of 9 numbers"),
        (echo(("k: [600.0", "k: [10:00")), r"'10:00' \(line 8, column 5\).*expected a decimal number"),
        (echo(("600.0, 0.0, 320.0, 0.0, 610.0, 240.0, 0.0, 0.0,", "600, 0, 0, 0, 610, 0, 320, 240,")), "row by row"),
        (echo(("width: 640\n", "width: 300\n")), "principal point .* within 300x480 pixels"),
        (echo(("width: 640\n", "width: 640.5\n")), "`width`: got 640.5, expected a whole number"),
        (echo(("plumb_bob", "equidistant")), "distortion_model`.*rectified images with distortion 0"),
        (echo(("plumb_bob", "''")), "distortion_model`: got '', expected plumb_bob or rational_polynomial"),
        (echo(("-0.1, 0.02, 0.0005, -0.002, 0.0", ", ".join(["0.1"] * 14))), "`d`.*More than 8 are for thin prisms"),
        (echo(("-0.1, 0.02, 0.0005, -0.002, 0.0", "0, 0, 0, 0, 0")), "`p`.*expected the numbers of `k`"),
        (echo(("binning_x: 0", "binning_x: 2")), "`binning_x`: got 2.*publish all pixels"),
        (echo(("x_offset: 0", "x_offset: 80")), "`roi`.*'x_offset': 80.*publish all pixels"),
        (WRITTEN.replace("data: [-0.1, 0.02, 5e-04", "data: [-0.1 0.02 5e-04"), "Put commas between the numbers"),
        (WRITTEN.replace("image_height: 480\n", ""), "`height`: got 'nothing'.*camera_info` prints"),
        (
            "%YAML:1.0\n---\ncamera_matrix: !!opencv-matrix\n   rows: 3\n   cols: 3\n   dt: d\n   data: [ 600., 0. ]\n",
            "OpenCV's FileStorage.*keys width, height, distortion_model, k and d",
        ),
        ("cam0:\n  camera_model: pinhole\n  intrinsics: [600, 610, 320, 240]\n", "`width`.*ros2 topic echo"),
        ("1,0,usb_cam,480,640,plumb_bob\n", "expected the fields of a CameraInfo"),
        ("[" * 5000, "no more than 50 levels"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line_with_the_reason_and_the_cure(read, text, words):
    with pytest.raises(ConfigurationError, match=words) as refused:
        read(text)
    assert "info.yaml" in str(refused.value) and "\n" not in str(refused.value)
