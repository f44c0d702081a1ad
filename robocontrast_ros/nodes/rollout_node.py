"""rollout: the robot's closed loop at the control rate."""

from __future__ import annotations

import contextlib
import math
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from rclpy.action import ActionServer, CancelResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from std_srvs.srv import Trigger

from robocontrast_ros.action import RunEpisode
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain import Fault, Progress
from robocontrast_ros.episodes.bench import BenchFault
from robocontrast_ros.episodes.loop import EpisodeReport, EpisodeRequest, run_episode
from robocontrast_ros.graph.names import NO_SHARED_MEMORY
from robocontrast_ros.graph.parameters.rollout import RolloutParameters
from robocontrast_ros.messages.decoding import filters_from_msg, pose_from_msg, segments_from_msg, stamp_from_msg
from robocontrast_ros.messages.encoding import episode_fields
from robocontrast_ros.msg import TopicCount
from robocontrast_ros.nodes.conversions.domain import fault_to_msg, interventions_to_msg, progress_to_msg, time_to_msg
from robocontrast_ros.nodes.rollout.bench import RosEpisodeBench
from robocontrast_ros.nodes.runtime.diagnostics import Diagnostics
from robocontrast_ros.nodes.runtime.intra_process import published_together
from robocontrast_ros.nodes.runtime.main import run_node
from robocontrast_ros.nodes.runtime.parameters import declare_record
from robocontrast_ros.system.sockets import wanted_limit

FEEDBACK_EVERY = 10
"""Control steps between two feedbacks, which show that the episode goes on; `progress` has every step."""


class Rollout(Node):
    """Serves RunEpisode."""

    threads = 3  # an episode, another one that waits for its end, and a cancel request

    def __init__(self) -> None:
        """Declare the parameters; wait for the policy server and check that it fits the robot."""
        super().__init__("rollout")
        parameters = declare_record(self, RolloutParameters)
        if parameters.watchdog and NO_SHARED_MEMORY not in sys.argv:
            sizes = zip(parameters.image_widths, parameters.image_heights, strict=True)
            self.get_logger().warning(
                "images come through shared memory, because net.core.rmem_max is too small for them: a stop may come a"
                " second late if this process hangs. Cure: `sysctl -w net.core.rmem_max="
                f"{wanted_limit(sizes)}`, also on the robot's computer"
            )
        self._bench = RosEpisodeBench(self, parameters)
        self._diagnostics = Diagnostics(self, self._bench.profile.name)
        self._diagnostics.add(self._bench.reports)
        self._busy = threading.Lock()
        self._server = ActionServer(
            self,
            RunEpisode,
            "~/run_episode",
            self._run,
            cancel_callback=lambda _: CancelResponse.ACCEPT,
            callback_group=ReentrantCallbackGroup(),
        )

        self.create_service(Trigger, "~/speed_scaling", self._speed_scaling, callback_group=ReentrantCallbackGroup())
        self.create_service(Trigger, "~/rest", self._rest, callback_group=ReentrantCallbackGroup())

    def on_end(self) -> None:
        """Free the channel before the process ends."""
        self._bench.close()

    def _run(self, handle: ServerGoalHandle) -> RunEpisode.Result:
        bench, request = self._bench, _request(handle.request)
        with self._episode():
            bench.begin_recording(handle.request.recording)
            with published_together():
                report = self._report(handle, request)
        if handle.is_cancel_requested:
            handle.canceled()
        else:
            handle.succeed()
        return _result(report, bench)

    def _rest(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        try:
            with self._episode():
                self._bench.episode.rest()
        except BenchFault as error:
            response.message = error.detail
        response.success = not response.message
        return response

    def _speed_scaling(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success, response.message = True, self._bench.speed_scaling_words()
        return response

    @contextlib.contextmanager
    def _episode(self) -> Iterator[None]:
        """Keep others from moving the robot, such as an episode that was given up and still runs."""
        guard = self._bench.guard
        with self._busy, contextlib.nullcontext() if guard is None else guard.episode():
            yield

    def _report(self, handle: ServerGoalHandle, request: EpisodeRequest) -> EpisodeReport:
        bench = self._bench
        try:
            if bench.guard is not None:
                bench.guard.require_free()
                bench.guard.prove()
            bench.require_speed()
            bench.follow_policy()
        except (BenchFault, ConfigurationError) as error:
            return EpisodeReport.not_begun(request, error)
        report = run_episode(
            bench.episode,
            bench.controller,
            bench.episode.policy.description,
            request,
            partial(self._publish_feedback, handle),
            lambda: handle.is_cancel_requested,
        )
        if not report.fault.voids and (reason := bench.slowed()):
            # Whatever else happened, a slower robot is neither the policy's fault nor its merit.
            return replace(report, fault=Fault.ROBOT_FAULT, detail=reason)
        return report

    def _publish_feedback(self, handle: ServerGoalHandle, step: int, progress: Progress) -> None:
        if self._bench.guard is not None:
            self._bench.guard.running(step)
        if step % FEEDBACK_EVERY == 0:
            message = progress_to_msg(progress, self._bench.profile.world_frame)
            handle.publish_feedback(RunEpisode.Feedback(step=step, progress=message))


def _request(goal: RunEpisode.Goal) -> EpisodeRequest:
    return EpisodeRequest(
        trial_id=goal.trial_id,
        instruction=goal.instruction,
        segments=segments_from_msg(goal.segments),
        seed=goal.seed,
        step_limit=goal.step_limit,
        stop_on_success=goal.stop_on_success,
        start=stamp_from_msg(goal.start),
        start_pose=pose_from_msg(goal.start_pose),
        filters=filters_from_msg(goal.filters),
    )


def _result(report: EpisodeReport, bench: RosEpisodeBench) -> RunEpisode.Result:
    return RunEpisode.Result(
        fault=fault_to_msg(report.fault, report.detail),
        steps=report.steps,
        clamped_steps=report.clamped_steps,
        interventions=interventions_to_msg(report.interventions),
        stopped=report.stopped,
        last_stamp=time_to_msg(report.last_stamp),
        published=[TopicCount(topic=topic, count=count) for topic, count in bench.published().items()],
        gripper_closed=math.nan if report.gripper_closed is None else report.gripper_closed,
        **episode_fields(replace(report, pose_source=bench.pose_source, speed_scaling=bench.speed_scaling)),
    )


def main() -> None:
    """Run the node."""
    run_node(Rollout)
