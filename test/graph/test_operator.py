"""A scripted person runs sessions at the console's page, in a real browser at phone size, on the wall clock."""

from __future__ import annotations

import itertools
import os
import signal
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import yaml
from chromium import chromium_missing
from session_runs import Workplace, events_of, finish, wait_until
from told_oracle import RATE
from vln_scenes import APARTMENT

from robocontrast_ros.analysis.rescoring.recorded_trials import find_recorded
from robocontrast_ros.analysis.rescoring.scores_from_bags import score_recorded
from robocontrast_ros.configuration import read_yaml, resolve_uri
from robocontrast_ros.console.questions import ROBOT
from robocontrast_ros.console.table_map import TableMap
from robocontrast_ros.domain import Fault, Start
from robocontrast_ros.runs.events import Paused, SetUp, TrialCorrected, TrialFinished, TrialSkipped, TrialVoid
from robocontrast_ros.sessions.resolving import resolve
from robocontrast_ros.worlds.table_camera import standard_tags

pytestmark = pytest.mark.skipif(bool(chromium_missing()), reason=chromium_missing())

if not chromium_missing():
    from console_page import Cable, PersonAtThePage, browser, link_of, state_of

CHECKLIST = ["Emergency stop within reach", "Nobody at the robot"]
TRIALS = int(os.environ.get("CONSOLE_TRIALS", "3"))
"""Of each session that a camera judges. Three have every event; more show more of the page."""

PICTURES = os.environ.get("CONSOLE_PICTURES")
"""Folder for a picture of each state, as docs/operator.md shows them."""

OPERATOR = {"checklist": CHECKLIST, "ask_always": True}
ALL = ("checklist", "set_up", "start", "running", "judge", "confirmed", "paused", "stopped", "finished")


def of(run, kind):
    return [event for event in events_of(run) if isinstance(event, kind)]


@pytest.fixture(scope="module")
def chromium():
    with browser() as opened:
        yield opened


class Trials:
    """Plays the person: what happens in which trial is in its methods, the rest is the ordinary way."""

    def __init__(self, chromium, link):
        pictures = Path(PICTURES) if PICTURES else None
        self.chromium, self.link, self.cable = chromium, link, Cable(link)
        self.person = PersonAtThePage(chromium, self.cable.link, pictures, timeout=120.0)
        self.done: set[str] = set()
        self.tries = self.voids = 0
        self.notes: dict[str, object] = {}

    def once(self, name: str) -> bool:
        """Tell whether something was not done before."""
        new = name not in self.done
        self.done.add(name)
        return new

    def run(self) -> None:
        """Go on to the end of the session."""
        while True:
            phase = self.person.wait_for(*ALL, after=self.person.at)
            if phase == "finished":
                return
            state = state_of(self.person)
            told = [*state["problems"], *state.get("set_up", {}).get("problems", ())]
            if state["session_state"]["void"] > self.voids:
                self.voids = state["session_state"]["void"]
                told.append(f"void: {state['void']}")
            print(
                f"{time.monotonic():.1f} {phase} {self.person.at} {state['session_state']['done']} {told}", flush=True
            )
            getattr(self, f"at_{phase}")(state["session_state"]["done"], state)

    def at_checklist(self, done, state):
        for name in CHECKLIST:
            self.person.tap(f"text={name}")
            self.person.until(f"state.checklist.find(c => c.name === {name!r}).done")
        self.person.tap_primary()

    def at_set_up(self, done, state):
        moves = state["set_up"]["moves"]
        wrong = state["set_up"]["problems"]
        if wrong and self.once("wrong set-up"):
            self.notes["wrong set-up"] = wrong
        if not wrong and len(moves) > 1 and "forgot" not in self.done:
            self.done.add("forgot")
            moves = moves[:-1]  # one is forgotten; the first may be the table itself
            for move in moves:
                self.tick(move)
        elif len(moves) > 1:
            self.person.choose("tick")
            self.person.until("state.set_up.moves.every(m => m.done)")
        elif moves:
            self.tick(moves[0])
        self.tries = self.tries + 1 if wrong else 0
        if wrong and (not moves or self.tries > 1):
            # What was moved stands right, and the camera cannot see it well.
            self.person.tap("text=It stands right")
        else:
            self.person.tap_primary()

    def tick(self, move):
        self.person.tap(f"[data-move='{move['id']}'] input")
        things = "[...state.set_up.moves, state.set_up.robot]"
        self.person.until(f"{things}.find(thing => thing?.id === '{move['id']}').done")

    def at_start(self, done, state):
        self.person.tap_primary()

    def at_running(self, done, state):
        pass

    def at_judge(self, done, state):
        self.person.tap('[data-outcome="false"]')
        self.person.tap("#progress button >> nth=1")
        self.person.tap("#stages button >> nth=2")
        self.person.tap_primary()

    def at_confirmed(self, done, state):
        self.person.tap_primary()

    def at_paused(self, done, state):
        self.person.tap_primary()

    def at_stopped(self, done, state):
        while self.person.phase == "stopped":
            # It is refused as long as the robot would be stopped again at once.
            self.person.tap_primary()
            self.person.give_reason("Ada Lovelace")
            self.person.until("sending.size === 0 && (refusal !== '' || state.phase !== 'stopped')")
            self.person.page.wait_for_timeout(500)


