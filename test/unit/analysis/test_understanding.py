"""Does it understand? Verdicts of policies whose behaviour is known, and what makes no verdict possible."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from matplotlib.figure import Figure
from told_runs import MASKS, SPECS, Told, always, often, told_run, trials_of

from robocontrast_ros.analysis.estimates.results import compute_results
from robocontrast_ros.analysis.estimates.understanding import (
    MEANINGS,
    ChanceBy,
    Verdict,
    understanding_of,
    verdict_of,
)
from robocontrast_ros.analysis.figures.understanding import LOOKS, drawings_of
from robocontrast_ros.analysis.report.run_page import run_page
from robocontrast_ros.analysis.tables.understanding import COLUMNS, GROUPS, understanding_tables, understanding_tex
from robocontrast_ros.domain import BASE, Expectation, Filter
from robocontrast_ros.runs.journal import read_journal

INSTANCES = 40
NEVER, ALWAYS = always(False), always(True)
SOUND = trials_of(
    INSTANCES,
    often,
    paraphrase=often,
    LB=often,
    vague=lambda base: base % 2 == 0,
    gobbledygook_words=NEVER,
    wrong_instruction=lambda base: base == 5,
)
IGNORES_WORDS = trials_of(
    INSTANCES, often, paraphrase=often, vague=often, gobbledygook_words=often, wrong_instruction=often
)


def results_of(folder, trials, policy="policy", **given):
    return compute_results(read_journal(told_run(folder / policy, policy, trials, **given).journal))


def checked(folder, trials, **given):
    found = understanding_of([results_of(folder, trials, **given)])
    assert found is not None
    (check,) = found.checks
    return check


def verdicts(check):
    return {row.name: row.verdict for row in check.rows}


def test_a_policy_that_understands_is_robust_to_what_is_plausible_and_fails_where_nobody_could_succeed(tmp_path):
    check = checked(tmp_path, SOUND)
    assert verdicts(check) == {
        "paraphrase": Verdict.ROBUST,
        # What is expected changes, and it does that as well.
        "LB": Verdict.ROBUST,
        "vague": Verdict.NO_EXPECTATION,
        "gobbledygook_words": Verdict.SOUND,
        "wrong_instruction": Verdict.SOUND,
    }
    assert check.flagged == ()
    row = check.row("gobbledygook_words")
    assert (row.base.mean, row.perturbed.mean, row.change.difference.mean) == (0.9, 0.0, -0.9)
    assert row.change.instances == row.trials == INSTANCES
    assert check.chance.by is ChanceBy.WRONG and check.chance.counted.mean == 1 / INSTANCES


def test_a_policy_that_ignores_words_is_flagged_although_another_instruction_does_not_change_its_success(tmp_path):
    check = checked(tmp_path, IGNORES_WORDS)
    assert verdicts(check) == {
        "paraphrase": Verdict.ROBUST,
        "vague": Verdict.NO_EXPECTATION,
        "gobbledygook_words": Verdict.WITHOUT_UNDERSTANDING,
        "wrong_instruction": Verdict.WITHOUT_UNDERSTANDING,
    }
    assert [row.name for row in check.flagged] == ["gobbledygook_words", "wrong_instruction"]
    # Not 0: that no instance of 40 changed does not show that none ever does.
    assert check.flagged[0].change.p_value == pytest.approx(0.85**INSTANCES)
    assert (check.chance.measured.mean, check.chance.counted.mean) == (0.9, 0.15)


def test_a_policy_without_skill_has_no_verdict_but_that(tmp_path):
    seldom = trials_of(
        INSTANCES, lambda base: base % 8 == 0, paraphrase=NEVER, mask_all=NEVER, wrong_instruction=lambda b: b % 8 == 1
    )
    check = checked(tmp_path, seldom)
    assert set(verdicts(check).values()) == {Verdict.NO_SKILL}
    never = checked(tmp_path / "never", trials_of(INSTANCES, NEVER, mask_all=NEVER))
    assert set(verdicts(never).values()) == {Verdict.NO_SKILL} and never.chance.by is ChanceBy.NOTHING


def test_a_control_run_of_the_random_policy_measures_chance_in_the_place_of_another_instruction(tmp_path):
    # In an easy task everybody succeeds, whatever is said.
    run = results_of(tmp_path, IGNORES_WORDS)
    control = results_of(tmp_path, trials_of(INSTANCES, often), "random")
    (check,) = understanding_of([run], control=control).checks
    assert check.chance.by is ChanceBy.CONTROL and check.chance.measured.mean == 0.9
    assert {row.verdict for row in check.rows if row.tested} == {Verdict.NO_SKILL}


def test_a_policy_that_seldom_succeeds_cannot_lose_enough_to_be_called_anything(tmp_path):
    check = checked(tmp_path, trials_of(INSTANCES, lambda base: base < 5, mask_all=lambda base: base < 5))
    assert verdicts(check) == {"mask_all": Verdict.UNDECIDED}
    assert check.rows[0].change.p_value < 0.05


def test_few_instances_decide_nothing(tmp_path):
    few = trials_of(8, ALWAYS, paraphrase=often, mask_all=lambda base: base > 2)
    assert set(verdicts(checked(tmp_path, few)).values()) == {Verdict.UNDECIDED}
    one = checked(tmp_path / "one", trials_of(1, ALWAYS, mask_all=ALWAYS))
    assert verdicts(one) == {"mask_all": Verdict.UNDECIDED} and one.rows[0].change.p_value is None


def test_p_values_are_adjusted_for_the_perturbations_that_are_judged(tmp_path):
    check = checked(tmp_path, SOUND)
    row = check.row("paraphrase")
    assert row.p_harmless_adjusted == pytest.approx(4 * row.change.p_not_worse)
    assert row.p_same_adjusted == pytest.approx(4 * row.change.p_value)
    assert check.row("vague").p_harmless_adjusted is None
    alone = checked(tmp_path / "alone", trials_of(INSTANCES, often, paraphrase=often)).rows[0]
    assert (alone.p_harmless_adjusted, alone.verdict) == (None, Verdict.ROBUST)


def test_a_policy_that_succeeds_more_often_without_its_words_is_flagged_as_well(tmp_path):
    check = checked(tmp_path, trials_of(INSTANCES, lambda base: base % 3 != 0, mask_all=ALWAYS, paraphrase=ALWAYS))
    assert verdicts(check) == {"mask_all": Verdict.WITHOUT_UNDERSTANDING, "paraphrase": Verdict.ROBUST}
    # It is not the same, and it is harmless.
    assert check.rows[0].change.p_value > 0.5


def test_a_harm_within_the_margin_is_no_harm_that_matters():
    for should_fail, both, harmful in (
        (False, Verdict.ROBUST, Verdict.BRITTLE),
        (True, Verdict.WITHOUT_UNDERSTANDING, Verdict.SOUND),
    ):
        expectation = Expectation.SHOULD_FAIL if should_fail else Expectation.KEEPS_SUCCESS
        assert verdict_of(expectation, harmful=True, harmless=True) is both
        assert verdict_of(expectation, harmful=True, harmless=False) is harmful
        assert verdict_of(expectation, harmful=False, harmless=False) is Verdict.UNDECIDED
    assert verdict_of(Expectation.UNKNOWN, harmful=True, harmless=False) is Verdict.NO_EXPECTATION
    assert set(MEANINGS) == set(LOOKS) == set(Verdict) and set(GROUPS) == set(Expectation)


def test_perturbations_that_came_to_the_same_words_are_one_row(tmp_path):
    trials = [
        replace(told, words="red moon") if told.perturbation in ("mask_words", "mask_referents") else told
        for told in trials_of(INSTANCES, often, **dict.fromkeys(MASKS, often), paraphrase=often)
    ]
    check = checked(tmp_path, trials)
    assert [row.name for row in check.rows] == ["mask_words = mask_referents", "mask_all", "paraphrase"]
    row = check.rows[0]
    assert (row.trials, row.change.instances) == (2 * INSTANCES, INSTANCES)
    # One row, one test: the adjustment is for three.
    assert row.p_harmless_adjusted == pytest.approx(3 * row.change.p_not_worse)


def test_a_perturbation_that_the_policy_did_not_receive_is_no_evidence(tmp_path):
    trials = trials_of(INSTANCES, often, lower_case=often, mask_all=NEVER)
    same = [
        replace(told, words=f"push {told.base}") if told.perturbation in (BASE, "lower_case") else told
        for told in trials
    ]
    check = checked(tmp_path / "same", same)
    assert verdicts(check) == {"base = lower_case": Verdict.SAME_AS_BASE, "mask_all": Verdict.SOUND}
    # A single trial with other words is enough for a perturbation of its own.
    index = next(i for i, told in enumerate(same) if told.perturbation == "lower_case")
    same[index] = replace(same[index], words="PUSH")
    assert "lower_case" in verdicts(checked(tmp_path / "other", same))


def test_the_same_words_with_other_segments_are_another_condition(tmp_path):
    trials = trials_of(INSTANCES, often, lower_case=often, vague=often)
    same = [replace(told, words=f"push {told.base}", segments="a") for told in trials]
    assert list(verdicts(checked(tmp_path / "same", same))) == ["base = lower_case = vague"]
    shown = [replace(told, segments="b") if told.perturbation == "vague" else told for told in same]
    assert list(verdicts(checked(tmp_path / "shown", shown))) == ["base = lower_case", "vague"]


def test_what_is_shown_through_a_filter_is_not_what_the_base_trials_showed(tmp_path):
    spec = {"blur_3": replace(SPECS["paraphrase"], axes="O"), "noise_3": replace(SPECS["paraphrase"], axes="O")}
    trials = trials_of(INSTANCES, often, blur_3=often, noise_3=often)
    shown = [
        replace(told, filters=(Filter(told.perturbation[:-2], 3),)) if told.perturbation != BASE else told
        for told in trials
    ]
    assert list(verdicts(checked(tmp_path, shown, specs=spec))) == ["blur_3", "noise_3"]
    assert list(verdicts(checked(tmp_path / "none", trials, specs=spec))) == ["base = blur_3 = noise_3"]
    blind = checked(tmp_path / "blind", shown, specs=spec, sees=False)
    assert list(verdicts(blind)) == ["base = blur_3 = noise_3"], "a policy without a camera was shown what it is always"
    late = [replace(t, filters=(Filter("latency", 1),)) if t.filters else t for t in shown]
    assert list(verdicts(checked(tmp_path / "late", late, specs=spec, sees=False))) == ["blur_3 = noise_3"]


def test_the_same_words_in_another_scene_are_another_condition(tmp_path):
    assert list(verdicts(checked(tmp_path, trials_of(INSTANCES, often, S=often, mask_all=often)))) == ["S", "mask_all"]


def test_without_an_answer_of_the_policy_what_was_sent_counts(tmp_path):
    check = checked(tmp_path, SOUND, says=False)
    assert len(check.rows) == 5 and check.row("gobbledygook_words").verdict is Verdict.SOUND


def test_repeats_of_base_trials_are_the_zero_line(tmp_path):
    trials = trials_of(INSTANCES, often, mask_all=NEVER)
    assert checked(tmp_path, trials).retest is None
    again = [Told(number, BASE, often(number) or number == 3, repeat=1) for number in range(INSTANCES)]
    retest = checked(tmp_path / "again", [*trials, *again]).retest
    assert (retest.pairs, retest.instances) == (INSTANCES, INSTANCES)
    assert retest.changed.mean == retest.difference.mean == 1 / INSTANCES
    assert retest.difference.low < 0.0 < retest.difference.high


def test_an_older_journal_is_asked_for_names_that_are_installed(tmp_path):
    trials = [*trials_of(INSTANCES, often, mask_all=NEVER), Told(0, "no_such_perturbation", True)]
    check = checked(tmp_path, trials, specs={})
    assert verdicts(check) == {"mask_all": Verdict.SOUND}
    assert check.left_out == ("no_such_perturbation",)


def test_a_run_that_changes_scenes_and_goals_alone_is_not_checked(tmp_path):
    assert understanding_of([results_of(tmp_path, trials_of(4, often, LB=often, S=often))]) is None
    assert understanding_of([]) is None


def test_tables_have_a_row_a_perturbation_and_success_by_level_condition_and_policy(tmp_path):
    runs = [
        results_of(tmp_path, SOUND, "first"),
        results_of(tmp_path, IGNORES_WORDS, "second"),
        results_of(tmp_path / "L2", SOUND, "first", task="unseen"),
        results_of(tmp_path / "again", SOUND, "first"),
    ]
    found = understanding_of(runs)
    policies = [check.policy for check in found.checks]
    assert policies == [f"first ({tmp_path / 'first'})", "second", "first", f"first ({tmp_path / 'again' / 'first'})"]
    tables = understanding_tables(found)
    assert {name: tuple(table.columns) for name, table in tables.items()} == {n: tuple(c) for n, c in COLUMNS.items()}
    rows = tables["understanding"].filter(policy="second")
    assert rows["perturbation"].to_list() == ["paraphrase", "vague", "gobbledygook_words", "wrong_instruction"]
    assert rows["difference_mean"].to_list() == [0.0] * 4
    tex = understanding_tex(found)
    assert r"$90\;[77, 96]$" in tex and "unseen & base" in tex


def labels(figure: Figure):
    """Return the boxes of the texts at the left of a chart, from top to bottom [pixel]."""
    figure.draw_without_rendering()
    texts = figure.axes[0].get_yticklabels()
    return sorted((text.get_window_extent() for text in texts), key=lambda box: -box.y1)


@pytest.mark.parametrize("width", [3.4, 7.0])
@pytest.mark.parametrize("number", [1, 6, 20])
def test_no_texts_of_the_chart_overlap(tmp_path, number, width):
    names = [f"{'mask' if i % 3 else 'say'}_{i}" for i in range(number)]
    specs = {name: SPECS["mask_all" if i % 3 else "paraphrase"] for i, name in enumerate(names)}
    trials = trials_of(12, often, **{name: often if i % 2 else NEVER for i, name in enumerate(names)})
    same = [replace(told, words="") if told.perturbation in names[-4:-1] else told for told in trials]
    drawing = drawings_of(understanding_of([results_of(tmp_path, same, specs=specs)]))["understanding"]
    figure = Figure(figsize=(width, drawing.height), layout="constrained")
    drawing.draw(figure)
    found = labels(figure)
    assert all(above.y0 > below.y1 for above, below in pairwise(found))
    assert all(box.x0 >= 0.0 for box in found)
    below = figure.axes[0].xaxis.label.get_window_extent()
    assert below.x1 <= figure.bbox.x1 and below.y0 >= 0.0
    legend = figure.axes[0].get_legend().get_window_extent()
    assert legend.y0 >= found[0].y1 - 2.0 and legend.x0 >= 0.0 and legend.x1 <= figure.bbox.x1


def test_the_page_of_a_run_flags_what_it_succeeds_under_without_understanding(tmp_path):
    for solves, flagged in ((often, 1), (NEVER, 0)):
        run = told_run(tmp_path / f"{flagged}", "policy", trials_of(20, often, mask_all=solves))
        journal = read_journal(run.journal)
        page = run_page(run, journal, compute_results(journal))
        assert page.count('<div class="notice alarm">') == page.count('<b class="alarm">') == flagged
        assert 'id="chart-understanding"' in page and "Test-retest: not measured" in page
        assert page.count("in the base trials; difference +0.00 [") == flagged
    plain = told_run(tmp_path / "plain", "policy", trials_of(3, often, S=often))
    journal = read_journal(plain.journal)
    assert "Does it understand" not in run_page(plain, journal, compute_results(journal))
