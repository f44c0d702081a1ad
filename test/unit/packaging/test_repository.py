"""Committed files fit every machine and everybody's network."""

import re
import shutil
import subprocess

import pytest

MACHINE_PATH = re.compile(r"(?<![\w.~}-])/(?:work|root|home|Users|mnt|media)/\w")
URL_HOST = re.compile(r"https?://([\w.-]+)")
LITERATURE = {
    *("www.apache.org", "arxiv.org", "doi.org", "docs.ros.org", "design.ros2.org", "github.com", "www.w3.org"),
    "docs.oasis-open.org",  # the schema of SARIF
}

PLACEHOLDERS = {"localhost", "127.0.0.1", "gpu-host", "192.0.2.1", "evil.example", "x"}


@pytest.fixture(scope="module")
def committed(checkout):
    """Text of each committed text file."""
    if shutil.which("git") is None or not (checkout / ".git").exists():
        pytest.skip("not a git checkout")
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=checkout, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    texts = {}
    for name in filter(None, names):
        content = (checkout / name).read_bytes() if (checkout / name).is_file() else b"\0"
        if b"\0" not in content:
            texts[name] = content.decode()
    return texts


def test_no_committed_file_names_a_path_of_somebodys_machine(committed):
    named = {name: match[0] for name, text in committed.items() if (match := MACHINE_PATH.search(text))}
    assert named == {}


def test_committed_files_link_to_literature_alone_and_to_no_registry(committed):
    hosts = {
        f"{name}: {host}"
        for name, text in committed.items()
        for host in URL_HOST.findall(text)
        if host not in LITERATURE | PLACEHOLDERS
    }
    assert hosts == set()
