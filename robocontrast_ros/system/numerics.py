"""Settings of the numeric libraries of our processes: the same seed gives the same bits on every processor.

The first safeguard is the code itself: no simulation, plan or score leaves the order of a sum to a library
(``domain.products``), and shipped networks answer in double precision, rounded. This is the second one: the libraries
use one thread and the AVX2 kernels, which every processor of the last ten years has. docs/reproducibility.md.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from threadpoolctl import ThreadpoolController

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""One thread. The computations here are too small to share: waiting threads spin, and slow down the others."""

AVX2_KERNELS = {
    "OPENBLAS_CORETYPE": "Haswell",
    "MKL_CBWR": "AVX2",
    "ATEN_CPU_CAPABILITY": "avx2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
}
"""The AVX2 kernels of OpenBLAS (NumPy, SciPy), MKL, ATen and oneDNN (PyTorch)."""


def pin(environment: MutableMapping[str, str]) -> dict[str, str]:
    """Add the variables that pin the libraries to an environment, except those set by the user; return the added ones.

    The libraries read them when they are loaded: call this before a process starts, or before it imports NumPy.
    """
    wanted = ONE_THREAD | (AVX2_KERNELS if "avx2" in processor_flags() else {})
    added = {name: value for name, value in wanted.items() if name not in environment}
    environment.update(added)
    return added


@contextmanager
def pinned() -> Iterator[None]:
    """Pin the libraries of processes that are started in the block."""
    added = pin(os.environ)
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]


@contextmanager
def one_thread() -> Iterator[None]:
    """Let libraries that are loaded already, as in a notebook, use one thread in the block."""
    with _loaded().limit(limits=1):
        yield


@cache
def _loaded() -> ThreadpoolController:
    return ThreadpoolController()


def machine() -> dict[str, str]:
    """Return facts that a result may depend on besides packages: processor, its widest vectors, Python, C library."""
    flags = processor_flags()
    vectors = next((name for name in ("avx512f", "avx2", "avx") if name in flags), "")
    return {
        "processor": _cpu_info("model name") or platform.processor() or platform.machine(),
        "vectors": vectors,
        "python": platform.python_version(),
        "libc": " ".join(platform.libc_ver()).strip(),
    }


@cache
def processor_flags() -> frozenset[str]:
    """Return the processor's instruction sets, as Linux spells them; empty if unknown."""
    return frozenset(_cpu_info("flags").split())


def _cpu_info(key: str) -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(key)), "")
