"""Readings of a robot's driver before any computation: merged by joint, impossible ones refused."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from robocontrast_ros.domain import Pose, RobotState, seconds, stamp_text
from robocontrast_ros.robots.state_estimation import JointReading, OdometryReading, Reading, StateEstimator

FASTER = 1.5
"""Multiple of its greatest speed at which something may seem to move: it overshoots, is pushed, and encoders round. In
the golden trials nothing is faster than its greatest speed, and fingers are as fast."""

LATE = 0.02
"""Error by which the time between two stamps may be too short [s]: drivers that stamp when they publish are late by a
cycle or two, and repeat a value meanwhile."""

HAND_LATE = 0.1
"""The same for a hand's joints [s]: their drivers read the hand 10 to 30 times a second, and repeat the last value."""

SILENCE = 2.0
"""Greatest time between two readings of odometry in an episode [s]. A restarted driver counts from another place."""

REFUSED, BELIEVED = 0.1, 10.0
"""After a refused reading the robot counts as having moved for the first of these times at most, because it is stopped,
and a driver that goes on to publish zeros is not believed. After the second it is [s], because somebody moved the robot
while nothing was read."""

MOST_GROUPS = 16
"""Most kinds of joint states of one topic that are kept apart."""


class ImpossibleReading(ValueError):
    """The robot cannot be at its place in a reading; the text names joint, value, limit and cure."""


class TooFar(ImpossibleReading):
    """The place in a reading is finite, but too far from the one before."""


@dataclass(frozen=True)
class Axis:
    """One number of a reading that is used.

    Attributes:
        name: the joint's, or x, y, yaw of a base.
        speed: its greatest speed [rad/s or m/s].
        unit: rad or m.
        late: error by which the time between two stamps may be too short [s].
        turns: whether it is an angle that continues at -pi after pi.
    """

    name: str
    speed: float
    unit: str = "rad"
    late: float = LATE
    turns: bool = False


@dataclass(frozen=True)
class Axes:
    """The numbers of one robot's readings that are used.

    Attributes:
        axes: the numbers.
        stamping: names of the joints that give a merged reading its stamp: the arm's.
        silence: greatest time between two readings in an episode [s].
    """

    axes: tuple[Axis, ...] = ()
    stamping: frozenset[str] = frozenset()
    silence: float = math.inf


def joints(speeds: Mapping[str, float], hand: Collection[str]) -> Axes:
    """Return the used numbers of an arm's readings: all joints; stamps are the arm's.

    Args:
        speeds: greatest speed of each used joint, by name [rad/s or m/s].
        hand: names of the hand's joints among them.
    """
    axes = tuple(
        Axis(name, speed, "rad or m", HAND_LATE) if name in hand else Axis(name, speed)
        for name, speed in speeds.items()
    )
    return Axes(axes, frozenset(speeds) - frozenset(hand) or frozenset(speeds))


def odometry(linear: float, angular: float) -> Axes:
    """Return the used numbers of a base's readings, with its greatest speeds [m/s], [rad/s]."""
    axes = Axis("x", linear, "m"), Axis("y", linear, "m"), Axis("yaw", angular, turns=True)
    return Axes(axes, silence=SILENCE)


class ReadingCheck:
    """Refuses impossible readings, compared with the last possible ones."""

    def __init__(self, axes: Axes) -> None:
        """Take the numbers that are used."""
        self._axes = axes
        self.begin()

    def begin(self) -> None:
        """Forget the last readings: the world may put the robot elsewhere, or a move was not read."""
        self._last: dict[str, tuple[int, float]] = {}
        self._refused: set[str] = set()

    @property
    def refuses(self) -> bool:
        """Whether the newest reading of some joint was refused."""
        return bool(self._refused)

    def check(self, reading: Reading) -> None:
        """Take a reading for the last one of its joints, unless it cannot be true.

        A repeated stamp, or one that is a little older than the last, leaves the possible error of stamps. After a
        refusal, passing time does not make a refused place possible until ``BELIEVED``. Missing joints are left to the
        user of the reading.

        Raises:
            ImpossibleReading: a number that is used is not finite, or farther from its last one than the robot gets in
                the time between them; then the last readings remain.
        """
        values = _values(reading)
        used = [(axis, values[axis.name]) for axis in self._axes.axes if axis.name in values]
        for axis, value in used:
            if not math.isfinite(value):
                raise ImpossibleReading(
                    f"'{axis.name}' is read as {value:g} at {stamp_text(reading.stamp)}, which is no position: look at "
                    "the log of the robot's driver"
                )
        if isinstance(reading, JointReading) and not math.isfinite(reading.force or 0.0):
            raise ImpossibleReading(
                f"the force at the tool is read as {reading.force:g}, so that `safety.force` holds nothing: look at "
                "the log of the robot's driver"
            )
        # A localiser may correct itself in one step.
        if isinstance(reading, OdometryReading) and reading.localised:
            return
        names, now = {axis.name for axis, _ in used}, {axis.name: (reading.stamp, value) for axis, value in used}
        try:
            for axis, value in used:
                if axis.name in self._last:
                    self._compare(axis, reading.stamp, value, *self._last[axis.name])
        except ImpossibleReading:
            if isinstance(reading, OdometryReading):
                # No stop needs a base's place, and the next episode begins at any origin of its odometry.
                self._last = now
            else:
                self._refused |= names
            raise
        self._refused -= names
        self._last |= now

    def _compare(self, axis: Axis, stamp: int, value: float, last_stamp: int, last: float) -> None:
        passed = seconds(abs(stamp - last_stamp))
        refused = axis.name in self._refused
        if passed > self._axes.silence:
            raise ImpossibleReading(
                f"odometry was silent for {passed:.2f} s, more than {self._axes.silence:g} s: a driver that was "
                "started again counts from another place, so where the base is is not known; see why it was silent"
            )
        way = abs(math.remainder(value - last, math.tau) if axis.turns else value - last)
        time = min(passed, REFUSED) if refused and passed <= BELIEVED else passed
        allowed = FASTER * axis.speed * (time + axis.late)
        if way > allowed:
            raise TooFar(
                f"'{axis.name}' is read as {value:.4f}, {passed:.4f} s after {last:.4f}: {way:.4f} {axis.unit} away, "
                f"and at most {allowed:.4f} is possible at {axis.speed:.4g} {axis.unit}/s: does a second node publish "
                "the same topic (`ros2 topic info -v`), or was the driver started again?"
            )


