"""Result files: what was measured, by which command, with which versions, from which files."""

from __future__ import annotations

import ast
import hashlib
import io
import json
import re
import tokenize
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
"""The checkout."""

RESULTS = ROOT / "docs" / "results"

PACKAGES = ("daqp", "mujoco", "numpy", "robocontrast_ros", "scipy", "tokenizers", "torch")
"""What the behaviour of trials depends on."""

DECIMALS = 6
"""Of numbers in result files: a micrometre, and more than any table shows."""


@dataclass(frozen=True)
class Result:
    """What was measured.

    Attributes:
        command: what was typed.
        seed: that all random draws come from; several where several were used.
        versions: package -> version it was run with.
        inputs: file that it depends on, relative to the checkout -> SHA-256, in hex; of code, of its ``statements``.
        values: what was found; compared where the command is run again.
        measured: times and the like, which differ from run to run; never compared.
        pictures: file that was drawn, relative to the checkout -> SHA-256, in hex.
    """

    command: str
    seed: int | tuple[int, ...]
    versions: Mapping[str, str]
    inputs: Mapping[str, str]
    values: Mapping[str, Any]
    measured: Mapping[str, Any] = field(default_factory=dict)
    pictures: Mapping[str, str] = field(default_factory=dict)


def present_versions() -> dict[str, str]:
    """Return the versions of ``PACKAGES`` here, without the build's suffix (``+cpu``)."""
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package).partition("+")[0]
        except PackageNotFoundError:
            continue
    return found


def digest(file: Path) -> str:
    """Return the SHA-256 of a file, in hex."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def digests(patterns: Sequence[str], root: Path = ROOT) -> dict[str, str]:
    """Return the digest of each file that a pattern matches, by its path relative to ``root``."""
    files = sorted({file for pattern in patterns for file in root.glob(pattern) if file.is_file()})
    return {file.relative_to(root).as_posix(): _digest_of_input(file) for file in files}


def _digest_of_input(file: Path) -> str:
    """Return a file's digest; of golden digests that of the trials alone: the rest is how they were made.

    Of a policy's file it is that without the key ``vocabulary``, which reports read and no trial depends on.
    """
    if file.suffix == ".py":
        return hashlib.sha256(statements(file.read_text(encoding="utf-8")).encode()).hexdigest()
    if file.parent.name == "policies" and file.suffix == ".yaml":
        lines = file.read_bytes().splitlines(keepends=True)
        return hashlib.sha256(b"".join(line for line in lines if not line.startswith(b"vocabulary:"))).hexdigest()
    if file.parent.name != "golden":
        return digest(file)
    trials = json.loads(file.read_text(encoding="utf-8"))["trials"]
    return hashlib.sha256(json.dumps(trials).encode()).hexdigest()


def statements(source: str) -> str:
    """Return the lines of a Python file that do something: a result outlives a comment, and a module's new place.

    Without imports, comments, strings that are statements (docstrings) and blank lines.
    """
    lines = source.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    for node in ast.walk(ast.parse(source)):
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        if text or isinstance(node, (ast.Import, ast.ImportFrom)):
            lines[node.lineno - 1 : node.end_lineno] = [""] * (node.end_lineno - node.lineno + 1)
    return "\n".join(line.rstrip() for line in lines if line.strip())


def rounded(value: Any) -> Any:
    """Return a value as it will be read back from JSON, its numbers with ``DECIMALS`` decimals."""
    if isinstance(value, float):
        return round(value, DECIMALS) + 0.0  # no -0.0
    if isinstance(value, Mapping):
        return {str(key): rounded(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(one) for one in value]
    return value


def write_result(result: Result, file: Path) -> None:
    """Write a result: keys sorted, and a row of a table in a line of its own."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(_text(rounded(asdict(result))) + "\n", encoding="utf-8")


def _text(value: Any, indent: str = "") -> str:
    inner = indent + " "
    if isinstance(value, dict) and value:
        lines = [f"{inner}{json.dumps(key)}: {_text(value[key], inner)}" for key in sorted(value)]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    if isinstance(value, list) and any(isinstance(one, (list, dict)) for one in value):
        return "[\n" + ",\n".join(f"{inner}{json.dumps(one, ensure_ascii=False)}" for one in value) + f"\n{indent}]"
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def read_result(file: Path) -> Result:
    """Read a result file.

    Raises:
        FileNotFoundError: there is none.
    """
    content = json.loads(file.read_text(encoding="utf-8"))
    seed = content.pop("seed")
    return Result(seed=tuple(seed) if isinstance(seed, list) else seed, **content)


def locked_versions(lock: str) -> dict[str, set[str]]:
    """Return the versions that a lock file allows: package -> one, or one for each Python."""
    allowed: dict[str, set[str]] = {}
    for name, number in re.findall(r"^([\w.-]+)==([^\s;\\]+)", lock, flags=re.MULTILINE):
        allowed.setdefault(name.lower(), set()).add(number)
    return allowed


def staleness(
    result: Result, command: str, inputs: Mapping[str, str], locked: Mapping[str, set[str]], root: Path = ROOT
) -> str:
    """Return in words why a result is no longer that of its command; empty where it is.

    Args:
        result: the result.
        command: that makes it now.
        inputs: digests of the files that it depends on now.
        locked: versions that the lock file allows.
        root: of the pictures' paths.
    """
    if result.command != command:
        return f"was made by '{result.command}', and now is made by '{command}'"
    for file in sorted({*result.inputs, *inputs}):
        if result.inputs.get(file) != inputs.get(file):
            happened = "came" if file not in result.inputs else "changed" if file in inputs else "went"
            return f"was made before {file} {happened}"
    for package, number in result.versions.items():
        allowed = locked.get(package)
        if allowed and number not in allowed:
            return f"was made with {package} {number}; requirements.lock has {', '.join(sorted(allowed))}"
    for picture, known in result.pictures.items():
        file = root / picture
        if not file.is_file() or digest(file) != known:
            return f"is of another {picture} than the one that is there"
    return ""
