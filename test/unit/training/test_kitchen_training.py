"""Demonstrations of the kitchen's oracle from the real world model, and the recipe in seconds."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

torch = pytest.importorskip("torch", reason="the extra `torch` is not installed")

from here import pool_at_once  # noqa: E402

from robocontrast_ros.cli.main import app  # noqa: E402
from robocontrast_ros.configuration import ConfigurationError, load_configured, load_record, resolve_uri  # noqa: E402
from robocontrast_ros.policies.kitchen_bc.network import FETCH, HOLD, LEAVE, KitchenNetwork, Sizes  # noqa: E402
from robocontrast_ros.policies.kitchen_bc.rotations import between  # noqa: E402
from robocontrast_ros.policies.networks import one_thread  # noqa: E402
from robocontrast_ros.policies.sentence_encoder import SentenceEncoder  # noqa: E402
from robocontrast_ros.policies.vocabulary import write_vocabulary  # noqa: E402
from robocontrast_ros.tasks.kitchen import Kitchen  # noqa: E402
from robocontrast_ros.training.demonstrator import read_oracle  # noqa: E402
from robocontrast_ros.training.kitchen.cloning import chosen, read  # noqa: E402
from robocontrast_ros.training.kitchen.demonstrations import (  # noqa: E402
    RESTS,
    RESTS_TURN,
    SKILLS,
    demonstrated,
    make_shard,
)
from robocontrast_ros.training.kitchen.recipe import KitchenRecipe, catalogue_of, told_words  # noqa: E402

RECIPE_FILE = resolve_uri("package://robocontrast_ros/config/training/kitchen.yaml")
SUITE_FILE = resolve_uri("package://robocontrast_ros/config/training/suite.yaml")
PROBLEMS = ("kitchen_1_bowl_on_plate", "kitchen_5_close_top_drawer")
SCENES = ("full_tray", "stove")


@pytest.fixture(autouse=True, scope="module")
def thread():
    """Tests beside this one want the other cores."""
    with one_thread():
        yield


@pytest.fixture(scope="module")
def oracle_file(tmp_path_factory):
    """An oracle for a kitchen with two of the problems."""
    folder = tmp_path_factory.mktemp("task")
    config = resolve_uri("package://robocontrast_ros/config")
    shutil.copytree(config / "kitchen/scenes", folder / "scenes")
    (folder / "problems").mkdir()
    for name in PROBLEMS:
        shutil.copy(config / f"kitchen/problems/{name}.yaml", folder / "problems")
    task = yaml.safe_load((config / "tasks/kitchen.yaml").read_text())
    (folder / "two.yaml").write_text(yaml.safe_dump(task | {"problems": str(folder / "problems")}))
    oracle = yaml.safe_load((config / "policies/kitchen_oracle.yaml").read_text())
    path = folder / "oracle.yaml"
    path.write_text(yaml.safe_dump(oracle | {"task": "two.yaml"}))
    return path


@pytest.fixture(scope="module")
def few(oracle_file):
    recipe = load_record(KitchenRecipe, RECIPE_FILE)
    return replace(recipe.demonstrations, oracle=str(oracle_file), shards=2, scenes=1)


@pytest.fixture(scope="module")
def shard(few):
    """One after another one, in the same world."""
    make_shard(few, 2)
    return make_shard(few, 0)


def test_a_shard_depends_on_parameters_and_number_alone(few, shard):
    again = make_shard(few, 0)
    for name, values in vars(shard).items():
        assert np.array_equal(values, getattr(again, name)), name


def test_a_shard_has_every_thing_and_every_part_with_its_joint(shard):
    assert shard.problems.tolist() == list(PROBLEMS)
    assert shard.tried.tolist() == [1, 1] and not shard.altered.any()
    assert shard.problem.tolist() == [0, 1]
    drawers = {number for number, name in enumerate(shard.names.tolist()) if name.endswith("drawer")}
    for episode, models in enumerate(shard.models.tolist()):
        assert len(drawers & set(models)) == 3
        steps = shard.episode == episode
        assert np.allclose(np.linalg.norm(shard.things[steps][:, : sum(m >= 0 for m in models), 3:], axis=-1), 1.0)
    # The drawer is open at the start, and shut at the end, in its pose and in the position of its joint.
    (closing,) = (shard.episode == 1,)
    moved = shard.joints[closing][:, shard.target[1]]
    assert moved[0] > 0.13 and moved[-1] < 0.006
    poses = shard.things[closing][:, shard.target[1], :3]
    assert np.linalg.norm(poses[0] - poses[-1]) == pytest.approx(moved[0] - moved[-1], abs=1e-4)


def test_noise_is_executed_where_the_tool_moves_and_not_learned(shard):
    same = np.diff(shard.episode) == 0
    gone = (shard.commanded[1:, :3] - shard.commanded[:-1, :3])[same]
    rested = (np.abs(shard.commanded[1:, :3] - shard.tool[1:, :3]).max(axis=1) < 1e-6)[same]
    label = shard.action[:-1][same]
    off = np.linalg.norm(gone - label[:, :3], axis=1)
    waits = (np.linalg.norm(label[:, :3], axis=1) < RESTS) & (np.linalg.norm(label[:, 3:6], axis=1) < RESTS_TURN)
    assert np.median(off[~rested & ~waits]) > 1e-5
    assert off[~rested & waits].max(initial=0.0) < 1e-6


def test_what_the_oracle_chose_is_one_of_the_networks_choices(few, shard, tmp_path):
    """Its grasps and places, in the network's terms, give where it went again."""
    catalogue = catalogue_of(Kitchen.from_file(read_oracle(few)[1]))
    shard.save(tmp_path / "shard.npz")
    starts, steps = read([tmp_path / "shard.npz"], catalogue, SentenceEncoder.shipped())
    assert starts.words.shape == (2, 384)
    network = KitchenNetwork(catalogue, Sizes(word=8, heads=2, blocks=1, thing=8, choice=8, action=8))
    right, s, rows = chosen(network, steps), steps.situation, torch.arange(len(steps))
    line = network.grasp_poses(s)[rows, right.grasp]
    fetches = ~s.carries | (steps.phase == FETCH)
    assert float((line[:, :3] - steps.goal.line[:, :3]).norm(dim=-1)[fetches].max()) < 0.002
    carries = s.carries & (steps.phase == HOLD)
    assert bool(carries.any())
    placed = network.place_line(s, right.at, right.turn)
    assert torch.allclose(placed[carries, :3], steps.goal.line[carries, :3], atol=1e-4)
    assert float(between(placed[carries, 3:], steps.goal.line[carries, 3:]).norm(dim=-1).max()) < 0.01
    for episode in range(2):
        own = steps.phase[steps.episode == episode]
        assert own[0] == FETCH and own[-1] == LEAVE
        assert torch.equal(own[own == HOLD], own[torch.nonzero(own == HOLD)[0] :][: int((own == HOLD).sum())])


