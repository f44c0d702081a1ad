"""Training of ``kitchen_state`` and ``suite_state``, from nothing to the model card; every part can be resumed."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from pydantic import Field

from robocontrast_ros.configuration import ConfigurationError, record
from robocontrast_ros.policies.fit import check_fit
from robocontrast_ros.policies.kitchen_bc.loading import describe
from robocontrast_ros.policies.kitchen_bc.network import STEP, TURN
from robocontrast_ros.policies.kitchen_bc.things import Catalogue
from robocontrast_ros.policies.networks import one_thread
from robocontrast_ros.policies.sentence_encoder import SentenceEncoder
from robocontrast_ros.policies.tabletop_bc.policy import STILL, STILL_TURN
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.tasks.kitchen import Kitchen
from robocontrast_ros.tasks.suite import Suite
from robocontrast_ros.tasks.suite.files import VARIANTS
from robocontrast_ros.training.demonstrator import read_oracle
from robocontrast_ros.training.kitchen.card import Data, model_card
from robocontrast_ros.training.kitchen.cloning import CloningTrainer, CloningTraining, read
from robocontrast_ros.training.kitchen.demonstrations import KitchenDemonstrations, demonstrated, make_shard, oracle_of
from robocontrast_ros.training.recipes import RecipeFile, Say, Trained, Work
from robocontrast_ros.training.shards import split


@record
class KitchenRecipe:
    """The files config/training/kitchen.yaml and suite.yaml."""

    recipe: str = Field(description="plug-in that reads this file")
    session: str = Field(default="kitchen_skills", description="session that measures success, in the model card")
    demonstrations: KitchenDemonstrations
    cloning: CloningTraining


class KitchenFile(RecipeFile):
    """The recipe of ``kitchen_state`` and ``suite_state``."""

    PARAMETERS = KitchenRecipe
    parameters: KitchenRecipe

    def __init__(self, path: Path, parameters: KitchenRecipe) -> None:
        super().__init__(path, parameters)
        made = parameters.demonstrations
        handling = read_oracle(made)[0].handling
        for key, own in (("step", STEP), ("turn", TURN), ("still", STILL), ("still_turn", STILL_TURN)):
            got = getattr(handling, key)
            if got != own:
                expected = f"{own:g}, as in the policy that is trained"
                raise ConfigurationError(made.oracle, f"handling.{key}", got, expected)
        self._task = task = oracle_of(made).task
        if made.modified and task.modifications is None:
            expected = f"0 for the task '{task.name}', whose scenes cannot be modified"
            raise ConfigurationError(str(path), "demonstrations.modified", made.modified, expected)
        for robot in made.robots:
            check_fit(describe(path.stem), load_profile(robot), task.control_rate, {}, str(path))

    # Threads that wait for each other take ten times as long if another process uses a core.
    @one_thread()
    def train(self, folder: Path, processes: int, say: Say) -> Trained:
        """Follow the recipe; see ``training.recipes.Recipe``."""
        recipe, name, work = self.parameters, self._path.stem, Work(folder, processes, say)
        demonstrations = work.shards("demonstrations", make_shard, recipe.demonstrations)
        catalogue, encoder = catalogue_of(self._task), SentenceEncoder.shipped()
        steps, held = (read(paths, catalogue, encoder) for paths in split(demonstrations))
        network = work.network("network", CloningTrainer(recipe.cloning, catalogue, steps, held))
        keys = {}
        if isinstance(self._task, Suite):
            keys = {"vocabulary": work.vocabulary(told_words(self._task, recipe.demonstrations)), "chained": True}
        policy = work.policy("kitchen_bc", f"{name}_state", network=network, **keys)
        data = Data.of(demonstrations)
        card = model_card(policy.stem, self._task.name, recipe.session, data)
        return work.trained([policy], recipe.session, self._path.name, card, asdict(data))


def told_words(task: Suite, parameters: KitchenDemonstrations) -> set[str]:
    """Return the words for things in the instructions of the demonstrations."""
    shown = (task.suite[name] for name in demonstrated(task, parameters.held_out))
    return {word for each in shown for word in each.profile.object_words[VARIANTS[0]]}


def catalogue_of(task: Kitchen | Suite) -> Catalogue:
    """Return the catalogue of a task's things."""
    things = task.things
    known = {name: model for name, model in things.models.items() if things.is_thing(name)}
    backgrounds = [name for name in things.models if name not in known]
    return Catalogue.of(known.values(), dict(things.parts), backgrounds)
