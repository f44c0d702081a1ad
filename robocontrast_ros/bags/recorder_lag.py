"""The allowed lag of the recorder of a trial behind the publishers, so that no message is lost.

A publisher keeps a number of messages, the depth of its history, for subscribers that have not acknowledged them yet.
It does not wait for a subscriber: when the history is full, the oldest message is overwritten. So the recorder reports
the messages that it has received, and no control step begins while it is behind by more than half of a depth.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping

from robocontrast_ros.domain import Fault
from robocontrast_ros.episodes.bench import BenchFault

LARGEST_DEPTH = 1000
"""Depth of a history of small messages: more than most trials have control steps."""

SMALLEST_DEPTH = 10
"""Depth of a history of messages so large that fewer would fill ``HISTORY_SIZE``."""

HISTORY_SIZE = 64 << 20
"""Memory for one topic's history [byte]."""

REPORTS_PER_HISTORY = 8
"""Reports of the recorder while it receives as many messages as one history holds."""


def history_depth(size: int) -> int:
    """Return the number of messages of a size [byte] that a publisher keeps of a recorded topic."""
    return max(SMALLEST_DEPTH, min(LARGEST_DEPTH, HISTORY_SIZE // max(size, 1)))


class ReportSchedule:
    """The times at which the recorder has to report.

    It reports often enough that a wait for a recorder half a history behind always gets a report: once it has received
    all those messages, it has reported at least one of them.
    """

    def __init__(self) -> None:
        """Start without a message."""
        self._unreported: Counter[str] = Counter()

    def due(self, topic: str, size: int) -> bool:
        """Count a message of a size [byte]; return whether to report now; the schedule counts that as done."""
        self._unreported[topic] += 1
        if self._unreported[topic] * REPORTS_PER_HISTORY < history_depth(size):
            return False
        self._unreported.clear()
        return True


class RecorderLag:
    """Compares published messages with the recorder's reports, and waits while the recorder is too far behind.

    Reports may come from another thread.
    """

    def __init__(self, depths: Mapping[str, int], timeout: float) -> None:
        """Take the limits.

        Args:
            depths: depth of the publishers' history by topic; ``LARGEST_DEPTH`` for the topics that are left out.
            timeout: the longest wait [s].
        """
        self._depths, self._timeout = dict(depths), timeout
        self._changed = threading.Condition()
        self._reported: tuple[str, Mapping[str, int]] = ("", {})
        self._bag = ""

    def begin(self, bag: str) -> None:
        """Watch the recording of a bag from now on; of none if empty."""
        with self._changed:
            self._bag = bag

    def report(self, bag: str, received: Mapping[str, int]) -> None:
        """Take the recorder's report: the number of messages of each recorded topic received for a bag."""
        with self._changed:
            self._reported = bag, received
            self._changed.notify_all()

    def wait(self, published: Mapping[str, int]) -> None:
        """Wait while the recorder is too far behind.

        Args:
            published: topic -> messages since the recording began. Topics that are not recorded do not count.

        Raises:
            BenchFault: the recorder has not caught up in time, or has not reported that it records this bag.
        """
        if not self._bag:
            return
        with self._changed:
            if self._changed.wait_for(lambda: self._keeps_up(published), self._timeout):
                return
            raise BenchFault(Fault.RECORDER_LOST, f"{self._words(published)} for {self._timeout:g} s")

    def _keeps_up(self, published: Mapping[str, int]) -> bool:
        return self._reported[0] == self._bag and not self._too_far_behind(published)

    def _too_far_behind(self, published: Mapping[str, int]) -> dict[str, int]:
        received = self._reported[1]
        behind = {topic: count - received[topic] for topic, count in published.items() if topic in received}
        return {t: lag for t, lag in behind.items() if lag > self._depths.get(t, LARGEST_DEPTH) // 2}

    def _words(self, published: Mapping[str, int]) -> str:
        if self._reported[0] != self._bag:
            return f"the recorder has not reported that it records {self._bag}"
        return f"the recorder is {counts_in_words(self._too_far_behind(published))} behind"


def counts_in_words(counts: Mapping[str, int]) -> str:
    """Return numbers of messages by topic, in words."""
    listed = ", ".join(f"{count} of {topic}" for topic, count in counts.items())
    return f"{sum(counts.values())} messages ({listed})"
