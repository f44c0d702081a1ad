"""Videos of a run: one a trial, and one a perturbation in which its trials run beside their base trials."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import cv2
import numpy as np

from robocontrast_ros.analysis.estimates.results import Results
from robocontrast_ros.analysis.export.captions import HEIGHT, Caption, headline
from robocontrast_ros.analysis.export.encoders import new_video
from robocontrast_ros.analysis.export.pictures import Clip, Pixels, clip_of
from robocontrast_ros.analysis.report.trials import Attempt, Track, attempts_of, no_progress
from robocontrast_ros.analysis.report.worklist import pairs_of
from robocontrast_ros.configuration import ConfigurationError, load_configured
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.system.disk import make_folder
from robocontrast_ros.tasks.protocol import Task

NARROWEST, WIDEST = 480, 960
"""Width of a trial's video: that of its images, within these [pixel]."""

MOST = 9
"""Test instances in a grid, at most."""

GRID_WIDTH, TILE_WIDTH = 1440, 400
"""Width of a grid and of a tile, at most [pixel]."""

GAP, INNER = 16, 2
"""Distance between two pairs, and between base and perturbed trial [pixel]."""


@dataclass(frozen=True)
class Written:
    """A video that was written.

    Attributes:
        path: its file.
        what: its content, in words.
        problems: what is wrong with it, each as a sentence.
    """

    path: Path
    what: str
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Shown:
    """A trial's video, to be shown in a grid: frames of ``rate``, whose pictures end above the caption."""

    path: Path
    rate: Fraction
    frames: int
    caption: Callable[[int], Caption]


def video_file(folder: Path, trial_id: str) -> Path:
    """Return the path for the video of a trial, in a folder of videos."""
    return folder / f"{trial_id}.mp4"


def grid_file(folder: Path, perturbation: str) -> Path:
    """Return the path for the video of a perturbation, in a folder of videos."""
    return folder / f"grid_{perturbation}.mp4"


def write_videos(
    run: RunFolder, results: Results, to: Path, track: Track = no_progress
) -> tuple[list[Written], list[str]]:
    """Write a video of each trial that counts, and a grid of each perturbation.

    A trial's video shows its first camera's images; without images, its map with the robot on its way.

    Args:
        run: the run folder.
        results: its results.
        to: folder of the videos, made if it is not there.
        track: iterates over its input, and may show progress.

    Returns:
        What was written, and why trials have no video, each as a sentence.

    Raises:
        ConfigurationError: no codec is there.
        DiskError: a video cannot be written.
    """
    make_folder(to)
    task, why = _task(run)
    attempts = [attempt for attempt in attempts_of(run, results, wanted=()) if attempt.row["counts"]]
    records = {each.trial.index: each for each in results.record.trials if each.counts}
    shown, written, missing = dict[int, _Shown](), list[Written](), list[str]()
    for attempt in track(attempts, "videos"):
        clip = clip_of(run.path, task, records[attempt.row["index"]], attempt.symbol)
        if clip is None:
            missing.append(f"{attempt.trial_id}: no images, and no map: {why}")
            continue
        path = video_file(to, attempt.trial_id)
        shown[attempt.row["index"]] = _write_trial(path, attempt, clip)
        written.append(Written(path, attempt.what, clip.problems))
    for name, pairs in track([*pairs_of(attempts).items()], "grids"):
        chosen = [pair for pair in pairs if pair.first.row["index"] in shown and pair.second.row["index"] in shown]
        # What the perturbation costs comes first.
        chosen = sorted(chosen, key=lambda pair: not pair.lost)[:MOST]
        if not chosen:
            continue
        path, symbol = grid_file(to, name), chosen[0].second.symbol
        policies = dict.fromkeys(pair.second.row["policy"] for pair in chosen)
        who = ", ".join(filter(None, (*policies, results.record.recorded.task)))
        what = f"{symbol}: {len(chosen)} of {len(pairs)} pairs, base left and perturbed right"
        tiles = [(shown[pair.first.row["index"]], shown[pair.second.row["index"]]) for pair in chosen]
        _write_grid(path, tiles, f"{what} · {who}")
        written.append(Written(path, what))
    return written, missing


