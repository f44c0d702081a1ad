"""What an evaluation is: scenes, instructions, test instances, trials and their results.

Plain frozen dataclasses with values only: no ROS, no simulator, no file. All other
rooms of this package use these terms; ``domain`` imports none of them.
"""

from robocontrast_ros.domain.action import ActionConventions
from robocontrast_ros.domain.budget import Budget
from robocontrast_ros.domain.fault import Fault
from robocontrast_ros.domain.geometry import Pose
from robocontrast_ros.domain.instance import Proof, TestInstance
from robocontrast_ros.domain.instruction import Instruction
from robocontrast_ros.domain.perturbed import NotApplicable, Perturbed
from robocontrast_ros.domain.robot import RobotState
from robocontrast_ros.domain.scene import ObjectState, Scene, SetupMove
from robocontrast_ros.domain.trial import (
    BASE,
    METRICS,
    Delivery,
    Observed,
    Outcome,
    Progress,
    Start,
    Trial,
    TrialResult,
)

__all__ = [
    "BASE",
    "METRICS",
    "ActionConventions",
    "Budget",
    "Delivery",
    "Fault",
    "Instruction",
    "NotApplicable",
    "ObjectState",
    "Observed",
    "Outcome",
    "Perturbed",
    "Pose",
    "Progress",
    "Proof",
    "RobotState",
    "Scene",
    "SetupMove",
    "Start",
    "TestInstance",
    "Trial",
    "TrialResult",
]
