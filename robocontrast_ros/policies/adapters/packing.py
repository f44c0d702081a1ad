"""Converts observations and actions to and from a checkpoint's formats, by the adapters' common parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from robocontrast_ros.configuration import ConfigurationError, record
from robocontrast_ros.configuration.errors import SHOWN, cut
from robocontrast_ros.domain import ActionConventions, Fault, Pose
from robocontrast_ros.domain.action import Frame, Gripper, Reference, Rotation
from robocontrast_ros.domain.channels import OBSERVATIONS
from robocontrast_ros.domain.rotations import to_vector
from robocontrast_ros.policies.protocol import Late, Observation, PolicyDescription, PolicyFault

STATE_SIZES = {
    "tool_xy": 2,
    "tool_position": 3,
    "tool_orientation": 4,
    "tool_rotation_vector": 3,
    "gripper_width": 1,
    "gripper_closed": 1,
}
"""Size of each part of the state; ``joint_positions`` has one number per joint of the robot."""

Part = Literal[
    "joint_positions",
    "tool_xy",
    "tool_position",
    "tool_orientation",
    "tool_rotation_vector",
    "gripper_width",
    "gripper_closed",
]


@record
class ActionParameters:
    """The actions, after ``output``: key `action` of an adapter's file."""

    space: str = Field(min_length=1, description="action space, as a robot's profile names it")
    size: int = Field(ge=1, description="numbers in one action")
    reference: Reference | None = Field(default=None, description="delta, absolute, velocity or discrete")
    frame: Frame | None = Field(default=None, description="world, base, tool or joint")
    rotation: Rotation | None = Field(default=None, description="form of rotations; none without rotations")
    gripper: Gripper | None = Field(
        default=None, description="effect of a greater number on the gripper; none without a gripper"
    )
    rate: float | None = Field(default=None, gt=0, description="control rate that it was trained at [Hz]")


@record
class ChunkParameters:
    """One answer, and its execution: key `chunk` of an adapter's file."""

    length: int = Field(default=1, ge=1, description="actions in one answer, at most")
    execute: int | None = Field(
        default=None,
        ge=1,
        description="actions carried out before the next request; all, or one with `ensemble`",
    )
    ensemble: float | None = Field(
        default=None, ge=0, description="decay of temporal ensembling for one action step; no ensembling if left out"
    )
    late: Late = Field(
        default="hold",
        description="while an answer takes longer than a control period: hold, chunk (go on with the rest of the last "
        "answer) or stop",
    )

    def __post_init__(self) -> None:
        """Refuse to carry out more actions than an answer has."""
        if self.execute is not None and self.execute > self.length:
            raise ValueError(f"`execute` of at most `length` ({self.length}), not {self.execute}")


@record
class ImageParameters:
    """Format of one image for the checkpoint."""

    camera: str = Field(min_length=1, description="camera of the robot")
    width: int | None = Field(default=None, ge=1, le=8192, description="columns [pixel]; unchanged if left out")
    height: int | None = Field(default=None, ge=1, le=8192, description="rows [pixel]")
    fit: Literal["stretch", "pad", "crop"] = Field(
        default="stretch", description="for another aspect ratio; pad is openpi's resize_with_pad, to the bit"
    )
    channels: Literal["rgb", "bgr"] = Field(default="rgb", description="order of the colours")
    layout: Literal["hwc", "chw"] = Field(default="hwc", description="order of the axes")
    values: Literal["uint8", "unit"] = Field(
        default="uint8", description="uint8 from 0 to 255, or unit: float32 from 0 to 1"
    )
    mean: tuple[float, float, float] | None = Field(default=None, description="subtracted from each channel, for unit")
    std: tuple[float, float, float] | None = Field(default=None, description="divides the difference, for unit")

    def __post_init__(self) -> None:
        """Refuse a width without a height, and a normalisation of bytes."""
        if (self.width is None) != (self.height is None):
            raise ValueError("`width` and `height`, or neither")
        if self.values == "uint8" and (self.mean or self.std):
            raise ValueError("`values: unit` with `mean` and `std`")
        if self.std and min(self.std) <= 0:
            raise ValueError("`std` above 0")


