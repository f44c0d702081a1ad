"""A session that goes on under `ros2 launch` is interrupted: all nodes at once, as by Ctrl-C; nothing is lost."""

import os
import tempfile
import time
import unittest

import pytest

pytest.importorskip("launch_testing", reason="launch_testing is on no package index: run this in a ROS 2 installation")

import launch_testing
import launch_testing.actions
import launch_testing.asserts
from ament_index_python.packages import get_package_share_directory
from launch.actions import IncludeLaunchDescription, SetEnvironmentVariable
from launch.launch_description_sources import PythonLaunchDescriptionSource

import launch
from robocontrast_ros.domain import Fault
from robocontrast_ros.runs.events import SessionInterrupted, TrialFinished, TrialVoid
from robocontrast_ros.runs.journal import read_journal
from robocontrast_ros.sessions.control import SessionControl
from robocontrast_ros.sessions.fast_mode import open_bench
from robocontrast_ros.sessions.loop import run_session
from robocontrast_ros.sessions.overrides import Overrides
from robocontrast_ros.sessions.resolving import resolve

OUTPUT = tempfile.mkdtemp(prefix="interrupted_launch_")
BEGUN = 2
"""Trials that the session has when it is launched."""


def begin():
    """Run the first trials of a long session in one process, interrupt it, and return its folder."""
    session = resolve("language_table_100", Overrides(output=OUTPUT, policy="random"))
    run = session.new_run(time.time())
    bench, control = open_bench(session), SessionControl()

    def interrupt(status):
        if status.trials_done == BEGUN:
            control.abort("interrupted")

    run_session(session.evaluation(), bench, run.journal, control=control, observer=interrupt)
    bench.close()
    return run


RUN = begin()


def trials():
    """Return the trials that are done."""
    return [event for event in read_journal(RUN.journal).events if isinstance(event, TrialFinished)]


@pytest.mark.launch_test
def generate_test_description():
    """Go on with the session, with the launch file that users launch."""
    path = os.path.join(get_package_share_directory("robocontrast_ros"), "launch", "evaluate.launch.py")
    return launch.LaunchDescription(
        [
            SetEnvironmentVariable("ROS_DOMAIN_ID", str(101 + os.getpid() % 100)),
            IncludeLaunchDescription(
                PythonLaunchDescriptionSource(path), launch_arguments={"resume": str(RUN.path)}.items()
            ),
            launch_testing.actions.ReadyToTest(),
        ]
    )


class WhileItRuns(unittest.TestCase):
    """The session goes on, until somebody interrupts it."""

    def test_it_goes_on_and_is_interrupted(self, launch_service, proc_info):
        """Every process gets SIGINT at the same time."""
        deadline = time.monotonic() + 240.0
        while len(trials()) <= BEGUN:
            self.assertLess(time.monotonic(), deadline, "no further trial")
            time.sleep(0.1)
        launch_service.shutdown()
        proc_info.assertWaitForShutdown(process="episode_manager", timeout=60)


@launch_testing.post_shutdown_test()
class AfterIt(unittest.TestCase):
    """What is left behind."""

    def test_nobody_was_killed(self, proc_info):
        """The manager says that the session is to be resumed (3); the others end with 0."""
        codes = {info.process_name.rpartition("-")[0]: info.returncode for info in proc_info}
        self.assertEqual(codes.pop("episode_manager"), 3)
        self.assertEqual(set(codes.values()), {0}, codes)

    def test_the_journal_says_that_the_session_was_interrupted(self):
        """The present trial is void, for that reason, and all others are there."""
        events = read_journal(RUN.journal).events
        self.assertIsInstance(events[-1], SessionInterrupted)
        void = [event.fault for event in events if isinstance(event, TrialVoid)]
        self.assertTrue(set(void) <= {Fault.ABORTED}, void)
