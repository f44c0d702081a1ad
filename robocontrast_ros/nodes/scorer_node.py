"""scorer: scores the present trial, streams its progress and returns its result."""

from __future__ import annotations

import threading
from typing import Any

from geometry_msgs.msg import PoseStamped
from rclpy.node import Node
from std_msgs.msg import Empty

from robocontrast_ros.configuration import load_configured, load_plugin
from robocontrast_ros.domain import Fault, Outcome, seconds
from robocontrast_ros.episodes.judging import Judge
from robocontrast_ros.episodes.scoring import EpisodeScorer, Sample, StampJoin, load_scores, need_joints
from robocontrast_ros.graph.parameters.scorer import ScorerParameters
from robocontrast_ros.messages.decoding import (
    interventions_from_msg,
    joint_tracking_from_msg,
    judgement_from_msg,
    pose_from_msg,
    scene_from_msg,
    stamp_from_msg,
    start_scene_from_msg,
    trial_from_msg,
)
from robocontrast_ros.messages.topics import JOINT_TRACKING
from robocontrast_ros.msg import JointTracking, Judgement, Progress, Scene, TrialResult
from robocontrast_ros.nodes.conversions.domain import (
    fault_from_msg,
    fault_to_msg,
    progress_to_msg,
    result_to_msg,
)
from robocontrast_ros.nodes.runtime.intra_process import HandingPublisher, subscribe
from robocontrast_ros.nodes.runtime.main import run_node
from robocontrast_ros.nodes.runtime.parameters import declare_record
from robocontrast_ros.nodes.runtime.qos import LOCKSTEP, RECORDED
from robocontrast_ros.srv import FinishScoring, StartScoring


class Scorer(Node):
    """Pairs `scene` with `tool_pose` by stamp and scores each pair of the present trial.

    If the scene is known only at set-up and at the end, it scores each `tool_pose`. If a score needs joints, it pairs
    `joint_tracking`, too.
    """

    def __init__(self) -> None:
        """Declare the parameters and load the task."""
        super().__init__("scorer")
        parameters = declare_record(self, ScorerParameters)
        self._task = load_configured("tasks", parameters.task)
        source = f"parameters of node '{self.get_name()}'"
        self._scores = load_scores(self._task, parameters.scores, source)
        self._judge: Judge = load_plugin("judges", parameters.judge, source, "judge")()
        self._scorer: EpisodeScorer | None = None
        self._join, self._joints = StampJoin(), need_joints(self._scores)
        self._judgement = self.create_publisher(Judgement, "judgement", RECORDED) if self._judge.asks else None
        if self._judge.asks:
            self.create_subscription(Empty, "reached", self._on_reached, LOCKSTEP)
        self._progress = HandingPublisher(self, Progress, "progress", RECORDED)
        self._result = self.create_publisher(TrialResult, "trial_result", RECORDED)
        # Scenes and poses may come from other nodes' threads (intra_process).
        self._lock = threading.Lock()
        subscribe(self, Scene, "scene", self._on_scene, LOCKSTEP)
        subscribe(self, PoseStamped, "tool_pose", self._on_tool_pose, LOCKSTEP)
        if self._joints:
            subscribe(self, JointTracking, JOINT_TRACKING.name, self._on_joints, LOCKSTEP)
        self.create_service(StartScoring, "~/start", self._start)
        self.create_service(FinishScoring, "~/finish", self._finish)

    def _start(self, request: StartScoring.Request, response: StartScoring.Response) -> StartScoring.Response:
        trial = trial_from_msg(request.trial)
        start, scene = start_scene_from_msg(request.trial)
        try:
            scorer = EpisodeScorer.for_instance(self._task, trial.instance, scene, self._judge, self._scores)
        except (KeyError, ValueError) as error:
            response.fault = fault_to_msg(Fault.SCORER_LOST, f"the trial cannot be scored: {error}")
            return response
        with self._lock:
            self._scorer = scorer
            self._join = StampJoin(start, not request.trial.scene_when_asked, self._joints)
        return response

    def _on_scene(self, message: Scene) -> None:
        stamp, scene = stamp_from_msg(message.header.stamp), scene_from_msg(message)
        with self._lock:
            self._score(self._join.add_scene(stamp, scene), message.header.frame_id)

    def _on_tool_pose(self, message: PoseStamped) -> None:
        stamp, pose = stamp_from_msg(message.header.stamp), pose_from_msg(message.pose)
        with self._lock:
            self._score(self._join.add_tool_pose(stamp, pose), message.header.frame_id)

    def _on_joints(self, message: JointTracking) -> None:
        stamp, joints = stamp_from_msg(message.header.stamp), joint_tracking_from_msg(message)
        with self._lock:
            self._score(self._join.add_joints(stamp, joints), message.header.frame_id)

    def _on_reached(self, _: Empty) -> None:
        with self._lock:
            if self._scorer is not None:
                self._scorer.reach()

    def _score(self, sample: Sample | None, frame_id: str) -> None:
        if sample is None or self._scorer is None:
            return
        progress = self._scorer.update(sample)
        self._progress.publish(progress_to_msg(progress, frame_id))

    def _finish(self, request: FinishScoring.Request, response: Any) -> Any:
        with self._lock:
            scorer, self._scorer = self._scorer, None
        response.result.outcome = int(Outcome.UNKNOWN)
        if scorer is None:
            response.fault = fault_to_msg(Fault.SCORER_LOST, "no trial is being scored")
            return response
        fault, detail = fault_from_msg(request.fault)
        last = stamp_from_msg(request.last_stamp)
        scored = scorer.last_stamp or 0
        if fault is Fault.NONE and scored != last:
            late = seconds(last - scored)
            detail = f"the last scored scene is {late:.3f} s older than the last observation"
            response.fault = fault_to_msg(Fault.SCORER_LOST, detail)
            return response
        try:
            self._end(scorer, request)
        except (KeyError, ValueError) as error:
            response.fault = fault_to_msg(Fault.SCORER_LOST, f"the trial cannot be scored: {error}")
            return response
        counts = interventions_from_msg(request)
        result = scorer.result(fault, detail, request.steps, request.clamped_steps, request.stopped, counts)
        response.result = result_to_msg(result, scored)
        self._result.publish(response.result)
        return response

    def _end(self, scorer: EpisodeScorer, request: FinishScoring.Request) -> None:
        judgement = None
        if request.has_judgement:
            judgement = judgement_from_msg(request.judgement)
            request.judgement.header.stamp = request.last_stamp
            self._judgement.publish(request.judgement)
        scorer.end(scene_from_msg(request.final_scene) if request.has_final_scene else None, judgement)


def main() -> None:
    """Run the node."""
    run_node(Scorer)
