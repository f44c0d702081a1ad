"""The page of a run, and of runs side by side: what it says, whatever the run came to."""

from __future__ import annotations

import re
import shutil
from base64 import b64decode
from dataclasses import replace
from html.parser import HTMLParser

import cv2
import numpy as np
import pytest
from cluttered_runs import HAND_MADE, Ran, cluttered_run
from line_world import LineBench, SwappingLineBench, line_evaluation
from markupsafe import Markup
from PIL import Image
from recorded_runs import recorded_run
from rich.console import Console
from typer.testing import CliRunner

from robocontrast_ros.analysis.data.run_record import RunRecord
from robocontrast_ros.analysis.estimates.comparison import ComparisonError
from robocontrast_ros.analysis.estimates.latency import latencies
from robocontrast_ros.analysis.estimates.results import compute_results
from robocontrast_ros.analysis.estimates.test_set import draw_test_set
from robocontrast_ros.analysis.report import svg, write_comparison, write_report
from robocontrast_ros.analysis.report.comparison_page import read_runs, write_comparison_page
from robocontrast_ros.analysis.report.reproduction import reproduction_of
from robocontrast_ros.analysis.report.run_page import run_page
from robocontrast_ros.analysis.tables.comparison import comparison_report
from robocontrast_ros.analysis.write_results import write_results
from robocontrast_ros.cli.main import app
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain import Fault
from robocontrast_ros.runs.events import Paused, Resumed, SequentialTest, SessionStarted, TrialFinished, to_line
from robocontrast_ros.runs.journal import JournalError, read_journal
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.sessions.control import SessionControl
from robocontrast_ros.sessions.loop import run_session
from robocontrast_ros.sessions.resolving import resolve

NOW = 1_800_000_000.0
VOID_ELEMENTS = {"img", "meta", "link", "input", "br", "use", "path"}


