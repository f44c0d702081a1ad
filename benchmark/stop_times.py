"""How long it takes from the last heartbeat until the driver is told to stop, and how often that is a false alarm.

A rig: a source, which is the rollout's own heartbeat thread with its command loop and no policy; the watchdog as a
session starts it; and an emulated driver, here in this process, for each port to a robot. The source is killed
(SIGKILL), stopped (SIGSTOP), or cut off from the network (it is on a host of its own, a network namespace, whose cable
is pulled); then the watchdog itself is killed; then both at once, which leaves the robot to its driver. A time is from
the stamp of the last heartbeat that reached the driver's host, until the driver has the stop command: for topics when
the middleware has it, for the other ports when the emulated driver acts on it. After the watchdog's death it is from
its last message; after the death of both, until the driver has ended by itself what it was told. Then a time without
any fault, on a machine whose processors are all busy. Then the same faults in sessions as a user starts them, with
policy server, bench, recorder and scenes; only the driver is emulated here.

    python -m benchmark.stop_times        (--trials 3 --port-trials 1 --sessions 1 --minutes 0.1 --keep FOLDER)

Root makes network namespaces; without root, there is no `cut`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import rclpy
import yaml
from nav_msgs.msg import Odometry
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from robocontrast_ros.msg import Heartbeat, Stopped
from robocontrast_ros.srv import ReleaseStop
from sensor_msgs.msg import JointState

from robocontrast_ros.cli.processes import node_environment
from robocontrast_ros.configuration import load_plugin
from robocontrast_ros.domain import seconds
from robocontrast_ros.episodes.bench import BenchFault
from robocontrast_ros.episodes.pacing import WallClock
from robocontrast_ros.graph.description import NO_SHARED_MEMORY
from robocontrast_ros.graph.parameters.rollout import RolloutParameters
from robocontrast_ros.graph.ros_domain import Domain
from robocontrast_ros.messages.decoding import stamp_from_msg
from robocontrast_ros.nodes.conversions.domain import message_class
from robocontrast_ros.nodes.conversions.driver import command_from_msg
from robocontrast_ros.nodes.rollout.guard import Guard, GuardedRobot
from robocontrast_ros.nodes.rollout.inbox import Inbox
from robocontrast_ros.nodes.rollout.recorder_watch import Uncounted
from robocontrast_ros.nodes.runtime.channel import Channel, NoAnswer, call
from robocontrast_ros.nodes.runtime.middleware import tune_middleware
from robocontrast_ros.nodes.runtime.qos import LATCHED, LOCKSTEP, RECORDED, STATE
from robocontrast_ros.robots.commands import JointTrajectoryCommand, TwistCommand
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.robots.state_estimation import OdometryReading
from robocontrast_ros.system.processes import die_with_parent
from robocontrast_ros.system.scheduling import run_before_others

ROBOTS = {
    "topics": "franka",
    "follow_joint_trajectory": "franka_real",
    "streaming": "ur5e_real",
    "cmd_vel": "locobot_real",
}
"""Port -> robot that is moved by it."""
PERIOD = 0.1
"""Control period of the shipped tasks [s]."""
RATE = 50.0
"""Of the emulated driver [Hz]."""
STRIDE = 0.02
"""How far the source has a joint move in a control period [rad]."""
SPEED = 0.2
"""At which the source has a base drive [m/s]."""
TIMEOUT = 60.0
"""Of anything that is waited for [s]."""
NO_FAULT = "no_fault"
FAULTS = ("killed", "stopped", "cut", "watchdog_killed")
BOTH = "both_killed"
SESSION = "session_"
"""Before a fault's name: it is caused in a session and not on the rig."""
ON_PORTS = {
    f"{port}_{fault}": (port, fault)
    for port in ROBOTS
    for fault in ("killed", "watchdog_killed", BOTH)
    if port != "topics" or fault == BOTH
}
"""Name of a part -> port and fault. How the rollout falls silent is of no concern to a port: it is killed alone."""
PARTS = (*FAULTS, NO_FAULT, *(SESSION + fault for fault in FAULTS), *ON_PORTS)
ROOT = Path(__file__).resolve().parents[1]
SUPPORT = ROOT / "test" / "support"
ROLLOUT_ON = "ROLLOUT_ON"
"""Environment variable: the words, as JSON, that run a command on the rollout's host."""


