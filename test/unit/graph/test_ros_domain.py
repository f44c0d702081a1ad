"""What keeps the sessions of one machine apart: a lock for each domain and namespace."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing

import pytest

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.graph import ros_domain as domains
from robocontrast_ros.graph.ros_domain import DOMAINS, Domain, GraphProbe, check_ros
from robocontrast_ros.system.forking import ForkServer


@pytest.fixture(autouse=True)
def locks(monkeypatch, tmp_path):
    """Keep the locks of these tests to themselves."""
    monkeypatch.delenv("ROS_DOMAIN_ID", raising=False)
    where = domains._lock_file
    monkeypatch.setattr(domains, "_lock_file", lambda *of: tmp_path / where(*of).name)
    return tmp_path


def test_sessions_at_the_same_time_are_in_different_domains(tmp_path):
    with Domain() as first, Domain() as second:
        assert (first.number, second.number) == (DOMAINS[0], DOMAINS[1])
        assert first.chosen
    with Domain() as third:
        assert third.number == DOMAINS[0], "what is over holds nothing"


def test_a_second_session_in_the_users_domain_is_refused_with_who_holds_it(monkeypatch, tmp_path):
    monkeypatch.setenv("ROS_DOMAIN_ID", "7")
    with Domain() as first:
        assert first.number == 7 and not first.chosen
        with pytest.raises(ConfigurationError, match=f"`ROS_DOMAIN_ID`: got 7, .* process {os.getpid()} begins"):
            Domain()
        first.record_run(tmp_path / "runs" / "demo")
        with pytest.raises(ConfigurationError) as refusal:
            Domain()
    line = str(refusal.value)
    assert f"process {os.getpid()} runs {tmp_path / 'runs' / 'demo'}" in line
    assert "Unset ROS_DOMAIN_ID" in line and "another number" in line and "namespace" in line
    Domain().close()


def test_a_domain_has_room_for_a_session_in_each_namespace(monkeypatch):
    with Domain("/robot1/", 7), Domain("robot2", 7), Domain("robot1/arm", 7), Domain(number=7):
        with pytest.raises(ConfigurationError, match="/robot1 of domain 7 is taken"):
            Domain("robot1", 7)
        monkeypatch.setattr(domains, "DOMAINS", range(7, 9))
        with Domain() as chosen:
            assert chosen.number == 8, "no domain is shared where none has to be"
            with pytest.raises(ConfigurationError, match="all domains are in use"):
                Domain("robot3")


@pytest.mark.parametrize("number", ["abc", "-1", "233", "1.5"])
def test_what_is_no_domain_is_refused(monkeypatch, number):
    monkeypatch.setenv("ROS_DOMAIN_ID", number)
    with pytest.raises(
        ConfigurationError, match=r"`ROS_DOMAIN_ID`: got .*, expected a number from 0 to 232. Unset ROS_DOMAIN_ID"
    ):
        Domain()


@pytest.mark.skipif(os.geteuid() != 0, reason="to be two users needs root")
@pytest.mark.parametrize("mode", [0o666, 0o644], ids=["that_may_be_written", "that_may_not"])
def test_a_lock_of_another_user_is_honoured_and_can_be_taken(locks, mode):
    """In a sticky folder the system may refuse to open a file of another user as if to create it."""
    for folder in (locks, *(parent for parent in locks.parents if "pytest-of-" in str(parent))):
        folder.chmod(0o777)
    locks.chmod(0o1777)
    Domain(number=7).close()
    (locks / "robocontrast_domain_7.lock").chmod(mode)
    script = f"""
import os, pathlib
from robocontrast_ros.graph import ros_domain as domains
os.setuid(12345)
domains._lock_file = lambda number, namespace: pathlib.Path({str(locks)!r}) / f"robocontrast_domain_{{number}}.lock"
domains.Domain(number=7)
print("taken")
"""
    other = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert other.stdout == "taken\n", other.stderr
    with Domain(number=7):
        other = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "domain 7 is taken" in other.stderr


BROKEN_RCLPY = "raise ImportError('its C extension is not there')"


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("RMW_IMPLEMENTATION", "rmw_of_nobody", "found 'rmw_fastrtps_cpp'). Unset RMW_IMPLEMENTATION."),
        ("PYTHONPATH", "", "its C extension is not there). Unset PYTHONPATH, or begin in a terminal"),
        ("ROS_AUTOMATIC_DISCOVERY_RANGE", "OFF", "do not discover each other). Unset ROS_AUTOMATIC_DISCOVERY_RANGE."),
        ("ROS_AUTOMATIC_DISCOVERY_RANGE", "subnet", "Unset ROS_AUTOMATIC_DISCOVERY_RANGE."),
        ("ROS_STATIC_PEERS", "nobody.invalid", "Unable to resolve peer nobody.invalid). Unset ROS_STATIC_PEERS."),
        ("FASTDDS_DEFAULT_PROFILES_FILE", "/no.xml", "a file of Fast DDS profiles, in XML. Unset"),
        ("RCUTILS_COLORIZED_OUTPUT", "yes", "expected 0 or 1. Unset RCUTILS_COLORIZED_OUTPUT."),
    ],
)
def test_the_variable_with_which_ros_does_not_run_is_named(tmp_path, variable, value, said):
    pytest.importorskip("rclpy")
    (tmp_path / "rclpy.py").write_text(BROKEN_RCLPY)
    environment = {**os.environ, "ROS_DOMAIN_ID": "7", variable: value or str(tmp_path)}
    with pytest.raises(ConfigurationError) as refusal:
        check_ros(environment)
    line = str(refusal.value)
    assert line.startswith(f"environment: `{variable}`: got '{value or tmp_path}', expected ")
    assert said in line and "\n" not in line and "Traceback" not in line


def test_a_fork_finds_out_the_same_and_a_server_that_is_gone_is_not_missed():
    pytest.importorskip("rclpy")
    environment = {**os.environ, "ROS_DOMAIN_ID": "7"}
    with closing(ForkServer(["robocontrast_ros.nodes.graph_probe"], environment)) as server:
        assert GraphProbe(environment, None, 0.0, server).found() == ()
    assert GraphProbe(environment, None, 0.0, server).found() == ()
    # Its import ends a process.
    environment["RMW_IMPLEMENTATION"] = "rmw_of_nobody"
    refused = pytest.raises(ConfigurationError, match=r"found 'rmw_fastrtps_cpp'\)\. Unset RMW_IMPLEMENTATION\.")
    with closing(ForkServer(["robocontrast_ros.nodes.graph_probe"], environment)) as server, refused:
        GraphProbe(environment, None, 0.0, server).found()


def test_ros_runs_with_what_does_not_matter_to_it(tmp_path):
    """A home that cannot be written among it, for a session's logs go to its run folder."""
    pytest.importorskip("rclpy")
    harmless = {"HOME": "/proc/nohome", "ROS_LOG_DIR": "/proc/nohome", "CYCLONEDDS_URI": "file:///no.xml"}
    harmless |= {"ROS_LOCALHOST_ONLY": "1", "ROS_DISTRO": "humble", "TMPDIR": str(tmp_path / "none")}
    check_ros({**os.environ, "ROS_DOMAIN_ID": "7", **harmless})
