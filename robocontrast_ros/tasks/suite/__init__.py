"""A suite of tasks on a table whose attributes and difficulty are known (seed 002)."""

from robocontrast_ros.tasks.suite.task import Suite as Suite
