"""`robocontrast export`: what others read of a run is what its bags hold."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import cv2
import numpy as np
import pytest
from chromium import CHROMIUM, chromium_missing
from here import command_here, session_here
from line_world import LineBench, line_evaluation
from session_runs import Workplace, finished
from trial_bags import TRIAL_TOPICS, known_messages

from robocontrast_ros.analysis.estimates.results import compute_results
from robocontrast_ros.analysis.export import encoders
from robocontrast_ros.analysis.export import videos as written
from robocontrast_ros.analysis.export.captions import HEIGHT
from robocontrast_ros.analysis.export.lerobot import aggregated, eval_info, stats_of
from robocontrast_ros.analysis.export.signals import sampled
from robocontrast_ros.analysis.export.timing import at_constant_rate
from robocontrast_ros.analysis.figures.trial_picture import read_images
from robocontrast_ros.analysis.report import write_comparison
from robocontrast_ros.analysis.report.rendering import write_page
from robocontrast_ros.analysis.report.run_page import run_page
from robocontrast_ros.bags.reader import read_bag
from robocontrast_ros.bags.writer import BagWriter
from robocontrast_ros.runs.journal import read_journal
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.sessions.loop import run_session

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


NO_LEROBOT = " and ".join(name for name in ("pyarrow", "av") if importlib.util.find_spec(name) is None)


@pytest.fixture(scope="module")
def data_set(run, tmp_path_factory) -> Path:
    """The run as a data set, with itself as the control."""
    if NO_LEROBOT:
        pytest.skip(f"{NO_LEROBOT} not installed (extra `lerobot`)")
    to = tmp_path_factory.mktemp("data") / "set"
    code, output = command_here("export", run, "--format", "lerobot", "--to", to, "--control", run)
    assert code == 0, output
    return to


def joints(run: Path, trial, topic: str) -> np.ndarray:
    """Return the positions of a trial's messages of a topic."""
    messages = read_bag(run / trial.recording.bag, lambda name, kind: name.endswith(topic)).messages
    decoded = [message.decode() for message in messages]
    return np.array([(m.points[-1].positions if hasattr(m, "points") else m.position) for m in decoded], np.float32)


def test_a_data_set_has_the_states_and_commands_of_the_bags_by_the_rules_of_lerobot(run, data_set):
    import pyarrow.parquet as pq

    info = json.loads((data_set / "meta" / "info.json").read_text())
    names = [f"fr3_joint{number}.pos" for number in range(1, 8)]
    assert info["codebase_version"] == "v3.0" and info["fps"] == 10 and info["robot_type"] == "franka"
    assert info["features"]["observation.state"] == {"dtype": "float32", "shape": [7], "names": names}
    assert info["features"]["action"]["names"] == names
    rows = pq.read_table(data_set / "data" / "chunk-000" / "file-000.parquet").to_pylist()
    videos = {key for key, feature in info["features"].items() if feature["dtype"] == "video"}
    assert rows[0].keys() == info["features"].keys() - videos and videos == {"observation.images.board"}
    assert [row["index"] for row in rows] == list(range(info["total_frames"]))
    episodes = pq.read_table(data_set / "meta" / "episodes" / "chunk-000" / "file-000.parquet").to_pylist()
    trials = finished(run)
    assert len(episodes) == info["total_episodes"] == len(trials)
    begin = 0
    for number, (episode, trial) in enumerate(zip(episodes, trials, strict=True)):
        own = [row for row in rows if row["episode_index"] == number]
        end = begin + len(own)
        assert (episode["dataset_from_index"], episode["dataset_to_index"]) == (begin, end)
        begin = end
        assert np.array_equal(
            np.array([row["observation.state"] for row in own], np.float32), joints(run, trial, "joint_states")
        )
        commands = joints(run, trial, "joint_trajectory")
        # The policy's last step has no command after it, or one that answers the last observation.
        assert np.array_equal(
            np.array([row["action"] for row in own], np.float32)[: len(commands)], commands[: len(own)]
        )
        assert [row["timestamp"] for row in own] == np.float32(np.arange(len(own)) / 10).tolist()
        assert [row["next.done"] for row in own] == [False] * (len(own) - 1) + [True]
        assert own[-1]["next.success"] == bool(trial.result.success)
        assert episode["tasks"] == [trial.trial.instance.instruction.text]
        path = info["video_path"].format(video_key="observation.images.board", chunk_index=0, file_index=number)
        rate, frames = read(data_set / path)
        assert (rate, len(frames)) == (10.0, len(own))
        assert episode["videos/observation.images.board/to_timestamp"] == len(own) / 10
    stats = json.loads((data_set / "meta" / "stats.json").read_text())
    states = np.array([row["observation.state"] for row in rows])
    assert np.allclose(stats["observation.state"]["mean"], states.mean(axis=0), atol=1e-6)
    assert np.allclose(stats["observation.state"]["std"], states.std(axis=0), atol=1e-6)
    assert np.shape(stats["observation.images.board"]["mean"]) == (3, 1, 1)


