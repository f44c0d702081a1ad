"""Whose fault a failure was, and so whether its trial counts as failed or is void."""

from __future__ import annotations

from enum import IntEnum


class Fault(IntEnum):
    """What went wrong, by whose fault. The values are those of ``Fault.msg``.

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
    def of_policy(self) -> bool:
        """Whether it is the policy's."""
        return 100 <= self < 200

    @property
    def voids(self) -> bool:
        """Whether the trial is void: it says nothing about the policy."""
        return self >= 200
