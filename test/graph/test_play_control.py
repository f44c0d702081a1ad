"""The stamps of a world that plays, in a process that stands still for a while at any reading of a clock."""

from __future__ import annotations

from itertools import chain, pairwise, repeat
from types import SimpleNamespace
from unittest.mock import MagicMock, patch

from hypothesis import given
from hypothesis import strategies as st
from simulation_interfaces.msg import SimulationState

from robocontrast_ros.nodes.simulator import state
from robocontrast_ros.worlds import timing

EPOCH = 1_795_705_209_907_401_083
PERIOD = 10_000_000


class Clocks:
    """A steady clock and one of the time of day, each of which is read after a pause [ns]."""

    def __init__(self, pauses) -> None:
        self._pauses, self.passed, self.ahead = chain(pauses, repeat(0)), 0, 0

    def monotonic_ns(self) -> int:
        self.passed += next(self._pauses)
        return self.passed

    def time_ns(self) -> int:
        return EPOCH + self.ahead + self.monotonic_ns()


pauses = st.integers(0, 1_000) | st.integers(0, 400_000_000)


@given(
    st.lists(pauses, min_size=60, max_size=80),
    st.lists(st.sampled_from(["wait", "pause", "play"]), min_size=10, max_size=30),
)
def test_stamps_of_a_world_that_plays_never_go_back_wherever_its_process_is_stopped(pauses, events):
    clocks, stamps, node = Clocks(pauses), [], MagicMock()
    with patch.object(state, "time", clocks), patch.object(timing, "time", clocks):
        control = state.PlayControl(
            node,
            SimpleNamespace(step_duration=0.002, step=lambda steps: None),
            lambda: stamps.append(control.now),
            0.01,
            True,
        )
        _, look = node.create_timer.call_args.args
        for event in events:
            clocks.passed += PERIOD
            if event == "wait":
                look()
            else:
                wanted = SimulationState.STATE_PLAYING if event == "play" else SimulationState.STATE_PAUSED
                if control.paused is (event == "play"):
                    control.set(SimpleNamespace(state=SimpleNamespace(state=wanted)), None)
            stamps.append(control.now)
        # As far from the system clock as the least pause between two readings of the two.
        apart = stamps[-1] - (EPOCH + clocks.passed)
    assert all(before <= after for before, after in pairwise(stamps))
    assert apart <= min(pauses[1:20:2])


@given(st.integers(10**9, 10**14))
def test_a_clock_that_is_set_ahead_as_after_the_sleep_of_a_laptop_is_followed_and_one_that_is_set_back_is_not(ahead):
    clocks = Clocks([])
    with patch.object(timing, "time", clocks):
        told, stamps = timing.TimeOfDay(), []
        for clocks.ahead in (0, ahead, 0):
            stamps.append(told.at(clocks.monotonic_ns()))
    assert stamps == [EPOCH, EPOCH + ahead, EPOCH + ahead]
