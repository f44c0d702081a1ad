"""The table of scores: what a row says, which scores a session has, and where paths count."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from line_world import LineTask
from own_scores import Grade, Turning
from scorers import sample_of, scorer_of
from tabletop_scenes import tabletop

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain import ObjectState, Outcome, Pose, Scene, ScoreSpec, find_spec
from robocontrast_ros.episodes.scoring import STANDARD, STANDARD_SPECS, load_scores
from robocontrast_ros.episodes.scoring.clutter import OF_CLUTTER
from robocontrast_ros.episodes.scoring.events import OF_EVENTS
from robocontrast_ros.episodes.scoring.mistakes import OF_MISTAKES
from robocontrast_ros.episodes.scoring.motion import OF_MOTION
from robocontrast_ros.sessions.overrides import Overrides
from robocontrast_ros.sessions.resolving import resolve
from robocontrast_ros.tasks.protocol import path_dimensions

DOCS = Path(__file__).resolve().parents[3] / "docs"


def row_of(spec: ScoreSpec) -> str:
    """Return the line of the document's table that describes a score."""
    ends = (f"{end:g}".replace("inf", "∞") for end in (spec.low, spec.high))
    cells = (f"`{spec.name}`", spec.symbol, spec.unit, " to ".join(ends), spec.better, "yes" if spec.live else "no")
    return "| " + " | ".join((*cells, spec.source, spec.description)).replace("|  |", "| |") + " |"


def test_the_documents_have_a_line_for_every_score_in_the_order_of_tables():
    assert "\n".join(map(row_of, STANDARD_SPECS)) in (DOCS / "scoring.md").read_text(encoding="utf-8")
    text = (DOCS / "further_scores.md").read_text(encoding="utf-8")
    for further in (OF_CLUTTER, OF_MISTAKES, OF_EVENTS, OF_MOTION):
        assert "\n".join(row_of(score.spec) for score in further) in text


def test_every_standard_score_is_an_entry_point_under_its_own_name():
    found = {entry.name: entry.load() for entry in entry_points(group="robocontrast_ros.scores")}
    assert [found[score.spec.name] for score in STANDARD] == list(STANDARD)


@pytest.mark.parametrize("scores", [OF_CLUTTER, OF_EVENTS, OF_MOTION])
def test_a_session_may_add_every_further_score_by_its_name(scores):
    added = [score.spec.name for score in scores]
    assert load_scores(LineTask(), added, "session.yaml")[-len(added) :] == scores
    assert not set(added) & set(tabletop().scores)


def test_a_row_names_its_column_its_heading_and_its_best_value():
    assert (Turning.spec.column, Turning.spec.heading) == ("turning_rad", "turning [rad]")
    assert Turning.spec.meaning == "sum of the angles by which the robot's path turns [rad]"
    assert (Turning.spec.best, Turning.spec.bounded) == (0.0, False)
    assert (Grade.spec.best, Grade.spec.bounded, Grade.spec.meaning[-8:]) == (1.0, True, ", 1 to 5")
    assert math.isnan(replace(Turning.spec, better="higher").best)
    assert replace(Turning.spec, unit="rad/s").column == "turning_rad_per_s"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": "path smoothness"}, "expected letters, digits and underscores"),
        ({"low": 1.0, "high": 1.0}, "got the range 1.0 to 1.0, expected low below high"),
    ],
)
def test_a_row_that_makes_no_sense_is_refused(changes, words):
    with pytest.raises(ValueError, match=words):
        replace(Turning.spec, **changes)


def test_a_name_that_is_not_in_the_table_is_refused_with_those_that_are():
    with pytest.raises(KeyError, match="no score 'speed', expected one of turning, grade"):
        find_spec((Turning.spec, Grade.spec), "speed")


class OwnTask(LineTask):
    """A task with scores of its own."""

    scores = ("own_scores:Turning", "collisions")


def names(task, *further: str) -> list[str]:
    return [score.spec.name for score in load_scores(task, further, "session.yaml")]


