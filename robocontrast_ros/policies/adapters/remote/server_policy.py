"""Base of policies behind a server, whatever its protocol: parameters, checks, and errors while they are loaded."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import Self

from robocontrast_ros.configuration import ConfigurationError, load_record, record, resolve_uri
from robocontrast_ros.configuration.minilm import MINILM
from robocontrast_ros.domain import Fault
from robocontrast_ros.policies.adapters.packing import (
    AdapterParameters,
    check_sizes,
    describe,
    made_up_observation,
    pack,
    unpack,
)
from robocontrast_ros.policies.protocol import Case, Observation, PolicyDescription, PolicyFault


@record
class TextParameters:
    """The use of words by the model behind a server: key `text` of a remote policy's file."""

    max_tokens: int | None = Field(
        default=None, ge=1, description="tokens of an instruction that it reads, the tokenizer's own marks included"
    )
    tokenizer: str = Field(default="", description="URI of the model's tokenizer.json; empty: no tokens are counted")
    case: Case = Field(default="any", description="lower if it reads capital letters as small ones")
    accepts_empty: bool = Field(default=True, description="whether it takes an empty instruction")


@record
class RemoteParameters(AdapterParameters):
    """Keys of every remote policy's file."""

    text: TextParameters = Field(default_factory=TextParameters)

    timeout: float = Field(
        default=5.0, gt=0, le=3600, description="limit of one answer [s]; keep it below timeouts.policy"
    )
    warm_up_timeout: float = Field(
        default=100.0,
        gt=0,
        le=36000,
        description="limit of the first answer, before any trial [s]; keep it below timeouts.load",
    )
    connect_timeout: float = Field(
        default=5.0, gt=0, le=3600, description="limit of connecting [s]; keep it below timeouts.policy"
    )

    def described(self, path: Path) -> PolicyDescription:
        """Return the description in the file at a path; a tokenizer's path is relative to its folder."""
        text = self.text
        by_path = text.tokenizer not in ("", MINILM)
        return replace(
            describe(self),
            max_tokens=text.max_tokens,
            tokenizer=str(resolve_uri(text.tokenizer, path.parent)) if by_path else text.tokenizer,
            case=text.case,
            accepts_empty=text.accepts_empty,
        )


@record
class ServerParameters(RemoteParameters):
    """Keys of the file of every policy behind a server."""

    url: str = Field(description="of the server")
    api_key: str | None = Field(
        default=None, min_length=1, description="environment variable that holds the server's key"
    )
    nested: bool = Field(default=False, description="whether a key a/b of the input means the key b in the mapping a")
    extra: dict[str, Any] = Field(
        default_factory=dict, description="sent unchanged with every observation, such as unnorm_key"
    )


