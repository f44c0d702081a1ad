"""PyTorch networks from files, called with arrays: loading, devices, seeds, memory."""

from __future__ import annotations

import gc
import inspect
import logging
import os
import pickle
import re
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import torch
from safetensors.torch import load_file
from torch import nn
from torch.export.passes import move_to_device_pass

from robocontrast_ros.configuration import ConfigurationError, import_object, resolve_uri
from robocontrast_ros.policies.adapters.torch_model.parameters import (
    CallParameters,
    ModelParameters,
    TorchParameters,
)

KINDS = {
    "export": "an exported network (torch.export.save)",
    "torchscript": "a TorchScript file (torch.jit.save)",
    "state_dict": "a state dict (torch.save, safetensors)",
}

_NUMPY_SCALARS = [
    np.dtype,
    *{type(np.dtype(code)) for code in "?bhilqBHILQefdg"},
    # The function that a pickled scalar names, by its name in NumPy 2 and before.
    *((np.float64().__reduce__()[0], f"numpy.{core}.multiarray.scalar") for core in ("_core", "core")),
]
"""Types that PyTorch may read besides tensors: an epoch's loss is a number of NumPy as often as one of Python."""


@dataclass(frozen=True)
class Signature:
    """Inputs of a network, as far as known.

    Attributes:
        names: of its inputs; None if unknown.
        required: those without a default.
        positional: those that an exported network takes by position alone.
        shapes: name, type and shape of each, if it was exported with examples; else empty.
    """

    names: tuple[str, ...] | None = None
    required: tuple[str, ...] = ()
    positional: tuple[str, ...] = ()
    shapes: tuple[str, ...] = ()


