"""What a camera tells of drawers, doors and knobs by the tags on them, in rendered pictures of kitchens."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from kitchen_instances import every_kitchen, instance
from perceived_scenes import noisy

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.console.questions import OperatorAnswer
from robocontrast_ros.console.table_map import TableMap
from robocontrast_ros.console.tolerances import PERSON, tolerances_of
from robocontrast_ros.domain import Pose, whole_of
from robocontrast_ros.domain.rotations import from_vector, turned
from robocontrast_ros.images.boards import Intrinsics
from robocontrast_ros.images.rendering import Camera
from robocontrast_ros.objects.frames import compose
from robocontrast_ros.objects.joints import part_pose
from robocontrast_ros.perception import CalibratedCamera, ObjectTag
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.sessions.overrides import Overrides
from robocontrast_ros.sessions.resolving import resolve
from robocontrast_ros.strategies.effort import setup_moves
from robocontrast_ros.worlds.by_hand import ByHand, SeenTable
from robocontrast_ros.worlds.mujoco.entities import EntityState
from robocontrast_ros.worlds.mujoco.world import World
from robocontrast_ros.worlds.table_camera import TableCamera, load_tags, standard_tags

TASK = every_kitchen()
CAMERA = Camera("agent", 1280, 960)
TO_THE_FRONT = (0.5, 0.5, 0.5, 0.5)
"""Orientation of a tag that looks along x of its part, with its upper edge upwards."""
DRAWER, DOOR, KNOB = "cabinet/top_drawer", "microwave/door", "stove/knob"
ON_PARTS = {
    "brown_cabinet/top_drawer": (
        ObjectTag(number=300, size=0.04, position=(-0.022, 0.075, 0.0), orientation=TO_THE_FRONT),
    ),
    "white_microwave/door": (
        ObjectTag(number=301, size=0.06, position=(-0.0315, -0.155, -0.065), orientation=TO_THE_FRONT),
        ObjectTag(number=303, size=0.05, position=(-0.0315, -0.085, -0.065), orientation=TO_THE_FRONT),
    ),
    "stove/knob": (ObjectTag(number=302, size=0.03, position=(0.0, 0.0, 0.016)),),
}
ON_FIXTURES = {
    "brown_cabinet": (ObjectTag(number=310, size=0.06, position=(0.0, 0.0, 0.283)),),
    "white_microwave": (ObjectTag(number=311, size=0.08, position=(0.0, 0.0, 0.197)),),
}
PROBLEMS = {DRAWER: "kitchen_1_open_top_drawer", DOOR: "kitchen_7_open_microwave", KNOB: "kitchen_3_turn_on_stove"}
POSITION_ERROR, ORIENTATION_ERROR = 0.0007, 0.0005
"""Standard deviation of the calibration along [m] and about [rad] each axis."""


@dataclass
class Rendered:
    """A world whose objects wear tags, and its camera."""

    world: World

    def __post_init__(self):
        self._shown, info = {}, self.world.cameras.info("agent")
        lens = Intrinsics(info.width, info.height, np.array(info.k).reshape(3, 3), np.zeros(5))
        self.camera = CalibratedCamera(lens, self.world.cameras.pose("agent"))

    def picture(self, scene, seed=0):
        """Return the picture of a scene, RGB, as a sensor takes it."""
        wholes = {o.name: o.model for o in scene if not whole_of(o.name)}
        if wholes != self._shown:
            with self.world.at_once():
                for name in self._shown:
                    self.world.delete(name)
                for name, model in wholes.items():
                    self.world.spawn(name, scene[name].pose, uri=TASK.scenes.models[model])
            self._shown = wholes
        for item in sorted(scene, key=lambda item: bool(whole_of(item.name))):
            self.world.set_entity_state(item.name, EntityState(item.pose))
        return noisy(self.world.cameras.render("agent"), seed)

    def reads(self, scene, expected, tags=ON_PARTS):
        """Return a reader of the task's tables that has read a scene, and its reading."""
        reader = TableCamera(TASK, self.camera, tags)
        return reader, reader.read(self.picture(scene), expected)


@pytest.fixture(scope="module")
def rendered():
    scenes = TASK.scenes
    world = World(
        load_profile("franka_hand"), scenes.world, scenes.start_position, [CAMERA], tags=ON_PARTS | ON_FIXTURES
    )
    yield Rendered(world)
    world.close()


