"""Every judge of the package keeps its contract."""

from language_table_instances import EIGHT
from tabletop_scenes import asked, scene, tabletop
from vln_scenes import APARTMENT

from robocontrast_ros.configuration import plugin_names
from robocontrast_ros.contracts.judge import JudgeContract
from robocontrast_ros.domain import Judgement, Pose, TestInstance
from robocontrast_ros.episodes.judging import Camera, Outside, Person, TrueScene


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
