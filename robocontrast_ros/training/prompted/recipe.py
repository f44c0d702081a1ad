"""Training of the policies ``prompted_*``, from nothing to the model card; every part can be resumed."""

from __future__ import annotations

from concurrent.futures import as_completed
from dataclasses import asdict
from functools import partial
from pathlib import Path

from pydantic import Field

from robocontrast_ros.configuration import record, resolve_uri
from robocontrast_ros.policies.networks import one_thread
from robocontrast_ros.policies.sentence_encoder import SentenceEncoder
from robocontrast_ros.system.processes import process_pool
from robocontrast_ros.tasks.language_table import LanguageTable
from robocontrast_ros.training.prompted.card import Data, model_card
from robocontrast_ros.training.prompted.scenes import (
    Instances,
    Portraits,
    SceneParameters,
    make_instances,
    portraits_of,
)
from robocontrast_ros.training.prompted.sentences import all_wordings
from robocontrast_ros.training.prompted.trainer import Material, PromptedTrainer, PromptedTraining, Variant
from robocontrast_ros.training.recipes import RecipeFile, Say, Trained, Work
from robocontrast_ros.training.shards import split


@record
class SentenceRecipe:
    """Parameters of the sentences."""

    held_out: float = Field(ge=0, lt=1, description="share of each meaning's sentences that no training says")
    seed: int = Field(ge=0, description="of the choice of those")


@record
class PromptedRecipe:
    """The file config/training/prompted.yaml."""

    recipe: str = Field(description="plug-in that reads this file")
    task: str = Field(description="URI of the task whose instances are drawn")
    album: str = Field(description="URI of a task with every block that the policies shall know by its picture")
    oracle: str = Field(description="URI of the oracle that carries out what is understood")
    scenes: SceneParameters
    sentences: SentenceRecipe
    yaws: int = Field(gt=0, description="at which each block is drawn for prompts")
    training: PromptedTraining
    variants: dict[str, Variant] = Field(min_length=1, description="by what follows the recipe's name in the policy's")


class PromptedRecipeFile(RecipeFile):
    """The recipe of the policies ``prompted_*``."""

    PARAMETERS = PromptedRecipe
    parameters: PromptedRecipe

    def __init__(self, path: Path, parameters: PromptedRecipe) -> None:
        super().__init__(path, parameters)
        self._task_file, album = (resolve_uri(uri, path.parent) for uri in (parameters.task, parameters.album))
        self._task, self._album = (LanguageTable.from_file(file) for file in (self._task_file, album))

    def train(self, folder: Path, processes: int, say: Say) -> Trained:
        """Follow the recipe; see ``training.recipes.Recipe``."""
        recipe, work, task_file = self.parameters, Work(folder, processes, say), str(self._task_file)
        shards = work.shards("scenes", partial(make_instances, task_file), recipe.scenes)
        for name, task, yaws in (("album", self._album, 1), ("portraits", self._task, recipe.yaws)):
            file = folder / f"{name}.npz"
            if not file.exists():
                portraits_of(task, yaws).save(file)
                say(f"{name}: {len(task.scenes.models)} blocks, {yaws} {'yaw' if yaws == 1 else 'yaws'}")
        variants = {f"{self._path.stem}_{name}": variant for name, variant in recipe.variants.items()}
        with process_pool(min(processes, len(variants))) as submit:
            begun = {
                submit(_trained, task_file, recipe, variant, shards, folder / name): name
                for name, variant in variants.items()
            }
            found = {}
            for done in as_completed(begun):
                name = begun[done]
                found[name] = done.result()
                say(f"{name}: " + ", ".join(f"{what} {value:.4g}" for what, value in found[name].items()))
        work.measured.update({name: found[name] for name in variants})
        oracle = str(resolve_uri(recipe.oracle, self._path.parent))
        policies = [
            work.policy("prompted", name, network=f"{name}/{PromptedTrainer.CHECKPOINT}", oracle=oracle)
            for name in variants
        ]
        data = Data.of(_material(self._task, recipe, shards, folder))
        card = model_card(self._task.name, variants, data)
        return work.trained(policies, "language_table_demo", self._path.name, card, asdict(data))


def _material(task: LanguageTable, recipe: PromptedRecipe, shards: list[Path], folder: Path) -> Material:
    trained_on, held_out = (Instances.of(paths) for paths in split(shards))
    wordings = all_wordings(task, recipe.sentences.held_out, recipe.sentences.seed)
    portraits, album = (Portraits.load(folder / f"{name}.npz") for name in ("portraits", "album"))
    return Material(trained_on, held_out, portraits, album, wordings)


# Threads that wait for each other take ten times as long if another process uses a core.
@one_thread()
def _trained(
    task_file: str, recipe: PromptedRecipe, variant: Variant, shards: list[Path], folder: Path
) -> dict[str, float]:
    """Train one variant, in a process of its own; return its validation. Its lines of progress are in its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    material = _material(LanguageTable.from_file(Path(task_file)), recipe, shards, folder.parent)
    trainer = PromptedTrainer(recipe.training, variant, material, SentenceEncoder.shipped())
    with (folder / "progress.txt").open("a", encoding="utf-8") as progress:
        trainer.run(folder, lambda line: print(line, file=progress, flush=True))
    return trainer.validate()