def robot_file(port: str, folder: Path) -> Path:
    """Write the file of the robot that is moved by a port, and return it."""
    file = folder / f"{port}.yaml"
    file.write_text(yaml.safe_dump({"extends": ROBOTS[port], "port": port}))
    return file


def source(robot_path: Path) -> None:
    """Move the robot on and on, as a rollout does, with its heartbeat; wait where it is stopped."""
    # A signal ends it at once, as a crash does.
    tune_middleware(shared_memory=False)
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = Node("rollout")
    parameters = RolloutParameters(robot=robot_path, steps_per_control=1, control_period=PERIOD, watchdog="watchdog")
    profile = load_profile(robot_path)
    channel = Channel(node)
    inbox = Inbox(channel.node)
    kind = load_plugin("robot_ports", profile.port, str(robot_path), "port")
    port = kind(channel.node, profile, parameters, inbox, Uncounted())
    guard = Guard(channel.node, parameters, inbox, port)
    robot, pacer = GuardedRobot(port, guard), WallClock(PERIOD)
    channel.start()
    guard.start(TIMEOUT)
    while True:
        while guard.monitor.reason:
            time.sleep(0.01)
        with guard.episode():
            stamp = 0
            try:
                guard.prove()
                pacer.begin()
                while True:
                    pacer.step()
                    reading = robot.state(stamp)
                    guard.running(0)
                    stamp = reading.stamp
                    if isinstance(reading, OdometryReading):
                        robot.command(TwistCommand(SPEED, 0.0), stamp)
                        continue
                    goal = tuple(position + STRIDE for position in reading.positions)
                    robot.command(JointTrajectoryCommand(reading.names, goal, PERIOD), stamp)
            except BenchFault:
                # Before its driver was checked, a port may not know yet how to stop it; the watchdog does it then.
                with contextlib.suppress(BenchFault):
                    robot.stop()


def serve_sources(robot_path: Path) -> None:
    """Fork a source for each line of the standard input, and print its process id: all is imported once."""
    children: list[int] = []
    for _ in sys.stdin:
        child = os.fork()
        if child == 0:
            die_with_parent()
            source(robot_path)
        children.append(child)
        print(child, flush=True)
        for each in tuple(children):
            if os.waitpid(each, os.WNOHANG)[0]:
                children.remove(each)