@pytest.fixture(scope="module")
def some_of_the_suite(tmp_path_factory):
    """Demonstrations of a suite with two of the scenes, of which no task is held out."""
    folder = tmp_path_factory.mktemp("suite")
    config = resolve_uri("package://robocontrast_ros/config")
    (folder / "scenes").mkdir()
    for name in SCENES:
        shutil.copy(config / f"suite/{name}.yaml", folder / "scenes")
    task = yaml.safe_load((config / "tasks/tabletop_suite.yaml").read_text())
    (folder / "two.yaml").write_text(yaml.safe_dump(task | {"tasks": str(folder / "scenes")}))
    oracle = yaml.safe_load((config / "policies/suite_oracle.yaml").read_text())
    (folder / "oracle.yaml").write_text(yaml.safe_dump(oracle | {"task": "two.yaml"}))
    recipe = load_record(KitchenRecipe, SUITE_FILE)
    return replace(recipe.demonstrations, oracle=str(folder / "oracle.yaml"), shards=2, held_out=0)


def test_each_subtask_is_an_episode_with_the_words_of_the_whole_in_the_scene_that_the_one_before_left(
    some_of_the_suite,
):
    shard = make_shard(some_of_the_suite, 0)
    problems = shard.problems.tolist()
    # The planner's ways of picking up, and out of a tray, are no skills of the network.
    other = {"full_tray/lemon_out_of_brown_tray", "full_tray/pick_purple_plum"}
    assert {name for name, tried in zip(problems, shard.tried.tolist(), strict=True) if not tried} == other
    both = np.flatnonzero(shard.problem == problems.index("stove/stove_and_pot"))
    assert shard.part[both].tolist() == [0, 1]
    assert {SKILLS[skill] for skill in shard.skill[both]} == {"put_on", "turn_on"}
    assert len(set(shard.texts[both].tolist())) == 1
    first, second = (np.flatnonzero(shard.episode == episode) for episode in both)
    assert second[0] == first[-1] + 1 and shard.gripper[second[0]] == 0.0
    assert np.abs(shard.things[first[-1]] - shard.things[second[0]]).max() < 0.01
    for rows, episode in ((first, both[0]), (second, both[1])):
        target = shard.target[episode]
        moved = shard.things[rows[-1], target, :3] - shard.things[rows[0], target, :3]
        turned = shard.joints[rows[-1], target] - shard.joints[rows[0], target]
        assert np.linalg.norm(moved) > 0.05 or abs(turned) > 0.1
    single = np.flatnonzero(shard.problem == problems.index("stove/turn_on_stove"))
    assert shard.part[single].tolist() == [0]


