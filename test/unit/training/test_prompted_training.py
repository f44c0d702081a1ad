"""Data and training of the policies that understand prompts, and the recipe in seconds."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

torch = pytest.importorskip("torch", reason="the extra `torch` is not installed")

from examples import examples  # noqa: E402
from here import pool_at_once  # noqa: E402
from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from robocontrast_ros.cli.main import app  # noqa: E402
from robocontrast_ros.configuration import load_configured, load_record, resolve_uri  # noqa: E402
from robocontrast_ros.domain import Crop, Segment, SegmentKind, plain_text  # noqa: E402
from robocontrast_ros.policies.networks import one_thread  # noqa: E402
from robocontrast_ros.policies.prompted.policy import prompt_of  # noqa: E402
from robocontrast_ros.policies.prompted.structure import ROLES, instruction_of, labels  # noqa: E402
from robocontrast_ros.policies.sentence_encoder import SentenceEncoder  # noqa: E402
from robocontrast_ros.tasks.language_table import LanguageTable  # noqa: E402
from robocontrast_ros.tasks.levels import Levels  # noqa: E402
from robocontrast_ros.training.prompted.recipe import PromptedRecipe  # noqa: E402
from robocontrast_ros.training.prompted.scenes import (  # noqa: E402
    PARTS,
    Instances,
    Portraits,
    SceneParameters,
    make_instances,
)
from robocontrast_ros.training.prompted.sentences import all_wordings, key_of  # noqa: E402
from robocontrast_ros.training.prompted.trainer import Material, PromptedTrainer, Variant  # noqa: E402

CONFIG = resolve_uri("package://robocontrast_ros/config")
RECIPE_FILE = CONFIG / "training/prompted.yaml"
RECIPE = load_record(PromptedRecipe, RECIPE_FILE)
TASK_FILE = resolve_uri(RECIPE.task)
TASK = LanguageTable.from_file(TASK_FILE)
BLOCKS = TASK.parameters.blocks
ENCODER = SentenceEncoder.shipped()


@cache
def wordings():
    return all_wordings(TASK, RECIPE.sentences.held_out, RECIPE.sentences.seed)


def segments_of(pattern, said):
    """Return a sentence as segments, with one for each role."""
    return tuple(said[part] if part in ROLES else Segment(SegmentKind.TEXT, part) for part in pattern)


@pytest.fixture(autouse=True, scope="module")
def thread():
    """Tests beside this one want the other cores."""
    with one_thread():
        yield


@pytest.fixture(scope="module")
def instances():
    return make_instances(str(TASK_FILE), SceneParameters(shards=2, instances=30, seed=3), 0)


@pytest.fixture(scope="module")
def material(instances):
    rng = np.random.default_rng(0)

    def pictures(blocks, yaws):
        return Portraits(np.array(blocks), rng.integers(0, 256, (len(blocks), yaws, 32, 32, 3), np.uint8))

    return Material(instances, instances, pictures(BLOCKS, 4), pictures(("red_star", *BLOCKS), 1), wordings())


def trainer(material, variant, **changes):
    few = replace(RECIPE.training, **{"epochs": 1, "width": 16, "layers": 1, "batch": 10, **changes})
    return PromptedTrainer(few, RECIPE.variants[variant], material, ENCODER)


def test_a_shard_depends_on_parameters_and_number_alone(instances):
    parameters = SceneParameters(shards=2, instances=30, seed=3)
    again, other = (make_instances(str(TASK_FILE), parameters, number) for number in (0, 1))
    for name, values in vars(instances).items():
        assert np.array_equal(values, getattr(again, name)), name
    assert not np.array_equal(instances.poses, other.poses)


def test_the_data_are_those_of_the_training_of_the_split_alone(instances):
    levels = Levels.from_file(CONFIG / "levels/language_table_split.yaml")
    assert set(TASK.looks.values()) == set(levels.train.looks) and set(TASK.families) == levels.train.families
    names = {f"{RECIPE_FILE.stem}_{name}" for name in RECIPE.variants}
    assert set(levels.policies) == names
    assert all((CONFIG / f"policies/{name}.yaml").is_file() for name in names)
    assert instances.names.tolist() == list(BLOCKS)
    assert instances.labels[:, PARTS.index("family")].max() < 4


def test_the_labels_mean_an_instruction_that_can_be_given_in_the_scene(instances):
    for row in instances.labels.tolist():
        meant = instruction_of({part: max(value, 0) for part, value in zip(PARTS, row, strict=True)}, BLOCKS)
        assert list(labels(meant, BLOCKS).values()) == row
        assert key_of(meant) in wordings()


@given(st.deferred(lambda: st.sampled_from(sorted(wordings()))), st.permutations(BLOCKS), st.integers(0, 2**32 - 1))
@examples(60)
def test_every_sentence_of_training_parses_back_to_its_meaning(meaning, blocks, seed):
    own, said = wordings()[meaning], dict(zip(ROLES, blocks, strict=False))
    everything = (*own.spoken, *own.held_out)
    pattern = everything[seed % len(everything)]
    parts = {role: Segment(SegmentKind.OBJECT, block.replace("_", " "), "r") for role, block in said.items()}
    text = plain_text(segments_of(pattern, parts))
    scene = TASK.sample(np.random.default_rng(0), "x").scene
    found = TASK.language.parse(text, scene)
    assert key_of(found) == meaning
    assert all(found.get(role) in (None, block) for role, block in said.items())
    # The original sentence is the one that the perturbation of that name says.
    assert TASK.wording.original(replace(found, text=text)) == plain_text(segments_of(own.original, parts))


def test_no_sentence_that_is_held_out_is_said_and_the_original_is():
    for own in wordings().values():
        assert own.original in own.spoken and not set(own.spoken) & set(own.held_out)
        assert len({*own.spoken, *own.held_out}) == len(own.spoken) + len(own.held_out)
    held = sum(len(own.held_out) for own in wordings().values())
    assert 0.05 < held / sum(len(own.spoken) + len(own.held_out) for own in wordings().values()) < 0.15


def test_the_variants_differ_from_a_named_one_in_one_thing():
    variants = RECIPE.variants
    for kind in ("early", "late"):
        plain, paraphrased, permuted = (variants[f"{kind}{name}"] for name in ("", "_paraphrased", "_permuted"))
        assert plain == Variant(conditioning=kind, paraphrases=False, permuted=False)
        assert paraphrased == replace(plain, paraphrases=True)
        assert permuted == replace(paraphrased, permuted=True)


@pytest.mark.parametrize("pictured", [0.0, 1.0])
def test_a_prompt_of_training_is_the_one_of_the_policy(material, pictured):
    made = trainer(material, "early", pictured=pictured)
    list(made._batches(torch.Generator().manual_seed(0)))
    index = torch.arange(10)
    prompts, _ = made._inputs(made._drawn[index])
    shown = material.portraits.of(BLOCKS)
    for number in index.tolist():
        row = dict(zip(PARTS, material.instances.labels[number].tolist(), strict=True))
        meant = instruction_of({part: max(value, 0) for part, value in row.items()}, BLOCKS)
        said = {}
        for role in ROLES:
            block = meant.get(role)
            if block is not None:
                yaw = material.instances.poses[number, BLOCKS.index(block), 2]
                crop = Crop.of(shown[BLOCKS.index(block), round(yaw / math.tau * 4) % 4])
                words = block.replace("_", " ")
                said[role] = Segment(SegmentKind.OBJECT, words, "r", crop=crop if pictured else None)
        expected = prompt_of(segments_of(wordings()[key_of(meant)].original, said), ENCODER)
        length = expected.visible.shape[1]
        assert prompts.visible[number].sum() == length
        is_word = expected.picture[0] < 0
        assert torch.equal(prompts.words[number, :length][is_word], expected.words[0][is_word])
        assert torch.equal(prompts.picture[number, :length] < 0, is_word)
        assert torch.equal(prompts.pictures[prompts.picture[number, :length][~is_word]], expected.pictures)


@pytest.mark.parametrize(("variant", "permuted"), [("early_paraphrased", False), ("early_permuted", True)])
def test_a_permuted_list_has_the_same_objects_and_the_labels_follow_them(material, variant, permuted):
    made = trainer(material, variant)
    list(made._batches(torch.Generator().manual_seed(0)))
    drawn = made._drawn
    own = np.arange(1, len(BLOCKS) + 1)
    assert (drawn.models.sort(1).values.numpy() == own).all()
    assert (drawn.models.numpy() != own).any() == permuted
    for role in ROLES:
        column = PARTS.index(role)
        there = material.instances.labels[:, column] >= 0
        listed, before = drawn.labels[there, column], material.instances.labels[there, column]
        assert (drawn.models[there].gather(1, listed[:, None])[:, 0].numpy() == before + 1).all()
        places = drawn.positions[there].gather(1, listed[:, None, None].expand(-1, 1, 2))[:, 0].numpy()
        assert (places == material.instances.poses[there][np.arange(len(before)), before, :2]).all()
    assert (drawn.labels[:, len(ROLES) :].numpy() == material.instances.labels[:, len(ROLES) :]).all()


def test_without_paraphrases_each_meaning_has_one_sentence(material):
    def said(variant):
        made, found = trainer(material, variant, pictured=0.0), set()
        for seed in range(3):
            list(made._batches(torch.Generator().manual_seed(seed)))
            found |= {tuple(row) for row in made._drawn.tokens.tolist()}
        return len(found)

    rows = {tuple(row) for row in material.instances.labels.tolist()}
    assert said("late") == len(rows) < said("late_paraphrased")


def test_a_few_epochs_lower_the_loss(material, tmp_path):
    lines = []
    trainer(material, "early", epochs=30).run(tmp_path, lines.append)
    losses = [float(line.split("loss ")[1].split(",")[0]) for line in lines]
    assert losses[-1] < 0.6 * losses[0]


@pytest.mark.long
def test_the_command_leads_to_policies_and_a_model_card_and_repeats_nothing(tmp_path, monkeypatch):
    for user in ("shards", "prompted.recipe"):
        monkeypatch.setattr(f"robocontrast_ros.training.{user}.process_pool", pool_at_once)
    recipe = yaml.safe_load(RECIPE_FILE.read_text())
    recipe["scenes"] |= {"shards": 2, "instances": 4}
    recipe["training"] |= {"epochs": 1, "width": 16, "layers": 1}
    recipe["variants"] = {name: recipe["variants"][name] for name in ("early", "late_permuted")}
    recipe["yaws"] = 2
    recipe["album"] = recipe["task"]
    file = tmp_path / "small.yaml"
    file.write_text(yaml.safe_dump(recipe))
    command = ["train", str(file), "--output", str(tmp_path / "training"), "--processes", "1"]
    first = CliRunner().invoke(app, command)
    assert first.exit_code == 0, first.output
    folder = tmp_path / "training" / "small"
    for name in ("small_early", "small_late_permuted"):
        made = load_configured("policies", folder / f"{name}.yaml").describe()
        assert (made.name, made.referents, made.mask, made.privileged) == (name, "crop", "native", True)
        assert f"--policy {folder / name}.yaml" in first.output
        assert len((folder / name / "progress.txt").read_text().splitlines()) == 1
    card = (folder / "README.md").read_text()
    assert "- 4 instances, and 4 held out" in card
    assert "| `small_late_permuted` | late | any | in an order that is drawn |" in card
    numbers = json.loads((folder / "card.json").read_text())
    assert numbers["data"]["instances"] == [4, 4]
    assert list(numbers["validation"]) == ["small_early", "small_late_permuted"]
    for measured in numbers["validation"].values():
        assert set(measured) == {"original", "held_out", "pictures", "permuted"}
    written = {path: path.stat().st_mtime_ns for path in folder.rglob("*.npz")}
    assert len(written) == 4
    again = CliRunner().invoke(app, command)
    assert again.exit_code == 0, again.output
    assert all(path.stat().st_mtime_ns == time for path, time in written.items())
    assert len((folder / "small_early" / "progress.txt").read_text().splitlines()) == 1
    assert json.loads((folder / "card.json").read_text()) == numbers
    assert len(Instances.load(folder / "scenes" / "shard0000.npz")) == 4
