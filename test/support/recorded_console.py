"""What a console acts on, kept in a list; and a console that is asked in a thread of its own."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import Any

from robocontrast_ros.console.commands import Command, Prompt
from robocontrast_ros.console.console import Console, ConsolePhase, Refused, Reply
from robocontrast_ros.console.questions import JudgeQuestion, OperatorAnswer, SetUpQuestion, StartQuestion
from robocontrast_ros.domain import Pose, Scene, SetupMove

TIME_LIMIT = 30.0
"""How long anything is waited for [s]."""

MOVES = tuple(SetupMove(name, name, None, Pose.planar(0.1 * k, 0.0)) for k, name in enumerate(("cup", "red_block")))
SET_UP = SetUpQuestion(Scene(), Scene(), MOVES, expected=20.0)
DOUBTED = SetUpQuestion(Scene(), Scene(), MOVES, problems=("cup is 4.0 cm off, allowed is 1.0 cm",))
START = StartQuestion("t1", "pick the cup")
JUDGE = JudgeQuestion("t1", "pick the cup", "the time was over", 2)
NUMBERS = itertools.count()


class Steered:
    """A ``Steering`` that keeps what it was told, and refuses what it should."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.refuses: set[str] = set()

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name not in ("stop", "release", "reached", "pause", "resume", "correct", "end"):
            raise AttributeError(name)

        def act(*_: object) -> None:
            if name in self.refuses:
                raise Refused(f"no {name} now")
            self.done.append(name)

        return act


class Clock:
    """Seconds that go on when they are told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Asked:
    """A question in a thread of its own, asked by ``ask`` if that is not the console itself."""

    def __init__(self, console: Console, question: Any, ask: Callable[[Any], OperatorAnswer] | None = None) -> None:
        before, ask = console.version, ask or console.ask
        self._answers: list[OperatorAnswer] = []
        self._thread = threading.Thread(target=lambda: self._answers.append(ask(question)), daemon=True)
        self._thread.start()
        wait_until(lambda: console.version > before)

    @property
    def open(self) -> bool:
        return self._thread.is_alive()

    def answer(self) -> OperatorAnswer:
        """Wait for the answer."""
        self._thread.join(TIME_LIMIT)
        assert not self._thread.is_alive(), "not answered"
        return self._answers[0]


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait for a condition."""
    pause = threading.Event()
    for _ in range(int(TIME_LIMIT / 0.002)):
        if holds():
            return
        pause.wait(0.002)
    raise AssertionError("did not come to hold")


def given(console: Console, kind: type[Command], step: int | None = None, **more: Any) -> Reply:
    """Give a command of the present step, unless another one is named."""
    number, view = f"n{next(NUMBERS)}", console.view()
    if issubclass(kind, Prompt):
        more = {"at": view.now, **more}
    return console.carry_out(kind(id=number, step=view.step if step is None else step, **more))


def phase_of(console: Console) -> ConsolePhase:
    return console.view().phase


class RecordingOperatorView:
    """A ``console.web.OperatorView`` that keeps the commands that it was given."""

    def __init__(self) -> None:
        self.version, self.now = 1, 100.0
        self.given: list[Command] = []
        self.fails = False

    def shown(self) -> dict[str, Any]:
        if self.fails:
            raise RuntimeError("secret words\nTraceback")
        return {"version": self.version, "step": 0, "phase": "waiting"}

    def carry_out(self, command: Command) -> Reply:
        self.given.append(command)
        return Reply(True)

    def picture(self, name: str) -> bytes | None:
        return b"\xff\xd8picture" if name == "camera" else None
