"""Observation-space shift of runs whose outcomes are known: each number once more by hand, and where it is shown."""

from __future__ import annotations

import math
from dataclasses import replace
from io import StringIO
from itertools import groupby

import numpy as np
import polars as pl
import pytest
from rich.console import Console
from scipy import stats
from told_runs import Told, told_run

from robocontrast_ros.analysis.estimates.observation_shift import SEVERAL, kind_of, modifications_of, shifts_of
from robocontrast_ros.analysis.estimates.results import compute_results
from robocontrast_ros.analysis.report.comparison_page import read_runs, write_comparison_page
from robocontrast_ros.analysis.report.run_page import run_page
from robocontrast_ros.analysis.tables.comparison import comparison_report
from robocontrast_ros.analysis.tables.observation_shift import COLUMNS, shift_report, shift_tables
from robocontrast_ros.analysis.write_results import write_results
from robocontrast_ros.domain import BASE
from robocontrast_ros.runs.events import TrialSkipped
from robocontrast_ros.runs.journal import read_journal
from robocontrast_ros.statistics.clusters import cluster_mean
from robocontrast_ros.statistics.observation_shift import dubr
from robocontrast_ros.strategies.chain import CHAIN
from robocontrast_ros.tasks.bddl.modifications import KINDS

ONCE, TWICE = "S_modify", "S_modify_2"
NOTES = {
    "toggle": "toggle (Open cabinet_top_region); back in the scene of the test instance, for in that of before: no",
    "add": "add (On onion_1 table_free)",
    "move": "move (On plate cabinet_top_side)",
}
TWO = "add (On corn_1 table_free), toggle (Open cabinet_top_region)"


def proof_of(*kinds):
    """Return the measures of a scene that has modifications of these kinds."""
    counts = [(kind, float(kinds.count(kind))) for kind in KINDS]
    return (("path_before_m", 1.0), ("modifications", float(len(kinds))), *counts)


# Skill -> successes of its six instances: in their own scenes, with one modification, and with two.
OUTCOMES = {
    "close_drawer": ("000000", "000000", "000000"),
    "open_drawer": ("111111", "111111", "000000"),
    "put_bowl": ("110100", "010000", "110100"),
    "put_pan": ("111010", "111111", "111110"),
}


def modified_trials(repeats=1):
    """Return the trials of ``OUTCOMES``; two modifications could not be made in the first instance of each skill."""
    trials = []
    for number, (skill, outcomes) in enumerate(OUTCOMES.items()):
        for k, solved in enumerate(zip(*outcomes, strict=True)):
            base = 6 * number + k
            for repeat in range(repeats):
                trials.append(Told(base, BASE, solved[0] == "1", problem=skill, repeat=repeat))
                kind, note = list(NOTES.items())[k % len(NOTES)]
                measures = proof_of(kind)
                trials.append(Told(base, ONCE, solved[1] == "1", note=note, measures=measures, repeat=repeat))
                if k:
                    measures = proof_of("add", "toggle")
                    trials.append(Told(base, TWICE, solved[2] == "1", note=TWO, measures=measures, repeat=repeat))
    return trials


def results_of(folder, trials, **given):
    return compute_results(read_journal(told_run(folder, "policy", trials, specs={}, **given).journal))


def ends_of(drawn, units):
    """Return the percentiles of a bootstrap's draws, expanded for few units."""
    tail = stats.norm.cdf(-np.sqrt(units / (units - 1)) * stats.t.ppf(0.975, units - 1))
    return np.nanquantile(drawn, (tail, 1.0 - tail))


def printed(renderable):
    console = Console(file=StringIO(), width=120)
    console.print(renderable)
    return console.file.getvalue()


def counts(outcomes, first=0):
    return [outcome[first:].count("1") for outcome in outcomes]


@pytest.fixture(scope="module")
def modified(tmp_path_factory):
    return results_of(tmp_path_factory.mktemp("modified") / "run", modified_trials())


