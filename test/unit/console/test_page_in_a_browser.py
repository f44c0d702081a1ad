"""The console's page in a real browser at phone size, in every state: targets, place of the large button, taps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from chromium import chromium_missing
from recorded_console import JUDGE, START, Asked, Steered, phase_of
from tabletop_scenes import tabletop

from robocontrast_ros.configuration import load_configured, resolve_uri
from robocontrast_ros.console import commands as c
from robocontrast_ros.console.console import Console, ConsolePhase, SessionFacts
from robocontrast_ros.console.new_instances import NewInstances
from robocontrast_ros.console.operator_view import ConsoleOperatorView
from robocontrast_ros.console.questions import ROBOT, JudgeQuestion, SetUpQuestion
from robocontrast_ros.console.server import ConsoleServer
from robocontrast_ros.console.table_map import TableMap
from robocontrast_ros.console.tolerances import tolerances_of
from robocontrast_ros.console.web import console_app
from robocontrast_ros.domain import Fault, Judgement, ObjectState, Pose, Scene, SetupMove
from robocontrast_ros.strategies.effort import Tolerance, setup_moves
from robocontrast_ros.tasks.recorded import load_instances

pytestmark = pytest.mark.skipif(bool(chromium_missing()), reason=chromium_missing())

if not chromium_missing():
    from console_page import Cable, PersonAtThePage, browser, state_of

TOKEN = "a-token-of-this-test"
MOVES = (
    SetupMove("red_apple", "red_apple", Pose.planar(0.3, 0.1), Pose.planar(0.4, -0.2, 1.0)),
    SetupMove("banana", "banana", None, Pose.planar(0.5, 0.1)),
)
APPLE = Scene((ObjectState("red_apple", "red_apple", Pose.planar(0.3, 0.1)),))
BOTH = Scene(tuple(ObjectState(move.name, move.model, move.goal) for move in MOVES))
SET_UP = SetUpQuestion(BOTH, APPLE, MOVES, expected=20.0)
DOUBTED = SetUpQuestion(BOTH, APPLE, MOVES, problems=("red apple is 4.0 cm off, allowed is 1.0 cm",))


@pytest.fixture(scope="module")
def chromium():
    with browser() as opened:
        yield opened


class Page:
    """A console with its server, and a person at its page."""

    def __init__(self, chromium, checklist=(), instances=None, task=None):
        self.steered = Steered()
        self.console = Console(self.steered, checklist, instances=instances)
        self.console.set_limit(20.0)
        tables = TableMap(task or tabletop())
        self.operator_view = ConsoleOperatorView(self.console, tables, lambda: None, lambda scene: None, "run_1", True)
        self.server = ConsoleServer(console_app(self.operator_view, TOKEN), "127.0.0.1", 0)
        self.server.start()
        self.person = PersonAtThePage(chromium, f"{self.server.url}/#{TOKEN}", timeout=20.0)

    def close(self):
        self.person.close()
        self.console.close()
        self.server.close()


@pytest.fixture
def page(chromium):
    page = Page(chromium)
    yield page
    page.close()


@pytest.fixture
def checked_page(chromium):
    page = Page(chromium, ("Emergency stop within reach", "Nobody at the robot"))
    yield page
    page.close()


def test_a_trial_from_the_checklist_to_the_judgement(checked_page):
    console, person = checked_page.console, checked_page.person
    console.remember("0000", Judgement(True, 1.0, "Ada", "fell over"))
    person.wait_for("waiting")
    asked = Asked(console, SET_UP)
    person.wait_for("checklist")
    assert person.page.locator("#primary").is_disabled()
    for name in ("Emergency stop within reach", "Nobody at the robot"):
        person.tap(f"text={name}")
        person.until(f"state.checklist.find(c => c.name === '{name}').done")
    person.tap_primary()
    person.wait_for("set_up")
    moves = state_of(person)["set_up"]["moves"]
    person.tap(f"[data-move='{moves[0]['id']}'] input")
    person.until("state.set_up.moves[0].done")
    person.tap_primary()
    assert asked.answer().moved == (moves[0]["id"],)
    step = person.step
    asked = Asked(console, DOUBTED)
    person.wait_for("set_up", after=step)
    assert DOUBTED.problems[0] in person.text
    person.tap("text=It stands right")
    assert asked.answer().overruled
    asked = Asked(console, START)
    person.wait_for("start")
    assert START.instruction in person.text and f"trial {START.trial_id} · 0 done" in person.text
    person.tap_primary()
    assert asked.answer().decision == "done"
    person.wait_for("running")
    assert "reached" not in state_of(person)["allowed"], "the robot is on its way to its start"
    console.tell_moving(True)
    person.choose("reached")
    person.until("sending.size === 0")
    assert checked_page.steered.done == ["reached"]
    asked = Asked(console, JUDGE)
    person.wait_for("judge")
    assert not person.page.locator("#primary").is_disabled(), "who ended it as reached has judged it a success"
    person.tap('[data-outcome="false"]')
    person.tap("#progress button >> nth=1")
    person.tap("#stages button >> nth=2")
    person.tap("text=+ tag")
    person.give_reason("slippery")
    person.tap("#notes button >> text=fell")
    person.page.fill("#by", "Ada")
    person.tap_primary()
    person.wait_for("confirmed")
    person.choose("undo")
    person.wait_for("judge")
    assert person.page.input_value("#note") == "fell over", "what was said is there again"
    person.tap_primary()
    person.wait_for("confirmed")
    person.tap_primary()
    judgement = asked.answer().judgement
    assert (judgement.success, judgement.by, judgement.note, judgement.tags) == (
        False,
        "Ada",
        "fell over",
        ("slippery",),
    )
    assert judgement.progress > 0.0 and judgement.stage


def test_what_the_camera_cannot_tell_is_said_once_and_nobody_is_told_that_nothing_has_to_be_moved(page):
    words = "The picture is dark (mean brightness 9 of 255). Switch a light on."
    page.console.tell_problems((words,))
    asked = Asked(page.console, SetUpQuestion(BOTH, BOTH, (), (words,), doubts=True))
    page.person.wait_for("set_up")
    assert page.person.text.count(words) == 1 and "Do not reset" not in page.person.text
    assert page.person.page.inner_text("#primary") == "It stands right"
    page.console.tell_problems(())
    page.person.until("state.problems.length === 0")
    assert page.person.text.count(words) == 1, "it is why the camera has to look again"
    page.person.choose("ready")
    assert not asked.answer().overruled


def test_the_robot_is_stopped_and_released_by_name(page):
    console, person = page.console, page.person
    asked = Asked(console, START)
    person.wait_for("start")
    person.tap_primary()
    asked.answer()
    person.wait_for("running")
    person.tap_primary()
    person.until("sending.size === 0")
    console.tell_stop("stopped by Ada")
    person.wait_for("stopped")
    console.tell(SessionFacts("paused", trials_void=1))
    person.tap_primary()
    person.give_reason("Ada Lovelace")
    person.until("sending.size === 0")
    assert page.steered.done == ["stop", "release"]
    console.tell_stop("")


@pytest.mark.parametrize("command", ["void", "skip"])
def test_a_trial_is_void_or_left_out_with_a_reason(page, command):
    asked = Asked(page.console, START)
    page.person.wait_for("start")
    page.person.choose(command)
    page.person.give_reason("a block is broken")
    answer = asked.answer()
    assert (answer.decision, answer.reason) == (command, "a block is broken")


def test_a_paused_session_and_one_that_has_ended_are_shown(page):
    page.console.tell(SessionFacts("paused"))
    page.person.wait_for("paused")
    page.person.tap_primary()
    page.person.until("sending.size === 0")
    page.console.tell(SessionFacts("running", code="2 of 2", looks=True))
    page.person.wait_for("waiting")
    assert "run 2 of 2" in page.person.text and "interim look: continue" in page.person.text
    page.console.tell(SessionFacts("finished", "all trials are done", looks=True))
    page.person.wait_for("finished")
    assert "all trials are done" in page.person.text and "interim look: stop" in page.person.text


def test_where_nothing_sees_what_the_robot_moved_the_person_is_asked_to_put_it_back(page):
    for unseen, words, not_words in ((True, "Put back", "Do not reset"), (False, "Do not reset", "Put back")):
        before = page.person.step
        asked = Asked(page.console, SetUpQuestion(APPLE, APPLE, (), unseen=unseen))
        page.person.wait_for("set_up", after=before)
        assert words in page.person.text and not_words not in page.person.text
        page.person.tap_primary()
        assert asked.answer().decision == "done"


def test_an_instance_of_the_scene_as_it_stands_is_recorded_with_a_path_tapped_on_the_map(chromium, tmp_path):
    task = load_configured("tasks", resolve_uri("package://robocontrast_ros/config/tasks/studio_apartment.yaml"))
    instance = task.sample(np.random.default_rng(3), "x")
    file = tmp_path / "instances.yaml"
    recorder = NewInstances(task, file, lambda: instance.scene, "as it is in the simulator")
    page = Page(chromium, instances=recorder, task=task)
    person = page.person
    page.console.tell(SessionFacts("paused"))
    person.wait_for("paused")
    person.choose("survey")
    person.until("state.recording.map !== null && sending.size === 0")
    person.page.fill("#instruction", "make tea")
    person.tap_primary()
    person.until("refusal.includes('does not know')")
    person.page.fill("#meant", instance.instruction.text)
    planned = np.array(instance.reference_path)
    along = planned[-1] - planned[-2]
    # A finger is as exact as a pixel of the map, so the person goes a little farther into the last place.
    planned[-1] += 0.1 * along / np.linalg.norm(along)
    for x, y in TableMap(task).on_map(planned[1:]):
        person.tap_on_map(x, y)
    person.tap_primary()
    person.until("state.recording.draft !== null && sending.size === 0")
    assert "Understood" in person.text
    assert not person.page.locator("#primary").is_disabled()
    person.look("paused")
    person.tap_primary()
    person.until("state.recording.kept.length === 1 && sending.size === 0")
    person.choose("discard")
    person.until("state.recording.map === null && sending.size === 0")
    assert "r0001" in person.text
    page.close()
    (found,) = load_instances(file, task)
    assert found.instruction == replace(instance.instruction, text="make tea", meant=instance.instruction.text)
    assert np.abs(np.array(found.reference_path) - planned).max() < 0.03


OVERLAPS = """() => {
  const names = [...document.querySelectorAll(".map text")];
  const covers = (one, other) => {
    const [a, b] = [one.getBoundingClientRect(), other.getBoundingClientRect()];
    return a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
  };
  const pairs = names.flatMap((one, k) => names.slice(k + 1).map((other) => [one, other]));
  return pairs.filter(([one, other]) => covers(one, other)).map(([one, other]) => [one.textContent, other.textContent]);
}"""


COVERED = """sets => sets.flatMap((set, number) => {
  const svg = drawMap(set);
  parts.content.append(svg);
  const scale = svg.getScreenCTM(), named = [...svg.querySelectorAll("text")];
  const boxes = named.map(text => text.getBBox()), faults = [];
  const inBox = (p, b) => p.x > b.x && p.x < b.x + b.width && p.y > b.y && p.y < b.y + b.height;
  boxes.forEach((a, k) => boxes.slice(k + 1).forEach((b, m) => {
    const apart = a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y;
    if (!apart) faults.push([number, named[k].textContent, "over", named[k + 1 + m].textContent]);
  }));
  for (const outline of svg.querySelectorAll("[data-outline]")) {
    const length = outline.getTotalLength();
    boxes.forEach((b, k) => {
      const middle = svg.createSVGPoint();
      [middle.x, middle.y] = [b.x + b.width / 2, b.y + b.height / 2];
      const covers = outline.isPointInFill(middle) ||
        Array.from({ length: 200 }, (_, n) => outline.getPointAtLength(length * n / 200)).some(p => inBox(p, b));
      if (covers) faults.push([number, named[k].textContent, "over an outline"]);
    });
  }
  const words = named.map(text => text.textContent), view = svg.viewBox.baseVal;
  const lacks = set.objects.filter(item => item.outline.length && !words.includes(item.name)).map(item => item.name);
  const numbers = set.moves.map((_, k) => `${k + 1}`).filter(one => !words.some(text => text.split(" ")[0] === one));
  for (const one of [...lacks, ...numbers]) faults.push([number, one, "lacks"]);
  boxes.forEach((b, k) => {
    const [right, low] = [view.x + view.width - b.x - b.width, view.y + view.height - b.y - b.height];
    const ends = [b.x - view.x, b.y - view.y, right, low];
    if (Math.min(...ends) < 0) faults.push([number, named[k].textContent, "outside"]);
    if (b.height * scale.a < 8) faults.push([number, named[k].textContent, "too small"]);
  });
  svg.remove();
  return faults;
})"""


def scattered(scene, fixed, rng):
    """Return a scene in which every second object stands elsewhere, some near to others, and one is gone."""
    free = [o for o in scene if o.model not in fixed]
    for item in free[::2]:
        near = free[int(rng.integers(len(free)))].pose.xy if rng.random() < 0.3 else item.pose.xy
        x, y = np.array(near) + rng.normal(0.0, 0.04, 2)
        scene = scene.moved(
            item.name, Pose.planar(float(x), float(y), float(rng.uniform(-3, 3)), item.pose.position[2])
        )
    return replace(scene, objects=tuple(o for o in scene if o is not scene.objects[-1]))


@pytest.mark.parametrize("name", ["language_table", "tabletop", "tabletop_clutter", "studio_apartment"])
def test_labels_of_the_map_cover_neither_each_other_nor_an_outline_in_any_scene(page, name):
    task = load_configured("tasks", resolve_uri(f"package://robocontrast_ros/config/tasks/{name}.yaml"))
    rng, tolerances = np.random.default_rng(7), tolerances_of(task, Tolerance(0.01, 0.15), {})
    fixed, tables, drawn = tolerances.fixed, TableMap(task, tolerances), []
    for k in range(5):
        target = task.sample(rng, f"x{k}").scene
        for present in (scattered(target, fixed, rng), replace(target, objects=()), target):
            question = SetUpQuestion(target, present, setup_moves(present, target, tolerances))
            drawn.append(tables.of(replace(question, bring_robot=target.robot is not None)))
    page.person.wait_for("waiting")
    assert page.person.page.evaluate(COVERED, drawn) == []


@pytest.mark.long
def test_twenty_five_objects_and_long_words_fit_a_phone_and_no_name_covers_another(page):
    models = [model for model in tabletop().scenes.models if model not in ("oak_table", "beige_room", "ceiling_lamp")]
    places = [(0.34 + 0.07 * (k % 5), -0.3 + 0.15 * (k // 5)) for k in range(25)]
    here = Scene(tuple(ObjectState(m, m, Pose.planar(*at)) for m, at in zip(models, places, strict=False)))
    there = here
    for name in models[:25:4]:
        x, y = here[name].pose.xy
        there = there.moved(name, Pose.planar(x + 0.03, y - 0.06, 1.0))
    there = replace(there, objects=there.objects[:-1])
    person = page.person
    asked = Asked(page.console, SetUpQuestion(there, here, setup_moves(here, there, Tolerance(0.01, 0.15))))
    person.wait_for("set_up")
    assert person.page.evaluate(OVERLAPS) == []
    numbers = person.page.locator(".map text[font-weight='700']").all_text_contents()
    assert {words.split()[0] for words in numbers} == {str(k + 1) for k in range(7)}, "every move has its number"
    assert person.page.evaluate("document.documentElement.scrollWidth") <= 390
    person.tap_primary()
    asked.answer()
    words = (
        "put the small black stapler to the left of the white bowl, " * 3
        + "Bücherstützenüberzugsstoffmusterkatalogeinband"
    )
    for k in range(20):
        page.console.remember(f"{k:04d}", Judgement(False, 0.5, "Jürgen Großmann-Öztürk", tags=(f"rutscht über {k}",)))
    asked = Asked(page.console, JudgeQuestion("t1", words, "the time was over"))
    person.wait_for("judge")
    assert person.page.evaluate("document.documentElement.scrollWidth") <= 390
    assert person.page.input_value("#by") == "Jürgen Großmann-Öztürk"
    # What the thumb needs is in reach without scrolling, however long the instruction is.
    assert person.page.evaluate(
        "document.querySelector('[data-outcome]').getBoundingClientRect().top > innerHeight / 2"
    )
    page.console.close()
    asked.answer()


@pytest.mark.long
def test_a_note_is_not_interrupted_when_the_session_says_something(page):
    asked = Asked(page.console, JUDGE)
    person = page.person
    person.wait_for("judge")
    person.tap("#note")
    person.page.keyboard.type("it ")
    page.console.tell_problems(("No picture",))
    person.until("state.problems.length === 1")
    person.page.keyboard.type("fell")
    assert person.page.input_value("#note") == "it fell"
    page.console.close()
    asked.answer()


@pytest.mark.long
def test_a_robot_that_moves_about_is_an_item_of_the_set_up(chromium):
    task = load_configured("tasks", resolve_uri("package://robocontrast_ros/config/tasks/studio_apartment.yaml"))
    scene = task.sample(np.random.default_rng(3), "x").scene
    page = Page(chromium, task=task)
    person = page.person
    asked = Asked(page.console, SetUpQuestion(scene, scene, (), bring_robot=True))
    person.wait_for("set_up")
    assert "Move nothing but the robot" in person.text and "bring it to its start" in person.text
    assert f"x {scene.robot.position[0]:.2f} m" in person.text
    person.tap(f"[data-move='{ROBOT}'] input")
    person.until("state.set_up.robot.done")
    person.tap_primary()
    assert asked.answer().moved == (ROBOT,)
    page.close()


@pytest.mark.long
def test_a_judgement_is_corrected_by_name_with_a_reason(page):
    page.console.remember("0004", Judgement(True, 1.0, "Ada"))
    asked = Asked(page.console, START)
    person = page.person
    person.wait_for("start")
    person.choose("correct")
    assert "trial 0004: success" in person.text
    person.tap('[data-right="false"]')
    person.page.select_option("#share", "0.25")
    person.tap("#correct")
    assert page.steered.done == [], "without a reason nothing is sent"
    person.page.fill("#reason", "it touched the wrong block")
    person.look("start")
    person.tap("#correct")
    person.until("sending.size === 0 && state.judgements[0].words.startsWith('failure')")
    assert page.steered.done == ["correct"]
    person.tap_primary()
    assert asked.answer().decision == "done"


@pytest.mark.long
def test_a_wrong_token_is_told_how_the_page_is_opened(page, chromium):
    stranger = PersonAtThePage(chromium, f"{page.server.url}/#wrong", timeout=20.0)
    stranger.until("document.getElementById('banner').textContent.includes('QR code')")
    assert stranger.page.evaluate("state") is None
    stranger.close()


@pytest.mark.long
def test_a_pedal_goes_one_step_with_each_press(page):
    asked = Asked(page.console, SET_UP)
    page.person.wait_for("set_up")
    page.person.until("!parts.primary.inert")
    page.person.page.keyboard.press("PageDown")
    assert asked.answer().decision == "done"
    asked = Asked(page.console, START)
    page.person.wait_for("start")
    page.person.until("!parts.primary.inert")
    page.person.page.keyboard.press("PageDown")
    assert asked.answer().decision == "done"
    page.person.wait_for("running")
    page.person.page.keyboard.press("Escape")
    page.person.until("sending.size === 0")
    assert page.steered.done == ["stop"]


def test_a_second_tap_or_press_does_not_answer_what_is_asked_next(page):
    person = page.person
    asked = Asked(page.console, SET_UP)
    person.wait_for("set_up")
    person.until("!parts.primary.inert")
    person.page.evaluate("CALM = 1e6")
    box = person.page.locator("#primary").bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    person.page.mouse.click(*middle)
    assert asked.answer().decision == "done"
    asked = Asked(page.console, START)
    person.wait_for("start")
    person.page.mouse.click(*middle)
    person.page.keyboard.press("PageDown")
    person.until("sending.size === 0")
    assert phase_of(page.console) is ConsolePhase.START, "it was for the set-up"
    person.page.evaluate("CALM = 0, calm()")
    person.tap_primary()
    assert asked.answer().decision == "done"
    person.page.evaluate("CALM = 1e6")
    person.wait_for("running")
    person.tap_primary()
    person.until("sending.size === 0")
    assert page.steered.done == ["stop"], "STOP is never dead"


@pytest.mark.long
def test_a_start_that_was_not_delivered_is_not_sent_when_the_connection_is_back(page, chromium):
    cable = Cable(f"{page.server.url}/#{TOKEN}")
    person = PersonAtThePage(chromium, cable.link, timeout=20.0)
    asked = Asked(page.console, START)
    person.wait_for("start")
    cable.pull()
    person.until("!connected")
    person.tap_primary()
    person.until("sending.size === 0")
    assert "press again" in person.text
    cable.plug()
    person.until("connected")
    assert asked.open
    person.tap_primary()
    assert asked.answer().decision == "done"
    person.close()


@pytest.mark.long
def test_while_an_answer_is_on_its_way_the_robot_can_be_stopped(page, chromium):
    cable = Cable(f"{page.server.url}/#{TOKEN}")
    person = PersonAtThePage(chromium, cable.link, timeout=20.0)
    Asked(page.console, JUDGE)
    person.wait_for("judge")
    cable.pull()
    person.until("!connected")
    person.tap('[data-outcome="true"]')
    person.tap_primary()
    person.until("sending.size === 1")
    assert person.page.locator("#primary").is_disabled()
    person.choose("stop")
    cable.plug()
    person.until("sending.size === 0")
    assert page.steered.done == ["stop"] and phase_of(page.console) is ConsolePhase.CONFIRMED
    person.close()


@pytest.mark.long
def test_a_judgement_that_was_begun_outlives_changes_of_the_session_and_a_reload(page):
    Asked(page.console, JUDGE)
    person = page.person
    person.wait_for("judge")
    person.tap('[data-outcome="false"]')
    person.tap("#note")
    person.page.keyboard.type("fell ")
    page.console.tell(SessionFacts("running", trials_done=7))
    person.until("state.session_state.done === 7")
    person.page.keyboard.type("over, stays")
    assert person.page.input_value("#note") == "fell over, stays"
    person.page.reload()
    person.wait_for("judge")
    assert person.page.input_value("#note") == "fell over, stays"
    assert person.page.locator('[data-outcome="false"]').get_attribute("class") == "on"


def test_keys_press_the_button_that_was_reached_by_them(checked_page):
    Asked(checked_page.console, SET_UP)
    person = checked_page.person
    person.wait_for("checklist")
    person.page.focus('input[type="checkbox"]')
    person.page.keyboard.press(" ")
    person.until("state.checklist[0].done")
    person.page.focus('#choices [data-command="end"]')
    person.page.keyboard.press("Enter")
    assert person.page.locator("#sheet").is_visible() and not state_of(person)["checklist"][1]["done"]
    person.page.keyboard.press("Escape")
    person.until("sending.size === 0")
    assert checked_page.steered.done == ["stop"]


@pytest.mark.long
def test_the_timer_turns_amber_and_red(page):
    page.console.set_limit(10.0)
    asked = Asked(page.console, START)
    page.person.wait_for("start")
    page.person.tap_primary()
    asked.answer()
    page.person.wait_for("running")
    assert page.person.page.locator("#timer").is_hidden(), "the robot is on its way to its start"
    page.console.tell_moving(True)
    for colour in ("amber", "red"):
        page.person.until(f"document.getElementById('timer').className === '{colour}'")


def ask(console, question):
    Asked(console, question)


def start(console):
    asked = Asked(console, START)
    console.carry_out(c.Start(id="start", step=console.view().step, at=console.now))
    asked.answer()


def judge(console):
    ask(console, JUDGE)
    console.carry_out(c.Judge(id="judge", step=console.view().step, success=True))


BROUGHT = {
    ConsolePhase.WAITING: lambda console: None,
    ConsolePhase.SET_UP: lambda console: ask(console, DOUBTED),
    ConsolePhase.START: lambda console: ask(console, START),
    ConsolePhase.RUNNING: start,
    ConsolePhase.JUDGE: lambda console: ask(console, JUDGE),
    ConsolePhase.CONFIRMED: judge,
    ConsolePhase.PAUSED: lambda console: console.tell(SessionFacts("paused", "until tomorrow")),
    ConsolePhase.STOPPED: lambda console: console.tell_stop("somebody pressed STOP"),
    ConsolePhase.FINISHED: lambda console: console.tell(SessionFacts("finished", "all trials are done")),
}


@pytest.mark.parametrize("phase", ConsolePhase)
def test_in_every_state_targets_are_large_and_the_large_button_is_in_the_lower_half(chromium, phase):
    page = Page(chromium, ("Nobody at the robot",) if phase is ConsolePhase.CHECKLIST else ())
    page.console.remember("0000", Judgement(False, 0.5, "Ada", "fell over", tags=("slippery",)))
    page.console.tell(SessionFacts("running", void_fault=Fault.VOIDED, void_detail="the lamp fell over"))
    BROUGHT.get(phase, BROUGHT[ConsolePhase.SET_UP])(page.console)
    # This looks at targets and buttons.
    page.person.wait_for(phase.value)
    ground = page.person.page.evaluate(GROUND)
    page.person.page.emulate_media(color_scheme="dark")
    assert page.person.page.evaluate(GROUND) != ground, "there is a dark scheme"
    page.person.look_at_contrasts(f"{phase.value} in the dark")
    page.close()


GROUND = "getComputedStyle(document.body).backgroundColor"


def test_why_an_attempt_does_not_count_is_said_while_it_is_made_again(page):
    detail = "the stamps of joint_states went back by 0.126 s: let one clock follow the other steadily (chrony)"
    page.console.tell(SessionFacts("running", void_fault=Fault.ROBOT_FAULT, void_detail=detail))
    asked = Asked(page.console, SET_UP)
    page.person.wait_for("set_up")
    words = "The last attempt does not count. A fault of the robot or of its computer. Set it up again."
    assert words in page.person.text and "chrony" not in page.person.text
    page.person.tap("summary")
    assert detail in page.person.text, "it is under a fold, for an engineer"
    page.console.tell(SessionFacts("running"))
    page.person.until("state.void === null")
    assert "does not count" not in page.person.text
    page.person.tap_primary()
    asked.answer()


def test_a_pause_during_a_trial_is_shown_and_can_be_taken_back(page):
    console, person = page.console, page.person
    console.tell(SessionFacts("running"))
    start(console)
    person.wait_for("running")
    person.choose("pause")
    person.until("state.pausing && sending.size === 0")
    assert "pauses after this trial" in person.text
    person.choose("resume")
    person.until("!state.pausing && sending.size === 0")
    assert "pauses after" not in person.text and page.steered.done == ["pause", "resume"]
    person.choose("pause")
    person.until("state.pausing && sending.size === 0")
    console.trial_ended()
    console.tell(SessionFacts("paused"))
    person.wait_for("paused")
    assert state_of(person)["pausing"] is False


def test_a_sheet_never_covers_stop(page):
    page.person.wait_for("waiting")
    page.person.choose("end")
    page.person.look("waiting")
    page.person.tap('#sheet [data-command="stop"]')
    page.person.until("sending.size === 0")
    assert page.steered.done == ["stop"] and not page.person.page.locator("#sheet").is_visible()


@pytest.mark.long
def test_a_trial_with_subgoals_is_corrected_by_its_subgoals(page):
    page.console.remember("0004", Judgement(True, 1.0, "Ada"), 3)
    page.console.remember("0005", Judgement(True, 1.0, "Ada"))
    asked = Asked(page.console, START)
    person = page.person
    person.wait_for("start")
    person.choose("correct")
    person.tap('[data-right="false"]')
    assert person.page.locator("#share option").all_text_contents() == [f"{k * 25} % of the way" for k in range(4)]
    person.page.select_option("#trial", "0004")
    assert person.page.locator("#share option").all_text_contents() == [f"{k} of 3 subgoals" for k in range(3)]
    person.page.select_option("#share", f"{1 / 3}")
    person.page.fill("#reason", "it dropped the second one")
    person.tap("#correct")
    person.until("sending.size === 0 && state.judgements.find(j => j.trial === '0004').words === 'failure, 33 %'")
    person.tap_primary()
    asked.answer()


@pytest.mark.long
def test_a_judgement_that_was_begun_outlives_a_robot_that_is_stopped_and_released(page):
    asked = Asked(page.console, JUDGE)
    person = page.person
    person.wait_for("judge")
    person.tap('[data-outcome="false"]')
    person.page.fill("#note", "it fell over")
    page.console.tell_stop("somebody pressed STOP")
    person.wait_for("stopped")
    page.console.tell_stop("")
    person.wait_for("judge")
    assert person.page.input_value("#note") == "it fell over"
    step = person.step
    person.choose("void")
    person.give_reason("the lamp fell over")
    asked.answer()
    # The same trial, run again, is judged anew.
    Asked(page.console, JUDGE)
    person.wait_for("judge", after=step)
    assert person.page.input_value("#note") == "" and person.page.locator("#primary").is_disabled()


@pytest.mark.long
def test_a_phone_that_slept_knows_the_time_again(page):
    asked = Asked(page.console, START)
    person = page.person
    person.wait_for("start")
    # As on a phone whose clock stood still: the page takes it to be a minute earlier.
    slept = person.page.evaluate("window.heartbeat = setClock, setClock = () => {}, state.now -= 60")
    person.tap_primary()
    person.until("refusal.includes('came too late')")
    assert asked.open
    person.page.evaluate("setClock = heartbeat")
    person.until(f"state.now > {slept + 30}")
    person.tap_primary()
    assert asked.answer().decision == "done"


@pytest.mark.long
def test_the_wanted_scene_is_asked_for_until_it_comes_and_that_of_another_is_not_shown(page, chromium):
    drawn, person = [], page.person
    shade = np.full((48, 64, 3), 90, np.uint8)

    def wanted(scene):
        drawn.append(scene)
        if len(drawn) == 2:
            raise OSError("no OpenGL just now")
        return shade

    page.operator_view._wanted = wanted
    shown = "!wanted.hidden && Boolean(wanted.getAttribute('src'))"
    asked = Asked(page.console, SET_UP)
    person.wait_for("set_up")
    person.until(shown)
    person.tap_primary()
    asked.answer()
    person.wait_for("waiting")
    assert not person.page.evaluate(shown)
    asked = Asked(page.console, SetUpQuestion(APPLE, BOTH, ()))
    person.wait_for("set_up")
    person.until(shown)
    assert drawn[2] == APPLE, "after one that failed it was asked for again"
    page.console.close()
    asked.answer()


def test_two_pedals_judge(page):
    asked = Asked(page.console, JUDGE)
    keys, person = page.person.page.keyboard, page.person
    person.wait_for("judge")
    person.until("!parts.primary.inert")
    keys.press("PageUp")
    keys.press("ArrowRight")
    person.page.focus("#note")
    keys.press("PageDown")
    person.wait_for("confirmed")
    keys.press("PageUp")
    person.wait_for("judge")
    person.until("!parts.primary.inert")
    keys.press("PageDown")
    person.wait_for("confirmed")
    person.until("!parts.primary.inert")
    keys.press("PageDown")
    judgement = asked.answer().judgement
    assert (judgement.success, judgement.progress) == (False, 0.5)


@pytest.mark.parametrize("size", [(390, 844, 0.8), (1280, 800, 1.0)], ids=["phone", "laptop"])
def test_the_judge_page_says_what_counts_and_shows_the_picture_without_scrolling(chromium, size):
    page = Page(chromium)
    person, (width, height, share) = page.person, size
    page.operator_view._camera = lambda: np.full((480, 640, 3), 90, np.uint8)
    person.page.set_viewport_size({"width": width, "height": height})
    Asked(page.console, replace(JUDGE, counts="Success: the cup is within 5 cm of the plate.", detail="IndexError: 7"))
    person.wait_for("judge")
    person.until("live.complete && live.naturalWidth > 0 && !photo.hidden")
    assert "Success: the cup is within 5 cm of the plate." in person.text and "IndexError" not in person.text
    seen = person.page.evaluate(
        "[parts.content, photo].map(e => e.getBoundingClientRect()).map(b => [b.top, b.bottom, b.height])"
    )
    (_, bottom, _), (top, _, tall) = seen
    assert min(bottom - top, tall) >= share * tall
    page.close()
