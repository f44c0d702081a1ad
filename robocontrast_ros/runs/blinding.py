"""Which policy runs which trial of a blind session: a commitment at the start, opened at the end, and its proof.

Before the first trial the journal has the SHA-256 of a random salt and of the assignment. Whoever knows the hash alone
learns nothing, because the salt has 256 bits; whoever opens it later can open this assignment and no other. The
assignment is a table: for each trial that the strategy proposes, the order in which the policies run it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

from robocontrast_ros.domain.words import counted
from robocontrast_ros.runs.events import (
    BlindingBegan,
    BlindingOpened,
    BlindSwap,
    Event,
    PolicyLoaded,
    SessionStarted,
    TrialCorrected,
    TrialFinished,
    TrialStarted,
)
from robocontrast_ros.runs.history import as_counted
from robocontrast_ros.runs.journal import Journal, JournalError
from robocontrast_ros.system.disk import writing

SALT_BYTES = 32
"""Length of the salt of a commitment [byte]."""


_CODE = re.compile(r"[0-9]+ of [0-9]+")


def code_of(index: int, policies: int) -> str:
    """Return the code that replaces the policy's name in the session's trial of an index: its place in the order."""
    return f"{index % policies + 1} of {policies}"


def is_code(policy: str) -> bool:
    """Return whether the name of a policy is such a code."""
    return _CODE.fullmatch(policy) is not None


@dataclass(frozen=True)
class Assignment:
    """Which policy runs which trial.

    A session of n policies runs trial ``i`` of the strategy as its trials ``i * n`` to ``i * n + n - 1``.

    Attributes:
        policies: name and SHA-256 of each policy's parameters.
        orders: for each trial of the strategy, the places of the policies in ``policies``, in the order in which they
            run it; after the last one the table begins again.
    """

    policies: tuple[tuple[str, str], ...]
    orders: tuple[tuple[int, ...], ...]

    def policy_of(self, index: int) -> int:
        """Return the place in ``policies`` of the one that runs the session's trial of an index."""
        trial, place = divmod(index, len(self.policies))
        return self.orders[trial % len(self.orders)][place]

    @property
    def text(self) -> str:
        """The text of which the commitment is made."""
        return json.dumps({"policies": self.policies, "orders": self.orders}, separators=(",", ":"))

    @classmethod
    def of(cls, text: str) -> Assignment:
        """Return the assignment of a text.

        Raises:
            ValueError: it is not the text of one.
        """
        try:
            found = _ASSIGNMENT.validate_json(text)
        except ValidationError as error:
            raise ValueError(f"no assignment: {error.errors(include_url=False)[0]['msg']}") from None
        places = list(range(len(found.policies)))
        if not found.orders or any(sorted(order) != places for order in found.orders):
            raise ValueError("no assignment: each order has to name each policy once")
        return found


_ASSIGNMENT: TypeAdapter[Assignment] = TypeAdapter(Assignment)


def commitment_of(salt: str, assignment: str) -> str:
    """Return the SHA-256, in hex, of a salt in hex and of an assignment's text."""
    return hashlib.sha256(f"{salt}\n{assignment}".encode()).hexdigest()


@dataclass(frozen=True)
class Secret:
    """The assignment of a blind session, secret until it is opened.

    Attributes:
        assignment: which policy runs which trial.
        policies: the record of each policy, in the assignment's order.
        salt: of the commitment, in hex.
    """

    assignment: Assignment
    policies: tuple[PolicyLoaded, ...]
    salt: str = field(default_factory=lambda: secrets.token_hex(SALT_BYTES))

    @property
    def commitment(self) -> str:
        """The commitment in the journal."""
        return commitment_of(self.salt, self.assignment.text)

    def opened(
        self, trials: int, time: float, by: str = "", reason: str = "", *, early: bool = False
    ) -> BlindingOpened:
        """Return the event that opens it after so many trials; ``time`` is in seconds since the epoch."""
        return BlindingOpened(self.salt, self.assignment.text, self.policies, early, trials, time, by, reason)


_SECRET: TypeAdapter[Secret] = TypeAdapter(Secret)