def start(part):
    return instance(PROBLEMS[part]).scene


def joint_at(scene, part, position):
    """Return a scene with the joint of a part at a position [m, or rad]."""
    return scene.moved(part, part_pose(scene[whole_of(part)].pose, TASK.things.joint(scene, part), position))


def moved_whole(scene, name, pose):
    """Return a scene with a fixture at another pose, and its parts with it."""
    positions = {part: TASK.things.position(scene, part) for part in TASK.things.parts_of(scene, name)}
    scene = scene.moved(name, pose)
    for part, position in positions.items():
        scene = joint_at(scene, part, position)
    return scene


def asked(part):
    """Return the instruction of a part's problem, and its goal."""
    told = instance(PROBLEMS[part])
    return TASK.goals.goal(told.instruction, told.scene), told.instruction


STATES = [
    *((DRAWER, position, state) for position, state in ((0.0, "closed"), (0.07, "ajar"), (0.15, "open"))),
    *((DOOR, position, state) for position, state in ((0.0, "closed"), (-0.6, "ajar"), (-1.6, "open"))),
    *((KNOB, position, state) for position, state in ((0.0, "off"), (0.3, "ajar"), (1.2, "on"))),
]


@pytest.mark.parametrize(("part", "position", "state"), STATES)
def test_each_state_of_a_drawer_a_door_and_a_knob_is_seen_and_judged(rendered, part, position, state):
    expected = start(part)
    reader, reading = rendered.reads(joint_at(expected, part, position), expected)
    assert part not in reading.unsure and part in reading.deviations
    found, joint = TASK.things.position(reading.scene, part), TASK.things.joint(expected, part)
    assert joint.state(found) == state
    assert found == pytest.approx(position, abs=0.0005 if joint.type == "slide" else math.radians(0.5))
    said = reader.verdict(*asked(part))
    assert said.certain and said.success == (state in ("open", "on"))


@pytest.fixture(scope="module")
def printed():
    """A world whose objects and parts wear the tags that are printed for them."""
    scenes = TASK.scenes
    tags = standard_tags(scenes.models.values())
    world = World(load_profile("franka_hand"), scenes.world, scenes.start_position, [CAMERA], tags=tags)
    yield Rendered(world)
    world.close()


@pytest.mark.parametrize(("part", "position", "state"), [each for each in STATES if each[0] != KNOB])
def test_each_state_of_a_drawer_and_a_door_is_seen_by_the_tags_that_are_printed(printed, part, position, state):
    expected = start(part)
    _, reading = printed.reads(joint_at(expected, part, position), expected, None)
    assert part not in reading.unsure
    found, joint = TASK.things.position(reading.scene, part), TASK.things.joint(expected, part)
    assert joint.state(found) == state
    assert found == pytest.approx(position, abs=0.001 if joint.type == "slide" else math.radians(2.0))


def test_a_joint_near_the_limit_of_two_states_is_unsure_and_decides_no_goal_that_depends_on_it(rendered):
    expected = start(DRAWER)
    near = joint_at(expected, DRAWER, 0.1395)
    reader, reading = rendered.reads(near, expected)
    assert reading.unsure[DRAWER] == "it may be ajar or open"
    said = reader.verdict(*asked(DRAWER))
    assert said.doubts == ("The result is near the limit between success and failure.",)
    goal, instruction = asked(DRAWER)
    # Whether it is ajar or open: it is not closed.
    (achieved,) = goal.subgoals
    closed = replace(goal, subgoals=(replace(achieved, atom=replace(achieved.atom, predicate="Close")),))
    assert reader.verdict(closed, instruction).certain


def test_a_drawer_whose_tag_is_hidden_is_unsure_and_stays_where_it_was_believed(rendered):
    expected = joint_at(start(DRAWER), DRAWER, 0.15)
    picture = rendered.picture(expected)
    (tag,) = ON_PARTS["brown_cabinet/top_drawer"]
    x, y = rendered.camera.project([compose(expected[DRAWER].pose, Pose(tag.position)).position])[0].round().astype(int)
    picture[y - 8 : y + 40, x - 40 : x + 40] = 90
    reader = TableCamera(TASK, rendered.camera, ON_PARTS)
    reading = reader.read(picture, expected)
    assert reading.unsure[DRAWER] == "its tag 300 is not seen: hidden, out of the picture, or too small in it"
    assert reading.scene[DRAWER] == expected[DRAWER]
    assert reader.verdict(*asked(DRAWER)).success is None


