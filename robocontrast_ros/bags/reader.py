"""Read a trial back from its bag, with nothing but the definitions that the bag carries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

import yaml
from mcap.exceptions import McapError
from mcap.reader import McapReader, make_reader
from mcap.records import Channel, Message, Schema
from mcap.stream_reader import StreamReader
from mcap.summary import Summary
from rosbags.rosbag2 import Reader
from rosbags.serde import SerdeError
from rosbags.typesys import TypesysError, get_types_from_msg
from rosbags.typesys.store import Typestore

from robocontrast_ros.bags.errors import BagError
from robocontrast_ros.domain import Judgement, Pose, Progress, Scene, Trial, TrialResult
from robocontrast_ros.episodes.scoring import Join, Sample, make_join
from robocontrast_ros.messages.decoding import (
    judgement_from_msg,
    pose_from_msg,
    progress_from_msg,
    result_from_msg,
    scene_from_msg,
    stamp_from_msg,
    start_scene_from_msg,
    trial_from_msg,
)
from robocontrast_ros.messages.topics import JUDGEMENT, TRIAL_TOPICS

Wanted = Callable[[str, str], bool]


@dataclass(frozen=True)
class BagMessage:
    """One message of a bag.

    Attributes:
        topic: full name of its topic.
        type_name: for instance ``sensor_msgs/msg/Image``.
        definition: the type's definition as the bag carries it.
        timestamp: when it was received [ns since the epoch].
        cdr: the serialised message.
    """

    topic: str
    type_name: str
    definition: str
    timestamp: int
    cdr: bytes

    def decode(self) -> Any:
        """Return the message, with the attributes of the ROS message.

        Raises:
            BagError: the content does not fit the definition.
        """
        try:
            return _typestore(self.type_name, self.definition).deserialize_cdr(self.cdr, self.type_name)
        except (SerdeError, TypesysError) as error:
            raise BagError(f"{self.topic}: a message that is no {self.type_name}: {error}.") from None


@lru_cache(maxsize=256)
def _typestore(type_name: str, definition: str) -> Typestore:
    store = Typestore()
    store.register(get_types_from_msg(definition, type_name))
    return store


@dataclass(frozen=True)
class BagContent:
    """What was read from a bag.

    Attributes:
        messages: the wanted ones, in the order of their timestamps; where the bag is broken, in the
            order of writing.
        counts: full topic name -> messages in the bag, wanted or not.
        broken: what is wrong with the bag, in words; empty for a whole one.
    """

    messages: tuple[BagMessage, ...]
    counts: dict[str, int]
    broken: str = ""


def read_bag(bag: Path, wanted: Wanted = lambda topic, type_name: True) -> BagContent:
    """Return the messages of a bag; of a broken one, those up to the break.

    Args:
        bag: the folder.
        wanted: tells from a topic's full name and type whether its messages are kept.

    Raises:
        BagError: there is no bag, or nothing of it can be read.
    """
    if not bag.exists():
        raise BagError(f"{bag}: no such bag. Check the path.")
    if not (bag / "metadata.yaml").exists():
        return _read_broken(bag, wanted, "no metadata.yaml: the recorder ended before it could close the bag")
    try:
        files = _plain_files(bag)
        return _read_indexed(files, wanted) if files else _read_any(bag, wanted)
    except _NoIndexError as error:
        return _read_broken(bag, wanted, str(error))
    # A damaged index or chunk makes rosbags fail in many ways, of which only some are its own error.
    except Exception as error:
        return _read_broken(bag, wanted, f"{type(error).__name__}: {error}".rstrip(": ."))


def _plain_files(bag: Path) -> tuple[Path, ...]:
    """Return the files of a bag of MCAP files that are not compressed themselves; none for any other bag."""
    try:
        text = (bag / "metadata.yaml").read_text(encoding="utf-8")
        information = yaml.load(text, _YAML)["rosbag2_bagfile_information"]
        plain = (
            information["version"] <= NEWEST_VERSION
            and information["storage_identifier"] == "mcap"
            and (information.get("compression_mode") or "none").lower() == "none"
        )
        files = tuple(bag / Path(name).name for name in information["relative_file_paths"])
    # rosbags reads any other bag, or reports what is wrong.
    except (OSError, ValueError, yaml.YAMLError, KeyError, TypeError, AttributeError):
        return ()
    return files if plain and all(file.is_file() for file in files) else ()


NEWEST_VERSION = 9
"""Of the metadata that is known."""

_YAML = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _NoIndexError(Exception):
    """A file whose end is missing."""


def _summary(file: Path, reader: McapReader) -> Summary:
    # Where the end is lost, any bytes may be in its place.
    with suppress(Exception):
        summary = reader.get_summary()
        if summary is not None and summary.statistics is not None:
            return summary
    raise _NoIndexError(f"{file.name} has no index at its end")


def _read_indexed(files: tuple[Path, ...], wanted: Wanted) -> BagContent:
    """Read by the index: chunks without a wanted topic are not even decompressed."""
    messages: list[BagMessage] = []
    counts: Counter[str] = Counter()
    for file in files:
        with file.open("rb") as stream:
            try:
                reader = make_reader(stream, validate_crcs=True)
            except McapError:
                raise _NoIndexError(f"{file.name} does not begin as a bag does") from None
            summary = _summary(file, reader)
            texts = {key: schema.data.decode() for key, schema in summary.schemas.items()}
            topics = set()
            for channel in summary.channels.values():
                counts[channel.topic] += summary.statistics.channel_message_counts.get(channel.id, 0)
                if wanted(channel.topic, summary.schemas[channel.schema_id].name):
                    topics.add(channel.topic)
            for schema, channel, message in reader.iter_messages(topics) if topics else ():
                if schema is not None and wanted(channel.topic, schema.name):
                    definition = texts[schema.id]
                    messages.append(BagMessage(channel.topic, schema.name, definition, message.log_time, message.data))
    return BagContent(tuple(messages), dict(sorted(counts.items())))


def _read_any(bag: Path, wanted: Wanted) -> BagContent:
    with Reader(bag) as reader:
        connections = [c for c in reader.connections if wanted(c.topic, c.msgtype)]
        messages = tuple(
            BagMessage(c.topic, c.msgtype, c.msgdef.data, timestamp, bytes(data))
            # An empty selection would mean all of them.
            for c, timestamp, data in (reader.messages(connections) if connections else ())
        )
        counts = {c.topic: c.msgcount for c in sorted(reader.connections, key=lambda c: c.topic)}
        return BagContent(messages, counts)


def _read_broken(bag: Path, wanted: Wanted, why: str) -> BagContent:
    files = sorted(bag.glob("*.mcap"))
    if not files:
        raise BagError(f"{bag}: no bag ({why}; no .mcap file). Check the path.")
    messages: list[BagMessage] = []
    counts: Counter[str] = Counter()
    for file in files:
        try:
            with file.open("rb") as stream:
                for message in _stream(stream):
                    counts[message.topic] += 1
                    if wanted(message.topic, message.type_name):
                        messages.append(message)
        except OSError as error:
            raise BagError.of_system(file, error) from None
        # At the break the reader and the decompression meet arbitrary bytes.
        except Exception as error:
            why += f"; {file.name} breaks off ({type(error).__name__})"
    return BagContent(tuple(messages), dict(sorted(counts.items())), why)


def _stream(stream: IO[bytes]) -> Iterator[BagMessage]:
    schemas: dict[int, Schema] = {}
    channels: dict[int, Channel] = {}
    for record in StreamReader(stream).records:
        if isinstance(record, Schema):
            schemas[record.id] = record
        elif isinstance(record, Channel):
            channels[record.id] = record
        elif isinstance(record, Message):
            channel = channels[record.channel_id]
            schema = schemas[channel.schema_id]
            yield BagMessage(channel.topic, schema.name, schema.data.decode(), record.log_time, record.data)


@dataclass(frozen=True)
class TrialRecording:
    """A trial as its bag tells it.

    Attributes:
        bag: the folder.
        trial: what was run.
        session: name of the session's run folder.
        robot: name of the robot profile.
        policy: name of the policy.
        task_digest: SHA-256, in hex, of the task's parameter file; empty when unknown.
        start_scene: the scene as it was read back after set-up.
        samples: scene and tool pose of each control step, in order.
        progress: what the live scorer published, in order.
        result: what the live scorer concluded; None when the bag ends before it.
        result_stamp: stamp of the last control step in that result [ns]; None without result.
        counts: topic -> messages in the bag.
        broken: what is wrong with the bag, in words; empty for a whole one.
        judge: name of who says success and progress.
        end_scene: the scene as it was read at the end, where it was published only when asked for; else None.
        judgement: what somebody outside said at the end; None where nobody was asked.
    """

    bag: Path
    trial: Trial
    session: str
    robot: str
    policy: str
    task_digest: str
    start_scene: Scene
    samples: tuple[Sample, ...]
    progress: tuple[Progress, ...]
    result: TrialResult | None
    result_stamp: int | None
    counts: dict[str, int]
    broken: str
    judge: str = "true_scene"
    end_scene: Scene | None = None
    judgement: Judgement | None = None


def read_trial(bag: Path) -> TrialRecording:
    """Return the trial that a bag holds.

    Topics are recognised by their type and the last part of their name, so that the session's namespace does
    not matter: ``trial``, ``scene``, ``tool_pose``, ``progress``, ``trial_result``.

    Nothing after a message that cannot be decoded is used, and ``broken`` says so.

    Raises:
        BagError: there is no bag, it holds no trial or more than one, or the trial itself cannot be decoded.
    """
    content = read_bag(bag, lambda topic, type_name: (_last_part(topic), type_name) in (*TRIAL_TOPICS, JUDGEMENT))
    trials = [m for m in content.messages if _last_part(m.topic) == "trial"]
    if len(trials) != 1:
        cure = f"It is broken: {content.broken}." if content.broken else "Name the bag of a robocontrast trial."
        raise BagError(f"{bag}: holds {len(trials)} trials, expected 1. {cure}")
    try:
        trial = trials[0].decode()
        start_stamp, start_scene = start_scene_from_msg(trial)
        decoded = trial_from_msg(trial)
    except ValueError as error:
        raise BagError(f"{bag}: a message is not valid: {error}.") from None
    except BagError as error:
        raise BagError(f"{bag}: {error}") from None
    read = _read_messages(content.messages)
    when_asked = getattr(trial, "scene_when_asked", False)
    return TrialRecording(
        bag=bag,
        trial=decoded,
        session=trial.session,
        robot=trial.robot,
        policy=trial.policy,
        task_digest=trial.task_digest,
        start_scene=start_scene,
        judge=getattr(trial, "judge", "") or "true_scene",
        end_scene=read.scenes[-1][1] if when_asked and read.scenes else None,
        judgement=read.judgement,
        samples=tuple(_samples(make_join(when_asked, start_stamp), read)),
        progress=tuple(read.progress),
        result=read.result,
        result_stamp=read.result_stamp,
        counts=content.counts,
        broken="; ".join(filter(None, (content.broken, read.broken))),
    )


def _last_part(topic: str) -> str:
    return topic.rpartition("/")[2]


@dataclass
class _TrialMessages:
    """The messages of a trial, up to the first that is not valid."""

    scenes: list[tuple[int, Scene]] = field(default_factory=list)
    tool_poses: list[tuple[int, Pose]] = field(default_factory=list)
    progress: list[Progress] = field(default_factory=list)
    judgement: Judgement | None = None
    result: TrialResult | None = None
    result_stamp: int | None = None
    broken: str = ""


def _read_messages(messages: Iterable[BagMessage]) -> _TrialMessages:
    read, counts = _TrialMessages(), Counter[str]()
    for message in messages:
        topic = _last_part(message.topic)
        counts[topic] += 1
        try:
            if topic != "trial":
                _take(read, topic, message.decode())
        except (BagError, ValueError) as error:
            why = str(error) if isinstance(error, BagError) else f"{message.topic}: {error}"
            number = f"it is number {counts[topic]} there, and nothing after it is used"
            read.broken = f"{why.rstrip('.')}; {number}"
            break
    return read


def _take(read: _TrialMessages, topic: str, message: Any) -> None:
    stamp = stamp_from_msg(message.header.stamp)
    if topic == "scene":
        read.scenes.append((stamp, scene_from_msg(message)))
    elif topic == "tool_pose":
        read.tool_poses.append((stamp, pose_from_msg(message.pose)))
    elif topic == "progress":
        read.progress.append(progress_from_msg(message))
    elif topic == "judgement":
        read.judgement = judgement_from_msg(message)
    else:
        read.result, read.result_stamp = result_from_msg(message), stamp


def _samples(join: Join, read: _TrialMessages) -> Iterator[Sample]:
    for stamp, scene in read.scenes:
        join.add_scene(stamp, scene)
    for stamp, pose in read.tool_poses:
        sample = join.add_tool_pose(stamp, pose)
        if sample is not None:
            yield sample
