"""A perturbation that the policy did not receive: its trial is void, in a session and in what it leaves behind."""

from __future__ import annotations

import io
from dataclasses import dataclass, replace
from pathlib import Path

from line_world import Invert, LineBench, MoveSource, line_evaluation
from odd_words import Said, SaidParameters
from rich.console import Console
from session_runs import Workplace
from stale_server import FAULTS

from robocontrast_ros.analysis.estimates.results import compute_results
from robocontrast_ros.analysis.tables.summary import summary_report
from robocontrast_ros.domain import Delivery, Fault, Observed, Outcome
from robocontrast_ros.policies.serving.runner import PolicyRunner
from robocontrast_ros.runs.events import (
    SessionFinished,
    SessionInterrupted,
    TrialFinished,
    TrialVoid,
    from_line,
    to_line,
)
from robocontrast_ros.runs.journal import Journal, read_journal
from robocontrast_ros.sessions.fast_mode import open_bench
from robocontrast_ros.sessions.loop import run_session
from robocontrast_ros.sessions.resolving import resolve
from robocontrast_ros.worlds import in_process


class Tilt(MoveSource):
    """Says that it changes the words, too, and does not."""

    name, symbol, axes, description = "LSB", "ΔLSB", "LSB", "move the source block alone"


@dataclass
class Silent(LineBench):
    """A bench whose policy does not say what it received."""

    def execute(self, trial, attempt):
        execution = super().execute(trial, attempt)
        return replace(execution, observed=Observed(), delivered=Delivery.UNKNOWN)


@dataclass
class CuttingOff(LineBench):
    """A bench that sends the words up to a null character, as ROS does."""

    def execute(self, trial, attempt):
        execution = super().execute(trial, attempt)
        words, _, _ = trial.instance.instruction.text.partition("\0")
        return replace(execution, observed=Observed(words), delivered=Delivery.CONFIRMED)


def of_kind(journal: Journal, kind: type) -> list:
    return [event for event in journal.events if isinstance(event, kind)]


def shown(journal: Journal) -> str:
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(summary_report(compute_results(journal).summary))
    return console.export_text()


def test_words_that_are_those_of_the_base_trial_void_a_trial_that_was_to_change_them(tmp_path):
    path = tmp_path / "journal.jsonl"
    evaluation = line_evaluation(perturbations=(Tilt(), Invert()), void_retries=1, test_set_size=2)
    end = run_session(evaluation, LineBench(), path)
    journal = read_journal(path)
    assert isinstance(end, SessionInterrupted) and end.fault is Fault.PERTURBATION_NOT_DELIVERED
    void = of_kind(journal, TrialVoid)
    assert [(v.trial.perturbation, v.trial.twin, v.attempt) for v in void] == [("LSB", "0000", 0), ("LSB", "0000", 1)]
    words = of_kind(journal, TrialFinished)[0].trial.instance.instruction.text
    assert {v.detail for v in void} == {
        f"instruction: received '{words}', as in the base trial, where axis L means other words"
    }


def test_words_that_are_cut_off_on_the_way_to_sender_and_policy_void_the_trial(tmp_path):
    said = Said(SaidParameters(label="cut_off", text="push\0 it"))
    path = tmp_path / "journal.jsonl"
    evaluation = line_evaluation(perturbations=(said,), void_retries=0, test_set_size=1)
    end = run_session(evaluation, CuttingOff(), path)
    assert isinstance(end, SessionInterrupted) and end.fault is Fault.PERTURBATION_NOT_DELIVERED
    (void,) = of_kind(read_journal(path), TrialVoid)
    assert (void.trial.perturbation, void.detail) == ("cut_off", "instruction: sent 'push\0 it', received 'push'")


def test_where_the_words_are_not_known_no_trial_is_void_and_the_summary_says_so(tmp_path):
    path = tmp_path / "journal.jsonl"
    end = run_session(line_evaluation(perturbations=(Tilt(),), test_set_size=2), Silent(), path)
    journal = read_journal(path)
    assert isinstance(end, SessionFinished)
    trials = of_kind(journal, TrialFinished)
    assert {trial.delivered for trial in trials} == {Delivery.UNKNOWN}
    summary = compute_results(journal).summary
    assert summary.delivery_unknown == len(trials)
    assert f"delivered: unknown for {len(trials)} of {len(trials)} trials; the policy server does not" in shown(journal)


