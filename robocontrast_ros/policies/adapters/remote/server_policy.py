"""Base of policies behind a server, whatever its protocol."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import Self

from robocontrast_ros.configuration import load_record, record
from robocontrast_ros.policies.adapters.packing import (
    check_sizes,
    made_up_observation,
    pack,
    unpack,
)
from robocontrast_ros.policies.adapters.remote.parameters import RemoteParameters, describe_remote, nest, read_api_key
from robocontrast_ros.policies.protocol import Observation, PolicyDescription

SERVER_CURE = "Start the server on the policy's host (docs/remote_policies.md), or correct `url`."


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
        return describe_remote(load_record(cls.PARAMETERS, path), path)

    @classmethod
    def needs(cls, path: Path) -> tuple[str, ...]:
        """Name the server."""
        return (f"server {load_record(cls.PARAMETERS, path).url}",)

    def describe(self) -> PolicyDescription:
        """Return the description in the file."""
        return describe_remote(self.parameters, self._path)

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
        answer = self.exchange(nest(packed, parameters.nested), timeout)
        return unpack(answer, parameters.output, parameters.action)
