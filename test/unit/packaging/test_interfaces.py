"""Interface files document themselves, and all of them are built."""

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import pytest
from ament_index_python.packages import get_package_share_directory

CHECKOUT = Path(__file__).resolve().parents[3]
KINDS = ("msg", "srv", "action")
OURS = sorted(path for kind in KINDS for path in CHECKOUT.glob(f"{kind}/*.{kind}"))
STAND_INS = {
    package: sorted(path for kind in KINDS for path in CHECKOUT.glob(f"compat/{package}/{kind}/*.{kind}"))
    for package in sorted(path.parent.name for path in CHECKOUT.glob("compat/*/package.xml"))
}

MEMBER = re.compile(r"^(?P<type>[\w/\[\]<>=]+)\s+(?P<name>\w+)\s*(?P<constant>=)?")

# RIHS01 hashes of the published simulation_interfaces 1.x (Humble 1.4, Jazzy 1.5, Kilted 1.6) and of tf2_msgs,
# which is the same in all of them. A node only talks to nodes whose types have the same hash.
SIMULATION_INTERFACES = {
    "action/SimulateSteps": "f0837c898e1219cd73bf4c041feab41e8c533e8e1057e982744dba7b093467eb",
    "msg/Bounds": "e8624fe51f0f5548197542697d924c5699ac7198f1e4c68e50c3ca2af73f5b3f",
    "msg/EntityCategory": "43bdf7933fddf75f6970f7a8fe7078524355d821d390b3954bb46ac36c03dfe1",
    "msg/EntityFilters": "8e7b12e8ea062f14c55de4877221fe1b7cd9749665a7ad8a4ab855fc4b148303",
    "msg/EntityInfo": "3b9a2e7fa00f9a59d325b6e47904044c421561a385682027c7fc06c359806319",
    "msg/EntityState": "2e0464a85eb80a939025075d6c20761eca6a4cb9d6baf2c0ba373467c8b598d0",
    "msg/Resource": "2bb1939cf80f8d2f284afba53cbec60b5ff33759bd39b714128ea8867a34c51a",
    "msg/Result": "cf43a306adff3337a0a47143d8f5689933bc70a30478f13b077dc1fe3bc5ad17",
    "msg/SimulationState": "bb9f87ccdd98fba113052a512d9801e84ce732d0a2b3c2b0cb281828de36e415",
    "msg/SimulatorFeatures": "8b101c8529bc0ea3dcf056078254768f39832b9ef0adaf93bd5cea96c0de3305",
    "msg/Spawnable": "8c22025d840e7a05ab31ba56f998b06458b549a9744b4695be25b778829fc176",
    "msg/TagsFilter": "5c3efc51e8ed04c266c09cb4691ec95b964cd410558e01d8c83646b038826b45",
    "srv/DeleteEntity": "ff7e96a5b83dc8e2bb34b8b034480028b3a24d9f8376b2c0590bac3704be3e28",
    "srv/GetEntities": "cb90004c48cd50f37732fb008e22c34c261dd680a723bf0f85d8437ea4498bf7",
    "srv/GetEntitiesStates": "0a76170d0c1c90e1eaf805cfab78ea801d1f82df309a28c1f0fae4b570f19754",
    "srv/GetEntityBounds": "17be8d36231178a5eed0de0344b55c19975581627a9aec30a4fee9926a35deed",
    "srv/GetEntityInfo": "953b7ab6bfc35063f5c9a72463c6ce489baa10249a7fa510926d342a34b0d29e",
    "srv/GetEntityState": "749c91f2a2353d98367b64f2995a0f5842ce92a08ec1ffb3e185540a91557fb5",
    "srv/GetSimulationState": "3362dcebee4b1afebbf9c4beee5c79c1455385aded62092a892d61fde8644f30",
    "srv/GetSimulatorFeatures": "abb9439c8cf196722a469fb6c68b44b484f198c2a1356ac38849a29c2a20a794",
    "srv/GetSpawnables": "3bc0266bf8236058ff589c44512e013afe4f295427c39d44cff363d1c956bf36",
    "srv/ResetSimulation": "4ce285d7ff9b8ac70dcc95161f32bf54c05a6f4b13427990e41ab40c36c39646",
    "srv/SetEntityState": "ca210e7d2b66629ae133c8e1edf5246e618106d75c78ed0556c0e7a33c59ee5e",
    "srv/SetSimulationState": "a868b916dce49974f637ba252141258c4b07b0c06858b88af560e3eb6bfbcb30",
    "srv/SpawnEntity": "d4c086345d4194a5fc4c9ae45095736ca4062b5cdac4d06a42dec93d683e03cf",
    "srv/StepSimulation": "913fe0653690ce6bf8f09f316e6a626747012e9fca31e26719910d417aa8565c",
}
# Hashes of the definitions in the repositories that each file names, with the generator of Kilted; ErrorRecovery, which
# was not among the files that could be read, is empty, as its server in franka_hardware has it.
DRIVERS = {
    "control_msgs": {
        "action/FollowJointTrajectory": "ff29901b2693f5deb847e96084a1c2cdb26e70b7c847be21859b70a55fb29cf0",
        "action/GripperCommand": "e17c0e644eccf14bea84a0a93e0977182872c2eb7873ca6694900059b46dbc84",
        "msg/GripperCommand": "57eb8f326c9889ca8bb34ead82cc94cc09bf6bc5c3b6c09546dca3a00b589890",
        "msg/JointComponentTolerance": "739ea7566931944d33830fa10f1bf5e7a7fbdc3172bce7a7eaac642bd6e3ffa4",
        "msg/JointTolerance": "c254f9cece0f3b733017b6990fd46d1326e25242d6b8844398c97d9a88e7d648",
    },
    "controller_manager_msgs": {
        "msg/ChainConnection": "2daecd1da4b171f48b291c79747657a651eb1ab8821b68e38b1c88c736bba91c",
        "msg/ControllerState": "9a8780ab9814b6032978a07c6c7033cf1a7894ac8d948a6fb72afea07b04cc83",
        "srv/ListControllers": "4f8e36bb1fa5afdeba45c2d56ae6a2097b1493a253f961dd6290c085033bd189",
        "srv/SwitchController": "d4ad10aa5da7808bc522d55d4123d8ef79de73d049d165639d7663ac37cc9895",
    },
    "franka_msgs": {
        "action/ErrorRecovery": "6c5dbf0517672f7127a92796e6a162d096e286c26f88c96177cb4c5448dfc5f5",
        "action/Grasp": "8e8a4bb9d96564ae56fb2d47e932c65656316f5c10365958a26df3517a06bb92",
        "action/Homing": "2156a4bd902561e59e6081ba94428daf9a453f960596f8b7ca12e8281e0caeeb",
        "action/Move": "ff1f93537cae0ce92792433e368199606771ad62bb819d78078bfe37144d3ef1",
        "msg/GraspEpsilon": "387fda91ae7324c144958fa617e7d5dc21f99d6b054b141b073ead3d082f46d3",
    },
    "moveit_msgs": {
        "srv/ServoCommandType": "2065f4daf271249330596d344ecd48f5c2d2a52e3b21b1fc56d99c52b8eeae22",
    },
    "ur_dashboard_msgs": {
        "msg/RobotMode": "ba3c379b3c995f660b38d03a195dc23ed7571a1bc06ceed2cec38c75ae9bd634",
        "msg/SafetyMode": "9eb2716e6905f06e4eb60af26712660486e909026aa89c553dd633f1fb22f592",
    },
}
PUBLISHED = {
    "simulation_interfaces": SIMULATION_INTERFACES,
    "tf2_msgs": {"msg/TFMessage": "e369d0f05a23ae52508854b66f6aa0437f3449d652e8cbf22d5abe85d020f087"},
    **DRIVERS,
}


