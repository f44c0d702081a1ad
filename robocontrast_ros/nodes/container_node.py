"""container: several nodes of a session in one process, in which messages take less time than between processes."""

from __future__ import annotations

import sys

from rclpy.utilities import remove_ros_args

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.graph.names import NO_SHARED_MEMORY
from robocontrast_ros.nodes.policy_server_node import PolicyServer
from robocontrast_ros.nodes.rollout_node import Rollout
from robocontrast_ros.nodes.runtime.intra_process import hand_over
from robocontrast_ros.nodes.runtime.main import refuse, run_nodes
from robocontrast_ros.nodes.scorer_node import Scorer
from robocontrast_ros.nodes.sim_bridge_node import SimBridge
from robocontrast_ros.nodes.simulator_node import Simulator

COMPOSABLE = {
    "simulator": Simulator,
    "sim_bridge": SimBridge,
    "scorer": Scorer,
    "policy_server": PolicyServer,
    "rollout": Rollout,
}
"""The nodes that may be in one process, in the order in which they are made: `rollout` waits for the others."""

LATER = {"tool_pose": "rollout"}
"""Topic that a node subscribes to before its publisher is made -> the node that publishes it."""

SWITCH_INTERVAL = 0.0005
"""Time for which a thread may keep the interpreter from others [s]; the default, 0.005, is half a control step."""


def main() -> None:
    """Run the nodes that the arguments name, each with its own parameters."""
    wanted = [word for word in remove_ros_args(sys.argv)[1:] if word != NO_SHARED_MEMORY]
    for name in wanted or [""]:
        if name not in COMPOSABLE:
            refuse(
                __name__,
                ConfigurationError.unknown("command line", "NODE", name, COMPOSABLE, "node of a container"),
                2,
            )
    later = [topic for topic, publisher in LATER.items() if publisher in wanted]
    hand_over(later, together="simulator" in wanted)
    sys.setswitchinterval(SWITCH_INTERVAL)
    run_nodes([cls for name, cls in COMPOSABLE.items() if name in wanted])


if __name__ == "__main__":
    main()
