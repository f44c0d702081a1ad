"""Tags on drawers and doors: where they are glued, and that none is where the hand takes the part."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from robocontrast_ros.objects import SHIPPED, load_library
from robocontrast_ros.objects.frames import rotate
from robocontrast_ros.perception.part_tags import place_on_front
from robocontrast_ros.perception.plates import tags_for, with_border

LIBRARY = load_library([f"{SHIPPED}/kitchen"])
TAGS = tags_for(LIBRARY.values())
PARTS = {f"{model.model}/{part.name}": part for model in LIBRARY.values() for part in model.joints}
FRONTS = sorted(name for name in PARTS if "knob" not in name)


@pytest.mark.parametrize("name", FRONTS)
def test_a_drawer_or_door_has_two_tags_on_its_front_clear_of_its_handle_and_of_each_other(name):
    part, tags = PARTS[name], TAGS[name]
    half = with_border(tags[0]) / 2.0
    assert len(tags) == 2
    # Every front of the kitchen is towards +x.
    panel = max((p for p in part.parts if p.type == "box"), key=lambda p: p.size[1] * p.size[2])
    low, high = np.array(panel.pose.position) - panel.size, np.array(panel.pose.position) + panel.size
    for tag in tags:
        assert rotate(tag.orientation, (0.0, 0.0, 1.0)) == pytest.approx((1.0, 0.0, 0.0)), "it looks out of the front"
        assert rotate(tag.orientation, (0.0, 1.0, 0.0)) == pytest.approx((0.0, 0.0, 1.0)), "it stands upright"
        corners = tag.corners
        assert (corners[:, 1:] - (half - tag.size / 2.0) >= low[1:] - 1e-4).all()
        assert (corners[:, 1:] + (half - tag.size / 2.0) <= high[1:] + 1e-4).all()
        assert high[0] < tag.position[0] < high[0] + 0.005
        for bar in (p for p in part.parts if p.type in ("capsule", "cylinder")):
            apart = np.abs(np.array(tag.position[1:]) - bar.pose.position[1:]) - half - max(bar.size[0], 0.006)
            reach = apart - (0.0, bar.size[1] if bar.type == "capsule" else 0.0)
            assert reach.max() >= 0.0
    one, other = (np.array(tag.position) for tag in tags)
    assert np.abs(one - other).max() >= 2.0 * half


def test_numbers_of_parts_come_after_those_of_all_objects_and_a_knob_has_no_tag():
    objects = [tag.number for name, own in TAGS.items() for tag in own if name not in PARTS]
    parts = [tag.number for name, own in TAGS.items() for tag in own if name in PARTS]
    assert objects == list(range(100, 100 + len(objects)))
    assert parts == list(range(100 + len(objects), 100 + len(objects) + len(parts)))
    assert [name for name in PARTS if name not in TAGS] == ["stove/knob"]


def test_its_place_is_told_from_the_handle_as_somebody_before_it_sees_it():
    right, left = TAGS["brown_cabinet/top_drawer"]
    assert place_on_front(right) == "upright, 80 mm right of its handle"
    assert place_on_front(left) == "upright, 80 mm left of its handle"
    assert place_on_front(replace(right, position=(-0.022, 0.0, 0.0))) == "upright, over its handle"
    assert [place_on_front(tag) for tag in TAGS["white_microwave/door"]] == [
        "upright, 48 mm left, 65 mm under its handle",
        "upright, 128 mm left, 65 mm under its handle",
    ]
