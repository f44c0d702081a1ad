"""Language-Table: eight blocks on a board, pushed by a cylinder, and five families of instructions.

Numbers and words are those of the public environment (docs/language_table.md gives the source of each, and this task's
differences with their reasons).
"""

from robocontrast_ros.tasks.language_table.task import LanguageTable

__all__ = ["LanguageTable"]
