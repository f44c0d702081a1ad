"""Kitchen problems in LIBERO's BDDL: what is read, and each mistake with its file, line, column, section and cure."""

from __future__ import annotations

import pytest
from hypothesis import given
from kitchen_problems import BOWL_ON_PLATE, bddl_of, problems

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.tasks.bddl import (
    Atom,
    Kitchen,
    Problem,
    Region,
    done_at_start,
    parse_bddl,
    read_domain,
    read_types,
    remarks,
)

HERE = "¦"
"""Stands in a test's text before what is wrong."""


@given(problems())
def test_a_problem_is_read_as_it_was_written(problem):
    assert parse_bddl(bddl_of(problem), "drawn.bddl") == problem


def test_every_form_of_a_problem_is_read():
    table, cabinet = "kitchen_table", "wooden_cabinet_1"
    pi = 3.141592653589793
    assert parse_bddl(BOWL_ON_PLATE, "bowl.bddl") == Problem(
        name="LIBERO_Kitchen_Tabletop_Manipulation",
        language="put the black bowl on the plate",
        fixtures={table: "kitchen_table", cabinet: "wooden_cabinet"},
        objects={
            "akita_black_bowl_1": "akita_black_bowl",
            "akita_black_bowl_2": "akita_black_bowl",
            "plate_1": "plate",
        },
        regions=(
            Region("cabinet_region", table, ((-0.01, -0.31, 0.01, -0.29),), (pi, pi)),
            Region("bowl_region", table, ((-0.025, -0.025, 0.025, 0.025),)),
            Region("plate_region", table, ((-0.05, 0.2, 0.0, 0.25), (0.0, 0.2, 0.05, 0.25)), rgba=(1.0, 0.0, 0.0, 0.5)),
            Region("top_region", cabinet),
            Region("top_side", cabinet),
        ),
        of_interest=("akita_black_bowl_1", "plate_1"),
        init=(
            Atom("On", (cabinet, "kitchen_table_cabinet_region")),
            Atom("On", ("akita_black_bowl_1", "kitchen_table_bowl_region")),
            Atom("In", ("akita_black_bowl_2", "wooden_cabinet_1_top_region")),
            Atom("On", ("plate_1", "kitchen_table_plate_region")),
            Atom("Open", ("wooden_cabinet_1_top_region",)),
        ),
        goal=(Atom("On", ("akita_black_bowl_1", "plate_1")),),
    )


def test_keywords_and_predicates_may_be_in_any_case_and_names_keep_theirs():
    shouted = BOWL_ON_PLATE.replace("(:init", "(:INIT").replace("(On ", "(on ").replace("(And", "(AND")
    assert parse_bddl(shouted, "bowl.bddl") == parse_bddl(BOWL_ON_PLATE, "bowl.bddl")
    with pytest.raises(ConfigurationError, match=r"got 'Plate_1', .*Did you mean 'plate_1'"):
        parse_bddl(BOWL_ON_PLATE.replace("bowl_1 plate_1)))", "bowl_1 Plate_1)))"), "bowl.bddl")