def end_when(person, condition):
    """End a running trial, in which the robot moves, when a condition holds."""
    person.until("state.allowed.includes('reached') || state.phase !== 'running'")
    wait_until(lambda: condition() or person.phase != "running", "the end of the trial")
    if person.phase == "running":
        person.page.wait_for_timeout(1000)
        person.page.evaluate("send('reached')")


class Eventful(Trials):
    """What happens on a bad day."""

    def at_start(self, done, state):
        if done == 1 and self.once("paused"):
            self.person.choose("pause")
        elif done == 2 and self.once("skipped"):
            self.person.choose("skip")
            self.person.give_reason("a block is broken")
        else:
            super().at_start(done, state)

    def at_running(self, done, state):
        page = self.person.page
        if done == 0 and self.once("reloaded"):
            page.reload()
            self.person.until("state !== null")
        if done == 1 and self.once("connection lost"):
            self.cable.pull()
            self.person.until("!connected")
            self.notes["banner"] = page.inner_text("#banner")
            self.cable.plug()
        if done == 2 and self.once("stopped"):
            self.person.tap_primary()

    def at_judge(self, done, state):
        if done == 0 and self.once("void"):
            self.person.choose("void")
            self.person.give_reason("I touched the board")
            return
        if done == 2 and self.once("two phones"):
            self.at_two_phones()
            return
        super().at_judge(done, state)

    def at_confirmed(self, done, state):
        if done == 1 and self.once("undone"):
            self.person.choose("undo")
            self.person.wait_for("judge")
            self.person.tap("text=+ tag")
            self.person.give_reason("twice judged")
            self.person.tap_primary()
            self.person.wait_for("confirmed")
            self.person.tap_primary()
            return
        super().at_confirmed(done, state)

    def at_two_phones(self):
        """Another phone shows the same, and both confirm at the same time: once counts."""
        other = PersonAtThePage(self.chromium, self.link)
        other.wait_for("judge")
        assert other.step == self.person.step
        command = (
            "fetch('command', {method: 'POST', headers: {...headers(), 'Content-Type': 'application/json'}, body: "
            "JSON.stringify({command: 'judge', id: 'same-id', step: state.step, success: false, by: 'two'})})"
            ".then(answer => answer.json())"
        )
        answers = [page.evaluate(command) for page in (self.person.page, other.page)]
        assert [answer["accepted"] for answer in answers] == [True, True]
        self.notes["second"] = other.page.evaluate(command.replace("same-id", "another-id"))
        other.close()
        self.person.wait_for("confirmed")
        self.person.tap_primary()


def played(workplace: Workplace, trials_of, session, *arguments, expected=0):
    """Run a session with a person at the page to an exit code; return the run, the person and what was printed."""
    process = workplace.begin("evaluate", session, "--practice", *arguments)
    try:
        (run,) = wait_until(lambda: process.poll() is not None or workplace.runs, "a run folder") and workplace.runs
        trials = trials_of(link_of(run, 240.0))
        trials.process = process
        trials.run()
        trials.person.close()
    except BaseException:
        process.terminate()
        print(process.communicate(timeout=60)[0])
        raise
    code, output = finish(process)
    assert code == expected, output
    return run, trials, output


