"""Maps: what is on them, which way they are turned, and that a run has one for every trial."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from line_world import LineBench, line_evaluation
from matplotlib.figure import Figure
from PIL import Image
from trial_bags import record_trial
from typer.testing import CliRunner

from robocontrast_ros.analysis.data.run_record import RunRecord
from robocontrast_ros.analysis.figures.maps import map_of_recording, write_maps
from robocontrast_ros.analysis.figures.trial_map import TrialMap, draw_map, legend_of, title_of, write_map
from robocontrast_ros.bags.reader import read_trial
from robocontrast_ros.cli.main import app
from robocontrast_ros.configuration import load_configured, resolve_uri
from robocontrast_ros.domain import Fault, Pose, SetupMove, Trial
from robocontrast_ros.episodes.bench import Recording
from robocontrast_ros.episodes.scoring import EpisodeScorer, Sample
from robocontrast_ros.runs.events import SetUp, TrialFinished, to_line
from robocontrast_ros.runs.journal import read_journal
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.sessions.loop import run_session

TABLE, APARTMENT = (
    resolve_uri(f"package://robocontrast_ros/config/tasks/{name}.yaml")
    for name in ("language_table", "studio_apartment")
)
ORANGE, BLUE, GREEN, PINK, RED = (213, 94, 0), (0, 114, 178), (0, 158, 115), (204, 121, 167), (192, 0, 0)


@pytest.fixture(scope="module")
def table():
    return load_configured("tasks", TABLE)


@pytest.fixture(scope="module")
def apartment():
    return load_configured("tasks", APARTMENT)


def colours(path: Path) -> set[tuple[int, ...]]:
    pixels = np.asarray(Image.open(path).convert("RGB")).reshape(-1, 3)
    return {tuple(map(int, colour)) for colour in np.unique(pixels, axis=0)}


def driven(task, touching: slice = slice(0, 0)) -> TrialMap:
    """Return the map of a trial of the first arrangement, along the reference path, with a wrong odometry."""
    instance = task.sample(np.random.default_rng(0), "x0000", "arrangement_1")
    start = instance.scene
    path = [Pose.planar(*point) for point in instance.reference_path]
    touched = range(len(path))[touching]
    samples = tuple(
        Sample(
            i + 1,
            replace(start, robot=pose, contacts=("walls",) if i in touched else ()),
            Pose.planar(-9.0, -9.0),
        )
        for i, pose in enumerate(path)
    )
    scorer = EpisodeScorer.for_instance(task, instance, start)
    for sample in samples:
        scorer.update(sample)
    trial = Trial(7, "x0000", "SB", 0, instance, 1)
    return TrialMap.of(task, trial, start, samples, scorer.result(stopped=True), symbol="ΔSB")


def test_the_path_is_the_ground_truth_and_begins_at_the_start_pose(apartment):
    content = driven(apartment)
    assert content.path[0] == content.start.robot.xy
    assert content.path[1:] == content.trial.instance.reference_path
    assert content.heading == content.start.robot.yaw


def test_collisions_are_marked_where_they_begin(apartment):
    content = driven(apartment, slice(1, 3))
    assert content.collisions == (content.path[2],)
    assert driven(apartment).collisions == ()


def test_the_title_tells_instruction_perturbation_and_scores(apartment):
    content = driven(apartment)
    title = title_of(content)
    assert content.trial.instance.instruction.text in title
    assert "trial 0007 · ΔSB of x0000, repeat 0 · success · progress 1.00 · SPL 1.00 · nDTW " in title
    assert title_of(replace(content, result=None)).endswith("no result")
    noted = replace(content, trial=replace(content.trial, note="moved the couch by 0.50 m"))
    assert title_of(noted).splitlines()[-1] == "moved the couch by 0.50 m"


def test_what_is_drawn_is_in_the_legend_and_what_is_not_is_not(apartment, tmp_path):
    quiet = replace(driven(apartment), regions=())
    write_map(quiet, tmp_path / "quiet.png")
    assert {BLUE, GREEN} <= colours(tmp_path / "quiet.png")
    assert not {ORANGE, RED, PINK} & colours(tmp_path / "quiet.png")
    assert legend_of(quiet) == "blue: the robot, and what it moved · green: reference path"
    item = quiet.start.objects[0]
    moves = (SetupMove(item.name, item.model, Pose.planar(3.0, 2.5), item.pose),)
    full = replace(driven(apartment, slice(1, 3)), moves=moves)
    write_map(full, tmp_path / "full.png")
    assert {BLUE, GREEN, ORANGE, RED, PINK} <= colours(tmp_path / "full.png")
    assert legend_of(full).endswith("pink: goal, in order · orange: moved for this trial · ✕: collision")


def texts(content: TrialMap) -> dict[str, list[tuple[float, float]]]:
    axes = Figure().add_subplot()
    draw_map(axes, content)
    found: dict[str, list[tuple[float, float]]] = {}
    for text in axes.texts:
        found.setdefault(text.get_text(), []).append(text.get_position())
    return found


def test_every_object_has_its_name_and_every_subgoal_its_number(apartment):
    content = driven(apartment)
    found = texts(content)
    assert {o.name.replace("_", " ") for o in content.start} <= set(found)
    assert {"1", "2", "1 m"} <= set(found)
    first, last = content.regions
    assert (len(found["1"]), len(found["2"])) == (len(first), len(last))


def test_north_is_up_in_the_apartment_and_the_robot_s_side_on_the_table(apartment, table):
    content = driven(apartment)
    at = texts(content)
    bed, couch = content.start["bed"].pose, content.start["couch"].pose
    assert at["bed"] == [bed.xy]
    assert at["couch"] == [couch.xy]
    instance = table.sample(np.random.default_rng(1), "x0000")
    trial = Trial(0, "x0000", "base", 0, instance, 1)
    found = texts(TrialMap.of(table, trial, instance.scene, (), None))
    for item in instance.scene:
        x, y = item.pose.xy
        assert found[item.name.replace("_", " ")] == [pytest.approx((y, -x))]


def test_a_task_without_backdrop_or_regions_has_a_map_all_the_same(apartment, tmp_path):
    bare = replace(driven(apartment), backdrop=None, regions=(), result=None)
    write_map(bare, tmp_path / "bare.png")
    assert BLUE in colours(tmp_path / "bare.png")


def test_blocks_have_the_shapes_of_their_models(table):
    areas = {}
    for block in ("blue_cube", "red_moon", "yellow_star", "red_pentagon"):
        x, y = np.array(table.scenes.outline(block)).T
        areas[block] = abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1))) / 2.0
        assert np.hypot(x, y).max() <= table.parameters.block_size.circumradius + 1e-9
    assert areas["blue_cube"] == pytest.approx(0.038**2)
    assert areas["red_pentagon"] == pytest.approx(2.5 * 0.022**2 * math.sin(2.0 * math.pi / 5.0), rel=1e-3)
    assert (len(table.scenes.outline("yellow_star")), len(table.scenes.outline("blue_cube"))) == (10, 4)
    with pytest.raises(KeyError, match="no block 'sofa'; there are: red_moon"):
        table.scenes.outline("sofa")


@pytest.fixture
def run(tmp_path, table) -> RunFolder:
    """Return a run folder of three Language-Table trials: recorded, not recorded, and the first one's repeat."""
    folder = RunFolder(tmp_path / "run")
    folder.parameters.mkdir(parents=True)
    (folder.parameters / "task.yaml").write_bytes(TABLE.read_bytes())
    instance = table.sample(np.random.default_rng(2), "x0000")
    item = instance.scene.objects[0]
    moves = (SetupMove(item.name, item.model, Pose.planar(0.3, 0.0), item.pose),)
    run_session(line_evaluation(max_trials=1), LineBench(), folder.journal)
    lines = folder.journal.read_bytes().splitlines(keepends=True)[:1]
    old = next(e for e in read_journal(folder.journal).events if isinstance(e, TrialFinished))
    for index, (repeat, moved) in enumerate([(0, moves), (1, ()), (2, ())]):
        trial = Trial(index, "x0000", "SB2", repeat, instance, index)
        bag = f"bags/{trial.trial_id}" if index != 1 else ""
        played = record_trial(folder.bag(trial.trial_id, 0), table, trial, np.random.default_rng(index))
        scene = instance.scene
        lines.append(to_line(SetUp(trial, scene, scene, moved, 0.0, scene, False, 1.0)))
        event = replace(old, trial=trial, result=played.result, recording=Recording(bag))
        lines.append(to_line(event))
    folder.journal.write_bytes(b"".join(lines))
    return folder