class Driver:
    """An emulated driver: publishes where the robot is, and takes note of what it is told.

    Attributes:
        commanded: when it was last told to move, as the time of day [s].
        held: when it was last told to stay [s].
        stood: when it had last ended by itself what it was told [s].
        beat: stamp of the rollout's last heartbeat [s].
        spoken: stamp of the watchdog's last message [s].
    """

    def __init__(self, robot: Path) -> None:
        settings = dict(os.environ)
        tune_middleware()
        # As ros2_control's controller manager does.
        run_before_others()
        rclpy.init()
        self._owner = Node("driver")
        self._channel = Channel(self._owner)
        # The driver's settings are its own: a process that is started here and has them already would keep them.
        for name in os.environ.keys() - settings.keys():
            del os.environ[name]
        node, self._profile = self._channel.node, load_profile(robot)
        profile = self._profile
        # Of an arm where its joints are and go to, of a base how far it has driven and its speed.
        self._positions = (0.0,) if profile.mobile else tuple(profile.home)
        self._goal = self._positions
        self._shown: deque[tuple[float, ...]] = deque(maxlen=int(RATE))
        self.changed = threading.Condition()
        self.commanded = self.held = self.stood = self.beat = self.spoken = 0.0
        self._ends = math.inf
        self.stopped = Stopped()
        self._publisher = node.create_publisher(message_class(profile.state.type), profile.state.topic, RECORDED)
        self._controllers = None
        if profile.port in ("follow_joint_trajectory", "streaming"):
            from emulated_controllers import EmulatedControllers, interfaces_of

            self._controllers = EmulatedControllers(
                node,
                profile.joint_names,
                lambda: self._positions,
                lambda target, duration: self._told(tuple(target), duration, time.time()),
                states_topic="",
                interfaces=interfaces_of(profile),
            )
        else:
            kind = message_class(profile.command.type)
            node.create_subscription(kind, profile.command.topic, self._on_command, LOCKSTEP)
        node.create_subscription(Heartbeat, "heartbeat", self._on_beat, STATE)
        node.create_subscription(Stopped, "stopped", self._on_stopped, LATCHED)
        self._release = node.create_client(ReleaseStop, "watchdog/release")
        node.create_timer(1.0 / RATE, self._publish)
        self._channel.start()

    def close(self) -> None:
        """Leave the graph."""
        self._channel.close()
        if self._controllers is not None:
            self._controllers.close()
        self._owner.destroy_node()
        rclpy.shutdown()

    def _publish(self) -> None:
        now = time.time()
        with self.changed:
            if now >= self._ends:
                self.stood, self._ends = now, math.inf
                self.changed.notify_all()
        if self._profile.mobile:
            message = Odometry()
            self._positions = (self._positions[0] + (self._goal[0] if self._ends < math.inf else 0.0) / RATE,)
            message.pose.pose.position.x, message.pose.pose.orientation.w = self._positions[0], 1.0
        else:
            pairs = zip(self._positions, self._goal, strict=True)
            self._positions = tuple(p + (g - p) / (RATE * PERIOD) for p, g in pairs)
            self._shown.append(self._positions)
            message = JointState(name=list(self._profile.joint_names), position=list(self._positions))
        message.header.stamp = self._owner.get_clock().now().to_msg()
        self._publisher.publish(message)

    def _on_command(self, message: Any, info: dict[str, Any]) -> None:
        command, at = command_from_msg(message), 1e-9 * info["received_timestamp"]
        if isinstance(command, TwistCommand):
            self._told((command.linear,), self._profile.command.timeout, at)
        else:
            self._told(command.positions, command.duration, at)

    def _told(self, goal: tuple[float, ...], duration: float, at: float) -> None:
        """Take note of a command, and of when it ends by itself: that is when the driver does not move any more."""
        with self.changed:
            self._goal, self._ends = goal, at + duration
            # The source never sends an arm where it has just been.
            if goal == (0.0,) if self._profile.mobile else goal in self._shown:
                self.held = at
            else:
                self.commanded = at
            self.changed.notify_all()

    def _on_beat(self, message: Heartbeat) -> None:
        with self.changed:
            self.beat = seconds(stamp_from_msg(message.stamp))
            self.changed.notify_all()

    def _on_stopped(self, message: Stopped) -> None:
        with self.changed:
            self.stopped, self.spoken = message, seconds(stamp_from_msg(message.stamp))
            self.changed.notify_all()

    def wait(self, condition: Callable[[], bool], what: str, timeout: float = TIMEOUT) -> None:
        """Wait for something to happen."""
        with self.changed:
            if not self.changed.wait_for(condition, timeout):
                raise RuntimeError(f"{what} did not happen within {timeout:g} s; {self.stopped}")

    def release(self) -> None:
        """Release the stop, once its cause is gone."""
        deadline = time.monotonic() + TIMEOUT
        detail = "nobody answers"
        while time.monotonic() < deadline:
            try:
                answer = call(self._release, ReleaseStop.Request(by="campaign"), 2.0)
            except NoAnswer:
                continue
            if answer.accepted or not self.stopped.stopped:
                return
            detail = answer.detail
            time.sleep(0.1)
        raise RuntimeError(f"the stop was not released: {detail}")

    def moving(self) -> None:
        """Wait until the source moves the arm, and nobody stops it."""
        end = time.monotonic() + TIMEOUT
        while time.monotonic() < end:
            begun = time.time()
            with self.changed:
                self.changed.wait_for(lambda: min(self.commanded, self.beat, self.spoken) > begun, 2.0)  # noqa: B023
                moves = min(self.commanded, self.beat, self.spoken) > begun
            if moves and not self.stopped.stopped:
                return
            # A loaded machine may be late with a heartbeat when a process begins.
            if self.stopped.stopped:
                self.release()
        raise RuntimeError(f"the arm was not moved within {TIMEOUT:g} s; {self.stopped}")


