"""The policy server's lifecycle, over a real graph."""

from __future__ import annotations

import math
import os
import subprocess
import sys

import numpy as np
import openpi_server
import pytest
import yaml

rclpy = pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from lifecycle_msgs.msg import Transition  # noqa: E402
from lifecycle_msgs.srv import ChangeState  # noqa: E402
from remote_servers import parameter_file  # noqa: E402
from remote_servers import server as remote  # noqa: E402
from robocontrast_ros.msg import Observation  # noqa: E402
from robocontrast_ros.srv import Act, DescribePolicy, LoadPolicy, ResetPolicy  # noqa: E402
from session_runs import SUPPORT  # noqa: E402
from spinning import spun_node  # noqa: E402
from torch_networks import PUSHING, examples, pushing, write_exported, write_policy  # noqa: E402

from robocontrast_ros.configuration import resolve_uri  # noqa: E402
from robocontrast_ros.domain import Fault, Pose  # noqa: E402
from robocontrast_ros.nodes.conversions.driver import array_to_image, observation_to_msg  # noqa: E402
from robocontrast_ros.nodes.runtime.channel import DiscoveryProbe, PendingResponse, call, wait_for  # noqa: E402
from robocontrast_ros.policies.protocol import Observation as Observed  # noqa: E402

MAIN = "from robocontrast_ros.nodes.policy_server_node import main; main()"


