"""Thousands of requests, most of them wrong, to a real console behind its real server."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[3]))

from benchmark.fuzz_console import fuzz


@pytest.mark.parametrize("requests", [1_500, pytest.param(10_000, marks=pytest.mark.long)])
def test_no_request_makes_the_server_fail_or_a_command_be_carried_out_without_the_token(requests):
    outcome = fuzz(requests)
    assert outcome.faults == []
    # What it sent was of every kind.
    for status in (0, 200, 400, 401, 403, 404, 405, 409, 413, 415, 422):
        assert outcome.statuses[status] > requests / 500, outcome.statuses
    assert outcome.carried_out > requests / 100 and outcome.questions > requests / 1000, outcome