def test_a_part_without_a_tag_and_one_of_an_unread_picture_are_unsure(rendered):
    expected = start(DRAWER)
    reader, reading = rendered.reads(expected, expected)
    assert "it has no tag in the file of the tags" in reading.unsure["cabinet/middle_drawer"]
    assert "cabinet" not in reading.unsure, "it is where it should be"
    assert reader.unseen(expected, "No picture.").unsure[DRAWER] == "No picture."


def test_a_cabinet_that_was_moved_makes_its_drawer_unsure_and_the_reason_says_so(rendered):
    expected = joint_at(start(DRAWER), DRAWER, 0.15)
    pose = expected["cabinet"].pose
    aside = compose(pose, Pose((0.0, 0.015, 0.0)))
    reader, reading = rendered.reads(moved_whole(expected, "cabinet", aside), expected)
    reason = reading.unsure[DRAWER]
    assert "pixels from where its joint can bring it; the cabinet may have been moved, or the camera" in reason
    said = reader.verdict(*asked(DRAWER))
    assert not said.certain and said.doubts[0].startswith("top drawer of the cabinet: its tag is ")


def test_a_cabinet_with_a_tag_is_found_where_it_stands_and_its_drawer_in_it(rendered):
    expected = joint_at(start(DRAWER), DRAWER, 0.15)
    pose = expected["cabinet"].pose
    moved = compose(pose, Pose.planar(0.012, 0.015, 0.06))
    _, reading = rendered.reads(moved_whole(expected, "cabinet", moved), expected, ON_PARTS | ON_FIXTURES)
    assert not {"cabinet", DRAWER} & set(reading.unsure)
    found = reading.scene["cabinet"].pose
    assert found.distance_to(moved) < 0.002 and found.yaw == pytest.approx(moved.yaw, abs=0.01)
    assert TASK.things.position(reading.scene, DRAWER) == pytest.approx(0.15, abs=0.003)
    # Nobody sees this one: it stays as it was in its cabinet.
    middle = TASK.things.position(reading.scene, "cabinet/middle_drawer")
    assert middle == pytest.approx(TASK.things.position(expected, "cabinet/middle_drawer"), abs=1e-6)


class Console:
    """A rendered kitchen under a camera, and a person who forgets the drawer at first and then opens it."""

    def __init__(self, rendered, scene, tags):
        self._rendered, self._scene, self.questions = rendered, scene, []
        self._reader = TableCamera(TASK, rendered.camera, tags)

    def ask_moves(self, question):
        self.questions.append(question)
        assert len(self.questions) < 4, question.problems
        done = question.things if len(self.questions) > 1 else ()
        for name in done:
            self._scene = self._scene.moved(name, question.target[name].pose)
        return OperatorAnswer("done", moved=done)

    def read_table(self, expected):
        return self._reader.read(self._rendered.picture(self._scene), expected)


def test_a_drawer_that_was_forgotten_is_seen_shut_and_the_person_is_asked_to_open_it(rendered):
    whole = start(DRAWER)
    # What has no tag would be asked about, too.
    untagged = ("black_bowl", "plate", "cabinet/bottom_drawer", "cabinet/middle_drawer")
    shut = replace(whole, objects=tuple(o for o in whole if o.name not in untagged))
    target, tolerances = joint_at(shut, DRAWER, 0.15), tolerances_of(TASK, PERSON, {})
    console = Console(rendered, shut, ON_PARTS)
    table = SeenTable(lambda: 1, "world", console)
    table.carry(shut, ())
    by_hand = ByHand(table, console, tolerances, TASK.store)
    found = by_hand.set_up(target, setup_moves(by_hand.read()[1], target, tolerances)).scene
    first, second = console.questions
    assert [move.name for move in first.moves] == [move.name for move in second.moves] == [DRAWER]
    assert second.problems == ("top drawer of the cabinet is 15.0 cm off, allowed is 1.0 cm",)
    (move,) = TableMap(TASK, tolerances).of(second)["moves"]
    assert move["words"] == "make it open"
    assert TASK.things.position(found, DRAWER) == pytest.approx(0.15, abs=0.001)


