"""The browser of the tests: Debian's chromium, which `make test` installs where it may."""

from __future__ import annotations

import importlib.util
import shutil

CHROMIUM = shutil.which("chromium") or ""
"""Path of the browser; empty where there is none."""


def chromium_missing() -> str:
    """Return why pages cannot be looked at here, in words; empty where they can."""
    if importlib.util.find_spec("playwright") is None:
        return "there is no playwright in this environment"
    return "" if CHROMIUM else "there is no chromium on this machine; on Debian: apt-get install chromium"
