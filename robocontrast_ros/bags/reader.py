"""Read a trial back from its bag, with nothing but the definitions that the bag carries."""

from __future__ import annotations

import io
import os
import re
import tempfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, TypeVar

import yaml
from mcap.data_stream import ReadDataStream
from mcap.exceptions import McapError, UnsupportedCompressionError
from mcap.opcode import Opcode
from mcap.reader import SeekingReader
from mcap.records import Channel, Chunk, McapRecord, Message, Schema

# The decompressor of mcap itself, which requires it.
from mcap.stream_reader import CRCValidationError, StreamReader, lz4, zstandard
from rosbags.interfaces import Nodetype
from rosbags.interfaces.typing import FieldDesc, Typesdict
from rosbags.rosbag2 import Reader
from rosbags.serde import SerdeError
from rosbags.typesys import TypesysError, get_types_from_msg
from rosbags.typesys.store import Typestore

from robocontrast_ros.bags.definitions import find_definition
from robocontrast_ros.bags.errors import BagError
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.configuration.strict_yaml import MAX_DEPTH
from robocontrast_ros.domain import JointTracking, Judgement, Pose, Progress, Scene, Trial, TrialResult
from robocontrast_ros.episodes.scoring import Sample, StampJoin
from robocontrast_ros.messages.decoding import (
    joint_tracking_from_msg,
    judgement_from_msg,
    pose_from_msg,
    progress_from_msg,
    result_from_msg,
    scene_from_msg,
    stamp_from_msg,
    start_scene_from_msg,
    trial_from_msg,
)
from robocontrast_ros.messages.topics import JOINT_TRACKING, JUDGEMENT, TRIAL_TOPICS

Wanted = Callable[[str, str], bool]
Converted = TypeVar("Converted")


@dataclass(frozen=True)
class BagMessage:
    """One message of a bag.

    Attributes:
        topic: full name of its topic.
        type_name: for instance ``sensor_msgs/msg/Image``.
        definition: the type's definition in the bag.
        timestamp: time of its receipt [ns since the epoch].
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
            BagError: the content does not fit the definition, or the definition is not valid.
        """
        try:
            return _typestore(self.type_name, self.definition).deserialize_cdr(self.cdr, self.type_name)
        # rosbags compiles the definition: for an invalid one, or a type within itself, it raises many kinds of errors.
        except Exception as error:
            raise BagError(f"{self.topic}: a message that is no {self.type_name}: {_words(error)}.") from None

    def converted(self, convert: Callable[[Any], Converted]) -> Converted:
        """Return the converted message.

        Raises:
            BagError: it cannot be decoded, or lacks a field.
        """
        message = self.decode()
        try:
            return convert(message)
        # A definition of others may lack any field.
        except Exception as error:
            raise BagError(f"{self.topic}: a message is not valid: {_words(error)}.") from None


@lru_cache(maxsize=256)
def _typestore(type_name: str, definition: str) -> Typestore:
    store = Typestore(max_sequence_length=LONGEST)
    types = get_types_from_msg(definition, type_name)
    store.register(types)
    _check_types(types, type_name)
    return store


def _check_types(types: Typesdict, type_name: str) -> None:
    """Refuse definitions whose messages could be of any length, or that differ from the installed ones.

    A field may be missing or new, as in a bag of another version; a present one has the installed type.

    Raises:
        TypesysError: they are refused.
    """
    empty: set[str] = set()
    while more := {name for name, (_, fields) in types.items() if name not in empty and _is_empty(fields, empty)}:
        empty |= more
    for name, (_, fields) in types.items():
        for field_name, (node, value) in fields:
            if node in (Nodetype.ARRAY, Nodetype.SEQUENCE) and value[0][1] in empty:
                raise TypesysError(f"'{field_name}' of {name} is a list of messages without a field")
    with suppress(BagError):  # a type that is not installed
        here = get_types_from_msg(find_definition(type_name).text, type_name)
        for name in types.keys() & here.keys():
            expected = dict(here[name][1])
            for field_name, found in types[name][1]:
                if field_name in expected and _kind(found) != _kind(expected[field_name]):
                    raise TypesysError(f"'{field_name}' of {name} has another type than here")


def _is_empty(fields: Iterable[tuple[str, FieldDesc]], empty: set[str]) -> bool:
    return all((value[0] if node == Nodetype.ARRAY else (node, value))[1] in empty for _, (node, value) in fields)


