"""Tabletop: a hand picks things up, moves them near, stacks them, and puts them on and in other things.

docs/tabletop.md defines scenes, goals and plans, and gives the source of each number.
"""

from robocontrast_ros.tasks.tabletop.task import Tabletop

__all__ = ["Tabletop"]