def test_each_skill_has_its_successes_and_its_rpd_and_a_skill_that_is_never_solved_has_none(modified):
    once, twice = shifts_of(modified).shifts
    assert [(shift.policy, shift.perturbation) for shift in (once, twice)] == [("policy", ONCE), ("policy", TWICE)]
    for shift, column, first in ((once, 1, 0), (twice, 2, 1)):
        for one, (skill, outcomes) in zip(shift.skills, OUTCOMES.items(), strict=True):
            # Base trials of instances without a partner are left out.
            original, changed = counts((outcomes[0], outcomes[column]), first)
            assert (one.skill, one.pair.original, one.pair.modified) == (skill, original, changed)
            assert one.pair.trials == 6 - first
            assert one.rpd == (pytest.approx((original - changed) / original) if original else None)
    assert [one.rpd for one in once.skills] == [None, 0.0, pytest.approx(2 / 3), pytest.approx(-0.5)]


def test_the_numbers_over_skills_are_those_by_hand(modified):
    once, twice = shifts_of(modified).shifts
    # ORI: 0, 6, 3, 4 of 6; MOD: 0, 6, 1, 6 of 6.
    assert (once.pooled.original, once.pooled.modified) == pytest.approx((13 / 24, 13 / 24))
    assert once.pooled.rpd.mean == pytest.approx(0.0)
    assert (once.numbers.harmed, once.numbers.mean_rpd_harmed) == (1, pytest.approx(2 / 3))
    # ORI: 0, 5, 2, 3 of 5; MOD: 0, 0, 2, 4 of 5.
    assert twice.pooled.rpd.mean == pytest.approx((10 - 6) / 10) == pytest.approx(twice.numbers.pooled_rpd)
    assert (twice.numbers.harmed, twice.numbers.mean_rpd_harmed) == (1, 1.0)
    smallest = stats.fisher_exact([[5, 0], [0, 5]], alternative="greater").pvalue
    assert 4 * smallest < 0.05 and twice.numbers.found_harmed == 1, "the least of four p-values, by Holm's procedure"
    assert (once.numbers.found_harmed, twice.numbers.found_helped) == (0, 0)


def test_the_correlation_of_ori_and_rpd_leaves_out_skills_that_are_never_solved(modified):
    once, twice = shifts_of(modified).shifts
    # ORI 1, 1/2, 2/3 with RPD 0, 2/3, -1/2; then 1, 2/5, 3/5 with 1, 0, -1/3.
    assert (once.difficulty.skills, once.difficulty.rho.mean) == (3, pytest.approx(-0.5))
    assert (twice.difficulty.skills, twice.difficulty.rho.mean) == (3, pytest.approx(0.5))
    table = shift_tables(shifts_of(modified))["observation_shift"].filter(pl.col("kind") == "all")
    assert table["rho_mean"].to_list() == pytest.approx([-0.5, 0.5])
    assert table["p_rho"].to_list() == [once.difficulty.p, twice.difficulty.p]
    assert "are harder skills harmed more?" in " ".join(printed(shift_report(shifts_of(modified))).split())


def test_the_interval_of_the_pooled_rpd_contains_that_of_a_bootstrap_over_instances(modified):
    _, twice = shifts_of(modified).shifts
    rng = np.random.default_rng(7)
    pairs = [
        (skill, int(own), int(changed))
        for skill, (outcomes, _, others) in OUTCOMES.items()
        for own, changed in zip(outcomes[1:], others[1:], strict=True)
    ]
    drawn = []
    for _ in range(2000):
        chosen = sorted(pairs[k] for k in rng.integers(len(pairs), size=len(pairs)))
        rates = [np.mean([pair[1:] for pair in own], axis=0) for _, own in groupby(chosen, lambda pair: pair[0])]
        original, changed = np.mean(rates, axis=0)
        drawn.append(1.0 - changed / original)
    ends, same = ends_of(drawn, len(pairs)), twice.pooled.same
    others = (-end / twice.pooled.original for end in (same.difference.high, same.difference.low))
    low, high = zip(ends, others, strict=True)
    assert twice.pooled.rpd.low == pytest.approx(min(low), abs=0.04)
    assert twice.pooled.rpd.high == pytest.approx(max(high), abs=0.04)
    assert same.margin == pytest.approx(0.05 * twice.pooled.original)
    assert same.difference.mean == pytest.approx((6 - 10) / 20)


