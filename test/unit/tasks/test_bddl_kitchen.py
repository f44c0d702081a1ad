"""The table of types against the objects that are there."""

from __future__ import annotations

from robocontrast_ros.objects import SHIPPED, load_library
from robocontrast_ros.tasks.bddl import read_types


def test_each_part_that_the_table_names_is_one_of_the_model_if_the_model_is_there():
    library, types = load_library((SHIPPED, f"{SHIPPED}/kitchen")), read_types()
    there = [fixture for fixture in types.fixtures.values() if fixture.model in library]
    assert len(there) >= 4
    for fixture in there:
        model = library[fixture.model]
        joints = {part.name for part in model.joints}
        assert fixture.moves in {*joints, ""}
        assert {site.part for site in fixture.sites.values() if site.kind == "drawer"} <= joints
        assert model.top is not None or "top" not in {site.part for site in fixture.sites.values()}
