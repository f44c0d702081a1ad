r"""Put values from results into Markdown documents, where a comment asks for them.

    <!--{ expression }-->its value<!--{}-->

The expression is Jinja's; the functions of ``tables`` and ``shift_tables`` are known in it, and the macros of
``sentences.md.j2``. GitHub shows only what stands between the two comments. Where the first comment has a line of its
own, the value is a block: tables, lists and paragraphs, which are wrapped. Within a line, no comment may begin the
line, because Markdown then takes all of that line as HTML.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from pathlib import Path

import jinja2

from scripts.documents import shift_tables, tables
from scripts.documents.results import ROOT

MARKED = re.compile(r"<!--\{(?P<expression>(?!\}-->).+?)\}-->(?P<text>.*?)<!--\{\}-->", re.DOTALL)
WIDTH = 120
DOCUMENTS = ("README.md", "docs/*.md", "models/*/README.md")


class RenderingError(Exception):
    """An expression of a document cannot be evaluated; the message names file and line."""


def documents(root: Path = ROOT) -> list[Path]:
    """Return the documents that have expressions."""
    files = sorted({file for pattern in DOCUMENTS for file in root.glob(pattern)})
    return [file for file in files if "<!--{" in file.read_text(encoding="utf-8")]


def _environment() -> jinja2.Environment:
    loader = jinja2.FileSystemLoader(Path(__file__).parent)
    environment = jinja2.Environment(
        loader=loader,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
    )
    for module in (tables, shift_tables):
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if not name.startswith("_"):
                environment.globals[name] = function
    macros = environment.get_template("sentences.md.j2").module
    environment.globals |= {name: macro for name, macro in vars(macros).items() if not name.startswith("_")}
    return environment


def render(text: str, name: str) -> str:
    """Return a document with the values of its expressions.

    Args:
        text: the document.
        name: of its file, for messages.

    Raises:
        RenderingError: an expression cannot be evaluated, or a comment is where it may not be.
    """
    environment = _environment()
    number = text.count("<!--{") - text.count("<!--{}-->")

    def replaced(match: re.Match[str]) -> str:
        expression, before = match["expression"].strip(), text[: match.start()]
        where = f"{name}, line {before.count(chr(10)) + 1}"
        block = match["text"].startswith("\n")
        if not block and (not before or before.endswith("\n")):
            raise RenderingError(
                f"{where}: got a comment that begins a line, expected one within it, or on a line of its own"
            )
        try:
            found = environment.from_string("{{ " + expression + " }}").render()
        except FileNotFoundError as error:
            raise RenderingError(f"{where}: there is no {Path(error.filename).name}; make docs-all makes it") from None
        except Exception as error:
            raise RenderingError(f"{where}: '{expression}': {type(error).__name__}: {error}") from error
        opening = f"<!--{{{match['expression']}}}-->"
        return f"{opening}\n\n{wrapped(found)}\n\n<!--{{}}-->" if block else f"{opening}{found.strip()}<!--{{}}-->"

    rendered, replacements = MARKED.subn(replaced, text)
    if replacements != number:
        raise RenderingError(
            f"{name}: got {number} comments <!--{{ … }}--> and {replacements} ends <!--{{}}--> of them"
        )
    return rendered


def wrapped(text: str) -> str:
    """Return Markdown with its paragraphs filled; lists and tables stay as they are."""
    parts = []
    for part in re.split(r"\n{2,}", text.strip()):
        plain = not re.match(r"\s*([|#!>-]|\d+\.)", part)
        parts.append(
            textwrap.fill(" ".join(part.split()), WIDTH, break_long_words=False, break_on_hyphens=False)
            if plain
            else part
        )
    return "\n\n".join(parts)