def _kind(field_type: FieldDesc) -> object:
    """Return the kind of a field's value in Python: its bounds and the width of its numbers do not matter."""
    node, value = field_type
    if node in (Nodetype.ARRAY, Nodetype.SEQUENCE):
        return "list", _kind(value[0])
    name = value[0] if node == Nodetype.BASE else value
    return re.sub(r"^u?int\d+$|^float\d+$", lambda found: found[0].strip("u0123456789"), str(name))


def _words(error: Exception) -> str:
    if isinstance(error, (SerdeError, TypesysError, ValueError)):
        return " ".join(str(error).split())
    return " ".join(f"{type(error).__name__}: {error}".split())


@dataclass(frozen=True)
class BagContent:
    """The content of a bag.

    Attributes:
        messages: the wanted ones, in the order of their timestamps; if the bag is broken, in the order of writing.
        counts: full topic name -> messages in the bag, wanted or not.
        broken: the fault of the bag, in words; empty for a whole one.
    """

    messages: tuple[BagMessage, ...]
    counts: dict[str, int]
    broken: str = ""


def read_bag(bag: Path, wanted: Wanted = lambda topic, type_name: True) -> BagContent:
    """Return the messages of a bag; of a broken one, those up to the break.

    Each file is read by its own index; ``metadata.yaml`` does not matter.

    Args:
        bag: the folder.
        wanted: returns whether a topic's messages are kept, given its full name and type.

    Raises:
        BagError: there is no bag, no part of it can be read, or its messages need more memory than ``memory_limit()``.
    """
    files = bag_files(bag)
    missing = sorted(_named(bag / METADATA) - {file.name for file in files})
    whole = _Content(bag)
    try:
        for file in files:
            _read(file, wanted, whole, _index)
    except BagError:
        raise
    # In a damaged file mcap, rosbags and the decompression meet arbitrary bytes, and raise any error.
    except Exception as error:
        return _read_broken(bag, files, wanted, _why(bag, error))
    return whole.content(f"{', '.join(missing)} of metadata.yaml missing" if missing else "")


METADATA = "metadata.yaml"

LARGEST_METADATA = 1 << 24
"""Bytes of a ``metadata.yaml`` that is read, at most: it lists topics and files."""

MEMORY_VARIABLE = "ROBOCONTRAST_BAG_MEMORY"
"""Environment variable: memory that the messages of one bag may take [MiB]."""

MEMORY = 4096
"""That memory if the variable is not set [MiB]."""

PIECE = 1 / 16
"""Share of that memory that one chunk, record or message may take when it is decompressed."""

OVERHEAD = 512
"""Approximate bytes that a message takes beside its content."""

LONGEST = 1 << 28
"""Elements of a list in a message, at most."""

_ZSTD = b"\x28\xb5\x2f\xfd"
"""First bytes of a compressed message; an uncompressed one begins with a zero."""

_YAML = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def memory_limit() -> int:
    """Return the memory that the messages of one bag may take [bytes].

    Raises:
        ConfigurationError: the environment variable is no number.
    """
    text = os.environ.get(MEMORY_VARIABLE, "") or str(MEMORY)
    if not text.isascii() or not text.isdigit():
        raise ConfigurationError("environment", MEMORY_VARIABLE, text, "a whole number of MiB, such as 8192")
    return int(text) << 20


def bag_files(bag: Path) -> tuple[Path, ...]:
    """Return the files of a bag that hold messages.

    Raises:
        BagError: it is no bag, or has a pipe or a device in it, from which reading would never end.
    """
    try:
        if bag.is_file():
            raise BagError(f"{bag}: a file, expected a bag, which is a folder. Name the folder {bag.parent}.")
        if not bag.exists():
            raise BagError(f"{bag}: no such bag. Check the path.")
        inside = sorted(bag.iterdir())
    except OSError as error:
        raise BagError.of_system(bag, error) from None
    files = tuple(file for file in inside if file.name.endswith((".mcap", ".db3", ".mcap.zstd", ".db3.zstd")))
    for file in files:
        if not file.is_file():
            raise BagError(f"{file}: a folder, a pipe or a device, expected a file. Take it out of the bag.")
    if not files:
        if (bag / "parameters").is_dir():
            bags = bag / "bags"
            cure = f"Name one of the folders in {bags}." if any(bags.glob("*")) else "It has none."
            raise BagError(f"{bag}: a run folder, expected a bag. {cure}")
        raise BagError(f"{bag}: no bag: no .mcap file in it. Check the path.")
    return files


