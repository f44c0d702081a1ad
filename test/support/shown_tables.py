"""Tables that a command printed, read back."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len


def shown_rows(output: str, headings: Sequence[str]) -> list[list[str]]:
    """Return the lines of a table below its heading, each cut into cells; the table ends at an empty or a last line.

    Args:
        output: of a command in a terminal that is wide enough.
        headings: of the table, in one line.
    """
    lines = output.splitlines()
    head = next(n for n, line in enumerate(lines) if line.split() == " ".join(headings).split())
    starts = []
    for heading in headings:
        starts.append(lines[head].index(heading, starts[-1] + 1 if starts else 0))
    ends = [*starts[1:], None]
    # Wide letters would stand in two columns.
    assert all(cell_len(line) == len(line) for line in lines)
    return [[line[a:b].strip() for a, b in zip(starts, ends, strict=True)] for line in lines[head + 1 :]]
