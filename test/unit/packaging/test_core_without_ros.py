"""Everything but the nodes runs where there is no ROS."""

import subprocess
import sys

PROGRAM = """
import importlib, pkgutil, sys

GENERATED = ("robocontrast_ros.msg", "robocontrast_ros.srv", "robocontrast_ros.action")

class NoRos:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        ros = top in ("rclpy", "launch", "launch_ros") or top.endswith(("_msgs", "_interfaces"))
        if ros or name in GENERATED:
            raise ImportError(f"{name} is blocked")

sys.meta_path.insert(0, NoRos())
import robocontrast_ros
skipped = (*GENERATED, "robocontrast_ros.nodes")
modules = pkgutil.walk_packages(robocontrast_ros.__path__, "robocontrast_ros.", onerror=lambda name: None)
for module in modules:
    if not module.name.startswith(skipped) and "__rosidl_" not in module.name:
        importlib.import_module(module.name)
        print(module.name)
"""


def test_every_core_module_imports_with_rclpy_and_all_messages_blocked():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "robocontrast_ros.domain.scene" in done.stdout.split()