def _named(metadata: Path) -> set[str]:
    """Return the files that ``metadata.yaml`` lists; none if it has no usable list."""
    try:
        if not metadata.is_file() or metadata.stat().st_size > LARGEST_METADATA:
            return set()
        text = metadata.read_text(encoding="utf-8")
        depth = 0
        # libyaml calls itself for each level, in C: too many levels would end the process.
        for event in yaml.parse(text, _YAML):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_DEPTH:
                return set()
        paths = yaml.load(text, _YAML)["rosbag2_bagfile_information"]["relative_file_paths"]
        return {Path(path).name for path in paths} if isinstance(paths, list) else set()
    except (OSError, ValueError, yaml.YAMLError, LookupError, TypeError):
        return set()


class _NoIndexError(Exception):
    """A file whose end is missing."""


class _TooLargeError(Exception):
    """A piece that would need more memory than one may have, by its header."""


def _why(bag: Path, error: Exception) -> str:
    if not (bag / METADATA).exists():
        return "no metadata.yaml: the recorder ended before it could close the bag"
    if isinstance(error, (_NoIndexError, _TooLargeError)):
        return str(error)
    return f"{type(error).__name__}: {error}".rstrip(": .")


class _Content:
    """The content of a bag so far."""

    def __init__(self, bag: Path) -> None:
        self._bag, self._limit = bag, memory_limit()
        self._left, self._messages = self._limit, list[BagMessage]()
        self.counts: Counter[str] = Counter()

    def add(self, message: BagMessage) -> None:
        if message.cdr[:4] == _ZSTD:
            message = replace(message, cdr=self.unpacked(message.cdr, "zstd"))
        self._left -= len(message.cdr) + OVERHEAD
        if self._left < 0:
            raise BagError(
                f"{self._bag}: its messages take more than {self._limit >> 20} MiB of memory. "
                f"Set {MEMORY_VARIABLE} to more MiB if there is more."
            )
        self._messages.append(message)

    @property
    def largest(self) -> int:
        """Most bytes of one piece."""
        return int(self._limit * PIECE)

    def unpacked(self, data: bytes, compression: str, size: int | None = None) -> bytes:
        """Return the decompressed bytes; ``size`` is their number by the header, if it has one."""
        if (size or 0) > self.largest or len(data) > self.largest:
            raise self._too_large(max(size or 0, len(data)))
        if compression == "zstd":
            with zstandard.ZstdDecompressor().stream_reader(data) as reader:
                declared = zstandard.frame_content_size(data) if size is None else size
                if declared > self.largest:
                    raise self._too_large(declared)
                plain = reader.read(self.largest + 1 if declared < 0 else declared + 1)
        elif compression == "lz4":
            plain = lz4.LZ4FrameDecompressor().decompress(data, max_length=self.largest + 1)
        elif compression == "":
            plain = data
        else:
            raise UnsupportedCompressionError(compression)
        if len(plain) > self.largest:
            raise self._too_large(len(plain))
        if compression and size is not None and len(plain) != size:
            raise McapError(f"{len(plain)} bytes in a chunk that says {size}")
        return plain

    def _too_large(self, size: int) -> _TooLargeError:
        return _TooLargeError(
            f"a piece of {size} bytes, expected no more than {self.largest}; {MEMORY_VARIABLE} raises that"
        )

    def content(self, broken: str, ordered: bool = True) -> BagContent:
        messages = sorted(self._messages, key=lambda message: message.timestamp) if ordered else self._messages
        return BagContent(tuple(messages), dict(sorted(self.counts.items())), broken)


How = Callable[[IO[bytes], str, Wanted, _Content], None]


def _read(file: Path, wanted: Wanted, content: _Content, how: How) -> None:
    """Read a file into ``content``; ``how`` reads MCAP."""
    if file.suffix == ".zstd":
        with tempfile.TemporaryDirectory() as folder:
            plain = Path(folder) / file.stem
            _unpack(file, plain)
            return _read(plain, wanted, content, how)
    if file.suffix == ".db3":
        return _read_sqlite(file, wanted, content)
    with file.open("rb") as stream:
        return how(stream, file.name, wanted, content)


def _unpack(file: Path, plain: Path) -> None:
    left = memory_limit()
    with file.open("rb") as packed, plain.open("wb") as target:
        for part in zstandard.ZstdDecompressor().read_to_iter(packed):
            left -= len(part)
            if left < 0:
                raise _TooLargeError(
                    f"{file.name} is larger than {memory_limit()} bytes; {MEMORY_VARIABLE} raises that"
                )
            target.write(part)


