"""The records of a session's parameter file. docs/session_file.md explains it with examples."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AliasChoices, BeforeValidator, Field, SerializerFunctionWrapHandler, WrapSerializer

from robocontrast_ros.configuration import record
from robocontrast_ros.configuration.loading import FILE_NAME
from robocontrast_ros.console.tolerances import PERSON, tolerances_of
from robocontrast_ros.perturbations.loading import Entry
from robocontrast_ros.policies.serving.runner import LOAD_TIMEOUT
from robocontrast_ros.robots.speed_scaling import SpeedScalingRule
from robocontrast_ros.strategies.effort import HandlingTimes, Tolerance, Tolerances
from robocontrast_ros.tasks.protocol import Task

NO_RECORDING = "none"
"""Value of `recording` that records nothing."""

ALL = "all"
"""Value of `composed`: all nodes that a session in simulation needs share one process."""

DEFAULT_IMAGE_SIZE = (320, 180)
"""Width and height of images if neither the session nor the policy's file gives them [pixel]."""


@record
class StrategyParameters:
    """Which trials are run, and in which order."""

    name: str = Field(
        description="strategy: standard, contrast_set, limited_intervention, limited_intervention_skip, "
        "cost_ordered, adaptive, chain, or a plug-in's name"
    )
    perturbations: tuple[Entry, ...] = Field(
        default=(),
        description="perturbation set P, in the order of application: names, or {name: …, parameter: …} for one with "
        "parameters, or a list of several that make one; for contrast_set and adaptive, and optionally for "
        "cost_ordered",
    )
    pooled_steps: bool = Field(
        default=False,
        description="for chain: the skills of a chain share the step limits of all of them, in place of one each",
    )


@record
class TestSetParameters:
    """The i.i.d. evaluation set X."""

    __test__ = False  # not a pytest class

    size: int | None = Field(
        default=None,
        ge=1,
        le=100_000,
        description="number of test instances, or of chains; if left out with `file`, all instances of the file",
    )
    families: tuple[str, ...] | None = Field(
        default=None,
        min_length=1,
        description="families of the task, or names of its problems, to draw from in turn; `*` stands for any "
        "characters; if left out, the task chooses them",
    )
    chains: tuple[tuple[str, ...], ...] | None = Field(
        default=None,
        min_length=1,
        description="chains of skills to draw from in turn, each a list of the task's problems in one scene; each "
        "skill is a test instance",
    )
    file: str | None = Field(
        default=None, min_length=1, description="file of recorded instances, in place of drawn ones; path of a file"
    )

    def __post_init__(self) -> None:
        """Refuse a family that is named twice, families of a file or of chains, and neither size nor file."""
        if self.families and len(set(self.families)) != len(self.families):
            raise ValueError("each of the families once")
        if self.families and self.file:
            raise ValueError("`families` or `file`: a file's instances are those that it has")
        if self.chains and (self.families or self.file):
            raise ValueError("`chains` alone: they say what each instance is of")
        if short := next((chain for chain in self.chains or () if len(chain) < 2), None):
            raise ValueError(f"chains of two skills or more, not {list(short)}")
        if self.size is None and self.file is None:
            raise ValueError("a `size`, or a `file` of recorded instances")

    @property
    def words(self) -> str:
        """The number of instances, or the file in which they are recorded."""
        what = "chains of skills" if self.chains else "test instances"
        return f"{self.size} {what}" if self.size else f"the test instances of {self.file}"


@record
class SetupParameters:
    """Tolerances within which an object is not moved; if a person sets scenes up, those of `operator` hold."""

    position_tolerance: float = Field(
        default=0.002, ge=0, le=1, description="distance from its wanted place up to which an object may stay [m]"
    )
    orientation_tolerance: float = Field(
        default=0.05, ge=0, le=math.pi, description="… and angle from its wanted orientation [rad]"
    )


