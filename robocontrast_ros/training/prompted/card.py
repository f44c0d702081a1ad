"""The model card of the policies: their training data and validation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from robocontrast_ros.training.card import Card
from robocontrast_ros.training.prompted.trainer import Material, Variant

VALIDATED_ON = """\
Shares of prompts that are understood, every part right, about instances that were not trained on. `original`: by words,
in the one sentence that stands for each meaning; `held_out`: by words, in sentences that no training said; `pictures`:
as `original`, with pictures in place of the descriptors; `permuted`: as `original`, with the objects in another order.
"""


@dataclass(frozen=True)
class Data:
    """Numbers of the data for the networks' training and validation.

    Attributes:
        instances: number to train on, then of those that were held out.
        blocks: names of the blocks in each scene.
        meanings: number of meanings of instructions, blocks aside.
        sentences: number of sentences with paraphrases, of all meanings, blocks aside; then of those held out.
        pictures: number of pictures of each block, at as many yaws.
    """

    instances: tuple[int, int]
    blocks: tuple[str, ...]
    meanings: int
    sentences: tuple[int, int]
    pictures: int

    @classmethod
    def of(cls, material: Material) -> Data:
        """Count the networks' data."""
        wordings = material.wordings.values()
        return cls(
            (len(material.instances), len(material.held_out)),
            tuple(material.instances.names.tolist()),
            len(wordings),
            (sum(len(own.spoken) for own in wordings), sum(len(own.held_out) for own in wordings)),
            material.portraits.pictures.shape[1],
        )

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


def model_card(task: str, variants: Mapping[str, Variant], data: Data) -> Card:
    """Return the card.

    Args:
        task: name of the instances' task.
        variants: name of each policy -> its variant.
        data: numbers of their training data.
    """
    rows = "\n".join(
        f"| `{name}` | {variant.conditioning} | {'any' if variant.paraphrases else 'the original'} | "
        f"{'in an order that is drawn' if variant.permuted else 'as the task lists them'} |"
        for name, variant in variants.items()
    )
    return Card(
        names=tuple(variants),
        task=f"Language-Table; training draws from {task}",
        action="planar_delta, displacement [m] of the tool a step, by the oracle's skill for what was understood",
        format="PyTorch state dict with sizes, and the pictures of the blocks",
        encoder="tokens of all-MiniLM-L6-v2",
        trained_on=f"""The same data for all, drawn without physics:

{data.described()}

They differ in this:

| policy | prompt and objects | sentences | objects are listed |
|---|---|---|---|
{rows}""",
        validated_on=VALIDATED_ON.strip(),
        session="language_table_demo",
    )
