"""Scenes and contacts of one time, in whatever order they arrive."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from robocontrast_ros.domain import Pose, Scene
from robocontrast_ros.worlds.contacts import ContactsJoin

names = st.lists(st.sampled_from(["bed", "couch", "walls"]), unique=True).map(tuple)


def scene_at(stamp, contacts=(), carried=()):
    return Scene(robot=Pose.planar(stamp, 0.0), contacts=contacts, carried=carried)


@given(st.lists(st.tuples(names, names), min_size=1, max_size=12), st.integers(1, 3), st.randoms(use_true_random=False))
def test_each_scene_has_what_was_touched_since_the_one_before_whichever_arrives_first(touched, every, random):
    stamps = range(len(touched))
    wanted = [stamp for stamp in stamps if stamp % every == every - 1]
    arrivals = [("contacts", stamp) for stamp in stamps]
    for stamp in wanted:
        # Each topic keeps its order; how far one runs ahead of the other is chance.
        arrivals.insert(random.randint(0, len(arrivals)), ("scene", stamp))
    scenes = iter(wanted)
    join, complete = ContactsJoin(), []
    for kind, stamp in arrivals:
        if kind == "contacts":
            complete += join.add_contacts(stamp, *touched[stamp])
        else:
            stamp = next(scenes)
            complete += join.add_scene(stamp, scene_at(stamp))
    since = [zip(*touched[stamp - every + 1 : stamp + 1], strict=True) for stamp in wanted]
    both = [[tuple(sorted(set().union(*lists))) for lists in pair] for pair in since]
    assert complete == [(stamp, scene_at(stamp, *pair)) for stamp, pair in zip(wanted, both, strict=True)]


def test_scenes_without_contacts_wait_for_them():
    join = ContactsJoin()
    join.add_contacts(1, ("bed",))
    assert join.add_scene(2, scene_at(2)) == []


def test_what_was_touched_before_a_set_up_is_forgotten():
    join = ContactsJoin()
    join.add_contacts(1, ("bed",))
    join.add_contacts(2, ("couch",))
    join.forget(1)
    assert join.add_scene(2, scene_at(2)) == [(2, scene_at(2, ("couch",)))]


def test_a_time_that_is_set_back_begins_anew():
    join = ContactsJoin()
    join.add_contacts(5, ("bed",))
    join.add_contacts(1, ("couch",))
    assert join.add_scene(1, scene_at(1)) == [(1, scene_at(1, ("couch",)))]
    assert join.add_scene(3, scene_at(3)) == []
