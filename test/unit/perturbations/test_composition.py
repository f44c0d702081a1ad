"""Several perturbations at a time: one order, each part's proof, and what is refused (seed 004, tables 7 and 8)."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from examples import examples
from hypothesis import assume, given
from hypothesis import strategies as st
from language_table_instances import DISTRACTING, instance
from tabletop_scenes import CLUTTER_FILE, fresh
from vln_scenes import APARTMENT

from robocontrast_ros.analysis.estimates.results import compute_results
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.contracts.perturbation import PerturbationContract
from robocontrast_ros.domain import BASE, Delivery, Expectation, NotApplicable, Perturbed, plain_text
from robocontrast_ros.perturbations.loading import load_perturbation, perturbation_names
from robocontrast_ros.perturbations.protocol import spec_of
from robocontrast_ros.policies.protocol import PolicyDescription
from robocontrast_ros.runs.events import SessionFinished, TrialFinished, TrialSkipped
from robocontrast_ros.runs.journal import read_journal
from robocontrast_ros.sessions.fast_mode import open_bench
from robocontrast_ros.sessions.loop import run_session
from robocontrast_ros.sessions.overrides import Overrides
from robocontrast_ros.sessions.reading import AsRead
from robocontrast_ros.sessions.resolving import resolve

FEW = ("banana", "bowl", "brick", "can", "cube", "golf_ball", "mug", "plate", "soup_can", "sponge", "tomato")
TASKS = {
    "language_table": DISTRACTING,
    "tabletop": fresh(CLUTTER_FILE, objects=FEW, distracting={"size": (80, 60)}),
}
EXTREMELY_ELSEWHERE = {"name": "extreme", "changes": "destination"}
FURTHER = (EXTREMELY_ELSEWHERE, {"name": "blur", "severity": 1}, {"name": "unplugged", "severity": 5})
"""With other parameters than the usual ones."""


def made(entry):
    return load_perturbation(entry, "test", "perturbations")


def supported(task):
    named = (*perturbation_names(), *FURTHER)
    return tuple(entry for entry in named if made(entry).supports(task))


POSSIBLE = {name: supported(task) for name, task in TASKS.items()}

lists = st.sampled_from(sorted(TASKS)).flatmap(
    lambda name: st.tuples(st.just(name), st.lists(st.sampled_from(POSSIBLE[name]), min_size=2, max_size=4))
)
seeds = st.integers(0, 9)


@cache
def drawn(name, seed):
    task = TASKS[name]
    return task.sample(np.random.default_rng([7, seed]), f"x{seed}", task.families[seed % len(task.families)])


def applied(perturbation, name, seed):
    base = drawn(name, seed)
    return perturbation.apply(TASKS[name], base, base.scene, np.random.default_rng(seed))


def composed(entry):
    """Return the composition, or None if its parts exclude each other."""
    try:
        return made(entry)
    except ConfigurationError:
        return None


@examples(60, quick=15)
@given(lists, seeds)
def test_a_composition_is_its_parts_one_after_the_other_each_given_what_those_before_it_made(named, seed):
    name, entries = named
    whole = composed(entries)
    assume(whole is not None)
    task, base, rng, answer = TASKS[name], drawn(name, seed), np.random.default_rng(seed), applied(whole, name, seed)
    here, notes, proofs = base, [], []
    for part in whole.parts:
        step = part.apply(task, here, here.scene, rng)
        if isinstance(step, NotApplicable):
            assert answer == NotApplicable(f"{part.name}: {step.reason}")
            return
        notes.append(step.note)
        proofs += [(part.name, step.instance.proof)] if step.instance.proof is not None else []
        here = replace(step.instance, proof=None)
    new = answer.instance
    assert replace(new, proof=None) == replace(here, instance_id=f"{base.instance_id}-{whole.name}")
    assert answer.note == "; ".join(notes)
    if not proofs:
        assert new.proof is None
        return
    assert new.proof.claim == "; ".join(proof.claim for _, proof in proofs)
    twice = Counter(measure for _, proof in proofs for measure, _ in proof.measures)
    of_parts = {
        (f"{part}.{measure}" if twice[measure] > 1 else measure): value
        for part, proof in proofs
        for measure, value in proof.measures
    }
    assert dict(new.proof.measures) == of_parts and len(new.proof.measures) == sum(twice.values())
    assert set(whole.measures) <= set(of_parts)


@examples(100)
@given(lists, st.randoms(use_true_random=False))
def test_the_order_of_the_list_does_not_matter(named, random):
    entries = named[1]
    whole, shuffled = composed(entries), composed(random.sample(entries, len(entries)))
    assert (whole is None) == (shuffled is None)
    if whole is not None:
        assert [part.name for part in whole.parts] == [part.name for part in shuffled.parts]
        assert (whole.name, whole.symbol, spec_of(whole)) == (shuffled.name, shuffled.symbol, spec_of(shuffled))


@examples(100)
@given(lists)
def test_scenes_are_changed_before_words_and_words_before_what_is_shown(named):
    whole = composed(named[1])
    assume(whole is not None)
    axes = [part.axes for part in whole.parts]
    stages = ["S" if "S" in each else "L" if "L" in each else "O" for each in axes]
    assert stages == sorted(stages, key="SLO".index)
    assert whole.name == "+".join(part.name for part in whole.parts)
    assert set(whole.axes) == set("".join(axes)) and whole.axes == "".join(a for a in "LSBO" if a in whole.axes)
    assert whole.plausible == all(part.plausible for part in whole.parts)
    assert spec_of(whole).parts == tuple(part.name for part in whole.parts)


@examples(60, quick=15)
@given(lists, seeds)
def test_what_is_told_is_still_what_its_segments_say_and_means_what_is_expected(named, seed):
    name, entries = named
    whole = composed(entries)
    assume(whole is not None)
    answer = applied(whole, name, seed)
    assume(isinstance(answer, Perturbed))
    task, said = TASKS[name], answer.instance.instruction
    assert not said.segments or plain_text(said.segments) == said.text
    meant = task.language.parse(said.words, answer.instance.scene)
    assert (meant.family, meant.arguments) == (said.family, said.arguments)
    assert not task.goals.goal(said, answer.instance.scene).satisfied(answer.instance.scene)


class TestDistractorsAndNothingTold(PerturbationContract):
    draws = 5

    def task(self):
        return DISTRACTING

    def make(self):
        return made(["distracting", "mask_all"])


class TestExtremeAndPermuted(TestDistractorsAndNothingTold):
    def make(self):
        return made([{"name": "extreme"}, "permuted"])


class TestOtherPlacesAndOtherWords(TestDistractorsAndNothingTold):
    def make(self):
        return made(["SB1", "LB1"])


class TestFarThingsAndMistypedNames(PerturbationContract):
    draws = 3

    def task(self):
        return TASKS["tabletop"]

    def make(self):
        return made(["extreme", "mask_words", "typos"])


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ([], "two parts or more; there are none"),
        (["mask_all"], "two parts or more; there is one"),
        (["blur", "mask_all", {"name": "blur", "severity": 3}], "each part once; 'blur_3' is there twice"),
        (["mask_all", "paraphrase"], "'mask_all' leaves nothing of what 'paraphrase' changes"),
        (["typos", "mask_all"], "'mask_all' leaves nothing of what 'typos_2' changes: the letters of words"),
        (["gobbledygook_words", "original"], "the words that refer to nothing"),
        (["pictures", "mask_referents"], "the words that refer to something"),
        (["upper_case", "lower_case"], "capital and small letters"),
        (["LB1", "wrong_instruction"], "'wrong_instruction' leaves nothing of what 'LB1' changes: what is asked for"),
        (["LB1", "LB2"], "what is asked for"),
        (["SB2", "extreme"], "where the source stands"),
        (["SB", "extremely_distracting"], "where the source stands"),
        (["LB", EXTREMELY_ELSEWHERE], "'LB' leaves nothing of what 'extreme_destination' changes"),
        (["overexposed", "underexposed"], "the brightness of the images"),
        (["blur", {"name": "unplugged", "severity": 5}], "'unplugged_5' leaves nothing of what 'blur_3' changes"),
    ],
)
def test_parts_that_exclude_each_other_are_refused_by_name(entries, words):
    with pytest.raises(ConfigurationError, match="perturbations") as error:
        made(entries)
    assert words in str(error.value)


@pytest.mark.parametrize(
    "entries",
    [
        [{"name": "blur", "severity": 1}, {"name": "blur", "severity": 2}],
        ["blur", {"name": "unplugged", "severity": 4}],
        [{"name": "overexposed", "camera": "left"}, {"name": "underexposed", "camera": "right"}],
        ["pictures", "mask_words"],
        ["paraphrase", "mask_referents", "upper_case"],
        ["SB1", "SB2"],
        [EXTREMELY_ELSEWHERE, "mask_all", "permuted"],
    ],
)
def test_parts_that_differ_are_not_refused(entries):
    assert len(made(entries).parts) == len(entries)


@pytest.mark.parametrize(
    ("entries", "expectation"),
    [
        (["distracting", "paraphrase"], Expectation.KEEPS_SUCCESS),
        (["distracting", "extreme"], Expectation.CHANGES_BEHAVIOUR),
        (["extreme", "unplugged"], Expectation.UNKNOWN),
        (["vague", "unplugged", "mask_words", "SB1"], None),
        (["unplugged", "mask_words", "SB1"], Expectation.SHOULD_FAIL),
    ],
)
def test_a_sound_policy_does_what_the_strongest_part_asks_for(entries, expectation):
    expected = {made(entry).expectation for entry in entries}
    order = ("should_fail", "unknown", "changes_behaviour", "keeps_success")
    strongest = next(Expectation(value) for value in order if Expectation(value) in expected)
    assert made(entries).expectation is (expectation or strongest)


def test_a_composition_is_of_the_instances_own_scene_if_a_part_is():
    base = instance(0, "block_to_block_relative_location", DISTRACTING)
    left = base.scene.moved("red_moon", DISTRACTING.sample(np.random.default_rng(5), "y").scene["red_moon"].pose)
    moved = made(["SB1", "LB1"]).apply(DISTRACTING, base, left, np.random.default_rng(0))
    assert isinstance(moved, Perturbed)
    for other, part in (("blur", "blur_3"), ("distractors", "distractors_4")):
        answer = made(["SB1", other]).apply(DISTRACTING, base, left, np.random.default_rng(0))
        assert isinstance(answer, NotApplicable) and answer.reason.startswith(f"{part}: ")


def test_a_task_without_what_a_part_changes_is_not_supported():
    assert made(["extreme", "mask_all"]).supports(DISTRACTING)
    assert not made(["extreme", "mask_all"]).supports(APARTMENT)


def test_extreme_then_distracting_is_extremely_distracting_with_the_proof_of_each():
    base = instance(3, "block_to_block", DISTRACTING)
    one, other = (
        entry.apply(DISTRACTING, base, base.scene, np.random.default_rng(3)).instance
        for entry in (made("extremely_distracting"), made(["distracting", "extreme"]))
    )
    assert (one.scene, one.instruction) == (other.scene, other.instruction)
    both = dict(other.proof.measures)
    assert both["extreme.path_before_m"] == base.optimal_path_length
    assert both["extreme.path_after_m"] == both["distracting_3.path_before_m"] == other.optimal_path_length
    assert both["distractors"] == dict(one.proof.measures)["distractors"]


def test_a_composition_is_left_out_for_a_policy_that_takes_one_part_of_it_in():
    base = instance(1, None, DISTRACTING)
    deaf = PolicyDescription("deaf", "planar_delta", 2, accepts_empty=False)
    read = AsRead(made(["distracting", "mask_all"]), lambda: deaf)
    answer = read.apply(DISTRACTING, base, base.scene, np.random.default_rng(1))
    assert answer == NotApplicable("policy 'deaf' takes no empty instruction")
    blind = AsRead(made(["extreme", "permuted"]), lambda: deaf)
    answer = blind.apply(DISTRACTING, base, base.scene, np.random.default_rng(1))
    assert answer == NotApplicable("policy 'deaf' is shown no list of objects, and 'permuted' changes nothing else")


def test_compositions_of_a_session_are_run_delivered_and_named_as_one(tmp_path):
    entries = [["mask_all", "distracting"], ["extreme", "proprioception"], ["extreme", "permuted"]]
    settings = {"strategy.perturbations": entries, "test_set.families": ["block_to_block"]}
    session = resolve("language_table_difficulty", Overrides(size=1, policy="random", settings=settings))
    bench, journal = open_bench(session), tmp_path / "journal.jsonl"
    assert isinstance(run_session(session.evaluation(), bench, journal), SessionFinished)
    bench.close()
    events, started = read_journal(journal).events, read_journal(journal).started
    base, masked, noisy = [event for event in events if isinstance(event, TrialFinished)]
    names = [BASE, "distracting_3+mask_all", "extreme+proprioception_3"]
    assert [event.trial.perturbation for event in (base, masked, noisy)] == names
    assert {event.delivered for event in (base, masked, noisy)} == {Delivery.CONFIRMED}
    assert (masked.observed.instruction, masked.trial.instance.instruction.meant) == ("", base.observed.instruction)
    assert len(masked.trial.instance.scene.objects) == len(base.trial.instance.scene.objects) + 3
    assert [shown.name for shown in noisy.trial.instance.observation] == ["proprioception"]
    (skipped,) = [event for event in events if isinstance(event, TrialSkipped)]
    assert skipped.perturbation == "extreme+permuted" and "is shown no list of objects" in skipped.reason
    assert started.perturbations[names[1]] == spec_of(made(entries[0]))
    assert list(started.recorded.perturbations) == list(map(tuple, entries))
    results = compute_results(read_journal(journal))
    assert [row.perturbation for row in results.summary.rows] == [*names, "extreme+permuted", "all"]