def ordinary() -> None:
    """Give a process that is started here the priority that a user's processes have, and not the driver's."""
    die_with_parent()
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


class Rig:
    """The source and the watchdog, of which each may be started anew."""

    def __init__(self, driver: Driver, folder: Path, robot: Path, host: Sequence[str] = ()) -> None:
        self.driver, self._folder, self._robot = driver, folder, robot
        self._zygote = subprocess.Popen(
            [*host, sys.executable, "-m", "benchmark.stop_times", "--sources", str(robot)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=ordinary,
        )
        self._watchdog: subprocess.Popen[bytes] | None = None
        self.source = 0

    def start(self) -> None:
        """Begin both."""
        self.start_watchdog()
        self.start_source()

    def start_source(self) -> None:
        """Begin a source."""
        self._zygote.stdin.write("source\n")
        self._zygote.stdin.flush()
        self.source = int(self._zygote.stdout.readline())

    def start_watchdog(self) -> None:
        """Begin a watchdog, as a session does."""
        parameters = {"robot": str(self._robot), "control_period": PERIOD, "loop_limit": 5.0}
        file = self._folder / "watchdog.yaml"
        file.write_text(yaml.safe_dump({"/**": {"ros__parameters": parameters}}))
        main = "from robocontrast_ros.nodes.watchdog_node import main; main()"
        with open(self._folder / "watchdog.log", "ab") as log:
            words = [sys.executable, "-c", main, NO_SHARED_MEMORY, "--ros-args", "--params-file", str(file)]
            self._watchdog = subprocess.Popen(words, stdout=log, stderr=log, preexec_fn=ordinary)

    def kill_source(self) -> None:
        """End the source without a chance to say so."""
        os.kill(self.source, signal.SIGKILL)

    def reconnected(self) -> None:
        """Do nothing: a source that was cut off goes on."""

    def kill_watchdog(self) -> None:
        """End the watchdog in the same way."""
        self._watchdog.kill()
        self._watchdog.wait()

    def close(self) -> None:
        """End both."""
        for process in filter(None, (self._zygote, self._watchdog)):
            process.kill()
            process.wait()


def evaluate() -> None:
    """Run `robocontrast evaluate`, with the rollout on a host of its own."""
    from robocontrast_ros.cli import main, processes

    on_this_host, other = processes.node_command, json.loads(os.environ[ROLLOUT_ON])
    processes.node_command = lambda name, *words, **more: [
        *(other if name == "rollout" else ()),
        *on_this_host(name, *words, **more),
    ]
    sys.argv[1:] = ["evaluate", sys.argv[-1]]
    main.app()


class Session:
    """A session on the wall clock whose policy moves the arm on and on; a process that is killed ends it."""

    def __init__(self, driver: Driver, folder: Path, robot: Path, host: Sequence[str] = ()) -> None:
        from session_runs import Workplace

        self.driver, self._host = driver, host
        self._place = Workplace(folder)
        task = folder / "line.yaml"
        task.write_text("task: wall_clock_line:EndlessLine\n")
        self._file = self._place.session(
            world={"backend": "wall_clock_line:Onlooker", "pacing": "wall_clock"},
            composed=False,
            task=str(task),
            policy=self._place.policy("BackAndForth", "wall_clock_line"),
            cameras=[],
            watchdog={"loop": 5.0},
        )
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def source(self) -> int:
        """Process of the rollout."""
        return self._pid("rollout")

    def start(self) -> None:
        """Begin a session, once the one before has ended."""
        self.close()
        environment = os.environ | {ROLLOUT_ON: json.dumps(self._host)}
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(SUPPORT), environment.get("PYTHONPATH")]))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmark.stop_times", "--evaluate", str(self._file)],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.DEVNULL,
            preexec_fn=ordinary,
        )

    # A session ends after three void trials in a row, so that one that was cut off again and again does not go on.
    start_source = start_watchdog = reconnected = start

    def kill_source(self) -> None:
        """End the rollout without a chance to say so."""
        os.kill(self.source, signal.SIGKILL)

    def kill_watchdog(self) -> None:
        """End the watchdog in the same way."""
        os.kill(self._pid("watchdog"), signal.SIGKILL)

    def close(self) -> None:
        """End the session, which may be about to end itself."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(TIMEOUT)

    def _pid(self, node: str) -> int:
        from session_runs import node_pids

        return node_pids(self._place.runs[-1])[node]


@contextmanager
def made_rig(
    host: Sequence[str] = (), kind: type[Rig] | type[Session] = Rig, port: str = "topics"
) -> Iterator[Rig | Session]:
    with ExitStack() as held:
        folder = Path(held.enter_context(tempfile.TemporaryDirectory()))
        domain = held.enter_context(Domain("stop_times"))
        environment = node_environment(domain.number, elsewhere=bool(host))
        os.environ.update(environment)
        robot = robot_file(port, folder)
        driver = Driver(robot)
        held.callback(driver.close)
        rig = kind(driver, folder, robot, host)
        held.callback(rig.close)
        rig.start()
        driver.moving()
        yield rig


def measure(rig: Rig | Session, fault: str, cable: str, draw: random.Random) -> float:
    """Cause a fault at a random time, and return the time until the stop [s]; leave the arm moving."""
    driver = rig.driver
    time.sleep(draw.uniform(0.3, 0.3 + 2.0 * PERIOD))
    # No stop before this counts: a false alarm would.
    if driver.stopped.stopped:
        driver.release()
        driver.moving()
    caused = time.time()
    if fault == "killed":
        rig.kill_source()
    elif fault == "stopped":
        os.kill(rig.source, signal.SIGSTOP)
    elif fault == "cut":
        pull(cable, "down")
    else:
        if fault == BOTH:
            rig.kill_source()
        rig.kill_watchdog()
    alone = fault == BOTH
    driver.wait(
        lambda: (driver.stood if alone else driver.held) > caused,
        f"a stop after the fault '{fault}'",
    )
    with driver.changed:
        last = driver.spoken if fault == "watchdog_killed" else driver.beat
        taken = (driver.stood if alone else driver.held) - last
    if alone:
        rig.start()
    elif fault == "killed":
        rig.start_source()
    elif fault == "stopped":
        time.sleep(0.2)
        os.kill(rig.source, signal.SIGCONT)
    elif fault == "cut":
        time.sleep(0.2)
        pull(cable, "up")
        rig.reconnected()
    else:
        rig.start_watchdog()
    if fault not in ("watchdog_killed", BOTH):
        driver.release()
    driver.moving()
    return taken


def pull(cable: str, state: str) -> None:
    host, interface = cable.split("/")
    subprocess.run(["ip", "-n", host, "link", "set", interface, state], check=True)


def series(name: str, trials: int, seed: int, host: Sequence[str] = (), cable: str = "") -> list[float]:
    draw, kind = random.Random(f"{seed} {name}"), Session if name.startswith(SESSION) else Rig
    port, fault = ON_PORTS.get(name, ("topics", name.removeprefix(SESSION)))
    with made_rig(host, kind, port) as rig:
        return [measure(rig, fault, cable, draw) for _ in range(trials)]


def cut_series(name: str, trials: int, seed: int) -> list[float]:
    """Measure in two network namespaces: driver and watchdog on the one host, the rollout on the other."""
    from two_hosts import two_hosts

    with two_hosts() as (here, there):
        other = there[there.index("exec") + 1]
        words = ["--part", name, "--trials", str(trials), "--seed", str(seed)]
        words += ["--host", json.dumps(there), "--cable", f"{other}/{other}0"]
        done = subprocess.run(
            [*here, sys.executable, "-m", "benchmark.stop_times", *words],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    return json.loads(done.stdout.splitlines()[-1])


def false_alarms(minutes: float) -> dict[str, Any]:
    """Count stops without a fault, while every processor is busy with something else."""
    reasons, busy = [], []
    with made_rig() as rig:
        driver = rig.driver
        try:
            for _ in range(os.cpu_count() or 1):
                words = [sys.executable, "-c", "while True: pass"]
                busy.append(subprocess.Popen(words, preexec_fn=ordinary))
            end = time.monotonic() + 60.0 * minutes
            while time.monotonic() < end:
                with driver.changed:
                    stopped = driver.changed.wait_for(lambda: driver.stopped.stopped, 1.0)
                if stopped:
                    reasons.append(driver.stopped.reason)
                    driver.release()
                    driver.moving()
        finally:
            for each in busy:
                each.kill()
    return {"minutes": minutes, "stops": len(reasons), "reasons": reasons, "busy": len(busy)}


def part(name: str, trials: int, minutes: float, seed: int) -> Any:
    """Return the times of a fault [s], or what was counted without one, in a process of its own: ROS begins anew."""
    if name.endswith("cut"):
        return cut_series(name, trials, seed)
    words = ["--part", name, "--trials", str(trials), "--minutes", str(minutes), "--seed", str(seed)]
    program = [sys.executable, "-m", "benchmark.stop_times", *words]
    done = subprocess.run(program, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Run the campaign, or one part of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=100, help="faults of each kind on the rig")
    parser.add_argument("--port-trials", type=int, default=10, help="faults of each kind on the rig of another port")
    parser.add_argument("--sessions", type=int, default=10, help="faults of each kind in sessions")
    parser.add_argument("--minutes", type=float, default=5.0, help="time without a fault, under load")
    parser.add_argument("--seed", type=int, default=19)
    parser.add_argument("--keep", type=Path, help="folder of the parts that are done; an interrupted campaign goes on")
    parser.add_argument("--only", nargs="*", choices=PARTS, default=PARTS)
    parser.add_argument("--sources", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--evaluate", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    parser.add_argument("--host", default="[]", help=argparse.SUPPRESS)
    parser.add_argument("--cable", default="", help=argparse.SUPPRESS)
    given = parser.parse_args()
    # The sessions' task, policy and scenes are those of the tests.
    sys.path.insert(0, str(SUPPORT))
    if given.sources:
        serve_sources(given.sources)
    elif given.evaluate:
        evaluate()
    elif given.part == NO_FAULT:
        print(json.dumps(false_alarms(given.minutes)))
    elif given.part:
        print(json.dumps(series(given.part, given.trials, given.seed, json.loads(given.host), given.cable)))
    else:
        found: dict[str, Any] = {"seed": given.seed, "period": PERIOD, "times": {}}
        for name in given.only:
            kept = given.keep / f"{name}.json" if given.keep else None
            if kept is not None and kept.is_file():
                outcome = json.loads(kept.read_text(encoding="utf-8"))
            else:
                trials = given.sessions if name.startswith(SESSION) else given.trials
                trials = given.port_trials if name in ON_PORTS else trials
                outcome = part(name, trials, given.minutes, given.seed)
            if kept is not None:
                kept.write_text(json.dumps(outcome), encoding="utf-8")
            if name == NO_FAULT:
                found[NO_FAULT] = outcome
            else:
                found["times"][name] = outcome
                print(f"{name}: worst {max(outcome):.3f} s of {len(outcome)}", file=sys.stderr)
        print(json.dumps(found))


if __name__ == "__main__":
    main()
