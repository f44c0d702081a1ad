"""Models for simulators of others: what another reader finds in them, and how things rest and slide in another engine.

dartpy is DART, the physics of Gazebo's default engine; its reader knows SDF up to 1.6 and ignores surfaces, so these
are read here. MuJoCo reads URDF. usd-core is USD's own library, with its rules for files.
"""

from __future__ import annotations

import itertools
from functools import cache
from xml.etree import ElementTree as ET

import mujoco
import numpy as np
import pytest
from here import command_here

from robocontrast_ros.configuration import load_configured, resolve_uri
from robocontrast_ros.domain import Pose
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.worlds.exported.files import write_sdf, write_urdf
from robocontrast_ros.worlds.exported.surfaces import RULES, NoCounterpart, Surface, Surfaces
from robocontrast_ros.worlds.exported.task import export_task, object_models, robot_model, world_model
from robocontrast_ros.worlds.exported.usd import write_usd
from robocontrast_ros.worlds.mujoco.composition import object_spec, read_object

TASKS = {
    "language_table": "franka",
    "tabletop": "franka_hand",
    "kitchen": "franka_hand",
    "studio_apartment": "locobot",
}
COMBINED = {"minimum": min, "maximum": max, "mean": lambda a, b: (a + b) / 2.0, "product": lambda a, b: a * b}


@cache
def models_of(name):
    """Return all models that meet in a task: objects, world, robot."""
    task = load_configured("tasks", resolve_uri(f"package://robocontrast_ros/config/tasks/{name}.yaml"))
    return [*object_models(task), world_model(task), robot_model(load_profile(TASKS[name]))]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", TASKS)
def test_each_pair_touches_as_in_mujoco_with_the_same_friction(name, rule):
    models = models_of(name)
    surfaces = Surfaces(models, rule)
    checked = 0
    for one, two in itertools.combinations([*models, *(model for model in models if model.free)], 2):
        if one.static and two.static:
            continue
        for first, second in itertools.product(kinds_of(one), kinds_of(two)):
            found = {
                round(COMBINED[rule](a.friction, b.friction), 9)
                for a in surfaces.of(first, one)
                for b in surfaces.of(second, two)
                if a.touches(b)
            }
            assert found == ({max(first.friction, second.friction)} if first.meets(second) else set()), (first, second)
            checked += 1
    assert checked > 10


def kinds_of(model):
    """Return a shape of each kind that collides."""
    return {(shape.friction, shape.contact): shape for shape in model.shapes if shape.collides}.values()


def exported(folder, name="language_table", form="sdf"):
    task = load_configured("tasks", resolve_uri(f"package://robocontrast_ros/config/tasks/{name}.yaml"))
    return list(export_task(task, load_profile(TASKS[name]), form, "minimum", folder))


@pytest.mark.parametrize("name", TASKS)
def test_all_models_of_each_task_are_written_as_sdf(name, tmp_path):
    files = exported(tmp_path, name)
    assert [file.stem for file in files] == [model.name for model in models_of(name)]
    for file, model in zip(files, models_of(name), strict=True):
        tree = ET.parse(file).getroot()
        assert [link.get("name") for link in tree.iter("link")] == [body.name for body in model.bodies]
        names = [element.get("name") for element in tree.iter("collision")]
        assert len(set(names)) == len(names), "names are unique"
        for uri in tree.iter("uri"):
            assert (tmp_path / uri.text).is_file()


def test_each_part_of_a_robot_hangs_on_the_one_before_it_also_where_that_has_no_name(tmp_path):
    for name, tip in (("language_table", "rod"), ("tabletop", "hand")):
        file = next(file for file in exported(tmp_path, name) if file.stem == TASKS[name])
        joints = {joint.findtext("child"): joint.findtext("parent") for joint in ET.parse(file).iter("joint")}
        assert [child for child, parent in joints.items() if parent == "world"] == ["base"]
        chain = [tip]
        while chain[-1] != "base":
            chain.append(joints[chain[-1]])
        assert chain[-2] == "fr3_joint1", chain


@cache
def dart():
    return pytest.importorskip("dartpy", reason="dartpy has no wheel for this Python")


def skeleton_of(file, other):
    """Return DART's reading of a model, with the surfaces that its reader ignores, if they touch another model."""
    lowered = file.with_name(f"lowered_{file.name}")
    lowered.write_text(file.read_text().replace('<sdf version="1.11">', '<sdf version="1.6">'))
    skeleton = dart().utils.SdfParser.readSkeleton(str(lowered))
    surfaces, others = surfaces_in(file), surfaces_in(other).values()
    for body in skeleton.getBodyNodes():
        for number in range(body.getNumShapeNodes()):
            node = body.getShapeNode(number)
            if not node.hasCollisionAspect():
                continue
            surface = surfaces[node.getName().rpartition(" - ")[2]]
            if any(map(surface.touches, others)):
                node.getDynamicsAspect().setFrictionCoeff(surface.friction)
            else:
                node.removeCollisionAspect()
    return skeleton


