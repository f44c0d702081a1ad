"""Make and describe a policy: any failure of its class becomes one error that names its file and cause."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from robocontrast_ros.configuration import (
    ConfigurationError,
    find_configured,
    make_configured,
    parse_record,
    read_yaml,
)
from robocontrast_ros.configuration.errors import raised
from robocontrast_ros.policies.protocol import PolicyDescription, PolicyFault
from robocontrast_ros.policies.vocabulary import declared_words


def description_by_file(maker: Any, file: Path) -> PolicyDescription | None:
    """Return the description by the parameter file alone; None if the class has no ``describe_file``.

    Args:
        maker: the class, from ``find_configured``.
        file: the parameter file.

    Raises:
        ConfigurationError: it raises, or returns no description.
    """
    with own_code(file, "is described by its file"):
        function = getattr(maker, "describe_file", None)
        return None if function is None else checked(function(file), file, "describe_file()")


def load_and_describe(maker: Any, file: Path) -> PolicyDescription:
    """Load the policy that a parameter file describes, return its description, and close it.

    Args:
        maker: the class, from ``find_configured``.
        file: the parameter file.

    Raises:
        ConfigurationError: it cannot be loaded, or does not describe itself.
    """
    with own_code(file, "is loaded"):
        policy = make_configured("policies", maker, file)
    try:
        with own_code(file, "describes itself"):
            return checked(policy.describe(), file, "describe()")
    finally:
        # It is not used again: how it ends does not matter.
        with contextlib.suppress(ConfigurationError), own_code(file, "is closed"):
            getattr(policy, "close", lambda: None)()


def describe(file: Path, load: Callable[[Any, Path], PolicyDescription] = load_and_describe) -> PolicyDescription:
    """Return the description of the policy of a parameter file; it is loaded if it has no ``describe_file``.

    Args:
        file: the parameter file.
        load: function that loads and describes it, as ``load_and_describe`` does.

    Raises:
        ConfigurationError: as the functions above.
    """
    maker = find_configured("policies", file)
    return description_by_file(maker, file) or load(maker, file)


@contextlib.contextmanager
def own_code(file: Path, what: str) -> Iterator[None]:
    """Turn any exception of a user's code in this context, except Ctrl-C, into a ``ConfigurationError``.

    Args:
        file: the policy's parameter file.
        what: the policy's action in it, in words that follow "a policy that".
    """
    try:
        yield
    except (ConfigurationError, KeyboardInterrupt):
        raise
    except BaseException as error:  # even SystemExit, which argparse raises
        raise failed(file, what, error) from error


def failed(file: Path, what: str, error: BaseException, located: bool = True) -> ConfigurationError:
    """Return the error for an exception of a user's code, with its file and line if ``located``; see ``own_code``."""
    cause = error.detail if isinstance(error, PolicyFault) else raised(error, located)
    return ConfigurationError(str(file), "policy", named_in(file), f"a policy that {what}", f"It raised {cause}.")


def named_in(file: Path) -> object:
    """Return the policy that a parameter file names."""
    content = read_yaml(file)
    return content.get("policy") if isinstance(content, dict) else content


def checked(told: Any, file: Path, method: str) -> PolicyDescription:
    """Return the checked description that a policy's method returned, with the vocabulary that the file names.

    Raises:
        ConfigurationError: it is none, or has impossible values, or the vocabulary cannot be read.
    """
    if not isinstance(told, PolicyDescription):
        expected = f"a policy whose {method} returns a PolicyDescription"
        raise ConfigurationError(str(file), "policy", named_in(file), expected, f"It returned {type(told).__name__}.")
    # User code makes it: names in a list, a numpy integer.
    description = parse_record(PolicyDescription, vars(told), f"{file}: {method}")
    words = declared_words(file)
    return replace(description, vocabulary=words) if words else description
