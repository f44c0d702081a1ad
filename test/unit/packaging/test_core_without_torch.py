"""All but the learned policies, and what trains them, runs where there is no PyTorch."""

import subprocess
import sys

PROGRAM = """
import importlib, pkgutil, sys

class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError(f"{name} is blocked", name=name)

sys.meta_path.insert(0, NoTorch())
import robocontrast_ros

GENERATED = tuple(f"robocontrast_ros.{kind}" for kind in ("msg", "srv", "action"))
for module in pkgutil.walk_packages(robocontrast_ros.__path__, "robocontrast_ros.", onerror=lambda name: None):
    if module.name.startswith(GENERATED) or "__rosidl_" in module.name:
        continue
    try:
        importlib.import_module(module.name)
    except ImportError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in ("torch", "launch", "launch_ros"):
            raise
        if missing == "torch":
            print(module.name)
"""

NEED_TORCH = (
    "robocontrast_ros.policies.film_bc.",
    "robocontrast_ros.policies.prompted.",
    "robocontrast_ros.policies.tabletop_bc.",
    "robocontrast_ros.policies.adapters.torch_model.networks",
    "robocontrast_ros.policies.threads",
    "robocontrast_ros.training",
)


def test_only_learned_policies_and_their_training_import_pytorch():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    need_it = done.stdout.split()
    assert [name for name in need_it if not name.startswith(NEED_TORCH)] == []
    assert "robocontrast_ros.policies.adapters.torch_model.networks" in need_it
