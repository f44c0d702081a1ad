"""A run as a LeRobotDataset v3.0, and its results as LeRobot's eval_info.json.

Layout and checks as in lerobot 0.6.1 (``lerobot/datasets``), eval_info.json as ``lerobot-eval`` of 0.7 writes it.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.analysis.estimates.results import Results
from robocontrast_ros.analysis.export.encoders import new_video
from robocontrast_ros.analysis.export.pictures import CameraImages, Pixels
from robocontrast_ros.analysis.export.signals import Signals, names_of, sampled, shown_images, signals_of
from robocontrast_ros.analysis.report.trials import Attempt, Track, attempts_of, no_progress, symbols_of
from robocontrast_ros.bags.errors import BagError
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.statistics.proportions import wilson
from robocontrast_ros.system.disk import make_folder, write_file, writing

VERSION = "v3.0"
CHUNK = 1000
"""Files of a folder, at most."""

DATA_MEGABYTES, VIDEO_MEGABYTES = 100, 200
FILE = "chunk-{chunk_index:03d}/file-{file_index:03d}"
DATA, VIDEO = f"data/{FILE}.parquet", f"videos/{{video_key}}/{FILE}.mp4"
EPISODES = f"meta/episodes/{FILE}.parquet"

KEY_FRAMES = 2
"""Distance of key frames: frames are read in any order."""

QUANTILES = (0.01, 0.10, 0.50, 0.90, 0.99)
SAMPLED, STRIDE = 20, 4
"""Images of an episode, and of their pixels each so manieth of a row and column, from which statistics are made."""

Stats = dict[str, NDArray[np.float64]]
"""Name of a statistic -> its values, one a dimension; ``count`` has one."""


@dataclass(frozen=True)
class Kept:
    """A trial that is an episode.

    Attributes:
        attempt: the trial.
        signals: its numbers and images.
    """

    attempt: Attempt
    signals: Signals


@dataclass
class Written:
    """What was written.

    Attributes:
        episodes: number of episodes.
        frames: number of frames.
        notes: why trials are left out, and what is wrong with others, each as a sentence.
    """

    episodes: int = 0
    frames: int = 0
    notes: list[str] = field(default_factory=list)


def write_lerobot(
    run: RunFolder, results: Results, to: Path, control: Results | None = None, track: Track = no_progress
) -> Written:
    """Write the trials of a run that count as episodes of a data set.

    Args:
        run: the run folder.
        results: its results.
        to: folder of the data set, new or empty.
        control: results of a control's run, whose success is put beside; None without one.
        track: iterates over its input, and may show progress.

    Raises:
        ConfigurationError: the folder is not empty, the extra is not installed, no trial can be an episode, or the
            robot's file does not fit.
        DiskError: a file cannot be written.
    """
    missing = [name for name in ("pyarrow", "av") if importlib.util.find_spec(name) is None]
    if missing:
        expected = "the extra `lerobot`, the packages pyarrow and av"
        raise ConfigurationError("command line", "--format", "lerobot", expected, f"pip install {' '.join(missing)}.")
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise ConfigurationError("command line", "--to", str(to), "a new folder, or an empty one", "Name another.")
    robot, written = load_profile(run.parameters / "robot.yaml"), Written()
    attempts = [attempt for attempt in attempts_of(run, results, wanted=()) if attempt.row["counts"]]
    writer: _Writer | None = None
    for attempt in track(attempts, "episodes"):
        try:
            if not attempt.row["bag"]:
                raise BagError("it was not recorded.")
            kept = Kept(attempt, signals_of(run.path / attempt.row["bag"], robot))
            writer = writer or _Writer(run, results, to, kept)
            writer.add(kept)
        except BagError as error:
            words = str(error).replace(f"{run.path}/", "").rstrip(".")
            written.notes.append(f"{attempt.trial_id} is no episode: {words}.")
    if writer is None or not writer.episodes:
        raise ConfigurationError(
            "command line", "RUN", str(run.path), "a run with a recorded trial that counts", " ".join(written.notes[:1])
        )
    writer.close(robot.name)
    write_file(to / "eval_info.json", json.dumps(eval_info(results, control, writer.videos), indent=2) + "\n")
    written.episodes, written.frames = len(writer.episodes), writer.frames
    written.notes += writer.notes
    return written


class _Writer:
    """Writes episodes, one after the other; the first decides cameras, names and rate."""

    def __init__(self, run: RunFolder, results: Results, to: Path, first: Kept) -> None:
        self._to, self._rate = to, first.signals.rate
        self._cases = {name: number for number, name in enumerate(symbols_of(results))}
        self._sets: dict[str, int] = {}
        self._tasks: dict[str, int] = {}
        self._state, self._action = names_of([first.signals.state]), names_of([first.signals.action])
        self._sizes = {name: _even(camera.decoded(0).shape) for name, camera in first.signals.cameras.items()}
        self._stats: list[dict[str, Stats]] = []
        self._rows: list[dict[str, Any]] = []
        self._file, self._bytes, self._data = 0, 0, None
        self.episodes: list[dict[str, Any]] = []
        self.videos: dict[int, str] = {}
        self.notes: list[str] = []
        self.frames = 0

    def add(self, kept: Kept) -> None:
        """Write an episode.

        Raises:
            BagError: it has not the first one's cameras, or an image cannot be decoded.
        """
        signals, row = kept.signals, kept.attempt.row
        if lacking := sorted(self._sizes.keys() - signals.cameras.keys()):
            raise BagError(f"no images of {', '.join(lacking)}, which the first episode has.")
        for what, names, series in (("state", self._state, signals.state), ("action", self._action, signals.action)):
            if more := sorted(set(names_of([series])) - set(names)):
                raise BagError(f"its {what} has {', '.join(more)}, which the first episode has not.")
        number, times = len(self.episodes), signals.times(self._rate)
        videos = {}
        for name in self._sizes:
            videos[_key(name)], believed = self._video(number, name, signals.cameras[name], times)
            if not believed:
                self.notes.append(f"{kept.attempt.trial_id}: {name}: images without usable stamps, spread evenly.")
        task = self._tasks.setdefault(row["instruction"], len(self._tasks))
        columns = self._columns(kept, number, task, times)
        place = self._put(columns)
        stats = {key: stats_of(values) for key, values in columns.items()} | videos
        self._stats.append(stats)
        where = {"chunk_index": number // CHUNK, "file_index": number % CHUNK}
        episode = {
            "episode_index": number,
            "tasks": [row["instruction"]],
            "length": len(times),
            "data/chunk_index": place // CHUNK,
            "data/file_index": place % CHUNK,
            "dataset_from_index": self.frames,
            "dataset_to_index": self.frames + len(times),
        }
        for name in self._sizes:
            key = f"videos/{_key(name)}"
            episode |= {f"{key}/{what}": value for what, value in where.items()}
            episode |= {f"{key}/from_timestamp": 0.0, f"{key}/to_timestamp": len(times) / self._rate}
            self.videos.setdefault(row["index"], VIDEO.format(video_key=_key(name), **where))
        for key, own in stats.items():
            episode |= {f"stats/{key}/{what}": _listed(key, what, values) for what, values in own.items()}
        self.episodes.append(episode | {"meta/episodes/chunk_index": 0, "meta/episodes/file_index": 0})
        self._rows.append(self._contrast(kept, number))
        self.frames += len(times)

    def close(self, robot: str) -> None:
        """Write the metadata; the info comes last, so that a data set that has one is whole."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        if self._data is not None:
            self._data.close()
        # A perturbed trial follows its base trial, whose episode may have been left out.
        numbers = {row["trial"]: row["episode_index"] for row in self._rows}
        contrast = [{**row, "base_episode": numbers.get(row.pop("twin"))} for row in self._rows]
        tables = {
            EPISODES.format(chunk_index=0, file_index=0): pa.Table.from_pylist(self.episodes),
            "meta/contrast.parquet": pa.Table.from_pylist(contrast),
            "meta/tasks.parquet": _tasks(self._tasks),
        }
        for name, table in tables.items():
            make_folder((self._to / name).parent)
            with writing(self._to / name):
                pq.write_table(table, self._to / name)
        stats = aggregated(self._stats)
        listed = {key: {what: _listed(key, what, v) for what, v in own.items()} for key, own in stats.items()}
        write_file(self._to / "meta" / "stats.json", json.dumps(listed, indent=2) + "\n")
        write_file(self._to / "meta" / "info.json", json.dumps(self._info(robot), indent=2) + "\n")

    def _info(self, robot: str) -> dict[str, Any]:
        return {
            "codebase_version": VERSION,
            "robot_type": robot,
            "total_episodes": len(self.episodes),
            "total_frames": self.frames,
            "total_tasks": len(self._tasks),
            "chunks_size": CHUNK,
            "data_files_size_in_mb": DATA_MEGABYTES,
            "video_files_size_in_mb": VIDEO_MEGABYTES,
            "fps": self._rate,
            "splits": {"train": f"0:{len(self.episodes)}"},
            "data_path": DATA,
            "video_path": VIDEO if self._sizes else None,
            "features": self._features(),
        }

    def _features(self) -> dict[str, Any]:
        def vector(names: Sequence[str]) -> dict[str, Any]:
            return {"dtype": "float32", "shape": [len(names)], "names": list(names)}

        def scalar(kind: str) -> dict[str, Any]:
            return {"dtype": kind, "shape": [1], "names": None}

        features = {"observation.state": vector(self._state), "action": vector(self._action)}
        for name, (height, width) in self._sizes.items():
            video = {"height": height, "width": width, "codec": "h264", "pix_fmt": "yuv420p", "fps": self._rate}
            features[_key(name)] = {
                "dtype": "video",
                "shape": [height, width, 3],
                "names": ["height", "width", "channels"],
                "info": {f"video.{what}": value for what, value in video.items()}
                | {"video.channels": 3, "has_audio": False, "is_depth_map": False},
            }
        kinds = {"next.reward": "float32", "next.success": "bool", "next.done": "bool", "timestamp": "float32"}
        whole = ("set_index", "case_index", "frame_index", "episode_index", "index", "task_index")
        return features | {key: scalar(kind) for key, kind in (kinds | dict.fromkeys(whole, "int64")).items()}

    def _columns(self, kept: Kept, number: int, task: int, times: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        row, count, signals = kept.attempt.row, len(times), kept.signals
        last = np.arange(count) == count - 1
        solved = last & bool(row["success"])
        instance = self._sets.setdefault(row["base_id"], len(self._sets))
        return {
            "observation.state": sampled(signals.state, self._state, times, self._rate),
            "action": sampled(signals.action, self._action, times, self._rate),
            "next.reward": solved.astype(np.float32),
            "next.success": solved,
            "next.done": last,
            # Readers compare it with frame_index / fps.
            "timestamp": (np.arange(count) / self._rate).astype(np.float32),
            "set_index": np.full(count, instance, np.int64),
            "case_index": np.full(count, self._cases[row["perturbation"]], np.int64),
            "frame_index": np.arange(count, dtype=np.int64),
            "episode_index": np.full(count, number, np.int64),
            "index": np.arange(self.frames, self.frames + count, dtype=np.int64),
            "task_index": np.full(count, task, np.int64),
        }

    def _put(self, columns: Mapping[str, NDArray[Any]]) -> int:
        """Write rows as a row group; return the number of their file."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        size = sum(values.nbytes for values in columns.values())
        if self._data is not None and self._bytes + size > DATA_MEGABYTES * 1_000_000:
            self._data.close()
            self._file, self._bytes, self._data = self._file + 1, 0, None
        table = pa.table({name: _column(values) for name, values in columns.items()})
        path = self._to / DATA.format(chunk_index=self._file // CHUNK, file_index=self._file % CHUNK)
        make_folder(path.parent)
        with writing(path):
            self._data = self._data or pq.ParquetWriter(path, table.schema)
            self._data.write_table(table)
        self._bytes += size
        return self._file

    def _video(self, number: int, name: str, camera: CameraImages, times: NDArray[np.int64]) -> tuple[Stats, bool]:
        """Write an episode's video of a camera; return the statistics of its images, and whether stamps were good."""
        height, width = self._sizes[name]
        images, believed = shown_images(camera, times, self._rate)
        decoded = lru_cache(maxsize=1)(camera.decoded)
        path = self._to / VIDEO.format(video_key=_key(name), chunk_index=number // CHUNK, file_index=number % CHUNK)
        make_folder(path.parent)
        wanted = set(np.linspace(0, len(times) - 1, min(SAMPLED, len(times))).astype(int).tolist())
        pixels = []
        with new_video(path, Fraction(self._rate), (width, height), KEY_FRAMES) as write:
            for frame, image in enumerate(images):
                shown = _cropped(decoded(int(image)), height, width)
                write(shown)
                if frame in wanted:
                    pixels.append(shown[::STRIDE, ::STRIDE].reshape(-1, 3))
        stats = stats_of(np.concatenate(pixels) / 255.0)
        return stats | {"count": np.array([len(wanted)], np.float64)}, believed

    def _contrast(self, kept: Kept, number: int) -> dict[str, Any]:
        row = kept.attempt.row
        return {
            "episode_index": number,
            "set_index": self._sets[row["base_id"]],
            "case_index": self._cases[row["perturbation"]],
            "base_id": row["base_id"],
            "perturbation": row["perturbation"],
            "symbol": kept.attempt.symbol,
            "repeat": row["repeat"],
            "instruction": row["instruction"],
            "note": row["note"],
            "success": bool(row["success"]),
            "outcome": row["outcome"],
            "scores": {spec.name: row[spec.column] for spec in kept.attempt.scores if spec.name != "success"},
            "policy": row["policy"],
            "seed": row["seed"],
            "trial": row["index"],
            "bag": row["bag"],
            "twin": row["twin"],
        }


def eval_info(results: Results, control: Results | None, videos: Mapping[int, str]) -> dict[str, Any]:
    """Return the results as ``lerobot-eval`` writes them: a task a case, ``base`` and each perturbation.

    Rewards are 1 at a success and 0 otherwise.

    Args:
        results: of the run.
        control: those of a control's run; its percentages are ``control_pc_success``.
        videos: index of a trial -> its video, relative to the data set.
    """
    rows = results.trials.filter("counts").to_dicts()
    others = control.trials.filter("counts").to_dicts() if control is not None else []
    sets = {base_id: number for number, base_id in enumerate(dict.fromkeys(row["base_id"] for row in rows))}
    tasks, groups = [], {}
    for number, name in enumerate(symbols_of(results)):
        own = sorted(
            (row for row in rows if row["perturbation"] == name), key=lambda r: (sets[r["base_id"]], r["repeat"])
        )
        if not own:
            continue
        rewards = [float(bool(row["success"])) for row in own]
        metrics = {
            "sum_rewards": rewards,
            "max_rewards": rewards,
            "successes": [bool(row["success"]) for row in own],
            **_videos(own, videos),
        }
        tasks.append({"task_group": name, "task_id": number, "metrics": metrics, **_rates(own)})
        groups[name] = _group(own, [row for row in others if row["perturbation"] == name], control, videos)
    seconds = sum(row["wall_time_s"] or 0.0 for row in rows)
    overall = _group(rows, others, control, videos)
    times = {"eval_s": seconds, "eval_ep_s": seconds / max(len(rows), 1)}
    return {"per_task": tasks, "per_group": groups, "overall": overall | times}


def _group(
    rows: Sequence[dict[str, Any]],
    others: Sequence[dict[str, Any]],
    control: Results | None,
    videos: Mapping[int, str],
) -> dict[str, Any]:
    rates = _rates(rows)
    mean = (rates["pc_success"] or 0.0) / 100.0
    group = {"avg_sum_reward": mean, "avg_max_reward": mean, **rates, **_videos(rows, videos)}
    if control is None:
        return group
    beside = {f"control_{name}": value for name, value in _rates(others).items()}
    return group | {"control_policy": control.summary.policy, **beside}


def _rates(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return number of episodes and successes, and the percentage of successes with its interval (Wilson)."""
    solved = sum(bool(row["success"]) for row in rows)
    if not rows:
        return {"n_episodes": 0, "n_success": 0, "pc_success": None, "pc_success_ci95": None}
    found = wilson(solved, len(rows))
    ends = [100.0 * found.low, 100.0 * found.high]
    return {
        "n_episodes": len(rows),
        "n_success": solved,
        "pc_success": 100.0 * solved / len(rows),
        "pc_success_ci95": ends,
    }


def _videos(rows: Sequence[dict[str, Any]], videos: Mapping[int, str]) -> dict[str, list[str]]:
    paths = [videos[row["index"]] for row in rows if row["index"] in videos]
    return {"video_paths": paths, "predicted_video_paths": []}


def stats_of(values: NDArray[Any]) -> Stats:
    """Return the statistics of rows, shape (n, dimensions) or (n,)."""
    rows = np.asarray(values, np.float64).reshape(len(values), -1)
    quantiles = np.quantile(rows, QUANTILES, axis=0)
    return {
        "min": rows.min(axis=0),
        "max": rows.max(axis=0),
        "mean": rows.mean(axis=0),
        "std": rows.std(axis=0),
        "count": np.array([len(rows)], np.float64),
        **{f"q{round(100 * share):02d}": quantile for share, quantile in zip(QUANTILES, quantiles, strict=True)},
    }


def aggregated(episodes: Sequence[Mapping[str, Stats]]) -> dict[str, Stats]:
    """Return the statistics over episodes, as LeRobot aggregates them: its quantiles are weighted means."""
    found = {}
    for key in episodes[0]:
        own = [stats[key] for stats in episodes]
        counts = np.array([stats["count"][0] for stats in own])
        weights = counts / counts.sum()

        def mean(what: str, own: list[Stats] = own, weights: NDArray[np.float64] = weights) -> NDArray[np.float64]:
            return np.sum([w * stats[what] for w, stats in zip(weights, own, strict=True)], axis=0)

        middle = mean("mean")
        spread = [w * (s["std"] ** 2 + (s["mean"] - middle) ** 2) for w, s in zip(weights, own, strict=True)]
        found[key] = {
            "min": np.min([stats["min"] for stats in own], axis=0),
            "max": np.max([stats["max"] for stats in own], axis=0),
            "mean": middle,
            "std": np.sqrt(np.sum(spread, axis=0)),
            "count": np.array([counts.sum()]),
            **{what: mean(what) for what in own[0] if what.startswith("q")},
        }
    return found


def _listed(key: str, what: str, values: NDArray[np.float64]) -> list[Any]:
    """Return a statistic as files have it: those of images have the shape (3, 1, 1)."""
    if what == "count":
        return [int(values[0])]
    return values.reshape(-1, 1, 1).tolist() if key.startswith("observation.images.") else values.tolist()


def _column(values: NDArray[Any]) -> Any:
    import pyarrow as pa

    if values.ndim == 1 or values.shape[1] == 1:
        return pa.array(values.reshape(-1))
    return pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), values.shape[1])


def _tasks(tasks: Mapping[str, int]) -> Any:
    """Return the table of instructions, whose index for pandas is the instruction."""
    import pyarrow as pa

    kinds = {"task_index": ("int64", "int64"), "task": ("unicode", "object")}
    columns = [
        {"name": name, "field_name": name, "pandas_type": kind, "numpy_type": stored, "metadata": None}
        for name, (kind, stored) in kinds.items()
    ]
    pandas = {"index_columns": ["task"], "column_indexes": [], "columns": columns, "pandas_version": "2.0.0"}
    table = pa.table({"task_index": pa.array(list(tasks.values()), pa.int64()), "task": pa.array(list(tasks))})
    return table.replace_schema_metadata({"pandas": json.dumps(pandas)})


def _key(camera: str) -> str:
    return f"observation.images.{camera}"


def _even(shape: Sequence[int]) -> tuple[int, int]:
    """Return height and width without an odd last row or column: codecs store colours by pairs."""
    return max(shape[0] // 2 * 2, 2), max(shape[1] // 2 * 2, 2)


def _cropped(pixels: Pixels, height: int, width: int) -> Pixels:
    if _even(pixels.shape) != (height, width):
        # The camera's mode was changed in between.
        pixels = np.asarray(cv2.resize(np.ascontiguousarray(pixels), (width, height), interpolation=cv2.INTER_AREA))
    return pixels[:height, :width]
