"""The controllers of ros2_control: their states, and their activation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rcl_interfaces.msg import ParameterType, ParameterValue
from rcl_interfaces.srv import GetParameters
from rclpy.node import Node

from robocontrast_ros.nodes.rollout.drivers.faults import Kind, absence, interface, robot_fault
from robocontrast_ros.nodes.runtime.channel import NoAnswer, call, first_call


class Controllers:
    """A controller manager, by the services of `controller_manager_msgs`."""

    def __init__(self, node: Node, manager: str, timeout: float) -> None:
        """Make the clients.

        Raises:
            BenchFault: controller_manager_msgs is not installed.
        """
        self._node, self._timeout = node, timeout
        self._switch_type = interface("controller_manager_msgs/srv/SwitchController")
        self._list_type = interface("controller_manager_msgs/srv/ListControllers")
        self._switch = node.create_client(self._switch_type, f"{manager}/switch_controller")
        self._list = node.create_client(self._list_type, f"{manager}/list_controllers")
        self._list_name = f"{manager}/list_controllers"
        self._activated: list[str] = []
        self._deactivated: list[str] = []

    def state(self, controller: str) -> str:
        """Return the state of a controller: active, inactive or unconfigured.

        Raises:
            BenchFault: ROBOT_FAULT; the manager does not answer, or has not loaded the controller.
        """
        return self._find(controller, self._listed()).state

    def check(self, controller: str) -> None:
        """Make sure that a controller is active, or can be activated.

        Raises:
            BenchFault: ROBOT_FAULT; the manager does not answer, or has not loaded or not configured the controller.
        """
        self._usable(controller, self._listed())

    def activate(self, controller: str) -> None:
        """Activate an inactive controller, in place of others that move the same joints: all of this or nothing.

        Raises:
            BenchFault: ROBOT_FAULT; the manager does not answer, or refuses.
        """
        listed = self._listed()
        wanted = self._usable(controller, listed)
        if wanted.state == "active":
            return
        joints = _joints(wanted.required_command_interfaces)
        rivals = [c.name for c in listed if c.state == "active" and joints & _joints(c.claimed_interfaces)]
        self._do(activate=[controller], deactivate=rivals)
        self._activated.append(controller)
        self._deactivated += rivals

    def restore(self) -> None:
        """Undo all switches.

        Raises:
            BenchFault: ROBOT_FAULT; the manager does not answer, or refuses.
        """
        if self._activated:
            self._do(activate=self._deactivated, deactivate=self._activated)
            self._activated, self._deactivated = [], []

    def _do(self, activate: list[str], deactivate: list[str]) -> None:
        request = self._switch_type.Request(
            activate_controllers=activate,
            deactivate_controllers=deactivate,
            strictness=self._switch_type.Request.STRICT,
        )
        request.timeout.sec = max(int(self._timeout), 1)
        try:
            answer = call(self._switch, request, self._timeout + request.timeout.sec)
        except NoAnswer as error:
            raise robot_fault(f"{error}; restart the robot's driver") from None
        if not answer.ok:
            said = getattr(answer, "message", "") or "it says no more; its log does"
            instead = f" in place of {', '.join(deactivate)}" if deactivate else ""
            raise robot_fault(f"the controller manager does not activate {', '.join(activate)}{instead}: {said}")

    def _listed(self) -> list[Any]:
        if not self._list.wait_for_service(timeout_sec=self._timeout):
            raise robot_fault(absence(self._node, self._list_name, Kind.SERVICE))
        try:
            return list(first_call(self._list, self._list_type.Request(), self._timeout).controller)
        except NoAnswer as error:
            raise robot_fault(f"{error}; restart the robot's driver") from None

    def _usable(self, controller: str, listed: list[Any]) -> Any:
        found = self._find(controller, listed)
        if found.state not in ("active", "inactive"):
            raise robot_fault(
                f"the controller '{controller}' is {found.state}: configure it "
                f"(ros2 control set_controller_state {controller} inactive)"
            )
        return found

    def _find(self, controller: str, listed: list[Any]) -> Any:
        found = next((c for c in listed if c.name == controller), None)
        if found is None:
            names = ", ".join(f"{c.name} ({c.state})" for c in listed) or "none"
            raise robot_fault(
                f"the controller '{controller}' is not loaded; there are: {names}. "
                "Load it, or correct `driver` in the robot's file"
            )
        return found


class ControllerParameters:
    """Parameters of a controller's node."""

    def __init__(self, node: Node, controller: str, timeout: float) -> None:
        """Make the client."""
        self._node, self._name, self._timeout = node, f"{controller}/get_parameters", timeout
        self._client = node.create_client(GetParameters, self._name)

    def read(self, *names: str) -> list[Any]:
        """Return values: a list of texts, a text or a number; None for a parameter that the node does not have.

        Raises:
            BenchFault: ROBOT_FAULT; the node does not answer.
        """
        if not self._client.wait_for_service(timeout_sec=self._timeout):
            raise robot_fault(absence(self._node, self._name, Kind.SERVICE))
        try:
            values = first_call(self._client, GetParameters.Request(names=list(names)), self._timeout).values
        except NoAnswer as error:
            raise robot_fault(f"{error}; restart the robot's driver") from None
        found = [_value(value) for value in values]
        return [*found, *[None] * (len(names) - len(found))]

    def request(self, name: str, done: Callable[[Any], None]) -> None:
        """Have a function called with a parameter's value, without waiting; never if the node has not been found."""
        if self._client.service_is_ready():
            future = self._client.call_async(GetParameters.Request(names=[name]))
            future.add_done_callback(lambda answer: done(_value(answer.result().values[0])))


def _value(value: ParameterValue) -> Any:
    kind = ParameterType
    if value.type == kind.PARAMETER_STRING_ARRAY:
        return list(value.string_array_value)
    found = {kind.PARAMETER_STRING: value.string_value, kind.PARAMETER_DOUBLE: value.double_value}
    return found.get(value.type)


def _joints(interfaces: list[str]) -> set[str]:
    """Return the joints of command interfaces such as elbow_joint/position."""
    return {name.rpartition("/")[0] for name in interfaces}
