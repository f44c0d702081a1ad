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


class TestUr5eReal(TestUr5e):
    robot = "ur5e_real"


class TestLocobotReal(TestLocobot):
    robot = "locobot_real"


class TestFrankaHandReal(TestFrankaHand):
    robot = "franka_hand_real"


class TestUr5e2F85Real(TestUr5e2F85):
    robot = "ur5e_2f85_real"


def test_no_robot_is_without_a_contract():
    made = [kind for kind in globals().values() if isinstance(kind, type) and issubclass(kind, RobotContract)]
    assert sorted(kind.robot for kind in made if kind is not RobotContract) == sorted(known_names("robots"))
