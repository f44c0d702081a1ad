"""Policy servers for tests, each a process of its own, and the parameter files of policies that use them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from robocontrast_ros.configuration import read_yaml, resolve_uri

SUPPORT = Path(__file__).resolve().parent


@contextmanager
def server(script: str, *arguments: object) -> Iterator[int]:
    """Run a server of this folder and give its port; it ends with the context."""
    command = [sys.executable, str(SUPPORT / script), *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()
            process.wait()


def parameter_file(shipped: str, folder: Path, **changes: object) -> Path:
    """Write a shipped policy's parameter file with other values; None leaves a key out."""
    content = read_yaml(resolve_uri(f"package://robocontrast_ros/config/policies/{shipped}.yaml"))
    content = {key: value for key, value in {**content, **changes}.items() if value is not None}
    path = folder / f"{shipped}.yaml"
    path.write_text(yaml.safe_dump(content))
    return path
