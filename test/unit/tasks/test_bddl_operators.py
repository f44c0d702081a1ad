"""Operators of skills: the shipped domain file, what another reader of PDDL finds in it, and each mistake's place."""

from __future__ import annotations

import pddl
import pytest
from pddl.logic.base import And, Not

from robocontrast_ros.configuration import ConfigurationError, resolve_uri
from robocontrast_ros.tasks.bddl import Atom, Kitchen, Literal, Parameter, parse_domain, read_domain, read_types
from robocontrast_ros.tasks.bddl.operators import SKILLS
from robocontrast_ros.tasks.bddl.problem import ARITY, LIBEROS

SMALL = """\
; a domain
(define (domain small)
  (:requirements :strips :typing)
  (:types bowl plate - item item - object)
  (:predicates (On ?a - item ?b - item) (Free ?a - item) (Handempty))
  (:action put
    :parameters (?bowl - bowl ?plate - plate)
    :precondition (and (Handempty) (not (On ?bowl ?plate)))
    :effect (On ?bowl ?plate)
  )
)
"""
HERE = "¦"


def literals(formula) -> set[tuple[str, tuple[str, ...], bool]]:
    """What a formula of the library says: name, parameters, and whether it holds."""
    if isinstance(formula, And):
        return set().union(*map(literals, formula.operands))
    holds = not isinstance(formula, Not)
    atom = formula if holds else formula.argument
    return {(str(atom.name), tuple(f"?{term.name}" for term in atom.terms), holds)}


def ours(each: tuple[Literal, ...]) -> set[tuple[str, tuple[str, ...], bool]]:
    return {(literal.atom.predicate, literal.atom.arguments, literal.holds) for literal in each}


def test_another_reader_of_pddl_finds_the_same_in_the_shipped_file():
    found, domain = pddl.parse_domain(str(resolve_uri(SKILLS))), read_domain()
    assert found.name == domain.name
    assert {str(kind): str(general or "object") for kind, general in found.types.items()} == domain.types
    assert {str(each.name): each.arity for each in found.predicates} == {
        n: len(k) for n, k in domain.predicates.items()
    }
    actions = {str(action.name): action for action in found.actions}
    assert set(actions) == set(domain.operators) and len(actions) == 14
    for name, operator in domain.operators.items():
        parameters = [(f"?{p.name}", set(map(str, p.type_tags))) for p in actions[name].parameters]
        assert parameters == [(p.name, {p.type}) for p in operator.parameters]
        assert literals(actions[name].precondition) == ours(operator.preconditions)
        assert literals(actions[name].effect) == ours(operator.effects)


def test_every_skill_changes_something_and_speaks_of_all_its_things():
    domain = read_domain()
    for operator in domain.operators.values():
        spoken = {name for atom in operator.relevant for name in atom.arguments}
        assert spoken == {parameter.name for parameter in operator.parameters}
        assert Literal(Atom("Handempty", ())) in operator.preconditions
        changed = {Literal(literal.atom, not literal.holds) for literal in operator.effects}
        assert not set(operator.preconditions) & set(operator.effects), "an effect that holds already"
        assert changed & set(operator.preconditions), "what it changes is asked for before"


def test_the_domain_has_the_predicates_of_problems_and_the_types_know_only_its_kinds():
    domain, types = read_domain(), read_types()
    assert {name: len(kinds) for name, kinds in domain.predicates.items() if name in LIBEROS} == {
        name: ARITY[name] for name in LIBEROS
    }
    kinds = {fixture.kind for fixture in types.fixtures.values()} | {each.kind for each in types.objects.values()}
    kinds |= {site.kind for fixture in types.fixtures.values() for site in fixture.sites.values()}
    assert kinds - {""} <= set(domain.types)


def test_an_operator_of_things_speaks_of_them():
    bound = parse_domain(SMALL, "small.pddl").operators["put"].bound({"?bowl": "bowl_1", "?plate": "plate_1"})
    assert bound.parameters == () and bound.effects == (Literal(Atom("On", ("bowl_1", "plate_1"))),)
    assert bound.relevant == {Atom("Handempty", ()), Atom("On", ("bowl_1", "plate_1"))}
    some = parse_domain(SMALL, "small.pddl").operators["put"].bound({"?bowl": "bowl_1"})
    assert some.parameters == (Parameter("?plate", "plate"),)


