"""A session with a policy server that it did not start: on this machine, and on another host."""

from __future__ import annotations

import signal

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from described_policies import write_described
from session_runs import Workplace, events_of, finish, finished, node_pids, wait_until
from two_hosts import NotAllowed, two_hosts

from robocontrast_ros.configuration import resolve_uri
from robocontrast_ros.domain import Delivery, Outcome
from robocontrast_ros.runs.events import PolicyLoaded, SessionInterrupted

ELSEWHERE = {"policy": "", "policy_server": {"external": True}, "test_set": {"size": 1}}


@pytest.fixture
def place(tmp_path):
    return Workplace(tmp_path)


@pytest.fixture
def hosts():
    """Return the words before a command for each of two hosts."""
    try:
        with two_hosts() as words:
            yield words
    except NotAllowed as error:
        pytest.skip(str(error))


class Server:
    """`robocontrast serve`, until the test ends."""

    def __init__(self, place: Workplace, *arguments: str, before: tuple[str, ...] = ()) -> None:
        self._process = place.begin("serve", *arguments, before=before)
        for line in self._process.stdout:
            if "serves (loaded in" in line:
                return
        raise AssertionError("it ended before it served")

    def stop(self) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            self._process.communicate(timeout=120)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(120)


@pytest.fixture
def serve(place):
    """Return a function that starts a policy server and returns it when it serves."""
    servers = []

    def start(*arguments: str, before: tuple[str, ...] = ()) -> Server:
        servers.append(Server(place, *arguments, before=before))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


def assert_one_trial_of_random(place, domain, code, output):
    assert code == 0, output
    assert f"robocontrast serve POLICY --domain {domain}" in output
    (run,) = place.runs
    assert "policy_server" not in {path.stem for path in (run / "logs").iterdir()}
    loaded = [e for e in events_of(run) if isinstance(e, PolicyLoaded)][-1]
    assert loaded.file == str(resolve_uri("package://robocontrast_ros/config/policies/random.yaml"))
    assert "policy: random" in loaded.parameters
    (trial,) = finished(run)
    assert (trial.result.outcome, trial.result.steps) == (Outcome.FAILURE, 200)
    assert trial.observed.instruction == trial.trial.instance.instruction.text
    assert trial.delivered is Delivery.CONFIRMED
    assert not (run / "parameters" / "policy.yaml").exists()


def test_a_policy_elsewhere_that_does_not_fit_is_refused_in_the_same_words(place, serve, domain):
    policy = write_described(place.folder / "large.yaml", cameras=["board"], image_sizes=[[224, 224]])
    serve(str(policy), "--domain", str(domain))
    code, output = place.run("evaluate", place.session(), "--policy-server", "external")
    assert code == 2, output
    assert "large.yaml: got 'large', expected a policy that fits robot 'franka'" in output
    assert "image_sizes: the policy needs 'board' with 224x224 pixels, it has 64x48 pixels" in output
    assert "Traceback" not in output
    assert node_pids(place.runs[0]) == {}


def test_a_policy_server_elsewhere_that_dies_voids_the_trial_and_another_one_goes_on(place, serve, domain):
    server = serve("random", "--domain", str(domain))
    process = place.begin("evaluate", place.session(**ELSEWHERE, timeouts={"policy": 5.0}))
    try:
        run = wait_until(lambda: place.runs and place.runs[0], "a run folder")
        wait_until(lambda: any(e.event == "trial_started" for e in events_of(run)), "the trial")
        server.kill()
    finally:
        code, output = finish(process)
    assert code == 3, output
    assert "--resume" in output and node_pids(run) == {}
    assert isinstance(events_of(run)[-1], SessionInterrupted)
    serve("random", "--domain", str(domain))
    code, output = place.run("evaluate", "--resume", run)
    assert_one_trial_of_random(place, domain, code, output)


def test_the_policy_server_may_be_on_another_host(place, hosts, serve, domain):
    place.environment["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "SUBNET"
    here, there = hosts
    serve("random", "--domain", str(domain), before=tuple(there))
    code, output = finish(place.begin("evaluate", place.session(**ELSEWHERE), before=tuple(here)))
    assert_one_trial_of_random(place, domain, code, output)
