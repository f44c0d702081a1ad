"""How each result is made: its command, what it depends on, how long it takes.

To add one, write it here; ``make docs`` (or ``make docs-all``) then makes ``docs/results/NAME.json``, and a document
shows it with an expression (``rendering``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import partial
from pathlib import Path

from scripts.documents import making
from scripts.documents.making import Made
from scripts.documents.pictures import OF_STUDY


class Pace(IntEnum):
    """How long a command takes on one idle core, and so where it is run."""

    QUICK = 0
    """Under a minute: run again in every test run, and compared."""
    DOCS = 1
    """Under five minutes: by ``make docs``."""
    LONG = 2
    """Longer: by ``make docs-all``."""


GOLDEN = tuple(f"config/golden/{name}*.json" for name in ("language_table", "locobot", "study"))
"""Digests of trials, which stand for the behaviour of the code."""

BOARD = (
    *GOLDEN,
    "config/tasks/language_table.yaml",
    "config/robots/franka.yaml",
    "models/language_table/*.xml",
)
STATE = ("config/policies/film_bc_state.yaml", "models/film_bc/state.pt")
SIGHT = ("config/policies/film_bc.yaml", "models/film_bc/pixels.pt", "models/film_bc/keypoints.pt")
ROOM = (
    *GOLDEN,
    "config/tasks/studio_apartment.yaml",
    "config/robots/locobot.yaml",
    "models/apartment/*.xml",
)
MODULAR, RANDOM_MOVES, PATH = (f"config/policies/vln_{name}.yaml" for name in ("modular", "random", "oracle"))
OBJECTS = tuple(f"robocontrast_ros/objects/{name}.py" for name in ("font", "mjcf", "shapes", "textures"))
ORACLE = ("config/policies/oracle.yaml",)
UR5E = "config/robots/ur5e.yaml"
TABLE = (
    "config/golden/tabletop_oracle.json",
    "config/grippers/*.yaml",
    "config/objects/*.yaml",
    "config/policies/tabletop_oracle.yaml",
    "config/robots/*_hand.yaml",
    "config/robots/ur5e_2f85.yaml",
    "config/tasks/tabletop.yaml",
    "models/tabletop.xml",
)
HANDLING = (*TABLE, "benchmark/tabletop_oracle.py", "config/policies/tabletop_blind.yaml")
PERTURBED_TABLE = (*TABLE, "config/golden/tabletop_demo.json")
CLUTTERED_TABLE = (
    *PERTURBED_TABLE,
    "config/tasks/tabletop_clutter.yaml",
    "robocontrast_ros/images/congestion.py",
    "robocontrast_ros/objects/views.py",
    "robocontrast_ros/perturbations/distractors.py",
    "robocontrast_ros/tasks/tabletop/clutter.py",
)
KITCHEN = (
    *TABLE,
    "config/kitchen/*.pddl",
    "config/kitchen/*/*.yaml",
    "config/kitchen/types.yaml",
    "config/objects/kitchen/*.yaml",
    "config/policies/kitchen_oracle.yaml",
    "config/tasks/kitchen.yaml",
    "models/kitchen.xml",
    "robocontrast_ros/policies/baselines/kitchen/*.py",
    *(
        f"robocontrast_ros/tasks/kitchen/{name}.py"
        for name in ("drawing", "goals", "library", "parameters", "planner", "predicates", "task")
    ),
)
SHIFTED = (
    *KITCHEN,
    "config/kitchen/modifications.yaml",
    "config/policies/kitchen_*state.yaml",
    "config/policies/kitchen_blind.yaml",
    "models/kitchen_bc*/*.pt",
    "robocontrast_ros/tasks/bddl/modifications.py",
    "robocontrast_ros/tasks/kitchen/modifying.py",
)
SEEN_IN_KITCHEN = (
    *KITCHEN,
    "config/policies/kitchen_camera.yaml",
    "models/kitchen_bc/network.pt",
    "models/kitchen_camera/sight.pt",
)
SUITE = (
    *KITCHEN,
    "config/policies/suite_oracle.yaml",
    "config/suite/*.yaml",
    "config/tasks/tabletop_suite.yaml",
    "robocontrast_ros/policies/baselines/suite/*.py",
    "robocontrast_ros/tasks/composed.py",
    *(f"robocontrast_ros/tasks/suite/{name}.py" for name in ("goals", "planner", "predicates", "task")),
)
LEARNED_ON_SUITE = ("config/policies/suite_state.yaml", "models/suite_bc/*.pt")
STATE_ON_TABLE = ("config/policies/tabletop_state.yaml", "models/tabletop_bc/*.pt")
SIGHT_ON_TABLE = ("config/policies/tabletop_camera.yaml", "models/tabletop_bc/*.pt")


@dataclass(frozen=True)
class Recipe:
    """How a result is made.

    Attributes:
        name: of the file ``docs/results/NAME.json``.
        pace: how long the command takes.
        command: what is typed; where a result depends on another, with its values in braces.
        make: runs the command in a folder of its own; an interrupted one continues there.
        inputs: patterns of the files that it depends on.
        pictures: the files that it draws.
        small: what is added to the command to try it on a few trials.
        small_of: what takes the place of the command then.
    """

    name: str
    pace: Pace
    command: str
    make: Callable[[str, Path], Made]
    inputs: tuple[str, ...]
    pictures: tuple[str, ...] = ()
    small: str = ""
    small_of: str = ""

    @property
    def small_command(self) -> str:
        """The command for a few trials."""
        return f"{self.small_of or self.command} {self.small}".strip()


def _session(name: str, pace: Pace, command: str, inputs: tuple[str, ...], small: str = "--max-trials 6") -> Recipe:
    file = f"config/sessions/{command.split()[2]}.yaml"
    return Recipe(name, pace, command, making.session, (*inputs, file), small=small)


def _handling(name: str, arguments: str) -> Recipe:
    command = f"python -m benchmark.tabletop_oracle {arguments} --json"
    return Recipe(name, Pace.LONG, command, making.printed, HANDLING, small="--scenes 1 --families pick")


def _held_out(name: str, pace: Pace, arguments: str, inputs: tuple[str, ...]) -> Recipe:
    found = _session(name, pace, f"robocontrast evaluate {arguments}", inputs)
    return replace(found, make=partial(making.session, columns=(*making.COLUMNS, "family")))


def _on_table(name: str, arguments: str, inputs: tuple[str, ...]) -> Recipe:
    found = _held_out(name, Pace.LONG, f"tabletop_contrast --fast {arguments}", (*PERTURBED_TABLE, *inputs))
    return replace(found, small="--max-trials 6 --size 5")


def _with_overview(recipe: Recipe, picture: str) -> Recipe:
    """Return the recipe of a held-out session that draws the run's overview, too."""
    return replace(recipe, make=making.session_with_overview(picture, (*making.COLUMNS, "family")), pictures=(picture,))


