"""What the rollout node consists of: the episode bench over ROS, its inputs, the policy client, the recorder watch."""