def surfaces_in(file):
    """Return name of each collision in an SDF file -> its surface."""
    found = {}
    for collision in ET.parse(file).getroot().iter("collision"):
        surface = collision.find("surface")
        masks = (int(surface.findtext(f"contact/{name}_bitmask"), 16) for name in ("category", "collide"))
        found[collision.get("name")] = Surface(float(surface.findtext("friction/ode/mu")), *masks)
    return found


@pytest.fixture(scope="module")
def blocks(tmp_path_factory):
    """The files of Language-Table, by name."""
    return {file.stem: file for file in exported(tmp_path_factory.mktemp("models"))}


def test_another_reader_finds_the_same_masses_centres_and_moments(blocks):
    table = next(iter(blocks.values())).with_name("world_model.sdf")
    for model in models_of("language_table")[:-2]:
        (body,) = skeleton_of(blocks[model.name], table).getBodyNodes()
        (wanted,) = model.bodies
        assert body.getMass() == pytest.approx(wanted.mass)
        assert np.allclose(body.getLocalCOM(), wanted.centre.position, atol=1e-9)
        moments = np.linalg.eigvalsh(body.getInertia().getMoment())
        assert np.allclose(moments, np.sort(wanted.inertia), rtol=1e-6)


SPEED, FRICTION, GRAVITY = 0.5, 0.6, 9.81
"""A block slides on the board: speed [m/s], friction, and acceleration [m/s2]."""


@pytest.mark.parametrize("name", ["red_pentagon", "green_cube", "red_moon", "green_star"])
def test_a_block_rests_and_slides_in_another_engine_as_physics_says_and_as_in_mujoco(name, blocks):
    engine = dart()
    world = engine.simulation.World()
    world.setTimeStep(0.002)
    world.getConstraintSolver().setCollisionDetector(engine.collision.BulletCollisionDetector())
    board = skeleton_of(blocks["world_model"], blocks[name])
    block = skeleton_of(blocks[name], blocks["world_model"])
    board.setMobile(False)
    world.addSkeleton(board)
    world.addSkeleton(block)
    start = np.array([0.0, 0.0, 0.0, 0.3, 0.0, 0.03])
    block.getJoint(0).setPositions(start)
    for _ in range(500):
        world.step()
    rest = block.getPositions()
    assert abs(rest[5]) < 0.001 and np.abs(rest[:2]).max() < 0.03, "it rests on its base"
    block.getJoint(0).setVelocities(np.array([0.0, 0.0, 0.0, SPEED, 0.0, 0.0]))
    for _ in range(250):
        world.step()
    slid = block.getPositions()[3] - rest[3]
    theory = SPEED**2 / (2.0 * FRICTION * GRAVITY)
    assert slid == pytest.approx(theory, abs=0.004)
    assert slid == pytest.approx(slid_in_mujoco(name), abs=0.006)


def slid_in_mujoco(name):
    """Return how far a block of the same speed slides in MuJoCo [m]."""
    task = load_configured("tasks", resolve_uri("package://robocontrast_ros/config/tasks/language_table.yaml"))
    spec = mujoco.MjSpec.from_file(str(resolve_uri(task.scenes.world)))
    block = mujoco.MjSpec.from_file(str(resolve_uri(task.scenes.models[name])))
    spec.attach(block, frame=spec.worldbody.add_frame(pos=[0.3, 0.0, 0.0]), prefix="its_")
    model = spec.compile()
    data = mujoco.MjData(model)
    for _ in range(100):
        mujoco.mj_step(model, data)
    begun = data.qpos[0]
    data.qvel[0] = SPEED
    for _ in range(250):
        mujoco.mj_step(model, data)
    return data.qpos[0] - begun


def test_urdf_is_read_by_another_reader_with_the_same_mass_and_size(tmp_path):
    surfaces = Surfaces(models_of("studio_apartment"), "minimum")
    for model in models_of("studio_apartment")[:-2]:
        read = mujoco.MjModel.from_xml_path(str(write_urdf(model, surfaces, tmp_path)))
        (body,) = model.bodies
        if body.mass and model.free:
            assert read.body_mass.sum() == pytest.approx(body.mass)
        boxes = [shape for shape in body.shapes if shape.collides and shape.type == "box"]
        found = read.geom_size[(read.geom_type == mujoco.mjtGeom.mjGEOM_BOX) & (read.geom_contype > 0)]
        assert sorted(map(tuple, found.round(6))) == sorted(tuple(np.round(shape.size, 6)) for shape in boxes)


