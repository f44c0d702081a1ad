"""Every robot of the package keeps its contract."""

from robocontrast_ros.configuration.files import known_names
from robocontrast_ros.contracts.robot import RobotContract


class TestFranka(RobotContract):
    robot = "franka"


class TestUr5e(RobotContract):
    robot = "ur5e"


class TestLocobot(RobotContract):
    robot = "locobot"


class TestFrankaHand(RobotContract):
    robot = "franka_hand"
    world = "package://robocontrast_ros/models/tabletop.xml"


class TestUr5e2F85(RobotContract):
    robot = "ur5e_2f85"
    world = "package://robocontrast_ros/models/tabletop.xml"


def test_no_robot_is_without_a_contract():
    assert sorted(made.robot for made in RobotContract.__subclasses__()) == sorted(known_names("robots"))