def _task(run: RunFolder) -> tuple[Task | None, str]:
    """Return the task of a run; None, and why in a sentence, if its file is not there or does not fit any more."""
    file = run.parameters / "task.yaml"
    if not file.is_file():
        return None, f"{file.relative_to(run.path)} is not in the run folder."
    try:
        return load_configured("tasks", file), "the scene was not read back."
    except ConfigurationError as error:
        return None, str(error)


def _write_trial(path: Path, attempt: Attempt, clip: Clip) -> _Shown:
    rate, order = clip.timing.rate, clip.timing.order
    first = clip.picture(order[0])
    size = _even(first.shape[1], first.shape[0], min(max(first.shape[1], NARROWEST), WIDEST))

    def caption(width: int) -> Caption:
        row = attempt.row
        # What a person asks of a clip: what it was told, what was changed, how it ended.
        outcome = row["outcome"].lower().replace("_", " ")
        facts = f"{attempt.symbol} of {row['base_id']} · {attempt.trial_id}"
        return Caption(width, row["instruction"], row["note"], facts, bool(row["success"]), outcome)

    below, last = caption(size[0]), (len(order) - 1) / rate
    with new_video(path, rate, (size[0], size[1] + HEIGHT)) as write:
        for number, image in enumerate(order):
            picture = _sized(clip.picture(image), size)
            write(np.concatenate((picture, below.at(float(number / rate), float(last)))))
    return _Shown(path, rate, len(order), caption)


def _write_grid(path: Path, pairs: Sequence[tuple[_Shown, _Shown]], words: str) -> None:
    columns = min(math.ceil(math.sqrt(len(pairs))), 3)
    rows = math.ceil(len(pairs) / columns)
    wide = min((GRID_WIDTH // columns - GAP - INNER) // 2, TILE_WIDTH) // 2 * 2
    step = 2 * wide + INNER + GAP
    rate = max(one.rate for pair in pairs for one in pair)
    length = max(Fraction(one.frames) / one.rate for pair in pairs for one in pair)
    with ExitStack() as stack:
        tiles = [[stack.enter_context(_tile(one, wide)) for one in pair] for pair in pairs]
        high = max(first(Fraction(0)).shape[0] for pair in tiles for first in pair)
        line = headline(words, columns * step)
        size = line.shape[1] // 2 * 2, (line.shape[0] + rows * (high + GAP)) // 2 * 2
        write = stack.enter_context(new_video(path, rate, size))
        for number in range(round(length * rate)):
            page = np.full((line.shape[0] + rows * (high + GAP), line.shape[1], 3), 255, np.uint8)
            page[: line.shape[0]] = line
            for place, pair in enumerate(tiles):
                row, column = divmod(place, columns)
                for side, tile in enumerate(pair):
                    pixels = tile(number / rate)
                    x, y = column * step + side * (wide + INNER), line.shape[0] + row * (high + GAP)
                    page[y : y + pixels.shape[0], x : x + wide] = pixels
            write(page[: size[1], : size[0]])


@contextmanager
def _tile(shown: _Shown, width: int) -> Iterator[Callable[[Fraction], Pixels]]:
    """Read a trial's video; yield what returns it at a time [s], which only grows, with a caption of its own."""
    video, caption = cv2.VideoCapture(str(shown.path)), shown.caption(width)
    number, pixels = -1, np.zeros((2, 2, 3), np.uint8)

    def at(seconds: Fraction) -> Pixels:
        nonlocal number, pixels
        wanted = min(math.floor(seconds * shown.rate), shown.frames - 1)
        if wanted > number:
            for _ in range(wanted - number):
                video.grab()
            number = wanted
            _, read = video.retrieve()
            picture = cv2.cvtColor(read[:-HEIGHT], cv2.COLOR_BGR2RGB)
            below = caption.at(float(wanted / shown.rate), float((shown.frames - 1) / shown.rate))
            size = _even(picture.shape[1], picture.shape[0], width)
            pixels = np.concatenate((_sized(picture, size), below))
        return pixels

    try:
        yield at
    finally:
        video.release()


def _even(width: int, height: int, wide: int) -> tuple[int, int]:
    """Return the size of a picture as wide as wanted, both even: codecs store colours by pairs."""
    return wide // 2 * 2, max(round(height * wide / width / 2) * 2, 2)


def _sized(pixels: Pixels, size: tuple[int, int]) -> Pixels:
    method = cv2.INTER_AREA if pixels.shape[1] > size[0] else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(np.ascontiguousarray(pixels), size, interpolation=method), np.uint8)
