"""The learned policies: their parts with fresh weights, and the shipped checkpoints behind the policy protocol."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from language_table_instances import EIGHT

torch = pytest.importorskip("torch", reason="the extra `torch` is not installed")

from robocontrast_ros.configuration import (  # noqa: E402
    ConfigurationError,
    load_configured,
    resolve_uri,
)
from robocontrast_ros.contracts.policy import PolicyContract  # noqa: E402
from robocontrast_ros.domain import Pose  # noqa: E402
from robocontrast_ros.policies.film_bc.keypoints import Keypoints, to_board, to_cells  # noqa: E402
from robocontrast_ros.policies.film_bc.model import (  # noqa: E402
    Answer,
    FilmBc,
    Sizes,
    Slots,
    bin_angle,
    direction_loss,
    displacement,
    turns,
)
from robocontrast_ros.policies.film_bc.observations import reduced  # noqa: E402
from robocontrast_ros.policies.film_bc.traced import TracedFilmBc  # noqa: E402
from robocontrast_ros.policies.film_bc.tracking import Tracker  # noqa: E402
from robocontrast_ros.policies.protocol import Observation  # noqa: E402

NAMES = EIGHT.parameters.blocks


def policy_file(name):
    return resolve_uri(f"package://robocontrast_ros/config/policies/{name}.yaml")


class TestPixelPolicyContract(PolicyContract):
    def parameter_file(self):
        return policy_file("film_bc")

    def make(self):
        return load_configured("policies", self.parameter_file())


class TestStatePolicyContract(PolicyContract):
    def parameter_file(self):
        return policy_file("film_bc_state")

    def make(self):
        return load_configured("policies", self.parameter_file())


def slots(count, generator):
    def uniform(*shape):
        return torch.rand(shape, generator=generator) * 0.4 - 0.2

    turn = torch.nn.functional.normalize(uniform(count, 8, 2), dim=-1)
    return Slots(uniform(count, 2), uniform(count, 8, 2), turn, uniform(count, 8, 2))


def test_a_checkpoint_makes_the_same_network(tmp_path):
    torch.manual_seed(0)
    network = FilmBc(NAMES, Sizes(trunk=32))
    torch.save(network.checkpoint(), tmp_path / "network.pt")
    again = FilmBc.restored(torch.load(tmp_path / "network.pt", weights_only=True))
    generator = torch.Generator().manual_seed(1)
    state, words = slots(3, generator), torch.rand((3, 384), generator=generator)
    assert torch.equal(displacement(network(state, words)), displacement(again(state, words)))


@given(angle=st.floats(-math.pi, math.pi), heading=st.floats(-math.pi, math.pi))
def test_the_direction_that_is_learned_is_the_one_that_is_answered(angle, heading):
    bins = 48
    action = 0.02 * torch.tensor([[math.cos(angle), math.sin(angle)]])
    logits = torch.zeros(1, bins, requires_grad=True)
    empty = torch.zeros(1, 2)

    def answer(direction):
        return Answer(empty, empty, empty, torch.tensor([heading]), direction, torch.tensor([0.02]))

    # One long step down the loss's gradient puts the likelihood where the label is.
    (gradient,) = torch.autograd.grad(direction_loss(answer(logits), action).sum(), logits)
    share = (1 / bins - gradient).clamp_min(1e-12)
    assert torch.allclose(displacement(answer(share.log())), action, atol=1e-4)


def test_bins_go_once_round():
    assert float(bin_angle(torch.tensor(0.0), 48)) == pytest.approx(-math.pi)
    assert float(bin_angle(torch.tensor(24.0), 48)) == pytest.approx(0.0)


@given(x=st.floats(0.15, 0.6), y=st.floats(-0.3, 0.3))
def test_a_point_of_the_board_is_found_again_from_its_place_in_the_image(x, y):
    point = torch.tensor([[x, y]])
    assert torch.allclose(to_board(to_cells(point)), point, atol=1e-5)


def test_a_heat_map_about_a_place_is_read_as_that_place():
    torch.manual_seed(0)
    network = Keypoints(NAMES, width=8).eval()
    image = torch.randint(0, 256, (1, 3, 90, 160), dtype=torch.uint8)
    found = network.find(image)
    assert found.position.shape == (1, 8, 2)
    assert bool(((found.sure > 0) & (found.sure <= 1.0001)).all())
    assert torch.allclose(found.turn.norm(dim=-1), torch.ones(1, 8), atol=1e-5)


def test_images_are_averaged_and_others_refused():
    image = np.zeros((4, 6, 3), np.uint8)
    image[:2, :2] = [[[0], [10]], [[20], [30]]]
    assert reduced(image, 2, 3)[0, 0].tolist() == [15, 15, 15]
    with pytest.raises(ValueError, match="whole multiples of 3 x 3"):
        reduced(image, 3, 3)


class TestTracker:
    far, sure, turn = np.array([1.0, 1.0]), np.ones(1), np.array([[1.0, 0.0]])

    def look(self, tracker, place, tool=None, sure=1.0):
        tracker.update(self.far if tool is None else tool, np.array([place]), self.turn, sure * self.sure)

    def test_a_block_that_stands_is_averaged(self):
        rng, tracker = np.random.default_rng(0), Tracker(1)
        for _ in range(50):
            self.look(tracker, np.array([0.3, 0.1]) + rng.normal(0, 0.003, 2))
        assert tracker.position[0] == pytest.approx([0.3, 0.1], abs=0.0015)

    def test_a_block_that_is_pushed_is_followed_and_its_start_remembered(self):
        tracker = Tracker(1)
        for step in range(10):
            place = np.array([0.3 + 0.02 * step, 0.1])
            self.look(tracker, place, tool=place - [0.03, 0.0])
        assert tracker.position[0] == pytest.approx([0.48, 0.1], abs=0.003)
        assert tracker.start[0] == pytest.approx([0.3, 0.1], abs=1e-9)

    def test_a_hidden_block_stays_where_it_was_seen(self):
        tracker = Tracker(1)
        self.look(tracker, [0.3, 0.1])
        self.look(tracker, [0.5, 0.2], sure=0.1)
        assert tracker.position[0] == pytest.approx([0.3, 0.1])

    def test_one_stray_sighting_is_not_believed_and_a_lasting_one_is(self):
        tracker = Tracker(1)
        for _ in range(5):
            self.look(tracker, [0.3, 0.1])
        self.look(tracker, [0.5, 0.2])
        assert tracker.position[0] == pytest.approx([0.3, 0.1])
        for _ in range(40):
            self.look(tracker, [0.5, 0.2])
        assert tracker.position[0] == pytest.approx([0.5, 0.2], abs=0.005)

    def test_a_block_hidden_at_first_is_taken_from_its_first_good_look(self):
        tracker = Tracker(1)
        self.look(tracker, [0.5, 0.2], sure=0.1)
        self.look(tracker, [0.3, 0.1])
        assert tracker.position[0] == pytest.approx([0.3, 0.1])


def test_a_missing_camera_is_named():
    policy = load_configured("policies", policy_file("film_bc"))
    policy.reset("move the red moon to the blue cube", 0)
    with pytest.raises(ValueError, match="no image of camera 'board'; the observation has none"):
        policy.act(Observation(100_000_000, {}, (), (), Pose()))


def test_a_file_that_is_no_checkpoint_is_refused_in_words(tmp_path):
    (tmp_path / "network.pt").write_text("no checkpoint")
    file = tmp_path / "policy.yaml"
    file.write_text("policy: film_bc\nname: mine\nnetwork: network.pt\n")
    with pytest.raises(ConfigurationError, match="network"):
        load_configured("policies", file)


class RunsCode:
    def __reduce__(self):
        return print, ("it ran",)


@pytest.mark.parametrize(
    "content",
    [b"", b"junk", b"no checkpoint", pickle.dumps(RunsCode(), 2), pickle.dumps({"a": 1}, 2)],
    ids=len,
)
def test_a_file_that_is_no_checkpoint_is_refused_without_advice_to_load_it_unsafely(tmp_path, content, capfd):
    (tmp_path / "network.pt").write_bytes(content)
    file = tmp_path / "policy.yaml"
    file.write_text("policy: film_bc\nname: mine\nnetwork: network.pt\n")
    with pytest.raises(ConfigurationError) as caught:
        load_configured("policies", file)
    said = str(caught.value)
    assert said.startswith(f"{file}: `network`: got 'network.pt', expected a checkpoint of a FilmBc network. It is no")
    assert "weights_only" not in said and "\n" not in said
    assert "it ran" not in "".join(capfd.readouterr())


def test_it_is_described_without_pytorch_and_refused_in_words_when_loaded():
    program = f"""