def record_of(run: RunFolder) -> RunRecord:
    return RunRecord.of(read_journal(run.journal).events)


def test_every_trial_gets_its_map_and_one_that_is_there_is_kept(run):
    assert write_maps(run, record_of(run)) == 3
    assert sorted(path.name for path in run.maps.iterdir()) == ["0000.png", "0001.png", "0002.png"]
    run.map("0001").unlink()
    before = run.map("0000").stat().st_mtime_ns
    seen = []
    assert write_maps(run, record_of(run), lambda missing: seen.append(len(missing)) or missing) == 1
    assert seen == [1]
    assert run.map("0000").stat().st_mtime_ns == before


def test_a_repeat_that_needed_no_move_shows_what_was_moved_for_its_instance(run):
    assert [len(trial.moves) for trial in record_of(run).trials] == [1, 1, 1]
    write_maps(run, record_of(run))
    assert all(ORANGE in colours(run.map(f"{i:04d}")) for i in range(3))


def test_a_void_attempt_and_a_restore_leave_the_moves_of_the_set_up(tmp_path):
    bench = LineBench(faults={(1, 0): Fault.SENSOR_LOST})
    run_session(line_evaluation(test_set_size=3), bench, tmp_path / "journal.jsonl")
    events = read_journal(tmp_path / "journal.jsonl").events
    finished = [e for e in events if isinstance(e, TrialFinished)]
    counting = [trial for trial in RunRecord.of(events).trials if trial.counts]
    assert [trial.ended for trial in counting] == finished
    starts = {e.trial.index: e.after for e in events if isinstance(e, SetUp)}
    assert all(trial.start == starts[trial.trial.index] for trial in counting)


def test_the_results_of_a_run_include_its_maps(run):
    (run.parameters / "session.yaml").write_text("name: small\n")
    result = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["results", str(run.path)])
    assert result.exit_code == 0, result.output
    assert f"maps: {run.maps}" in result.output
    assert len(list(run.maps.iterdir())) == 3


def test_a_run_without_the_task_s_file_has_no_maps(run):
    (run.parameters / "task.yaml").unlink()
    assert write_maps(run, record_of(run)) == 0
    assert not run.maps.exists()


def test_a_bag_finds_its_moves_in_the_journal_beside_it_and_does_without(run, table):
    recording = read_trial(run.bags / "0000")
    assert [move.name for move in map_of_recording(table, recording).moves] == [recording.start_scene.objects[0].name]
    run.journal.unlink()
    assert map_of_recording(table, recording).moves == ()
