"""Images that the kitchen's camera policy is trained on, and the recipe in seconds."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
import yaml

torch = pytest.importorskip("torch", reason="the extra `torch` is not installed")

from robocontrast_ros.configuration import ConfigurationError, load_configured, load_record, resolve_uri  # noqa: E402
from robocontrast_ros.images.rendering import Camera  # noqa: E402
from robocontrast_ros.policies.kitchen_bc.cameras import AGENT  # noqa: E402
from robocontrast_ros.policies.networks import one_thread  # noqa: E402
from robocontrast_ros.policies.tabletop_bc.cameras import HEIGHT, WIDTH  # noqa: E402
from robocontrast_ros.robots.profile import load_profile  # noqa: E402
from robocontrast_ros.tasks.kitchen import Kitchen  # noqa: E402
from robocontrast_ros.training.kitchen.sight_recipe import KitchenSightRecipe  # noqa: E402
from robocontrast_ros.training.kitchen.views import KitchenPhotographer, KitchenViews  # noqa: E402
from robocontrast_ros.worlds.mujoco.entities import EntityState  # noqa: E402
from robocontrast_ros.worlds.mujoco.world import World  # noqa: E402

ROBOT = "franka_hand"
RECIPE_FILE = resolve_uri("package://robocontrast_ros/config/training/kitchen_camera.yaml")
PROBLEMS = ("kitchen_8_turn_off_stove", "kitchen_5_close_top_drawer")
FEW = KitchenViews((ROBOT,), shards=3, images=8, seed=3, at_start=0.5, in_hand=1.0)


@pytest.fixture(autouse=True, scope="module")
def thread():
    """Tests beside this one want the other cores."""
    with one_thread():
        yield


@pytest.fixture(scope="module")
def task_file(tmp_path_factory):
    """A kitchen with two of the problems, one of which has two things of one model."""
    folder = tmp_path_factory.mktemp("task")
    config = resolve_uri("package://robocontrast_ros/config")
    shutil.copytree(config / "kitchen/scenes", folder / "scenes")
    (folder / "problems").mkdir()
    for name in PROBLEMS:
        shutil.copy(config / f"kitchen/problems/{name}.yaml", folder / "problems")
    task = yaml.safe_load((config / "tasks/kitchen.yaml").read_text())
    path = folder / "two.yaml"
    path.write_text(yaml.safe_dump(task | {"problems": str(folder / "problems")}))
    return path


@pytest.fixture(scope="module")
def task(task_file):
    return Kitchen.from_file(task_file)


@pytest.fixture(scope="module")
def photographer(task):
    made = KitchenPhotographer(task, ROBOT)
    yield made
    made.close()


@pytest.fixture(scope="module")
def views(photographer):
    return photographer.views(FEW, np.random.default_rng([FEW.seed, 0]))


@pytest.mark.parametrize("problem", PROBLEMS)
def test_images_are_those_of_the_world_that_a_policy_sees(task, photographer, problem):
    scene = task.sample_of(problem, np.random.default_rng(1), "0").scene
    world = World(
        load_profile(ROBOT), task.scenes.world, task.scenes.start_position, [Camera(AGENT.name, WIDTH, HEIGHT)]
    )
    try:
        for item in scene:
            if "/" in item.name:
                world.set_entity_state(item.name, EntityState(item.pose))
            else:
                world.spawn(item.name, item.pose, uri=task.scenes.models[item.model])
        seen = AGENT.cut(world.cameras.render(AGENT.name))
    finally:
        world.close()
    # The order in which things are drawn decides a pixel here and there.
    (drawn,) = photographer.image(photographer.renamed(scene))
    assert (drawn != seen).any(axis=-1).mean() < 1e-3


def test_labels_are_of_what_stands_there_with_its_parts(photographer, views):
    names = views.names.tolist()
    cabinet, stove, pot = (names.index(name) for name in ("white_cabinet", "stove", "moka_pot"))
    assert 0 < views.at_start.sum() < FEW.images
    for models, poses, joints, free in zip(views.models, views.poses, views.joints, views.at_start, strict=True):
        standing = models[models >= 0].tolist()
        if cabinet in standing:
            slot = standing.index(cabinet)
            assert 0.6 < poses[slot, 0] < 0.7 and joints[slot, 2] > 0.13
            # One of three things is in the hand elsewhere.
            assert len(standing) == (4 if free else 3)
        else:
            assert joints[standing.index(stove), 0] > 0.5
            assert standing.count(pot) == (2 if free else 1)


def test_a_shard_depends_on_parameters_and_number_alone(photographer, views):
    again = photographer.views(FEW, np.random.default_rng([FEW.seed, 0]))
    for name, values in vars(views).items():
        assert np.array_equal(values, getattr(again, name)), name


@pytest.mark.long
def test_the_recipe_makes_a_policy_that_sees(task_file, tmp_path, photographer):
    recipe = yaml.safe_load(RECIPE_FILE.read_text())
    recipe["task"] = str(task_file)
    recipe["views"] |= {"shards": 3, "images": 6}
    recipe["training"] |= {"epochs": 1, "batch": 6}
    file = tmp_path / "few.yaml"
    file.write_text(yaml.safe_dump(recipe))
    parameters = load_record(KitchenSightRecipe, file)
    views = tmp_path / "made" / "views"
    views.mkdir(parents=True)
    # As the processes of a pool would, but with the world that is there.
    for index in range(3):
        made = photographer.views(parameters.views, np.random.default_rng([parameters.views.seed, index]))
        made.save(views / f"shard{index:04d}.npz")
    said: list[str] = []
    trained = load_configured("recipes", file).train(tmp_path / "made", 1, said.append)
    assert said[0] == "sight: 12 scenes, 6 held out"
    (policy,) = trained.policies
    description = load_configured("policies", policy).describe()
    assert not description.privileged and description.cameras == (AGENT.name,)
    assert "12 images of scenes" in trained.card.read_text()
    count = len(said)
    # Begun again, it goes on where it was: at the end.
    load_configured("recipes", file).train(tmp_path / "made", 1, said.append)
    assert not any("epoch" in line for line in said[count:])


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("views", {"shards": 2}, "`views.shards`: got 2"),
        ("training", {"batch": 0}, "`training.batch`: got 0"),
        ("views", {"robots": ["franka"]}, "robot 'franka' has none"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_made(tmp_path, task_file, key, value, says):
    recipe = yaml.safe_load(RECIPE_FILE.read_text())
    recipe["task"] = str(task_file)
    recipe[key] |= value
    file = tmp_path / "wrong.yaml"
    file.write_text(yaml.safe_dump(recipe))
    with pytest.raises(ConfigurationError) as refusal:
        load_configured("recipes", file)
    assert says in str(refusal.value)
