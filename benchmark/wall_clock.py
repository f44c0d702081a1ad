"""Sessions in lockstep and again on the wall clock in an emulated laboratory, trial by trial.

Each session is run twice: in lockstep, in one process (the same trials as in the graph, to the last bit), and as a
whole graph on the wall clock with the real robot's file, where driver and cameras are those of
``test/support/emulated_lab.py``: the actions and topics of the real driver under their real names, joint states or
odometry at its rate, images, everything stamped with the system clock, and an arm that is sent to its start by
commands. Pairs are trials of the same test instance, perturbation and repeat. Two controls stand beside the learned
policies: the oracle, which sees the scene and makes up for what went otherwise, and the same session on the wall clock
twice. The sessions' own sizes take hours; ``--instances`` and ``--repeats`` say how much of them is run.

    python -m benchmark.wall_clock --json          (--sessions board_franka --instances 1)
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from robocontrast_ros.analysis.rescoring.recorded_trials import find_recorded
from robocontrast_ros.analysis.rescoring.scores_from_bags import score_recorded
from robocontrast_ros.bags.reader import read_bag
from robocontrast_ros.domain import BASE, NANOSECONDS
from robocontrast_ros.messages.decoding import stamp_from_msg
from robocontrast_ros.runs.events import TrialFinished, TrialVoid
from robocontrast_ros.runs.journal import read_journal
from robocontrast_ros.sessions.fast_mode import open_bench
from robocontrast_ros.sessions.loop import run_session
from robocontrast_ros.sessions.overrides import Overrides
from robocontrast_ros.sessions.resolving import ResolvedSession, resolve
from robocontrast_ros.statistics.clusters import paired_difference
from robocontrast_ros.statistics.estimate import Estimate
from robocontrast_ros.system.numerics import pin

SUPPORT = Path(__file__).resolve().parents[1] / "test" / "support"
sys.path.insert(0, str(SUPPORT))

from domains import own_domain  # noqa: E402
from laboratory import WORLD, laboratory, real_robot  # noqa: E402

SCORES = ("success", "progress")
QUANTILES = (0.5, 0.95)
SILENT_PERIODS = 50.0
"""Control periods of silence between rollout and watchdog after which a trial is void."""
LONGEST = 1800.0
"""Time limit of a session [s]: one whose robot was stopped waits for a person to release it."""


@dataclass(frozen=True)
class Compared:
    """A session that is run twice.

    Attributes:
        session: its file's name.
        robot: that acts in lockstep; on the wall clock the real one of its name does.
        policy: that is evaluated.
        families: of its test instances; empty for the session's own.
        repeated: whether it has repeats of its own, of which ``--repeats`` are run.
        after: the comparison whose run on the wall clock takes the place of lockstep; empty for none.
    """

    session: str
    robot: str
    policy: str
    families: tuple[str, ...] = ()
    repeated: bool = False
    after: str = ""


SESSIONS = {
    "board_franka": Compared("language_table_demo", "franka", "film_bc_state"),
    "board_franka_oracle": Compared("language_table_demo", "franka", "oracle"),
    "board_ur5e": Compared("language_table_demo", "ur5e", "film_bc_state"),
    "board_ur5e_again": Compared("language_table_demo", "ur5e", "film_bc_state", after="board_ur5e"),
    "board_ur5e_oracle": Compared("language_table_demo", "ur5e", "oracle"),
    "rooms": Compared("locobot_vln", "locobot", "vln_modular", ("arrangement_1",), repeated=True),
    "table": Compared("tabletop_demo", "franka_hand", "tabletop_state"),
}


def settings_of(compared: Compared, instances: int, repeats: int) -> dict[str, Any]:
    """Return the settings of a session, however time passes."""
    found: dict[str, Any] = {"robot": compared.robot, "policy": compared.policy, "test_set.size": instances}
    if compared.families:
        found |= {"test_set.families": list(compared.families), "test_set.size": len(compared.families)}
    return found | ({"repeats": repeats} if compared.repeated else {})


def resolved(compared: Compared, settings: dict[str, Any], output: Path) -> ResolvedSession:
    """Return a session with settings."""
    return resolve(compared.session, Overrides(settings=settings, output=str(output)))


def in_lockstep(compared: Compared, settings: dict[str, Any], folder: Path) -> Path:
    """Run a session in one process and return its journal."""
    session, journal = resolved(compared, settings, folder), folder / "lockstep.jsonl"
    bench = open_bench(session)
    try:
        run_session(session.evaluation(), bench, journal)
    finally:
        bench.close()
    return journal


def on_the_wall_clock(
    compared: Compared, settings: dict[str, Any], folder: Path, camera_rate: float
) -> tuple[Path, dict[str, Any]]:
    """Run a session in the laboratory; return its run folder, and what the laboratory did."""
    settings = settings | {f"world.{key}": value for key, value in WORLD.items()}
    # Whether the watchdog is in time, stop_times measures; a busy machine must not end a comparison.
    settings |= {"watchdog.rollout": SILENT_PERIODS, "robot": real_robot(compared.robot, folder)}
    words = [word for key, value in settings.items() for word in ("--set", f"{key}={json.dumps(value)}")]
    environment = os.environ | {"PYTHONPATH": str(SUPPORT)}
    with own_domain(), laboratory(resolved(compared, settings, folder), folder, camera_period=1.0 / camera_rate) as lab:
        command = [str(Path(sys.executable).parent / "robocontrast"), "evaluate", compared.session, *words]
        command += ["--output", str(folder / "runs")]
        done = subprocess.run(
            command,
            env=environment | dict(os.environ),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LONGEST,
        )
        if done.returncode:
            raise RuntimeError(f"the session ended with {done.returncode}:\n{done.stdout[-3000:]}")
    return run_in(folder), lab


def run_in(folder: Path) -> Path:
    """Return the run on the wall clock of a comparison's folder."""
    return next((folder / "runs").iterdir())