def test_a_policy_that_no_modification_changes_is_the_same_within_the_margin_with_enough_instances(tmp_path):
    measures = {BASE: (), ONCE: proof_of("add")}
    for instances, decided in ((44, False), (88, True)):
        trials = [
            Told(k, name, True, problem=f"skill {k % 44}", note=NOTES["add"], measures=measures[name])
            for k in range(instances)
            for name in (BASE, ONCE)
        ]
        (shift,) = shifts_of(results_of(tmp_path / str(instances), trials)).shifts
        assert shift.pooled.same.p_value == pytest.approx(0.95**instances)
        assert (shift.pooled.same.p_value < 0.05) is decided
        assert shift.pooled.rpd.low < 0.0 < shift.pooled.rpd.high, "no change was seen, and one is still possible"


def test_kinds_are_those_that_the_proof_counts(modified):
    assert [kind_of(dict(proof_of(*kinds))) for kinds in (("toggle",), ("add", "add"), ("add", "move"), ())] == [
        "toggle",
        "add",
        SEVERAL,
        "",
    ]
    once, twice = shifts_of(modified).shifts
    assert [(kind.kind, kind.trials) for kind in once.kinds] == [("add", 8), ("move", 8), ("toggle", 8)]
    assert [(kind.kind, kind.trials) for kind in twice.kinds] == [(SEVERAL, 20)]
    for kind in once.kinds:
        # Instances k and k + 3 of each skill.
        start = {"toggle": 0, "add": 1, "move": 2}[kind.kind]
        own = [[outcome[start] + outcome[start + 3] for outcome in outcomes] for outcomes in OUTCOMES.values()]
        original, changed = (np.mean([outcomes[n].count("1") / 2 for outcomes in own]) for n in (0, 1))
        assert (kind.pooled.original, kind.pooled.modified) == pytest.approx((original, changed))


def test_each_modification_has_its_outcomes_and_what_it_costs(modified):
    found = modifications_of({"policy": modified.trials})
    assert len(found) == 24 + 20
    trials = {row["index"]: row for row in modified.trials.to_dicts()}
    for one in found:
        (tried,) = one.tried
        own, changed = trials[tried.base_index], trials[tried.index]
        assert (own["perturbation"], changed["perturbation"]) == (BASE, one.perturbation)
        assert own["base_id"] == changed["base_id"] == one.base_id and changed["note"].startswith(one.note)
        assert (tried.alone, tried.modified) == (own["success"] == 1.0, changed["success"] == 1.0)
        assert one.lost == own["success"] - changed["success"] and not one.discordant
    # put_bowl: instances 12 and 15 are solved in their own scenes alone.
    broken = [one for one in found if one.lost > 0.0]
    assert [(one.skill, one.base_id, one.kind, one.note) for one in broken if one.perturbation == ONCE] == [
        ("put_bowl", "x-12", "toggle", "toggle (Open cabinet_top_region)"),
        ("put_bowl", "x-15", "toggle", "toggle (Open cabinet_top_region)"),
    ]
    assert [one.base_id for one in broken if one.perturbation == TWICE] == [f"x-{k}" for k in range(7, 12)]


def test_repeats_and_policies_are_trials_of_one_modification_and_another_note_is_another(tmp_path):
    def told(solved, note=NOTES["add"]):
        return [
            Told(0, name, name == BASE or one == "1", repeat=repeat, note=words, measures=measures)
            for repeat, one in enumerate(solved)
            for name, words, measures in ((BASE, "", ()), (ONCE, note, proof_of("add")))
        ]

    runs = {
        name: results_of(tmp_path / name, trials).trials
        for name, trials in (("a", told("10")), ("b", told("11")), ("c", told("00", "add (On fig_1 plate)")))
    }
    both, other = modifications_of(runs)
    assert [(one.policy, one.repeat, one.modified) for one in both.tried] == [
        ("a", 0, True),
        ("a", 1, False),
        ("b", 0, True),
        ("b", 1, True),
    ]
    assert both.lost == 0.25 and both.discordant
    assert {one.policy for one in other.tried} == {"c"} and not other.discordant


