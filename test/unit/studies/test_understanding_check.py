"""A check of understanding from nothing: real sessions, the verdicts of which are compared with what is expected."""

from __future__ import annotations

from collections import defaultdict

import polars as pl
import pytest
import yaml
from typer import Exit

from robocontrast_ros.analysis.estimates.results import compute_results
from robocontrast_ros.analysis.estimates.understanding import Verdict
from robocontrast_ros.analysis.report.run_page import run_page
from robocontrast_ros.cli.terminal import Console
from robocontrast_ros.cli.understanding import run_understanding, understanding
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.configuration.files import known_names
from robocontrast_ros.domain import Outcome
from robocontrast_ros.runs.events import TrialFinished
from robocontrast_ros.runs.journal import read_journal
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.studies.understanding import Job, _run, load_check, run_check
from robocontrast_ros.tasks import levels

pytestmark = pytest.mark.usefixtures("figures_undrawn")

LEVELS = {
    "task": "language_table_distracting",
    "policies": ["oracle"],
    "train": {"families": ["block_to_block"], "objects": ["red_moon", "blue_cube"]},
    "tests": {},
}
"""An oracle that knows two blocks and one family."""


@pytest.fixture
def check(tmp_path):
    """Write a check of two policies on two instances, with what is changed; return its file."""

    def write(**changes):
        session = {
            "name": "small",
            "seed": 0,
            "task": "language_table_two_blocks",
            "robot": "franka",
            "policy": "oracle",
            "strategy": {"name": "contrast_set", "perturbations": ["mask_all", "upper_case"]},
            "test_set": {"size": 2, "families": ["block_to_block"]},
        }
        (tmp_path / "session.yaml").write_text(yaml.safe_dump(session))
        content = {
            "name": "small",
            "session": "./session.yaml",
            "policies": ["oracle", "random"],
            "chance": "random",
            "seeds": [4],
            "expected": {"random": {"no skill": ["mask_all", "upper_case"]}},
        }
        file = tmp_path / "check.yaml"
        file.write_text(yaml.safe_dump(content | changes))
        return file

    return write


def interrupted(*arguments):
    raise KeyboardInterrupt


def test_a_check_runs_its_sessions_once_and_says_whether_the_verdicts_are_as_expected(tmp_path, check, monkeypatch):
    console = Console(record=True, width=120)
    run_understanding(str(check()), tmp_path / "out", 1, console)
    assert "every verdict is the expected one" in console.export_text()
    assert {file.name for file in (tmp_path / "out" / "seed4").iterdir()} >= {"oracle", "random", "understanding_0.png"}
    runs = sorted((tmp_path / "out").glob("seed4/*/*/journal.jsonl"))
    assert len(runs) == 2
    wrong = {"oracle": {"acts without understanding": ["mask_all"]}, "random": {"no skill": ["vague"]}}
    with pytest.raises(Exit) as ended:
        run_understanding(str(check(expected=wrong)), tmp_path / "out", 1, console)
    assert ended.value.exit_code == 1
    said = console.export_text()
    assert "seed 4, oracle, mask_all: expected acts without understanding, found undecided" in said
    assert "seed 4, random, vague: expected no skill, found nothing" in said
    assert sorted((tmp_path / "out").glob("seed4/*/*/journal.jsonl")) == runs, "what is done is not run again"
    file, session = check(policies=["random"], expected={}), tmp_path / "session.yaml"
    session.write_text(session.read_text().replace("size: 2", "size: 1"))
    run_understanding(str(file), tmp_path / "out", 1, console)
    again = sorted((tmp_path / "out").glob("seed4/random/*/journal.jsonl"))
    assert len(again) == 2, "with another session, another run"
    parameters, _ = load_check(str(file))
    monkeypatch.setattr("robocontrast_ros.studies.understanding.run_session", interrupted)
    with pytest.raises(KeyboardInterrupt):
        _run(parameters, file, tmp_path / "out", Job(4, "./session.yaml", "random"))
    assert not (tmp_path / "out" / "seed4" / "random" / "done").exists(), "an interrupted run is not done"


