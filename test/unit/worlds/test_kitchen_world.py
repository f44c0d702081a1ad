"""The world of the kitchen: that of the tabletop, and a camera before the fronts of what stands there."""

from __future__ import annotations

import itertools

import mujoco
import numpy as np
import pytest
from kitchen_instances import KITCHEN, instance

from robocontrast_ros.configuration import resolve_uri
from robocontrast_ros.images.rendering import Camera
from robocontrast_ros.objects.settling import WORLD, settle
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.worlds.mujoco.world import World
from robocontrast_ros.worlds.world_cameras import world_cameras


def model(uri):
    return mujoco.MjModel.from_xml_path(str(resolve_uri(uri)))


def options(made):
    names = [name for name in dir(made.opt) if not name.startswith("_") and not callable(getattr(made.opt, name))]
    assert "timestep" in names and "cone" in names
    return {name: np.asarray(getattr(made.opt, name)).tolist() for name in names}


def test_its_physics_is_that_of_the_tabletop():
    own, other = model(KITCHEN.scenes.world), model(WORLD)
    assert options(own) == options(other) and (own.nbody, own.ngeom) == (other.nbody, other.ngeom)
    assert np.array_equal(own.geom_solref, other.geom_solref) and np.array_equal(own.geom_solimp, other.geom_solimp)
    scene = instance("kitchen_5_bowl_on_plate").scene
    moved = scene.moved("black_bowl", scene["plate"].pose)
    at_rest = {uri: settle(moved, KITCHEN.things.still, uri).scene for uri in (WORLD, KITCHEN.scenes.world)}
    assert at_rest[WORLD] == at_rest[KITCHEN.scenes.world]


def test_its_cameras_are_those_of_the_tabletop_and_agent():
    assert world_cameras(KITCHEN.scenes.world) == (*world_cameras(WORLD), "agent")
    made = model(KITCHEN.scenes.world)
    assert [made.camera(index).name for index in range(made.ncam)] == list(world_cameras(KITCHEN.scenes.world))


def test_a_file_that_is_no_world_is_named(tmp_path):
    (tmp_path / "world.xml").write_text("<mujoco>")
    with pytest.raises(ValueError, match=r"world\.xml: no element found"):
        world_cameras(str(tmp_path / "world.xml"))
    with pytest.raises(OSError, match="nowhere"):
        world_cameras(str(tmp_path / "nowhere.xml"))


@pytest.mark.parametrize("robot", ["franka_hand", "ur5e_2f85"])
def test_agent_sees_the_fronts_and_all_of_the_region(robot):
    world = World(load_profile(robot), KITCHEN.scenes.world, KITCHEN.parameters.start, (Camera("agent", 320, 240),))
    lens, k = world.cameras.pose("agent"), np.reshape(world.cameras.info("agent").k, (3, 3))
    x, y, z, w = lens.orientation
    matrix = np.empty(9)
    mujoco.mju_quat2Mat(matrix, np.array([w, x, y, z]))
    region = KITCHEN.parameters.region
    # A front that faces the robot is at the region's far edge.
    assert lens.position[0] < region.x_min
    for corner in itertools.product((region.x_min, region.x_max), (region.y_min, region.y_max), (0.0, 0.1)):
        seen = k @ (matrix.reshape(3, 3).T @ (np.array(corner) - lens.position))
        u, v = seen[:2] / seen[2]
        assert seen[2] > 0 and 10 < u < 310 and 10 < v < 230, corner
    world.close()
