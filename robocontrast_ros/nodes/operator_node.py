"""operator: serves the console of the person at the robot, and asks there what the session wants to know."""

from __future__ import annotations

import math
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from std_srvs.srv import Trigger

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.console.access import Access, new_token
from robocontrast_ros.console.backstage import ConsoleBackstage
from robocontrast_ros.console.console import Console, SessionFacts
from robocontrast_ros.console.new_instances import NewInstances, NotRecorded
from robocontrast_ros.console.questions import Answer, JudgeQuestion, SetUpQuestion, StartQuestion, why_ended
from robocontrast_ros.console.server import ConsoleServer
from robocontrast_ros.console.table_map import TableMap, doubts_in_words
from robocontrast_ros.console.web import console_app
from robocontrast_ros.domain import Fault, Instruction, Scene
from robocontrast_ros.episodes.judging import may_have_dropped, success_in_words
from robocontrast_ros.images.rendering import Camera
from robocontrast_ros.messages.decoding import move_from_msg, scene_from_msg, start_scene_from_msg, trial_from_msg
from robocontrast_ros.msg import Heartbeat, SessionStatus, Stopped
from robocontrast_ros.nodes.conversions.domain import fault_from_msg, fault_to_msg, judgement_to_msg, scene_to_msg
from robocontrast_ros.nodes.operator.camera import CameraView
from robocontrast_ros.nodes.operator.parameters import OperatorNodeParameters
from robocontrast_ros.nodes.operator.steering import ServiceSteering
from robocontrast_ros.nodes.runtime.channel import Channel
from robocontrast_ros.nodes.runtime.main import run_node
from robocontrast_ros.nodes.runtime.parameters import declare_record
from robocontrast_ros.nodes.runtime.qos import LATCHED, STATE
from robocontrast_ros.perception import CalibratedCamera, load_camera
from robocontrast_ros.runs.events import TrialFinished
from robocontrast_ros.runs.history import as_counted
from robocontrast_ros.runs.journal import read_journal
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.sessions.control import SessionState
from robocontrast_ros.sessions.resolving import ResolvedSession, resolve
from robocontrast_ros.srv import AskMoves, JudgeTrial, ReadTable, StartTrial
from robocontrast_ros.strategies.effort import SecondsToMove, Tolerance
from robocontrast_ros.tasks.protocol import StagedGoal
from robocontrast_ros.worlds.backends import BackendFeatures
from robocontrast_ros.worlds.mujoco.wanted import wanted_scenes
from robocontrast_ros.worlds.table_camera import TableCamera, load_fixed_tags, load_tags, standard_tags

PICTURE = 5.0
"""How long a new picture is waited for [s]."""

UNKNOWN = Tolerance(math.nan, math.nan)
"""In place of the deviations of what is not seen."""

LOOK = 1.0
"""How often it looks whether the camera is silent [s]."""


