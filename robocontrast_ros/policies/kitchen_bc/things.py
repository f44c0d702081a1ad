"""The things of a scene as the network sees them: every object and every moving part, with its joint's position."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor, nn

from robocontrast_ros.domain import PART, Pose, Scene
from robocontrast_ros.objects import Grasp, MovingPart, ObjectModel, tool_pose
from robocontrast_ros.objects.joints import Joint, position_in
from robocontrast_ros.policies.networks import Batch

CENTRE = (0.5, 0.0, 0.0)
"""The origin of positions in the network, world frame [m]."""

UNIT = 0.1
"""Unit of lengths in the network [m]."""

Numbers = tuple[float, ...]


@dataclass(frozen=True)
class Catalogue:
    """The models that the network was trained with.

    Attributes:
        names: of the models; a slot's model is an index into them. ``OBJECT/PART`` is a moving part.
        types: type of each.
        colours: colour of each; empty if it has none.
        sizes: of the box around each, along x, y and z [m].
        fixed: whether each is a fixture or a part of one.
        grasps: of each, one after the other, poses of the tool in its frame: x, y, z [m] and a quaternion x, y, z, w.
        joints: of each the numbers of its joint, see ``_joint_numbers``; none for what is no part.
        backgrounds: names of tables, backgrounds and lights, which are left out of the things.
    """

    names: tuple[str, ...]
    types: tuple[str, ...]
    colours: tuple[str, ...]
    sizes: tuple[Numbers, ...]
    fixed: tuple[bool, ...]
    grasps: tuple[Numbers, ...]
    joints: tuple[Numbers, ...]
    backgrounds: tuple[str, ...] = ()

    @classmethod
    def of(cls, models: Iterable[ObjectModel], parts: dict[str, MovingPart], backgrounds: Iterable[str]) -> Catalogue:
        """Return the catalogue of some models, in their order.

        Args:
            models: of the things.
            parts: model of a moving part -> the part.
            backgrounds: models that are no things.
        """
        known = list(models)
        return cls(
            tuple(m.model for m in known),
            tuple(m.type for m in known),
            tuple(m.colour for m in known),
            tuple(tuple(map(float, m.size)) for m in known),
            tuple(bool(m.fixed) for m in known),
            tuple(_grasp_numbers(m.grasps) for m in known),
            tuple(_joint_numbers(parts[m.model].joint) if m.model in parts else () for m in known),
            tuple(backgrounds),
        )

    @cached_property
    def index(self) -> dict[str, int]:
        """Number of each model."""
        return {name: number for number, name in enumerate(self.names)}

    def joint(self, model: str) -> Joint | None:
        """Return the joint of a moving part; None for another thing."""
        numbers = self.joints[self.index[model]]
        return _joint(numbers) if numbers else None


def _grasp_numbers(grasps: Iterable[Grasp]) -> Numbers:
    poses = [tool_pose(Pose(), grasp, turn) for grasp in grasps for turn in range(grasp.turns)]
    return tuple(number for pose in poses for number in (*pose.position, *pose.orientation))


def _joint_numbers(joint: Joint) -> Numbers:
    """Return 1 for a hinge or 0 for a slide, axis, pose at position 0, a point of the axis, and the range."""
    home = joint.home
    hinge = float(joint.type == "hinge")
    return (hinge, *joint.axis, *home.position, *home.orientation, *joint.through, *joint.range)


def _joint(numbers: Numbers) -> Joint:
    hinge, values = numbers[0], tuple(numbers[1:])
    home = Pose(values[3:6], values[6:10])
    return Joint("hinge" if hinge else "slide", values[:3], home, values[10:13], (values[13], values[14]))


@dataclass(frozen=True)
class Things(Batch):
    """The things of n scenes, at most s in each.

    Attributes:
        models: index into the catalogue, -1 for no thing, shape (n, s).
        poses: x, y, z [m] and a quaternion x, y, z, w in the world, shape (n, s, 7).
        joints: position of a part's joint [m, or rad], 0 for what is no part, shape (n, s).
    """

    models: Tensor
    poses: Tensor
    joints: Tensor

    @property
    def there(self) -> Tensor:
        """Whether there is a thing, shape (n, s)."""
        return self.models >= 0


def things_of(scene: Scene, catalogue: Catalogue, backgrounds: frozenset[str]) -> Things:
    """Return a scene's things, a batch of one, in the scene's order.

    Raises:
        ValueError: the scene has none, or one whose model is not in the catalogue.
    """
    left_out = backgrounds.union(catalogue.backgrounds)
    found = [state for state in scene if state.model not in left_out]
    unknown = [state.model for state in found if state.model not in catalogue.index]
    if unknown or not found:
        named = f"the scene has {', '.join(unknown)}" if unknown else "the scene has none"
        raise ValueError(f"it knows the {len(catalogue.names)} things that it was trained with; {named}")
    joints = []
    for state in found:
        joint = catalogue.joint(state.model) if PART in state.model else None
        joints.append(0.0 if joint is None else position_in(scene, state.name, joint))
    poses = [(*state.pose.position, *state.pose.orientation) for state in found]
    return Things(
        torch.tensor([[catalogue.index[state.model] for state in found]]),
        torch.tensor([poses], dtype=torch.float64),
        torch.tensor([joints], dtype=torch.float64),
    )


class Codes(nn.Module):
    """Codes of models: learned ones of type and colour, size, and whether it is fixed."""

    sizes: Tensor
    types: Tensor
    colours: Tensor
    fixed: Tensor
    grasps: Tensor
    graspable: Tensor

    def __init__(self, catalogue: Catalogue, kind: int, colour: int) -> None:
        """Make codes of these lengths with random numbers."""
        super().__init__()
        for name, values in (("types", catalogue.types), ("colours", catalogue.colours)):
            different = {value: index for index, value in enumerate(dict.fromkeys(values))}
            # The last row is that of no thing, whose model is -1.
            indices = [*(different[value] for value in values), len(different)]
            self.register_buffer(name, torch.tensor(indices), persistent=False)
        sizes = torch.tensor([*catalogue.sizes, (0.0, 0.0, 0.0)])
        self.register_buffer("sizes", sizes, persistent=False)
        self.register_buffer("fixed", torch.tensor([*map(float, catalogue.fixed), 0.0]), persistent=False)
        most = max(map(len, catalogue.grasps)) // 7
        grasps = torch.zeros(len(sizes), most, 7)
        grasps[..., 6] = 1.0
        graspable = torch.zeros(len(sizes), most, dtype=torch.bool)
        for index, numbers in enumerate(catalogue.grasps):
            known = torch.tensor(numbers).view(-1, 7)
            grasps[index, : len(known)], graspable[index, : len(known)] = known, True
        self.register_buffer("grasps", grasps, persistent=False)
        self.register_buffer("graspable", graspable, persistent=False)
        self.kind = nn.Embedding(int(self.types.max()) + 1, kind)
        self.colour = nn.Embedding(int(self.colours.max()) + 1, colour)
        self.size = kind + colour + 4

    def forward(self, models: Tensor) -> Tensor:
        """Return the code of each model, shape (..., size), for indices of shape (...)."""
        parts = [self.kind(self.types[models]), self.colour(self.colours[models])]
        return torch.cat([*parts, self.sizes[models] / UNIT, self.fixed[models][..., None]], -1)