def test_of_trials_that_were_delivered_the_summary_says_nothing(tmp_path):
    path = tmp_path / "journal.jsonl"
    run_session(line_evaluation(), LineBench(), path)
    journal = read_journal(path)
    assert compute_results(journal).trials["delivered"].unique().to_list() == ["CONFIRMED"]
    assert "delivered" not in shown(journal)


def test_in_a_journal_of_an_older_version_it_is_unknown(tmp_path):
    path = tmp_path / "journal.jsonl"
    run_session(line_evaluation(), LineBench(), path)
    for event in of_kind(read_journal(path), TrialFinished):
        older = to_line(event).replace(b'"delivered":1,', b"")
        assert older != to_line(event)
        assert repr(from_line(older)) == repr(replace(event, delivered=Delivery.UNKNOWN)), "as text NaN equals NaN"


def fast_session(folder: Path, monkeypatch, fault: str, policy: str = "Staring", **changes: object) -> Journal:
    """Return the journal of a fast session whose policy server has a fault."""
    place = Workplace(folder)
    for method, function in FAULTS[fault]().items() if fault else ():
        monkeypatch.setattr(PolicyRunner, method, function)
    file = place.policy(policy, "stale_server")
    session = resolve(str(place.session(policy=file, task=place.short_task(4), void_retries=1, **changes)))
    bench = open_bench(session)
    run_session(session.evaluation(), bench, folder / "journal.jsonl")
    bench.close()
    return read_journal(folder / "journal.jsonl")


CONTRASTS = {
    "strategy": {"name": "contrast_set", "perturbations": ["LB2", "SB1"]},
    "test_set": {"size": 1, "families": ["block_to_block_relative_location"]},
}


def test_without_a_fault_everything_is_delivered_in_the_fast_mode(tmp_path, monkeypatch):
    journal = fast_session(tmp_path, monkeypatch, "", **CONTRASTS)
    trials = of_kind(journal, TrialFinished)
    assert [trial.trial.perturbation for trial in trials] == ["base", "LB2", "SB1"]
    assert {trial.delivered for trial in trials} == {Delivery.CONFIRMED}
    assert len({trial.observed.image_digest for trial in trials}) == 2, "the words alone do not change the images"


def test_a_perturbed_instruction_that_the_policy_does_not_get_voids_the_trial_in_the_fast_mode(tmp_path, monkeypatch):
    journal = fast_session(tmp_path, monkeypatch, "first_instruction", **CONTRASTS)
    (base,), void = of_kind(journal, TrialFinished), of_kind(journal, TrialVoid)
    assert (base.trial.perturbation, base.delivered) == ("base", Delivery.CONFIRMED)
    assert [(v.trial.perturbation, v.fault) for v in void] == [("LB2", Fault.PERTURBATION_NOT_DELIVERED)] * 2
    sent, received = void[0].trial.instance.instruction.text, base.trial.instance.instruction.text
    assert {v.detail for v in void} == {f"instruction: sent '{sent}', received '{received}'"}
    assert journal.events[-1].fault is Fault.PERTURBATION_NOT_DELIVERED


def test_old_images_void_the_trial_in_the_fast_mode_and_a_base_trial_says_why_it_is(tmp_path, monkeypatch):
    journal = fast_session(tmp_path, monkeypatch, "first_images", test_set={"size": 2})
    (first,), void = of_kind(journal, TrialFinished), of_kind(journal, TrialVoid)
    assert (first.result.outcome, first.delivered) == (Outcome.FAILURE, Delivery.CONFIRMED)
    assert [v.trial.index for v in void] == [1, 1]
    for attempt in void:
        assert attempt.detail.startswith("first images, by SHA-256: sent ")
        assert attempt.detail.endswith(
            f", received {first.observed.image_digest[:12]}; "
            "a base trial is void, too: perturbed trials are compared with it"
        )


