"""Progress of goals with several subtasks: groups, order, what is lost again."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robocontrast_ros.domain import ObjectState, Pose, Scene
from robocontrast_ros.episodes.composed import ComposedProgress
from robocontrast_ros.episodes.judging import LeftProgress, goal_progress
from robocontrast_ros.tasks import composed
from robocontrast_ros.tasks.composed import ComposedGoal, Condition, Group, Mode, Tree, leaves
from robocontrast_ros.tasks.protocol import AT_ONCE, Holding

THINGS = ("apple", "banana", "cube")
HOME, HAND, BOX = 0.0, 0.5, 1.0
REST = Holding(2, leave=0.0)


def scene(held: str = "", **places: float) -> Scene:
    """A scene with each thing at its place along x, at home if none is said; the robot touches one of them."""
    states = tuple(ObjectState(name, name, Pose((places.get(name, HOME), 0.0, 0.0))) for name in THINGS)
    return Scene(states, contacts=(held,) if held else ())


@dataclass(frozen=True)
class InBox:
    """A thing is in the box and nobody touches it; the robot has carried it there."""

    name: str

    def distance(self, at: Scene) -> float:
        return BOX - at[self.name].pose.position[0] + (0.1 if self.name in at.contacts else 0.0)

    def satisfied(self, at: Scene) -> bool:
        return self.distance(at) == 0.0

    def conditions(self, start: Scene) -> tuple[Condition, ...]:
        def touched(at: Scene) -> bool:
            return self.name in at.contacts

        def inside(at: Scene) -> bool:
            return at[self.name].pose.position[0] == BOX

        def kept(at: Scene) -> bool:
            return touched(at) or inside(at)

        rest = Holding(2, (self.name,), 0.01)
        return (
            Condition("touched", 0.5, touched, kept, losing=rest),
            Condition("placed", 0.25, inside, inside),
            Condition("released", 0.25, self.satisfied, inside, AT_ONCE),
        )


@dataclass(frozen=True)
class Boxed:
    tree: Tree
    stop_required: bool = False
    reach: float = 0.1
    subgoals: tuple = field(default=(), compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "subgoals", tuple(leaves(self.tree)))

    def satisfied(self, at: Scene) -> bool:
        return composed.satisfied(self.tree, at)

    def distance(self, at: Scene) -> float:
        return composed.distance(self.tree, at)


def group(mode: Mode, count: int = 0, names: tuple[str, ...] = THINGS) -> Boxed:
    return Boxed(Group(mode, tuple(map(InBox, names)), count))


def after(goal: Boxed, *scenes: Scene) -> ComposedProgress:
    judging = goal_progress(goal, scene(), 1)
    for each in scenes:
        judging.update(each)
    return judging


def carried(name: str, **others: float) -> tuple[Scene, ...]:
    """The scenes in which the robot takes a thing to the box and lets go."""
    return scene(name, **others), scene(name, **{**others, name: HAND}), scene(**{**others, name: BOX})


def test_a_goal_of_subtasks_is_judged_by_its_conditions():
    assert isinstance(group(Mode.ALL), ComposedGoal)
    judging = after(group(Mode.ALL), *carried("apple"))
    assert (judging.progress, judging.reached, judging.subgoals) == (pytest.approx(1 / 3), 1, 3)
    assert not judging.succeeded


@given(st.permutations(THINGS))
def test_all_of_a_group_may_be_done_in_any_order(order):
    scenes, done = [], {}
    for name in order:
        scenes += carried(name, **done)
        done[name] = BOX
    judging = after(group(Mode.ALL), *scenes)
    assert judging.succeeded and judging.progress == 1.0 and judging.reached == 3


@given(st.permutations(THINGS))
def test_a_sequence_is_a_success_in_its_own_order_alone(order):
    scenes, done = [], {}
    for name in order:
        scenes += carried(name, **done)
        done[name] = BOX
    judging = after(group(Mode.SEQUENCE), *scenes)
    assert judging.succeeded is (tuple(order) == THINGS)
    assert group(Mode.SEQUENCE).satisfied(scenes[-1]), "the last scene alone does not show the order"


def test_any_is_done_with_one_and_a_choice_with_exactly_its_number():
    one = carried("banana")
    assert after(group(Mode.ANY), *one).succeeded
    assert not after(group(Mode.CHOOSE, 2), *one).succeeded
    two = (*one, *carried("cube", banana=BOX))
    assert after(group(Mode.CHOOSE, 2), *two).succeeded
    together = scene(apple=BOX, banana=BOX, cube=BOX)
    at_once = [scene("apple"), scene("banana"), scene("cube"), together]
    assert not after(group(Mode.CHOOSE, 2), *at_once).succeeded, "three are one too many"
    assert group(Mode.CHOOSE, 2).distance(together) > 0.0


def test_what_nobody_lifted_counts_for_nothing():
    judging = after(group(Mode.ALL, names=("apple", "banana")), scene(apple=BOX, banana=BOX))
    assert (judging.progress, judging.succeeded) == (0.0, False)
    assert judging.distance == 0.0


def test_what_is_dropped_elsewhere_is_lost_and_what_falls_into_the_box_is_not():
    goal = group(Mode.ALL)
    held = after(goal, scene("apple"))
    assert held.progress == pytest.approx(0.5 / 3)
    dropped = after(goal, scene("apple"), scene(apple=HAND), scene(apple=HAND), scene(apple=HAND))
    assert dropped.progress == 0.0
    falling = after(goal, scene("apple"), scene(apple=HAND), scene(apple=0.8), scene(apple=BOX))
    assert falling.reached == 1


def test_what_is_taken_out_of_the_box_again_is_lost_and_so_is_what_followed_in_a_sequence():
    first = carried("apple")
    taken = scene("apple", apple=HAND)
    assert after(group(Mode.ALL), *first, taken).progress == pytest.approx(0.5 / 3)
    second = carried("banana", apple=BOX)
    judging = after(group(Mode.SEQUENCE), *first, *second, scene("apple", apple=HAND, banana=BOX))
    assert judging.progress == pytest.approx(0.5 / 3)
    assert judging.reached == 0


def test_a_success_stays_a_success():
    judging = after(group(Mode.ANY), *carried("cube"), scene("cube", cube=HAND))
    assert judging.succeeded and judging.progress == 1.0 and not judging.holds


def test_a_camera_that_sees_the_end_alone_judges_the_end_alone():
    judging = LeftProgress(group(Mode.ALL))
    judging.update(scene(apple=BOX, banana=BOX, cube=BOX))
    assert judging.succeeded


moves = st.builds(
    lambda held, places: scene(held, **dict(zip(THINGS, places, strict=True))),
    st.sampled_from(("", *THINGS)),
    st.tuples(*[st.sampled_from((HOME, HAND, BOX))] * 3),
)
nested = Boxed(Group(Mode.SEQUENCE, (InBox("apple"), Group(Mode.ANY, (InBox("banana"), InBox("cube"))))))
goals = st.sampled_from(
    [nested, *map(group, (Mode.ALL, Mode.ANY, Mode.SEQUENCE)), group(Mode.CHOOSE, 1), group(Mode.CHOOSE, 2)]
)


@given(goals, st.lists(moves, max_size=12))
def test_progress_is_a_share_and_a_success_is_one_scene_in_which_the_goal_holds(goal, scenes):
    judging = after(goal)
    for each in scenes:
        before = judging.succeeded
        judging.update(each)
        assert 0.0 <= judging.progress <= 1.0 and 0 <= judging.reached <= judging.subgoals
        assert goal.satisfied(each) is (goal.distance(each) == 0.0)
        if judging.succeeded and not before:
            assert goal.satisfied(each) and judging.progress == 1.0
        # A choice takes exactly its number, and a thing that was put down and is touched again is one of them.
        exact = goal.tree.mode is Mode.CHOOSE
        assert judging.succeeded or judging.progress < 1.0 or not goal.satisfied(each) or exact


@given(goals, st.lists(moves, max_size=12), st.integers(2, 4))
def test_what_has_to_hold_longer_is_reached_no_earlier(goal, scenes, steps):
    short, long = goal_progress(goal, scene(), 1), goal_progress(goal, scene(), steps)
    for each in scenes:
        short.update(each)
        long.update(each)
        assert short.succeeded or not long.succeeded
