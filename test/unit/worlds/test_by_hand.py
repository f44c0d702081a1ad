"""Set-ups by hand: what the person is asked, what is checked afterwards, and what is believed."""

from __future__ import annotations

import math
from dataclasses import replace
from types import MappingProxyType

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from robocontrast_ros.console.questions import ROBOT, OperatorAnswer
from robocontrast_ros.console.tolerances import Tolerances
from robocontrast_ros.domain import Fault, ObjectState, Pose, Scene
from robocontrast_ros.strategies.effort import Tolerance, scenes_match, setup_moves
from robocontrast_ros.worlds.backends import BrokenOff, TableReading
from robocontrast_ros.worlds.by_hand import ByHand, PractisedTable, SeenTable, ToldTable

TOLERANCE = Tolerance(0.01, 0.15)
PLACES = st.tuples(st.floats(-1, 1), st.floats(-1, 1), st.floats(-math.pi, math.pi))


def scene(**places):
    return Scene(tuple(ObjectState(name, name, Pose.planar(*place)) for name, place in places.items()))


class OwnTable:
    """A table on which things stand where they were put, and what a camera says of it."""

    seen = True

    def __init__(self, things):
        self.things, self.unsure, self.deviations, self.carried = things, {}, {}, []

    def read(self):
        return 7, TableReading(self.things, dict(self.unsure), dict(self.deviations))

    def carry(self, target, moved):
        self.carried.append(moved)

    def put(self, target, names):
        """Do with some objects what a person does who is told to."""
        kept = [o for o in self.things if o.name not in names]
        self.things = replace(target, objects=(*kept, *(o for o in target if o.name in names)))


class Scripted:
    """A console at which one function after the other plays the person."""

    def __init__(self, *people):
        self.questions, self._people = [], list(people)

    def ask_moves(self, question):
        self.questions.append(question)
        person = self._people.pop(0) if len(self._people) > 1 else self._people[0]
        return replace(person(question), seconds=20.0 * len(self.questions))

    @property
    def asked(self):
        """The names of the objects that each question asks to move."""
        return [{move.name for move in question.moves} for question in self.questions]


def done(question):
    return OperatorAnswer("done", moved=question.things)


def overrules(question):
    return OperatorAnswer("done", overruled=True)


def moves_all(table):
    def person(question):
        table.put(question.target, {move.name for move in question.moves})
        return done(question)

    return person


def moves_only(table, *names):
    def person(question):
        table.put(question.target, set(names))
        return done(question)

    return person


def outcome(table, console, target, moves=None, own=MappingProxyType({}), fixed=frozenset()):
    by_hand = ByHand(table, console, Tolerances(TOLERANCE, own, fixed), None)
    moves = setup_moves(table.read()[1].scene, target, TOLERANCE) if moves is None else moves
    return by_hand, by_hand.set_up(target, moves)


def set_up(*given, **more):
    by_hand, found = outcome(*given, **more)
    return by_hand, (found.stamp, found.scene)


BEFORE = scene(cup=(0.0, 0.0), block=(0.2, 0.0), spoon=(0.4, 0.0))
TARGET = scene(cup=(0.0, 0.3), block=(0.2, 0.3), spoon=(0.4, 0.0))


def test_a_right_set_up_is_asked_for_once_and_read_back_with_its_time():
    table = OwnTable(BEFORE)
    console = Scripted(moves_all(table))
    by_hand, (stamp, found) = set_up(table, console, TARGET)
    assert stamp == 7 and scenes_match(found, TARGET, TOLERANCE) and by_hand.read() == (7, found)
    (question,) = console.questions
    assert question.target == TARGET and question.present == BEFORE and question.problems == ()
    assert console.asked == [{"cup", "block"}]


def breaks_off_after(*names):
    def person(question):
        raise BrokenOff(Fault.SKIPPED, "cannot be set up", names)

    return person


