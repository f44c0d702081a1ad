"""What a policy can do by what problems ask of it: each number once more by hand, and where it is shown."""

from __future__ import annotations

from dataclasses import asdict, replace
from io import StringIO

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from rich.console import Console
from told_runs import Told, told_run

from robocontrast_ros.analysis.data.profiles import profiles_of
from robocontrast_ros.analysis.estimates.profile import BY, KNOWN, UNKNOWN, VOCABULARY, WORDS, groups_of, profile_of
from robocontrast_ros.analysis.estimates.results import compute_results
from robocontrast_ros.analysis.figures.profile import costs_of, drawings_of
from robocontrast_ros.analysis.report.comparison_page import read_runs, write_comparison_page
from robocontrast_ros.analysis.report.profile import profile_section
from robocontrast_ros.analysis.report.run_page import write_report
from robocontrast_ros.analysis.tables.comparison import comparison_json, comparison_report
from robocontrast_ros.analysis.tables.profile import COLUMNS, profile_report, profile_tables
from robocontrast_ros.analysis.write_results import write_results
from robocontrast_ros.configuration import ConfigurationError, write_yaml
from robocontrast_ros.domain import BASE
from robocontrast_ros.runs.journal import read_journal
from robocontrast_ros.statistics.clusters import cluster_mean, paired_difference
from robocontrast_ros.statistics.unpaired import unpaired_difference
from robocontrast_ros.tasks.protocol import Profile

VAGUE = "variant_vague"


def asks(axes, difficulty, score, subtasks, words="put it away"):
    return Profile(
        attributes=axes,
        difficulty=difficulty,
        score=score,
        subtasks=subtasks,
        texts={"default": words, "vague": f"{words}, somehow"},
    )


PROFILES = {
    "fruit/apple": asks({"color": "visual"}, "simple", 1, 1, "put the red apple away"),
    "fruit/banana": asks({"color": "visual", "spatial": "relational"}, "simple", 2, 1),
    "fruit/three": asks({"counting": "relational"}, "complex", 5, 3),
    "boxes/turn": asks({"reorientation": "procedural", "color": "visual"}, "moderate", 4, 1),
    "boxes/ten": asks({}, "complex", 10, 10),
}
SOLVED = {"fruit/apple": "111", "fruit/banana": "110", "fruit/three": "000", "boxes/turn": "01", "boxes/ten": "0"}
"""Problem -> the success of its test instances."""


def base_trials(solved=SOLVED):
    outcomes = [(problem, one) for problem, own in solved.items() for one in own]
    return [Told(number, BASE, one == "1", problem=problem) for number, (problem, one) in enumerate(outcomes)]


def with_vague(trials):
    """Return trials, each followed by one in vague words; those of even numbers fail in them."""
    vague = [replace(told, perturbation=VAGUE, solved=bool(told.solved and told.base % 2)) for told in trials]
    return [told for pair in zip(trials, vague, strict=True) for told in pair]


def profiled(folder, trials, profiles=PROFILES, policy="policy", vocabulary=()):
    run = told_run(folder, policy, trials, specs={}, metric="success", vocabulary=vocabulary)
    write_yaml(run.profiles, {"problems": {name: asdict(profile) for name, profile in profiles.items()}})
    return run


def results_of(run):
    return compute_results(read_journal(run.journal))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return profiled(tmp_path_factory.mktemp("runs") / "run", with_vague(base_trials()))


@pytest.fixture(scope="module")
def found(run):
    return profile_of(results_of(run))


def row_of(found, by, name):
    (row,) = [row for row in found.rows if (row.group.by, row.group.name) == (by, name)]
    return row


def values(*problems):
    """Return the successes of some problems, and the problem of each."""
    pairs = [(float(one), problem) for problem in problems for one in SOLVED[problem]]
    return tuple(zip(*pairs, strict=True))


def test_groups_are_in_the_order_of_axes_attributes_difficulty_subtasks_and_words():
    groups = list(groups_of(PROFILES))
    assert list(dict.fromkeys(group.by for group in groups)) == list(BY)
    names = {by: [group.name for group in groups if group.by == by] for by in BY}
    assert names["axis"] == ["procedural", "relational", "visual"]
    assert names["attribute"] == ["reorientation", "counting", "spatial", "color"]
    assert names["difficulty"] == ["simple", "moderate", "complex"], "the easy ones first, not by letters"
    assert names["subtasks"] == ["1", "3", "10"], "by number, not by letters"
    assert names[WORDS] == ["default", "vague"]


