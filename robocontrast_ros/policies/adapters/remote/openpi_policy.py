"""A policy behind a server that speaks openpi's protocol: websocket and msgpack.

Source: Physical-Intelligence/openpi, ``websocket_policy_server.py`` and ``websocket_client_policy.py``: on connecting
the server sends a mapping of metadata; then it answers each packed observation with a packed mapping, or with a
text, which is an error. The protocol has neither a reset nor a seed.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from robocontrast_ros.configuration import ConfigurationError, record
from robocontrast_ros.domain import Fault
from robocontrast_ros.policies.adapters.remote.server_policy import (
    ServerParameters,
    ServerPolicy,
    check_url,
    server_error,
)
from robocontrast_ros.policies.protocol import PolicyFault

if TYPE_CHECKING:
    from robocontrast_ros.policies.adapters.remote.openpi_connection import OpenpiConnection


@record
class OpenpiParameters(ServerParameters):
    """The file config/policies/openpi.yaml."""

    metadata: dict[str, Any] = Field(
        default_factory=dict, description="metadata that the server must send on connecting"
    )
    reset: dict[str, Any] | None = Field(
        default=None,
        description="message, answered before the first observation of each trial, together with the "
        "instruction; for servers that know one (openpi's own does not)",
    )
    seed: str | None = Field(default=None, min_length=1, description="key of the trial's seed in the message `reset`")

    def __post_init__(self) -> None:
        """Refuse an invalid URL, and a seed without a message for it."""
        check_url(self.url, ("ws", "wss"))
        if self.seed is not None and self.reset is None:
            raise ValueError("`seed` only with `reset`: openpi's protocol has no seed of its own")


class OpenpiPolicy(ServerPolicy):
    """Sends observations to a server over one connection per session; it answers with actions."""

    PARAMETERS = OpenpiParameters
    parameters: OpenpiParameters

    def __init__(self, parameters: OpenpiParameters, path: Path) -> None:
        """Connect to the server in a parameter file, and compare its metadata with the file.

        Raises:
            ConfigurationError: the file does not fit, no server answers, or its metadata contradict the file.
        """
        super().__init__(parameters, path)
        self._connection: OpenpiConnection | None = None
        try:
            connection = self._connect()
        except PolicyFault as fault:
            raise server_error(path, parameters.url, fault) from None
        for key, got, expected in self._differences(connection.metadata):
            connection.close()
            cure = f"The server says {got!r}; start the server of the checkpoint that the file describes."
            raise ConfigurationError(str(path), key, expected, "the server's own metadata", cure)
        self._connection = connection

    @property
    def metadata(self) -> dict[str, Any]:
        """The server's metadata; empty without a connection."""
        return self._connection.metadata if self._connection else {}

    def reset(self, instruction: str, seed: int) -> None:
        """Begin a trial: reconnect if the connection was lost; send the message `reset` if there is one.

        Raises:
            PolicyFault: the server cannot be reached, its metadata contradict the file, or it fails.
        """
        parameters = self.parameters
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
            self.exchange(message, parameters.timeout)

    def exchange(self, message: dict[str, Any], timeout: float) -> Any:
        """Send a message and return the answer.

        Raises:
            PolicyFault: by the table in docs/remote_policies.md; the connection is then closed until the next
                reset.
        """
        if self._connection is None:
            raise self._fault
        try:
            return self._connection.exchange(message, timeout)
        except PolicyFault as fault:
            self._connection, self._fault = None, fault
            raise

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _connect(self) -> OpenpiConnection:
        # It needs websockets, which a description does not.
        from robocontrast_ros.policies.adapters.remote.openpi_connection import OpenpiConnection

        limits = (self.parameters.connect_timeout, self.parameters.timeout)
        return OpenpiConnection(self.parameters.url, self._key, *limits)

    def _differences(self, metadata: dict[str, Any]) -> list[tuple[str, Any, Any]]:
        """Return (key, server's value, file's value) of each key of the file that the server's metadata contradict."""
        parameters = self.parameters
        pairs = [(f"metadata.{key}", metadata.get(key), value) for key, value in parameters.metadata.items()]
        pairs += [("action.space", metadata[k], parameters.action.space) for k in ("action_space",) if k in metadata]
        if not parameters.output.columns:
            sizes = [k for k in ("action_size", "action_dim") if k in metadata]
            pairs += [("action.size", metadata[k], parameters.action.size) for k in sizes]
        lengths = [k for k in ("chunk_length", "action_horizon") if k in metadata]
        pairs += [("chunk.length", metadata[k], parameters.chunk.length) for k in lengths]
        return [(key, _plain(got), wanted) for key, got, wanted in pairs if _plain(got) != wanted]


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value