def test_what_was_carried_before_a_set_up_was_broken_off_is_known():
    table = ToldTable(lambda: 7, "world")
    table.carry(replace(BEFORE, frame_id="world"), ())
    target = replace(scene(cup=(0.0, 0.3), block=(0.2, 0.3), mug=(0.6, 0.0)), frame_id="world")
    with pytest.raises(BrokenOff):
        set_up(table, Scripted(breaks_off_after("cup", "spoon")), target)
    found = table.read()[1].scene
    assert found["cup"] == target["cup"] and found["block"] == BEFORE["block"]
    assert set(found.names) == {"cup", "block"}
    with pytest.raises(BrokenOff):
        set_up(table, Scripted(breaks_off_after("mug")), target)
    assert table.read()[1].scene["mug"] == target["mug"]


def test_what_was_seen_of_a_set_up_and_what_was_overruled_are_kept():
    table = OwnTable(BEFORE)
    console = Scripted(moves_only(table, "block"), overrules)
    _, found = outcome(table, console, TARGET)
    assert found.scene["cup"] == TARGET["cup"], "the person is believed"
    person = found.by_person
    assert person.read["cup"] == BEFORE["cup"] and person.overruled == ("cup is 30.0 cm off, allowed is 1.0 cm",)
    table = OwnTable(BEFORE)
    table.unsure = {"cup": "hidden"}
    person = outcome(table, Scripted(moves_all(table), overrules), TARGET)[1].by_person
    assert "cup" not in person.read and person.overruled == ("cup: hidden",)
    table = ToldTable(lambda: 7, BEFORE.frame_id)
    person = outcome(table, Scripted(done), TARGET)[1].by_person
    assert person.read is None and person.overruled == ()


def test_a_wrong_set_up_is_told_and_only_what_is_left_is_asked_for_again():
    table = OwnTable(BEFORE)
    console = Scripted(moves_only(table, "block"), moves_all(table))
    _, (_, found) = set_up(table, console, TARGET)
    assert scenes_match(found, TARGET, TOLERANCE)
    assert console.asked == [{"cup", "block"}, {"cup"}]
    assert console.questions[1].problems == ("cup is 30.0 cm off, allowed is 1.0 cm",)
    assert not console.questions[1].doubts and console.questions[1].present["block"] == TARGET["block"]


def test_who_overrules_has_put_right_what_fell_over_too():
    table = OwnTable(BEFORE)
    table.unsure = {"spoon": "its tag is not seen"}
    set_up(table, Scripted(moves_all(table), overrules), TARGET)
    assert set(table.carried[0]) == {"cup", "block"} and set(table.carried[1]) == {"spoon"}


def test_each_object_has_its_own_tolerance():
    def nearly(question):
        near = question.target.moved("cup", Pose.planar(0.03, 0.3, 1.0)).moved("block", Pose.planar(0.23, 0.3))
        table.put(near, {"cup", "block"})
        return done(question)

    table = OwnTable(BEFORE)
    console = Scripted(nearly, moves_all(table))
    set_up(table, console, TARGET, own={"cup": Tolerance(0.05, math.pi)})
    assert console.asked == [{"cup", "block"}, {"block"}]
    assert console.questions[1].problems == ("block is 3.0 cm off, allowed is 1.0 cm",)


def test_what_the_errors_of_the_camera_explain_is_not_asked_for_again():
    table = OwnTable(BEFORE)
    table.deviations = {"block": Tolerance(0.01, 0.1)}

    def nearly(question):
        table.put(question.target.moved("block", Pose.planar(0.2, 0.32)), {"block"})
        return done(question)

    console = Scripted(nearly, moves_only(table, "cup"))
    set_up(table, console, TARGET)
    assert console.asked == [{"cup", "block"}, {"cup"}]


def pushes(table, name, by):
    """Return a person who does what is asked, and pushes something else along x [m]."""

    def person(question):
        table.put(question.target, {move.name for move in question.moves})
        x, y = table.things[name].pose.xy
        table.things = table.things.moved(name, Pose.planar(x + by, y))
        return done(question)

    return person


