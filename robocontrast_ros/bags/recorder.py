"""Record trials one after the other: messages in from any thread, bags out, every loss counted."""

from __future__ import annotations

import queue
import threading
import time
from collections import Counter
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from robocontrast_ros.bags.definitions import find_definition
from robocontrast_ros.bags.errors import BagError
from robocontrast_ros.bags.writer import BagTopic, BagWriter, Compression, MetadataFormat

_MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class Recorded:
    """The outcome of a recording. Topics are named as in ``Recorder``, sorted.

    Attributes:
        bag: the folder.
        written: messages in the bag.
        missing: messages that were expected and are not in the bag; topics without missing messages are left out.
        overflowed: messages that were received and dropped because the disk was too slow.
        problem: the reason why the bag is not whole, in words; empty if it is.
    """

    bag: Path
    written: dict[str, int]
    missing: dict[str, int]
    overflowed: dict[str, int]
    problem: str


class Recorder:
    """Writes the messages of one trial at a time to a bag of its own.

    ``receive`` only puts the message into a queue of bounded size; a thread writes it. When the queue is full, a
    message is dropped and counted. Messages between trials are ignored.
    """

    def __init__(
        self,
        topics: Mapping[str, BagTopic],
        queue_size: float = 256.0,
        flush_period: float = 1.0,
        compression: Compression = "zstd",
        kept: Container[str] = (),
        metadata: MetadataFormat = "jazzy",
    ) -> None:
        """Make a recorder that records nothing yet.

        Args:
            topics: name by which a topic is counted -> its topic in the bag.
            queue_size: messages waiting to be written, at most [MiB].
            flush_period: time after which written messages survive the process [s].
            compression: compression of the bags.
            kept: names of topics that are published once for all trials: their messages, from any time, go to the
                beginning of every bag.
            metadata: form of the bags' ``metadata.yaml``.
        """
        self._topics = dict(topics)
        self._open = partial(
            _Recording,
            topics=self._topics,
            queue_bytes=int(queue_size * _MEBIBYTE),
            flush_period=flush_period,
            compression=compression,
            metadata=metadata,
        )
        self._kept_names = kept
        self._kept: dict[tuple[str, bytes], None] = {}
        self._recording: _Recording | None = None
        self._after = 0
        # Found without decoding a message; latched messages were published before on purpose.
        self._stamped = {n: find_definition(t.type_name) for n, t in topics.items() if not t.latched}

    @property
    def recording(self) -> bool:
        """Whether a bag is open."""
        return self._recording is not None

    def start(self, bag: Path, after: int = 0) -> None:
        """Open the bag of a trial.

        Args:
            bag: the folder.
            after: stamp at which the trial starts [ns]; messages with stamps up to then were published before, and are
                left out, except for latched ones and those without a stamp. 0 to take everything.

        Raises:
            BagError: a bag is open already, or this one cannot be made.
        """
        if self._recording is not None:
            raise BagError(f"{bag}: '{self._recording.bag}' is still being recorded. Stop it first.")
        self._recording = recording = self._open(bag)
        self._after = after
        for name, cdr in tuple(self._kept):
            recording.receive(name, time.time_ns(), cdr)

    def receive(self, name: str, timestamp: int, cdr: bytes) -> None:
        """Take a message, without waiting.

        Args:
            name: name of the topic.
            timestamp: time of its receipt [ns since the epoch]. If it is not later than the last one on this topic, as
                after a retransmission, it is moved up, because readers sort by it, and the order on a topic is the
                publisher's.
            cdr: the serialised message.
        """
        recording = self._recording
        if name in self._kept_names:
            self._kept[name, cdr] = None
        if recording is not None and not self._is_earlier(name, cdr):
            recording.receive(name, timestamp, cdr)

    def _is_earlier(self, name: str, cdr: bytes) -> bool:
        definition = self._stamped.get(name) if self._after else None
        stamp = definition.stamp_of(cdr) if definition is not None else None
        return stamp is not None and 0 < stamp <= self._after

    @property
    def received(self) -> dict[str, int]:
        """Messages received since the open bag's start, for each topic; 0 if none is open."""
        counts = self._recording.received if self._recording is not None else Counter()
        return {name: counts[name] for name in self._topics}

    def arrived(self, expected: Mapping[str, int]) -> bool:
        """Return whether the open bag's trial has at least these numbers of messages."""
        return self._recording is not None and all(
            self._recording.received[name] >= count for name, count in expected.items()
        )

    def stop(self, expected: Mapping[str, int]) -> Recorded:
        """Write the messages in the queue, close the bag and return its content.

        Args:
            expected: name of a topic -> messages that were published, as far as is known. All messages of a name that
                the recorder does not record are missing.

        Raises:
            BagError: no bag is open.
        """
        recording, self._recording = self._recording, None
        if recording is None:
            raise BagError("nothing is being recorded. Start a recording first.")
        return recording.finish(expected)


@dataclass
class _Recording:
    bag: Path
    topics: Mapping[str, BagTopic]
    queue_bytes: int
    flush_period: float
    compression: Compression
    metadata: MetadataFormat
    received: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._writer = BagWriter(self.bag, list(self.topics.values()), self.compression, self.metadata)
        self._overflowed: Counter[str] = Counter()
        self._latest: dict[str, int] = {}
        self._problem = ""
        self._waiting: queue.SimpleQueue[tuple[str, int, bytes] | None] = queue.SimpleQueue()
        self._waiting_bytes = 0
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._write, name=f"bag {self.bag.name}", daemon=True)
        self._thread.start()

    def receive(self, name: str, timestamp: int, cdr: bytes) -> None:
        self.received[name] += 1
        if self._problem:
            return
        timestamp = self._latest[name] = max(timestamp, self._latest.get(name, -1) + 1)
        with self._lock:
            fits = self._waiting_bytes + len(cdr) <= self.queue_bytes
            self._waiting_bytes += len(cdr) if fits else 0
        if fits:
            self._waiting.put((self.topics[name].name, timestamp, cdr))
        else:
            self._overflowed[name] += 1

    def finish(self, expected: Mapping[str, int]) -> Recorded:
        self._waiting.put(None)
        self._thread.join()
        counts = self._writer.counts()
        written = {name: counts[topic.name] for name, topic in sorted(self.topics.items())}
        missing = {name: count - written.get(name, 0) for name, count in sorted(expected.items())}
        return Recorded(
            bag=self.bag,
            written=written,
            missing={name: count for name, count in missing.items() if count > 0},
            overflowed=dict(sorted(self._overflowed.items())),
            problem=self._problem or self._overflow(),
        )

    def _overflow(self) -> str:
        if not self._overflowed:
            return ""
        lost = ", ".join(f"{count} of {name}" for name, count in sorted(self._overflowed.items()))
        return (
            f"{self.bag}: messages were dropped because the disk did not keep up: {lost}. "
            "Use a faster disk, record fewer topics, or raise the recorder's queue_size."
        )

    def _write(self) -> None:
        try:
            self._write_until_stopped()
            self._writer.close()
        except BagError as error:
            self._problem = str(error)

    def _write_until_stopped(self) -> None:
        flushed, dirty = time.monotonic(), False
        while True:
            if dirty and time.monotonic() - flushed >= self.flush_period:
                self._writer.flush()
                flushed, dirty = time.monotonic(), False
            try:
                item = self._waiting.get(timeout=self.flush_period if dirty else None)
            except queue.Empty:
                continue
            if item is None:
                return
            topic, timestamp, cdr = item
            self._writer.write(topic, timestamp, cdr)
            dirty = True
            with self._lock:
                self._waiting_bytes -= len(cdr)
