"""Robot ports for real drivers: actions, streams, MoveIt Servo, and what they check before the first motion."""
