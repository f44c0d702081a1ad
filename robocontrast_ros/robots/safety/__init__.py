"""The safety filter: what is between a policy's commands and a robot."""
