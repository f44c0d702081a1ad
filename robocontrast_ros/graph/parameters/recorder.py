"""Parameters of the recorder node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field
from typing_extensions import Self

from robocontrast_ros.bags.writer import Compression, MetadataFormat
from robocontrast_ros.configuration import record
from robocontrast_ros.graph.names import LEADER
from robocontrast_ros.graph.parameters.led import LedParameters

if TYPE_CHECKING:
    from robocontrast_ros.sessions.resolving import ResolvedSession


@record
class RecorderParameters(LedParameters):
    """Parameters of the recorder."""

    topics: tuple[str, ...] = Field(
        min_length=1,
        description="What to record: 'topic package/msg/Type' each, the topic relative to the namespace.",
    )
    latched: tuple[str, ...] = Field(
        default=("trial",),
        description="Recorded topics that are published transient local, in each trial.",
    )
    kept: tuple[str, ...] = Field(
        default=(),
        description="Latched topics that are published only once, for all trials; they are written into every bag.",
    )
    compression: Compression = Field(default="zstd", description="Compression of the bags' chunks: zstd or none.")
    format: MetadataFormat = Field(
        default="jazzy",
        description="Format of metadata.yaml: jazzy, for Jazzy and later, or humble, which all of them read.",
    )
    queue_size: float = Field(
        default=256.0,
        gt=0.0,
        le=65536.0,
        description="Largest size of the messages that wait to be written [MiB].",
    )
    flush_period: float = Field(
        default=1.0,
        gt=0.0,
        le=60.0,
        description="Time after which recorded messages survive the process [s].",
    )
    discovery_deadline: float = Field(
        default=5.0,
        ge=0.0,
        le=60.0,
        description="Wait for publishers of all topics before the first bag [s].",
    )
    stop_deadline: float = Field(
        default=2.0, gt=0.0, le=60.0, description="How long stop waits for expected messages, wall clock [s]."
    )

    @classmethod
    def of(cls, session: ResolvedSession) -> Self:
        """Return the parameters of the recorder of a recorded session."""
        # The recorder imports this module, and does not need these imports.
        from robocontrast_ros.sessions.recording import kept_topics, recorded_topics

        recording = session.parameters.recording
        return cls(
            topics=tuple(str(topic) for topic in recorded_topics(session)),
            kept=tuple(topic for topic, _ in kept_topics(session)),
            compression=recording.compression,
            format=recording.format,
            stop_deadline=session.parameters.timeouts.recording,
            leader=LEADER,
        )
