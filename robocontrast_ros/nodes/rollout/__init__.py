"""The parts of the rollout node: the episode bench over ROS, its inputs, the policy client, the recorder watch."""
