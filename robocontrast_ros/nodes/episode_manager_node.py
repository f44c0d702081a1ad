"""episode_manager: runs a session on the bench that consists of the other nodes."""

from __future__ import annotations

import math
import threading

from rclpy.node import Node

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain import Fault
from robocontrast_ros.episodes.bench import BenchFault
from robocontrast_ros.graph.parameters.episode_manager import BenchSettings, EpisodeManagerParameters
from robocontrast_ros.msg import BudgetStatus
from robocontrast_ros.msg import SessionStatus as SessionStatusMsg
from robocontrast_ros.nodes.bench.ros_bench import RosBench
from robocontrast_ros.nodes.conversions.domain import fault_to_msg, time_to_msg
from robocontrast_ros.nodes.episode_manager.services import SessionServices
from robocontrast_ros.nodes.runtime.diagnostics import Diagnostics, Level, Report
from robocontrast_ros.nodes.runtime.main import run_node
from robocontrast_ros.nodes.runtime.parameters import declare_record
from robocontrast_ros.nodes.runtime.qos import LATCHED
from robocontrast_ros.runs.events import SessionFinished
from robocontrast_ros.runs.journal import JournalError, JournalWriter
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.sessions.control import SessionControl, SessionState, SessionStatus, end_line
from robocontrast_ros.sessions.loop import SessionEnd, run_session
from robocontrast_ros.sessions.policy_check import check_description
from robocontrast_ros.sessions.recording import recorded_topics, trial_context
from robocontrast_ros.sessions.resolving import resolve
from robocontrast_ros.system.disk import DiskError


class EpisodeManager(Node):
    """Runs the session on a thread of its own, and services and status on the executor's thread."""

    def __init__(self) -> None:
        """Declare the parameters and load the session."""
        super().__init__("episode_manager")
        self._node_parameters = parameters = declare_record(self, EpisodeManagerParameters)
        self._run = RunFolder.open(parameters.run)
        # Before anything else, so that a session that is running already keeps its graph.yaml and its journal.
        self._journal = JournalWriter(self._run.journal)
        self._session = resolve(self._run.session_file)
        self._control = SessionControl()
        self._publisher = self.create_publisher(SessionStatusMsg, "session_status", LATCHED)
        self._bench = RosBench(
            self,
            BenchSettings.of(self._session),
            trial_context(self._session, self._run),
            self._run.path,
            self._session.task,
            self._session.parameters.stop_on_success,
            {topic.name for topic in recorded_topics(self._session)},
            lambda: bool(self._control.abort_reason),
            lambda description, source: check_description(description, self._session, source),
            self._session.world.judge.asks,
        )
        self.exit_code: int | None = None
        self._thread = threading.Thread(target=self._work, name="session", daemon=True)
        self._steering = SessionServices(self, self._control, self._thread, self._journal, self._run)
        idle = SessionStatusMsg(session=self._run.name, state=SessionStatusMsg.IDLE, time_left=math.nan)
        self._publisher.publish(idle)
        self._status = idle
        self._last: SessionStatus | None = None
        Diagnostics(self, self._session.robot.name).add(lambda: {"session": _report(self._status)})
        self._run.write_graph(self.get_fully_qualified_name())
        if parameters.autostart:
            self._thread.start()

    def interrupt(self) -> None:
        """Let the session end itself; the process ends after that."""
        if self._thread.is_alive():
            self._control.abort("interrupted by the user")
        else:
            self.exit_code = self.exit_code or 0

    def on_end(self) -> None:
        """Free the bench's channel before the process ends."""
        self._run.forget_graph()
        self._bench.close()
        if not self._thread.is_alive():
            self._journal.close()

    def _work(self) -> None:
        try:
            evaluation = self._session.evaluation()
            # Drawn while the other nodes begin.
            evaluation.test_set()
            self._bench.wait()
            end = run_session(
                evaluation,
                self._bench,
                self._journal,
                resume=self._node_parameters.resume,
                control=self._control,
                observer=self._publish,
            )
        except (ConfigurationError, JournalError) as error:
            self.get_logger().error(str(error))
            self.exit_code = 2
        except (BenchFault, DiskError) as error:
            self.get_logger().error(str(error))
            self.exit_code = 3
        except Exception as error:  # a bug of ours must end the process, not leave it hanging
            self.get_logger().fatal(f"the session failed: {type(error).__name__}: {error}")
            self.exit_code = 4
            raise
        else:
            self._log_end(end)
            self.exit_code = 0 if isinstance(end, SessionFinished) else 3

    def _log_end(self, end: SessionEnd) -> None:
        text = end_line(end, self._run.path)
        if isinstance(end, SessionFinished):
            self.get_logger().info(text)
        elif end.fault is Fault.ABORTED:
            self.get_logger().warning(text)
        else:
            self.get_logger().error(text)

    def _publish(self, status: SessionStatus) -> None:
        line, self._last = status.ended(self._last), status
        if line:
            self.get_logger().info(line)
        self._steering.state = status.state
        trial = status.trial if status.result is None else None
        message = SessionStatusMsg(
            session=self._run.name,
            state=int(status.state),
            detail=status.detail,
            policy=status.policy,
            trials_done=status.trials_done,
            trials_expected=status.trials_expected,
            trials_void=status.trials_void,
            void_fault=fault_to_msg(status.void_fault, status.void_detail),
            instruction=trial.instance.instruction.text if trial else "",
            budget=BudgetStatus(limit=status.budget.limit, spent=status.budget.spent, unit=status.budget.unit),
            time_left=status.time_left,
        )
        message.header.stamp = time_to_msg(self._bench.now)
        self._publisher.publish(message)
        self._status = message


def _report(status: SessionStatusMsg) -> Report:
    """Return the state of a session, for `diagnostics`."""
    levels = {SessionState.PAUSED: Level.WARN, SessionState.INTERRUPTED: Level.ERROR}
    state = SessionState(status.state)
    words = f"{state.name.lower()}: {status.detail}" if status.detail else state.name.lower()
    return Report(
        levels.get(state, Level.OK),
        words,
        {
            "session": status.session,
            "policy": status.policy,
            "trials done": status.trials_done,
            "trials expected": status.trials_expected,
            "void attempts": status.trials_void,
            f"budget [{status.budget.unit}]": f"{status.budget.spent:g} of {status.budget.limit:g}",
        },
    )


def main() -> None:
    """Run the node."""
    run_node(EpisodeManager)