def begin(*parameters: str) -> subprocess.Popen[str]:
    words = [word for parameter in parameters for word in ("-p", parameter)]
    paths = filter(None, [str(SUPPORT), os.environ.get("PYTHONPATH")])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    return subprocess.Popen(
        [sys.executable, "-c", MAIN, "--ros-args", *words],
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


@pytest.fixture
def server():
    """Return a function that starts a server; it is stopped afterwards."""
    processes = []

    def start(*parameters: str) -> subprocess.Popen[str]:
        processes.append(begin(*parameters))
        return processes[-1]

    yield start
    for process in processes:
        process.terminate()
        process.wait(120)


@pytest.fixture
def ask():
    """Return a function that calls a service of the server."""
    with spun_node("asking") as node:
        clients = {
            Act: node.create_client(Act, "policy_server/act"),
            ResetPolicy: node.create_client(ResetPolicy, "policy_server/reset"),
            DescribePolicy: node.create_client(DescribePolicy, "policy_server/describe"),
            ChangeState: node.create_client(ChangeState, "policy_server/change_state"),
            LoadPolicy: node.create_client(LoadPolicy, "policy_server/load"),
        }

        known = [DiscoveryProbe(node, "policy_server")]

        def ask_for(kind, **fields):
            wait_for(clients[kind], 240.0)
            while known:
                known.pop().wait(240.0)
            return call(clients[kind], kind.Request(**fields), 120.0)

        ask_for.clients = clients
        yield ask_for


RANDOM = f"policy:={resolve_uri('package://robocontrast_ros/config/policies/random.yaml')}"


def change(ask, transition: int) -> bool:
    return ask(ChangeState, transition=Transition(id=transition)).success


def test_a_policy_serves_only_while_the_node_is_active(server, ask):
    server(RANDOM, "autostart:=false")
    assert ask(DescribePolicy).fault.code == int(Fault.POLICY_SERVER_LOST)
    assert change(ask, Transition.TRANSITION_CONFIGURE)
    assert ask(ResetPolicy, instruction="go", seed=1).fault.code == int(Fault.POLICY_SERVER_LOST)
    assert change(ask, Transition.TRANSITION_ACTIVATE)
    described = ask(DescribePolicy).description
    assert (described.name, described.action_space, described.action_size) == ("random", "planar_delta", 2)
    assert ask(ResetPolicy, instruction="go", seed=1).fault.code == 0
    observation = Observation()
    answer = ask(Act, observation=observation)
    assert (answer.count, answer.size, len(answer.actions)) == (1, 2, 2)
    assert answer.observed_instruction == "go"
    assert ask(Act, observation=observation).observed_instruction == ""
    assert change(ask, Transition.TRANSITION_DEACTIVATE)
    assert ask(Act, observation=observation).fault.code == int(Fault.POLICY_SERVER_LOST)
    assert change(ask, Transition.TRANSITION_CLEANUP)
    assert change(ask, Transition.TRANSITION_CONFIGURE)
    assert change(ask, Transition.TRANSITION_ACTIVATE)
    assert ask(DescribePolicy).fault.code == 0
    assert change(ask, Transition.TRANSITION_ACTIVE_SHUTDOWN)
    assert ask(DescribePolicy).fault.code == int(Fault.POLICY_SERVER_LOST)


@pytest.fixture
def policy(tmp_path):
    """Return a function that writes the parameter file of a policy for tests and returns its path."""

    def write(name, **content):
        path = tmp_path / f"{name}.yaml"
        path.write_text(yaml.safe_dump({"policy": "lifecycle_policies:Warm", "name": name, **content}))
        return str(path)

    return write


def test_the_old_policy_serves_until_another_is_loaded_and_let_to(server, ask, policy, tmp_path):
    server(f"policy:={policy('old', loading=0.02, warming=0.01)}")
    before = ask(DescribePolicy)
    assert (before.description.name, before.description.file) == ("old", policy("old"))
    assert before.load_time >= 0.02 and before.warm_up_time >= 0.01
    wait_for(ask.clients[LoadPolicy], 240.0)
    go_on = tmp_path / "go_on"
    new = policy("new", loading=str(go_on), step=0.5)
    loading = PendingResponse(ask.clients[LoadPolicy], LoadPolicy.Request(policy=new))
    assert ask(ResetPolicy, instruction="go", seed=1).fault.code == 0
    assert ask(Act, observation=Observation()).actions[0] == pytest.approx(0.001)
    assert not loading.arrived(0.0), "the old one answered while the new one was being loaded"
    go_on.touch()
    loaded = loading.result(120.0)
    assert (loaded.accepted, loaded.description.name, loaded.detail) == (True, "new", "")
    assert loaded.load_time > 0.0 and not math.isnan(loaded.warm_up_time)
    assert ask(DescribePolicy).description.name == "old"
    served = ask(LoadPolicy, serve=True)
    assert (served.accepted, served.description.name) == (True, "new")
    assert ask(DescribePolicy).description.name == "new"
    assert ask(ResetPolicy, instruction="go", seed=1).fault.code == 0
    assert ask(Act, observation=Observation()).actions[0] == pytest.approx(0.5)


def test_a_policy_that_cannot_be_loaded_leaves_the_old_one_serving_and_says_why(server, ask, policy):
    server(f"policy:={policy('old')}", "load_timeout:=8.0")
    for request, words in (
        ({"policy": policy("cold", warming="raise")}, ["cold.yaml", "warms up", "no idea"]),
        ({"policy": policy("hung", loading="hang")}, ["hung.yaml", "within 8 s"]),
        ({"policy": "orcale"}, ["orcale", "Did you mean 'oracle'?"]),
        ({"policy": "/nowhere/new.yaml"}, ["/nowhere/new.yaml"]),
        ({"serve": True}, ["no policy was loaded"]),
    ):
        answer = ask(LoadPolicy, **request)
        assert not answer.accepted
        for word in words:
            assert word in answer.detail
        assert ask(DescribePolicy).description.name == "old"
    assert ask(LoadPolicy, policy="random").accepted, "a name in config/policies"
    assert ask(LoadPolicy).accepted, "nothing is to follow"
    assert not ask(LoadPolicy, serve=True).accepted
    assert ask(DescribePolicy).description.name == "old"


def test_activating_warms_up_and_a_warm_up_that_fails_leaves_the_node_inactive(server, ask, policy):
    process = server(f"policy:={policy('old', warming='raise')}", "autostart:=false")
    assert change(ask, Transition.TRANSITION_CONFIGURE)
    assert not ask(LoadPolicy, policy="random").accepted, "only an active server swaps"
    assert not change(ask, Transition.TRANSITION_ACTIVATE)
    assert ask(DescribePolicy).fault.code == int(Fault.POLICY_SERVER_LOST)
    policy("old")
    assert change(ask, Transition.TRANSITION_ACTIVATE)
    assert not math.isnan(ask(DescribePolicy).warm_up_time)
    process.terminate()
    assert "warms up. It raised RuntimeError: no idea" in process.communicate(timeout=120)[0]


def test_the_seed_of_a_reset_makes_the_answers(server, ask):
    server(RANDOM)

    def first_action(seed):
        assert ask(ResetPolicy, instruction="go", seed=seed).fault.code == 0
        return list(ask(Act, observation=Observation()).actions)

    assert first_action(1) == first_action(1) != first_action(2)


def test_a_configuration_that_fails_says_why_and_the_node_lives_on(server, ask, tmp_path):
    process = server(f"policy:={tmp_path / 'none.yaml'}", "autostart:=false")
    assert not change(ask, Transition.TRANSITION_CONFIGURE)
    assert process.poll() is None
    process.terminate()
    assert "none.yaml" in process.communicate(timeout=120)[0]


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ([], ["`policy`", "required"]),
        pytest.param(["policy:=/nowhere/p.yaml"], ["/nowhere/p.yaml", "No such file"], marks=pytest.mark.long),
        pytest.param([RANDOM, "timeout:=-1.0"], ["`timeout`", "-1.0"], marks=pytest.mark.long),
        ([RANDOM, "timeot:=1.0"], ["`timeot`", "Did you mean 'timeout'?"]),
        pytest.param(
            ["warming: raise"], ["`policy`", "lifecycle_policies:Warm", "RuntimeError: no idea"], marks=pytest.mark.long
        ),
        (["loading: hang"], ["`policy`", "lifecycle_policies:Warm", "is loaded within 6 s"]),
    ],
)
def test_wrong_parameters_end_the_process_with_one_line(server, policy, parameters, words):
    if parameters and ": " in parameters[0]:
        file = policy("bad", **yaml.safe_load(parameters[0]))
        parameters = [f"policy:={file}", "load_timeout:=6.0"]
    process = server(*parameters)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 2
    assert "Traceback" not in output
    for word in ["[FATAL] ", "[policy_server]: ", *words]:
        assert word in output