@dataclass(frozen=True)
class Member:
    """A field or constant of an interface file, with the comment lines right above it."""

    type: str
    name: str
    is_constant: bool
    comment: tuple[str, ...]


def members(text: str) -> list[list[Member]]:
    """Return the members of each section of an interface file."""
    sections: list[list[Member]] = [[]]
    comment: list[str] = []
    for line in text.splitlines():
        if line == "---":
            sections.append([])
        elif match := MEMBER.match(line):
            sections[-1].append(Member(match["type"], match["name"], match["constant"] is not None, tuple(comment)))
        comment = [*comment, line.lstrip("# ")] if line.startswith("#") else []
    return sections


def test_the_comment_right_above_a_member_is_its_own_and_a_header_is_not():
    text = "# What it is.\n\n# Meters.\nfloat64 x\nfloat64 y\n---\n# One.\nuint8 A=1\n"
    assert members(text) == [
        [Member("float64", "x", False, ("Meters.",)), Member("float64", "y", False, ())],
        [Member("uint8", "A", True, ("One.",))],
    ]


@pytest.mark.parametrize(
    "path", [*OURS, *(path for paths in STAND_INS.values() for path in paths)], ids=lambda path: path.name
)
class TestEveryInterfaceFile:
    def test_begins_with_a_comment_that_says_what_it_is(self, path):
        first = path.read_text().splitlines()[0]
        assert first.startswith("# ")
        assert len(first.split()) > 3

    def test_has_a_comment_above_each_member(self, path):
        bare = [m.name for section in members(path.read_text()) for m in section if not any(m.comment)]
        assert bare == []

    def test_has_its_constants_above_the_field_that_takes_them(self, path):
        for section in members(path.read_text()):
            assert not section or not section[-1].is_constant


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.name)
def test_constants_have_the_type_of_a_field_below_them(path):
    for section in members(path.read_text()):
        for position, member in enumerate(section):
            below = {other.type for other in section[position:] if not other.is_constant}
            assert not member.is_constant or member.type in below, member.name


