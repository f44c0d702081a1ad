"""The task file: what it must say, and what is said of one that does not."""

from __future__ import annotations

import numpy as np
import pytest
import yaml
from language_table_instances import EIGHT, TASK_FILE

from robocontrast_ros.configuration import ConfigurationError, resolve_uri
from robocontrast_ros.tasks.language_table import LanguageTable


def written(tmp_path, change):
    content = yaml.safe_load(TASK_FILE.read_text())
    change(content)
    path = tmp_path / "task.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda c: c.update(step_limt=3), "`step_limt`: got 'step_limt', expected a known key"),
        (lambda c: c["board"].update(x_mn=3), "`board.x_mn`"),
        (lambda c: c.pop("blocks"), "`blocks`: got 'nothing'"),
        (lambda c: c.update(blocks=["red_moon", "pink_moon"]), "unknown: pink_moon"),
        (lambda c: c.update(blocks=["red_moon", "red_moon"]), "each of the blocks once"),
        (lambda c: c.update(families=["block_to_moon"]), "each of some families once, among block_to_block, "),
        (lambda c: c.update(families=["separate_blocks"] * 2), "not separate_blocks, separate_blocks"),
        (lambda c: c.update(block_models={"red_star": "star.xml"}), "not among them: red_star"),
        (lambda c: c.update(control_rate=0), "`control_rate`: got 0, expected greater than 0"),
        (lambda c: c.update(block_model="moon.xml"), "placeholder {block}"),
        (lambda c: c["board"].update(x_max=0.2), "wider than twice its margin"),
        (lambda c: c["tool"].update(start=[1.0, 0.0, 0.0]), "tool.start on the board"),
        (lambda c: c["block_size"].update(circumradius=0.001), "circumradius: got 0.001"),
        (lambda c: c["separate_blocks"].update(within=0.2), "0 < distance - within <= joined_within"),
    ],
)
def test_a_mistake_is_named_with_its_file(tmp_path, change, complaint):
    path = written(tmp_path, change)
    with pytest.raises(ConfigurationError) as refusal:
        LanguageTable.from_file(path)
    assert complaint in str(refusal.value)
    assert str(path) in str(refusal.value)


def test_the_file_that_ships_is_the_public_environments():
    p = EIGHT.parameters
    assert (p.step_limit, p.control_rate) == (200, 10.0)
    assert (p.board.low, p.board.high, p.board.margin) == ((0.15, -0.3048), (0.60, 0.3048), 0.08)
    assert len(p.blocks) == 8
    for part in (0, 1):
        assert sorted([b.split("_")[part] for b in p.blocks].count(w.split("_")[part]) for w in p.blocks) == [2] * 8


def test_the_world_and_every_block_have_a_model():
    assert resolve_uri(EIGHT.scenes.world).is_file()
    assert set(EIGHT.scenes.models) == set(EIGHT.parameters.blocks)
    for uri in EIGHT.scenes.models.values():
        assert resolve_uri(uri).is_file()


def test_a_task_of_some_families_samples_and_lists_no_other(tmp_path):
    path = written(tmp_path, lambda c: c.update(families=["separate_blocks", "block_to_block"]))
    task = LanguageTable.from_file(path)
    drawn = {task.sample(np.random.default_rng(seed), "x").instruction.family for seed in range(12)}
    assert drawn == {condition.family for condition in task.language.conditions()} == set(task.families)
    assert task.families == ("separate_blocks", "block_to_block")
    with pytest.raises(ValueError, match="got 'block_to_relative_location', expected one of separate_blocks"):
        task.sample(np.random.default_rng(0), "x", "block_to_relative_location")


def test_a_block_has_the_model_that_is_named_for_it(tmp_path):
    star = "package://robocontrast_ros/models/language_table_further/red_star.xml"
    path = written(tmp_path, lambda c: c.update(blocks=["red_moon", "red_star"], block_models={"red_star": star}))
    models = LanguageTable.from_file(path).scenes.models
    assert models["red_star"] == star and models["red_moon"].endswith("/language_table/red_moon.xml")
