"""The terms of an evaluation: scenes, instructions, test instances, trials and their results.

Plain frozen dataclasses with values only: no ROS, no simulator, no file. All other
rooms of this package use these terms; ``domain`` imports none of them.
"""

from robocontrast_ros.domain.action import ActionConventions
from robocontrast_ros.domain.budget import Budget
from robocontrast_ros.domain.fault import Fault
from robocontrast_ros.domain.geometry import Pose
from robocontrast_ros.domain.instance import Filter, Proof, TestInstance, choice, choices
from robocontrast_ros.domain.instruction import Crop, Instruction, Segment, SegmentKind, plain_text, segments_digest
from robocontrast_ros.domain.intervention import Intervention
from robocontrast_ros.domain.perturbed import AXES, Aspect, Expectation, NotApplicable, PerturbationSpec, Perturbed
from robocontrast_ros.domain.robot import JointTracking, RobotState
from robocontrast_ros.domain.scene import PART, ObjectState, Scene, SetupMove, whole_of
from robocontrast_ros.domain.scores import ScoreSpec, find_spec
from robocontrast_ros.domain.stamps import NANOSECONDS, nanoseconds, seconds, stamp_text
from robocontrast_ros.domain.trial import (
    BASE,
    Delivery,
    EpisodeRecord,
    Judgement,
    Observed,
    Outcome,
    Progress,
    Start,
    Trial,
    TrialResult,
)

__all__ = [
    "AXES",
    "BASE",
    "NANOSECONDS",
    "PART",
    "ActionConventions",
    "Aspect",
    "Budget",
    "Crop",
    "Delivery",
    "EpisodeRecord",
    "Expectation",
    "Fault",
    "Filter",
    "Instruction",
    "Intervention",
    "JointTracking",
    "Judgement",
    "NotApplicable",
    "ObjectState",
    "Observed",
    "Outcome",
    "PerturbationSpec",
    "Perturbed",
    "Pose",
    "Progress",
    "Proof",
    "RobotState",
    "Scene",
    "ScoreSpec",
    "Segment",
    "SegmentKind",
    "SetupMove",
    "Start",
    "TestInstance",
    "Trial",
    "TrialResult",
    "choice",
    "choices",
    "find_spec",
    "nanoseconds",
    "plain_text",
    "seconds",
    "segments_digest",
    "stamp_text",
    "whole_of",
]
