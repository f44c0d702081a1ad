"""The watch over a control loop on the wall clock, and the stop that it latches.

It knows no ROS and no robot: it is told what was heard, and is asked again and again whether the robot must be stopped.
All times are of a steady clock [s], and are given by the caller.

    not armed --first heartbeat--> watching --silence, or somebody asks--> stopped
    not armed <--last heartbeat--- watching <--released, cause gone------- stopped

Somebody may ask for a stop before the watch is armed, too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

ROLLOUT, LOOP, POLICY = "rollout", "loop", "policy"
"""Sources of a stop that a heartbeat tells: it is silent; the loop stands still; the policy's answer is overdue."""

BEATS = 5
"""How often the rollout and the watchdog tell each other in a control period that they are there, while the robot may
move or is about to; once while it rests."""

REPEATED = 1.0
"""A button that is held down repeats its request; so long after the last one it counts as let go [s]."""


class Phase(IntEnum):
    """What the rollout does. The values are those of ``Heartbeat.msg``."""

    ENDED = 0
    IDLE = 1
    BEGINNING = 2
    RUNNING = 3
    PROVING = 4

    @property
    def moves(self) -> bool:
        """Whether the robot may be moving."""
        return self in (Phase.BEGINNING, Phase.RUNNING)

    @property
    def beats(self) -> int:
        """How often the rollout and the watchdog tell each other in a control period that they are there."""
        return BEATS if self.moves or self is Phase.PROVING else 1

    def silence(self, limit: float) -> float:
        """Return how long either may be silent [s], by the limit while the robot may move [s]: as many beats."""
        return limit * BEATS / self.beats


@dataclass(frozen=True)
class Beat:
    """What a heartbeat says.

    Attributes:
        phase: what the rollout does.
        turns: how often the control loop has begun or ended a wait; it stands still while the loop hangs.
        waiting_since: since when the policy's answer is waited for, in any clock [ns]; 0 while it is not.
    """

    phase: Phase
    turns: int
    waiting_since: int = 0


@dataclass(frozen=True)
class Limits:
    """How long each may be silent [s].

    Attributes:
        rollout: between two heartbeats, while the robot may move.
        loop: a control loop that neither goes on nor waits for the policy.
        policy: its answer.
        inputs: the same of the robot's state and each camera, by source, while the robot may move.
    """

    rollout: float
    loop: float
    policy: float
    inputs: Mapping[str, float]


@dataclass(frozen=True)
class Stop:
    """A stop that is on.

    Attributes:
        source: what was silent, or where somebody asked.
        reason: why, for a person.
        by: who stopped the robot.
        since: when.
    """

    source: str
    reason: str
    by: str
    since: float


class Watch:
    """The state machine.

    Attributes:
        stop: the stop that is on; None while none is.
        released_by: who released the last one; empty before the first.
    """

    def __init__(self, limits: Limits, name: str = "watchdog") -> None:
        """Start without a heartbeat; ``name`` is who stops the robot when something is silent."""
        self._limits, self._name = limits, name
        self.stop: Stop | None = None
        self.released_by = ""
        self._beat: Beat | None = None
        self._beaten = self._turned = self._waiting = self._moving = self._asked = 0.0
        self._heard: dict[str, float] = {}
        self._suspected = ""

    def beat(self, beat: Beat, now: float) -> None:
        """Take a heartbeat. The last of a rollout that ends in order disarms the watch."""
        before, self._beat = self._beat, None if beat.phase is Phase.ENDED else beat
        self._beaten = now
        if before is None or beat.turns != before.turns or beat.phase is not before.phase:
            self._turned = now
        if before is None or beat.waiting_since != before.waiting_since:
            self._waiting = self._turned = now
        if beat.phase.moves and (before is None or not before.phase.moves):
            self._moving = now

    def heard(self, source: str, now: float) -> None:
        """Take note of a message of the robot's state or a camera."""
        self._heard[source] = now

    def ask(self, source: str, reason: str, by: str, now: float) -> None:
        """Stop the robot because somebody asks for it; where it is stopped, the first reason stays."""
        self._asked = now
        if self.stop is None:
            self.stop = Stop(source, reason, by, now)

    def look(self, now: float) -> Stop | None:
        """Return the stop that is on, after a look at what is silent.

        Only what two looks in a row find silent stops the robot: between them, the caller takes what has arrived
        meanwhile. So a watch that got no processor for a while does not stop the robot because of messages that have
        arrived but were not read yet.
        """
        if self.stop is None:
            source, reason = self._silent(now)
            if source and source == self._suspected:
                self.stop = Stop(source, reason, self._name, now)
            self._suspected = source
        return self.stop

    def release(self, by: str, now: float) -> str:
        """Release the stop for a person, by name, and return an empty text; or why it stays on."""
        if self.stop is None:
            return "the robot is not stopped"
        if not by.strip():
            return "a person releases it, by name"
        if now - self._asked < REPEATED and self._asked > self.stop.since:
            return "a stop is still asked for: let the button go, and release it then"
        if self._there(self.stop.source, now):
            return f"its cause is still there: {self.stop.reason}"
        source, reason = self._silent(now)
        if source:
            return f"the robot would be stopped again: {reason}"
        self.stop, self.released_by, self._suspected = None, by.strip(), ""
        return ""

    def _there(self, source: str, now: float) -> bool:
        """Return whether an input that stopped the robot is still silent, now that the robot does not move."""
        limit = self._limits.inputs.get(source)
        if limit is not None:
            return now - self._heard.get(source, -math.inf) > limit
        # A rollout that has ended in order is not missed; one that died is.
        beat = self._beat
        return source == ROLLOUT and beat is not None and now - self._beaten > beat.phase.silence(self._limits.rollout)

    def _silent(self, now: float) -> tuple[str, str]:
        """Return what is silent for too long, and the reason in words; two empty texts for nothing."""
        beat, limits = self._beat, self._limits
        if beat is None:
            return "", ""
        if (silent := now - self._beaten) > beat.phase.silence(limits.rollout):
            return ROLLOUT, f"no heartbeat of the rollout for {silent:.3f} s"
        if beat.waiting_since:
            if (waited := now - self._waiting) > limits.policy:
                return POLICY, f"the policy has not answered for {waited:.1f} s"
        elif beat.phase is Phase.RUNNING and (stood := now - self._turned) > limits.loop:
            return LOOP, f"the control loop has stood still for {stood:.2f} s"
        if beat.phase.moves:
            for source, limit in limits.inputs.items():
                if (silent := now - max(self._heard.get(source, self._moving), self._moving)) > limit:
                    return source, f"nothing of {source} for {silent:.2f} s"
        return "", ""
