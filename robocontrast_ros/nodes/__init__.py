"""The ROS 2 shells around the core: parameters in, core called, messages out.

rclpy and the generated messages are imported here and nowhere else.
"""
