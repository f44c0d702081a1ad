"""The network of the kitchen's learned policies: its geometry, what it sees, and the policy around it."""

from __future__ import annotations

import math
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
import yaml

torch = pytest.importorskip("torch")

from examples import examples  # noqa: E402
from here import session_here  # noqa: E402
from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from session_runs import finished  # noqa: E402

from robocontrast_ros.configuration import ConfigurationError, load_configured, resolve_uri  # noqa: E402
from robocontrast_ros.contracts.policy import PolicyContract  # noqa: E402
from robocontrast_ros.domain import ObjectState, Outcome, Pose, Scene, rotations  # noqa: E402
from robocontrast_ros.objects import tool_pose  # noqa: E402
from robocontrast_ros.objects.frames import rotate  # noqa: E402
from robocontrast_ros.objects.joints import part_pose  # noqa: E402
from robocontrast_ros.policies.kitchen_bc import rotations as many  # noqa: E402
from robocontrast_ros.policies.kitchen_bc.loading import describe  # noqa: E402
from robocontrast_ros.policies.kitchen_bc.network import SKILLS, KitchenNetwork, Situation, Sizes  # noqa: E402
from robocontrast_ros.policies.kitchen_bc.policy import NOTHING, KitchenBc  # noqa: E402
from robocontrast_ros.policies.kitchen_bc.things import things_of  # noqa: E402
from robocontrast_ros.policies.protocol import Observation  # noqa: E402
from robocontrast_ros.policies.sentence_encoder import SentenceEncoder  # noqa: E402
from robocontrast_ros.tasks.tabletop.hand import ToolPlace  # noqa: E402
from robocontrast_ros.training.kitchen.recipe import catalogue_of  # noqa: E402

FILE = resolve_uri("package://robocontrast_ros/config/policies/kitchen_state.yaml")
SUITE_FILE = resolve_uri("package://robocontrast_ros/config/policies/suite_state.yaml")
PROBLEM = "kitchen_4_bowl_in_bottom_drawer"


class TestContract(PolicyContract):
    task = "kitchen"

    def parameter_file(self):
        return FILE

    def make(self):
        return load_configured("policies", FILE)


class TestCameraContract(PolicyContract):
    task = "kitchen"

    def parameter_file(self):
        return resolve_uri("package://robocontrast_ros/config/policies/kitchen_camera.yaml")

    def make(self):
        return load_configured("policies", self.parameter_file())


class TestSuiteContract(PolicyContract):
    task = "tabletop_suite"

    def parameter_file(self):
        return SUITE_FILE

    def make(self):
        return load_configured("policies", SUITE_FILE)


@pytest.fixture(scope="module")
def task():
    return load_configured("tasks", resolve_uri("package://robocontrast_ros/config/tasks/kitchen.yaml"))


@pytest.fixture(scope="module")
def instance(task):
    return task.sample_of(PROBLEM, np.random.default_rng(1), "one")


@pytest.fixture(scope="module")
def network(task):
    torch.manual_seed(0)
    return KitchenNetwork(catalogue_of(task), Sizes(16, 2, 1, 16, 16, 16)).eval().double()


@pytest.fixture
def policy(network):
    return KitchenBc(describe("learned"), network, SentenceEncoder.shipped())


def _observation(scene: Scene | None, z: float = 0.4, width: float | None = 0.08) -> Observation:
    return Observation(0, {}, (), (), ToolPlace((0.3, 0.0, z), 0.0).pose, scene, gripper_width=width)


def _numbers(pose: Pose):
    return torch.tensor([[*pose.position, *pose.orientation]], dtype=torch.float64)


