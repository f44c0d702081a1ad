"""The one error for a user's mistake in a parameter file or on the command line."""

from __future__ import annotations

import difflib
import reprlib
import sysconfig
import traceback
from collections.abc import Iterable
from pathlib import Path

NOTHING = "nothing"
"""The value that errors report for a missing key."""

SHOWN = 200
"""Greatest number of characters of a key or a value in a message."""

LONGEST = 2000
"""Greatest number of characters of an expectation, or of a cure, in a message; known names may be many."""


def cut(text: str, length: int) -> str:
    """Return a text of at most ``length`` characters, with an ellipsis if it was cut."""
    return text if len(text) <= length else text[: length - 1] + "…"


_OF_OTHERS = tuple(
    f"{folder}/"
    for folder in (Path(__file__).resolve().parents[1], *map(sysconfig.get_path, ("stdlib", "purelib", "platlib")))
)
"""Folders of code that is not the user's own: this package's, Python's, and those of installed packages."""


def raised(error: BaseException, located: bool = True) -> str:
    """Return one line about an error in a user's code: type, message, and the last line of the user's own file.

    Args:
        error: the error.
        located: whether the line names the file and its line.
    """
    try:
        message = " ".join(str(error).split())
    except Exception as of_message:  # the error's class is also the user's code
        message = f"its message cannot be read ({type(of_message).__name__})"
    words = cut(f"{type(error).__name__}: {message}" if message else type(error).__name__, LONGEST)
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if _is_users(frame.filename)]
    return f"{words} ({Path(own[-1].filename).name}, line {own[-1].lineno})" if own and located else words


def _is_users(file: str) -> bool:
    return not file.startswith(("<", *_OF_OTHERS))


_REPR = reprlib.Repr()
# Cut long values here already: the repr of a huge value would take long.
_REPR.maxlevel = 4
_REPR.maxdict = _REPR.maxlist = _REPR.maxtuple = 10
_REPR.maxstring = _REPR.maxother = _REPR.maxlong = SHOWN


class ConfigurationError(ValueError):
    """A mistake in a user's file or command; the message says where it is, what it is, and how to correct it."""

    def __init__(self, source: str, key: str, got: object, expected: str, cure: str = "") -> None:
        """Name the mistake.

        Args:
            source: the file, or the command line's option.
            key: dotted path of the key in that file; empty for the file as a whole.
            got: the value that was found.
            expected: description of a right value.
            cure: what to do, as a sentence.
        """
        where = f"{source}: `{cut(key, SHOWN)}`" if key else source
        words = f"{where}: got {cut(_REPR.repr(got), SHOWN)}, expected {cut(expected, LONGEST)}."
        super().__init__(f"{words} {cut(cure, LONGEST)}" if cure else words)
        self.source, self.key, self.got, self.expected, self.cure = source, key, got, expected, cure

    @classmethod
    def not_installed(cls, key: str, got: str, package: str, extra: str, error: ImportError) -> ConfigurationError:
        """Return the error for a command that needs a package which an extra of this one brings."""
        cure = f"Install `robocontrast_ros[{extra}]`, or `pip install {package}`. Python says: {error}."
        return cls("command line", key, got, f"the package {package}", cure)

    def __reduce__(self) -> tuple[type, tuple[str, str, object, str, str]]:
        """Make the error fit for pickling between processes."""
        return type(self), (self.source, self.key, self.got, self.expected, self.cure)

    @classmethod
    def unknown(
        cls, source: str, key: str, got: str, known: Iterable[str], kind: str, cure: str = ""
    ) -> ConfigurationError:
        """Return the error for a name that is not among the known ones.

        Args:
            source: the file, or the command line's option.
            key: its key there.
            got: the name.
            known: the known ones.
            kind: kind of the known names, for "a known …".
            cure: what to do if no known name is close.
        """
        names = sorted(known)
        close = nearest(str(got), names)
        cure = f"Did you mean '{close}'?" if close else cure
        return cls(source, key, got, f"a known {kind}: {', '.join(names) or '(none)'}", cure)


NEAR = 0.65
"""Least similarity, by ``difflib``, of a word to the one that is taken to be meant: `serve` for `merge` has 0.6."""


def nearest(word: str, known: Iterable[str]) -> str:
    """Return the known word that somebody may have meant; empty if none is near, or the words are short and differ.

    A word that differs only by small and capital letters is the nearest.
    """
    alike = {name.lower(): name for name in known}
    close = difflib.get_close_matches(word[:SHOWN].lower(), alike, n=1, cutoff=NEAR)
    return alike[close[0]] if close else ""
