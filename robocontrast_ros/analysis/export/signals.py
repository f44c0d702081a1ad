"""The numbers of a trial in time, from its bag: the robot's state, its commands, and its cameras' images."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.analysis.export.pictures import CameraImages, cameras_of
from robocontrast_ros.bags.errors import BagError
from robocontrast_ros.bags.reader import BagMessage, read_bag, read_trial
from robocontrast_ros.domain import NANOSECONDS
from robocontrast_ros.messages.decoding import pose_from_msg, stamp_from_msg
from robocontrast_ros.robots.profile import RobotProfile

Numbers = dict[str, float]
"""Name of a number, as LeRobot's data sets name them, such as ``fr3_joint1.pos`` -> its value, in SI units."""

AXES = ("x", "y", "z")
OFF_THE_FLOOR = ("linear.z", "angular.x", "angular.y")


@dataclass(frozen=True)
class Signals:
    """The robot's numbers in a trial.

    Attributes:
        stamps: of the trial's first and last control step [ns].
        rate: control steps in a second, rounded to a whole number.
        state: (stamp [ns], numbers) of the driver's state messages, in order.
        action: the same of its commands, each with the stamp of the observation that it answers.
        cameras: name of each camera -> its images.
    """

    stamps: tuple[int, int]
    rate: int
    state: tuple[tuple[int, Numbers], ...]
    action: tuple[tuple[int, Numbers], ...]
    cameras: Mapping[str, CameraImages]

    def times(self, rate: int) -> NDArray[np.int64]:
        """Return the time of each frame at a rate [Hz], from the first control step to the last [ns]."""
        first, last = self.stamps
        count = round((last - first) * rate / NANOSECONDS) + 1
        return first + np.round(np.arange(count) * (NANOSECONDS / rate)).astype(np.int64)


def signals_of(bag: Path, robot: RobotProfile) -> Signals:
    """Return the signals of a trial.

    Args:
        bag: its bag.
        robot: the session's robot, which names the topics and the cameras.

    Raises:
        BagError: there is no bag, it holds no trial, or less than two control steps, or no state or command.
    """
    recording = read_trial(bag)
    stamps = [sample.stamp for sample in recording.samples]
    period = float(np.median(np.diff(stamps))) if len(stamps) > 1 else 0.0
    if period <= 0.0:
        raise BagError(f"{bag}: {len(stamps)} control steps, expected two at least.")
    commands = {topic.name for topic in robot.command_topics}
    states = {topic.name for topic in robot.driver_topics}
    known = ("tool_pose", *states, *commands)
    content = read_bag(bag, lambda topic, type_name: _ends(topic, known) and type_name in _NUMBERS)
    state, action = list[tuple[int, Numbers]](), list[tuple[int, Numbers]]()
    # A command without a stamp answers the observation before it.
    now = stamps[0]
    for message in content.messages:
        decoded = message.decode()
        if _ends(message.topic, ("tool_pose",)):
            now = stamp_from_msg(decoded.header.stamp)
            continue
        stamp = (stamp_from_msg(decoded.header.stamp) if hasattr(decoded, "header") else 0) or now
        into = action if _ends(message.topic, commands) else state
        numbers = _numbers(message, decoded)
        if robot.mobile:
            # A base does not leave the floor.
            numbers = {name: value for name, value in numbers.items() if name not in OFF_THE_FLOOR}
        into.append((stamp, numbers))
    if not any(numbers for _, numbers in state) or not any(numbers for _, numbers in action):
        raise BagError(f"{bag}: no state of the robot, or no command. Record the session's own topics.")
    names = {camera.images.name: camera.name for camera in robot.cameras}
    found, _ = cameras_of(bag)
    cameras = {_name(names, camera.topic): camera for camera in found}
    rate = max(round(NANOSECONDS / period), 1)
    return Signals((stamps[0], stamps[-1]), rate, _ordered(state), _ordered(action), cameras)


def names_of(series: Iterable[Sequence[tuple[int, Numbers]]]) -> tuple[str, ...]:
    """Return the names of all numbers, in the order in which messages have them."""
    return tuple(dict.fromkeys(name for one in series for _, numbers in one for name in numbers))