def refusal(old: str, new: str, *checks) -> ConfigurationError:
    """The error of the problem with another text in one place; it has to be where the new text says."""
    assert BOWL_ON_PLATE.count(old) == 1, old
    content = BOWL_ON_PLATE.replace(old, new)
    before = content[: content.index(HERE)]
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    with pytest.raises(ConfigurationError) as caught:
        parse_bddl(content.replace(HERE, ""), "bowl.bddl", checks)
    assert caught.value.source == f"bowl.bddl:{line}:{column}", str(caught.value)
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    ("old", "new", "key", "words"),
    [
        # the whole
        ("(define (", "(¦defin (", "", "got 'defin', expected define: the text is (define (problem NAME) …)"),
        ("(problem LIBERO_Kitchen_Tabletop_Manipulation)", "¦(problem a b)", "problem", "expected (problem NAME)"),
        ("(:domain robosuite)", "(:domain ¦behavior)", ":domain", "got 'behavior', expected robosuite"),
        ("(:domain robosuite)", "¦(:domain)", ":domain", "expected (:domain robosuite)"),
        ("(:domain robosuite)", "(¦:domian robosuite)", "", "a known section: "),
        ("(:domain robosuite)", "(¦:domian robosuite)", "", "Did you mean ':domain'?"),
        ("(:domain robosuite)", "(:domain robosuite) ¦(:domain robosuite)", ":domain", "expected each section once"),
        ("(:domain robosuite)", "(:domain robosuite) ¦words", "", "expected a section"),
        ("(:language put the black bowl on the plate)", "¦(:language)", ":language", "the words of the instruction"),
        (
            "black bowl on the plate)",
            "bowl ¦(the black one))",
            ":language",
            "got '(the black one)', expected words with",
        ),
        # things
        ("- wooden_cabinet\n", "- ¦(cabinet)\n", ":fixtures", "expected a type behind the -"),
        ("- wooden_cabinet\n", "¦-\n", ":fixtures", "got '-', expected a type behind the -, as in `wooden_cabinet_1"),
        (
            "wooden_cabinet_1 - w",
            "¦wooden_cabinet_1 w",
            ":fixtures",
            "got 'wooden_cabinet_1 wooden_cabinet', expected a t",
        ),
        ("wooden_cabinet_1 - wooden_cabinet", "¦- wooden_cabinet", ":fixtures", "a name of fixtures before the -"),
        ("plate_1 - plate  ;", "plate_1 ¦plate_1 - plate  ;", ":objects", "each name once. Rename it, or take it out."),
        ("plate_1 - plate  ;", "plate_1 ¦kitchen_table - plate  ;", ":objects", "a name that no fixture has"),
        ("plate_1 - plate  ;", "plate_1 ¦cup_1 - plate  ;", ":objects", "expected a place in init, such as (On cup_1"),
        ("wooden_cabinet_1 - w", "wooden_cabinet_1 ¦rack_1 - w", ":fixtures", "got 'rack_1, without a place'"),
        # regions
        ("(top_side (:", "(top_side (¦:targets a) (:", ":regions top_side", "Did you mean ':target'?"),
        (
            "(top_side (:target wooden_cabinet_1))",
            "¦(top_side)",
            ":regions top_side",
            "expected a :target. Add (:target",
        ),
        ("(top_side (:target wooden_cabinet_1))", "¦top_side", ":regions", "a region: (NAME (:target FIXTURE) …)"),
        ("(top_side (:t", "(top_side ¦(:target) (:t", ":regions top_side", "expected (:target FIXTURE)"),
        ("(top_side (:t", "(top_side (:target a) ¦(:t", ":regions top_side", "expected each key once"),
        ("(top_side (:", "¦(top_region (:", ":regions", "a name that no other region of this target has"),
        (
            "(top_side (:target wooden_cabinet_1))",
            "¦(cabinet_1 (:target wooden))",
            ":regions",
            "that no fixture and no object has",
        ),
        (
            "(-0.05 0.2 0.0 0.25)",
            "¦(0.05 0.2 0.0 0.25)",
            ":regions",
            "got '0.05 0.2 0 0.25', expected least x, least y",
        ),
        ("(-0.05 0.2 0.0 0.25)", "¦(-0.05 0.3 0.0 0.25)", ":regions", "greatest x, greatest y, in this order [m]"),
        ("(-0.05 0.2 0.0 0.25)", "¦(-0.05 0.2 0.0)", ":regions plate_region", "expected 4 numbers: (:ranges ((X0 Y0"),
        ("(-0.05 0.2 0.0 0.25)", "(-0.05 ¦O.2 0.0 0.25)", ":regions plate_region", "got 'O.2', expected a number"),
        ("(-0.05 0.2 0.0 0.25)", "(-0.05 0.2 0.0 ¦inf)", ":regions plate_region", "got 'inf', expected a number"),
        ("((-0.05 0.2 0.0 0.25) (0.0 0.2 0.05 0.25))", "¦()", ":regions plate_region", "has no :ranges at all"),
        (
            "(3.141592653589793 3",
            "(¦np.pi 3",
            ":regions cabinet_region",
            "LIBERO runs this text as code; write the numb",
        ),
        ("(3.141592653589793 3", "(¦(3.14 / 2) 3", ":regions cabinet_region", "got '(3.14 / 2)', expected a number"),
        (
            "(3.141592653589793 3",
            "¦(9 3",
            ":regions",
            "got '9 3.14159', expected the least turn, then the greatest [rad]",
        ),
        ("((3.141592653589793 3.141592653589793))", "¦((0 0) (1 1))", ":regions cabinet_region", "takes the last pair"),
        ("(1 0 0 0.5)", "¦(255 0 0 0.5)", ":regions", "got '255 0 0 0.5', expected four numbers from 0 to 1"),
        ("(1 0 0 0.5)", "¦(1 0 0)", ":regions plate_region", "expected 4 numbers: (:rgba (RED GREEN BLUE OPACITY))"),
        # of interest
        ("bowl_1 plate_1)\n", "bowl_1 ¦plate_2)\n", ":obj_of_interest", "got 'plate_2', expected a declared fixture"),
        ("bowl_1 plate_1)\n", "bowl_1 ¦akita_black_bowl_1)\n", ":obj_of_interest", "expected each name once"),
        ("bowl_1 plate_1)\n", "bowl_1 ¦(plate_1))\n", ":obj_of_interest", "names of fixtures, objects and regions"),
        # atoms
        (
            "(Open w",
            "(¦Opened w",
            ":init",
            "got 'Opened', expected a known predicate: On, In, Open, Close, Turnon, Tur",
        ),
        ("(Open w", "¦(Open plate_1 w", ":init", "expected 1 argument: (Open THING)"),
        ("(Open w", "¦(On w", ":init", "expected 2 arguments: (On THING PLACE)"),
        ("(Open w", "¦() (Open w", ":init", "got 'nothing', expected a predicate and its arguments"),
        ("(Open w", "¦Open (Open w", ":init", "expected an atom in brackets"),
        ("(Open w", "(Open ¦(a)) (Open w", ":init", "a predicate and names, without inner brackets"),
        (
            "(Open w",
            "(Open ¦plate_1) (Open w",
            ":init",
            "expected a fixture that can open, or its part: a region without",
        ),
        (
            "(Open w",
            "(Turnon ¦kitchen_table_bowl_region) (Open w",
            ":init",
            "a fixture that can be turned on, or its part",
        ),
        (
            "bowl_1 kitchen_table_bowl_region)",
            "bowl_1 ¦kitchen_table_bowl_regoin)",
            ":init",
            "'kitchen_table_bowl_region'?",
        ),
        (
            "bowl_1 kitchen_table_bowl_region)",
            "bowl_1 ¦kitchen_table)",
            ":init",
            "an object, or a region. Name a region",
        ),
        (
            "bowl_1 kitchen_table_bowl_region)",
            "bowl_1 ¦stove)",
            ":init",
            "a declared fixture, object or region (TARGET_NAM",
        ),
        (
            "(In akita_black_bowl_2 w",
            "(In ¦wooden_cabinet_1_top_side w",
            ":init",
            "expected an object or a fixture, which",
        ),
        ("2 wooden_cabinet_1_top_region)", "2 ¦plate_1)", ":init", "Food in a bowl is written On FOOD BOWL."),
        ("(Open w", "(Open wooden_cabinet_1_top_region) ¦(Open w", ":init", "expected each atom once. Take it out."),
        ("(Open w", "(Close wooden_cabinet_1_top_region) ¦(Open w", ":init", "one of the two: they cannot both hold."),
        ("(Open w", "(Turnoff wooden_cabinet_1) ¦(Turnon wooden_cabinet_1) (Open w", ":init", "they cannot both hold"),
        (
            "(Open w",
            "¦(On plate_1 kitchen_table_bowl_region) (Open w",
            ":init",
            "expected one place for plate_1. Take one",
        ),
        # the goal
        ("(:goal (And (On akita_black_bowl_1 plate_1)))", "¦(:goal)", ":goal", "one (And (PREDICATE THING …) …)"),
        ("(:goal (And (On akita_black_bowl_1 plate_1)))", "¦(:goal (And))", ":goal", "one atom or more"),
        (
            "(And (On akita_black_bowl_1 plate_1))",
            "¦(On akita_black_bowl_1 plate_1)",
            ":goal",
            "A goal of one atom has its",
        ),
        ("(And (On akita_black_bowl_1 plate_1))", "¦(Not (On akita_black_bowl_1 plate_1))", ":goal", "one (And (PREDI"),
        ("_1 plate_1)))", "_1 plate_1) ¦(On akita_black_bowl_1 plate_1)))", ":goal", "expected each atom once"),
        ("_1 plate_1)))", "_1 plate_1) (On plate_1 ¦sink)))", ":goal", "got 'sink', expected a declared fixture"),
    ],
)
def test_each_mistake_is_one_line_with_its_place_its_section_and_what_is_right(old, new, key, words):

    error = refusal(old, new)
    assert error.key == key and words in str(error), str(error)


