"""docs/extending.md is a package: it is built, installed, tested and evaluated as somebody else's would be."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from zipfile import ZipFile

import pytest

BLOCK = re.compile(r"^```\w+\n# (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^\| an? (\w+) \| (`[^|]+`) \| .* \| `(.+?)` \|$", re.MULTILINE)


@pytest.fixture(scope="module")
def page(checkout):
    return (checkout / "docs" / "extending.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def project(page, tmp_path_factory):
    """The folder of the project, as a reader of the page has it."""
    folder = tmp_path_factory.mktemp("own_lab_project")
    for name, text in BLOCK.findall(page):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def environment(project, tmp_path_factory):
    """An environment in which the package is installed, from its wheel."""
    built, site = tmp_path_factory.mktemp("built"), tmp_path_factory.mktemp("site")
    program = f"from setuptools.build_meta import build_wheel; build_wheel({str(built)!r})"
    subprocess.run([sys.executable, "-c", program], cwd=project, check=True, capture_output=True)
    # Installing a wheel of pure Python is unpacking it.
    (wheel,) = built.glob("*.whl")
    ZipFile(wheel).extractall(site)
    return {**os.environ, "PYTHONPATH": str(site)}, site


def run(environment, folder, *command):
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_tests_of_the_page_pass_where_it_is_installed(environment, project, tmp_path):
    variables, site = environment
    # Elsewhere, so that what is imported is what was installed.
    tests = tmp_path / "test_own_lab.py"
    tests.write_text((project / tests.name).read_text())
    said = run(variables, tmp_path, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rA", tests.name)
    for contract in re.findall(r"^class (Test\w+)\(", tests.read_text(), re.MULTILINE):
        assert f"PASSED {tests.name}::{contract}::" in said
    assert " failed" not in said