DRAWN = 2
"""Scenes of each part in which a joint's position is measured."""
MEASURED = [(DRAWER, ON_PARTS, 0.005), (DOOR, ON_PARTS, math.radians(2.0)), (KNOB, ON_PARTS, math.radians(0.5))]
MEASURED += [(DOOR, ON_PARTS | ON_FIXTURES, math.radians(0.5))]
"""A part, the tags that the camera knows, and the greatest error that docs/operator.md tells [m, or rad]."""


def calibrated(camera, seed):
    """Return a camera as a calibration with errors tells it, and these errors with it."""
    rng = np.random.default_rng([seed, 2611])
    x, y, z = np.add(camera.pose.position, rng.normal(0.0, POSITION_ERROR, 3)).tolist()
    turn = turned(camera.pose.orientation, from_vector(rng.normal(0.0, ORIENTATION_ERROR, 3)))
    told = math.sqrt(3.0) * POSITION_ERROR, math.sqrt(3.0) * ORIENTATION_ERROR
    return CalibratedCamera(camera.intrinsics, Pose((x, y, z), turn), "world", *told)


@pytest.mark.parametrize(("part", "tags", "within"), MEASURED)
def test_positions_are_as_exact_as_told_with_a_calibration_that_has_errors(rendered, part, tags, within):
    expected, errors = start(part), []
    low, high = TASK.things.joint(expected, part).range
    for seed in range(DRAWN):
        position = float(np.random.default_rng(seed).uniform(low, high))
        picture = rendered.picture(joint_at(expected, part, position), seed)
        reading = TableCamera(TASK, calibrated(rendered.camera, seed), tags).read(picture, expected)
        if part not in reading.unsure:
            told = reading.deviations[part]
            errors.append(abs(TASK.things.position(reading.scene, part) - position))
            assert errors[-1] < 4.0 * (told.position if part == DRAWER else told.orientation), position
    assert len(errors) >= 0.5 * DRAWN and max(errors) < within


def test_a_tag_on_the_microwave_tells_that_its_door_is_shut_which_the_calibration_leaves_open(rendered):
    expected = start(DOOR)
    shut = rendered.picture(joint_at(expected, DOOR, 0.0))
    for seed in range(3):
        camera = calibrated(rendered.camera, seed)
        assert TableCamera(TASK, camera, ON_PARTS).read(shut, expected).unsure[DOOR] == "it may be ajar or closed"
        reader = TableCamera(TASK, camera, ON_PARTS | ON_FIXTURES)
        reading = reader.read(shut, expected)
        assert not {"microwave", DOOR} & set(reading.unsure)
        assert reader.verdict(*asked(DOOR)).certain


def test_a_session_of_the_kitchen_can_be_practised_under_a_camera(tmp_path):
    (tmp_path / "tags.yaml").write_text("tags: {stove/knob: [{number: 302, size: 0.03, position: [0, 0, 0.016]}]}")
    settings = {
        "world.backend": "practice_camera",
        "world.judge": "camera",
        "world.pacing": "wall_clock",
        "operator.camera": "agent",
        "operator.tags": str(tmp_path / "tags.yaml"),
        "policy": "kitchen_blind",
    }
    session = resolve("kitchen_demo", Overrides(size=1, settings=settings))
    assert session.parameters.world.backend == "practice_camera" and session.parameters.operator.camera == "agent"


def test_a_file_of_tags_names_parts_by_their_models(tmp_path):
    file = tmp_path / "tags.yaml"
    file.write_text(
        "tags:\n  brown_cabinet/top_drawer:\n"
        "    - {number: 300, size: 0.04, position: [-0.022, 0.075, 0.0], orientation: [0.5, 0.5, 0.5, 0.5]}\n"
    )
    assert load_tags(file, TASK) == {"brown_cabinet/top_drawer": ON_PARTS["brown_cabinet/top_drawer"]}
    file.write_text("tags: {cabinet/top_drawer: [{number: 300, size: 0.04, position: [0, 0, 0]}]}")
    with pytest.raises(ConfigurationError, match="brown_cabinet/top_drawer"):
        load_tags(file, TASK)
