"""How many threads the numeric libraries of our processes use."""

from __future__ import annotations

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""Environment in which they use one, where they read it when they are loaded. What is computed here is too small to
share: threads that wait for one another turn round and get in the way of others, and of themselves."""
