"""Tables, numbers and sentences that documents show; the sentences are true whatever the numbers are.

Every public function may be called in an expression of a document (``rendering``); the first argument is the name of a
result. Intervals are 95 % and are computed here, from rows, by the package's own statistics.
"""

from __future__ import annotations

import gzip
import io
import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache, lru_cache
from importlib import import_module
from operator import itemgetter
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
import polars as pl

from benchmark.suite_tasks import SOLVED
from robocontrast_ros.analysis.estimates.summary import SummaryRow, summary_rows
from robocontrast_ros.analysis.estimates.thinking import LatencyCurve, latency_curves
from robocontrast_ros.analysis.estimates.understanding import Verdict
from robocontrast_ros.analysis.tables.block import Column, TableBlock, plain
from robocontrast_ros.analysis.tables.markdown import markdown
from robocontrast_ros.configuration import load_configured, resolve_uri
from robocontrast_ros.domain import BASE, find_spec
from robocontrast_ros.domain.words import counted
from robocontrast_ros.episodes.scoring import STANDARD_SPECS
from robocontrast_ros.graph.launch_arguments import ARGUMENTS
from robocontrast_ros.observations.thinking import ThinkingTime
from robocontrast_ros.perturbations.observation import FilterParameters, ObservationPerturbation
from robocontrast_ros.robots.drivers import ArmDriver, BaseDriver
from robocontrast_ros.statistics.changes import difference_in_differences
from robocontrast_ros.statistics.clusters import DIFFERENCES, UNIT, cluster_mean, paired_difference
from robocontrast_ros.statistics.estimate import Estimate
from robocontrast_ros.statistics.proportions import clopper_pearson, wilson
from robocontrast_ros.studies import results as study_results
from robocontrast_ros.studies.claims import OURS, Decided
from robocontrast_ros.studies.job import Job, SessionOfStudy
from robocontrast_ros.studies.parameters import Study, load_study
from robocontrast_ros.studies.report import summary as summary_of_study
from robocontrast_ros.tasks.language_table.goals import FAMILIES as OF_BOARD
from robocontrast_ros.tasks.suite.attributes import LABELS
from robocontrast_ros.tasks.suite.task import SHIPPED_SUITE
from robocontrast_ros.tasks.tabletop.parameters import FAMILIES as OF_TABLE
from robocontrast_ros.training.card import validation
from robocontrast_ros.training.kitchen.card import Data as KitchenData
from robocontrast_ros.training.kitchen.card import SightData
from robocontrast_ros.training.kitchen.demonstrations import demonstrated
from robocontrast_ros.training.tabletop.card import Data
from scripts.documents.results import RESULTS, ROOT, Result, read_result

KNOWN_FAMILIES = (*OF_BOARD, *OF_TABLE)
DRAWS_OF_CLUTTER = {
    "set_sizes": "set sizes 1, 2, 4, 8, 16",
    "reference": "set sizes 1 to 12",
    "bins": "bins of DvFC, of 1 to 12",
    "looks": "set sizes 1 to 12, with other looks",
}
"""Draw in the result ``clutter_bins`` -> its words."""


class Source:
    """Where result files are read from."""

    folder: Path = RESULTS


@cache
def _read(folder: Path, name: str) -> Result:
    return read_result(folder / f"{name}.json")


def result(name: str) -> Result:
    """Return a result.

    Raises:
        FileNotFoundError: it was never made.
    """
    return _read(Source.folder, name)


def command(name: str) -> str:
    """Return the command of a result."""
    return result(name).command


# --- sessions -------------------------------------------------------------------------------------------------------


@lru_cache
def _trials(folder: Path, name: str) -> pl.DataFrame:
    values = _read(folder, name).values
    texts = dict.fromkeys(("base_id", "perturbation", "outcome", "family", "problem"), pl.String)
    schema = {"counts": pl.Boolean, **texts}
    table = pl.DataFrame(
        values["rows"],
        schema={key: schema.get(key, pl.Float64) for key in values["columns"]},
        orient="row",
        strict=False,
    )
    # None of the kept sessions has chains.
    return table.with_columns(cluster="base_id")


@lru_cache
def _rows(folder: Path, name: str, metric: str, family: str) -> Mapping[str, SummaryRow]:
    kept, table = _read(folder, name).values["session"], _trials(folder, name)
    if family:
        table = table.filter(pl.col("family") == family)
    shown = metric or kept["metric"]
    rows = summary_rows(table, dict(kept["symbols"]), kept["skipped"], STANDARD_SPECS, shown, kept["policy"])
    return {row.perturbation: row for row in rows}


def session(name: str, metric: str = "", family: str = "") -> Mapping[str, SummaryRow]:
    """Return a session's rows as its summary has them: ``base``, each perturbation, ``all``.

    Args:
        name: of the result.
        metric: score whose paired differences are taken; the session's own when left out.
        family: of instructions; all when left out.
    """
    return _rows(Source.folder, name, metric, family)


def effort(name: str) -> SimpleNamespace:
    """Return what a session cost, as ``analysis.estimates.effort.RunEffort`` has it."""
    return _space(result(name).values["effort"])


def gone_back(name: str) -> str:
    """Return in words how often a session went back to a test instance's own scene, and what that cost."""
    found, rows = effort(name), session(name)
    perturbed = rows["all"].trials - rows["base"].trials
    return (
        f"{found.went_back} of {perturbed} perturbed instances went back to the scene of their test instance, for "
        f"{found.gone_back.metres:.1f} m of {found.total.metres:.1f} m in all"
    )


def tie(policy: str) -> SimpleNamespace:
    """Return how far a policy's answers are apart under other kernels, as ``benchmark.rounding_ties`` prints it."""
    return SimpleNamespace(**{key: float(text) for key, text in result("ties").values[policy].items()})


def metres(mean: SimpleNamespace, decimals: int = 1) -> str:
    """Return the metres of a mean effort; a dash where there was nothing to take it over."""
    return "-" if mean.mean is None else f"{mean.mean.metres:.{decimals}f}"


def _space(value: Any) -> Any:
    return SimpleNamespace(**{k: _space(v) for k, v in value.items()}) if isinstance(value, dict) else value


def solved(row: SummaryRow) -> str:
    """Return a session's row as ``9/12 (0.47 to 0.91)``."""
    return f"{count(row)} {interval(row.success)}" if row.trials else "-"


def count(row: SummaryRow) -> str:
    """Return how many trials of a row were solved: ``9/12``."""
    return f"{round((row.success.mean or 0.0) * row.trials)}/{row.trials}"


def interval(estimate: Estimate) -> str:
    """Return an interval as ``(0.47 to 0.91)``."""
    return f"({estimate.low:.2f} to {estimate.high:.2f})"


def estimate(found: Estimate) -> str:
    """Return an estimate as ``0.75 (0.47 to 0.91)``."""
    return f"{found.mean:.2f}" if found.low is None else f"{found.mean:.2f} {interval(found)}"


def contrast_table(*names: str, control: str = "") -> str:
    """Return solved trials of sessions under each perturbation, and the paired differences in success to base trials.

    Those are bold whose 95 % interval leaves out 0.

    Args:
        names: of the results.
        control: a session of another policy on the same instances, shown last; its differences are subtracted from
            those of the others.
    """
    lines = []
    for name in (*names, control) if control else names:
        found, policy = session(name, "success"), result(name).values["session"]["policy"]
        rows = [row for key, row in found.items() if key not in (BASE, "all")]
        lines.append([f"`{policy}` solves", solved(found[BASE]), *map(solved, rows)])
        lines.append(["difference to base", "", *(_bold(row.difference) for row in rows)])
        if control and name != control:
            other = result(control).values["session"]["policy"]
            cells = [_bold(paired(name, row.perturbation, control=control)) for row in rows]
            lines.append([f"… minus that of `{other}`", "", *cells])
    return markdown(plain(["", *_symbols(names[0])], lines))


def paired(name: str, perturbation: str, metric: str = "success", control: str = "") -> Estimate:
    """Return the mean paired difference of a perturbation to the instances' own base trials.

    Args:
        name: of the session's result.
        perturbation: its name.
        metric: a column of scores.
        control: a session on the same instances; where it is given, its difference of the same instance is taken off.
    """
    if not control:
        return session(name, metric)[perturbation].difference
    own, others = (_differences(one, perturbation, metric) for one in (name, control))
    both = sorted(own.keys() & others.keys())
    return difference_in_differences([own[key] for key in both], [others[key] for key in both])


