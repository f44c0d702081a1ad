"""The console of the person at the robot, without ROS: what is asked, what may be answered, the page and its access."""
