"""Kitchen: drawers, doors and knobs, and things that are put on, in and beside others (seed 003).

docs/kitchen.md describes things, problems, predicates and plans.
"""

from robocontrast_ros.tasks.kitchen.task import Kitchen, Skill

__all__ = ["Kitchen", "Skill"]
