"""Parameters of the recorder node."""

from __future__ import annotations

from pydantic import Field

from robocontrast_ros.bags.writer import Compression, MetadataFormat
from robocontrast_ros.configuration import record
from robocontrast_ros.nodes.runtime.parameters import LedParameters


@record
class RecorderParameters(LedParameters):
    """Parameters of the recorder."""

    topics: tuple[str, ...] = Field(
        min_length=1,
        description="What to record: 'topic package/msg/Type' each, the topic relative to the namespace.",
    )
    latched: tuple[str, ...] = Field(
        default=("trial",),
        description="Those of the topics that are published transient local, in each trial.",
    )
    kept: tuple[str, ...] = Field(
        default=(),
        description="Those of the latched topics that are published once, for all trials: they go into every bag.",
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
