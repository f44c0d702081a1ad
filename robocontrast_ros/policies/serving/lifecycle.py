"""The policy that serves: its swap in two steps, and the lifecycle of a server (unconfigured, inactive, active)."""

from __future__ import annotations

import threading
from pathlib import Path

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.configuration.files import find_file
from robocontrast_ros.domain import Fault
from robocontrast_ros.policies.protocol import PolicyFault
from robocontrast_ros.policies.serving.ahead import loaded
from robocontrast_ros.policies.serving.runner import Loading, PolicyRunner


class NothingStaged(Exception):
    """No policy is staged that could replace the one that serves."""


class PolicySlot:
    """Holds the policy that serves, and at most one that was loaded to replace it.

    Attributes:
        serving: the policy that serves.
        staged: the one that was loaded and warmed up to replace it; None without one.
    """

    def __init__(self, serving: PolicyRunner) -> None:
        """Take the policy that serves first; its limits also hold for later ones."""
        self.serving = serving
        self.staged: PolicyRunner | None = None

    def stage(self, path: Path) -> PolicyRunner:
        """Drop the policy staged before; load and warm up another, beside the one that serves.

        Raises:
            ConfigurationError: it cannot be loaded; the one that serves goes on.
        """
        self.drop()
        runner = PolicyRunner(*self.serving.loading._replace(path=path))
        runner.warm_up()
        self.staged = runner
        return runner

    def drop(self) -> None:
        """Free the staged policy, if there is one."""
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


class PolicyLifecycle:
    """Loads, activates, swaps and frees policies; the one that serves can be called meanwhile from other threads."""

    def __init__(self, loading: Loading) -> None:
        """Start unconfigured.

        Args:
            loading: arguments with which the first policy is loaded; each later one has another file alone.
        """
        self._loading = loading._replace(path=loading.path.expanduser().absolute())
        self._slot: PolicySlot | None = None
        self._active = False
        # Held while policies are loaded, swapped or freed; never during a call of the policy that serves.
        self._changing = threading.Lock()

    @property
    def serving(self) -> PolicyRunner:
        """The policy that serves.

        Raises:
            PolicyFault: none is active.
        """
        slot = self._slot
        if slot is not None and self._active:
            return slot.serving
        raise PolicyFault(Fault.POLICY_SERVER_LOST, "no policy is active; configure and activate the node")

    def configure(self) -> None:
        """Load the policy, unless one is loaded.

        Raises:
            ConfigurationError: it cannot be loaded.
        """
        if self._slot is None:
            self._slot = PolicySlot(loaded(self._loading))

    def activate(self) -> None:
        """Load the policy and warm it up, unless that was done; from now on it serves.

        Raises:
            ConfigurationError: it cannot be loaded or warmed up; it was freed.
        """
        try:
            self.configure()
            if self._slot.serving.warm_up_time is None:
                self._slot.serving.warm_up()
        except ConfigurationError:
            self.free()
            raise
        self._active = True

    def deactivate(self) -> None:
        """Serve no policy until activated again."""
        self._active = False

    def free(self, timeout: float = -1) -> None:
        """Free all policies, and serve none.

        Args:
            timeout: limit of the wait for a load or swap [s], none if negative; after it nothing is freed.
        """
        held = self._changing.acquire(timeout=timeout)
        slot, self._slot, self._active = self._slot, None, False
        if held:
            if slot is not None:
                slot.close()
            self._changing.release()

    def swap(self, policy: str, serve: bool) -> PolicyRunner | None:
        """Let the staged policy serve, or stage another one, or drop it.

        Args:
            policy: to stage: a name in config/policies or a path; empty to drop the staged one.
            serve: whether to let the staged one serve instead.

        Returns:
            The policy that now serves, or is staged; None after a drop.

        Raises:
            ConfigurationError: it cannot be loaded; the policy that serves goes on, here and below.
            NothingStaged: there is none to serve.
            PolicyFault: no policy is active.
        """
        with self._changing:
            slot, _ = self._slot, self.serving
            if serve:
                return slot.serve()
            if policy:
                return slot.stage(find_file("policies", policy, "~/load", "policy", Path.cwd()))
            slot.drop()
            return None
