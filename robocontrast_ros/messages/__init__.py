"""ROS messages to domain values, without ROS."""