@record
class PolicyServerParameters:
    """Place where the policy is served."""

    external: bool = Field(
        default=False,
        description="whether the session waits for a policy server that runs elsewhere, instead of starting one",
    )
    node: str = Field(
        default="policy_server", min_length=1, description="name of that server's node, with its namespace"
    )
    composed: bool = Field(
        default=False,
        description="whether it runs in the process of rollout, scorer and sim_bridge: faster, but a crash of the "
        "policy also ends these",
    )

    def __post_init__(self) -> None:
        """Refuse a node name for a server that is started here, and `composed` for one that is not."""
        if self.external and self.composed:
            raise ValueError("`composed: true` or `external: true`, not both")
        if not self.external and self.node != "policy_server":
            raise ValueError("`external: true` with another node's name")


@record
class WorldParameters:
    """The robot's world, the pacing of its time, and the judge."""

    backend: str = Field(
        default="embedded",
        min_length=1,
        description="backend that sets scenes up: embedded, dart (another physics engine), simulation_interfaces (a "
        "simulator that runs already), or a plug-in",
    )
    pacing: str = Field(
        default="lockstep",
        min_length=1,
        description="how time passes: lockstep (the world waits for each control step), wall_clock, or a plug-in",
    )
    judge: str = Field(
        default="true_scene",
        min_length=1,
        description="judge of success and progress: true_scene, outside (a person or a camera), or a plug-in",
    )
    simulator: str = Field(
        default="simulator",
        min_length=1,
        description="name of the simulator's node, which is put before the names of the services of "
        "simulation_interfaces; / for none",
    )
    resets_robot: bool | None = Field(
        default=None,
        description="whether a set-up brings the robot to its start; false: an arm's own controller does; left out: as "
        "the backend can",
    )
    resources: dict[str, str] = Field(
        default_factory=dict,
        description="model -> URI of the file that another simulator spawns, in place of the task's; `*` for all "
        "others, with {name} for the model's name",
    )
    entities: dict[str, str] = Field(
        default_factory=dict,
        description="name of an object or of the robot -> its entity in another simulator; `*` for all others, with "
        "{name} for the name",
    )


@record
class TimeoutParameters:
    """Time on the wall clock after which each part counts as lost."""

    policy: float = Field(default=10.0, gt=0, le=3600, description="one answer of the policy [s]")
    load: float = Field(default=LOAD_TIMEOUT, gt=0, le=86400, description="loading a policy, and warming it up [s]")
    sensors: float = Field(default=10.0, gt=0, le=3600, description="sensors and scene after a control step [s]")
    set_up: float = Field(default=30.0, gt=0, le=86400, description="one set-up; a person may need long [s]")
    scoring: float = Field(default=10.0, gt=0, le=3600, description="one answer of the scorer [s]")
    judge: float = Field(
        default=600.0, gt=0, le=86400, description="one answer of the person or camera that judges from outside [s]"
    )
    recording: float = Field(
        default=30.0,
        gt=0,
        le=60,
        description="wait for a recorder that is too far behind, and for the last messages of a trial [s]",
    )
    start_up: float = Field(default=60.0, gt=0, le=3600, description="until all parts are there [s]")


@record
class WatchdogLimits:
    """How long each part may be silent before the watchdog stops the robot, on the wall clock."""

    rollout: float = Field(default=0.6, gt=0.2, le=100, description="heartbeat of the rollout [control periods]")
    loop: float = Field(default=1.0, gt=0, le=3600, description="a control loop that stands still [s]")
    state: float = Field(default=0.5, gt=0, le=3600, description="the robot's state, while it may move [s]")
    cameras: float = Field(default=1.0, gt=0, le=3600, description="each camera's info, while the robot may move [s]")


@record
class OwnTolerance:
    """How far the person may leave the objects of one model from their wanted poses."""

    position: float | None = Field(default=None, gt=0, le=1, description="distance [m]; the usual one when left out")
    orientation: float | None = Field(
        default=None, gt=0, le=math.pi, description="angle [rad], pi for any; the usual one when left out"
    )

    def beside(self, usual: Tolerance) -> Tolerance:
        """Return a tolerance in which the usual values replace the missing ones."""
        return Tolerance(self.position or usual.position, self.orientation or usual.orientation)