@pytest.mark.parametrize("name", ["language_table", "kitchen"])
def test_usd_follows_all_rules_of_usd_and_has_every_body_shape_and_joint(name, tmp_path):
    from pxr import Gf, Usd, UsdGeom, UsdPhysics, UsdValidation

    rules = UsdValidation.ValidationContext(UsdValidation.ValidationRegistry().GetOrLoadAllValidators())
    files = exported(tmp_path, name, "usd")
    for file, model in zip(files, models_of(name), strict=True):
        stage = Usd.Stage.Open(str(file))
        assert [(error.GetName(), error.GetMessage()) for error in rules.Validate(stage)] == []
        prims = [*stage.Traverse()]
        bodies = [prim for prim in prims if prim.HasAPI(UsdPhysics.RigidBodyAPI)]
        masses = [UsdPhysics.MassAPI(prim).GetMassAttr().Get() for prim in bodies]
        moving = [] if model.static else [body.mass for body in model.bodies if body.mass and moves(body, model)]
        assert masses == pytest.approx(moving, rel=1e-6)
        assert len([prim for prim in prims if prim.IsA(UsdGeom.Gprim) and prim.GetParent().GetName() == "visuals"]) == (
            sum(shape.drawn for shape in model.shapes)
        )
        joints = [prim for prim in prims if prim.IsA(UsdPhysics.RevoluteJoint)]
        wanted = [body.joint for body in model.bodies if body.joint and body.joint.type == "revolute"]
        for prim, joint in zip(joints, wanted, strict=True):
            read = UsdPhysics.RevoluteJoint(prim)
            limits = np.radians([read.GetLowerLimitAttr().Get(), read.GetUpperLimitAttr().Get()])
            assert joint.range is None or limits == pytest.approx(joint.range, abs=1e-6)
            ends = [joint_frame(stage, read, side) for side in (0, 1)]
            assert np.allclose(*ends, atol=1e-6), "both bodies are where the joint is at 0"
            body = next(body for body in model.bodies if body.joint is joint)
            assert np.allclose(read.GetLocalPos1Attr().Get(), joint.anchor, atol=1e-6)
            turned = read.GetLocalRot1Attr().Get().Transform(Gf.Vec3f(1.0, 0.0, 0.0))
            assert np.allclose(turned, joint.axis, atol=1e-6), body.name


def joint_frame(stage, joint, side):
    """Return the frame of a joint at one of its bodies, in the world, as a matrix of shape (4, 4)."""
    from pxr import Gf, Usd, UsdGeom

    rel = joint.GetBody1Rel() if side else joint.GetBody0Rel()
    place = joint.GetLocalPos1Attr() if side else joint.GetLocalPos0Attr()
    turn = joint.GetLocalRot1Attr() if side else joint.GetLocalRot0Attr()
    (body,) = rel.GetTargets()
    there = UsdGeom.Xformable(stage.GetPrimAtPath(body)).ComputeLocalToWorldTransform(Usd.TimeCode.Default())
    own = Gf.Matrix4d(Gf.Rotation(Gf.Quatd(turn.Get())), Gf.Vec3d(place.Get()))
    return np.array(own * there)


def moves(body, model):
    """Return whether physics moves a body."""
    if body.joint is not None or not body.parent:
        return body.joint is not None or model.free
    return moves(next(other for other in model.bodies if other.name == body.parent), model)


def test_bounds_in_usd_are_those_of_mujoco(tmp_path):
    from pxr import Usd, UsdGeom

    task = load_configured("tasks", resolve_uri("package://robocontrast_ros/config/tasks/language_table.yaml"))
    surfaces = Surfaces(models_of("language_table"), "mean")
    for model in object_models(task):
        stage = Usd.Stage.Open(str(write_usd(model, surfaces, tmp_path)))
        box = bounds_in_mujoco(model.name, task.scenes.models[model.name])
        for scope in ("visuals", "collisions"):
            points = []
            for prim in stage.GetPrimAtPath(f"/{model.name}/{scope}").GetChildren():
                corners = np.array(UsdGeom.Mesh(prim).GetPointsAttr().Get()) if prim.IsA(UsdGeom.Mesh) else CORNERS
                there = np.array(UsdGeom.Xformable(prim).ComputeLocalToWorldTransform(Usd.TimeCode.Default()))
                points.append(corners @ there[:3, :3] + there[3, :3])
            found = np.vstack(points)
            assert np.allclose([found.min(axis=0), found.max(axis=0)], box, atol=1e-6)


