"""operator: serves the console of the person at the robot, and shows the session's questions there."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from std_srvs.srv import Trigger

from robocontrast_ros.console.access import Access, new_token
from robocontrast_ros.console.console import Console, SessionFacts
from robocontrast_ros.console.judgements import EndedTrial, TrialJudgements
from robocontrast_ros.console.new_instances import NewInstances
from robocontrast_ros.console.operator_view import ConsoleOperatorView
from robocontrast_ros.console.questions import OperatorAnswer, SetUpQuestion, StartQuestion
from robocontrast_ros.console.server import ConsoleServer
from robocontrast_ros.console.table_map import TableMap
from robocontrast_ros.console.web import console_app
from robocontrast_ros.episodes.judging import may_have_dropped, success_in_words
from robocontrast_ros.graph.parameters.operator import OperatorNodeParameters
from robocontrast_ros.images.rendering import Camera
from robocontrast_ros.messages.decoding import move_from_msg, scene_from_msg, start_scene_from_msg, trial_from_msg
from robocontrast_ros.msg import Heartbeat, SessionStatus, Stopped
from robocontrast_ros.nodes.conversions.domain import fault_from_msg, fault_to_msg, judgement_to_msg, scene_to_msg
from robocontrast_ros.nodes.operator.camera import CameraView
from robocontrast_ros.nodes.operator.steering import ServiceSteering
from robocontrast_ros.nodes.runtime.channel import Channel
from robocontrast_ros.nodes.runtime.main import run_node
from robocontrast_ros.nodes.runtime.parameters import declare_record
from robocontrast_ros.nodes.runtime.qos import LATCHED, STATE
from robocontrast_ros.runs.history import History
from robocontrast_ros.runs.journal import read_journal
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.sessions.control import SessionState
from robocontrast_ros.sessions.resolving import resolve
from robocontrast_ros.srv import AskMoves, JudgeTrial, ReadTable, StartTrial
from robocontrast_ros.strategies.effort import SecondsToMove, Tolerance
from robocontrast_ros.worlds.console_camera import TableReader, console_camera, how_known

UNKNOWN = Tolerance(math.nan, math.nan)
"""Deviations of an object that is not seen."""

LOOK = 1.0
"""Period of the checks whether the camera is silent [s]."""


class Operator(Node):
    """Serves the console. Each question waits in a thread of its own until it is answered on the page."""

    threads = 6

    def __init__(self) -> None:
        """Declare the parameters, load the session, and open the page."""
        super().__init__("operator")
        parameters = declare_record(self, OperatorNodeParameters)
        run = RunFolder.open(parameters.run)
        session = resolve(run.session_file)
        task, features, console = session.task, session.world.features, session.parameters.operator
        self._blind, self._looks = session.parameters.blind is not None, session.parameters.stop_early is not None
        self._unseen = features.unseen
        self._times = SecondsToMove(session.parameters.handling_times, task.store)
        self._channel = Channel(self)
        node = self._channel.node
        files, source = session.console_files(), str(session.source)
        # Without pictures between the trials there is none to look at.
        pictures = () if session.images_when_asked else session.parameters.cameras or ()
        shown = next((c for c in pictures if console.camera in ("", c.name)), None)
        camera = shown and Camera(shown.name, shown.width, shown.height)
        self._wanted, table = console_camera(camera, files, session.robot, task, features, source)
        interfaces = (c for c in session.robot.cameras if shown is not None and c.name == shown.name)
        self._camera = next((CameraView(node, c, self.get_clock()) for c in interfaces), None)
        self._table = TableReader(self._camera, table)
        steering = ServiceSteering(node, parameters.episode_manager, parameters.watchdog, parameters.sim_bridge)
        judge, look = session.world.judge, partial(self._table.standing, steering.scene)
        self._console = Console(
            steering,
            console.checklist,
            judged=judge.asks,
            ends_trials=judge.asks and session.parameters.stop_on_success,
            instances=NewInstances(task, run.instances, look, how_known(features)),
        )
        self._console.set_limit(task.step_limit / task.control_rate)
        self._judgements = TrialJudgements(
            self._console,
            task,
            partial(success_in_words, judge=judge, control_rate=task.control_rate),
            table and table.verdict,
            console.ask_always,
            self._blind,
        )
        past = read_journal(run.journal).corrected.events if run.journal.exists() else ()
        for event in History.of(past).finished:
            self._judgements.remember(event.trial, event.trial.instance.scene, event.judgement)
        operator_view = ConsoleOperatorView(
            self._console,
            TableMap(task, session.set_up_tolerances),
            self._camera.picture if self._camera else lambda: None,
            self._wanted.draw if self._wanted else lambda scene: None,
            run.name,
            features.embedded,
        )
        token = new_token(run.path)
        app = console_app(operator_view, token)
        tls = files.get("certificate"), files.get("key")
        self._server = ConsoleServer(app, console.host, console.port, *tls, source=source)
        self._connect(node, features.camera)
        self._server.start()
        access = Access(self._server.url, token)
        access.write(run.path)
        self.get_logger().info(f"the console is at {access.url}; `robocontrast console RUN` shows what opens it")

    def _connect(self, node: Node, reads_table: bool) -> None:
        """Subscribe to the session, by ``node``, and serve its questions."""
        node.create_subscription(SessionStatus, "session_status", self._on_status, LATCHED)
        node.create_subscription(Stopped, "stopped", self._on_stopped, LATCHED)
        node.create_subscription(Heartbeat, "heartbeat", self._on_heartbeat, STATE)
        self._channel.start()
        group = ReentrantCallbackGroup()
        self.create_service(AskMoves, "~/ask_moves", self._ask_moves, callback_group=group)
        self.create_service(StartTrial, "~/start_trial", self._start_trial, callback_group=group)
        self.create_service(Trigger, "~/settle", self._settle, callback_group=group)
        self.create_service(JudgeTrial, "judge/judge_trial", self._judge, callback_group=group)
        if reads_table:
            self.create_service(ReadTable, "~/read_table", self._read_table, callback_group=group)
        self.create_timer(LOOK, self._look, callback_group=group, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def on_end(self) -> None:
        """Answer the open question as void, and close the page."""
        self._console.close()
        self._server.close()
        if self._wanted is not None:
            self._wanted.close()
        self._channel.close()

    def _ask_moves(self, request: AskMoves.Request, response: Any) -> Any:
        moves = tuple(move_from_msg(move) for move in request.moves)
        target, present = scene_from_msg(request.target), scene_from_msg(request.present)
        question = SetUpQuestion(
            target,
            present,
            moves,
            tuple(request.problems),
            request.doubts,
            self._times.cost(moves),
            self._unseen,
            request.bring_robot,
        )
        answer = self._console.ask(question)
        response.fault = _fault_of(answer)
        response.moved, response.overruled, response.seconds = list(answer.moved), answer.overruled, answer.seconds
        return response

    def _start_trial(self, request: StartTrial.Request, response: Any) -> Any:
        trial = trial_from_msg(request.trial)
        response.fault = _fault_of(self._console.ask(StartQuestion(trial.trial_id, trial.instance.instruction.text)))
        return response

    def _settle(self, request: Trigger.Request, response: Any) -> Any:
        response.success = self._console.settle()
        return response

    def _read_table(self, request: ReadTable.Request, response: Any) -> Any:
        reading = self._table.read(scene_from_msg(request.expected))
        response.scene = scene_to_msg(reading.scene, self._camera.stamp)
        spread = [reading.deviations.get(name, UNKNOWN) for name in reading.scene.names]
        response.position_deviations = [deviation.position for deviation in spread]
        response.yaw_deviations = [deviation.orientation for deviation in spread]
        response.unsure, response.reasons = list(reading.unsure), list(reading.unsure.values())
        return response

    def _judge(self, request: JudgeTrial.Request, response: Any) -> Any:
        trial, (_, start) = trial_from_msg(request.trial), start_scene_from_msg(request.trial)
        dropped = may_have_dropped(request.gripper_closed)
        ended = EndedTrial(trial, start, *fault_from_msg(request.fault), request.stopped, dropped)
        answer = self._judgements.judge(ended)
        response.fault = _fault_of(answer)
        if answer.judgement is not None:
            response.judgement = judgement_to_msg(answer.judgement, 0)
        return response

    def _on_status(self, message: SessionStatus) -> None:
        limit = message.budget.limit
        fault, detail = fault_from_msg(message.void_fault)
        self._console.tell(
            SessionFacts(
                state=SessionState(message.state).name.lower(),
                detail=message.detail,
                void_fault=fault,
                void_detail=detail,
                trials_done=message.trials_done,
                trials_expected=message.trials_expected,
                trials_void=message.trials_void,
                spent=message.budget.spent,
                limit=limit if math.isfinite(limit) else None,
                unit=message.budget.unit,
                time_left=message.time_left if math.isfinite(message.time_left) else None,
                code=message.policy if self._blind else "",
                looks=self._looks,
            )
        )
        if not message.instruction:
            self._console.trial_ended()

    def _on_stopped(self, message: Stopped) -> None:
        self._console.tell_stop(message.reason or "stopped" if message.stopped else "")

    def _on_heartbeat(self, message: Heartbeat) -> None:
        self._console.tell_moving(message.phase == Heartbeat.RUNNING)

    def _look(self) -> None:
        self._console.tell_problems(self._table.problems())


def _fault_of(answer: OperatorAnswer) -> Any:
    return fault_to_msg(answer.fault, answer.reason)


def main() -> None:
    """Run the node."""
    run_node(Operator)


if __name__ == "__main__":
    main()