def assert_scored_alike(run) -> None:
    """Check that the bags give the scores that were judged, and corrected."""
    scored = list(score_recorded(find_recorded([run])))
    assert len(scored) == TRIALS
    for score in scored:
        assert score.equal, (score.differences, score.problem)


@pytest.mark.long
def test_a_person_runs_trials_of_language_table_that_a_camera_judges(tmp_path, chromium):
    workplace = Workplace(tmp_path, results=True)
    session = workplace.session(
        # The world is drawn at each control step, however little the policy does there.
        task=workplace.short_task(5, control_rate=2.0),
        robot="ur5e_real",
        policy="random",
        strategy={"name": "contrast_set", "perturbations": ["LB1", "SB1"]},
        test_set={"size": 5, "families": ["block_to_block_relative_location"]},
        cameras=[{"name": "board", "width": 640, "height": 480}],
        recording={"images": False},
        max_trials=TRIALS,
        world={"backend": "operator_camera", "pacing": "wall_clock", "judge": "camera"},
        operator=OPERATOR,
    )
    run, trials, output = played(workplace, lambda link: Eventful(chromium, link), session)
    assert "console: http://127.0.0.1:" in output
    finished = of(run, TrialFinished)
    assert len(finished) == TRIALS
    voids = [void.fault for void in of(run, TrialVoid)]
    # A pause before the start and the stop make attempts void, too, and so may a machine that is too busy.
    assert voids.count(Fault.VOIDED) == 2 and Fault.ROBOT_STOPPED in voids and voids.count(Fault.SKIPPED) == 1
    details = [void.detail for void in of(run, TrialVoid)]
    assert "I touched the board" in " ".join(details)
    assert [skip.by_person for skip in of(run, TrialSkipped)].count(True) >= 1
    assert any(not pause.detail for pause in of(run, Paused)) and {"reloaded", "paused", "undone"} <= trials.done
    assert any("is missing" in line or "is not seen" in line or " off" in line for line in trials.notes["wrong set-up"])
    assert "No connection" in trials.notes["banner"]
    assert not trials.notes["second"]["accepted"]
    assert all(set_up.measured is not None for set_up in of(run, SetUp) if not set_up.restore)
    judged = [trial.judgement for trial in finished]
    assert all(judgement is not None and judgement.stage for judgement in judged if judgement.by != "two")
    assert ("twice judged",) in [judgement.tags for judgement in judged]
    assert (run / "trials.csv").is_file()
    assert_scored_alike(run)


class AtTheTable(Trials):
    """Records a test instance, and corrects a judgement.

    It ends a trial when the robot has put something down, which its policy says by a file; where the camera has seen
    one success, at once.
    """

    def __init__(self, chromium, link, workplace):
        super().__init__(chromium, link)
        self.workplace = workplace
        self.put_down = workplace.folder / "put_down"

    def at_start(self, done, state):
        self.put_down.unlink(missing_ok=True)
        if done == 1 and self.once("paused"):
            self.notes["words"] = state["instruction"]
            self.person.choose("pause")
        else:
            super().at_start(done, state)

    def at_paused(self, done, state):
        if self.once("recorded"):
            self.person.choose("survey")
            self.person.until("(state.recording.map !== null || refusal) && sending.size === 0")
            self.person.page.fill("#instruction", self.notes["words"])
            self.person.tap_primary()
            self.person.until("state.recording.draft !== null && sending.size === 0")
            self.person.look("recording")
            self.person.tap_primary()
            self.person.until("state.recording.kept.length === 1 && sending.size === 0")
            self.person.choose("discard")
            self.person.until("state.recording.map === null && sending.size === 0")
        self.person.tap_primary()

    def at_set_up(self, done, state):
        if done == 2 and self.once("corrected"):
            success = of(self.workplace.runs[0], TrialFinished)[1].result.success != 1.0
            self.person.choose("correct")
            self.person.tap(f'[data-right="{str(success).lower()}"]')
            if not success:
                self.person.page.select_option("#share", "0.5")
            self.person.page.fill("#corrector", "Grace Hopper")
            self.person.page.fill("#reason", "it only touched it")
            self.person.look("correction")
            self.person.tap("#correct")
            words = "success" if success else "failure"
            self.person.until(f"sending.size === 0 && state.judgements[0].words.startsWith('{words}')")
        super().at_set_up(done, state)

    def at_running(self, done, state):
        solved = any(trial.result.success == 1.0 for trial in of(self.workplace.runs[0], TrialFinished))
        end_when(self.person, lambda: solved or self.put_down.exists())


