"""Demonstrations of the tabletop's oracle from the real world model, and the recipe in seconds."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

torch = pytest.importorskip("torch", reason="the extra `torch` is not installed")

from here import pool_at_once  # noqa: E402

from robocontrast_ros.cli.main import app  # noqa: E402
from robocontrast_ros.configuration import ConfigurationError, load_configured, load_record, resolve_uri  # noqa: E402
from robocontrast_ros.policies.baselines.tabletop.handling import Phase  # noqa: E402
from robocontrast_ros.policies.baselines.tabletop.oracle import TabletopOracle  # noqa: E402
from robocontrast_ros.policies.networks import one_thread  # noqa: E402
from robocontrast_ros.tasks.tabletop import Tabletop  # noqa: E402
from robocontrast_ros.tasks.tabletop.hand import ToolPlace  # noqa: E402
from robocontrast_ros.tasks.tabletop.parameters import FAMILIES  # noqa: E402
from robocontrast_ros.training.demonstrator import read_oracle  # noqa: E402
from robocontrast_ros.training.tabletop.demonstrations import Shard, make_shard  # noqa: E402
from robocontrast_ros.training.tabletop.recipe import TabletopRecipe  # noqa: E402

RECIPE_FILE = resolve_uri("package://robocontrast_ros/config/training/tabletop.yaml")
GROUNDING = "package://robocontrast_ros/models/tabletop_bc/grounding.pt"


@pytest.fixture(autouse=True, scope="module")
def thread():
    """Tests beside this one want the other cores."""
    with one_thread():
        yield


@pytest.fixture(scope="module")
def oracle_file(tmp_path_factory):
    """An oracle for a task with few things, none of which has a texture that takes long to draw."""
    folder = tmp_path_factory.mktemp("task")
    config = resolve_uri("package://robocontrast_ros/config")
    task = yaml.safe_load((config / "tasks/tabletop.yaml").read_text())
    task["objects"] = ["cube", "brick", "bowl", "golf_ball"]
    task["sampling"]["objects"] = [4, 5]
    (folder / "few.yaml").write_text(yaml.safe_dump(task))
    oracle = yaml.safe_load((config / "policies/tabletop_oracle.yaml").read_text())
    path = folder / "oracle.yaml"
    path.write_text(yaml.safe_dump(oracle | {"task": "few.yaml"}))
    return path


@pytest.fixture(scope="module")
def few(oracle_file):
    recipe = load_record(TabletopRecipe, RECIPE_FILE)
    return replace(recipe.demonstrations, oracle=str(oracle_file), shards=2, scenes=1, instructions=3)


@pytest.fixture(scope="module")
def shard(few) -> Shard:
    """One after another one, in the same world."""
    make_shard(replace(few, instructions=1), 2)
    return make_shard(few, 0)


def test_a_shard_depends_on_parameters_and_number_alone(few, shard):
    again = make_shard(few, 0)
    for name, values in vars(shard).items():
        assert np.array_equal(values, getattr(again, name)), name


def test_a_shard_without_distractors_holds_only_what_is_named(few):
    alone = make_shard(replace(few, objects=(1, 1), scenes=5, instructions=1), 0)
    assert alone.tried.tolist() == [1, 1, 1, 1, 1]
    for models, target, reference in zip(alone.models, alone.target, alone.reference, strict=True):
        assert set(np.flatnonzero(models >= 0)) == {target, reference} - {-1}
    assert alone.things.shape[1] == alone.models.shape[1] == 2


def test_a_shard_says_what_is_asked_and_where_things_are(shard):
    assert shard.tried.sum() == 3
    assert 0 < len(shard.skill) <= 3
    assert len({*zip(shard.skill.tolist(), shard.target.tolist(), shard.reference.tolist(), strict=True)}) == len(
        shard.skill
    )
    assert shard.things.shape == (len(shard.action), shard.models.shape[1], 4)
    for episode, (skill, target, reference) in enumerate(zip(shard.skill, shard.target, shard.reference, strict=True)):
        assert (reference == -1) == (FAMILIES[skill] == "pick")
        assert shard.models[episode, target] >= 0
        assert reference == -1 or shard.models[episode, reference] >= 0
        lifted = shard.things[shard.episode == episode][:, target, 2]
        assert lifted.max() > 0.02


def test_the_labels_are_a_function_of_what_a_policy_sees(few, shard):
    """The action of each step goes from the commanded place along the line of its phase, whatever was executed."""
    handling = read_oracle(few)[0].handling
    closed = shard.action[:, 4] == 1.0
    assert np.array_equal(closed, shard.phase == Phase.PLACE)
    settled = (np.abs(shard.width - shard.width_before) <= handling.settled) & (closed == (shard.gripper == 1.0))
    checked = 0
    for n in np.flatnonzero(settled):
        x, y, z, yaw = (float(value) for value in shard.line[n])
        tool, start = shard.tool[n].astype(float), shard.commanded[n].astype(float)
        up = shard.phase[n] == Phase.RETREAT or (closed[n] and shard.reference[shard.episode[n]] < 0)
        aside = math.dist(tool[:2], (x, y)) + handling.turn_weight * abs(math.remainder(tool[3] - yaw, math.tau))
        share = min(max((aside - handling.aligned) / (handling.funnel - handling.aligned), 0.0), 1.0)
        goal = np.array([x, y, z if up else z + share * (shard.above[n] - z)])
        if not up and share == 1.0 and tool[2] < shard.above[n] - handling.funnel:
            goal, yaw = np.array([*start[:2], shard.above[n]]), start[3]
        way, action = goal - start[:3], shard.action[n, :3].astype(float)
        turn = min(max(math.remainder(yaw - start[3], math.tau), -handling.turn), handling.turn)
        assert abs(turn - shard.action[n, 3]) < 0.01
        if min(np.linalg.norm(way), np.linalg.norm(action)) > 2e-3:
            assert way @ action > 0.99 * np.linalg.norm(way) * np.linalg.norm(action)
            checked += 1
    assert checked > 30


def test_noise_is_executed_and_not_learned(few, shard):
    same = np.diff(shard.episode) == 0
    gone = (shard.commanded[1:, :3] - shard.commanded[:-1, :3])[same]
    rested = (np.abs(shard.commanded[1:, :3] - shard.tool[1:, :3]).max(axis=1) < 1e-6)[same]
    off = np.linalg.norm(gone - shard.action[:-1, :3][same], axis=1)[~rested]
    assert 1e-4 < np.median(off) < 3 * few.noise


def test_the_oracle_goes_on_from_what_was_executed(few):
    parameters, task_file = read_oracle(few)
    task = Tabletop.from_file(task_file)
    policy = TabletopOracle(parameters, task)
    instance = task.sample(np.random.default_rng(3), "0", "pick")
    handler = policy.skill(instance.instruction, instance.scene)
    tool = ToolPlace((0.3, 0.0, 0.45), 0.0).pose
    handler.step(tool, 0.08, instance.scene)
    assert handler.intent.phase is Phase.FETCH
    assert handler.intent.commanded == tool
    handler.executed((0.01, -0.02, 0.0, 0.0, 0.0, 0.1))
    moved = ToolPlace((0.305, -0.01, 0.45), 0.05).pose
    handler.step(moved, 0.08, instance.scene)
    assert handler.intent.commanded.position == pytest.approx((0.31, -0.02, 0.45))
    assert handler.intent.commanded.yaw == pytest.approx(0.1)


def test_a_limit_within_which_nothing_succeeds_is_refused(few):
    with pytest.raises(ConfigurationError, match="step_limit"):
        make_shard(replace(few, step_limit=3, instructions=1), 0)


@pytest.mark.parametrize(
    ("part", "key", "value", "says"),
    [
        ("demonstrations", "robots", ["franka"], "robot 'franka' has none"),
        ("views", "robots", ["franka"], "robot 'franka' has none"),
        (
            "demonstrations",
            "objects",
            [2, 1],
            "`demonstrations.objects`: got [2, 1], expected two numbers of 1 or more",
        ),
        (
            "demonstrations",
            "objects",
            [0, 4],
            "`demonstrations.objects`: got [0, 4], expected two numbers of 1 or more",
        ),
        ("demonstrations", "objects", [1, 99], "`demonstrations.objects`: got [1, 99], expected at most the "),
        ("demonstrations", "objects", "few", "`demonstrations.objects"),
        ("views", "objects", [0, 1], "`sight.views.objects`: got [0, 1], expected two numbers of 1 or more"),
        ("views", "objects", [4, 99], "`sight.views.objects`: got [4, 99], expected at most the "),
        (
            "recipe",
            "sentences",
            None,
            "`sentences`: got 'nothing', expected a value for this key, or a `grounding_file`",
        ),
        (
            "recipe",
            "grounding",
            None,
            "`grounding`: got 'nothing', expected a value for this key, or a `grounding_file`",
        ),
        ("recipe", "grounding_file", "some.pt", "`grounding_file`: got 'some.pt', expected none beside `sentences`"),
        ("grounding", "width", 66, "`grounding.width`: got 66, expected a multiple of 4"),
        ("handling", "step", 0.02, "`handling.step`: got 0.02, expected 0.03, as in the policy"),
    ],
)
def test_what_does_not_fit_the_policy_is_refused_before_anything_is_made(oracle_file, tmp_path, part, key, value, says):
    recipe, oracle = (yaml.safe_load(path.read_text()) for path in (RECIPE_FILE, oracle_file))
    parts = {**recipe, "recipe": recipe, "views": recipe["sight"]["views"], "handling": oracle["handling"]}
    parts[part][key] = value
    made = tmp_path / "oracle.yaml"
    made.write_text(yaml.safe_dump(oracle | {"task": str(oracle_file.parent / "few.yaml")}))
    recipe["demonstrations"]["oracle"] = str(made)
    file = tmp_path / "wrong.yaml"
    file.write_text(yaml.safe_dump(recipe))
    with pytest.raises(ConfigurationError) as refusal:
        load_configured("recipes", file)
    assert says in str(refusal.value)


def test_a_given_network_that_does_not_fit_is_refused_by_name(oracle_file, tmp_path):
    recipe = yaml.safe_load(RECIPE_FILE.read_text())
    del recipe["sentences"], recipe["grounding"]
    recipe["demonstrations"]["oracle"] = str(oracle_file)
    file = tmp_path / "given.yaml"
    for given, says in (
        (str(resolve_uri(GROUNDING)), "a network that was trained with the "),
        ("nowhere.pt", "a checkpoint of a Grounding network"),
    ):
        file.write_text(yaml.safe_dump(recipe | {"grounding_file": given}))
        with pytest.raises(ConfigurationError) as refusal:
            load_configured("recipes", file)
        assert "`grounding_file`: got " in str(refusal.value)
        assert says in str(refusal.value)


def test_the_condition_without_distractors_differs_from_the_shipped_recipe_in_nothing_else():
    other = resolve_uri("package://robocontrast_ros/config/training/tabletop_without_distractors.yaml")
    with_them, without = (load_record(TabletopRecipe, file) for file in (RECIPE_FILE, other))
    assert with_them.demonstrations.objects is with_them.sight.views.objects is None
    assert without.demonstrations.objects == (1, 1)
    assert without.sight.views.objects == (1, 2)
    ours, theirs = with_them.demonstrations, without.demonstrations
    assert theirs.scenes * theirs.instructions == ours.scenes * ours.instructions
    assert replace(theirs, objects=None, scenes=ours.scenes, instructions=ours.instructions) == ours
    assert replace(without.sight.views, objects=None) == with_them.sight.views
    assert (without.motion, without.sight.training) == (with_them.motion, with_them.sight.training)
    assert without.grounding_file == GROUNDING


def test_the_command_leads_to_policies_and_a_model_card_and_repeats_nothing(oracle_file, tmp_path, monkeypatch):
    monkeypatch.setattr("robocontrast_ros.training.shards.process_pool", pool_at_once)
    recipe = yaml.safe_load(RECIPE_FILE.read_text())
    recipe["demonstrations"] |= {"oracle": str(oracle_file), "shards": 2, "scenes": 1, "instructions": 1}
    recipe["sentences"] |= {"shards": 2, "scenes": 3, "each": 4}
    recipe["sight"]["views"] |= {"robots": ["franka_hand"], "shards": 3, "images": 2}
    for training in (recipe["grounding"], recipe["motion"], recipe["sight"]["training"]):
        training["epochs"] = 1
    file = tmp_path / "small.yaml"
    file.write_text(yaml.safe_dump(recipe))
    command = ["train", str(file), "--output", str(tmp_path / "training"), "--processes", "1"]
    first = CliRunner().invoke(app, command)
    assert first.exit_code == 0, first.output
    folder = tmp_path / "training" / "small"
    for name in ("small_state", "small_camera"):
        policy = yaml.safe_load((folder / f"{name}.yaml").read_text())
        assert (policy.pop("policy"), policy.pop("name")) == ("tabletop_bc", name)
        assert all((folder / checkpoint).exists() for checkpoint in policy.values())
        assert f"evaluate tabletop_demo --policy {folder / name}.yaml" in first.output
    for name, privileged in (("small_state", True), ("small_camera", False)):
        made = load_configured("policies", folder / f"{name}.yaml").describe()
        assert (made.name, made.privileged, bool(made.cameras)) == (name, privileged, not privileged)
    card = (folder / "README.md").read_text()
    kept = sum(len(Shard.load(path).skill) for path in sorted((folder / "demonstrations").glob("*.npz")))
    assert f"- {kept} episodes, " in card
    assert json.loads((folder / "card.json").read_text())["validation"].keys() == {"grounding", "motion", "sight"}
    assert "demonstrations: 2 of 2 shards, 0 s left" in first.output
    again = CliRunner().invoke(app, command)
    assert again.exit_code == 0, again.output
    assert "epoch" not in again.output
    assert "shards" not in again.output
    assert (folder / "README.md").read_text() == card

    # Without distractors, with the network that understands as it is.
    del recipe["sentences"], recipe["grounding"], recipe["sight"]
    recipe["demonstrations"]["objects"] = [1, 1]
    given = "training/small/grounding/grounding.pt"
    (tmp_path / "alone.yaml").write_text(yaml.safe_dump(recipe | {"grounding_file": given}))
    alone = CliRunner().invoke(app, [command[0], str(tmp_path / "alone.yaml"), *command[2:]])
    assert alone.exit_code == 0, alone.output
    folder = tmp_path / "training" / "alone"
    assert {path.name for path in folder.iterdir() if path.is_dir()} == {"demonstrations", "motion"}
    policy = yaml.safe_load((folder / "alone_state.yaml").read_text())
    assert policy["grounding"] == str(tmp_path / given)
    assert load_configured("policies", folder / "alone_state.yaml").describe().privileged
    assert "- no instructions: " in (folder / "README.md").read_text()
    assert json.loads((folder / "card.json").read_text())["validation"].keys() == {"motion"}