def trials_of(journal: Path) -> dict[tuple[str, str, int], TrialFinished]:
    """Return the trials that count, by test instance, perturbation and repeat."""
    done = (event for event in read_journal(journal).events if isinstance(event, TrialFinished))
    return {(e.trial.base_id, e.trial.perturbation or BASE, e.trial.repeat): e for e in done}


def compare(compared: Compared, instances: int, repeats: int, camera_rate: float, folder: Path) -> dict[str, Any]:
    """Run a session in both ways and return what came out."""
    # Of one that was interrupted.
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    settings = settings_of(compared, instances, repeats)
    if compared.after:
        journal = run_in(folder.parent / compared.after) / "journal.jsonl"
    else:
        journal = in_lockstep(compared, settings, folder)
    return outcome_of(compared, journal, *on_the_wall_clock(compared, settings, folder, camera_rate), camera_rate)


def outcome_of(compared: Compared, journal: Path, run: Path, lab: dict[str, Any], camera_rate: float) -> dict[str, Any]:
    """Return what came out of the journal to compare with, the run on the wall clock, and the laboratory."""
    lockstep, wall = trials_of(journal), trials_of(run / "journal.jsonl")
    rows = []
    for key in sorted(lockstep.keys() & wall.keys()):
        pair = (lockstep[key].result, wall[key].result)
        rows.append(
            {
                **dict(zip(("base_id", "perturbation", "repeat"), key, strict=True)),
                **{name: [result.scores[name] for result in pair] for name in (*SCORES, "path_length")},
                "steps": [result.steps for result in pair],
                "outcome": [result.outcome.name.lower() for result in pair],
                "fault": [result.fault.name for result in pair],
            }
        )
    voids = [e for e in read_journal(run / "journal.jsonl").events if isinstance(e, TrialVoid)]
    scored = list(score_recorded(find_recorded([run])))
    return {
        "session": compared.session,
        "robot": compared.robot,
        "policy": compared.policy,
        "after": compared.after,
        "trials": rows,
        "unpaired": [len(lockstep.keys() - wall.keys()), len(wall.keys() - lockstep.keys())],
        "void": sorted(e.fault.name for e in voids),
        "rescored_equal": sum(score.equal for score in scored),
        "rescored": len(scored),
        "pacing": pacing_of(run),
        "lab": {
            **{key: lab[key] for key in ("real_time_factor", "played", "images", "images_missed", "taken")},
            "camera_rate": camera_rate,
            "rates": {topic: count / lab["seconds"] for topic, count in lab["published"].items()},
        },
    }


