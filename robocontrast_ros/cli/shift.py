"""`robocontrast shift`: how much changed scenes look changed, and whether that costs success."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from robocontrast_ros.cli.terminal import Console
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.runs.run_folder import RunFolder

SHOWN = 6
"""Number of changes in the picture."""


def shift(
    run: Annotated[Path, typer.Argument(help="Run folder with perturbations of the scene, or with chains of skills.")],
    to: Annotated[Path | None, typer.Option(help="Folder for table and picture; by default shift/ in it.")] = None,
) -> None:
    """How much do changed scenes look changed, in pictures of the session's cameras at the start of trials?

    Each perturbed trial is compared with the base trial of its test instance. The picture shows the changes that cost
    a success and look largest, then others that look largest. Each changed trial also has a picture of its own, which
    `robocontrast report` shows.
    """
    from itertools import groupby
    from operator import attrgetter

    from robocontrast_ros.analysis.data.run_record import RunRecord
    from robocontrast_ros.analysis.estimates.visual_change import seen_changes, size_and_loss
    from robocontrast_ros.analysis.figures.shown import draw_shown
    from robocontrast_ros.analysis.report.pictures import change_file, write_change
    from robocontrast_ros.analysis.tables.block import words
    from robocontrast_ros.analysis.tables.visual_change import write_changes
    from robocontrast_ros.images.difference import MEASURES
    from robocontrast_ros.images.rendering import RenderingUnavailable
    from robocontrast_ros.runs.blinding import refuse_several_policies
    from robocontrast_ros.runs.journal import read_begun
    from robocontrast_ros.sessions.resolving import resolve
    from robocontrast_ros.system.disk import make_folder

    folder, console = RunFolder.open(run), Console()
    journal = read_begun(folder.journal)
    # The policies' trials of one instance would be taken for one another's.
    refuse_several_policies(journal)
    session, record = resolve(folder.session_file), RunRecord.of(journal.events)
    if not session.parameters.cameras:
        raise ConfigurationError(str(folder.session_file), "cameras", "none", "a camera, in whose pictures to measure")
    try:
        changes = list(seen_changes(session, record, lambda pairs: console.track(pairs, "changes")))
    except RenderingUnavailable as error:
        raise ConfigurationError("command line", "RUN", str(run), f"a machine that can draw ({error})") from None
    if not changes:
        expected = "a run with finished trials in changed scenes, such as S_modify, and with their base trials"
        raise ConfigurationError("command line", "RUN", str(run), expected)
    groups: dict[tuple[str, str, str], list] = {}
    for change in changes:
        groups.setdefault((change.perturbation, change.kind, change.camera), []).append(change)
    rows = [
        (*key, str(len(own)), *(f"{sum(getattr(c.change, m) for c in own) / len(own):.3f}" for m in MEASURES))
        for key, own in sorted(groups.items())
    ]
    console.table(("perturbation", "kind", "camera", "n", *MEASURES), rows)
    console.print(
        "Means over trials. pixels: share of pixels of which a channel differs by more than 8 of 255. mean: mean "
        "difference, of 1. bodies: share of pixels that show another thing."
    )
    found = size_and_loss(changes, session.parameters.seed)
    console.table(
        ("camera", "measure", "pairs", "Spearman's rho", "p"),
        [
            (one.camera, one.measure, str(one.correlation.pairs), words(one.correlation.rho), words(one.correlation.p))
            for one in found
        ],
    )
    console.print(
        "rho: of the size with the success that the change costs, within each problem; p by permutation there, 95 % "
        "intervals by drawing whole problems. None where no success, or no size, differs within a problem."
    )
    place = to or folder.shift
    make_folder(place)
    tables = write_changes(changes, found, place)
    for trial, own in groupby(changes, attrgetter("trial")):
        write_change([change.images for change in own], change_file(place, trial))
    first = [c for c in changes if c.camera == changes[0].camera]
    largest = sorted(first, key=lambda c: (-c.lost, -c.change.pixels))[:SHOWN]
    shown = [
        (f"{c.trial} {what}", c.note if what == "changed" else c.problem, {c.camera: image})
        for c in largest
        for what, image in zip(("base", "changed"), c.images, strict=True)
    ]
    draw_shown(shown, place / "changes.png")
    for table in tables:
        console.path("table", table)
    console.path("picture", place / "changes.png")
    console.path("picture of each", change_file(place, "TRIAL"))
