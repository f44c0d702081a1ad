"""Sessions of recorded test instances."""

from __future__ import annotations

import shutil

import pytest
import yaml
from here import command_here, session_here
from session_runs import Workplace, events_of

from robocontrast_ros.analysis.estimates.test_set import draw_test_set
from robocontrast_ros.configuration import ConfigurationError, dump_record
from robocontrast_ros.runs.events import TrialFinished
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.sessions.resolving import resolve
from robocontrast_ros.tasks.recorded import InstancesFile, recorded_of


@pytest.fixture
def workplace(tmp_path):
    return Workplace(tmp_path)


@pytest.fixture
def instances(workplace):
    """Three instances of a file: what the task draws, recorded."""
    drawn = resolve(workplace.session(test_set={"size": 3})).evaluation().test_set()
    of = tuple(recorded_of(f"r{n}", x.instruction.text, x.scene, ()) for n, x in enumerate(drawn))
    file = workplace.folder / "instances.yaml"
    file.write_text(yaml.safe_dump(dump_record(InstancesFile(task="language_table", instances=of))))
    return file


def test_a_session_runs_the_instances_of_a_file_and_its_results_know_them(workplace, instances):
    run = session_here(workplace.session(test_set={"file": instances.name}, recording="none", cameras=[]))
    finished = [event for event in events_of(run) if isinstance(event, TrialFinished)]
    assert sorted(event.trial.base_id for event in finished) == ["r0", "r1", "r2"]
    shutil.move(instances, workplace.folder / "elsewhere.yaml")
    test_set = draw_test_set(RunFolder(run))
    assert sorted(x.instance_id for x in test_set) == ["r0", "r1", "r2"]
    code, said = command_here("results", run)
    assert code == 0 and "all 3 run" in said, said


def test_the_size_takes_the_first_of_them(workplace, instances):
    evaluation = resolve(workplace.session(test_set={"file": instances.name, "size": 2})).evaluation()
    assert sorted(x.instance_id for x in evaluation.test_set()) == ["r0", "r1"]


def test_another_content_of_the_file_is_another_session(workplace, instances):
    session = workplace.session(test_set={"file": instances.name})
    before = resolve(session).evaluation().digest
    content = yaml.safe_load(instances.read_text())
    content["instances"].pop()
    instances.write_text(yaml.safe_dump(content))
    assert resolve(session).evaluation().digest != before


@pytest.mark.parametrize(
    ("test_set", "words"),
    [
        ({"file": "instances.yaml", "size": 4}, "at most 3"),
        ({"file": "none.yaml"}, "There is no"),
        ({"file": "instances.yaml", "families": ["block_to_block"]}, "`families` or `file`"),
        ({}, "a `size`, or a `file`"),
    ],
)
def test_what_does_not_fit_is_refused(workplace, instances, test_set, words):
    with pytest.raises(ConfigurationError, match=words):
        resolve(workplace.session(test_set=test_set))
