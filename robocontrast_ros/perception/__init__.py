"""Estimates of a scene from a camera's picture: poses of objects, their errors, and doubts."""

from robocontrast_ros.perception.camera import CalibratedCamera, load_camera
from robocontrast_ros.perception.estimate import ObjectEstimate, SceneEstimate
from robocontrast_ros.perception.estimator import SceneEstimator
from robocontrast_ros.perception.solids import SolidBlock, read_block
from robocontrast_ros.perception.tags import ObjectTag, Support
from robocontrast_ros.perception.verdicts import Verdict, verdict

__all__ = [
    "CalibratedCamera",
    "ObjectEstimate",
    "ObjectTag",
    "SceneEstimate",
    "SceneEstimator",
    "SolidBlock",
    "Support",
    "Verdict",
    "load_camera",
    "read_block",
    "verdict",
]