@record
class StateParameters:
    """Format of one vector of the robot's state for the checkpoint."""

    parts: tuple[Part, ...] = Field(
        min_length=1,
        description="concatenated: joint_positions [rad], tool_xy or tool_position [m], world frame, "
        "tool_orientation as a quaternion (x, y, z, w), tool_rotation_vector [rad], gripper_width [m], "
        "gripper_closed from 0 (open) to 1",
    )
    joints: int | None = Field(
        default=None,
        ge=1,
        description="number of joints in training; a robot with another number is refused",
    )
    mean: tuple[float, ...] | None = Field(default=None, description="subtracted")
    std: tuple[float, ...] | None = Field(default=None, description="divides the difference")


@record
class InputParameters:
    """Inputs of the checkpoint: key `input` of an adapter's file."""

    instruction: str = Field(default="prompt", min_length=1, description="key of the instruction")
    images: dict[str, ImageParameters] = Field(default_factory=dict, description="key -> image")
    state: dict[str, StateParameters] = Field(default_factory=dict, description="key -> vector of the state")


@record
class OutputParameters:
    """Actions in the checkpoint's answer: key `output` of an adapter's file."""

    key: str = Field(default="actions", description="key of the actions; empty where the answer is the array")
    columns: tuple[int, ...] = Field(default=(), description="columns to take, in this order; all if empty")
    scale: tuple[float, ...] = Field(default=(), description="factor of each number; 1 if empty")
    offset: tuple[float, ...] = Field(default=(), description="added to each scaled number; 0 if empty")


@record
class AdapterParameters:
    """Keys of every adapter's file."""

    policy: str = Field(description="plug-in that reads this file")
    name: str = Field(min_length=1, description="name of the policy in results")
    vocabulary: str = Field(
        default="", description="URI of a text file with the words of its training, one word or expression a line"
    )
    action: ActionParameters
    chunk: ChunkParameters = Field(default_factory=ChunkParameters)
    input: InputParameters
    output: OutputParameters = Field(default_factory=OutputParameters)


def check_sizes(path: Path, parameters: AdapterParameters) -> None:
    """Refuse lists of numbers in a parameter file that are too long or too short.

    Raises:
        ConfigurationError: columns, scales, offsets or a normalisation do not fit.
    """
    output, size = parameters.output, parameters.action.size
    counts = {f"output.{key}": (getattr(output, key), size) for key in ("columns", "scale", "offset")}
    for key, state in parameters.input.state.items():
        count = state_size(state)
        if count is not None:
            counts[f"input.state.{key}.mean"] = (state.mean or (), count)
            counts[f"input.state.{key}.std"] = (state.std or (), count)
    for key, (values, count) in counts.items():
        if values and len(values) != count:
            raise ConfigurationError(str(path), key, list(values), f"{count} numbers, or none")


def state_size(state: StateParameters) -> int | None:
    """Return the size of a vector of the state; None if it depends on the robot's joints."""
    sizes = [STATE_SIZES.get(part, state.joints) for part in state.parts]
    return None if None in sizes else sum(size or 0 for size in sizes)


def made_up_observation(inputs: InputParameters) -> Observation:
    """Return black images and a robot at rest, for a first answer before any trial.

    The defaults are 224 pixels and 7 joints.
    """
    images = {
        image.camera: np.zeros((image.height or 224, image.width or 224, 3), np.uint8)
        for image in inputs.images.values()
    }
    joints = next((state.joints for state in inputs.state.values() if state.joints), 7)
    names = tuple(f"joint{number + 1}" for number in range(joints))
    return Observation(0, images, names, (0.0,) * joints, Pose(), gripper_width=0.08, gripper_closed=0.0)


