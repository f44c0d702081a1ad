"""Training of ``film_bc`` and ``film_bc_state``, from demonstrations to model card; every part can be resumed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import torch
from pydantic import Field

from robocontrast_ros.configuration import record, resolve_uri
from robocontrast_ros.policies.film_bc.model import FilmBc
from robocontrast_ros.policies.sentence_encoder import SentenceEncoder
from robocontrast_ros.tasks.language_table import LanguageTable
from robocontrast_ros.training.card import Card
from robocontrast_ros.training.film_bc.demonstrations import DemonstrationParameters, Shard, make_shard
from robocontrast_ros.training.film_bc.keypoints import BlockImages, KeypointTrainer, KeypointTraining
from robocontrast_ros.training.film_bc.pushing import FilmBcTraining, Steps, Trainer, Words
from robocontrast_ros.training.film_bc.wordings import Wordings
from robocontrast_ros.training.recipes import RecipeFile, Say, Trained, Work
from robocontrast_ros.training.shards import split

TRAINED_ON = "Demonstrations of the oracle in the embedded world; one shard in twenty was kept for validation."


@record
class Round:
    """Demonstrations in which the learner of the previous round drives."""

    shards: int = Field(ge=2, description="number of files; the first twentieth, at least one, is for validation")
    episodes: int = Field(gt=0, description="episodes in one shard")
    learner_share: float = Field(gt=0, le=1, description="share of the episodes that the learner drives")
    noise: float = Field(ge=0, description="as of the demonstrations; little noise shows the learner its own dead ends")
    drift_chance: float = Field(ge=0, le=1, description="as of the demonstrations")
    image_every: int = Field(ge=0, description="as of the demonstrations")


@record
class FilmBcRecipe:
    """The file config/training/film_bc.yaml."""

    recipe: str = Field(default="film_bc", description="plug-in that reads this file")
    task: str = Field(description="URI of the Language-Table task file")
    demonstrations: DemonstrationParameters
    rounds: tuple[Round, ...] = Field(description="further demonstrations (DAgger)")
    network: FilmBcTraining
    network_after_round: FilmBcTraining
    network_for_pixels: FilmBcTraining
    keypoints: KeypointTraining

    def __post_init__(self) -> None:
        if self.demonstrations.shards < 2:
            raise ValueError(f"at least 2 shards of demonstrations, not {self.demonstrations.shards}")


class FilmBcFile(RecipeFile):
    """The recipe of ``film_bc`` and ``film_bc_state``."""

    PARAMETERS = FilmBcRecipe
    parameters: FilmBcRecipe

    def __init__(self, path: Path, parameters: FilmBcRecipe) -> None:
        super().__init__(path, parameters)
        self._task = LanguageTable.from_file(resolve_uri(parameters.task, path.parent))

    def train(self, folder: Path, processes: int, say: Say) -> Trained:
        """Follow the recipe; see ``training.recipes.Recipe``."""
        recipe, task, work = self.parameters, self._task, Work(folder, processes, say)
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        say(f"on {torch.cuda.get_device_name() if device.type == 'cuda' else 'the processor'}, {processes} processes")
        wordings = Wordings.cached(folder / "wordings.npz", task, SentenceEncoder.shipped(), say)
        names = task.parameters.blocks

        def pushing(name: str, parameters: FilmBcTraining, shards: list[list[Path]], before: str) -> str:
            steps, held_out = (Steps.of(paths, wordings).to(device) for paths in _split(shards))
            words = Words(wordings, parameters.held_out, parameters.seed, device)
            trainer = Trainer(parameters, names, steps, held_out, words)
            if before:
                trainer.start_from(FilmBc.restored(torch.load(folder / before, map_location="cpu", weights_only=True)))
            return work.network(name, trainer)

        rounds = [work.shards("demonstrations0", make_shard, recipe.demonstrations)]
        network = pushing("network0", recipe.network, rounds, "")
        for number, learned in enumerate(recipe.rounds, start=1):
            parameters = replace(
                recipe.demonstrations,
                seed=recipe.demonstrations.seed + 1000 * number,
                **asdict(learned),
                learner=str(work.policy("film_bc", f"learner{number}", network=network)),
            )
            rounds.append(work.shards(f"demonstrations{number}", make_shard, parameters))
            network = pushing(f"network{number}", recipe.network_after_round, rounds, network)
        for_pixels = pushing("network_for_pixels", recipe.network_for_pixels, rounds, network)

        # The first round shows the blocks in enough places.
        views, held_views = (BlockImages.of(paths).to(device) for paths in _split(rounds[:1]))
        keypoints = work.network("keypoints", KeypointTrainer(recipe.keypoints, names, views, held_views))

        name = self._path.stem
        policies = (
            work.policy("film_bc", f"{name}_state", network=network),
            work.policy("film_bc", name, network=for_pixels, keypoints=keypoints),
        )
        data = {paths[0].parent.name: _counted(paths) for paths in rounds}
        return work.trained(policies, "language_table_demo", self._path.name, _card(name, data), data)


def _split(rounds: list[list[Path]]) -> tuple[list[Path], list[Path]]:
    """Return the shards to train on and those to validate with, of each round."""
    both = [split(shards) for shards in rounds]
    return [path for kept, _ in both for path in kept], [path for _, held in both for path in held]


def _counted(paths: Sequence[Path]) -> dict[str, int]:
    """Return the numbers of episodes, steps and images in the shards of a round."""
    shards = [Shard.load(path) for path in paths]
    columns = {"episodes": "texts", "steps": "action", "images": "images"}
    return {what: sum(len(getattr(shard, name)) for shard in shards) for what, name in columns.items()}


def _card(name: str, data: Mapping[str, Mapping[str, int]]) -> Card:
    rounds = "\n".join(
        f"- {folder}: " + ", ".join(f"{count} {what}" for what, count in counts.items())
        for folder, counts in data.items()
    )
    return Card(
        names=(name, f"{name}_state"),
        task="Language-Table, eight blocks",
        action="planar_delta, one displacement (dx, dy) of the tool a step [m]",
        format="PyTorch state dicts with sizes and names",
        encoder="all-MiniLM-L6-v2",
        trained_on=f"{TRAINED_ON}\n\n{rounds}",
        validated_on="On steps, images and sentences that were not trained on.",
        session="language_table_held_out",
        title=f"{name} and {name}_state",
        evaluated=(name,),
    )
