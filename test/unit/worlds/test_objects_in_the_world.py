"""Objects of the library in the embedded world, and pictures of them."""

from __future__ import annotations

import numpy as np
import pytest
from articulated import CABINET, HERE, cabinet_scene, drawers

from robocontrast_ros.configuration import resolve_uri
from robocontrast_ros.domain import Pose
from robocontrast_ros.images.rendering import Camera, Renderer
from robocontrast_ros.objects import SHIPPED, load_library, with_parts
from robocontrast_ros.objects.joints import part_pose
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.worlds.in_process import WorldSimulation
from robocontrast_ros.worlds.mujoco.entities import (
    Category,
    EntityState,
    InvalidModel,
    NotMovable,
    ResetScope,
    ResourceNotFound,
    UnknownEntity,
)
from robocontrast_ros.worlds.mujoco.object_renderer import ObjectRenderer
from robocontrast_ros.worlds.mujoco.world import World
from robocontrast_ros.worlds.simulated_scene import SimulatedScene

TABLETOP = "package://robocontrast_ros/models/tabletop.xml"
MUG, TABLE = f"{SHIPPED}/mug.yaml#red", f"{SHIPPED}/table.yaml#oak"
FRONT = Camera("front", 160, 120)


@pytest.fixture(scope="module")
def world():
    profile = load_profile(resolve_uri("package://robocontrast_ros/config/robots/franka.yaml"))
    made = World(profile, TABLETOP, cameras=(FRONT,))
    yield made
    made.close()


@pytest.fixture(autouse=True)
def empty(world):
    world.reset(ResetScope.ALL)


def test_an_object_stands_on_a_table_that_physics_never_moves(world):
    world.spawn("oak_table", Pose(), uri=TABLE)
    world.spawn("red_mug", Pose.planar(0.45, 0.1, 1.0, 0.01), uri=MUG)
    world.step(200)
    mug = world.entity_state("red_mug").pose
    assert mug.position == pytest.approx((0.45, 0.1, 0.0), abs=2e-3)
    assert mug.yaw == pytest.approx(1.0, abs=0.02)
    assert world.entity_state("oak_table").pose == Pose()
    assert ("oak_table", "red_mug") in world.contacts()
    assert world.category("oak_table") is Category.DYNAMIC_OBJECT
    # A table that is lowered takes what stands on it along, by gravity alone.
    world.set_entity_state("oak_table", EntityState(Pose((0.0, 0.0, -0.05))))
    world.step(200)
    assert world.entity_state("red_mug").pose.position[2] == pytest.approx(-0.05, abs=2e-3)
    assert world.source("red_mug") == MUG


def test_a_world_that_nobody_sees_draws_no_textures_and_moves_alike(world):
    blind = World(world.profile, TABLETOP)
    ends = []
    for made in (world, blind):
        made.spawn("oak_table", Pose(), uri=TABLE)
        made.spawn("can", Pose.planar(0.45, 0.1, 1.0, 0.05), uri=f"{SHIPPED}/soup_can.yaml#red")
        made.spawn("red_mug", Pose.planar(0.47, 0.1, 1.0, 0.2), uri=MUG)
        made.step(400)
        ends.append([made.entity_state(name) for name in made.entities()])
    assert ends[0] == ends[1]
    assert (world._bodies.model.ntex > 1) and blind._bodies.model.ntex <= 1


def test_a_scene_changes_its_look_by_what_is_spawned(world):
    world.spawn("lamp", Pose(), uri=f"{SHIPPED}/lamp.yaml#ceiling")
    images = []
    for look in ("oak", "walnut"):
        world.spawn("table", Pose(), uri=f"{SHIPPED}/table.yaml#{look}")
        images.append(world.cameras.render("front").astype(float))
        world.delete("table")
    assert images[0][80:, 40:120].mean() > images[1][80:, 40:120].mean() + 20
    world.spawn("table", Pose(), uri=TABLE)
    bright = world.cameras.render("front").mean()
    world.delete("lamp")
    assert world.cameras.render("front").mean() < bright - 10


@pytest.mark.parametrize(
    ("uri", "error", "said"),
    [
        (f"{SHIPPED}/mug.yaml#pink", InvalidModel, "got 'pink', expected a known variant: blue, red, white"),
        (f"{SHIPPED}/mug.yaml", InvalidModel, "expected a known variant"),
        (f"{SHIPPED}/mog.yaml#red", ResourceNotFound, "mog.yaml"),
        ("package://robocontrast_ros/config/robots/franka.yaml#red", InvalidModel, "franka.yaml: `"),
    ],
)
def test_an_object_that_is_not_there_cannot_be_spawned(world, uri, error, said):
    before = world.entities()
    with pytest.raises(error, match=said):
        world.spawn("thing", Pose(), uri=uri)
    assert world.entities() == before


