"""Action chunks: the choice of the next action if a policy answers with several."""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray


class ChunkedActions:
    """The actions of a policy's answers, each for one action step.

    Action steps count from 0; an answer to the observation before step s is for the steps s, s + 1, …. An action for a
    step that has passed is dropped, never executed in place of the next one.
    """

    def __init__(self, executed: int, ensemble: float | None = None) -> None:
        """Begin an episode.

        Args:
            executed: actions of a full answer that are executed before the policy is asked again, at least 1.
            ensemble: None: the latest answer counts. Else all actions for a step are averaged with the
                weights exp(-ensemble * i), i = 0 for the oldest (Zhao et al. 2023, ACT, section IV-A).
        """
        self._executed, self._ensemble = executed, ensemble
        self._answers: deque[tuple[int, NDArray[np.float64]]] = deque()
        self._ask_at = 0
        self.step = 0

    @property
    def wanted(self) -> bool:
        """Whether the policy is to be asked before the coming action step."""
        return self.step >= self._ask_at

    @property
    def covered(self) -> bool:
        """Whether an answer has an action for the coming step."""
        return any(0 <= self.step - start < len(actions) for start, actions in self._answers)

    def add(self, step: int, actions: NDArray[np.float64]) -> None:
        """Take an answer, shape (n, action_size), n >= 1, to the observation before an action step."""
        if self._ensemble is None:
            self._answers.clear()
        self._answers.append((step, actions))
        self._ask_at = step + min(self._executed, len(actions))

    def next(self) -> NDArray[np.float64]:
        """Return the action of the coming step, shape (action_size,), and go on to the step after it.

        Raises:
            LookupError: no answer has an action for it; the policy had to be asked.
        """
        while self._answers and self.step >= self._answers[0][0] + len(self._answers[0][1]):
            self._answers.popleft()
        found = [
            actions[self.step - start] for start, actions in self._answers if 0 <= self.step - start < len(actions)
        ]
        if not found:
            raise LookupError(f"action step {self.step}: no answer covers it")
        self.step += 1
        if self._ensemble is None:
            return found[-1]
        return np.average(found, axis=0, weights=np.exp(-self._ensemble * np.arange(len(found))))
