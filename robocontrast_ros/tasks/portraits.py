"""Pictures of an instruction's referents: the model of a thing rendered alone (seed 004, section III)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from robocontrast_ros.configuration import resolve_uri
from robocontrast_ros.domain import Crop, Scene, whole_of
from robocontrast_ros.objects.library import model_of_uri

if TYPE_CHECKING:
    import mujoco

STEP = 5
"""Step of the yaws [degrees]; they are rounded so that few pictures are drawn."""


class ModelPortraits:
    """The ``protocol.Portraits`` of a task whose instructions refer to things of its scenes, by name or by model."""

    def __init__(self, models: Mapping[str, str]) -> None:
        """Take the URI of each model, as ``Scenes.models``."""
        self._models = models

    def portrait(self, entity: str, scene: Scene) -> Crop | None:
        """Return a picture of a thing alone, at its yaw in the scene; of several alike, of the first.

        The picture of a moving part is that of its object.

        Raises:
            RenderingUnavailable: this machine cannot draw.
        """
        found = next((item for item in scene if entity in (item.name, item.model)), None)
        if found is not None and (whole := whole_of(found.name)):
            found = scene[whole]
        if found is None:
            return None
        return _drawn(self._models[found.model], round(math.degrees(found.pose.yaw) / STEP) * STEP % 360)


@lru_cache(512)
def _drawn(uri: str, degrees: int) -> Crop:
    # MuJoCo takes long to import, and most sessions show no pictures.
    from robocontrast_ros.images.portraits import portrait

    return Crop.of(portrait(_spec(uri), math.radians(degrees)))


def _spec(uri: str) -> mujoco.MjSpec:
    """Return the model in an MJCF file, or the one that ``FILE.yaml#VARIANT`` names."""
    import mujoco

    if "#" in uri:
        from robocontrast_ros.objects.mjcf import object_spec

        return object_spec(model_of_uri(uri))
    return mujoco.MjSpec.from_file(str(resolve_uri(uri)))
