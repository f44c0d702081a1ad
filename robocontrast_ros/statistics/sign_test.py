"""A sequential comparison of two policies by success, for pairs with a greatest number known in advance."""

from __future__ import annotations

import math

import numpy as np


class SequentialSignTest:
    """Sign test with a look after every pair, up to a known greatest number of pairs.

    Only the pairs count in which one policy alone succeeds. If both policies are equally good, a fair coin decides
    which one, independently for each such pair. So, given these pairs, their signs are a walk of fair coins, and the
    probability that the walk has reached the limit is summed exactly. The share (1 - exp(-t)) / (1 - exp(-1)) of the
    error rate may be spent up to pair t * most (Hwang, Shih and De Cani 1990, with their parameter at 1); each limit is
    the nearest to 0 that spends no more.

    It is exact for every share of pairs that count, also one that changes, and for any dependence within a pair. The
    greatest number of pairs has to be fixed before the first; if more or fewer come, the error rate still holds.
    """

    def __init__(self, error_rate: float, most: int) -> None:
        """Begin with no pair.

        Args:
            error_rate: probability of ever answering if the policies are equally good, in (0, 1).
            most: greatest number of pairs.

        Raises:
            ValueError: the error rate or the number is impossible.
        """
        if not 0.0 < error_rate < 1.0:
            raise ValueError(f"error_rate: got {error_rate}, expected a number between 0 and 1")
        if most < 1:
            raise ValueError(f"most: got {most}, expected a number of pairs")
        self.error_rate, self.most = error_rate, most
        self.number = 0
        """Number of pairs so far."""
        self.first_alone = 0
        """Number of pairs in which the first policy alone succeeded."""
        self.second_alone = 0
        """Number of pairs in which the second policy alone succeeded."""
        self.answer = 0
        """1 if the first policy is better, -1 if the second is, 0 as long as this is unknown."""
        self.limit = 1
        """Lead in successes that one policy needs for an answer, at the last pair that counted."""
        self.spent = 0.0
        """Probability of an answer by now for equally good policies, in this order of pairs that count."""
        # For equally good policies: probability that there is no answer, and that the lead is k.
        self._apart = np.array([1.0])

    def update(self, first: float, second: float) -> None:
        """Take the next pair.

        Args:
            first: 1 if the first policy succeeded, else 0.
            second: the same for the second policy.

        Raises:
            ValueError: one is neither 0 nor 1.
        """
        for value in (first, second):
            if value not in (0.0, 1.0):
                raise ValueError(f"success: got {value}, expected 0 or 1")
        self.number += 1
        if first == second:
            return
        self.first_alone += first > second
        self.second_alone += second > first
        self._toss()
        ahead = self.first_alone - self.second_alone
        if abs(ahead) >= self.limit and not self.answer:
            self.answer = 1 if ahead > 0 else -1

    def _toss(self) -> None:
        """Toss the coin of one more pair that counts, and find the limit that the error rate allows."""
        before, after = self._apart, np.zeros(len(self._apart) + 1)
        after[1:] = 0.5 * before
        after[1] += 0.5 * before[0]
        after[: len(before) - 1] += 0.5 * before[1:]
        at_least = np.cumsum(after[::-1])[::-1]
        share = math.expm1(-min(1.0, self.number / self.most)) / math.expm1(-1.0)
        # Equal policies are no answer, whatever error rate is left.
        affordable = np.flatnonzero(at_least[1:] <= self.error_rate * share - self.spent)
        self.limit = 1 + int(affordable[0]) if len(affordable) else len(after)
        self.spent += float(after[self.limit :].sum())
        self._apart = after[: self.limit]
