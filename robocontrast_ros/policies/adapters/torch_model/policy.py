"""The policy ``torch``: a PyTorch network from a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.configuration import ConfigurationError, resolve_uri
from robocontrast_ros.configuration.minilm import PACKAGES
from robocontrast_ros.domain import Fault
from robocontrast_ros.policies.adapters.packing import describe, made_up_observation, pack, unpack
from robocontrast_ros.policies.adapters.torch_model.parameters import TorchParameters, load_parameters
from robocontrast_ros.policies.catalogue import package_need
from robocontrast_ros.policies.checkpoints import pytorch_needed
from robocontrast_ros.policies.protocol import Observation, PolicyDescription, PolicyFault
from robocontrast_ros.policies.sentence_encoder import SentenceEncoder, encoder_reads

if TYPE_CHECKING:
    from robocontrast_ros.policies.adapters.torch_model.networks import Network


WARM_UP_CALLS = 3
"""TorchScript profiles its first call and compiles in its second."""

Encoder = Callable[[str], dict[str, Any]]
"""Instruction -> inputs of the network: key -> array or text."""


class TorchPolicy:
    """Runs a PyTorch network, with inputs and outputs as in the parameter file."""

    def __init__(self, path: Path, parameters: TorchParameters, network: Network, encoder: Encoder) -> None:
        self._path, self._parameters = path, parameters
        self._network, self._encoder = network, encoder
        self._words: dict[str, Any] | None = None

    @classmethod
    def describe_file(cls, path: Path) -> PolicyDescription:
        """Describe the policy of a parameter file, without PyTorch and the network's file.

        Raises:
            ConfigurationError: the file does not fit.
        """
        return _described(load_parameters(path), path)

    @classmethod
    def needs(cls, path: Path) -> tuple[str, ...]:
        """Name the packages, the network's file, and the GPU if the file asks for one."""
        parameters = load_parameters(path)
        file = resolve_uri(parameters.model.file, path.parent)
        words = [
            package_need("PyTorch (extra `torch`)", "torch"),
            f"network {parameters.model.file}{'' if file.is_file() else ': not there'}",
        ]
        if parameters.device.startswith("cuda"):
            words.append("GPU")
        if parameters.instruction.encode == "minilm":
            words.append(package_need("sentence encoder", *PACKAGES))
        return tuple(words)

    @classmethod
    def from_file(cls, path: Path) -> TorchPolicy:
        """Return the policy that a parameter file describes.

        Raises:
            ConfigurationError: the file does not fit, a file that it names cannot be loaded, or PyTorch is missing.
        """
        parameters = load_parameters(path)
        with pytorch_needed(path, parameters.policy):
            from robocontrast_ros.policies.adapters.torch_model.networks import load_network
        network = load_network(path, parameters)
        return cls(path, parameters, network, make_encoder(path, parameters))

    def describe(self) -> PolicyDescription:
        """Return the description in the parameter file."""
        return _described(self._parameters, self._path)

    def reset(self, instruction: str, seed: int) -> None:
        """Begin a trial; all random numbers of the network come from the seed."""
        self._words = self._encoder(instruction)
        self._network.reset(seed)

    def act(self, observation: Observation) -> NDArray[np.float64]:
        """Return the next actions, shape (n, action_size).

        Raises:
            PolicyFault: POLICY_RAISED if the network failed, POLICY_UNREADABLE or POLICY_WRONG_SHAPE if its answer
                has no such actions.
            ValueError: reset was not called.
        """
        if self._words is None:
            raise ValueError(f"{self._parameters.name}: act before reset; call reset(instruction, seed) first")
        return self._answer(self._inputs(observation, self._words))

    def warm_up(self) -> None:
        """Run the network on black images, so that a wrong file fails before any trial.

        Raises:
            ConfigurationError: the network's inputs or answer differ from the file's.
        """
        observation = made_up_observation(self._parameters.input)
        inputs = self._inputs(observation, self._encoder("push the block"))
        self._check_names(inputs)
        self._network.reset(0)
        try:
            for _ in range(WARM_UP_CALLS):
                actions = self._answer(inputs)
        except PolicyFault as fault:
            raise self._refusal(fault, inputs) from fault
        finally:
            self._network.reset(0)
        if len(actions) > self._parameters.chunk.length:
            raise ConfigurationError(
                str(self._path),
                "chunk.length",
                self._parameters.chunk.length,
                f"the number of actions in the network's answer, {len(actions)}",
            )

    def close(self) -> None:
        """Free the network's memory."""
        self._network.close()

    def _inputs(self, observation: Observation, words: dict[str, Any]) -> dict[str, Any]:
        packed = pack(observation, "", self._parameters.input)
        del packed[self._parameters.input.instruction]
        return words | packed

    def _answer(self, inputs: dict[str, Any]) -> NDArray[np.float64]:
        from robocontrast_ros.policies.adapters.torch_model.networks import error_summary

        try:
            answer = self._network.answer(inputs, self._parameters.output.key)
        except PolicyFault:
            raise
        except Exception as error:  # any error of the network is the policy's fault
            raise PolicyFault(Fault.POLICY_RAISED, error_summary(error)) from error
        return unpack(answer, self._parameters.output, self._parameters.action)

    def _check_names(self, inputs: dict[str, Any]) -> None:
        """Refuse inputs that the network does not have, and missing ones."""
        signature, path = self._network.signature, str(self._path)
        if signature.names is None or self._parameters.call.style == "positional":
            return
        for name in inputs:
            if name not in signature.names:
                key = self._parameters.keys[name]
                raise ConfigurationError.unknown(path, key, name, signature.names, "input of the network")
        missing = [name for name in signature.required if name not in inputs]
        if missing:
            raise ConfigurationError(
                path,
                "input",
                ", ".join(inputs) or "nothing",
                f"all inputs that the network needs: {', '.join(signature.required)}",
                f"Describe {', '.join(missing)} under `images`, `state` or `instruction`.",
            )

    def _refusal(self, fault: PolicyFault, inputs: dict[str, Any]) -> ConfigurationError:
        """Return the error for a first answer that failed."""
        from robocontrast_ros.policies.adapters.torch_model.networks import (
            form_of,
            is_out_of_memory,
            out_of_memory,
        )

        path, parameters = str(self._path), self._parameters
        if fault.__cause__ is not None and is_out_of_memory(fault.__cause__):
            return out_of_memory(self._path, parameters, fault.__cause__)
        if fault.fault is Fault.POLICY_UNREADABLE:
            cure = "`key: ''` takes the answer itself, `key: '0'` the first of a tuple."
            return ConfigurationError(
                path, "output.key", parameters.output.key, f"the key of the actions; {fault.detail}", cure
            )
        if fault.fault is Fault.POLICY_WRONG_SHAPE:
            expected = f"the size of the network's actions; {fault.detail}"
            return ConfigurationError(path, "action.size", parameters.action.size, expected)
        shapes = ", ".join(self._network.signature.shapes)
        expected = f"inputs that the network takes{': ' * bool(shapes)}{shapes}"
        given = form_of(inputs, parameters.call.batch)
        return ConfigurationError(path, "input", given, expected, f"It says: {fault.detail}")


