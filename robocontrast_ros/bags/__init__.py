"""One rosbag2 (MCAP) per trial: written raw, read back without ROS."""