def test_a_session_has_the_scores_of_its_task_and_success_and_those_it_adds():
    assert names(LineTask()) == [spec.name for spec in STANDARD_SPECS]
    assert names(OwnTask()) == ["success", "turning", "collisions"]
    assert names(OwnTask(), "spl", "own_scores:Grade") == ["success", "turning", "collisions", "spl", "grade"]


@pytest.mark.parametrize(
    ("further", "words"),
    [
        ("smoothness", "unknown score 'smoothness'|got 'smoothness'"),
        ("spl", "scores that the task does not have; it has success, spl, progress"),
        ("own_scores:NoSpec", "a score, whose `spec` is a `robocontrast_ros.domain.ScoreSpec`"),
        ("own_scores:End", "It lacks spec, update, value"),
    ],
)
def test_what_is_no_further_score_is_refused_in_one_line(further, words):
    with pytest.raises(ConfigurationError, match=words) as error:
        load_scores(LineTask(), [further], "session.yaml")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"metric": "turning"}, r"`metric`: got .?turning.?, expected a known score of the session: .*spl.*success"),
        (
            {"metric": "path_length", "strategy.name": "adaptive"},
            "a score whose range has two ends, for strategy 'adaptive'",
        ),
        ({"metric": "collisions", "stop_early.threshold": 0.5}, "a score whose range has two ends"),
        ({"stop_early.threshold": 1.5}, "a number between 0 and 1, the range of SPL"),
        ({"stop_early.half_width": 0.5}, "less than 0.5, half of the range of SPL"),
    ],
)
def test_a_metric_that_a_session_cannot_have_is_refused_by_name(settings, words):
    with pytest.raises(ConfigurationError, match=words) as error:
        resolve("language_table_demo", Overrides(settings=settings))
    assert "\n" not in str(error.value)


def test_a_session_may_take_any_of_its_scores_as_metric():
    evaluation = resolve("language_table_demo", Overrides(settings={"metric": "collisions"})).evaluation()
    assert evaluation.metric_spec.name == "collisions"
    assert resolve("language_table_demo").evaluation().metric_spec.name == "spl"


@dataclass(frozen=True)
class Above:
    """The block is above a height."""

    height: float

    def distance(self, scene: Scene) -> float:
        return max(self.height - scene["block"].pose.position[2], 0.0)

    def satisfied(self, scene: Scene) -> bool:
        return self.distance(scene) == 0.0


def block_at(z: float) -> Scene:
    return Scene((ObjectState("block", "red_moon", Pose((0.0, 0.0, z))),))


@pytest.mark.parametrize(("dimensions", "length"), [(2, 0.3), (3, 0.5)])
def test_a_task_says_whether_its_paths_count_in_the_plane_or_in_space(dimensions, length):
    scorer = scorer_of(Above(1.0), block_at(0.0), (0.0, 0.0, 0.0), 0.5, dimensions=dimensions)
    scorer.update(sample_of(1, block_at(1.0), (0.3, 0.0, 0.4)))
    result = scorer.result()
    assert result.scores["path_length"] == pytest.approx(length)
    assert result.scores["spl"] == pytest.approx(1.0)


def test_other_dimensions_are_refused():
    task = LineTask()
    task.path_dimensions = 4
    with pytest.raises(ValueError, match="path_dimensions of the task 'line': got 4, expected 2 or 3"):
        path_dimensions(task)


def test_where_the_scene_is_not_known_the_path_goes_on_and_the_judgement_waits():
    scorer = scorer_of(Above(1.0), block_at(0.0), (0.0, 0.0, 0.0), 0.5)
    progress = [scorer.update(sample_of(stamp, None, (0.1 * stamp, 0.0, 0.0))) for stamp in (1, 2)]
    assert [p.scores["path_length"] for p in progress] == pytest.approx([0.1, 0.2])
    assert [p.scores["progress"] for p in progress] == [0.0, 0.0]
    assert scorer.result().final_scene == block_at(0.0)
    scorer.update(sample_of(3, block_at(1.0), (0.3, 0.0, 0.0)))
    assert scorer.result().outcome is Outcome.SUCCESS
