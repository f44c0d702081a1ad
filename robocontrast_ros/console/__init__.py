"""The console of the person at the robot, without ROS: questions, allowed answers, the page and its access."""
