"""The embedded world: MuJoCo physics, cameras and contacts, without ROS."""
