"""What is wrong with the camera: from its pictures through operator and backend to the page, and how it goes on."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import cv2
import numpy as np
import pytest
import yaml
from chromium import chromium_missing
from session_runs import Workplace
from spinning import spun_node

from robocontrast_ros.console.tolerances import Tolerances
from robocontrast_ros.domain import ObjectState, Pose, Scene
from robocontrast_ros.images.rendering import Camera
from robocontrast_ros.nodes.conversions.domain import message_class
from robocontrast_ros.nodes.conversions.driver import array_to_image
from robocontrast_ros.nodes.sim_bridge.console_client import ConsoleClient
from robocontrast_ros.perception import load_camera
from robocontrast_ros.sessions.resolving import resolve
from robocontrast_ros.strategies.effort import Tolerance, setup_moves
from robocontrast_ros.worlds.by_hand import ByHand, SeenTable
from robocontrast_ros.worlds.mujoco.world import World
from robocontrast_ros.worlds.table_camera import standard_tags

pytestmark = pytest.mark.skipif(bool(chromium_missing()), reason=chromium_missing())

if not chromium_missing():
    from console_page import PersonAtThePage, browser, link_of, state_of

WIDTH, HEIGHT = 640, 480
AROUND = 17
"""Half the side of a piece of the picture with a tag [pixel]."""
FIXED = ("oak_table", "beige_room", "ceiling_lamp")
PLACES = {"banana": (0.40, -0.20), "red_apple": (0.55, 0.0), "lemon": (0.40, 0.20), "green_pear": (0.55, 0.25)}
TARGET = Scene(
    (
        *(ObjectState(name, name, Pose()) for name in FIXED),
        *(ObjectState(name, name, Pose.planar(*place)) for name, place in PLACES.items()),
    )
)
BEFORE = TARGET.moved("banana", Pose.planar(0.3, -0.3))
TOLERANCE = Tolerance(0.01, 0.15)


class Table:
    """The operator's node in a process of its own, a camera that publishes pictures to it, and a person at its page."""

    def __init__(self, folder, chromium, node):
        workplace = Workplace(folder)
        session = workplace.session(
            task="tabletop",
            robot="franka_hand_real",
            policy="random",
            cameras=[{"name": "top", "width": WIDTH, "height": HEIGHT}],
            world={"backend": "operator_camera", "pacing": "wall_clock", "judge": "camera"},
            operator={"calibration": "camera.yaml"},
        )
        resolved = resolve(session)
        self.right = self._drawn(resolved, folder / "camera.yaml")
        self.calibrated = load_camera(folder / "camera.yaml")
        self.picture: np.ndarray | None = self.right
        topic, kind = next(camera for camera in resolved.robot.cameras if camera.name == "top").images
        publisher = node.create_publisher(message_class(kind), topic, 5)

        def publish():
            if self.picture is not None:
                publisher.publish(array_to_image(self.picture, "top", time.time_ns()))

        node.create_timer(0.1, publish)
        run = resolved.new_run(time.time())
        arguments = ["-m", "robocontrast_ros.nodes.operator_node", "--ros-args", "-p", f"run:={run.path}"]
        self._process = subprocess.Popen([sys.executable, *arguments])
        self.person = PersonAtThePage(chromium, link_of(run.path, 120.0), timeout=60.0)
        client = ConsoleClient(node, "operator", 60.0)
        self._seen = SeenTable(time.monotonic, "world", client)
        self._by_hand = ByHand(self._seen, client, Tolerances(TOLERANCE), None)

    @staticmethod
    def _drawn(session, calibration):
        """Return the picture of the target with tags on its objects, and write where the camera is that sees it."""
        models = session.task.scenes.models
        world = World(
            session.robot,
            session.task.scenes.world,
            None,
            (Camera("top", WIDTH, HEIGHT),),
            tags=standard_tags(models.values()),
        )
        for item in TARGET:
            world.spawn(item.name, item.pose, uri=models[item.model])
        pose, info, picture = world.cameras.pose("top"), world.cameras.info("top"), world.cameras.render("top")
        world.close()
        content = {
            "frame_id": "world",
            "position": list(map(float, pose.position)),
            "orientation_xyzw": list(map(float, pose.orientation)),
            "width": WIDTH,
            "height": HEIGHT,
            "k": list(map(float, info.k)),
            "d": [0.0] * 5,
        }
        calibration.write_text(yaml.safe_dump(content))
        return picture

    def close(self):
        self.person.close()
        # How it ends is not of these tests.
        self._process.kill()
        self._process.wait(60.0)

    def ask(self):
        """Ask for the banana to be moved; return the thread that waits, and where the scene goes that is read back."""
        self._seen.carry(BEFORE, ())
        found, moves = [], setup_moves(BEFORE, TARGET, TOLERANCE)
        thread = threading.Thread(target=lambda: found.append(self._by_hand.set_up(TARGET, moves).scene), daemon=True)
        thread.start()
        return thread, found

    def piece(self, name):
        """Return the rows and columns of the picture that show an object's tag."""
        ((column, row),) = np.round(self.calibrated.project([(*PLACES[name], 0.06)])).astype(int)
        return slice(row - AROUND, row + AROUND), slice(column - AROUND, column + AROUND)


