"""Keep in test/costs.csv what tests take of processors, and print the dearest.

    .venv/bin/pytest --costs build/costs.json                 # all tests, or those of some files
    .venv/bin/python -m scripts.slowest build/costs.json

The table has a row for each file, and one with a reason for each test that takes more than 5 s: in `make test`, and
beside it in `make test-long`. Rows of files that were not run stay as they are. Who adds such a test writes its reason
down.
"""

from __future__ import annotations

import csv
import json
import sys
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "test" / "costs.csv"
DEAR = 5.0
"""A test that takes more needs a reason [s]."""
SHOWN = 20
"""How many of the dearest are printed."""


@dataclass(frozen=True)
class Cost:
    """What a file, or a test with all its cases, takes of processors [s]; None where it was not measured.

    Attributes:
        quick: in `make test`.
        long: in `make test-long`, of what only that runs.
        reason: why it is worth it; empty for a file.
    """

    quick: float | None = None
    long: float | None = None
    reason: str = ""

    @property
    def seconds(self) -> float:
        """Both together."""
        return (self.quick or 0.0) + (self.long or 0.0)

    def measured_again(self, found: Cost) -> Cost:
        """Return the cost with what was measured now."""
        return Cost(
            self.quick if found.quick is None else found.quick,
            self.long if found.long is None else found.long,
            self.reason,
        )


def read_table(table: Path = TABLE) -> dict[str, Cost]:
    """Return the table: file, or file::test, -> what it takes."""
    with table.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    numbers = [{key: float(row[key]) if row[key] else None for key in ("quick", "long")} for row in rows]
    return {row["test"]: Cost(**found, reason=row["reason"]) for row, found in zip(rows, numbers, strict=True)}


def write_table(costs: dict[str, Cost], table: Path = TABLE) -> None:
    """Write the table."""
    with table.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(("test", "quick", "long", "reason"))
        for name, cost in sorted(costs.items()):
            numbers = ("" if seconds is None else f"{seconds:.1f}" for seconds in (cost.quick, cost.long))
            writer.writerow((name, *numbers, cost.reason))


def summed(measured: Iterable[tuple[str, bool, float]]) -> dict[str, Cost]:
    """Return what each file, and each test with all its cases, took, from the cases: id, whether it is long, time."""
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for node, is_long, seconds in measured:
        test, kind = node.partition("[")[0], "long" if is_long else "quick"
        for name in (test, test.partition("::")[0]):
            found[name][kind] = found[name].get(kind, 0.0) + seconds
    return {name: Cost(**sums) for name, sums in found.items()}


def merged(known: dict[str, Cost], found: dict[str, Cost], files: set[str]) -> dict[str, Cost]:
    """Return the table with what was measured now: of every file that is there, and of the tests that are dear."""
    names = {name for name in {*known, *found} if name.partition("::")[0] in files} | files
    costs = {name: known.get(name, Cost()).measured_again(found.get(name, Cost())) for name in names}
    return {name: cost for name, cost in costs.items() if "::" not in name or cost.seconds > DEAR}


def files_of_tests() -> set[str]:
    """Return every file of tests."""
    return {file.relative_to(ROOT).as_posix() for file in (ROOT / "test").rglob("test_*.py")}


def printed(costs: dict[str, Cost]) -> str:
    """Return the rooms and the dearest tests, in words."""
    rooms: dict[str, list[Cost]] = defaultdict(list)
    for name, cost in sorted(costs.items()):
        if "::" not in name:
            rooms[str(Path(name).parent)].append(cost)
    lines = ["make test  make test-long  room [s of processors]"]
    rooms["together"] = [cost for room in rooms.values() for cost in room]
    for room, own in rooms.items():
        lines.append(f"{sum(c.quick or 0.0 for c in own):9.0f} {sum(c.long or 0.0 for c in own):15.0f}  {room}")
    if missing := sum(cost.quick is cost.long is None for cost in rooms["together"]):
        lines.append(f"{missing} files were not measured yet; both sums lack them")
    lines.append("the dearest")
    dearest = sorted((name for name in costs if "::" in name), key=lambda name: -costs[name].seconds)
    lines += [f"{costs[name].quick or 0.0:9.0f} {costs[name].long or 0.0:15.0f}  {name}" for name in dearest[:SHOWN]]
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Run the command line."""
    if len(arguments) > 1:
        print(__doc__, file=sys.stderr)
        return 2
    costs = read_table()
    if arguments:
        measured = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
        costs = merged(costs, summed(measured), files_of_tests())
        write_table(costs)
    print(printed(costs))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