def test_what_is_pushed_away_without_being_asked_for_is_to_be_moved_back():
    table = OwnTable(BEFORE)
    console = Scripted(pushes(table, "spoon", 0.05), moves_all(table))
    _, (_, found) = set_up(table, console, TARGET)
    assert console.asked == [{"cup", "block"}, {"spoon"}] and found == TARGET
    assert console.questions[1].problems == ("spoon is 5.0 cm off, allowed is 1.0 cm",)


def test_what_slid_out_of_its_tolerance_after_the_moves_were_chosen_is_asked_for():
    table = OwnTable(BEFORE.moved("spoon", Pose.planar(0.43, 0.0)))
    console = Scripted(moves_all(table))
    moves = tuple(move for move in setup_moves(BEFORE, TARGET, TOLERANCE) if move.name != "spoon")
    _, (_, found) = set_up(table, console, TARGET, moves)
    assert console.asked == [{"cup", "block"}, {"spoon"}] and found == TARGET


def test_what_the_errors_of_the_picture_explain_was_not_pushed():
    table = OwnTable(BEFORE)
    table.deviations = {"spoon": Tolerance(0.002, 0.01)}
    console = Scripted(pushes(table, "spoon", 0.0135), moves_all(table))
    set_up(table, console, TARGET)
    assert console.asked == [{"cup", "block"}]
    table = OwnTable(BEFORE)
    console = Scripted(pushes(table, "spoon", 0.0135), moves_all(table))
    set_up(table, console, TARGET)
    assert console.asked == [{"cup", "block"}, {"spoon"}]


KINDS = Tolerances(
    TOLERANCE,
    {"ball": Tolerance(0.01, math.pi), "sponge": Tolerance(0.03, 0.5), "dial": Tolerance(0.01, 0.02)},
    frozenset({"table"}),
)
SHARES = st.tuples(st.floats(0.0, 2.0), st.floats(0.0, 2.0), st.floats(-math.pi, math.pi))


@examples(100)
@given(st.lists(st.tuples(st.sampled_from(["block", "ball", "sponge", "dial"]), PLACES, SHARES), max_size=6))
def test_what_stands_within_what_the_page_prints_is_never_asked_for_and_all_else_is(drawn):
    wanted, standing, outside = [ObjectState("table", "table", Pose())], [], set()
    for k, (model, (x, y, yaw), (far, turned, way)) in enumerate(drawn):
        allowed = KINDS.of(model)
        off, turn = far * allowed.position, min(turned * allowed.orientation, math.pi)
        here = Pose.planar(x + off * math.cos(way), y + off * math.sin(way), yaw + turn)
        wanted.append(ObjectState(f"o{k}", model, Pose.planar(x, y, yaw)))
        standing.append(ObjectState(f"o{k}", model, here))
        if not allowed.accepts(here, wanted[-1].pose):
            outside.add(f"o{k}")
    target, table = Scene(tuple(wanted)), OwnTable(Scene(tuple(standing)))
    moves = setup_moves(table.things, target, KINDS)
    assert {move.name for move in moves} == outside, "as the session asks, and pays"
    # Nobody moves anything at first, and the first question had left out what stands wrong.
    console = Scripted(lambda question: OperatorAnswer("done"), moves_all(table))
    ByHand(table, console, KINDS, None).set_up(target, ())
    assert console.asked == [set()] + ([outside] if outside else [])


def test_what_is_left_on_the_table_and_what_was_not_brought_is_told():
    table = OwnTable(scene(cup=(0.0, 0.0), old=(0.1, 0.1)))
    target = scene(cup=(0.0, 0.0), new=(0.2, 0.2))
    console = Scripted(lambda question: OperatorAnswer("done"), moves_all(table))
    _, (_, found) = set_up(table, console, target)
    assert console.questions[1].problems == ("old should not be there", "new is missing")
    assert console.asked == [{"old", "new"}] * 2 and set(found.names) == {"cup", "new"}


