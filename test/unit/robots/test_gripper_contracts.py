"""Every gripper of the package keeps its contract."""

from robocontrast_ros.configuration.files import known_names
from robocontrast_ros.contracts.gripper import GripperContract


class TestFrankaHand(GripperContract):
    gripper = "franka_hand"


class TestRobotiq2F85(GripperContract):
    gripper = "robotiq_2f85"
    arm = "ur5e_2f85"


def test_no_gripper_is_without_a_contract():
    assert sorted(made.gripper for made in GripperContract.__subclasses__()) == sorted(known_names("grippers"))
