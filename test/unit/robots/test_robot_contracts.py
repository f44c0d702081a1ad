"""Every robot of the package keeps its contract."""

from dataclasses import replace

import pytest

from robocontrast_ros.configuration.files import known_names
from robocontrast_ros.contracts.robot import RobotContract
from robocontrast_ros.robots.profile import load_profile


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


REAL = {
    "franka_real": TestFranka,
    "ur5e_real": TestUr5e,
    "locobot_real": TestLocobot,
    "franka_hand_real": TestFrankaHand,
    "ur5e_2f85_real": TestUr5e2F85,
}
"""Robots that differ from a simulated one by what talks to their driver alone -> its contract."""


@pytest.mark.parametrize("name", REAL)
def test_a_real_robot_is_the_simulated_one_with_another_driver(name):
    contract = type("Real", (REAL[name],), {"robot": name})()
    contract.test_its_file_can_be_written_and_read_again()
    contract.test_it_says_what_a_session_has_to_know()
    contract.test_its_safety_filter_never_refuses_a_hold()
    real, simulated = contract.profile(), load_profile(REAL[name].robot)
    if hasattr(real.safety, "force"):
        # A simulated driver reports no force at the tool.
        real = replace(real, safety=replace(real.safety, force=simulated.safety.force))
    of_driver = [key for key in ("name", "port", "driver", "contacts_topic", "cameras") if hasattr(simulated, key)]
    # The simulated one may list a camera of the world of one task alone, which nobody has put up on a real table.
    assert real.cameras == tuple(camera for camera in simulated.cameras if camera.name != "agent")
    assert real.name == name and real.port != simulated.port
    assert replace(real, **{key: getattr(simulated, key) for key in of_driver}) == simulated


def test_no_robot_is_without_a_contract():
    made = [kind for kind in globals().values() if isinstance(kind, type) and issubclass(kind, RobotContract)]
    names = [*(kind.robot for kind in made if kind is not RobotContract), *REAL]
    assert sorted(names) == sorted(known_names("robots"))