@pytest.fixture(scope="module")
def levelled(tmp_path_factory):
    """Run a check of two sessions, of two robots, whose instances have three levels; return its file and its folder."""
    folder = tmp_path_factory.mktemp("levels")
    task = known_names("tasks")["language_table_two_blocks"].read_text()
    for old, new in (
        ("name: language_table_two_blocks", "name: far"),
        ("models/language_table/{block}", "models/language_table_further/{block}"),
        ("blocks: [red_moon, blue_cube]", "blocks: [red_star, yellow_moon]"),
    ):
        assert old in task
        task = task.replace(old, new)
    (folder / "far_task.yaml").write_text(task)
    # The shipped one knows the blocks of its own task alone.
    oracle = known_names("policies")["oracle"].read_text()
    assert "tasks/language_table.yaml" in oracle
    oracle = oracle.replace("tasks/language_table.yaml", "tasks/language_table_distracting.yaml")
    (folder / "oracle.yaml").write_text(oracle)
    shared = {"seed": 0, "policy": "oracle", "scores": ["mistakes", "success_without_mistakes"]}
    strategy = {"name": "contrast_set", "perturbations": ["mask_all", "paraphrase"]}
    for name, own in {
        "near": {"task": "language_table_two_blocks", "robot": "franka", "test_set": {"size": 4}},
        "far": {"task": "./far_task.yaml", "robot": "ur5e", "test_set": {"size": 2, "families": ["block_to_block"]}},
    }.items():
        content = {"name": name, "strategy": strategy} | shared | own
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(content))
    check = {
        "name": "levels",
        "sessions": ["./near.yaml", "./far.yaml"],
        "policies": ["./oracle.yaml", "random"],
        "chance": "random",
        "seeds": [9],
    }
    (folder / "check.yaml").write_text(yaml.safe_dump(check))
    (folder / "trained.yaml").write_text(yaml.safe_dump(LEVELS))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(levels, "known_names", lambda kind: {"trained": folder / "trained.yaml"})
        console = Console(record=True, width=120)
        run_understanding(str(folder / "check.yaml"), folder / "out", 1, console, no_mistakes=True)
        yield folder, console.export_text()


def journals_of(folder, session, policy):
    (journal,) = (folder / "out" / "seed9" / session / policy).glob("*/journal.jsonl")
    return read_journal(journal)


def counted_by_hand(folder, policy):
    """Return level and condition -> outcome and score of success without mistakes of each trial in the journals."""
    found = defaultdict(list)
    for session in ("near", "far"):
        for event in journals_of(folder, session, policy).events:
            if isinstance(event, TrialFinished):
                task_is_new = event.trial.instance.instruction.family != "block_to_block"
                level = "L3" if session == "far" else "L4" if task_is_new else "L1"
                solved = event.result.outcome is Outcome.SUCCESS
                found[level, event.trial.perturbation].append(
                    (solved, solved and event.result.scores["success_without_mistakes"] == 1.0)
                )
    return found


@pytest.mark.parametrize("policy", ["oracle", "random"])
def test_each_cell_of_the_table_of_levels_is_what_the_journals_of_all_sessions_hold(levelled, policy):
    folder, _ = levelled
    table = pl.read_csv(folder / "out" / "seed9" / "understanding_levels.csv").filter(policy=policy)
    by_hand = counted_by_hand(folder, policy)
    # The random policy was trained on nothing: it is shown at the levels of the policy beside it.
    assert {level for level, _ in by_hand} == set(table["level"]) == {"L1", "L3", "L4"}
    assert len(table) == len(by_hand)
    for row in table.to_dicts():
        trials = by_hand[row["level"], row["condition"]]
        assert row["trials"] == row["instances"] == len(trials), row
        assert row["success_mean"] == pytest.approx(sum(solved for solved, _ in trials) / len(trials)), row
        assert row["no_mistakes_mean"] == pytest.approx(sum(clean for _, clean in trials) / len(trials)), row
        assert row["success_low"] is None or row["success_low"] <= row["success_mean"] <= row["success_high"]
    if policy == "oracle":
        assert table.filter(condition="base")["success_mean"].to_list() == [1.0] * 3
    else:
        assert table["success_mean"].sum() > table["no_mistakes_mean"].sum() == 0.0, "by luck, and not without mistakes"


def test_the_verdicts_of_a_check_are_of_the_instances_of_all_sessions(levelled):
    folder, said = levelled
    policies = pl.read_csv(folder / "out" / "seed9" / "understanding_policies.csv")
    assert policies["policy"].to_list() == ["oracle", "random"] and policies["instances"].to_list() == [6, 6]
    assert policies["level"].to_list() == ["L1, L3, L4"] * 2
    rows = pl.read_csv(folder / "out" / "seed9" / "understanding.csv").filter(policy="oracle")
    assert dict(zip(rows["perturbation"], rows["instances"], strict=True)) == {"mask_all": 6, "paraphrase": 6}
    assert "sound" in said and "base, no mistakes" in said
    written = {file.name for file in (folder / "out" / "seed9").iterdir()}
    assert {"near", "far", "understanding.tex", "understanding_levels.png", "understanding_levels.pdf"} <= written
    assert r"no mistakes & " in (folder / "out" / "seed9" / "understanding.tex").read_text()


