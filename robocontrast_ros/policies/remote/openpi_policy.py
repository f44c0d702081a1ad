"""A policy behind a server that speaks openpi's protocol: websocket and msgpack.

Source: Physical-Intelligence/openpi, ``websocket_policy_server.py`` and ``websocket_client_policy.py``: on connecting
the server sends a mapping of metadata; then one packed observation is answered with one packed mapping, or with a
text, which is an error. The protocol knows neither a reset nor a seed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from robocontrast_ros.configuration import ConfigurationError, load_record, record
from robocontrast_ros.domain import Fault
from robocontrast_ros.policies.packing import check_sizes, made_up_observation, pack, unpack
from robocontrast_ros.policies.protocol import Observation, PolicyDescription, PolicyFault
from robocontrast_ros.policies.remote.openpi_connection import OpenpiConnection
from robocontrast_ros.policies.remote.parameters import (
    RemoteParameters,
    check_url,
    described,
    nest,
    read_api_key,
    refusal,
)

_CURE = "Start the server on the policy's host (docs/remote_policies.md), or mend `url`."


@record
class OpenpiParameters(RemoteParameters):
    """The file config/policies/openpi.yaml."""

    url: str = Field(description="of the server: ws://host:port, or wss://… through TLS")
    api_key: str | None = Field(
        default=None, min_length=1, description="environment variable that holds the server's key"
    )
    nested: bool = Field(
        default=False, description="whether a key a/b of the input means the key b in the mapping a"
    )
    extra: dict[str, Any] = Field(
        default_factory=dict, description="sent with every observation as it stands"
    )
    metadata: dict[str, Any] = Field(
        default_factory=dict, description="what the server must say of itself on connecting"
    )
    reset: dict[str, Any] | None = Field(
        default=None,
        description="message, answered before the first observation of each trial, together with the "
        "instruction; for servers that know one (openpi's own does not)",
    )
    seed: str | None = Field(
        default=None, min_length=1, description="key of the trial's seed in the message `reset`"
    )

    def __post_init__(self) -> None:
        """Refuse what is no URL, and a seed that nothing carries."""
        check_url(self.url, ("ws", "wss"))
        if self.seed is not None and self.reset is None:
            raise ValueError("`seed` only with `reset`: openpi's protocol has no seed of its own")


class OpenpiPolicy:
    """Observations go to a server; what it answers are the actions."""

    def __init__(self, parameters: OpenpiParameters, path: Path) -> None:
        """Connect to the server that a parameter file names, and compare what both say.

        Raises:
            ConfigurationError: the file does not fit, nobody answers, or the server says something else than the
                file.
        """
        check_sizes(path, parameters.action, parameters.input, parameters.output)
        self._parameters, self._path = parameters, path
        self._api_key = read_api_key(parameters.api_key, path)
        self._instruction: str | None = None
        self._connection: OpenpiConnection | None = None
        self._fault = PolicyFault(
            Fault.POLICY_RAISED, "act before reset; call reset(instruction, seed) first"
        )
        try:
            connection = self._connect()
        except PolicyFault as fault:
            raise refusal(path, "url", parameters.url, fault, _CURE) from None
        for key, got, expected in self._differences(connection.metadata):
            connection.close()
            cure = f"The server says {got!r}; start the server of the checkpoint that the file describes."
            raise ConfigurationError(str(path), key, expected, "what the server says of itself", cure)
        self._connection = connection

    @classmethod
    def from_file(cls, path: Path) -> OpenpiPolicy:
        """Return the policy that a parameter file describes, connected.

        Raises:
            ConfigurationError: as the constructor's.
        """
        return cls(load_record(OpenpiParameters, path), path)

    @classmethod
    def describe_file(cls, path: Path) -> PolicyDescription:
        """Return what the file says of its policy, without a server.

        Raises:
            ConfigurationError: the file does not fit.
        """
        return described(load_record(OpenpiParameters, path))

    @classmethod
    def needs(cls, path: Path) -> tuple[str, ...]:
        """Name the server."""
        return (f"server {load_record(OpenpiParameters, path).url}",)

    def describe(self) -> PolicyDescription:
        """Say what the file says."""
        return described(self._parameters)

    @property
    def metadata(self) -> dict[str, Any]:
        """What the server said of itself; empty without a connection."""
        return self._connection.metadata if self._connection else {}

    def reset(self, instruction: str, seed: int) -> None:
        """Begin a trial: connect anew where the connection was lost; send the message `reset` if there is one.

        Raises:
            PolicyFault: the server cannot be reached, says something else of itself than the file, or fails.
        """
        parameters = self._parameters
        self._instruction = instruction
        if self._connection is None or not self._connection.open:
            self._connection = None
            connection = self._connect()
            for key, got, expected in self._differences(connection.metadata):
                connection.close()
                detail = f"{parameters.url} is another server than before: {key} is {got!r}, not {expected!r}"
                raise PolicyFault(Fault.POLICY_SERVER_LOST, detail)
            self._connection = connection
        if parameters.reset is not None:
            message = {**parameters.reset, parameters.input.instruction: instruction}
            if parameters.seed is not None:
                message[parameters.seed] = seed
            self._exchange(message, parameters.timeout)

    def act(self, observation: Observation) -> NDArray[np.float64]:
        """Return the server's next actions, shape (n, size), SI units.

        Raises:
            PolicyFault: by the table in docs/remote_policies.md. After one, the connection is closed until the
                next reset.
        """
        return self._ask(observation, self._parameters.timeout)

    def warm_up(self) -> None:
        """Ask for one answer on made-up input: an openpi server compiles its model then, which takes minutes.

        Raises:
            PolicyFault: as ``act``'s, within the limit `warm_up_timeout`.
        """
        self.reset("", 0)
        self._ask(made_up_observation(self._parameters.input), self._parameters.warm_up_timeout)

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _connect(self) -> OpenpiConnection:
        limits = (self._parameters.connect_timeout, self._parameters.timeout)
        return OpenpiConnection(self._parameters.url, self._api_key, *limits)

    def _ask(self, observation: Observation, timeout: float) -> NDArray[np.float64]:
        parameters = self._parameters
        packed = pack(observation, self._instruction or "", parameters.input)
        packed.update(parameters.extra)
        answer = self._exchange(nest(packed, parameters.nested), timeout)
        return unpack(answer, parameters.output, parameters.action)

    def _exchange(self, message: dict[str, Any], timeout: float) -> Any:
        if self._connection is None:
            raise self._fault
        try:
            return self._connection.exchange(message, timeout)
        except PolicyFault as fault:
            self._connection, self._fault = None, fault
            raise

    def _differences(self, metadata: dict[str, Any]) -> list[tuple[str, Any, Any]]:
        """Return (key of the file, what the server says, what the file says) where they contradict each other."""
        parameters = self._parameters
        pairs = [(f"metadata.{key}", metadata.get(key), value) for key, value in parameters.metadata.items()]
        pairs += [
            ("action.space", metadata[k], parameters.action.space) for k in ("action_space",) if k in metadata
        ]
        if not parameters.output.columns:
            sizes = [k for k in ("action_size", "action_dim") if k in metadata]
            pairs += [("action.size", metadata[k], parameters.action.size) for k in sizes]
        lengths = [k for k in ("chunk_length", "action_horizon") if k in metadata]
        pairs += [("chunk.length", metadata[k], parameters.chunk.length) for k in lengths]
        return [(key, _plain(got), wanted) for key, got, wanted in pairs if _plain(got) != wanted]


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value
