"""`make setup` says in one sentence what it cannot do, and repeats only what has changed."""

import ast
import importlib.util
import os
import re
import sys
import threading
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[3] / "scripts" / "setup_environment.py"


@pytest.fixture
def setup():
    """The set-up program, as a module of its own for each test."""
    spec = importlib.util.spec_from_file_location("setup_environment", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_it_parses_under_a_python_that_it_refuses():
    ast.parse(SCRIPT.read_text(), feature_version=(3, 7))


@pytest.mark.parametrize("version", [(2, 7), (3, 9, 18), (3, 14, 0)])
def test_a_python_without_ros_wheels_is_refused_with_the_cure(setup, version):
    with pytest.raises(setup.SetupError, match=r"3\.10 to 3\.13.*PYTHON=python3\.12"):
        setup.check_version(version)


@pytest.mark.parametrize("version", [(3, 10), (3, 13, 9)])
def test_a_python_with_ros_wheels_is_taken(setup, version):
    setup.check_version(version)


def test_a_bare_machine_lacks_a_compiler_headers_pip_and_a_renderer(setup, monkeypatch, tmp_path):
    monkeypatch.setattr(setup.shutil, "which", lambda name: None)
    monkeypatch.setattr(setup, "loads", lambda library: False)
    monkeypatch.setattr(setup.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(setup.sysconfig, "get_paths", lambda: {"include": str(tmp_path)})
    python = "python{}.{}".format(*setup.sys.version_info[:2])
    assert set(setup.missing_system_packages()) == {
        "g++",
        f"{python}-dev",
        f"{python}-venv",
        "libegl1",
        "libgl1-mesa-dri",
        "libopengl0",
    }


def test_one_line_to_type_names_all_that_is_missing_where_the_user_may_not_install(setup, monkeypatch):
    monkeypatch.setattr(setup, "privilege", lambda: None)
    with pytest.raises(setup.SetupError) as refused:
        setup.install_system_packages({"libegl1": "EGL", "g++": "a C++ compiler"})
    assert str(refused.value).splitlines() == [
        "Missing: EGL, a C++ compiler. Install it and run `make setup` again:",
        "    sudo apt-get install --yes --no-install-recommends g++ libegl1",
    ]


def test_a_browser_that_cannot_be_had_is_told_of_and_stops_nothing(setup, monkeypatch, capsys):
    monkeypatch.setattr(setup.shutil, "which", lambda name: None)
    monkeypatch.setattr(setup, "privilege", lambda: None)
    setup.install_browser()
    said = capsys.readouterr().out
    assert "the tests of reports in a browser will be skipped" in said
    assert "apt-get install --yes --no-install-recommends chromium" in said


def test_a_browser_that_is_there_is_not_installed_again(setup, monkeypatch):
    monkeypatch.setattr(setup.shutil, "which", lambda name: "/usr/bin/" + name)
    monkeypatch.setattr(setup, "install_system_packages", lambda missing: pytest.fail("installs"))
    setup.install_browser()


def test_a_failed_step_shows_its_last_output_and_where_all_of_it_is(setup, tmp_path):
    environment = setup.Environment(tmp_path)
    with pytest.raises(setup.SetupError, match=r"(?s)no such wheel.*setup\.log"):
        environment.run(["sh", "-c", "echo no such wheel; exit 3"])
    assert "no such wheel" in (tmp_path / "setup.log").read_text()


def test_an_environment_of_somebody_else_is_left_alone(setup, tmp_path):
    (tmp_path / "pyvenv.cfg").touch()
    with pytest.raises(setup.SetupError, match="was not made by `make setup`"):
        setup.Environment(tmp_path).create()
    assert (tmp_path / "pyvenv.cfg").exists()


def test_an_environment_that_was_moved_is_made_anew(setup, monkeypatch, tmp_path):
    # With uv, which is quicker than what comes with Python.
    monkeypatch.setenv("PATH", os.pathsep.join((os.path.dirname(sys.executable), os.environ["PATH"])))
    prefix = tmp_path / "venv"
    prefix.mkdir()
    (prefix / "old").touch()
    setup.Environment(prefix).mark("environment", "another place")
    setup.Environment(prefix).create()
    assert not (prefix / "old").exists()
    assert setup.Environment(prefix).python.exists()


def test_a_digest_changes_with_content_names_and_new_files_but_not_with_caches(setup, monkeypatch, tmp_path):
    monkeypatch.setattr(setup, "ROOT", tmp_path)
    folder = tmp_path / "msg"
    folder.mkdir()
    seen = []
    for name, content in (("A.msg", "x"), ("A.msg", "y"), ("B.msg", "y")):
        (folder / name).write_text(content)
        seen.append(setup.digest([folder]))
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "a.pyc").touch()
    assert len(set(seen)) == 3
    assert setup.digest([folder]) == seen[-1]


def test_a_purpose_that_is_not_known_is_told_with_those_that_are(setup, monkeypatch, capsys):
    monkeypatch.setattr(setup.sys, "argv", ["setup_environment.py", "robots"])
    assert setup.main() == 1
    assert capsys.readouterr().err == "setup: PURPOSE is demo or robot or tests, got 'robots'\n"


@pytest.fixture
def building(setup, tmp_path, monkeypatch):
    """An environment that writes down what it is to build."""
    environment = setup.Environment(tmp_path)
    environment.built = []
    monkeypatch.setattr(environment, "build", environment.built.append)
    return environment


DEMO = ["simulation_interfaces", "tf2_msgs", "robocontrast_ros"]


def test_interfaces_of_drivers_are_built_for_a_robot_alone(setup, building):
    building.build_packages(drivers=False)
    building.build_packages(drivers=True)
    assert building.built == [DEMO, list(setup.PACKAGES)]


def test_what_was_built_once_is_kept_up_to_date_and_nothing_is_built_twice(setup, building):
    building.build_packages(drivers=True)
    building.build_packages(drivers=False)
    building.mark("franka_msgs", "older")
    building.build_packages(drivers=False)
    assert building.built == [list(setup.PACKAGES)] * 2


def test_a_package_that_is_installed_has_no_stand_in_unless_a_set_up_that_ended_early_left_it(building):
    (building.prefix / "share" / "tf2_msgs").mkdir(parents=True)
    building.build_packages(drivers=False)
    assert building.built == [["simulation_interfaces", "robocontrast_ros"]]
    building.mark("tf2_msgs", "begun")
    building.build_packages(drivers=False)
    assert building.built[1:] == [DEMO]


def test_steps_go_on_side_by_side_and_a_problem_of_one_is_told_when_all_have_ended(setup):
    met, ended = threading.Barrier(2), []

    def refuse():
        met.wait(20)
        raise setup.SetupError("no torch")

    with pytest.raises(setup.SetupError, match="no torch"):
        setup.side_by_side(refuse, lambda: (met.wait(20), ended.append("built")))
    assert ended == ["built"]


@pytest.fixture
def torch_environment(setup, tmp_path, monkeypatch):
    """An environment whose commands are written down; `outcome` says which succeed."""
    environment = setup.Environment(tmp_path)
    environment.commands, environment.outcome = [], lambda line: True

    def run(command, **variables):
        line = " ".join(str(part) for part in command)
        environment.commands.append(line)
        if not environment.outcome(line):
            raise setup.SetupError("refused: " + line)

    monkeypatch.setattr(environment, "run", run)
    return environment


def installs(environment):
    return [line for line in environment.commands if "install" in line]


def test_a_torch_that_is_there_is_kept_and_not_asked_for_again(torch_environment):
    torch_environment.install_torch("")
    torch_environment.install_torch("")
    assert len(torch_environment.commands) == 1 and installs(torch_environment) == []


def test_torch_for_the_cpu_comes_from_where_pip_looks_and_else_from_where_uv_does(torch_environment):
    torch_environment.outcome = lambda line: (
        "torch-backend" in line or ("import torch" in line and len(torch_environment.commands) > 2)
    )
    torch_environment.install_torch("")
    by_pip, by_uv = installs(torch_environment)
    assert re.search(r"-m pip install .*--no-deps torch==[\d.]+\+cpu$", by_pip)
    assert re.search(r"uv pip install .*--torch-backend auto torch==[\d.]+$", by_uv)


def test_a_build_that_was_asked_for_replaces_the_one_that_is_there(torch_environment):
    torch_environment.install_torch("")
    torch_environment.install_torch("cu130")
    assert [re.search("--torch-backend (.*) ", line)[1] for line in installs(torch_environment)] == ["cu130"]


def test_a_torch_that_cannot_be_imported_is_named_with_the_cure_and_tried_again(setup, torch_environment):
    torch_environment.outcome = lambda line: "import torch" not in line
    for _ in range(2):
        with pytest.raises(setup.SetupError, match=r"(?s)cannot be imported.*-m pip install torch==[\d.]+$"):
            torch_environment.install_torch("")
    assert len(installs(torch_environment)) == 6
    last = installs(torch_environment)[-1]
    assert re.search(r"-m pip install --disable-pip-version-check --no-compile torch==[\d.]+$", last)


def test_a_long_step_says_that_it_is_going_on(setup, capsys):
    said = threading.Event()
    say = setup.say
    setup.say = lambda text: (say(text), "so far" in text and said.set())
    with setup.reported("installing torch", every=0.01):
        assert said.wait(20)
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert first == "setup: installing torch" and second == "setup: installing torch: 0.01 s so far"


def test_the_environment_hook_puts_the_prefix_behind_a_sourced_workspace(setup, monkeypatch):
    monkeypatch.setenv("AMENT_PREFIX_PATH", "/workspace/install")
    exec(setup.ENVIRONMENT_HOOK)
    exec(setup.ENVIRONMENT_HOOK)
    assert setup.os.environ["AMENT_PREFIX_PATH"] == f"/workspace/install:{setup.sys.prefix}"


def test_where_the_path_is_not_ascii_packages_are_built_elsewhere_each_environment_in_a_folder_of_its_own(setup):
    assert setup.build_folder(Path("/a folder/.venv")) == Path("/a folder/.venv/build")
    folders = {setup.build_folder(Path(path)) for path in ("/ü/.venv", "/ü/other/.venv")}
    assert len(folders) == 2 and all(str(folder).isascii() for folder in folders)
    assert setup.build_folder(Path("/ü/.venv")) in folders
