"""The watch over a control loop on the wall clock, and the stop that it latches.

It knows no ROS and no robot: it is given the messages that were heard, and is asked again and again whether the robot
must be stopped. All times are of a steady clock [s], and are given by the caller.

    not armed --first heartbeat--> watching --silence, or somebody asks--> stopped
    not armed <--last heartbeat--- watching <--released, cause gone------- stopped

Somebody may also ask for a stop before the watch is armed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

ROLLOUT, LOOP, POLICY = "rollout", "loop", "policy"
"""Sources of a stop by the heartbeat: it is silent; the loop hangs; the policy's answer is overdue."""

BEATS = 5
"""Heartbeats of the rollout, and of the watchdog, in a control period while the robot may move or is about to; one
while it rests."""

REPEATED = 1.0
"""A button that is held down repeats its request; this time after the last one it counts as released [s]."""


class Phase(IntEnum):
    """Phase of the rollout. The values are those of ``Heartbeat.msg``."""

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
        """Number of heartbeats of the rollout, and of the watchdog, in a control period."""
        return BEATS if self.moves or self is Phase.PROVING else 1

    def silence(self, limit: float) -> float:
        """Return either's limit of silence [s], from the limit while the robot may move [s]: as many beats."""
        return limit * BEATS / self.beats


@dataclass(frozen=True)
class Beat:
    """Content of a heartbeat.

    Attributes:
        phase: of the rollout.
        turns: number of times that the control loop has begun or ended a wait; it does not grow while the loop hangs.
        waiting_since: begin of the wait for the policy's answer, in any clock [ns]; 0 while there is none.
    """

    phase: Phase
    turns: int
    waiting_since: int = 0


@dataclass(frozen=True)
class Limits:
    """Greatest silence of each [s].

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
        source: the silent part, or the origin of the request.
        reason: reason in words, for a person.
        by: who stopped the robot.
        since: time of the stop.
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
        """Start without a heartbeat; ``name`` is the one who stops the robot if something is silent."""
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
        """Stop the robot because somebody asks for it; if it is stopped already, the first reason stays."""
        self._asked = now
        if self.stop is None:
            self.stop = Stop(source, reason, by, now)

    def look(self, now: float) -> Stop | None:
        """Return the stop that is on, after a check of every source.

        A source stops the robot only if two looks in a row find it silent: between them, the caller takes the messages
        that have arrived meanwhile. So a watch that got no processor for a while does not stop the robot because of
        messages that have arrived but were not read yet.
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
        """Return whether the source that stopped the robot is still silent, now that the robot does not move."""
        limit = self._limits.inputs.get(source)
        if limit is not None:
            return now - self._heard.get(source, -math.inf) > limit
        # A rollout that has ended in order is not missed; one that died is.
        beat = self._beat
        return source == ROLLOUT and beat is not None and now - self._beaten > beat.phase.silence(self._limits.rollout)

    def _silent(self, now: float) -> tuple[str, str]:
        """Return the source that is silent for too long, and the reason in words; two empty texts if there is none."""
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
