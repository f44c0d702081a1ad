"""Every task and every perturbation of the package keeps its contract."""

from __future__ import annotations

from language_table_instances import EIGHT
from tabletop_scenes import CLUTTER_FILE, fresh
from vln_scenes import APARTMENT

from robocontrast_ros.configuration import make_plugin, plugin_names, resolve_uri
from robocontrast_ros.contracts.perturbation import PerturbationContract
from robocontrast_ros.contracts.task import TaskContract

TASKS = "package://robocontrast_ros/config/tasks"


class TestLanguageTable(TaskContract):
    def parameter_file(self):
        return resolve_uri(f"{TASKS}/language_table.yaml")


class TestNavigation(TaskContract):
    def parameter_file(self):
        return resolve_uri(f"{TASKS}/studio_apartment.yaml")


FEW = ("banana", "basket", "bowl", "brick", "can", "cube", "golf_ball", "mug", "plate", "soup_can", "tennis_ball")


THINGS = fresh(objects=FEW)
CLUTTERED = fresh(CLUTTER_FILE)


class TestTabletop(TaskContract):
    draws = 5

    def parameter_file(self):
        return resolve_uri(f"{TASKS}/tabletop.yaml")

    def made(self):
        return fresh(objects=FEW)


class OnTheTable(PerturbationContract):
    draws = 5

    def task(self):
        return EIGHT


class InTheApartment(PerturbationContract):
    draws = 4

    def task(self):
        return APARTMENT


class AmongThings(PerturbationContract):
    draws = 5

    def task(self):
        return THINGS


class TestLB1(OnTheTable):
    def make(self):
        return make_plugin("perturbations", "LB1", "test", "")


class TestLB2(OnTheTable):
    def make(self):
        return make_plugin("perturbations", "LB2", "test", "")


class TestSB1(OnTheTable):
    def make(self):
        return make_plugin("perturbations", "SB1", "test", "")


class TestSB2(OnTheTable):
    def make(self):
        return make_plugin("perturbations", "SB2", "test", "")


class TestL(InTheApartment):
    def make(self):
        return make_plugin("perturbations", "L", "test", "")


class TestLB(InTheApartment):
    def make(self):
        return make_plugin("perturbations", "LB", "test", "")


class TestS(InTheApartment):
    def make(self):
        return make_plugin("perturbations", "S", "test", "")


class TestSB(InTheApartment):
    def make(self):
        return make_plugin("perturbations", "SB", "test", "")


class TestLAmongThings(AmongThings):
    def make(self):
        return make_plugin("perturbations", "L", "test", "")


class TestLBAmongThings(AmongThings):
    def make(self):
        return make_plugin("perturbations", "LB", "test", "")


class TestSAmongThings(AmongThings):
    def make(self):
        return make_plugin("perturbations", "S", "test", "")


class TestSBAmongThings(AmongThings):
    def make(self):
        return make_plugin("perturbations", "SB", "test", "")


class AmongFew(PerturbationContract):
    draws = 5

    def task(self):
        return CLUTTERED


class TestDistractors(AmongFew):
    def make(self):
        return make_plugin("perturbations", "distractors", "test", "")


def test_no_perturbation_is_without_a_contract():
    kinds = (OnTheTable, InTheApartment, AmongThings, AmongFew)
    tested = {made().make().name for kind in kinds for made in kind.__subclasses__()}
    # One with parameters tells by its name what it was called with.
    tested = {"distractors" if name == "distractors_4" else name for name in tested}
    assert tested == set(plugin_names("perturbations"))
