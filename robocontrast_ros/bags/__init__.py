"""One rosbag2 (MCAP) per trial: written raw, read back without ROS.

Nothing is imported here: every node uses ``messages.decoding``, and only some need a bag.
"""
