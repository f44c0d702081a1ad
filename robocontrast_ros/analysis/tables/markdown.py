"""Tables in Markdown documents."""

from __future__ import annotations

from robocontrast_ros.analysis.tables.block import TableBlock


def markdown(block: TableBlock) -> str:
    """Return a table; its title and its note are left to the document around it."""
    group = [block.group.name] if block.group else []
    head = [*group, *(one.heading for one in block.shown)]
    body = [[*([heading] if group else []), *line.cells] for heading, lines in block.lines() for line in lines]
    cells = [head, *([cell.replace("|", "\\|") for cell in line] for line in body)]
    first, *lines = (f"| {' | '.join(line)} |" for line in cells)
    return "\n".join([first, "|---" * len(head) + "|", *lines])
