"""The world of an episode besides the robot, by the graph's topics."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence

from geometry_msgs.msg import PoseStamped
from rclpy.node import Node
from sensor_msgs.msg import CompressedImage, Image
from std_msgs.msg import Bool

from robocontrast_ros.domain import (
    Fault,
    Intervention,
    JointTracking,
    Pose,
    Progress,
    RobotState,
    Scene,
    nanoseconds,
    seconds,
)
from robocontrast_ros.episodes.bench import BenchFault
from robocontrast_ros.episodes.clocks import JUMP
from robocontrast_ros.graph.parameters.rollout import RolloutParameters
from robocontrast_ros.messages.decoding import progress_from_msg, scene_from_msg, stamp_from_msg
from robocontrast_ros.messages.images import check_image
from robocontrast_ros.messages.topics import JOINT_TRACKING, SAFETY, SHOWN, Topic
from robocontrast_ros.msg import JointTracking as JointTrackingMsg
from robocontrast_ros.msg import Observation as ObservationMsg
from robocontrast_ros.msg import Progress as ProgressMsg
from robocontrast_ros.msg import SafetyIntervention
from robocontrast_ros.msg import Scene as SceneMsg
from robocontrast_ros.nodes.conversions.domain import (
    intervention_to_msg,
    joint_tracking_to_msg,
    message_class,
    tool_pose_to_msg,
)
from robocontrast_ros.nodes.conversions.driver import decompressed, observation_to_msg
from robocontrast_ros.nodes.rollout.inbox import Inbox
from robocontrast_ros.nodes.rollout.recorder_watch import RecorderWatch
from robocontrast_ros.nodes.runtime.intra_process import HandingPublisher
from robocontrast_ros.nodes.runtime.qos import LOCKSTEP, RECORDED
from robocontrast_ros.policies.protocol import Observation
from robocontrast_ros.robots.profile_base import RobotProfile

PERSON_LIMIT = 1.0
"""Silence of `person_near`, once it was heard, after which a person counts as near [s]."""


class TopicSurroundings:
    """The ``episodes.ports.Surroundings`` of a graph.

    Attributes:
        cameras: name of a camera of the policy -> topic of its images.
        movable: names of the cameras that can be moved.
        move_cameras: moves these cameras.
    """

    def __init__(
        self,
        node: Node,
        profile: RobotProfile,
        parameters: RolloutParameters,
        inbox: Inbox,
        recorder: RecorderWatch,
        capture: Callable[[], None],
        move: Callable[[Mapping[str, Pose]], None],
        hears_people: bool = False,
    ) -> None:
        """Make the publisher and the subscriptions.

        Args:
            node: the node of these.
            profile: the robot.
            parameters: period and timeout.
            inbox: receives messages.
            recorder: counts published messages.
            capture: has images taken, if they do not come by themselves.
            move: has cameras moved.
            hears_people: whether the topic `person_near` reports that a person is near.
        """
        self._frame, self._parameters = profile.world_frame, parameters
        self._state, self._driver = profile.state.topic, profile.driver
        self._inbox, self._recorder, self._capture = inbox, recorder, capture
        self.movable, self.move_cameras = parameters.cameras, move
        self._tool_pose = HandingPublisher(node, PoseStamped, "tool_pose", RECORDED)
        self._joints: HandingPublisher | None = None
        if parameters.tracks_joints:
            self._joints = HandingPublisher(node, JointTrackingMsg, JOINT_TRACKING.name, RECORDED)
        self._shown = node.create_publisher(ObservationMsg, SHOWN.name, RECORDED)
        self._safety = node.create_publisher(SafetyIntervention, SAFETY.name, RECORDED)
        self._person_near, self._person_heard = False, math.inf
        if hears_people:
            node.create_subscription(Bool, "person_near", self._on_person, LOCKSTEP)
        self.cameras: Mapping[str, Topic] = {}
        self._frames = {camera.name: camera.frame_id for camera in profile.cameras}
        self._staleness = {camera.name: camera.staleness for camera in profile.cameras if camera.staleness is not None}
        self._sizes: dict[str, tuple[int, int]] = {}
        inbox.subscribe(ProgressMsg, "progress", driver=False)

    def need(self, cameras: Mapping[str, Topic], scene: bool) -> tuple[str, ...]:
        """Subscribe to images, by camera's name -> topic, and to the scene if it is needed; return the topics."""
        self.cameras = cameras
        for topic, kind in cameras.values():
            self._inbox.subscribe(message_class(kind), topic, driver=False)
        if scene:
            self._inbox.subscribe(SceneMsg, "scene", driver=False)
        return (*(topic for topic, _ in cameras.values()), *(("scene",) if scene else ()))

    @property
    def listeners(self) -> int:
        """Number of subscribers of the tool's pose, and of the joints, as far as they have been discovered."""
        return min(publisher.subscribers() for publisher in (self._tool_pose, self._joints) if publisher is not None)

    def located(self, state: RobotState, targets: Mapping[str, float]) -> None:
        """Publish the robot's own estimate of its pose, and its joints if a score needs them."""
        if self._joints is not None:
            joints = JointTracking.of(state, targets)
            self._joints.publish(joint_tracking_to_msg(joints, self._frame, state.stamp))
        self._tool_pose.publish(tool_pose_to_msg(state.pose, self._frame, state.stamp))
        self._recorder.step()

    def scene(self, stamp: int) -> Scene:
        """Return the ground truth of a time [ns]."""
        return scene_from_msg(self._received(("scene",), stamp)["scene"])

    def images(self, stamp: int) -> dict[str, Image]:
        """Return the policy's images of a time [ns], as received, or decoded if they are compressed."""
        self._capture()
        limit, found = self._parameters.sensor_timeout, {}
        for name, (topic, _) in self.cameras.items():
            older = self._older(name)
            try:
                received = self._inbox.wait((topic,), stamp - nanoseconds(older), limit)
            except BenchFault as fault:
                raise self._explained(name, stamp, fault) from None
            self._check_clock(name)
            found[name] = self._decoded(name, received[topic])
        return found

    def _older(self, camera: str) -> float:
        """Return the greatest age of an image relative to the robot's state [s]."""
        return self._staleness.get(camera, 0.5 * self._parameters.control_period)

    def _explained(self, camera: str, stamp: int, fault: BenchFault) -> BenchFault:
        """Return a fault with the reason why no image of a camera of a time [ns] came, if that is known."""
        newest = self._inbox.newest(self.cameras[camera].name)
        if fault.fault is not Fault.SENSOR_LOST or self._inbox.lockstep or newest is None:
            return fault
        self._check_clock(camera)
        older = seconds(stamp - stamp_from_msg(newest.header.stamp))
        words = f"its newest image is {older:.3f} s older than the robot's state, more than its `staleness`"
        return BenchFault(fault.fault, f"camera '{camera}': {fault.detail}; {words} ({self._older(camera):g} s)")

    def _check_clock(self, camera: str) -> None:
        """Check that old images of a camera do not pass as new because its clock is wrong.

        Raises:
            BenchFault: SENSOR_LOST, with the problem of its clock.
        """
        topic, state = self.cameras[camera].name, self._state
        problem = self._inbox.clock_off(topic, self._driver)
        ahead, limit = self._inbox.ahead_of(topic, state, self._driver), max(self._older(camera), seconds(JUMP))
        if not problem and ahead > limit:
            problem = (
                f"the stamps of {topic} are {ahead:.3f} s ahead of those of {state}, more than {limit:g} s: old images "
                "would pass as new; synchronise the clocks of both computers (chrony)"
            )
        if problem:
            raise BenchFault(Fault.SENSOR_LOST, f"camera '{camera}': {problem}")

    def check_cameras(self) -> None:
        """Check the images of the policy's cameras against the robot's file and the session.

        Raises:
            BenchFault: a camera's images cannot be decoded, have another frame or another size, or its clock is wrong.
        """
        p = self._parameters
        sizes = zip(p.image_widths, p.image_heights, strict=True)
        self._sizes = dict(zip(p.image_cameras, sizes, strict=True))
        for name, (topic, _) in self.cameras.items():
            image, frame = self._decoded(name, self._inbox.newest(topic)), self._frames[name]
            if image.header.frame_id != frame:
                words = f"are in the frame '{image.header.frame_id}', expected '{frame}', the `frame_id` in {p.robot}"
                raise BenchFault(Fault.SENSOR_LOST, f"camera '{name}': images on {topic} {words}")
            self._check_clock(name)
            # A camera that the session does not name must keep this size from now on.
            self._sizes[name] = image.width, image.height

    def _decoded(self, camera: str, message: Image | CompressedImage) -> Image:
        """Return an image of a camera, decoded if it is compressed.

        Raises:
            BenchFault: SENSOR_LOST; the image cannot be decoded, or has another size than before.
        """
        where = f"camera '{camera}': images on {self.cameras[camera].name}"
        try:
            image = decompressed(message)
            check_image(image)
        except ValueError as error:
            raise BenchFault(Fault.SENSOR_LOST, f"{where} cannot be read: {error}") from None
        size = image.width, image.height
        if size != (wanted := self._sizes.get(camera, size)):
            source = "as the session's `cameras`" if camera in self._parameters.image_cameras else "as at the start"
            words = f"have {size[0]}x{size[1]} pixels, expected {wanted[0]}x{wanted[1]}, {source}"
            raise BenchFault(Fault.SENSOR_LOST, f"{where} {words}")
        return image

    def shown(self, observation: Observation, images: dict[str, Image]) -> None:
        """Publish the filtered observation and images that the policy receives."""
        self._shown.publish(observation_to_msg(observation, self._frame, images))
        self._recorder.shown()

    def intervened(self, stamp: int, interventions: Sequence[Intervention]) -> None:
        """Publish the interventions of the safety filter."""
        for each in interventions:
            self._safety.publish(intervention_to_msg(each, stamp))
            self._recorder.intervened()

    @property
    def person_near(self) -> bool:
        """Whether a person is near: by the newest message, or because no more come; False before the first."""
        return self._person_near or time.monotonic() - self._person_heard > PERSON_LIMIT

    def _on_person(self, message: Bool) -> None:
        self._person_near, self._person_heard = message.data, time.monotonic()

    def progress(self, stamp: int) -> Progress:
        """Return the score of a time [ns]."""
        try:
            return progress_from_msg(self._received(("progress",), stamp)["progress"])
        except BenchFault as error:
            # A stop of the robot is no fault of the scorer.
            fault = Fault.SCORER_LOST if error.fault is Fault.SENSOR_LOST else error.fault
            raise BenchFault(fault, error.detail) from None

    def _received(self, topics: tuple[str, ...], stamp: int) -> dict[str, object]:
        due = stamp - nanoseconds(0.5 * self._parameters.control_period)
        return self._inbox.wait(topics, due, self._parameters.sensor_timeout)
