"""Common parameters of remote policies, their checks, and the error for a server that failed."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import Field

from robocontrast_ros.configuration import ConfigurationError, record, resolve_uri
from robocontrast_ros.configuration.minilm import MINILM
from robocontrast_ros.domain import Fault
from robocontrast_ros.policies.adapters.packing import AdapterParameters, describe
from robocontrast_ros.policies.protocol import Case, PolicyDescription, PolicyFault


@record
class TextParameters:
    """What the model behind a server does with words: key `text` of a remote policy's file."""

    max_tokens: int | None = Field(
        default=None, ge=1, description="tokens of an instruction that it reads, the tokenizer's own marks included"
    )
    tokenizer: str = Field(default="", description="URI of the model's tokenizer.json; empty: no tokens are counted")
    case: Case = Field(default="any", description="lower where capital letters reach it as small ones")
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


def describe_remote(parameters: RemoteParameters, path: Path) -> PolicyDescription:
    """Return the description in the file of a remote policy; a tokenizer's path starts from the file."""
    text = parameters.text
    by_path = text.tokenizer not in ("", MINILM)
    return replace(
        describe(parameters),
        max_tokens=text.max_tokens,
        tokenizer=str(resolve_uri(text.tokenizer, path.parent)) if by_path else text.tokenizer,
        case=text.case,
        accepts_empty=text.accepts_empty,
    )


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


def nest(flat: dict[str, Any], nested: bool) -> dict[str, Any]:
    """Return the values, if ``nested`` with ``a/b`` as key b of the mapping a."""
    if not nested:
        return flat
    tree: dict[str, Any] = {}
    for key, value in flat.items():
        *branches, leaf = key.split("/")
        node = tree
        for branch in branches:
            node = node.setdefault(branch, {})
        node[leaf] = value
    return tree


def last_line(text: str) -> str:
    """Return the last line of a server's message that is not empty: of a traceback, the error itself."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "(nothing)"


_EXPECTED = {
    Fault.POLICY_SERVER_LOST: "a running policy server",
    Fault.POLICY_TIMEOUT: "a policy server that answers in time",
    Fault.POLICY_RAISED: "a policy server that accepts this file's input",
}


def server_error(path: Path, key: str, value: object, fault: PolicyFault, cure: str) -> ConfigurationError:
    """Return the error for a server that failed while its policy was loaded."""
    expected = _EXPECTED.get(fault.fault, "a policy server that speaks this protocol")
    return ConfigurationError(str(path), key, value, f"{expected}; {fault.detail}", cure)
