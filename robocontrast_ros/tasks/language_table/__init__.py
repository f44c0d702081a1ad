"""Language-Table: eight blocks on a board, pushed about by a cylinder, in five families of instructions.

The numbers and words are those of the public environment (docs/language_table.md says where each
comes from, and where this task departs from it and why).
"""

from robocontrast_ros.tasks.language_table.task import LanguageTable

__all__ = ["LanguageTable"]
