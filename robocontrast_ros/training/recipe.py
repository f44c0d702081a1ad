"""Training of ``film_bc`` and ``film_bc_state``, from demonstrations to model card; every part can be resumed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch
import yaml
from pydantic import Field

from robocontrast_ros.configuration import ConfigurationError, dump_record, load_record, record, resolve_uri
from robocontrast_ros.policies.film_bc.model import FilmBc
from robocontrast_ros.policies.sentence_encoder import SentenceEncoder
from robocontrast_ros.tasks.language_table import LanguageTable
from robocontrast_ros.training.card import model_card
from robocontrast_ros.training.demonstrations import DemonstrationParameters, make_demonstrations
from robocontrast_ros.training.film_bc import FilmBcTraining, Steps, Trainer, Words
from robocontrast_ros.training.keypoints import KeypointTrainer, KeypointTraining, Views
from robocontrast_ros.training.progress import TimeLeft
from robocontrast_ros.training.wordings import Wordings

HELD_OUT_SHARDS = 0.05


@record
class Round:
    """Demonstrations in which the learner of the previous round drives."""

    shards: int = Field(ge=2, description="number of files; the first one in twenty is for validation")
    episodes: int = Field(gt=0, description="episodes in one shard")
    learner_share: float = Field(gt=0, le=1, description="share of the episodes that the learner drives")
    noise: float = Field(ge=0, description="as of the demonstrations; little noise shows the learner its own dead ends")
    drift_chance: float = Field(ge=0, le=1, description="as of the demonstrations")
    image_every: int = Field(ge=0, description="as of the demonstrations")


@record
class FilmBcRecipe:
    """The file config/training/film_bc.yaml."""

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


@dataclass(frozen=True)
class Trained:
    """The products of a recipe.

    Attributes:
        policies: parameter files: with ground truth, and with the camera.
        card: the model card of both.
    """

    policies: tuple[Path, Path]
    card: Path


def train(recipe_file: Path, folder: Path, processes: int, say: Callable[[str], None]) -> Trained:
    """Follow a recipe: demonstrations, networks, checkpoints, parameter files and a model card.

    Args:
        recipe_file: a file such as config/training/film_bc.yaml.
        folder: of demonstrations and checkpoints; what it contains already is not made again.
        processes: number that make demonstrations.
        say: receives lines of progress.

    Raises:
        ConfigurationError: the recipe, or a file that it names, does not fit, or the folder belongs to another recipe.
    """
    recipe = load_record(FilmBcRecipe, recipe_file)
    task = LanguageTable.from_file(resolve_uri(recipe.task, recipe_file.parent))
    folder.mkdir(parents=True, exist_ok=True)
    _claim(folder, recipe, recipe_file)
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
        rounds.append(_demonstrations(parameters, folder / f"demonstrations{number}", processes, say))
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

    name = recipe_file.stem
    policies = (
        _parameter_file(folder / f"{name}_state.yaml", f"{name}_state", network),
        _parameter_file(folder / f"{name}.yaml", name, for_pixels, folder / "keypoints" / KeypointTrainer.CHECKPOINT),
    )
    card = folder / "README.md"
    card.write_text(model_card(name, recipe_file.name, rounds, measured), encoding="utf-8")
    return Trained(policies, card)


def _claim(folder: Path, recipe: FilmBcRecipe, recipe_file: Path) -> None:
    """Write the recipe into the folder, or refuse a folder of another recipe."""
    begun = folder / "recipe.yaml"
    if begun.exists() and load_record(FilmBcRecipe, begun) != recipe:
        raise ConfigurationError(
            str(recipe_file),
            "",
            "another recipe than before",
            f"the recipe that was begun in {folder}, {begun}",
            "Name another folder with --output, or remove this one.",
        )
    begun.write_text(yaml.safe_dump(dump_record(recipe), sort_keys=False), encoding="utf-8")


def _demonstrations(
    parameters: DemonstrationParameters, folder: Path, processes: int, say: Callable[[str], None]
) -> list[Path]:
    """Return the shards of a round; make the missing ones."""
    missing = parameters.shards - len(list(folder.glob("shard*.npz")))
    left = TimeLeft(missing)
    for number, _ in enumerate(make_demonstrations(parameters, folder, processes), start=1):
        done = parameters.shards - missing + number
        say(f"{folder.name}: {done} of {parameters.shards} shards, {left.after(number)}")
    return sorted(folder.glob("shard*.npz"))


def _split(rounds: list[list[Path]]) -> tuple[list[Path], list[Path]]:
    """Return the shards to train on and those to test with: the first ones of each round."""
    kept, held = [], []
    for shards in rounds:
        cut = max(1, int(HELD_OUT_SHARDS * len(shards)))
        held += shards[:cut]
        kept += shards[cut:]
    return kept, held


def _parameter_file(path: Path, name: str, network: Path, keypoints: Path | None = None) -> Path:
    """Write a policy's parameter file beside the folders of its checkpoints."""
    content = {"policy": "film_bc", "name": name, "network": str(network.relative_to(path.parent))}
    if keypoints is not None:
        content["keypoints"] = str(keypoints.relative_to(path.parent))
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return path
