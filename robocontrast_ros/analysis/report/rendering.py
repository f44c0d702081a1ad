"""Rendering of pages from templates: formats of numbers, style sheets and scripts."""

from __future__ import annotations

import errno
import os
import tempfile
from datetime import datetime, timezone
from functools import cache
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from robocontrast_ros import __version__
from robocontrast_ros.analysis.tables.block import Link, PValue, TableBlock, Value, words
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain import ScoreSpec
from robocontrast_ros.statistics.estimate import Estimate
from robocontrast_ros.system.disk import writing

PACKAGE = "robocontrast_ros.analysis.report"
NONE, MINUS = "\N{EN DASH}", "\N{MINUS SIGN}"


def render(template: str, **content: object) -> str:
    """Return a page.

    Args:
        template: name of its file.
        content: the template's variables.
    """
    return _environment().get_template(template).render(version=__version__, **content)


def render_table(block: TableBlock) -> str:
    """Return a table as pages have it."""
    return _environment().get_template("macros.html").module.table(block)


def check_folder(path: Path) -> None:
    """Refuse a file that cannot be written, before the long work begins.

    Raises:
        ConfigurationError: its folder does not exist, or nothing can be written there, or it is a folder itself.
    """
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if path.exists() and not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        # Permissions alone are not enough, for example for root, or on a read-only file system.
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        absent = isinstance(error, FileNotFoundError | NotADirectoryError) and not os.path.isdir(path.parent)
        why = "There is no such folder" if absent else f"No file can be made there: {error.strerror}"
        expected = "a file that can be written, in a folder that exists"
        raise ConfigurationError("command line", "--to", str(path), expected, f"{why}.") from None


def write_page(page: str, path: Path) -> None:
    """Write a page to a file.

    Raises:
        DiskError: it cannot be written.
    """
    with writing(path):
        path.write_text(page, encoding="utf-8")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(PACKAGE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        words=on_page,
        interval=interval,
        p=lambda value: on_page(PValue(value)),
        milliseconds=milliseconds,
        when=when,
        label=label,
        score=score,
        share=share,
    )
    environment.globals.update(inlined=inlined, words=on_page, NONE=NONE)
    return environment


def inlined(name: str) -> Markup:
    """Return one of the package's style sheets or scripts, for use inside the page."""
    return Markup(files(PACKAGE).joinpath("templates", name).read_text(encoding="utf-8"))


def on_page(value: Value, form: str = ".2f") -> str:
    """Return a value as pages show it."""
    if isinstance(value, Link):
        return Markup('<a href="{}">{}</a>').format(value.target, value.words)
    return words(value, form, NONE, MINUS)


def label(spec: ScoreSpec) -> str:
    """Return a score's symbol as the first word of a line; a symbol with capitals stays as it is."""
    return spec.symbol[0].upper() + spec.symbol[1:] if spec.symbol.islower() else spec.symbol


def score(value: float, spec: ScoreSpec) -> str:
    """Return the value of a score with its unit."""
    shown = str(value) if spec.whole else on_page(value)
    return f"{shown} {spec.unit}" if spec.unit not in ("", "count") else shown


def share(value: float | None, spec: ScoreSpec) -> int:
    """Return the place of a score in its range [percent]; 0 if there is no score, or the range is open."""
    return round(100.0 * (value - spec.low) / (spec.high - spec.low)) if value is not None and spec.bounded else 0


def interval(value: Estimate, form: str = ".2f") -> str:
    """Return an estimate's interval, such as ``[0.52, 0.88]``; empty if it has none."""
    return on_page(value, form).partition(" ")[2]


def milliseconds(seconds: float | None) -> str:
    """Return a duration in milliseconds, to three digits or whole ones; a dash if there is none."""
    if seconds is None:
        return NONE
    shown = 1000.0 * seconds
    return f"{shown:.0f} ms" if shown >= 999.5 else f"{shown:#.3g}".rstrip(".") + " ms"


def when(seconds: float) -> str:
    """Return a time, given in seconds since the epoch, as date and time in UTC."""
    return datetime.fromtimestamp(seconds, tz=timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
