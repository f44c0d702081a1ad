"""The shipped Foxglove layouts. That real bags have what they show, the tests of whole sessions see (test/graph)."""

from __future__ import annotations

import pytest
from foxglove_layouts import LAYOUTS, layout, missing, panels_on_screen
from recorded_runs import recorded_run

NAMES = sorted(path.stem for path in LAYOUTS.glob("*.json"))


@pytest.mark.parametrize("name", NAMES)
def test_every_panel_is_on_the_screen_once_and_has_a_title(name):
    content = layout(name)
    assert set(content) == {"configById", "globalVariables", "userNodes", "playbackConfig", "layout"}
    shown = list(panels_on_screen(content["layout"]))
    assert sorted(shown) == sorted(content["configById"])
    titles = [panel["foxglovePanelTitle"] for panel in content["configById"].values()]
    assert len(titles) == len(set(titles))


def test_what_a_bag_lacks_is_found_by_topic_field_and_type(tmp_path):
    bag = recorded_run(tmp_path, trials=1).bag("0000", 0)

    def panel(kind, **config):
        return missing({"configById": {f"{kind}!1": config}}, bag)

    assert panel("Plot", paths=[{"value": "/eval/scene.objects[:].pose.position.x"}]) == []
    assert panel("RawMessages", topicPath="/eval/trial.instance.instruction") == []
    assert panel("3D", topics={"/eval/tool_pose": {}}) == []
    assert panel("Plot", paths=[{"value": "/scene.objects"}]) == ["Plot!1: /scene.objects: no such topic"]
    assert panel("StateTransitions", paths=[{"value": "/eval/trial.sucess"}]) == [
        "StateTransitions!1: /eval/trial.sucess: no field sucess"
    ]
    assert panel("Plot", paths=[{"value": "/eval/trial.instance.instruction.text"}]) == [
        "Plot!1: /eval/trial.instance.instruction.text: nothing that the panel can show"
    ]
    assert panel("3D", topics={"/eval/scene": {}}) == ["3D!1: /eval/scene: robocontrast_ros/msg/Scene"]
