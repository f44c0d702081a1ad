"""A policy behind a web server that answers a POST of JSON with actions, like OpenVLA's server at ``/act``.

Source: openvla/openvla, ``vla-scripts/deploy.py`` (arrays as the package ``json_numpy`` writes them; a payload of one
key `encoded` for clients that cannot; the text ``error`` in place of an answer).
"""

from __future__ import annotations

import base64
import binascii
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from robocontrast_ros.configuration import ConfigurationError, record
from robocontrast_ros.domain import Fault
from robocontrast_ros.policies.adapters.remote.openpi_wire import MOST_VALUES, array_type
from robocontrast_ros.policies.adapters.remote.server_policy import (
    ServerParameters,
    ServerPolicy,
    check_url,
    last_line,
    server_error,
)
from robocontrast_ros.policies.protocol import PolicyFault

if TYPE_CHECKING:
    from robocontrast_ros.policies.adapters.remote.http_connection import HttpClient


@record
class HttpParameters(ServerParameters):
    """The file config/policies/http.yaml; `api_key` is sent as a Bearer token."""

    encoding: Literal["json_numpy", "lists"] = Field(
        default="json_numpy",
        description="format of arrays: that of the package json_numpy, or lists",
    )
    double_encoded: bool = Field(
        default=False, description="whether the payload is JSON in JSON, under the one key `encoded`"
    )
    reset_url: str | None = Field(
        default=None,
        description="receives {instruction, seed} when a trial begins; for servers with a state",
    )

    def __post_init__(self) -> None:
        check_url(self.url, ("http", "https"))
        if self.reset_url is not None:
            check_url(self.reset_url, ("http", "https"))


class HttpPolicy(ServerPolicy):
    """Posts observations to a server, which answers with actions."""

    PARAMETERS = HttpParameters
    parameters: HttpParameters

    def __init__(self, parameters: HttpParameters, path: Path) -> None:
        """Check that a web server answers at the file's URL.

        Raises:
            ConfigurationError: the file does not fit, or no server answers.
        """
        super().__init__(parameters, path)
        self._client = self._connect()
        try:
            # The server computes nothing for it, and any status shows that it is there.
            status, _ = self._client.request("HEAD", parameters.url, None, parameters.connect_timeout)
        except PolicyFault as fault:
            self.close()
            raise server_error(path, parameters.url, fault) from None
        if status in (401, 403):
            self.close()
            raise ConfigurationError(
                str(path),
                "api_key",
                parameters.api_key,
                f"a key that the server accepts; it answered HTTP {status}",
                "Name the environment variable that holds the key of this server.",
            )

    def reset(self, instruction: str, seed: int) -> None:
        """Begin a trial on a new connection; notify the server if the file has a `reset_url`.

        Raises:
            PolicyFault: the server failed.
        """
        parameters = self.parameters
        # Servers close idle connections, and an observation could be lost on a closing one.
        self._client.close()
        self._client = self._connect()
        self._instruction, self._fault = instruction, None
        if parameters.reset_url is not None:
            message = {parameters.input.instruction: instruction, "seed": seed}
            self._post(parameters.reset_url, message, parameters.timeout)

    def exchange(self, message: dict[str, Any], timeout: float) -> Any:
        """Post an observation and return the answer.

        Raises:
            PolicyFault: by the table in docs/remote_policies.md; nothing more is posted until the next reset.
        """
        return decode(self._post(self.parameters.url, message, timeout))

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _connect(self) -> HttpClient:
        # It needs requests, which a description does not.
        from robocontrast_ros.policies.adapters.remote.http_connection import HttpClient

        return HttpClient(self._key, self.parameters.connect_timeout)

    def _post(self, url: str, message: dict[str, Any], timeout: float) -> bytes:
        if self._fault is not None:
            raise self._fault
        body = encode(message, self.parameters.encoding, self.parameters.double_encoded)
        try:
            status, answer = self._client.request("POST", url, body, timeout)
            if status // 100 != 2:
                said = last_line(answer.decode("utf-8", "replace"))
                raise PolicyFault(Fault.POLICY_RAISED, f"{url} answered HTTP {status}: {said}")
        except PolicyFault as fault:
            self._fault = fault
            raise
        return answer


def encode(message: dict[str, Any], encoding: str, double: bool) -> bytes:
    """Return a message as JSON, with arrays in the server's format."""
    default = _as_numpy if encoding == "json_numpy" else np.ndarray.tolist
    text = json.dumps(message, default=default, separators=(",", ":"))
    return (json.dumps({"encoded": text}) if double else text).encode()


def decode(body: bytes) -> Any:
    """Return the content of an answer: JSON, or JSON in a JSON string.

    Raises:
        PolicyFault: POLICY_RAISED for a text instead of an answer, such as OpenVLA's ``error``; POLICY_UNREADABLE
            for bytes that are not JSON.
    """
    answer = _loads(body)
    if isinstance(answer, str):
        try:
            answer = _loads(answer)
        except PolicyFault:
            said = last_line(answer)
            raise PolicyFault(Fault.POLICY_RAISED, f"the server says: {said} (its log says more)") from None
    return answer


def _loads(text: bytes | str) -> Any:
    # Each value comes after one of these; the numbers of an array in json_numpy's format do not.
    values = sum(text.count(mark if isinstance(text, str) else mark.encode()) for mark in "[{,")
    if values > MOST_VALUES:
        raise PolicyFault(Fault.POLICY_UNREADABLE, f"got {len(text)} bytes with more than {MOST_VALUES} values")
    try:
        return json.loads(text, object_hook=_from_numpy)
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError, binascii.Error) as error:
        detail = f"got {len(text)} bytes that are not JSON, or hold no array: {error}"
        raise PolicyFault(Fault.POLICY_UNREADABLE, detail) from None


def _as_numpy(array: NDArray[Any]) -> dict[str, Any]:
    data = base64.b64encode(np.ascontiguousarray(array).data).decode("ascii")
    return {"__numpy__": data, "dtype": array.dtype.str, "shape": array.shape}


def _from_numpy(value: dict[str, Any]) -> Any:
    if "__numpy__" not in value:
        return value
    return np.frombuffer(base64.b64decode(value["__numpy__"]), array_type(value["dtype"])).reshape(value["shape"])
