"""Run an evaluation session: the same graph that `robocontrast evaluate` starts, for `ros2 launch`."""

from robocontrast_ros.nodes.launching import session_launch


def generate_launch_description():
    """Declare the arguments, and include the launch files of the session's processes."""
    return session_launch(__file__)