def _controls(policy: str, inputs: tuple[str, ...]) -> tuple[Recipe, ...]:
    """Return the blind-language controls of a policy on the table, in the base trials of the first instances."""
    return tuple(
        _on_table(
            f"{policy}_{words}",
            f"--policy {policy}_{words} --strategy standard --size 200",
            (*inputs, f"config/policies/{policy}_{words}.yaml"),
        )
        for words in ("no_words", "other_words")
    )


def _study(name: str, inputs: tuple[str, ...], small_of: str) -> Recipe:
    return Recipe(
        f"study_{name}",
        Pace.LONG,
        f"robocontrast study {name} --processes 2",
        making.study,
        (*inputs, f"config/studies/{name}.yaml"),
        tuple(f"docs/images/study_{picture}.png" for picture in OF_STUDY[name]),
        small_of=small_of,
    )


def _on_suite(policy: str, inputs: tuple[str, ...] = (), some: bool = False) -> Recipe:
    """Return a run of every task of the suite with a policy, or of as many drawn ones of each difficulty."""
    name = f"suite_{policy.removeprefix('suite_')}"
    drawn = " --set test_set.families=[simple,moderate,complex] --size 30" if some else ""
    found = _held_out(name, Pace.LONG, f"tabletop_suite --fast --policy {policy}{drawn}", (*SUITE, *inputs))
    kept = (*making.COLUMNS, "family", "problem", "score")
    return replace(found, make=partial(making.session, columns=kept), small="--size 6")