def test_a_group_has_the_mean_over_its_trials_with_problems_as_what_is_independent(found):
    row = row_of(found, "attribute", "color")
    coloured = values("fruit/apple", "fruit/banana", "boxes/turn")
    assert (row.problems, row.trials, row.group.axis) == (3, 8, "visual")
    assert row.success == cluster_mean(*coloured) and row.success.mean == pytest.approx(6 / 8)
    assert row_of(found, "subtasks", "10").success == cluster_mean(*values("boxes/ten"))
    assert row_of(found, "subtasks", "10").success.low is None, "one problem has no interval"


def test_a_difference_is_that_to_all_other_problems(found):
    with_it = cluster_mean(*values("fruit/three", "fruit/banana"))
    without = cluster_mean(*values("fruit/apple", "boxes/turn", "boxes/ten"))
    row = row_of(found, "axis", "relational")
    assert row.success_difference == unpaired_difference(with_it, without)
    assert row.success_difference.mean == pytest.approx(2 / 6 - 4 / 6)
    assert row_of(found, "all", "all").difference.mean is None


def test_other_words_are_compared_with_the_usual_ones_pair_by_pair_and_are_in_no_other_row(found):
    usual, problems = values(*SOLVED)
    vague = [float(one and number % 2) for number, one in enumerate(usual)]
    row = row_of(found, WORDS, "vague")
    assert row.success == cluster_mean(vague, problems)
    assert row.success_difference == paired_difference(vague, usual, problems)
    assert row_of(found, WORDS, "default").success == row_of(found, "all", "all").success
    assert row_of(found, "all", "all").trials == len(usual)


def test_a_run_without_other_words_has_no_row_of_words(tmp_path):
    alone = profile_of(results_of(profiled(tmp_path / "run", base_trials())))
    assert WORDS not in {row.group.by for row in alone.rows}


@settings(max_examples=8)
@given(st.data())
def test_no_number_depends_on_the_order_of_trials_or_on_the_names_of_problems(tmp_path_factory, data):
    outcomes = {name: data.draw(st.text("01", min_size=1, max_size=3)) for name in PROFILES}
    trials = base_trials(outcomes)
    order = data.draw(st.permutations(range(len(trials))))
    # The names keep their order, so that the rows of problems do.
    renamed = {name: f"p{number}" for number, name in enumerate(PROFILES)}
    folder = tmp_path_factory.mktemp("runs")
    first = profiled(folder / "a", trials)
    others = [replace(trials[k], problem=renamed[trials[k].problem]) for k in order]
    second = profiled(folder / "b", others, {renamed[name]: profile for name, profile in PROFILES.items()})
    one, other = (profile_of(results_of(run)) for run in (first, second))

    def numbers(found):
        return [(r.group.by, r.group.name, r.problems, r.trials, r.success.mean) for r in found.rows]

    assert [row[:4] for row in numbers(one)] == [row[:4] for row in numbers(other)]
    assert [row[4] for row in numbers(one)] == pytest.approx([row[4] for row in numbers(other)])
    for a, b in zip(one.rows, other.rows, strict=True):
        assert (a.success.low is None) == (b.success.low is None)
        if a.success.low is not None:
            assert (a.success.low, a.success.high) == pytest.approx((b.success.low, b.success.high))
    # What a partition adds up to is the whole.
    every = row_of(one, "all", "all")
    for by in ("difficulty", "subtasks"):
        assert sum(row.trials for row in one.rows if row.group.by == by) == every.trials
        total = sum(row.trials * row.success.mean for row in one.rows if row.group.by == by)
        assert total == pytest.approx(every.trials * every.success.mean)
    assert [row.successes for row in one.problems] == [own.count("1") for own in outcomes.values()]


