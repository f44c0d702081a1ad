"""`robocontrast export`: what others read of a run is what its bags hold."""

from __future__ import annotations

import importlib.util
import shutil
from fractions import Fraction
from pathlib import Path

import cv2
import numpy as np
import pytest
from chromium import CHROMIUM, chromium_missing
from here import command_here, session_here
from session_runs import Workplace, finished
from trial_bags import TRIAL_TOPICS, known_messages

from robocontrast_ros.analysis.estimates.results import compute_results
from robocontrast_ros.analysis.export import encoders
from robocontrast_ros.analysis.export import videos as written
from robocontrast_ros.analysis.export.captions import HEIGHT
from robocontrast_ros.analysis.export.timing import at_constant_rate
from robocontrast_ros.analysis.figures.trial_picture import read_images
from robocontrast_ros.analysis.report.rendering import write_page
from robocontrast_ros.analysis.report.run_page import run_page
from robocontrast_ros.bags.writer import BagWriter
from robocontrast_ros.runs.journal import read_journal
from robocontrast_ros.runs.run_folder import RunFolder

MILLISECOND = 1_000_000


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """The folder of a short real session with a small camera; some trials are solved, some end at the step limit."""
    place = Workplace(tmp_path_factory.mktemp("export"))
    return session_here(
        place.session(
            policy="noisy_oracle",
            strategy={"name": "contrast_set", "perturbations": ["SB2"]},
            task=place.short_task(22),
            fast=True,
        )
    )


def small_vp9(patch: pytest.MonkeyPatch) -> None:
    """Take the codec that is there without the extra, whatever is installed here, and small pictures: it is slow."""
    patch.setattr(encoders, "has_h264", lambda: False)
    patch.setattr(written, "NARROWEST", 240)
    patch.setattr(written, "TILE_WIDTH", 120)


def copied(run: Path, folder: Path) -> Path:
    shutil.copytree(run, folder / "run", ignore=shutil.ignore_patterns("videos"))
    return folder / "run"


@pytest.fixture(scope="module")
def videos(run) -> str:
    """The videos of the run, in it; what the command printed."""
    with pytest.MonkeyPatch.context() as patch:
        small_vp9(patch)
        code, output = command_here("export", run, "--format", "video")
    assert code == 0, output
    return output


def read(path: Path) -> tuple[float, list[np.ndarray]]:
    """Return the rate of a video, and its frames, as OpenCV reads them."""
    video = cv2.VideoCapture(str(path))
    frames = []
    while True:
        there, frame = video.read()
        if not there:
            return video.get(cv2.CAP_PROP_FPS), frames
        frames.append(frame)