def test_repeats_are_one_cluster_and_no_test_takes_them_as_independent(tmp_path):
    results = results_of(tmp_path / "run", modified_trials(repeats=2))
    once, twice = shifts_of(results).shifts
    assert not once.independent and twice.skills[1].pair.trials == 10
    assert once.pooled.same.instances == 24
    row = shift_tables(shifts_of(results))["observation_shift"].row(0, named=True)
    assert (row["harmed"], row["expected_harmed"], row["holm_harmed"]) == (1, None, None)


# Chain -> whether each of its skills is solved alone, and in turn as far as it comes.
A, B = ("open", "put", "close"), ("put", "close", "open")
RUNS = [
    (A, "111", "111"),
    (A, "110", "110"),
    (A, "111", "10"),
    (A, "101", "111"),
    (B, "111", "0"),
    (B, "011", "110"),
    (B, "111", "111"),
    (B, "100", "0"),
]


def chain_trials(runs=RUNS, repeat=0):
    """Return the trials and the skips of chains; the first skill's trial alone is also its first in the chain."""
    trials, skips = [], []
    for number, (skills, alone, done) in enumerate(runs):
        bases = [4 * number + k for k in range(len(skills))]
        own = [
            {"problem": skill, "after": bases[k - 1] if k else None, "repeat": repeat} for k, skill in enumerate(skills)
        ]
        for k in reversed(range(len(skills))):
            solved = (alone if k else done)[k] == "1"
            trials.append(Told(bases[k], BASE, solved, **own[k]))
        trials += [Told(bases[k], CHAIN, done[k] == "1", **own[k]) for k in range(1, len(done))]
        skips += [TrialSkipped(f"x-{bases[k]}", CHAIN, "its chain ended", 1.0) for k in range(len(done), len(skills))]
    return trials, skips


@pytest.fixture(scope="module")
def chained(tmp_path_factory):
    trials, skips = chain_trials()
    return results_of(tmp_path_factory.mktemp("chained") / "run", trials, skipped=skips, step_limit=250)


def rates_of(runs):
    found = {}
    for skills, alone, done in runs:
        for skill, solved in zip(skills, done[0] + alone[1:], strict=True):
            found.setdefault(skill, []).append(solved == "1")
    return {skill: float(np.mean(solved)) for skill, solved in found.items()}


def test_levels_bound_and_dubr_of_chains_are_those_by_hand(chained):
    (chains,) = shifts_of(chained).chains
    assert (chains.policy, chains.step_limit, chains.incomplete) == ("policy", 250, 0)
    rates = rates_of(RUNS)
    assert rates == {"open": 7 / 8, "put": 5 / 8, "close": 6 / 8}
    for row, skills in zip(chains.rows, (A, B), strict=True):
        own = [(alone, done) for chain, alone, done in RUNS if chain == skills]
        levels = [np.mean([done[: i + 1] == "1" * (i + 1) for _, done in own]) for i in range(3)]
        bound = math.prod(rates.values())
        assert (row.skills, row.runs, row.chains) == (skills, 4, 4)
        assert row.alone == tuple(rates[skill] for skill in skills)
        assert [level.mean for level in row.levels] == levels
        assert row.shift.bound == pytest.approx(bound)
        assert row.shift.dubr.mean == pytest.approx((bound - levels[-1]) / bound)
    assert [level.mean for level in chains.all.levels] == [6 / 8, 5 / 8, 3 / 8]
    assert chains.all.shift.dubr.mean == pytest.approx(dubr(3 / 8, math.prod(rates.values())))
    assert chains.all.levels[1] == cluster_mean([1, 1, 0, 1, 0, 1, 1, 0], range(8))
    assert [run.level for run in chains.runs] == [3, 2, 1, 3, 0, 2, 3, 0]
    assert chains.runs[2].steps[2].index is None and chains.runs[2].steps[2].reason == "its chain ended"


