"""The embedded world: MuJoCo physics, cameras and contacts, without ROS."""

from robocontrast_ros.worlds.mujoco.entities import (
    Bounds,
    Category,
    EntityState,
    InvalidModel,
    InvalidName,
    NameNotUnique,
    NotMovable,
    ResetScope,
    ResourceNotFound,
    SimulationDiverged,
    Twist,
    UnknownEntity,
)
from robocontrast_ros.worlds.mujoco.rendering import Camera, CameraInfo, RenderingUnavailable
from robocontrast_ros.worlds.mujoco.sensors import Contacts, JointState, Odometry, Sensor, Transform
from robocontrast_ros.worlds.mujoco.world import World

__all__ = [
    "Bounds",
    "Camera",
    "CameraInfo",
    "Category",
    "Contacts",
    "EntityState",
    "InvalidModel",
    "InvalidName",
    "JointState",
    "NameNotUnique",
    "NotMovable",
    "Odometry",
    "RenderingUnavailable",
    "ResetScope",
    "ResourceNotFound",
    "Sensor",
    "SimulationDiverged",
    "Transform",
    "Twist",
    "UnknownEntity",
    "World",
]
