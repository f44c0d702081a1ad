"""Every judge of the package keeps its contract."""

import re

import numpy as np
from language_table_instances import EIGHT
from tabletop_scenes import asked, scene, tabletop
from vln_scenes import APARTMENT

from robocontrast_ros.configuration import plugin_names
from robocontrast_ros.contracts.judge import JudgeContract
from robocontrast_ros.domain import Judgement, Pose, TestInstance
from robocontrast_ros.episodes.judging import Camera, Outside, Person, TrueScene, success_in_words


class OnTheTable(JudgeContract):
    def task(self):
        return EIGHT


class TestTrueScene(OnTheTable):
    def make(self):
        return TrueScene()


class TestTrueSceneThatHasToHold(OnTheTable):
    def make(self):
        return TrueScene(hold_steps=5)


class TestTrueSceneWithSubgoals(JudgeContract):
    draws = 3

    def task(self):
        return APARTMENT

    def make(self):
        return TrueScene()

    def test_a_trial_that_goes_as_planned_reaches_all_subgoals(self):
        for instance in self.drawn():
            assert self.judged(instance)[-1][2] == 2


class TestOutside(OnTheTable):
    def make(self):
        return Outside()


class TestPerson(OnTheTable):
    def make(self):
        return Person()


class TestCamera(OnTheTable):
    def make(self):
        return Camera()

    def test_it_decides_alone_where_what_is_told_only_advises(self):
        instance = self.drawn()[0]
        judging = self.begun(instance)
        judging.tell(Judgement(True, 1.0, advises=True))
        assert not judging.success(True) and judging.progress < 1.0


class TestCameraThatSeesNoSubgoals(JudgeContract):
    draws = 3

    def task(self):
        return APARTMENT

    def make(self):
        return Camera()


def test_who_corrects_what_the_camera_judged_corrects_the_subgoals_too():
    start = scene(red_apple=(0.4, 0.2), banana=(0.5, -0.2))
    instance = TestInstance("x", "tabletop", asked("move_near", "red_apple", "banana"), start)
    judging = Camera().begin(tabletop(), instance, start)
    judging.update(start.moved("red_apple", Pose.planar(0.5, -0.13)))
    assert judging.success(False) and judging.reached == judging.subgoals
    judging.tell(Judgement(False, 0.75))
    assert not judging.success(False) and judging.reached < judging.subgoals


def test_no_judge_is_without_a_contract():
    made = {type(case().make()) for case in (TestTrueScene, TestOutside, TestPerson, TestCamera)}
    assert len(made) == len(plugin_names("judges"))


def said(task, instance, judge):
    return success_in_words(task.goals.goal(instance.instruction, instance.scene), judge, task.control_rate)


def test_a_person_reads_how_near_and_when():
    rng = np.random.default_rng(2)
    for family in EIGHT.families:
        words = said(EIGHT, EIGHT.sample(rng, "x", family), Person())
        assert re.fullmatch(r"Success: the centre of the \w+ \w+ is .*\d cm.*, at any time in the trial\.", words), (
            words
        )
        assert said(EIGHT, EIGHT.sample(rng, "x", family), Camera()).endswith(", when the trial has ended.")
    words = said(APARTMENT, APARTMENT.sample(rng, "x"), Person())
    assert re.search(r"within \d.* m of .*, and the robot stops there by itself\.$", words)


def test_of_a_goal_that_says_nothing_the_steps_and_the_time_are_told():
    table = scene(red_mug=(0.4, 0.0))
    words = said(tabletop(), TestInstance("x", "tabletop", asked("pick", target="red_mug"), table), Person())
    assert (
        words == "Success: all 2 steps are done in order, and the last one holds for 0.5 s, at any time in the trial."
    )
