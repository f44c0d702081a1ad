"""Which settings of Fast DDS a process of a session has."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ElementTree

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from robocontrast_ros.configuration import resolve_uri
from robocontrast_ros.nodes.runtime.middleware import tune_middleware

PROFILES, DISCOVERY, TRANSPORTS = (
    "FASTDDS_DEFAULT_PROFILES_FILE",
    "ROS_AUTOMATIC_DISCOVERY_RANGE",
    "FASTDDS_BUILTIN_TRANSPORTS",
)


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    for name in (PROFILES, "FASTRTPS_DEFAULT_PROFILES_FILE", DISCOVERY, TRANSPORTS):
        # Set first, so that what the test leaves behind is taken away again.
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)


@pytest.mark.parametrize(
    ("before", "shared_memory", "profile", "discovery", "transports"),
    [
        ("LOCALHOST", True, "fast_dds.xml", "LOCALHOST", None),
        ("LOCALHOST", False, "fast_dds_loopback.xml", "SUBNET", "UDPv4"),
        ("SUBNET", False, "fast_dds.xml", "SUBNET", "UDPv4"),
    ],
)
def test_a_process_without_shared_memory_finds_those_that_it_would_find_with_it(
    before, shared_memory, profile, discovery, transports
):
    os.environ[DISCOVERY] = before
    tune_middleware(shared_memory)
    assert os.path.basename(os.environ[PROFILES]) == profile
    assert (os.environ[DISCOVERY], os.environ.get(TRANSPORTS)) == (discovery, transports)


@pytest.mark.parametrize("name", ["fast_dds.xml", "fast_dds_loopback.xml"])
def test_a_participant_announces_itself_ten_times_a_second_until_its_first_usual_announcement(name):
    profiles = ElementTree.parse(resolve_uri(f"package://robocontrast_ros/config/{name}"))
    (first,) = profiles.iter("initialAnnouncements")
    assert first.findtext("period/sec") == "0" and int(first.findtext("period/nanosec")) == 100_000_000
    usual = 3.0  # Fast DDS's leaseDuration/announcementPeriod [s]
    assert int(first.findtext("count")) * 0.1 >= usual


def test_settings_of_the_user_are_kept():
    os.environ.update({PROFILES: "mine.xml", DISCOVERY: "LOCALHOST", TRANSPORTS: "LARGE_DATA"})
    tune_middleware(shared_memory=False)
    assert [os.environ[name] for name in (PROFILES, DISCOVERY, TRANSPORTS)] == ["mine.xml", "LOCALHOST", "LARGE_DATA"]
