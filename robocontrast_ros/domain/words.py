"""Numbers with their nouns, names of objects, and any text on one line."""

SHOWN = 200
"""Characters of a text that a line shows."""


def counted(number: int, one: str, several: str = "") -> str:
    """Return a number with its noun, ``1 trial`` or ``2 trials``.

    Args:
        number: the number.
        one: the noun after a single one.
        several: the noun after none, and after more than one; ``one`` with an s if empty.
    """
    return f"{number} {one if number == 1 else several or one + 's'}"


def name_in_words(name: str) -> str:
    """Return the name of an object as a person reads it, ``blue cube``; of a part, ``top drawer of the cabinet``."""
    whole, _, part = name.replace("_", " ").rpartition("/")
    return f"{part} of the {whole}" if whole else part


def on_one_line(text: str, most: int = SHOWN) -> str:
    """Return a text as one line of a terminal: characters that are not printable are escaped.

    Args:
        text: any text.
        most: greatest number of its characters; the rest becomes an ellipsis.
    """
    cut = text[: most - 1] + "…" if len(text) > most else text
    return "".join(character if character.isprintable() else _escaped(character) for character in cut)


_JOINER = "\u200d"
"""Character that joins two pictographs to one, and controls nothing else."""


def _escaped(character: str) -> str:
    return character if character == _JOINER else character.encode("unicode_escape").decode("ascii")
