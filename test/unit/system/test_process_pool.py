"""Processes that run functions beside this one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from session_runs import wait_until

from robocontrast_ros.system.processes import process_pool

PARENT = """
import os, time
from robocontrast_ros.system.processes import process_pool
with process_pool(1) as submit:
    print(submit(os.getpid).result(), flush=True)
    time.sleep(60)
"""


def test_a_process_without_a_call_ends_when_its_parent_is_killed():
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        child = Path("/proc", parent.stdout.readline().strip())
        assert child.exists()
        parent.kill()
    wait_until(lambda: not child.exists(), "the end of the process")


@pytest.mark.parametrize(
    ("name", "value"),
    [("OPENBLAS_NUM_THREADS", "1"), ("OMP_NUM_THREADS", "3")],
    ids=["pinned", "as the user says"],
)
def test_a_process_has_pinned_numerics(monkeypatch, name, value):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    with process_pool(1) as submit:
        assert submit(os.getenv, name).result() == value
