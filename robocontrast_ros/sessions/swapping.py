"""The policies of a session: which one serves first, and which replace it between two trials."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from robocontrast_ros.domain import Fault, Trial
from robocontrast_ros.episodes.bench import Bench, BenchFault, PolicyBench, PolicyRefusal, ServingPolicy
from robocontrast_ros.policies.protocol import PolicyDescription
from robocontrast_ros.runs.events import Event, PolicyLoaded, PolicyRefused, TrialFinished
from robocontrast_ros.runs.history import History
from robocontrast_ros.sessions.control import SessionState
from robocontrast_ros.sessions.resume_checks import refuse_other_policy


class PolicySwapping:
    """Records which policy serves, swaps it on request, and reports why if it does not.

    On a bench with one policy for the whole session it refuses every swap.
    """

    def __init__(
        self,
        bench: Bench,
        history: History,
        append: Callable[[Event], None],
        report: Callable[[SessionState, str], None],
        clock: Callable[[], float],
    ) -> None:
        """Take the parts of a session; ``append`` also updates its history."""
        self._bench = bench if isinstance(bench, PolicyBench) else None
        self._history, self._append, self._report, self._clock = history, append, report, clock

    each = 1
    """Number of policies that run each trial."""

    def begin(self, trials: Callable[[], int]) -> None:
        """Record which policy serves; a resumed session goes on with the one that served last.

        Args:
            trials: returns the greatest number of trials that the strategy proposes.

        Raises:
            BenchFault: that policy cannot be loaded any more, or the policy server is lost.
            ConfigurationError: its file has changed.
        """
        bench, served = self._bench, self._history.policy
        if bench is None:
            return
        present = bench.policy()
        if served is not None and not self._is(present, served):
            try:
                present = bench.stage_policy(served.file)
                refuse_other_policy(served, present)
                bench.serve_policy()
            except PolicyRefusal as refusal:
                detail = f"policy '{served.name}', which served last, cannot be loaded again: {refusal}"
                raise BenchFault(Fault.POLICY_SERVER_LOST, detail) from None
        self._write_down(present)

    def serve_for(self, trial: Trial) -> None:
        """Do nothing: the policy that serves also runs the next trial."""

    @property
    def shown(self) -> str:
        """Name of the policy that serves; empty if unknown."""
        return self._history.policy.name if self._history.policy else ""

    def description(self, trial: Trial) -> PolicyDescription | None:
        """Return the description of the policy that runs a trial, the next one."""
        policy = self._history.policy
        return policy.description if policy is not None else None

    def descriptions(self, trial: Trial) -> tuple[PolicyDescription | None, ...]:
        """Return the description of each policy that is to run a trial, the next one."""
        return (self.description(trial),)

    def masked(self, text: str) -> str:
        """Return a text unchanged: no policy is hidden."""
        return text

    def twin(self, trial: Trial) -> TrialFinished | None:
        """Return the base trial that a trial is compared with; None if it has none."""
        return self._history.finished[int(trial.twin)] if trial.twin else None

    def open(self) -> None:
        """Do nothing: no policy is hidden."""

    def swap(self, wanted: Sequence[str], state: SessionState) -> None:
        """Let the last of the wanted policies serve, or record why it does not; refuse those before it.

        Args:
            wanted: names or files, in the order they were asked for.
            state: of the session during the swap.

        Raises:
            BenchFault: the policy server is lost.
        """
        *outdated, last = wanted
        for policy in outdated:
            self._refuse(policy, f"{last} was asked for after it", state)
        bench = self._bench
        if bench is None:
            self._refuse(last, "this bench has one policy for the whole session", state)
            return
        self._report(state, f"loading policy {last}")
        try:
            policy = bench.stage_policy(last)
            bench.serve_policy()
        except PolicyRefusal as refusal:
            self._refuse(last, str(refusal), state)
        else:
            self._write_down(policy)
            self._report(state, f"policy '{policy.name}' serves from now on")

    def notice_other(self) -> None:
        """Record a policy that somebody swapped without the session, so that no trial counts for another one.

        Raises:
            BenchFault: the policy server is lost.
        """
        known = self._history.policy
        if self._bench is not None:
            present = self._bench.policy()
            if known is None or (present.file, present.digest) != (known.file, known.digest):
                self._write_down(present)

    def end(self, wanted: Sequence[str]) -> None:
        """Refuse swaps that were requested too late."""
        for policy in wanted:
            self._append(PolicyRefused(policy, "the session ended before it could serve", self._clock()))

    def _is(self, present: ServingPolicy, served: PolicyLoaded) -> bool:
        """Return whether a policy is the one that served; the session's own may have been installed elsewhere since."""
        first = self._history.first_policy
        own = first is not None and (served.file, served.digest) == (first.file, first.digest)
        return present.digest == served.digest and (own or present.file == served.file)

    def _refuse(self, policy: str, reason: str, state: SessionState) -> None:
        self._append(PolicyRefused(policy, reason, self._clock()))
        self._report(state, f"policy {policy} is refused: {reason}")

    def _write_down(self, policy: ServingPolicy) -> None:
        self._append(PolicyLoaded(**vars(policy), digest=policy.digest, time=self._clock()))
