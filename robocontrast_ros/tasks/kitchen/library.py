"""The things of a kitchen: objects, fixtures, and the moving parts of fixtures as things of their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from robocontrast_ros.domain import PART, Scene, whole_of
from robocontrast_ros.objects import BACKGROUND as BACKGROUND
from robocontrast_ros.objects import Cavity, MovingPart, ObjectModel, Top
from robocontrast_ros.objects.joints import Joint, position_in
from robocontrast_ros.objects.shapes import bounds


@dataclass(frozen=True)
class Things:
    """Things of a kitchen by the names of their models; ``OBJECT/PART`` is a moving part.

    Attributes:
        models: model -> description; a moving part is described as a fixed object, in its own frame.
        parts: model of a moving part -> the part.
    """

    models: Mapping[str, ObjectModel]
    parts: Mapping[str, MovingPart] = field(default_factory=dict)

    @classmethod
    def of(cls, models: Iterable[ObjectModel]) -> Things:
        """Return the things of a library, each followed by its parts."""
        every: dict[str, ObjectModel] = {}
        parts: dict[str, MovingPart] = {}
        for model in models:
            every[model.model] = model
            for part in model.joints:
                name = f"{model.model}{PART}{part.name}"
                every[name], parts[name] = _as_object(name, model, part), part
        return cls(every, parts)

    @property
    def clear_height(self) -> float:
        """Height above which nothing stands: that of the highest top with the highest thing on it [m]."""
        models = [model for model in self.models.values() if model.category not in BACKGROUND]
        tops = max((model.top.z for model in models if model.fixed and model.top is not None), default=0.0)
        carried = max((model.size[2] for model in models if not model.fixed), default=0.0)
        return max(tops + carried, *(model.size[2] for model in models))

    @property
    def still(self) -> Mapping[str, ObjectModel]:
        """The models with parts that stay where they are, as things of their own: for scenes that settle."""
        return {name: replace(model, joints=()) for name, model in self.models.items()}

    def is_thing(self, model: str) -> bool:
        """Return whether a model is a thing or a part of one: not the table, the background or a light."""
        known = self.models.get(model)
        return known is not None and known.category not in BACKGROUND

    def joint(self, scene: Scene, name: str) -> Joint | None:
        """Return the joint of a part in a scene; None if the thing is no part."""
        part = self.parts.get(scene[name].model)
        return None if part is None else part.joint

    def position(self, scene: Scene, name: str) -> float:
        """Return the position of the joint of a part in a scene [m, or rad].

        Raises:
            KeyError: the scene lacks it, or it is no part.
        """
        return position_in(scene, name, self.parts[scene[name].model].joint)

    def parts_of(self, scene: Scene, name: str) -> tuple[str, ...]:
        """Return the names of the moving parts of a thing in a scene."""
        return tuple(other for other in scene.names if whole_of(other) == name)


def ground(place: Top | Cavity) -> float:
    """Return the height of a surface, or of a cavity's floor, in its thing's frame [m]."""
    return place.floor if isinstance(place, Cavity) else place.z


def _as_object(name: str, model: ObjectModel, part: MovingPart) -> ObjectModel:
    """Return a moving part as an object that never moves by itself; its frame is at its handle."""
    lows, highs = zip(*(bounds(p.type, p.pose, p.size) for p in part.parts), strict=True)
    size = tuple(max(h[axis] for h in highs) - min(low[axis] for low in lows) for axis in range(2))
    return ObjectModel(
        model=name,
        type=f"{model.type}{PART}{part.name}",
        nouns=part.nouns,
        category=model.category,
        colour="",
        # Its height counts from its frame up: what is below the handle is in nobody's way from above.
        size=(*size, max(h[2] for h in highs)),
        mass=part.mass,
        footprint=part.footprint,
        parts=part.parts,
        cavity=part.cavity,
        top=part.top,
        stackable=False,
        grasps=part.grasps,
        fixed=True,
        uri=f"{model.uri}{PART}{part.name}",
    )