@record
class OperatorParameters:
    """The person at the robot, and their console; used if `world.backend` has a console."""

    host: str = Field(
        default="127.0.0.1",
        min_length=1,
        description="address that the page is served on: 127.0.0.1 for this machine alone, 0.0.0.0 for its network",
    )
    port: int = Field(default=0, ge=0, le=65535, description="its port; 0 for a free one")
    certificate: str = Field(default="", description="file of the certificate for TLS, in PEM; none when left out")
    key: str = Field(default="", description="file of its key")
    position_tolerance: float = Field(
        default=PERSON.position,
        gt=0,
        le=1,
        description="distance from its wanted place up to which the person may leave an object [m]; an object within "
        "it need not be moved",
    )
    orientation_tolerance: float = Field(default=PERSON.orientation, gt=0, le=math.pi, description="… and angle [rad]")
    tolerances: dict[str, OwnTolerance] = Field(
        default_factory=dict,
        description="model -> position [m] and orientation [rad] for objects of that model; round objects that are not "
        "named may have any angle",
    )
    checklist: tuple[str, ...] = Field(default=(), description="checks before the first trial, in words")
    camera: str = Field(default="", description="camera whose picture the page shows; the first in use when left out")
    calibration: str = Field(
        default="", description="file that `robocontrast calibrate` wrote for the camera, if the camera reads scenes"
    )
    tags: str = Field(
        default="", description="file of the tags on the objects; without it, blocks are recognised by colour"
    )
    fixed_tags: str = Field(
        default="",
        description="file of tags fixed to the table, which show whether the camera was moved; not used in practice",
    )
    ask_always: bool = Field(
        default=False,
        description="whether, if the camera judges, the person also judges every trial, so that both can be compared",
    )

    def __post_init__(self) -> None:
        """Refuse a certificate without a key, and a key without one."""
        if bool(self.certificate) != bool(self.key):
            raise ValueError("`certificate` and `key`, or neither")

    def set_up_tolerances(self, task: Task) -> Tolerances:
        """Return how far a person may leave a task's objects from their wanted poses."""
        usual = Tolerance(self.position_tolerance, self.orientation_tolerance)
        return tolerances_of(task, usual, {model: own.beside(usual) for model, own in self.tolerances.items()})


@record
class CameraParameters:
    """One camera, and the size of its images."""

    name: str = Field(min_length=1, description="name of the camera in the robot's profile")
    width: int = Field(ge=16, le=4096, description="columns [pixel]")
    height: int = Field(ge=16, le=4096, description="rows [pixel]")


@record
class RecordingParameters:
    """Content of the bags besides the topics for rescoring."""

    images: bool = Field(default=True, description="whether the cameras' images are recorded")
    compression: Literal["zstd", "none"] = Field(default="zstd", description="of the bags' chunks: zstd or none")
    format: Literal["jazzy", "humble"] = Field(
        default="jazzy",
        description="of the bags' metadata.yaml: jazzy, for Jazzy and later, or humble, which all of them read",
    )
    topics: tuple[str, ...] = Field(default=(), description="further topics, relative to the session's namespace")


@record
class BlindParameters:
    """Policies that run every trial, each in its turn; nobody can see which one runs."""

    policies: tuple[str, ...] = Field(
        min_length=2, description="two or more, in place of `policy`: names in config/policies/, or paths of files"
    )
    swap_time: float | None = Field(
        default=None,
        ge=0,
        le=86400,
        description="least duration of each change of the policy; if left out, 1.5 times that of the slowest one at "
        "the start [s]",
    )
    answer_time: float | None = Field(
        default=None,
        ge=0,
        le=3600,
        description="least duration of each answer of a policy [s]; 0: answers are not held back. Required on the wall "
        "clock, because pauses could show which policy runs; in lockstep 0 if left out",
    )

    def __post_init__(self) -> None:
        """Refuse a policy that is named twice."""
        if len(set(self.policies)) != len(self.policies):
            raise ValueError("each of the policies once")


