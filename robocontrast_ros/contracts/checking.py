"""Reports of a contract that a promise is broken, or that there is nothing to check."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, NoReturn, TypeVar
from unittest import SkipTest

from robocontrast_ros.configuration.plugins import members, singular

Result = TypeVar("Result")


def promise(kept: object, words: str) -> None:
    """Fail the test unless a promise is kept.

    Args:
        kept: whether it is kept.
        words: the promise, and the finding instead.

    Raises:
        AssertionError: it is not kept. Unlike ``assert``, this also works under ``python -O``.
    """
    if not kept:
        raise AssertionError(words)


def has_all(kind: str, found: object) -> None:
    """Check that a plug-in's class, or its instance, has all members of the Protocol of its kind."""
    names = members(kind)[0 if isinstance(found, type) else 1]
    lacks = [name for name in names if not hasattr(found, name)]
    promise(not lacks, f"a {singular(kind)} has {', '.join(names)}; it lacks {', '.join(lacks)}")


def nothing_to_check(why: str) -> NoReturn:
    """Skip the test, with the reason."""
    raise SkipTest(why)


def refuses(call: Callable[[], object], error: type[Exception], words: str) -> str:
    """Return the message with which a call refuses its input.

    Raises:
        AssertionError: it raises another error, or none.
    """
    try:
        answer = call()
    except error as refusal:
        return str(refusal)
    except Exception as other:  # the tested code may raise anything
        raise AssertionError(f"{words}; it raises {type(other).__name__}: {other}") from other
    raise AssertionError(f"{words}; it answers {answer!r}")


def once(method: Callable[[Any], Result]) -> Callable[[Any], Result]:
    """Compute a method's value once for each test class; pytest makes a new object of it for each test."""
    name = f"_once_{method.__name__}"

    @wraps(method)
    def get(self: Any) -> Result:
        owner = type(self)
        if name not in vars(owner):
            setattr(owner, name, method(self))
        return vars(owner)[name]

    return get
