"""ΔL, ΔLB, ΔS and ΔSB: what each claims holds, by another account than its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import shapely
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from language_table_instances import EIGHT
from line_world import LineTask
from vln_scenes import APARTMENT, ARRANGEMENTS, arranged, few_seeds, instance, scene, seeds

from robocontrast_ros.configuration import ConfigurationError, load_plugin, resolve_uri
from robocontrast_ros.domain import NotApplicable, Perturbed, Pose
from robocontrast_ros.episodes.scoring.standard import ProgressToGoal
from robocontrast_ros.sessions.resolving import resolve
from robocontrast_ros.strategies.contrast_set import ContrastSet
from robocontrast_ros.strategies.prediction import result_of_success
from robocontrast_ros.strategies.protocol import Completed, Proposal, StrategyContext
from robocontrast_ros.tasks.navigation.neighbourhood import CHANGES, REDIRECTED, REWORDED, STAYS
from robocontrast_ros.tasks.navigation.routes import frechet_distance

P = APARTMENT.parameters
N = P.perturbing
NAMES = ("L", "LB", "S", "SB")
ALL = {name: load_plugin("perturbations", name, "test", "")() for name in NAMES}
LANGUAGE_TABLE = {name: load_plugin("perturbations", name, "test", "")() for name in ("LB1", "LB2", "SB1", "SB2")}
CLAIMS = {"L": REWORDED, "LB": REDIRECTED, "S": STAYS, "SB": CHANGES}


def apply(name, base, where, seed=0):
    return ALL[name].apply(APARTMENT, base, where, np.random.default_rng(seed))


def after_success(new):
    """The scene that a successful trial of an instance leaves."""
    return APARTMENT.planner.plan(new.instruction, new.scene).final_scene


def moved_objects(before, after):
    return [o.name for o in before if after[o.name].pose != o.pose]


def distance_of(path, polygon):
    return shapely.LineString(path).distance(polygon)


def check_common(name, base, where, new):
    """What holds for all four."""
    assert new.instance_id == f"{base.instance_id}-{name}"
    assert new.scene.robot == base.scene.robot
    assert new.scene.contacts == ()
    assert new.scene.names == where.names
    assert APARTMENT.language.parse(new.instruction.text, new.scene) == new.instruction
    goal = APARTMENT.goals.goal(new.instruction, new.scene)
    assert not any(subgoal.satisfied(new.scene) for subgoal in goal.subgoals)
    plan = APARTMENT.planner.plan(new.instruction, new.scene)
    assert new.optimal_path_length == plan.length
    assert new.reference_path == plan.path
    measures = dict(new.proof.measures)
    assert new.proof.claim == CLAIMS[name]
    assert all(np.isfinite(value) for value in measures.values())
    before = APARTMENT.planner.route(base.instruction, replace(where, robot=base.scene.robot))
    after = APARTMENT.planner.route(new.instruction, new.scene)
    assert measures["path_before_m"] == before.length
    assert measures["path_after_m"] == after.length
    assert measures["frechet_m"] == frechet_distance(before.path, after.path)
    changed = moved_objects(where, new.scene)
    if ALL[name].axes in ("L", "LB"):
        assert changed == []
        assert new.instruction.text != base.instruction.text
    else:
        assert len(changed) == 1
        assert new.instruction == base.instruction
        (moved,) = changed
        assert measures["moved_m"] == where[moved].pose.distance_to(new.scene[moved].pose)
        assert new.scene[moved].pose.orientation == where[moved].pose.orientation
        shapes = {o.name: APARTMENT.planner.shapes.polygon(o.model, o.pose) for o in new.scene}
        room = shapely.box(0, 0, P.room.length, P.room.width).buffer(-N.gap + 1e-9, join_style="mitre")
        assert room.covers(shapes[moved])
        assert min(shapes[moved].distance(s) for n, s in shapes.items() if n != moved) >= N.gap - 1e-9
    return measures, before, after


def check_l(base, where, new, measures, before, after):
    assert new.instruction.arguments == base.instruction.arguments
    goals = [APARTMENT.goals.goal(i, s) for i, s in ((base.instruction, where), (new.instruction, new.scene))]
    for old, fresh in zip(goals[0].subgoals, goals[1].subgoals, strict=True):
        assert old.regions(where) == fresh.regions(new.scene)
    assert after == before
    assert measures["frechet_m"] == 0.0
    said, says = (
        {a.rule: a.kind for a in APARTMENT.language.grammar.read(i.text)} for i in (base.instruction, new.instruction)
    )
    assert all(says[rule] != said[rule] for rule in ("sentence", "first", "last"))
    assert 0.0 <= measures["shared_words"] < 1.0


def check_lb(base, where, new, measures, before, after):
    (first, last), (same, other) = APARTMENT.planner.named(base.instruction), APARTMENT.planner.named(new.instruction)
    assert same == first
    assert other not in (first, last)
    assert frechet_distance(before.second_half, after.second_half) >= N.other_end
    # Who still goes where the instruction said before is not at the new goal, and the other way round.
    ends = {last: before.path[-1], other: after.path[-1]}
    for place, elsewhere in ((last, other), (other, last)):
        shapes = [APARTMENT.planner.shapes.polygon(o.model, o.pose) for o in where if o.model == place]
        assert shapely.union_all(shapes).distance(shapely.Point(ends[elsewhere])) >= P.reach + N.missed_by - 1e-9
    # The way to the first place may stay: going on from there to the new goal is hardly longer.
    on_the_way = replace(new.scene, robot=Pose.planar(*before.path[before.via]))
    onward = APARTMENT.goals.goal(new.instruction, new.scene).distance(on_the_way)
    kept = shapely.LineString(before.first_half).length + onward
    assert after.length - 0.01 <= kept <= after.length + N.detour + 1e-9


def check_s(base, where, new, measures, before, after):
    (moved,) = moved_objects(where, new.scene)
    assert where[moved].model not in APARTMENT.planner.named(base.instruction)
    assert P.furniture[where[moved].model].mass <= N.carried
    assert N.scene_move[0] - 1e-9 <= measures["moved_m"] <= N.scene_move[1] + 1e-9
    assert abs(after.length - before.length) <= N.same_path
    assert frechet_distance(before.path, after.path) <= N.same_path
    polygon = APARTMENT.planner.shapes.polygon(where[moved].model, new.scene[moved].pose)
    assert distance_of(before.path, polygon) >= P.base.clearance - 1e-6
    # The path before still fulfils the instruction.
    final = replace(new.scene, robot=Pose.planar(*before.path[-1]))
    assert APARTMENT.goals.goal(new.instruction, new.scene).satisfied(final)


def check_sb(base, where, new, measures, before, after):
    (moved,) = moved_objects(where, new.scene)
    model = where[moved].model
    first, last = APARTMENT.planner.named(base.instruction)
    assert N.goal_move[0] - 1e-9 <= measures["moved_m"] <= N.goal_move[1] + 1e-9
    assert frechet_distance(before.path, after.path) >= N.other_path
    assert model != first
    final = replace(new.scene, robot=Pose.planar(*before.path[-1]))
    if model == last:
        assert not APARTMENT.goals.goal(new.instruction, new.scene).satisfied(final)
        assert measures["missed_by_m"] >= N.missed_by
    else:
        assert P.furniture[model].mass <= N.carried
        polygon = APARTMENT.planner.shapes.polygon(model, new.scene[moved].pose)
        assert distance_of(before.path, polygon) < P.base.radius
        assert measures["path_before_blocked"] == 1.0


CHECKS = {"L": check_l, "LB": check_lb, "S": check_s, "SB": check_sb}


def run_chain(base, seed):
    """Apply all four in order, without a reset between them, and return the names of those that applied."""
    where, applied = after_success(base), []
    for name in NAMES:
        result = apply(name, base, where, seed)
        if isinstance(result, NotApplicable):
            assert result.reason
            result = apply(name, base, base.scene, seed)
            where = base.scene
        if isinstance(result, Perturbed):
            new = result.instance
            CHECKS[name](base, where, new, *check_common(name, base, where, new))
            applied.append(name)
            where = after_success(new)
    return applied


@pytest.mark.parametrize("seed", [0, *(pytest.param(more, marks=pytest.mark.long) for more in (1, 2))])
@pytest.mark.parametrize("name", ARRANGEMENTS)
def test_all_four_apply_to_every_arrangement(name, seed):
    assert run_chain(arranged(name), seed) == list(NAMES)


@pytest.mark.parametrize("apartments", [range(20), pytest.param(range(20, 120), marks=pytest.mark.long)], ids=len)
def test_what_is_claimed_holds_in_generated_apartments(apartments):
    applied = []
    for seed in apartments:
        applied += run_chain(instance(seed), seed)
    for name in NAMES:
        assert applied.count(name) >= 0.8 * len(apartments)


@examples(20, quick=8)
@given(few_seeds, st.sampled_from(NAMES), seeds)
def test_the_same_generator_gives_the_same_perturbation(base_seed, name, seed):
    base = instance(base_seed)
    assert apply(name, base, base.scene, seed) == apply(name, base, base.scene, seed)


def test_moves_are_small():
    """Seed 000, section 6.2: four perturbed trials cost about one metre together."""
    costs = []
    for name in ARRANGEMENTS:
        base = arranged(name)
        where = base.scene
        total = 0.0
        for symbol in ("S", "SB"):
            new = apply(symbol, base, where).instance
            total += dict(new.proof.measures)["moved_m"]
            where = after_success(new)
        costs.append(total)
    assert 0.5 < np.mean(costs) < 1.2


def test_goals_are_moved_and_things_are_put_in_the_way():
    kinds = set()
    for seed in range(30):
        base = instance(seed)
        result = apply("SB", base, base.scene, seed)
        if isinstance(result, Perturbed):
            (moved,) = moved_objects(base.scene, result.instance.scene)
            kinds.add(base.scene[moved].model == APARTMENT.planner.named(base.instruction)[1])
    assert kinds == {True, False}


@pytest.mark.parametrize("name", NAMES)
def test_the_robot_starts_where_the_base_instance_says_wherever_the_last_trial_left_it(name):
    base = arranged("arrangement_1")
    left = replace(after_success(base), contacts=("couch", "walls"))
    assert left.robot != base.scene.robot
    assert apply(name, base, left).instance.scene.robot == base.scene.robot


def test_a_contrast_set_of_the_arrangements_has_75_trials_each_from_the_start_of_its_base():
    context = StrategyContext(
        APARTMENT,
        tuple(arranged(name) for name in ARRANGEMENTS),
        tuple(ALL.values()),
        3,
        lambda *keys: np.random.default_rng(list("/".join(map(str, keys)).encode())),
        metric=ProgressToGoal.spec,
    )
    run, proposals, answer = ContrastSet().run(context), [], None
    while True:
        try:
            step = run.send(answer)
        except StopIteration:
            break
        assert isinstance(step, Proposal), step
        proposals.append(step)
        answer = Completed(result_of_success(APARTMENT, step.instance, context.metric), 0.0)
    assert len(proposals) == 75
    for step in proposals:
        assert step.instance.scene.robot == arranged(step.base_id).scene.robot
        assert (step.instance.proof is None) == (step.perturbation == "base")


def test_an_instruction_that_is_not_of_the_grammar_cannot_be_reworded():
    base = arranged("arrangement_1")
    odd = replace(base, instruction=replace(base.instruction, text="over to the books, via the greens"))
    for name in ("L", "LB"):
        result = apply(name, odd, base.scene)
        assert isinstance(result, NotApplicable)
        assert "does not know this sentence" in result.reason


def test_where_there_is_no_way_nothing_applies_and_the_reason_is_said():
    base = arranged("arrangement_1")
    # Somebody has put the couch where the robot starts.
    x, y = base.scene.robot.xy
    shut = base.scene.moved("couch", Pose.planar(x, y))
    for name in NAMES:
        result = apply(name, base, shut)
        assert isinstance(result, NotApplicable)
        assert "the robot starts 0.00 m from furniture" in result.reason


def test_where_nothing_else_is_there_the_scene_and_the_goal_cannot_be_changed():
    where = scene((1.0, 2.5, 0.0), lamp=(3.0, 2.0, 0.0), couch=(5.5, 2.5, 3.1416))
    instruction = APARTMENT.language.parse("Drive past the lamp, then stop at the couch", where)
    base = APARTMENT.make_instance("bare", instruction, where)
    for name, says in (("LB", "no other place"), ("S", "no object to move")):
        result = apply(name, base, where)
        assert isinstance(result, NotApplicable)
        assert says in result.reason


def test_each_names_itself_and_what_it_changes():
    for name, perturbation in ALL.items():
        assert (perturbation.name, perturbation.symbol, perturbation.axes) == (name, f"Δ{name}", name)
        assert perturbation.description


def test_a_perturbation_supports_its_own_kind_of_task_alone():
    for perturbation in ALL.values():
        assert perturbation.supports(APARTMENT)
        assert not perturbation.supports(EIGHT)
        assert not perturbation.supports(LineTask())
    for perturbation in LANGUAGE_TABLE.values():
        assert perturbation.supports(EIGHT)
        assert not perturbation.supports(APARTMENT)


@pytest.mark.parametrize(
    ("session", "known", "other", "task"),
    [
        ("locobot_vln", "[L, LB, S, SB]", "[L, LB1]", "studio_apartment"),
        ("language_table_contrast", "[LB1, SB1, LB2, SB2]", "[LB1, S]", "language_table"),
    ],
)
def test_a_session_with_the_other_tasks_perturbation_is_refused(session, known, other, task, tmp_path):
    text = resolve_uri(f"package://robocontrast_ros/config/sessions/{session}.yaml").read_text("utf-8")
    assert known in text
    path = tmp_path / "session.yaml"
    path.write_text(text.replace(known, other), encoding="utf-8")
    with pytest.raises(ConfigurationError, match=f"perturbations that task '{task}' supports") as caught:
        resolve(path)
    assert caught.value.key == "strategy.perturbations"
    assert repr(other[1:-1].split(", ")[1]) in str(caught.value)