def test_a_policy_server_that_says_nothing_voids_nothing_in_the_fast_mode(tmp_path, monkeypatch):
    journal = fast_session(tmp_path, monkeypatch, "silence", **CONTRASTS)
    assert isinstance(journal.events[-1], SessionFinished)
    assert {trial.delivered for trial in of_kind(journal, TrialFinished)} == {Delivery.UNKNOWN}


PICTURES = {**CONTRASTS, "strategy": {"name": "contrast_set", "perturbations": ["pictures", "mask_all"]}}


def test_pictures_that_the_policy_does_not_get_void_the_first_trial_that_has_them(tmp_path, monkeypatch):
    journal = fast_session(tmp_path, monkeypatch, "no_pictures", "Seeing", **PICTURES)
    (base,), void = of_kind(journal, TrialFinished), of_kind(journal, TrialVoid)
    assert (base.trial.perturbation, base.delivered) == ("base", Delivery.CONFIRMED)
    assert [(v.trial.perturbation, v.fault) for v in void] == [("pictures", Fault.PERTURBATION_NOT_DELIVERED)] * 2
    assert void[0].detail.startswith("segments, by SHA-256: sent ")


def test_segments_that_the_policy_does_not_get_void_the_base_trial(tmp_path, monkeypatch):
    journal = fast_session(tmp_path, monkeypatch, "words_alone", "Seeing", **PICTURES)
    assert of_kind(journal, TrialFinished) == []
    assert {(v.trial.perturbation, v.fault) for v in of_kind(journal, TrialVoid)} == {
        ("base", Fault.PERTURBATION_NOT_DELIVERED)
    }


def test_pictures_of_which_the_server_says_nothing_void_nothing(tmp_path, monkeypatch):
    journal = fast_session(tmp_path, monkeypatch, "silence", "Seeing", **PICTURES)
    trials = of_kind(journal, TrialFinished)
    assert [trial.trial.perturbation for trial in trials] == ["base", "pictures", "mask_all"]
    assert {trial.delivered for trial in trials} == {Delivery.UNKNOWN}
    digests = compute_results(journal).trials["segments_digest"].to_list()
    assert bool(digests[1]) and digests[0] == digests[2] == "", "pictures are taken to be what was sent"
    heard = tuple(
        replace(event, observed=Observed("push the to the")) if isinstance(event, TrialFinished) else event
        for event in journal.events
    )
    again = compute_results(replace(journal, events=heard)).trials["segments_digest"].to_list()
    assert again == digests, "also where the words are known"


def test_other_segments_than_were_chosen_void_a_trial_even_if_they_are_what_was_sent(tmp_path, monkeypatch):
    monkeypatch.setattr(in_process, "to_send", lambda instruction, task, description: ())
    journal = fast_session(tmp_path, monkeypatch, "", "Seeing", **PICTURES)
    assert of_kind(journal, TrialFinished) == []
    assert all(v.detail.startswith("segments, by SHA-256: sent ") for v in of_kind(journal, TrialVoid))


def test_a_session_with_pictures_is_read_back_and_resumed(tmp_path, monkeypatch):
    journal = fast_session(tmp_path, monkeypatch, "", "Seeing", max_trials=2, **PICTURES)
    path = tmp_path / "journal.jsonl"
    kept = [line for line in path.read_bytes().splitlines(keepends=True) if b'"session_finished"' not in line]
    path.write_bytes(b"".join(kept))
    session = resolve(str(tmp_path / "small.yaml"))
    bench = open_bench(session)
    run_session(session.evaluation(), bench, path, resume=True)
    bench.close()
    shown = of_kind(read_journal(path), TrialFinished)[1].trial.instance.instruction
    assert shown == of_kind(journal, TrialFinished)[1].trial.instance.instruction
    assert [segment.crop.pixels.shape for segment in shown.segments if segment.crop] == [(32, 32, 3)] * 2
    older = path.read_bytes().replace(b',"crop":null', b"").replace(b',"segments_digest":""', b"")
    assert older != path.read_bytes()
    path.write_bytes(older)
    assert of_kind(read_journal(path), TrialFinished)[1].trial.instance.instruction == shown