@pytest.mark.parametrize(
    ("package", "path"),
    [(package, p) for package, paths in {"robocontrast_ros": OURS, **STAND_INS}.items() for p in paths],
    ids=lambda value: getattr(value, "name", value),
)
def test_the_installed_interface_is_the_one_of_the_checkout(package, path):
    installed = Path(get_package_share_directory(package), path.parent.name, path.name)
    assert installed.read_text() == path.read_text(), "run `make setup`"
    assert hasattr(import_module(f"{package}.{path.parent.name}"), path.stem)


OFFER_ALL = """
import importlib, sys
import rclpy
rclpy.init()
node = rclpy.create_node("offers_all")
for name in sys.argv[1:]:
    package, kind, file = name.split("/")
    interface = getattr(importlib.import_module(f"{package}.{kind}"), file)
    if kind == "msg":
        node.create_publisher(interface, file, 1)
    else:
        node.create_client(interface, file)
print("offered", len(sys.argv) - 1)
"""


def test_every_type_has_all_the_type_support_that_dds_asks_for():
    packages = {"robocontrast_ros": OURS, **STAND_INS}
    names = [
        f"{package}/{path.parent.name}/{path.stem}"
        for package, paths in packages.items()
        for path in paths
        if path.parent.name != "action"
    ]
    done = subprocess.run([sys.executable, "-c", OFFER_ALL, *names], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == (f"offered {len(names)}\n", "")


@pytest.mark.parametrize("package", PUBLISHED)
def test_a_stand_in_has_the_type_hashes_of_the_published_package(package):
    share = Path(get_package_share_directory(package))
    hashes = {}
    for name in PUBLISHED[package]:
        described = json.loads((share / f"{name}.json").read_text())["type_hashes"]
        by_type = {entry["type_name"]: entry["hash_string"] for entry in described}
        hashes[name] = by_type[f"{package}/{name}"].removeprefix("RIHS01_")
    assert hashes == PUBLISHED[package]


@pytest.mark.parametrize("package", PUBLISHED)
def test_every_interface_of_a_stand_in_is_published(package):
    assert {f"{path.parent.name}/{path.stem}" for path in STAND_INS[package]} == set(PUBLISHED[package])