def test_each_so_manieth_problem_that_can_be_learned_is_held_out():
    suite = load_configured("tasks", resolve_uri("package://robocontrast_ros/config/tasks/tabletop_suite.yaml"))
    able, shown = demonstrated(suite, 0), demonstrated(suite, 4)
    assert [name for name in able if name not in shown] == list(able[3::4])
    assert demonstrated(Kitchen.from_file(resolve_uri("package://robocontrast_ros/config/tasks/kitchen.yaml")), 0)
    assert not any("/pick_" in name or "_next_to_" in name for name in able)


def test_the_shipped_vocabulary_is_what_the_demonstrations_were_told(tmp_path):
    recipe = load_configured("recipes", SUITE_FILE)
    written = write_vocabulary(tmp_path, told_words(recipe._task, recipe.parameters.demonstrations)).read_text()
    shipped = resolve_uri("package://robocontrast_ros/models/suite_bc/vocabulary.txt")
    assert shipped.read_text() == written, "`write_vocabulary` of `told_words` mends it"
    assert {"apple", "red", "basket"} <= set(written.split())


def test_a_share_of_the_scenes_is_modified(few):
    shard = make_shard(replace(few, modified=1.0), 0)
    assert shard.altered.sum() >= 1


@pytest.mark.parametrize(
    ("part", "key", "value", "says"),
    [
        ("demonstrations", "robots", ["franka"], "robot 'franka' has none"),
        ("demonstrations", "modified", 1.5, "`demonstrations.modified`: got 1.5"),
        ("cloning", "starts", 0, "`cloning.starts`: got 0"),
        ("handling", "step", 0.02, "`handling.step`: got 0.02, expected 0.03, as in the policy"),
    ],
)
def test_what_does_not_fit_the_policy_is_refused_before_anything_is_made(oracle_file, tmp_path, part, key, value, says):
    recipe, oracle = (yaml.safe_load(path.read_text()) for path in (RECIPE_FILE, oracle_file))
    {**recipe, "handling": oracle["handling"]}[part][key] = value
    made = tmp_path / "oracle.yaml"
    made.write_text(yaml.safe_dump(oracle | {"task": str(oracle_file.parent / "two.yaml")}))
    recipe["demonstrations"]["oracle"] = str(made)
    file = tmp_path / "wrong.yaml"
    file.write_text(yaml.safe_dump(recipe))
    with pytest.raises(ConfigurationError) as refusal:
        load_configured("recipes", file)
    assert says in str(refusal.value)


def test_an_oracle_of_another_task_is_refused(tmp_path):
    recipe = yaml.safe_load(RECIPE_FILE.read_text())
    recipe["demonstrations"]["oracle"] = "package://robocontrast_ros/config/policies/tabletop_oracle.yaml"
    (tmp_path / "wrong.yaml").write_text(yaml.safe_dump(recipe))
    with pytest.raises(ConfigurationError, match="expected the file of an oracle of the kitchen or the suite"):
        load_configured("recipes", tmp_path / "wrong.yaml")


def test_a_limit_within_which_nothing_succeeds_is_refused(few):
    with pytest.raises(ConfigurationError, match="step_limit"):
        make_shard(replace(few, step_limit=3), 0)


def test_the_command_leads_to_a_policy_and_a_model_card_and_repeats_nothing(oracle_file, tmp_path, monkeypatch):
    monkeypatch.setattr("robocontrast_ros.training.shards.process_pool", pool_at_once)
    recipe = yaml.safe_load(RECIPE_FILE.read_text())
    recipe["demonstrations"] |= {"oracle": str(oracle_file), "shards": 2, "scenes": 1}
    recipe["cloning"]["epochs"] = 1
    file = tmp_path / "small.yaml"
    file.write_text(yaml.safe_dump(recipe))
    command = ["train", str(file), "--output", str(tmp_path / "training"), "--processes", "1"]
    first = CliRunner().invoke(app, command)
    assert first.exit_code == 0, first.output
    folder = tmp_path / "training" / "small"
    policy = folder / "small_state.yaml"
    assert f"evaluate kitchen_skills --policy {policy}" in first.output
    described = load_configured("policies", policy).describe()
    assert (described.name, described.privileged, described.cameras) == ("small_state", True, ())
    assert "- no modified scenes" in (folder / "README.md").read_text()
    assert json.loads((folder / "card.json").read_text())["validation"].keys() == {"network"}
    again = CliRunner().invoke(app, command)
    assert again.exit_code == 0, again.output
    assert "epoch" not in again.output and "shards" not in again.output
