"""What the tabletop's camera policy makes of images: geometry, decoding, tracking. No weights are needed."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="the extra `torch` is not installed")

from robocontrast_ros.configuration import resolve_uri  # noqa: E402
from robocontrast_ros.domain import Pose  # noqa: E402
from robocontrast_ros.policies.networks import one_thread  # noqa: E402
from robocontrast_ros.policies.protocol import Observation  # noqa: E402
from robocontrast_ros.policies.tabletop_bc.cameras import FRONT, HEIGHT, TOP, WIDTH, on_table  # noqa: E402
from robocontrast_ros.policies.tabletop_bc.sight import (  # noqa: E402
    COLUMNS,
    OFFSET,
    ROWS,
    Kinds,
    Look,
    Places,
    Sight,
    Thing,
    distinct,
    pixels_to_cells,
)
from robocontrast_ros.policies.tabletop_bc.tracking import EVERY, PERSISTS, Tracker, Watcher  # noqa: E402
from robocontrast_ros.training.tabletop.sight import place_loss  # noqa: E402

# A round one, two of one type with one yaw, one with two and one with four.
KINDS = Kinds(
    ("can", "red_mug", "blue_mug", "box", "cube"),
    (0, 1, 1, 2, 3),
    (0, 1, 1, 2, 4),
    ((0.066, 0.066, 0.115), (0.118, 0.08, 0.082), (0.118, 0.08, 0.082), (0.09, 0.04, 0.17), (0.044, 0.044, 0.044)),
)
DOWN = (1.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize("view", [TOP, FRONT], ids=lambda view: view.name)
def test_the_cameras_are_those_of_the_world(view):
    model = mujoco.MjModel.from_xml_path(str(resolve_uri("package://robocontrast_ros/models/tabletop.xml")))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    camera = model.camera(view.name)
    width, height = model.cam_resolution[camera.id]
    assert width * HEIGHT == height * WIDTH
    focal = HEIGHT / 2 / math.tan(math.radians(float(camera.fovy[0])) / 2)
    points = np.random.default_rng(0).uniform((0.3, -0.4, 0.0), (0.7, 0.4, 0.2), (50, 3))
    local = (points - data.cam_xpos[camera.id]) @ data.cam_xmat[camera.id].reshape(3, 3)
    column = (WIDTH - 1) / 2 - focal * local[:, 0] / local[:, 2] - view.window[1]
    row = (HEIGHT - 1) / 2 + focal * local[:, 1] / local[:, 2] - view.window[0]
    # The file has three decimals of an axis.
    np.testing.assert_allclose(view.pixels(points), np.stack([column, row], axis=1), atol=0.02)


def test_a_point_of_the_table_is_where_its_pixel_says():
    points = np.random.default_rng(0).uniform((0.3, -0.4, 0.0), (0.7, 0.4, 0.0), (50, 3))
    np.testing.assert_allclose(on_table(TOP.pixels(points)), points[:, :2], atol=1e-12)


class Truthful(Sight):
    """Has outputs as a perfect network would, for things at given poses."""

    def __init__(self) -> None:
        super().__init__(KINDS)
        self.double().eval()

    def show(self, models: list[int], poses: np.ndarray) -> None:
        self.models, self.poses = torch.tensor(models), poses
        ground = np.concatenate([poses[:, :2], np.zeros((len(poses), 1))], axis=1)
        self.middles = TOP.pixels(ground)
        self.cells = torch.from_numpy(pixels_to_cells(self.middles))

    def places(self, top):
        grid = torch.stack(torch.meshgrid(torch.arange(COLUMNS), torch.arange(ROWS), indexing="xy"), dim=-1)
        off = self.cells[:, None, None, :] - grid
        nearest = (off**2).sum(-1).argmin(0)
        offset = off.gather(0, nearest[None, ..., None].expand(1, -1, -1, 2))[0]
        is_peak = (off.abs() <= 0.5).all(-1).any(0)
        heat = torch.where(is_peak, 12.0, -12.0).double()
        return Places(heat[None], offset.permute(2, 0, 1)[None])

    def look(self, top, front):
        # Places come by row and column of their cells.
        cells = torch.round(self.cells).long()
        order = torch.argsort(cells[:, 1] * COLUMNS + cells[:, 0])[: len(top)]
        models = 12.0 * torch.nn.functional.one_hot(self.models[order], len(KINDS.names)).double()
        offset = (self.middles[order] - np.rint(self.middles[order])) / OFFSET
        turn = torch.zeros(len(order), max(KINDS.types) + 1, 4, dtype=torch.float64)
        for k, i in enumerate(order.tolist()):
            model, yaw = int(self.models[i]), float(self.poses[i, 2])
            angle = KINDS.symmetry[model] * yaw
            both = [math.cos(angle), math.sin(angle), math.cos(2 * angle), math.sin(2 * angle)]
            turn[k, KINDS.types[model]] = torch.tensor(both, dtype=torch.float64)
        return Look(models, torch.from_numpy(offset.reshape(-1, 2)), turn)


@pytest.fixture(scope="module")
def network():
    with one_thread():
        yield Truthful()


@given(st.permutations(range(5)), st.integers(1, 5), st.integers(0, 2**32 - 1))
@settings(max_examples=8, phases=[Phase.explicit, Phase.generate])
def test_what_a_perfect_network_sees_is_where_things_are(network, models, count, seed):
    rng = np.random.default_rng(seed)
    cells = rng.permutation(20)[:count]
    poses = np.stack(
        [
            0.36 + 0.07 * (cells % 4) + rng.uniform(0, 0.02, count),
            -0.3 + 0.13 * (cells // 4),
            rng.uniform(-3, 3, count),
        ],
        axis=1,
    )
    network.show(models[:count], poses)
    windows = [np.zeros((*view.window[2:], 3), np.uint8) for view in (TOP, FRONT)]
    found = {thing.model: thing for thing in network.find(*windows)}
    assert sorted(found) == sorted(models[:count])
    for model, (x, y, yaw) in zip(models, poses, strict=False):
        thing, times = found[model], KINDS.symmetry[model]
        assert (thing.x, thing.y) == pytest.approx((x, y), abs=1e-9)
        assert math.remainder(times * (thing.yaw - yaw), math.tau) == pytest.approx(0.0, abs=1e-9)
    # The loss of such an output is that of no mistake; of one that is a cell off it is not.
    places, image = network.places(None), torch.zeros(count, dtype=torch.int64)
    assert place_loss(places, image, network.cells) < 1e-3
    assert place_loss(places, image, network.cells + torch.tensor([1.0, 0.0])) > 1.0


def test_no_model_is_seen_twice(network):
    likely = np.array([[0.6, 0.4, 0.0], [0.9, 0.1, 0.0], [0.5, 0.2, 0.3]])
    assert distinct(likely).tolist() == [1, 0, 2]
    # More places than there are models: one too many is left out.
    network.show([0, 1, 2, 3, 4, 4], np.array([[0.4, y, 0.0] for y in (-0.3, -0.2, -0.1, 0.0, 0.1, 0.2)]))
    found = network.find(*[np.zeros((*view.window[2:], 3), np.uint8) for view in (TOP, FRONT)])
    assert len({thing.model for thing in found}) == len(found) == 5


def thing(model: int, x: float, y: float, yaw: float = 0.0) -> Thing:
    return Thing(model, x, y, yaw, sure=0.9, likely=0.9)


def tool(x: float, y: float, z: float, yaw: float = 0.0) -> Pose:
    return Pose((x, y, z), (math.cos(yaw / 2), math.sin(yaw / 2), 0.0, 0.0))


AWAY = tool(0.3, -0.3, 0.45)
"""From where hand and arm hide none of the places below."""


def test_what_the_hand_holds_moves_with_it_until_it_opens():
    tracker = Tracker(KINDS, [thing(4, 0.45, 0.1, 0.3), thing(0, 0.5, -0.2)])
    for width in (0.08, 0.06, 0.044):
        tracker.hand(tool(0.45, 0.1, 0.02, 0.3), width, closed=width < 0.08)
        assert tracker.held == -1
    tracker.hand(tool(0.45, 0.1, 0.02, 0.3), 0.044, closed=True)
    assert tracker.held == 0
    tracker.hand(tool(0.5, 0.0, 0.22, 0.3 + math.pi / 2), 0.044, closed=True)
    assert tracker.poses[0] == pytest.approx([0.5, 0.0, 0.2, 0.3 + math.pi / 2])
    # The camera sees it elsewhere, for it is high above the table: what is in the hand is not looked for.
    for _ in range(PERSISTS):
        tracker.look([thing(4, 0.55, 0.0)], AWAY)
    assert tracker.poses[0] == pytest.approx([0.5, 0.0, 0.2, 0.3 + math.pi / 2])
    tracker.hand(tool(0.5, 0.0, 0.22, 0.3 + math.pi / 2), 0.044, closed=False)
    tracker.hand(tool(0.4, 0.0, 0.30), 0.08, closed=False)
    assert tracker.held == -1
    assert tracker.poses[0] == pytest.approx([0.5, 0.0, 0.2, 0.3 + math.pi / 2])
    assert tracker.poses[1] == pytest.approx([0.5, -0.2, 0.0, 0.0])
    assert tracker.models.tolist()[:3] == [4, 0, -1]


def test_fingers_that_close_on_nothing_or_beside_everything_hold_nothing():
    tracker = Tracker(KINDS, [thing(4, 0.45, 0.1)])
    for _ in range(3):
        tracker.hand(tool(0.45, 0.1, 0.02), 0.0, closed=True)
    assert tracker.held == -1
    for _ in range(3):
        tracker.hand(tool(0.45, 0.2, 0.02), 0.04, closed=True)
    assert tracker.held == -1


def test_what_slips_out_of_the_hand_is_lost_and_found_again():
    tracker = Tracker(KINDS, [thing(4, 0.45, 0.1)])
    for width in (0.044, 0.044):
        tracker.hand(tool(0.45, 0.1, 0.02), width, closed=True)
    tracker.hand(tool(0.45, 0.1, 0.12), 0.044, closed=True)
    tracker.hand(tool(0.45, 0.1, 0.15), 0.0, closed=True)
    assert tracker.held == -1
    for _ in range(PERSISTS):
        tracker.look([thing(4, 0.41, 0.12, 0.5)], AWAY)
    assert tracker.poses[0] == pytest.approx([0.41, 0.12, 0.0, 0.5])


def test_a_thing_moves_only_when_it_is_seen_elsewhere_for_some_images():
    tracker = Tracker(KINDS, [thing(4, 0.45, 0.1)])
    for places in ([0.55] * (PERSISTS - 1) + [0.45], [0.55, 0.60, 0.65, 0.55], [0.46] * 5):
        for x in places:
            tracker.look([thing(4, x, 0.1), thing(3, 0.5, 0.0)], AWAY)
        assert tracker.poses[0] == pytest.approx([0.45, 0.1, 0.0, 0.0])
    for _ in range(PERSISTS):
        tracker.look([thing(4, 0.55, 0.1, 0.2)], AWAY)
    assert tracker.poses[0] == pytest.approx([0.55, 0.1, 0.0, 0.2])
    assert (tracker.models >= 0).sum() == 1


def test_what_the_hand_hides_a_part_of_is_believed_to_stand_where_it_stood():
    tracker = Tracker(KINDS, [thing(4, 0.45, 0.1), thing(0, 0.5, -0.3)])
    for _ in range(PERSISTS):
        tracker.look([thing(4, 0.5, 0.15), thing(0, 0.5, -0.25)], tool(0.45, 0.1, 0.1))
    assert tracker.poses[0] == pytest.approx([0.45, 0.1, 0.0, 0.0])
    assert tracker.poses[1] == pytest.approx([0.5, -0.25, 0.0, 0.0])
    # The arm, too: from its shoulder to the wrist above the tool.
    tracker = Tracker(KINDS, [thing(4, 0.38, 0.0)])
    for _ in range(PERSISTS):
        tracker.look([thing(4, 0.34, 0.03)], tool(0.6, 0.0, 0.1))
    assert tracker.poses[0] == pytest.approx([0.38, 0.0, 0.0, 0.0])


def test_what_stands_on_something_is_seen_where_the_camera_shows_it():
    tracker = Tracker(KINDS, [thing(4, 0.45, 0.1)])
    for width in (0.044, 0.044):
        tracker.hand(tool(0.45, 0.1, 0.02), width, closed=True)
    tracker.hand(tool(0.5, 0.25, 0.14), 0.044, closed=True)
    tracker.hand(tool(0.5, 0.25, 0.14), 0.06, closed=False)
    column = TOP.pixels(np.array([0.5, 0.25, 0.12]))
    x, y = on_table(column)
    assert abs(y - 0.25) > 0.02
    for _ in range(PERSISTS):
        tracker.look([thing(4, float(x), float(y))], AWAY)
    assert tracker.poses[0] == pytest.approx([0.5, 0.25, 0.12, 0.0])


def observed(images: dict, width: float | None = 0.08) -> Observation:
    return Observation(0, images, (), (), tool(0.3, 0.0, 0.45), gripper_width=width)


def test_a_watcher_answers_with_things_and_refuses_what_does_not_fit(network):
    network.show([4], np.array([[0.45, 0.1, 0.0]]))
    watcher = Watcher(network)
    images = {name: np.zeros((HEIGHT, WIDTH, 3), np.uint8) for name in ("top", "front")}
    with pytest.raises(ValueError, match="no image of camera 'front'; there are: top"):
        watcher.update(observed({"top": images["top"]}), closed=False)
    with pytest.raises(ValueError, match="image of 'top': got shape"):
        watcher.update(observed(images | {"top": images["top"][::2]}), closed=False)
    with pytest.raises(ValueError, match="no gripper width"):
        watcher.update(observed(images, width=None), closed=False)
    things = watcher.update(observed(images), closed=False)
    assert things.models[0, :2].tolist() == [4, -1]
    assert things.poses[0, 0].tolist() == pytest.approx([0.45, 0.1, 0.0, 0.0])
    # What moved is there in the third of the images that are looked at.
    network.show([4], np.array([[0.55, 0.1, 0.0]]))
    for _ in range(PERSISTS * EVERY - 1):
        later = watcher.update(observed(images), closed=False)
        assert later.poses[0, 0, 0].tolist() == pytest.approx(0.45)
    later = watcher.update(observed(images), closed=False)
    assert later.poses[0, 0].tolist() == pytest.approx([0.55, 0.1, 0.0, 0.0])
    # What was answered before is not changed afterwards.
    assert things.poses[0, 0, 0].tolist() == pytest.approx(0.45)