def write_secret(path: Path, secret: Secret) -> None:
    """Write the file of a secret, which its owner alone may read; replace an old one.

    Raises:
        DiskError: it cannot be written.
    """
    with writing(path):
        path.unlink(missing_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(descriptor, "wb") as file:
            file.write(to_json(secret) + b"\n")
            file.flush()
            os.fsync(file.fileno())


def recall_secret(path: Path | None, began: BlindingBegan, opened: BlindingOpened | None = None) -> Secret:
    """Return the secret of a session, from its journal if it was opened, else from its file.

    Args:
        path: the file.
        began: the session's commitment.
        opened: its opening in the journal; None before.

    Raises:
        JournalError: it is lost, or does not fit the session's commitment.
    """
    where = "the journal" if opened is not None else str(path)
    try:
        if opened is not None:
            secret = Secret(Assignment.of(opened.assignment), opened.policies, opened.salt)
        elif path is not None:
            secret = _SECRET.validate_json(path.read_bytes())
            Assignment.of(secret.assignment.text)
        else:
            raise ValueError("nothing kept it")
    except OSError as error:
        raise JournalError(
            f"{path}: {error.strerror}; expected which policy runs which trial of this blind session. Restore the file "
            "from a copy, or start a new session."
        ) from None
    except ValueError as error:
        raise JournalError(
            f"{where}: not the assignment of a blind session: {error}. Restore it from a copy."
        ) from None
    if secret.commitment != began.commitment:
        raise JournalError(
            f"{where}: the assignment has the SHA-256 {secret.commitment}, expected {began.commitment}, to which the "
            "journal committed itself: it was changed. Restore it from a copy, or start a new session."
        )
    return secret


@dataclass(frozen=True)
class Leak:
    """Answers and loads of a policy that took longer than the time equal for all, so that somebody may have noticed it.

    Attributes:
        policy: its name.
        answers: number of its answers.
        long_answers: of them, those that took longer than ``answer_time``.
        swaps: number of its loads.
        long_swaps: of them, those that took longer than ``swap_time``.
    """

    policy: str
    answers: int
    long_answers: int
    swaps: int
    long_swaps: int


@dataclass(frozen=True)
class Blinding:
    """State of a session's blinding, as its journal shows.

    Attributes:
        began: its commitment; None if it ended before.
        opened: its first opening; None if it is not opened.
        problem: why the journal does not prove that the assignment was fixed before the first trial; empty if it does,
            or if it is not opened.
        trials: trials that count.
        after: of them, those that came after it was opened.
        leaks: of each policy, once it is opened.
    """

    began: BlindingBegan | None
    opened: BlindingOpened | None
    problem: str
    trials: int
    after: int = 0
    leaks: tuple[Leak, ...] = ()

    @property
    def kept(self) -> bool:
        """Whether nothing was opened before the last trial, and the opened assignment fits the commitment."""
        return self.opened is not None and not self.opened.early and not self.problem

    @property
    def words(self) -> str:
        """The state of the blinding, in one or a few sentences."""
        opened = self.opened
        if opened is None:
            return f"blinding: not opened; {counted(self.trials, 'trial')} so far"
        if self.problem:
            return f"blinding not proved: {self.problem}"
        if opened.early:
            why = f": {opened.reason}" if opened.reason else ""
            return (
                f"blinding broken: opened by {opened.by or 'somebody'} after {counted(opened.trials, 'trial')}, "
                f"{self.after} came after it{why}. {self._leaks}"
            )
        trials = counted(opened.trials, "trial")
        return f"blinding kept: opened after the last of {trials}, SHA-256 as committed. {self._leaks}"

    @property
    def _leaks(self) -> str:
        answer_time, swap_time = self.began.answer_time, self.began.swap_time
        swaps = ", ".join(f"{leak.policy} {leak.long_swaps} of {leak.swaps}" for leak in self.leaks)
        answers = ", ".join(f"{leak.policy} {_share(leak)} of {leak.answers}" for leak in self.leaks)
        first, second = (
            f"Answers longer than {answer_time:g} s: {answers}."
            if answer_time
            else _NOT_HELD.format("Answers", "answer"),
            f"Policy changes longer than {swap_time:.3g} s: {swaps}."
            if swap_time
            else _NOT_HELD.format("Changes", "swap"),
        )
        return f"{first} {second}"


_NOT_HELD = "{} of policies were not held back (blind.{}_time: 0), so how long they took may have told."


def _share(leak: Leak) -> str:
    return f"{100.0 * leak.long_answers / leak.answers:.1f} %" if leak.answers else "none"


def blinding_of(events: Sequence[Event]) -> Blinding | None:
    """Return the state of a session's blinding; None if the session is not blind."""
    started = next((event for event in events if isinstance(event, SessionStarted)), None)
    events = as_counted(events)
    began = next((event for event in events if isinstance(event, BlindingBegan)), None)
    if began is None and (started is None or not started.recorded.blind_policies):
        return None
    opened = next((event for event in events if isinstance(event, BlindingOpened)), None)
    trials = sum(isinstance(event, TrialFinished) for event in events)
    later = events[events.index(opened) :] if opened is not None else ()
    after = sum(isinstance(event, TrialFinished) for event in later)
    problem = _problem(events, began, opened) if opened is not None else ""
    leaks = _leaks(events, began, opened) if opened is not None and not problem else ()
    return Blinding(began, opened, problem, trials, after, leaks)


def is_of_several_policies(events: Sequence[Event]) -> bool:
    """Return whether a journal is that of a blind session with the trials of all its policies."""
    return blinding_of(events) is not None and not any(isinstance(event, PolicyLoaded) for event in events)


def refuse_several_policies(journal: Journal) -> None:
    """Raise JournalError if a journal has the trials of several policies, blind: a mean over them means nothing."""
    if is_of_several_policies(journal.events):
        run = journal.path.parent
        raise JournalError(
            f"{journal.path}: the trials of several policies, whose common mean has no meaning. Once it is opened, "
            f"`robocontrast results {shlex.quote(str(run))}` writes a run folder for each, {run / 'policies'}/NAME."
        )


def _problem(events: Sequence[Event], began: BlindingBegan | None, opened: BlindingOpened) -> str:
    if began is None:
        return "the journal has no commitment"
    found = commitment_of(opened.salt, opened.assignment)
    if found != began.commitment:
        return f"what was opened has the SHA-256 {found}, the journal committed itself to {began.commitment}"
    first = next((i for i, event in enumerate(events) if isinstance(event, TrialStarted)), len(events))
    if events.index(began) > first:
        return "a trial came before the commitment"
    try:
        assignment = Assignment.of(opened.assignment)
    except ValueError as error:
        return str(error)
    # Names are made distinct if two policies have the same.
    if [digest for _, digest in assignment.policies] != [policy.digest for policy in opened.policies]:
        return "the policies that were opened are others than those of the assignment"
    return ""


def _leaks(events: Sequence[Event], began: BlindingBegan, opened: BlindingOpened) -> tuple[Leak, ...]:
    assignment = Assignment.of(opened.assignment)
    leaks = [Leak(name, 0, 0, 0, 0) for name, _ in assignment.policies]
    for event in events:
        if isinstance(event, BlindSwap):
            who = assignment.policy_of(int(event.trial))
            long = event.took > began.swap_time + ROUNDING
            leaks[who] = replace(leaks[who], swaps=leaks[who].swaps + 1, long_swaps=leaks[who].long_swaps + long)
        elif isinstance(event, TrialFinished):
            who, took = assignment.policy_of(event.trial.index), event.policy_latency
            long = sum(answer > began.answer_time for answer in took) if began.answer_time else 0
            one = leaks[who]
            leaks[who] = replace(one, answers=one.answers + len(took), long_answers=one.long_answers + long)
    # The journal of one policy has no events of the others.
    return tuple(leak for leak in leaks if leak.swaps)


ROUNDING = 0.05
"""Accuracy of the wait for a change of the policy [s]."""


def policy_names(policies: Sequence[PolicyLoaded]) -> tuple[str, ...]:
    """Return a name for each policy, fit for a folder: that of its file, longer if two have the same."""
    stems = [Path(policy.file).stem for policy in policies]
    return tuple(stem if stems.count(stem) == 1 else f"{stem}_{number}" for number, stem in enumerate(stems, start=1))


def events_of_policies(journal: Journal) -> dict[str, tuple[Event, ...]]:
    """Return policy's name -> the events of its trials, as the journal of a session of its own.

    Trials keep their numbers. Each perturbed trial's twin is the base trial of the same policy, which the journal of a
    blind session does not name. A trial that was left out before all policies had run it is a void attempt of those
    that had. Events of no single trial (skips, interruptions) are in each of them.

    Raises:
        JournalError: it is no journal of a blind session, is not opened, or proves nothing.
    """
    events = as_counted(journal.events)
    blinding = blinding_of(events)
    if blinding is None or blinding.opened is None or blinding.problem:
        why = "it is of no blind session" if blinding is None else blinding.problem or "it is not opened"
        raise JournalError(f"{journal.path}: cannot be taken apart by policy: {why}.")
    opened = blinding.opened
    assignment, names = Assignment.of(opened.assignment), policy_names(opened.policies)
    return {
        name: tuple(_of_policy(events, opened.policies[who], name, who, assignment)) for who, name in enumerate(names)
    }


def _of_policy(
    events: Sequence[Event], policy: PolicyLoaded, name: str, who: int, assignment: Assignment
) -> Iterator[Event]:
    twins: dict[tuple[str, int], str] = {}
    loaded = False
    for event in events:
        if isinstance(event, SessionStarted):
            yield _session_of(event, name, who)
        elif isinstance(event, BlindSwap):
            if assignment.policy_of(int(event.trial)) == who:
                yield event
        elif isinstance(event, TrialCorrected):
            if assignment.policy_of(int(event.trial_id)) == who:
                yield event
        elif hasattr(event, "trial"):
            trial = event.trial
            if assignment.policy_of(trial.index) != who:
                continue
            key = (trial.base_id, trial.repeat)
            if trial.is_base:
                twins[key] = trial.trial_id
            else:
                trial = replace(trial, twin=twins.get(key, ""))
            yield replace(event, trial=trial)
        else:
            yield event
            if isinstance(event, BlindingBegan) and not loaded:
                yield replace(policy, time=event.time)
                loaded = True


def _session_of(started: SessionStarted, name: str, who: int) -> SessionStarted:
    """Return the first event of a session of one policy."""
    recorded = started.recorded
    given, policies = recorded.blind_policies, recorded.policy_parameters
    session = {key: value for key, value in started.parameters.get("session", {}).items() if key != "blind"}
    session |= {"blind": None, "policy": given[who] if who < len(given) else name}
    content = policies[who] if isinstance(policies, list) else policies
    parameters = {**started.parameters, "session": session, "policy": content}
    digest = hashlib.sha256(json.dumps(parameters, sort_keys=True).encode()).hexdigest()
    return replace(started, parameters=parameters, digest=digest)