def test_what_could_not_be_seen_before_is_checked_even_if_it_need_not_be_moved():
    table = OwnTable(BEFORE)
    table.unsure = dict.fromkeys(BEFORE.names, "The picture is dark.")

    def switches_the_light_on(question):
        table.put(question.target, {"cup", "block"})
        # The robot had moved it in the dark.
        table.things, table.unsure = table.things.moved("spoon", Pose.planar(0.7, 0.0)), {}
        return done(question)

    console = Scripted(switches_the_light_on, moves_all(table))
    _, (_, found) = set_up(table, console, TARGET)
    assert console.questions[1].problems == ("spoon is 30.0 cm off, allowed is 1.0 cm",)
    assert console.asked == [{"cup", "block"}, {"spoon"}] and found == TARGET


def test_a_thing_that_comes_to_the_table_meanwhile_is_told():
    table = OwnTable(BEFORE)

    def brings_more(question):
        table.put(question.target, {"cup", "block"})
        table.things = replace(table.things, objects=(*table.things, *scene(mug=(0.9, 0.0))))
        return done(question)

    console = Scripted(brings_more, moves_all(table))
    set_up(table, console, TARGET)
    assert console.questions[1].problems == ("mug should not be there",) and console.asked[1] == {"mug"}


def test_another_thing_under_the_same_name_is_told():
    table = OwnTable(scene(cup=(0.0, 0.0)))
    target = Scene((ObjectState("cup", "blue_cup", Pose.planar(0.0, 0.0)),))
    console = Scripted(lambda question: OperatorAnswer("done"), moves_all(table))
    _, (_, found) = set_up(table, console, target)
    assert console.questions[1].problems == ("cup is not the right one",) and found == target


def test_a_doubt_alone_is_asked_again_as_a_doubt_with_its_reason():
    table = OwnTable(BEFORE)

    def first(question):
        table.put(question.target, {"cup", "block"})
        table.unsure = {"cup": "a hand is before it"}
        return done(question)

    def looks_again(question):
        table.unsure = {}
        return OperatorAnswer("done")

    console = Scripted(first, looks_again)
    _, (_, found) = set_up(table, console, TARGET)
    again = console.questions[1]
    assert again.doubts and again.problems == ("cup: a hand is before it",) and again.moves == ()
    assert scenes_match(found, TARGET, TOLERANCE)


def test_what_is_not_seen_and_was_not_ticked_off_is_asked_for_again():
    table = OwnTable(BEFORE)

    def forgets_the_cup(question):
        # A camera looks for it where it should be.
        table.put(question.target, {"cup", "block"})
        table.unsure = {"cup": "its tag is not seen"}
        return OperatorAnswer("done", moved=("block",))

    def still_hidden(question):
        return done(question)

    def looks_again(question):
        table.unsure = {}
        return OperatorAnswer("done")

    console = Scripted(forgets_the_cup, still_hidden, looks_again)
    set_up(table, console, TARGET)
    first, again, ticked = console.questions
    assert again.problems == ticked.problems == ("cup: its tag is not seen",)
    assert not again.doubts and again.moves == tuple(move for move in first.moves if move.name == "cup")
    assert ticked.doubts and ticked.moves == ()


def test_what_is_wrong_is_no_doubt_even_where_the_camera_is_unsure_of_something_else():
    table = OwnTable(BEFORE)

    def first(question):
        table.put(question.target, {"cup"})
        table.unsure = {"cup": "dark"}
        return done(question)

    def second(question):
        table.unsure = {}
        return moves_all(table)(question)

    console = Scripted(first, second)
    set_up(table, console, TARGET)
    again = console.questions[1]
    assert not again.doubts and again.problems == ("block is 30.0 cm off, allowed is 1.0 cm", "cup: dark")
    assert console.asked[1] == {"block"}


def test_a_person_who_overrules_is_believed_of_all_that_they_were_told():
    table = OwnTable(scene(cup=(0.0, 0.0), block=(0.2, 0.0), spoon=(0.4, 0.0), fork=(0.6, 0.0), old=(0.8, 0.0)))
    target = scene(cup=(0.0, 0.3), block=(0.2, 0.3), new=(0.5, 0.5), spoon=(0.4, 0.0), fork=(0.6, 0.0))

    def first(question):
        table.things = table.things.moved("spoon", Pose.planar(0.43, 0.0)).moved("fork", Pose.planar(0.63, 0.0))
        table.unsure = {"fork": "dark"}
        return done(question)

    console = Scripted(first, overrules)
    _, (_, found) = set_up(table, console, target)
    assert set(found) == set(target)
    assert len(console.questions) == 2 and "spoon is 3.0 cm off, allowed is 1.0 cm" in console.questions[1].problems