class CheckedEstimator:
    """The ``StateEstimator`` of a robot: nothing is computed from an impossible reading."""

    def __init__(self, estimator: StateEstimator, axes: Axes) -> None:
        """Take the estimator of the state, and the numbers of the readings that are used."""
        self._estimator, self._check = estimator, ReadingCheck(axes)
        self.forget, self.check = self._check.begin, self._check.check

    def begin(self, start: Pose) -> None:
        """Begin an episode: at the next reading the robot is at `start`, in the world frame."""
        self.forget()
        self._estimator.begin(start)

    def update(self, reading: Reading) -> RobotState:
        """Return the state at a reading.

        Raises:
            ImpossibleReading: the robot cannot be there.
            NotAtStart: it is the first since `begin`, and shows the robot elsewhere.
            ValueError: it is not a reading of this robot.
        """
        self.check(reading)
        return self._estimator.update(reading)


class JointMerger:
    """Merges the readings of drivers that publish some of the used joints each into one reading of all.

    Attributes:
        groups: the joints of each kind of reading that came; the caller empties it when other drivers publish.
        newest: the newest reading of all used joints that have come, however old.
    """

    def __init__(self, axes: Axes, apart: float) -> None:
        """Take the used numbers, and the greatest difference of the stamps of a hand's joints and an arm's [s]."""
        self._names, self._stamping = tuple(axis.name for axis in axes.axes), axes.stamping
        self._apart, self._last, self._told = apart, dict[str, tuple[int, float]](), -1
        self.newest: Reading | None = None
        self.groups: set[frozenset[str]] = set()

    @property
    def problem(self) -> str:
        """The reason why there is no reading of all joints, though some come, and the cure; empty if unknown."""
        came = sorted(frozenset().union(*self.groups))
        if missing := [name for name in self._names if name not in self._last]:
            if not came:
                return ""
            return (
                f"has the joints {', '.join(came)}, without {', '.join(missing)}: correct the names of "
                "`joints` in the robot's file (a prefix?), or start the driver that publishes them"
            )
        if late := self._apart_from(self._stamp()) if self._last else []:
            hand, arm = stamp_text(self._last[late[0]][0]), stamp_text(self._stamp())
            return (
                f"has {', '.join(late)} at {hand} and the arm at {arm}, farther apart than {self._apart:g} s "
                "(`state.staleness`; in lockstep half a control period): see whether both drivers run, and by one clock"
            )
        return ""

    def merge(self, reading: Reading) -> Reading | None:
        """Return a reading of all joints that are used, or None until there is a new one.

        Its stamp is the oldest of the arm's joints, from which the tool's pose follows. Each other joint is the newest
        that came, if its stamp is near enough in time.
        """
        if not isinstance(reading, JointReading) or not self._names:
            self.newest = reading
            return reading
        came = dict(zip(reading.names, reading.positions, strict=True))
        if len(self.groups) < MOST_GROUPS:
            self.groups.add(frozenset(came))
        self._last |= {name: (reading.stamp, came[name]) for name in self._names if name in came}
        if came.keys() >= set(self._names):
            self.newest, self._told = reading, reading.stamp
            return reading
        self.newest = JointReading(reading.stamp, tuple(self._last), tuple(value for _, value in self._last.values()))
        if len(self._last) < len(self._names):
            return None
        stamp = self._stamp()
        if stamp == self._told or self._apart_from(stamp):
            return None
        self._told = stamp
        return JointReading(stamp, self._names, tuple(self._last[name][1] for name in self._names))

    def _stamp(self) -> int:
        return min(self._last[name][0] for name in self._stamping)

    def _apart_from(self, stamp: int) -> list[str]:
        return [name for name in self._names if seconds(abs(self._last[name][0] - stamp)) > self._apart]


def _values(reading: Reading) -> dict[str, float]:
    if isinstance(reading, JointReading):
        return dict(zip(reading.names, reading.positions, strict=True))
    x, y = reading.pose.xy
    return {"x": x, "y": y, "yaw": reading.pose.yaw}