def test_a_video_has_the_frames_of_its_bag_and_takes_as_long_as_its_trial(run, videos):
    trials = finished(run)
    assert len(trials) == 4 and {bool(t.result.success) for t in trials} == {True, False}
    for trial in trials:
        images = read_images(run / trial.recording.bag)
        rate, frames = read(run / "videos" / f"{trial.trial.trial_id}.mp4")
        assert rate == 10.0
        assert len(frames) == len(images) == round(trial.result.duration * rate) + 1
        # The picture is the camera's, but for what the codec loses and the enlarging smooths.
        ends = images[0].pixels.astype(int), images[-1].pixels.astype(int)
        for frame, own, other in ((frames[0], *ends), (frames[-1], *ends[::-1])):
            small = cv2.resize(frame[:-HEIGHT], (64, 48), interpolation=cv2.INTER_AREA)[:, :, ::-1]
            assert np.abs(small - own).mean() < min(10.0, np.abs(small - other).mean())
        # The words are below it, and only the time changes.
        words = [frame[-HEIGHT:].astype(int) for frame in (frames[0], frames[-1])]
        assert (words[0] < 100).sum() > 200
        changed = np.abs(words[0] - words[1]).max(axis=2) > 60
        assert changed.any() and not changed[:, : frames[0].shape[1] // 2].any()


def test_a_grid_shows_each_base_trial_beside_its_perturbed_one_as_long_as_the_longest(run, videos):
    assert "ΔSB2: 2 of 2 pairs, base left and perturbed right" in videos
    trials = finished(run)
    rate, frames = read(run / "videos" / "grid_SB2.mp4")
    longest = max(len(read_images(run / trial.recording.bag)) for trial in trials)
    assert (rate, len(frames)) == (10.0, longest)
    height, width, _ = frames[0].shape
    assert height % 2 == width % 2 == 0 and width > 2 * height
    assert videos.splitlines()[-1].startswith("VP9 by OpenCV, because the package `av` is not installed")


def test_trials_without_images_show_their_map_and_those_without_stamps_last_as_long(run, tmp_path, monkeypatch):
    small_vp9(monkeypatch)
    run = copied(run, tmp_path)
    lines = (run / "journal.jsonl").read_text().splitlines(keepends=True)
    second = next(n for n, line in enumerate(lines) if '"trial_finished"' in line and '"index":1,' in line)
    (run / "journal.jsonl").write_text("".join(lines[: second + 1]))
    first, second = finished(run)
    bag = run / second.recording.bag
    images = read_images(bag)
    shutil.rmtree(bag)
    messages = known_messages()
    writer = BagWriter(bag, TRIAL_TOPICS)
    for number, image in enumerate(images):
        writer.write("/eval/camera/image_raw", 1 + number, messages.cdr(messages.image(image.pixels, 0)))
    writer.close()
    shutil.rmtree(run / first.recording.bag)
    code, output = command_here("export", run, "--format", "video", "--to", tmp_path / "out")
    assert code == 0, output
    notes = [line for line in output.splitlines() if line.startswith("note: ")]
    assert notes == [
        "note: 0000: no such bag. Check the path: its map is shown, without the robot's path.",
        "note: 0001: images without usable stamps, spread evenly over the trial.",
    ]
    for trial in (first, second):
        rate, frames = read(tmp_path / "out" / f"{trial.trial.trial_id}.mp4")
        assert len(frames) / rate == pytest.approx(trial.result.duration + 1 / rate, abs=1 / rate)


@pytest.mark.parametrize(
    ("stamps", "duration", "rate", "order"),
    [
        ([0, 100, 200, 300], 0.3, 10, [0, 1, 2, 3]),
        ([50, 149, 252, 350], 0.3, 10, [0, 1, 2, 3]),  # jitter
        ([0, 100, 300, 400], 0.4, 10, [0, 1, 1, 2, 3]),  # a lost image
        ([100, 0, 200], 0.2, 10, [1, 0, 2]),  # out of order
        ([0, 100], 0.4, 10, [0, 1, 1, 1, 1]),  # the last stays
        ([0, 400, 800, 1600], 1.6, Fraction(5, 2), [0, 1, 2, 2, 3]),
    ],
)
def test_images_are_shown_at_the_rate_of_their_stamps(stamps, duration, rate, order):
    timing = at_constant_rate([stamp * MILLISECOND for stamp in stamps], duration)
    assert (timing.rate, list(timing.order), timing.problem) == (rate, order, "")


@pytest.mark.parametrize("stamps", [[0, 0, 0], [1, 2, 3], [0, 10**8, 10**18], [7]])
def test_stamps_that_cannot_be_are_told_and_the_duration_is_the_trials(stamps):
    timing = at_constant_rate(stamps, 3.0)
    assert timing.problem and timing.order[0] == 0 and timing.order[-1] == len(stamps) - 1
    assert timing.seconds == pytest.approx(3.0, abs=1.1 / timing.rate)


def test_a_rate_of_television_is_exact():
    stamps = [round(number * 1e9 * 1001 / 30000) for number in range(9)]
    assert at_constant_rate(stamps, 0.3).rate == Fraction(30000, 1001)


@pytest.mark.skipif(importlib.util.find_spec("av") is None, reason="the package av is not installed (extra `video`)")
def test_h264_begins_with_its_index_and_is_what_browsers_play(tmp_path):
    import av

    with encoders.new_video(tmp_path / "a.mp4", Fraction(5, 2), (64, 48)) as write:
        for shade in range(0, 250, 25):
            write(np.full((48, 64, 3), shade, np.uint8))
    content = (tmp_path / "a.mp4").read_bytes()
    assert 0 < content.find(b"moov") < content.find(b"mdat")
    with av.open(str(tmp_path / "a.mp4")) as file:
        (stream,) = file.streams.video
        assert (stream.codec_context.name, stream.codec_context.pix_fmt) == ("h264", "yuv420p")
        assert stream.frames == 10 and float(stream.duration * stream.time_base) == 4.0
        assert len(list(file.decode(stream))) == 10


def test_a_format_that_there_is_not_is_named(run):
    code, output = command_here("export", run, "--format", "gif")
    assert code == 2
    assert "`--format`: got 'gif', expected one of video" in output


@pytest.mark.skipif(bool(chromium_missing()), reason=chromium_missing())
def test_the_page_links_videos_beside_it_and_a_browser_plays_them(run, videos):
    from playwright.sync_api import sync_playwright

    trials = {t.trial.trial_id: t for t in finished(run)}
    lost = [t for t in trials.values() if t.trial.twin and not t.result.success and trials[t.trial.twin].result.success]
    folder, journal = RunFolder(run), read_journal(run / "journal.jsonl")
    write_page(run_page(folder, journal, compute_results(journal)), run / "report.html")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto((run / "report.html").as_uri())
        assert len(asked) == 1, "the page itself loads nothing"
        rows = page.locator("#worklist tbody tr")
        assert rows.count() == len(lost) == 1
        rows.locator("a").first.click()
        pair = page.locator("#worklist details.pair[open]")
        assert pair.locator(".half .map img").count() == 2, "both maps, side by side"
        clips = rows.locator("a", has_text="clip")
        assert clips.count() == 2
        links = [clips.nth(number).get_attribute("href") for number in range(2)]
        assert page.get_by_role("link", name="ΔSB2", exact=True).get_attribute("href") == "videos/grid_SB2.mp4"
        assert links == [f"videos/{lost[0].trial.twin}.mp4", f"videos/{lost[0].trial.trial_id}.mp4"]
        page.goto((run / links[1]).as_uri())
        page.wait_for_function("document.querySelector('video').readyState >= 2")
        duration = page.evaluate("document.querySelector('video').duration")
        browser.close()
    assert duration == pytest.approx(lost[0].result.duration + 0.1)
