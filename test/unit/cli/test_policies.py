"""`robocontrast policies`: every policy is a row, whether it can be had here or not, and nothing is loaded."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import yaml
from described_policies import write_described
from shown_tables import shown_rows
from typer.testing import CliRunner

from robocontrast_ros.cli.main import app
from robocontrast_ros.cli.policies import COLUMNS
from robocontrast_ros.configuration import ConfigurationError, find_configured
from robocontrast_ros.configuration.files import known_names
from robocontrast_ros.policies.loading import description_by_file, load_and_describe


def run(*arguments: str):
    return CliRunner(env={"COLUMNS": "600"}).invoke(app, ["policies", *arguments])


def rows(*arguments: str, code: int = 0) -> dict[str, list[str]]:
    """Return the table, by the first line of the first cell; the lines of a cell are joined."""
    result = run(*arguments)
    assert result.exit_code == code, result.output
    table: dict[str, list[str]] = {}
    row: list[str] = []
    (*lines, _) = shown_rows(result.stdout, COLUMNS)
    # Where a cell has lines of its own, rows have an empty line between them.
    spaced = not all(map(any, lines))
    for cells in lines:
        if not any(cells):
            row = []
        elif not row or (not spaced and cells[0] and not cells[0].startswith("“")):
            row = table.setdefault(cells[0], cells)
        else:
            row[:] = [f"{before} {cell}".strip() for before, cell in zip(row, cells, strict=True)]
    return table


HANDS = "franka_hand, ur5e_2f85: takes joint_positions, joint_velocities, tool_delta, tool_pose"


class Untouchable:
    """A policy that must not be made to be listed."""

    @classmethod
    def describe_file(cls, path):
        raise RuntimeError("no [red]idea[/]")

    @classmethod
    def from_file(cls, path):
        raise AssertionError("it is not to be made")


def test_every_shipped_policy_is_listed_with_the_robots_that_it_fits():
    table = rows()
    assert set(known_names("policies")) <= set(table)
    assert table["vln_modular"] == [
        "vln_modular",
        "discrete_navigation size 1",
        "camera",
        "sentence encoder",
        "locobot",
        f"franka, ur5e: takes planar_delta, joint_positions {HANDS}",
        "unknown",
    ]
    assert table["openpi_droid"][1] == "joint_velocities size 8, 15 Hz chunk 15, 8 executed"
    assert table["openpi_droid"][4] == table["lerobot_act"][4] == "franka_hand"
    assert "franka: no gripper" in table["lerobot_act"][5]
    assert table["openpi"][3] == "server ws://localhost:8000"
    assert table["http"][3] == "server http://localhost:8000/act"
    assert "lerobot" in table["lerobot"][3]
    assert table["film_bc"][3].startswith("PyTorch (extra `torch`)")
    assert table["oracle"][2:] == [
        "",
        "ground truth",
        "franka ur5e",
        f"{HANDS} locobot: takes discrete_navigation",
        "unknown",
    ]
    assert table["film_bc"][6] == "512 tokens all-MiniLM-L6-v2 small letters"


SHIPPED = known_names("policies")


@pytest.mark.parametrize("file", SHIPPED.values(), ids=SHIPPED)
def test_every_shipped_policy_is_described_by_its_file_as_by_itself(file):
    maker = find_configured("policies", file)
    by_file = description_by_file(maker, file)
    assert by_file is not None, "it is listed without being loaded"
    needs = getattr(maker, "needs", lambda file: ())(file)
    if any(need.startswith(("server ", "lerobot")) for need in needs):
        pytest.skip(f"it needs {needs[0]}")
    if any(need.startswith("PyTorch") for need in needs):
        pytest.importorskip("torch")
    assert load_and_describe(maker, file) == by_file


def test_what_a_policy_wants_of_a_robot_is_compared_with_each(tmp_path):
    mine = write_described(
        tmp_path / "mine.yaml",
        "described_policies:DescribedByFile",
        name="my arm",
        action_space="joint_positions",
        action_size=7,
        chunk_length=16,
        execute=8,
        cameras=["board"],
        image_sizes=[[224, 224]],
        rate=15.0,
        joints=7,
        conventions={"gripper": "closes"},
    )
    (row,) = rows(str(mine)).values()
    name, answers, cameras, _, fits, others, _ = row
    assert name.endswith("mine.yaml “my arm”")
    assert answers == "joint_positions size 7, 15 Hz chunk 16, 8 executed"
    assert cameras == "board 224x224"
    assert fits == ""
    assert others == (
        "franka: no gripper "
        "franka_hand: 8 numbers, not 7; no camera 'board' "
        "locobot: takes discrete_navigation "
        "ur5e: no gripper; 6 joints, not 7 "
        "ur5e_2f85: no camera 'board'; 6 joints, not 7"
    )


def test_with_a_session_its_control_rate_and_cameras_count(tmp_path):
    wanted = {"rate": 5.0, "cameras": ["board"], "image_sizes": [[224, 224]]}
    by_file = write_described(tmp_path / "by_file.yaml", "described_policies:DescribedByFile", **wanted)
    made = write_described(tmp_path / "made.yaml", **wanted)
    ours = ("--session", "language_table_demo", "--robot", "ur5e")
    (row,) = rows(str(by_file), *ours).values()
    assert row[4:6] == ["", "ur5e: 10 Hz, not 5"], "the cameras take the size that its file asks for"
    (row,) = rows(str(made), *ours).values()
    assert row[4:6] == ["", "ur5e: 10 Hz, not 5; board has 320x180 pixels"]
    (row,) = rows(str(made)).values()
    assert row[4] == "franka ur5e"


def test_a_policy_whose_weights_are_missing_is_told_by_its_file(tmp_path):
    file = tmp_path / "mine.yaml"
    content = {
        "policy": "robocontrast_ros.policies.adapters.torch_model.policy:TorchPolicy",
        "name": "mine",
        "model": {"format": "torchscript", "file": "gone.pt"},
        "device": "cuda",
        "instruction": {"encode": "minilm"},
        "action": {"space": "planar_delta", "size": 2, "reference": "absolute"},
        "input": {"images": {"image": {"camera": "board", "width": 64, "height": 48}}},
    }
    file.write_text(yaml.safe_dump(content))
    (row,) = rows(str(file)).values()
    assert "network gone.pt: not there GPU sentence encoder" in row[3]
    told = f"franka, ur5e: reference delta, not absolute {HANDS} locobot: takes discrete_navigation"
    assert row[4:6] == ["", told]


def test_a_policy_that_cannot_be_told_is_a_row_with_the_reason(tmp_path):
    broken = write_described(tmp_path / "broken.yaml", "test_policies:Untouchable")
    unknown = write_described(tmp_path / "unknown.yaml", "no_such_policy")
    sys.modules["test_policies"] = sys.modules[__name__]
    try:
        told = {Path(name).stem: row[5] for name, row in rows(str(broken), str(unknown), code=2).items()}
    finally:
        del sys.modules["test_policies"]
    assert told["broken"].startswith("unknown: `policy`: got 'test_policies:Untouchable', expected a policy that is ")
    assert "It raised RuntimeError: no [red]idea[/] (test_policies.py, line " in told["broken"]
    assert told["unknown"].startswith("unknown: `policy`: got 'no_such_policy', expected a known policy")


def test_policies_of_other_packages_are_listed_with_the_files_they_bring(tmp_path, monkeypatch):
    info = tmp_path / "other_policies-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other-policies\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[robocontrast_ros.policies]\n"
        "with_file = described_policies:DescribedByFile\n"
        "without = described_policies:DescribedByFile\n"
    )
    write_described(tmp_path / "share" / "theirs.yaml", "with_file")
    (tmp_path / "share" / "unrelated.yaml").write_text("[1, 2")
    (info / "RECORD").write_text("share/theirs.yaml,,\nshare/unrelated.yaml,,\nshare/gone.yaml,,\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    table = rows()
    (theirs,) = (row for name, row in table.items() if name.endswith("theirs.yaml"))
    assert theirs[4] == "franka ur5e"
    assert table["without (other-policies)"][5].startswith("a plug-in; no parameter file")


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["no_such"], "no_such"),
        (["nowhere.yaml"], "nowhere.yaml"),
        (["--robot", "francka"], "Did you mean 'franka'?"),
        (["--session", "no_such"], "no_such"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(arguments, word):
    result = run(*arguments)
    assert result.exit_code == 2
    (line,) = result.stderr.strip().splitlines()
    assert line.startswith("error: ")
    assert word in line


def test_a_narrow_terminal_breaks_no_word():
    told = CliRunner(env={"COLUMNS": "80"}).invoke(app, ["policies"])
    assert told.exit_code == 0
    for name in known_names("policies"):
        assert f"policy       {name}" in told.output.splitlines()
    for words in (
        "locobot: takes discrete_navigation",
        "PyTorch (extra `torch`)",
        "http://localhost:8000/act",
    ):
        assert words in told.output
    assert max(map(len, told.output.splitlines())) <= 80


def test_how_much_of_the_words_a_policy_reads_is_told_or_said_to_be_unknown(tmp_path):
    known = write_described(tmp_path / "known.yaml", max_tokens=48, tokenizer="/a/b/tokens.json", accepts_empty=False)
    uncounted = write_described(tmp_path / "uncounted.yaml", max_tokens=48)
    pictures = write_described(tmp_path / "pictures.yaml", referents="crop", mask="native")
    told = {Path(name).stem: row[6] for name, row in rows(str(known), str(uncounted), str(pictures)).items()}
    assert told == {
        "known": "48 tokens tokens.json no empty text",
        "uncounted": "48 tokens tokenizer unknown",
        "pictures": "unknown pictures masks",
    }


def test_a_description_that_does_not_fit_is_one_line_that_names_the_file(tmp_path, monkeypatch):
    (tmp_path / "video.py").write_text(
        "from robocontrast_ros.policies.protocol import PolicyDescription\n"
        "class Video:\n"
        "    @classmethod\n"
        "    def from_file(cls, path): return cls()\n"
        "    def describe(self): return PolicyDescription('video', 'planar_delta', 2, referents='video')\n"
        "    reset = act = None\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    file = tmp_path / "mine.yaml"
    file.write_text("policy: video:Video\n")
    expected = "mine.yaml: `policy`: got 'video:Video'.*referents none or crop, not 'video'"
    with pytest.raises(ConfigurationError, match=expected):
        load_and_describe(find_configured("policies", file), file)
