"""Pair the scenes of control steps with the contacts of the robot, and of the objects that it carried."""

from __future__ import annotations

import threading
from dataclasses import replace

from robocontrast_ros.domain import Scene

Stamped = tuple[int, Scene]
"""A scene, and its stamp [ns]."""

_Touched = tuple[tuple[str, ...], tuple[str, ...]]
"""Entities that the robot touched, and entities that its carried objects touched."""


class ContactsJoin:
    """Adds the contacts of the robot, and of the objects that it carried, to scenes by stamp, in any order of arrival.

    Contacts come in the order of their stamps, so those of a time are complete once a message of that time, or a
    later one, has arrived. Contacts between two scenes belong to the later one: none is dropped. Any thread
    may call the methods.
    """

    def __init__(self) -> None:
        """Begin without contacts."""
        self._changed = threading.Condition()
        self._contacts: dict[int, _Touched] = {}
        self._waiting: dict[int, Scene] = {}
        self._latest = -1

    def add_contacts(self, stamp: int, entities: tuple[str, ...], carried: tuple[str, ...] = ()) -> list[Stamped]:
        """Take the contacts up to a time [ns]; return the scenes that are complete with them, in the order of time."""
        with self._changed:
            if stamp < self._latest:
                # The simulator's time was set back.
                self._contacts.clear()
                self._waiting.clear()
            self._contacts[stamp] = entities, carried
            self._latest = stamp
            self._changed.notify_all()
            return [self._pair(waiting) for waiting in sorted(self._waiting) if waiting <= stamp]

    def add_scene(self, stamp: int, scene: Scene) -> list[Stamped]:
        """Take the scene of a time [ns], without contacts; return it with its contacts if they are complete."""
        with self._changed:
            self._waiting[stamp] = scene
            return [self._pair(stamp)] if stamp <= self._latest else []

    def forget(self, stamp: int, timeout: float = 0.0) -> bool:
        """Drop the contacts up to a time [ns], at which the scene was set up anew.

        Return False if the contacts of that time do not arrive within the timeout [s].
        """
        with self._changed:
            complete = self._changed.wait_for(lambda: self._latest >= stamp, timeout)
            for old in [s for s in self._contacts if s <= stamp]:
                del self._contacts[old]
            return complete

    def _pair(self, stamp: int) -> Stamped:
        since = [both for s, both in self._contacts.items() if s <= stamp]
        contacts, carried = (tuple(sorted({name for both in since for name in both[k]})) for k in (0, 1))
        self.forget(stamp)
        return stamp, replace(self._waiting.pop(stamp), contacts=contacts, carried=carried)
