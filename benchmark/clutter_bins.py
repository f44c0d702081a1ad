"""DvFC and set size of scenes with distractors: drawn over set sizes, and over bins of DvFC (seed 001, section III).

The first instances of the session ``tabletop_clutter_bins``, none left out. Of each, scenes of every set size of the
study ``clutter``, scenes of the reference draw, the same with other looks, and one scene of each bin of the session. No
trial is run.

    python -m benchmark.clutter_bins                               some minutes
    python -m benchmark.clutter_bins --json --picture FILE.png     all scenes as one JSON object, and a chart of them
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from rich.console import Console
from rich.progress import track
from rich.table import Table

from robocontrast_ros.analysis.figures.charts import BLUE, GREEN, GREY
from robocontrast_ros.domain import NotApplicable
from robocontrast_ros.perturbations.clutter_bin import ClutterBin, ClutterBinParameters, bin_of
from robocontrast_ros.perturbations.distractors import DistractorParameters, Distractors
from robocontrast_ros.sessions.resolving import resolve
from robocontrast_ros.sessions.seeding import generator
from robocontrast_ros.system.numerics import one_thread

SESSION = "tabletop_clutter_bins"
SIZES = (1, 2, 4, 8, 16)
SET_SIZES, REFERENCE, BINS, LOOKS = "set_sizes", "reference", "bins", "looks"
WORDS = {SET_SIZES: "set sizes 1, 2, 4, 8, 16", REFERENCE: "set sizes 1 to 12", BINS: "bins of DvFC"}
COLOURS = {SET_SIZES: GREY, REFERENCE: GREEN, BINS: BLUE}
COLUMNS = ("draw", "instance", "perturbation", "distractors", "dvfc", "candidates")


def drawn(instances: int, repeats: int) -> dict[str, object]:
    """Return the scenes of the first instances, the edges of the bins, and what has no scene, with the reason.

    Args:
        instances: their number.
        repeats: scenes of each set size; the reference draws have as many scenes as all set sizes together.
    """
    session = resolve(SESSION)
    task, seed = session.task, session.parameters.seed
    by_size = [Distractors(DistractorParameters(count=size)) for size in SIZES]
    kinds = {
        SET_SIZES: by_size * repeats,
        REFERENCE: [ClutterBin()] * (len(SIZES) * repeats),
        LOOKS: [ClutterBin(ClutterBinParameters(looks=True))] * (len(SIZES) * repeats),
        BINS: list(session.perturbations),
    }
    wanted = [
        (draw, number, base, perturbation)
        for base in session.evaluation().test_set()[:instances]
        for draw, perturbations in kinds.items()
        for number, perturbation in enumerate(perturbations)
    ]
    rows, without = [], []
    progress = Console(stderr=True)
    for draw, number, base, perturbation in track(wanted, "scenes", console=progress, disable=not sys.stderr.isatty()):
        rng = generator(seed, draw, base.instance_id, number)
        answer = perturbation.apply(task, base, base.scene, rng)
        if isinstance(answer, NotApplicable):
            without.append([draw, base.instance_id, perturbation.name, answer.reason])
            continue
        measures = dict(answer.instance.proof.measures)
        dvfc, candidates = round(measures["dvfc"], 4), int(measures.get("candidates", 1))
        rows.append([draw, base.instance_id, perturbation.name, int(measures["distractors"]), dvfc, candidates])
    edges = session.parameters.strategy.perturbations[0]["edges"]
    return {"seed": seed, "instances": instances, "edges": edges, "columns": COLUMNS, "rows": rows, "without": without}


def draw_chart(found: dict[str, object], file: Path) -> None:
    """Draw DvFC against set size under both draws, and the share of the scenes in each bin."""
    edges, number = found["edges"], len(found["edges"]) + 1
    figure = Figure(figsize=(9.6, 3.4), dpi=100, layout="constrained")
    *scatters, bars = figure.subplots(1, 3)
    for axes, draw in zip(scatters, (SET_SIZES, BINS), strict=True):
        own = [row for row in found["rows"] if row[0] == draw]
        axes.plot([row[3] for row in own], [row[4] for row in own], "o", color=COLOURS[draw], alpha=0.6, markersize=4)
        for edge in edges:
            axes.axhline(edge, color="0.85", linewidth=0.8, zorder=0)
        axes.set_title(f"drawn over {WORDS[draw]}", fontsize=9)
        axes.set_xlabel("distractors")
        axes.set_ylabel("DvFC (lines: edges)")
        axes.set_xlim(0, max(SIZES) + 1)
    low, high = (limit(axes.get_ylim()[end] for axes in scatters) for end, limit in enumerate((min, max)))
    for axes in scatters:
        axes.set_ylim(low, high)
    for place, draw in enumerate(WORDS):
        bins = [bin_of(row[4], edges) for row in found["rows"] if row[0] == draw]
        shares = np.bincount(bins, minlength=number + 1)[1:] / len(bins)
        bars.bar(np.arange(1, number + 1) + 0.27 * (place - 1), shares, 0.27, color=COLOURS[draw], label=WORDS[draw])
    bars.set_xlabel("bin of DvFC")
    bars.set_ylabel("share of the scenes")
    bars.legend(fontsize=7, frameon=False)
    for axes in (*scatters, bars):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(file)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--instances", type=int, default=3, help="of the session's test set")
    parser.add_argument("--repeats", type=int, default=3, help="scenes of each set size")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--picture", type=Path, help="PNG file to draw")
    asked = parser.parse_args()
    with one_thread():
        found = drawn(asked.instances, asked.repeats)
    if asked.picture is not None:
        draw_chart(found, asked.picture)
    if asked.json:
        print(json.dumps(found))
        return
    table = Table(*COLUMNS)
    for row in found["rows"]:
        table.add_row(*map(str, row))
    Console().print(table)
    for row in found["without"]:
        print(*row)


if __name__ == "__main__":
    main()