def _recording(value: Any) -> Any:
    """Return the recording parameters of a file; None for the word `none`."""
    # `off` and `no` are false in YAML.
    if value is False or (isinstance(value, str) and value != NO_RECORDING):
        raise ValueError(
            f"`{NO_RECORDING}` for no bags, or the keys {', '.join(f.name for f in fields(RecordingParameters))}"
        )
    return None if value == NO_RECORDING else value


def _recording_in_words(value: Any, as_mapping: SerializerFunctionWrapHandler) -> Any:
    return NO_RECORDING if value is None else as_mapping(value)


@record
class StopEarlyParameters:
    """The question after whose answer the session ends, and the error rate of that answer."""

    error_rate: float = Field(
        default=0.05, gt=0, lt=1, description="probability that the answer is wrong, whenever it is given"
    )
    score: Literal["metric", "success"] = Field(
        default="metric", description="of the base trials: the session's metric, or success"
    )
    threshold: float | None = Field(
        default=None,
        allow_inf_nan=False,
        description="whether the mean is above or below this; within the score's range",
    )
    compare_with: str | None = Field(
        default=None,
        min_length=1,
        description="whether the mean is higher or lower than in this run folder of the same seed, task and test set; "
        "relative to the session's file",
    )
    half_width: float | None = Field(
        default=None,
        gt=0,
        allow_inf_nan=False,
        description="half-width of the interval in which the mean is; less than half of the score's range",
    )

    def __post_init__(self) -> None:
        """Ask for exactly one question."""
        questions = (self.threshold, self.compare_with, self.half_width)
        if sum(question is not None for question in questions) != 1:
            raise ValueError("one of `threshold`, `compare_with` and `half_width`")


