"""The ROS 2 shells around the core: they read parameters, call the core and publish messages.

Only this room imports rclpy and the generated messages.
"""
