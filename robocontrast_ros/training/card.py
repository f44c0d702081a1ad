"""What the model cards of all recipes share."""

from __future__ import annotations

from collections.abc import Mapping

Measured = Mapping[str, Mapping[str, float]]
"""Network -> measure -> value; the names of measures end in their units."""


def validation(measured: Measured) -> str:
    """Return a list of what was measured in validation, a network a line."""
    return "\n".join(
        f"- {network}: " + ", ".join(f"{key} {value:.4g}" for key, value in values.items())
        for network, values in measured.items()
    )
