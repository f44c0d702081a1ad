"""Episodes of a session for a client that chooses each action: the world of one connection (docs/lerobot.md).

The loop, limits, scores and safety filter are the session's own: the client is its policy.
"""

from __future__ import annotations

import json
import math
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain import BASE, Fault, NotApplicable, Perturbed, Progress, TestInstance, Trial, TrialResult
from robocontrast_ros.episodes.bench import BenchFault
from robocontrast_ros.perturbations.protocol import Perturbation
from robocontrast_ros.policies.loading import describe
from robocontrast_ros.policies.protocol import Observation, PolicyDescription, PolicyFault
from robocontrast_ros.policies.serving.runner import PolicyRunner
from robocontrast_ros.sessions.fast_mode import open_bench
from robocontrast_ros.sessions.resolving import ResolvedSession
from robocontrast_ros.sessions.seeding import trial_seed
from robocontrast_ros.strategies.protocol import StrategyContext, solved_at_start
from robocontrast_ros.worlds.in_process import InProcessBench

VERSION = 1
"""Of the messages."""

LONGEST_LINE = 1 << 16
"""Greatest length of a request [B]."""

BASE_POSE = ("base.x", "base.y", "base.yaw")

Json = dict[str, Any]


class RequestError(ValueError):
    """A request cannot be answered; the text is the answer, in one line."""


class ConnectionLost(Exception):
    """The client is gone."""


@dataclass
class Wire:
    """Messages over a socket: a request is a line of JSON, an answer is one, and the bytes of its images.

    Attributes:
        socket: the connection.
        read: bytes that came after the last request.
    """

    socket: socket.socket
    read: bytes = b""

    def request(self) -> Json:
        """Return the next request.

        Raises:
            ConnectionLost: the client is gone, or what it sends has no end.
            RequestError: it is not JSON, or has no name.
        """
        while b"\n" not in self.read[: LONGEST_LINE + 1]:
            if len(self.read) > LONGEST_LINE:
                self.answer({"error": f"a request has at most {LONGEST_LINE} bytes, and ends with a line feed"})
                raise ConnectionLost
            try:
                more = self.socket.recv(LONGEST_LINE)
            except OSError:
                more = b""
            if not more:
                raise ConnectionLost
            self.read += more
        line, self.read = self.read.split(b"\n", 1)
        try:
            request = json.loads(line)
        except (ValueError, RecursionError):
            raise RequestError('a request is a line of JSON, such as {"request": "describe"}') from None
        if not isinstance(request, dict) or not isinstance(request.get("request"), str):
            raise RequestError("a request is a JSON object with the key `request`: describe, reset, step or close")
        return request

    def answer(self, content: Json, images: Mapping[str, NDArray[np.uint8]] | None = None) -> None:
        """Send an answer; images follow in the order of the key ``images``, each row by row.

        Raises:
            ConnectionLost: the client is gone.
        """
        images = images or {}
        shapes = {name: list(image.shape) for name, image in images.items()}
        size = sum(image.nbytes for image in images.values())
        line = json.dumps({**content, "images": shapes, "bytes": size}) + "\n"
        try:
            self.socket.sendall(b"".join((line.encode(), *(image.tobytes() for image in images.values()))))
        except OSError:
            raise ConnectionLost from None


@dataclass(frozen=True)
class Cases:
    """The test instances to which every perturbation of a session applies, unperturbed and perturbed.

    Attributes:
        names: ``base``, then the perturbations.
        instances: those of each test instance, in the order of the names, each with its note.
        left_out: (instance_id, reason) of each test instance that is not among them.
    """

    names: tuple[str, ...]
    instances: tuple[tuple[tuple[TestInstance, str], ...], ...]
    left_out: tuple[tuple[str, str], ...]

    def chosen(self, case: int, seed: int) -> tuple[TestInstance, TestInstance, str]:
        """Return the base instance of a seed, its instance of a case, and that one's note.

        The seed modulo the number of test instances is the position in the test set: all cases of a seed have one test
        instance, and as many seeds in a row as there are test instances have each of them once.
        """
        of_seed = self.instances[seed % len(self.instances)]
        return of_seed[0][0], *of_seed[case]


