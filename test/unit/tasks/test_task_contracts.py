"""Every task and every perturbation of the package keeps its contract."""

from __future__ import annotations

import kitchen_instances
from language_table_instances import EIGHT
from tabletop_scenes import CLUTTER_FILE, fresh
from vln_scenes import APARTMENT

from robocontrast_ros.configuration import load_configured, plugin_names, resolve_uri
from robocontrast_ros.contracts.perturbation import PerturbationContract
from robocontrast_ros.contracts.task import TaskContract
from robocontrast_ros.perturbations.loading import load_perturbation

TASKS = "package://robocontrast_ros/config/tasks"


class TestLanguageTable(TaskContract):
    def parameter_file(self):
        return resolve_uri(f"{TASKS}/language_table.yaml")


class TestNavigation(TaskContract):
    def parameter_file(self):
        return resolve_uri(f"{TASKS}/studio_apartment.yaml")


FEW = ("banana", "basket", "bowl", "brick", "can", "cube", "golf_ball", "mug", "plate", "soup_can", "tennis_ball")

THINGS = fresh(objects=FEW)
# Few textures and small images take less time.
CLUTTERED = fresh(CLUTTER_FILE, FEW, {"size": (80, 60)})


class TestTabletop(TaskContract):
    draws = 3

    def parameter_file(self):
        return resolve_uri(f"{TASKS}/tabletop.yaml")

    def made(self):
        return fresh(objects=FEW)


class TestKitchen(TaskContract):
    draws = len(kitchen_instances.PROBLEMS)

    def parameter_file(self):
        return kitchen_instances.TASK_FILE

    def made(self):
        return kitchen_instances.fresh()


class TestSuite(TaskContract):
    draws = 2

    def parameter_file(self):
        return resolve_uri(f"{TASKS}/tabletop_suite.yaml")


class OnTheTable(PerturbationContract):
    draws = 4

    def task(self):
        return EIGHT


class InTheApartment(PerturbationContract):
    draws = 2

    def task(self):
        return APARTMENT


class AmongThings(PerturbationContract):
    draws = 3

    def task(self):
        return THINGS


class AmongFew(PerturbationContract):
    draws = 2

    def task(self):
        return CLUTTERED


class AmongTasks(PerturbationContract):
    draws = 2

    def task(self):
        return load_configured("tasks", resolve_uri(f"{TASKS}/tabletop_suite.yaml"))


class InTheKitchen(PerturbationContract):
    draws = 3  # of families whose skills differ: a part on a joint, and things that are put on and into others

    def task(self):
        return kitchen_instances.KITCHEN


class AmongKitchenThings(InTheKitchen):
    draws = 1


WHERE = {
    OnTheTable: (
        *(
            "LB1",
            "LB2",
            "SB1",
            "SB2",
            "original",
            "paraphrase",
            "typos",
            "upper_case",
            "full_stop",
            "wrong_instruction",
        ),
        *("gobbledygook_words", "gobbledygook_tokens", "mask_words", "mask_referents", "mask_all", "pictures"),
    ),
    InTheApartment: ("L", "LB", "S", "SB", "original", "paraphrase", "lower_case", "mask_referents", "pictures"),
    AmongThings: (
        "L",
        "LB",
        "S",
        "SB",
        "original",
        "paraphrase",
        "specific",
        "vague",
        "gobbledygook_words",
        "pictures",
        "camera_pose",
        "object_poses",
    ),
    AmongFew: ("distractors", "clutter_bin", "looks"),
    AmongTasks: ("variant",),
    InTheKitchen: ("L", "LB", "S", "SB", "SB1", "paraphrase", "specific", "mask_referents"),
    AmongKitchenThings: ("distractors", "clutter_bin"),
}
"""Kind of test -> the perturbations that are tried so."""


def contract(kind, name):
    """Return the test class of a perturbation on a task."""
    return type(f"Test{name}{kind.__name__}", (kind,), {"make": lambda self: load_perturbation(name, "test", "")})


globals().update({made.__name__: made for kind, names in WHERE.items() for made in (contract(kind, n) for n in names)})


def test_no_perturbation_is_without_a_contract():
    tested = {name for names in WHERE.values() for name in names}
    of_difficulty = {"distracting", "extreme", "extremely_distracting"}  # in test_difficulty.py
    of_modifications = {f"S_{kind}" for kind in ("add", "contain", "modify", "move", "toggle")}
    # in test_kitchen_modifications.py
    assert tested | of_difficulty | of_modifications == set(plugin_names("perturbations"))