def test_an_interrupt_ends_the_process_cleanly(server, ask):
    process = server(RANDOM)
    assert ask(DescribePolicy).fault.code == 0
    process.send_signal(2)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    assert "Traceback" not in output


SEEN = observation_to_msg(
    Observed(10**9, {}, ("j",), (0.5,), Pose((0.2, 0.1, 0.01))),
    "world",
    {"board": array_to_image(np.random.default_rng(0).integers(0, 256, (48, 64, 3), np.uint8), "board", 10**9)},
)


def check_answers(ask, count):
    """Assert that the policy answers, and says what it received."""
    assert ask(ResetPolicy, instruction="push the moon", seed=1).fault.code == 0
    answer = ask(Act, observation=SEEN)
    assert (answer.fault.code, answer.count, answer.size) == (0, count, 2), answer.fault
    assert answer.observed_instruction == "push the moon" and len(answer.image_digest) == 64


def test_a_policy_on_a_server_of_its_own_is_lost_with_it_which_is_no_fault_of_the_policy_and_found_again(
    server, ask, tmp_path
):
    content = {"chunk": {"length": openpi_server.CHUNK, "execute": 3}, "output": {}}
    with remote("openpi_server.py") as port:
        url = f"ws://127.0.0.1:{port}"
        server(f"policy:={parameter_file('openpi', tmp_path, url=url, **content)}")
        check_answers(ask, openpi_server.CHUNK)
    lost = ask(Act, observation=SEEN).fault
    assert lost.code == int(Fault.POLICY_SERVER_LOST) and url in lost.detail
    assert ask(ResetPolicy, instruction="push the moon", seed=1).fault.code == int(Fault.POLICY_SERVER_LOST)
    with remote("openpi_server.py", "--port", port):
        check_answers(ask, openpi_server.CHUNK)


@pytest.mark.long
def test_policies_over_http_and_of_pytorch_are_served_alike(server, ask, tmp_path):
    write_exported(tmp_path / "pushing.pt2", pushing(), tuple(examples().values()))
    network = write_policy(tmp_path / "pushing.yaml", "pushing.pt2", "export", **PUSHING)
    with remote("http_server.py") as port:
        server(f"policy:={parameter_file('http', tmp_path, url=f'http://127.0.0.1:{port}/act')}")
        check_answers(ask, 1)
        loaded = ask(LoadPolicy, policy=str(network))
        assert loaded.accepted, loaded.detail
        assert ask(LoadPolicy, serve=True).accepted
        check_answers(ask, PUSHING["chunk"]["length"])


def test_a_lerobot_checkpoint_is_served(server, ask, tmp_path):
    python = os.environ.get("ROBOCONTRAST_LEROBOT_PYTHON")
    if not python:
        pytest.skip("needs the Python of an environment with lerobot in ROBOCONTRAST_LEROBOT_PYTHON")
    checkpoint = tmp_path / "checkpoint"
    subprocess.run([python, "-E", str(SUPPORT / "lerobot_checkpoint.py"), str(checkpoint)], check=True)
    policy = parameter_file(
        "lerobot",
        tmp_path,
        python=python,
        checkpoint=str(checkpoint),
        chunk={"length": 8},
        input={
            "images": {"observation.images.board": {"camera": "board", "width": 96, "height": 96}},
            "state": {"observation.state": {"parts": ["tool_xy"]}},
        },
    )
    server(f"policy:={policy}")
    check_answers(ask, 8)