def test_the_interval_of_dubr_is_of_a_bootstrap_over_chains_with_what_their_skills_do_alone(chained):
    (chains,) = shifts_of(chained).chains
    rng, drawn = np.random.default_rng(3), []
    for _ in range(2000):
        chosen = [RUNS[k] for k in rng.integers(len(RUNS), size=len(RUNS))]
        rates = rates_of(chosen)
        bound = np.mean([math.prod(rates[skill] for skill in skills) for skills, _, _ in chosen])
        drawn.append(1.0 - np.mean([done == "111" for _, _, done in chosen]) / bound if bound else np.nan)
    found = chains.all.shift
    assert np.isnan(drawn).mean() < 0.05
    others = ((found.bound - end) / found.bound for end in (found.actual.high, found.actual.low))
    low, high = zip(ends_of(drawn, len(RUNS)), others, strict=True)
    # The lower tail is that of draws with a small bound, where a share more or less counts for much.
    assert found.dubr.low == pytest.approx(min(low), rel=0.25)
    assert found.dubr.high == pytest.approx(max(high), abs=0.02)


def test_a_chain_with_a_skill_that_is_never_solved_has_no_dubr(tmp_path):
    trials, skips = chain_trials([(A, "110", "110"), (A, "110", "10")])
    found = shifts_of(results_of(tmp_path / "run", trials, skipped=skips))
    (chains,) = found.chains
    assert (chains.rows[0].shift.bound, chains.rows[0].shift.dubr.mean) == (0.0, None)
    table = shift_tables(found)["chains"]
    assert table["dubr_mean"].null_count() == len(table) == 6
    assert table["step_limit"].null_count() == 6, "it is not known"


def test_a_run_that_was_cut_off_is_in_no_number_and_repeats_are_runs_of_one_chain(tmp_path):
    first, skips = chain_trials(RUNS[:4])
    again, _ = chain_trials([(A, "111", "111")], repeat=1)
    # The session ended before the last skill of the second repeat.
    found = shifts_of(results_of(tmp_path / "run", [*first, *again[:-1]], skipped=skips))
    (chains,) = found.chains
    assert (chains.incomplete, chains.all.runs, chains.all.chains) == (1, 4, 4)
    whole = shifts_of(results_of(tmp_path / "whole", [*first, *again], skipped=skips)).chains[0]
    assert (whole.incomplete, whole.all.runs, whole.all.chains) == (0, 5, 4)
    assert whole.all.levels[-1].mean == 3 / 5


def test_a_skill_in_a_chain_is_compared_with_itself_alone(chained):
    (shift,) = shifts_of(chained).shifts
    assert (shift.perturbation, shift.kinds) == (CHAIN, ())
    # put: runs 0 to 3, solved alone in 0, 1, 2 and in the chain in 0, 1, 3; close: runs 0, 1, 3 of A, and 5, 6 of B.
    pairs = {one.skill: (one.pair.original, one.pair.modified, one.pair.trials) for one in shift.skills}
    assert pairs == {"put": (3, 3, 4), "close": (4, 4, 5), "open": (2, 1, 2)}


def test_tables_have_their_columns_and_mark_what_is_undefined(modified, chained):
    for results, files in ((modified, 2), (chained, 3)):
        tables = shift_tables(shifts_of(results))
        assert len(tables) == files
        for name, table in tables.items():
            assert table.schema == {key: kind for key, (kind, _) in COLUMNS[name].items()}
    skills = shift_tables(shifts_of(modified))["observation_shift_skills"]
    assert skills.filter(pl.col("rpd").is_null())["skill"].unique().to_list() == ["close_drawer"]
    kinds = shift_tables(shifts_of(modified))["observation_shift"]
    assert kinds["kind"].to_list() == ["all", "add", "move", "toggle", "all", SEVERAL]
    assert kinds.filter(pl.col("kind") != "all")["harmed"].null_count() == 4


