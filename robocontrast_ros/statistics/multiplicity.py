"""p-values adjusted for the number of tests."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float | None]) -> tuple[float | None, ...]:
    """Return the p-values of a family of tests, adjusted by Holm's step-down procedure (1979), in the same order.

    A test rejects if its adjusted value is no greater than the error rate. The probability that any test of the family
    rejects wrongly is then no more than that rate, however the tests depend on each other.

    Args:
        p_values: p-values of the tests; None if there was nothing to test, which counts as no test.

    Returns:
        The adjusted values; None if there was no test, or if it is the only one, which needs no adjustment.
    """
    tests = sorted((p, number) for number, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    if len(tests) > 1:
        greatest = 0.0
        for rank, (p, number) in enumerate(tests):
            greatest = max(greatest, float(p) * (len(tests) - rank))
            adjusted[number] = min(greatest, 1.0)
    return tuple(adjusted)
