"""The profiles of the problems of a run: what each asks of a policy, as it was when the session was started."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from robocontrast_ros.configuration import load_record, record
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.tasks.protocol import Profile


@record
class ProfilesFile:
    """The file parameters/problems.yaml of a run."""

    problems: dict[str, Profile] = Field(description="name of a problem -> what it asks of a policy")


def profiles_of(run: RunFolder) -> Mapping[str, Profile]:
    """Return problem -> profile of a run; empty if its task had none.

    Raises:
        ConfigurationError: the run's file of them cannot be read.
    """
    return load_record(ProfilesFile, run.profiles).problems if run.profiles.is_file() else {}
