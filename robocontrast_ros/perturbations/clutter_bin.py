"""ΔS of seed 001 as its section III draws scenes: uniform over bins of DvFC, in place of a declared set size."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from pydantic import Field

from robocontrast_ros.configuration import ConfigurationError, record
from robocontrast_ros.domain import Expectation, NotApplicable, Scene, TestInstance
from robocontrast_ros.perturbations.distractors import DistractorParameters, Distractors
from robocontrast_ros.perturbations.protocol import NamedPerturbation
from robocontrast_ros.tasks.protocol import Answer, DistractorRequest, Task
from robocontrast_ros.tasks.proven import proven

TAIL = 0.02
"""Share of the reference draws beyond each end of the range that bins of equal width divide."""

DIGITS = 3
"""Decimals of the edges that are computed here."""


@record
class ClutterBinParameters(DistractorParameters):
    """Parameters of ``clutter_bin`` in a session: those of the reference draw, and its bins."""

    count: int = Field(
        default=12, ge=1, le=100, description="greatest number of distractors; each from 1 to it is as likely"
    )
    edges: tuple[float, ...] = Field(
        default=(),
        max_length=49,
        description="the DvFC between two bins, increasing: n edges make n + 1 bins, of which the first and the last "
        "are open; without them there is one bin, so all of the reference draw",
    )
    bin: int | None = Field(
        default=None, ge=1, description="the bin, from 1, which is the least cluttered; if left out, each is as likely"
    )
    candidates: int = Field(
        default=60, ge=1, le=10_000, description="scenes that are drawn, at most, until one is in the bin"
    )

    def __post_init__(self) -> None:
        """Refuse edges that do not increase, and a bin that is not there."""
        if any(one >= other for one, other in pairwise(self.edges)):
            raise ConfigurationError("", "edges", list(self.edges), "increasing numbers")
        if self.bin is not None and self.bin > self.bins:
            expected = f"at most {self.bins}, the number of bins of {len(self.edges)} edges"
            raise ConfigurationError("", "bin", self.bin, expected)

    @property
    def bins(self) -> int:
        """Number of bins."""
        return len(self.edges) + 1


class ClutterBin(NamedPerturbation):
    """A scene of a bin of DvFC, in an instance's own scene; the base trial is the twin without distractors.

    The reference draw: the set size is uniform from 1 to ``count``, and the scene is that of ``distractors`` of this
    size. Candidates are drawn from it until one is in the wanted bin (rejection sampling). So within a bin, scenes are
    distributed as those of the reference draw that are in it.
    """

    axes = "S"
    expectation = Expectation.KEEPS_SUCCESS
    elsewhere = "a scene of a bin is that of the test instance itself, with distractors"
    parameters = ClutterBinParameters
    measures = (*Distractors.measures, "bin", "candidates")

    def __init__(self, parameters: ClutterBinParameters | None = None) -> None:
        """Take the session's parameters; the defaults without them."""
        self._p = p = parameters or ClutterBinParameters()
        which = "a bin, each as likely" if p.bin is None else f"bin {p.bin}"
        words = [*([str(p.bin)] if p.bin else []), *(["of", str(p.bins)] if p.edges else [])]
        further = ((p.similar, p.similar != "any"), ("occluder", p.occluder), ("looks", p.looks))
        words += [word for word, said in further if said]
        self.name = "_".join(("clutter_bin", *words))
        self.symbol = " ".join(("ΔS bin", *words))
        self.description = f"add 1 to {p.count} things such that DvFC is in {which}, of {p.bins}"

    def supports(self, task: Task) -> bool:
        """Return whether the task has distractors.

        Raises:
            ValueError: so many have no room.
        """
        return Distractors(self._p).supports(task)

    def changed(self, task: Task, base: TestInstance, scene: Scene, rng: np.random.Generator) -> Answer:
        """Return the first candidate in the bin, with ``bin`` and ``candidates``, their number, among the measures."""
        p = self._p
        wanted = p.bin or int(rng.integers(p.bins)) + 1
        drawn: Counter[int] = Counter()
        refused = ""
        for number in range(1, p.candidates + 1):
            # Images are drawn of scenes alone that fit otherwise: `add` looks at what is cheap first.
            request = DistractorRequest(int(rng.integers(p.count)) + 1, p.similar, p.occluder, p.looks)
            answer = task.clutter.add(base, request, rng)
            if isinstance(answer, NotApplicable):
                refused = answer.reason
                continue
            proof = answer.instance.proof
            measures = dict(proof.measures)
            found = bin_of(measures["dvfc"], p.edges)
            drawn[found] += 1
            if found == wanted:
                note = f"{answer.note}; {self._where(wanted)}, candidate {number}"
                more = {"bin": float(wanted), "candidates": float(number)}
                return proven(answer.instance, proof.claim, note, measures | more)
        reached = ", ".join(f"{drawn[found]} in bin {found}" for found in sorted(drawn)) or "none is a scene"
        last = f"; {p.candidates - drawn.total()} are no scene, the last because: {refused}" if refused else ""
        return NotApplicable(f"no scene of {self._where(wanted)} in {p.candidates} candidates: {reached}{last}")

    def _where(self, number: int) -> str:
        ends = ("", *(f"{edge:g}" for edge in self._p.edges), "")
        low, high = ends[number - 1 : number + 1]
        words = " and ".join(filter(None, (low and f"at least {low}", high and f"below {high}")))
        return f"bin {number} of {self._p.bins}" + (f" (DvFC {words})" if words else "")


def bin_of(dvfc: float, edges: Sequence[float]) -> int:
    """Return the bin, from 1, of a DvFC; that on an edge is in the bin above."""
    return bisect_right(edges, dvfc) + 1


def edges_of(dvfc: Sequence[float], bins: int, quantiles: bool = False) -> tuple[float, ...]:
    """Return the edges of bins of the DvFC of reference draws, shape (bins - 1,).

    Args:
        dvfc: of each draw.
        bins: their number, 2 or more.
        quantiles: whether equally many draws are in each bin; scenes that are uniform over such bins are distributed
            as the reference draw itself. If not, the bins are of equal width from the quantile ``TAIL`` to 1 -
            ``TAIL``, and the first and the last go on beyond.

    Raises:
        ValueError: there are too few draws, or two edges are equal at ``DIGITS`` decimals.
    """
    if len(dvfc) < bins:
        raise ValueError(f"at most {len(dvfc)}, the number of draws that are scenes")
    inner = np.linspace(0.0, 1.0, bins + 1)[1:-1]
    low, high = np.quantile(dvfc, (TAIL, 1.0 - TAIL))
    found = np.round(np.quantile(dvfc, inner) if quantiles else low + inner * (high - low), DIGITS)
    if (np.diff(found) <= 0).any():
        raise ValueError(f"draws whose DvFC differ enough for {bins} bins")
    return tuple(float(edge) for edge in found)
