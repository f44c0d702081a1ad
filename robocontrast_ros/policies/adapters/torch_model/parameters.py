"""The parameter file of ``policy: torch``, readable where PyTorch is not installed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from robocontrast_ros.configuration import ConfigurationError, load_record, record
from robocontrast_ros.policies.adapters.packing import AdapterParameters, check_sizes

Format = Literal["export", "torchscript", "state_dict"]


@record
class ModelParameters:
    """The network's file: key `model`."""

    format: Format = Field(
        description="export: of torch.export.save; torchscript: of torch.jit.save; state_dict: of "
        "torch.save(network.state_dict(), …) or of safetensors"
    )
    file: str = Field(min_length=1, description="package URI, or path from this file's folder")
    class_: str | None = Field(
        default=None, alias="class", description="module:Class of a torch.nn.Module, for state_dict"
    )
    arguments: dict[str, Any] = Field(default_factory=dict, description="keyword arguments of the class")
    entry: tuple[str, ...] = Field(
        default=(), description="keys in the file that lead to the state dict; empty if the file is one"
    )
    prefix: str = Field(default="", description="prefix of the names in the file that the class's names lack")


@record
class CallParameters:
    """Form of the network's call: key `call`."""

    style: Literal["keywords", "positional", "mapping"] = Field(
        default="keywords",
        description="each input by its name, in the order of `order`, or all in one dictionary",
    )
    order: tuple[str, ...] = Field(default=(), description="keys of the inputs, for positional")
    batch: bool = Field(
        default=True, description="whether inputs and actions have a first axis of length 1 for the batch"
    )


@record
class InstructionParameters:
    """Encoding of the instruction: key `instruction`."""

    encode: Literal["minilm", "tokens", "text", "none"] = Field(
        description="minilm: sentence embedding of all-MiniLM-L6-v2, float32 of shape (384,); tokens: int64 of "
        "shape (length,); text: the string itself; none: no input"
    )
    tokenizer: str | None = Field(default=None, description="file tokenizer.json, for tokens")
    length: int | None = Field(default=None, ge=1, description="number of tokens, truncated or padded, for tokens")
    mask: str | None = Field(
        default=None, min_length=1, description="key of the mask, int64, 1 for tokens and 0 for padding"
    )

    def __post_init__(self) -> None:
        """Refuse an incomplete tokenizer, and one that is not used."""
        given = [self.tokenizer is not None, self.length is not None]
        if self.encode == "tokens" and not all(given):
            raise ValueError("`tokenizer` and `length` with `encode: tokens`")
        if self.encode != "tokens" and (any(given) or self.mask is not None):
            raise ValueError("`encode: tokens` with `tokenizer`, `length` and `mask`")


@record
class TorchParameters(AdapterParameters):
    """The parameter file of ``policy: torch``."""

    model: ModelParameters
    device: str = Field(
        default="auto",
        description="auto (the first GPU if there is one, else the processor), cpu, cuda, or cuda:1 for the second GPU",
    )
    dtype: Literal["float32", "float16", "bfloat16", "float64"] = Field(
        default="float32", description="of inputs other than integers, and of the weights of a class"
    )
    threads: int = Field(
        default=1,
        ge=1,
        description="processor threads of one answer; more help large networks where cores are idle",
    )
    call: CallParameters = Field(default_factory=CallParameters)
    instruction: InstructionParameters

    @property
    def keys(self) -> dict[str, str]:
        """Input of the network -> the key of this file that gives it."""
        words = {} if self.instruction.encode == "none" else {self.input.instruction: "input.instruction"}
        if self.instruction.mask is not None:
            words[self.instruction.mask] = "instruction.mask"
        images = {key: f"input.images.{key}" for key in self.input.images}
        return words | images | {key: f"input.state.{key}" for key in self.input.state}


def load_parameters(path: Path) -> TorchParameters:
    """Load and check a parameter file.

    Raises:
        ConfigurationError: the file does not fit, or its parts contradict each other.
    """
    parameters = load_record(TorchParameters, path)
    _check_model(path, parameters)
    _check_call(path, parameters)
    _check_shapes(path, parameters)
    check_sizes(path, parameters)
    return parameters


def _check_model(path: Path, parameters: TorchParameters) -> None:
    model = parameters.model
    if re.fullmatch(r"auto|cpu|cuda(:\d+)?", parameters.device) is None:
        raise ConfigurationError(
            str(path), "device", parameters.device, "auto, cpu, cuda, or cuda:1 for the second GPU"
        )
    if model.format == "state_dict" and model.class_ is None:
        raise ConfigurationError(
            str(path), "model.class", "nothing", "`module:Class`: a state dict has weights, and no network"
        )
    if model.format != "state_dict":
        for key in ("class", "arguments", "entry", "prefix"):
            value = getattr(model, "class_" if key == "class" else key)
            if value:
                cure = f"Leave it out: the file of `format: {model.format}` holds the network."
                raise ConfigurationError(str(path), f"model.{key}", value, "nothing, except with `state_dict`", cure)
    if model.format == "export" and parameters.instruction.encode == "text":
        cure = "No string can enter an exported network."
        raise ConfigurationError(str(path), "instruction.encode", "text", "minilm, tokens or none", cure)


def _check_call(path: Path, parameters: TorchParameters) -> None:
    for key in parameters.input.state:
        if key in parameters.input.images:
            expected = "one name for each input, and this is an image already"
            raise ConfigurationError(str(path), f"input.state.{key}", key, expected)
    words = parameters.input.instruction
    if parameters.instruction.encode != "none" and words in {
        *parameters.input.images,
        *parameters.input.state,
    }:
        raise ConfigurationError(str(path), "input.instruction", words, "a name that no other input has")
    order, given = parameters.call.order, parameters.keys
    if parameters.call.style == "positional" and sorted(order) != sorted(given):
        raise ConfigurationError(
            str(path), "call.order", list(order), f"each of {', '.join(given)} once, in the network's order"
        )
    if parameters.call.style != "positional" and order:
        raise ConfigurationError(str(path), "call.order", list(order), "nothing, except with `style: positional`")


def _check_shapes(path: Path, parameters: TorchParameters) -> None:
    """Refuse inputs without a fixed shape: a network is made for one."""
    for key, image in parameters.input.images.items():
        if image.width is None:
            where = f"input.images.{key}.width"
            expected = "`width` and `height` of the images that the network was trained with [pixel]"
            raise ConfigurationError(str(path), where, "nothing", expected)
    for key, state in parameters.input.state.items():
        if "joint_positions" in state.parts and state.joints is None:
            where = f"input.state.{key}.joints"
            raise ConfigurationError(
                str(path), where, "nothing", "the number of joints that the network was trained with"
            )
