"""Requests of the bench to the recorder: a bag for each trial, in which no message is missing."""

from __future__ import annotations

from collections.abc import Container, Iterable
from pathlib import Path

from rclpy.node import Node

from robocontrast_ros.bags.recorder_lag import counts_in_words
from robocontrast_ros.domain import Fault, Trial
from robocontrast_ros.episodes.bench import BenchFault, Recording, bag_name
from robocontrast_ros.graph.parameters.episode_manager import BenchSettings
from robocontrast_ros.msg import TopicCount
from robocontrast_ros.nodes.bench.asking import answer, ask, checked
from robocontrast_ros.nodes.conversions.domain import time_to_msg
from robocontrast_ros.nodes.runtime.channel import call_while_there
from robocontrast_ros.srv import StartRecording, StopRecording


class RecordingClients:
    """Opens and closes the bags; does nothing if there is no recorder."""

    def __init__(self, node: Node, settings: BenchSettings, run_folder: Path, recorded: Container[str]) -> None:
        """Make the clients; the other arguments are those of ``RosBench``."""
        recorder, self._timeout = settings.recorder, settings.recording_timeout
        self._run_folder, self._recorded = run_folder, recorded
        self._to_stop: StopRecording.Request | None = None
        self.clients = ()
        if recorder:
            self._start = node.create_client(StartRecording, f"{recorder}/start")
            self._stop = node.create_client(StopRecording, f"{recorder}/stop")
            self.clients = (self._start, self._stop)

    def open(self, trial: Trial, attempt: int, start: int) -> str:
        """Begin the bag of a trial that starts at a time [ns]; return its folder, relative to the run folder."""
        if not self.clients:
            return ""
        if self._to_stop is not None:
            # The recorder did not answer, so it may still record. Messages that it has not received yet must not get
            # into the next bag.
            self._end(self._to_stop)
        bag = bag_name(trial.trial_id, attempt)
        self._to_stop = StopRecording.Request()
        request = StartRecording.Request(bag=self.folder(bag), after=time_to_msg(start))
        ask(self._start, request, Fault.RECORDER_LOST, self._timeout)
        return bag

    def folder(self, bag: str) -> str:
        """Return the path of the bag for the recorder; empty if nothing is recorded."""
        return str(self._run_folder / bag) if bag else ""

    def close(self, bag: str, published: Iterable[TopicCount]) -> Recording:
        """End a bag; wait for the messages that were published on its topics, of which none may be missing."""
        if not bag:
            return Recording()
        expected = [count for count in published if count.topic in self._recorded]
        response = checked(self._end(StopRecording.Request(expected=expected)))
        if response.missing:
            lost = counts_in_words({c.topic: c.count for c in response.missing})
            raise BenchFault(Fault.RECORDER_LOST, f"{bag} misses {lost}")
        return Recording(bag=bag, messages=tuple((c.topic, c.count) for c in response.received))

    def _end(self, request: StopRecording.Request) -> StopRecording.Response:
        self._to_stop = request
        response = answer(self._stop, request, Fault.RECORDER_LOST, self._timeout, call_while_there)
        self._to_stop = None
        return response