def _told(session: str, size: int, inputs: tuple[str, ...]) -> Recipe:
    """Return the check of what a session's policy understands, over so many test instances."""
    found = _session(session, Pace.LONG, f"robocontrast evaluate {session} --fast --size {size}", inputs)
    return replace(found, name=f"understood_{session}", make=making.understanding, small="--size 1")


OVERVIEW = "docs/images/overview.png"
PROMPTED_LEVELS = "docs/images/prompted_levels.png"
ASKED = "docs/images/tabletop_asked.png"
OVERVIEW_ON_TABLE = "docs/images/tabletop_overview.png"

STOPPING = (
    "benchmark/stop_times.py",
    "config/fast_dds.xml",
    "config/fast_dds_loopback.xml",
    "config/robots/franka.yaml",
    "config/robots/franka_real.yaml",
    "config/robots/locobot_real.yaml",
    "config/robots/ur5e_real.yaml",
    "robocontrast_ros/episodes/watch.py",
    "robocontrast_ros/nodes/rollout/drivers/*.py",
    "robocontrast_ros/nodes/rollout/guard.py",
    "robocontrast_ros/nodes/runtime/middleware.py",
    "robocontrast_ros/nodes/watchdog_node.py",
    "test/support/emulated_controllers.py",
    "test/support/wall_clock_line.py",
)

CHANGES = "docs/images/kitchen_changes.jpg"
CAMERA_SCENES = "docs/images/camera_judge.jpg"
CLUTTER_BINS = "docs/images/clutter_bins.png"

