"""What was sent to the policy and what it received are the same, are not, or it is not known."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from robocontrast_ros.domain import Delivery, Observed, Pose
from robocontrast_ros.episodes.assembly import EpisodeAssembly
from robocontrast_ros.episodes.delivery import SHOWN, compare_delivery, unchanged_words
from robocontrast_ros.episodes.pacing import Lockstep
from robocontrast_ros.policies.protocol import Observation, PolicyDescription
from robocontrast_ros.policies.serving.runner import image_digest

words = st.sampled_from(["push a", "push b", "go"])
digests = st.sampled_from(["a" * 64, "b" * 64])
everything = st.builds(Observed, words, st.just("") | digests, segments_digest=st.just("") | digests)
"""What can be sent: there is always an instruction, and no image for a policy that is shown none."""
reported = st.builds(
    Observed, st.just("") | words, st.just("") | digests, st.booleans(), segments_digest=st.just("") | digests
)


@given(everything, reported)
def test_it_is_confirmed_only_where_all_is_said_and_different_only_where_something_said_is_wrong(sent, received):
    delivery, difference = compare_delivery(sent, received)
    contradicted = (
        (received.known and received.instruction != sent.instruction)
        or received.segments_digest not in ("", sent.segments_digest)
        or received.image_digest not in ("", sent.image_digest)
    )
    assert (delivery is Delivery.DIFFERENT) == contradicted == bool(difference)
    assert (delivery is Delivery.CONFIRMED) == (received.known and received == sent)


@given(everything, reported)
def test_a_difference_names_what_was_sent_and_what_was_received(sent, received):
    _, difference = compare_delivery(sent, received)
    if received.known and received.instruction != sent.instruction:
        assert f"sent '{sent.instruction}', received '{received.instruction}'" in difference
    else:
        assert "instruction" not in difference
    if received.segments_digest and received.segments_digest != sent.segments_digest:
        was = sent.segments_digest[:SHOWN] or "none"
        assert f"segments, by SHA-256: sent {was}, received {received.segments_digest[:SHOWN]}" in difference
    else:
        assert "segments" not in difference
    if received.image_digest and received.image_digest != sent.image_digest:
        was = sent.image_digest[:SHOWN] or "none"
        assert difference.endswith(f"sent {was}, received {received.image_digest[:SHOWN]}")
    else:
        assert "images" not in difference


@given(st.sampled_from(["L", "LB", "LS", "LSB", "S", "SB", "B", ""]), reported, reported)
def test_words_are_unchanged_where_both_are_known_and_equal_and_a_perturbation_of_the_language_was_to_change_them(
    axes, received, twin
):
    same = received.known and twin.known
    same = same and received.instruction == twin.instruction and received.segments_digest == twin.segments_digest
    assert bool(unchanged_words(axes, received, twin)) == (same and "L" in axes)


class Camera:
    """Surroundings whose image is another each time."""

    def __init__(self):
        self.taken = 0

    def images(self, stamp):
        self.taken += 1
        return {"board": np.full((2, 2, 3), self.taken, np.uint8)}


class Changing:
    """A policy connection that changes what it is given, and counts the images that were to be digested."""

    description = PolicyDescription("changing", "planar_delta", 2)

    def __init__(self):
        self.digested = 0

    def reset(self, instruction, seed, segments):
        assert segments == ()

    def shown(self, images):
        self.digested += 1
        return images

    def request_actions(self, observation, images):
        images["board"][:] = 0


def test_the_first_images_of_an_episode_are_digested_as_they_were_before_the_policy_had_them_and_no_others():
    policy = Changing()
    episode = EpisodeAssembly(None, None, Lockstep(0.1, lambda: None), Camera(), policy, 0.1, None)
    observation = Observation(1_000_000_000, {}, (), (), Pose())
    for first, instruction in ((1, "go"), (4, "come")):
        episode.reset_policy(instruction, 0)
        assert episode.sent == Observed(instruction), "nothing of the episode before is left"
        for _ in range(3):
            episode.request_actions(observation)
        digest = image_digest({"board": np.full((2, 2, 3), first, np.uint8)})
        assert episode.sent == Observed(instruction, digest)
    assert policy.digested == 2