def test_the_hardest_problems_are_those_with_the_lowest_score_and_none_that_was_always_solved(found):
    hardest = found.worst("policy", 10)
    assert [row.problem for row in hardest] == ["boxes/ten", "fruit/three", "boxes/turn", "fruit/banana"]
    assert [row.problem for row in found.worst("policy", 2)] == ["boxes/ten", "fruit/three"]
    trials = base_trials()
    assert not trials[hardest[-1].index // 2].solved, "it leads to a trial that failed"


def test_trials_of_problems_without_a_profile_are_in_no_number(tmp_path):
    trials = [*base_trials(), Told(40, BASE, True, problem="elsewhere/x"), Told(41, BASE, True)]
    assert row_of(profile_of(results_of(profiled(tmp_path / "a", trials))), "all", "all").trials == 12
    assert profile_of(results_of(profiled(tmp_path / "b", trials[-2:]))) is None


def test_a_run_without_profiles_has_nothing_of_it(tmp_path):
    run = told_run(tmp_path / "run", "policy", base_trials(), specs={}, metric="success")
    results = results_of(run)
    assert not results.has_profiles and profile_of(results) is None
    write_results(run)
    assert not (run.path / "profile.csv").exists()
    assert profile_section(results, ()) is None


def test_a_file_of_profiles_that_is_wrong_is_refused_by_its_name_and_key(tmp_path):
    run = profiled(tmp_path / "run", base_trials())
    run.profiles.write_text(run.profiles.read_text().replace("subtasks: 3", "subtasks: three"))
    with pytest.raises(ConfigurationError, match=r"problems\.yaml.*fruit/three\.subtasks"):
        profiles_of(run)


def test_tables_have_their_columns_and_one_row_a_problem(found):
    tables = profile_tables(found)
    for name, table in tables.items():
        assert table.schema == {key: kind for key, (kind, _) in COLUMNS[name].items()}
    problems = tables["profile_problems"]
    assert problems["problem"].to_list() == list(PROFILES)
    assert problems["successes"].to_list() == [own.count("1") for own in SOLVED.values()]
    turn = problems.row(3, named=True)
    assert (turn["attributes"], turn["difficulty"], turn["difficulty_score"], turn["trials"]) == (
        "reorientation color",
        "moderate",
        4,
        2,
    )


def test_what_costs_most_comes_first_and_the_charts_have_a_line_for_each_group(found):
    costs = costs_of(found, "policy")
    means = [row.difference.mean for row in costs]
    assert means == sorted(means) and {row.group.by for row in costs} == {"attribute", "difficulty", "subtasks", WORDS}
    drawings = drawings_of(found)
    assert list(drawings) == ["profile", "profile_costs"]
    figure = Figure()
    drawings["profile"].draw(figure)
    labels = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert labels[0] == "all problems (5)" and "relational" in labels and "counting (1)" in labels
    assert labels.index("relational") < labels.index("all of them (2)") < labels.index("spatial (1)")
    assert sum(text.startswith("all of them") for text in labels) == 3, "a line for each axis"


OBJECT_WORDS = {
    "fruit/apple": ("red", "apple"),
    "fruit/banana": ("banana",),
    "fruit/three": ("fruit", "bowl"),
    "boxes/turn": ("red", "box"),
}
"""Problem -> object words; ``boxes/ten`` has none."""

NAMED = {
    name: replace(profile, object_words={"default": OBJECT_WORDS.get(name, ()), "vague": ("thing", "bowl")})
    for name, profile in PROFILES.items()
}
VOCABULARY_OF_POLICY = ("Red", "apple", "banana bread", "bowl")


@pytest.fixture(scope="module")
def worded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    return profiled(folder, with_vague(base_trials()), NAMED, vocabulary=VOCABULARY_OF_POLICY)


def test_a_problem_has_the_share_of_its_object_words_that_the_vocabulary_has(worded):
    found = profile_of(results_of(worded))
    words = {row.problem: row.object_words for row in found.problems}
    assert [words[name].share for name in OBJECT_WORDS] == [1.0, 1.0, 0.5, 0.5]
    assert words["fruit/three"].unknown == ("fruit",) and words["boxes/turn"].unknown == ("box",)
    assert words["boxes/ten"] is None, "no words, no share"
    every = row_of(found, "all", "all").object_words
    assert (every.known, every.all) == (4, ("apple", "banana", "bowl", "box", "fruit", "red")), "each counted once"
    assert row_of(found, WORDS, "vague").object_words.unknown == ("thing",), "those of the words that were said"
    table = profile_tables(found)["profile_problems"]
    three = table.row(by_predicate=pl.col("problem") == "fruit/three", named=True)
    assert (three["object_words"], three["known_object_words"], three["known_share"]) == (2, 1, 0.5)
    assert three["unknown_object_words"] == "fruit"
    assert table.row(by_predicate=pl.col("problem") == "boxes/ten", named=True)["known_share"] is None


def test_trials_whose_words_are_all_known_are_compared_with_those_with_others(worded):
    found = profile_of(results_of(worded))
    known, unknown = (row_of(found, VOCABULARY, name) for name in (KNOWN, UNKNOWN))
    with_all = cluster_mean(*values("fruit/apple", "fruit/banana"))
    without = cluster_mean(*values("fruit/three", "boxes/turn"))
    assert (known.success, unknown.success) == (with_all, without), "base trials alone, none without object words"
    assert known.success_difference == unpaired_difference(with_all, without)
    assert unknown.success_difference.mean == -known.success_difference.mean
    assert (known.problems, known.trials, unknown.problems, unknown.trials) == (2, 6, 2, 5)
    labels = [row.group.by for row in found.rows]
    assert labels.index(VOCABULARY) < labels.index(WORDS)


@settings(max_examples=8)
@given(st.sets(st.sampled_from(["red", "apple", "banana", "fruit", "bowl", "box", "thing"])))
def test_more_words_never_lower_a_share_and_the_two_groups_part_the_trials_with_object_words(
    tmp_path_factory, vocabulary
):
    runs = tmp_path_factory.mktemp("runs")

    def shown(folder, words):
        return profile_of(results_of(profiled(runs / folder, base_trials(), NAMED, vocabulary=words)))

    # A policy that declares nothing has no row and no share; a word that no text says changes neither.
    fewer, more = shown("fewer", [*vocabulary, "zebra"]), shown("more", [*vocabulary, "fruit"])
    for a, b in zip(fewer.problems, more.problems, strict=True):
        assert (a.object_words is None) == (b.object_words is None)
        if a.object_words is not None:
            assert 0.0 <= a.object_words.share <= b.object_words.share <= 1.0
            assert set(a.object_words.unknown) == set(a.object_words.all) - vocabulary
    trials = sum(row.trials for row in fewer.rows if row.group.by == VOCABULARY)
    assert trials == sum(row.trials for row in fewer.problems if row.object_words is not None)


def test_tables_and_charts_show_the_words_only_if_a_policy_declares_its_vocabulary(worded, run):
    shown = ("words known", "all words known", "some words unknown", "4 of 6 (0.67)")
    for folder, declared in ((worded, True), (run, False)):
        found = profile_of(results_of(folder))
        assert [words in printed(profile_report(found)) for words in shown] == [declared] * len(shown)
        assert ("known_share" in found_columns(found)) == declared
    figure = Figure()
    drawings_of(profile_of(results_of(worded)))["profile"].draw(figure)
    labels = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert labels.index("vocabulary") + 1 == labels.index("all words known (2)")


def found_columns(found):
    """Return the columns of the tables for programs that have a value."""
    tables = profile_tables(found).values()
    return {name for table in tables for name in table.columns if table[name].null_count() < len(table)}


def printed(renderable):
    console = Console(file=StringIO(), width=160)
    console.print(renderable)
    return console.file.getvalue()


def test_results_and_the_page_show_it_all(run):
    write_results(run)
    text, page = (run.path / "summary.txt").read_text(), write_report(run).read_text()
    for words in ("reorientation", "put it away", "boxes/ten", "to the others"):
        assert words in page, words
    assert "words known" not in page, "the policy declares no vocabulary"
    assert "reorientation" in text and "hardest problems" in text
    assert {f"{name}.csv" for name in COLUMNS} <= {path.name for path in run.path.glob("*.csv")}
    assert pl.read_csv(run.path / "profile_problems.csv").height == len(PROFILES)
    assert 'id="chart-profile"' in page and 'id="chart-profile_costs"' in page
    assert {"profile.pdf", "profile_costs.png"} <= {path.name for path in run.figures.iterdir()}


def test_two_policies_are_compared_group_by_group_on_the_trials_that_both_have(tmp_path):
    trials = with_vague(base_trials())
    # The second policy always fails, and did not come to the last instances.
    other = [replace(told, solved=False) for told in trials[:-4]]
    folders = [profiled(tmp_path / name, own, policy=name) for name, own in (("able", trials), ("blind", other))]
    read = read_runs(folders)
    (comparison,) = read.comparisons
    rows = {(row.group.by, row.group.name): row for row in comparison.profile.rows}
    colour = rows["attribute", "color"]
    solved, problems = values("fruit/apple", "fruit/banana")
    solved, problems = [*solved, 0.0], [*problems, "boxes/turn"]
    assert (colour.problems, colour.pairs) == (3, 7)
    assert colour.first_success == cluster_mean(solved, problems) and colour.second_success.mean == 0.0
    assert colour.success_difference == paired_difference(solved, [0.0] * 7, problems) == colour.difference
    assert rows[WORDS, "vague"].pairs == 10 and ("subtasks", "10") not in rows
    write_comparison_page(read, [], tmp_path / "page.html", pictures=False)
    for shown in ((tmp_path / "page.html").read_text(), printed(comparison_report(read.comparisons, read.labels))):
        assert "reorientation" in shown and "all problems" in shown
    assert '"by": "attribute"' in comparison_json(read.comparisons)