RECIPES = (
    Recipe(
        "stop_times",
        Pace.LONG,
        "python -m benchmark.stop_times --trials 20 --port-trials 4 --sessions 4 --minutes 1",
        making.measurement,
        STOPPING,
        small="--trials 3 --port-trials 1 --sessions 1 --minutes 0.1",
    ),
    Recipe(
        "demo",
        Pace.QUICK,
        "robocontrast evaluate language_table_demo --fast",
        making.session_with_overview(OVERVIEW),
        (*BOARD, *STATE, "config/sessions/language_table_demo.yaml"),
        (OVERVIEW,),
        "--max-trials 12",
    ),
    _session(
        "beside_film_bc_state",
        Pace.DOCS,
        "robocontrast evaluate language_table_beside --fast",
        (*BOARD, *STATE),
    ),
    _session(
        "beside_oracle",
        Pace.DOCS,
        "robocontrast evaluate language_table_beside --fast --policy oracle",
        (*BOARD, *ORACLE),
    ),
    # Written down before any of these trials was run: does the learned policy solve ΔLB1 less often than the instances'
    # own base trials, as in the 40 instances of seed 101? One question, about success, answered by the 95 % interval
    # of the paired difference; 100 instances of the next seed; the oracle on the same instances is the control. The
    # answer is shown however it comes out.
    _session(
        "beside_again",
        Pace.DOCS,
        "robocontrast evaluate language_table_beside --fast --set seed=102 --set test_set.size=100",
        (*BOARD, *STATE),
    ),
    _session(
        "beside_again_oracle",
        Pace.DOCS,
        "robocontrast evaluate language_table_beside --fast --set seed=102 --set test_set.size=100 --policy oracle",
        (*BOARD, *ORACLE),
    ),
    _session(
        "beside_listed",
        Pace.DOCS,
        "robocontrast evaluate language_table_beside --fast --set strategy.perturbations=[LB1,LB2,SB1,SB2]",
        (*BOARD, *STATE),
    ),
    _session(
        "going_back",
        Pace.DOCS,
        "robocontrast evaluate language_table_beside --fast --set test_set.families=[block_to_block,separate_blocks]",
        (*BOARD, *STATE),
    ),
    _session(
        "beside_film_bc",
        Pace.LONG,
        "robocontrast evaluate language_table_beside --fast --policy film_bc",
        (*BOARD, *SIGHT),
    ),
    # Sessions, seed 201 and sizes were written down before any of these trials was run, here and of navigation. They
    # describe the shipped policies and ask no question of one perturbation; they are shown however they come out.
    _held_out("film_bc", Pace.LONG, "language_table_held_out --fast --policy film_bc", (*BOARD, *SIGHT)),
    _held_out("film_bc_state", Pace.DOCS, "language_table_held_out --fast", (*BOARD, *STATE)),
    _held_out("oracle", Pace.DOCS, "language_table_held_out --fast --policy oracle", (*BOARD, *ORACLE)),
    _held_out(
        "random",
        Pace.DOCS,
        "language_table_held_out --fast --policy random --strategy standard --size 100",
        (*BOARD, "config/policies/random.yaml"),
    ),
    _held_out(
        "film_bc_ur5e",
        Pace.DOCS,
        "language_table_held_out --fast --policy film_bc --robot ur5e --strategy standard --size 20",
        (*BOARD, *SIGHT, UR5E),
    ),
    _held_out(
        "film_bc_state_ur5e",
        Pace.DOCS,
        "language_table_held_out --fast --robot ur5e --strategy standard --size 20",
        (*BOARD, *STATE, UR5E),
    ),
    _held_out(
        "oracle_ur5e",
        Pace.DOCS,
        "language_table_held_out --fast --policy oracle --robot ur5e --strategy standard",
        (*BOARD, *ORACLE, UR5E),
    ),
    # Written down before any of these trials was run: does the learned policy solve fewer trials the longer its answers
    # take? One question, about success, answered by the 95 % interval of the slope over 0 to 1.6 s; seed 701, 60
    # instances; the base trials, in which the world waits, are the control. The answer is shown however it comes out.
    _session(
        "latency",
        Pace.LONG,
        "robocontrast evaluate language_table_latency --fast",
        (*BOARD, *STATE, "robocontrast_ros/observations/thinking.py"),
    ),
    Recipe(
        "noisy_oracle",
        Pace.DOCS,
        "robocontrast evaluate language_table_contrast --fast --robot ur5e",
        making.session,
        (
            *BOARD,
            "config/policies/noisy_oracle.yaml",
            UR5E,
            "config/sessions/language_table_contrast.yaml",
        ),
        small="--max-trials 12",
    ),
    _session(
        "vln",
        Pace.DOCS,
        "robocontrast evaluate locobot_vln --fast",
        (*ROOM, MODULAR),
        "--max-trials 13",
    ),
    _held_out("navigation_modular", Pace.LONG, "navigation_held_out --fast", (*ROOM, MODULAR)),
    _held_out("navigation_oracle", Pace.DOCS, "navigation_held_out --fast --policy vln_oracle", (*ROOM, PATH)),
    _held_out(
        "navigation_random",
        Pace.DOCS,
        "navigation_held_out --fast --policy vln_random --strategy standard",
        (*ROOM, RANDOM_MOVES),
    ),
    # Claims are decided when they are rendered: a change of their file asks for no trial.
    _study(
        "language_table",
        (*BOARD, *STATE, *ORACLE, "config/policies/direction_biased.yaml"),
        small_of="robocontrast study language_table_small --processes 2",
    ),
    _study("navigation", (*ROOM, MODULAR, PATH), small_of="robocontrast study navigation_small --processes 2"),
    # Seeds 0 to 199 of each skill were written down before any of these trials was run; 0 to 19 for the control.
    _handling("tabletop_franka_hand", "franka_hand"),
    _handling("tabletop_ur5e_2f85", "ur5e_2f85"),
    _handling("tabletop_blind", "franka_hand --policy tabletop_blind --scenes 20"),
    Recipe(
        "kitchen_skills",
        Pace.LONG,
        "python -m benchmark.kitchen_skills --robot franka_hand ur5e_2f85 --json",
        making.printed_and_kept,
        (*KITCHEN, "benchmark/kitchen_skills.py"),
        small="--draws 1 --skills kitchen_1_open_top_drawer kitchen_3_turn_on_stove",
    ),
    # Written down before the policy was there: does tabletop_state solve ΔLB (another thing or place is asked for) and
    # ΔSB (what is named stands elsewhere, or the way is blocked) less often than the instances' own base trials? Two
    # questions, about success, each answered by the 95 % interval of its paired difference; 100 instances; the oracle
    # on the same instances is the control. They were answered once, with seed 302; then ΔLB was corrected, which had
    # asked for another skill in 55 of 100 instances, and the policy's motion network was trained again, so that they
    # are asked again, of the next seed, which was written down before any of its trials was run. Both answers are
    # shown however they come out.
    _with_overview(
        _on_table("tabletop_asked", "--policy tabletop_state --set seed=303 --size 100", STATE_ON_TABLE), ASKED
    ),
    _on_table("tabletop_asked_oracle", "--policy tabletop_oracle --set seed=303 --size 100", ()),
    # Session, seed 301 and sizes were written down before any of these trials was run and before the policies were
    # there. They describe the shipped policies, with the oracle, the blind-language controls and the other arm beside;
    # they ask no question of one perturbation, and are shown however they come out.
    _with_overview(_on_table("tabletop_state", "--policy tabletop_state", STATE_ON_TABLE), OVERVIEW_ON_TABLE),
    # Perturbations were written down for the camera's 500 instances, too; a trial with two cameras takes 4 s, so that
    # they were cut to the first 100, when 35 had been run and before any of their outcomes was looked at.
    _on_table("tabletop_camera", "--policy tabletop_camera --strategy standard", SIGHT_ON_TABLE),
    _on_table("tabletop_camera_perturbed", "--policy tabletop_camera --size 100", SIGHT_ON_TABLE),
    _on_table("tabletop_oracle", "--policy tabletop_oracle", ()),
    *_controls("tabletop_state", STATE_ON_TABLE),
    *_controls("tabletop_camera", SIGHT_ON_TABLE),
    *_controls("tabletop_oracle", ())[1:],  # without words it does nothing
    _on_table(
        "tabletop_state_ur5e_2f85",
        "--policy tabletop_state --robot ur5e_2f85 --strategy standard --size 200",
        STATE_ON_TABLE,
    ),
    _on_table(
        "tabletop_camera_ur5e_2f85",
        "--policy tabletop_camera --robot ur5e_2f85 --strategy standard --size 200",
        SIGHT_ON_TABLE,
    ),
    _study(
        "tabletop",
        (*PERTURBED_TABLE, *STATE_ON_TABLE, "config/policies/tabletop_state_other_words.yaml"),
        small_of="robocontrast study tabletop_small --processes 2",
    ),
    _study(
        "clutter",
        (
            *CLUTTERED_TABLE,
            *SIGHT_ON_TABLE,
            *(f"config/policies/tabletop_{name}.yaml" for name in ("state", "state_without", "state_no_words")),
            "config/policies/tabletop_camera_without.yaml",
            "models/tabletop_bc_without/*.pt",
        ),
        small_of="robocontrast study clutter_small --processes 2",
    ),
    # Seeds, sizes and claims were written down before any of these trials was run, and before the policy that learned
    # with modified scenes was there. Whole sessions of chains and of the size of what is seen are shown however they
    # come out; kitchen_c1 of the oracle has two instances of each skill, so that it can show no shift within 0.05.
    _study(
        "observation_shift",
        SHIFTED,
        small_of="robocontrast study observation_shift_small --processes 2",
    ),
    *(
        replace(
            _session(
                f"kitchen_c3_{policy}",
                Pace.LONG,
                f"robocontrast evaluate kitchen_c3 --fast --policy kitchen_{policy} --size 40",
                SHIFTED,
            ),
            make=making.shift,
        )
        for policy in ("state", "modified_state", "oracle", "blind")
    ),
    replace(
        _session(
            "kitchen_c2_state", Pace.LONG, "robocontrast evaluate kitchen_c2 --fast --policy kitchen_state", SHIFTED
        ),
        make=making.shift,
    ),
    replace(
        _session(
            "kitchen_c1_camera",
            Pace.LONG,
            "robocontrast evaluate kitchen_c1 --fast --policy kitchen_camera --size 88",
            (*SHIFTED, *SEEN_IN_KITCHEN),
        ),
        make=making.shift,
    ),
    replace(
        _session("", Pace.LONG, "robocontrast evaluate kitchen_skills --fast --policy kitchen_camera", SEEN_IN_KITCHEN),
        name="kitchen_skills_camera",
    ),
    Recipe(
        "kitchen_c1_state",
        Pace.LONG,
        "robocontrast evaluate kitchen_c1 --fast --policy kitchen_state --size 132",
        making.shift_with_sizes(CHANGES),
        (*SHIFTED, "config/sessions/kitchen_c1.yaml"),
        (CHANGES,),
        small_of="robocontrast evaluate kitchen_c1 --fast --policy kitchen_state --size 4",
    ),
    # Sessions and studies, with seeds, sizes and claims, were written down before any of these trials was run, and
    # before suite_state was trained. They describe the policies, with the oracle and two controls beside, and are shown
    # however they come out.
    Recipe(
        "suite_tasks",
        Pace.LONG,
        "python -m benchmark.suite_tasks --robot franka_hand ur5e_2f85 --json",
        making.printed_and_kept,
        (*SUITE, "benchmark/suite_tasks.py"),
        small="--draws 1 --tasks stove/*",
    ),
    _on_suite("suite_oracle"),
    _on_suite("suite_state", LEARNED_ON_SUITE),
    _on_suite("tabletop_state", STATE_ON_TABLE, some=True),
    _on_suite("suite_blind", ("config/policies/suite_blind.yaml",), some=True),
    _on_suite("hand_random", ("config/policies/hand_random.yaml",), some=True),
    _study(
        "difficulty",
        (*SUITE, *LEARNED_ON_SUITE),
        small_of="robocontrast study difficulty_small --processes 2",
    ),
    _study(
        "camera_distance",
        (*CLUTTERED_TABLE, *SIGHT_ON_TABLE, "robocontrast_ros/perturbations/conditions.py"),
        small_of="robocontrast study camera_distance_small --processes 2",
    ),
    # Sizes were written down before any of these trials was run, such that of 13 perturbations those that change
    # nothing can be shown to be harmless; they are shown however they come out.
    _told("language_table_instructions", 100, (*BOARD, *STATE)),
    _told("navigation_instructions", 40, (*ROOM, MODULAR)),
    _told("tabletop_instructions", 40, (*PERTURBED_TABLE, *STATE_ON_TABLE)),
    # Sessions, seed and fifteen instances a level were written down before any of these trials was run.
    Recipe(
        "understood_prompted",
        Pace.LONG,
        "robocontrast understanding prompted --processes 2 --no-mistakes",
        making.check(PROMPTED_LEVELS),
        (
            *BOARD,
            *ORACLE,
            "config/levels/language_table_split.yaml",
            "config/policies/oracle_sixteen.yaml",
            "config/policies/prompted_*.yaml",
            "config/policies/random.yaml",
            "config/sessions/prompted_*.yaml",
            "config/tasks/language_table_split_*.yaml",
            "config/understanding/prompted.yaml",
            "models/language_table_further/*.xml",
            "models/prompted/*.pt",
        ),
        (PROMPTED_LEVELS,),
        small_of="robocontrast understanding understanding_demo --processes 2",
    ),
    Recipe(
        "tabletop_perturbations",
        Pace.LONG,
        "python -m benchmark.tabletop_perturbations --json",
        making.printed,
        (
            "benchmark/tabletop_perturbations.py",
            "config/objects/*.yaml",
            "config/tasks/tabletop.yaml",
            "models/tabletop.xml",
            "robocontrast_ros/strategies/contrast_set.py",
            "robocontrast_ros/tasks/tabletop/*.py",
        ),
        small="--instances 1 --ordered 1",
    ),
    Recipe(
        "clutter_bins",
        Pace.DOCS,
        "python -m benchmark.clutter_bins --json",
        making.printed_with_picture(CLUTTER_BINS),
        (
            *CLUTTERED_TABLE,
            "benchmark/clutter_bins.py",
            "config/sessions/tabletop_clutter_bins.yaml",
            "robocontrast_ros/perturbations/clutter_bin.py",
        ),
        (CLUTTER_BINS,),
        "--instances 1 --repeats 1",
    ),
    Recipe(
        "ties",
        Pace.DOCS,
        "python -m benchmark.rounding_ties --json",
        making.printed,
        (*BOARD, *STATE, *SIGHT, "config/sessions/language_table_demo.yaml"),
        small="--trials 1",
    ),
    Recipe(
        "coverage",
        Pace.LONG,
        "python -m benchmark.interval_coverage --json",
        making.printed,
        (
            "benchmark/interval_coverage.py",
            "robocontrast_ros/statistics/clusters.py",
            "robocontrast_ros/statistics/decisions.py",
            "robocontrast_ros/statistics/prediction.py",
            "robocontrast_ros/statistics/sequential.py",
        ),
        small="--draws 4",
    ),
    Recipe(
        "wall_clock",
        Pace.LONG,
        "python -m benchmark.wall_clock --instances 2 --json",
        making.measurement,
        (
            *BOARD,
            *STATE,
            *ORACLE,
            UR5E,
            *ROOM,
            MODULAR,
            *PERTURBED_TABLE,
            *STATE_ON_TABLE,
            *(f"config/sessions/{name}.yaml" for name in ("language_table_demo", "locobot_vln", "tabletop_demo")),
            "config/robots/*_real.yaml",
            "benchmark/wall_clock.py",
            "robocontrast_ros/nodes/rollout/drivers/*.py",
            "test/support/emulated_controllers.py",
            "test/support/emulated_lab.py",
            "test/support/laboratory.py",
        ),
        small="--sessions board_franka --instances 1",
    ),
    Recipe(
        "recorder_load",
        Pace.LONG,
        "python -m benchmark.recorder_load --minutes 10 --json",
        making.printed,
        (
            "benchmark/recorder_load.py",
            "robocontrast_ros/bags/recorder.py",
            "robocontrast_ros/bags/writer.py",
            "robocontrast_ros/graph/parameters/recorder.py",
            "robocontrast_ros/nodes/recorder/*.py",
            "robocontrast_ros/nodes/recorder_node.py",
            "robocontrast_ros/nodes/runtime/qos.py",
        ),
        small="--minutes 0.2",
    ),
    Recipe(
        "camera_judge",
        Pace.LONG,
        "python -m benchmark.camera_judge --scenes 200 --first 20000 --json",
        making.printed_with_picture(CAMERA_SCENES),
        (
            "benchmark/camera_judge.py",
            "config/objects/*.yaml",
            "config/robots/franka_hand.yaml",
            "config/robots/ur5e.yaml",
            "config/tasks/language_table.yaml",
            "config/tasks/tabletop.yaml",
            "models/language_table/*.xml",
            "models/tabletop.xml",
            "robocontrast_ros/images/boards.py",
            "robocontrast_ros/perception/*.py",
            "robocontrast_ros/tasks/tabletop/goals.py",
            "robocontrast_ros/worlds/table_camera.py",
        ),
        (CAMERA_SCENES,),
        "--scenes 4",
    ),
    Recipe(
        "carry_over",
        Pace.DOCS,
        "python -m benchmark.carry_over --json",
        making.printed,
        (
            "benchmark/carry_over.py",
            "robocontrast_ros/analysis/estimates/carry_over.py",
            "robocontrast_ros/statistics/change_agreement.py",
        ),
        small="--draws 1",
    ),
    Recipe(
        "sequential_comparison",
        Pace.DOCS,
        "python -m benchmark.sequential_comparison --json",
        making.printed,
        (
            "benchmark/sequential_comparison.py",
            "robocontrast_ros/statistics/sequential.py",
            "robocontrast_ros/statistics/sign_test.py",
        ),
        small="--draws 4",
    ),
    Recipe(
        "rooms_picture",
        Pace.QUICK,
        "make docs",
        making.rooms,
        ROOM,
        ("docs/images/studio_apartment.png",),
    ),
    Recipe(
        "console_picture",
        Pace.DOCS,
        "make docs",
        making.console_picture,
        (
            "robocontrast_ros/console/page/*",
            "robocontrast_ros/console/table_map.py",
            "robocontrast_ros/console/view.py",
            "scripts/documents/console.py",
        ),
        ("docs/images/console.png",),
    ),
    Recipe(
        "objects_pictures",
        Pace.DOCS,
        "robocontrast objects --picture docs/images/objects.png",
        making.objects_pictures,
        ("config/objects/*.yaml", "models/tabletop.xml", *OBJECTS),
        ("docs/images/objects.png", "docs/images/looks.png"),
    ),
    Recipe(
        "demo_pictures",
        Pace.DOCS,
        "robocontrast evaluate language_table_demo",
        making.demo_pictures,
        (*BOARD, *STATE, "config/sessions/language_table_demo.yaml", "docs/results/demo.json"),
        ("docs/images/trial.png", "docs/images/report.png", "docs/images/report_trial.png"),
        "--max-trials 12",
    ),
    Recipe(
        "two_engines",
        Pace.DOCS,
        "python -m benchmark.two_engines --json",
        making.printed_with_picture("docs/images/two_engines.png"),
        (
            *BOARD,
            "benchmark/two_engines.py",
            "robocontrast_ros/worlds/engines/*.py",
            "robocontrast_ros/worlds/exported/*.py",
            "robocontrast_ros/worlds/following.py",
        ),
        ("docs/images/two_engines.png",),
    ),
    Recipe(
        "tabletop_picture",
        Pace.DOCS,
        "robocontrast evaluate tabletop_oracle --max-trials 1",
        making.first_trial("docs/images/tabletop_trial.png"),
        (*TABLE, "config/sessions/tabletop_oracle.yaml"),
        ("docs/images/tabletop_trial.png",),
    ),
    Recipe(
        "kitchen_picture",
        Pace.DOCS,
        "python -m benchmark.kitchen_skills --draws 0",
        making.printed_with_picture("docs/images/kitchen.jpg"),
        (
            "config/kitchen/scenes/*.yaml",
            "config/kitchen/types.yaml",
            "config/objects/kitchen/*.yaml",
            "models/kitchen.xml",
            "models/tabletop.xml",
            *OBJECTS,
        ),
        ("docs/images/kitchen.jpg",),
    ),
    Recipe(
        "vln_picture",
        Pace.LONG,
        "robocontrast evaluate locobot_vln",
        making.vln_picture,
        (*ROOM, MODULAR, "config/sessions/locobot_vln.yaml", "docs/results/vln.json"),
        ("docs/images/vln_trial.png",),
        "--max-trials 13",
    ),
)
"""In the order in which they are made: a picture after the result that decides which trial it shows."""
