"""Objects on a table: their looks, grasps, and places in and on them."""

from robocontrast_ros.objects.library import (
    BACKGROUND,
    SHIPPED,
    find_model,
    fixed_models,
    library_of,
    load_library,
    load_object,
    model_of_uri,
    moving_parts,
    with_parts,
)
from robocontrast_ros.objects.model import (
    FINGER_BEYOND,
    Cavity,
    Grasp,
    MovingPart,
    ObjectModel,
    Polygon,
    Primitive,
    Top,
    tool_pose,
)

__all__ = [
    "BACKGROUND",
    "FINGER_BEYOND",
    "SHIPPED",
    "Cavity",
    "Grasp",
    "MovingPart",
    "ObjectModel",
    "Polygon",
    "Primitive",
    "Top",
    "find_model",
    "fixed_models",
    "library_of",
    "load_library",
    "load_object",
    "model_of_uri",
    "moving_parts",
    "tool_pose",
    "with_parts",
]