@pytest.mark.parametrize("section", ["problem", ":domain", ":language", ":fixtures", ":objects", ":init", ":goal"])
def test_a_section_that_is_missing_is_named(section):
    sections = {s: f"({s})" for s in ("problem", ":domain", ":language", ":fixtures", ":objects", ":init", ":goal")}
    text = f"\n (define {' '.join(words for name, words in sections.items() if name != section)})"
    with pytest.raises(ConfigurationError) as caught:
        parse_bddl(text, "bowl.bddl")
    assert str(caught.value).startswith(f"bowl.bddl:2:2: `{section}`: got 'nothing'")


def test_things_that_hold_each_other_up_are_refused():
    old = "(On plate_1 kitchen_table_plate_region)"
    error = refusal(old, "¦(On plate_1 plate_1)")
    assert "got 'plate_1 on plate_1', expected things that stand on something else" in str(error)
    content = BOWL_ON_PLATE.replace(old, "(On plate_1 akita_black_bowl_2)")
    with pytest.raises(ConfigurationError, match="got 'akita_black_bowl_2 on plate_1 on akita_black_bowl_2'"):
        parse_bddl(
            content.replace("(In akita_black_bowl_2 wooden_cabinet_1_top_region)", "(On akita_black_bowl_2 plate_1)"),
            "",
        )