class Network:
    """A network on its device. The same seed, and the same calls after it, give the same answers on one machine.

    It has its own random numbers, deterministic algorithms and number of threads: PyTorch's settings are restored
    after each call, so that several networks in one process do not interfere.
    """

    def __init__(
        self, module: nn.Module, signature: Signature, device: torch.device, parameters: TorchParameters
    ) -> None:
        self.signature, self.device = signature, device
        self._module: nn.Module | None = module
        self._call: CallParameters = parameters.call
        self._dtype: torch.dtype = getattr(torch, parameters.dtype)
        self._threads = parameters.threads
        self._draws = "generator" in _forward_parameters(module)
        self._generator = torch.Generator(device)
        self._buffers = {name: buffer.detach().clone() for name, buffer in module.named_buffers()}
        self._states: tuple[torch.Tensor, torch.Tensor | None] | None = None
        self.reset(0)

    def reset(self, seed: int) -> None:
        """Begin a trial: seed, restore the buffers from the file, and call the network's own ``reset()``."""
        module = self._opened()
        self._generator.manual_seed(seed)
        with self._alone():
            torch.default_generator.manual_seed(seed)
            if self.device.type == "cuda":
                torch.cuda.manual_seed(seed)
            for name, buffer in self._buffers.items():
                owner, _, leaf = name.rpartition(".")
                setattr(module.get_submodule(owner), leaf, buffer.clone())
            if callable(getattr(module, "reset", None)):
                module.reset()

    def answer(self, inputs: dict[str, Any], key: str) -> Any:
        """Return the network's answer to one set of inputs.

        Args:
            inputs: name -> array without a batch axis, or text.
            key: entry of a dictionary, or position in a tuple, that is converted to an array.

        Returns:
            A float64 array (complex128 for complex numbers) if the network answers with a tensor, else a dictionary;
            without a batch axis of length 1.
        """
        module, call = self._opened(), self._call
        with self._alone():
            given = {name: self._tensor(value) for name, value in inputs.items()}
            drawn = {"generator": self._generator} if self._draws else {}
            if call.style == "mapping":
                answer = module(given, **drawn)
            elif call.style == "positional":
                answer = module(*(given[name] for name in call.order), **drawn)
            else:
                first = [given.pop(name) for name in self.signature.positional if name in given]
                answer = module(*first, **given, **drawn)
            if isinstance(answer, (tuple, list)):
                answer = {str(position): value for position, value in enumerate(answer)}
            if isinstance(answer, Mapping):
                return {name: self._array(v) if name == key else v for name, v in answer.items()}
            return self._array(answer)

    def close(self) -> None:
        """Free its memory; it cannot be used again."""
        if self._module is None:
            return
        self._module, self._buffers = None, {}
        gc.collect()
        if self.device.type == "cuda":
            torch.cuda.empty_cache()

    def _opened(self) -> nn.Module:
        if self._module is None:
            raise ValueError("the network was closed")
        return self._module

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Use the network's own settings and random numbers, and restore PyTorch's."""
        threads, mode = torch.get_num_threads(), torch.get_deterministic_debug_mode()
        cuda = self.device.type == "cuda"
        torch.set_num_threads(self._threads)
        torch.set_deterministic_debug_mode("warn")
        try:
            with (
                torch.inference_mode(),
                torch.random.fork_rng([self.device.index] if cuda else []),
                torch.cuda.device(self.device if cuda else -1),
            ):
                if self._states is not None:
                    torch.set_rng_state(self._states[0])
                    if self._states[1] is not None:
                        torch.cuda.set_rng_state(self._states[1])
                yield
                self._states = torch.get_rng_state(), torch.cuda.get_rng_state() if cuda else None
        finally:
            torch.set_deterministic_debug_mode(mode)
            torch.set_num_threads(threads)

    def _tensor(self, value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return value
        tensor = torch.from_numpy(value[None] if self._call.batch else value)
        return tensor.to(self.device, self._dtype if tensor.is_floating_point() else tensor.dtype)

    def _array(self, value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        # Complex numbers stay complex, and are refused as no actions.
        array = value.detach().to("cpu", torch.complex128 if value.is_complex() else torch.float64).numpy()
        return array[0] if self._call.batch and array.ndim > 1 and len(array) == 1 else array


def load_network(path: Path, parameters: TorchParameters) -> Network:
    """Return the network that a parameter file names, on its device.

    Raises:
        ConfigurationError: device, file or class are missing, or do not fit.
    """
    model, device = parameters.model, _device(path, parameters.device)
    file = resolve_uri(model.file, path.parent)
    _check_kind(path, model, file)
    loaders = {"export": _exported, "torchscript": _scripted, "state_dict": _restored}
    try:
        module, signature = loaders[model.format](path, parameters, file, device)
        return Network(module, signature, device, parameters)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        raise out_of_memory(path, parameters, error) from None


def error_summary(error: BaseException) -> str:
    """Return the informative line of an exception of PyTorch or of a user's network."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    # TorchScript's own traceback comes before the message.
    scripted = any("TorchScript" in line for line in lines)
    line = lines[-1] if scripted else lines[0] if lines else "no message"
    return line if scripted else f"{type(error).__name__}: {line}"


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an exception means that a device, or the machine, is out of memory."""
    kinds = (torch.OutOfMemoryError, MemoryError)
    return isinstance(error, kinds) or "can't allocate memory" in str(error)


def out_of_memory(path: Path, parameters: TorchParameters, error: BaseException) -> ConfigurationError:
    """Return the error for a network that is too large."""
    cure = f"Name another one, or a smaller `dtype`. PyTorch says: {error_summary(error)}"
    return ConfigurationError(str(path), "device", parameters.device, "a device whose memory the network fits in", cure)


def _device(path: Path, wanted: str) -> torch.device:
    """Return the device, with its number.

    Raises:
        ConfigurationError: there is no such device.
    """
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if wanted == "cpu" or (wanted == "auto" and count == 0):
        return torch.device("cpu")
    number = int(wanted.partition(":")[2] or 0)
    if number >= count:
        found = ", ".join(["cpu", *(f"cuda:{index}" for index in range(count))])
        cure = (
            "This PyTorch was built for the CPU; `make setup TORCH=auto` brings the build for this machine's GPU."
            if torch.version.cuda is None
            else "`nvidia-smi` lists the machine's GPUs."
        )
        raise ConfigurationError(str(path), "device", wanted, f"auto, or what PyTorch finds here: {found}", cure)
    # Without it, cuBLAS may sum in another order each time.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    return torch.device("cuda", number)


def _check_kind(path: Path, model: ModelParameters, file: Path) -> None:
    """Refuse a missing file, and one of another format than in the parameter file."""
    if not file.is_file():
        raise _refused(path, model, "file", "a file", f"There is none at {file}.")
    kind = _kind(file)
    if kind is not None and kind != model.format:
        cure = f"Write `format: {kind}`" + (", and the network's `class`." if kind == "state_dict" else ".")
        raise _refused(path, model, "format", f"the format of {file.name}, {KINDS[kind]}", cure)
    if kind is None and model.format != "state_dict":
        raise _unreadable(path, model)


def _kind(file: Path) -> str | None:
    """Return the format of a file by its content; None if unknown."""
    if file.suffix == ".safetensors":
        return "state_dict"
    if not zipfile.is_zipfile(file):
        return None
    with zipfile.ZipFile(file) as archive:
        names = {name.rpartition("/")[2] for name in archive.namelist()}
    marks = {
        "export": {"archive_format", "serialized_exported_program.json"},
        "torchscript": {"constants.pkl"},
        "state_dict": {"data.pkl"},
    }
    return next((kind for kind, mark in marks.items() if mark & names), None)


def _exported(path: Path, parameters: TorchParameters, file: Path, device: torch.device) -> tuple[nn.Module, Signature]:
    try:
        with _numbers_only():
            program = torch.export.load(file)
    except pickle.UnpicklingError as error:
        _refuse_code(path, parameters.model, error)
    except Exception as error:  # its type depends on the fault in the archive
        if "CUDA" in str(error) and not torch.cuda.is_available():
            expected = "a network that can be loaded without a GPU; this one was exported on one"
            cure = "Export it on the CPU (`network.cpu()`); with `device: auto` it still runs on a GPU."
            raise _refused(path, parameters.model, "file", expected, cure) from None
        raise _unreadable(path, parameters.model, error) from None
    if any(tensor.device != device for tensor in program.state_dict.values()):
        program = move_to_device_pass(program, device)
    return program.module(), _exported_signature(program)


def _exported_signature(program: torch.export.ExportedProgram) -> Signature:
    """Return the signature by the examples with which a network was exported."""
    if program.example_inputs is None:
        return Signature()
    first, named = program.example_inputs
    if len(first) == 1 and isinstance(first[0], Mapping) and not named:
        examples, positional = dict(first[0]), ()
    else:
        placeholders = program.graph_signature.user_inputs
        if len(placeholders) != len(first) + len(named):
            return Signature()
        positional = tuple(map(str, placeholders[: len(first)]))
        examples = dict(zip(positional, first, strict=True)) | dict(named)
    shapes = tuple(f"{name} {_form(value)}" for name, value in examples.items())
    return Signature(tuple(examples), tuple(examples), positional, shapes)


def _scripted(path: Path, parameters: TorchParameters, file: Path, device: torch.device) -> tuple[nn.Module, Signature]:
    try:
        with warnings.catch_warnings():
            # TorchScript is deprecated, which concerns the author of the file.
            warnings.simplefilter("ignore", DeprecationWarning)
            module = torch.jit.load(file, map_location=device).eval()
    except RuntimeError as error:
        if is_out_of_memory(error):
            raise
        raise _unreadable(path, parameters.model, error) from None
    if parameters.call.style == "mapping":
        return module, Signature()
    arguments = module.forward.schema.arguments[1:]
    required = tuple(argument.name for argument in arguments if not argument.has_default_value())
    return module, Signature(tuple(argument.name for argument in arguments), required)


def _restored(path: Path, parameters: TorchParameters, file: Path, device: torch.device) -> tuple[nn.Module, Signature]:
    model = parameters.model
    weights = _weights(path, model, file)
    module = _made(path, model)
    own = module.state_dict()
    _check_weights(path, model, own, weights)
    module.load_state_dict(weights)
    module.to(device, getattr(torch, parameters.dtype)).eval()
    takes = {name: p for name, p in _forward_parameters(module).items() if name != "generator"}
    open_ended = any(p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL) for p in takes.values())
    if parameters.call.style == "mapping" or open_ended:
        return module, Signature()
    required = tuple(name for name, parameter in takes.items() if parameter.default is parameter.empty)
    return module, Signature(tuple(takes), required)


def _weights(path: Path, model: ModelParameters, file: Path) -> dict[str, torch.Tensor]:
    """Return the state dict in a file, under the class's names."""
    try:
        if file.suffix == ".safetensors":
            content: Any = load_file(file)
        else:
            with torch.serialization.safe_globals(_NUMPY_SCALARS):
                content = torch.load(file, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        _refuse_code(path, model, error)
    except Exception as error:  # a file that only looks like one fails in many ways
        if is_out_of_memory(error):
            raise
        raise _unreadable(path, model, error) from None
    for key in model.entry:
        if not isinstance(content, Mapping) or key not in content:
            known = map(str, content) if isinstance(content, Mapping) else ()
            raise ConfigurationError.unknown(str(path), "model.entry", key, known, "key of the file")
        content = content[key]
    weights = content if isinstance(content, Mapping) else {}
    if not weights or not all(isinstance(value, torch.Tensor) for value in weights.values()):
        found = ", ".join(map(str, weights)) or type(content).__name__
        expected = f"a state dict: names and tensors, not {found}"
        raise _refused(path, model, "file", expected, "Name by `model.entry` the keys that lead to it.")
    length = len(model.prefix)
    return {name[length:]: value for name, value in weights.items() if name.startswith(model.prefix)}


def _made(path: Path, model: ModelParameters) -> nn.Module:
    """Return an instance of the network's class, with initial weights."""
    name = model.class_ or ""
    expected = "`module:Class` of a torch.nn.Module that can be imported"
    if ":" not in name:
        raise _refused(path, model, "class", expected)
    try:
        cls = import_object(name, str(path), "model.class")
    except ConfigurationError as error:
        cure = f"{error.cure} Install it into the environment, or put its folder in PYTHONPATH."
        raise _refused(path, model, "class", expected, cure) from None
    except Exception as error:  # importing runs the user's code
        raise _refused(path, model, "class", expected, f"It raises {error_summary(error)}.") from None
    try:
        with torch.random.fork_rng([]):
            module = cls(**model.arguments)
    except Exception as error:  # so does the constructor
        if is_out_of_memory(error):
            raise
        cure = f"It raises {error_summary(error)}."
        raise _refused(path, model, "arguments", f"arguments that {name} takes", cure) from None
    if not isinstance(module, nn.Module):
        raise _refused(path, model, "class", "the class of a torch.nn.Module")
    return module


def _check_weights(path: Path, model: ModelParameters, own: dict[str, Any], weights: dict[str, torch.Tensor]) -> None:
    """Refuse a state dict that differs from the class's; the message has the differences."""
    shapes = [
        f"{name} {tuple(weights[name].shape)} instead of {tuple(value.shape)}"
        for name, value in own.items()
        if name in weights and isinstance(value, torch.Tensor) and value.shape != weights[name].shape
    ]
    problems = {
        "It lacks": [name for name in own if name not in weights],
        "It has, and the class has not,": [name for name in weights if name not in own],
        "Other shapes:": shapes,
    }
    said = [f"{what} {_some(names)}." for what, names in problems.items() if names]
    if said:
        hint = "See `model.arguments`, `model.entry` and `model.prefix`."
        raise _refused(path, model, "file", f"a state dict of {model.class_}", " ".join([*said, hint]))


def _refuse_code(path: Path, model: ModelParameters, error: Exception) -> NoReturn:
    """Refuse a file that would run code, and name the code; refuse others that fail in the same way as unreadable."""
    wanted = re.search(r"GLOBAL ([\w.]+)", str(error))
    if wanted is None:
        raise _unreadable(path, model) from None
    expected = f"{KINDS[model.format]} of numbers and tensors alone; it wants code to be run ({wanted[1]})"
    cure = "Save `network.state_dict()` instead of the network, or export it with torch.export."
    raise _refused(path, model, "file", expected, cure) from None


def _unreadable(path: Path, model: ModelParameters, error: Exception | None = None) -> ConfigurationError:
    # PyTorch's message about unsafe files advises to load them unsafely.
    unsafe = error is None or "weights_only" in str(error)
    said = "" if unsafe else f"PyTorch says: {error_summary(error)}"
    return _refused(path, model, "file", KINDS[model.format], said)


def _refused(path: Path, model: ModelParameters, key: str, expected: str, cure: str = "") -> ConfigurationError:
    """Return the error for the value of a key of ``model``."""
    got = getattr(model, "class_" if key == "class" else key)
    return ConfigurationError(str(path), f"model.{key}", got, expected, cure)


@contextmanager
def _numbers_only() -> Iterator[None]:
    """Keep PyTorch from unpickling code, which torch.export.load would do otherwise."""
    names = ("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")
    before = {name: os.environ.pop(name, None) for name in names}
    logger = logging.getLogger("torch.export")
    level = logger.level
    # It prints tracebacks of errors that are reported in one line.
    logger.setLevel(logging.CRITICAL)
    os.environ[names[0]] = "1"
    try:
        yield
    finally:
        logger.setLevel(level)
        del os.environ[names[0]]
        os.environ.update({name: value for name, value in before.items() if value is not None})


def _forward_parameters(module: nn.Module) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of a class's forward; none for exported and scripted networks."""
    if isinstance(module, torch.jit.ScriptModule | torch.fx.GraphModule):
        return {}
    return inspect.signature(module.forward).parameters


def _form(value: Any) -> str:
    if isinstance(value, (torch.Tensor, np.ndarray)):
        return f"{str(value.dtype).removeprefix('torch.')} {tuple(value.shape)}"
    return type(value).__name__


def form_of(inputs: dict[str, Any], batch: bool) -> str:
    """Return names, types and shapes of the network's inputs, for messages."""
    whole = {n: v[None] if batch and isinstance(v, np.ndarray) else v for n, v in inputs.items()}
    return ", ".join(f"{name} {_form(value)}" for name, value in whole.items())


def _some(names: list[str], count: int = 3) -> str:
    more = f" and {len(names) - count} more" if len(names) > count else ""
    return ", ".join(names[:count]) + more
