"""Training of ``tabletop_state`` and ``tabletop_camera``, from nothing to the model card; every part can be resumed."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path

from pydantic import Field

from robocontrast_ros.configuration import ConfigurationError, record, resolve_uri
from robocontrast_ros.policies.checkpoints import restored
from robocontrast_ros.policies.fit import check_fit
from robocontrast_ros.policies.networks import one_thread
from robocontrast_ros.policies.sentence_encoder import SentenceEncoder
from robocontrast_ros.policies.tabletop_bc.grounding import Grounding
from robocontrast_ros.policies.tabletop_bc.loading import describe
from robocontrast_ros.policies.tabletop_bc.motion import STEP, TURN
from robocontrast_ros.policies.tabletop_bc.policy import STILL, STILL_TURN
from robocontrast_ros.policies.tabletop_bc.things import Catalogue
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.tasks.tabletop import Tabletop
from robocontrast_ros.training.demonstrator import read_oracle
from robocontrast_ros.training.recipes import RecipeFile, Say, Trained, Work
from robocontrast_ros.training.shards import split
from robocontrast_ros.training.tabletop.card import Data, model_card
from robocontrast_ros.training.tabletop.demonstrations import TabletopDemonstrations, make_shard
from robocontrast_ros.training.tabletop.grounding import GroundingTrainer, GroundingTraining, Told
from robocontrast_ros.training.tabletop.motion import MotionTrainer, MotionTraining, Steps
from robocontrast_ros.training.tabletop.sentences import SentenceParameters, make_sentences
from robocontrast_ros.training.tabletop.sight import Scenes, SightTrainer, SightTraining, kinds_of
from robocontrast_ros.training.tabletop.views import ViewParameters, make_views
from robocontrast_ros.training.tabletop.vocabulary import object_words


@record
class SightRecipe:
    """Parameters of the network that sees: its images and its training."""

    views: ViewParameters
    training: SightTraining

    def __post_init__(self) -> None:
        if self.views.shards < 3:
            raise ValueError(f"at least 3 shards of views, not {self.views.shards}")


@record
class TabletopRecipe:
    """The file config/training/tabletop.yaml."""

    recipe: str = Field(description="plug-in that reads this file")
    demonstrations: TabletopDemonstrations
    sentences: SentenceParameters | None = Field(default=None, description="none: there is a `grounding_file`")
    grounding: GroundingTraining | None = Field(default=None, description="none: there is a `grounding_file`")
    grounding_file: str = Field(
        default="",
        description="URI of a checkpoint of the network that understands, in place of `sentences` and `grounding`",
    )
    motion: MotionTraining
    sight: SightRecipe | None = Field(default=None, description="none: no policy that sees is made")

    def __post_init__(self) -> None:
        for key, part in (("sentences", self.sentences), ("grounding", self.grounding)):
            if part is None and not self.grounding_file:
                expected = "a value for this key, or a `grounding_file` in place of `sentences` and `grounding`"
                raise ConfigurationError("", key, "nothing", expected)
            if part is not None and self.grounding_file:
                raise ConfigurationError("", "grounding_file", self.grounding_file, f"none beside `{key}`")


class TabletopFile(RecipeFile):
    """The recipe of ``tabletop_state`` and ``tabletop_camera``."""

    PARAMETERS = TabletopRecipe
    parameters: TabletopRecipe

    def __init__(self, path: Path, parameters: TabletopRecipe) -> None:
        super().__init__(path, parameters)
        made = parameters.demonstrations
        oracle, self._task_file = read_oracle(made)
        for key, own in (("step", STEP), ("turn", TURN), ("still", STILL), ("still_turn", STILL_TURN)):
            got = getattr(oracle.handling, key)
            if got != own:
                raise ConfigurationError(
                    made.oracle, f"handling.{key}", got, f"{own:g}, as in the policy that is trained"
                )
        self._task = task = Tabletop.from_file(self._task_file)
        names = Catalogue.of(task.library.values()).names
        drawn = [("demonstrations", made.objects)]
        if parameters.sight is not None:
            drawn.append(("sight.views", parameters.sight.views.objects))
        for part, objects in drawn:
            if objects is not None and objects[1] > len(names):
                expected = f"at most the {len(names)} objects of the task"
                raise ConfigurationError(str(path), f"{part}.objects", list(objects), expected)
        if parameters.grounding_file:
            given = restored(Grounding, parameters, "grounding_file", path)
            if tuple(given.catalogue.names) != tuple(names):
                expected = f"a network that was trained with the {len(names)} objects of the task"
                raise ConfigurationError(str(path), "grounding_file", parameters.grounding_file, expected)
        shown = parameters.sight.views.robots if parameters.sight else ()
        for robot in dict.fromkeys((*made.robots, *shown)):
            check_fit(describe(path.stem, sees=False), load_profile(robot), task.control_rate, {}, str(path))

    # Threads that wait for each other take ten times as long if another process uses a core.
    @one_thread()
    def train(self, folder: Path, processes: int, say: Say) -> Trained:
        """Follow the recipe; see ``training.recipes.Recipe``."""
        recipe, name, work = self.parameters, self._path.stem, Work(folder, processes, say)
        catalogue, task_file = Catalogue.of(self._task.library.values()), str(self._task_file)
        demonstrations = work.shards("demonstrations", make_shard, recipe.demonstrations)
        if recipe.sentences is None or recipe.grounding is None:
            grounding, instructions = str(resolve_uri(recipe.grounding_file, self._path.parent)), (0, 0)
        else:
            sentences = work.shards("sentences", partial(make_sentences, task_file), recipe.sentences)
            encoder = SentenceEncoder.shipped()
            told, told_held = (Told.of(paths, catalogue, encoder) for paths in split(sentences))
            instructions = len(told), len(told_held)
            grounding = work.network("grounding", GroundingTrainer(recipe.grounding, catalogue, told, told_held))
        steps, steps_held = (Steps.of(paths, catalogue) for paths in split(demonstrations))
        motion = work.network("motion", MotionTrainer(recipe.motion, catalogue, steps, steps_held))
        vocabulary = work.vocabulary(object_words(self._task.language.grammar))
        networks = {"vocabulary": vocabulary, "grounding": grounding, "motion": motion}
        policies = [work.policy("tabletop_bc", f"{name}_state", **networks)]
        images = (0, 0)
        if recipe.sight is not None:
            views = work.shards("views", partial(make_views, task_file), recipe.sight.views)
            # The shards of one robot follow each other: the first and the last are of different ones.
            names, scenes = Scenes.of(views[1:-1])
            _, held = Scenes.of([views[0], views[-1]])
            images = len(scenes), len(held)
            kinds = kinds_of(names, self._task.library)
            sight = work.network("sight", SightTrainer(recipe.sight.training, kinds, scenes, held))
            policies.append(work.policy("tabletop_bc", f"{name}_camera", **networks, sight=sight))
        data = Data.of(demonstrations, instructions, images)
        card = model_card([path.stem for path in policies], data)
        return work.trained(policies, "tabletop_demo", self._path.name, card, asdict(data))
