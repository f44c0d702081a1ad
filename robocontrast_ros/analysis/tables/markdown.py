"""Tables in Markdown documents."""

from __future__ import annotations

from robocontrast_ros.analysis.tables.block import TableBlock


def markdown(block: TableBlock) -> str:
    """Return a table; its title and its note are left to the document around it."""
    group = [block.group.name] if block.group else []
    head = [*group, *(one.heading for one in block.shown)]
    body = [[*([heading] if group else []), *line.cells] for heading, lines in block.lines() for line in lines]
    lines = [head, ["---"] * len(head), *([cell.replace("|", "\\|") for cell in line] for line in body)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
