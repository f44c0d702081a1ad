"""Images that the tabletop's camera policy is trained on, and a training small enough for a test."""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np
import pytest
import yaml

torch = pytest.importorskip("torch", reason="the extra `torch` is not installed")

from robocontrast_ros.configuration import resolve_uri  # noqa: E402
from robocontrast_ros.domain import ObjectState, Pose, Scene  # noqa: E402
from robocontrast_ros.images.rendering import Camera  # noqa: E402
from robocontrast_ros.objects import load_library  # noqa: E402
from robocontrast_ros.policies.networks import one_thread  # noqa: E402
from robocontrast_ros.policies.tabletop_bc.cameras import FRONT, HEIGHT, TOP, WIDTH  # noqa: E402
from robocontrast_ros.policies.tabletop_bc.sight import Sight  # noqa: E402
from robocontrast_ros.robots.profile import load_profile  # noqa: E402
from robocontrast_ros.tasks.tabletop.task import Tabletop  # noqa: E402
from robocontrast_ros.training.shards import make_shards  # noqa: E402
from robocontrast_ros.training.tabletop.sight import Scenes, SightTrainer, SightTraining, kinds_of  # noqa: E402
from robocontrast_ros.training.tabletop.symmetry import symmetry  # noqa: E402
from robocontrast_ros.training.tabletop.views import Photographer, StoredViews, ViewParameters, make_views  # noqa: E402
from robocontrast_ros.worlds.mujoco.world import World  # noqa: E402

ROBOT = "franka_hand"
FEW = ViewParameters((ROBOT,), shards=1, images=12, seed=3, at_start=0.5, in_hand=0.7)


@pytest.fixture(autouse=True, scope="module")
def thread():
    """Tests beside this one want the other cores."""
    with one_thread():
        yield


@pytest.fixture(scope="module")
def task_file(tmp_path_factory):
    """The task with few things, none of which has a texture that takes long to draw."""
    task = yaml.safe_load(resolve_uri("package://robocontrast_ros/config/tasks/tabletop.yaml").read_text())
    task["objects"] = ["cube", "brick", "golf_ball"]
    task["sampling"]["objects"] = [2, 4]
    path = tmp_path_factory.mktemp("task") / "few.yaml"
    path.write_text(yaml.safe_dump(task))
    return path


@pytest.fixture(scope="module")
def photographer(task_file):
    made = Photographer(Tabletop.from_file(task_file), ROBOT)
    yield made
    made.close()


@pytest.fixture(scope="module")
def views(photographer):
    return photographer.views(FEW, np.random.default_rng([FEW.seed, 0]))


def test_images_are_those_of_the_world_that_a_policy_sees(task_file, photographer):
    task = Tabletop.from_file(task_file)
    scene = task.sample(np.random.default_rng(1), "0", "pick").scene
    cameras = [Camera(view.name, WIDTH, HEIGHT) for view in (TOP, FRONT)]
    world = World(load_profile(ROBOT), task.scenes.world, task.scenes.start_position, cameras)
    try:
        for item in scene:
            world.spawn(item.name, item.pose, uri=task.scenes.models[item.model])
        seen = [view.cut(world.cameras.render(view.name)) for view in (TOP, FRONT)]
    finally:
        world.close()
    for drawn, rendered in zip(photographer.image(scene), seen, strict=True):
        # The order in which things are drawn decides a pixel here and there.
        assert (drawn != rendered).any(axis=-1).mean() < 1e-3


def test_labels_say_where_things_are_in_the_images(photographer, views):
    table = Scene(tuple(ObjectState(name, name, Pose()) for name in ("oak_table", "beige_room", "ceiling_lamp")))
    background, _ = photographer.image(table)
    undisturbed = (values[views.at_start] for values in (views.top, views.models, views.poses))
    for top, models, poses in zip(*undisturbed, strict=True):
        rows, columns = np.nonzero((top != background).any(axis=-1))
        points = TOP.pixels(np.concatenate([poses[models >= 0, :2], np.zeros(((models >= 0).sum(), 1))], axis=1))
        off = np.linalg.norm(np.stack([columns, rows], axis=1)[:, None] - points, axis=-1)
        # All that differs from the empty table is within a thing's reach of a label (golf ball to brick, 4 cm and
        # what its height adds), and around each label something does.
        assert off.min(axis=1).max() < 14
        assert off.min(axis=0).max() < 1.5


def test_a_lifted_thing_is_no_thing_of_the_table(views):
    assert 0 < views.at_start.sum() < len(views.at_start)
    standing = (views.models >= 0).sum(axis=1)
    assert standing[views.at_start].min() >= 2
    assert standing.min() >= 1
    for models in views.models:
        assert len(set(models[models >= 0].tolist())) == (models >= 0).sum()


def test_images_without_distractors_show_as_many_things_as_the_recipe_says(task_file):
    few = replace(FEW, objects=(1, 2))
    made = make_views(str(task_file), few, 0)
    standing = (made.models >= 0).sum(axis=1)
    assert made.models.shape[1] == 2
    assert set(standing[made.at_start]) == {1, 2}


@pytest.mark.long
def test_a_shard_depends_on_parameters_and_number_alone(views, task_file, tmp_path):
    make = functools.partial(make_views, str(task_file))
    paths = list(make_shards(make, FEW, tmp_path, processes=1))
    made = StoredViews.load(paths[0])
    for name, values in vars(views).items():
        assert np.array_equal(values, getattr(made, name)), name
    assert list(make_shards(make, FEW, tmp_path, processes=1)) == []


@pytest.mark.parametrize(
    ("model", "turns"),
    [("red_can", 0), ("red_bowl", 0), ("red_cube", 4), ("red_cracker_box", 2), ("red_mug", 1), ("hammer", 1)],
)
def test_the_symmetry_of_a_shape_is_found(model, turns):
    assert symmetry(load_library()[model]) == turns


@pytest.mark.long
def test_training_goes_on_where_it_stopped_and_its_network_is_restored(views, tmp_path):
    views.save(tmp_path / "views.npz")
    names, scenes = Scenes.of([tmp_path / "views.npz"])
    kinds = kinds_of(names, load_library())
    training = SightTraining(seed=1, epochs=2, batch=4, rate=2e-3, weight_decay=1e-4, shift=1.0)
    whole = SightTrainer(training, kinds, scenes, scenes).run(tmp_path / "whole", lambda line: None)

    def stop(line: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        SightTrainer(training, kinds, scenes, scenes).run(tmp_path / "parts", stop)
    SightTrainer(training, kinds, scenes, scenes).run(tmp_path / "parts", lambda line: None)
    checkpoint = torch.load(tmp_path / "parts" / "sight.pt", weights_only=True)
    restored = Sight.restored(checkpoint)
    assert restored.kinds == kinds
    for name, value in whole.state_dict().items():
        # Stored in half precision, and the trained network is what its file holds.
        assert torch.equal(value, restored.state_dict()[name]), name