def test_a_perturbed_episode_leads_to_its_base(run, data_set):
    import pyarrow.parquet as pq

    contrast = pq.read_table(data_set / "meta" / "contrast.parquet").to_pylist()
    trials = finished(run)
    assert [row["episode_index"] for row in contrast] == list(range(len(trials)))
    for row, trial in zip(contrast, trials, strict=True):
        assert (row["base_id"], row["perturbation"]) == (trial.trial.base_id, trial.trial.perturbation)
        assert (row["case_index"] == 0) == trial.trial.is_base
        if not trial.trial.is_base:
            base = contrast[row["base_episode"]]
            assert (base["set_index"], base["case_index"]) == (row["set_index"], 0)
    code, output = command_here("export", run, "--format", "lerobot", "--to", data_set)
    assert code == 2 and "a new folder, or an empty one" in output


def test_lerobot_itself_reads_the_data_set(run, data_set):
    python = os.environ.get("ROBOCONTRAST_LEROBOT_PYTHON")
    if not python:
        pytest.skip("needs the Python of an environment with lerobot in ROBOCONTRAST_LEROBOT_PYTHON")
    script = Path(__file__).resolve().parents[2] / "support" / "lerobot_dataset.py"
    # What is missing it would look for on the Hub.
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": ""}
    done = subprocess.run(
        [python, "-E", str(script), str(data_set)], env=environment, capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout.splitlines()[-1])
    trials = finished(run)
    states = np.concatenate([joints(run, trial, "joint_states") for trial in trials])
    assert (found["frames"], found["episodes"], found["fps"]) == (len(states), len(trials), 10)
    assert np.array_equal(np.array(found["state"], np.float32), states)
    assert set(found["tasks"]) == {trial.trial.instance.instruction.text for trial in trials}
    image = read_images(run / trials[0].recording.bag)[0].pixels / 255.0
    assert np.abs(np.array(found["first"]) - image).mean() < 0.03
    assert found["shape"] == [3, 1, 1]


def test_eval_info_counts_as_the_results_do_and_has_the_control_beside(run):
    results = compute_results(read_journal(run / "journal.jsonl"))
    info = eval_info(results, results, {0: "videos/a.mp4"})
    assert info.keys() == {"per_task", "per_group", "overall"}
    assert [(task["task_group"], task["task_id"]) for task in info["per_task"]] == [("base", 0), ("SB2", 1)]
    for task in info["per_task"]:
        own = [t for t in finished(run) if t.trial.perturbation == task["task_group"]]
        successes = [bool(t.result.success) for t in sorted(own, key=lambda t: t.trial.base_id)]
        assert task["metrics"]["successes"] == successes
        group = info["per_group"][task["task_group"]]
        expected = 100.0 * sum(successes) / len(successes)
        assert task["pc_success"] == group["pc_success"] == group["control_pc_success"] == expected
        low, high = group["pc_success_ci95"]
        assert 0.0 <= low <= expected <= high <= 100.0
    overall = info["overall"]
    assert overall["n_episodes"] == 4 and overall["eval_ep_s"] == pytest.approx(overall["eval_s"] / 4)
    assert info["per_task"][0]["metrics"]["video_paths"] == overall["video_paths"] == ["videos/a.mp4"]
    json.dumps(info, allow_nan=False)


