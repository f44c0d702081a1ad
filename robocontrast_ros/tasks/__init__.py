"""Task families: what an instance is, how it is said, when it is solved, and what would be optimal.

A task is a class that fits ``protocol.Task`` and is found by its entry point. It imports ``domain``
and ``configuration`` alone; ``language_table`` and ``vln`` ship.
"""
