"""The plan of a session as it is locked before the first trial."""

from __future__ import annotations

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.runs.locked_plan import LockedPlan, LockedTrial
from robocontrast_ros.runs.versions import session_versions
from robocontrast_ros.sessions.plan import Plan
from robocontrast_ros.sessions.resolving import ResolvedSession


def lock(session: ResolvedSession, plan: Plan) -> LockedPlan:
    """Return the plan of a session with its hash.

    Args:
        session: the session.
        plan: its trials, if each succeeds.

    Raises:
        ConfigurationError: the session is blind.
    """
    if session.blind_files:
        raise ConfigurationError(
            str(session.source), "blind", list(session.parameters.blind.policies), "one `policy` in a plan to be locked"
        )
    return LockedPlan(
        session=session.parameters.name,
        seed=session.parameters.seed,
        software=session_versions(),
        parameters=session.snapshot(),
        trials=tuple(LockedTrial.of(planned.trial) for planned in plan.within_budget),
    ).locked()
