"""Draw the pictures of the documents."""

from __future__ import annotations

import io
import shutil
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

from robocontrast_ros.analysis.figures.trial_map import TrialMap, draw_map
from robocontrast_ros.analysis.figures.trial_picture import draw_trial
from robocontrast_ros.configuration import resolve_uri
from robocontrast_ros.domain import BASE, Trial
from robocontrast_ros.studies.figures import FIGURES, draw_by_measures
from robocontrast_ros.studies.parameters import load_study
from robocontrast_ros.tasks.navigation import VisionLanguageNavigation
from scripts.documents.tables import sessions_of_study, study_analysis

APARTMENT = "package://robocontrast_ros/config/tasks/studio_apartment.yaml"

LAPTOP, PHONE, GAP = (1100, 1000), (390, 1000), 20
"""Sizes of the windows that a report is shown in, and what is between them [pixels]."""

ROOT_MEAN_SQUARE = 6.0
"""Difference of two pictures, of 255 levels, up to which only fonts or their smoothing differ."""


def compact(file: Path, colours: int | None = None) -> bytes:
    """Return a drawing as a small PNG; of few colours where their number is given, which suits no photograph."""
    found = io.BytesIO()
    with Image.open(file) as image:
        small = image.convert("RGB")
        if colours:
            small = small.quantize(colours, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
        small.save(found, "PNG", optimize=True)
    return found.getvalue()


def photograph(file: Path, width: int) -> bytes:
    """Return a photograph, or a rendered picture with noise, as a JPEG of a width [pixel]."""
    found = io.BytesIO()
    with Image.open(file) as image:
        size = width, round(image.height * width / image.width)
        image.convert("RGB").resize(size, Image.Resampling.LANCZOS).save(found, "JPEG", quality=85)
    return found.getvalue()


def difference(one: bytes, other: bytes) -> float:
    """Return the root mean square difference of two pictures' pixels, of 255; infinity where their sizes differ."""
    pixels = [np.asarray(Image.open(io.BytesIO(content)).convert("RGB"), np.float64) for content in (one, other)]
    if pixels[0].shape != pixels[1].shape:
        return float("inf")
    return float(np.sqrt(np.mean((pixels[0] - pixels[1]) ** 2)))


def trial(bag: Path, work: Path) -> bytes:
    """Draw a recorded trial."""
    draw_trial(bag, work)
    return compact(work)


def report(page: Path, index: int, work: Path) -> tuple[bytes, bytes]:
    """Show a report in a browser: its top on a laptop beside a part of it on a phone, and a trial that was opened."""
    from playwright.sync_api import sync_playwright

    files = {name: work / f"{name}.png" for name in ("laptop", "phone", "opened")}
    with sync_playwright() as playwright:
        # The sandbox needs what containers seldom allow; the page is our own.
        browser = playwright.chromium.launch(executable_path=_chromium(), args=["--no-sandbox"])
        for name, (width, height), anchor in (
            ("laptop", LAPTOP, ""),
            ("phone", PHONE, "#sensitivity"),
            ("opened", (900, 1000), f"#trial-{index:04d}"),
        ):
            tab = browser.new_page(viewport={"width": width, "height": height})
            tab.goto(f"{page.as_uri()}{anchor}")
            tab.wait_for_timeout(500)
            if name == "opened":
                tab.locator(anchor).screenshot(path=files[name])
            else:
                tab.screenshot(path=files[name])
            tab.close()
        browser.close()
    both = Image.new("RGB", (LAPTOP[0] + GAP + PHONE[0], LAPTOP[1]), (173, 181, 189))
    both.paste(Image.open(files["laptop"]), (0, 0))
    both.paste(Image.open(files["phone"]), (LAPTOP[0] + GAP, 0))
    both.save(files["laptop"])
    return compact(files["laptop"], 64), compact(files["opened"])


def _chromium() -> str:
    found = shutil.which("chromium")
    if found is None:
        raise FileNotFoundError("there is no chromium on this machine; on Debian: apt-get install chromium")
    return found


OF_STUDY = {
    "language_table": (
        "estimate_film_bc_state",
        "estimate_direction_biased",
        "trials_film_bc_state",
        "estimators_film_bc_state",
    ),
    "navigation": ("estimate_vln_modular", "estimate_vln_modular_seconds", "trials_vln_modular"),
    "tabletop": ("estimate_tabletop_state", "estimate_tabletop_state_seconds", "trials_tabletop_state"),
    "clutter": ("measures_clutter",),
    "observation_shift": ("measures_observation_shift",),
    "difficulty": ("measures_difficulty",),
    "camera_distance": ("measures_camera_distance",),
}
"""Study -> its figures that documents show."""


def of_study(values: Mapping[str, Any], packed: bytes, work: Path) -> dict[str, bytes]:
    """Draw the figures that documents show, from the trials that were kept."""
    analysis = study_analysis(values["study"], packed, sessions_of_study(values))
    found = {}
    for name in OF_STUDY[values["study"].removesuffix("_small")]:
        what, _, policy = name.partition("_")
        if what == "measures":
            study = load_study(values["study"])
            pictures = [analysis.pictures[one] for one in study.policies]
            draw_by_measures(pictures, study.measures_of_scenes, work / name)
        else:
            FIGURES[what](analysis.pictures[policy], work / name)
        found[f"docs/images/study_{name}.png"] = compact(work / f"{name}.png", 256)
    return found


def rooms(file: Path) -> bytes:
    """Draw the arrangements of the studio apartment as maps before a trial."""
    task = VisionLanguageNavigation.from_file(resolve_uri(APARTMENT))
    arrangements = [family for family in task.families if family != "generated"]
    figure = Figure(figsize=(9.6, 5.9), dpi=100, layout="constrained")
    panels = figure.subplots(2, 3).flat
    for panel in panels:
        panel.set_axis_off()
    for panel, family in zip(figure.axes, arrangements, strict=False):
        instance = task.sample(np.random.default_rng(0), family, family)
        drawn = TrialMap.of(task, Trial(0, family, BASE, 0, instance, seed=0), instance.scene, (), None)
        draw_map(panel, drawn, names_size=5.0)
        words = textwrap.fill(instance.instruction.text, 44)
        panel.set_title(f"{family}, {instance.optimal_path_length:.2f} m\n{words}", fontsize=6.5)
    figure.savefig(file)
    return compact(file)
