"""What holds for every test without a graph."""

from __future__ import annotations

import pytest

from robocontrast_ros.system.starting import FORK_SERVER, NONE


@pytest.fixture(autouse=True)
def no_fork_server(monkeypatch):
    """Have a command that is called in the process of its test import nothing for a graph that it does not start."""
    monkeypatch.setenv(FORK_SERVER, NONE)


@pytest.fixture(scope="module")
def figures_undrawn():
    """Have figures made in a moment, for tests that look at none: to draw those of a report takes seconds."""
    from matplotlib.figure import Figure
    from undrawn import undrawn

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Figure, "savefig", undrawn)
        yield