class ServerPolicy(ABC):
    """Sends observations to a server, which answers with actions.

    Attributes:
        PARAMETERS: the record of its parameter file.
        parameters: the content of the file.
    """

    PARAMETERS: ClassVar[type[RemoteParameters]]
    parameters: ServerParameters

    def __init__(self, parameters: ServerParameters, path: Path) -> None:
        """Check a parameter file; subclasses connect.

        Raises:
            ConfigurationError: lists of numbers do not fit, or the key's variable is not set.
        """
        check_sizes(path, parameters)
        self.parameters, self._path = parameters, path
        self._key = read_api_key(parameters.api_key, path)
        self._instruction = ""
        # The fault of a failed trial, until the next reset.
        self._fault: PolicyFault | None = PolicyFault(
            Fault.POLICY_RAISED, "act before reset; call reset(instruction, seed) first"
        )

    @classmethod
    def from_file(cls, path: Path) -> Self:
        """Return the policy that a parameter file describes, connected to its server.

        Raises:
            ConfigurationError: as the constructor.
        """
        return cls(load_record(cls.PARAMETERS, path), path)

    @classmethod
    def describe_file(cls, path: Path) -> PolicyDescription:
        """Return the description in the file, without a server.

        Raises:
            ConfigurationError: the file does not fit.
        """
        return load_record(cls.PARAMETERS, path).described(path)

    @classmethod
    def needs(cls, path: Path) -> tuple[str, ...]:
        """Name the server."""
        return (f"server {load_record(cls.PARAMETERS, path).url}",)

    def describe(self) -> PolicyDescription:
        """Return the description in the file."""
        return self.parameters.described(self._path)

    @abstractmethod
    def reset(self, instruction: str, seed: int) -> None:
        """Begin a trial; see ``policies.protocol.Policy``."""

    @abstractmethod
    def exchange(self, message: dict[str, Any], timeout: float) -> Any:
        """Return the server's answer to an observation within a time [s].

        Raises:
            PolicyFault: by the table in docs/remote_policies.md; the connection is then closed until the next reset.
        """

    def act(self, observation: Observation) -> NDArray[np.float64]:
        """Return the server's next actions, shape (n, size), SI units.

        Raises:
            PolicyFault: as ``exchange``, or the answer has no actions.
        """
        return self._ask(observation, self.parameters.timeout)

    def warm_up(self) -> None:
        """Request one answer to made-up input: an openpi server compiles its model then, which takes minutes.

        Raises:
            PolicyFault: as ``act``, with the limit `warm_up_timeout`.
        """
        self.reset("", 0)
        self._ask(made_up_observation(self.parameters.input), self.parameters.warm_up_timeout)

    def _ask(self, observation: Observation, timeout: float) -> NDArray[np.float64]:
        parameters = self.parameters
        packed = pack(observation, self._instruction, parameters.input)
        packed.update(parameters.extra)
        answer = self.exchange(_nested(packed) if parameters.nested else packed, timeout)
        return unpack(answer, parameters.output, parameters.action)


def _nested(flat: dict[str, Any]) -> dict[str, Any]:
    """Return values with ``a/b`` as key b of the mapping a."""
    tree: dict[str, Any] = {}
    for key, value in flat.items():
        *branches, leaf = key.split("/")
        node = tree
        for branch in branches:
            node = node.setdefault(branch, {})
        node[leaf] = value
    return tree


def check_url(url: str, schemes: tuple[str, ...]) -> None:
    """Refuse an invalid URL of a server.

    Raises:
        ValueError: it has another scheme, no host, or an invalid port.
    """
    try:
        parts = urlsplit(url)
        fits = parts.scheme in schemes and bool(parts.hostname) and parts.port != 0
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(f"`url` such as {schemes[0]}://localhost:8000, not {url!r}")


def read_api_key(variable: str | None, path: Path) -> str | None:
    """Return the secret that an environment variable holds; None without a variable.

    Raises:
        ConfigurationError: the variable is not set.
    """
    if variable is None:
        return None
    key = os.environ.get(variable, "")
    if not key:
        cure = f"export {variable}=… before the session is started; the key itself is never written to a file."
        raise ConfigurationError(
            str(path), "api_key", variable, "the name of an environment variable that is set", cure
        )
    return key


def last_line(text: str) -> str:
    """Return the last line of a server's message that is not empty: of a traceback, the error itself."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "(nothing)"


_EXPECTED = {
    Fault.POLICY_SERVER_LOST: "a running policy server",
    Fault.POLICY_TIMEOUT: "a policy server that answers in time",
    Fault.POLICY_RAISED: "a policy server that accepts this file's input",
}


def server_error(path: Path, url: str, fault: PolicyFault) -> ConfigurationError:
    """Return the error for a server that failed while its policy was loaded."""
    expected = _EXPECTED.get(fault.fault, "a policy server that speaks this protocol")
    cure = "Start the server on the policy's host (docs/remote_policies.md), or correct `url`."
    return ConfigurationError(str(path), "url", url, f"{expected}; {fault.detail}", cure)