@record
class SessionParameters:
    """A file of config/sessions/. docs/session_file.md explains it with examples."""

    name: str = Field(pattern=FILE_NAME, description="name of the session and of its run folders")
    description: str = Field(default="", description="one line for tables")
    seed: int = Field(ge=0, lt=2**63, description="every random draw of the session comes from it")
    task: str = Field(min_length=1, description="name in config/tasks/, or path of a file")
    robot: str = Field(min_length=1, description="name in config/robots/, or path of a file")
    policy: str = Field(
        default="",
        description="name in config/policies/, or path of a file; left out if policy_server.external is true",
    )
    blind: BlindParameters | None = Field(
        default=None, description="policies to be compared blindly, in place of `policy`; none when left out"
    )
    policy_server: PolicyServerParameters = Field(default_factory=PolicyServerParameters)
    world: WorldParameters = Field(default_factory=WorldParameters)
    composed: bool | Literal["all"] = Field(
        default=True,
        description="whether rollout, scorer and sim_bridge run in one process, which is faster, or each in its own; "
        "all: also simulator and policy server, which is fastest, and only in lockstep with the embedded simulator",
    )
    strategy: StrategyParameters
    test_set: TestSetParameters
    metric: str | None = Field(
        default=None,
        min_length=1,
        description="the score that summaries and figures show, one of the session's; the task's when left out",
    )
    scores: tuple[str, ...] = Field(
        default=(), description="scores beside the task's own: names, or module:Class for one of your own"
    )
    repeats: int = Field(default=1, ge=1, le=1000, description="how often each instance is run")
    cost: str = Field(default="metres_moved", description="cost model of the budget: metres_moved or seconds_to_move")
    # `mover`, its name in release 0.1, is still read.
    handling_times: HandlingTimes = Field(
        default_factory=HandlingTimes,
        validation_alias=AliasChoices("handling_times", "mover"),
        description="the person of seconds_to_move",
    )
    budget: (
        Annotated[float, Field(ge=0, allow_inf_nan=True), AfterValidator(lambda k: None if k == math.inf else k)] | None
    ) = Field(default=None, description="budget K in the cost model's unit; no limit when left out")
    compare_within: float | None = Field(
        default=None,
        ge=0,
        description="cost within which the summary counts the trials of this session and of a standard evaluation; if "
        "left out, the budget, or without a budget the cost of the standard evaluation",
    )
    max_trials: int | None = Field(default=None, ge=1, description="trials after which it ends; no limit when left out")
    fast: bool = Field(
        default=False,
        description="whether it runs in one process without ROS, many times as fast: the same trials, scores and bags",
    )
    void_retries: int = Field(default=2, ge=0, le=100, description="how often a void trial is tried again")
    speed_scaling: SpeedScalingRule = Field(
        default="void_when_lowered",
        description="trials that are void if the robot's driver reports that something outside slows the robot: "
        "void_when_lowered (slower than when the session began), void_below_full, or mark (none)",
    )
    stop_early: StopEarlyParameters | None = Field(
        default=None, description="the question after whose answer the session ends; none when left out"
    )
    stop_on_success: bool = Field(default=True, description="whether a trial ends as soon as the goal is reached")
    setup: SetupParameters = Field(default_factory=SetupParameters)
    timeouts: TimeoutParameters = Field(default_factory=TimeoutParameters)
    watchdog: WatchdogLimits = Field(default_factory=WatchdogLimits)
    operator: OperatorParameters = Field(default_factory=OperatorParameters)
    cameras: tuple[CameraParameters, ...] | None = Field(
        default=None,
        description="cameras in use; all of the robot's when left out, with the sizes that the policy's file asks "
        "for, else 320x180 pixels",
    )
    camera_images: Literal["every_step", "when_asked"] = Field(
        default="every_step",
        description="whether cameras take images at every control step, or only when the policy is asked; the policy "
        "receives the same images",
    )
    recording: Annotated[
        RecordingParameters | None, BeforeValidator(_recording), WrapSerializer(_recording_in_words)
    ] = Field(default_factory=RecordingParameters, description="contents of the bags, or `none` for no bags")
    # Without a plan, what a run records is what it was before there were any.
    locked_plan: str = Field(
        default="",
        exclude_if=lambda file: not file,
        description="file of the locked plan that the session follows, by `robocontrast plan --lock`; none if left out",
    )
    output: str = Field(
        default="runs",
        min_length=1,
        description="folder of the run folders, relative to the working directory",
    )

    def __post_init__(self) -> None:
        """Refuse a camera that is named twice, no policy, and a policy beside a server elsewhere."""
        names = [camera.name for camera in self.cameras or ()]
        if len(set(names)) != len(names):
            raise ValueError("each of the `cameras` once")
        if self.policy_server.composed and not self.composed:
            raise ValueError("`composed: true` where `policy_server.composed` is true")
        if self.blind is not None:
            self._check_blind()
        elif not self.policy and not self.policy_server.external:
            raise ValueError("a `policy`, or `policy_server` with `external: true`")
        if self.policy and self.policy_server.external:
            raise ValueError(
                "no `policy`, because a policy server elsewhere has its own; `robocontrast swap` changes it"
            )

    @property
    def least_answer_time(self) -> float:
        """How long each answer of a policy takes at least [s]; 0 if answers are not held back."""
        return (self.blind and self.blind.answer_time) or 0.0

    def _check_blind(self) -> None:
        """Refuse parameters that do not fit blind policies."""
        if self.policy or self.policy_server.external:
            raise ValueError("neither `policy` nor `policy_server.external` beside `blind`, which names the policies")
        if self.locked_plan:
            raise ValueError("no `locked_plan` beside `blind`: it says which policy runs")
        if self.stop_early is not None:
            raise ValueError("no `stop_early` beside `blind`: its question is about one policy")
        if self.least_answer_time >= self.timeouts.policy:
            raise ValueError("a `blind.answer_time` below `timeouts.policy`, after which an answer is too late")
