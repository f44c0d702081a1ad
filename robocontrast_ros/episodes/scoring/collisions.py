"""How often the robot began to touch something."""

from __future__ import annotations

from robocontrast_ros.domain import Scene


class CollisionCounter:
    """Counts rising edges: an entity that is touched now and was not touched in the scene before.

    Touching one thing without pause is one collision, however long it lasts; letting go and touching it
    again is another; touching two things at once is two.

    Attributes:
        count: collisions so far.
    """

    def __init__(self, start: Scene) -> None:
        """Begin a trial; what the robot touches in its start scene is no collision."""
        self._touched = frozenset(start.contacts)
        self.count = 0

    def update(self, scene: Scene) -> tuple[str, ...]:
        """Take the scene of one control step and return the entities that the robot began to touch."""
        began = tuple(name for name in scene.contacts if name not in self._touched)
        self._touched = frozenset(scene.contacts)
        self.count += len(began)
        return began
