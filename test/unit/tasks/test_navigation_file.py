"""The navigation task file: its arrangements, its models, and what is said about impossible ones."""

from __future__ import annotations

import colorsys
import itertools
import math
import re

import mujoco
import numpy as np
import pytest
import shapely
import yaml
from vln_scenes import APARTMENT, ARRANGEMENTS, TASK_FILE, arranged, task_file_content

from robocontrast_ros.configuration import ConfigurationError, load_configured, resolve_uri
from robocontrast_ros.strategies.effort import MetresMoved, Tolerance, setup_moves
from robocontrast_ros.tasks.navigation import VisionLanguageNavigation
from robocontrast_ros.tasks.navigation.placing import outside_by, overlapping
from robocontrast_ros.tasks.navigation.routes import path_length
from robocontrast_ros.tasks.protocol import StagedGoal

P = APARTMENT.parameters
HULL = 3
"""Group of the geoms that touch."""

HUES = {
    "red": 0, "orange": 28, "yellow": 55, "green": 125, "cyan": 181, "blue": 228, "violet": 269, "magenta": 321
}  # fmt: skip


def load(content, folder):
    path = folder / "apartment.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return load_configured("tasks", path)


def test_the_file_is_read_by_the_plug_in_that_it_names_and_has_the_capabilities():
    task = load_configured("tasks", TASK_FILE)
    assert isinstance(task, VisionLanguageNavigation)
    assert task.name == "studio_apartment"
    assert task.neighbourhood
    assert task.rewording
    assert task.relocation is None
    assert task.families == (*ARRANGEMENTS, "generated")
    assert len(ARRANGEMENTS) == 5
    assert task.scenes.start_position is None
    assert task.metric == "progress"
    period = 1.0 / task.control_rate / task.scenes.physics_step
    assert period == pytest.approx(round(period))


@pytest.mark.parametrize("name", ARRANGEMENTS)
def test_an_arrangement_is_possible_and_has_two_halves(name):
    base = arranged(name)
    plan = APARTMENT.planner.floor_plan(base.scene)
    assert overlapping(plan.footprints) is None
    assert all(outside_by(shape, APARTMENT.planner.shapes) <= 0 for shape in plan.footprints.values())
    assert set(base.scene.names) == set(P.objects)
    assert base.instruction == APARTMENT.language.parse(base.instruction.text, base.scene)
    goal = APARTMENT.goals.goal(base.instruction, base.scene)
    assert isinstance(goal, StagedGoal)
    assert not any(subgoal.satisfied(base.scene) for subgoal in goal.subgoals)
    route = APARTMENT.planner.route(base.instruction, base.scene)
    assert min(path_length(route.first_half), path_length(route.second_half)) >= P.generator.leg
    assert goal.satisfied(APARTMENT.planner.plan(base.instruction, base.scene).final_scene)
    # Nothing is drawn.
    assert APARTMENT.sample(np.random.default_rng(1), name, name) == base


def test_arrangements_differ_by_about_as_many_metres_as_those_of_the_paper():
    """Seed 000, section 6.2: 8.8 m an instance."""
    scenes = [arranged(name).scene for name in ARRANGEMENTS]
    costs = [MetresMoved().cost(setup_moves(a, b, Tolerance())) for a, b in itertools.permutations(scenes, 2)]
    assert 7.0 < np.mean(costs) < 12.0


@pytest.mark.parametrize("model", list(P.furniture))
def test_a_model_stands_on_its_footprint(model):
    spec = mujoco.MjSpec.from_file(str(resolve_uri(APARTMENT.scenes.models[model])))
    assert [body.mocap for body in spec.bodies if body.parent == spec.worldbody] == [1]
    compiled = spec.compile()
    data = mujoco.MjData(compiled)
    mujoco.mj_forward(compiled, data)
    footprint = shapely.Polygon(APARTMENT.scenes.outline(model))
    hulls, looks = [], []
    for geom in range(compiled.ngeom):
        x, y, _ = data.geom_xpos[geom]
        size = compiled.geom_size[geom]
        if compiled.geom_type[geom] == mujoco.mjtGeom.mjGEOM_BOX:
            seen = shapely.box(x - size[0], y - size[1], x + size[0], y + size[1])
        else:
            seen = shapely.Point(x, y).buffer(size[0], quad_segs=32)
        touching = compiled.geom_contype[geom] or compiled.geom_conaffinity[geom]
        assert bool(touching) == (compiled.geom_group[geom] == HULL)
        (hulls if touching else looks).append(seen)
    hull, look = shapely.union_all(hulls), shapely.union_all(looks)
    assert shapely.hausdorff_distance(hull, footprint) < 0.01
    # What is seen is what is in the way.
    assert footprint.buffer(0.011).covers(look)
    assert look.convex_hull.area > 0.85 * footprint.area


