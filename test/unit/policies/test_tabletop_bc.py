"""The networks of the tabletop's learned policies: their geometry, and the policy around them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import yaml

torch = pytest.importorskip("torch")

import shapely  # noqa: E402
from examples import examples  # noqa: E402
from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from shapely import affinity  # noqa: E402

from robocontrast_ros.configuration import ConfigurationError, load_configured, resolve_uri  # noqa: E402
from robocontrast_ros.contracts.policy import PolicyContract  # noqa: E402
from robocontrast_ros.domain import ObjectState, Pose, Scene  # noqa: E402
from robocontrast_ros.policies.protocol import Observation  # noqa: E402
from robocontrast_ros.policies.sentence_encoder import SentenceEncoder  # noqa: E402
from robocontrast_ros.policies.tabletop_bc.grounding import (  # noqa: E402
    LONGEST,
    Grounding,
    GroundingSizes,
    Things,
    token_vectors,
)
from robocontrast_ros.policies.tabletop_bc.loading import describe  # noqa: E402
from robocontrast_ros.policies.tabletop_bc.motion import (  # noqa: E402
    FETCH,
    NEAR,
    RETREAT,
    Choices,
    Motion,
    MotionSizes,
    Situation,
    carried_line,
    gap_between,
    touching,
)
from robocontrast_ros.policies.tabletop_bc.policy import TabletopBc, true_things  # noqa: E402
from robocontrast_ros.policies.tabletop_bc.things import Catalogue  # noqa: E402
from robocontrast_ros.tasks.tabletop.hand import ToolPlace, grasp_place  # noqa: E402
from robocontrast_ros.training.tabletop.motion import Steps, chosen  # noqa: E402

PLACES = st.builds(
    lambda x, y, yaw: (x, y, 0.0, yaw),
    st.floats(0.34, 0.62),
    st.floats(-0.32, 0.32),
    st.floats(-math.pi, math.pi),
)


def policy_file(name):
    return resolve_uri(f"package://robocontrast_ros/config/policies/{name}.yaml")


class TestStateContract(PolicyContract):
    task = "tabletop"

    def parameter_file(self):
        return policy_file("tabletop_state")

    def make(self):
        return load_configured("policies", self.parameter_file())


class TestCameraContract(PolicyContract):
    task = "tabletop"

    def parameter_file(self):
        return policy_file("tabletop_camera")

    def make(self):
        return load_configured("policies", self.parameter_file())


@pytest.fixture(scope="module")
def task():
    return load_configured("tasks", resolve_uri("package://robocontrast_ros/config/tasks/tabletop.yaml"))


@pytest.fixture(scope="module")
def networks(task):
    torch.manual_seed(0)
    catalogue = Catalogue.of(task.library.values())
    return Grounding(catalogue, GroundingSizes(width=16, layers=1)), Motion(catalogue, MotionSizes(16, 16, 16))


@pytest.fixture
def policy(networks):
    return TabletopBc(describe("learned", sees=False), *networks, SentenceEncoder.shipped())


def _scene(*models: str) -> Scene:
    places = [Pose.planar(0.4, 0.2 * index - 0.2, 0.3) for index in range(len(models))]
    return Scene(
        tuple(ObjectState(m, m, pose) for m, pose in zip(("oak_table", *models), (Pose(), *places), strict=True))
    )


def _observation(scene: Scene | None, z: float = 0.4, width: float | None = 0.08) -> Observation:
    tool = ToolPlace((0.3, 0.0, z), 0.0).pose
    return Observation(0, {}, (), (), tool, scene, gripper_width=width)


def _steps(catalogue, models, things, tool, line, **changes) -> Steps:
    """Return one step in which the hand is open and goes down on a line."""
    row = {
        "skill": [1],
        "target": [0],
        "reference": [1],
        "stood": [things[0]],
        "grasped": [tool],
        "tool": [tool],
        "moved": [[0.0] * 4],
        "commanded": [tool],
        "width": [[0.08, 0.0]],
        "closed": [0.0],
        "handled": [0.0],
        "phase": [0],
        "line": [line],
        "above": [0.3],
        "action": [[0.0] * 5],
    }
    values = {key: torch.from_numpy(np.array(value)) for key, value in (row | changes).items()}
    step = {key: values.pop(key) for key in ("phase", "line", "above", "action")}
    numbers = [catalogue.names.index(m) for m in models]
    known = Situation(things=Things(torch.tensor([numbers]), torch.from_numpy(np.array([things]))), **values)
    return Steps(known, **step)


def _taken(choices: Choices, right) -> Choices:
    """Return choices in which what the demonstrator chose is the likeliest, with its numbers."""
    rows = torch.arange(len(right.grasp))
    grasp, at = torch.zeros_like(choices.grasp), choices.at.clone()
    way, far, turn = torch.zeros_like(choices.way), choices.far.clone(), torch.zeros_like(choices.turn)
    grasp[rows, right.grasp], at[rows, right.grasp] = 1.0, right.at
    way[rows, right.turn, right.way], far[rows, right.turn, right.way] = 1.0, right.far
    turn[rows, right.turn] = 1.0
    return replace(choices, grasp=grasp, at=at, way=way, far=far, turn=turn, into=right.into)


@examples(60)
@given(PLACES, st.data())
def test_every_grasp_of_the_library_is_one_of_the_networks_choices(task, networks, place, data):
    """What the demonstrator's line becomes in the network's terms gives that line again."""
    catalogue, motion = networks[1].catalogue, networks[1].double()
    model = task.library[data.draw(st.sampled_from(catalogue.names))]
    grasp = data.draw(st.sampled_from(model.grasps))
    found = grasp_place(Pose.planar(*place[:2], place[3]), grasp, data.draw(st.integers(0, grasp.turns - 1)))
    assert found is not None
    tool = (0.3, 0.0, 0.45, 0.0)
    steps = _steps(
        catalogue, [model.model, "red_cube"], [place, (0.5, 0.3, 0.0, 0.0)], tool, (*found.position, found.yaw)
    )
    situation = steps.situation
    line = motion.grasp_line(situation, _taken(motion.choices(situation), chosen(steps))).place[0].tolist()
    assert np.allclose(line[:3], found.position, atol=1e-9)
    assert abs(math.remainder(line[3] - found.yaw, math.pi)) < 1e-9
    assert abs(line[3]) <= math.pi / 2 + 1e-9


@examples(60)
@given(
    PLACES, PLACES, PLACES, st.integers(0, 3), st.floats(-0.03, 0.03), st.floats(-0.5, 0.5), st.sampled_from([1, 2, 4])
)
def test_where_a_thing_is_put_is_one_of_the_networks_choices(networks, stood, there, end, turn, aside, spin, skill):
    """A held thing that was turned by some quarter turns gets to its place again, whichever way the hand has it."""
    catalogue, motion = networks[1].catalogue, networks[1].double()
    end = (*end[:2], 0.02, stood[3] + turn * math.pi / 2)
    if skill == 1:
        # Near a thing: in one of the directions counted from where it came from.
        heading = math.atan2(stood[1] - there[1], stood[0] - there[0]) + turn * math.tau / 16
        end = (there[0] + 0.1 * math.cos(heading), there[1] + 0.1 * math.sin(heading), *end[2:])
    now = (0.45, 0.0, 0.2, stood[3] + spin)
    # A hand that does not turn farther than a quarter from 0, as the planner's.
    tool = (0.45 + aside, aside, 0.25, 0.3 + now[3] - end[3])
    grasped = (0.45, 0.0, 0.05, 0.3 - turn * math.pi / 2)
    goal = carried_line(*(torch.tensor([v], dtype=torch.float64) for v in (tool, now, end)))[0].tolist()
    steps = _steps(
        catalogue,
        ["red_mug", "red_cube"],
        [now, there],
        tool,
        goal,
        stood=[stood],
        grasped=[grasped],
        closed=[1.0],
        phase=[1],
        skill=[skill],
    )
    situation = steps.situation
    found = motion.target_place(situation, _taken(motion.choices(situation), chosen(steps)))[0].tolist()
    assert abs(math.remainder(found[3] - end[3], math.tau)) < 1e-6
    assert np.allclose(found[:3], end[:3], atol=1e-9)


def test_an_open_hand_leaves_only_what_it_has_handled(networks):
    catalogue, motion = networks[1].catalogue, Motion(networks[1].catalogue, MotionSizes(16, 16, 16))
    torch.nn.init.constant_(motion.leaves[-1].bias, 1e3)  # it takes everything for being in its place
    tool, places = (0.3, 0.0, 0.45, 0.0), [(0.4, 0.0, 0.0, 0.0), (0.5, 0.2, 0.0, 0.0)]
    for handled, phase in ((0.0, FETCH), (1.0, RETREAT)):
        steps = _steps(catalogue, ["red_mug", "red_cube"], places, tool, tool, skill=[NEAR], handled=[handled])
        assert motion.double().phase(steps.situation).tolist() == [phase]


SIDES = st.floats(0.01, 0.2)
YAWS = st.floats(-math.pi, math.pi)


@examples(200)
@given(SIDES, SIDES, YAWS, SIDES, SIDES, YAWS, YAWS, st.floats(0.0, 0.06))
def test_two_boxes_are_brought_to_a_gap(a, b, yaw, c, d, its_yaw, angle, gap):
    numbers = torch.tensor([[a, b, 0.1], [c, d, 0.1]], dtype=torch.float64)
    own, its, first, second = numbers[:1], numbers[1:], *torch.tensor([[yaw], [its_yaw]], dtype=torch.float64)
    way = torch.tensor([[angle]], dtype=torch.float64)
    far = float(touching(own, first, its, second, way, way.new_tensor(gap)))
    box = affinity.rotate(shapely.box(-a / 2, -b / 2, a / 2, b / 2), yaw, (0, 0), use_radians=True)
    box = affinity.translate(box, far * math.cos(angle), far * math.sin(angle))
    other = affinity.rotate(shapely.box(-c / 2, -d / 2, c / 2, d / 2), its_yaw, (0, 0), use_radians=True)
    # Past a corner the gap between the sides is less than that between the boxes.
    assert gap - 1e-9 <= box.distance(other) <= 1.5 * gap + 1e-9
    assert float(gap_between(own, first, its, second, way.new_tensor([far]), way[:, 0])) == pytest.approx(gap, abs=1e-9)


def test_carried_as_the_planner_carries():
    tool, now, end = (0.4, 0.1, 0.2, 0.3), (0.42, 0.12, 0.15, 1.0), (0.5, -0.2, 0.02, 1.4)
    found = carried_line(*(torch.tensor([v], dtype=torch.float64) for v in (tool, now, end)))[0].tolist()
    right = ToolPlace(tool[:3], tool[3]).carried(
        Pose((now[0], now[1], now[2]), Pose.planar(0, 0, now[3]).orientation),
        Pose((end[0], end[1], end[2]), Pose.planar(0, 0, end[3]).orientation),
    )
    assert np.allclose(found, (*right.position, right.yaw))


def test_answers_depend_on_this_trial_alone(policy):
    scene = _scene("red_cube", "blue_mug", "banana")
    answers = []
    for other in ("pick up the banana", "stack the red cube on the blue cube"):
        policy.reset(other, 1)
        policy.act(_observation(scene, z=0.2))
        policy.reset("pick up the red cube", 0)
        answers.append([policy.act(_observation(scene, z)) for z in (0.4, 0.39, 0.39)])
    assert np.array_equal(*answers)
    assert answers[0][0].shape == (1, 7) and np.array_equal(np.round(answers[0][0], 6), answers[0][0])


def test_only_words_tell_what_to_do(networks, policy):
    """The same scene in other words is another instruction to the network."""
    grounding = networks[0].double()
    things = true_things(_scene("red_cube", "blue_mug", "banana"), grounding.catalogue)
    answers = []
    for text in ("pick up the banana", "put the red cube into the blue mug"):
        words, spoken = token_vectors(SentenceEncoder.shipped(), [text])
        answers.append(grounding(words.double(), spoken, things))
    assert not torch.equal(answers[0].target, answers[1].target)
    assert not torch.equal(answers[0].skill, answers[1].skill)


def test_other_tables_rooms_and_lights_than_those_of_the_training_are_no_things(networks):
    catalogue = networks[0].catalogue
    there = _scene("red_cube", "marble_table", "blue_mug", "brick_room", "evening_lamp")
    assert not {"marble_table", "brick_room", "evening_lamp"} & set(catalogue.fixtures)
    found, wanted = (true_things(scene, catalogue) for scene in (there, _scene("red_cube", "blue_mug")))
    assert torch.equal(found.models, wanted.models)


def test_padding_of_words_and_things_changes_nothing(networks):
    grounding = networks[0].double()
    encoder = SentenceEncoder.shipped()
    things = true_things(_scene("red_cube", "blue_mug", "banana"), grounding.catalogue)
    words, spoken = token_vectors(encoder, ["pick up the banana"])
    padded, there = token_vectors(encoder, ["pick up the banana", "put the red cube on the left into the blue mug"])
    more = Things(
        torch.cat([things.models, torch.full((1, 3), -1)], 1),
        torch.cat([things.poses, torch.zeros(1, 3, 4)], 1).double(),
    )
    short, long = grounding(words.double(), spoken, things), grounding(padded[:1].double(), there[:1], more)
    assert torch.allclose(short.target, long.target[:, :3], atol=1e-12)
    assert (long.target[:, 3:] < -1e3).all()
    assert token_vectors(encoder, ["the red cube " * 40])[0].shape[1] == LONGEST


def test_what_it_cannot_use_is_refused(policy):
    with pytest.raises(ValueError, match="act before reset"):
        policy.act(_observation(_scene("red_cube")))
    policy.reset("pick up the red cube", 0)
    with pytest.raises(ValueError, match="needs the ground truth"):
        policy.act(_observation(None))
    with pytest.raises(ValueError, match="needs a robot with a hand"):
        policy.act(_observation(_scene("red_cube"), width=None))
    strange = Scene((ObjectState("gnome", "gnome", Pose.planar(0.4, 0.0)),))
    with pytest.raises(ValueError, match="trained with; the scene has gnome"):
        policy.act(_observation(strange))


def test_checkpoints_of_other_networks_or_of_two_trainings_are_refused(networks, tmp_path):
    shipped = yaml.safe_load(policy_file("tabletop_state").read_text())

    def refused(**changes):
        path = tmp_path / "changed.yaml"
        path.write_text(yaml.safe_dump(shipped | changes))
        with pytest.raises(ConfigurationError) as refusal:
            load_configured("policies", path)
        return str(refusal.value)

    said = refused(grounding=shipped["motion"])
    assert "`grounding`" in said
    assert "expected a checkpoint of a Grounding network. The file holds another network" in said
    known = networks[0].catalogue
    few = replace(known, **{key: values[1:] for key, values in vars(known).items() if key != "fixtures"})
    torch.save(Grounding(few, GroundingSizes(width=16, layers=1)).checkpoint(), tmp_path / "few.pt")
    said = refused(grounding=str(tmp_path / "few.pt"))
    assert "expected a network that was trained with the same things as that of `motion`" in said
