"""The types of problems that the kitchen can build: our models, and the parts that LIBERO's sites are of them."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from robocontrast_ros.configuration import load_record, record, resolve_uri
from robocontrast_ros.configuration.errors import nearest
from robocontrast_ros.tasks.bddl.operators import Domain
from robocontrast_ros.tasks.bddl.problem import STATES, Flaw, Problem

TYPES = "package://robocontrast_ros/config/kitchen/types.yaml"
"""The types that the kitchen can build."""

REGION = "region"
"""Kind of a region with ranges."""


@record
class SiteRecord:
    """A site of a LIBERO fixture in our model."""

    part: str = Field(min_length=1, description="moving part, or area, of our model")
    kind: str = Field(min_length=1, description="type of skills.pddl")


@record
class FixtureRecord:
    """A type of fixtures."""

    model: str = Field(min_length=1, description="our model")
    kind: str = Field(default="", description="type of skills.pddl; empty: no skill is done with it itself")
    moves: str = Field(default="", description="part that Open, Close, Turnon and Turnoff of the fixture itself mean")
    sites: dict[str, SiteRecord] = Field(default_factory=dict, description="LIBERO's names of its sites")

    @property
    def is_part_of_skills(self) -> bool:
        """Whether a skill is done with it; else it is what all stands on."""
        return bool(self.kind or self.moves or self.sites)


@record
class ObjectRecord:
    """A type of objects."""

    model: str = Field(min_length=1, description="our model")
    kind: str = Field(min_length=1, description="type of skills.pddl")


@record
class TypesRecord:
    """A table of types, as config/kitchen/types.yaml declares it."""

    fixtures: dict[str, FixtureRecord] = Field(description="types of fixtures")
    objects: dict[str, ObjectRecord] = Field(description="types of objects")


def read_types(path: Path | None = None) -> TypesRecord:
    """Return the table of a file; that of the kitchen if None.

    Raises:
        ConfigurationError: the file cannot be read, or does not fit.
    """
    return load_record(TypesRecord, path or resolve_uri(TYPES))


@dataclass(frozen=True)
class Kitchen:
    """What the kitchen can build.

    Attributes:
        types: the types of problems.
        domain: the operators of skills, which say of what kind of thing a predicate is.
        models: names of the models that are there; None if that is not asked.
    """

    types: TypesRecord
    domain: Domain
    models: Set[str] | None = None

    def kind_of(self, problem: Problem, name: str) -> str:
        """Return the kind of a fixture, an object or a region, a type of the domain; empty if it has none."""
        if name in problem.fixtures:
            fixture = self.types.fixtures.get(problem.fixtures[name])
            return fixture.kind if fixture else ""
        if name in problem.objects:
            found = self.types.objects.get(problem.objects[name])
            return found.kind if found else ""
        region = problem.named_regions.get(name)
        if region is None:
            return ""
        if region.ranges:
            return REGION
        fixture = self.types.fixtures.get(problem.type_of(region.target))
        site = fixture.sites.get(region.name) if fixture else None
        return site.kind if site else ""

    def first_unbuildable(self, problem: Problem) -> Flaw | None:
        """Return the first type, site or predicate of a problem that the kitchen cannot build; None if it can all."""
        return next(self._unbuildable(problem), None)

    def _unbuildable(self, problem: Problem) -> Iterator[Flaw]:
        fixtures, objects = self.types.fixtures, self.types.objects
        things = [(("fixtures", name), kind, fixtures) for name, kind in problem.fixtures.items()]
        things += [(("objects", name), kind, objects) for name, kind in problem.objects.items()]
        for where, kind, types in things:
            if kind not in types:
                close = nearest(kind, types)
                cure = f"Did you mean '{close}'?" if close else ""
                yield Flaw(where, kind, f"a type that the kitchen can build: {', '.join(types)}", cure)
        for where, kind, types in things:
            if self.models is not None and types[kind].model not in self.models:
                expected = f"a type whose model is there; its model '{types[kind].model}' is missing"
                yield Flaw(where, kind, expected, "Add the model to the folder that the task's `things` names.")
        yield from self._unknown_sites(problem)
        for section, atoms in (("init", problem.init), ("goal", problem.goal)):
            for index, atom in enumerate(atoms):
                if atom.predicate not in STATES:
                    continue
                (general,) = self.domain.predicates[atom.predicate]
                kind = self.kind_of(problem, atom.arguments[0])
                if not self.domain.is_a(kind, general):
                    got = f"{atom.arguments[0]}, a {kind}" if kind else atom.arguments[0]
                    yield Flaw((section, index, 0), got, f"a {general}, which {atom.predicate} is said of")

    def _unknown_sites(self, problem: Problem) -> Iterator[Flaw]:
        for index, region in enumerate(problem.regions):
            if region.ranges or not problem.type_of(region.target):
                continue
            fixture = self.types.fixtures.get(problem.type_of(region.target))
            sites = fixture.sites if fixture else {}
            if region.name not in sites:
                expected = f"a site of a {problem.type_of(region.target)}: {', '.join(sites) or '(none)'}"
                yield Flaw(("regions", index), region.name, expected, "Give it :ranges, or take it out.")
