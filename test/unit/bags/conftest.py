"""A real bag to read: messages serialised from the definitions that are installed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from rosbags.typesys import get_types_from_msg
from rosbags.typesys.store import Typestore

from robocontrast_ros.bags.definitions import find_definition
from robocontrast_ros.bags.writer import BagTopic, BagWriter
from robocontrast_ros.domain import Fault, Pose, Progress, Scene, Trial, TrialResult

NO_SCENE = Scene()


class Messages:
    """Makes serialised messages of any installed type from plain values."""

    def __init__(self) -> None:
        self._store = Typestore()
        self._known: set[str] = set()

    def make(self, type_name: str, **values: object) -> object:
        if type_name not in self._known:
            self._store.register(get_types_from_msg(find_definition(type_name).text, type_name))
            self._known.add(type_name)
        return self._store.types[type_name](**values)

    def cdr(self, message: object) -> bytes:
        return bytes(self._store.serialize_cdr(message, message.__msgtype__))

    def header(self, stamp: int, frame_id: str = "world") -> object:
        time = self.make("builtin_interfaces/msg/Time", sec=stamp // 10**9, nanosec=stamp % 10**9)
        return self.make("std_msgs/msg/Header", stamp=time, frame_id=frame_id)

    def pose(self, pose: Pose) -> object:
        p = self.make("geometry_msgs/msg/Point", **dict(zip("xyz", pose.position, strict=True)))
        q = self.make("geometry_msgs/msg/Quaternion", **dict(zip("xyzw", pose.orientation, strict=True)))
        return self.make("geometry_msgs/msg/Pose", position=p, orientation=q)

    def scene(self, scene: Scene, stamp: int = 0) -> object:
        objects = [
            self.make("robocontrast_ros/msg/ObjectState", name=o.name, model=o.model, pose=self.pose(o.pose))
            for o in scene
        ]
        return self.make(
            "robocontrast_ros/msg/Scene", header=self.header(stamp, scene.frame_id), objects=objects
        )

    def tool_pose(self, pose: Pose, stamp: int) -> object:
        return self.make("geometry_msgs/msg/PoseStamped", header=self.header(stamp), pose=self.pose(pose))

    def trial(self, trial: Trial, start: Scene = NO_SCENE, start_stamp: int = 0) -> object:
        words = trial.instance.instruction
        arguments = [self.make("robocontrast_ros/msg/Argument", key=k, value=v) for k, v in words.arguments]
        instance = self.make(
            "robocontrast_ros/msg/TestInstance",
            instance_id=trial.instance.instance_id,
            task=trial.instance.task,
            instruction=self.make(
                "robocontrast_ros/msg/Instruction", text=words.text, family=words.family, arguments=arguments
            ),
            scene=self.scene(trial.instance.scene),
            optimal_path_length=trial.instance.optimal_path_length,
        )
        perturbation = self.make(
            "robocontrast_ros/msg/Perturbation", name=trial.perturbation, symbol="", axes="", note=trial.note
        )
        return self.make(
            "robocontrast_ros/msg/Trial",
            session="session",
            index=trial.index,
            base_id=trial.base_id,
            perturbation=perturbation,
            repeat=trial.repeat,
            instance=instance,
            task_digest="",
            start_scene=self.scene(start, start_stamp),
            seed=trial.seed,
            robot="franka",
            policy="oracle",
        )

    def progress(self, progress: Progress, stamp: int) -> object:
        return self.make(
            "robocontrast_ros/msg/Progress",
            header=self.header(stamp),
            success=progress.success,
            progress=progress.progress,
            distance_to_goal=progress.distance_to_goal,
            path_length=progress.path_length,
        )

    def result(self, result: TrialResult, stamp: int) -> object:
        values = {
            name: getattr(result, name)
            for name in (
                "success",
                "spl",
                "progress",
                "distance_to_goal",
                "path_length",
                "optimal_path_length",
                "steps",
                "duration",
                "clamped_steps",
            )
        }
        return self.make(
            "robocontrast_ros/msg/TrialResult",
            header=self.header(stamp),
            outcome=int(result.outcome),
            fault=self.make(
                "robocontrast_ros/msg/Fault", code=int(result.fault or Fault.NONE), detail=result.detail
            ),
            final_scene=self.scene(result.final_scene, stamp),
            **values,
        )

    def image(self, pixels: np.ndarray, stamp: int) -> object:
        height, width, _ = pixels.shape
        return self.make(
            "sensor_msgs/msg/Image",
            header=self.header(stamp, "camera"),
            height=height,
            width=width,
            encoding="rgb8",
            is_bigendian=0,
            step=3 * width,
            data=pixels.reshape(-1),
        )


TRIAL_TOPICS = (
    BagTopic("/eval/trial", "robocontrast_ros/msg/Trial", latched=True, depth=1),
    BagTopic("/eval/scene", "robocontrast_ros/msg/Scene"),
    BagTopic("/eval/tool_pose", "geometry_msgs/msg/PoseStamped"),
    BagTopic("/eval/progress", "robocontrast_ros/msg/Progress"),
    BagTopic("/eval/trial_result", "robocontrast_ros/msg/TrialResult"),
    BagTopic("/eval/camera/image_raw", "sensor_msgs/msg/Image"),
)


@pytest.fixture(scope="session")
def messages() -> Messages:
    return Messages()


@pytest.fixture
def open_trial_bag(tmp_path: Path):
    return lambda name="bag": BagWriter(tmp_path / name, TRIAL_TOPICS)
