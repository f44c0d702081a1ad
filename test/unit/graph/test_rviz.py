"""The shipped RViz configurations ask for topics that the graph of their robots has, in qualities that fit."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import yaml

from robocontrast_ros.configuration import resolve_uri
from robocontrast_ros.messages.topics import ROBOT_DESCRIPTION, TRIAL_TOPICS, Topic
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.robots.profile_base import RobotProfile

ROBOTS = {"manipulator": ("franka", "ur5e"), "tabletop": ("franka_hand", "ur5e_2f85"), "locobot": ("locobot",)}
TYPES = {
    "Camera": "sensor_msgs/msg/Image",
    "Image": "sensor_msgs/msg/Image",
    "Odometry": "nav_msgs/msg/Odometry",
    "Pose": "geometry_msgs/msg/PoseStamped",
    "RobotModel": ROBOT_DESCRIPTION.type_name,
}
FOLDER = resolve_uri("package://robocontrast_ros/config/rviz")


def asked(name: str) -> Iterator[tuple[Topic, bool]]:
    """Yield each topic that a configuration asks for, and whether it is asked for as latched."""
    for display in read(name)["Displays"]:
        kind = display["Class"].removeprefix("rviz_default_plugins/")
        for key in ("Topic", "Description Topic"):
            if key in display:
                latched = display[key]["Durability Policy"] == "Transient Local"
                yield Topic(display[key]["Value"], TYPES[kind]), latched


def read(name: str) -> dict:
    return yaml.safe_load((FOLDER / f"{name}.rviz").read_text())["Visualization Manager"]


def published(profile: RobotProfile) -> dict[Topic, bool]:
    """Return what the graph of a robot publishes, and whether it is latched."""
    images = (camera.images for camera in profile.cameras)
    streams = dict.fromkeys((*TRIAL_TOPICS, *profile.driver_topics, *images), False)
    return streams | dict.fromkeys(profile.simulated_topics, True)


def test_each_shipped_configuration_is_for_some_robot():
    assert {path.stem for path in FOLDER.glob("*.rviz")} == set(ROBOTS)


@pytest.mark.parametrize(("name", "robot"), [(name, robot) for name, robots in ROBOTS.items() for robot in robots])
def test_each_topic_is_there_for_the_robot_and_latched_where_it_is_published_once(name, robot):
    there = published(load_profile(robot))
    wanted = list(asked(name))
    assert len(wanted) >= 3 and (ROBOT_DESCRIPTION, True) in wanted
    assert [(topic, latched) for topic, latched in wanted if there.get(topic) is not latched] == []


@pytest.mark.parametrize(("name", "robot"), [(name, robot) for name, robots in ROBOTS.items() for robot in robots])
def test_everything_is_shown_in_a_frame_that_the_robot_has(name, robot):
    profile = load_profile(robot)
    fixed = read(name)["Global Options"]["Fixed Frame"]
    assert fixed == (profile.odom_frame if profile.mobile else profile.world_frame)
