"""A check of understanding: running sessions of some policies and seeds, and comparing verdicts with expected ones."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pydantic import Field
from pydantic_core import to_json

from robocontrast_ros.analysis.estimates.results import Results, compute_results
from robocontrast_ros.analysis.estimates.understanding import (
    MARGIN,
    WITHOUT_MISTAKES,
    Understanding,
    Verdict,
    understanding_of,
)
from robocontrast_ros.configuration import ConfigurationError, load_record, record
from robocontrast_ros.configuration.files import find_file, is_path
from robocontrast_ros.policies.catalogue import look_up
from robocontrast_ros.runs.journal import read_begun
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.runs.versions import session_versions
from robocontrast_ros.sessions.fast_mode import open_bench
from robocontrast_ros.sessions.loop import run_session
from robocontrast_ros.sessions.overrides import Overrides
from robocontrast_ros.sessions.resolving import ResolvedSession, resolve
from robocontrast_ros.system.processes import ProcessLost, run_in_processes


@record
class CheckParameters:
    """A file in config/understanding/."""

    name: str = Field(min_length=1, description="name of its folder")
    description: str = Field(default="", description="what it shows, in a sentence")
    session: str = Field(default="", description="session that each policy runs: a name, or the path of a file")
    sessions: tuple[str, ...] = Field(
        default=(), description="several sessions, in place of `session`; verdicts pool them"
    )
    policies: tuple[str, ...] = Field(min_length=1, description="names, or paths of files")
    chance: str = Field(description="the policy among them whose base trials measure chance")
    seeds: tuple[int, ...] = Field(
        min_length=1,
        description="seeds of the sessions; the second of `sessions` is run with the seed plus 1, the third with the "
        "seed plus 2",
    )
    margin: float = Field(default=MARGIN, gt=0, lt=1, description="loss of the share of successes that does not matter")
    expected: dict[str, dict[Verdict, tuple[str, ...]]] = Field(
        default_factory=dict, description="policy -> verdict -> perturbations that shall have it, with each seed"
    )

    @property
    def every_session(self) -> tuple[str, ...]:
        """The sessions that each policy runs."""
        return self.sessions or (self.session,)


@dataclass(frozen=True)
class Job:
    """A session of a policy.

    Attributes:
        seed: of the check.
        session: name or path of its file.
        policy: name or path of its file.
    """

    seed: int
    session: str
    policy: str


@dataclass(frozen=True)
class Unexpected:
    """A verdict that is not the expected one.

    Attributes:
        seed: of the check.
        policy: its policy.
        perturbation: its name.
        expected: the verdict in the file.
        found: the verdict that was found; None if the perturbation has none.
    """

    seed: int
    policy: str
    perturbation: str
    expected: Verdict
    found: Verdict | None

    def __str__(self) -> str:
        found = self.found.value if self.found else "nothing"
        return f"seed {self.seed}, {self.policy}, {self.perturbation}: expected {self.expected.value}, found {found}"


def load_check(name: str) -> tuple[CheckParameters, Path]:
    """Return a check and its file.

    Raises:
        ConfigurationError: there is no such file, or it is wrong.
    """
    file = find_file("understanding", name, "command line", "CHECK", Path.cwd())
    parameters = load_record(CheckParameters, file)
    if bool(parameters.session) == bool(parameters.sessions):
        key, expected = "session", "a session, or several under `sessions` in its place"
        if parameters.session:
            key, expected = "sessions", "none beside `session`: name one of the two"
        raise ConfigurationError(str(file), key, ", ".join(parameters.sessions), expected)
    for key, names in (("sessions", parameters.sessions), ("policies", parameters.policies)):
        _check_folders(file, key, names)
    _check_names(file, parameters.policies)
    for key, named in (("chance", (parameters.chance,)), ("expected", tuple(parameters.expected))):
        for policy in named:
            if policy not in parameters.policies:
                expected = f"one of the policies {', '.join(parameters.policies)}"
                raise ConfigurationError(str(file), key, policy, expected)
    return parameters, file


def _check_folders(file: Path, key: str, names: Sequence[str]) -> None:
    """Refuse two names with the same stem, because a folder is named after it."""
    folders = [Path(name).stem for name in names]
    for number, name in enumerate(names):
        if folders[number] in folders[:number]:
            raise ConfigurationError(str(file), f"{key}.{number}", name, "another name than those before it")


def _check_names(file: Path, policies: Sequence[str]) -> None:
    """Refuse two policies whose files give the same name, because their trials could not be told apart."""
    known: dict[str, str] = {}
    for number, policy in enumerate(policies):
        described = look_up(find_file("policies", policy, str(file), f"policies.{number}", file.parent)).description
        own = policy if described is None else described.name
        if own in known:
            expected = f"a policy with another name than '{own}', which '{known[own]}' has already"
            raise ConfigurationError(str(file), f"policies.{number}", policy, expected, "Change `name` in its file.")
        known[own] = policy


def check_scores(parameters: CheckParameters, file: Path) -> None:
    """Refuse sessions that do not have the score of success without mistakes.

    Raises:
        ConfigurationError: a session does not have the score, or does not fit.
    """
    for session in parameters.every_session:
        policy = _policy_file(parameters.policies[0], file)
        resolved = resolve(_session_file(session, file, parameters), Overrides(policy=policy, fast=True))
        if not any(score.spec.name == WITHOUT_MISTAKES for score in resolved.scores):
            scores = ", ".join(resolved.parameters.scores) or "none"
            cure = "Add it, or leave --no-mistakes out."
            raise ConfigurationError(str(resolved.source), "scores", scores, f"{WITHOUT_MISTAKES} among them", cure)


def run_check(parameters: CheckParameters, file: Path, output: Path, processes: int) -> Iterator[tuple[int, int]]:
    """Run the sessions of a check that are not done yet; yield the number that are done, and the number of all.

    A session that was done with other parameters, files or versions is run again, into a run folder of its own.

    Args:
        parameters: the check.
        file: the check's file.
        output: folder of the runs, in folders by seed, by session if there are several, and by policy.
        processes: number of sessions at a time.

    Raises:
        ConfigurationError: a session or a policy does not fit, or the process of a session dies.
    """
    wanted = [
        Job(seed, session, policy)
        for seed in parameters.seeds
        for session in parameters.every_session
        for policy in parameters.policies
    ]
    # All sessions are resolved before the first is run, because a mistake in the last one must not cost their time.
    states = {job: _state(_resolved(parameters, file, output, job)) for job in wanted}
    missing = [job for job in wanted if not _finished(parameters, output, job, states[job])]
    yield len(wanted) - len(missing), len(wanted)
    one = partial(_run, parameters, file, output)
    for done, (index, lost) in enumerate(run_in_processes(one, missing, processes), start=1):
        if isinstance(lost, ProcessLost):
            job = missing[index]
            where = f"(session {job.session}, seed {job.seed})"
            raise ConfigurationError(str(file), "policies", job.policy, f"one whose process does not die {where}")
        yield len(wanted) - len(missing) + done, len(wanted)


def checked(parameters: CheckParameters, output: Path, *, no_mistakes: bool = False) -> Mapping[int, Understanding]:
    """Return the check of the policies, seed by seed, from the runs of ``run_check``.

    Args:
        parameters: the check.
        output: folder of the runs, as for ``run_check``.
        no_mistakes: whether success without mistakes is estimated beside success.

    Raises:
        ConfigurationError: no session has a perturbation of the instruction or the images (axis L or O), or a policy
            has no trial that counts.
    """
    found = {}
    for seed in parameters.seeds:
        results = {
            policy: [_results(parameters, output, Job(seed, session, policy)) for session in parameters.every_session]
            for policy in parameters.policies
        }
        understanding = understanding_of(
            [run for runs in results.values() for run in runs],
            parameters.margin,
            results[parameters.chance],
            pooled=True,
            no_mistakes=no_mistakes,
        )
        if understanding is None:
            expected = "a session with a perturbation of the instruction or the images (axis L or O)"
            raise ConfigurationError(parameters.every_session[0], "strategy.perturbations", "none", expected)
        for policy, runs in results.items():
            if not any(run.trials["counts"].any() for run in runs):
                raise ConfigurationError(
                    parameters.name, "policies", policy, f"one with a trial that counts (seed {seed})"
                )
        found[seed] = understanding
    return found


def unexpected(parameters: CheckParameters, found: Mapping[int, Understanding]) -> list[Unexpected]:
    """Return the verdicts that are not the expected ones."""
    wrong = []
    for seed, understanding in found.items():
        # The checks name a policy by its own name, the file perhaps by a path; both are in the order of the file.
        for policy, check in zip(parameters.policies, understanding.checks, strict=True):
            for verdict, names in parameters.expected.get(policy, {}).items():
                for name in names:
                    row = check.row(name)
                    if row is None or row.verdict is not verdict:
                        wrong.append(Unexpected(seed, policy, name, verdict, row.verdict if row else None))
    return wrong


def _folder(parameters: CheckParameters, output: Path, job: Job) -> Path:
    several = len(parameters.every_session) > 1
    return output.joinpath(f"seed{job.seed}", *([Path(job.session).stem] if several else []), Path(job.policy).stem)


def _results(parameters: CheckParameters, output: Path, job: Job) -> Results:
    runs = _folder(parameters, output, job).glob("*/journal.jsonl")
    return compute_results(read_begun(RunFolder.open(max(runs).parent).journal))


def _finished(parameters: CheckParameters, output: Path, job: Job, state: str) -> bool:
    done = _folder(parameters, output, job) / "done"
    return done.exists() and done.read_text("utf-8") == state


def _session_file(session: str, file: Path, parameters: CheckParameters) -> Path:
    key = f"sessions.{parameters.sessions.index(session)}" if parameters.sessions else "session"
    return find_file("sessions", session, str(file), key, file.parent)


def _policy_file(policy: str, file: Path) -> str:
    """Return a policy's name, or the full path of its file; the check gives a path relative to its own file."""
    return str(find_file("policies", policy, str(file), "policies", file.parent)) if is_path(policy) else policy


