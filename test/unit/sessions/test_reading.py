"""What a policy would not take in is noticed before the trial: too many tokens, no words, a list of objects."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from described_policies import write_described
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from language_table_instances import instance
from line_world import LineBench, MoveSource, SwappingLineBench, line_evaluation

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.configuration.files import find_file
from robocontrast_ros.configuration.minilm import MINILM, minilm_folder, minilm_limit
from robocontrast_ros.domain import Crop, Fault, Filter, NotApplicable, Perturbed, Segment, SegmentKind, plain_text
from robocontrast_ros.perturbations.loading import load_perturbation
from robocontrast_ros.perturbations.tokens import Tokens
from robocontrast_ros.policies.catalogue import look_up
from robocontrast_ros.policies.protocol import PolicyDescription
from robocontrast_ros.runs.events import PolicyLoaded, SessionFinished, SessionInterrupted, TrialFinished, TrialSkipped
from robocontrast_ros.runs.journal import read_journal
from robocontrast_ros.sessions.control import SessionControl
from robocontrast_ros.sessions.fast_mode import open_bench
from robocontrast_ros.sessions.loop import run_session
from robocontrast_ros.sessions.overrides import Overrides
from robocontrast_ros.sessions.reading import AsRead, unread
from robocontrast_ros.sessions.resolving import resolve
from robocontrast_ros.worlds.backends import BackendFeatures

SHORT = PolicyDescription("short", "planar_delta", 2, max_tokens=12, tokenizer=MINILM)
BASE = instance(3)
TOKENS = Tokens()


def saying(text, base=BASE):
    return replace(base, instruction=replace(base.instruction, text=text, segments=()))


class Long(MoveSource):
    """Says the same in many words."""

    name, symbol, axes, description = "long", "Δlong", "LSB", "say it in forty words"

    def apply(self, task, base, scene, rng):
        answer = super().apply(task, base, scene, rng)
        if isinstance(answer, NotApplicable):
            return answer
        return replace(answer, instance=saying("push " * 40, answer.instance))


class Silence(Long):
    """Says nothing."""

    name = "silence"

    def apply(self, task, base, scene, rng):
        answer = super().apply(task, base, scene, rng)
        return replace(answer, instance=saying("", answer.instance)) if isinstance(answer, Perturbed) else answer


@examples(30)
@given(st.lists(st.sampled_from(["push", "the", "red moon", "xqz"]), max_size=30), st.integers(1, 40))
def test_a_text_is_refused_exactly_where_it_has_more_tokens_than_are_read(words, most):
    text = " ".join(words)
    count = len(TOKENS.of(text)) + 2  # MiniLM marks the beginning and the end
    reason = unread(replace(SHORT, max_tokens=most), saying(text))
    assert reason == (
        f"{count} tokens, of which policy 'short' reads {most} (counted with {MINILM})" if count > most else ""
    )


@pytest.mark.parametrize("changes", [{"tokenizer": ""}, {"max_tokens": None}])
def test_where_tokens_cannot_be_counted_nothing_is_refused(changes):
    assert unread(replace(SHORT, **changes), saying("push " * 400)) == ""
    assert unread(None, saying("push " * 400)) == ""


def test_a_tokenizer_may_be_a_file():
    file = str(minilm_folder() / "tokenizer.json")
    assert unread(replace(SHORT, tokenizer=file), saying("push " * 40)).startswith("42 tokens, of which")


def test_no_words_are_refused_where_the_policy_says_so():
    assert unread(SHORT, saying("")) == ""
    assert unread(replace(SHORT, accepts_empty=False), saying("")) == "policy 'short' takes no empty instruction"
    assert unread(replace(SHORT, accepts_empty=False), saying("push")) == ""


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, "policy 'short' is shown no list of objects, and 'permuted' changes nothing else"),
        ({"privileged": True}, ""),
        ({"privileged": True, "objects": False}, "policy 'short' is shown no list of objects"),
        ({"privileged": True, "objects": True}, ""),
    ],
)
def test_another_order_of_objects_is_for_policies_that_are_shown_them(changes, reason):
    shown = replace(saying("push"), observation=(Filter("noise", 3), Filter("permuted", 1)))
    assert unread(replace(SHORT, **changes), shown).startswith(reason)
    assert bool(unread(replace(SHORT, **changes), shown)) == bool(reason)
    assert unread(replace(SHORT, **changes), replace(shown, observation=(Filter("noise", 3),))) == ""


def test_a_moved_camera_is_left_out_with_the_reason_where_the_world_moves_none(path, tmp_path):
    moved = load_perturbation({"name": "moved_camera", "severity": 5}, "test", "")
    noisy = load_perturbation("noise", "test", "")
    session = line_evaluation(perturbations=(moved, noisy), test_set_size=2)
    run_session(replace(session, features=BackendFeatures()), LineBench(), path)
    skipped = [(event.perturbation, event.reason) for event in of(path, TrialSkipped)]
    assert skipped == [("moved_camera_5", "the world moves no cameras, as 'moved_camera' needs")] * 2
    assert {event.trial.perturbation for event in of(path, TrialFinished)} == {"base", "noise_3"}
    run_session(session, LineBench(), tmp_path / "moved.jsonl")
    assert len(of(tmp_path / "moved.jsonl", TrialFinished)) == 6
    backends = {"embedded": True, "simulation_interfaces": False}
    for backend, moves in backends.items():
        settings_ = {"world.backend": backend}
        assert (
            resolve("tabletop_observations", Overrides(settings=settings_)).evaluation().features.moves_cameras is moves
        )


def test_pictures_are_for_policies_that_take_them_and_take_no_tokens():
    parts = (
        Segment(SegmentKind.TEXT, "push "),
        Segment(SegmentKind.OBJECT, "the red moon", "referent_1", crop=Crop(1, 1, b"rgb")),
    )
    shown = replace(BASE, instruction=replace(BASE.instruction, text=plain_text(parts), segments=parts))
    assert unread(SHORT, shown) == (
        "policy 'short' takes no pictures, and would be told the words that they are shown in place of"
    )
    assert unread(replace(SHORT, mask="native"), shown) == unread(SHORT, shown)
    assert unread(replace(SHORT, referents="crop", max_tokens=3), shown) == ""
    assert unread(replace(SHORT, referents="crop", max_tokens=2), shown).startswith("3 tokens, of which")


def test_masked_words_that_the_policy_masks_itself_take_tokens_and_say_nothing():
    parts = (Segment(SegmentKind.TEXT, "push it up", visible=False),)
    masked = replace(BASE, instruction=replace(BASE.instruction, text="", segments=parts))
    assert unread(replace(SHORT, accepts_empty=False, max_tokens=2), masked).endswith("takes no empty instruction")
    native = replace(SHORT, mask="native")
    assert unread(native, masked) == ""
    assert unread(replace(native, accepts_empty=False), masked).endswith("takes no empty instruction")
    assert unread(replace(native, max_tokens=4), masked).startswith("5 tokens, of which")


def test_a_perturbation_does_not_apply_where_its_text_would_be_cut_off_and_keeps_its_name():
    task = resolve("language_table_demo").task
    policy = replace(SHORT, accepts_empty=False, max_tokens=minilm_limit())
    for name in ("mask_all", "upper_case"):
        perturbation = load_perturbation(name, "test", "")
        as_read = AsRead(perturbation, lambda: policy)
        assert (as_read.name, as_read.axes, as_read.supports(task)) == (name, "L", True)
        answer = as_read.apply(task, BASE, BASE.scene, np.random.default_rng(0))
        assert isinstance(answer, NotApplicable if name == "mask_all" else Perturbed)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"max_tokens": 0}, "max_tokens of at least 1"),
        ({"case": "upper"}, "case any or lower"),
        ({"objects": True}, "objects only with privileged"),
    ],
)
def test_a_description_that_makes_no_sense_is_refused(fields, words):
    with pytest.raises(ValueError, match=words):
        PolicyDescription("mine", "planar_delta", 2, **fields)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.jsonl"


def of(path, *kinds):
    return [event for event in read_journal(path).events if isinstance(event, kinds)]


def bench_of(**descriptions):
    return SwappingLineBench(descriptions=descriptions)


READS_ALL = replace(SHORT, max_tokens=None)
WORDS = line_evaluation(perturbations=(Long(), Silence(), MoveSource()), test_set_size=3)


def test_a_perturbed_trial_that_the_policy_would_not_read_is_left_out_with_the_reason(path):
    description = replace(SHORT, max_tokens=20, accepts_empty=False)
    assert isinstance(run_session(WORDS, bench_of(first=description), path), SessionFinished)
    assert of(path, PolicyLoaded)[0].description == description
    skipped = {(event.perturbation, event.reason) for event in of(path, TrialSkipped)}
    assert skipped == {
        ("long", f"42 tokens, of which policy 'short' reads 20 (counted with {MINILM})"),
        ("silence", "policy 'short' takes no empty instruction"),
    }
    run = {event.trial.perturbation for event in of(path, TrialFinished)}
    assert run == {"base", "SB2"}


def test_a_bench_that_says_nothing_of_its_policy_runs_everything(path, tmp_path):
    run_session(WORDS, LineBench(), path)
    run_session(WORDS, bench_of(first=READS_ALL), tmp_path / "all.jsonl")
    counts = [len(of(file, TrialFinished)) for file in (path, tmp_path / "all.jsonl")]
    assert counts == [12, 12]


def test_a_base_trial_that_the_policy_would_not_read_ends_the_session_with_one_clear_line(path):
    end = run_session(WORDS, bench_of(first=replace(SHORT, max_tokens=3)), path)
    assert isinstance(end, SessionInterrupted) and end.fault is Fault.INSTRUCTION_NOT_READ
    assert "of which policy 'short' reads 3" in end.detail and "a test instance is not left out" in end.detail
    assert "\n" not in end.detail
    assert of(path, TrialFinished) == []


def swapped_at(path, index, **arguments):
    """Run a session in which another policy is asked for during a trial."""
    control, bench = SessionControl(), bench_of(first=READS_ALL, second=replace(SHORT, name="second", max_tokens=20))
    bench.before_trial = lambda trial: control.swap("second") if trial.index == index else None
    return run_session(WORDS, bench, path, control=control, **arguments)


def test_after_a_swap_the_text_is_checked_for_the_policy_that_serves_then(path):
    assert isinstance(swapped_at(path, 0), SessionFinished)
    assert [event.perturbation for event in of(path, TrialSkipped)] == ["long"] * 3
    by_policy = [event.name for event in of(path, PolicyLoaded)]
    assert by_policy == ["first", "second"]


def test_a_resumed_session_chooses_again_what_it_chose_for_the_policy_that_served(path, tmp_path):
    swapped_at(path, 3)
    lines = path.read_bytes().splitlines(keepends=True)
    for cut in range(2, len(lines)):
        resumed = tmp_path / f"{cut}.jsonl"
        resumed.write_bytes(b"".join(lines[:cut]))
        if of(resumed, SessionFinished):
            continue
        served = of(resumed, PolicyLoaded)[-1].name
        bench = bench_of(first=READS_ALL, second=replace(SHORT, name="second", max_tokens=20))
        bench.serving = served
        assert isinstance(run_session(WORDS, bench, resumed, resume=True), SessionFinished)
        done = [event.trial for event in of(resumed, TrialFinished)]
        before = [event.trial for event in of(path, TrialFinished)]
        if served == "second":
            assert done == before


def test_a_tokenizer_that_is_not_there_is_refused_before_the_session(tmp_path):
    file = write_described(tmp_path / "mine.yaml", max_tokens=48, tokenizer="/nowhere/tokenizer.json", rate=10.0)
    session = resolve("language_table_demo", Overrides(policy="oracle"))
    with pytest.raises(ConfigurationError, match=r"mine.yaml: `tokenizer`: got '/nowhere/") as refused:
        open_bench(session, file)
    assert "or leave it out: then no tokens are counted" in str(refused.value)


@pytest.mark.parametrize(
    ("name", "reads"),
    [
        *((name, (512, MINILM, "lower", True)) for name in ("film_bc", "film_bc_state", "tabletop_camera")),
        *((name, (None, "", "any", True)) for name in ("openpi", "openpi_droid", "lerobot", "http", "oracle")),
    ],
)
def test_shipped_policies_say_what_is_known_of_them(shipped, name, reads):
    described = look_up(shipped(name)).description
    assert (described.max_tokens, described.tokenizer, described.case, described.accepts_empty) == reads


@pytest.fixture
def shipped(tmp_path):
    return lambda name: find_file("policies", name, "test", "policy", tmp_path)


@pytest.mark.parametrize("name", ["openpi", "lerobot"])
def test_the_file_of_a_remote_policy_says_what_its_model_reads(shipped, tmp_path, name):
    text = "text: {max_tokens: 48, tokenizer: tokenizer.json, case: lower, accepts_empty: false}\n"
    file = tmp_path / "mine.yaml"
    file.write_text(shipped(name).read_text() + text)
    described = look_up(file).description
    assert (described.max_tokens, described.case, described.accepts_empty) == (48, "lower", False)
    assert described.tokenizer == str(tmp_path / "tokenizer.json")
