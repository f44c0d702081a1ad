"""Make results and put them into the documents.

python -m scripts.documents make [--long] [NAME …] [--small] [--anew]     run stale commands, then render
python -m scripts.documents render                                        put results into the documents
python -m scripts.documents check                                         list what is stale; exit code 1
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import sys
from pathlib import Path

from robocontrast_ros.configuration import ConfigurationError
from scripts.documents import rendering, tables
from scripts.documents.making import MakingError
from scripts.documents.recipes import RECIPES, Pace, Recipe
from scripts.documents.results import (
    RESULTS,
    ROOT,
    Result,
    digests,
    locked_versions,
    present_versions,
    read_result,
    staleness,
    write_result,
)

WORK = ROOT / "build" / "docs"
"""Where commands are run; an interrupted one continues there."""


def make(recipe: Recipe, folder: Path, small: bool, anew: bool) -> bool:
    """Run a recipe's command where its result is not up to date; return whether it was run.

    Args:
        recipe: what to make.
        folder: of the result files; pictures are drawn in the checkout only where it is ``RESULTS``.
        small: whether to try it on a few trials.
        anew: whether to run it in any case.
    """
    command = recipe.small_command if small else recipe.command
    present = digests(recipe.inputs)
    state = {"command": command, "code": _code(), "inputs": present}
    # A try does not throw away what a long command has done.
    work, file = WORK / ("small" if small else "whole") / recipe.name, folder / f"{recipe.name}.json"
    begun = work / "begun.json"
    if begun.is_file() and json.loads(begun.read_text(encoding="utf-8")) == state and not anew:
        if (work / "done").exists() and file.is_file() and not _stale(recipe, file, command):
            return False
    else:
        shutil.rmtree(work, ignore_errors=True)
    if (work / "done").exists():
        shutil.rmtree(work)
    work.mkdir(parents=True, exist_ok=True)
    begun.write_text(json.dumps(state), encoding="utf-8")
    print(f"{recipe.name}: {command}", flush=True)
    made = recipe.make(command, work)
    for name, content in made.files.items():
        target = ROOT / name if folder == RESULTS else folder / Path(name).name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    kept = {name: hashlib.sha256(content).hexdigest() for name, content in made.files.items()}
    result = Result(command, made.seed, present_versions(), present, made.values, made.measured, kept)
    write_result(result, file)
    (work / "done").touch()
    return True


def _code() -> str:
    """Return a digest of the code that is run: only the same code continues an interrupted command."""
    found = digests(("robocontrast_ros/**/*.py", "benchmark/*.py", "scripts/documents/making.py"))
    return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()


def _stale(recipe: Recipe, file: Path, command: str | None = None) -> str:
    if not file.is_file():
        return "was never made"
    locked = locked_versions((ROOT / "requirements.lock").read_text(encoding="utf-8"))
    return staleness(read_result(file), command or recipe.command, digests(recipe.inputs), locked)


def stale_results() -> list[str]:
    """Return a line for each result that its command would not make now."""
    whys = {recipe: _stale(recipe, RESULTS / f"{recipe.name}.json") for recipe in RECIPES}
    return [f"docs/results/{each.name}.json {why}; {cure(each)} makes it again" for each, why in whys.items() if why]


def outdated_documents() -> list[str]:
    """Return a line for each document that differs from the results."""
    return [
        line
        for file in rendering.documents()
        for line in outdated(file.read_text(encoding="utf-8"), file.relative_to(ROOT).as_posix())
    ]


def outdated(text: str, name: str) -> list[str]:
    """Return a line that names the first line of a document that is not what the results say; nothing where all are."""
    rendered = rendering.render(text, name)
    if rendered == text:
        return []
    pairs = zip(text.splitlines(), rendered.splitlines(), strict=False)
    number, line = next(((n, new) for n, (old, new) in enumerate(pairs, 1) if old != new), (1, ""))
    return [f"{name}, line {number}: the results say '{line.strip()[:100]}'; make docs writes it"]


def cure(recipe: Recipe) -> str:
    """Return what to type to make a result again."""
    return "make docs-all" if recipe.pace is Pace.LONG else "make docs"


def render(folder: Path = RESULTS) -> None:
    """Put the results into all documents; where they are not the committed ones, into copies beside them."""
    for file in rendering.documents():
        name, text = file.relative_to(ROOT).as_posix(), file.read_text(encoding="utf-8")
        rendered = rendering.render(text, name)
        target = file if folder == RESULTS else folder / name
        if rendered != text or target != file:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(rendered, encoding="utf-8")
            print(f"{target} was written")


def main() -> int:
    """Run the command line; the exit code is 1 where something is stale or cannot be made."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("make", "render", "check"))
    parser.add_argument("names", nargs="*", help="results; those of under five minutes when left out")
    parser.add_argument("--long", action="store_true", help="those that take longer, too")
    parser.add_argument("--small", action="store_true", help="try it on a few trials")
    parser.add_argument("--anew", action="store_true", help="run also what is up to date")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the result files")
    asked = parser.parse_args()
    unknown = set(asked.names) - {recipe.name for recipe in RECIPES}
    if unknown:
        parser.error(f"no results {', '.join(sorted(unknown))}; there are {', '.join(r.name for r in RECIPES)}")
    tables.Source.folder = asked.results.resolve()
    try:
        if asked.what == "make":
            for recipe in RECIPES:
                chosen = recipe.name in asked.names if asked.names else asked.long or recipe.pace < Pace.LONG
                if chosen and not make(recipe, tables.Source.folder, asked.small, asked.anew):
                    print(f"{recipe.name}: is up to date", flush=True)
        if asked.what in ("make", "render"):
            render(tables.Source.folder)
        lines = [*stale_results(), *outdated_documents()] if asked.what == "check" else []
    except (MakingError, ConfigurationError, rendering.RenderingError) as error:
        print(f"docs: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("docs: interrupted; the same command continues", file=sys.stderr)
        return 130
    print("\n".join(lines))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
