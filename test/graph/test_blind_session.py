"""A blind session over the graph: nothing and nobody names a policy before its end."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from console_requests import PersonByRequests
from robocontrast_ros.msg import SessionStatus
from session_runs import Workplace, events_of, finish, wait_until
from spinning import spun_node

from robocontrast_ros.bags.reader import read_bag, read_trial
from robocontrast_ros.console.access import read_access
from robocontrast_ros.domain import Outcome
from robocontrast_ros.nodes.runtime.qos import LATCHED
from robocontrast_ros.runs.blinding import blinding_of
from robocontrast_ros.runs.events import BlindSwap, SetUp, TrialFinished
from robocontrast_ros.strategies.effort import Tolerance, scenes_match


@pytest.mark.long
def test_the_person_at_the_console_is_shown_nothing_of_a_policy_and_both_policies_begin_alike(tmp_path):
    place = Workplace(tmp_path)
    session = place.session(
        policy="",
        blind={"policies": ["oracle", place.policy("Misbehaving")], "swap_time": 0.3, "answer_time": 0.02},
        task=place.short_task(20),
        test_set={"size": 1},
        world={"backend": "operator", "pacing": "wall_clock", "judge": "person"},
        operator={"checklist": ["Nobody at the robot"]},
    )
    # Neither the names of the policies, nor the words with which one of them fails.
    hidden, listed, told = ("oracle", "misbehaving", "no idea"), [], []
    with spun_node("listener") as node:
        node.create_subscription(SessionStatus, "practice/session_status", told.append, LATCHED)
        process = place.begin("evaluate", session, "--practice")
        try:
            wait_until(lambda: process.poll() is not None or (place.runs and read_access(place.runs[0])), "a console")
            (run,) = place.runs
            person = PersonByRequests(read_access(run))
            person.play(lambda phase: listed.extend(map(str, run.rglob("*") if phase == "judge" else ())))
        except BaseException:
            process.terminate()
            print(process.communicate()[0])
            raise
        code, output = finish(process)
    assert code == 0, output
    events = events_of(run)
    assert blinding_of(events).kept
    assert len([event for event in events if isinstance(event, BlindSwap)]) == 2
    assert {"1 of 2", "2 of 2"} <= {status.policy for status in told} <= {"", "blind", "1 of 2", "2 of 2"}
    finished = [event for event in events if isinstance(event, TrialFinished)]
    assert {event.result.outcome for event in finished} == {Outcome.FAILURE, Outcome.POLICY_FAULT}
    assert [read_trial(run / event.recording.bag).policy for event in finished] == ["1 of 2", "2 of 2"]
    # What the command prints before the results.
    begun = output.partition("blinding kept")[0].partition("ROS_DOMAIN_ID")[2].splitlines()
    trials = [line for line in begun if line.startswith("000")]
    assert len(trials) == 2, output
    logs = [log.read_text() for log in (run / "logs").glob("*")]
    for text in (*map(json.dumps, person.seen), *listed, *logs, *trials):
        assert not any(words in text.lower() for words in hidden), text
    assert {state["session_state"]["code"] for state in person.seen} >= {"1 of 2", "2 of 2"}
    topics = read_bag(run / finished[0].recording.bag, lambda topic, kind: False).counts
    assert {topic.split("/")[1] for topic in topics} == {"practice"}, "no real driver of this domain takes its commands"
    assert "The policy failed." in {state["judge"]["ended"] for state in person.seen if "judge" in state}
    # Of an attempt that was void, too: the last one counts.
    first, second = {event.trial.index: event.after for event in events if isinstance(event, SetUp)}.values()
    assert scenes_match(first, second, Tolerance(0.01, 0.15)), "what the first policy moved is put back"
