"""In a ROS 2 workspace the same tree builds with colcon."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import importlib.util, pkgutil, sys
from importlib.metadata import distribution
from pathlib import Path
from ament_index_python.packages import get_package_prefix, get_package_share_directory
import robocontrast_ros, robocontrast_ros.nodes
from robocontrast_ros.action import RunEpisode
from robocontrast_ros.msg import Scene
from robocontrast_ros.srv import Act

install = Path(sys.argv[1])
assert Path(get_package_prefix("robocontrast_ros")) == install
assert [Path(folder).is_relative_to(install) for folder in robocontrast_ros.__path__][0]
for kind in (RunEpisode.Goal, Scene, Act.Request):
    assert Path(sys.modules[kind.__module__].__file__).is_relative_to(install), kind
    kind.__class__.__import_type_support__()
for module in pkgutil.walk_packages(robocontrast_ros.nodes.__path__, "robocontrast_ros.nodes."):
    if module.name.endswith(".launching") and not importlib.util.find_spec("launch_ros"):
        continue
    imported = importlib.import_module(module.name)
    assert Path(imported.__file__).is_relative_to(install), module.name
for entry in distribution("robocontrast_ros").entry_points:
    assert entry.load() is not None
assert Path(distribution("robocontrast_ros")._path).is_relative_to(install)
assert Path(get_package_share_directory("robocontrast_ros"), "config").is_dir()
assert (install / "lib" / "robocontrast_ros" / "simulator").is_file()
from robocontrast_ros.analysis.report.rendering import inlined
assert inlined("report.css") and inlined("report.js")
print("complete")
"""


@pytest.mark.long
def test_colcon_builds_a_workspace_from_which_nodes_and_interfaces_import(checkout, tmp_path):
    install = tmp_path / "install"
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment["PATH"] = os.path.join(sys.prefix, "bin") + os.pathsep + environment["PATH"]
    environment["CMAKE_PREFIX_PATH"] = environment["AMENT_PREFIX_PATH"]
    # What colcon writes to be sourced does not quote its interpreter, and our .venv may lie in a path with a space.
    environment["COLCON_PYTHON_EXECUTABLE"] = os.path.realpath(sys.executable)
    build = [
        *("colcon", "--log-base", tmp_path / "log", "build", "--event-handlers", "console_direct+"),
        *("--base-paths", checkout, "--build-base", tmp_path / "build", "--install-base", install),
        *("--cmake-args", "-GNinja", "-DPYTHON_INTERFACES_ONLY=ON", "-DBUILD_TESTING=OFF"),
        f"-DPython3_EXECUTABLE={sys.executable}",
    ]
    built = subprocess.run(build, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout[-4000:] + built.stderr[-4000:]

    in_workspace = '. "$1/setup.bash" && exec "$2" -c "$3" "$1/robocontrast_ros"'
    imported = subprocess.run(
        ["bash", "-c", in_workspace, "bash", install, sys.executable, PROGRAM],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert imported.stdout.splitlines()[-1:] == ["complete"], imported.stdout + imported.stderr
