"""A running session is paused, resumed and aborted through its services."""

from __future__ import annotations

import pytest

rclpy = pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from robocontrast_ros.msg import SessionStatus  # noqa: E402
from robocontrast_ros.srv import AbortSession, PauseSession, ResumeSession, StartSession  # noqa: E402
from session_runs import Workplace, events_of, finish, finished, node_pids, wait_until  # noqa: E402
from spinning import spun_node  # noqa: E402

from robocontrast_ros.nodes.runtime.channel import DiscoveryProbe, call  # noqa: E402
from robocontrast_ros.nodes.runtime.qos import LATCHED  # noqa: E402
from robocontrast_ros.runs.events import Paused, Resumed, SessionInterrupted, TrialStarted  # noqa: E402


@pytest.fixture
def operator():
    """Return a node that is spun, in the session's domain."""
    with spun_node("operator") as node:
        yield node


def test_a_session_is_paused_resumed_and_aborted(tmp_path, operator):
    place = Workplace(tmp_path)
    states = []
    operator.create_subscription(SessionStatus, "session_status", lambda m: states.append(m.state), LATCHED)
    services = {"start": StartSession, "pause": PauseSession, "resume": ResumeSession, "abort": AbortSession}
    clients = {name: operator.create_client(kind, f"episode_manager/{name}") for name, kind in services.items()}

    known = DiscoveryProbe(operator, "episode_manager")

    def ask(name: str):
        known.wait(240.0)
        return call(clients[name], services[name].Request(), 120.0)

    process = place.begin("evaluate", place.session(policy="random", test_set={"size": 6}))
    try:
        run = wait_until(lambda: place.runs and place.runs[0], "a run folder")
        wait_until(lambda: any(isinstance(e, TrialStarted) for e in events_of(run)), "the first trial")
        again = ask("start")
        assert not again.accepted and "started already" in again.detail
        assert not ask("resume").accepted, "it is not paused"
        assert ask("pause").accepted
        wait_until(lambda: any(isinstance(e, Paused) for e in events_of(run)), "the pause")
        wait_until(lambda: SessionStatus.PAUSED in states, "the status")
        done = len(finished(run))
        assert ask("resume").accepted
        wait_until(lambda: any(isinstance(e, Resumed) for e in events_of(run)), "the resumption")
        wait_until(lambda: len(finished(run)) > done, "a further trial")
        assert ask("abort").accepted
    finally:
        code, output = finish(process)
    assert code == 3, output
    assert "--resume" in output
    assert isinstance(events_of(run)[-1], SessionInterrupted)
    assert node_pids(run) == {}