class Page(HTMLParser):
    """A page as a reader meets it: its words, ids, links and sources; refuses elements that are not closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.words, self.ids, self.links, self.sources, self.alts = "", [], [], [], []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []
        self.words = " ".join(self.words.split())

    def handle_starttag(self, tag, attributes):
        known = dict(attributes)
        self.ids += [known["id"]] if "id" in known else []
        self.links += [known[key] for key in ("href", "xlink:href") if key in known]
        if tag == "img":
            self.sources.append(known["src"])
            self.alts.append(known["alt"])
        if tag not in VOID_ELEMENTS:
            self._open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID_ELEMENTS:
            self._open.pop()

    def handle_endtag(self, tag):
        if tag not in VOID_ELEMENTS:
            assert self._open.pop() == tag

    def handle_data(self, data):
        if not {"style", "script"} & set(self._open):
            self.words += " " + data


def page_of(run: RunFolder) -> Page:
    """Return the page of a run, which has to be sound whatever the run is."""
    return sound(text_of(run))


def text_of(run: RunFolder) -> str:
    journal = read_journal(run.journal)
    return run_page(run, journal, compute_results(journal, draw_test_set(run)), now=NOW)


def sound(text: str) -> Page:
    page = Page(text)
    assert len(page.ids) == len(set(page.ids))
    assert {link for link in page.links if not link.startswith(("#", "data:"))} == set()
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)
    assert all(source.startswith("data:image/webp;base64,") for source in page.sources)
    assert all(page.alts)
    assert not re.search(r"https?://(?!www\.w3\.org|purl\.org|creativecommons\.org|matplotlib\.org)", text)
    assert "NaN" not in page.words and " nan" not in page.words and "None" not in page.words
    return page


def line_run(folder, bench=None, **changes) -> RunFolder:
    folder.mkdir(exist_ok=True)
    run = RunFolder(folder)
    parameters = {
        "session": {
            "robot": "ur5e",
            "policy": "oracle",
            "seed": 1,
            "task": "line",
            "strategy": {"name": "contrast_set", "perturbations": ["LB2", "SB2"]},
        }
    }
    run_session(line_evaluation(parameters=parameters, **changes), bench or LineBench(), run.journal)
    return run


@pytest.fixture
def charts():
    """The charts of a page are drawn, too."""


@pytest.fixture(autouse=True)
def without_charts(request, monkeypatch):
    """Nothing is drawn, which takes longest, where a test reads what a page says beside its charts."""
    if "charts" not in request.fixturenames:
        monkeypatch.setattr(svg, "_svg", lambda name, words, *_: Markup('<svg aria-label="{}"></svg>').format(words))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory) -> RunFolder:
    """A real run with bags and pictures."""
    return recorded_run(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> RunFolder:
    """A whole session on the line."""
    return line_run(tmp_path_factory.mktemp("line") / "whole", test_set_size=6)


def test_a_page_says_what_was_found_and_how_to_do_it_again_and_holds_every_trial_with_its_pictures(recorded, charts):
    page = page_of(recorded)
    for words in (
        "noisy_oracle on franka", "seed 7", "strategy contrast_set", "ΔLB1", "6 of 6 shown", "Estimator adjusted",
        "over the domain that the test set was drawn from", "max_trials: 6 trials are done", "mujoco", "SHA-256",
        "robocontrast evaluate session.yaml", "position_tolerance", "Twelve test instances",
    ):  # fmt: skip
        assert words in page.words, words
    # What the session's file says of itself stands among the parameters alone: options have changed it.
    head = page.words.partition("begun")[0]
    assert "2 test instances" in head and "Twelve" not in head
    assert read_journal(recorded.journal).started.digest in page.words
    assert {f"trial-{index:04d}" for index in range(6)} <= set(page.ids)
    # Four key frames and a map for each of six trials.
    assert len(page.sources) == 6 * 5
    first, _, _, last = [decoded(source) for source in page.sources[:4]]
    assert first.shape == last.shape == (90, 160, 3)
    # OpenCV's order is blue, green, red: the red of the images grows from one to the next.
    assert first[45, 80] == pytest.approx([160, 80, 20], abs=8)
    assert last[45, 80] == pytest.approx([160, 80, 180], abs=8)
    maps = [alt for alt in page.alts if "from above" in alt]
    assert len(maps) == 6 and any("carried" in alt for alt in maps)


def test_the_parameters_on_the_page_are_the_very_session(recorded, tmp_path):
    journal = read_journal(recorded.journal)
    session = tmp_path / "session.yaml"
    session.write_text(reproduction_of(recorded, RunRecord.of(journal.events)).parameters["session.yaml"])
    again = resolve(str(session)).evaluation()
    assert again.digest == journal.started.digest
    assert again.test_set() == resolve(recorded.session_file).evaluation().test_set()


def decoded(source: str) -> np.ndarray:
    packed = np.frombuffer(b64decode(source.partition(",")[2]), np.uint8)
    return cv2.imdecode(packed, cv2.IMREAD_COLOR)


def test_the_command_writes_the_page_and_figures_for_papers_a_column_wide(whole, charts):
    whole.parameters.mkdir(exist_ok=True)
    whole.session_file.touch()
    result = CliRunner().invoke(app, ["report", str(whole.path)])
    assert result.exit_code == 0, result.output
    assert f"report: {whole.path / 'report.html'}" in result.output
    assert f"figures: {whole.figures}" in result.output
    assert "No adjusted estimate" in (whole.path / "report.html").read_text()
    for name in ("perturbations", "estimate", "budget"):
        assert (whole.figures / f"{name}.pdf").read_bytes().startswith(b"%PDF")
        with Image.open(whole.figures / f"{name}.png") as picture:
            assert picture.width == 1020
            assert len(picture.convert("RGB").getcolors(picture.width * picture.height)) > 10


def test_a_bag_that_is_torn_or_gone_or_never_was_is_told_of_where_its_pictures_would_be(recorded, tmp_path):
    run = RunFolder(tmp_path / "run")
    shutil.copytree(recorded.path, run.path)
    (file,) = (run.bags / "0000").glob("*.mcap")
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    (run.bags / "0000" / "metadata.yaml").unlink()
    shutil.rmtree(run.bags / "0001")
    journal = run.journal.read_text().replace('"bag":"bags/0002"', '"bag":""')
    run.journal.write_text(journal)
    page = page_of(run)
    assert "The bag is broken: no metadata.yaml" in page.words
    assert "bags/0001: no such bag" in page.words
    assert "The trial was not recorded." in page.words
    assert str(tmp_path) not in "".join(page.alts) + page.words.partition("Resolved parameters")[0]


def test_a_run_with_distractors_has_a_section_about_clutter_with_scenes_and_failures(tmp_path, charts):
    page = page_of(cluttered_run(tmp_path / "run", "first", images=True))
    for words in (
        *("SR_base", "h-SR", "fail: reach", "By DvFC bin", "By occlusion", "A scene of each DvFC bin"),
        *("bin 1: 2.00 to 2.00; this one 2.00", "within set size", "Reached the target and failed to grasp it"),
    ):
        assert words in page.words, words
    assert {"clutter", "chart-clutter-sr_by_dvfc", "chart-clutter-failure_stages"} <= set(page.ids)
    assert "#clutter" in page.links
    congested = [alt for alt in page.alts if alt.startswith("Congestion at the start of trial")]
    assert len(congested) == sum(ran.distractors > 0 for ran in HAND_MADE)
    shown = decoded(page.sources[page.alts.index(congested[0])])
    assert shown.shape == (72, 96, 3)


@pytest.mark.long
def test_without_pictures_the_section_about_clutter_has_numbers_alone(tmp_path):
    page = page_of(cluttered_run(tmp_path / "run", "first"))
    assert "SR_noocc" in page.words and "A scene of each DvFC bin" not in page.words
    assert not page.alts and "Failed after the grasp" not in page.words


@pytest.mark.long
def test_a_run_without_distractors_has_no_section_about_clutter(tmp_path):
    for run in (line_run(tmp_path / "line", max_trials=3), cluttered_run(tmp_path / "run", "first", [Ran(0), Ran(1)])):
        page = page_of(run)
        assert "clutter" not in page.ids and "#clutter" not in page.links


CASES = {
    "no trial, for the budget": (
        {"budget": 0.0},
        ["No trial was run.", "the budget of 0 m does not allow", "No test instance was begun."],
    ),
    "void only": (
        {"bench": LineBench(faults={(0, attempt): Fault.SENSOR_LOST for attempt in range(3)})},
        ["No trial counts: all 3 attempts were void", "SENSOR_LOST: injected", "Not finished."],
    ),
    "one trial, in which the policy raised": (
        {"bench": LineBench(policy_faults=1.0), "max_trials": 1},
        ["1 trial of 1 test instance", "no interval with one test instance", "needs at least two test instances",
         "POLICY_RAISED: ValueError: no idea", "Faults of the policy", "policy faults 1"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "expected"), CASES.values(), ids=CASES)
def test_whatever_a_run_came_to_its_page_says_so(tmp_path, changes, expected, charts):
    page = page_of(line_run(tmp_path / "run", **changes))
    for words in expected:
        assert words in page.words, words


def test_a_run_that_has_only_begun_has_a_page(tmp_path, charts):
    run = RunFolder(tmp_path)
    started = SessionStarted("line", 1, {}, {"session": {"seed": 1}}, "d" * 64, "m", float("inf"), NOW)
    run.journal.write_bytes(to_line(started))
    page = page_of(run)
    assert "This session had not ended when the page was made." in page.words
    assert "No trial was run." in page.words
    run.journal.write_bytes(b"")
    with pytest.raises(JournalError, match="no event in it"):
        write_report(run)


def test_a_run_that_goes_on_shows_what_there_is_and_its_words_are_no_markup(whole, tmp_path):
    lines = whole.journal.read_text().splitlines(keepends=True)
    assert any("there is no place" in line for line in lines[:30])
    evil = "".join(lines[:30]).replace("there is no place", "<script>alert(1)</script>&amp; no place")
    (tmp_path / "journal.jsonl").write_text(evil)
    page = page_of(RunFolder(tmp_path))
    assert "had not ended when the page was made" in page.words
    assert "robocontrast evaluate --resume" not in page.words
    assert "<script>alert(1)</script>&amp; no place" in page.words


def test_a_session_that_ended_early_has_skips_estimates_and_the_interval_that_holds_then(whole, tmp_path):
    events = read_journal(whole.journal).events
    known = SequentialTest("success", "threshold", True, 7, 0.61, 0.98, 0.05)
    end = replace(events[-1], reason="decided", sequential=known)
    run = RunFolder(tmp_path)
    run.journal.write_bytes(b"".join(map(to_line, (*events[:-1], end))))
    page = page_of(run)
    assert "stopped early: its question was answered" in page.words
    assert "the mean success of base trials is in [0.61, 0.98] at an error rate of 0.05" in page.words
    assert "Which instances a perturbation could be applied to" in page.words
    assert "applied \N{MINUS SIGN} refused" in page.words and "difference to base n SPL† success†" in page.words
    assert "Skipped perturbations" in page.words and "there is no place that has an opposite" in page.words
    assert "No adjusted estimate:" in page.words
    assert "Estimator base trials" in page.words
    assert "had not ended" not in page.words and "Not finished" not in page.words
    assert "There is no map of this trial." in page.words


def test_a_session_that_stopped_early_carries_its_mark_in_every_table(whole, better, tmp_path):
    events = read_journal(whole.journal).events
    found = SequentialTest("success", "threshold", True, 7, 0.61, 0.98, 0.05)
    folders = {}
    for name, decided in (("decided", True), ("undecided", False)):
        run = folders[name] = RunFolder(tmp_path / name)
        run.path.mkdir()
        end = replace(events[-1], reason="decided", sequential=replace(found, decided=decided))
        run.journal.write_bytes(b"".join(map(to_line, (*events[:-1], end))))
        write_results(run)
    said = "mean success of base trials in [0.61, 0.98] (confidence sequence, error rate 0.05, 7 test instances)"
    for file in ("summary.txt", "summary.tex", "scores.tex", "estimates.tex"):
        marked, plain = (" ".join((folders[name].path / file).read_text().split()) for name in folders)
        assert said in marked and "†" not in plain and "dagger" not in plain, file
    assert "SPL† success†" in " ".join((folders["decided"].path / "summary.txt").read_text().split())
    for file in ("summary.tex", "scores.tex", "estimates.tex"):
        assert "$^\\dagger$" in (folders["decided"].path / file).read_text()
    captions = re.findall("<caption>.*?</caption>", text_of(folders["decided"]))
    assert all("†" in caption for caption in captions if "95 % intervals" in caption or "ifference" in caption)
    assert not any("†" in caption for caption in re.findall("<caption>.*?</caption>", text_of(folders["undecided"])))
    read = read_runs([folders["decided"], better])
    terminal = Console(width=200, record=True)
    terminal.print(comparison_report(read.comparisons, read.labels, read.stopped))
    shown = " ".join(terminal.export_text().split())
    assert "first: oracle (decided)†" in shown and said in shown
    write_comparison_page(read, [], tmp_path / "c.html", now=NOW, pictures=False)
    assert said in " ".join((tmp_path / "c.html").read_text().split())


def test_a_session_that_a_sign_test_ended_says_so_and_what_its_interval_is(whole, tmp_path):
    events = read_journal(whole.journal).events
    known = SequentialTest("success", "compare_with", True, 7, -0.1, 0.98, 0.05, 8, 6, 0)
    run = RunFolder(tmp_path)
    end = replace(events[-1], reason="decided", sequential=known)
    run.journal.write_bytes(b"".join(map(to_line, (*events[:-1], end))))
    page = page_of(run)
    assert (
        "a sequential sign test for at most 8 pairs, at an error rate of 0.05: in 6 of 7 pairs only this policy "
        "succeeded, in 0 only the other. The interval does not come from that test and may contain 0. Whenever the"
    ) in page.words
    assert "of base trials minus that of the run it is compared with is in" in page.words


def test_each_policy_that_served_has_its_own_headline(tmp_path):
    control = SessionControl()
    bench = SwappingLineBench(before_trial=lambda trial: control.swap("second") if trial.index == 2 else None)
    run = RunFolder(tmp_path)
    run_session(line_evaluation(test_set_size=6), bench, run.journal, control=control)
    page = page_of(run)
    assert page.words.count("Estimator base trials") == 2
    assert "second serves from now on." in page.words
    assert "skill: 0.9" in page.words and "skill: 0.0" in page.words


def test_a_robot_that_was_stopped_and_who_released_it_stand_among_the_events(whole, tmp_path):
    events = list(read_journal(whole.journal).events)
    at = next(i for i, event in enumerate(events) if isinstance(event, TrialFinished))
    stop = [Paused(NOW, "stopped by a person: <smoke>"), Resumed(False, NOW, "Ada Lovelace")]
    run = RunFolder(tmp_path)
    run.journal.write_bytes(b"".join(map(to_line, [*events[: at + 1], *stop, *events[at + 1 :]])))
    words = page_of(run).words
    assert "stopped by a person: <smoke>" in words
    assert "Ada Lovelace released the robot, and the session went on." in words


def test_a_page_that_cannot_be_written_is_a_mistake_of_the_user(whole, tmp_path):
    with pytest.raises(ConfigurationError, match=r"--to.*a file that can be written"):
        write_report(whole, tmp_path / "nowhere" / "page.html")


def test_latency_is_that_of_all_answers_of_trials_that_count(whole):
    journal = read_journal(whole.journal)
    (found,) = latencies(RunRecord.of(journal.events))
    answers = [t for e in journal.events if hasattr(e, "policy_latency") for t in e.policy_latency]
    assert found.answers == len(answers) == sum(found.counts)
    assert (found.median, found.longest) == (pytest.approx(0.11), pytest.approx(0.21))
    assert found.p95 == pytest.approx(np.percentile(answers, 95))
    assert latencies(RunRecord.of(journal.events[:1])) == ()


@pytest.fixture(scope="module")
def better(tmp_path_factory) -> RunFolder:
    """The session of `whole` with a policy that always succeeds."""
    bench = LineBench(skill=1.0, policy_faults=0.0)
    return line_run(tmp_path_factory.mktemp("line") / "better", bench, test_set_size=4)


def test_runs_side_by_side_show_differences_tests_and_every_discordant_pair(whole, better, tmp_path, charts):
    again = line_run(tmp_path / "again", test_set_size=6)
    write_comparison([whole, better, again], tmp_path / "comparison.html", now=NOW)
    page = sound((tmp_path / "comparison.html").read_text())
    for words in (
        "oracle (whole)", "oracle (better)", "oracle (whole) \N{MINUS SIGN} oracle (better)", "McNemar p", "ΔSB2",
        "mean paired difference of SPL", "Trials that only one of them solved", "without a partner", "Holm",
        "Difference in differences", "difference in differences",
        "No such trial: in every pair both succeeded or both failed.",
        f"{whole.path} against {better.path}: ", f"{whole.path} against {again.path}: ",
        "Smallest drop that so many trials find",
    ):  # fmt: skip
        assert words in page.words, words
    pairs = [name for name in page.ids if name.startswith("trial-1-")]
    successes = [
        {
            (e.trial.base_id, e.trial.perturbation): e.result.success
            for e in read_journal(run.journal).events
            if hasattr(e, "result")
        }
        for run in (whole, better)
    ]
    common = successes[0].keys() & successes[1].keys()
    assert len(pairs) == sum(successes[0][key] != successes[1][key] for key in common) > 0
    assert not [name for name in page.ids if name.startswith("trial-2-")]


def test_runs_that_do_not_match_are_refused_by_name_and_no_page_is_written(whole, tmp_path):
    other = line_run(tmp_path / "other", seed=2)
    with pytest.raises(ComparisonError, match=r"whole and other have different seeds: 1 and 2.*same seed"):
        write_comparison([whole, other], tmp_path / "comparison.html")
    assert not (tmp_path / "comparison.html").exists()


def test_the_command_says_why_runs_do_not_match_in_one_line(whole, tmp_path):
    other = line_run(tmp_path / "other", seed=2, max_trials=1)
    for run in (whole, other):
        run.parameters.mkdir(exist_ok=True)
        run.session_file.touch()
    result = CliRunner().invoke(app, ["compare", str(whole.path), str(other.path)])
    assert result.exit_code == 2
    (line,) = result.stderr.strip().splitlines()
    assert line.startswith("error: The runs whole and other have different seeds")


class OwnPolicy(SwappingLineBench):
    """A bench whose policy is one of its user's own, which calls itself `reach`."""

    def __init__(self, file: str, skill: float) -> None:
        super().__init__(policies={"reach": skill}, serving="reach")
        self.file = file

    def policy(self):
        return replace(super().policy(), file=self.file)


