"""A session under a real `ros2 launch`, in a namespace: it ends by itself, every process cleanly, with its bags."""

import os
import tempfile
import unittest
from pathlib import Path

import pytest

pytest.importorskip("launch_testing", reason="launch_testing is on no package index: run this in a ROS 2 installation")

import launch_testing
import launch_testing.actions
import launch_testing.asserts
from ament_index_python.packages import get_package_share_directory
from launch.actions import IncludeLaunchDescription, SetEnvironmentVariable
from launch.launch_description_sources import PythonLaunchDescriptionSource

import launch
from robocontrast_ros.analysis.rescoring.recorded_trials import find_recorded
from robocontrast_ros.analysis.rescoring.scores_from_bags import score_recorded
from robocontrast_ros.bags.reader import read_bag
from robocontrast_ros.runs.events import SessionFinished
from robocontrast_ros.runs.journal import read_journal

OUTPUT = tempfile.mkdtemp(prefix="evaluate_launch_")


@pytest.mark.launch_test
def generate_test_description():
    """Launch a short session with the launch file that users launch."""
    path = os.path.join(get_package_share_directory("robocontrast_ros"), "launch", "evaluate.launch.py")
    arguments = {
        "session": "language_table_demo",
        "robot": "ur5e",
        "policy": "oracle",
        "budget": "2.0",
        "max_trials": "2",
        "namespace": "robot1",
        "output": OUTPUT,
    }
    return launch.LaunchDescription(
        [
            SetEnvironmentVariable("ROS_DOMAIN_ID", str(101 + os.getpid() % 100)),
            IncludeLaunchDescription(PythonLaunchDescriptionSource(path), launch_arguments=arguments.items()),
            launch_testing.actions.ReadyToTest(),
        ]
    )


class WhileItRuns(unittest.TestCase):
    """The session comes to its end."""

    def test_the_session_ends_by_itself(self, proc_output, proc_info):
        """The episode manager says how many trials are done, and its process ends."""
        proc_output.assertWaitFor("max_trials: 2 trials are done", timeout=120)
        proc_info.assertWaitForShutdown(process="episode_manager", timeout=30)


@launch_testing.post_shutdown_test()
class AfterIt(unittest.TestCase):
    """What is left behind."""

    def test_every_node_ended_cleanly(self, proc_info):
        """All five processes, the container among them, with exit code 0."""
        launch_testing.asserts.assertExitCodes(proc_info)
        self.assertEqual(len(proc_info.process_names()), 5)

    def test_the_run_is_whole_and_its_bags_give_the_same_scores(self):
        """Journal and bags agree."""
        (run,) = Path(OUTPUT).iterdir()
        self.assertIsInstance(read_journal(run / "journal.jsonl").events[-1], SessionFinished)
        scores = score_recorded(find_recorded([run]), processes=1)
        self.assertEqual(len(scores), 2)
        self.assertTrue(all(score.equal for score in scores), [score.differences for score in scores])

    def test_the_topics_in_the_bags_are_those_of_the_namespace(self):
        """All of them: no node is outside."""
        (run,) = Path(OUTPUT).iterdir()
        for bag in sorted((run / "bags").iterdir()):
            topics = read_bag(bag, lambda topic, kind: False).counts
            self.assertEqual([topic for topic in topics if not topic.startswith("/robot1/")], [])
            self.assertIn("/robot1/scene", topics)
