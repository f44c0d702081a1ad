"""Code in the documents: fenced and indented blocks, and commands within a line."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("README.md", "CONTRIBUTING.md", "docs/*.md", "benchmark/README.md")

FENCED = re.compile(r"^(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^(?P=indent)```$", re.DOTALL | re.MULTILINE)
INDENTED = re.compile(r"(?<=\n\n)(?P<text>(?: {4}.*\n)+)")
INLINE = re.compile(r"(?<!`)`(?P<text>[^`\n]+)`(?!`)")
MARKER = re.compile(r"<!-- (?P<word>unchecked|not run): (?P<reason>.+?) -->\n+$", re.DOTALL)
NAME = re.compile(r"\A# (?P<name>[\w./-]+\.\w+)(?=[:\n])")
ASSIGNMENT = re.compile(r"[A-Z_]+=")


@dataclass(frozen=True)
class Snippet:
    """Code of a document.

    Attributes:
        page: the document.
        line: number of its first line there.
        language: of a fenced block; empty if it says none, or is indented.
        text: the code, without the indentation of all.
        marker: `unchecked` or `not run`, if the comment above says that it is; else empty.
        inline: whether it is part of a line, such as a command without its arguments.
    """

    page: Path
    line: int
    language: str
    text: str
    marker: str = ""
    inline: bool = False

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @cached_property
    def name(self) -> str:
        """Name of the file that its first line gives; empty if it gives none."""
        found = NAME.match(self.text)
        return found["name"] if found else ""

    @cached_property
    def commands(self) -> list[list[str]]:
        """Words of each command, in a block that has commands alone; else none."""
        if self.language not in ("", "console", "bash"):
            return []
        lines = self.text.replace("\\\n", " ").splitlines()
        prompted = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
        found = [command for line in prompted or lines if (command := words(line))]
        return found if prompted or all(is_command(command) for command in found) else []

    @cached_property
    def output(self) -> str:
        """What the block says that its commands print; empty without a prompt."""
        lines = self.text.splitlines()
        printed = [line for line in lines if not line.startswith("$ ")]
        return "\n".join(printed) if len(printed) < len(lines) else ""


def words(line: str) -> list[str]:
    """Return the words of a command line, without comment, variables before it, and where its output goes."""
    try:
        found = shlex.split(line, comments=True)
    except ValueError:
        return []
    while found and ASSIGNMENT.match(found[0]):
        del found[0]
    return found[: found.index(">")] if ">" in found else found


PROGRAMS = {
    *("robocontrast", "make", "ros2", "python", "pip", "pytest", "uv", "lerobot-eval", "echo", "export"),
    *("rosdep", "colcon", "rviz2", "sysctl"),
}


def is_command(command: list[str]) -> bool:
    """Return whether words begin with a program."""
    return bool(command) and re.sub(r"3\.\d+$", "", Path(command[0]).name) in PROGRAMS


def snippets() -> list[Snippet]:
    """Return all code of all documents."""
    return [found for pages in PAGES for page in sorted(ROOT.glob(pages)) for found in snippets_of(page)]


def snippets_of(page: Path) -> list[Snippet]:
    """Return all code of a document, blocks first."""
    text = page.read_text(encoding="utf-8")
    found = []
    for kind in (FENCED, INDENTED):
        for block in kind.finditer(text):
            groups, marker = block.groupdict(), MARKER.search(text, 0, block.start())
            width = len(groups["indent"]) if "indent" in groups else 4
            code = "".join(line[width:] or "\n" for line in groups["text"].splitlines(keepends=True))
            line = text.count("\n", 0, block.start("text")) + 1
            word = marker["word"] if marker else ""
            found.append(Snippet(page, line, groups.get("language", ""), code.strip("\n") + "\n", word))
        # What was found is no code of the next kind; lines keep their numbers.
        text = kind.sub(lambda block: "\n" * block[0].count("\n"), text)
    for part in INLINE.finditer(text):
        found.append(Snippet(page, text.count("\n", 0, part.start()) + 1, "", part["text"], inline=True))
    return found
