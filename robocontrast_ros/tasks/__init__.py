"""Task families: test instances, their wording, their goals and their optimal plans.

A task is a class that fits ``protocol.Task`` and is found by its entry point. It imports ``domain``
and ``configuration`` alone; ``language_table`` and ``vln`` ship.
"""
