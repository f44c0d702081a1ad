"""Run the simulator of another physics engine alone."""

from robocontrast_ros.nodes.launching import process_launch


def generate_launch_description():
    """Declare the arguments, and start the process."""
    return process_launch("second_simulator")