def sampled(
    series: Sequence[tuple[int, Numbers]], names: Sequence[str], times: NDArray[np.int64], rate: int
) -> NDArray[np.float32]:
    """Return the newest numbers of each frame, shape (frames, names), float32.

    What was not said yet has its first value; what is never said is 0.
    """
    first = {name: next((numbers[name] for _, numbers in series if name in numbers), 0.0) for name in names}
    values, rows = [first[name] for name in names], np.empty((len(times), len(names)), np.float32)
    places, at = {name: number for number, name in enumerate(names)}, 0
    for row, until in enumerate(times + NANOSECONDS // (2 * rate)):
        while at < len(series) and series[at][0] < until:
            for name, value in series[at][1].items():
                values[places[name]] = value
            at += 1
        rows[row] = values
    return rows


def shown_images(camera: CameraImages, times: NDArray[np.int64], rate: int) -> tuple[NDArray[np.int64], bool]:
    """Return the number of each frame's image: the newest of its time; and whether the stamps were to be believed.

    Where they were not, images are spread evenly.
    """
    stamps = np.asarray(camera.stamps, np.int64)
    order = np.argsort(stamps, kind="stable")
    if len(set(camera.stamps)) > 1 and stamps.min() <= times[-1] and stamps.max() >= times[0]:
        newest = np.searchsorted(stamps[order], times + NANOSECONDS // (2 * rate)) - 1
        return order[np.maximum(newest, 0)], True
    return np.round(np.linspace(0, len(stamps) - 1, len(times))).astype(np.int64), False


def _ordered(series: list[tuple[int, Numbers]]) -> tuple[tuple[int, Numbers], ...]:
    return tuple(sorted(series, key=lambda one: one[0]))


def _ends(topic: str, names: Iterable[str]) -> bool:
    """Return whether a topic has one of these names, in whatever namespace."""
    return any(topic == f"/{name.lstrip('/')}" or topic.endswith(f"/{name.lstrip('/')}") for name in names)


def _name(names: Mapping[str, str], topic: str) -> str:
    for end, name in names.items():
        if _ends(topic, (end,)):
            return name
    return topic.strip("/").replace("/", "_")


def _joint_state(message: Any, _: str) -> Numbers:
    return {f"{name}.pos": float(value) for name, value in zip(message.name, message.position, strict=False)}


def _joint_trajectory(message: Any, _: str) -> Numbers:
    if not message.points:
        return {}
    # As the controller ends up.
    point = message.points[-1]
    for values, what in ((point.positions, "pos"), (point.velocities, "vel")):
        if len(values):
            return {f"{name}.{what}": float(v) for name, v in zip(message.joint_names, values, strict=False)}
    return {}


def _odometry(message: Any, _: str) -> Numbers:
    pose, twist = pose_from_msg(message.pose.pose), message.twist.twist
    place = {"base.x": pose.position[0], "base.y": pose.position[1], "base.yaw": pose.yaw}
    return place | {"base.linear": float(twist.linear.x), "base.angular": float(twist.angular.z)}


def _twist(message: Any, _: str) -> Numbers:
    twist = getattr(message, "twist", message)
    parts = {"linear": twist.linear, "angular": twist.angular}
    return {f"{part}.{axis}": float(getattr(vector, axis)) for part, vector in parts.items() for axis in AXES}


def _array(message: Any, topic: str) -> Numbers:
    what = "gripper" if "gripper" in topic or "hand" in topic else topic.strip("/").replace("/", "_")
    values = list(message.data)
    return {f"{what}{number or ''}.pos": float(value) for number, value in enumerate(values)}


def _numbers(message: BagMessage, decoded: Any) -> Numbers:
    return _NUMBERS[message.type_name](decoded, message.topic)


_NUMBERS: dict[str, Callable[[Any, str], Numbers]] = {
    "geometry_msgs/msg/PoseStamped": lambda message, topic: {},
    "geometry_msgs/msg/Twist": _twist,
    "geometry_msgs/msg/TwistStamped": _twist,
    "nav_msgs/msg/Odometry": _odometry,
    "sensor_msgs/msg/JointState": _joint_state,
    "std_msgs/msg/Float64MultiArray": _array,
    "trajectory_msgs/msg/JointTrajectory": _joint_trajectory,
}
"""Type of a message -> what returns its numbers, given the message and its topic."""