def bounds_in_mujoco(name, uri):
    """Return the least and the greatest coordinates of an object's vertices, shape (2, 3) [m]."""
    model = object_spec(read_object(name, uri, "", Pose()), looks=False).compile()
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    points = []
    for geom in range(model.ngeom):
        mesh = model.geom_dataid[geom]
        if mesh >= 0:
            first, count = model.mesh_vertadr[mesh], model.mesh_vertnum[mesh]
            corners = model.mesh_vert[first : first + count]
        else:
            corners = CORNERS * model.geom_size[geom]
        points.append(corners @ data.geom_xmat[geom].reshape(3, 3).T + data.geom_xpos[geom])
    return np.vstack(points).min(axis=0), np.vstack(points).max(axis=0)


CORNERS = np.array([*itertools.product((-1.0, 1.0), repeat=3)])


@pytest.mark.parametrize("name", ["language_table", "tabletop"])
def test_files_in_one_usd_stage_let_the_same_shapes_touch(name, tmp_path):
    from pxr import Usd, UsdPhysics

    models = models_of(name)
    models = [*models[:4], *models[-2:]]
    surfaces = Surfaces(models_of(name), "mean")
    stage = Usd.Stage.CreateInMemory()
    for model in models:
        prim = stage.DefinePrim(f"/World/{model.name}")
        prim.GetReferences().AddReference(str(write_usd(model, surfaces, tmp_path)))
    table = UsdPhysics.CollisionGroup.ComputeCollisionGroupTable(stage)
    # The table has a row for each merged group, in the order in which they are found.
    merged, includes = {}, {}
    for path in table.GetGroups():
        group = UsdPhysics.CollisionGroup.Get(stage, path)
        row = merged.setdefault(group.GetMergeGroupNameAttr().Get(), len(merged))
        for collider in group.GetCollidersCollectionAPI().GetIncludesRel().GetTargets():
            includes[str(collider)] = row
    checked = 0
    for one, two in itertools.combinations(models, 2):
        for first, second in itertools.product(kinds_of(one), kinds_of(two)):
            found = {
                (mu, other)
                for (row, mu), (column, other) in itertools.product(
                    copies(stage, includes, one, first), copies(stage, includes, two, second)
                )
                if table.IsCollisionEnabled(row, column)
            }
            wanted = max(first.friction, second.friction)
            assert found == ({(wanted, wanted)} if first.meets(second) else set()), (first, second)
            checked += 1
    assert checked > 10


def copies(stage, includes, model, shape):
    """Return group and friction of each copy of a shape."""
    from pxr import UsdPhysics, UsdShade

    found = []
    for collider, row in includes.items():
        place, _, copy = collider.rpartition("/")
        if place.startswith(f"/World/{model.name}/") and copy.rpartition("_")[0] == shape.name:
            binding = UsdShade.MaterialBindingAPI(stage.GetPrimAtPath(collider))
            material, _ = binding.ComputeBoundMaterial("physics")
            friction = UsdPhysics.MaterialAPI(material.GetPrim()).GetDynamicFrictionAttr().Get()
            found.append((row, round(friction, 6)))
    assert found
    return found


def test_what_a_format_cannot_express_is_refused_with_the_cure(tmp_path):
    surfaces = Surfaces(models_of("language_table"), "minimum")
    with pytest.raises(NoCounterpart, match=r"'red_moon' needs frictions of 0.3 and 0.6.*take SDF"):
        write_urdf(models_of("language_table")[0], surfaces, tmp_path)
    apple = next(model for model in models_of("tabletop") if model.name == "red_apple")
    with pytest.raises(NoCounterpart, match="no ellipsoid"):
        write_urdf(apple, Surfaces([apple], "minimum"), tmp_path)
    assert write_sdf(apple, Surfaces([apple], "minimum"), tmp_path).is_file()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("language_table", "--format", "urdf"), "take SDF"),
        (("nothing", "--format", "sdf"), "expected a known task"),
        (("language_table", "--format", "sdf", "--friction", "sum"), "expected a known combination: maximum, mean"),
        (("language_table", "--format", "obj"), "expected a run folder"),
        (("language_table", "--format", "sdf", "--robot", "nobody"), "expected a known robot"),
    ],
)
def test_a_wrong_call_is_one_line(arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, output = command_here("export", *arguments)
    assert code == 2 and words in output and "Traceback" not in output


def test_the_command_writes_the_models_into_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, output = command_here("export", "language_table", "--format", "sdf", "--friction", "product")
    assert code == 0 and "10 models" in output
    assert len(list((tmp_path / "models").glob("*.sdf"))) == 10