def draw_cases(session: ResolvedSession) -> Cases:
    """Return the test instances of a session, each with its perturbations, all in the instance's own scene.

    The draws are those of the session's strategy ``contrast_set`` for a perturbation that goes back to the base scene.

    Raises:
        ConfigurationError: the session has skills in a chain, several policies, or no test instance to which all its
            perturbations apply.
    """
    source, parameters = str(session.source), session.parameters
    if parameters.test_set.chains:
        expected = "no chains: an episode is one test instance in its own scene"
        raise ConfigurationError(source, "test_set.chains", len(parameters.test_set.chains), expected)
    if parameters.blind is not None:
        policies = ", ".join(parameters.blind.policies)
        raise ConfigurationError(source, "blind", policies, "one policy, which is the client")
    context = session.evaluation().context()
    found, left_out = [], []
    for base in context.test_set:
        made, reason = [(base, "")], ""
        if solved_at_start(context.task, base):
            reason = "its goal holds at the start"
        for perturbation in () if reason else context.perturbations:
            answer = _perturbed(context, base, perturbation)
            if isinstance(answer, NotApplicable):
                reason = f"{perturbation.name} does not apply: {answer.reason}"
                break
            made.append((answer.instance, answer.note))
        if reason:
            left_out.append((base.instance_id, reason))
        else:
            found.append(tuple(made))
    names = tuple(perturbation.name for perturbation in context.perturbations)
    if not found:
        expected = "perturbations that all apply to some test instance"
        cure = f"Name fewer, or draw more test instances; {': '.join(left_out[0])}." if left_out else ""
        raise ConfigurationError(source, "strategy.perturbations", ", ".join(names), expected, cure)
    return Cases((BASE, *names), tuple(found), tuple(left_out))


def _perturbed(context: StrategyContext, base: TestInstance, perturbation: Perturbation) -> Perturbed | NotApplicable:
    # The keys of the strategy `contrast_set` where it goes back to the scene of the test instance.
    rng = context.rng("perturbation", base.instance_id, perturbation.name, "base_scene")
    answer = perturbation.apply(context.task, base, base.scene, rng)
    if not isinstance(answer, NotApplicable) and solved_at_start(context.task, answer.instance):
        return NotApplicable("the perturbed goal would hold at the start")
    return answer


def client_description(session: ResolvedSession) -> PolicyDescription:
    """Return the client's description as a policy: the action space and cameras of the session's policy.

    A policy without cameras stands for one with all cameras of the session. Its answers are single actions.

    Raises:
        ConfigurationError: the session's policy is on a server elsewhere, or its file does not fit.
    """
    if session.policy_file is None:
        expected = "a policy whose action space and cameras the client has"
        cure = "Name the policy's parameter file as `policy`."
        raise ConfigurationError(str(session.source), "policy_server.external", True, expected, cure)
    theirs = describe(session.policy_file)
    cameras = theirs.cameras or tuple(camera.name for camera in session.parameters.cameras or ())
    return PolicyDescription(
        name="client",
        action_space=theirs.action_space,
        action_size=theirs.action_size,
        conventions=theirs.conventions,
        rate=theirs.rate,
        cameras=cameras,
    )


def described(session: ResolvedSession, cases: Cases) -> Json:
    """Return the answer to ``describe``: everything that a client needs before its first episode."""
    client, task = client_description(session), session.task
    sizes = {camera.name: [camera.height, camera.width, 3] for camera in session.parameters.cameras or ()}
    limits = (task.limit(instance) for made in cases.instances for instance, _ in made)
    return {
        "version": VERSION,
        "session": session.parameters.name,
        "task": task.name,
        "cases": list(cases.names),
        "instances": len(cases.instances),
        "left_out": [list(each) for each in cases.left_out],
        "cameras": {name: sizes[name] for name in client.cameras},
        "state": list(state_names(session)),
        "tool_pose": not session.robot.mobile,
        "action_space": client.action_space,
        "action_size": client.action_size,
        "fps": task.control_rate,
        "max_steps": max(limits),
    }


def state_names(session: ResolvedSession) -> tuple[str, ...]:
    """Return the names of the numbers of the state, in the order of ``state_of``."""
    robot = session.robot
    if robot.mobile:
        return BASE_POSE
    gripper = ("gripper.closed",) if robot.has_hand else ()
    return (*(f"{name}.pos" for name in robot.joint_names), *gripper)


