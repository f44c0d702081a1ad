"""The order in which a person carries things."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from robocontrast_ros.domain import Pose, SetupMove
from robocontrast_ros.strategies.effort import handled
from robocontrast_ros.strategies.visit_order import in_cheapest_order

STORE = (0.0, -3.0, 0.0)

places = st.none() | st.builds(Pose.planar, st.floats(-4.0, 4.0), st.floats(-4.0, 4.0))
stores = st.sampled_from([None, STORE])


@st.composite
def set_ups(draw) -> list[SetupMove]:
    """Draw a set-up, first what is taken out."""
    ways = draw(st.lists(st.tuples(places, places).filter(any), max_size=6))
    ways.sort(key=lambda way: way[1] is not None)
    return [SetupMove(f"o{k}", "box", *way) for k, way in enumerate(ways)]


@given(set_ups(), stores)
def test_the_cheapest_order_has_the_same_moves_takes_things_out_first_and_is_no_longer_walk(moves, store):
    ordered = in_cheapest_order(moves, store)
    assert sorted(move.name for move in ordered) == [move.name for move in moves]
    kept = [move.goal is None for move in ordered]
    assert kept == sorted(kept, reverse=True)
    before, after = handled(moves, store), handled(ordered, store)
    assert after.walked <= before.walked
    assert (after.objects, round(after.carried, 9)) == (before.objects, round(before.carried, 9))


def test_what_stands_where_the_last_thing_was_put_down_is_taken_next():
    moves = [
        SetupMove(name, "chair", Pose.planar(start, 0.0), Pose.planar(start + 1.0, 0.0))
        for name, start in (("near", 0.0), ("far", 2.0), ("middle", 1.0))
    ]
    ordered = in_cheapest_order(moves, None)
    assert [move.name for move in ordered] == ["near", "middle", "far"]
    assert handled(ordered, None).walked == 0.0
