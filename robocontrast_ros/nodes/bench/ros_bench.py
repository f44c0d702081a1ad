"""The session's bench over ROS: scenes through sim_bridge, episodes through rollout, scores, bags."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Container
from dataclasses import replace
from pathlib import Path
from typing import Any

from rclpy.client import Client
from rclpy.node import Node
from std_srvs.srv import Trigger

from robocontrast_ros.action import RunEpisode
from robocontrast_ros.domain import Fault, Scene, SetupMove, Trial
from robocontrast_ros.episodes.bench import BenchFault, Execution, PolicyBench, ServingPolicy, SetByPerson, too_late
from robocontrast_ros.graph.parameters.episode_manager import BenchSettings
from robocontrast_ros.messages.decoding import (
    episode_from_msg,
    judgement_from_msg,
    result_from_msg,
    scene_from_msg,
    stamp_from_msg,
)
from robocontrast_ros.messages.encoding import TrialContext
from robocontrast_ros.msg import TopicCount
from robocontrast_ros.msg import Trial as TrialMsg
from robocontrast_ros.nodes.bench.asking import ask, checked
from robocontrast_ros.nodes.bench.episodes import EpisodeClient
from robocontrast_ros.nodes.bench.policies import PolicyClients
from robocontrast_ros.nodes.bench.recordings import RecordingClients
from robocontrast_ros.nodes.bench.stop_monitor import StopMonitor
from robocontrast_ros.nodes.conversions.domain import (
    fault_from_msg,
    fault_to_msg,
    filters_to_msg,
    move_to_msg,
    pose_to_msg,
    scene_to_msg,
    segments_to_msg,
    time_to_msg,
    trial_to_msg,
)
from robocontrast_ros.nodes.runtime.channel import (
    POLL,
    Channel,
    DiscoveryProbe,
    NoAnswer,
    PendingResponse,
    becomes_true,
    call,
    call_while_there,
    fault_without_answer,
    first_call,
)
from robocontrast_ros.nodes.runtime.qos import LATCHED
from robocontrast_ros.policies.protocol import PolicyDescription
from robocontrast_ros.policies.segments import to_send
from robocontrast_ros.srv import FinishScoring, GetScene, JudgeTrial, SetupScene, StartScoring, StartTrial
from robocontrast_ros.tasks.protocol import Task, robot_start

WATCHDOG_LIMIT = 5.0
"""Silence of the watchdog after which the session waits for it [s]; the rollout stops the robot much sooner."""

REST_REMINDER = 30.0
"""Period of the questions whether a robot has reached its posture of rest [s]."""

START_UP_POLL = 0.5
"""Period at which the wait for the other nodes checks whether the session was aborted [s]."""


class RosBench(PolicyBench):
    """The bench of the other nodes. Its methods block, so they are called from a thread of the session's own."""

    def __init__(
        self,
        owner: Node,
        settings: BenchSettings,
        context: TrialContext,
        run_folder: Path,
        task: Task,
        stop_on_success: bool,
        recorded: Container[str],
        aborted: Callable[[], bool],
        check: Callable[[PolicyDescription, str], None],
        asks_judge: bool = False,
    ) -> None:
        """Make the clients.

        Args:
            owner: the node whose name and namespace the hidden node takes.
            settings: names and limits.
            context: content of every Trial message besides the trial.
            run_folder: folder of ``bags/``.
            task: the session's task.
            stop_on_success: whether an episode ends at success.
            recorded: the recorded topics.
            aborted: called while an episode runs; True cancels it.
            check: takes a policy's description and its source; raises ConfigurationError if the policy does not fit.
            asks_judge: whether a judge outside judges the trials.
        """
        self._settings, self._context = settings, context
        self._task, self._stop_on_success, self._aborted = task, stop_on_success, aborted
        self._channel = Channel(owner)
        node, p = self._channel.node, settings
        self._setup_scene = node.create_client(SetupScene, f"{p.sim_bridge}/setup_scene")
        self._get_scene = node.create_client(GetScene, f"{p.sim_bridge}/get_scene")
        self._start_scoring = node.create_client(StartScoring, f"{p.scorer}/start")
        self._finish_scoring = node.create_client(FinishScoring, f"{p.scorer}/finish")
        self._rollout_rests = node.create_client(Trigger, f"{p.rollout}/rest") if p.rest else None
        self._rollout_speed = node.create_client(Trigger, f"{p.rollout}/speed_scaling") if p.watchdog else None
        self._not_home, self._name = "", owner.get_fully_qualified_name()
        self._judge = node.create_client(JudgeTrial, p.judge) if asks_judge else None
        self._starter = node.create_client(StartTrial, f"{p.operator}/start_trial") if p.operator else None
        self._settle = node.create_client(Trigger, f"{p.operator}/settle") if p.operator else None
        self._recordings = RecordingClients(node, p, run_folder, recorded)
        self._policies = PolicyClients(node, p, aborted, check)
        self.stage_policy, self.serve_policy = self._policies.stage, self._policies.serve
        self._trial = node.create_publisher(TrialMsg, "trial", LATCHED)
        self._stops = StopMonitor(node, p.watchdog, WATCHDOG_LIMIT) if p.watchdog else None
        self._episodes = EpisodeClient(self._channel, p, aborted, self.stopped)
        others = {
            Fault.POLICY_SERVER_LOST: p.policy_server,
            Fault.SIMULATOR_LOST: p.sim_bridge,
            Fault.SCORER_LOST: p.scorer,
            Fault.SENSOR_LOST: p.rollout,
            Fault.RECORDER_LOST: p.recorder,
            Fault.ROBOT_STOPPED: p.watchdog,
            Fault.JUDGE_LOST: p.operator,
        }
        self._others = {fault: DiscoveryProbe(node, name) for fault, name in others.items() if name}
        self._start: tuple[float, Scene] | None = None
        self._set_by_person: SetByPerson | None = None
        self._serving: PolicyDescription | None = None
        self._shown = ""
        self.now = 0
        """Stamp of the newest scene or observation, in the clock of the graph [ns]; 0 before the first."""
        self._channel.start()

    def close(self) -> None:
        """Free the channel."""
        self._channel.close()

    def wait(self) -> None:
        """Wait until all nodes are up, and check that the policy fits.

        Raises:
            BenchFault: a node did not come up in time; the fault names it.
            ConfigurationError: the serving policy does not fit.
        """
        needed = {
            Fault.POLICY_SERVER_LOST: self._policies.clients,
            Fault.SIMULATOR_LOST: (self._get_scene, self._setup_scene),
            Fault.SCORER_LOST: (self._start_scoring, self._finish_scoring),
            Fault.RECORDER_LOST: self._recordings.clients,
            Fault.JUDGE_LOST: tuple(client for client in (self._judge, self._starter) if client is not None),
        }
        deadline = time.monotonic() + self._settings.startup_timeout
        for fault, clients in needed.items():
            for client in clients:
                self._await(client.service_is_ready, f"'{client.srv_name}'", deadline, fault)
        rollout = f"'{self._settings.rollout}'"
        self._await(self._episodes.server_is_ready, rollout, deadline, Fault.SENSOR_LOST)
        for fault, other in self._others.items():
            with fault_without_answer(fault):
                other.wait(max(deadline - time.monotonic(), 0.1))
        if self._stops is not None:
            self._stops.wait(max(deadline - time.monotonic(), 0.1))
        self._policies.check()

    def _await(self, there: Callable[[], bool], what: str, deadline: float, fault: Fault) -> None:
        while not becomes_true(there, START_UP_POLL):
            if self._aborted():
                raise BenchFault(Fault.ABORTED, f"the session was aborted before {what} was there")
            if time.monotonic() > deadline:
                limit = self._settings.startup_timeout
                raise too_late(fault, f"{what} is not there after {limit:g} s", "start_up")

    def stopped(self) -> str:
        """Return the reason of the robot's stop, and how to release it; empty without a stop, or without a watchdog."""
        return self._stops.reason if self._stops is not None else ""

    def await_release(self) -> str:
        """Wait until the robot is released, however long that takes, and return the name of who released it.

        Raises:
            BenchFault: the session was aborted meanwhile, or the watchdog is lost.
        """
        lost = time.monotonic() + self._settings.answer_timeout
        while reason := self.stopped():
            if self._aborted():
                raise BenchFault(Fault.ABORTED, "the session was aborted while the robot was stopped")
            if not self._stops.silent:
                lost = time.monotonic() + self._settings.answer_timeout
            elif time.monotonic() > lost:
                raise BenchFault(Fault.ROBOT_STOPPED, reason)
            time.sleep(POLL)
        return self._stops.released_by if self._stops is not None else ""

    def speed_scaling(self) -> str:
        """Return what slows the robot from outside, and the cure, or that it is unknown; empty at full speed."""
        if self._rollout_speed is None:
            return ""
        with fault_without_answer(Fault.SENSOR_LOST):
            return first_call(self._rollout_speed, Trigger.Request(), self._settings.answer_timeout).message

    def not_home(self) -> str:
        """Return why the robot could not go home, and what a person does about it; empty if it could."""
        if not self._not_home:
            return ""
        return (
            f"the robot could not go home ({self._not_home}): bring it above the table by hand, stand back, and let "
            "the session go on; the robot then goes to its posture of rest. Without a console: ros2 service call "
            f"{self._name}/resume robocontrast_ros/srv/ResumeSession"
        )

    def go_home(self) -> None:
        """Have the robot go to its posture of rest; ``not_home`` then reports whether it is there."""
        self._await_rest()

    def policy(self) -> ServingPolicy:
        """Return the serving policy, which the messages of later trials will name."""
        policy = self._policies.serving()
        self._context = replace(self._context, policy=self._shown or policy.name)
        self._serving = policy.description
        return policy

    def show_policy_as(self, code: str) -> None:
        """Name the policy by this code in the messages of later trials."""
        self._shown = code

    def scene(self) -> Scene:
        """Return the present scene."""
        response = self._ask(self._get_scene, GetScene.Request(), Fault.SIMULATOR_LOST)
        self.now = stamp_from_msg(response.scene.header.stamp)
        return scene_from_msg(response.scene)

    def description(self) -> str:
        """Return the simulator and renderer of the scenes, in words; empty if the simulator does not report them."""
        return self._ask(self._get_scene, GetScene.Request(), Fault.SIMULATOR_LOST).world

    def set_up(self, target: Scene, moves: tuple[SetupMove, ...]) -> Scene:
        """Bring the scene to the target and the robot to its start; return the scene that was read back."""
        return self._set_up(SetupScene.Request(target=scene_to_msg(target), moves=[move_to_msg(m) for m in moves]))

    def reset_robot(self) -> Scene:
        """Bring the robot alone to its start; return the scene that was read back."""
        return self._set_up(SetupScene.Request(robot_alone=True))

    def _set_up(self, request: SetupScene.Request) -> Scene:
        limit = self._settings.setup_timeout
        asked = self._setup_scene, request, Fault.SIMULATOR_LOST, limit, "the scene was set up"
        response = self._ask_unless_aborted(*asked, key="set_up")
        scene = scene_from_msg(response.scene)
        self.now = stamp_from_msg(response.scene.header.stamp)
        self._start = self.now, scene
        read = scene_from_msg(response.read) if response.has_read else None
        by_person = SetByPerson(response.seconds, read, tuple(response.overruled))
        self._set_by_person = None if math.isnan(response.seconds) else by_person
        return scene

    def set_by_person(self) -> SetByPerson | None:
        """Return how a person set the last scene up; None if no person sets scenes up."""
        return self._set_by_person

    def execute(self, trial: Trial, attempt: int) -> Execution:
        """Record, run and score one trial in the scene that was set up last."""
        if self._start is None:
            raise BenchFault(Fault.SETUP_FAILED, "no scene was set up before the trial")
        start, scene = self._start
        message = trial_to_msg(trial, self._context, scene, start)
        self._await_start(message)
        began = time.monotonic()
        bag = self._recordings.open(trial, attempt, start)
        self._trial.publish(message)
        episode, fault, detail = RunEpisode.Result(), Fault.NONE, ""
        try:
            self._ask(self._start_scoring, StartScoring.Request(trial=message), Fault.SCORER_LOST)
            episode = self._episodes.run(self._goal(trial, bag, start, scene))
            self.now = stamp_from_msg(episode.last_stamp)
            fault, detail = fault_from_msg(episode.fault)
        except BenchFault as error:
            fault, detail = error.fault, error.detail
        # The first fault makes the trial void; scoring and recording are ended in any case.
        void = BenchFault(fault, detail) if fault.voids else None
        # The robot must not hide the scene from a camera that reads it.
        rested = self._settings.camera_reads and void is None
        left = self._rest() if rested else None
        request = FinishScoring.Request(
            fault=fault_to_msg(fault, detail),
            steps=episode.steps,
            clamped_steps=episode.clamped_steps,
            interventions=episode.interventions,
            stopped=episode.stopped,
            last_stamp=episode.last_stamp,
        )
        try:
            if void is None:
                self._complete(request, message, episode.gripper_closed)
            result = self._ask(self._finish_scoring, request, Fault.SCORER_LOST).result
        except BenchFault as error:
            void = void or error
        try:
            # There is no wait for the last messages of a void trial.
            published = () if void else self._published(episode, request.has_judgement)
            recording = self._recordings.close(bag, published)
        except BenchFault as error:
            void = void or error
        if void is not None:
            if self._rollout_rests is not None and void.fault is Fault.ROBOT_NOT_READY:
                self._not_home = void.detail
            elif void.fault in (Fault.VOIDED, Fault.SKIPPED) and not rested:
                # A person decided this: the robot has no fault.
                self._rest()
            raise void
        left = left if rested else self._rest()
        return Execution(
            result=result_from_msg(result),
            recording=recording,
            wall_time=time.monotonic() - began,
            left=left,
            judgement=judgement_from_msg(request.judgement) if request.has_judgement else None,
            **episode_from_msg(episode).episode,
        )

    def _rest(self) -> Scene | None:
        """Have the robot go to its posture of rest; if it has no safe way there, ``not_home`` reports it.

        The trial is over and counts in any case.

        Returns:
            The scene afterwards, in which objects that the robot held or pressed may have moved. None if the robot does
            not go to rest, or the scene cannot be read: the next trial reads it again.
        """
        if self._rollout_rests is None:
            return None
        self._await_rest()
        try:
            return self.scene()
        except BenchFault as error:
            self._channel.node.get_logger().warning(f"the scene after the robot went to rest is not known: {error}")
            return None

    def _await_rest(self) -> None:
        log, self._not_home = self._channel.node.get_logger(), ""
        while True:
            try:
                # A repeated request is harmless: a robot that is at rest stays there.
                response = call_while_there(self._rollout_rests, Trigger.Request(), REST_REMINDER)
            except NoAnswer as error:
                # No scene may be set up while the robot moves.
                if self._aborted() or not self._rollout_rests.service_is_ready():
                    log.warning(f"the robot may still be on its way to its posture of rest: {error}")
                    self._not_home = f"it may still be on its way ({error})"
                    return
                log.warning("the robot is on its way to its posture of rest")
                continue
            if not response.success:
                log.warning(f"the robot stays where the trial left it: {response.message}")
                self._not_home = response.message
            return

    def _goal(self, trial: Trial, bag: str, start: int, scene: Scene) -> RunEpisode.Goal:
        return RunEpisode.Goal(
            trial_id=trial.trial_id,
            instruction=trial.instance.instruction.text,
            segments=segments_to_msg(to_send(trial.instance.instruction, self._task, self._serving)),
            seed=trial.seed,
            filters=filters_to_msg(trial.instance.observation),
            step_limit=trial.step_limit or self._task.limit(trial.instance),
            stop_on_success=self._stop_on_success,
            start=time_to_msg(start),
            start_pose=pose_to_msg(robot_start(self._task, scene)),
            recording=self._recordings.folder(bag),
        )

    def _published(self, episode: RunEpisode.Result, judged: bool) -> list[TopicCount]:
        """Return the numbers of messages of a trial that ended well, as far as they are known."""
        once = ["trial", "trial_result"]
        once += ["scene"] if self._context.scene_when_asked else []
        once += ["judgement"] if judged else []
        return [*episode.published, *(TopicCount(topic=topic, count=1) for topic in once)]

    def _complete(self, request: FinishScoring.Request, trial: TrialMsg, gripper_closed: float) -> None:
        """Add the data that are known only after the episode: the scene, if no stream has it, and a judgement."""
        if self._context.scene_when_asked:
            response = self._ask(self._get_scene, GetScene.Request(), Fault.SIMULATOR_LOST)
            request.has_final_scene, request.final_scene = True, response.scene
        if self._judge is not None:
            asked = JudgeTrial.Request(
                trial=trial, fault=request.fault, stopped=request.stopped, gripper_closed=gripper_closed
            )
            judgement = self._judged(asked).judgement
            # A judgement without a name means that nobody was asked: the camera has decided alone.
            request.has_judgement = bool(judgement.by) or not self._settings.camera_reads
            request.judgement = judgement

    def _judged(self, request: JudgeTrial.Request) -> JudgeTrial.Response:
        """Return the judge's answer."""
        limit = self._settings.judge_timeout
        return self._ask_unless_aborted(
            self._judge, request, Fault.JUDGE_LOST, limit, "the trial was judged", self._settles
        )

    def _settles(self) -> bool:
        """Make a confirmed judgement count that could still be taken back; return whether there was one."""
        if self._settle is None:
            return False
        try:
            return call(self._settle, Trigger.Request(), self._settings.answer_timeout).success
        except NoAnswer:
            return False

    def _await_start(self, trial: TrialMsg) -> None:
        """Wait until the person at the robot, if there is one, starts the trial."""
        if self._starter is not None:
            limit, request = self._settings.setup_timeout, StartTrial.Request(trial=trial)
            self._ask_unless_aborted(self._starter, request, Fault.JUDGE_LOST, limit, "the trial was started")

    def _ask_unless_aborted(
        self,
        client: Client,
        request: Any,
        lost: Fault,
        limit: float,
        what: str,
        on_abort: Callable[[], bool] = lambda: False,
        key: str = "",
    ) -> Any:
        """Return an answer that may take long; an abort of the session ends the wait.

        Args:
            client: client of the service.
            request: the request.
            lost: the fault if no answer can come any more.
            limit: time limit of the answer [s].
            what: the event that the answer reports, in words.
            on_abort: called when the session is aborted; returns whether the answer comes at once.
            key: key of the limit, below the session's `timeouts`; by default that of the fault.

        Raises:
            BenchFault: the answer has a fault, the session was aborted, or the service is lost or silent.
        """
        response, deadline = PendingResponse(client, request), time.monotonic() + limit
        while not response.arrived(POLL):
            if self._aborted():
                if on_abort() and response.arrived(self._settings.answer_timeout):
                    break
                response.give_up()
                raise BenchFault(Fault.ABORTED, f"the session was aborted before {what}")
            if not client.service_is_ready():
                response.give_up()
                raise BenchFault(lost, f"'{client.srv_name}' is gone")
            if time.monotonic() > deadline:
                response.give_up()
                raise too_late(lost, f"'{client.srv_name}' is silent for {limit:g} s", key)
        return checked(response.result(0.0))

    def _ask(self, client: Client, request: Any, lost: Fault) -> Any:
        return ask(client, request, lost, self._settings.answer_timeout)