def own_run(folder, skill: float) -> RunFolder:
    """Run a session of such a policy whose metric is success."""
    file = f"/data/somebody/models/{folder.name}/reach.yaml"
    parameters = {"session": {"robot": "ur5e", "policy": file, "seed": 1, "task": "line"}}
    folder.mkdir()
    run = RunFolder(folder)
    evaluation = line_evaluation(parameters=parameters, metric="success", test_set_size=4)
    run_session(evaluation, OwnPolicy(file, skill), run.journal)
    return run


def test_a_policy_of_ones_own_is_called_by_its_name_and_success_comes_once_where_it_is_the_metric(tmp_path):
    run = own_run(tmp_path / "one", 0.6)
    results = write_results(run)
    assert (results.summary.policy, set(results.trials["policy"])) == ("reach", {"reach"})
    page = sound(run_page(run, read_journal(run.journal), results))
    for text in (
        *((run.path / name).read_text() for name in ("summary.txt", "summary.tex", "scores.tex", "trials.csv")),
        page.words.partition("Reproduce")[0],
    ):
        assert "/data/" not in text and "reach.yaml" not in text
    assert "reach on ur5e" in page.words
    heads = [line for line in (run.path / "summary.txt").read_text().splitlines() if "success" in line]
    assert [line.count("success") for line in heads if line.split()[0] in ("n", "difference")] == [1, 1]
    assert len(re.findall("difference to base n success [^ ]+ [0-9]", page.words)) == 1
    columns = (run.path / "summary.tex").read_text().partition(r"\toprule")[2].partition(r"\\")[0]
    assert columns.split(" & ").count("success") == 1