def test_the_sessions_of_a_check_have_other_scenes_and_are_run_once(levelled):
    folder, _ = levelled
    starts = [
        event.trial.instance.scene.objects[0].pose
        for session in ("near", "far")
        for event in journals_of(folder, session, "oracle").events
        if isinstance(event, TrialFinished) and event.trial.perturbation == "base"
    ]
    assert len(set(starts)) == 6
    parameters, file = load_check(str(folder / "check.yaml"))
    assert list(run_check(parameters, file, folder / "out", 1)) == [(4, 4)]


def test_the_level_of_an_instance_is_in_the_table_of_trials_and_on_the_page_of_the_run(levelled):
    folder, _ = levelled
    journal = journals_of(folder, "near", "oracle")
    results = compute_results(journal)
    by_family = results.trials.filter(perturbation="base").select("family", "level").unique().rows()
    assert ("block_to_block", "L1") in by_family and ("separate_blocks", "L4") in by_family
    # Of the instance, whatever is done to its words.
    assert results.trials.group_by("base_id").agg(pl.col("level").n_unique())["level"].to_list() == [1] * 4
    page = run_page(RunFolder(journal.path.parent), journal, results)
    assert page.count("<small>L1</small>") == results.trials.filter(level="L1")["base_id"].n_unique() > 0
    assert page.count("<small>L4</small>") == results.trials.filter(level="L4")["base_id"].n_unique() > 0
    random = compute_results(journals_of(folder, "near", "random"))
    assert random.trials["level"].null_count() == len(random.trials)


def test_runs_of_one_policy_at_different_levels_are_joined_in_one_column(levelled, capsys, monkeypatch):
    folder, _ = levelled
    runs = [journals_of(folder, session, "oracle").path.parent for session in ("near", "far")]
    monkeypatch.setenv("COLUMNS", "120")
    understanding(runs)
    said = capsys.readouterr().out
    head = next(line for line in said.splitlines() if line.startswith("success [%]"))
    assert head.split() == ["success", "[%]", "n", "oracle"]
    assert [line.strip() for line in said.splitlines() if line.strip() in ("L1", "L3", "L4")] == ["L1", "L3", "L4"]
    assert "no mistakes" not in said


def test_success_without_mistakes_is_refused_where_no_session_scores_it(tmp_path, check):
    with pytest.raises(ConfigurationError, match="`scores`: got 'none', expected success_without"):
        run_understanding(str(check()), tmp_path / "out", 1, Console(), no_mistakes=True)
    assert not (tmp_path / "out").exists(), "before anything is run"


def test_the_shipped_check_expects_something_of_each_of_its_policies_and_perturbations():
    parameters, _ = load_check("understanding_demo")
    named = {policy: sorted(n for names in one.values() for n in names) for policy, one in parameters.expected.items()}
    assert set(named) == set(parameters.policies)
    assert len({tuple(names) for names in named.values()}) == 1 and len(named["oracle"]) == 8
    assert set(parameters.expected["blind"]) == {Verdict.ROBUST, Verdict.WITHOUT_UNDERSTANDING}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"chance": "blind"}, "`chance`: got 'blind', expected one of the policies oracle, random"),
        ({"expected": {"blind": {}}}, "`expected`: got 'blind'"),
        ({"expected": {"oracle": {"wonderful": ["mask_all"]}}}, "expected.oracle.*robust"),
        ({"margin": 1.5}, "margin"),
        ({"sessions": ["./session.yaml"]}, "`sessions`: got './session.yaml', expected none beside `session`"),
        ({"session": ""}, "`session`: got '', expected a session, or several"),
        ({"session": "", "sessions": ["a", "./x/a.yaml"]}, "`sessions.1`: got './x/a.yaml'.*another name"),
        ({"policies": ["oracle", "random", "oracle"]}, "`policies.2`: got 'oracle'"),
        (
            {"policies": ["oracle", "oracle_sixteen", "random"]},
            "`policies.1`.*another name than 'oracle', which",
        ),
        ({"policies": ["oracle", "none_such"], "chance": "oracle"}, "`policies.1`: got 'none_such'"),
    ],
)
def test_a_check_that_does_not_fit_is_one_clear_error(check, changes, words):
    file = str(check(**changes))
    with pytest.raises(ConfigurationError, match=words):
        load_check(file)


def test_a_session_that_is_not_there_is_named(tmp_path, check):
    parameters, file = load_check(str(check(session="none_such")))
    with pytest.raises(ConfigurationError, match="`session`: got 'none_such'"):
        list(run_check(parameters, file, tmp_path / "out", 1))
