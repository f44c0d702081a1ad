"""A check of understanding from nothing: sessions of some policies and seeds, and the verdicts that are expected."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pydantic import Field
from pydantic_core import to_json

from robocontrast_ros.analysis.estimates.results import compute_results
from robocontrast_ros.analysis.estimates.understanding import MARGIN, Understanding, Verdict, understanding_of
from robocontrast_ros.configuration import ConfigurationError, load_record, record
from robocontrast_ros.configuration.files import find_file
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
    session: str = Field(description="session that each policy runs: a name, or the path of a file")
    policies: tuple[str, ...] = Field(min_length=1, description="names, or paths of files")
    chance: str = Field(description="the one of them whose base trials measure chance")
    seeds: tuple[int, ...] = Field(min_length=1, description="a session of each policy is run with each")
    margin: float = Field(default=MARGIN, gt=0, lt=1, description="loss of the share of successes that does not matter")
    expected: dict[str, dict[Verdict, tuple[str, ...]]] = Field(
        default_factory=dict, description="policy -> verdict -> perturbations that shall have it, with each seed"
    )


@dataclass(frozen=True)
class Unexpected:
    """A verdict that is not the expected one.

    Attributes:
        seed: of the session.
        policy: its policy.
        perturbation: its name.
        expected: the verdict in the file.
        found: the verdict; None where the perturbation has none.
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
    """Return a check, and its file.

    Raises:
        ConfigurationError: there is no such file, or it does not fit.
    """
    file = find_file("understanding", name, "command line", "CHECK", Path.cwd())
    parameters = load_record(CheckParameters, file)
    for key, named in (("chance", (parameters.chance,)), ("expected", tuple(parameters.expected))):
        for policy in named:
            if policy not in parameters.policies:
                expected = f"one of the policies {', '.join(parameters.policies)}"
                raise ConfigurationError(str(file), key, policy, expected)
    return parameters, file


def run_check(parameters: CheckParameters, file: Path, output: Path, processes: int) -> Iterator[tuple[int, int]]:
    """Run the sessions of a check that are not done yet; yield how many are done, and of how many.

    One that was done with other parameters, files or versions is run again, into a run folder of its own.

    Args:
        parameters: the check.
        file: what they are from.
        output: folder of the sessions' runs, by seed and policy.
        processes: sessions at a time.

    Raises:
        ConfigurationError: a session or a policy does not fit.
    """
    wanted = [(seed, policy) for seed in parameters.seeds for policy in parameters.policies]
    missing = [job for job in wanted if not _finished(_folder(output, *job), parameters.session, file, job)]
    yield len(wanted) - len(missing), len(wanted)
    one = partial(_run, parameters.session, file, output)
    for done, (index, lost) in enumerate(run_in_processes(one, missing, processes), start=1):
        if isinstance(lost, ProcessLost):
            seed, policy = missing[index]
            raise ConfigurationError(str(file), "policies", policy, f"one whose process does not die (seed {seed})")
        yield len(wanted) - len(missing) + done, len(wanted)


def checked(parameters: CheckParameters, output: Path) -> Mapping[int, Understanding]:
    """Return the check of the policies, seed by seed, from the runs of ``run_check``."""
    found = {}
    for seed in parameters.seeds:
        results = {
            p: compute_results(read_begun(_run_of(_folder(output, seed, p)).journal)) for p in parameters.policies
        }
        understanding = understanding_of(list(results.values()), parameters.margin, results[parameters.chance])
        if understanding is None:
            expected = "a session with a perturbation of what is told or shown (axis L or O)"
            raise ConfigurationError(parameters.session, "strategy.perturbations", "none", expected)
        found[seed] = understanding
    return found


def unexpected(parameters: CheckParameters, found: Mapping[int, Understanding]) -> list[Unexpected]:
    """Return the verdicts that are not the expected ones."""
    wrong = []
    for seed, understanding in found.items():
        # A check has the policy's own name, the file may have a path; both are in the order of the file.
        for policy, check in zip(parameters.policies, understanding.checks, strict=True):
            for verdict, names in parameters.expected.get(policy, {}).items():
                for name in names:
                    row = check.row(name)
                    if row is None or row.verdict is not verdict:
                        wrong.append(Unexpected(seed, policy, name, verdict, row.verdict if row else None))
    return wrong


def _folder(output: Path, seed: int, policy: str) -> Path:
    return output / f"seed{seed}" / Path(policy).stem


def _run_of(folder: Path) -> RunFolder:
    return RunFolder.open(max(folder.glob("*/journal.jsonl")).parent)


def _finished(folder: Path, session: str, file: Path, job: tuple[int, str]) -> bool:
    done = folder / "done"
    return done.exists() and done.read_text("utf-8") == _state(_resolved(session, file, folder, job))


def _resolved(session: str, file: Path, folder: Path, job: tuple[int, str]) -> ResolvedSession:
    seed, policy = job
    overrides = Overrides(policy=policy, seed=seed, output=str(folder), fast=True, settings={"recording": "none"})
    return resolve(str(find_file("sessions", session, str(file), "session", file.parent)), overrides)


def _state(resolved: ResolvedSession) -> str:
    """Return the SHA-256, in hex, of all that the trials depend on."""
    everything = {"session": resolved.snapshot(), "versions": session_versions()}
    return hashlib.sha256(to_json(everything, inf_nan_mode="strings", fallback=str)).hexdigest()


def _run(session: str, file: Path, output: Path, job: tuple[int, str]) -> None:
    folder = _folder(output, *job)
    resolved = _resolved(session, file, folder, job)
    run = resolved.new_run(time.time())
    bench = open_bench(resolved)
    try:
        run_session(resolved.evaluation(), bench, run.journal)
    finally:
        bench.close()
    (folder / "done").write_text(_state(resolved), "utf-8")