@pytest.mark.long
def test_a_camera_judges_trials_of_the_tabletop_by_a_person_s_own_tags(tmp_path, chromium):
    workplace = Workplace(tmp_path, results=True)
    (tmp_path / "told.yaml").write_text("policy: told_oracle:ToldOracle\n")
    content = {
        # A person ends each trial; on a busy machine the robot gets less done in a control period.
        "task": workplace.short_task(200, "tabletop", control_rate=RATE),
        "robot": "franka_hand",
        "policy": str(tmp_path / "told.yaml"),
        "strategy": {"name": "contrast_set", "perturbations": ["L", "S"]},
        "test_set": {"size": 4, "families": ["put_on", "put_in"]},
        "cameras": [{"name": "top", "width": 640, "height": 480}],
        "recording": {"images": False},
        "max_trials": TRIALS,
        "world": {"backend": "operator_camera", "pacing": "wall_clock", "judge": "camera"},
    }
    models = resolve(workplace.session(**content)).task.scenes.models.values()
    families = itertools.cycle(("apriltag_36h11", "aruco_5x5_1000"))
    own = {
        name: [
            {"number": tag.number + 200, "size": tag.size, "position": list(tag.position), "family": family}
            for tag in tags
        ]
        for (name, tags), family in zip(standard_tags(models).items(), families, strict=False)
    }
    (tmp_path / "tags.yaml").write_text(yaml.safe_dump({"tags": own}))
    session = workplace.session(**content, operator={**OPERATOR, "ask_always": False, "tags": "tags.yaml"})
    run, trials, _ = played(workplace, lambda link: AtTheTable(chromium, link, workplace), session)
    finished = of(run, TrialFinished)
    assert len(finished) == TRIALS
    assert trials.notes["wrong set-up"], "what was forgotten is told"
    alone = [trial for trial in finished if trial.judgement is None]
    assert any(trial.result.success == 1.0 for trial in alone), "the camera has seen what the robot has put down"
    assert_scored_alike(run)
    (correction,) = of(run, TrialCorrected)
    assert (correction.trial_id, correction.judgement.by) == (finished[1].trial.trial_id, "Grace Hopper")
    judged = [trial.result.success for trial in finished]
    assert correction.result.scores["success"] == 1.0 - judged[1]
    drawn = run / "maps" / f"{finished[0].trial.trial_id}.png"
    assert drawn.is_file()
    right = ("--failure", "--progress", "0.25") if judged[0] else ("--success",)
    again = ("correct", run, finished[0].trial.trial_id, *right, "--by", "Ada")
    code, said = workplace.run(*again, "--reason", "seen again on the bag")
    assert code == 0 and f"success {judged[0]:g} -> {1.0 - judged[0]:g}" in said, said
    assert not drawn.exists(), "it showed the outcome that was corrected"
    code, said = workplace.run("results", run)
    assert code == 0 and "by Grace Hopper: it only touched it" in " ".join(said.split()), said
    table = pl.read_csv(run / "trials.csv").filter(pl.col("counts"))
    assert table["success"].to_list() == [1.0 - judged[0], 1.0 - judged[1], *judged[2:]]
    assert table["corrected_by"].to_list() == ["Ada", "Grace Hopper", *[None] * (TRIALS - 2)]
    assert_scored_alike(run)
    code, said = workplace.run("report", run)
    assert code == 0 and (run / "report.html").is_file(), said
    of_file = {
        "task": "tabletop",
        "robot": "franka_hand",
        "cameras": [],
        "test_set": {"file": str(run / "instances.yaml")},
    }
    recorded = workplace.session(**of_file)
    (instance,) = resolve(recorded).evaluation().test_set()
    assert instance.instruction.text == trials.notes["words"]


