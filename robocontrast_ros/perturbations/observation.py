"""ΔO: a filter between the sensors and the policy; words, scene and expected behaviour stay."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from pydantic import Field

from robocontrast_ros.configuration import ConfigurationError, load_plugin, record
from robocontrast_ros.domain import Aspect, Expectation, Filter, Perturbed, Scene, TestInstance
from robocontrast_ros.perturbations.instructions import ELSEWHERE
from robocontrast_ros.perturbations.protocol import NamedPerturbation
from robocontrast_ros.tasks.protocol import Answer, Task

MIDDLE = 3
"""The default severity."""


@record
class FilterParameters:
    """Parameters of an observation filter in a session."""

    severity: int | None = Field(default=None, ge=1, le=5, description="1 (least) to 5; 3 if left out")
    camera: str = Field(default="", description="the camera whose images it changes; empty for all")


class ObservationPerturbation(NamedPerturbation):
    """An observation filter between the sensors and the policy, in the scene of the test instance.

    Attributes:
        camera: the one whose images change; empty for all.
    """

    axes, elsewhere = "O", ELSEWHERE

    def __init__(self, filter_name: str, parameters: FilterParameters | None = None) -> None:
        """Take the filter's name and the session's parameters.

        Raises:
            ConfigurationError: the filter is unknown, has no such severity, or changes no camera's images.
        """
        kind = load_plugin("observation_filters", filter_name, "session", "name")
        p = parameters or FilterParameters()
        most = len(kind.levels)
        severity = min(MIDDLE, most) if p.severity is None else p.severity
        if severity > most:
            raise ConfigurationError("session", "severity", severity, f"1 to {most} for '{filter_name}'")
        if p.camera and not kind.of_images:
            raise ConfigurationError("session", "camera", p.camera, f"none, because '{filter_name}' changes no images")
        self._filter = Filter(filter_name, severity, p.camera)
        self.camera = p.camera
        self.erases = getattr(kind, "erases", ((),) * most)[severity - 1]
        self.acts_on = (*((Aspect.IMAGES,) if kind.of_images else ()), *self.erases)
        level = str(severity) if most > 1 else ""
        self.name = "_".join(filter(None, (filter_name, level, p.camera)))
        self.symbol = f"ΔO {' '.join(filter(None, (filter_name + level, p.camera)))}"
        of = f" ({p.camera})" if p.camera else ""
        self.description = f"{kind.description}{of}: {kind.levels[severity - 1]}"
        self.plausible = kind.plausible
        self.expectation = Expectation.KEEPS_SUCCESS if kind.plausible else Expectation.UNKNOWN

    def supports(self, task: Task) -> bool:
        """Return whether the task has scenes to look at, as every task has."""
        return hasattr(task, "scenes")

    def changed(self, task: Task, base: TestInstance, scene: Scene, rng: np.random.Generator) -> Answer:
        """Return the instance with the filter between the sensors and the policy."""
        return Perturbed(replace(base, observation=(*base.observation, self._filter)), self.description)
