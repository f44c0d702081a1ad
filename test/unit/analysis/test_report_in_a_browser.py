"""The pages in a real browser without a screen, as wide as a laptop and as a phone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from chromium import CHROMIUM, chromium_missing
from cluttered_runs import cluttered_run
from line_world import LineBench, line_evaluation
from recorded_runs import recorded_run
from told_runs import Told, told_run

from robocontrast_ros.analysis.estimates.results import compute_results
from robocontrast_ros.analysis.report import write_comparison
from robocontrast_ros.analysis.report.pictures import change_file, write_change
from robocontrast_ros.analysis.report.rendering import write_page
from robocontrast_ros.analysis.report.run_page import run_page
from robocontrast_ros.domain import BASE
from robocontrast_ros.runs.journal import read_journal
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.sessions.loop import run_session

pytestmark = pytest.mark.skipif(bool(chromium_missing()), reason=chromium_missing())

LAPTOP, PHONE = (1366, 768), (390, 844)
WIDTHS = pytest.mark.parametrize("size", [LAPTOP, PHONE], ids=["laptop", "phone"])
NARROW = pytest.mark.parametrize("size", [pytest.param(LAPTOP, marks=pytest.mark.long), PHONE], ids=["laptop", "phone"])
"""Of a part of a page, which is harder to fit on a phone."""


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The page of a real run with pictures."""
    run = recorded_run(tmp_path_factory.mktemp("runs"))
    journal = read_journal(run.journal)
    write_page(run_page(run, journal, compute_results(journal)), run.path / "report.html")
    return run.path / "report.html"


@pytest.fixture(scope="module")
def comparison(tmp_path_factory):
    """The page of two runs on the line."""
    folder = tmp_path_factory.mktemp("runs")
    runs = []
    for skill in (0.4, 1.0):
        run = RunFolder(folder / f"skill_{skill:g}")
        run.path.mkdir()
        bench = LineBench(skill=skill, policy_faults=0.0)
        run_session(line_evaluation(test_set_size=6), bench, run.journal)
        runs.append(run)
    write_comparison(runs, folder / "comparison.html")
    return folder / "comparison.html"


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # The sandbox needs what containers seldom allow; the page is our own.
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def opened(browser):
    """Open a file in a window of a size; afterwards nothing may have gone wrong in it, nor been asked of a network."""

    @contextmanager
    def opened(path, size, fragment="") -> Iterator:
        width, height = size
        page = browser.new_page(viewport={"width": width, "height": height})
        wrong, asked = [], []
        page.on("console", lambda message: wrong.append(message.text) if message.type != "log" else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri() + fragment)
        yield page
        assert wrong == []
        assert {url for url in asked if not url.startswith("data:")} == {path.as_uri()}
        page.close()

    return opened


def overflow(page) -> int:
    """Return by how many pixels the page is wider than the window."""
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


def drawn(image) -> bool:
    return image.evaluate("async image => { await image.decode(); return image.naturalWidth > 0; }")


@WIDTHS
def test_the_charts_are_drawn_and_the_page_is_no_wider_than_the_window(report, opened, size, record_property):
    with opened(report, size) as page:
        assert overflow(page) == 0
        for name in ("perturbations", "estimate", "budget", "latency"):
            shown = page.locator(f"#chart-{name} svg:visible")
            assert shown.count() == 1
            box = shown.bounding_box()
            assert 0.6 * size[0] < box["width"] <= size[0] and box["height"] > 100
            # Letters of the chart are as large as they are to be read.
            letters = shown.locator("text").first.evaluate("text => text.getBoundingClientRect().height")
            assert letters > 8
        times = page.evaluate("performance.getEntriesByType('navigation')[0].toJSON()")
        record_property("load_ms", times["loadEventEnd"])


@WIDTHS
def test_a_trial_opens_with_its_key_frames_and_its_map(report, opened, size):
    with opened(report, size) as page:
        trial = page.locator("#trial-0001")
        assert page.locator("img").count() == 0, "nothing is decoded before it is asked for"
        button = trial.locator(".open")
        button.click()
        assert button.get_attribute("aria-expanded") == "true"
        images = trial.locator("img:visible")
        assert images.count() == 5
        assert all(drawn(image) for image in images.all())
        assert overflow(page) == 0
        button.click()
        assert trial.locator("img:visible").count() == 0


def test_points_cells_and_addresses_lead_to_their_trial(report, opened):
    with opened(report, LAPTOP) as page:
        # The last point is above those that it may cover.
        page.locator("#chart-estimate .wide a").last.click()
        page.locator("#trial-0005 img").nth(4).wait_for()
        page.locator("table.matrix a").nth(0).click()
        page.locator("#trial-0000 img").nth(4).wait_for()
    with opened(report, PHONE, "#trial-0004") as page:
        page.locator("#trial-0004 img").nth(4).wait_for()
        assert 0 <= page.locator("#trial-0004").bounding_box()["y"] < PHONE[1]