def _read_sqlite(file: Path, wanted: Wanted, content: _Content) -> None:
    with Reader(file) as reader:
        for c in reader.connections:
            content.counts[c.topic] += c.msgcount
        connections = [c for c in reader.connections if wanted(c.topic, c.msgtype)]
        # An empty selection would mean all of them.
        for c, timestamp, data in reader.messages(connections) if connections else ():
            content.add(BagMessage(c.topic, c.msgtype, c.msgdef.data, timestamp, bytes(data)))


def _index(stream: IO[bytes], name: str, wanted: Wanted, content: _Content) -> None:
    """Read by the index: chunks without a wanted topic are not even decompressed."""
    try:
        reader = SeekingReader(stream, record_size_limit=content.largest)
        summary = reader.get_summary()
    # If the end is lost, any bytes may be in its place.
    except Exception:
        summary = None
    if summary is None or summary.statistics is None:
        raise _NoIndexError(f"{name} has no index at its end")
    statistics, channels = summary.statistics, dict[int, tuple[str, str, str]]()
    for channel in summary.channels.values():
        content.counts[channel.topic] += statistics.channel_message_counts.get(channel.id, 0)
        schema = summary.schemas.get(channel.schema_id)
        if schema is not None and wanted(channel.topic, schema.name):
            channels[channel.id] = channel.topic, schema.name, schema.data.decode()
    if not summary.chunk_indexes and statistics.message_count:
        raise _NoIndexError(f"{name} has no index of its messages")
    for chunk in sorted(summary.chunk_indexes, key=lambda chunk: chunk.chunk_start_offset):
        offsets = chunk.message_index_offsets
        if offsets and not channels.keys() & offsets.keys():
            continue
        stream.seek(chunk.chunk_start_offset)
        record = next(_records(stream, content.largest))
        if not isinstance(record, Chunk):
            raise _NoIndexError(f"{name} has another index than its own")
        for message in _in_chunk(record, content):
            if isinstance(message, Message) and message.channel_id in channels:
                content.add(BagMessage(*channels[message.channel_id], message.log_time, message.data))


def _records(stream: IO[bytes], largest: int, whole: bool = False) -> Iterator[McapRecord]:
    return StreamReader(stream, skip_magic=not whole, emit_chunks=True, record_size_limit=largest).records


def _in_chunk(chunk: Chunk, content: _Content) -> Iterator[McapRecord]:
    plain = content.unpacked(chunk.data, chunk.compression, chunk.uncompressed_size)
    if chunk.uncompressed_crc and zlib.crc32(plain) != chunk.uncompressed_crc:
        raise CRCValidationError(chunk.uncompressed_crc, zlib.crc32(plain), chunk)
    data = ReadDataStream(io.BytesIO(plain))
    while data.count < len(plain):
        kind, length = data.read1(), data.read8()
        if kind == Opcode.MESSAGE:
            yield Message.read(data, length)
        elif kind == Opcode.SCHEMA:
            yield Schema.read(data)
        elif kind == Opcode.CHANNEL:
            yield Channel.read(data)
        else:
            data.read(length)


def _read_broken(bag: Path, files: Iterable[Path], wanted: Wanted, why: str) -> BagContent:
    content = _Content(bag)
    for file in files:
        try:
            _read(file, wanted, content, _stream)
        except BagError:
            raise
        except OSError as error:
            raise BagError.of_system(file, error) from None
        # At the break the reader and the decompression meet arbitrary bytes.
        except Exception as error:
            words = str(error) if isinstance(error, _TooLargeError) else type(error).__name__
            why += f"; {file.name} breaks off ({words})"
    return content.content(why, ordered=False)


def _stream(stream: IO[bytes], name: str, wanted: Wanted, content: _Content) -> None:
    schemas: dict[int, Schema] = {}
    channels: dict[int, Channel] = {}
    for record in _all(stream, content):
        if isinstance(record, Schema):
            schemas[record.id] = record
        elif isinstance(record, Channel):
            channels[record.id] = record
        elif isinstance(record, Message):
            channel = channels[record.channel_id]
            schema = schemas[channel.schema_id]
            content.counts[channel.topic] += 1
            if wanted(channel.topic, schema.name):
                definition = schema.data.decode()
                content.add(BagMessage(channel.topic, schema.name, definition, record.log_time, record.data))


def _all(stream: IO[bytes], content: _Content) -> Iterator[McapRecord]:
    for record in _records(stream, content.largest, whole=True):
        if isinstance(record, Chunk):
            yield from _in_chunk(record, content)
        else:
            yield record


