"""Recorded test instances: written, read back and checked as drawn ones are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from robocontrast_ros.configuration import ConfigurationError, dump_record, load_configured, resolve_uri
from robocontrast_ros.domain import NotApplicable, Perturbed, Pose, TestInstance
from robocontrast_ros.perturbations.loading import load_perturbation, perturbation_names
from robocontrast_ros.policies.protocol import PolicyDescription
from robocontrast_ros.policies.segments import to_send
from robocontrast_ros.tasks.recorded import InstancesFile, instance_of, load_instances, recorded_of, scene_of


def task_of(name):
    return load_configured("tasks", resolve_uri(f"package://robocontrast_ros/config/tasks/{name}.yaml"))


TASKS = {name: task_of(name) for name in ("language_table", "studio_apartment", "tabletop")}

LOADED = [load_perturbation(name, "test", "") for name in perturbation_names()]
REWORDING = [perturbation for perturbation in LOADED if perturbation.axes in ("L", "LB")]
WHOLE = {"L", "LB", "LB1", "LB2", "paraphrase", "original", "wrong_instruction"}
"""Perturbations that say a whole sentence; the others change words of the one that was said."""


def drawn(name, seed) -> TestInstance:
    return TASKS[name].sample(np.random.default_rng(seed), "drawn")


def recorded(instance, path=(), instance_id="r1"):
    return recorded_of(instance_id, instance.instruction.text, instance.scene, path, "Ada")


def written(folder, instances, task="language_table"):
    file = folder / "instances.yaml"
    content = InstancesFile(task=TASKS[task].name, instances=tuple(instances))
    file.write_text(yaml.safe_dump(dump_record(content), sort_keys=False))
    return file


@settings(max_examples=10, deadline=None)
@given(st.sampled_from(sorted(TASKS)), st.integers(0, 2**16))
def test_a_drawn_instance_that_is_recorded_is_the_same_to_a_tenth_of_a_millimetre(name, seed):
    instance = drawn(name, seed)
    again = instance_of(recorded(instance), TASKS[name])
    assert again.instruction == instance.instruction
    assert again.scene.names == instance.scene.names
    for one, other in zip(again.scene, instance.scene, strict=True):
        assert one.model == other.model and one.pose.distance_to(other.pose) < 1e-4
    # A tenth of a millimetre may decide between two ways of the planner.
    assert again.optimal_path_length == pytest.approx(instance.optimal_path_length, abs=0.05)


def test_a_file_is_read_back_as_it_was_written(tmp_path):
    instances = [recorded(drawn("language_table", seed), instance_id=f"r{seed}") for seed in (1, 2)]
    found = load_instances(written(tmp_path, instances), TASKS["language_table"])
    assert [x.instance_id for x in found] == ["r1", "r2"]
    assert [x.scene for x in found] == [scene_of(instance) for instance in instances]


@settings(max_examples=10, deadline=None)
@given(st.sampled_from(sorted(TASKS)), st.integers(0, 2**16))
def test_an_instruction_in_a_person_s_own_words_is_perturbed_as_what_it_means(name, seed):
    task, instance = TASKS[name], drawn(name, seed)
    said = recorded(instance)
    own = instance_of(replace(said, instruction="Do as we said", meant=said.instruction), task)
    same = instance_of(said, task)
    assert own == replace(same, instruction=replace(same.instruction, text="Do as we said", meant=said.instruction))
    seeing = PolicyDescription("prompted", "planar_delta", 2, referents="crop")
    assert to_send(own.instruction, task, seeing) == (), "nobody is told what is meant"
    applied = 0
    for perturbation in (each for each in REWORDING if each.supports(task)):
        found = perturbation.apply(task, own, own.scene, np.random.default_rng(seed))
        if perturbation.name not in WHOLE:
            assert isinstance(found, NotApplicable), perturbation.symbol
            continue
        expected = perturbation.apply(task, same, same.scene, np.random.default_rng(seed))
        if isinstance(expected, Perturbed):
            # Its proof may count how many words of the person are said again.
            assert replace(found.instance, proof=expected.instance.proof) == expected.instance, perturbation.symbol
            applied += 1
    assert applied, "some of them apply to every instance"


def test_a_walked_path_that_fulfils_the_instruction_is_the_reference_path():
    task, instance = TASKS["studio_apartment"], drawn("studio_apartment", 3)
    path = tuple((x, y) for x, y in instance.reference_path)
    found = instance_of(recorded(instance, path), task)
    assert found.reference_path == tuple((round(x, 4), round(y, 4)) for x, y in path)
    assert found.optimal_path_length == pytest.approx(instance.optimal_path_length, abs=5e-3)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda path: path[:1], "one point"),
        (lambda path: (*path[1:],), "begins"),
        (lambda path: (path[0], path[0]), "one point"),
        (lambda path: (path[0], (path[0][0] + 0.01, path[0][1])), "does not come within"),
        (lambda path: (*path, path[0]), "does not end within"),
        (lambda path: (*path, (99.0, 0.0)), "goes through furniture or a wall"),
    ],
)
def test_a_walked_path_that_does_not_is_refused(change, words):
    task, instance = TASKS["studio_apartment"], drawn("studio_apartment", 3)
    path = tuple((x, y) for x, y in instance.reference_path)
    with pytest.raises(ValueError, match=words):
        instance_of(recorded(instance, change(path)), task)


def test_what_is_no_instance_of_the_task_is_refused_by_name(tmp_path):
    task = TASKS["language_table"]
    instance = task.sample(np.random.default_rng(1), "drawn", "block_to_absolute_location")
    good = recorded(instance)
    first = instance.scene.names[0]
    off = {**good.objects, first: replace(good.objects[first], model="teapot")}
    solved = task.planner.plan(instance.instruction, instance.scene).final_scene
    cases = {
        "teapot": replace(good, objects=off),
        "does not know this sentence": replace(good, instruction="make tea"),
        "means something else": replace(good, meant=task.sample(np.random.default_rng(5), "x").instruction.text),
        "already fulfilled": recorded(replace(instance, scene=solved)),
        "takes no walked path": replace(good, path=((0.0, 0.0), (1.0, 0.0))),
        "orientation": replace(
            good, objects={**good.objects, first: replace(good.objects[first], orientation=(0, 0, 0, 2))}
        ),
    }
    for words, case in cases.items():
        with pytest.raises(ConfigurationError, match=words) as error:
            load_instances(written(tmp_path, [case]), task)
        assert "instances.0" in str(error.value)
        assert "r1" in str(error.value)


def test_a_robot_that_drives_has_to_start_somewhere():
    instance = drawn("studio_apartment", 3)
    with pytest.raises(ValueError, match="where the robot starts"):
        instance_of(replace(recorded(instance), robot=None), TASKS["studio_apartment"])
    through = replace(instance, scene=replace(instance.scene, robot=Pose.planar(-1.0, 0.0)))
    with pytest.raises(ValueError, match="from furniture or a wall"):
        instance_of(recorded(through), TASKS["studio_apartment"])


def test_an_id_twice_another_task_and_no_file_are_refused(tmp_path):
    instance = recorded(drawn("language_table", 1))
    with pytest.raises(ValueError, match="each id once"):
        InstancesFile(task="language_table", instances=(instance, instance))
    with pytest.raises(ConfigurationError, match="the session's task"):
        load_instances(written(tmp_path, [instance]), TASKS["tabletop"])
    with pytest.raises(ConfigurationError, match="readable YAML"):
        load_instances(tmp_path / "none.yaml", TASKS["tabletop"])