def test_a_format_whose_packages_are_missing_is_refused_with_the_cure(run, tmp_path, monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name == "pyarrow" else found(name, *more)
    )
    code, output = command_here("export", run, "--format", "lerobot", "--to", tmp_path / "set")
    assert code == 2 and "the extra `lerobot`" in output and "pip install pyarrow" in output
    code, output = command_here("export", run, "--format", "video", "--control", run)
    assert code == 2 and "`--control`" in output


def test_the_store_of_trackio_has_the_scores_of_each_trial_and_the_means(run, tmp_path):
    if importlib.util.find_spec("trackio") is None:
        code, output = command_here("export", run, "--format", "trackio", "--to", tmp_path)
        assert code == 2 and "robocontrast_ros[trackio]" in output
        pytest.skip("the extra `trackio` is not installed")
    program = "from robocontrast_ros.cli.main import app; app()"
    words = ("export", run, "--format", "trackio", "--to", tmp_path)
    subprocess.run([sys.executable, "-c", program, *words], check=True, env={**os.environ, "HF_HUB_OFFLINE": "1"})
    results = compute_results(read_journal(RunFolder(run).journal))
    (file,) = tmp_path.glob(f"{results.summary.session}.db")
    with sqlite3.connect(file) as store:
        rows = [json.loads(text) for (text,) in store.execute("SELECT metrics FROM metrics ORDER BY step")]
    trials = results.trials.filter(results.trials["counts"])
    assert [row["success"] for row in rows[:-1]] == trials["success"].to_list()
    base = results.summary.rows[0].scores["success"]
    assert [rows[-1][f"{end}/success/base"] for end in ("mean", "low", "high")] == [base.mean, base.low, base.high]


def test_numbers_of_a_frame_are_the_newest_of_its_time():
    period = 100 * MILLISECOND
    series = [(0, {"a": 1.0}), (2 * period - 1, {"a": 2.0, "b": 5.0}), (3 * period, {"b": 6.0})]
    rows = sampled(series, ["a", "b", "c"], np.arange(4) * period, 10)
    # `b` was not said in the beginning, `c` never.
    assert rows.tolist() == [[1.0, 5.0, 0.0], [1.0, 5.0, 0.0], [2.0, 5.0, 0.0], [2.0, 6.0, 0.0]]


def test_statistics_of_episodes_are_those_of_all_their_rows():
    rng = np.random.default_rng(3)
    parts = [rng.normal(size=(count, 2)) for count in (5, 40, 11)]
    pooled, whole = aggregated([{"x": stats_of(part)} for part in parts])["x"], stats_of(np.concatenate(parts))
    for what in ("min", "max", "mean", "std", "count"):
        assert np.allclose(pooled[what], whole[what])


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


def test_a_comparison_links_both_clips_of_a_trial_that_only_one_solved(tmp_path):
    runs = []
    for skill in (0.4, 1.0):
        one = RunFolder(tmp_path / f"skill_{skill:g}")
        one.path.mkdir()
        run_session(line_evaluation(test_set_size=6), LineBench(skill=skill, policy_faults=0.0), one.journal)
        runs.append(one)
    trials = [{t.trial.trial_id: bool(t.result.success) for t in finished(one.path)} for one in runs]
    differ = [name for name in trials[0] if trials[0][name] != trials[1].get(name, trials[0][name])]
    for one in runs:
        (one.path / "videos").mkdir()
        with encoders.new_video(one.path / "videos" / f"{differ[0]}.mp4", Fraction(10), (64, 48)) as write:
            write(np.zeros((48, 64, 3), np.uint8))
    (tmp_path / "pages").mkdir()
    write_comparison(runs, tmp_path / "pages" / "comparison.html")
    page = (tmp_path / "pages" / "comparison.html").read_text()
    links = re.findall(r'<td class="roomy"><a href="([^"]+)">(.) (\d+)</a> <a href="([^"]+)">(.) (\d+)</a> </td>', page)
    marks = ["✓" if of_run[differ[0]] else "✗" for of_run in trials]
    first, second = (f"../{one.name}/videos/{differ[0]}.mp4" for one in runs)
    assert links == [(first, marks[0], differ[0], second, marks[1], differ[0])]
    assert page.count(f"Video of trial {differ[0]}") == 2


@pytest.mark.long
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
