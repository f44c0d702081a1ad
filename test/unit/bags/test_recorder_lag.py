"""How far the recorder may be behind, and how often it reports."""

from __future__ import annotations

import threading

import pytest

from robocontrast_ros.bags.recorder_lag import (
    HISTORY_SIZE,
    LARGEST_DEPTH,
    SMALLEST_DEPTH,
    RecorderLag,
    ReportSchedule,
    history_depth,
)
from robocontrast_ros.domain import Fault
from robocontrast_ros.episodes.bench import BenchFault

BAG = "/runs/a/bags/0000"


def lag(timeout: float = 0.05, **depths: int) -> RecorderLag:
    made = RecorderLag(depths, timeout)
    made.begin(BAG)
    return made


@pytest.mark.parametrize(
    ("size", "depth"),
    [
        (0, LARGEST_DEPTH),
        (1000, LARGEST_DEPTH),
        (3 * 320 * 180, 388),
        (3 * 640 * 480, 72),
        (3 * 8192 * 8192, SMALLEST_DEPTH),
    ],
)
def test_a_history_holds_a_trial_of_small_messages_and_of_large_ones_what_fits_its_memory(size, depth):
    assert history_depth(size) == depth
    assert depth in (SMALLEST_DEPTH, LARGEST_DEPTH) or depth * size <= HISTORY_SIZE < (depth + 1) * size


@pytest.mark.parametrize("size", [0, 3 * 320 * 180, 3 * 1280 * 720, 3 * 8192 * 8192])
def test_whoever_waits_for_half_a_history_is_sure_to_get_a_report_of_less_lag(size):
    schedule, depth = ReportSchedule(), history_depth(size)
    unreported = worst = 0
    for _ in range(3 * depth):
        unreported = 0 if schedule.due("a", size) else unreported + 1
        worst = max(worst, unreported)
    assert worst < depth // 2


def test_each_topic_counts_for_itself_and_a_report_speaks_of_all():
    schedule = ReportSchedule()
    small, large = 1000, 3 * 8192 * 8192
    assert [schedule.due("image", large) for _ in range(4)] == [False, True, False, True]
    assert [schedule.due("state", small) for _ in range(LARGEST_DEPTH // 8)][-1]
    assert not schedule.due("image", large)
    assert schedule.due("image", large)


def test_a_recorder_that_is_behind_by_half_the_history_of_each_topic_is_not_waited_for():
    # With no time to wait, a recorder that has to be waited for is lost.
    waiting = lag(image=20, timeout=0.0)
    waiting.report(BAG, {"image": 10, "state": 100, "other": 0})
    waiting.wait({"image": 20, "state": 100 + LARGEST_DEPTH // 2})
    with pytest.raises(BenchFault):
        waiting.wait({"image": 21})


@pytest.mark.parametrize(
    ("published", "words"),
    [
        ({"image": 21, "state": 21}, "the recorder is 11 messages (11 of image) behind for 0.05 s"),
        (
            {"image": 40, "state": 700},
            "the recorder is 720 messages (30 of image, 690 of state) behind for 0.05 s",
        ),
    ],
)
def test_one_that_is_further_behind_and_does_not_catch_up_is_lost_with_numbers(published, words):
    waiting = lag(image=20)
    waiting.report(BAG, {"image": 10, "state": 10})
    with pytest.raises(BenchFault) as raised:
        waiting.wait(published)
    assert (raised.value.fault, raised.value.detail) == (Fault.RECORDER_LOST, words)


def test_a_wait_ends_when_the_recorder_has_caught_up():
    waiting = lag(image=20, timeout=60.0)
    waiting.report(BAG, {"image": 10})
    reported = []

    def report():
        reported.append(25)
        waiting.report(BAG, {"image": 25})

    threading.Timer(0.1, report).start()
    waiting.wait({"image": 30})
    assert reported == [25]


def test_a_report_of_another_recording_does_not_count():
    waiting = lag()
    waiting.report("/runs/a/bags/before", {"image": 1000})
    with pytest.raises(BenchFault, match=f"has not reported that it records {BAG} for 0.05 s"):
        waiting.wait({})
    waiting.report(BAG, {"image": 0})
    waiting.wait({"image": 0})


def test_topics_that_are_not_recorded_do_not_count():
    waiting = lag()
    waiting.report(BAG, {"state": 0})
    waiting.wait({"image": 100_000, "state": 1})


def test_nothing_is_waited_for_where_nothing_is_recorded():
    waiting = lag()
    waiting.begin("")
    waiting.wait({"image": 100_000})