def _differences(name: str, perturbation: str, metric: str) -> dict[str, float]:
    """Return base_id -> mean of a perturbation's trials minus that of the base trials, where both ran."""
    scores = _scores(name, metric)
    return {
        base_id: float(np.mean(found[perturbation]) - np.mean(found[BASE]))
        for base_id, found in scores.items()
        if perturbation in found and BASE in found
    }


def _scores(name: str, metric: str) -> dict[str, dict[str, list[float]]]:
    """Return base_id -> perturbation -> the scores of its repeats, of the trials that count."""
    values = result(name).values
    found: dict[str, dict[str, list[float]]] = {}
    for line in values["rows"]:
        trial = dict(zip(values["columns"], line, strict=True))
        if trial["counts"]:
            found.setdefault(trial["base_id"], {}).setdefault(trial["perturbation"], []).append(trial[metric])
    return found


def shortfall(name: str, perturbation: str, control: str = "") -> str:
    """Return the paired difference in success of a perturbation that is solved less often: ``-0.26 (-0.47 to -0.02)``.

    Raises:
        ValueError: its interval holds 0, or it is solved more often: then it is no finding, and the
            sentence around it would be false.
    """
    found = paired(name, perturbation, control=control)
    if found.high is None or found.high >= 0.0:
        raise ValueError(
            f"{perturbation} of {name}: the paired difference in success is {between(found)}: no finding; "
            "change the sentence"
        )
    return between(found)


def answer(name: str, perturbation: str, control: str = "") -> str:
    """Return whether a perturbation is solved less often than the base trials, by the interval: ``yes: -0.26 (...)``.

    Args:
        name: of the session's result.
        perturbation: its name.
        control: as in ``paired``.
    """
    found = paired(name, perturbation, control=control)
    if not _leaves_out_zero(found):
        return f"not shown: {between(found)}"
    return f"{'yes' if found.high < 0.0 else 'no, more often'}: {between(found)}"


@lru_cache
def _curve(folder: Path, name: str) -> LatencyCurve:
    """Return a session's success against the latency that `thinking` emulates."""
    filter_name, seconds = "thinking", ThinkingTime.seconds
    named = (ObservationPerturbation(filter_name, FilterParameters(severity=n + 1)).name for n in range(len(seconds)))
    latencies = {filter_name: dict(zip(named, seconds, strict=True))}
    policy = _read(folder, name).values["session"]["policy"]
    (curve,) = latency_curves(_trials(folder, name), policy, latencies, find_spec(STANDARD_SPECS, "success"))
    return curve


def latency_table(name: str) -> str:
    """Return solved trials and the paired difference in success to the base trials for each time of an answer."""
    columns = (
        Column("time of an answer", lambda point: f"{point.seconds:g} s"),
        Column("solved", solved),
        Column("difference to base", lambda point: _bold(point.difference)),
    )
    return markdown(TableBlock(columns, _curve(Source.folder, name).points))


def latency_answer(name: str) -> str:
    """Return whether a policy solves fewer trials the longer its answers take, by the interval of the slope [1/s]."""
    found = _curve(Source.folder, name).slope
    if not _leaves_out_zero(found):
        return f"not shown: {between(found)}"
    return f"{'yes' if found.high < 0.0 else 'no, more'}: {between(found)}"


def holds_zero(found: Estimate) -> str:
    """Return in words whether the interval of a difference holds 0: ``holds 0`` or ``leaves out 0``."""
    return "leaves out 0" if _leaves_out_zero(found) else "holds 0"


def between(found: Estimate, decimals: int = 2) -> str:
    """Return a difference with its sign and interval: ``-0.26 (-0.47 to -0.02)``; a dash where there is none."""
    if found.mean is None:
        return "-"
    if found.low is None:
        return signed(found.mean, decimals)
    mean, low, high = (signed(end, decimals) for end in (found.mean, found.low, found.high))
    return f"{mean} ({low} to {high})"


def _bold(found: Estimate) -> str:
    return f"**{between(found)}**" if _leaves_out_zero(found) else between(found)


def _leaves_out_zero(found: Estimate) -> bool:
    return found.low is not None and (found.low > 0.0 or found.high < 0.0)


def widest(name: str, metric: str = "success") -> str:
    """Return the widest interval of a session's paired differences, as ``±0.42``."""
    rows = [row.difference for row in session(name, metric).values() if row.difference.low is not None]
    return f"±{max(row.high - row.low for row in rows) / 2:.2f}"


def _differs(row: SummaryRow) -> bool:
    return _leaves_out_zero(row.difference)


def _symbols(name: str) -> list[str]:
    return [row.symbol for key, row in session(name).items() if key != "all"]


def stands_out(name: str) -> str:
    """Return in words which perturbations are solved more or less often than the instances' own base trials.

    Those count whose 95 % interval of the paired difference leaves out 0.
    """
    rows = [row for row in session(name, "success").values() if _differs(row)]
    parts = []
    for sign, word in ((-1.0, "less"), (1.0, "more")):
        symbols = [row.symbol for row in rows if sign * row.difference.mean > 0.0]
        if symbols:
            parts.append(f"{_list(symbols)} {'is' if len(symbols) == 1 else 'are'} solved {word} often")
    if not parts:
        return "no perturbation is surely solved more or less often than the instances' own base trials"
    return f"{_list(parts)} than the instances' own base trials"


def counts(name: str) -> str:
    """Return in words how many trials of each kind were solved: ``base 9/12, ΔLB1 7/12 and ΔLB2 6/11``."""
    return _list([f"{row.symbol} {count(row)}" for key, row in session(name).items() if key != "all"])


def scores(name: str) -> str:
    """Return in words the mean of a session's metric in trials of each kind."""
    metric = result(name).values["session"]["metric"]
    rows = session(name).items()
    return _list([f"{row.symbol} {estimate(row.scores[metric])}" for key, row in rows if key != "all"])


def made_with(name: str) -> str:
    """Return in words the versions that a result was made with."""
    shown = {"mujoco": "MuJoCo", "numpy": "NumPy", "scipy": "SciPy", "torch": "PyTorch"}
    versions = result(name).versions
    return _list([f"{words} {versions[key]}" for key, words in shown.items() if key in versions])


