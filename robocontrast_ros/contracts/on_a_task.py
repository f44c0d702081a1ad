"""The task, and its test instances, for the tests of a contract."""

from __future__ import annotations

import numpy as np

from robocontrast_ros.configuration import load_configured, resolve_uri
from robocontrast_ros.contracts.checking import once
from robocontrast_ros.domain import TestInstance
from robocontrast_ros.tasks.protocol import Task


class OnATask:
    """Base of contracts that need a task: Language-Table, unless ``task`` returns another.

    Attributes:
        draws: number of test instances.
        stream: number of their independent stream of random numbers.
    """

    draws = 5
    stream = 0

    def task(self) -> Task:
        """Return the task of the tests."""
        return load_configured("tasks", resolve_uri("package://robocontrast_ros/config/tasks/language_table.yaml"))

    @once
    def used_task(self) -> Task:
        """Return the task of all checks."""
        return self.task()

    @once
    def drawn(self) -> tuple[TestInstance, ...]:
        """Return the test instances, of all families in turn."""
        task = self.used_task()
        families = task.families
        return tuple(
            task.sample(np.random.default_rng([self.stream, seed]), f"x{seed}", families[seed % len(families)])
            for seed in range(self.draws)
        )