@pytest.mark.parametrize("model", list(P.furniture))
def test_a_model_has_the_hue_that_the_file_says(model):
    compiled = mujoco.MjSpec.from_file(str(resolve_uri(APARTMENT.scenes.models[model]))).compile()
    wanted = HUES[P.furniture[model].colour]
    share = {True: 0.0, False: 0.0}
    for geom in range(compiled.ngeom):
        if compiled.geom_group[geom] == HULL:
            continue
        hue, saturation, _ = colorsys.rgb_to_hsv(*compiled.geom_rgba[geom][:3])
        off = abs(math.remainder(360 * hue - wanted, 360))
        a, b, c = sorted(compiled.geom_size[geom], reverse=True)
        grey = saturation < 0.1
        assert grey or off < 12
        share[not grey] += a * max(b, c)
    assert share[True] > share[False]


def test_no_two_models_have_nearly_the_same_hue():
    hues = [HUES[model.colour] for model in P.furniture.values()]
    assert len(set(hues)) == len(hues)
    assert min(abs(math.remainder(a - b, 360)) for a, b in itertools.combinations(hues, 2)) >= 25


def test_the_world_has_the_rooms_walls_and_pale_colours():
    spec = mujoco.MjSpec.from_file(str(resolve_uri(APARTMENT.scenes.world)))
    assert [body.name for body in spec.bodies if body.parent == spec.worldbody] == ["walls"]
    compiled = spec.compile()
    assert compiled.opt.timestep == APARTMENT.scenes.physics_step
    walls = [i for i in range(compiled.ngeom) if compiled.geom(i).name.startswith("wall_")]
    boxes = [
        shapely.box(
            *(compiled.geom_pos[i] - compiled.geom_size[i])[:2],
            *(compiled.geom_pos[i] + compiled.geom_size[i])[:2],
        )
        for i in walls
    ]
    backdrop = APARTMENT.backdrop
    drawn = shapely.union_all([shapely.Polygon(wall) for wall in backdrop.walls])
    assert shapely.symmetric_difference(shapely.union_all(boxes), drawn).area < 1e-6
    assert shapely.Polygon(backdrop.floor).bounds == (0.0, 0.0, P.room.length, P.room.width)
    for rgba in compiled.geom_rgba:
        assert colorsys.rgb_to_hsv(*rgba[:3])[1] < 0.1


def first(content):
    return content["arrangements"]["arrangement_1"]


def bed_as_wall(content):
    """Close off the east of the room: bed, couch and desk end to end."""
    arrangement = first(content)
    arrangement["furniture"] = {
        "bed": [3.0, 1.0, 1.571], "couch": [3.0, 2.9, 0.0], "desk": [3.0, 4.4, 0.0],
        "bookshelf": [5.8, 2.0, 3.142], "plant_1": [1.0, 4.5, 0.0],
    }  # fmt: skip


def narrow(content):
    """Leave a passage of 0.3 m."""
    bed_as_wall(content)
    first(content)["instruction"] = "Walk past the plants, then stop at the desk"
    first(content)["furniture"].update(bookshelf=[3.0, 4.55, 0.0], desk=[5.6, 2.0, 3.142])