def _list(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def navigation_table(name: str) -> str:
    """Return progress and success of a navigation session, as its summary has them, with the paired differences."""
    rows = session(name)
    kept = result(name).values["session"]
    head = [f"`{kept['policy']}`, seed {result(name).seed}", *(row.symbol for row in rows.values())]
    lines = [[what, *(getattr(row, what) for row in rows.values())] for what in ("instances", "trials")]
    for metric in ("progress", "success"):
        lines.append([metric, *(estimate(row.scores[metric]) for row in rows.values())])
        differences = [_bold(row.difference) if row.pairs else "" for row in session(name, metric).values()]
        lines.append(["difference to base", *differences])
    return markdown(plain(head, lines))


def fulfilled(name: str, perturbation: str) -> str:
    """Return in words in how many instances a perturbation was solved, and whether its repeats agree.

    ``2 of 5 instances (the 3 repeats of each came out alike)``.
    """
    always, mixed, instances, repeats = _repeated(name, perturbation)
    words = f"{always} of {instances} instances"
    if mixed:
        return f"{words} in all {repeats} repeats, and in {_list(mixed)} repeats of another"
    return f"{words} (the {repeats} repeats of each came out alike)" if repeats > 1 else words


def reached(name: str) -> str:
    """Return the same of base trials and each perturbation: ``…: base 5 of 5, ΔL 2 of 5 and ΔLB 3 of 5 …``."""
    parts = []
    for row in session(name).values():
        if row.perturbation != "all":
            always, mixed, instances, repeats = _repeated(name, row.perturbation)
            more = "".join(f", one more in {of} repeats" for of in mixed)
            parts.append(f"{row.symbol} {always} of {instances}{f' ({more[2:]})' if more else ''}")
    alike = "; all other repeats of an instance came out alike" if repeats > 1 else ""
    return f"these numbers of instances, in each of their repeats: {_list(parts)}{alike}"


def _repeated(name: str, perturbation: str) -> tuple[int, list[str], int, int]:
    """Return instances that were always solved, ``1 of 3`` of each that sometimes was, instances, repeats of each."""
    scores = _scores(name, "success").values()
    found = [own[perturbation] for own in scores if perturbation in own]
    (repeats,) = {len(own) for own in found}
    mixed = [f"{sum(own):.0f} of {repeats}" for own in found if len(set(own)) > 1]
    return sum(all(score == 1.0 for score in own) for own in found), mixed, len(found), repeats


# --- held-out instances ----------------------------------------------------------------------------------------------


def share(name: str) -> str:
    """Return how many base trials of a session were solved: ``461 of 500 (0.90 to 0.94)``."""
    return solved(session(name)[BASE]).replace("/", " of ")


def _families(name: str) -> list[str]:
    """Return the families of a session's trials, in the order of their task."""
    there = set(_trials(Source.folder, name)["family"])
    return [family for family in KNOWN_FAMILIES if family in there]


def per_family(name: str) -> int:
    """Return how many base trials of each family a session has."""
    (number,) = {session(name, family=family)[BASE].trials for family in _families(name)}
    return number


def families_table(*names: str, column: str = "policy", spl: bool = False) -> str:
    """Return success and mean steps of sessions' base trials in each family.

    Args:
        names: of the results.
        column: what a session is named by: ``policy`` or ``robot``.
        spl: whether to show the mean SPL, too.
    """
    columns = [Column("family", lambda family: family or "all")]
    for name in names:
        columns += [
            Column(result(name).values["session"][column], lambda family, name=name: solved(_base(name, family))),
            Column("steps", lambda family, name=name: _steps(name, family), ".0f", beside=True),
            *[Column("SPL", lambda family, name=name: _base(name, family).scores["spl"].mean, beside=True)] * spl,
        ]
    return markdown(TableBlock(columns, [*_families(names[0]), ""]))


def _base(name: str, family: str) -> SummaryRow:
    return session(name, family=family)[BASE]


def _steps(name: str, family: str) -> float:
    """Return the mean number of control steps of a session's base trials."""
    trials = _trials(Source.folder, name).filter(pl.col("counts") & (pl.col("perturbation") == BASE))
    return (trials.filter(pl.col("family") == family) if family else trials)["steps"].mean()


def suite_table(*names: str) -> str:
    """Return what sessions solved of the suite by difficulty, their mean score, and how long they took."""
    lines = []
    for name in names:
        trials = _trials(Source.folder, name).filter("counts")
        labels = [trials.filter(pl.col("family") == label) for label in LABELS]
        score = cluster_mean(trials["score"].to_numpy(), np.arange(len(trials)), bounds=UNIT)
        minutes = f"{result(name).measured['seconds'] / 60:.0f}"
        policy = result(name).values["session"]["policy"]
        lines.append([policy, *map(_of_trials, labels), _of_trials(trials), estimate(score), minutes])
    return markdown(plain(["policy", *LABELS, "all", "score", "minutes"], lines))


def draws_of_suite(robot: str) -> str:
    """Return what an arm's oracle solved of all draws of the suite's tasks, and the tasks below nine of ten."""
    own = _by_robot("suite_tasks")[robot]
    below = [f"`{row['skill']}` ({_count([row])})" for row in own if row["solved"] < SOLVED * row["scenes"]]
    return f"{_count(own)}, each task but {_list(below)}" if below else f"{_count(own)}, each task"


def demonstrated_table(name: str, model: str) -> str:
    """Return what a session solved of the tasks that were demonstrated to its policy, and of the others."""
    trials, shown = _trials(Source.folder, name).filter("counts"), tuple(_card(model)["data"]["kept"])
    suite = load_configured("tasks", resolve_uri(SHIPPED_SUITE))
    able = demonstrated(suite, 0)
    groups = {
        "demonstrated": shown,
        "held out": [task for task in able if task not in shown],
        "asks for another skill": [task for task in suite.problems if task not in able],
    }
    lines = [
        [words, str(len(tasks)), _of_trials(trials.filter(pl.col("problem").is_in(tasks)))]
        for words, tasks in groups.items()
    ]
    return markdown(plain(["tasks", "number", "solved"], lines))


def _of_trials(trials: pl.DataFrame) -> str:
    """Return how many of some trials were solved: ``9/12 (0.47 to 0.91)``."""
    if not len(trials):
        return "-"
    solved_of = int(trials["success"].sum())
    return f"{solved_of}/{len(trials)} {interval(wilson(solved_of, len(trials)))}"


def perturbed_families_table(*names: str) -> str:
    """Return solved trials of sessions under each perturbation, in each family."""
    lines = []
    for name in names:
        policy = result(name).values["session"]["policy"]
        for family in _families(name):
            rows = session(name, family=family)
            lines.append([policy, family, *(solved(row) for key, row in rows.items() if key != "all")])
    return markdown(plain(["policy", "family", *_symbols(names[0])], lines))


def trained_on(model: str) -> str:
    """Return what the networks of a folder of ``models/`` were trained on, from what ``robocontrast train`` wrote."""
    data = _card(model)["data"]
    in_kitchen = model.startswith(("kitchen_bc", "suite_bc"))
    kind = SightData if model == "kitchen_camera" else KitchenData if in_kitchen else Data
    return kind(**{key: tuple(value) if isinstance(value, list) else value for key, value in data.items()}).described()


def validated(model: str) -> str:
    """Return the same of what was measured in validation."""
    return validation(_card(model)["validation"])


def _card(model: str) -> Mapping[str, Any]:
    return json.loads((ROOT / "models" / model / "card.json").read_text(encoding="utf-8"))


def words_table(*names: str) -> str:
    """Return solved base trials of sessions NAME, NAME_other_words and NAME_no_words, in the instances that all have.

    A session that was never made has a dash.
    """
    lines = []
    for name in names:
        made = {one: f"{name}{one}" for one in ("", "_other_words", "_no_words")}
        found = {
            one: _scores(file, "success") for one, file in made.items() if (Source.folder / f"{file}.json").is_file()
        }
        shared = set.intersection(*(set(scores) for scores in found.values()))
        cells = []
        for one in made:
            number = sum(int(found[one][key][BASE][0]) for key in shared) if one in found else 0
            cells.append(f"{number}/{len(shared)} {interval(wilson(number, len(shared)))}" if one in found else "-")
        lines.append([result(name).values["session"]["policy"], *cells])
    return markdown(plain(["policy", "its own words", "other words", "no words"], lines))


def robots_table(*names: str, robot: str) -> str:
    """Return solved base trials of sessions NAME and NAME_ROBOT, in the instances that both have."""
    lines = []
    for name in names:
        both = [_scores(one, "success") for one in (name, f"{name}_{robot}")]
        shared = both[0].keys() & both[1].keys()
        numbers = [sum(int(found[key][BASE][0]) for key in shared) for found in both]
        cells = [f"{number}/{len(shared)} {interval(wilson(number, len(shared)))}" for number in numbers]
        lines.append([result(name).values["session"]["policy"], *cells])
    return markdown(plain(["policy", result(names[0]).values["session"]["robot"], robot], lines))


def handling_table(*names: str) -> str:
    """Return how often each skill of the tabletop task was solved in some measurements, and what was touched."""
    made = [result(name).values for name in names]
    columns = (
        *(Column(key, lambda row, key=key: f"`{row[0][key]}`") for key in ("robot", "policy")),
        Column("skill", lambda row: row[1].replace("_", " ")),
        Column("scenes", lambda row: row[2]["scenes"]),
        Column("solved", lambda row: _share(wilson(row[2]["solved"], row[2]["scenes"]))),
        *(Column(key, lambda row, key=key: row[2][key]) for key in ("touched", "moved")),
        Column("SPL", lambda row: row[2]["spl"]),
        Column("control steps", lambda row: row[2]["steps"], ".0f"),
    )
    return markdown(TableBlock(columns, [(values, *found) for values in made for found in values["families"].items()]))


def kitchen_words() -> str:
    """Return in words how often the oracle solves the kitchen's skills on each arm, and which least often."""
    parts = []
    for robot, rows in _by_robot("kitchen_skills").items():
        total = wilson(sum(row["solved"] for row in rows), sum(row["scenes"] for row in rows))
        least = min(rows, key=lambda row: row["solved"] / row["scenes"])
        words = f"on `{robot}` it solves {_count(rows)} trials of {len(rows)} skills, {_share(total)}"
        if least["solved"] < least["scenes"]:
            words += f"; least often `{least['skill']}`, {_count([least])}"
        parts.append(words)
    first, last = result("kitchen_skills").seed
    return f"Seeds {first} to {last} of each skill, none left out: {', and '.join(parts)}."


def kitchen_table() -> str:
    """Return how often the oracle solves each of the kitchen's skills on each arm, and why not."""
    robots = _by_robot("kitchen_skills")
    head = ["skill", *(word for robot in robots for word in (f"`{robot}`", "others moved", "steps")), "not solved"]
    skills = dict.fromkeys(row["skill"] for rows in robots.values() for row in rows)
    lines = []
    for skill in (*skills, ""):
        chosen = {robot: [row for row in rows if skill in ("", row["skill"])] for robot, rows in robots.items()}
        cells = [cell for rows in chosen.values() for cell in _kitchen_cells(rows)]
        why = [
            f"{robot}: {row['reasons']}" for robot, rows in chosen.items() for row in rows if row["reasons"] and skill
        ]
        lines.append([f"`{skill}`" if skill else "all", *cells, "; ".join(why)])
    if not any(line[-1] for line in lines):
        head, lines = head[:-1], [line[:-1] for line in lines]
    beside = ("others moved", "steps")
    columns = [Column(heading, itemgetter(n), beside=heading in beside) for n, heading in enumerate(head)]
    return markdown(TableBlock(columns, lines))


def _by_robot(name: str) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of a result of skills by robot."""
    values, found = result(name).values, {}
    for line in values["rows"]:
        row = dict(zip(values["columns"], line, strict=True))
        found.setdefault(row["robot"], []).append(row)
    return found


def _kitchen_cells(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the cells of some skills on one arm; dashes if it has none of them."""
    scenes = sum(row["scenes"] for row in rows)
    if not scenes:
        return ["-"] * 3
    rate = wilson(sum(row["solved"] for row in rows), scenes)
    steps = sum(row["steps"] * row["scenes"] for row in rows) / scenes
    return [f"{_count(rows)}, {_share(rate)}", str(sum(row["moved"] for row in rows)), f"{steps:.0f}"]


def _count(rows: Collection[Mapping[str, Any]]) -> str:
    solved, scenes = (sum(row[key] for row in rows) for key in ("solved", "scenes"))
    return f"{solved}/{scenes}"


def _share(rate: Estimate) -> str:
    return f"{100 * rate.mean:.1f} % [{100 * rate.low:.1f}, {100 * rate.high:.1f}]"


def applied_on_the_table() -> str:
    """Return to how many drawn instances of each skill of the tabletop task a perturbation applies.

    One that may ask for another skill has a second row, of the instances that it keeps the skill of.
    """
    values = result("tabletop_perturbations").values
    names, number = values["perturbations"], values["instances"]
    families = list(next(iter(names.values()))["own"])
    lines = []
    for name, row in names.items():
        own, left = (list(row[key].values()) for key in ("own", "left"))
        counts = [f"{count} of {number}" for count in own]
        both = (f"{sum(of)} of {number * len(of)}" for of in (own, left))
        lines.append([f"Δ{name}", *counts, *both])
        same = list(row["same_skill"].values())
        if same != own:
            counts = [f"{count} of {number}" for count in same]
            lines.append([f"Δ{name}, the same skill", *counts, f"{sum(same)} of {number * len(same)}", ""])
    head = ["", *(family.replace("_", " ") for family in families), "all", "after a solved trial"]
    return markdown(plain(head, lines))


def orders_on_the_table() -> str:
    """Return what the perturbed trials of an instance of the tabletop task cost in some orders, if all are solved."""
    values = result("tabletop_perturbations").values
    cheapest, *others = values["orders"]
    if cheapest["order"] != ["L", "LB", "S", "SB"]:
        raise ValueError(f"the document says that the paper's order costs least; {cheapest['order']} does")
    columns = (
        Column(f"order ({values['ordered']} instances)", lambda row: ", ".join(row["order"])),
        Column("m an instance", itemgetter("metres")),
        Column("s an instance", itemgetter("seconds"), ".0f"),
        Column("back in the own scene", lambda row: ", ".join(f"Δ{name} {row['back'][name]}" for name in row["order"])),
    )
    return markdown(TableBlock(columns, [cheapest, others[len(others) // 2], others[-1]]))


def extremes_of_families(*names: str) -> str:
    """Return the least and the greatest number of solved base trials of a family: ``98 to 100``."""
    rows = [session(name, family=family)[BASE] for name in names for family in _families(name)]
    counts = [round(row.success.mean * row.trials) for row in rows]
    return str(min(counts)) if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"


def correlation(first: str, second: str) -> str:
    """Return how the successes of two sessions in base trials of the same instances correlate, and their number."""
    one, other = (_scores(name, "success") for name in (first, second))
    pairs = np.array([(one[key][BASE][0], other[key][BASE][0]) for key in sorted(one.keys() & other.keys())])
    return f"{np.corrcoef(pairs.T)[0, 1]:.2f} in {len(pairs)} base trials"


def driving_table(name: str, *others: str) -> str:
    """Return how far navigation policies get: the first session in full, of the others the base trials alone."""
    head = [f"`{result(name).values['session']['policy']}`", "trials", "progress", "success", "SPL", "nDTW"]
    head += ["collisions", *(f"{metric}, difference to base" for metric in DRIVING)]
    lines = []
    differences = [session(name, metric) for metric in DRIVING]
    for key, row in session(name).items():
        pairs = (_bold(found[key].difference) if row.pairs else "" for found in differences)
        lines.append([row.symbol, *_driven(row), *pairs])
    for other in others:
        row = session(other)[BASE]
        lines.append([f"`{row.policy}`, base", *_driven(row), *("" for _ in DRIVING)])
    return markdown(plain(head, lines))


DRIVING = ("progress", "success")


def _driven(row: SummaryRow) -> list[str]:
    return [
        str(row.trials) if row.independent else f"{row.trials} ({row.instances} instances)",
        *(estimate(row.scores[name]) for name in ("progress", "success", "spl")),
        f"{row.scores['ndtw'].mean:.2f}",
        f"{row.scores['collisions'].mean:.1f}",
    ]


# --- study -----------------------------------------------------------------------------------------------------------


@lru_cache
def study_analysis(name: str, packed: bytes, sessions: tuple[SessionOfStudy, ...] = ()) -> study_results.Analysis:
    """Return what the kept trials of a study say.

    Args:
        name: of the study.
        packed: ``study_NAME_trials.csv.gz``.
        sessions: how its sessions ended.
    """
    numbers = ("spl", "progress", "success", "h_success", "grasped", "reached", "nearest_distance_m")
    scores = dict.fromkeys(numbers, pl.Float64)
    table = pl.read_csv(io.BytesIO(gzip.decompress(packed)), schema_overrides=scores)
    jobs = table.select("policy", "study_seed").unique(maintain_order=True).rows()
    read = {
        Job(policy, seed): (
            table.filter(pl.col("policy") == policy, pl.col("study_seed") == seed),
            [ended for ended in sessions if (ended.policy, ended.seed) == (policy, seed)],
        )
        for policy, seed in jobs
    }
    return study_results.analyse(load_study(name), read)


def sessions_of_study(values: Mapping[str, Any]) -> tuple[SessionOfStudy, ...]:
    """Return how the sessions of a study's result ended."""
    return tuple(SessionOfStudy(**dict(zip(values["columns"], row, strict=True))) for row in values["rows"])


@lru_cache
def _study(folder: Path, name: str) -> tuple[Study, study_results.StudyResults]:
    values = _read(folder, f"study_{name}").values
    packed = (folder / f"study_{name}_trials.csv.gz").read_bytes()
    return load_study(values["study"]), study_analysis(values["study"], packed, sessions_of_study(values)).results


def study_of(name: str) -> Study:
    """Return the study of a result."""
    return _study(Source.folder, name)[0]


def study_summary(name: str) -> str:
    """Return what the study's own summary says, from its strategies on."""
    text = summary_of_study(*_study(Source.folder, name))
    return text.split("\n", 4)[-1].replace("\n## ", "\n#### ").rstrip()


def study_seconds(name: str) -> float:
    """Return how long the study took [s]."""
    return float(_read(Source.folder, f"study_{name}").measured["seconds"])


def decided(claim: str, policy: str, study: str = "language_table") -> Decided:
    """Return the outcome of a study's claim for a policy.

    Raises:
        KeyError: there is no such claim, or policy.
    """
    for one in _study(Source.folder, study)[1].decided:
        if (one.claim.id, one.policy) == (claim, policy):
            return one
    raise KeyError(f"the study {study} has no claim '{claim}' of '{policy}'")


CLUTTERED: Mapping[str, pl.Expr] = {
    "SR": pl.col("success"),
    "h-SR": pl.col("h_success"),
    "CR, robot": (pl.col("touched_by_robot") > 0).cast(pl.Float64),
    "CR, carried": (pl.col("touched_by_carried") > 0).cast(pl.Float64),
    "GFR": 1.0 - pl.col("grasped"),
}
"""Measures of seed 001, section IV, of trials among distractors."""


def cluttered_table(name: str) -> str:
    """Return how the policies of a study do without distractors and among them, in the form of seed 001's table II.

    Scenes on the usual table, and those on another one in other light, are apart.
    """
    study, trials = _study(Source.folder, name)[0], _cluttered(Source.folder, name)
    lines = []
    for policy in study.policies:
        own = trials.filter(pl.col("policy") == policy)
        base = estimate(_over_instances(own.filter(pl.col("perturbation") == BASE), pl.col("success")))
        for looks in (False, True):
            among = _among(own, looks)
            means = [estimate(_over_instances(among, of)) for of in CLUTTERED.values()]
            first = [f"`{policy}`", "the usual"] if not looks else ["", "others"]
            lines.append([*first, among.height, "" if looks else base, *means])
    return markdown(plain(["", "table and light", "trials among distractors", "SR_base", *CLUTTERED], lines))


def among_distractors(name: str, policy: str, looks: bool) -> str:
    """Return the success of a policy among distractors, and its change from the same instances without them.

    The change counts each instance once, as the claims of the study do.

    Args:
        name: of the study.
        policy: one of it.
        looks: whether in the scenes on another table in other light, or in those on the usual one.
    """
    own = _cluttered(Source.folder, name).filter(pl.col("policy") == policy)
    among = _among(own, looks)
    found = _over_instances(among, pl.col("success"))
    instance = ("study_seed", "base_id")
    changes = among.group_by(instance, maintain_order=True).agg((pl.col("success") - pl.col("base_success")).mean())
    change = cluster_mean(changes["success"], range(len(changes)), bounds=DIFFERENCES)
    return f"{estimate(found)}, a change of {between(change)}"


@lru_cache
def _cluttered(folder: Path, name: str) -> pl.DataFrame:
    packed = (folder / f"study_{name}_trials.csv.gz").read_bytes()
    numbers = dict.fromkeys(("success", "h_success", "grasped"), pl.Float64)
    trials = pl.read_csv(io.BytesIO(gzip.decompress(packed)), schema_overrides=numbers)
    contrast = _study(folder, name)[0].parameters.contrast
    instance = ("policy", "study_seed", "base_id")
    of_base = pl.col("success").filter(pl.col("perturbation") == BASE).mean().over(instance)
    kept = trials.filter(pl.col("strategy") == contrast, pl.col("counts"))
    return kept.with_columns(of_base.alias("base_success"))


def _among(trials: pl.DataFrame, looks: bool) -> pl.DataFrame:
    drawn = pl.col("perturbation").str.ends_with("looks")
    return trials.filter(pl.col("perturbation") != BASE, drawn if looks else ~drawn)


def _over_instances(trials: pl.DataFrame, values: pl.Expr, bounds: tuple[float, float] = UNIT) -> Estimate:
    instances = trials.select(pl.concat_str("study_seed", "base_id", separator=" ")).to_series()
    return cluster_mean(trials.select(values).to_series(), instances, bounds=bounds)


def understood_table(*names: str) -> str:
    """Return what perturbations of what policies are told or shown tell of them: rows perturbations, columns policies.

    A cell has the paired difference in success to the base trials and the verdict, bold where a policy acts without
    understanding. The first rows have the base trials, and the success that needs no understanding.

    Args:
        names: of the results; each is a session of a policy of its own, or a check of several.
    """
    found = [
        _understood(Source.folder, name, policy)
        for name in names
        for policy in _table(Source.folder, name, "understanding_policies")["policy"]
    ]
    lines = [[name, *(_solved_of(policies, name) for policies, _ in found)] for name in ("base", "chance")]
    for perturbation in dict.fromkeys(name for _, rows in found for name in rows["perturbation"]):
        lines.append([f"`{perturbation}`", *(_verdict_of(rows, perturbation) for _, rows in found)])
    return markdown(plain(["", *(f"`{policies.item(0, 'policy')}`" for policies, _ in found)], lines))


def understood_as(name: str, verdict: str, policy: str = "") -> str:
    """Return the perturbations with a verdict, in words; ``no perturbation`` where there is none.

    Args:
        name: of the result.
        verdict: for instance ``acts without understanding``.
        policy: where the result has several.
    """
    rows = _understood(Source.folder, name, policy)[1].filter(pl.col("verdict") == verdict)
    return _list([f"`{perturbation}`" for perturbation in rows["perturbation"]]) if rows.height else "no perturbation"


def left_of_success(name: str, perturbation: str, policy: str = "") -> str:
    """Return which share of its base success a policy has left under a perturbation, in percent.

    It is the ratio of the means over the same instances.

    Args:
        name: of the result.
        perturbation: its name.
        policy: where the result has several.
    """
    own = _understood(Source.folder, name, policy)[1].filter(pl.col("perturbation") == perturbation)
    return f"{100.0 * own.item(0, 'perturbed_mean') / own.item(0, 'base_mean'):.0f} %"


def changed_by(name: str, perturbation: str, policy: str = "") -> str:
    """Return the paired difference in success of a perturbation to the base trials, with its interval.

    Args:
        name: of the result.
        perturbation: its name.
        policy: where the result has several.
    """
    own = _understood(Source.folder, name, policy)[1].filter(pl.col("perturbation") == perturbation)
    return between(Estimate(*(own.item(0, f"difference_{end}") for end in ("mean", "low", "high"))))


def levels_table(name: str, *conditions: str) -> str:
    """Return success in percent with 95 % intervals: rows levels and conditions, columns policies (tables of seed 004).

    Args:
        name: of the result of a check.
        conditions: ``base`` and perturbations.
    """
    cells = _table(Source.folder, name, "understanding_levels")
    policies = list(dict.fromkeys(cells["policy"]))
    lines = []
    for level in dict.fromkeys(cells["level"]):
        for number, condition in enumerate(conditions):
            rows = cells.filter(pl.col("level") == level, pl.col("condition") == condition)
            means = {row["policy"]: row for row in rows.iter_rows(named=True)}
            numbers = sorted({row["instances"] for row in means.values()})
            lines.append(
                [
                    "" if number else level,
                    f"`{condition}`" if condition != BASE else condition,
                    "-".join(str(one) for one in dict.fromkeys((*numbers[:1], *numbers[-1:]))),
                    *(_percent(means.get(policy)) for policy in policies),
                ]
            )
    return markdown(plain(["level", "condition", "n", *(f"`{policy}`" for policy in policies)], lines))


def _percent(row: Mapping[str, Any] | None) -> str:
    if row is None or row["success_mean"] is None:
        return "-"
    mean, low, high = (100.0 * row[f"success_{end}"] for end in ("mean", "low", "high"))
    return f"{mean:.0f} ({low:.0f} to {high:.0f})"


@lru_cache
def _table(folder: Path, name: str, table: str) -> pl.DataFrame:
    found = _read(folder, name).values[table]
    return pl.DataFrame(found["rows"], schema=found["columns"], orient="row", infer_schema_length=None)


def _understood(folder: Path, name: str, policy: str = "") -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the policies and the perturbations of a result, one perturbation a row; of one policy, or of all."""
    policies, rows = (_table(folder, name, table) for table in ("understanding_policies", "understanding"))
    if policy:
        policies, rows = (table.filter(pl.col("policy") == policy) for table in (policies, rows))
    single = rows.with_columns(pl.col("perturbation").str.split(" = ")).explode("perturbation")
    return policies, single.filter(pl.col("perturbation") != BASE)


def _solved_of(policies: pl.DataFrame, name: str) -> str:
    found = Estimate(*(policies.item(0, f"{name}_{end}") for end in ("mean", "low", "high")))
    return "-" if found.mean is None else estimate(found)


def _verdict_of(rows: pl.DataFrame, perturbation: str) -> str:
    own = rows.filter(pl.col("perturbation") == perturbation)
    if not own.height:
        return "-"
    difference = Estimate(*(own.item(0, f"difference_{end}") for end in ("mean", "low", "high")))
    verdict = own.item(0, "verdict")
    return f"{between(difference)}, {f'**{verdict}**' if verdict == Verdict.WITHOUT_UNDERSTANDING.value else verdict}"


def verdicts(name: str) -> str:
    """Return a table: of each policy, which of the paper's claims hold, do not hold, are undecided."""
    study, found = _study(Source.folder, name)
    policies = [policy for policy in study.policies if policy not in (study.control, *study.beside)]
    lines = []
    for verdict in ("holds", "does not hold", "undecided"):
        line = [verdict]
        for policy in policies:
            own = [one for one in found.decided if one.policy == policy and one.verdict == verdict]
            claims = [one.claim.id for one in own if one.claim.source != OURS]
            line.append(f"{len(claims)}: " + ", ".join(f"`{claim}`" for claim in claims) if claims else "none")
        lines.append(line)
    return markdown(plain(["the paper's claims", *policies], lines))


def claimed(claim: str, policy: str, study: str = "language_table", digits: int = 0) -> str:
    """Return the number that a claim is about, with its interval.

    A difference has a sign and three digits, ``+0.014 (+0.005 to +0.025)``; a cost, a ratio or a share has the digits
    that are asked for.
    """
    one = decided(claim, policy, study)
    found = one.estimate
    if one.claim.measure.kind not in (
        "cost_per_trial",
        "perturbing_cost",
        "trials_ratio",
        "trials_within",
        "agreement",
    ):
        return between(found, 3)
    return f"{found.mean:.{digits}f} ({found.low:.{digits}f} to {found.high:.{digits}f})"


def study_size(name: str) -> str:
    """Return how large a study is: ``250 instances, 3 seeds``."""
    parameters = _study(Source.folder, name)[0].parameters
    return f"{parameters.test_set.size} instances, {len(parameters.seeds)} seeds"


def _row_of(table: str, study: str, **keys: str) -> Any:
    """Return the row of a table of a study's results that has these values.

    Raises:
        KeyError: there is none.
    """
    for row in getattr(_study(Source.folder, study)[1], table):
        if all(getattr(row, key) == value for key, value in keys.items()):
            return row
    raise KeyError(f"the {table} of the study {study} have no row of {keys}")


def beyond(symbol: str, policy: str, study: str = "language_table") -> str:
    """Return the change of success from the instances' own base trials, less the control's, with its interval."""
    return between(_row_of("perturbations", study, symbol=symbol, policy=policy).beyond_control_of_success, 3)


def cost_of(strategy: str, policy: str, study: str = "language_table") -> float:
    """Return what a trial of a strategy costs, on the mean over seeds."""
    row = _row_of("strategies", study, strategy=strategy, policy=policy)
    return float(np.mean(np.array(row.cost) / np.array(row.trials)))


def rows_of_errors(study: str) -> int:
    """Return how many estimators of how many policies there are, together."""
    return len(_study(Source.folder, study)[1].errors)


def nearer(study: str) -> str:
    """Return how many of those are surely nearer to the test-set mean at equal cost: ``none is``."""
    found = sum(
        row.difference.high is not None and row.difference.high < 0.0 for row in _study(Source.folder, study)[1].errors
    )
    return {0: "none is", 1: "one is"}.get(found, f"{found} are")


def error_words(estimator: str, policy: str, study: str = "language_table") -> str:
    """Return an estimator's error at equal cost less the standard evaluation's, with its interval."""
    return between(_row_of("errors", study, estimator=estimator, policy=policy).difference, 3)


def ratio(strategy: str, policy: str, study: str = "language_table") -> str:
    """Return how many trials of a strategy cost as much as one of the standard evaluation: ``2.8``."""
    return f"{_row_of('strategies', study, strategy=strategy, policy=policy).ratio.mean:.1f}"


# --- simulated draws -------------------------------------------------------------------------------------------------


_CELL = ("score", "instances", "trials", "correlation", "share")
_INTERVALS = ("percentile", "BCa", "bootstrap-t", "CR2", "CR3", "no caution", "ours")


def _means() -> pl.DataFrame:
    """Return a row for each cell: coverage [%] and width of each interval for a mean."""
    found = [column for name in _INTERVALS for column in (name, f"{name} width")]
    return pl.DataFrame(result("coverage").values["means"], [*_CELL, *found], orient="row")


def _covered(cells: pl.DataFrame, name: str) -> str:
    """Return the mean and the lowest coverage of some cells, and the mean width: ``95.1, 93.0 (0.44)``."""
    covered = cells[name]
    return f"{covered.mean():.1f}, {covered.min():.1f} ({cells[f'{name} width'].mean():.2f})"


def _covered_by(cells: pl.DataFrame, name: str, rows: list[str]) -> str:
    """Return an interval's table: a row for each value of some columns, a column for each number of instances."""
    lines = []
    for values, row in cells.group_by(rows, maintain_order=True):
        names = [f"{value:g}" if isinstance(value, float) else str(value) for value in values]
        numbers = row.group_by("instances", maintain_order=True)
        lines.append([*names, *(_covered(one, name) for _, one in numbers)])
    numbers = cells["instances"].unique(maintain_order=True)
    return markdown(plain([*rows, *(f"{number} instances" for number in numbers)], lines))


def coverage_table() -> str:
    """Return the coverage of each interval for a mean, and its width; ours is the last."""
    cells, lines = _means(), [["score", "instances", *_INTERVALS]]
    for values, row in cells.group_by("score", "instances", maintain_order=True):
        lines.append([*values, *(_covered(row, name) for name in _INTERVALS)])
    lines.append(["both", "all", *(_covered(cells, name) for name in _INTERVALS)])
    head, *body = ([*line[:-1], f"**{line[-1]}**"] for line in lines)
    return markdown(plain(head, body))


def coverage_by(*columns: str) -> str:
    """Return the coverage of our interval for each value of some columns of the cells."""
    return _covered_by(_means(), "ours", list(columns))


def least_coverage() -> str:
    """Return the cell in which our interval covers least: ``92.4 %, for success with share 0.5, …``."""
    cell = _means().sort("ours").row(0, named=True)
    return (
        f"{cell['ours']:.1f} %, for {cell['score']} with share {cell['share']:g}, {cell['instances']} instances, "
        f"{cell['trials']} trials of each and correlation {cell['correlation']:g}"
    )


def mean_coverage(name: str = "ours") -> str:
    """Return an interval's mean coverage over all cells: ``96.7 %``."""
    return f"{_means()[name].mean():.1f} %"


def cells_below(coverage: float, name: str = "ours") -> str:
    """Return in how many cells an interval covers less: ``0 of 560``."""
    covered = _means()[name]
    return f"{(covered < coverage).sum()} of {len(covered)}"


def _simulated_differences() -> pl.DataFrame:
    """Return a row for each cell: coverage [%] and width of the interval for a paired difference."""
    columns = ["score", "instances", "trials", "luck", "chance of one", "of the other", "ours", "ours width"]
    return pl.DataFrame(result("coverage").values["differences"], columns, orient="row")


def differences_table() -> str:
    """Return the coverage of the interval for paired differences, for each pair of policies."""
    return _covered_by(_simulated_differences(), "ours", ["chance of one", "of the other"])


def differences_coverage() -> str:
    """Return the mean and the lowest coverage of paired differences: ``98.6 % on the mean, 93.9 % at the least``."""
    covered = _simulated_differences()["ours"]
    return f"{covered.mean():.1f} % on the mean and {covered.min():.1f} % at the least"


def decisions_table() -> str:
    """Return how often the paired bootstrap finds a difference, for each pair of policies."""
    columns = ["chance of one", "of the other", "instances", "found"]
    found = pl.DataFrame(result("coverage").values["decisions"], columns, orient="row")
    table = found.pivot("instances", index=columns[:2], values="found")
    lines = [[f"{x:g}" for x in row[:2]] + [f"{share:.1f} %" for share in row[2:]] for row in table.rows()]
    return markdown(plain([*columns[:2], *(f"{number} instances" for number in table.columns[2:])], lines))


def adjusted_table() -> str:
    """Return bias, error and coverage of the adjusted mean."""
    forms = (
        *(("covariates", ""), ("of", ""), ("run", ""), ("bias of plain", "+.3f"), ("of adjusted", "+.3f")),
        *(("rms of base", ".4f"), ("of adjusted", ".4f"), ("coverage, X [%]", ".1f"), ("width", ".2f")),
        *(("coverage, domain [%]", ".1f"), ("width", ".2f")),
    )
    columns = [
        Column(name, itemgetter(number), form, beside=name in ("of adjusted", "width"))
        for number, (name, form) in enumerate(forms)
    ]
    return markdown(TableBlock(columns, result("coverage").values["adjusted"]))


def sequences_table() -> str:
    """Return how often the betting test ever excluded the truth, and the widths of its intervals."""
    lines = [
        [score, f"{share:g}", f"{wrong:.1f} %", early, late]
        for score, share, wrong, early, late in result("coverage").values["sequences"]
    ]
    return markdown(plain(["score", "share", "ever excluded the truth", "width after 25", "after 100"], lines))


def comparisons_table() -> str:
    """Return how many pairs each sequential test takes to tell two policies apart, and how often it does."""
    head = ["most pairs", "rates of success", "correlation", "sign test", "betting test", "STEP"]
    lines = [
        [
            most,
            f"{first:g}, {second:g}",
            f"{correlation:g}",
            *(f"{pairs:.1f} ({100.0 * found:.1f} %)" for pairs, found in zip(tests[::2], tests[1::2], strict=True)),
        ]
        for most, first, second, correlation, *tests, _, _ in result("sequential_comparison").values["comparisons"]
    ]
    return markdown(plain(head, lines))


def comparison_precision() -> str:
    """Return the greatest standard error of the sign test's mean numbers of pairs: ``0.2``."""
    return f"{max(line[-2] for line in result('sequential_comparison').values['comparisons']):.1f}"


def carry_over_table() -> str:
    """Return how often words about changes that carry over are given, and how often intervals hold the truth."""
    columns = {
        "instances": "instances",
        "case": "changes in the second world",
        "any_differs": "any *does not*",
        "any_carries": "any *carries over*",
        "differs": "*does not*",
        "carries": "*carries over*",
        "held": "held",
        "difference_covered": "interval of the difference",
        "pearson_covered": "of r",
        "mmrv_covered": "of MMRV",
    }
    rows = result("carry_over").values["rows"]
    lines = [
        [f"{100.0 * v:.0f} %" if isinstance(v, float) else v for v in map(row.__getitem__, columns)] for row in rows
    ]
    return markdown(plain(list(columns.values()), lines))


def carry_over_draws() -> str:
    """Return the number of comparisons of each row."""
    return str(result("carry_over").values["draws"])


# --- worlds ---------------------------------------------------------------------------------------------------------


def wall_clock_table() -> str:
    """Return sessions on the wall clock beside lockstep: successes, and paired differences over test instances."""
    head = ["session", "robot", "policy", "pairs", "solved first", "then on the wall clock", "only first, only then"]
    head += ["difference in success", "in progress"]
    lines = []
    for found in _on_the_wall_clock().values():
        pairs = [row["success"] for row in found["trials"]]
        solved_ = [round(sum(pair[way] for pair in pairs)) for way in (0, 1)]
        discordant = ", ".join(str(pairs.count([first, 1.0 - first])) for first in (1.0, 0.0))
        both = (between(_changed(found, score)) for score in ("success", "progress"))
        session = f"`{found['session']}`{', wall clock twice' if found['after'] else ''}"
        lines.append([session, found["robot"], f"`{found['policy']}`", len(pairs), *solved_, discordant, *both])
    return markdown(plain(head, lines))


def laboratory_table() -> str:
    """Return how well the emulated laboratory kept real time in each session, and what became of its trials.

    Of times, median and 95th percentile.
    """
    columns = (
        *(Column("robot", itemgetter("robot")), Column("policy", lambda one: f"`{one['policy']}`")),
        Column("real-time factor", lambda one: one["lab"]["real_time_factor"], ".3f"),
        Column("state [Hz]", lambda one: min(one["lab"]["rates"].values()), ".0f"),
        Column("images left out", lambda one: _left_out(**one["lab"])),
        Column("control period [ms]", lambda one: _milliseconds(one["pacing"].get("period"))),
        Column("from observation to command [ms]", lambda one: _milliseconds(one["pacing"].get("commanded"))),
        Column("void", lambda one: len(one["void"])),
        Column("scored alike from the bag", lambda one: f"{one['rescored_equal']}/{one['rescored']}"),
    )
    return markdown(TableBlock(columns, list(_on_the_wall_clock().values())))


def _left_out(images: int, images_missed: int, camera_rate: float, **_: Any) -> str:
    return f"{100.0 * images_missed / (images + images_missed):.0f} % of {camera_rate:g} Hz"


def _milliseconds(quantiles: Sequence[float] | None) -> str:
    return "-" if quantiles is None else ", ".join(f"{1e3 * one:.0f}" for one in quantiles)


def _on_the_wall_clock() -> Mapping[str, Any]:
    return _read(Source.folder, "wall_clock").measured["sessions"]


def _changed(found: Mapping[str, Any], score: str) -> Estimate:
    """Return the mean difference of a score, wall clock minus lockstep, with its interval over test instances."""
    lockstep, wall = zip(*(row[score] for row in found["trials"]), strict=True)
    return paired_difference(wall, lockstep, [row["base_id"] for row in found["trials"]])


def recorded_minutes() -> str:
    """Return for how long drivers at full rate were recorded [minutes]."""
    return f"{result('recorder_load').values['minutes']:g}"


def recorded_table() -> str:
    """Return what the recorder got of what drivers published at full rate."""
    columns = (
        *(Column("topic", itemgetter(0)), Column("rate [Hz]", lambda row: row[1]["rate"], "g")),
        Column("not taken by the middleware", lambda row: row[1]["refused"]),
        *(Column(key, lambda row, key=key: row[1][key]) for key in ("published", "recorded")),
        Column("lost", lambda row: row[1]["published"] - row[1]["recorded"]),
    )
    return markdown(TableBlock(columns, list(result("recorder_load").values["topics"].items())))


# --- bins of clutter --------------------------------------------------------------------------------------------------


def clutter_draws_table() -> str:
    """Return set sizes and DvFC of scenes drawn in several ways, and the share of each draw in the bins."""
    edges, scenes = result("clutter_bins").values["edges"], _clutter_scenes()
    lines = []
    for draw, words in DRAWS_OF_CLUTTER.items():
        own = scenes.filter(pl.col("draw") == draw)
        sizes, dvfc = (own[name].to_numpy() for name in ("distractors", "dvfc"))
        low, middle, high = np.quantile(dvfc, (0.05, 0.5, 0.95))
        shares = np.bincount(np.searchsorted(edges, dvfc, "right"), minlength=len(edges) + 1) / len(dvfc)
        spread = f"{middle:.2f} ({low:.2f} to {high:.2f})"
        bins = ", ".join(f"{share:.2f}" for share in shares)
        lines.append((words, len(own), float(sizes.mean()), spread, float(np.corrcoef(sizes, dvfc)[0, 1]), bins))
    headings = ("drawn over", "scenes", "distractors: mean", "DvFC: median (5 % to 95 %)")
    return markdown(plain((*headings, "correlation of both", "share in bins 1, 2, …"), lines))


def clutter_bins_found() -> str:
    """Return in words for how many of the asked bins there was a scene, and after how many candidates."""
    values, scenes = result("clutter_bins").values, _clutter_scenes().filter(pl.col("draw") == "bins")
    none = [(base_id, name) for draw, base_id, name, _ in values["without"] if draw == "bins"]
    instances = len({base_id for base_id, _ in none})
    left = f"; the others, of {counted(instances, 'instance')}, had none in as many as are allowed" if none else ""
    return (
        f"{len(scenes)} of {len(scenes) + len(none)} scenes that were asked for were found, after "
        f"{scenes['candidates'].mean():.1f} candidates on average (at most {scenes['candidates'].max()}){left}"
    )


def _clutter_scenes() -> pl.DataFrame:
    values = result("clutter_bins").values
    return pl.DataFrame(values["rows"], schema=list(values["columns"]), orient="row")


# --- the camera as a judge --------------------------------------------------------------------------------------------


def camera_judge_table() -> str:
    """Return how well a camera sees objects and judges scenes, compared with the truth: a column for each task."""
    lines = []

    def line(words: str, cells: Mapping[str, str]) -> None:
        lines.append([words, *cells.values()])

    def errors(key: str, scale: float) -> dict[str, str]:
        return {k: ", ".join(f"{scale * value:.2f}" for value in r[key]) for k, r in rows.items()}

    rows = _camera()
    line("objects; seen; certain", {k: f"{r['objects']}; {r['seen']}; {r['certain']}" for k, r in rows.items()})
    line("position of certain ones, error: median, 95 %, greatest [mm]", errors("position", 1e3))
    line("their yaw: median, 95 %, greatest [deg]", errors("yaw", math.degrees(1.0)))
    covered = {
        k: [f"{100.0 * r[f'covered_{what}'] / r['certain']:.1f} %" for what in ("position", "yaw")]
        for k, r in rows.items()
    }
    line("positions, and yaws, within what is told with 95 %", {k: ", ".join(both) for k, both in covered.items()})
    line("scenes; successes", {k: f"{r['scenes']}; {r['successes']}" for k, r in rows.items()})
    line("**judged without asking**", {k: _exact(r["alone"], r["scenes"]) for k, r in rows.items()})
    line("**of these right**", {k: _exact(r["alone_right"], r["alone"]) for k, r in rows.items()})
    frequent = {k: max(r["alone_successes"], r["alone"] - r["alone_successes"]) for k, r in rows.items()}
    line(
        "control: the more frequent answer to all of these",
        {k: _exact(frequent[k], r["alone"]) for k, r in rows.items()},
    )
    line(
        "right where there is an answer, certain or not",
        {k: _exact(r["told_right"], r["told"]) for k, r in rows.items()},
    )
    return markdown(plain(["", *(CAMERA_TASKS[task] for task in rows)], lines))


def camera_asks_table() -> str:
    """Return in how many scenes a person is asked: by distance to the goal's limit, light, and what hides something."""
    lines = []
    found = list(_camera().values())
    for rows in zip(*(row["by_limit"] for row in found), strict=True):
        low, high = (None if end is None else f"{1e3 * end:g}" for end in rows[0][:2])
        words = f"{low} to {high} mm from the limit" if high else f"farther than {low} mm from it"
        lines.append([words, *(_asked(row[2]) for row in rows)])
    for light in found[0]["by_light"]:
        lines.append([f"{light} light", *(_asked(row["by_light"][light]) for row in found)])
    for key, words in (("False", "nothing covered"), ("True", "two patches cover something")):
        lines.append([words, *(_asked(row["hidden"][key]) for row in found)])
    return markdown(plain(["a person is asked", *(CAMERA_TASKS[task] for task in _camera())], lines))


def camera_agreement() -> str:
    """Return how many answers that a camera gives alone are right: ``240 of 240 (100.0 %, 98.5 to 100.0)``."""
    rows = _camera().values()
    return _exact(sum(row["alone_right"] for row in rows), sum(row["alone"] for row in rows))


def camera_scenes() -> str:
    """Return of how many scenes of each task the comparison is: ``200``."""
    return str(result("camera_judge").values["scenes"])


CAMERA_TASKS = {"language_table": "blocks by colour and outline", "tabletop": "objects by tags"}


def _camera() -> Mapping[str, Mapping[str, Any]]:
    return result("camera_judge").values["results"]


def _exact(hits: int, of: int) -> str:
    found = clopper_pearson(hits, of)
    share_, low, high = (100.0 * value for value in (found.mean, found.low, found.high))
    return f"{hits} of {of} ({share_:.1f} %, {low:.1f} to {high:.1f})"


def _asked(row: Mapping[str, int]) -> str:
    return f"{row['scenes'] - row['alone']} of {row['scenes']}"


# --- perturbations of navigation --------------------------------------------------------------------------------------


def applies(name: str) -> str:
    """Return in words to how many instances of a session each perturbation applies: ``ΔL applies to 100 % …``."""
    rows = [row for key, row in session(name).items() if key not in (BASE, "all")]
    shares = ((row, row.instances / (row.instances + row.skipped)) for row in rows)
    return _list([f"{row.symbol} applies to {100.0 * share:.0f} %" for row, share in shares])


def moved(name: str, *perturbations: str) -> str:
    """Return in words how far each of some perturbations moves objects on the mean over its instances."""
    rows = [session(name)[perturbation] for perturbation in perturbations]
    return _list([f"{row.symbol} moves {row.metres / row.instances:.2f} m" for row in rows])


def signed(number: float | None, decimals: int = 2) -> str:
    """Return a number with its sign; zero has none."""
    text = f"{number or 0.0:+.{decimals}f}".replace("-", "\N{MINUS SIGN}")
    return text[1:] if float(text[1:]) == 0.0 else text


# --- the graph ------------------------------------------------------------------------------------------------------


def node_parameters(node: str) -> str:
    """Return the table of a node's parameters, from the record that declares them (needs ROS 2)."""
    module = import_module(f"robocontrast_ros.nodes.{node}_node")
    (cls,) = (
        value
        for name, value in vars(module).items()
        if name.endswith("Parameters")
        and getattr(value, "__module__", "").startswith("robocontrast_ros.graph.parameters")
    )
    hints = get_type_hints(cls)
    rows = []
    for field in fields(cls):
        info = cls.__pydantic_fields__[field.name]
        default = "required" if info.is_required() else _shown(info.get_default())
        rows.append((f"`{field.name}`", _ros_type(hints[field.name]), default, info.description))
    return markdown(plain(("parameter", "type", "default", "description"), rows))


def driver_keys() -> str:
    """Return the table of the keys below `driver` in a robot's file, from the records that declare them."""
    rows = dict.fromkeys(row for record in (ArmDriver, BaseDriver) for row in _keys(record, "driver"))
    return markdown(plain(("key", "default", "description"), rows))


def _keys(record: type, prefix: str) -> list[tuple[str, str, str]]:
    """Return key, default and description of a record's keys; those of its records in place of theirs."""
    hints, rows = get_type_hints(record), []
    for field in fields(record):
        info, key = record.__pydantic_fields__[field.name], f"{prefix}.{field.name}"
        if records := [each for each in get_args(hints[field.name]) if is_dataclass(each)]:
            for each in records:
                (kind,) = get_args(get_type_hints(each)["type"]) if len(records) > 1 else ("",)
                where = f"With `type: {kind}`: " if kind else ""
                rows += [(name, default, where + words) for name, default, words in _keys(each, key)]
        else:
            default = "required" if info.is_required() else _shown(info.get_default(call_default_factory=True))
            rows.append((f"`{key}`", default, info.description))
    return rows


_ROS_TYPES = {bool: "bool", int: "integer", float: "double", str: "string", Path: "string"}


def _ros_type(annotation: Any) -> str:
    if get_origin(annotation) is tuple:
        return f"{_ROS_TYPES[get_args(annotation)[0]]}_array"
    return _ROS_TYPES.get(annotation, "string")


def _shown(default: Any) -> str:
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, tuple):
        return f"`[{', '.join(map(str, default))}]`"
    return f"`{default}`" if default != "" else "empty"


FAULTS_OF_RIG: Mapping[str, str] = {
    "killed": "rollout killed (SIGKILL)",
    "stopped": "rollout stopped (SIGSTOP)",
    "cut": "rollout cut off from the network",
    "watchdog_killed": "watchdog killed: the rollout stops the robot",
}
FAULTS_ON_PORTS: Mapping[str, str] = {
    "killed": "rollout killed",
    "watchdog_killed": "watchdog killed: the rollout stops the robot",
    "both_killed": "both killed together: the driver's own end of the last command",
}
OTHER_PORTS = ("follow_joint_trajectory", "streaming", "cmd_vel")


OF_TIMES = ("n", "median [ms]", "95 % within [ms]", "worst [ms]", "over one control period")


def stop_times(where: Literal["", "session_"] = "") -> str:
    """Return the table of the times from the last heartbeat to the stop at the driver's input.

    Args:
        where: empty for the rig, `session_` for sessions.
    """
    found = _read(Source.folder, "stop_times").measured
    rows = ((words, *_of_times(found, where + fault)) for fault, words in FAULTS_OF_RIG.items())
    return markdown(plain(("fault", *OF_TIMES), rows))


def stop_times_of_ports() -> str:
    """Return the same table of the rig for the ports of real drivers, and for all ports where nothing of ours lives."""
    found = _read(Source.folder, "stop_times").measured
    rows = []
    for port in ("topics", *OTHER_PORTS):
        for fault, words in FAULTS_ON_PORTS.items():
            if (part := f"{port}_{fault}") in found["times"]:
                rows.append((f"`{port}`", words, *_of_times(found, part)))
    return markdown(plain(("port", "fault", *OF_TIMES), rows))


def _of_times(found: Mapping[str, Any], part: str) -> tuple[str, ...]:
    """Return the number, the median, the 95th percentile and the greatest of times [ms], and how many are late."""
    times = sorted(found["times"][part])
    at = [times[math.ceil(share * len(times)) - 1] for share in (0.5, 0.95, 1.0)]
    over = sum(time > found["period"] for time in times)
    return (str(len(times)), *(f"{1e3 * time:.0f}" for time in at), f"{over} of {len(times)}")


def late_stops() -> str:
    """Return how many stops on the rig took longer than a control period, of all ports: ``0 of 400``."""
    found = _read(Source.folder, "stop_times").measured
    ports = (f"{port}_{fault}" for port in OTHER_PORTS for fault in ("killed", "watchdog_killed"))
    parts = [*FAULTS_OF_RIG, *(part for part in ports if part in found["times"])]
    times = [time for part in parts for time in found["times"][part]]
    return f"{sum(time > found['period'] for time in times)} of {len(times)}"


def false_alarms() -> str:
    """Return how many stops without a fault there were, in words."""
    found = _read(Source.folder, "stop_times").measured["no_fault"]
    return f"{found['stops']} in {found['minutes']:g} minute{'' if found['minutes'] == 1 else 's'}"


def launch_arguments() -> str:
    """Return the table of the launch file's arguments."""
    rows = ((f"`{name}`", one.default and f"`{one.default}`", one.description) for name, one in ARGUMENTS.items())
    return markdown(plain(("argument", "default", "meaning"), rows))
