"""Write the raw messages of one trial to one rosbag2 (MCAP)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TextIO

import rosbags.rosbag2.writer
import yaml
from rosbags.interfaces import (
    Connection,
    Qos,
    QosDurability,
    QosHistory,
    QosLiveliness,
    QosReliability,
    QosTime,
)
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer, WriterError

from robocontrast_ros.bags.definitions import find_definition
from robocontrast_ros.bags.errors import BagError

Compression = Literal["zstd", "none"]
"""Compression of the chunks of a bag's file."""

MetadataFormat = Literal["jazzy", "humble"]
"""Version of ROS for a bag's ``metadata.yaml``.

They differ in the form of the offered QoS. ``jazzy``, for Jazzy and later: as YAML, each policy by its name.
``humble``: as a text that holds YAML, each policy by its number; Humble, Iron and all later ones read it. Source:
rosbag2, ``rosbag2_storage``, ``metadata_io.cpp`` (Humble) and ``yaml.hpp`` (Jazzy).
"""

_VERSIONS: dict[MetadataFormat, Literal[8, 9]] = {"jazzy": 9, "humble": 8}
"""Version numbers of the metadata, as rosbags writes them."""

_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class _Yaml:
    """The part of ruamel.yaml that rosbags needs to write metadata, with libyaml: 3 ms a bag in place of 150 ms."""

    def __init__(self, typ: str) -> None:
        self.default_flow_style = False

    def dump(self, data: Any, stream: TextIO) -> None:
        yaml.dump(data, stream, _DUMPER, default_flow_style=self.default_flow_style, sort_keys=False)


# Without its compiled part, which is not installed with it, ruamel.yaml takes longer than the rest of a short trial.
rosbags.rosbag2.writer.YAML = _Yaml

_INFINITE = QosTime(9223372036, 854775807)


@dataclass(frozen=True)
class BagTopic:
    """One topic of a bag.

    Attributes:
        name: full name of the topic, for instance ``/camera/image_raw``.
        type_name: message type, for instance ``sensor_msgs/msg/Image``.
        latched: whether its publisher keeps the last message for late subscribers (transient local).
        best_effort: whether its publisher offers no reliable delivery.
        depth: depth of the history of a publisher that plays the topic, at least 1.
    """

    name: str
    type_name: str
    latched: bool = False
    best_effort: bool = False
    depth: int = 10


class BagWriter:
    """One open bag: serialised messages go in as they are, their definitions beside them.

    The bag is written in chunks of about a megabyte. An unfinished chunk is lost when the process is killed, unless
    ``flush`` was called; data on the disk stay readable in any case.
    """

    def __init__(
        self,
        bag: Path,
        topics: Sequence[BagTopic],
        compression: Compression = "zstd",
        metadata: MetadataFormat = "jazzy",
    ) -> None:
        """Make the bag's folder and open it.

        Args:
            bag: the folder; it must not exist yet. Folders above it are made.
            topics: its topics.
            compression: compression of the file's chunks, which every reader of MCAP undoes by itself.
            metadata: form of ``metadata.yaml``.

        Raises:
            BagError: it exists, a definition cannot be found, or the system refuses to write.
        """
        definitions = [find_definition(topic.type_name) for topic in topics]
        self.bag = bag
        self._counts = {topic.name: 0 for topic in topics}
        self._connections: dict[str, Connection] = {}
        self._open = False
        try:
            self._writer = Writer(bag, version=_VERSIONS[metadata], storage_plugin=StoragePlugin.MCAP)
            if compression == "zstd":
                self._writer.set_compression(CompressionMode.STORAGE, CompressionFormat.ZSTD)
            self._writer.open()
            self._open = True
            for topic, definition in zip(topics, definitions, strict=True):
                self._connections[topic.name] = self._writer.add_connection(
                    topic.name,
                    definition.type_name,
                    msgdef=definition.text,
                    rihs01=definition.type_hash,
                    offered_qos_profiles=[_offered(topic)],
                )
            self.flush()
        except WriterError:
            self._give_up()
            raise BagError(f"{bag}: is there already. Name a folder that is not there yet.") from None
        except OSError as error:
            self._give_up()
            raise BagError.of_system(bag, error) from None

    def write(self, topic: str, timestamp: int, cdr: bytes) -> None:
        """Write one message.

        Args:
            topic: full name of one of the bag's topics.
            timestamp: time of its receipt [ns since the epoch].
            cdr: the serialised message with its encapsulation header.

        Raises:
            BagError: the system refuses to write; the bag is closed as it is.
            KeyError: the bag has no such topic.
        """
        self._guarded(lambda: self._writer.write(self._connections[topic], timestamp, cdr))
        self._counts[topic] += 1

    def flush(self) -> None:
        """Hand everything written so far to the operating system.

        Raises:
            BagError: as ``write``.
        """
        self._guarded(self._flush)

    def counts(self) -> dict[str, int]:
        """Return the number of messages written to each topic."""
        return dict(self._counts)

    def close(self) -> None:
        """End the bag: index and metadata.yaml.

        Raises:
            BagError: as ``write``.
        """
        if self._open:
            self._guarded(self._writer.close)
            self._open = False

    def _guarded(self, action: Callable[[], None]) -> None:
        if not self._open:
            raise BagError(f"{self.bag}: closed already.")
        try:
            action()
        except OSError as error:
            self._give_up()
            raise BagError.of_system(self.bag, error) from None

    def _flush(self) -> None:
        storage = self._writer.storage
        if storage.chunk.bio.tell():
            storage.close_chunk()
        storage.bio.flush()

    def _give_up(self) -> None:
        """Close the file without an index; data on the disk stay."""
        if self._open:
            self._open = False
            with suppress(OSError):
                self._writer.abort()


def _offered(topic: BagTopic) -> Qos:
    return Qos(
        history=QosHistory.KEEP_LAST,
        depth=topic.depth,
        reliability=QosReliability.BEST_EFFORT if topic.best_effort else QosReliability.RELIABLE,
        durability=QosDurability.TRANSIENT_LOCAL if topic.latched else QosDurability.VOLATILE,
        deadline=_INFINITE,
        lifespan=_INFINITE,
        liveliness=QosLiveliness.AUTOMATIC,
        liveliness_lease_duration=_INFINITE,
        avoid_ros_namespace_conventions=False,
    )
