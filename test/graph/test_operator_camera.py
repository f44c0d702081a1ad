"""The camera of the console: a picture that was taken before it was asked for tells nothing of what was done since."""

from __future__ import annotations

import re
import threading
import time

import pytest

rclpy = pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from rclpy.qos import qos_profile_sensor_data  # noqa: E402
from sensor_msgs.msg import Image  # noqa: E402
from session_runs import wait_until  # noqa: E402
from spinning import spun_node  # noqa: E402

from robocontrast_ros.domain import nanoseconds  # noqa: E402
from robocontrast_ros.messages.decoding import stamp_from_msg  # noqa: E402
from robocontrast_ros.nodes.conversions.domain import time_to_msg  # noqa: E402
from robocontrast_ros.nodes.operator.camera import CameraView  # noqa: E402
from robocontrast_ros.robots.profile_base import CameraInterface  # noqa: E402

INTERFACE = CameraInterface("board", "board/image_raw", "board/camera_info", "board_optical")


class Driver:
    """A camera that shows how many pictures it took, each of which it stamps so much late or early [s]."""

    def __init__(self, node, period=0.05):
        self.off, self.encoding, self._taken, self._ended = 0.0, "rgb8", 0, threading.Event()
        self._publisher = node.create_publisher(Image, INTERFACE.image_topic, qos_profile_sensor_data)
        self._thread = threading.Thread(target=self._run, args=(period,), daemon=True)
        self._thread.start()

    def _run(self, period):
        while not self._ended.wait(period):
            self._taken += 1
            image = Image(height=1, width=1, encoding=self.encoding, step=3, data=bytes([self._taken % 256] * 3))
            image.header.stamp = time_to_msg(time.time_ns() + nanoseconds(self.off))
            self._publisher.publish(image)

    def close(self):
        self._ended.set()
        self._thread.join()


def off_by(image) -> int:
    return abs(stamp_from_msg(image.header.stamp) - time.time_ns())


@pytest.fixture(scope="module")
def scene():
    with spun_node("looking") as node:
        driver = Driver(node)
        yield driver, CameraView(node, INTERFACE, node.get_clock())
        driver.close()


def test_a_picture_that_was_taken_before_it_was_asked_for_is_not_judged(scene):
    driver, view = scene
    assert view.next_picture(60.0).shape == (1, 1, 3)
    # As a driver does that needs a while for each picture.
    driver.off = -0.4
    asked = time.time_ns()
    assert view.next_picture(60.0) is not None
    assert view.stamp > asked


@pytest.mark.parametrize(("off", "when"), [(-300.0, r"30\d\.\d s ago"), (300.0, r"(29\d|300)\.\d s from now")])
def test_a_camera_with_another_clock_is_told_and_trusted_again_when_it_is_right(scene, off, when):
    driver, view = scene
    driver.off = off
    wait_until(lambda: view._message and off_by(view._message) > nanoseconds(100.0), "such a picture")
    assert view.next_picture(0.3) is None
    assert re.search(f"the newest is stamped ({when})", view.silence) and "chrony" in view.silence
    # What it shows may still be looked at.
    assert view.picture() is not None
    driver.off = 0.0
    assert view.next_picture(60.0) is not None and view.silence == ""


@pytest.mark.parametrize("encoding", ["16UC1", "nv21", ""])
def test_a_camera_whose_pictures_cannot_be_read_is_told_and_shows_something_again_when_they_can(scene, encoding):
    driver, view = scene
    driver.encoding = encoding
    wait_until(lambda: view._message and view._message.encoding == encoding, "such a picture")
    assert view.picture() is None and view.next_picture(60.0) is None
    assert f"image encoding: got '{encoding}'" in view.silence and INTERFACE.image_topic in view.silence
    driver.encoding = "rgb8"
    wait_until(lambda: view._message.encoding == "rgb8", "a picture that can be read")
    assert view.next_picture(60.0) is not None and view.silence == ""
