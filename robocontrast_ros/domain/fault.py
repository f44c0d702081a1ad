"""The party at fault for a failure, which decides whether its trial counts as failed or is void."""

from __future__ import annotations

from enum import IntEnum


class Fault(IntEnum):
    """The cause of a failure, and so the party at fault. The values are those of ``Fault.msg``.

    Codes of 100 to 199 are the policy's: the trial counts as failed. Codes of 200 and more are the
    bench's: the trial is void and counts nowhere.
    """

    NONE = 0
    POLICY_RAISED = 100
    POLICY_NOT_FINITE = 101
    POLICY_WRONG_SHAPE = 102
    POLICY_TIMEOUT = 103
    POLICY_INVALID_ACTION = 104
    POLICY_UNREADABLE = 105
    POLICY_UNSAFE = 106
    POLICY_SERVER_LOST = 200
    SIMULATOR_LOST = 201
    SENSOR_LOST = 202
    SETUP_FAILED = 203
    SCORER_LOST = 204
    RECORDER_LOST = 205
    ROBOT_NOT_READY = 206
    ABORTED = 207
    PERTURBATION_NOT_DELIVERED = 208
    JUDGE_LOST = 209
    PREMISE_FALSE = 210
    INSTRUCTION_NOT_READ = 211
    ROBOT_STOPPED = 212
    ROBOT_FAULT = 213
    VOIDED = 214
    SKIPPED = 215

    @property
    def words(self) -> str:
        """Text for the person at the robot, in one sentence; empty for ``NONE``."""
        return WORDS.get(self, "")

    @property
    def of_policy(self) -> bool:
        """Whether it is the policy's fault."""
        return 100 <= self < 200

    @property
    def voids(self) -> bool:
        """Whether the trial is void: it shows nothing about the policy."""
        return self >= 200


WORDS = {
    Fault.POLICY_RAISED: "The policy failed.",
    Fault.POLICY_NOT_FINITE: "The policy failed.",
    Fault.POLICY_WRONG_SHAPE: "The policy failed.",
    Fault.POLICY_TIMEOUT: "The policy answered too late.",
    Fault.POLICY_INVALID_ACTION: "The policy failed.",
    Fault.POLICY_UNREADABLE: "The policy failed.",
    Fault.POLICY_UNSAFE: "The policy wanted more than the robot may do.",
    Fault.POLICY_SERVER_LOST: "The computer of the policy did not answer.",
    Fault.SIMULATOR_LOST: "The simulator did not answer.",
    Fault.SENSOR_LOST: "A camera or a sensor was silent.",
    Fault.SETUP_FAILED: "The objects did not stand as they should.",
    Fault.SCORER_LOST: "A fault of the session's computer.",
    Fault.RECORDER_LOST: "The trial was not recorded whole.",
    Fault.ROBOT_NOT_READY: "The robot did not reach its start.",
    Fault.ABORTED: "Somebody stopped the trial.",
    Fault.PERTURBATION_NOT_DELIVERED: "A fault of the session's computer.",
    Fault.JUDGE_LOST: "Nobody judged the trial.",
    Fault.PREMISE_FALSE: "What the robot would be told does not fit what stands there.",
    Fault.INSTRUCTION_NOT_READ: "The policy cannot take in what it would be told.",
    Fault.ROBOT_STOPPED: "The robot was stopped.",
    Fault.ROBOT_FAULT: "A fault of the robot or of its computer.",
    Fault.VOIDED: "You said that it is void.",
    Fault.SKIPPED: "You left it out.",
}
"""Text of each fault for the person at the robot; the detail of a fault is for an engineer."""