def test_the_time_is_that_of_the_last_answer():
    table = OwnTable(BEFORE)
    console = Scripted(moves_only(table, "block"), moves_all(table))
    assert outcome(table, console, TARGET)[1].by_person.seconds == 40.0


def at_home(*place):
    return replace(TARGET, robot=Pose.planar(*place))


def test_a_robot_that_moves_about_is_brought_to_its_start_each_time():
    told = ToldTable(lambda: 3, "world")
    console = Scripted(done)
    by_hand, (_, found) = set_up(told, console, at_home(1.0, 2.0, 0.5))
    by_hand.set_up(at_home(1.0, 2.0, 0.5), ())
    assert [question.bring_robot for question in console.questions] == [True, True]
    assert found.robot == Pose.planar(1.0, 2.0, 0.5)


def test_in_practice_a_robot_that_was_not_brought_is_told_and_asked_for_again_alone():
    simulated = Simulated(replace(BEFORE, robot=Pose.planar(3.0, 2.0, 0.5)))
    console = Scripted(lambda question: OperatorAnswer("done", moved=("cup", "block")), done)
    _, (_, found) = set_up(PractisedTable(simulated), console, at_home(1.0, 2.0, 2.0))
    assert console.questions[1].problems == ("the robot is 2.00 m and 86° from its start",)
    assert console.questions[1].things == (ROBOT,) and found == at_home(1.0, 2.0, 2.0)


def test_a_person_who_says_that_all_stands_right_has_brought_the_robot_too():
    simulated = Simulated(replace(BEFORE, robot=Pose.planar(3.0, 2.0)))
    console = Scripted(lambda question: OperatorAnswer("done"), overrules)
    _, (_, found) = set_up(PractisedTable(simulated), console, at_home(1.0, 2.0))
    assert found == simulated.things == at_home(1.0, 2.0)


def test_moves_are_asked_for_again_in_an_order_that_is_short_to_walk():
    names = [f"o{k}" for k in range(6)]
    target = scene(**{name: (0.0, 0.1 * k) for k, name in enumerate(names)})
    table = OwnTable(scene(**{name: (0.3, 0.1 * k) for k, name in enumerate(names)}))
    shuffled = tuple(setup_moves(table.things, target, TOLERANCE)[k] for k in (3, 0, 5, 1, 4, 2))
    console = Scripted(lambda question: OperatorAnswer("done"), moves_all(table))
    set_up(table, console, target, shuffled)
    order = [move.name for move in console.questions[1].moves]
    assert order in (names, names[::-1])


def test_what_the_console_raises_ends_the_set_up():
    def leaves(question):
        raise RuntimeError("void")

    table = OwnTable(BEFORE)
    with pytest.raises(RuntimeError, match="void"):
        set_up(table, Scripted(leaves), TARGET)
    assert table.things == BEFORE


NAMES = st.sampled_from(["a", "b", "c", "d", "e"])
SCENES = st.dictionaries(NAMES, st.tuples(st.sampled_from(["cup", "mug"]), PLACES), max_size=5).map(
    lambda things: Scene(tuple(ObjectState(name, model, Pose.planar(*at)) for name, (model, at) in things.items()))
)


@examples(60)
@given(SCENES, SCENES, st.data())
def test_whatever_was_there_a_person_who_moves_all_that_is_asked_for_gets_the_target(before, target, data):
    table = OwnTable(before)
    forgets = data.draw(st.lists(st.sets(NAMES), max_size=3))

    def person(question):
        left_out = forgets.pop() if forgets else set()
        table.put(question.target, {move.name for move in question.moves} - left_out)
        return done(question)

    console = Scripted(person)
    _, (_, found) = set_up(table, console, target)
    assert set(found.names) == set(target.names) and setup_moves(found, target, TOLERANCE) == ()
    for earlier, later in zip(console.asked, console.asked[1:], strict=False):
        assert later <= earlier and later


