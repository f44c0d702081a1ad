"""Robot ports for real drivers: actions, streams, MoveIt Servo, and their checks before the first motion."""
