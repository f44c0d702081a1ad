"""Everything but the nodes runs where there is no ROS, and all but the learned policies where there is no PyTorch."""

import json
import subprocess
import sys

import pytest

PROGRAM = """
import importlib, json, os, pkgutil, sys
import robocontrast_ros

GENERATED = tuple(f"robocontrast_ros.{kind}" for kind in ("msg", "srv", "action"))
NODES = "robocontrast_ros.nodes"
blocked = {"ros", "torch"}

class Blocked:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        ros = top in ("rclpy", "launch", "launch_ros") or top.endswith(("_msgs", "_interfaces")) or name in GENERATED
        if "torch" in blocked and top == "torch" or "ros" in blocked and ros:
            raise ModuleNotFoundError(f"{name} is blocked", name=name)

def imported(wanted):
    \"\"\"Import modules; return those that are there, and those that need PyTorch.\"\"\"
    done, need_torch = [], []
    for module in pkgutil.walk_packages(robocontrast_ros.__path__, "robocontrast_ros.", onerror=lambda name: None):
        if module.name.startswith(GENERATED) or "__rosidl_" in module.name or not wanted(module.name):
            continue
        try:
            importlib.import_module(module.name)
            done.append(module.name)
        except ImportError as error:
            missing = (error.name or "").partition(".")[0]
            if missing == "torch" and "torch" in blocked:
                need_torch.append(module.name)
            elif not (missing.startswith("launch") and "ros" not in blocked):
                raise
    return done, need_torch

sys.meta_path.insert(0, Blocked())
_, need_torch = imported(lambda name: not name.startswith(NODES))
sys.stdout.flush()
if os.fork():
    assert os.wait()[1] == 0
    # Of the nodes, none needs PyTorch.
    blocked.remove("ros")
    need_torch += imported(lambda name: name.startswith(NODES))[1]
    print(json.dumps(need_torch))
else:
    # Where there is PyTorch, what needs it does without ROS.
    blocked.remove("torch")
    print(json.dumps(imported(lambda name: not name.startswith(NODES))[0]), flush=True)
    os._exit(0)
"""

NEED_TORCH = (
    "robocontrast_ros.policies.film_bc.",
    "robocontrast_ros.policies.kitchen_bc.",
    "robocontrast_ros.policies.prompted.",
    "robocontrast_ros.policies.tabletop_bc.",
    "robocontrast_ros.policies.adapters.torch_model.networks",
    "robocontrast_ros.policies.networks",
    "robocontrast_ros.training",
)


@pytest.fixture(scope="module")
def imports(tmp_path_factory):
    """The modules that import without ROS, and those that do not without PyTorch."""
    folder = tmp_path_factory.mktemp("elsewhere")  # so that what is imported is what is installed
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    without_ros, need_torch = map(json.loads, done.stdout.splitlines())
    return without_ros, need_torch


def test_every_core_module_imports_with_rclpy_and_all_messages_blocked(imports):
    without_ros, _ = imports
    assert {"robocontrast_ros.domain.scene", "robocontrast_ros.policies.film_bc.model"} <= {*without_ros}


def test_only_learned_policies_and_their_training_import_pytorch(imports):
    _, need_torch = imports
    assert [name for name in need_torch if not name.startswith(NEED_TORCH)] == []
    assert "robocontrast_ros.policies.adapters.torch_model.networks" in need_torch