import sys
sys.modules["torch"] = None
from pathlib import Path
from robocontrast_ros.configuration import ConfigurationError, find_configured
file = Path({str(policy_file("film_bc"))!r})
print(find_configured("policies", file).describe_file(file).image_sizes)
try:
    find_configured("policies", file).from_file(file)
except ConfigurationError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    described, refused = done.stdout.splitlines()
    assert described == "((320, 180),)"
    assert "film_bc.yaml" in refused
    assert "Install `robocontrast_ros[torch]`" in refused


def test_warming_up_in_a_trial_changes_nothing_of_it():
    contract = PolicyContract()
    plain, disturbed = (load_configured("policies", policy_file("film_bc_state")) for _ in range(2))
    answers = []
    for policy in (plain, disturbed):
        policy.reset(contract.instruction(1), 0)
        answers.append([])
        for observation in contract.observations(policy, 1):
            answers[-1].append(policy.act(observation))
            if policy is disturbed:
                policy.warm_up()
    assert all(np.array_equal(a, b) for a, b in zip(*answers, strict=True))


@pytest.mark.parametrize("threads", [1, 2])
def test_it_computes_on_one_thread_and_leaves_the_number_as_it_was(threads, monkeypatch):
    before = torch.get_num_threads()
    used = []
    real = TracedFilmBc.__call__
    monkeypatch.setattr(
        TracedFilmBc,
        "__call__",
        lambda *arguments, **named: (used.append(torch.get_num_threads()), real(*arguments, **named))[1],
    )
    torch.set_num_threads(threads)
    try:
        PolicyContract().acted(load_configured("policies", policy_file("film_bc_state")), 1, 0)
        assert set(used) == {1}
        assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)


def test_the_recorded_graph_answers_to_the_last_bit_as_the_network_does():
    generator = torch.Generator().manual_seed(0)
    network = FilmBc(EIGHT.parameters.blocks, Sizes()).eval()
    told = [network.understand(torch.randn(1, 384, generator=generator)) for _ in range(20)]
    graph, before = TracedFilmBc(network, told[0]), None
    with torch.inference_mode():
        for said in told:
            position, start = (
                torch.rand(1, len(EIGHT.parameters.blocks), 2, generator=generator) * 0.4 + 0.1 for _ in range(2)
            )
            yaw = torch.rand(1, len(EIGHT.parameters.blocks), generator=generator) * 6.0
            tool = torch.rand(1, 2, generator=generator) * 0.4
            slots = Slots(tool, position, turns(yaw, network.symmetry), start)
            wanted = displacement(network.act(slots, said), before)
            assert torch.equal(graph(slots, said, before), wanted)
            before = wanted
