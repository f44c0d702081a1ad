"""The same trials to the last bit on other processors: golden digests, recomputed with other kernels and threads."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from robocontrast_ros.analysis.data.golden import KEYED, Golden
from robocontrast_ros.runs.versions import session_versions
from robocontrast_ros.system.numerics import processor_flags

torch = pytest.importorskip("torch", reason="the extra `torch` is not installed")

CHECKOUT = Path(__file__).resolve().parents[3]
GOLDEN = {file.stem: Golden.load(file) for file in sorted((CHECKOUT / "config" / "golden").glob("*.json"))}
PINS = ("_NUM_THREADS", "OPENBLAS_", "MKL_", "ATEN_", "ONEDNN_", "NPY_", "OPENCV_", "LP_")


def threads(number):
    return {f"{library}_NUM_THREADS": str(number) for library in ("OMP", "OPENBLAS", "MKL")}


def numpy_features():
    """Return what NumPy would use here beyond AVX2."""
    from numpy._core import _multiarray_umath as core

    wide = [name for name in core.__cpu_dispatch__ if name.startswith("AVX512") or name == "X86_V4"]
    return " ".join(name for name in wide if core.__cpu_features__[name])


OTHERS = {
    "this processor, nothing pinned": ({}, "sse4_2"),
    "AVX2 alone, 1 thread": (
        {
            "OPENBLAS_CORETYPE": "Haswell",
            "ATEN_CPU_CAPABILITY": "avx2",
            "ONEDNN_MAX_CPU_ISA": "AVX2",
            "MKL_CBWR": "AVX2",
            "NPY_DISABLE_CPU_FEATURES": numpy_features(),
            "OPENCV_CPU_DISABLE": "AVX512-SKX,AVX512-ICL",
            "OPENCV_IPP": "disabled",
            "LP_NATIVE_VECTOR_WIDTH": "128",
            **threads(1),
        },
        "avx2",
    ),
    "AVX-512, 2 threads": (
        {
            "OPENBLAS_CORETYPE": "SkylakeX",
            "ATEN_CPU_CAPABILITY": "avx512",
            "ONEDNN_MAX_CPU_ISA": "AVX512_CORE",
            **threads(2),
        },
        "avx512f",
    ),
    "AMD, 4 threads": (
        {
            "OPENBLAS_CORETYPE": "Zen",
            "ATEN_CPU_CAPABILITY": "default",
            "MKL_CBWR": "COMPATIBLE",
            **threads(4),
        },
        "avx2",
    ),
}
"""Name -> the environment in which libraries compute as on another machine, and what the processor needs for it."""


USUAL = "AMD, 4 threads"
"""That of `make test`."""

FEW = ("language_table_demo_film_bc", "locobot_vln", "tabletop_demo")
"""Of the files one of each task, two with a network."""


def first_trials(environment, files):
    """Return the digests of the first trials of some files, computed in a process of their own."""
    plain = {name: value for name, value in os.environ.items() if not any(pin in name for pin in PINS)}
    done = subprocess.run(
        [sys.executable, str(CHECKOUT / "scripts" / "golden.py"), "first", *files],
        env={**plain, **environment},
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def installed():
    """Return the versions that digests are made for, without the suffixes of builds."""
    found = session_versions()
    return {name: found[name].partition("+")[0] for name in KEYED if name in found}


def test_the_first_trials_of_each_task_are_the_golden_ones(record_property):
    check(USUAL, FEW, record_property)


@pytest.mark.long
@pytest.mark.parametrize("name", OTHERS)
def test_the_first_trials_are_the_golden_ones(name, record_property):
    # The few are those of the test above.
    files = [file for file in GOLDEN if name != USUAL or file not in FEW]
    check(name, tuple(files), record_property)


def check(name, files, record_property):
    environment, needed = OTHERS[name]
    if needed not in processor_flags():
        pytest.skip(f"this processor has no {needed}")
    versions = next(iter(GOLDEN.values())).versions
    if installed() != versions:
        pytest.skip(f"the golden digests are those of {versions}, here are {installed()}; the lock has moved on")
    found = first_trials(environment, files)
    assert found.keys() == {*files}
    for session, digests in found.items():
        assert digests
        assert tuple(digests) == GOLDEN[session].trials[: len(digests)], session
    number = sum(len(digests) for digests in found.values())
    record_property("golden digest", f"{name}: {number} of {number} trials are the same to the last bit")


def test_the_lock_has_the_versions_that_the_golden_digests_were_made_with():
    lock = (CHECKOUT / "requirements.lock").read_text(encoding="utf-8")
    wanted = (CHECKOUT / "requirements.in").read_text(encoding="utf-8")
    for golden in GOLDEN.values():
        for package, version in golden.versions.items():
            assert f"{package}=={version}" in (wanted if package == "torch" else lock), (
                f"{package} has another version now: run scripts/golden.py make, then make docs-all"
            )


def test_the_products_of_this_processor_s_libraries_differ_so_that_there_is_something_to_prove():
    """Where all kernels gave the same bits, the tests above could not fail."""
    if "avx512f" not in processor_flags():
        pytest.skip("one kind of kernel is all that this processor has")
    program = (
        "import numpy as np; r = np.random.default_rng(0); a, b = r.random((7, 16)), r.random((16, 7)); "
        "print((a @ b).tobytes().hex())"
    )
    results = set()
    for core in ("Haswell", "SkylakeX"):
        environment = {**os.environ, "OPENBLAS_CORETYPE": core}
        results.add(subprocess.check_output([sys.executable, "-c", program], env=environment))
    assert len(results) == 2