def describe(parameters: AdapterParameters) -> PolicyDescription:
    """Return the description in an adapter's parameters.

    The adapter resizes images, so any size fits.
    """
    action, chunk, inputs = parameters.action, parameters.chunk, parameters.input
    return PolicyDescription(
        name=parameters.name,
        action_space=action.space,
        action_size=action.size,
        chunk_length=chunk.length,
        cameras=tuple(dict.fromkeys(image.camera for image in inputs.images.values())),
        conventions=ActionConventions(action.reference, action.frame, action.rotation, action.gripper),
        rate=action.rate,
        joints=next((state.joints for state in inputs.state.values() if state.joints), None),
        execute=chunk.execute,
        ensemble=chunk.ensemble,
        late=chunk.late,
        observes=_observed(inputs),
    )


def _observed(inputs: InputParameters) -> tuple[str, ...]:
    """Return the observation channels that the state is made of, in their order."""
    parts = {part for state in inputs.state.values() for part in state.parts}
    read = {"tool_pose" if part.startswith("tool_") else part for part in parts}
    return tuple(name for name in OBSERVATIONS if name in read)


def pack(observation: Observation, instruction: str, inputs: InputParameters) -> dict[str, Any]:
    """Return the checkpoint's inputs: key -> text, image or float32 vector."""
    packed: dict[str, Any] = {inputs.instruction: instruction}
    for key, wanted in inputs.images.items():
        packed[key] = pack_image(observation.images[wanted.camera], wanted)
    for key, vector in inputs.state.items():
        packed[key] = pack_state(observation, vector)
    return packed


def pack_image(image: NDArray[np.uint8], wanted: ImageParameters) -> NDArray[Any]:
    """Return an image, uint8 of shape (height, width, 3) in RGB, in the checkpoint's format."""
    if wanted.width is not None and wanted.height is not None:
        image = fit_image(image, wanted.width, wanted.height, wanted.fit)
    if wanted.channels == "bgr":
        image = image[:, :, ::-1]
    if wanted.values == "unit":
        image = image.astype(np.float32) / 255.0
        image = (image - np.float32(wanted.mean or 0.0)) / np.float32(wanted.std or 1.0)
    if wanted.layout == "chw":
        image = image.transpose(2, 0, 1)
    return np.ascontiguousarray(image)


def fit_image(image: NDArray[np.uint8], width: int, height: int, fit: str) -> NDArray[np.uint8]:
    """Return the image with another size [pixel]: stretched, padded with black, or cropped about its centre."""
    rows, columns = image.shape[:2]
    if (columns, rows) == (width, height):
        return image
    if fit == "stretch":
        return _resize(image, width, height)
    if fit == "pad":
        return _pad(image, width, height)
    scale = max(width / columns, height / rows)
    scaled = _resize(image, max(round(columns * scale), 1), max(round(rows * scale), 1))
    left, top = (scaled.shape[1] - width) // 2, (scaled.shape[0] - height) // 2
    return scaled[top : top + height, left : left + width]


def pack_state(observation: Observation, wanted: StateParameters) -> NDArray[np.float32]:
    """Return the robot's state as one vector."""
    pose = observation.tool_pose
    values = {
        "joint_positions": observation.joint_positions,
        "tool_xy": pose.xy,
        "tool_position": pose.position,
        "tool_orientation": pose.orientation,
        "tool_rotation_vector": to_vector(pose.orientation),
        "gripper_width": (observation.gripper_width,),
        "gripper_closed": (observation.gripper_closed,),
    }
    vector = np.concatenate([np.asarray(values[part], np.float32) for part in wanted.parts])
    for name in ("mean", "std"):
        numbers = getattr(wanted, name)
        if numbers is not None and len(numbers) != len(vector):
            raise ValueError(f"state: `{name}` has {len(numbers)} numbers, the state {len(vector)}")
    return (vector - np.float32(wanted.mean or 0.0)) / np.float32(wanted.std or 1.0)