def test_pictures_for_people_have_shadows_and_policies_images_stay_as_they_are(world):
    world.spawn("lamp", Pose(), uri=f"{SHIPPED}/lamp.yaml#window")
    world.spawn("table", Pose(), uri=TABLE)
    world.spawn("box", Pose.planar(0.45, 0.0), uri=f"{SHIPPED}/cracker_box.yaml#red")
    seen = world.cameras.render("front")
    model, data = world.cameras._model, world.cameras._data
    fine = Renderer((FRONT,), fine=True)
    picture = fine.render(model, data, "front", model.camera("front").id)
    fine.close()
    # The shadow of the box, from a window on the left, lies to its right.
    darker = picture.astype(int).sum(axis=2) < seen.astype(int).sum(axis=2) - 60
    assert darker.sum() > 50
    assert np.array_equal(world.cameras.render("front"), seen)


def test_an_object_fills_its_portrait():
    library = load_library()
    with ObjectRenderer(96, 80) as renderer:
        ground = renderer.portrait(library["red_cube"])[2, 2].astype(int)
        for name in ("red_cube", "banana", "blue_water_bottle"):
            shown = np.abs(renderer.portrait(library[name]).astype(int) - ground).sum(axis=2) > 60
            rows, columns = np.flatnonzero(shown.any(axis=1)), np.flatnonzero(shown.any(axis=0))
            assert rows[0] > 0
            assert rows[-1] < 79
            assert max(np.ptp(rows) / 80, np.ptp(columns) / 96) > 0.5


def cabinet_in(world):
    return SimulatedScene(WorldSimulation(world), with_parts([CABINET]), 50, 0.01)


def test_a_scene_with_drawers_is_set_up_and_read_back(world):
    bench = cabinet_in(world)
    assert drawers(bench.set_up(cabinet_scene(top_drawer=0.12)).scene) == pytest.approx([0, 0, 0.12], abs=1e-4)
    after = bench.set_up(cabinet_scene(bottom_drawer=0.16, middle_drawer=0.05)).scene
    assert drawers(after) == pytest.approx([0.16, 0.05, 0], abs=1e-4)
    # Another object is composed into the model: drawers stay as they are.
    world.spawn("red_mug", Pose.planar(0.3, -0.2), uri=MUG)
    assert drawers(bench.read()[1]) == pytest.approx([0.16, 0.05, 0], abs=1e-4)
    assert world.category("brown_cabinet/top_drawer") is Category.DYNAMIC_OBJECT
    assert world.source("brown_cabinet/top_drawer") == CABINET.uri
    world.reset(ResetScope.STATE)
    assert drawers(bench.read()[1]) == pytest.approx([0, 0, 0], abs=1e-9)


def test_a_part_goes_along_its_joint_alone_and_not_away_from_its_object(world):
    bench = cabinet_in(world)
    bench.set_up(cabinet_scene())
    far = part_pose(HERE, CABINET.joints[2].joint, 0.5).position
    world.set_entity_state("brown_cabinet/top_drawer", EntityState(Pose((far[0], far[1] + 0.2, far[2] - 0.1))))
    assert drawers(bench.read()[1]) == pytest.approx([0, 0, 0.16], abs=1e-6)
    with pytest.raises(NotMovable, match="a part of 'brown_cabinet'"):
        world.delete("brown_cabinet/top_drawer")
    world.delete("brown_cabinet")
    assert "brown_cabinet/top_drawer" not in world.entities()
    with pytest.raises(UnknownEntity):
        world.delete("brown_cabinet/top_drawer")


def test_what_lies_in_a_drawer_touches_the_drawer_and_comes_along(world):
    bench = cabinet_in(world)
    bench.set_up(cabinet_scene(top_drawer=0.15))
    # In the middle of the drawer, some 7 cm behind its handle.
    handle = world.entity_state("brown_cabinet/top_drawer").pose.position
    world.spawn(
        "lemon", Pose.planar(handle[0] + 0.08, handle[1], 0.0, handle[2] - 0.02), uri=f"{SHIPPED}/lemon.yaml#plain"
    )
    world.step(300)
    assert ("brown_cabinet/top_drawer", "lemon") in world.contacts()
    assert not any({"brown_cabinet", "lemon"} == set(pair) for pair in world.contacts())
    inside = world.entity_state("lemon").pose.position[2]
    assert inside == pytest.approx(handle[2] - 0.026, abs=0.03) and inside > 0.15
    # Gravity and its contents do not move a drawer.
    assert drawers(bench.read()[1]) == pytest.approx([0, 0, 0.15], abs=1e-3)