@dataclass(frozen=True)
class TrialRecording:
    """A trial, read from its bag.

    Attributes:
        bag: the folder.
        trial: the trial that was run.
        session: name of the session's run folder.
        robot: name of the robot profile.
        policy: name of the policy.
        task_digest: SHA-256, in hex, of the task's parameter file; empty if unknown.
        start_scene: the scene as it was read back after set-up.
        samples: scene and tool pose of each control step, in order; with joints if they were recorded.
        progress: progress by the live scorer, in order.
        result: result of the live scorer; None if the bag ends before it.
        result_stamp: stamp of the last control step in that result [ns]; None without a result.
        counts: topic -> messages in the bag.
        broken: the fault of the bag, in words; empty for a whole one.
        judge: name of the judge of success and progress.
        end_scene: the scene as it was read at the end, if it was published only when asked for; else None.
        judgement: judgement from outside at the end; None if nobody was asked.
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
    not matter: ``trial``, ``scene``, ``tool_pose``, ``progress``, ``trial_result``, ``judgement``, ``joint_tracking``.

    Nothing after a message that cannot be decoded is used, and ``broken`` has the reason.

    Raises:
        BagError: there is no bag, it holds no trial or more than one, or the trial itself cannot be decoded.
    """
    wanted = {*TRIAL_TOPICS, JUDGEMENT, JOINT_TRACKING}
    content = read_bag(bag, lambda topic, type_name: (_last_part(topic), type_name) in wanted)
    trials = [m for m in content.messages if _last_part(m.topic) == "trial"]
    if len(trials) != 1:
        cure = f"It is broken: {content.broken}." if content.broken else "Name the bag of a robocontrast trial."
        raise BagError(f"{bag}: holds {len(trials)} trials, expected 1. {cure}")
    read = _read_messages(content.messages)
    try:
        recording = trials[0].converted(lambda trial: _recording(bag, trial, read))
    except BagError as error:
        raise BagError(f"{bag}: {error}") from None
    return replace(recording, counts=content.counts, broken="; ".join(filter(None, (content.broken, read.broken))))


def _recording(bag: Path, trial: Any, read: _TrialMessages) -> TrialRecording:
    start_stamp, start_scene = start_scene_from_msg(trial)
    return TrialRecording(
        bag=bag,
        trial=trial_from_msg(trial),
        session=trial.session,
        robot=trial.robot,
        policy=trial.policy,
        task_digest=trial.task_digest,
        start_scene=start_scene,
        judge=trial.judge or "true_scene",
        end_scene=read.scenes[-1][1] if trial.scene_when_asked and read.scenes else None,
        judgement=read.judgement,
        samples=tuple(_samples(StampJoin(start_stamp, not trial.scene_when_asked, bool(read.joints)), read)),
        progress=tuple(read.progress),
        result=read.result,
        result_stamp=read.result_stamp,
        counts={},
        broken="",
    )


def _last_part(topic: str) -> str:
    return topic.rpartition("/")[2]


@dataclass
class _TrialMessages:
    """The messages of a trial, up to the first that is not valid."""

    scenes: list[tuple[int, Scene]] = field(default_factory=list)
    tool_poses: list[tuple[int, Pose]] = field(default_factory=list)
    joints: list[tuple[int, JointTracking]] = field(default_factory=list)
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
                message.converted(lambda decoded, topic=topic: _take(read, topic, decoded))
        except BagError as error:
            number = f"it is number {counts[topic]} there, and nothing after it is used"
            read.broken = f"{str(error).rstrip('.')}; {number}"
            break
    return read


def _take(read: _TrialMessages, topic: str, message: Any) -> None:
    stamp = stamp_from_msg(message.header.stamp)
    if topic == "scene":
        read.scenes.append((stamp, scene_from_msg(message)))
    elif topic == "tool_pose":
        read.tool_poses.append((stamp, pose_from_msg(message.pose)))
    elif topic == JOINT_TRACKING.name:
        read.joints.append((stamp, joint_tracking_from_msg(message)))
    elif topic == "progress":
        read.progress.append(progress_from_msg(message))
    elif topic == "judgement":
        read.judgement = judgement_from_msg(message)
    else:
        read.result, read.result_stamp = result_from_msg(message), stamp


def _samples(join: StampJoin, read: _TrialMessages) -> Iterator[Sample]:
    for stamp, scene in read.scenes:
        join.add_scene(stamp, scene)
    for stamp, joints in read.joints:
        join.add_joints(stamp, joints)
    for stamp, pose in read.tool_poses:
        sample = join.add_tool_pose(stamp, pose)
        if sample is not None:
            yield sample