def state_of(observation: Observation, mobile: bool) -> Json:
    """Return the robot's numbers: ``state`` and, of an arm, ``tool_pose``.

    The state is the joint positions [rad] and the hand's closing, 0 (wide open) to 1; of a mobile base it is x, y [m]
    and yaw [rad]. The tool's pose is x, y, z [m] and a quaternion x, y, z, w, in the world.
    """
    pose = observation.tool_pose
    if mobile:
        return {"state": [float(v) for v in (*pose.position[:2], pose.yaw)]}
    gripper = () if observation.gripper_closed is None else (observation.gripper_closed,)
    return {
        "state": [float(v) for v in (*observation.joint_positions, *gripper)],
        "tool_pose": [float(v) for v in (*pose.position, *pose.orientation)],
    }


class _Client:
    """The policy of a client: each action comes from a function."""

    def __init__(self, act: Callable[[Observation], NDArray[np.float64]]) -> None:
        self.act = act

    def reset(self, instruction: str, seed: int) -> None:
        """Do nothing: the client chooses when an episode begins."""


class ClientRunner(PolicyRunner):
    """The runner of a client, which has no parameter file, and as much time as it wants."""

    def __init__(
        self, path: Path, description: PolicyDescription, act: Callable[[Observation], NDArray[np.float64]]
    ) -> None:
        """Take the file that errors name, the description, and the function that gets the client's actions."""
        self._of_client = description, act
        super().__init__(path, math.inf, own_thread=False)

    def _load(self) -> None:
        self.description, act = self._of_client
        self._policy, self.text, self.load_time = _Client(act), "", 0.0


class SteppedWorld:
    """Answers the requests of one connection, in one thread: a step is answered when the policy is asked next."""

    def __init__(self, session: ResolvedSession, cases: Cases, wire: Wire) -> None:
        """Take the parts; the world is opened for the first episode."""
        self._session, self._cases, self._wire = session, cases, wire
        self._description = described(session, cases)
        self._bench: InProcessBench | None = None
        self._next: Json | None = None
        self._begins: Json = {}
        self._steps, self._success = 0, False

    def serve(self, first: Json | None = None) -> None:
        """Answer until the client closes, or is gone.

        Args:
            first: a request that was read already.

        Raises:
            ConfigurationError: the world cannot be opened; the client is told.
        """
        self._next = first
        try:
            while True:
                request = self._next or self._asked()
                self._next = None
                if request["request"] == "close":
                    self._wire.answer({})
                    return
                try:
                    if request["request"] != "reset":
                        raise RequestError("no episode runs: `reset` begins one")
                    self._episode(*checked_reset(request, self._cases))
                except RequestError as error:
                    self._wire.answer({"error": str(error)})
                except ConfigurationError as error:
                    self._wire.answer({"error": " ".join(str(error).split())})
                    raise
        except ConnectionLost:
            return
        finally:
            if self._bench is not None:
                self._bench.close()

    def _asked(self) -> Json:
        """Return the next request that is to reset, step or close."""
        while True:
            try:
                request = self._wire.request()
                if request["request"] in ("reset", "step", "close"):
                    return request
                self._wire.answer(answer_of(request, self._description))
            except RequestError as error:
                self._wire.answer({"error": str(error)})

    def _episode(self, case: int, seed: int) -> None:
        """Run an episode: to its end, or until the client begins another one or closes.

        Raises:
            RequestError: it cannot be run, or is void.
        """
        base, instance, note = self._cases.chosen(case, seed)
        bench, task = self._open(), self._session.task
        name = self._cases.names[case]
        own = trial_seed(self._session.parameters.seed, base.instance_id, 0)
        trial = Trial(0, base.instance_id, name, 0, instance, own, note)
        self._begins = {
            "instruction": instance.instruction.text,
            "case": name,
            "instance": base.instance_id,
            "note": note,
            "limit": task.limit(instance),
        }
        self._steps, self._success = 0, False
        where = f"{name} of {base.instance_id}"
        try:
            scene = bench.bring(instance.scene)
            if task.premise is not None and (reason := task.premise(instance.instruction, scene)):
                raise RequestError(f"{where} cannot begin: its instruction makes no sense in its scene: {reason}")
            if solved_at_start(task, replace(instance, scene=scene)):
                raise RequestError(f"{where} cannot begin: its goal holds in the scene as it was read back")
            result = bench.execute(trial, 0).result
        except BenchFault as fault:
            if self._next is None:
                raise RequestError(f"{where} is void: {' '.join(str(fault).split())}") from None
            return
        if self._next is None:
            self._end(result, bench.last_shown())

    def _act(self, observation: Observation) -> NDArray[np.float64]:
        """Show the client an observation, which answers its last request, and return its action.

        Raises:
            PolicyFault: ABORTED: it does not go on with the episode.
        """
        size = self._description["action_size"]
        if self._success and self._session.parameters.stop_on_success:
            # The loop asks while it scores, and drops this answer: the end is shown instead.
            return np.zeros(size)
        self._show(observation, {})
        while True:
            try:
                request = self._asked()
            except ConnectionLost:
                request = {"request": "close"}
            if request["request"] != "step":
                self._next = request
                raise PolicyFault(Fault.ABORTED, "the client goes on with another request")
            try:
                return checked_action(request, size)
            except RequestError as error:
                self._wire.answer({"error": str(error)})

    def _end(self, result: TrialResult, observation: Observation) -> None:
        success = result.success == 1.0
        self._success = success
        cut = not (success or result.stopped or result.fault is not Fault.NONE)
        self._steps = result.steps
        ended = {
            "outcome": result.outcome.name.lower(),
            "fault": "" if result.fault is Fault.NONE else f"{result.fault.name}: {' '.join(result.detail.split())}",
            "scores": {name: value if math.isfinite(value) else None for name, value in result.scores.items()},
        }
        self._show(observation, {"reward": float(success), "terminated": not cut, "truncated": cut, **ended})

    def _show(self, observation: Observation, more: Json) -> None:
        content = {
            **self._begins,
            **state_of(observation, self._session.robot.mobile),
            "steps": self._steps,
            "reward": 0.0,
            "terminated": False,
            "truncated": False,
            "is_success": self._success,
            **more,
        }
        self._wire.answer(content, observation.images)

    def _scored(self, steps: int, progress: Progress) -> None:
        self._steps, self._success = steps, bool(progress.success)

    def _open(self) -> InProcessBench:
        if self._bench is None:
            file = self._session.policy_file
            runner = ClientRunner(file, client_description(self._session), self._act)
            self._bench = open_bench(self._session, runner=runner, feedback=self._scored)
        return self._bench