@pytest.mark.parametrize(
    ("old", "new", "key", "words"),
    [
        ("(define", "(¦defined", "", "expected define"),
        ("(domain small)", "¦(domain)", "domain", "expected (domain NAME)"),
        ("(domain small)", "¦(domain (small))", "domain", "expected (domain NAME)"),
        ("(:req", "(¦:constants a) (:req", "", "got ':constants', expected a known section"),
        (
            ":typing)",
            ":typing ¦:adl)",
            ":requirements",
            "a known requirement: :negative-preconditions, :strips, :typing",
        ),
        ("- item item - object)", "- ¦items item - object)", ":types", "Did you mean 'item'?"),
        ("- item item - object)", "- item ¦bowl - object)", ":types", "each type once"),
        (
            "item item - object)",
            "¦bowl item - object)",
            ":types",
            "got 'bowl - bowl', expected types that are object in the",
        ),
        ("(Handempty))\n  (:a", "(Handempty) (¦Free))\n  (:a", ":predicates", "each predicate once"),
        ("(Free ?a - item)", "(Free ¦a - item)", ":predicates Free", "a parameter, such as ?bowl. Write ?a."),
        ("(Free ?a - item)", "(Free ?a - ¦cup)", ":predicates Free", "got 'cup', expected a known type"),
        ("(Free ?a - item)", "(Free ¦?a)", ":predicates Free", "a type behind the names: ?a - TYPE"),
        ("(:action put", "¦(:action", ":action", "expected (:action NAME"),
        ("?plate - plate)\n", "¦?bowl - plate)\n", ":action put", "each parameter once"),
        ("?plate - plate)\n", "?plate - ¦(either plate bowl))\n", ":action put", "expected a type behind the -"),
        (":precondition", "¦:preconditions", ":action put", "Did you mean ':precondition'?"),
        (":effect (On", "¦:precondition () :effect (On", ":action put", "expected each key once"),
        (":effect (On ?bowl ?plate)", "¦:effect", ":action put", "got ':effect without a value'"),
        (":effect (On ?bowl ?plate)", ":effect ¦()", ":action put :effect", "one effect or more"),
        (
            ":effect (On ?bowl ?plate)",
            ":effect ¦on",
            ":action put :effect",
            "(PREDICATE …), (not (PREDICATE …)), or one (a",
        ),
        (
            "(not (On ?bowl ?plate))",
            "(¦or (Handempty))",
            ":action put :precondition",
            "got 'or', expected a known predicate",
        ),
        (
            "(not (On ?bowl ?plate))",
            "¦(not (Handempty))",
            ":action put :precondition",
            "an atom or its opposite, not both",
        ),
        ("(not (On ?bowl ?plate))", "¦(Handempty)", ":action put :precondition", "each literal once"),
        ("(not (On ?bowl ?plate))", "¦(not)", ":action put :precondition", "expected (not (PREDICATE …))"),
        (
            ":effect (On ?bowl ?plate)",
            ":effect ¦(On ?bowl)",
            ":action put :effect",
            "expected (On item item), an argument of e",
        ),
        (":effect (On ?bowl ?plate)", ":effect ¦(Handempty ?bowl)", ":action put :effect", "expected (Handempty)."),
        (":effect (On ?bowl ?plate)", ":effect (On ?bowl ¦?plates)", ":action put :effect", "Did you mean '?plate'?"),
    ],
)
def test_each_mistake_in_a_domain_has_a_file_a_line_a_column_and_a_key(old, new, key, words):
    content = SMALL.replace(old, new)
    assert SMALL.count(old) == 1
    before = content[: content.index(HERE)]
    with pytest.raises(ConfigurationError) as caught:
        parse_domain(content.replace(HERE, ""), "small.pddl")
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    assert (caught.value.source, caught.value.key) == (f"small.pddl:{line}:{column}", key), str(caught.value)
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_a_parameter_of_another_type_than_the_predicate_asks_for_is_refused():
    content = SMALL.replace("(Free ?a - item)", "(Free ?a - plate)").replace(
        ":effect (On ?bowl ?plate)", ":effect (Free ?bowl)"
    )
    with pytest.raises(
        ConfigurationError, match=r"small.pddl:9:19: .*a parameter of type plate; \?bowl is of type bowl"
    ):
        parse_domain(content, "small.pddl")


@pytest.mark.parametrize("section", ["domain small", ":types bowl plate - item item - object", ":action put"])
def test_a_section_of_a_domain_that_is_missing_is_named(section):
    start = SMALL.index(f"({section}")
    depth, end = 0, start
    for end in range(start, len(SMALL)):
        depth += {"(": 1, ")": -1}.get(SMALL[end], 0)
        if not depth:
            break
    with pytest.raises(ConfigurationError) as caught:
        parse_domain(SMALL[:start] + SMALL[end + 1 :], "small.pddl")
    assert caught.value.source == "small.pddl:2:1" and caught.value.key == section.split()[0]


@pytest.mark.parametrize("key", [":parameters", ":precondition", ":effect"])
def test_a_part_of_an_action_that_is_missing_is_named(key):
    (line,) = (line for line in SMALL.splitlines(keepends=True) if key in line)
    with pytest.raises(ConfigurationError, match=rf"small.pddl:6:3: `:action put`: got 'nothing', expected a {key}"):
        parse_domain(SMALL.replace(line, ""), "small.pddl")


def test_what_is_a_kind_of_what_follows_the_types():
    domain = parse_domain(SMALL, "small.pddl")
    assert domain.is_a("bowl", "item") and domain.is_a("bowl", "object") and domain.is_a("bowl", "bowl")
    assert not domain.is_a("item", "bowl") and not domain.is_a("", "object")
    assert Kitchen(read_types(), domain).models is None