def test_trials_are_filtered_found_by_words_and_sorted(report, opened):
    with opened(report, LAPTOP) as page:
        shown = page.locator("tbody.trial:visible")
        page.locator("[data-filter=perturbation]").select_option("LB1")
        assert shown.count() == 1
        assert page.locator("output").inner_text() == "1 of 6 shown"
        page.locator("table.matrix a").nth(0).click()
        # A link to a trial that is filtered out shows it again.
        page.locator("#trial-0000 img").nth(4).wait_for()
        assert shown.count() == 6
        page.locator("[data-search]").fill("no such words")
        assert shown.count() == 0
        page.locator("[data-search]").fill("x0")
        assert shown.count() == 6
        header = page.get_by_role("columnheader", name="SPL").get_by_role("button")
        scores = "bodies => bodies.map(body => Number(body.rows[0].cells[4].dataset.sort))"
        for direction in (1, -1):
            header.click()
            found = shown.evaluate_all(scores)
            assert found == sorted(found, reverse=direction < 0)
        page.get_by_role("button", name="Open all shown").click()
        assert page.locator("tbody.trial img:visible").count() == 30


def test_on_paper_there_are_charts_and_what_was_opened_but_no_tools(report, opened):
    with opened(report, LAPTOP, "#trial-0001") as page:
        page.emulate_media(media="print")
        assert not page.locator(".tools").first.is_visible()
        assert page.locator("#chart-estimate .wide").is_visible()
        assert page.locator("#trial-0001 img:visible").count() == 5
        assert page.pdf().startswith(b"%PDF")


@NARROW
def test_the_section_about_clutter_fits_the_window_and_its_tables_open(tmp_path, opened, size):
    run = cluttered_run(tmp_path / "run", "first", images=True)
    journal = read_journal(run.journal)
    write_page(run_page(run, journal, compute_results(journal)), run.path / "report.html")
    with opened(run.path / "report.html", size, "#clutter") as page:
        assert page.locator("#chart-clutter-sr_by_dvfc svg:visible").count() == 1
        assert all(drawn(image) for image in page.locator("#clutter img:visible").all())
        page.locator("#clutter summary").first.click()
        assert page.locator("#clutter details[open] table:visible").count() == 1
        assert overflow(page) == 0


@NARROW
def test_a_modification_opens_with_its_picture_and_the_largest_loss_comes_first(tmp_path, opened, size):
    note, measures = "add (On onion_1 cabinet_middle_region)", (("modifications", 1.0), ("add", 1.0))
    trials = [
        Told(
            k,
            name,
            name == BASE or k == 2,
            problem=f"kitchen_{k}",
            note=note,
            measures=() if name == BASE else measures,
        )
        for k in range(3)
        for name in (BASE, "S_modify")
    ]
    run = told_run(tmp_path / "run", "policy", trials, specs={})
    run.shift.mkdir()
    for trial in range(1, 6, 2):
        before, after = (np.full((120, 160, 3), grey, np.uint8) for grey in (90, 90 + 10 * trial))
        write_change([(before, after), (before[::2, ::2], after[::2, ::2])], change_file(run.shift, f"{trial:04d}"))
    sizes = "".join(f"{trial:04d},{camera},0.{trial},0,0\n" for trial in (1, 3, 5) for camera in ("agent", "wrist"))
    (run.shift / "visual_change.csv").write_text(f"trial,camera,pixels,mean,bodies\n{sizes}")
    journal = read_journal(run.journal)
    write_page(run_page(run, journal, compute_results(journal)), run.path / "report.html")
    with opened(run.path / "report.html", size, "#shift") as page:
        table = page.locator("table.modifications")
        assert table.locator("tbody").evaluate_all("all => all.map(one => one.dataset.became)") == [
            "lost",
            "lost",
            "same",
        ]
        assert "30.0" in table.locator("tbody").first.inner_text(), "the larger of both that are lost"
        assert table.locator("img").count() == 0
        table.locator(".open").first.click()
        assert [drawn(image) for image in table.locator("img:visible").all()] == [True]
        assert overflow(page) == 0
        table.locator("a[href='#trial-0003']").click()
        assert page.locator("#trial-0003 .detail").is_visible()


@NARROW
def test_a_comparison_shows_its_chart_and_both_trials_of_a_pair(comparison, opened, size):
    with opened(comparison, size) as page:
        assert overflow(page) == 0
        assert page.locator("#chart-comparison-1 svg:visible").count() == 1
        pair = page.locator("tbody.trial").first
        pair.locator(".open").click()
        assert pair.locator("h4:visible").count() == 2
        assert overflow(page) == 0