def unpack(answer: Any, output: OutputParameters, action: ActionParameters) -> NDArray[np.float64]:
    """Return the actions of an answer, shape (n, size), SI units.

    A single action may be a vector, and an answer may be a batch of one.

    Raises:
        PolicyFault: POLICY_UNREADABLE if the key is missing or has no numbers, POLICY_WRONG_SHAPE if the shape
            differs.
    """
    if output.key:
        if not isinstance(answer, dict) or output.key not in answer:
            got = f"the keys {', '.join(map(str, answer))}" if isinstance(answer, dict) else type(answer).__name__
            raise PolicyFault(Fault.POLICY_UNREADABLE, f"got {cut(got, SHOWN)}, expected a mapping with '{output.key}'")
        answer = answer[output.key]
    actions = _numbers(answer, output.key)
    shape = actions.shape
    if actions.ndim == 1:
        actions = actions[None]
    elif actions.ndim == 3 and len(actions) == 1:
        # A batch of one, as GR00T answers.
        actions = actions[0]
    if output.columns and actions.ndim == 2 and max(output.columns) < actions.shape[1]:
        actions = actions[:, list(output.columns)]
    elif output.columns:
        actions = np.empty((0, 0))
    if actions.ndim != 2 or actions.shape[1] != action.size:
        columns = f"columns {list(output.columns)} of each" if output.columns else f"{action.size} numbers each"
        raise PolicyFault(Fault.POLICY_WRONG_SHAPE, f"got shape {shape}, expected n actions, {columns}")
    return actions * np.asarray(output.scale or 1.0) + np.asarray(output.offset or 0.0)


_NO_NUMBERS = {"U": "texts", "S": "bytes", "M": "times", "m": "durations", "c": "complex numbers"}
"""NumPy's kinds of arrays that hold no actions -> their content, in words."""


def _numbers(answer: Any, key: str) -> NDArray[np.float64]:
    """Return an answer as an array of real numbers.

    Raises:
        PolicyFault: POLICY_UNREADABLE for anything else: texts, times, complex numbers, integers beyond 64 bits, lists
            of unequal length.
    """
    try:
        # Without a type: as float64, NumPy would read texts and times, and drop imaginary parts.
        numbers = np.asarray(answer)
    except (TypeError, ValueError):
        numbers = np.array(None)
    if numbers.dtype.kind in "biuf":
        return numbers.astype(np.float64)
    got = _NO_NUMBERS.get(numbers.dtype.kind, type(answer).__name__)
    if isinstance(answer, dict):
        got = f"a mapping with {', '.join(map(str, answer)) or 'no keys'}, which is no known form of an array"
    detail = f"got {cut(got, SHOWN)}, expected numbers in '{key or 'the answer'}'"
    raise PolicyFault(Fault.POLICY_UNREADABLE, detail)


def _pad(image: NDArray[np.uint8], width: int, height: int) -> NDArray[np.uint8]:
    """Return the image with black borders, to the bit as in the training of openpi's checkpoints.

    Source: Physical-Intelligence/openpi, ``openpi_client/image_tools.py``, ``resize_with_pad``: sizes are cut off, not
    rounded, and Pillow's bilinear filter takes all pixels of a larger image into account.
    """
    from PIL import Image

    rows, columns = image.shape[:2]
    ratio = max(columns / width, rows / height)
    # An image that is thousands of times as long as high still has one row.
    size = max(int(columns / ratio), 1), max(int(rows / ratio), 1)
    scaled = np.asarray(Image.fromarray(image).resize(size, Image.BILINEAR))
    left, top = (width - size[0]) // 2, (height - size[1]) // 2
    padded = np.zeros((height, width, 3), np.uint8)
    padded[top : top + size[1], left : left + size[0]] = scaled
    return padded


def _resize(image: NDArray[np.uint8], width: int, height: int) -> NDArray[np.uint8]:
    import cv2  # as Pillow: large, and needed for neither description nor state

    shrinks = width * height < image.shape[0] * image.shape[1]
    return cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR)