@pytest.fixture(scope="module")
def table(tmp_path_factory, domain):
    with browser() as chromium, spun_node("camera") as node:
        made = Table(tmp_path_factory.mktemp("table"), chromium, node)
        yield made
        made.close()


def unplugged(table):
    return None


def dark(table):
    return table.right // 12


def other_size(table):
    return cv2.resize(table.right, (WIDTH // 2, HEIGHT // 2), interpolation=cv2.INTER_AREA)


def out_of_sight(table):
    picture = table.right.copy()
    picture[table.piece("banana")] = 128
    return picture


def one_number_twice(table):
    picture = table.right.copy()
    rows, columns = table.piece("red_apple")
    picture[rows.start : rows.stop, 60 : 60 + 2 * AROUND] = picture[rows, columns]
    return picture


def moved_camera(table):
    zoom = cv2.getRotationMatrix2D((WIDTH / 2, HEIGHT / 2), 0.0, 0.85)
    return cv2.warpAffine(table.right, zoom, (WIDTH, HEIGHT), flags=cv2.INTER_AREA, borderMode=cv2.BORDER_REFLECT)


@pytest.mark.long
@pytest.mark.parametrize(
    ("fault", "banner", "words"),
    [
        (unplugged, "Is it plugged in?", "No picture comes from camera 'top'."),
        (dark, "The picture is dark", "Switch a light on."),
        (other_size, "the calibration is for 640x480", "calibrate it again"),
        (out_of_sight, "", "banana: its tag 100 is not seen: hidden, out of the picture"),
        (one_number_twice, "", "red apple: two tags of number 207 are in the picture; take one away"),
        (moved_camera, "Run `robocontrast calibrate` again", "of 4 objects do not look as the calibration tells"),
    ],
    ids=["unplugged", "dark", "other size", "out of sight", "one number twice", "moved camera"],
)
def test_a_fault_of_the_camera_is_told_on_the_page_and_the_set_up_goes_on_when_it_is_mended(
    table, fault, banner, words
):
    person, (thread, found) = table.person, table.ask()
    person.wait_for("set_up")
    table.picture = fault(table)
    if banner and fault is not moved_camera:
        # While the person still carries things.
        person.until(f"document.getElementById('banner').innerText.includes({banner!r})")
    person.tap("[data-move='banana'] input")
    person.until("state.set_up.moves[0].done && sending.size === 0")
    step = person.step
    person.tap_primary()
    person.wait_for("set_up", after=step)
    told = " ".join(state_of(person)["set_up"]["problems"])
    assert words in told and words in person.text
    assert told.count(words) == 1, "it is said once, not of each object"
    if banner:
        person.until(f"document.getElementById('banner').innerText.includes({banner!r})")
    assert person.page.inner_text("#primary") == "It stands right"
    table.picture = table.right
    step = person.step
    person.choose("ready")
    thread.join(60.0)
    assert not thread.is_alive(), person.text
    assert found[0]["banana"].pose.distance_to(TARGET["banana"].pose) < 0.005
    person.until("state.problems.length === 0")
