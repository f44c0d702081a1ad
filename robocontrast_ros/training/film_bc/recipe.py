"""Training of ``film_bc`` and ``film_bc_state``, from demonstrations to model card; every part can be resumed."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import torch
import yaml
from pydantic import Field

from robocontrast_ros.configuration import load_record, record, resolve_uri
from robocontrast_ros.policies.film_bc.model import FilmBc
from robocontrast_ros.policies.sentence_encoder import SentenceEncoder
from robocontrast_ros.tasks.language_table import LanguageTable
from robocontrast_ros.training.film_bc.card import model_card
from robocontrast_ros.training.film_bc.demonstrations import DemonstrationParameters, make_shard
from robocontrast_ros.training.film_bc.keypoints import KeypointTrainer, KeypointTraining, Views
from robocontrast_ros.training.film_bc.pushing import FilmBcTraining, Steps, Trainer, Words
from robocontrast_ros.training.film_bc.wordings import Wordings
from robocontrast_ros.training.recipes import Say, Trained
from robocontrast_ros.training.shards import all_shards, split


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


class FilmBcFile:
    """The recipe of ``film_bc`` and ``film_bc_state``.

    Attributes:
        parameters: the record of its file.
    """

    def __init__(self, path: Path, parameters: FilmBcRecipe, task: LanguageTable) -> None:
        self.parameters = parameters
        self._path, self._task = path, task

    @classmethod
    def from_file(cls, path: Path) -> FilmBcFile:
        """Return the recipe that a file describes.

        Raises:
            ConfigurationError: the file, or the task's, does not fit.
        """
        parameters = load_record(FilmBcRecipe, path)
        return cls(path, parameters, LanguageTable.from_file(resolve_uri(parameters.task, path.parent)))

    def train(self, folder: Path, processes: int, say: Say) -> Trained:
        """Follow the recipe; see ``training.recipes.Recipe``."""
        recipe, task = self.parameters, self._task
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        say(f"on {torch.cuda.get_device_name() if device.type == 'cuda' else 'the processor'}, {processes} processes")
        wordings = Wordings.cached(folder / "wordings.npz", task, SentenceEncoder.shipped(), say)
        names = task.parameters.blocks
        measured: dict[str, dict[str, float]] = {}

        def pushing(parameters: FilmBcTraining, shards: list[list[Path]], name: str, before: Path | None) -> Path:
            kept, held = _split(shards)
            steps, held_out = (Steps.of(paths, wordings).to(device) for paths in (kept, held))
            words = Words(wordings, parameters.held_out, parameters.seed, device)
            trainer = Trainer(parameters, names, steps, held_out, words)
            if before is not None:
                trainer.start_from(FilmBc.restored(torch.load(before, map_location="cpu", weights_only=True)))
            say(f"{name}: {len(steps)} steps, {len(held_out)} held out")
            trainer.run(folder / name, say)
            measured[name] = trainer.validate()
            return folder / name / Trainer.CHECKPOINT

        rounds: list[list[Path]] = []
        network: Path | None = None
        for number, learned in enumerate((None, *recipe.rounds)):
            parameters = recipe.demonstrations
            if learned is not None and network is not None:
                parameters = replace(
                    parameters,
                    seed=parameters.seed + 1000 * number,
                    **asdict(learned),
                    learner=str(_parameter_file(folder / f"learner{number}.yaml", "learner", network)),
                )
            rounds.append(all_shards(make_shard, parameters, folder / f"demonstrations{number}", processes, say))
            how = recipe.network if network is None else recipe.network_after_round
            network = pushing(how, rounds, f"network{number}", network)
        assert network is not None
        for_pixels = pushing(recipe.network_for_pixels, rounds, "network_for_pixels", network)

        # The first round shows the blocks in enough places.
        views, held_views = (Views.of(paths).to(device) for paths in _split(rounds[:1]))
        say(f"keypoints: {len(views)} images, {len(held_views)} held out")
        seeing = KeypointTrainer(recipe.keypoints, names, views, held_views)
        seeing.run(folder / "keypoints", say)
        measured["keypoints"] = seeing.validate()

        name = self._path.stem
        policies = (
            _parameter_file(folder / f"{name}_state.yaml", f"{name}_state", network),
            _parameter_file(
                folder / f"{name}.yaml", name, for_pixels, folder / "keypoints" / KeypointTrainer.CHECKPOINT
            ),
        )
        card = folder / "README.md"
        card.write_text(model_card(name, self._path.name, rounds, measured), encoding="utf-8")
        return Trained(policies, card, "language_table_demo")


def _split(rounds: list[list[Path]]) -> tuple[list[Path], list[Path]]:
    """Return the shards to train on and those to validate with, of each round."""
    both = [split(shards) for shards in rounds]
    return [path for kept, _ in both for path in kept], [path for _, held in both for path in held]


def _parameter_file(path: Path, name: str, network: Path, keypoints: Path | None = None) -> Path:
    """Write a policy's parameter file beside the folders of its checkpoints."""
    content = {"policy": "film_bc", "name": name, "network": str(network.relative_to(path.parent))}
    if keypoints is not None:
        content["keypoints"] = str(keypoints.relative_to(path.parent))
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return path
