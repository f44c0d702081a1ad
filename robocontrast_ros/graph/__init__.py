"""The ROS graph of a session: its nodes, its launch arguments, its ROS domain. Nothing here imports ROS."""
