"""The blind-language control, over policies that write down what they are told."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from robocontrast_ros.configuration import ConfigurationError, load_configured, load_record, resolve_uri
from robocontrast_ros.contracts.policy import PolicyContract
from robocontrast_ros.domain import Pose
from robocontrast_ros.policies.adapters.other_words import OtherWords, OtherWordsParameters
from robocontrast_ros.policies.baselines.tabletop.oracle import TabletopOracle, TabletopOracleParameters
from robocontrast_ros.policies.catalogue import look_up
from robocontrast_ros.policies.protocol import Observation, PolicyDescription
from robocontrast_ros.tasks.protocol import Infeasible

SHIPPED = resolve_uri("package://robocontrast_ros/config/policies/tabletop_oracle_other_words.yaml")


@cache
def task(name):
    return load_configured("tasks", resolve_uri(f"package://robocontrast_ros/config/tasks/{name}.yaml"))


class Listener:
    """Writes down what it is told and shown."""

    def __init__(self, privileged=False):
        self.told, self.shown = [], []
        self._description = PolicyDescription("listener", "tool_delta", 7, privileged=privileged)

    def describe(self):
        return self._description

    def reset(self, instruction, seed):
        self.told.append((instruction, seed))

    def act(self, observation):
        self.shown.append(observation)
        return np.zeros((1, 7))


def control(listener, words="another", of="tabletop"):
    parameters = OtherWordsParameters(
        policy="other_words", name="control", listener="l.yaml", words=words, task="t" if words == "another" else None
    )
    return OtherWords(parameters, listener, task(of) if words == "another" else None)


def seen(scene):
    return Observation(100_000_000, {}, (), (), Pose((0.3, 0.0, 0.4)), scene)


class TestContract(PolicyContract):
    """Of what ships: a policy with the ground truth, told something else."""

    task = "tabletop"

    def make(self):
        parameters = load_record(OtherWordsParameters, SHIPPED)
        oracle = load_record(TabletopOracleParameters, resolve_uri(parameters.listener))
        return OtherWords(parameters, TabletopOracle(oracle, task("tabletop")), task("tabletop"))

    def parameter_file(self):
        return SHIPPED


@pytest.mark.parametrize("of", ["tabletop", "language_table", "studio_apartment"])
def test_what_it_says_could_be_said_there_and_is_about_something_else(of):
    listener, where = Listener(), task(of)
    policy = control(listener, of=of)
    families = set()
    for seed in range(8):
        base = where.sample(np.random.default_rng(seed), "x")
        policy.reset(base.instruction.text, seed)
        policy.act(seen(base.scene))
        policy.act(seen(base.scene))
        assert len(listener.told) == seed + 1, "one instruction a trial"
        text, given_seed = listener.told[-1]
        assert given_seed == seed
        said = where.language.parse(text, base.scene)
        assert not set(said.arguments) & set(base.instruction.arguments)
        made = where.make_instance("x", said, base.scene)
        assert not isinstance(made, Infeasible), made
        families.add(said.family)
    assert len(families) > 1 or of == "studio_apartment"


def test_the_ground_truth_reaches_only_a_policy_that_asks_for_it():
    base = task("tabletop").sample(np.random.default_rng(1), "x")
    for privileged in (False, True):
        listener = Listener(privileged)
        policy = control(listener)
        assert policy.describe().privileged, "it has to see what can be said"
        policy.reset(base.instruction.text, 1)
        policy.act(seen(base.scene))
        assert listener.shown[0].scene is (base.scene if privileged else None)


def test_without_words_nothing_but_the_text_is_changed():
    listener = Listener()
    policy = control(listener, words="none")
    assert not policy.describe().privileged
    policy.reset("pick up the mug", 5)
    policy.act(seen(None))
    assert listener.told == [("", 5)]


def test_the_words_are_of_the_seed_alone():
    base = task("tabletop").sample(np.random.default_rng(2), "x")
    told = []
    for seed in (1, 2, 3, 1):
        listener = Listener()
        policy = control(listener)
        policy.reset(base.instruction.text, seed)
        policy.act(seen(base.scene))
        told.append(listener.told[0][0])
    assert told[0] == told[3]
    assert len(set(told)) > 1


def test_its_file_says_what_the_listener_needs(tmp_path):
    listed = look_up(SHIPPED)
    assert (listed.problem, listed.needs) == ("", ("ground truth",))
    assert listed.description.name == "tabletop_oracle_other_words"
    file = tmp_path / "mine.yaml"
    file.write_text(SHIPPED.read_text().replace("another", "none"))
    with pytest.raises(ConfigurationError, match=r"mine.yaml.*`words: another`"):
        load_record(OtherWordsParameters, file)


@pytest.mark.parametrize("privileged", [True, False])
def test_it_shows_its_listener_no_more_than_the_listener_asks_for_and_reads_any_words(privileged):
    listener = Listener(privileged)
    listener._description = replace(listener.describe(), max_tokens=4, tokenizer="t.json", accepts_empty=False)
    for words in ("another", "none"):
        described = control(listener, words).describe()
        assert described.shows_objects == privileged
        assert (described.max_tokens, described.tokenizer, described.accepts_empty) == (None, "", True)