def _situation(network, instance, scene: Scene) -> Situation:
    """An open hand above the scene that is asked for the instance's instruction."""
    things = things_of(scene, network.catalogue, frozenset())
    names = [state.name for state in scene if state.model in network.catalogue.index]
    said = instance.instruction
    slots = [torch.tensor([names.index(str(said.get(role)))]) for role in ("target", "reference")]
    tool = _numbers(ToolPlace((0.4, 0.1, 0.3), 0.2).pose)
    none = torch.zeros(1, dtype=torch.float64)
    stood = things.poses[:, int(slots[0])]
    skill = torch.tensor([SKILLS.index(said.family)])
    width = torch.tensor([[0.08, 0.0]], dtype=torch.float64)
    moved = torch.zeros(1, 6, dtype=torch.float64)
    return Situation(skill, *slots, things, stood, tool, tool, moved, tool, width, none, none)


QUATERNIONS = st.tuples(*[st.floats(-1.0, 1.0)] * 4).filter(lambda q: sum(v * v for v in q) > 0.05).map(rotations.unit)
VECTORS = st.tuples(*[st.floats(-1.0, 1.0)] * 3)


@examples(100)
@given(QUATERNIONS, QUATERNIONS, VECTORS)
def test_rotations_of_many_things_are_those_of_one(first, then, vector):
    a, b, v = (torch.tensor([value], dtype=torch.float64) for value in (first, then, vector))
    assert np.allclose(many.multiply(b, a)[0], rotations.turned(first, then), atol=1e-12)
    assert np.allclose(many.rotated(a, v)[0], rotate(first, vector), atol=1e-12)
    assert np.allclose(many.rotated(many.inverse(a), many.rotated(a, v))[0], vector, atol=1e-12)
    assert np.allclose(many.between(a, b)[0].norm(), math.hypot(*rotations.between(first, then)), atol=1e-7)
    assert np.allclose(many.rotated(many.from_vector(v), a[:, :3])[0], rotate(rotations.from_vector(vector), first[:3]))


@examples(30)
@given(st.floats(-math.pi, math.pi), st.data())
def test_a_grasp_is_one_of_the_things_own(task, network, yaw, data):
    """The catalogue's numbers give the tool's pose at each grasp of the library, wherever the thing stands."""
    name = data.draw(st.sampled_from(network.catalogue.names))
    model = task.things.models[name]
    index, stands = network.catalogue.index[name], Pose.planar(0.5, 0.1, yaw, 0.02)
    found = network.codes.grasps[index][network.codes.graspable[index]].double()
    wanted = [tool_pose(stands, grasp, turn) for grasp in model.grasps for turn in range(grasp.turns)]
    assert len(found) == len(wanted)
    pose = _numbers(stands).expand(len(found), -1)
    at = pose[:, :3] + many.rotated(pose[:, 3:], found[:, :3])
    for place, right in zip(at.tolist(), wanted, strict=True):
        assert place == pytest.approx(right.position, abs=1e-7)


def test_every_thing_and_part_is_seen_with_its_joint(task, network, instance):
    scene = instance.scene
    found = things_of(scene, network.catalogue, frozenset())
    names = [state.name for state in scene if task.things.is_thing(state.model)]
    assert [network.catalogue.names[index] for index in found.models[0].tolist()] == [scene[n].model for n in names]
    for name, position in zip(names, found.joints[0].tolist(), strict=True):
        joint = task.things.joint(scene, name)
        assert position == pytest.approx(0.0 if joint is None else task.things.position(scene, name), abs=1e-9)
    drawer = names.index("cabinet/top_drawer")
    joint = task.things.joint(scene, names[drawer])
    opened = scene.moved(names[drawer], part_pose(scene["cabinet"].pose, joint, 0.1))
    assert float(things_of(opened, network.catalogue, frozenset()).joints[0, drawer]) == pytest.approx(0.1, abs=1e-9)


def test_what_the_skill_does_not_concern_reaches_every_head(task, network, instance):
    """It is no part of the policy's structure that it ignores what the instruction does not name."""
    scene = instance.scene
    drawer = "cabinet/top_drawer"
    opened = scene.moved(drawer, part_pose(scene["cabinet"].pose, task.things.joint(scene, drawer), 0.15))
    answers = []
    for shown in (scene, opened):
        s = _situation(network, instance, shown)
        known = network.known(s)
        words = torch.from_numpy(SentenceEncoder.shipped().encode([instance.instruction.text]))
        understood, choices = network.understand(words, s.things), network.choices(s, known)
        goal = network.goal(s, choices, s.closed.long())
        act = network.act(s, known, replace(goal, line=s.tool, above=s.tool[:, 2]), s.closed.long())
        answers.append((*vars(understood).values(), choices.grasp, choices.place, choices.turn, choices.heights, act))
    for before, after in zip(*answers, strict=True):
        assert not torch.equal(before, after)


