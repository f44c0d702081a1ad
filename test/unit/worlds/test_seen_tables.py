"""What a camera tells of a table on which something is that should not be there, and of its own place."""

from __future__ import annotations

from dataclasses import replace

import pytest
from board_images import looking_at
from language_table_instances import DISTRACTING
from perceived_scenes import CAMERA as FRONT
from perceived_scenes import LENS, drawn_blocks, noisy, put_tag, table
from tabletop_scenes import scene, tabletop

from robocontrast_ros.configuration import ConfigurationError, resolve_uri
from robocontrast_ros.console.questions import OperatorAnswer
from robocontrast_ros.console.tolerances import Tolerances
from robocontrast_ros.domain import Pose, Scene
from robocontrast_ros.perception import CalibratedCamera, ObjectTag, read_block
from robocontrast_ros.strategies.effort import Tolerance, setup_moves
from robocontrast_ros.worlds.by_hand import ByHand, SeenTable
from robocontrast_ros.worlds.table_camera import TableCamera, load_fixed_tags

TASK = tabletop()
CAMERA = CalibratedCamera(LENS, looking_at((0.95, 0.0, 0.75), (0.48, 0.0, 0.0)))
# How the camera stands after somebody pushed it: everything seems to be a centimetre away.
PUSHED = CalibratedCamera(LENS, looking_at((0.95, 0.01, 0.75), (0.48, 0.01, 0.0)))
TAGS = {
    name: (ObjectTag(number=100 + k, size=0.05, position=(0.0, 0.0, 0.0)),)
    for k, name in enumerate(("red_cube", "blue_cube", "banana"))
}
FIXED = ObjectTag(number=500, size=0.05, position=(0.36, 0.25, 0.0))
START = scene(red_cube=(0.42, 0.12), blue_cube=(0.5, -0.08), banana=(0.45, -0.2))
TOLERANCE = Tolerance(0.01, 0.15)


def picture(things: Scene, camera=CAMERA, fixed=()):
    image = table()
    for tag, pose in [*((TAGS[o.name][0], o.pose) for o in things), *((tag, Pose()) for tag in fixed)]:
        put_tag(image, tag, pose, camera)
    return noisy(image)


class Console:
    """A table under a camera, and one person after the other who does something with it."""

    def __init__(self, things, *people):
        self.things, self.questions, self._people = things, [], list(people)
        self._camera = TableCamera(TASK, CAMERA, TAGS)

    def ask_moves(self, question):
        self.questions.append(question)
        answer, self.things = self._people.pop(0)(question, self.things)
        return answer

    def read_table(self, expected):
        return self._camera.read(picture(self.things), expected)


def does(*names):
    """Return a person who brings these objects where they should be, or takes them out."""

    def person(question, things):
        kept = tuple(o for o in things if o.name not in names)
        brought = tuple(o for o in question.target if o.name in names)
        return OperatorAnswer("done", moved=names), replace(things, objects=(*kept, *brought))

    return person


def overrules(question, things):
    return OperatorAnswer("done", overruled=True), things


def set_up(console, target):
    by_hand = ByHand(SeenTable(lambda: 1.0, "world", console), console, Tolerances(TOLERANCE), TASK.store)
    return by_hand, by_hand.set_up(target, setup_moves(by_hand.read()[1], target, TOLERANCE)).scene


def without(things, *names):
    return replace(things, objects=tuple(o for o in things if o.name not in names))


def test_what_was_left_on_the_table_is_to_be_taken_out_although_nobody_expected_it():
    console = Console(START, does("red_cube", "blue_cube"), does("banana"))
    target = without(START, "banana")
    _, found = set_up(console, target)
    assert set(found.names) == {"red_cube", "blue_cube"}
    again = console.questions[1]
    assert again.problems == ("banana should not be there",) and [move.name for move in again.moves] == ["banana"]
    assert again.moves[0].goal is None and again.moves[0].start.distance_to(START["banana"].pose) < 0.005


