"""A few scenes of the suite that is shipped, whatever they are."""

from __future__ import annotations

from functools import cache
from itertools import islice

from robocontrast_ros.configuration import load_record, resolve_uri
from robocontrast_ros.configuration.loading import share_directory
from robocontrast_ros.tasks.kitchen.parameters import KitchenParameters
from robocontrast_ros.tasks.suite import Suite
from robocontrast_ros.tasks.suite.files import read_scene, scene_files
from robocontrast_ros.tasks.suite.task import SuiteParameters

FILE = share_directory() / "config" / "tasks" / "tabletop_suite.yaml"


@cache
def few_scenes(number: int = 3) -> Suite:
    """Return the suite with its first scenes alone, which load in a moment."""
    parameters = load_record(SuiteParameters, FILE)
    like = load_record(KitchenParameters, resolve_uri(parameters.like, FILE.parent))

    files = islice(scene_files([resolve_uri(parameters.tasks, FILE.parent)]), number)
    return Suite.of(parameters, like, [task for file in files for task in read_scene(file)])
