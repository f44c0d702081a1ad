"""The content of the web application: the console's state, and pictures of the camera and of the wanted scene."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.console.commands import Command, Propose
from robocontrast_ros.console.console import Console, Reply
from robocontrast_ros.console.questions import SetUpQuestion
from robocontrast_ros.console.table_map import TableMap
from robocontrast_ros.console.view import view_as_json
from robocontrast_ros.domain import Scene

Picture = NDArray[np.uint8]

QUALITY = 80
"""Quality of JPEG pictures, of 100."""


class ConsoleOperatorView:
    """A ``console.web.OperatorView``."""

    def __init__(
        self,
        console: Console,
        tables: TableMap,
        camera: Callable[[], Picture | None],
        wanted: Callable[[Scene], Picture | None],
        session: str,
        practice: bool,
    ) -> None:
        """Take the parts.

        Args:
            console: the state.
            tables: draws scenes from above.
            camera: returns the camera's last picture, shape (height, width, 3), RGB; None without one.
            wanted: draws a scene as that camera would see it; None if it cannot be drawn.
            session: name of the session's run.
            practice: whether the session practises with a simulated table.
        """
        self._console, self._tables, self._camera, self._wanted = console, tables, camera, wanted
        self._of = session, practice
        self._drawn: tuple[int, bytes | None] = (-1, None)
        self._drawing = threading.Lock()

    def carry_out(self, command: Command) -> Reply:
        """Carry a command out, once; a path on the map is converted to the scene's frame."""
        if isinstance(command, Propose):
            command = replace(command, path=self._tables.in_scene(command.path))
        return self._console.carry_out(command)

    @property
    def version(self) -> int:
        """A number that grows with every change."""
        return self._console.version

    @property
    def now(self) -> float:
        """The time on the console's clock [s]."""
        return self._console.now

    def shown(self) -> dict[str, Any]:
        """Return the state as JSON."""
        return view_as_json(self._console.view(), self._tables, *self._of)

    def picture(self, name: str) -> bytes | None:
        """Return the picture ``camera`` or ``target`` as JPEG; None if there is none now."""
        if name == "camera":
            return _jpeg(self._camera())
        return self._target() if name == "target" else None

    def _target(self) -> bytes | None:
        view = self._console.view()
        if not isinstance(view.question, SetUpQuestion):
            return None
        with self._drawing:
            if self._drawn[0] != view.step:
                self._drawn = view.step, _jpeg(self._wanted(view.question.target))
            return self._drawn[1]


def _jpeg(picture: Picture | None) -> bytes | None:
    if picture is None:
        return None
    done, content = cv2.imencode(".jpg", picture[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, QUALITY])
    return content.tobytes() if done else None
