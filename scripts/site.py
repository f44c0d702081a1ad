"""Build the documentation site: the pages of docs/, and a reference that is made from the code.

    .venv/bin/python -m scripts.site          # pages into build/site/pages; `make site` also builds build/site/html

The text of the pages is that of docs/ and README.md; a link that leads out of the site becomes the name of its file.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from pydantic import TypeAdapter
from typer.cli import get_docs_for_click

from robocontrast_ros.analysis.tables.block import plain
from robocontrast_ros.analysis.tables.markdown import markdown
from robocontrast_ros.cli.main import app
from robocontrast_ros.configuration.plugins import registered
from robocontrast_ros.perturbations.loading import load_perturbation, perturbation_names
from robocontrast_ros.sessions.schema import SessionParameters

ROOT = Path(__file__).resolve().parent.parent
INTERFACES = {"msg": "Messages", "srv": "Services", "action": "Actions"}
"""Folder of interface files -> heading."""

STYLE = re.compile(r"\[(?:/|bold|cyan)\]")
"""Rich's marks in the text of a command."""

LINK = re.compile(r"\[([^]]*)\]\((?!https?:|#)([^)\s#]+)(#[^)\s]+)?\)")


def main() -> int:
    """Write all pages, with a sample report in the gallery."""
    site = ROOT / "build" / "site"
    write(site / "pages")
    shutil.rmtree(site / "runs", ignore_errors=True)
    robocontrast = (sys.executable, "-c", "from robocontrast_ros.cli.main import app; app()")
    session = ("evaluate", "language_table_demo", "--fast", "--policy", "oracle", "--output", site / "runs")
    subprocess.run([*robocontrast, *session], check=True, stdout=subprocess.DEVNULL)
    (run,) = (site / "runs").iterdir()
    subprocess.run([*robocontrast, "report", run], check=True, stdout=subprocess.DEVNULL)
    shutil.copy(run / "report.html", site / "pages" / "sample_report.html")
    with (site / "pages" / "gallery.md").open("a", encoding="utf-8") as page:
        page.write(
            "\n[A whole report](sample_report.html): the demo's session with the oracle, a minute of simulation.\n"
        )
    return 0


def write(pages: Path) -> None:
    """Write all pages into a folder, whose content they replace."""
    shutil.rmtree(pages, ignore_errors=True)
    shutil.copytree(ROOT / "docs", pages, ignore=shutil.ignore_patterns("results"))
    for page in pages.glob("*.md"):
        page.write_text(_linked(page.read_text(encoding="utf-8"), ROOT / "docs", pages), encoding="utf-8")
    start = (ROOT / "README.md").read_text(encoding="utf-8").replace("](docs/", "](")
    (pages / "index.md").write_text(_linked(start, ROOT / "docs", pages), encoding="utf-8")
    folder = pages / "reference"
    folder.mkdir()
    for name, text in reference().items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")


def reference() -> dict[str, str]:
    """Return the pages that are made from the code: name -> Markdown."""
    return {
        "commands": _commands(),
        "session_keys": _session_keys(),
        "scores": _scores(),
        "perturbations": _perturbations(),
        "interfaces": _interfaces(),
    }


def _linked(text: str, origin: Path, pages: Path) -> str:
    """Return a page's text; a link to a file that is not on the site becomes the file's name."""

    def kept(found: re.Match[str]) -> str:
        words, target, _ = found.groups()
        if (pages / target).exists():
            return found[0]
        file = (origin / target).resolve()
        return (
            f"{words} (`{file.relative_to(ROOT)}`)" if file.is_relative_to(ROOT) and words != target else f"`{words}`"
        )

    return LINK.sub(kept, text)


def _commands() -> str:
    command = typer.main.get_command(app)
    text = get_docs_for_click(obj=command, ctx=typer.Context(command), name="robocontrast", title="Commands")
    return STYLE.sub("", text)


def _session_keys() -> str:
    schema = TypeAdapter(SessionParameters).json_schema()
    rows = list(_keys(schema, schema["$defs"], ""))
    table = markdown(plain(("key", "type", "if left out", "what it is"), rows))
    return f"# Keys of a session's file\n\n[Sessions](../session_file.md) explains them with examples.\n\n{table}\n"


def _keys(schema: dict[str, Any], known: dict[str, Any], prefix: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield key, type, default and description of each key, and of those within it."""
    required = schema.get("required", ())
    for name, field in schema["properties"].items():
        default = field.get("default", "")
        default = "required" if name in required else "" if default in ("", None) else f"`{default}`"
        yield f"`{prefix}{name}`", _type(field), default, field.get("description", "")
        inner = [each.get("items", each) for each in (field, *field.get("anyOf", ()))]
        for reference in (each["$ref"].rpartition("/")[2] for each in inner if "$ref" in each):
            if "properties" in known[reference]:
                yield from _keys(known[reference], known, f"{prefix}{name}.")


def _type(field: dict[str, Any]) -> str:
    if "anyOf" in field:
        return " or ".join(_type(each) for each in field["anyOf"] if each.get("type") != "null")
    if "enum" in field or "const" in field:
        return ", ".join(map(str, field.get("enum", (field.get("const"),))))
    if "$ref" in field:
        return "keys"
    inner = field.get("items")
    return f"list of {_type(inner)}" if isinstance(inner, dict) and inner else field.get("type", "")


def _scores() -> str:
    specs = sorted((entry.load().spec for entry in registered("scores")), key=lambda spec: spec.name)
    rows = [(f"`{s.name}`", s.symbol, s.unit, f"{s.low:g} to {s.high:g}", s.better, s.description) for s in specs]
    table = markdown(plain(("score", "in tables", "unit", "range", "better", "what it is"), rows))
    return f"# Scores\n\n[Scoring](../scoring.md) and [further scores](../further_scores.md) define them.\n\n{table}\n"


def _perturbations() -> str:
    found = [load_perturbation(name, "perturbations", name) for name in perturbation_names()]
    rows = [(f"`{p.name}`", p.axes, p.expectation.value.replace("_", " "), p.description) for p in found]
    table = markdown(plain(("perturbation", "axes", "a sound policy", "what it does"), rows))
    return f"# Perturbations\n\n[Perturbations](../perturbations.md) says more.\n\n{table}\n"


def _interfaces() -> str:
    parts = ["# Messages, services and actions", "[Topics and services](../ros_topics.md) says who sends which."]
    for folder, heading in INTERFACES.items():
        parts.append(f"## {heading}")
        for file in sorted((ROOT / folder).iterdir()):
            parts.append(f"### {file.stem}\n\n```\n{file.read_text(encoding='utf-8').rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    sys.exit(main())
