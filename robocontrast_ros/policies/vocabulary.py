"""The vocabulary of a policy's training: the words of a text file that its parameter file names."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from robocontrast_ros.configuration import ConfigurationError, read_yaml, resolve_uri
from robocontrast_ros.system.disk import write_file

KEY = "vocabulary"
"""Key of every policy's parameter file: URI of the file with the words."""

FILE = "vocabulary.txt"
"""Name of such a file beside the checkpoints of a training."""

_EXPECTED = "URI of a text file in UTF-8 with one word or expression a line, or no such key"


def declared_words(file: Path) -> tuple[str, ...]:
    """Return the words of the vocabulary that a policy's parameter file names, in small letters, in their order.

    An expression counts as its words. None of them if the file names no vocabulary.

    Args:
        file: the parameter file; a relative path in it starts from its folder.

    Raises:
        ConfigurationError: the file with the words cannot be read, or has none.
    """
    content = read_yaml(file)
    named = content.get(KEY) if isinstance(content, dict) else None
    if named is None or named == "":
        return ()
    if not isinstance(named, str):
        raise ConfigurationError(str(file), KEY, named, _EXPECTED, "Write the words into a file of their own.")
    path = resolve_uri(named, file.parent)
    try:
        words = path.read_text(encoding="utf-8-sig").lower().split()
    except (OSError, ValueError) as error:  # no UTF-8, or no path at all
        reason = getattr(error, "strerror", None) or error
        raise ConfigurationError(str(file), KEY, named, _EXPECTED, f"{path}: {reason}.") from None
    if not words:
        raise ConfigurationError(str(file), KEY, named, _EXPECTED, f"{path} has no words: write them, one a line.")
    return tuple(dict.fromkeys(words))


def write_vocabulary(folder: Path, expressions: Iterable[str]) -> Path:
    """Write the vocabulary of a training into its folder, one word or expression a line, sorted; return the file.

    Raises:
        DiskError: it cannot be written.
    """
    path = folder / FILE
    write_file(path, "".join(f"{expression}\n" for expression in sorted(set(expressions))))
    return path
