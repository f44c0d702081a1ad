"""Charts of a page as SVG, each in two widths."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from io import StringIO

import matplotlib as mpl
from markupsafe import Markup
from matplotlib.figure import Figure

from robocontrast_ros.analysis.figures.charts import COLUMN, PAGE
from robocontrast_ros.analysis.figures.paper import STYLE, Draw, Drawing


@dataclass(frozen=True)
class Chart:
    """A figure on a page.

    Attributes:
        name: unique on the page.
        title: its title.
        words: description for readers who cannot see it.
        wide: SVG element for a laptop.
        narrow: SVG element for a phone.
    """

    name: str
    title: str
    words: str
    wide: Markup
    narrow: Markup


def charts_of(drawings: Mapping[str, Drawing], prefix: str = "") -> dict[str, Chart]:
    """Return name -> figure for a page; its name on the page begins with the prefix."""
    return {
        name: make_chart(f"{prefix}{name}", one.title, one.words, one.draw, one.height)
        for name, one in drawings.items()
    }


def make_chart(name: str, title: str, words: str, draw: Draw, height: float = 2.8) -> Chart:
    """Draw a figure for a page.

    Args:
        name: unique on the page.
        title: its title.
        words: description for readers who cannot see it.
        draw: draws it.
        height: its height [inch].
    """
    wide, narrow = (_svg(f"{name}-{width:g}", words, width, height, draw) for width in (PAGE, COLUMN))
    return Chart(name, title, words, wide, narrow)


def _svg(name: str, words: str, width: float, height: float, draw: Draw) -> Markup:
    with mpl.rc_context({**STYLE, "svg.hashsalt": name}):
        figure = Figure(figsize=(width, height), layout="constrained")
        draw(figure)
        text = StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None})
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :]
    # Several figures share one page, so their ids must differ; links to trials lead to ids of the page itself.
    svg = re.sub(r'( id="|url\(#|href="#(?!trial-))', rf"\g<1>{name}-", svg)
    # With a keyboard, the table of trials is the shorter way to a trial.
    svg = svg.replace("<a ", '<a tabindex="-1" ').replace(' target="_blank"', "")
    head, rest = svg.split(">", 1)
    head = re.sub(r' (?:width|height)="[^"]*"', "", head)
    return Markup(head) + Markup(' role="img" aria-label="{}">').format(words) + Markup(rest)
