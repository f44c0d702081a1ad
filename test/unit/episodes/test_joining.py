"""Scenes, tool poses and joints meet by their stamps, however they arrive."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from robocontrast_ros.domain import JointTracking, Pose, Scene
from robocontrast_ros.episodes.scoring import Sample, StampJoin

SCENE, POSE, JOINTS = Scene(), Pose(), JointTracking(("elbow",), (0.1,), (0.2,))


def feed(join: StampJoin, arrivals) -> list[Sample]:
    """``arrivals`` holds ("scene" | "tool" | "joints", stamp)."""
    add = {"scene": join.add_scene, "tool": join.add_tool_pose, "joints": join.add_joints}
    values = {"scene": SCENE, "tool": POSE, "joints": JOINTS}
    out = []
    for kind, stamp in arrivals:
        if sample := add[kind](stamp, values[kind]):
            out.append(sample)
    return out


def interleave(scenes: list[int], tools: list[int], turns: list[bool]):
    """Both topics keep their own order; ``turns`` says which comes next."""
    scenes, tools = list(scenes), list(tools)
    for turn in turns:
        side, kind = (scenes, "scene") if turn else (tools, "tool")
        if side:
            yield kind, side.pop(0)
    yield from (("scene", s) for s in scenes)
    yield from (("tool", s) for s in tools)


stamps = st.lists(st.integers(1, 50), unique=True, max_size=15).map(sorted)


@given(scenes=stamps, tools=stamps, turns=st.lists(st.booleans(), max_size=30))
def test_the_samples_do_not_depend_on_the_order_of_arrival(scenes, tools, turns):
    join = StampJoin()
    samples = feed(join, interleave(scenes, tools, turns))
    assert [s.stamp for s in samples] == sorted(set(scenes) & set(tools))


def test_what_is_not_after_the_start_scene_is_not_part_of_the_trial():
    join = StampJoin(after=10)
    samples = feed(join, [("scene", 9), ("tool", 9), ("scene", 10), ("tool", 10), ("tool", 11), ("scene", 11)])
    assert [s.stamp for s in samples] == [11]


def test_a_stamp_that_comes_twice_makes_one_sample():
    samples = feed(StampJoin(), [("scene", 1), ("tool", 1), ("scene", 1), ("tool", 1)])
    assert samples == [Sample(1, SCENE, POSE)]


def test_a_message_whose_partner_was_lost_is_dropped_and_counted():
    join = StampJoin()
    samples = feed(join, [("scene", 1), ("scene", 2), ("tool", 2)])
    assert [s.stamp for s in samples] == [2]
    assert join.unpaired == 1


@given(st.data(), st.booleans(), st.booleans())
def test_samples_have_the_parts_that_are_wanted_whatever_else_arrives_and_in_any_order(data, scenes, joints):
    kinds, times = ("scene", "tool", "joints"), st.lists(st.integers(0, 9), unique=True).map(sorted)
    sides = {kind: data.draw(times) for kind in kinds}
    left = {kind: list(stamps) for kind, stamps in sides.items()}
    arrivals = []
    while any(left.values()):
        kind = data.draw(st.sampled_from([kind for kind, stamps in left.items() if stamps]))
        arrivals.append((kind, left[kind].pop(0)))
    wanted = {"tool", *(["scene"] if scenes else []), *(["joints"] if joints else [])}
    common = sorted(set.intersection(*(set(sides[kind]) for kind in wanted)) - {0})
    samples = feed(StampJoin(0, scenes, joints), arrivals)
    assert samples == [Sample(s, SCENE if scenes else None, POSE, JOINTS if joints else None) for s in common]
