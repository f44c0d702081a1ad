"""A perturbation that says any text, as a person or a file may."""

from __future__ import annotations

from dataclasses import replace

from robocontrast_ros.configuration import record
from robocontrast_ros.domain import Expectation, Perturbed

ODD = {
    "emoji": "push the 🌙 to the ⭐",
    "right_to_left": "ادفع القمر الأحمر \u202eabc\u202c",
    "lines": "a\n\tb\r\n\"'<b>&amp;</b>,;|\\ {x} %s",
    "markup": "[/red] [bold]push[/] [link=file:///] \x1b[31m",
}
"""Label -> a text that goes through unharmed."""


@record
class SaidParameters:
    """What is said."""

    label: str
    text: str


class Said:
    """Another text, with the meaning of the test instance's own."""

    parameters = SaidParameters
    axes, symbol, description = "L", "ΔL said", "say something else"
    plausible, expectation = False, Expectation.UNKNOWN

    def __init__(self, parameters):
        self.name, self._text = parameters.label, parameters.text

    def supports(self, task):
        return True

    def apply(self, task, base, scene, rng):
        asked = base.instruction
        told = replace(asked, text=self._text, segments=(), meant=asked.text)
        return Perturbed(replace(base, instance_id=f"{base.instance_id}-{self.name}", instruction=told), self.name)


def said(label: str, text: str) -> dict[str, str]:
    """Return the entry of a session's perturbations that says a text."""
    return {"name": "odd_words:Said", "label": label, "text": text}
