"""The benchmark of the policy server runs, and its other half speaks as openpi does."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import msgpack
import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

SCRIPT = Path(__file__).parents[2] / "benchmark" / "policy_server.py"

# What openpi_client.msgpack_numpy.packb of openpi (commit 15a9616) makes of the observation below.
PACKED = (
    b"\x83\xb4observation/camera_0\x84\xc4\x0b__ndarray__\xc3\xc4\x04data\xc4\x06\x00\x01\x02\x03\x04\x05\xc4\x05dtype"
    b"\xa3|u1\xc4\x05shape\x93\x01\x02\x03\xb1observation/state\x84\xc4\x0b__ndarray__\xc3\xc4\x04data\xc4\x08\x00\x00"
    b"\x00\x00\x00\x00\xe0?\xc4\x05dtype\xa3<f8\xc4\x05shape\x91\x01\xa6prompt\xa4push"
)
OBSERVATION = {
    "observation/camera_0": np.arange(6, dtype=np.uint8).reshape(1, 2, 3),
    "observation/state": np.array([0.5]),
    "prompt": "push",
}


@pytest.fixture(scope="module")
def benchmark():
    spec = importlib.util.spec_from_file_location("policy_server", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_its_openpi_half_packs_and_unpacks_the_bytes_that_openpi_does(benchmark):
    assert msgpack.Packer(default=benchmark.pack_array).pack(OBSERVATION) == PACKED
    unpacked = benchmark.unpack(PACKED)
    assert unpacked.keys() == OBSERVATION.keys() and unpacked["prompt"] == "push"
    for key in ("observation/camera_0", "observation/state"):
        np.testing.assert_array_equal(unpacked[key], OBSERVATION[key], strict=True)


@pytest.mark.long
def test_it_times_every_way_to_ask_with_every_number_of_cameras(tmp_path):
    file = tmp_path / "numbers.json"
    words = ["--cameras", "2", "--blocks", "1", "--calls", "3", "--json", str(file)]
    done = subprocess.run([sys.executable, str(SCRIPT), *words], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    numbers = json.loads(file.read_text())
    assert numbers["calls"] == 6
    for name in ("ours", "openpi"):
        measured = numbers[f"{name}, 2 cameras"]
        assert 0.0 < measured["fastest_ms"] <= measured["median_ms"] <= measured["p95_ms"]
    assert "openpi, 2 cameras" in done.stdout
