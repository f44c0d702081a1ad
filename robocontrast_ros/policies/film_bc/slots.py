"""The blocks' poses as an array, always in the same order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.domain import Scene


def planar_state(scene: Scene, names: Sequence[str]) -> NDArray[np.float64]:
    """Return x, y [m] and yaw [rad] of each block, shape (len(names), 3).

    Raises:
        KeyError: the scene lacks one of the blocks.
    """
    poses = [scene[name].pose for name in names]
    return np.array([(*pose.position[:2], pose.yaw) for pose in poses])