def answer_of(request: Json, description: Json) -> Json:
    """Return the answer to a request that needs no world.

    Raises:
        RequestError: it is of another version, or unknown.
    """
    if request["request"] != "describe":
        raise RequestError(f"unknown request {request['request'][:40]!r}, expected describe, reset, step or close")
    if request.get("version", VERSION) != VERSION:
        raise RequestError(f"version {request['version']!r} of the messages, expected {VERSION}")
    return description


def checked_reset(request: Json, cases: Cases) -> tuple[int, int]:
    """Return case and seed of a request to reset.

    Raises:
        RequestError: they are not whole numbers of 0 or more, or there is no such case.
    """
    values = []
    for key in ("case", "seed"):
        value = request.get(key)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise RequestError(f"reset: `{key}` is a whole number of 0 or more, not {value!r:.40}")
        values.append(value)
    if values[0] >= len(cases.names):
        known = ", ".join(f"{number} ({name})" for number, name in enumerate(cases.names))
        raise RequestError(f"reset: there is no case {values[0]}, only {known}")
    return values[0], values[1]


def checked_action(request: Json, size: int) -> NDArray[np.float64]:
    """Return the action of a request to step, shape (size,).

    Raises:
        RequestError: it is not a list of that many numbers.
    """
    action = request.get("action")
    fits = isinstance(action, list) and all(isinstance(v, int | float) and not isinstance(v, bool) for v in action)
    if not fits or len(action) != size:
        got = f"{len(action)} values" if isinstance(action, list) else type(action).__name__
        raise RequestError(f"step: `action` is a list of {size} numbers, not {got}")
    try:
        return np.array(action, np.float64)
    except OverflowError:
        raise RequestError("step: `action` has a number that is too large") from None
