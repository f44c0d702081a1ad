"""The language instruction l of a test instance, as text and as structure (seed 000, section 3)."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Instruction:
    """The text for the robot, and its meaning.

    Only ``text`` ever reaches a policy. The structure is what perturbations act on and what the
    goal is made from; its keys belong to the task.

    Attributes:
        text: the words the policy receives.
        family: the task's family of instructions, for instance ``block_to_block``.
        arguments: sorted (key, value) pairs, for instance ``("source", "red_moon")``.
    """

    text: str
    family: str
    arguments: tuple[tuple[str, str], ...] = field(default=())

    def __post_init__(self) -> None:
        object.__setattr__(self, "arguments", tuple(sorted(self.arguments)))

    def get(self, key: str) -> str | None:
        """Return the argument's value, or None when the instruction has no such argument."""
        return dict(self.arguments).get(key)