@examples(40)
@given(SCENES, SCENES)
def test_a_table_that_is_only_told_of_is_what_was_asked_for(before, target):
    table = ToldTable(lambda: 3, "world")
    assert table.read() == (3, TableReading(Scene()))
    for wanted in (before, target):
        console = Scripted(done)
        _, found = set_up(table, console, wanted)
        assert found == (3, wanted) and len(console.questions) == 1


class Simulated:
    """A simulated scene that is set up at once."""

    def __init__(self, things):
        self.things, self.set_ups = things, 0

    def read(self):
        return 1, self.things

    def set_up(self, target, moves):
        self.things, self.set_ups = target, self.set_ups + 1


@examples(60)
@given(SCENES, SCENES, st.data())
def test_in_practice_only_what_is_ticked_is_moved(before, target, data):
    table = PractisedTable(Simulated(before))
    ticked = data.draw(st.sets(NAMES))
    table.carry(target, tuple(ticked))
    found = table.read()[1].scene
    now, then, wanted = ({o.name: o for o in things} for things in (found, before, target))
    for name in "abcde":
        assert now.get(name) == (wanted if name in ticked else then).get(name)


@examples(40)
@given(SCENES, SCENES)
def test_in_practice_a_person_who_ticks_all_gets_the_target(before, target):
    simulated = Simulated(before)
    console = Scripted(lambda question: OperatorAnswer("done"), done)
    _, (_, found) = set_up(PractisedTable(simulated), console, target)
    assert setup_moves(found, target, TOLERANCE) == () and set(found.names) == set(target.names)
    if setup_moves(before, target, TOLERANCE) == ():
        assert simulated.set_ups == 0


class Camera(Scripted):
    """Sees everything half a centimetre to the left, and keeps where it was told to look."""

    def __init__(self, *people):
        super().__init__(*people)
        self.looked = []

    def read_table(self, expected):
        self.looked.append(expected)
        seen = (replace(o, pose=Pose.planar(o.pose.xy[0] - 0.005, o.pose.xy[1], o.pose.yaw)) for o in expected)
        return TableReading(replace(expected, objects=tuple(seen)))


def test_a_camera_looks_where_things_should_be_and_not_at_an_empty_table():
    camera = Camera(done)
    table = SeenTable(lambda: 4, "world", camera)
    assert table.read() == (4, TableReading(Scene())) and camera.looked == []
    _, (_, found) = set_up(table, camera, TARGET)
    assert camera.looked == [TARGET] and found["cup"].pose.xy == pytest.approx((-0.005, 0.3))
    table.read()
    assert camera.looked[1] == found


def test_what_is_fixed_is_taken_to_stand_and_is_neither_asked_for_nor_looked_at_nor_missing():
    camera, fixed = Camera(lambda question: OperatorAnswer("done", moved=("block",))), frozenset({"cup", "spoon"})
    table = SeenTable(lambda: 4, "world", camera)
    moves = setup_moves(Scene(), TARGET, Tolerances(TOLERANCE, fixed=fixed))
    _, (_, found) = set_up(table, camera, TARGET, moves, fixed=fixed)
    assert camera.asked == [{"block"}] and camera.looked == [TARGET] and set(found.names) == set(TARGET.names)


def test_in_practice_the_background_is_put_up_and_taken_away_unasked_and_once():
    fixed, simulated = frozenset({"oak", "pine"}), Simulated(scene(oak=(0.0, 0.0), cup=(0.1, 0.0)))
    target = scene(pine=(0.0, 0.0), cup=(0.1, 0.0))
    for _ in range(2):
        console = Scripted(done)
        _, (_, found) = set_up(PractisedTable(simulated), console, target, (), fixed=fixed)
        assert set(found) == set(target) and console.asked == [set()]
    assert simulated.set_ups == 1
