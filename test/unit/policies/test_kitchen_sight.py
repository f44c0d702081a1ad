"""What the kitchen's camera policy makes of images: geometry, decoding, tracking. No weights are needed."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the extra `torch` is not installed")

from robocontrast_ros.configuration import load_configured, resolve_uri  # noqa: E402
from robocontrast_ros.domain import Pose  # noqa: E402
from robocontrast_ros.objects.frames import compose, inverse  # noqa: E402
from robocontrast_ros.objects.joints import part_pose  # noqa: E402
from robocontrast_ros.policies.kitchen_bc.cameras import AGENT, on_table  # noqa: E402
from robocontrast_ros.policies.kitchen_bc.sight import (  # noqa: E402
    SEARCHED,
    KitchenLook,
    KitchenSight,
    Seen,
    half,
    square_corners,
)
from robocontrast_ros.policies.kitchen_bc.tracking import Tracker, Watcher  # noqa: E402
from robocontrast_ros.policies.networks import one_thread  # noqa: E402
from robocontrast_ros.policies.protocol import Observation  # noqa: E402
from robocontrast_ros.policies.tabletop_bc.cameras import HEIGHT, WIDTH  # noqa: E402
from robocontrast_ros.policies.tabletop_bc.sight import STRIDE, Places, pixels_to_cells, squares  # noqa: E402
from robocontrast_ros.tasks.tabletop.hand import ToolPlace  # noqa: E402
from robocontrast_ros.training.kitchen.recipe import catalogue_of  # noqa: E402
from robocontrast_ros.training.kitchen.sight import kinds_of  # noqa: E402

NAMES = ("brown_cabinet", "white_microwave", "stove", "black_rice_bowl", "ketchup")
BACK = math.pi
"""Yaw of fixtures, whose fronts face the robot."""


@pytest.fixture(scope="module")
def kitchen():
    task = load_configured("tasks", resolve_uri("package://robocontrast_ros/config/tasks/kitchen.yaml"))
    return catalogue_of(task), kinds_of(NAMES, task.things.models)


def _seen(kitchen, name: str, x: float, y: float, yaw: float = 0.0, joints=()) -> Seen:
    return Seen(NAMES.index(name), x, y, yaw, 1.0, 1.0, tuple(joints))


def _down(pose: Pose, off=(0.0, 0.0, 0.0)) -> Pose:
    """The tool, pointing down, at a point in the frame of a pose."""
    return ToolPlace(compose(pose, Pose(off)).position, 0.0).pose


def _pose(things, slot: int) -> Pose:
    numbers = things.poses[0, slot].tolist()
    return Pose(tuple(numbers[:3]), tuple(numbers[3:]))


def _take(tracker: Tracker, tool: Pose, width: float) -> None:
    tracker.hand(tool, 0.08, False)
    for _ in range(2):
        tracker.hand(tool, width, True)


def test_the_camera_is_that_of_the_world():
    model = mujoco.MjModel.from_xml_path(str(resolve_uri("package://robocontrast_ros/models/kitchen.xml")))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    camera = model.camera(AGENT.name)
    focal = HEIGHT / 2 / math.tan(math.radians(float(camera.fovy[0])) / 2)
    points = np.random.default_rng(0).uniform((0.3, -0.4, 0.0), (0.7, 0.4, 0.2), (50, 3))
    local = (points - data.cam_xpos[camera.id]) @ data.cam_xmat[camera.id].reshape(3, 3)
    column = (WIDTH - 1) / 2 - focal * local[:, 0] / local[:, 2] - AGENT.window[1]
    row = (HEIGHT - 1) / 2 + focal * local[:, 1] / local[:, 2] - AGENT.window[0]
    np.testing.assert_allclose(AGENT.pixels(points), np.stack([column, row], axis=1), atol=1e-4)


def test_a_point_of_the_table_is_where_its_pixel_says():
    points = np.random.default_rng(0).uniform((0.3, -0.4, 0.0), (0.7, 0.4, 0.0), (50, 3))
    np.testing.assert_allclose(on_table(AGENT.pixels(points)), points[:, :2], atol=1e-6)


def test_half_an_image_is_its_means_and_squares_go_on_beyond_the_edge():
    image = torch.arange(4 * 6, dtype=torch.uint8).reshape(1, 4, 6, 1).expand(-1, -1, -1, 3)
    assert half(image)[0, :, :, 0].tolist() == [[3, 5, 7], [15, 17, 19]]
    square = squares(image, torch.tensor([[-10, -20]]))
    assert bool((square[0, :21, :11] == 0).all()) and bool((square[0, 24:, 16:] == 23).all())


class Truthful(KitchenSight):
    """Has outputs as a perfect network would, but sees the cabinet a second time, less clearly, beside the bowl."""

    def places(self, agent):
        poses = np.array([[0.68, 0.2, 0.0], [0.45, -0.05, 0.0], [0.45, 0.1, 0.0]])
        self.middles = AGENT.pixels(poses)
        cells = pixels_to_cells(self.middles, SEARCHED)
        heat = torch.full((1, SEARCHED[2] // STRIDE, SEARCHED[3] // STRIDE), -12.0)
        offset = torch.zeros(1, 2, *heat.shape[1:])
        for (column, row), hot in zip(cells, (9.0, 9.0, 2.0), strict=True):
            at = round(row), round(column)
            heat[0, at[0], at[1]] = hot
            offset[0, :, at[0], at[1]] = torch.tensor([column - at[1], row - at[0]])
        return Places(heat, offset)

    def look(self, near, far):
        assert near.shape == far.shape == (3, 64, 64, 3)
        # By row: the cabinet, the bowl, the cabinet again.
        order = np.argsort(np.rint(pixels_to_cells(self.middles, SEARCHED))[:, 1])
        models = torch.tensor([NAMES.index(("brown_cabinet", "black_rice_bowl", "brown_cabinet")[i]) for i in order])
        offset = (self.middles[order] - np.rint(self.middles[order])) / 8.0
        turn = torch.tensor([-1.0, 0.0, 1.0, 0.0]).expand(3, max(self.kinds.types) + 1, 4)
        joints = torch.tensor([[0.0, 0.5, 1.2]]).expand(3, 3)
        logits = 12.0 * torch.nn.functional.one_hot(models, len(NAMES)).float()
        return KitchenLook(logits, torch.from_numpy(offset).float(), turn, joints)


def test_what_is_seen_is_on_the_table_with_its_drawers_and_a_fixture_is_there_once(kitchen):
    with one_thread():
        found = Truthful(kitchen[1]).find(np.zeros((*AGENT.window[2:], 3), np.uint8))
    assert sorted(NAMES[thing.model] for thing in found) == ["black_rice_bowl", "brown_cabinet"]
    cabinet, bowl = sorted(found, key=lambda thing: thing.model)
    assert (cabinet.x, cabinet.y) == pytest.approx((0.68, 0.2), abs=1e-5)
    assert abs(cabinet.yaw) == pytest.approx(BACK)
    assert cabinet.joints == pytest.approx((0.0, 0.08, 0.16))  # never beyond a joint's range
    assert (bowl.x, bowl.y) == pytest.approx((0.45, -0.05), abs=1e-5)
    assert (bowl.yaw, bowl.joints) == (0.0, ())


def test_squares_are_around_places_in_the_image_and_in_its_half():
    assert square_corners(np.array([[100, 80]])).tolist() == [[[68, 36]], [[18, -4]]]


def test_a_thing_moves_with_the_hand_and_stays_where_it_is_let_go(kitchen):
    bowl, other = _seen(kitchen, "black_rice_bowl", 0.45, -0.05), _seen(kitchen, "black_rice_bowl", 0.45, -0.2)
    tracker = Tracker(*kitchen, [other, bowl])
    rim = Pose((0.45 + 0.045, -0.05, 0.045), (1.0, 0.0, 0.0, 0.0))
    _take(tracker, rim, 0.006)
    assert tracker.held == 1
    turned = ToolPlace((0.6, 0.2, 0.3), math.pi / 2).pose
    tracker.hand(turned, 0.006, True)
    expected = compose(turned, compose(inverse(rim), Pose.planar(0.45, -0.05)))
    assert _pose(tracker.things(), 1).distance_to(expected) < 1e-9
    tracker.hand(turned, 0.03, False)
    tracker.hand(rim, 0.08, False)
    assert tracker.held == -1
    assert _pose(tracker.things(), 1).distance_to(expected) < 1e-9
    assert _pose(tracker.things(), 0).xy == (0.45, -0.2)


@pytest.mark.parametrize("width", [0.001, 0.02])
def test_a_hand_that_is_empty_or_beside_everything_holds_nothing(kitchen, width):
    tracker = Tracker(*kitchen, [_seen(kitchen, "ketchup", 0.5, 0.0)])
    _take(tracker, ToolPlace((0.5, 0.0 if width < 0.01 else 0.2, 0.02), 0.0).pose, width)
    assert tracker.held == -1


@pytest.mark.parametrize(
    ("name", "part", "start", "end"),
    [
        ("brown_cabinet", "bottom_drawer", 0.0, 0.15),
        ("brown_cabinet", "top_drawer", 0.15, 0.0),
        ("white_microwave", "door", math.radians(-90.0), math.radians(-1.0)),
    ],
)
def test_a_part_follows_the_hand_along_its_joint(kitchen, name, part, start, end):
    catalogue, kinds = kitchen
    parts = [own for own, *_ in kinds.parts[NAMES.index(name)]]
    joints = [start if own == part else 0.0 for own in parts]
    tracker = Tracker(catalogue, kinds, [_seen(kitchen, name, 0.68, 0.2, BACK, joints)])
    slot, joint = 1 + parts.index(part), catalogue.joint(f"{name}/{part}")
    whole = Pose.planar(0.68, 0.2, BACK)
    _take(tracker, _down(part_pose(whole, joint, start), (0.002, 0.0, 0.003)), 0.012)
    assert tracker.held == slot
    # The hand goes round with the bar of the door without turning.
    for share in np.linspace(0.0, 1.0, 8):
        q = start + share * (end - start)
        tracker.hand(_down(part_pose(whole, joint, q), (0.002, 0.0, 0.003)), 0.012, True)
    things = tracker.things()
    assert float(things.joints[0, slot]) == pytest.approx(end, abs=0.003)
    assert _pose(things, slot).distance_to(part_pose(whole, joint, end)) < 0.003
    assert _pose(things, 0).xy == (0.68, 0.2)


def test_a_knob_turns_with_the_hand(kitchen):
    catalogue, kinds = kitchen
    tracker = Tracker(catalogue, kinds, [_seen(kitchen, "stove", 0.54, 0.14, BACK, (0.0,))])
    joint = catalogue.joint("stove/knob")
    at = part_pose(Pose.planar(0.54, 0.14, BACK), joint, 0.0).position
    _take(tracker, ToolPlace(at, 0.2).pose, 0.01)
    assert tracker.held == 1
    # Turned by 0.7 rad about the joint's axis, which is vertical.
    up = joint.axis[2]
    tracker.hand(ToolPlace(at, 0.2 + 0.7 * up).pose, 0.01, True)
    assert float(tracker.things().joints[0, 1]) == pytest.approx(0.7)
    tracker.hand(ToolPlace(at, 0.2 - 0.7 * up).pose, 0.01, True)
    assert float(tracker.things().joints[0, 1]) == joint.range[0]


def test_nothing_seen_is_one_missing_thing(kitchen):
    things = Tracker(*kitchen, []).things()
    assert things.models.tolist() == [[-1]] and not bool(things.there.any())


def test_an_observation_without_the_camera_or_a_hand_is_refused(kitchen):
    tool = ToolPlace((0.3, 0.0, 0.4), 0.0).pose
    watcher = Watcher(KitchenSight(kitchen[1]).eval(), kitchen[0])
    with pytest.raises(ValueError, match="no gripper width"):
        watcher.update(Observation(0, {}, (), (), tool), False)
    with pytest.raises(ValueError, match="no image of camera 'agent'; there are: wrist"):
        watcher.update(
            Observation(0, {"wrist": np.zeros((4, 4, 3), np.uint8)}, (), (), tool, gripper_width=0.08), False
        )
    with pytest.raises(ValueError, match="image of 'agent': got shape"):
        watcher.update(
            Observation(0, {"agent": np.zeros((4, 4, 3), np.uint8)}, (), (), tool, gripper_width=0.08), False
        )


def test_fixtures_have_no_equal_turns(kitchen):
    assert kitchen[1].symmetry == (1, 1, 1, 0, 1)
    assert kitchen[1].models >= {"stove/knob", "white_microwave/door", "ketchup"}