def test_results_and_the_page_show_it_all(tmp_path):
    trials, skips = chain_trials()
    moved = [
        Told(
            told.base + 40, told.perturbation, told.solved, problem=told.problem, note=told.note, measures=told.measures
        )
        for told in modified_trials()
    ]
    run = told_run(tmp_path / "run", "policy", [*trials, *moved], specs={}, skipped=skips, step_limit=250)
    journal = read_journal(run.journal)
    write_results(run)
    text = (run.path / "summary.txt").read_text()
    page = run_page(run, journal, compute_results(journal))
    for words in ("observation-space", "undefined", "put_bowl", "put → close → open", "Step limit: 250"):
        assert words in text and words in page.replace("&gt;", ">"), words
    assert {path.name for path in run.path.glob("*.csv")} == {f"{name}.csv" for name in (*COLUMNS, "trials")}
    assert "put\\_bowl" not in (run.path / "observation_shift.tex").read_text()
    assert pl.read_csv(run.path / "chains.csv").height == 9
    assert page.count('class="skill') == 24 and page.count('class="skill unreached"') == 5
    assert "broke at skill 2 of 3, put: " not in page and "broke at skill 2 of 3, put" in page
    assert page.count('data-became="lost"') == 7 and "robocontrast shift run" in page


def test_a_run_without_modifications_and_chains_has_nothing_of_it(tmp_path):
    trials = [Told(k, name, True) for k in range(3) for name in (BASE, "S")]
    run = told_run(tmp_path / "run", "policy", trials)
    journal = read_journal(run.journal)
    results = compute_results(journal)
    assert not results.has_shifts and shifts_of(results) is None
    write_results(run)
    assert "RPD" not in (run.path / "summary.txt").read_text() and not (run.path / "chains.csv").exists()
    assert 'id="shift"' not in run_page(run, journal, results)


def test_two_policies_are_compared_by_the_pooled_rpd_of_the_trials_that_both_have(tmp_path):
    trials = modified_trials()
    other = [told for told in trials if told.base >= 12]
    folders = [
        told_run(tmp_path / name, name, own, specs={}, metric="success") for name, own in (("a", trials), ("b", other))
    ]
    read = read_runs(folders)
    (comparison,) = read.comparisons
    once, twice = comparison.shifts
    assert (once.perturbation, once.skills, once.pairs) == (ONCE, 2, 12)
    assert (twice.skills, twice.pairs) == (2, 10)
    assert once.first == once.second
    write_comparison_page(read, [], tmp_path / "page.html", pictures=False)
    for shown in ((tmp_path / "page.html").read_text(), printed(comparison_report(read.comparisons, read.labels))):
        assert "pooled RPD" in shown
    assert once.first.mean == pytest.approx((7 - 7) / 7) and twice.first.mean == pytest.approx((5 - 6) / 5)


def test_a_comparison_lists_the_modifications_under_which_one_policy_alone_succeeds(tmp_path):
    trials = modified_trials()
    changed = [told for told in trials if told.base in (7, 13) and told.perturbation != BASE]
    other = [replace(told, solved=not told.solved) if told in changed else told for told in trials]
    folders = [
        told_run(tmp_path / name, name, own, specs={}, metric="success") for name, own in (("a", trials), ("b", other))
    ]
    write_comparison_page(read_runs(folders), [], tmp_path / "page.html", pictures=False)
    page = (tmp_path / "page.html").read_text()
    assert page.count('data-became="lost"') == page.count("data-became=") == len(changed) == 4
    for told in changed:
        assert f'data-words="x-{told.base} ' in page
    assert page.count('<span class="mark failure">✓ → ✗</span>') == 2 * 4, "in the table, and opened"
    assert page.count("robocontrast shift a") == 1
