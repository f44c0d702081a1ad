"""A study's parameter file: policies, strategies and claims."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import AliasChoices, Field
from pydantic_core import from_json, to_json

from robocontrast_ros.configuration import (
    ConfigurationError,
    dump_record,
    load_plugin,
    load_record,
    read_yaml,
    record,
    resolve_uri,
)
from robocontrast_ros.configuration.files import SUFFIXES, find_file, is_path
from robocontrast_ros.perturbations.loading import Entry
from robocontrast_ros.runs.versions import session_versions
from robocontrast_ros.sessions.resolving import ResolvedSession, resolve_parameters
from robocontrast_ros.sessions.schema import (
    SessionParameters,
    SetupParameters,
    StrategyParameters,
    TestSetParameters,
)
from robocontrast_ros.statistics.curves import BINS
from robocontrast_ros.strategies.effort import HandlingTimes
from robocontrast_ros.studies.claims import Claim, Claims, check_claims
from robocontrast_ros.studies.measures import Offered, Slope
from robocontrast_ros.studies.seed_run import DIFFICULTY

LABEL = r"^[A-Za-z0-9][A-Za-z0-9_.-]*$"


@record
class StudyStrategy:
    """One of the strategies that are compared."""

    label: str = Field(pattern=LABEL, description="its name in figures, tables and claims")
    name: str = Field(min_length=1, description="strategy, as in a session's file")
    perturbations: tuple[Entry, ...] = Field(default=(), description="perturbation set P, as in a session's file")


@record
class StudyParameters:
    """A file of config/studies/. docs/study_file.md explains it."""

    name: str = Field(pattern=LABEL, description="name of the study and of its folder")
    description: str = Field(default="", description="one line for tables")
    task: str = Field(min_length=1, description="name in config/tasks/, or path of a file")
    robot: str = Field(min_length=1, description="name in config/robots/, or path of a file")
    policies: tuple[str, ...] = Field(
        min_length=1, description="names in config/policies/, or paths of files; each is evaluated on its own"
    )
    control: str = Field(
        default="",
        description="one of the policies, for example an oracle, whose change shows the effect of geometry alone; "
        "claims are not decided for it",
    )
    beside: tuple[str, ...] = Field(
        default=(),
        description="some of the policies, shown beside the others, for example one that receives other words; claims "
        "are not decided for them either",
    )
    seeds: tuple[int, ...] = Field(min_length=1, description="of the test sets; each is a repetition of the study")
    test_set: TestSetParameters
    scores: tuple[str, ...] = Field(
        default=(),
        description="scores beside the task's own, as in a session's file; claims may be about those from 0 to 1",
    )
    repeats: int = Field(default=1, ge=1, le=1000, description="how often each instance is run")
    cost: str = Field(default="metres_moved", description="cost model: metres_moved or seconds_to_move")
    # A file may still use `mover`, its name in release 0.1.
    handling_times: HandlingTimes = Field(
        default_factory=HandlingTimes,
        validation_alias=AliasChoices("handling_times", "mover"),
        description="the person of seconds_to_move",
    )
    setup: SetupParameters = Field(default_factory=SetupParameters)
    strategies: tuple[StudyStrategy, ...] = Field(min_length=2, description="what is compared")
    standard: str = Field(
        default="standard",
        description="label of the strategy whose mean all others estimate; it has no budget",
    )
    contrast: str = Field(
        description="label of the strategy whose perturbations are shown beside that mean, and on whose trials the "
        "estimators are compared"
    )
    cap: float = Field(
        gt=0,
        le=100,
        description="budget of the other strategies, in units of the cost of `standard` with the same seed",
    )
    bins: int = Field(default=BINS, ge=2, le=1000, description="bins of the error curves")
    resamples: int = Field(default=2000, ge=100, le=100_000, description="bootstrap samples of every interval")
    claims: str = Field(default="", description="URI or path of the file of claims; without it, no claims are decided")

    def __post_init__(self) -> None:
        labels = [strategy.label for strategy in self.strategies]
        for what, given in (("labels", labels), ("seeds", self.seeds), ("policies", self.policies)):
            if len(set(given)) != len(given):
                raise ValueError(f"each of the {what} once")
        if self.control and self.control not in self.policies:
            raise ValueError(f"for `control` one of the policies: {', '.join(self.policies)}")
        for name in self.beside:
            if name not in self.policies or name == self.control:
                raise ValueError(f"for `beside` some of the policies, without the control: {', '.join(self.policies)}")
        for key in ("standard", "contrast"):
            if getattr(self, key) not in labels:
                raise ValueError(f"for `{key}` one of the strategies' labels: {', '.join(labels)}")
        if self.labelled(self.standard).perturbations:
            raise ValueError(f"no perturbations for '{self.standard}', with which the others are compared")
        if not self.labelled(self.contrast).perturbations:
            raise ValueError(f"perturbations for '{self.contrast}', the `contrast` of the study")

    def labelled(self, label: str) -> StudyStrategy:
        """Return the strategy with a label.

        Raises:
            KeyError: no strategy has the label.
        """
        return {strategy.label: strategy for strategy in self.strategies}[label]

    @property
    def others(self) -> tuple[StudyStrategy, ...]:
        """All strategies but the standard one, in their order."""
        return tuple(strategy for strategy in self.strategies if strategy.label != self.standard)


@dataclass(frozen=True)
class Study:
    """A study with everything that its file names.

    Attributes:
        source: its file.
        parameters: its record.
        policies: name -> parameter file.
        claims: the claims to decide.
        control: name of the policy that is the control; empty if there is none.
        beside: names of further policies for which no claims are decided.
    """

    source: Path
    parameters: StudyParameters
    policies: dict[str, Path]
    claims: tuple[Claim, ...]
    control: str = ""
    beside: tuple[str, ...] = ()

    def session(self, policy: str, label: str, seed: int, budget: float | None) -> ResolvedSession:
        """Return the session of one policy, strategy and seed.

        Raises:
            ConfigurationError: something that the study names does not fit.
        """
        study, strategy = self.parameters, self.parameters.labelled(label)
        session = SessionParameters(
            name=f"{study.name}_{policy}_{label}_seed{seed}",
            seed=seed,
            task=study.task,
            robot=study.robot,
            policy=str(self.policies[policy]),
            strategy=StrategyParameters(name=strategy.name, perturbations=strategy.perturbations),
            test_set=study.test_set,
            scores=study.scores,
            repeats=study.repeats,
            cost=study.cost,
            handling_times=study.handling_times,
            setup=study.setup,
            budget=budget,
        )
        return resolve_parameters(session, self.source)

    @property
    def measures_of_scenes(self) -> tuple[str, ...]:
        """The measures of scenes that claims are about, each once."""
        measures = (claim.measure for claim in self.claims)
        return tuple(dict.fromkeys(measure.by for measure in measures if isinstance(measure, Slope)))

    def snapshot(self) -> dict[str, Any]:
        """Return everything on which the trials may depend, as JSON: parameters, files that they name, versions."""
        study = self.parameters
        sessions = {policy: self.session(policy, study.standard, study.seeds[0], None) for policy in self.policies}
        some = next(iter(sessions.values())).snapshot()
        depends = {key: value for key, value in dump_record(study).items() if key not in _SHOWN_ONLY}
        everything = {
            "study": depends,
            "task": some["task"],
            "robot": some["robot"],
            "policies": {policy: session.snapshot()["policy"] for policy, session in sessions.items()},
            "digests": self._digests(),
            "versions": session_versions(),
        }
        return from_json(to_json(everything, inf_nan_mode="strings", fallback=str))

    def _digests(self) -> dict[str, str]:
        """Return the SHA-256, in hex, of all files on which trials depend: of task, robot and each policy."""
        study = self.parameters
        session = self.session(next(iter(self.policies)), study.standard, study.seeds[0], None)
        named = {"task": session.task_file, "robot": session.robot_file, **self.policies}
        return {what: _digest(file) for what, file in named.items()}


def _digest(file: Path) -> str:
    """Return the SHA-256, in hex, of a parameter file and all files that it names, directly or not."""
    digest = hashlib.sha256()
    for each in _named_files(file):
        digest.update(hashlib.sha256(each.read_bytes()).digest())
    return digest.hexdigest()


def _named_files(file: Path) -> Iterator[Path]:
    """Yield a parameter file and all files that it names, directly or not: parameter files, models, weights."""
    yield file
    if file.suffix not in SUFFIXES:
        return
    waiting = [read_yaml(file)]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, str) and is_path(value) and (named := resolve_uri(value, file.parent)).is_file():
            yield from _named_files(named)


_SHOWN_ONLY = frozenset({"description", "contrast", "control", "beside", "bins", "resamples", "claims"})
"""Keys of a study that only the analysis reads: no trial is run again after they change."""


def load_study(study: str | Path) -> Study:
    """Load a study and everything that it names, and check all of it.

    Args:
        study: name in config/studies/, or path of a file. Paths in the file are relative to it.

    Raises:
        ConfigurationError: the study, or something that it names, is missing or does not fit.
    """
    source = find_file("studies", str(study), "command line", "STUDY", Path.cwd())
    parameters = load_record(StudyParameters, source)
    files = [find_file("policies", name, str(source), "policies", source.parent) for name in parameters.policies]
    policies = {file.stem: file for file in files}
    if len(policies) < len(files):
        raise ConfigurationError(
            str(source),
            "policies",
            list(parameters.policies),
            "files of different names",
            "Rename one of them.",
        )
    for number, strategy in enumerate(parameters.strategies):
        load_plugin("strategies", strategy.name, str(source), f"strategies.{number}.name")
    stems = dict(zip(parameters.policies, policies, strict=True))
    beside = tuple(stems[name] for name in parameters.beside)
    found = Study(source, parameters, policies, (), stems.get(parameters.control, ""), beside)
    first, *others = policies
    sessions = {
        strategy.label: found.session(first, strategy.label, parameters.seeds[0], None)
        for strategy in parameters.strategies
    }
    for policy in others:
        found.session(policy, parameters.standard, parameters.seeds[0], None)
    metric = sessions[parameters.standard].evaluation().metric_spec
    if (metric.low, metric.high) != (0.0, 1.0):
        expected = f"a task whose metric is between 0 and 1, for a study's claims; {metric.symbol} is not"
        raise ConfigurationError(str(source), "task", parameters.task, expected)
    return replace(found, claims=_claims(found, sessions))


def _claims(study: Study, sessions: Mapping[str, ResolvedSession]) -> tuple[Claim, ...]:
    """Return the claims of a study, checked against a session of each strategy."""
    if not study.parameters.claims:
        return ()
    file = resolve_uri(study.parameters.claims, study.source.parent)
    claims = load_record(Claims, file).claims
    some = sessions[study.parameters.standard]
    of_scenes = {
        label: (name for perturbation in session.perturbations for name in getattr(perturbation, "measures", ()))
        for label, session in sessions.items()
    }
    of_all = () if some.task.profiles is None else (DIFFICULTY,)
    offered = Offered(
        perturbations={label: tuple(p.name for p in session.perturbations) for label, session in sessions.items()},
        measures={label: tuple(dict.fromkeys((*names, *of_all))) for label, names in of_scenes.items()},
        control=study.control,
        policies=tuple(study.policies),
        families=tuple(study.parameters.test_set.families or some.task.families),
        scores={score.spec.name: (score.spec.low, score.spec.high) == (0.0, 1.0) for score in some.scores},
    )
    check_claims(claims, offered, str(file))
    return claims
