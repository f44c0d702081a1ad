"""Demonstrations from the real world model, and trainings small enough for a test."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import yaml
from language_table_instances import EIGHT
from typer.testing import CliRunner

torch = pytest.importorskip("torch", reason="the extra `torch` is not installed")

from robocontrast_ros.cli.main import app  # noqa: E402
from robocontrast_ros.configuration import load_configured, load_record, resolve_uri  # noqa: E402
from robocontrast_ros.policies.networks import one_thread  # noqa: E402
from robocontrast_ros.training.film_bc.demonstrations import Shard, make_shard  # noqa: E402
from robocontrast_ros.training.film_bc.keypoints import BlockImages, KeypointTrainer  # noqa: E402
from robocontrast_ros.training.film_bc.pushing import Steps, Trainer, Words  # noqa: E402
from robocontrast_ros.training.film_bc.recipe import FilmBcRecipe  # noqa: E402
from robocontrast_ros.training.film_bc.wordings import Wordings  # noqa: E402
from robocontrast_ros.training.shards import make_shards  # noqa: E402

NAMES = EIGHT.parameters.blocks
RECIPE_FILE = resolve_uri("package://robocontrast_ros/config/training/film_bc.yaml")
RECIPE = load_record(FilmBcRecipe, RECIPE_FILE)
FEW = replace(RECIPE.demonstrations, shards=1, episodes=2, image_every=5)


@pytest.fixture(autouse=True, scope="module")
def thread():
    """Tests beside this one want the other cores."""
    with one_thread():
        yield


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    """One shard with the rendered images, made twice: in a process of its own, and here."""
    (made,) = make_shards(make_shard, FEW, tmp_path_factory.mktemp("demonstrations"), processes=1)
    here = tmp_path_factory.mktemp("demonstrations") / made.name
    make_shard(FEW, 0).save(here)
    return [made, here]


@pytest.fixture(scope="module")
def wordings(shards):
    """The sentences of the shard, each of a meaning of its own, with made-up vectors."""
    texts = Shard.load(shards[0]).texts
    rng = np.random.default_rng(0)
    return Wordings(texts, np.arange(len(texts)), rng.normal(size=(len(texts), 384)).astype(np.float16))


def test_a_shard_depends_on_parameters_and_number_alone(shards):
    first, second = (vars(Shard.load(path)) for path in shards)
    for name, values in first.items():
        assert np.array_equal(values, second[name]), name


def test_a_shard_that_is_there_is_not_made_again(shards):
    assert list(make_shards(make_shard, FEW, shards[0].parent, processes=1)) == []


def test_a_shard_holds_states_labels_and_images_of_each_episode(shards):
    shard = Shard.load(shards[0])
    steps = len(shard.action)
    assert set(shard.episode.tolist()) == {0, 1}
    assert shard.blocks.shape == (steps, 8, 3)
    assert shard.images.shape == (len(shard.image_step), 90, 160, 3)
    assert np.linalg.norm(shard.action, axis=1).max() <= 0.03 + 1e-6
    first = np.flatnonzero(np.diff(shard.episode, prepend=-1))
    assert np.array_equal(shard.start[first], shard.blocks[first])


def trainer(shards, wordings, **changes):
    steps = Steps.of(shards[:1], wordings)
    parameters = replace(RECIPE.network, **{"epochs": 4, "batch": 16, "trunk": 32, "language": 16, **changes})
    words = Words(wordings, parameters.held_out, parameters.seed, torch.device("cpu"))
    return Trainer(parameters, NAMES, steps, steps, words)


@pytest.mark.long
def test_training_learns_what_it_is_shown(shards, wordings, tmp_path):
    learner = trainer(shards, wordings, epochs=30)
    before = learner.validate()["direction"]
    learner.run(tmp_path, say=lambda line: None)
    assert learner.validate()["direction"] < before - 1.0


def test_a_training_that_was_interrupted_ends_as_one_in_a_piece(shards, wordings, tmp_path):
    whole = trainer(shards, wordings).run(tmp_path / "whole", say=lambda line: None)

    def interrupt(line):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trainer(shards, wordings).run(tmp_path / "parts", say=interrupt)
    lines = []
    resumed = trainer(shards, wordings).run(tmp_path / "parts", say=lines.append)
    assert [line.split(",")[0] for line in lines] == [f"epoch {epoch} of 4" for epoch in (2, 3, 4)]
    for a, b in zip(whole.parameters(), resumed.parameters(), strict=True):
        assert torch.equal(a, b)


@pytest.mark.long
def test_the_keypoints_are_learned_from_the_images(shards, tmp_path):
    views = BlockImages.of(shards[:1])
    learner = KeypointTrainer(replace(RECIPE.keypoints, epochs=60, batch=8, width=16, rate=1e-2), NAMES, views, views)
    before = learner.validate()["median_mm"]
    learner.run(tmp_path, say=lambda line: None)
    assert learner.validate()["median_mm"] < min(20.0, before)


@pytest.fixture(scope="module")
def every_wording():
    class Encoder:
        def encode(self, texts):
            return np.zeros((len(texts), 384), np.float32)

    return Wordings.of(EIGHT, Encoder(), say=lambda line: None)


def test_every_sentence_of_a_meaning_stands_with_the_others(every_wording):
    assert len(every_wording.texts) == len(set(every_wording.texts.tolist())) == 28616
    assert (np.diff(every_wording.meanings) >= 0).all()
    assert len(set(every_wording.meanings.tolist())) == 696 + 64


@pytest.fixture
def small(every_wording, tmp_path):
    """A recipe that takes seconds, and the folder that it is followed in."""
    recipe = yaml.safe_load(RECIPE_FILE.read_text())
    recipe["demonstrations"] |= {"shards": 2, "episodes": 1, "step_limit": 5}
    recipe["rounds"] = [recipe["rounds"][1] | {"shards": 2, "episodes": 1}]
    for key in ("network", "network_after_round", "network_for_pixels", "keypoints"):
        recipe[key]["epochs"] = 1
    file = tmp_path / "small.yaml"
    file.write_text(yaml.safe_dump(recipe))
    folder = tmp_path / "training" / "small"
    folder.mkdir(parents=True)
    np.savez(folder / "wordings.npz", **vars(every_wording))
    return file


def command(recipe):
    return CliRunner().invoke(
        app, ["train", str(recipe), "--output", str(recipe.parent / "training"), "--processes", "1"]
    )


@pytest.mark.long
def test_the_command_leads_to_policies_and_a_model_card_and_repeats_nothing(small):
    first = command(small)
    assert first.exit_code == 0, first.output
    folder = small.parent / "training" / "small"
    for name, cameras in (("small", ("board",)), ("small_state", ())):
        policy = load_configured("policies", folder / f"{name}.yaml")
        assert (policy.describe().name, policy.describe().cameras) == (name, cameras)
    card = (folder / "README.md").read_text()
    assert "demonstrations0: 2 episodes, 10 steps, 4 images" in card
    assert "evaluate language_table_held_out --fast --policy small.yaml" in card
    progress = [line[9:] for line in first.output.splitlines()]
    assert "demonstrations1: 2 of 2 shards, 0 s left" in progress
    assert sum("epoch 1 of 1" in line for line in progress) == 4

    # A folder that was begun before recipes named what reads them.
    begun = folder / "recipe.yaml"
    begun.write_text(begun.read_text().replace("recipe: film_bc\n", ""))
    again = command(small)
    assert again.exit_code == 0, again.output
    assert "epoch" not in again.output
    assert "shards" not in again.output
    assert (folder / "README.md").read_text() == card


def test_a_folder_that_another_recipe_was_begun_in_is_refused(small):
    folder = small.parent / "training" / "small"
    (folder / "recipe.yaml").write_text(RECIPE_FILE.read_text())
    refused = command(small)
    assert refused.exit_code == 2
    assert "Name another folder with --output" in refused.output
    assert not (folder / "demonstrations0").exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"shards": 1}, "at least 2 shards"),
        ({"oracle": "no_oracle.yaml"}, "no_oracle.yaml"),
    ],
)
def test_a_mistake_in_a_recipe_is_told_in_a_line(small, change, said):
    recipe = yaml.safe_load(small.read_text())
    recipe["demonstrations"] |= change
    small.write_text(yaml.safe_dump(recipe))
    refused = command(small)
    assert refused.exit_code == 2
    assert said in refused.output
    assert "Traceback" not in refused.output


def test_a_recipe_that_names_nothing_that_reads_it_is_refused(small):
    recipe = yaml.safe_load(small.read_text())
    del recipe["recipe"]
    small.write_text(yaml.safe_dump(recipe))
    refused = command(small)
    assert refused.exit_code == 2
    assert "`recipe`: got 'nothing', expected a known recipe: film_bc" in refused.output
