"""Products of small matrices, and lengths of vectors, with the same bits on every processor.

NumPy leaves ``@``, ``dot`` and the norm of a whole array to OpenBLAS, whose order of sums depends on the processor.
When blocks touch, one bit of a joint's position changes the trial. So everything that a trial or its scores depend on
uses these, and ``test/unit/packaging/test_products.py`` checks that.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def product(a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
    """Return the matrix product of arrays of shapes (..., n, m) and (..., m, k), shape (..., n, k)."""
    return np.einsum("...ij,...jk->...ik", a, b)


def dot(a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
    """Return the inner products of vectors, shape (..., n) both, shape (...)."""
    return np.add.reduce(np.multiply(a, b), axis=-1)


def norm(vector: ArrayLike) -> NDArray[np.float64]:
    """Return the Euclidean lengths of vectors, shape (..., n), shape (...)."""
    return np.sqrt(dot(vector, vector))