def pacing_of(run: Path) -> dict[str, list[float]]:
    """Return quantiles of the times of a run's control steps, from its bags [s].

    ``period`` is from one observation to the next, ``observed`` from an observation's stamp to when the rollout had it,
    ``commanded`` from that stamp to the command that answers it, as the recorder received them; only trajectories are
    stamped.
    """
    period: list[float] = []
    ages: dict[str, list[float]] = {"tool_pose": [], "joint_trajectory": []}
    for bag in sorted((run / "bags").iterdir()):
        before = None
        for message in read_bag(bag, lambda topic, _: topic.rpartition("/")[2] in ages).messages:
            stamp, kind = stamp_from_msg(message.decode().header.stamp), message.topic.rpartition("/")[2]
            ages[kind].append((message.timestamp - stamp) / NANOSECONDS)
            if kind == "tool_pose":
                period += [] if before is None else [(stamp - before) / NANOSECONDS]
                before = stamp
    found = {"period": period, "observed": ages["tool_pose"], "commanded": ages["joint_trajectory"]}
    return {name: np.quantile(times, QUANTILES).tolist() for name, times in found.items() if times}


def difference(found: dict[str, Any], name: str) -> Estimate:
    """Return the mean difference of a score, wall clock minus lockstep, with its interval over test instances."""
    lockstep, wall = zip(*(row[name] for row in found["trials"]), strict=True)
    return paired_difference(wall, lockstep, [row["base_id"] for row in found["trials"]])


def show(results: dict[str, dict[str, Any]]) -> None:
    """Print a table."""
    head = ("session", "robot", "policy", "pairs", "score", "first", "wall clock", "difference", "real-time factor")
    table = Table(*head)
    for found in results.values():
        for name in SCORES:
            means = [sum(row[name][k] for row in found["trials"]) / len(found["trials"]) for k in (0, 1)]
            estimate = difference(found, name)
            ends = "" if estimate.low is None else f" [{estimate.low:+.2f}, {estimate.high:+.2f}]"
            table.add_row(
                found["session"],
                found["robot"],
                found["policy"],
                str(len(found["trials"])),
                name,
                *(f"{mean:.2f}" for mean in means),
                f"{estimate.mean:+.2f}{ends}",
                f"{found['lab']['real_time_factor']:.3f}",
            )
    Console().print(table)


def main() -> None:
    """Run the sessions and print what came out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", nargs="+", choices=SESSIONS, default=list(SESSIONS))
    parser.add_argument("--instances", type=int, default=3, help="test instances of a session with families of its own")
    parser.add_argument("--repeats", type=int, default=1, help="of a session that repeats its trials")
    parser.add_argument("--camera-rate", type=float, default=15.0, help="of each camera [Hz]")
    parser.add_argument("--json", action="store_true", help="print numbers instead of a table")
    parser.add_argument("--keep", type=Path, help="folder with runs and bags, where it goes on; else a temporary one")
    arguments = parser.parse_args()
    for name in arguments.sessions:
        if (after := SESSIONS[name].after) and after not in arguments.sessions:
            parser.error(f"--sessions: {name} is compared with {after}; name that, too")
    # As in every process of a session.
    pin(os.environ)
    with tempfile.TemporaryDirectory() as temporary:
        work = (arguments.keep or Path(temporary)).resolve()
        results = {}
        for name in (name for name in SESSIONS if name in arguments.sessions):
            print(f"{name} …", file=sys.stderr)
            kept = work / f"{name}.json"
            if not kept.exists():
                sizes = (arguments.instances, arguments.repeats, arguments.camera_rate)
                kept.write_text(json.dumps(compare(SESSIONS[name], *sizes, work / name)))
            results[name] = json.loads(kept.read_text())
    if arguments.json:
        print(json.dumps({"seed": 7, "sessions": results}))
    else:
        show(results)


if __name__ == "__main__":
    main()
