"""The formats in which a run is exported: a further one is a row of ``FORMATS``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from robocontrast_ros.analysis.estimates.results import Results
from robocontrast_ros.analysis.report.trials import Track
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.runs.run_folder import RunFolder


@dataclass(frozen=True)
class Export:
    """A run to be exported.

    Attributes:
        run: the run folder.
        results: its results.
        to: the folder to write into; None for the format's own place in the run folder.
        control: the results of a control run on the same test set; None without one.
        track: iterates over its input, and may show progress.
        say: prints a line.
    """

    run: RunFolder
    results: Results
    to: Path | None
    control: Results | None
    track: Track
    say: Callable[[str], None]


def _video(export: Export) -> None:
    from robocontrast_ros.analysis.export.encoders import codec_in_words
    from robocontrast_ros.analysis.export.videos import write_videos

    written, missing = write_videos(export.run, export.results, export.to or export.run.videos, export.track)
    for one in written:
        export.say(f"video: {one.path} ({one.what})")
        for problem in one.problems:
            export.say(f"note: {one.path.stem}: {problem}.")
    for words in missing:
        export.say(f"note: {words}")
    export.say(codec_in_words() if written else "No trial counts, or none has pictures: there is no video.")


def _lerobot(export: Export) -> None:
    from robocontrast_ros.analysis.export.lerobot import write_lerobot

    if export.to is None:
        raise ConfigurationError("command line", "--to", "nothing", "a new folder for the data set")
    written = write_lerobot(export.run, export.results, export.to, export.control, export.track)
    for words in written.notes:
        export.say(f"note: {words}")
    export.say(f"data set: {export.to} ({written.episodes} episodes, {written.frames} frames)")
    export.say(f"results: {export.to / 'eval_info.json'}")


def _trackio(export: Export) -> None:
    from robocontrast_ros.analysis.export.trackio_log import write_trackio

    project = write_trackio(export.results, export.to)
    export.say(f"project: {project} (trackio show --project {project})")


FORMATS: dict[str, Callable[[Export], None]] = {"video": _video, "lerobot": _lerobot, "trackio": _trackio}
"""Name of a format -> what writes it."""