def _described(parameters: TorchParameters, path: Path) -> PolicyDescription:
    """Return the description in a parameter file, with the limits of the encoder of words."""
    described, wanted = describe(parameters), parameters.instruction
    if wanted.encode == "minilm":
        return replace(described, **encoder_reads())
    if wanted.encode == "tokens":
        tokenizer = str(resolve_uri(wanted.tokenizer or "", path.parent))
        return replace(described, max_tokens=wanted.length, tokenizer=tokenizer)
    return described


def make_encoder(path: Path, parameters: TorchParameters) -> Encoder:
    """Return the encoder of instructions.

    Raises:
        ConfigurationError: the weights or the tokenizer that it needs cannot be read.
    """
    key, encode = parameters.input.instruction, parameters.instruction.encode
    if encode == "none":
        return lambda instruction: {}
    if encode == "text":
        return lambda instruction: {key: instruction}
    if encode == "minilm":
        shipped = SentenceEncoder.shipped()
        return lambda instruction: {key: shipped.encode([instruction])[0].astype(np.float32)}
    return _tokens(path, parameters)


def _tokens(path: Path, parameters: TorchParameters) -> Encoder:
    key, wanted = parameters.input.instruction, parameters.instruction
    file = resolve_uri(wanted.tokenizer or "", path.parent)
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(file))
    except Exception as error:  # the library raises no narrower type
        expected = "a file tokenizer.json as `tokenizers` writes it"
        raise ConfigurationError(
            str(path), "instruction.tokenizer", wanted.tokenizer, expected, f"It says: {error}."
        ) from None
    padding = tokenizer.padding or {}
    tokenizer.enable_truncation(wanted.length)
    tokenizer.enable_padding(
        length=wanted.length,
        pad_id=padding.get("pad_id", 0),
        pad_token=padding.get("pad_token", "[PAD]"),
    )

    def encode(instruction: str) -> dict[str, Any]:
        encoded = tokenizer.encode(instruction)
        inputs = {key: np.array(encoded.ids, np.int64)}
        if wanted.mask is not None:
            inputs[wanted.mask] = np.array(encoded.attention_mask, np.int64)
        return inputs

    return encode