def _resolved(parameters: CheckParameters, file: Path, output: Path, job: Job) -> ResolvedSession:
    overrides = Overrides(
        policy=_policy_file(job.policy, file),
        # From one seed, tasks that differ only in their objects draw the same scenes, but sessions that are pooled
        # must be independent.
        seed=job.seed + parameters.every_session.index(job.session),
        output=str(_folder(parameters, output, job)),
        fast=True,
        settings={"recording": "none"},
    )
    return resolve(_session_file(job.session, file, parameters), overrides)


def _state(resolved: ResolvedSession) -> str:
    """Return the SHA-256, in hex, of everything on which the trials depend."""
    everything = {"session": resolved.snapshot(), "versions": session_versions()}
    return hashlib.sha256(to_json(everything, inf_nan_mode="strings", fallback=str)).hexdigest()


def _run(parameters: CheckParameters, file: Path, output: Path, job: Job) -> None:
    resolved = _resolved(parameters, file, output, job)
    done = _folder(parameters, output, job) / "done"
    # An interrupted run must not count as the run that was done before.
    done.unlink(missing_ok=True)
    run = resolved.new_run(time.time())
    bench = open_bench(resolved)
    try:
        run_session(resolved.evaluation(), bench, run.journal)
    finally:
        bench.close()
    done.write_text(_state(resolved), "utf-8")