class Operator(Node):
    """Each question waits in a thread of its own until it is answered on the page."""

    threads = 6

    def __init__(self) -> None:
        """Declare the parameters, load the session, and open the page."""
        super().__init__("operator")
        parameters = declare_record(self, OperatorNodeParameters)
        run = RunFolder.open(parameters.run)
        session = resolve(run.session_file)
        self._task, console = session.task, session.parameters.operator
        self._blind, self._looks = session.parameters.blind is not None, session.parameters.stop_early is not None
        features = session.world.features
        self._unseen = features.unseen
        self._times = SecondsToMove(session.parameters.handling_times, session.task.store)
        self._reading = threading.Lock()
        self._channel = Channel(self)
        node = self._channel.node
        bridge = parameters.sim_bridge
        self._steering = ServiceSteering(node, parameters.episode_manager, parameters.watchdog, bridge)
        self._unsure: dict[str, str] = {}
        new = NewInstances(session.task, run.instances, self._standing, _how_known(features))
        self._judge_of = session.world.judge
        asks = self._judge_of.asks
        self._console = Console(
            self._steering,
            console.checklist,
            judged=asks,
            ends_trials=asks and session.parameters.stop_on_success,
            instances=new,
        )
        self._console.set_limit(session.task.step_limit / session.task.control_rate)
        events = read_journal(run.journal).corrected.events if run.journal.exists() else ()
        for event in as_counted(events):
            if isinstance(event, TrialFinished):
                instance = event.trial.instance
                subgoals = self._subgoals(instance.instruction, instance.scene)
                self._console.remember(event.trial.trial_id, event.judgement, subgoals)
        names = [camera.name for camera in session.parameters.cameras or ()]
        shown = console.camera or next(iter(names), "")
        cameras = (CameraView(node, c, self.get_clock()) for c in session.robot.cameras if c.name == shown)
        self._camera = next(cameras, None)
        size = next(((c.width, c.height) for c in session.parameters.cameras or () if c.name == shown), None)
        real = load_camera(Path(console.calibration)) if console.calibration and not features.embedded else None
        camera = Camera(shown, *size) if size else None
        self._wanted = wanted_scenes(session.robot, session.task, camera, features.embedded, real)
        self._table = self._table_camera(session, size, real) if features.camera else None
        self._ask_always = console.ask_always or not features.camera
        self._backstage = ConsoleBackstage(
            self._console,
            TableMap(session.task, session.set_up_tolerances),
            self._camera.picture if self._camera else lambda: None,
            self._wanted.draw if self._wanted else lambda scene: None,
            run.name,
            session.world.features.embedded,
        )
        token = new_token(run.path)
        files = (Path(f) if f else None for f in (console.certificate, console.key))
        app = console_app(self._backstage, token)
        self._server = ConsoleServer(app, console.host, console.port, *files, source=str(session.source))
        node.create_subscription(SessionStatus, "session_status", self._on_status, LATCHED)
        node.create_subscription(Stopped, "stopped", self._on_stopped, LATCHED)
        node.create_subscription(Heartbeat, "heartbeat", self._on_heartbeat, STATE)
        self._channel.start()
        group = ReentrantCallbackGroup()
        self.create_service(AskMoves, "~/ask_moves", self._ask_moves, callback_group=group)
        self.create_service(StartTrial, "~/start_trial", self._start_trial, callback_group=group)
        self.create_service(Trigger, "~/settle", self._settle, callback_group=group)
        self.create_service(JudgeTrial, "judge/judge_trial", self._judge, callback_group=group)
        if self._table is not None:
            self.create_service(ReadTable, "~/read_table", self._read_table, callback_group=group)
        self.create_timer(LOOK, self._look, callback_group=group, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self._server.start()
        access = Access(self._server.url, token)
        access.write(run.path)
        self.get_logger().info(f"the console is at {access.url}; `robocontrast console RUN` shows what opens it")

    def _table_camera(
        self, session: ResolvedSession, size: tuple[int, int] | None, real: CalibratedCamera | None
    ) -> TableCamera:
        """Return what reads scenes from the camera's pictures; in practice its calibration is that of the simulator."""
        console = session.parameters.operator
        if self._camera is None or size is None:
            cameras = [camera.name for camera in session.parameters.cameras or ()]
            raise ConfigurationError.unknown(
                str(session.source), "operator.camera", console.camera, cameras, "camera of the session"
            )
        models = session.task.scenes.models.values()
        tags = load_tags(Path(console.tags), session.task) if console.tags else standard_tags(models)
        if session.world.features.embedded:
            return TableCamera(session.task, self._wanted.calibrated(), tags)
        if real is None:
            expected = f"the file that `robocontrast calibrate` wrote for the camera '{self._camera.name}'"
            raise ConfigurationError(str(session.source), "operator.calibration", "nothing", expected)
        fixed = load_fixed_tags(Path(console.fixed_tags), tags) if console.fixed_tags else ()
        return TableCamera(session.task, real, tags, fixed)

    def on_end(self) -> None:
        """Answer what is asked as void, and close the page."""
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
        with self._reading:
            expected, picture = scene_from_msg(request.expected), self._camera.next_picture(PICTURE)
            if picture is None:
                # The person mends the camera and has it look again, or says how things stand.
                reading = self._table.unseen(expected, self._camera.silence or "No new picture came.")
            else:
                reading = self._table.read(picture, expected)
        self._unsure = dict(reading.unsure)
        response.scene = scene_to_msg(reading.scene, self._camera.stamp)
        spread = [reading.deviations.get(name, UNKNOWN) for name in reading.scene.names]
        response.position_deviations = [deviation.position for deviation in spread]
        response.yaw_deviations = [deviation.orientation for deviation in spread]
        response.unsure, response.reasons = list(reading.unsure), list(reading.unsure.values())
        return response

    def _standing(self) -> Scene:
        """Return the scene as it stands.

        Raises:
            NotRecorded: nobody tells it, or the camera is unsure of something.
        """
        self._unsure = {}
        scene = self._steering.scene()
        if self._unsure:
            doubts = "; ".join(doubts_in_words(self._unsure))
            raise NotRecorded(f"the camera cannot tell where everything stands: {doubts}")
        return scene

    def _judge(self, request: JudgeTrial.Request, response: Any) -> Any:
        trial, (_, scene) = trial_from_msg(request.trial), start_scene_from_msg(request.trial)
        goal = self._task.goals.goal(trial.instance.instruction, scene)
        subgoals = self._subgoals(trial.instance.instruction, scene)
        said = self._table.verdict(goal, trial.instance.instruction) if self._table is not None else None
        dropped = may_have_dropped(request.gripper_closed)
        seen = said is not None and said.certain and not (said.success and dropped)
        if seen and not self._ask_always:
            self._console.remember(trial.trial_id, None, subgoals)
            return response
        fault, detail = fault_from_msg(request.fault)
        ended = why_ended(fault, request.stopped, self._blind)
        shown = "" if self._blind and fault.of_policy else detail
        counts = success_in_words(goal, self._judge_of, self._task.control_rate)
        question = JudgeQuestion(trial.trial_id, trial.instance.instruction.text, ended, subgoals, counts, shown)
        answer = self._console.ask(question)
        response.fault = _fault_of(answer)
        if answer.judgement is not None:
            self._console.remember(trial.trial_id, answer.judgement, subgoals)
            response.judgement = judgement_to_msg(replace(answer.judgement, advises=seen), 0)
        return response

    def _subgoals(self, instruction: Instruction, scene: Scene) -> int:
        goal = self._task.goals.goal(instruction, scene)
        return len(goal.subgoals) if isinstance(goal, StagedGoal) else 1

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
        # What cannot be read is known once somebody has tried.
        picture, silence = (self._camera.picture(), self._camera.silence) if self._camera is not None else (None, "")
        seen = self._table.problems(picture) if self._table is not None and picture is not None else ()
        self._console.tell_problems((silence,) if silence else seen)


def _how_known(features: BackendFeatures) -> str:
    if features.camera:
        return "as the camera sees it"
    return "as it was set up last, for nothing sees it" if features.unseen else "as it is in the simulator"


def _fault_of(answer: Answer) -> Any:
    codes = {"void": Fault.VOIDED, "skip": Fault.SKIPPED}
    return fault_to_msg(codes.get(answer.decision, Fault.NONE), answer.reason)


def main() -> None:
    """Run the node."""
    run_node(Operator)


if __name__ == "__main__":
    main()