class InTheRoom(Trials):
    """Brings the robot to its start, which it forgets once, and records an instance with a walked path."""

    def __init__(self, chromium, link, walked):
        super().__init__(chromium, link)
        self.walked = walked

    def at_set_up(self, done, state):
        shown, asked, forgotten = time.monotonic(), state["set_up"], self.once("forgot the robot")
        self.notes.setdefault("set-ups", []).append((len(asked["moves"]), asked["robot"], asked["problems"]))
        if done == 2 and self.once("paused in a set-up"):
            self.tick(asked["robot"])
            self.notes["before the pause"] = shown, self.person.page.evaluate("state.elapsed")
            self.person.choose("pause")
            return
        if asked["robot"] is not None and asked["robot"]["done"]:
            self.notes["after the pause"] = shown, state["elapsed"]
        if forgotten:
            for move in asked["moves"]:
                self.tick(move)
            self.person.look("first set-up")
        elif asked["robot"] is None:
            self.person.choose("tick")
        else:
            for thing in (*asked["moves"], asked["robot"]):
                if not thing["done"]:
                    self.tick(thing)
        self.person.tap_primary()

    def at_confirmed(self, done, state):
        if done < 2:
            super().at_confirmed(done, state)
        elif self.once("interrupted"):
            # Ctrl-C while the judgement could still be taken back.
            self.process.send_signal(signal.SIGINT)

    def at_paused(self, done, state):
        if not self.once("recorded"):
            shown = time.monotonic()
            self.person.page.wait_for_timeout(4000)
            self.notes["pause"] = time.monotonic() - shown
            self.person.tap_primary()
            return
        self.person.choose("survey")
        self.person.until("state.recording.map !== null && sending.size === 0")
        self.person.page.fill("#instruction", "go as we have walked")
        self.person.page.fill("#meant", self.notes["words"])
        for x, y in TableMap(APARTMENT).on_map(self.walked[1:]):
            self.person.tap_on_map(x, y)
        self.person.tap_primary()
        self.person.until("(state.recording.draft !== null || refusal) && sending.size === 0")
        assert "Understood" in self.person.text, self.person.text
        self.person.look("walked path")
        self.person.tap_primary()
        self.person.until("state.recording.kept.length === 1 && sending.size === 0")
        self.person.choose("discard")
        self.person.until("state.recording.map === null && sending.size === 0")
        self.person.tap_primary()

    def at_start(self, done, state):
        self.notes.setdefault("words", state["instruction"])
        if done == 1 and self.once("paused to record"):
            self.person.choose("pause")
        else:
            super().at_start(done, state)


def test_a_person_moves_furniture_brings_the_robot_to_its_start_and_records_a_walked_path(tmp_path, chromium):
    workplace = Workplace(tmp_path)
    room = {"task": workplace.short_task(20, "studio_apartment"), "robot": "locobot_real", "policy": "vln_random"}
    room["cameras"] = []
    session = workplace.session(
        **room,
        strategy={"name": "contrast_set", "perturbations": ["L", "SB"]},
        test_set={"size": 1, "families": ["arrangement_1"]},
        max_trials=3,
        world={"backend": "operator", "pacing": "wall_clock", "judge": "person"},
        operator=OPERATOR,
    )
    (instance,) = resolve(session).evaluation().test_set()
    walked = np.array(instance.reference_path)
    along = walked[-1] - walked[-2]
    # A finger is as exact as a pixel of the map, so the person goes a little farther into both places.
    walked[-1] += 0.1 * along / np.linalg.norm(along)
    first = np.array([item.pose.xy for item in instance.scene if item.model == instance.instruction.get("first")])
    apart = first[:, None] - walked
    place, corner = np.unravel_index(np.argmin(np.linalg.norm(apart, axis=-1)), apart.shape[:2])
    walked[corner] += 0.1 * apart[place, corner] / np.linalg.norm(apart[place, corner])
    run, trials, _ = played(workplace, lambda link: InTheRoom(chromium, link, walked), session, expected=130)
    finished = of(run, TrialFinished)
    assert "interrupted" in trials.done
    assert [trial.judgement.progress for trial in finished] == [0.5] * 3, "one of two places each"
    (moves, robot, _), (left, again, problems), *others = trials.notes["set-ups"]
    assert moves == 10 and robot["id"] == ROBOT
    assert left == 0 and again is not None and "from its start" in problems[0]
    assert all(asked is not None for _, asked, _ in others), "the robot has driven away, or somebody has moved it"
    assert others[-1][0] >= 1, "furniture was moved for the scene perturbation"
    starts = [event.after.robot for event in of(run, SetUp)]
    for trial, start in zip(finished, [starts[0], *starts[-2:]], strict=True):
        assert start.distance_to(trial.trial.instance.scene.robot) < 0.01
    measured = [event.measured for event in of(run, SetUp)]
    assert min(measured) > 0.0
    (first, before), (last, after) = trials.notes["before the pause"], trials.notes["after the pause"]
    assert before <= after <= measured[-1]
    assert after - before <= last - first - trials.notes["pause"], "a pause is no time of the set-up"
    code, said = workplace.run("results", run)
    assert code == 0 and "timed set-up" in said, said
    of_file = workplace.session(**room | {"robot": "locobot"}, test_set={"file": str(run / "instances.yaml")})
    (recorded,) = resolve(of_file).evaluation().test_set()
    assert recorded.instruction.text == "go as we have walked" and recorded.instruction.meant == trials.notes["words"]
    assert np.abs(np.array(recorded.reference_path) - walked).max() < 0.05


