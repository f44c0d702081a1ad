"""Read a trial back from its bag, with nothing but the definitions that the bag carries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

from mcap.records import Channel, Message, Schema
from mcap.stream_reader import StreamReader
from rosbags.rosbag2 import Reader
from rosbags.serde import SerdeError
from rosbags.typesys import TypesysError, get_types_from_msg
from rosbags.typesys.store import Typestore

from robocontrast_ros.bags.decoding import (
    pose_from_msg,
    progress_from_msg,
    result_from_msg,
    scene_from_msg,
    stamp_from_msg,
    start_scene_from_msg,
    trial_from_msg,
)
from robocontrast_ros.bags.errors import BagError
from robocontrast_ros.domain import Progress, Scene, Trial, TrialResult
from robocontrast_ros.scoring import Sample, StampJoin

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


def _everything(topic: str, type_name: str) -> bool:
    return True


def read_bag(bag: Path, wanted: Wanted = _everything) -> BagContent:
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
        return _read_torn(bag, wanted, "no metadata.yaml: the recorder ended before it could close the bag")
    try:
        return _read_whole(bag, wanted)
    # A damaged index or chunk makes rosbags fail in many ways, of which only some are its own error.
    except Exception as error:
        return _read_torn(bag, wanted, f"{type(error).__name__}: {error}".rstrip(": ."))


def _read_whole(bag: Path, wanted: Wanted) -> BagContent:
    with Reader(bag) as reader:
        connections = [c for c in reader.connections if wanted(c.topic, c.msgtype)]
        messages = tuple(
            BagMessage(c.topic, c.msgtype, c.msgdef.data, timestamp, bytes(data))
            # An empty selection would mean all of them.
            for c, timestamp, data in (reader.messages(connections) if connections else ())
        )
        counts = {c.topic: c.msgcount for c in sorted(reader.connections, key=lambda c: c.topic)}
        return BagContent(messages, counts)


def _read_torn(bag: Path, wanted: Wanted, why: str) -> BagContent:
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
        # At the break the reader, and what decompresses its chunks, meet whatever bytes stand there.
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


def read_trial(bag: Path) -> TrialRecording:
    """Return the trial that a bag holds.

    Topics are told by their type and the last part of their name, so that the session's namespace does
    not matter: ``trial``, ``scene``, ``tool_pose``, ``progress``, ``trial_result``.

    Raises:
        BagError: there is no bag, it holds no trial or more than one, or a message cannot be decoded.
    """
    content = read_bag(bag, lambda topic, type_name: _TOPICS.get(_last_part(topic)) == type_name)
    found: dict[str, list[Any]] = {name: [] for name in _TOPICS}
    for message in content.messages:
        found[_last_part(message.topic)].append(message.decode())
    if len(found["trial"]) != 1:
        cure = (
            f"It is broken: {content.broken}." if content.broken else "Name the bag of a robocontrast trial."
        )
        raise BagError(f"{bag}: holds {len(found['trial'])} trials, expected 1. {cure}")
    try:
        return _recording(bag, content, found)
    except ValueError as error:
        raise BagError(f"{bag}: a message that cannot be: {error}.") from None


_TOPICS = {
    "trial": "robocontrast_ros/msg/Trial",
    "scene": "robocontrast_ros/msg/Scene",
    "tool_pose": "geometry_msgs/msg/PoseStamped",
    "progress": "robocontrast_ros/msg/Progress",
    "trial_result": "robocontrast_ros/msg/TrialResult",
}


def _last_part(topic: str) -> str:
    return topic.rpartition("/")[2]


def _recording(bag: Path, content: BagContent, found: dict[str, list[Any]]) -> TrialRecording:
    trial = found["trial"][0]
    start_stamp, start_scene = start_scene_from_msg(trial)
    result = found["trial_result"][-1] if found["trial_result"] else None
    return TrialRecording(
        bag=bag,
        trial=trial_from_msg(trial),
        session=trial.session,
        robot=trial.robot,
        policy=trial.policy,
        task_digest=trial.task_digest,
        start_scene=start_scene,
        samples=tuple(_samples(start_stamp, found["scene"], found["tool_pose"])),
        progress=tuple(progress_from_msg(m) for m in found["progress"]),
        result=None if result is None else result_from_msg(result),
        result_stamp=None if result is None else stamp_from_msg(result.header.stamp),
        counts=content.counts,
        broken=content.broken,
    )


def _samples(after: int, scenes: list[Any], tool_poses: list[Any]) -> Iterator[Sample]:
    join = StampJoin(after)
    for message in scenes:
        join.add_scene(stamp_from_msg(message.header.stamp), scene_from_msg(message))
    for message in tool_poses:
        sample = join.add_tool_pose(stamp_from_msg(message.header.stamp), pose_from_msg(message.pose))
        if sample is not None:
            yield sample
