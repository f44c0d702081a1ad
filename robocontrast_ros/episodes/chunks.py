"""Which action of which answer is carried out next, where a policy answers with several at once."""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray


class ChunkedActions:
    """The actions that a policy has announced, each for the action step that it was meant for.

    Action steps count from 0; an answer to the observation before step s speaks of the steps s, s + 1, …. What it
    says of a step that has passed is late and is dropped, never carried out in place of the next one.
    """

    def __init__(self, executed: int, ensemble: float | None = None) -> None:
        """Begin an episode.

        Args:
            executed: actions of a full answer that are carried out before the policy is asked again, at least 1.
            ensemble: None: the latest answer counts. Else all answers that speak of a step are averaged with the
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

    def add(self, step: int, actions: NDArray[np.float64]) -> None:
        """Take an answer, shape (n, action_size), n >= 1, to the observation before an action step."""
        if self._ensemble is None:
            self._answers.clear()
        self._answers.append((step, actions))
        self._ask_at = step + min(self._executed, len(actions))

    def next(self) -> NDArray[np.float64]:
        """Return the action of the coming step, shape (action_size,), and go on to the step after it.

        Raises:
            LookupError: no answer speaks of it; the policy was to be asked.
        """
        while self._answers and self.step >= self._answers[0][0] + len(self._answers[0][1]):
            self._answers.popleft()
        said = [
            actions[self.step - start]
            for start, actions in self._answers
            if 0 <= self.step - start < len(actions)
        ]
        if not said:
            raise LookupError(f"no answer speaks of action step {self.step}")
        self.step += 1
        if self._ensemble is None:
            return said[-1]
        return np.average(said, axis=0, weights=np.exp(-self._ensemble * np.arange(len(said))))