def test_runs_of_policies_of_one_name_are_told_apart_by_the_ends_of_their_paths_and_success_comes_once(tmp_path):
    runs = [own_run(tmp_path / "one", 0.3), own_run(tmp_path / "two", 0.9)]
    write_comparison(runs, tmp_path / "comparison.html", now=NOW)
    page = sound((tmp_path / "comparison.html").read_text())
    assert "reach (one/reach) \N{MINUS SIGN} reach (two/reach)" in page.words
    assert "/data/somebody" not in page.words.partition("Reproduce")[0]
    assert page.words.count("mean paired difference of success") == 1
    assert "on the same test instances" in page.words and "with the same start" in page.words
    (comparison,) = read_runs(runs).comparisons
    console = Console(width=80)
    with console.capture() as capture:
        console.print(comparison_report([comparison], read_runs(runs).labels))
    text = capture.get()
    assert max(map(len, text.splitlines())) <= 80
    titles = [line.strip() for line in text.splitlines() if line.strip().startswith("success")]
    assert titles == ["success", "success"], "a table of scores, and one of changes"
    overall = comparison.row("all")
    assert 0 < overall.same_start <= overall.pairs
    assert f"{overall.same_start} of {overall.pairs} pairs with the same start" in " ".join(text.split())
    (row,) = (line.split() for line in text.splitlines() if line.startswith("all "))
    assert row[1:3] == [str(overall.pairs), str(overall.same_start)]
