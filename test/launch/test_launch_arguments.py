"""Arguments that do not fit end a real launch before anything is started."""

import subprocess
import sys

import pytest

pytest.importorskip("launch_ros", reason="launch_ros is on no package index: run this in a ROS 2 installation")

from ament_index_python.packages import get_package_share_path

FILE = get_package_share_path("robocontrast_ros") / "launch" / "evaluate.launch.py"
LAUNCH = """
import sys
from launch import LaunchDescription, LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource

file, *words = sys.argv[1:]
arguments = [tuple(word.split(":=")) for word in words]
included = IncludeLaunchDescription(PythonLaunchDescriptionSource(file), launch_arguments=arguments)
service = LaunchService(argv=words)
service.include_launch_description(LaunchDescription([included]))
sys.exit(service.run())
"""


def launched(*words: str) -> tuple[int, str]:
    """Launch the file with arguments as `ros2 launch` does; return the exit code and what was printed."""
    done = subprocess.run(
        [sys.executable, "-c", LAUNCH, str(FILE), *words],
        text=True,
        capture_output=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_a_misspelt_argument_and_a_wrong_number_are_a_line_each():
    code, said = launched("polcy:=oracle", "budget:=abc")
    assert code == 1
    assert "`polcy`: got 'polcy', expected a known argument" in said and "Did you mean 'policy'?" in said
    assert "`budget`: got 'abc', expected a number" in said
    assert "Traceback" not in said and "process started" not in said


def test_a_run_folder_that_is_none_is_named():
    code, said = launched("resume:=/nowhere")
    assert code == 1
    assert "'/nowhere', expected a run folder" in said
    assert "Traceback" not in said and "process started" not in said


@pytest.mark.parametrize("file", sorted(FILE.parent.glob("*.launch.py")), ids=lambda file: file.name)
def test_every_launch_file_describes_itself(file):
    from launch.launch_context import LaunchContext
    from launch.launch_description_sources import PythonLaunchDescriptionSource

    description = PythonLaunchDescriptionSource(str(file)).get_launch_description(LaunchContext())
    arguments = description.get_launch_arguments()
    assert {"namespace", "log_level"} <= {argument.name for argument in arguments}
    assert all(argument.description for argument in arguments)
