"""How long a report takes to make and to open: `python benchmark/report_load.py RUN`; needs chromium and playwright."""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

REPEATS = 5
SIZES = {"laptop, 1366x768": (1366, 768), "phone, 390x844": (390, 844)}
COMMAND = "from robocontrast_ros.cli.main import app; app()"
TIMES = """() => {
  const navigation = performance.getEntriesByType("navigation")[0];
  const paint = performance.getEntriesByName("first-contentful-paint")[0];
  const charts = [...document.querySelectorAll(".chart svg")].filter((svg) => svg.getBoundingClientRect().width > 0);
  return [navigation.domInteractive, navigation.loadEventEnd, paint.startTime, charts.length];
}"""


def main() -> None:
    """Make the report of a run, open it some times in windows of two sizes, and print the times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path, help="run folder whose maps are drawn already")
    run = parser.parse_args().run
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page = Path(folder) / "report.html"
        start = time.perf_counter()
        command = [sys.executable, "-c", COMMAND, "report", str(run), "--to", str(page)]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        print(f"made in {time.perf_counter() - start:.1f} s, {page.stat().st_size / 2**20:.1f} MiB")
        path = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for name, size in SIZES.items():
            times = [_open(browser, page, size) for _ in range(REPEATS)]
            for what, found in zip(
                ("document ready", "load event", "first paint"), zip(*times, strict=True), strict=True
            ):
                print(f"{name}: {what}: median {statistics.median(found):.0f} ms, longest {max(found):.0f} ms")
        browser.close()


def _open(browser: Browser, path: Path, size: tuple[int, int]) -> tuple[float, float, float]:
    """Open a page without a cache; return ms until it could be used, was loaded, and was first painted."""
    # The page's own policy forbids what waits in it for the first paint.
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, bypass_csp=True)
    page = context.new_page()
    page.goto(path.as_uri())
    page.wait_for_function("performance.getEntriesByName('first-contentful-paint').length > 0")
    ready, loaded, painted, charts = page.evaluate(TIMES)
    if not charts:
        raise SystemExit("the charts are not drawn")
    context.close()
    return ready, loaded, painted


if __name__ == "__main__":
    main()
