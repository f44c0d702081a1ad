"""Counts on the command line, such as `17/20`."""

from __future__ import annotations

import re

from robocontrast_ros.analysis.foreign.outcomes import Outcome, ResultSet
from robocontrast_ros.configuration import ConfigurationError

COUNTS = re.compile(r"(\d{1,7})/(\d{1,7})")
MOST = 100_000
"""Most trials; a longer list would only take memory."""


class Counts:
    """Successes of trials that are independent and have no pairs."""

    description = "counts such as 17/20: 17 successes of 20 trials"

    def matches(self, source: str) -> bool:
        """Return whether it is two whole numbers."""
        return COUNTS.fullmatch(source) is not None

    def read(self, source: str) -> ResultSet:
        """Return that many trials without task and instance."""
        found = COUNTS.fullmatch(source)
        successes, trials = map(int, found.groups()) if found else (1, 0)
        if successes > trials or trials > MOST:
            raise ConfigurationError(
                "command line", "RUNS", source, f"successes/trials, 0 to the number of trials, at most {MOST}"
            )
        return ResultSet((Outcome(success=True),) * successes + (Outcome(success=False),) * (trials - successes))
