"""Every judge of the package keeps its contract."""

from language_table_instances import EIGHT
from vln_scenes import APARTMENT

from robocontrast_ros.configuration import plugin_names
from robocontrast_ros.contracts.judge import JudgeContract
from robocontrast_ros.episodes.judging import Outside, TrueScene


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


def test_no_judge_is_without_a_contract():
    made = {type(case().make()) for case in (TestTrueScene, TestOutside)}
    assert len(made) == len(plugin_names("judges"))
