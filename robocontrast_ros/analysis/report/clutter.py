"""The section of a run's page about its cluttered trials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from robocontrast_ros.analysis.estimates.clutter import BINS, DVFC, STAGES, Clutter, clutter_of, equal_bins, failures
from robocontrast_ros.analysis.estimates.results import Results
from robocontrast_ros.analysis.figures.clutter import drawings_of
from robocontrast_ros.analysis.figures.trial_picture import read_images
from robocontrast_ros.analysis.report.pictures import Picture, congestion_pictures
from robocontrast_ros.analysis.report.svg import Chart, charts_of
from robocontrast_ros.analysis.report.trials import Attempt
from robocontrast_ros.analysis.tables.block import TableBlock
from robocontrast_ros.analysis.tables.clutter import group_blocks, measures_block, trends_block
from robocontrast_ros.bags.errors import BagError
from robocontrast_ros.runs.run_folder import RunFolder

HEADINGS = {
    "reach": "Failed to reach the target",
    "grasp": "Reached the target and failed to grasp it",
    "after": "Failed after the grasp",
}
"""Headings of the stages of failure."""

FAILURES = 2
"""Greatest number of trials of each policy that are shown for each stage of failure."""


@dataclass(frozen=True)
class ShownScene:
    """A scene of a bin by DvFC.

    Attributes:
        group: name of the bin.
        dvfc: DvFC of the scene.
        attempt: a trial in it.
        frame: the first image of the first camera.
        congestion: map of its congestion; None if the image is too small for it.
    """

    group: str
    dvfc: float
    attempt: Attempt
    frame: Picture
    congestion: Picture | None


@dataclass(frozen=True)
class ClutterSection:
    """The content of the section.

    Attributes:
        measures: the measures over all cluttered trials.
        trends: the slopes of success with DvFC.
        groups: the measures by group.
        charts: the curves and bars.
        scenes: one a bin by DvFC that has a trial with pictures.
        failures: stage, in words -> failed trials with key frames.
    """

    measures: TableBlock
    trends: TableBlock
    groups: tuple[TableBlock, ...]
    charts: tuple[Chart, ...]
    scenes: tuple[ShownScene, ...]
    failures: dict[str, tuple[Attempt, ...]]


def clutter_section(run: RunFolder, results: Results, attempts: Sequence[Attempt]) -> ClutterSection | None:
    """Return the section; None if the run has no cluttered trial that counts.

    Args:
        run: the run folder.
        results: the run's results.
        attempts: its executions, with their pictures.
    """
    clutter = clutter_of([results], BINS)
    if clutter is None:
        return None
    pictured = {a.row["index"]: a for a in attempts if a.row["counts"] and a.pictures.frames}
    mark = results.summary.mark
    return ClutterSection(
        measures_block(clutter, mark),
        trends_block(clutter, mark),
        group_blocks(clutter, mark),
        tuple(charts_of(drawings_of(clutter), "clutter-").values()),
        _scenes(run, clutter, pictured),
        {HEADINGS[stage]: found for stage in STAGES if (found := _failed(clutter, stage, pictured))},
    )


def _scenes(run: RunFolder, clutter: Clutter, pictured: dict[int, Attempt]) -> tuple[ShownScene, ...]:
    """Return, of each bin, the recorded scene whose DvFC is nearest to the bin's mean."""
    cluttered = clutter.trials.filter("cluttered")
    recorded = cluttered.filter(pl.col("index").is_in(list(pictured)))
    dvfc = dict(recorded.select("index", "dvfc").rows())
    bins = equal_bins(cluttered["dvfc"].to_numpy(), BINS)
    chosen, images = [], []
    for group, values in zip(clutter.groups(DVFC), bins, strict=True):
        own = [(abs(value - values.mean()), index) for index, value in dvfc.items() if value in values]
        for _, index in sorted(own)[:1]:
            try:
                images.append(read_images(run.path / pictured[index].row["bag"])[0].pixels)
            except BagError:
                continue
            chosen.append((group, index))
    words = [f"Congestion at the start of {pictured[index].what}" for _, index in chosen]
    maps = congestion_pictures(images, words)
    return tuple(
        ShownScene(group, dvfc[index], pictured[index], pictured[index].pictures.frames[0], found)
        for (group, index), found in zip(chosen, maps, strict=True)
    )


def _failed(clutter: Clutter, stage: str, pictured: dict[int, Attempt]) -> tuple[Attempt, ...]:
    found = failures(clutter.trials, stage).filter(pl.col("index").is_in(list(pictured)))
    first = found.sort("index").group_by("policy", maintain_order=True).head(FAILURES)
    return tuple(pictured[index] for index in first["index"])