def test_answers_depend_on_this_trial_alone(policy, instance):
    scene, said = instance.scene, instance.instruction.text
    answers = []
    for other in ("open the top drawer of the cabinet", "put the wine bottle on the rack"):
        policy.reset(other, 1)
        policy.act(_observation(scene, z=0.2))
        policy.reset(said, 0)
        answers.append([policy.act(_observation(scene, z)) for z in (0.4, 0.39, 0.39)])
    assert np.array_equal(*answers)
    assert answers[0][0].shape == (1, 7) and np.array_equal(np.round(answers[0][0], 6), answers[0][0])


def test_the_words_are_understood_again_in_the_scene_that_each_subtask_leaves(tmp_path, monkeypatch):
    seen, understand = [], KitchenNetwork.understand

    def noted(network, words, things):
        seen.append(understand(network, words, things))
        return seen[-1]

    monkeypatch.setattr(KitchenNetwork, "understand", noted)
    session = yaml.safe_load(resolve_uri("package://robocontrast_ros/config/sessions/tabletop_suite.yaml").read_text())
    task = "berries/blue_cube_then_red_strawberry_in_brown_tray"
    own = {"policy": str(SUITE_FILE), "test_set": {"size": 1, "families": [task]}, "cameras": [], "scores": []}
    (tmp_path / "one.yaml").write_text(yaml.safe_dump({**session, **own, "output": str(tmp_path / "runs")}))
    (event,) = finished(session_here(tmp_path / "one.yaml"))
    assert event.result.outcome is Outcome.SUCCESS and event.result.subgoals == 2
    # It asks once more before the trial ends, a second after the last thing was let go.
    first, second, *_ = (int(answer.target.argmax()) for answer in seen)
    assert first != second and len(seen) <= 3


def test_a_tool_that_is_behind_its_commands_comes_to_rest(network, instance):
    """What is less than a step is not carried out then, because limits show only when the tool rests."""
    little = deepcopy(network)
    torch.nn.init.zeros_(little.action[-1].weight)
    torch.nn.init.constant_(little.action[-1].bias, 0.5 * NOTHING / 0.03)
    policy = KitchenBc(describe("learned"), little, SentenceEncoder.shipped())
    policy.reset(instance.instruction.text, 0)
    assert np.abs(policy.act(_observation(instance.scene))[0, :3]).max() > 0.0
    assert policy.act(_observation(instance.scene, z=0.45))[0, :3].tolist() == [0.0] * 3


def test_what_it_cannot_use_is_refused(policy, instance):
    with pytest.raises(ValueError, match="act before reset"):
        policy.act(_observation(instance.scene))
    policy.reset(instance.instruction.text, 0)
    with pytest.raises(ValueError, match="needs the ground truth"):
        policy.act(_observation(None))
    with pytest.raises(ValueError, match="needs a robot with a hand"):
        policy.act(_observation(instance.scene, width=None))
    with pytest.raises(ValueError, match="trained with; the scene has gnome"):
        policy.act(_observation(Scene((ObjectState("gnome", "gnome", Pose.planar(0.4, 0.0)),))))


def test_a_checkpoint_of_another_network_is_refused(tmp_path):
    path = tmp_path / "changed.yaml"
    other = "package://robocontrast_ros/models/tabletop_bc/grounding.pt"
    path.write_text(yaml.safe_dump(yaml.safe_load(FILE.read_text()) | {"network": other}))
    with pytest.raises(ConfigurationError, match="expected a checkpoint of a KitchenNetwork network"):
        load_configured("policies", path)
