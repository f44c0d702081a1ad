"""The common record of trials of any tool, and what a format of result files has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol


@dataclass(frozen=True)
class Outcome:
    """The result of one trial.

    Attributes:
        policy: name of the policy; empty if the file does not say it.
        task: name of the task; None if the file does not say it, which fits any task.
        instance: the start that a trial of another policy may share; None if the file does not say it.
        replicate: distinguishes trials of one instance.
        seed: the seed of the scene; None if the file has none that determines the scene.
        success: whether the trial succeeded; None if the file does not say it.
        score: partial credit in [0, 1]; None without.
        void_reason: why the trial counts neither as a success nor as a failure, such as a crash of the simulator.
    """

    policy: str = ""
    task: str | None = None
    instance: str | None = None
    replicate: str = ""
    seed: int | None = None
    success: bool | None = None
    score: float | None = None
    void_reason: str | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        """What a trial of another policy has in common with it if both are a pair."""
        return self.task or "", self.instance or "", self.replicate

    @property
    def words(self) -> str:
        """The key for a message."""
        named = ("task", self.task), ("instance", self.instance), ("replicate", self.replicate)
        return ", ".join(f"{what} {value}" for what, value in named if value)


def outcome(void_reason: str = "", **parts: Any) -> Outcome:
    """Return the record of a trial; one with neither success nor score is void.

    Args:
        void_reason: why it is void; empty if it is not.
        parts: the other attributes.
    """
    empty = parts.get("success") is None and parts.get("score") is None
    return Outcome(**parts, void_reason=void_reason or ("no result" if empty else None))


@dataclass(frozen=True)
class ResultSet:
    """All trials that a source has.

    Attributes:
        outcomes: the trials, in any order.
        notes: sentences about the file that a reader of a comparison has to know.
    """

    outcomes: tuple[Outcome, ...]
    notes: tuple[str, ...] = ()


class ResultFormat(Protocol):
    """A format of result files; it is called without arguments."""

    description: ClassVar[str]
    """What it reads, for lists of formats."""

    def matches(self, source: str) -> bool:
        """Return whether a word of the command line, such as the path of a file, has this format.

        Raises:
            ConfigurationError: the file has the format's suffix and cannot be read at all.
        """
        ...

    def read(self, source: str) -> ResultSet:
        """Return the trials.

        Raises:
            ConfigurationError: the content does not fit, contradicts itself, or is a part of a run alone.
        """
        ...
