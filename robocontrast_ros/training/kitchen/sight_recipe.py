"""Training of ``kitchen_camera``: its sight alone, for the network that moves the hand is that of ``kitchen_state``."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path

from pydantic import Field

from robocontrast_ros.configuration import ConfigurationError, record, resolve_uri
from robocontrast_ros.policies.checkpoints import restored
from robocontrast_ros.policies.fit import check_fit
from robocontrast_ros.policies.kitchen_bc.loading import describe
from robocontrast_ros.policies.kitchen_bc.network import KitchenNetwork
from robocontrast_ros.policies.networks import one_thread
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.tasks.kitchen import Kitchen
from robocontrast_ros.training.kitchen.card import SightData, sight_card
from robocontrast_ros.training.kitchen.recipe import catalogue_of
from robocontrast_ros.training.kitchen.sight import KitchenScenes, KitchenSightTrainer, kinds_of
from robocontrast_ros.training.kitchen.views import KitchenViews, make_views
from robocontrast_ros.training.recipes import RecipeFile, Say, Trained, Work
from robocontrast_ros.training.shards import split
from robocontrast_ros.training.tabletop.sight import SightTraining


@record
class KitchenSightRecipe:
    """The file config/training/kitchen_camera.yaml."""

    recipe: str = Field(description="plug-in that reads this file")
    task: str = Field(description="URI of the task whose scenes are drawn")
    network: str = Field(description="URI of the checkpoint of the network that understands and moves, trained before")
    views: KitchenViews
    training: SightTraining


class KitchenSightFile(RecipeFile):
    """The recipe of ``kitchen_camera``."""

    PARAMETERS = KitchenSightRecipe
    parameters: KitchenSightRecipe

    def __init__(self, path: Path, parameters: KitchenSightRecipe) -> None:
        super().__init__(path, parameters)
        self._task_file = resolve_uri(parameters.task, path.parent)
        self._task = task = Kitchen.from_file(self._task_file)
        given = restored(KitchenNetwork, parameters, "network", path)
        if given.catalogue.names != (names := catalogue_of(task).names):
            expected = f"a network that was trained with the {len(names)} things of the task"
            raise ConfigurationError(str(path), "network", parameters.network, expected)
        for robot in parameters.views.robots:
            check_fit(describe(path.stem), load_profile(robot), task.control_rate, {}, str(path))

    # Threads that wait for each other take ten times as long if another process uses a core.
    @one_thread()
    def train(self, folder: Path, processes: int, say: Say) -> Trained:
        """Follow the recipe; see ``training.recipes.Recipe``."""
        recipe, name, work = self.parameters, self._path.stem, Work(folder, processes, say)
        views = work.shards("views", partial(make_views, str(self._task_file)), recipe.views)
        (names, scenes), (_, held) = (KitchenScenes.of(paths) for paths in split(views))
        kinds = kinds_of(names, self._task.things.models)
        sight = work.network("sight", KitchenSightTrainer(recipe.training, kinds, scenes, held))
        network = str(resolve_uri(recipe.network, self._path.parent))
        policy = work.policy("kitchen_bc", name, network=network, sight=sight)
        data = SightData.of(scenes, held)
        return work.trained([policy], "kitchen_skills", self._path.name, sight_card(name, data), asdict(data))