FIRST_OF_THE_CHAIN = 1
"""Index of its trial; that of the second skill alone comes before it."""


class InTheKitchen(Trials):
    """Looks at what has to be set up before a trial, and ends it.

    That of the chain's first skill, after which alone the chain goes on, is ended when the robot has done it, and the
    others at once.
    """

    def __init__(self, chromium, link, put_down):
        super().__init__(chromium, link)
        self.put_down = put_down

    def at_set_up(self, done, state):
        self.notes.setdefault("set-ups", []).append((done, [move["id"] for move in state["set_up"]["moves"]]))
        super().at_set_up(done, state)

    def at_start(self, done, state):
        self.put_down.unlink(missing_ok=True)
        super().at_start(done, state)

    def at_running(self, done, state):
        end_when(self.person, lambda: done != FIRST_OF_THE_CHAIN or self.put_down.exists())

    def at_judge(self, done, state):
        assert state["judge"]["ended"] in ("You ended it: the goal is reached.", "The time was over.")
        self.person.tap('[data-outcome="true"]')
        self.person.tap_primary()


@pytest.mark.long
def test_a_person_practises_a_chain_of_skills_in_the_kitchen_whose_drawers_have_tags(tmp_path, chromium):
    workplace = Workplace(tmp_path, results=True)
    (tmp_path / "told.yaml").write_text("policy: told_oracle:ToldKitchenOracle\n")
    shipped = read_yaml(resolve_uri("package://robocontrast_ros/config/sessions/kitchen_c3.yaml"))
    content = shipped | {
        # A person ends each trial; on a busy machine the robot gets less done in a control period.
        "task": workplace.short_task(300, "kitchen", control_rate=RATE),
        "policy": str(tmp_path / "told.yaml"),
        "test_set": {"size": 1, "chains": [["kitchen_1_open_top_drawer", "kitchen_1_bowl_on_cabinet"]]},
        "cameras": [{"name": "agent", "width": 960, "height": 720}],  # the least in which its tags are read
        "recording": {"images": False},
        "world": {"backend": "operator_camera", "pacing": "wall_clock", "judge": "camera"},
    }
    # The person is asked after each trial, so that the chain goes on whatever a busy machine makes of the first skill.
    session = workplace.session(**content, operator=OPERATOR)
    put_down = tmp_path / "put_down"
    run, trials, output = played(workplace, lambda link: InTheKitchen(chromium, link, put_down), session)
    finished = of(run, TrialFinished)
    assert [trial.trial.start for trial in finished] == [Start.FULL_RESET, Start.FULL_RESET, Start.ROBOT_ALONE]
    assert [trial.judgement.success for trial in finished] == [True] * 3
    _, opened, chained = finished
    part = opened.trial.instance.instruction.get("target")
    left = opened.result.final_scene
    assert chained.trial.instance.scene[part].pose == left[part].pose, "the drawer is where the camera sees it"
    assert chained.cost == 0.0
    assert 2 not in [done for done, _ in trials.notes["set-ups"]], "between skills nothing is set up"
    assert not any("drawer" in line for line in trials.notes["wrong set-up"]), "the camera sees that they are closed"
    assert "kitchen_1_open_top_drawer" in output and "DUBR" in output
    scored = list(score_recorded(find_recorded([run])))
    assert [score.equal for score in scored] == [True] * 3, [score.problem for score in scored]
