"""The safety filter, between a policy's commands and a robot."""
