"""The simulator's camera topics: images and intrinsics; images are drawn when nothing else waits for the simulator."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from sensor_msgs.msg import CameraInfo, Image

from robocontrast_ros.nodes.conversions.driver import array_to_image
from robocontrast_ros.nodes.conversions.simulation import camera_info_to_msg
from robocontrast_ros.nodes.runtime.intra_process import HandingPublisher
from robocontrast_ros.nodes.runtime.qos import RECORDED, recorded
from robocontrast_ros.worlds.mujoco.world import World
from robocontrast_ros.worlds.timing import Periodic

DRAWING_DELAY = 0.0005
"""Time for which the images of a control step wait for a request of the entities' states [s].

Drawing takes longer than anything else in a control step; meanwhile the scene can be scored. The delay does not change
the time of any image, because every request that can move the world has the images drawn first.
"""


class CameraPublishers:
    """Draws and publishes the images of a world's cameras.

    Attributes:
        thread: an executor of one thread that draws, if several threads step the world; None: the caller draws, later.
    """

    thread: ThreadPoolExecutor | None = None

    def __init__(self, node: Node, world: World, period: float, now: Callable[[], int]) -> None:
        """Make the publishers.

        Args:
            node: the node of the publishers.
            world: the world of the cameras.
            period: least time between two images [s]; 0 for images on request only.
            now: returns the time of the world's present state, for stamps [ns].
        """
        self._world, self._now = world, now
        interfaces = {camera.name: camera for camera in world.profile.cameras}
        self._cameras = [
            (
                interface := interfaces[camera.name],
                HandingPublisher(node, CameraInfo, interface.info_topic, RECORDED),
                HandingPublisher(node, Image, interface.image_topic, recorded(3 * camera.width * camera.height)),
            )
            for camera in world.cameras
        ]
        self._schedule = Periodic(period)
        self._due = False
        self._drawing: Future[None] | None = None
        self._timer = node.create_timer(DRAWING_DELAY, self.draw_due, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self._timer.cancel()

    def time_passed(self) -> None:
        """Check whether images of the present time are due; a drawing thread begins at once."""
        self._due = self._schedule.due(self._now())
        if self._due and self.thread is not None:
            self._begin()

    def draw_soon(self) -> None:
        """Draw the images that are due, after the delay."""
        if self._due:
            self._timer.reset()

    def draw_due(self) -> None:
        """Draw the images that are due, now; the world must not change before."""
        self._timer.cancel()
        if self._due:
            self._begin()
        self._finish()

    def draw(self) -> int:
        """Publish an image of each camera, stamped with the present time; return their number."""
        self._begin()
        self._finish()
        return len(self._cameras)

    def _begin(self) -> None:
        self._due = False
        now = self._now()
        self._schedule.done(now)
        if self.thread is None:
            self._publish_infos(now)
            self._publish_images(now)
            return
        begun = threading.Event()
        self._drawing = self.thread.submit(self._publish_images, now, begun.set)
        # A control step lasts as long as drawing does, so the thread that draws has the interpreter first.
        begun.wait()
        self._publish_infos(now)

    def _finish(self) -> None:
        drawing, self._drawing = self._drawing, None
        if drawing is not None:
            drawing.result()

    def _publish_infos(self, now: int) -> None:
        for camera, infos, _ in self._cameras:
            infos.publish(camera_info_to_msg(self._world.cameras.info(camera.name), camera.frame_id, now))

    def _publish_images(self, now: int, begun: Callable[[], None] = lambda: None) -> None:
        """Draw and publish the images of a time; ``begun`` is called once OpenGL draws, or has failed."""
        try:
            for camera, _, images in self._cameras:
                pixels = self._world.cameras.render(camera.name, begun)
                images.publish(array_to_image(pixels, camera.frame_id, now))
        finally:
            begun()

    def reset(self) -> None:
        """Have images drawn at the next time, whatever that is."""
        self._schedule.done(None)
