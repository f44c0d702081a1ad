"""Observation filters: each changes what it names, as much as its level says, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robocontrast_ros.configuration import ConfigurationError, load_plugin, plugin_names
from robocontrast_ros.contracts.observation_filter import ObservationFilterContract
from robocontrast_ros.domain import Filter, ObjectState, Pose, Scene
from robocontrast_ros.domain.rotations import to_vector
from robocontrast_ros.observations.protocol import Filters, displaces_cameras
from robocontrast_ros.policies.protocol import Observation

NAMES = plugin_names("observation_filters")
IMAGES = [name for name in NAMES if load_plugin("observation_filters", name, "test", "").of_images]
SHOWN = [name for name in IMAGES if not displaces_cameras(load_plugin("observation_filters", name, "test", ""))]
"""Filters that make another image of an image."""
AT_ONCE = sorted(set(SHOWN) - {"frozen", "unplugged", "dropped"})
"""Those of each image alone, whatever came before."""

rng = np.random.default_rng(0)
SMOOTH = np.add.outer(np.arange(240) * 0.4, np.arange(320) * 0.4)[:, :, None] + np.array([0, 10, 20])
PICTURES = [
    (SMOOTH + number + rng.integers(0, 20, (240, 320, 3))).clip(0, 255).astype(np.uint8) for number in range(12)
]

TENTH = 100_000_000
"""Of a second [ns]."""


def seen(number, **changes):
    scene = Scene(tuple(ObjectState(name, name, Pose((x, 0.0, 0.0))) for x, name in enumerate("abcde")))
    images = {"wrist": PICTURES[number][::-1].copy(), "front": PICTURES[number].copy()}
    observation = Observation(number * TENTH, images, ("j1", "j2"), (number * 0.1, 1.0), Pose((0.1, 0.2, 0.3)), scene)
    return replace(observation, gripper_width=0.04, **changes)


def shown(filters, count=12, seed=5):
    made = Filters(filters, seed)
    return [made.apply(seen(number)) for number in range(count)]


def levels(name):
    return range(1, len(load_plugin("observation_filters", name, "test", "").levels) + 1)


def equal(a, b):
    same = all(np.array_equal(a.images[name], b.images[name]) for name in a.images)
    return same and replace(a, images={}) == replace(b, images={})


@given(st.sampled_from(NAMES), st.integers(0, 2**32 - 1), st.data())
def test_the_same_seed_shows_the_same(name, seed, data):
    filters = (Filter(name, data.draw(st.sampled_from(levels(name)))),)
    assert all(map(equal, shown(filters, 4, seed), shown(filters, 4, seed)))


@pytest.mark.parametrize("name", NAMES)
def test_shapes_names_types_and_the_stamp_stay_and_what_the_sensors_gave_is_not_touched(name):
    for severity in levels(name):
        made = Filters((Filter(name, severity),), 1)
        for number in range(4):
            given_to_it = seen(number)
            got = made.apply(given_to_it)
            assert equal(given_to_it, seen(number)), "the bag has what the sensors gave"
            assert list(got.images) == list(given_to_it.images) and got.stamp == given_to_it.stamp
            assert all(i.shape == (240, 320, 3) and i.dtype == np.uint8 for i in got.images.values())
            assert got.joint_names == given_to_it.joint_names


@pytest.mark.parametrize("name", SHOWN)
def test_a_filter_of_images_changes_them_and_nothing_else_and_those_of_one_camera_where_it_is_said(name):
    most = levels(name)[-1]
    changed = [(got, seen(number)) for number, got in enumerate(shown((Filter(name, most, "front"),)))]
    assert all(np.array_equal(got.images["wrist"], was.images["wrist"]) for got, was in changed)
    assert any(not np.array_equal(got.images["front"], was.images["front"]) for got, was in changed)
    assert all(replace(got, images={}) == replace(was, images={}) for got, was in changed)


@pytest.mark.parametrize("name", AT_ONCE)
def test_a_greater_severity_changes_an_image_more(name):
    def difference(severity):
        images = [got.images["front"].astype(float) for got in shown((Filter(name, severity),), 3)]
        return np.mean([np.abs(image - PICTURES[number]).mean() for number, image in enumerate(images)])

    found = [difference(severity) for severity in levels(name)]
    assert found == sorted(found) and found[0] > 0, found


def test_noise_has_the_deviation_that_its_level_says():
    grey = {"front": np.full((200, 200, 3), 128, np.uint8)}
    got = Filters((Filter("noise", 2),), 3).apply(Observation(0, grey, (), (), Pose())).images["front"]
    assert np.std(got.astype(float) - 128) == pytest.approx(8, rel=0.02)


@pytest.mark.parametrize(("severity", "share"), [(1, 0.02), (3, 0.10), (5, 0.40)])
def test_the_blocked_part_is_as_large_as_its_level_says_and_stays_in_place(severity, share):
    white = {"front": np.full((240, 320, 3), 255, np.uint8)}
    made = Filters((Filter("blocked", severity),), 4)
    first, second = (made.apply(Observation(t, white, (), (), Pose())).images["front"] for t in (0, TENTH))
    assert np.mean(first == 0) == pytest.approx(share, rel=0.05)
    assert np.array_equal(first, second)
    other = Filters((Filter("blocked", severity),), 9).apply(Observation(0, white, (), (), Pose())).images["front"]
    assert not np.array_equal(first, other), "another trial, another place"


def test_frozen_and_unplugged_images_begin_at_the_observation_that_their_level_says():
    frozen, dark = shown((Filter("frozen", 4),)), shown((Filter("unplugged", 4),))
    for number in range(12):
        held = PICTURES[min(number, 1)]
        assert np.array_equal(frozen[number].images["front"], held), number
        assert dark[number].images["front"].any() == (number < 2), number
    assert not shown((Filter("unplugged", 5),))[0].images["front"].any()


def test_dropped_images_show_the_last_one_again_as_often_as_the_level_says():
    made, again, last = Filters((Filter("dropped", 3),), 6), 0, None
    for number in range(400):
        image = np.full((2, 2, 3), number % 250, np.uint8)
        got = made.apply(Observation(number, {"c": image}, (), (), Pose())).images["c"]
        if np.array_equal(got, image):
            last = got
        else:
            again += 1
            assert np.array_equal(got, last)
    assert again / 400 == pytest.approx(0.4, abs=0.08)


@pytest.mark.parametrize(("severity", "steps"), [(1, 1), (3, 3), (5, 8)])
def test_latency_shows_all_of_some_observations_before(severity, steps):
    for number, got in enumerate(shown((Filter("latency", severity),))):
        before = seen(max(0, number - steps))
        assert equal(replace(got, stamp=0), replace(before, stamp=0)) and got.stamp == number * TENTH


def test_proprioception_has_the_deviation_that_its_level_says_and_images_stay():
    made = Filters((Filter("proprioception", 3),), 7)
    got = [made.apply(seen(0)) for _ in range(500)]
    assert np.std([o.joint_positions[1] for o in got]) == pytest.approx(0.01, rel=0.15)
    assert np.std([o.tool_pose.position[0] for o in got]) == pytest.approx(0.001, rel=0.15)
    assert np.std([o.gripper_width for o in got]) == pytest.approx(0.001, rel=0.15)
    assert all(np.array_equal(o.images["front"], PICTURES[0]) for o in got[:3])


def test_a_permuted_list_has_the_same_objects_in_another_order_each_time():
    got = [o.scene.names for o in shown((Filter("permuted", 1),))]
    assert {tuple(sorted(names)) for names in got} == {tuple("abcde")}
    assert len(set(got)) > 6


@given(st.integers(1, 5), st.integers(0, 2**32 - 1), st.text(min_size=1, max_size=12))
def test_a_camera_is_moved_by_as_many_centimetres_and_degrees_as_its_level_says(severity, seed, name):
    made = Filters((Filter("moved_camera", severity),), seed)
    offset = made.offsets([name])[name]
    amount = (1, 2, 3, 5, 8)[severity - 1]
    assert np.linalg.norm(offset.position) == pytest.approx(amount / 100, rel=1e-9)
    assert np.degrees(np.linalg.norm(to_vector(offset.orientation))) == pytest.approx(amount, rel=1e-9)
    words = load_plugin("observation_filters", "moved_camera", "test", "").levels[severity - 1]
    assert words.rstrip("s") == f"{amount} cm, {amount} degree"
    assert (
        made.offsets(["other", name])[name] == Filters((Filter("moved_camera", severity),), seed).offsets([name])[name]
    )


def test_a_camera_is_moved_in_every_direction_alike_and_each_one_in_its_own():
    offsets = [Filters((Filter("moved_camera", 5),), seed).offsets(["front", "top"]) for seed in range(600)]
    assert all(each["front"] != each["top"] for each in offsets)
    positions = np.array([each["front"].position for each in offsets]) / 0.08
    turns = np.array([to_vector(each["front"].orientation) for each in offsets]) / np.radians(8)
    for directions in (positions, turns):
        assert np.abs(directions.mean(axis=0)).max() < 0.1
        assert np.mean(directions**2, axis=0) == pytest.approx([1 / 3] * 3, abs=0.05)


def test_a_camera_that_is_moved_is_shown_as_it_is_and_two_filters_move_it_one_after_the_other():
    filters = (Filter("moved_camera", 5), Filter("moved_camera", 1, "front"))
    made = Filters(filters, 3)
    assert not made, "nothing comes between the sensors and the policy"
    assert equal(made.apply(seen(0)), seen(0))
    both = made.offsets(["front", "top"])
    first = Filters(filters[:1], 3).offsets(["front", "top"])
    assert both["top"] == first["top"]
    second = np.subtract(both["front"].position, first["front"].position)
    assert np.linalg.norm(second) == pytest.approx(0.01)
    assert Filters(filters[1:], 3).offsets(["top", "wrist"]) == {}
    assert Filters((Filter("noise", 3),), 3).offsets(["front"]) == {}


def test_filters_come_one_after_the_other():
    once = Filters((Filter("unplugged", 5), Filter("noise", 1)), 1).apply(seen(0)).images["front"]
    assert 0 < once.mean() < 10, "noise of a black image"
    assert not Filters((Filter("noise", 1), Filter("unplugged", 5)), 1).apply(seen(0)).images["front"].any()


@pytest.mark.parametrize(
    ("wanted", "words"),
    [(Filter("blurr", 1), "Did you mean 'blur'"), (Filter("blur", 9), "1 to 5"), (Filter("permuted", 2), "1 to 1")],
)
def test_an_unknown_filter_or_severity_is_one_clear_error(wanted, words):
    with pytest.raises(ConfigurationError, match=words):
        Filters((wanted,), 0)


class Each(ObservationFilterContract):
    def make(self):
        return load_plugin("observation_filters", self.filter_name, "test", "")


globals().update(
    {f"Test{name.title().replace('_', '')}": type(f"Test{name}", (Each,), {"filter_name": name}) for name in NAMES}
)


def test_the_page_has_what_each_severity_is():
    page = (Path(__file__).parents[3] / "docs" / "perturbations_sensors.md").read_text("utf-8")
    for name in NAMES:
        kind = load_plugin("observation_filters", name, "test", "")
        cells = (*kind.levels, *[""] * (5 - len(kind.levels)))
        assert f"| `{name}`: {kind.description} | {' | '.join(cells)} |" in page
