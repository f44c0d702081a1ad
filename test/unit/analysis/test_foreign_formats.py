"""Result files of other tools: what they do not say is told, and what contradicts itself is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from examples import examples
from foreign_files import lerobot, robolab, table, vla_episode, vla_eval, write
from hypothesis import given
from hypothesis import strategies as st
from played_runs import record_run

from robocontrast_ros.analysis.foreign.formats.counts import Counts
from robocontrast_ros.analysis.foreign.formats.lerobot import LeRobot
from robocontrast_ros.analysis.foreign.formats.robolab import RoboLab
from robocontrast_ros.analysis.foreign.formats.run import Run
from robocontrast_ros.analysis.foreign.formats.table import Table
from robocontrast_ros.analysis.foreign.formats.videos import Videos
from robocontrast_ros.analysis.foreign.formats.vla_eval import VlaEval
from robocontrast_ros.analysis.foreign.reading import read_arm
from robocontrast_ros.analysis.foreign.verdict import verdicts
from robocontrast_ros.analysis.tables.verdict import verdict_lines
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.contracts.result_format import ResultFormatContract
from robocontrast_ros.domain import Fault


def successes(arm):
    return {outcome.key: outcome.success for outcome in arm.outcomes}


def refusal(source, *words):
    """Check that a source is refused in one line, which has these words."""
    with pytest.raises(ConfigurationError) as caught:
        read_arm(source)
    said = str(caught.value)
    assert "\n" not in said
    for word in words:
        assert word in said, said
    return said


def test_counts_are_trials_without_instance():
    arm = read_arm("17/20")
    assert [sum(o.success is True for o in arm.outcomes), len(arm.outcomes)] == [17, 20]
    assert {(o.task, o.instance, o.seed) for o in arm.outcomes} == {(None, None, None)}


@pytest.mark.parametrize("source", ["21/20", "1/9999999"])
def test_counts_that_cannot_be_are_refused(source):
    refusal(source, source, "at most")


def test_tasks_of_lerobot_come_in_any_order_and_surplus_keys_are_left_out(tmp_path):
    tasks = {("kitchen", 0): [True, False], ("kitchen", 1): [True, True], ("table", 0): [False, False]}
    first = read_arm(lerobot(tmp_path / "pi0" / "eval_info.json", tasks))
    other = read_arm(lerobot(tmp_path / "pi1" / "eval_info.json", dict(reversed(tasks.items()))))
    assert successes(first) == successes(other)
    assert successes(first)["kitchen/0", "1", ""] is False
    assert [o.policy for o in first.outcomes] == ["pi0"] * 6
    assert {o.score for o in first.outcomes} == {0.0, 1.0}
    assert "scene not proven" in first.notes[0]


def test_rewards_of_lerobot_beyond_one_are_no_partial_credit(tmp_path):
    file = lerobot(tmp_path / "eval_info.json", {("kitchen", 0): [True, False]})
    content = json.loads((tmp_path / "eval_info.json").read_text())
    content["per_task"][0]["metrics"]["max_rewards"] = [4.0, 0.5]
    write(tmp_path / "eval_info.json", content)
    assert {o.score for o in read_arm(file).outcomes} == {None}


def test_lerobot_without_an_episode_has_nan_and_no_trial(tmp_path):
    file = lerobot(tmp_path / "eval_info.json", {("kitchen", 0): []})
    assert "NaN" in (tmp_path / "eval_info.json").read_text()
    assert read_arm(file).outcomes == ()


@pytest.mark.parametrize(
    ("wrong", "key"),
    [
        ({"pc_success": 75.0}, "overall.pc_success"),
        ({"n_episodes": 3}, "overall.n_episodes"),
        ({"n_success": 2}, "n_success"),
    ],
)
def test_a_rate_of_lerobot_that_its_trials_do_not_have_is_refused(tmp_path, wrong, key):
    refusal(lerobot(tmp_path / "eval_info.json", {("kitchen", 0): [True, False]}, **wrong), key, "as its trials say")


def test_the_rates_of_lerobot_07_are_checked_in_tasks_and_groups(tmp_path):
    file = lerobot(tmp_path / "eval_info.json", {("kitchen", 0): [True, False]})
    content = json.loads((tmp_path / "eval_info.json").read_text())
    rates = {"n_episodes": 2, "n_success": 1, "pc_success": 50.0, "pc_success_ci95": [9.5, 90.5]}
    content["per_task"][0] |= rates
    content["per_group"] = {"kitchen": dict(rates)}
    write(tmp_path / "eval_info.json", content)
    assert len(read_arm(file).outcomes) == 2
    content["per_group"]["kitchen"]["n_success"] = 2
    write(tmp_path / "eval_info.json", content)
    refusal(file, "per_group.kitchen.n_success")


def test_the_layout_of_lerobot_03_has_seeds(tmp_path):
    episodes = [
        {"episode_ix": i, "sum_reward": 1.0, "max_reward": 1.0, "success": i > 0, "seed": 1000 + i} for i in (2, 1, 0)
    ]
    aggregated = {"pc_success": 200 / 3, "eval_s": 1.0}
    file = write(tmp_path / "eval_info.json", {"per_episode": episodes, "aggregated": aggregated})
    assert [(o.seed, o.instance, o.success) for o in read_arm(file).outcomes] == [
        (1000, "1000", False),
        (1001, "1001", True),
        (1002, "1002", True),
    ]


def test_infrastructure_errors_of_vla_eval_are_void_although_its_rate_counts_them_as_failures(tmp_path):
    episodes = [
        vla_episode(0, True),
        vla_episode(1, False),
        vla_episode(2, False, failure_reason="server lost"),
        vla_episode(3, float("nan")),
    ]
    arm = read_arm(vla_eval(tmp_path / "a.json", episodes, mean_success=0.25, num_episodes_total=4, config={"x": 1}))
    assert [(o.success, o.void_reason) for o in arm.outcomes] == [
        (True, None),
        (False, None),
        (False, "server lost"),
        (None, "no result"),
    ]
    assert len(read_arm(vla_eval(tmp_path / "b.json", episodes, mean_success=0.5)).outcomes) == 4
    refusal(vla_eval(tmp_path / "c.json", episodes, mean_success=0.75), "mean_success", "0.75", "0.25 or 0.5")


def test_a_shard_of_vla_eval_is_refused_with_the_cure_and_a_partial_run_is_told(tmp_path):
    episodes = [vla_episode(0, True)]
    refusal(vla_eval(tmp_path / "a.json", episodes, shard={"id": 0, "total": 4}), "shard", "vla-eval export")
    assert "did not end" in read_arm(vla_eval(tmp_path / "b.json", episodes, partial=True)).notes[0]


def test_an_episode_that_is_there_twice_is_refused_by_its_name(tmp_path):
    episodes = [vla_episode(7, True), vla_episode(7, False)]
    refusal(vla_eval(tmp_path / "a.json", episodes), "task open drawer (0), instance 7 twice")


def test_robolab_is_read_as_lines_and_as_the_list_of_before(tmp_path):
    lines = read_arm(robolab(tmp_path / "episode_results.jsonl", [True, False], wrist_camera="on"))
    rows = [json.loads(line) for line in (tmp_path / "episode_results.jsonl").read_text().splitlines()]
    listed = read_arm(write(tmp_path / "episode_results.json", rows))
    assert lines.outcomes == listed.outcomes
    assert [(o.policy, o.task, o.instance, o.seed, o.success, o.score) for o in lines.outcomes] == [
        ("pi05", "BananaInBowl", "0", None, True, 0.5),
        ("pi05", "BananaInBowl", "1", None, False, 0.5),
    ]
    assert "no seed" in lines.notes[0]


def test_kinds_of_instructions_of_robolab_are_tasks_of_their_own(tmp_path):
    first = robolab(tmp_path / "a.jsonl", [True], instruction_type="vague")
    second = robolab(tmp_path / "b.jsonl", [False], instruction_type="specific")
    both = tmp_path / "both.jsonl"
    both.write_text(Path(first).read_text() + Path(second).read_text())
    assert [o.task for o in read_arm(str(both)).outcomes] == ["BananaInBowl, specific", "BananaInBowl, vague"]


def test_two_policies_in_a_file_are_refused_and_one_is_named_after_it(tmp_path):
    file = table(
        tmp_path / "r.csv", "condition,arm,success", "left,base,1", "left,new,0", "right,base,1", "right,new,1"
    )
    refusal(file, "base, new", f"`{file}#base`")
    assert successes(read_arm(f"{file}#new")) == {("", "left", ""): False, ("", "right", ""): True}
    refusal(f"{file}#nwe", "Did you mean 'new'?")


def test_videos_of_simpler_are_trials_and_their_statistics_are_no_part_of_the_instance(tmp_path):
    stem = "results/rt1/scene/arm/env_key_value/rob_0.35_0.2_rot_0_0_0_rgb_overlay_None"
    names = ["success_obj_-0.1_0.2.mp4", "failure_obj_0.1_0.2.mp4", "failure_obj_episode_7_grasped_True.mp4"]
    listed = tmp_path / "videos.txt"
    listed.write_text("\n".join(f"/elsewhere/{stem}/{name}" for name in names) + "\n\n")
    for name in names:
        (tmp_path / stem).mkdir(parents=True, exist_ok=True)
        (tmp_path / stem / name).touch()
    arms = [read_arm(str(listed)), read_arm(str(tmp_path / "results")), read_arm(str(tmp_path / "results" / "rt1"))]
    assert arms[0].outcomes == arms[1].outcomes == arms[2].outcomes
    assert {o.policy for o in arms[0].outcomes} == {"rt1"}
    robot = "rob_0.35_0.2_rot_0_0_0_rgb_overlay_None"
    assert successes(arms[0]) == {
        ("scene/arm/env_key_value", f"{robot}/obj_-0.1_0.2", ""): True,
        ("scene/arm/env_key_value", f"{robot}/obj_0.1_0.2", ""): False,
        ("scene/arm/env_key_value", f"{robot}/obj_episode_7", ""): False,
    }
    (tmp_path / stem / "success_obj_episode_7_grasped_True.mp4").touch()
    refusal(str(tmp_path / "results"), "obj_episode_7 twice")


def test_a_table_has_the_names_of_several_tools_and_other_columns_are_left_out(tmp_path):
    file = table(
        tmp_path / "r.csv",
        "policy_id,task_id,scenario_id,seed,success,score,note",
        "p,t,s1,3,true,0.5,hello",
        "p,t,s0,4,0,NaN,",
        "p,t,s2,5,,,crashed",
    )
    assert [(o.task, o.instance, o.seed, o.success, o.score, o.void_reason) for o in read_arm(file).outcomes] == [
        ("t", "s0", 4, False, None, None),
        ("t", "s1", 3, True, 0.5, None),
        ("t", "s2", 5, None, None, "no result"),
    ]


def test_cells_and_lines_may_have_separators_of_lines_in_them(tmp_path):
    file = table(tmp_path / "r.csv", "instance,success,note", 'a,1,"two', 'lines"', "b,0,x")
    assert successes(read_arm(file)) == {("", "a", ""): True, ("", "b", ""): False}
    robolab(tmp_path / "r.jsonl", [True], instruction="x")
    text = (tmp_path / "r.jsonl").read_text().replace('"x"', '"a\u2028b"')
    (tmp_path / "r.jsonl").write_text(text, encoding="utf-8")
    assert len(read_arm(str(tmp_path / "r.jsonl")).outcomes) == 1


def test_a_trial_of_fieldtrial_that_is_invalid_is_void_and_repeats_have_a_number(tmp_path):
    file = table(
        tmp_path / "r.csv",
        "condition,replicate,success,status",
        "left,1,1,completed",
        "left,2,0,invalid",
        "left,3,0,completed",
    )
    assert [(o.replicate, o.void_reason) for o in read_arm(file).outcomes] == [
        ("1", None),
        ("2", "invalid"),
        ("3", None),
    ]
    twice = table(tmp_path / "t.csv", "condition,success", "left,1", "left,0")
    refusal(twice, "instance left twice", "`replicate`")


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (("a,b", "1,2"), ("`success` or `score`", "a, b")),
        (("success,success", "1,0"), ("`success`", "twice")),
        (("Success,success", "1,0"), ("`success`", "twice")),
        (("success;score", "1;0,5"), ("line 2", "0,5")),
        (("success", "maybe"), ("line 2", "maybe", "true or false")),
        (("success", "0.5"), ("line 2", "0.5")),
        (("score", "7"), ("line 2", "from 0 to 1")),
        (("score", "inf"), ("line 2", "finite")),
        (("instance,success", "a,1,2"), ("line 2", "a cell for each column")),
        (("instance,success", "a"), ("line 2", "a cell for each column")),
        (("seed,success", "1.5,1"), ("line 2", "whole number")),
        (("base_id,perturbation,repeat,success", "x,base,0,1"), ("Name the run folder",)),
    ],
)
def test_a_table_that_does_not_fit_is_refused_with_the_line(tmp_path, lines, words):
    refusal(table(tmp_path / "r.csv", *lines), str(tmp_path / "r.csv"), *words)


@pytest.mark.parametrize("mark", [";", "\t"])
def test_a_table_of_a_spreadsheet_is_the_same_table(tmp_path, mark):
    plain = table(tmp_path / "r.csv", "policy,instance,seed,success", 'new,"a, b",1,true', "new,c,2,0")
    other = table(
        tmp_path / "s.csv",
        "Policy,Instance,Seed,SUCCESS".replace(",", mark),
        mark.join(("new", "a, b", "1", "true")),
        mark.join(("new", "c", "2", "0")),
    )
    assert read_arm(other).outcomes == read_arm(plain).outcomes and len(read_arm(plain).outcomes) == 2


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.json", '{"per_task": [', ("line 1, column 15", "cut off")),
        ("a.json", '{"per_task": [],\n "per_task": []}', ("`per_task`", "the key twice")),
        ("a.json", '{"per_task": {}}', ("`per_task`", "a list")),
        ("a.json", '{"per_task": [{"task_group": "k"}]}', ("`per_task[0].task_id`", "nothing")),
        ("a.json", '{"per_task": [3]}', ("`per_task[0]`", "an object")),
        ("a.json", '{"per_task": [{"task_group": "k", "task_id": true}]}', ("task_id", "a whole number")),
        ("a.json", '{"per_episode": [{"episode_ix": 0, "success": "yes"}]}', ("`per_episode[0].success`", "yes")),
        ("a.json", "[" * 100_000, ("nested too deep",)),
        ("a.json", '{"results": 3}', ("no known layout", "eval_info.json", "vla-eval")),
        ("a.jsonl", '{"env_name": "e", "episode": 0, "success": true}\n{"env_name', ("line 2, column",)),
        ("a.jsonl", '{"env_name": "e", "episode": 0}\n', ("`line 1.success`",)),
        ("a.txt", "success_obj_1_2.mp4\nnotes\n", ("notes",)),
        ("a.json", '{"per_task": ' + "1" * 5000 + "}", ("a.json", "a result file")),
        ("a.csv", "", ("`success` or `score`",)),
        ("a.csv", "success,note\n1," + "x" * 200_000 + "\n", ("a.csv", "field")),
        ("a.json", b"\xff\xfe\x00", ("UTF-8",)),
    ],
)
def test_a_file_that_cannot_be_read_is_one_line_with_the_place(tmp_path, name, text, words):
    file = tmp_path / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert refusal(str(file), *words).startswith((str(file), "command line"))


def test_what_does_not_exist_is_refused_with_what_there_is(tmp_path):
    refusal(str(tmp_path / "nothing.json"), "nothing.json", "no such file", "17/20", "a run folder")


def test_a_format_may_be_named(tmp_path):
    file = table(tmp_path / "r.csv", "success", "1", "0")
    assert len(read_arm(file, "csv").outcomes) == 2
    with pytest.raises(ConfigurationError, match=r"--format.*a known format of result files: counts, csv, lerobot"):
        read_arm(file, "nosuch")


def nodes(value, path=()):
    """Yield the path of each value in JSON."""
    yield path
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from nodes(value[key], (*path, key))


def with_changed(content, path, value):
    """Return JSON with another value at a path; without it if the value is ``...``."""
    if not path:
        return None if value is ... else value
    copy = content.copy()
    if value is ... and len(path) == 1:
        del copy[path[0]]
    else:
        copy[path[0]] = with_changed(content[path[0]], path[1:], value)
    return copy


ANY = st.sampled_from(
    [..., None, True, "", "a|b\n", -1, 0.5, 10**400, float("nan"), float("inf"), [], {}, [[]], {"a": 1}, [None]]
)
CONTENTS = (
    {
        "per_task": [
            {"task_group": "k", "task_id": 0, "metrics": {"max_rewards": [1.0, 0.0], "successes": [True, False]}}
        ],
        "per_group": {"k": {"pc_success": 50.0}},
        "overall": {"pc_success": 50.0, "n_episodes": 2, "n_success": 1},
    },
    {
        "per_episode": [{"episode_ix": 0, "max_reward": 1.0, "success": True, "seed": 3}],
        "aggregated": {"pc_success": 100.0},
    },
    {
        "benchmark": "b",
        "shard": {"id": 0, "total": 1},
        "mean_success": 0.5,
        "tasks": [{"task": "t", "episodes": [vla_episode(0, True), vla_episode(1, False, failure_reason="x")]}],
    },
    [{"env_name": "e", "episode": 0, "policy": "p", "success": True, "score": 0.5, "instruction_type": "vague"}],
)


@given(st.sampled_from(CONTENTS), ANY, st.data())
@examples(300, quick=100)
def test_any_other_value_at_any_place_is_read_or_refused_in_one_line(tmp_path_factory, content, value, data):
    changed = with_changed(content, data.draw(st.sampled_from(list(nodes(content)))), value)
    file = tmp_path_factory.mktemp("any") / "a.json"
    try:
        arm = read_arm(write(file, changed))
        said = verdict_lines(*verdicts(arm, [read_arm("3/5")]))
    except ConfigurationError as error:
        said = [str(error)]
    assert said and "\n" not in "".join(said)


class TestCounts(ResultFormatContract):
    def make(self):
        return Counts()

    def write(self, folder):
        return "3/5"


class TestTable(ResultFormatContract):
    def make(self):
        return Table()

    def write(self, folder):
        return table(folder / "r.csv", "instance,success,score", "a,1,0.5", "b,,", "c,no,")


class TestLeRobot(ResultFormatContract):
    def make(self):
        return LeRobot()

    def write(self, folder):
        return lerobot(folder / "eval_info.json", {("kitchen", 0): [True, False]})


class TestVlaEval(ResultFormatContract):
    def make(self):
        return VlaEval()

    def write(self, folder):
        return vla_eval(folder / "a.json", [vla_episode(0, True), vla_episode(1, None)])


class TestRoboLab(ResultFormatContract):
    def make(self):
        return RoboLab()

    def write(self, folder):
        return robolab(folder / "episode_results.jsonl", [True, False])


class TestVideos(ResultFormatContract):
    def make(self):
        return Videos()

    def write(self, folder):
        (folder / "success_obj_0.1_0.2.mp4").touch()
        return str(folder)


class TestRun(ResultFormatContract):
    def make(self):
        return Run()

    def write(self, folder):
        return str(record_run(folder / "run", [Fault.NONE, Fault.POLICY_RAISED]))
