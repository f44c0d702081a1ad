"""A policy server that does not give its policy what it was sent: the trials of a session are void, and say so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from session_runs import SUPPORT, Workplace, events_of, finished

from robocontrast_ros.domain import Delivery, Fault
from robocontrast_ros.runs.events import SessionInterrupted, TrialVoid

CONTRASTS = {
    "strategy": {"name": "contrast_set", "perturbations": ["LB2"]},
    "test_set": {"size": 1, "families": ["block_to_block_relative_location"]},
}


@pytest.fixture
def place(tmp_path):
    return Workplace(tmp_path)


@pytest.fixture
def serve(place):
    """Return a function that starts a policy server with a fault, or ends it and starts one without."""
    servers = []

    def start(fault: str = "") -> None:
        for server in servers:
            server.terminate()
            server.communicate(timeout=60)
        parameter = f"policy:={json.dumps(place.policy('Staring', 'stale_server'))}"
        servers[:] = [
            subprocess.Popen(
                [sys.executable, str(SUPPORT / "stale_server.py"), "--ros-args", "-p", parameter],
                env={**os.environ, "STALE": fault},
                text=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
        ]
        assert any("serves (loaded in" in line for line in servers[0].stdout)

    yield start
    for server in servers:
        server.terminate()
        server.communicate(timeout=60)


def session(place: Workplace, **changes: object) -> object:
    external = {"policy": "", "policy_server": {"external": True}, "void_retries": 1}
    return place.session(**external, task=place.short_task(4), **changes)


def test_a_perturbed_instruction_that_does_not_arrive_voids_the_trial_until_a_server_delivers_it(
    place, serve: Callable[..., None]
):
    serve("first_instruction")
    code, output = place.run("evaluate", session(place, **CONTRASTS))
    assert code == 3, output
    (run,) = place.runs
    (base,), void = finished(run), [e for e in events_of(run) if isinstance(e, TrialVoid)]
    assert (base.trial.is_base, base.delivered) == (True, Delivery.CONFIRMED)
    assert [(v.trial.perturbation, v.trial.twin, v.attempt) for v in void] == [("LB2", "0000", 0), ("LB2", "0000", 1)]
    sent, received = void[0].trial.instance.instruction.text, base.trial.instance.instruction.text
    assert sent != received
    for attempt in void:
        assert attempt.fault is Fault.PERTURBATION_NOT_DELIVERED
        assert attempt.detail == f"instruction: sent '{sent}', received '{received}'"
    end = events_of(run)[-1]
    assert isinstance(end, SessionInterrupted) and end.fault is Fault.PERTURBATION_NOT_DELIVERED
    assert "PERTURBATION_NOT_DELIVERED" in (run / "trials.csv").read_text()

    serve()
    code, output = place.run("evaluate", "--resume", run)
    assert code == 0, output
    assert [(t.trial.perturbation, t.attempt, t.delivered) for t in finished(run)] == [
        ("base", 0, Delivery.CONFIRMED),
        ("LB2", 2, Delivery.CONFIRMED),
    ]
    assert "delivered: unknown" not in output
    code, output = place.run("report", run)
    assert code == 0, output
    page = (run / "report.html").read_text()
    assert "PERTURBATION_NOT_DELIVERED: instruction: sent" in page
    assert "<dt>Compared with</dt><dd>trial 0000</dd>" in page


def test_old_images_void_a_base_trial_too(place, serve: Callable[..., None]):
    serve("first_images")
    code, output = place.run("evaluate", session(place))
    assert code == 3, output
    (run,) = place.runs
    (first,), void = finished(run), [e for e in events_of(run) if isinstance(e, TrialVoid)]
    assert [v.trial.index for v in void] == [1, 1]
    for attempt in void:
        assert attempt.detail.startswith("first images, by SHA-256: sent ")
        assert f"received {first.observed.image_digest[:12]}; a base trial is void, too" in attempt.detail


def test_a_server_that_does_not_say_what_it_received_voids_nothing_and_the_summary_says_so(
    place, serve: Callable[..., None]
):
    serve("silence")
    code, output = place.run("evaluate", session(place, **CONTRASTS))
    assert code == 0, output
    (run,) = place.runs
    assert [t.delivered for t in finished(run)] == [Delivery.UNKNOWN] * 2
    assert "delivered: unknown for 2 of 2 trials" in output
    assert json.loads((run / "summary.json").read_text())["delivery_unknown"] == 2
