"""The states of the console's page, side by side, as a phone shows them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image

from robocontrast_ros.configuration import load_configured, resolve_uri
from robocontrast_ros.console.console import Console, SessionFacts
from robocontrast_ros.console.new_instances import NewInstances
from robocontrast_ros.console.operator_view import ConsoleOperatorView
from robocontrast_ros.console.questions import JudgeQuestion, SetUpQuestion, StartQuestion
from robocontrast_ros.console.server import ConsoleServer
from robocontrast_ros.console.table_map import TableMap
from robocontrast_ros.console.tolerances import tolerances_of
from robocontrast_ros.console.web import console_app
from robocontrast_ros.domain import Pose, Scene
from robocontrast_ros.episodes.judging import Person, success_in_words
from robocontrast_ros.images.rendering import Camera
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.strategies.effort import SecondsToMove, Tolerance, setup_moves
from robocontrast_ros.strategies.visit_order import in_cheapest_order
from robocontrast_ros.tasks.protocol import Task
from robocontrast_ros.worlds.mujoco.wanted import WantedScenes
from scripts.documents.results import ROOT

SUPPORT = ROOT / "test" / "support"
"""Where the person is who plays at the page in the tests."""

SOURCE = "as it was set up last, for nothing sees it"
CHECKLIST = ("Emergency stop within reach", "Nobody at the robot", "Camera sees the whole board")
TOLERANCE = Tolerance(0.01, 0.15)
COLUMNS = 4
GAP = 16
"""Between two phones [pixels]."""


class _Robot:
    """A robot and a session that do whatever they are told."""

    def __getattr__(self, name: str) -> object:
        return lambda *_: None


def draw(work: Path) -> Image.Image:
    """Play at the page and return its states side by side.

    Args:
        work: folder for the single pictures.
    """
    sys.path.insert(0, str(SUPPORT))
    from console_page import browser

    with browser() as opened:
        shown = [*_trial(opened, work), *_room(opened, work)]
    pictures = [Image.open(file).convert("RGB") for file in shown]
    width, height = pictures[0].size
    rows = -(-len(pictures) // COLUMNS)
    sheet = Image.new("RGB", (COLUMNS * (width + GAP) - GAP, rows * (height + GAP) - GAP), (173, 181, 189))
    for number, picture in enumerate(pictures):
        row, column = divmod(number, COLUMNS)
        sheet.paste(picture, (column * (width + GAP), row * (height + GAP)))
    return sheet


def _trial(browser: object, work: Path) -> Iterator[Path]:
    """Yield the states of a trial of Language-Table."""
    from recorded_console import Asked

    task, views = _task("language_table"), _views("language_table", "ur5e", "board")
    instance = task.sample(np.random.default_rng(4), "x")
    target, words = instance.scene, instance.instruction.text
    present = _disarranged(target, 3)
    with views as wanted, _views("language_table", "ur5e", "board") as camera:
        picture = camera.draw(present)
        with _page(browser, task, lambda: picture, wanted) as (console, person):
            asked = Asked(console, _question(task, present, target))
            yield _seen(person, "checklist", work)
            for item in CHECKLIST:
                person.tap(f"text={item}")
                person.until(f"state.checklist.find(one => one.name === {item!r}).done")
            person.tap_primary()
            yield _seen(person, "set_up", work)
            person.tap_primary()
            asked.answer()
            picture = camera.draw(target)
            asked = Asked(console, StartQuestion("0003", words))
            yield _seen(person, "start", work)
            person.tap_primary()
            asked.answer()
            console.tell_moving(True)
            person.until("!document.querySelector('#timer').hidden")
            yield _seen(person, "running", work)
            goal = task.goals.goal(instance.instruction, target)
            counts = success_in_words(goal, Person(), task.control_rate)
            asked = Asked(console, JudgeQuestion("0003", words, "The time was over.", counts=counts))
            person.wait_for("judge")
            person.tap('[data-outcome="false"]')
            yield _seen(person, "judge", work)
            console.tell_stop("a person stopped it: stopped on the console")
            yield _seen(person, "stopped", work)


def _room(browser: object, work: Path) -> Iterator[Path]:
    """Yield a set-up in which the robot is brought to its start, too, and the recording of a walked path."""
    from recorded_console import Asked

    task = _task("studio_apartment")
    instance = task.sample(np.random.default_rng(0), "x", "arrangement_1")
    target, file = instance.scene, work / "instances.yaml"
    table = target["table"].pose
    present = target.moved("table", Pose.planar(table.position[0] - 0.7, table.position[1] + 0.5, 1.2))
    with (
        _views("studio_apartment", "locobot", "camera") as wanted,
        _page(browser, task, lambda: None, wanted, NewInstances(task, file, lambda: target, SOURCE)) as (
            console,
            person,
        ),
    ):
        asked = Asked(console, replace(_question(task, present, target), bring_robot=True))
        yield _seen(person, "set_up", work, "room")
        person.tap_primary()
        asked.answer()
        console.tell(SessionFacts("paused", trials_done=3, trials_expected=24))
        person.wait_for("paused")
        person.choose("survey")
        person.until("state.recording.map !== null && sending.size === 0")
        person.page.fill("#instruction", instance.instruction.text)
        for x, y in TableMap(task).on_map(instance.reference_path[1:]):
            person.tap_on_map(x, y)
        yield _seen(person, "paused", work, "recording")


def _seen(person: object, phase: str, work: Path, name: str = "") -> Path:
    person.wait_for(phase)
    if phase in ("set_up", "start", "running"):
        person.until("!photo.hidden")
    if phase == "set_up":
        person.until("!wanted.hidden && wanted.complete && wanted.naturalWidth > 0")
    person.page.wait_for_timeout(700)
    file = work / f"{name or phase}.png"
    person.page.screenshot(path=file, scale="css")
    return file


def _task(name: str) -> Task:
    return load_configured("tasks", resolve_uri(f"package://robocontrast_ros/config/tasks/{name}.yaml"))


@contextmanager
def _views(task: str, robot: str, camera: str) -> Iterator[WantedScenes]:
    profile = load_profile(resolve_uri(f"package://robocontrast_ros/config/robots/{robot}.yaml"))
    drawn = WantedScenes(profile, _task(task), Camera(camera, 640, 480))
    try:
        yield drawn
    finally:
        drawn.close()


def _disarranged(scene: Scene, number: int) -> Scene:
    """Return a scene in which some objects stand elsewhere."""
    for k, item in enumerate(tuple(scene)[:number]):
        x, y = item.pose.xy
        scene = scene.moved(
            item.name, Pose.planar(x + 0.05 * (k - 1), y - 0.08, item.pose.yaw + 0.8, item.pose.position[2])
        )
    return scene


def _question(task: Task, present: Scene, target: Scene) -> SetUpQuestion:
    moves = in_cheapest_order(setup_moves(present, target, TOLERANCE), task.store)
    return SetUpQuestion(target, present, moves, expected=SecondsToMove(store=task.store).cost(moves))


@contextmanager
def _page(
    browser: object, task: Task, camera: object, wanted: WantedScenes, instances: NewInstances | None = None
) -> Iterator[tuple[Console, object]]:
    from console_page import PersonAtThePage

    console = Console(_Robot(), () if instances else CHECKLIST, instances=instances)
    console.set_limit(20.0)
    console.tell(SessionFacts("running", trials_done=3, trials_expected=24, spent=1.17, limit=5.0, time_left=1500.0))
    tables = TableMap(task, tolerances_of(task, TOLERANCE, {}))
    operator_view = ConsoleOperatorView(console, tables, camera, wanted.draw, "run", False)
    server = ConsoleServer(console_app(operator_view, "token"), "127.0.0.1", 0)
    server.start()
    person = PersonAtThePage(browser, f"{server.url}/#token")
    try:
        yield console, person
    finally:
        person.close()
        console.close()
        server.close()
