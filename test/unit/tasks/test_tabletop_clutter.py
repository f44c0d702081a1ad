"""Distractors on the table: where they stand, what they leave as it is, and how many there is room for."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import shapely
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from tabletop_scenes import CLUTTER_FILE, TASK_FILE, fresh, tabletop

from robocontrast_ros.configuration import ConfigurationError, load_record, read_yaml, resolve_uri
from robocontrast_ros.domain import NotApplicable, ObjectState, Perturbed, Pose
from robocontrast_ros.images.rendering import RenderingUnavailable
from robocontrast_ros.objects.views import SceneViews
from robocontrast_ros.perturbations.distractors import DistractorParameters, Distractors
from robocontrast_ros.perturbations.loading import load_perturbation
from robocontrast_ros.sessions.resolving import resolve
from robocontrast_ros.tasks.protocol import DistractorRequest, Infeasible
from robocontrast_ros.tasks.tabletop import Tabletop, shapes
from robocontrast_ros.tasks.tabletop.goals import named
from robocontrast_ros.tasks.tabletop.parameters import TabletopParameters
from robocontrast_ros.tasks.tabletop.scenes import objects_in_use, views_of

TASK = fresh(CLUTTER_FILE)
P = load_record(TabletopParameters, CLUTTER_FILE).distracting


class WithoutImages(SceneViews):
    """Draws nothing, which takes longest; what is hidden is found as ever."""

    def image(self, scene, camera):
        return np.zeros((56, 56, 3), dtype=np.uint8)


@cache
def quick():
    """Return the task whose scenes are at rest where they are put, and of which nobody takes images."""
    parameters = load_record(TabletopParameters, CLUTTER_FILE)
    library = objects_in_use(parameters, str(CLUTTER_FILE))
    views = views_of(parameters, library)
    return Tabletop(parameters, library, lambda scene: scene, WithoutImages(library, parameters.world, views._cameras))


@cache
def base(seed):
    return quick().sample(np.random.default_rng([11, seed]), f"x{seed}")


def measures(answer):
    return dict(answer.instance.proof.measures)


def standing(task, scene):
    return {o.name: o for o in scene if not task.library[o.model].fixed}


def check(task, origin, wanted, answer):
    """Assert everything that is promised of a scene with distractors."""
    new = answer.instance
    said = origin.instruction
    before, after = standing(task, origin.scene), standing(task, new.scene)
    assert new.instruction == said
    assert {name: after[name] for name in before} == before
    added = [after[name] for name in after if name not in before]
    assert len(added) == wanted.count == measures(answer)["distractors"]
    assert set(task.clutter.distractors(said, new.scene)) == {o.name for o in added}
    region = shapely.box(P.region.x_min, P.region.y_min, P.region.x_max, P.region.y_max)
    areas = {name: shapes.footprint(task.library[o.model], o.pose) for name, o in after.items()}
    for o in added:
        assert region.covers(areas[o.name])
        for other, area in areas.items():
            if other != o.name:
                gap = P.named_gap if other in named(said) else P.gap
                assert shapes.gap(areas[o.name], area) >= gap - 1e-9
    assert task.premise(said, new.scene) is None
    plan = task.planner.plan(said, new.scene)
    assert not isinstance(plan, Infeasible) and plan.length == new.optimal_path_length
    assert 0.0 <= measures(answer)["occlusion"] <= P.occluded
    alike = measures(answer)["alike"]
    assert {"any": True, "alike": alike == wanted.count, "unlike": alike == 0}[wanted.similar]
    fixtures = [[o.name for o in scene if task.library[o.model].fixed] for scene in (origin.scene, new.scene)]
    assert wanted.looks or fixtures[0] == fixtures[1]


@examples(40)
@given(
    seed=st.integers(0, 14),
    draw=st.integers(0, 2**16),
    wanted=st.builds(
        DistractorRequest,
        count=st.integers(0, 16),
        similar=st.sampled_from(["any", "alike", "unlike"]),
        occluder=st.booleans(),
        looks=st.booleans(),
    ),
)
def test_distractors_leave_words_goal_and_way_and_keep_their_distance(seed, draw, wanted):
    answer = quick().clutter.add(base(seed), wanted, np.random.default_rng(draw))
    if isinstance(answer, NotApplicable):
        assert answer.reason.startswith(f"none of {P.scene_draws} scenes drawn is one; of the last: ")
        return
    check(quick(), base(seed), wanted, answer)


def test_settled_scenes_keep_what_was_there_exactly_where_it_was():
    task = Tabletop.from_file(CLUTTER_FILE)
    origin = task.sample(np.random.default_rng(3), "x", "put_in")
    answer = task.clutter.add(origin, DistractorRequest(8), np.random.default_rng(4))
    assert isinstance(answer, Perturbed)
    for name, before in standing(task, origin.scene).items():
        assert answer.instance.scene[name] == before
    added = task.clutter.distractors(answer.instance.instruction, answer.instance.scene)
    sunk = [answer.instance.scene[name].pose.position[2] != 0.0 for name in added]
    assert sunk and all(sunk), "things that settle sink by a little"
    found = measures(answer)
    assert 1.5 < found["congestion_robot"] < 6 and 1.5 < found["congestion_top"] < 6
    assert found["dvfc"] == pytest.approx((found["congestion_robot"] + found["congestion_top"]) / 2)
    assert found == dict(task.clutter.measures(answer.instance.instruction, answer.instance.scene))


def test_more_things_on_the_table_are_more_congestion():
    origin = TASK.sample(np.random.default_rng(5), "x", "pick")
    answers = [TASK.clutter.add(origin, DistractorRequest(count), np.random.default_rng(6)) for count in (0, 4, 16)]
    dvfc = [measures(answer)["dvfc"] for answer in answers]
    assert dvfc == sorted(dvfc) and dvfc[2] > dvfc[0] + 0.5


@pytest.mark.parametrize("scenes", [8, pytest.param(24, marks=pytest.mark.long)])
def test_occluders_hide_every_share_up_to_the_greatest(scenes):
    hidden = []
    for seed in range(scenes):
        answer = quick().clutter.add(base(seed), DistractorRequest(1, occluder=True), np.random.default_rng(seed))
        if isinstance(answer, Perturbed):
            hidden.append(measures(answer)["occlusion"])
    counts, _ = np.histogram(hidden, bins=[0.0, 0.1, 0.2, 0.3, 0.4, P.occluded + 1e-9])
    assert len(hidden) >= 5 / 6 * scenes and counts.min() >= 1, (len(hidden), counts)


def test_an_instruction_stays_clear_among_things_of_its_kind():
    mugs = fresh(CLUTTER_FILE, objects=("mug", "banana", "can"))
    for seed in range(5):
        origin = mugs.sample(np.random.default_rng(seed), "x", "pick")
        others = [m for m, o in mugs.library.items() if not o.fixed and m not in origin.scene]
        everything = (*origin.scene.objects, *(ObjectState(model, model, Pose()) for model in others))
        assert mugs.premise(origin.instruction, replace(origin.scene, objects=everything)) is None
        answer = mugs.clutter.add(origin, DistractorRequest(2, "alike"), np.random.default_rng(seed))
        assert isinstance(answer, Perturbed)
        assert measures(answer)["alike"] == 2


def test_the_distance_to_a_thing_is_that_to_its_box():
    scene = replace(
        base(0).scene, objects=(*base(0).scene.objects, ObjectState("cube", "red_cube", Pose.planar(0.4, 0.1, 0.3)))
    )
    x, _, z = quick().library["red_cube"].size
    where = scene["cube"].pose.position
    assert quick().clutter.distance(scene, "cube", (0.4, 0.1, where[2] + z / 2)) == 0.0
    assert quick().clutter.distance(scene, "cube", (0.4, 0.1, where[2] + z + 0.1)) == pytest.approx(0.1)
    ahead = 0.05 + x / 2
    point = (0.4 + ahead * math.cos(0.3), 0.1 + ahead * math.sin(0.3), where[2] + z / 2)
    assert quick().clutter.distance(scene, "cube", point) == pytest.approx(0.05)


def test_the_table_has_room_for_sixteen_and_a_small_one_is_refused_with_the_number_that_fits():
    assert quick().clutter.most(18) == 18
    small = {"region": replace(P.region, x_min=0.4, x_max=0.6, y_min=-0.1, y_max=0.1)}
    cluttered = fresh(CLUTTER_FILE, distracting=small | {"place_draws": 40})
    fits = cluttered.clutter.most(40)
    assert 1 <= fits < 16
    with pytest.raises(ValueError, match=f"at most {fits} distractors, for which there is room"):
        Distractors(DistractorParameters(count=40)).supports(cluttered)


def session(tmp_path, *perturbations, task="tabletop_clutter"):
    import yaml

    content = read_yaml(resolve_uri("package://robocontrast_ros/config/sessions/tabletop_clutter.yaml"))
    content |= {"task": str(task), "strategy": {"name": "contrast_set", "perturbations": list(perturbations)}}
    file = tmp_path / "session.yaml"
    file.write_text(yaml.safe_dump(content))
    return resolve(file)


def test_a_session_names_a_perturbation_with_its_parameters(tmp_path):
    found = session(tmp_path, "L", {"name": "distractors", "count": 3, "similar": "alike", "occluder": True})
    assert [p.name for p in found.perturbations] == ["L", "distractors_3_alike_occluder"]
    assert [p.symbol for p in found.perturbations] == ["ΔL", "ΔS3 alike occluder"]
    again = session(tmp_path, {"name": "distractors", "count": 3}, {"name": "distractors", "count": 4}, {"name": "S"})
    assert [p.name for p in again.perturbations] == ["distractors_3", "distractors_4", "S"]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"name": "distractors", "number": 3}, r"`strategy\.perturbations\.number`: got .*expected a known key: count"),
        ({"name": "distractors", "count": -1}, r"`strategy\.perturbations\.count`: got -1, expected greater than or"),
        ({"name": "distractors", "similar": "same"}, r"`strategy\.perturbations\.similar`: got 'same', expected 'any'"),
        (
            {"name": "S", "count": 3},
            r"`strategy\.perturbations\.count`: .*expected no parameters, because 'S' has none",
        ),
        ({"count": 3}, r"`strategy\.perturbations\.name`: got 'nothing', expected the name of a perturbation"),
    ],
)
def test_parameters_that_do_not_fit_are_refused_by_name(entry, message):
    with pytest.raises(ConfigurationError, match=message):
        load_perturbation(entry, "test", "strategy.perturbations")


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (
            {"name": "distractor"},
            r"got 'distractor', expected a known perturbation of task '.*Did you mean 'distractors'\?",
        ),
        # That the number is the one that fits is tried below.
        pytest.param(
            {"name": "distractors", "count": 90},
            r"expected at most \d+ distractors, for which there is room",
            marks=pytest.mark.long,
        ),
    ],
)
def test_perturbations_that_do_not_fit_the_task_of_a_session_are_refused(tmp_path, entry, message):
    with pytest.raises(ConfigurationError, match=message):
        session(tmp_path, entry)


def test_the_same_perturbation_twice_is_refused(tmp_path):
    with pytest.raises(ConfigurationError, match="each of the perturbations once"):
        session(tmp_path, {"name": "distractors", "count": 4}, {"name": "distractors", "count": 4})


def test_a_task_that_says_nothing_of_distractors_has_none(tmp_path):
    assert tabletop().clutter is None
    assert not load_perturbation("distractors", "test", "").supports(tabletop())
    with pytest.raises(ConfigurationError, match="expected perturbations that task 'tabletop' supports: L, LB, S, SB"):
        session(tmp_path, {"name": "distractors", "count": 4}, task="tabletop")


def test_a_camera_that_the_world_lacks_is_refused_with_those_it_has(tmp_path):
    file = tmp_path / "task.yaml"
    file.write_text(CLUTTER_FILE.read_text().replace("robot_view: front", "robot_view: fron"))
    expected = r"task\.yaml: `distracting\.robot_view`: got 'fron', expected a known camera of the world: front, top"
    with pytest.raises(ConfigurationError, match=expected):
        Tabletop.from_file(file)


def test_without_opengl_distractors_end_in_one_line(monkeypatch):
    def broken(self, scene, camera):
        raise RenderingUnavailable("no EGL")

    monkeypatch.setattr(WithoutImages, "image", broken)
    with pytest.raises(ConfigurationError, match=r"`distracting`: .*a machine that can draw images, .*\(no EGL\)"):
        quick().clutter.add(base(0), DistractorRequest(1), np.random.default_rng(0))


def test_distractors_are_added_to_the_scene_of_the_instance_alone():
    origin = base(0)
    left = quick().planner.plan(origin.instruction, origin.scene).final_scene
    answer = Distractors().apply(quick(), origin, left, np.random.default_rng(0))
    assert answer == NotApplicable("distractors are added to the scene of the test instance itself")


def test_both_task_files_differ_in_what_stands_there_alone():
    plain, cluttered = read_yaml(TASK_FILE), read_yaml(CLUTTER_FILE)
    assert cluttered.pop("distracting")
    assert (plain.pop("name"), cluttered.pop("name")) == ("tabletop", "tabletop_clutter")
    assert (plain["sampling"].pop("objects"), cluttered["sampling"].pop("objects")) == ([4, 8], [1, 1])
    assert cluttered["sampling"].pop("clear")
    assert plain == cluttered
