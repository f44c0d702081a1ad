"""The policy of a running session is swapped by the command, and a swap that fails leaves the old one serving."""

from __future__ import annotations

import pytest
import yaml

pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from robocontrast_ros.msg import SessionStatus
from robocontrast_ros.srv import PauseSession, ResumeSession, SwapPolicy
from session_runs import Workplace, events_of, finish, finished, node_pids, wait_until
from spinning import spun_node

from robocontrast_ros.analysis.data.trials import trials_table
from robocontrast_ros.nodes.runtime.channel import DiscoveryProbe, call
from robocontrast_ros.nodes.runtime.qos import LATCHED
from robocontrast_ros.runs.events import Paused, PolicyLoaded, PolicyRefused, TrialStarted


@pytest.fixture
def place(tmp_path):
    return Workplace(tmp_path)


@pytest.fixture
def policy(tmp_path):
    """Return a function that writes the parameter file of a policy for tests and returns its path."""

    def write(name, **content):
        path = tmp_path / f"{name}.yaml"
        path.write_text(yaml.safe_dump({"policy": "lifecycle_policies:Warm", "name": name, **content}))
        return str(path)

    return write


@pytest.fixture
def operator():
    """Return a node that is spun, in the session's domain."""
    with spun_node("operator") as node:
        yield node


def test_a_policy_is_swapped_between_two_trials_and_a_swap_that_fails_says_why(place, policy, operator):
    told = []
    operator.create_subscription(SessionStatus, "session_status", told.append, LATCHED)
    services = {"pause": PauseSession, "resume": ResumeSession, "swap_policy": SwapPolicy}
    clients = {name: operator.create_client(kind, f"episode_manager/{name}") for name, kind in services.items()}
    known = DiscoveryProbe(operator, "episode_manager")

    def ask(name, **fields):
        return call(clients[name], services[name].Request(**fields), 120.0)

    process = place.begin("evaluate", place.session(policy="random", test_set={"size": 2}))
    try:
        run = wait_until(lambda: place.runs and place.runs[0], "a run folder")
        known.wait(240.0)
        wait_until(lambda: any(isinstance(e, TrialStarted) for e in events_of(run)), "the first trial")
        assert not ask("swap_policy").accepted, "which?"
        assert ask("pause").accepted
        wait_until(lambda: any(isinstance(e, Paused) for e in events_of(run)), "the pause")
        assert ask("swap_policy", policy=policy("cold", warming="raise")).accepted
        wait_until(lambda: any(isinstance(e, PolicyRefused) for e in events_of(run)), "the refusal")
        wait_until(lambda: "RuntimeError: no idea" in told[-1].detail, "the status")
        assert (told[-1].state, told[-1].policy) == (SessionStatus.PAUSED, "random")
        code, output = place.run("swap", run, "vln_random")
        assert code == 1, output
        assert "the policy answers in discrete_navigation, robot 'franka' takes" in output
        # A camera that the first policy was not shown, and the rollout did not subscribe to.
        code, output = place.run("swap", run, policy("seeing", cameras=["board"]))
        assert code == 0, output
        assert "seeing serves" in output
        assert ask("resume").accepted
    finally:
        code, output = finish(process)
    assert code == 0, output
    assert "Traceback" not in output
    assert node_pids(run) == {}
    events = events_of(run)
    assert [e.name for e in events if isinstance(e, PolicyLoaded)] == ["random", "seeing"]
    assert len([e for e in events if isinstance(e, PolicyRefused)]) == 2
    first, second = finished(run)
    assert first.observed.image_digest == "" != second.observed.image_digest, "it was shown images"
    assert first.recording.missing == second.recording.missing == ()
    assert trials_table(events)["policy"].to_list() == ["random", "seeing"]
    assert not (run / "graph.yaml").exists()
