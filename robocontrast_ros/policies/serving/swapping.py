"""Swap policies in two steps, so that one serves until the next is known to work."""

from __future__ import annotations

from pathlib import Path

from robocontrast_ros.policies.serving.runner import PolicyRunner


class NothingStaged(Exception):
    """There is no policy that could take the place of the one that serves."""


class PolicySlot:
    """Holds the policy that serves, and at most one that is to follow it.

    Attributes:
        serving: the policy that serves.
        staged: the one that was loaded and warmed up to follow it; None without one.
    """

    def __init__(self, serving: PolicyRunner) -> None:
        """Take the policy that serves first; its limits hold for those after it, too."""
        self.serving = serving
        self.staged: PolicyRunner | None = None

    def stage(self, path: Path) -> PolicyRunner:
        """Drop the policy staged before; load and warm up another, beside the one that serves.

        Raises:
            ConfigurationError: it cannot be loaded; the one that serves goes on.
        """
        self.drop()
        serving = self.serving
        runner = PolicyRunner(path, serving.timeout, serving.load_timeout, serving.own_thread)
        runner.warm_up()
        self.staged = runner
        return runner

    def drop(self) -> None:
        """Free the staged policy, where there is one."""
        if self.staged is not None:
            self.staged.close()
        self.staged = None

    def serve(self) -> PolicyRunner:
        """Let the staged policy serve, and free the one that did.

        Raises:
            NothingStaged: none is staged.
        """
        if self.staged is None:
            raise NothingStaged("no policy was loaded to follow the one that serves")
        before, self.serving, self.staged = self.serving, self.staged, None
        before.close()
        return self.serving

    def close(self) -> None:
        """Free both."""
        self.drop()
        self.serving.close()
