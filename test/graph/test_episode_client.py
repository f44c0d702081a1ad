"""The bench's side of RunEpisode, where an answer of the rollout is lost on its way."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

rclpy = pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from rclpy.action import ActionServer, CancelResponse, GoalResponse  # noqa: E402
from rclpy.node import Node  # noqa: E402
from robocontrast_ros.action import RunEpisode  # noqa: E402
from spinning import spun_node  # noqa: E402

from robocontrast_ros.domain import Fault  # noqa: E402
from robocontrast_ros.episodes.bench import BenchFault  # noqa: E402
from robocontrast_ros.graph.parameters.episode_manager import BenchSettings  # noqa: E402
from robocontrast_ros.nodes.bench import episodes  # noqa: E402
from robocontrast_ros.nodes.runtime.channel import Channel, DiscoveryProbe, becomes_true  # noqa: E402
from robocontrast_ros.sessions.resolving import resolve  # noqa: E402


@pytest.fixture
def client():
    """Return what makes an EpisodeClient, once the server is there; silence of a second is too long for it."""
    rclpy.init()
    owner = Node("asking")
    channel = Channel(owner)

    def make(**limits: float) -> episodes.EpisodeClient:
        settings = replace(BenchSettings.of(resolve("language_table_demo")), rollout="acting", **limits)
        made = episodes.EpisodeClient(channel, settings, lambda: False)
        known = DiscoveryProbe(channel.node, "acting")
        channel.start()
        assert becomes_true(made.server_is_ready, 120.0)
        known.wait(120.0)
        return made

    yield make
    channel.close()
    owner.destroy_node()
    rclpy.shutdown()


def test_a_result_that_is_lost_is_asked_for_again(client, monkeypatch):
    monkeypatch.setattr(episodes, "ASK_AGAIN", 0.3)
    sent = []

    class Losing(ActionServer):
        def _send_result_response(self, request_header, future):
            sent.append(future)
            if len(sent) > 1:
                super()._send_result_response(request_header, future)

    with spun_node("acting") as acting:
        acting.server = Losing(
            acting, RunEpisode, "acting/run_episode", lambda g: g.succeed() or RunEpisode.Result(steps=7)
        )
        assert client(silence_timeout=60.0).run(RunEpisode.Goal()).steps == 7
    assert len(sent) > 1


def test_an_episode_that_is_not_accepted_in_time_is_void_and_cancelled_when_it_is_accepted_after_all(client):
    given_up, cancelled = threading.Event(), threading.Event()

    def accept(_):
        given_up.wait(60.0)
        return GoalResponse.ACCEPT

    def cancel(_):
        cancelled.set()
        return CancelResponse.ACCEPT

    with spun_node("acting") as acting:
        acting.server = ActionServer(
            acting,
            RunEpisode,
            "acting/run_episode",
            lambda goal: RunEpisode.Result(),
            goal_callback=accept,
            handle_accepted_callback=lambda goal: None,
            cancel_callback=cancel,
        )
        with pytest.raises(BenchFault, match="'acting' did not accept the episode for 1 s") as raised:
            client(answer_timeout=1.0).run(RunEpisode.Goal())
        given_up.set()
        assert cancelled.wait(60.0)
    assert raised.value.fault is Fault.SENSOR_LOST