def test_what_a_person_takes_out_of_the_next_scene_is_checked_too():
    console = Console(Scene(), does(*START.names), does("red_cube"), does("banana"))
    by_hand, found = set_up(console, START)
    target = without(START.moved("red_cube", Pose.planar(0.4, 0.0)), "banana")
    moves = setup_moves(found, target, TOLERANCE)
    assert [move.name for move in moves] == ["banana", "red_cube"]
    found = by_hand.set_up(target, moves).scene
    assert console.questions[2].problems == ("banana should not be there",) and "banana" not in found
    # When it is gone nobody looks for it.
    assert by_hand.read()[1].names == ("red_cube", "blue_cube")


def test_a_person_who_says_that_it_stands_right_is_believed_of_what_should_not_be_there():
    console = Console(START, does("red_cube", "blue_cube"), overrules)
    _, found = set_up(console, without(START, "banana"))
    assert set(found.names) == {"red_cube", "blue_cube"} and len(console.questions) == 2


def test_what_stands_beside_the_table_is_none_of_its_objects():
    # It is in the picture, and its tag is read.
    beside = START.moved("banana", Pose.planar(0.76, 0.0))
    target = without(START, "banana")
    reading = TableCamera(TASK, CAMERA, TAGS).read(picture(beside), target)
    assert reading.scene.names == target.names and not reading.unsure
    assert "banana" not in TableCamera(TASK, CAMERA, TAGS).read(picture(beside), beside).unsure
    reading = TableCamera(TASK, CAMERA, TAGS).read(picture(START), target)
    assert reading.scene.names == START.names and not reading.unsure and set(reading.deviations) == set(START.names)


def test_a_block_without_a_tag_that_should_not_be_there_is_told_too():
    blocks = {name: read_block(resolve_uri(uri)) for name, uri in DISTRACTING.scenes.models.items()}
    wanted = scene(red_moon=(0.4, -0.12, 0.3), blue_cube=(0.45, 0.1, 0.2), green_star=(0.3, 0.0, 1.0))
    more = scene(red_star=(0.35, 0.12, 0.4), yellow_cube=(0.42, 0.0, 1.0))
    camera = TableCamera(DISTRACTING, FRONT)
    alone = noisy(drawn_blocks({o.name: (blocks[o.name], o.pose) for o in wanted}))
    assert camera.read(alone, wanted).scene.names == wanted.names
    crowded = noisy(drawn_blocks({o.name: (blocks[o.name], o.pose) for o in (*wanted, *more)}))
    reading = camera.read(crowded, wanted)
    assert set(reading.scene.names) == {*wanted.names, *more.names} and not reading.unsure
    for item in (*wanted, *more):
        assert reading.scene[item.name].pose.distance_to(item.pose) < 0.003


def test_a_camera_that_was_moved_is_noticed_by_a_tag_that_is_fixed_to_the_table():
    single = without(START, "blue_cube", "banana")
    moved = picture(single, PUSHED, [FIXED])
    reading = TableCamera(TASK, CAMERA, TAGS).read(moved, single)
    assert not reading.unsure, "nothing else tells it"
    camera = TableCamera(TASK, CAMERA, TAGS, [FIXED])
    reason = camera.read(moved, single).unsure["red_cube"]
    assert reason.startswith("Tag 500 is ") and "The camera or the table may have been moved." in reason
    assert not camera.read(picture(single, CAMERA, [FIXED]), single).unsure
    assert "None of the tags 500" in camera.read(picture(single), single).unsure["red_cube"]


ONE = "{number: 7, size: 0.05, position: [0, 0, 0]}"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("tags: []", "tags"),
        ("tags: [{number: 500, size: 0.05}]", "position"),
        ("tags: [{number: 101, size: 0.05, position: [0, 0, 0]}]", "it is that of a tag on 'blue_cube'"),
        (f"tags: [{ONE}, {ONE}]", "it is that of tags.0, too"),
    ],
)
def test_a_file_of_fixed_tags_that_does_not_fit_is_refused_in_one_line(tmp_path, content, words):
    (tmp_path / "fixed.yaml").write_text(content)
    with pytest.raises(ConfigurationError, match=words) as refused:
        load_fixed_tags(tmp_path / "fixed.yaml", TAGS)
    assert str(tmp_path / "fixed.yaml") in str(refused.value) and "\n" not in str(refused.value)
