"""How the numeric libraries of our processes compute, so that the same seed gives the same bits on every processor.

The first line is the code itself: nothing that is simulated, planned or scored leaves the order of a sum to a library
(``domain.products``), and shipped networks answer in double precision, rounded. This is the second line: the libraries
use one thread and the kernels of AVX2, which every processor of the last ten years has. docs/reproducibility.md.
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
"""One thread. What is computed here is too small to share: threads that wait for one another turn round and get in the
way of others, and of themselves."""

AVX2_KERNELS = {
    "OPENBLAS_CORETYPE": "Haswell",
    "MKL_CBWR": "AVX2",
    "ATEN_CPU_CAPABILITY": "avx2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
}
"""The kernels of OpenBLAS (NumPy, SciPy), MKL, ATen and oneDNN (PyTorch) for processors with AVX2."""


def pin(environment: MutableMapping[str, str]) -> dict[str, str]:
    """Put into an environment what pins the libraries, where the user has not said else; return what was put there.

    They read it when they are loaded: call this before a process starts, or before it imports NumPy.
    """
    wanted = ONE_THREAD | (AVX2_KERNELS if "avx2" in processor_flags() else {})
    added = {name: value for name, value in wanted.items() if name not in environment}
    environment.update(added)
    return added


@contextmanager
def pinned() -> Iterator[None]:
    """Pin the libraries of processes that are started meanwhile."""
    added = pin(os.environ)
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]


@contextmanager
def one_thread() -> Iterator[None]:
    """Let the libraries that are loaded already use one thread meanwhile: in a notebook nobody pinned them before."""
    with _loaded().limit(limits=1):
        yield


@cache
def _loaded() -> ThreadpoolController:
    return ThreadpoolController()


def machine() -> dict[str, str]:
    """Return what a result could depend on that is no package: processor, its widest vectors, Python, C library."""
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
    """Return the instruction sets that the processor names, as Linux spells them; empty where it says nothing."""
    return frozenset(_cpu_info("flags").split())


def _cpu_info(key: str) -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(key)), "")