MISTAKES = {
    "an unknown object": (
        lambda c: first(c)["furniture"].update(sofa=[1.0, 1.0, 0.0]),
        "arrangements.arrangement_1.furniture",
        ["'sofa'", "object", "bed, bookshelf, chair_1, chair_2, couch, desk, lamp, plant_1, plant_2, table"],
    ),
    "an object that stands out of the room": (
        lambda c: first(c)["furniture"].update(couch=[0.3, 2.0, 0.0]),
        "arrangements.arrangement_1.furniture.couch",
        ["[0.3, 2.0, 0.0]", "inside the room of 6 x 5 m", "0.12 m out of it"],
    ),
    "an object that stands in another": (
        lambda c: first(c)["furniture"].update(lamp=[3.3, 2.0, 0.0]),
        "arrangements.arrangement_1.furniture.lamp",
        ["[3.3, 2.0, 0.0]", "it stands in table at [3.3, 2.45, 0.0]", "Move one of the two."],
    ),
    "a robot that stands in furniture": (
        lambda c: first(c).update(robot=[1.0, 3.8, 0.0]),
        "arrangements.arrangement_1.robot",
        ["[1.0, 3.8, 0.0]", "at least 0.25 m from furniture and walls", "0.15 m from bed"],
    ),
    "a robot that stands in a wall": (
        lambda c: first(c).update(robot=[0.1, 2.0, 0.0]),
        "arrangements.arrangement_1.robot",
        ["0.10 m from a wall"],
    ),
    "a sentence that the grammar does not know": (
        lambda c: first(c).update(instruction="Bring me a cup of tea"),
        "arrangements.arrangement_1.instruction",
        ["'Bring me a cup of tea'", "got 'bring'", "known places: bed, bookshelf, chair, couch, desk"],
    ),
    "a place that is not known": (
        lambda c: first(c).update(instruction="Walk past the couch, then stop at the fridge"),
        "arrangements.arrangement_1.instruction",
        ["got 'fridge'", "known places: bed, bookshelf, chair, couch, desk, lamp, plant, table"],
    ),
    "a place that the scene lacks": (
        lambda c: first(c)["furniture"].pop("bookshelf"),
        "arrangements.arrangement_1.instruction",
        ["'the bookshelf' is not in the scene; places there: bed, couch, desk, table, chair, lamp, plant"],
    ),
    "one place twice": (
        lambda c: first(c).update(instruction="Walk past the couch, then stop at the sofa"),
        "arrangements.arrangement_1.instruction",
        ["both places are the couch"],
    ),
    "a goal behind a passage that is too narrow": (
        narrow,
        "arrangements.arrangement_1.instruction",
        ["passages at least 0.50 m wide", "The widest way there is 0.30 m wide", "move the furniture apart"],
    ),
    "a goal behind furniture without a passage": (
        bed_as_wall,
        "arrangements.arrangement_1.instruction",
        ["no way there at all"],
    ),
    "a robot that starts where it is to go": (
        lambda c: first(c).update(robot=[5.3, 4.2, 0.0]),
        "arrangements.arrangement_1.instruction",
        ["neither of which it starts at", "starts at the last place, the bookshelf"],
    ),
    "a model that is not known": (
        lambda c: c["objects"].update(stool="stool"),
        "objects.stool",
        ["'stool'", "a known model of `furniture`: bed, bookshelf"],
    ),
    "a noun of two models": (
        lambda c: c["furniture"]["desk"]["nouns"].append("sofa"),
        "furniture.desk.nouns",
        ["'sofa'", "couch has it already"],
    ),
    "a footprint that is not convex": (
        lambda c: c["furniture"]["bed"].update(polygons=[[[0, 0], [1, 0], [0.2, 0.2], [0, 1]]]),
        "furniture.bed",
        ["convex polygons", "counter-clockwise"],
    ),
    "two footprints of one model": (
        lambda c: c["furniture"]["bed"].update(radius=0.5),
        "furniture.bed",
        ["either `polygons` or `radius`"],
    ),
    "a place for the robot to reach that it cannot come near enough to": (
        lambda c: c.update(reach=0.2),
        "reach",
        ["0.2", "more than base.radius + base.margin = 0.25 m"],
    ),
    "a misspelt key": (
        lambda c: c["base"].update(raduis=0.2),
        "base.raduis",
        ["'raduis'", "margin, radius", "Did you mean 'radius'?"],
    ),
    "an arrangement of the generator's name": (
        lambda c: c["arrangements"].update(generated=first(c)),
        "arrangements",
        ["other names than 'generated'", "Rename it."],
    ),
    "a path that would count as the same and as another": (
        lambda c: c["perturbing"].update(same_path=0.4),
        "perturbing",
        ["same_path smaller than other_path"],
    ),
    "bounds that no path can meet": (
        lambda c: c["generator"].update(path=[3.0, 1.0]),
        "generator",
        ["`path` as [least, greatest]"],
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named_by_file_key_value_and_cure(mistake, tmp_path):
    change, key, texts = MISTAKES[mistake]
    content = task_file_content()
    change(content)
    with pytest.raises(ConfigurationError) as caught:
        load(content, tmp_path)
    message = str(caught.value)
    assert "apartment.yaml" in message
    assert caught.value.key == key
    for text in texts:
        assert text in message, message
    assert "\n" not in message
    assert not re.search(r"np\.|Pose\(", message)


def test_every_number_has_a_description_and_a_length_its_unit():
    for record in (type(P), type(P.generator), type(P.perturbing), type(P.base), type(P.room)):
        for name, field in record.__pydantic_fields__.items():
            nested = hasattr(getattr(P, name, None), "__pydantic_fields__")
            assert field.description or nested, f"{record.__name__}.{name}"
