"""Numbers with their nouns."""


def counted(number: int, one: str, several: str = "") -> str:
    """Return a number with its noun, ``1 trial`` or ``2 trials``.

    Args:
        number: how many there are.
        one: what follows a single one.
        several: what follows none, and more than one; ``one`` with an s when empty.
    """
    return f"{number} {one if number == 1 else several or one + 's'}"
