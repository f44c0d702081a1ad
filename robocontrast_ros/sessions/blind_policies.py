"""The policies of a blind session: each is loaded for its attempts, and its name is hidden."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import yaml

from robocontrast_ros.domain import Fault, Trial
from robocontrast_ros.episodes.bench import Bench, BenchFault, PolicyBench, PolicyRefusal, ServingPolicy
from robocontrast_ros.policies.protocol import PolicyDescription
from robocontrast_ros.runs.blinding import Assignment, Secret, code_of, policy_names, recall_secret, write_secret
from robocontrast_ros.runs.events import (
    BlindingBegan,
    BlindSwap,
    Event,
    PolicyLoaded,
    PolicyRefused,
    TrialFinished,
)
from robocontrast_ros.runs.history import History
from robocontrast_ros.sessions.blinding import HIDDEN, orders
from robocontrast_ros.sessions.control import SessionState
from robocontrast_ros.sessions.evaluation import Evaluation
from robocontrast_ros.sessions.resume_checks import refuse_other_policy

MARGIN = 1.5
"""Time that each change of the policy takes beyond the slowest first load, if the session gives no time [s]."""


class BlindPolicies:
    """Replaces ``PolicySwapping``: loads the policy of each attempt and hides its name."""

    def __init__(
        self,
        evaluation: Evaluation,
        bench: Bench,
        history: History,
        append: Callable[[Event], None],
        report: Callable[[SessionState, str], None],
        clock: Callable[[], float],
        file: Path | None,
    ) -> None:
        """Take the parts of a session.

        Args:
            evaluation: the session's, which names the policies.
            bench: where they run. A bench with one policy for the whole session, as that of a plan, loads nothing; then
                nothing is written down.
            history: of the session.
            append: writes an event down and updates the history.
            report: reports progress to the session's observer.
            clock: seconds since the epoch.
            file: file of the assignment; None to keep it in memory.
        """
        self._session, self._files, self._history = evaluation.session, evaluation.blind_files, history
        self._bench = bench if isinstance(bench, PolicyBench) else None
        self._append, self._report, self._clock, self._file = append, report, clock, file
        self._secret: Secret | None = None
        self._descriptions: tuple[PolicyDescription | None, ...] = (None,) * self.each
        self.shown = HIDDEN
        """The code that replaces the name of the policy that serves."""

    @property
    def each(self) -> int:
        """Number of policies that run each trial."""
        return len(self._files)

    def begin(self, trials: Callable[[], int]) -> None:
        """Load each policy once, as a check, and commit to the assignment of policies to trials; or go on as before.

        Args:
            trials: returns the greatest number of trials that the strategy proposes.

        Raises:
            BenchFault: a policy cannot be loaded, or the policy server is lost.
            ConfigurationError: a policy's file has changed since the session began.
            JournalError: the assignment is lost, or does not fit the session's commitment.
        """
        if self._bench is None:
            return
        self._bench.show_policy_as(HIDDEN)
        self._report(SessionState.RUNNING, "loading each policy once")
        loaded, slowest = [], 0.0
        for policy in map(str, self._files):
            began = time.monotonic()
            try:
                loaded.append(self._bench.stage_policy(policy))
            except PolicyRefusal as refusal:
                # Before the first trial its name reveals nothing.
                raise BenchFault(Fault.POLICY_SERVER_LOST, f"policy {policy} cannot be loaded: {refusal}") from None
            slowest = max(slowest, time.monotonic() - began)
        self._descriptions = tuple(policy.description for policy in loaded)
        began = self._history.blinding
        if began is not None:
            self._secret = recall_secret(self._file, began, self._history.opened)
            for before, now in zip(self._secret.policies, loaded, strict=True):
                refuse_other_policy(before, now)
            return
        policies = tuple(PolicyLoaded(**vars(p), digest=p.digest, time=self._clock()) for p in loaded)
        named = tuple(zip(policy_names(policies), (policy.digest for policy in policies), strict=True))
        self._secret = Secret(Assignment(named, orders(self._session.seed, self.each, trials())), policies)
        if self._file is not None:
            write_secret(self._file, self._secret)
        commitment, wanted = self._secret.commitment, self._session.blind.swap_time
        swap_time, held = MARGIN * slowest if wanted is None else wanted, self._session.least_answer_time
        self._append(BlindingBegan(commitment, self.each, swap_time, held, self._clock()))

    def serve_for(self, trial: Trial) -> None:
        """Load the policy of an attempt, even if it already serves, and take as long as for any other.

        Raises:
            BenchFault: it cannot be loaded, or the policy server is lost.
        """
        self.shown = code_of(trial.index, self.each)
        bench, secret = self._bench, self._secret
        if bench is None or secret is None:
            return
        began = time.monotonic()
        bench.show_policy_as(self.shown)
        self._report(SessionState.RUNNING, "loading the policy")
        wanted = secret.policies[secret.assignment.policy_of(trial.index)]
        try:
            bench.stage_policy(wanted.file)
            bench.serve_policy()
            self._check(bench.policy(), wanted)
        except PolicyRefusal as refusal:
            raise BenchFault(Fault.POLICY_SERVER_LOST, self.masked(f"no policy serves: {refusal}")) from None
        except BenchFault as fault:
            raise BenchFault(fault.fault, self.masked(fault.detail)) from None
        time.sleep(max(self._history.blinding.swap_time - (time.monotonic() - began), 0.0))
        self._append(BlindSwap(trial.trial_id, time.monotonic() - began, self._clock()))

    def _check(self, present: ServingPolicy, wanted: PolicyLoaded) -> None:
        if present.digest != wanted.digest:
            detail = f"policy {present.name} serves in place of {wanted.name}: its file has changed, or it was swapped"
            raise BenchFault(Fault.POLICY_SERVER_LOST, detail)

    def masked(self, text: str) -> str:
        """Return a text without names of policies; before the assignment, return it unchanged."""
        policies = self._secret.policies if self._secret is not None else ()
        names = {name for policy in policies for name in (policy.file, Path(policy.file).stem, policy.name)}
        # The error of a policy that cannot be loaded names its class.
        names |= {str(yaml.safe_load(policy.parameters).get("policy", policy.name)) for policy in policies}
        for name in sorted(names, key=len, reverse=True):
            # `FilmBc` of a traceback also names `film_bc`.
            pattern = re.escape(name).replace("_", "_?")
            text = re.sub(pattern, "(blind)", text, flags=re.IGNORECASE)
        return text

    def swap(self, wanted: Sequence[str], state: SessionState) -> None:
        """Refuse another policy."""
        for policy in wanted:
            self._refuse(policy, "the session is blind: which policy runs was decided at its start")
            self._report(state, f"policy {policy} is refused: the session is blind")

    def notice_other(self) -> None:
        """Do nothing: the policy of each attempt is loaded for it."""

    def end(self, wanted: Sequence[str]) -> None:
        """Refuse swaps that were requested too late."""
        for policy in wanted:
            self._refuse(policy, "the session ended before it could serve")

    def _refuse(self, policy: str, reason: str) -> None:
        self._append(PolicyRefused(policy, reason, self._clock()))

    def open(self) -> None:
        """Write down which policy ran which trial, after the last one, and remove the secret."""
        if self._secret is None:
            return
        if self._history.opened is None:
            self._append(self._secret.opened(len(self._history.finished), self._clock()))
        if self._file is not None:
            self._file.unlink(missing_ok=True)

    def readers(self) -> tuple[Callable[[], PolicyDescription | None], ...]:
        """Return the descriptions of all policies: a perturbation applies if each of them takes it in."""
        return tuple(lambda who=who: self._descriptions[who] for who in range(self.each))

    def description(self, trial: Trial) -> PolicyDescription | None:
        """Return the description of the policy of a trial."""
        return None if self._secret is None else self._descriptions[self._secret.assignment.policy_of(trial.index)]

    def descriptions(self, trial: Trial) -> tuple[PolicyDescription | None, ...]:
        """Return the description of each policy, because each runs a trial."""
        return self._descriptions

    def twin(self, trial: Trial) -> TrialFinished | None:
        """Return the base trial of the same policy and repeat; the trial names none, which would reveal the policy."""
        if trial.is_base or self._secret is None:
            return None
        policy_of = self._secret.assignment.policy_of
        wanted = trial.base_id, trial.repeat, policy_of(trial.index)
        for event in reversed(self._history.finished):
            other = event.trial
            if other.is_base and (other.base_id, other.repeat, policy_of(other.index)) == wanted:
                return event
        return None
