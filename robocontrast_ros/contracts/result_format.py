"""The contract of formats of result files."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from robocontrast_ros.contracts.checking import has_all, promise


class ResultFormatContract:
    """Inherit, return a format from ``make``, and write a small result with ``write``."""

    def make(self) -> Any:
        """Return the format."""
        raise NotImplementedError

    def write(self, folder: Path) -> str:
        """Write a result with some trials into an empty folder; return the word of the command line that names it."""
        raise NotImplementedError

    def test_it_says_what_it_reads(self) -> None:
        """It has the members of its Protocol, and a description."""
        made = self.make()
        has_all("result_formats", made)
        described = isinstance(made.description, str) and made.description and "\n" not in made.description
        promise(described, f"`description` is a line of text; got {made.description!r}")

    def test_it_matches_its_own_results_alone(self) -> None:
        """What it does not know is left to the other formats, without an error."""
        with TemporaryDirectory() as place:
            promise(self.make().matches(self.write(Path(place))) is True, "`matches` returns True for its own result")
        with TemporaryDirectory() as place:
            other = Path(place) / "other.odd"
            other.write_text("nothing that it knows\n", encoding="utf-8")
            for source in (str(other), place, f"{place}/nowhere", ""):
                promise(
                    self.make().matches(source) is False,
                    f"`matches` returns False for {source!r}, which it cannot read",
                )

    def test_its_trials_are_records_that_are_read_again_alike(self) -> None:
        """Every trial has a success, a score between 0 and 1, or the reason why it has neither."""
        with TemporaryDirectory() as place:
            source = self.write(Path(place))
            found, again = self.make().read(source), self.make().read(source)
        promise(found == again, "a source that is read twice gives the same trials")
        promise(found.outcomes, "the result that `write` writes has trials")
        for one in found.outcomes:
            promise(one.success in (True, False, None), f"`success` is True, False or None; got {one.success!r}")
            promise(one.score is None or 0.0 <= one.score <= 1.0, f"`score` is from 0 to 1, or None; got {one.score!r}")
            known = one.success is not None or one.score is not None or one.void_reason
            promise(known, f"a trial without success and score has a `void_reason`; got {one!r}")
            for name in ("task", "instance", "void_reason"):
                value = getattr(one, name)
                promise(value is None or isinstance(value, str), f"`{name}` is a text, or None; got {value!r}")
        promise(all(isinstance(note, str) for note in found.notes), f"`notes` are texts; got {found.notes!r}")
