"""What the tests of the package's own files share."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def checkout() -> Path:
    """The folder of package.xml."""
    return Path(__file__).resolve().parents[3]