def test_a_goal_that_holds_at_the_start_is_said_and_one_that_holds_in_part_is_a_remark():
    goal = "(And (On akita_black_bowl_1 plate_1))"
    error = refusal(f"(:goal {goal})", "¦(:goal (And (open wooden_cabinet_1_top_region)))", done_at_start)
    assert "got '(Open wooden_cabinet_1_top_region)', expected a goal that does not hold at the start" in str(error)
    both = BOWL_ON_PLATE.replace(goal, goal[:-1] + " (Open wooden_cabinet_1_top_region))")
    problem = parse_bddl(both, "bowl.bddl", [done_at_start])
    assert remarks(problem) == ("(Open wooden_cabinet_1_top_region) of the goal holds at the start",)


def test_regions_of_what_is_declared_nowhere_are_a_remark_until_something_names_one():
    region = "(top_side (:target wooden_cabinet_1))"
    more = BOWL_ON_PLATE.replace(region, f"{region} (right_region (:target drainer_1))")
    assert remarks(parse_bddl(more, "bowl.bddl")) == ("it has regions of drainer_1, which is declared nowhere",)
    with pytest.raises(
        ConfigurationError, match="expected a region of a declared fixture or object; it is of drainer_1"
    ):
        parse_bddl(more.replace("bowl_1 plate_1)))", "bowl_1 drainer_1_right_region)))"), "bowl.bddl")


@pytest.fixture(scope="module")
def kitchen() -> Kitchen:
    return Kitchen(
        read_types(), read_domain(), frozenset({"oak_table", "brown_cabinet", "black_rice_bowl", "white_side_plate"})
    )


def test_what_the_kitchen_can_build_is_taken(kitchen):
    parse_bddl(BOWL_ON_PLATE, "bowl.bddl", [kitchen.first_unbuildable])


@pytest.mark.parametrize(
    ("old", "new", "key", "words"),
    [
        (
            "plate_1 - plate  ;",
            "¦plate_1 - ramekin  ;",
            ":objects",
            "got 'ramekin', expected a type that the kitchen can",
        ),
        ("wooden_cabinet_1 - w", "¦wooden_cabinet_1 - x", ":fixtures", "Did you mean 'wooden_cabinet'?"),
        (
            "plate_1 - plate  ;",
            "¦plate_1 - butter  ;",
            ":objects",
            "a type whose model is there; its model 'butter' is mi",
        ),
        (
            "(top_side (:",
            "¦(left_side (:",
            ":regions",
            "got 'left_side', expected a site of a wooden_cabinet: top_region, ",
        ),
        (
            "(Open wooden_cabinet_1_top_region",
            "(Open ¦wooden_cabinet_1_top_side",
            ":init",
            "_side, a top', expected a cont",
        ),
        (
            "(Open wooden_cabinet_1_top_region",
            "(Turnon ¦wooden_cabinet_1",
            ":init",
            "expected a stove, which Turnon is sa",
        ),
    ],
)
def test_what_the_kitchen_cannot_build_is_named_with_its_type(kitchen, old, new, key, words):
    error = refusal(old, new, kitchen.first_unbuildable)
    assert error.key == key and words in str(error), str(error)
