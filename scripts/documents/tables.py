"""What documents show of results: tables, numbers and sentences that stay true whatever the numbers are.

Every public function may be called in an expression of a document (``rendering``); the first argument is the name of a
result. Intervals are 95 % and are computed here, from rows, by the package's own statistics.
"""

from __future__ import annotations

import gzip
import io
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np
import polars as pl

from benchmark import navigation_success, policy_success
from benchmark.jobs import markdown
from robocontrast_ros.analysis.summary import Row, summary_rows
from robocontrast_ros.domain import BASE
from robocontrast_ros.sessions.launched import ARGUMENTS
from robocontrast_ros.statistics.estimate import Estimate
from robocontrast_ros.statistics.proportions import wilson
from robocontrast_ros.studies import results as study_results
from robocontrast_ros.studies.claims import Decided, Verdict
from robocontrast_ros.studies.job import Job, SessionOfStudy
from robocontrast_ros.studies.parameters import Study, load_study
from scripts.documents.results import RESULTS, Result, read_result

BOARD_FAMILIES = policy_success.FAMILIES


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
def _rows(folder: Path, name: str, metric: str) -> Mapping[str, Row]:
    values = _read(folder, name).values
    kept = values["session"]
    schema = {"counts": pl.Boolean, "base_id": pl.String, "perturbation": pl.String, "outcome": pl.String}
    table = pl.DataFrame(
        values["rows"],
        schema={key: schema.get(key, pl.Float64) for key in values["columns"]},
        orient="row",
        strict=False,
    )
    rows = summary_rows(
        table, dict(kept["symbols"]), kept["skipped"], metric or kept["metric"], kept["policy"]
    )
    return {row.perturbation: row for row in rows}


def session(name: str, metric: str = "") -> Mapping[str, Row]:
    """Return a session's rows as its summary has them: ``base``, each perturbation, ``all``.

    Args:
        name: of the result.
        metric: score whose paired differences are taken; the session's own when left out.
    """
    return _rows(Source.folder, name, metric)


def effort(name: str) -> SimpleNamespace:
    """Return what a session cost, as ``analysis.effort.Effort`` has it."""
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


def solved(row: Row) -> str:
    """Return a session's row as ``9/12 (0.47 to 0.91)``."""
    return f"{count(row)} {interval(row.success)}" if row.trials else "-"


def count(row: Row) -> str:
    """Return how many trials of a row were solved: ``9/12``."""
    return f"{round((row.success.mean or 0.0) * row.trials)}/{row.trials}"


def interval(estimate: Estimate) -> str:
    """Return an interval as ``(0.47 to 0.91)``."""
    return f"({estimate.low:.2f} to {estimate.high:.2f})"


def estimate(found: Estimate) -> str:
    """Return an estimate as ``0.75 (0.47 to 0.91)``."""
    return navigation_success.in_words(found)


def contrast_table(*names: str) -> str:
    """Return solved trials of sessions under each perturbation, bold where ``stands_out`` names it."""
    lines = [["policy", *_symbols(names[0])]]
    for name in names:
        kept = result(name).values["session"]
        cells = [
            f"**{solved(row)}**" if _differs(row) else solved(row)
            for key, row in session(name, "success").items()
            if key != "all"
        ]
        lines.append([kept["policy"], *cells])
    return markdown(lines)


def _differs(row: Row) -> bool:
    difference = row.difference
    return difference.low is not None and (difference.low > 0.0 or difference.high < 0.0)


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
    return _list([f"{row.symbol} {estimate(row.score(metric))}" for key, row in rows if key != "all"])


def made_with(name: str) -> str:
    """Return in words the versions that a result was made with."""
    shown = {"mujoco": "MuJoCo", "numpy": "NumPy", "scipy": "SciPy", "torch": "PyTorch"}
    versions = result(name).versions
    return _list([f"{words} {versions[key]}" for key, words in shown.items() if key in versions])


def _list(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def navigation_table(name: str) -> str:
    """Return progress and success of a navigation session, as its summary has them."""
    rows = list(session(name).values())
    kept = result(name).values["session"]
    return markdown(
        [
            [f"`{kept['policy']}`, seed {result(name).seed}", *(row.symbol for row in rows)],
            ["trials", *(str(row.trials) for row in rows)],
            ["progress", *(estimate(row.progress) for row in rows)],
            ["success", *(estimate(row.success) for row in rows)],
        ]
    )


# --- policies on a board ---------------------------------------------------------------------------------------------


@lru_cache
def _board(folder: Path, name: str) -> tuple[SimpleNamespace, ...]:
    found = _read(folder, name).values
    return tuple(SimpleNamespace(**dict(zip(found["columns"], row, strict=True))) for row in found["rows"])


def trials(name: str, **having: object) -> list[SimpleNamespace]:
    """Return the trials of a benchmark's rows that have these values."""
    return policy_success.having(_board(Source.folder, name), **having)


def share(name: str, **having: object) -> str:
    """Return how many of some trials were solved: ``461 of 500 (0.90 to 0.94)``."""
    found = trials(name, **having)
    solved = sum(trial.success == 1.0 for trial in found)
    return f"{solved} of {len(found)} {interval(wilson(solved, len(found)))}"


def _policies(name: str) -> list[str]:
    return list(dict.fromkeys(trial.policy for trial in trials(name)))


def families_table(name: str) -> str:
    """Return solved unperturbed instances of each family."""
    return markdown(policy_success.unperturbed(trials(name), _policies(name), BOARD_FAMILIES))


def perturbed_table(name: str, by_family: bool = False) -> str:
    """Return solved trials under each perturbation, of each family where that is asked for."""
    families = BOARD_FAMILIES if by_family else ()
    return markdown(policy_success.perturbed(trials(name), _policies(name), families))


def robots_table(name: str) -> str:
    """Return solved unperturbed instances of each policy on each robot."""
    robots = list(dict.fromkeys(trial.robot for trial in trials(name)))
    lines = [
        [policy, *(policy_success.solved(trials(name, policy=policy, robot=robot)) for robot in robots)]
        for policy in _policies(name)
    ]
    return markdown([["policy", *robots], *lines])


def oracle_table(name: str) -> str:
    """Return success, steps and SPL of each family on each robot."""
    robots = list(dict.fromkeys(trial.robot for trial in trials(name)))
    lines = []
    for family in BOARD_FAMILIES:
        line = [f"`{family}`"]
        for robot in robots:
            own = trials(name, family=family, robot=robot)
            line += [
                policy_success.solved(own),
                policy_success.mean_steps(own),
                f"{np.mean([t.spl for t in own]):.2f}",
            ]
        lines.append(line)
    return markdown([["family", *(cell for robot in robots for cell in (robot, "steps", "SPL"))], *lines])


def per_family(name: str) -> int:
    """Return how many unperturbed instances of each family were run."""
    first = trials(name)[0]
    return len(
        trials(name, perturbation=BASE, policy=first.policy, robot=first.robot, family=BOARD_FAMILIES[0])
    )


def perturbed_instances(name: str) -> int:
    """Return how many instances of each family were perturbed."""
    return len({t.index for t in trials(name, family=BOARD_FAMILIES[0]) if t.perturbation != BASE})


def solved_in_families(name: str, perturbation: str) -> str:
    """Return, of each policy, base trials in the families where a perturbation applies against trials under it."""
    applies = {t.family for t in trials(name, perturbation=perturbation)}
    parts = []
    for policy in _policies(name):
        under = trials(name, policy=policy, perturbation=perturbation)
        perturbed = {t.index for t in trials(name, policy=policy) if t.perturbation != BASE}
        base = [
            t
            for t in trials(name, policy=policy, perturbation=BASE)
            if t.family in applies and t.index in perturbed
        ]
        pair = [f"{sum(t.success == 1.0 for t in own)}/{len(own)}" for own in (base, under)]
        parts.append(f"{policy} solves {pair[0]} against {pair[1]} under it")
    return _list(parts)


def extremes_of_families(name: str) -> str:
    """Return the least and the greatest number of solved unperturbed instances of a family: ``98 to 100``."""
    counts = [
        sum(t.success == 1.0 for t in trials(name, family=family, robot=robot))
        for family in BOARD_FAMILIES
        for robot in {t.robot for t in trials(name)}
    ]
    return str(min(counts)) if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"


# --- driving ---------------------------------------------------------------------------------------------------------


def driving_table(name: str, *policies: str) -> str:
    """Return how far navigation policies get: the first in full, of the others the row ``all`` alone."""
    first, *others = policies or _policies(name)
    head = [f"`{first}`", *navigation_success.HEADINGS[:-1]]
    lines = [line[:-1] for line in navigation_success.table(trials(name, policy=first))]
    for policy in others:
        lines.append([f"`{policy}`, all", *navigation_success.cells(trials(name, policy=policy))[:-1]])
    return markdown([head, *lines])


def arrangements_table(name: str) -> str:
    """Return how far a session's policy got, in the columns of ``driving_table``."""
    kept = result(name).values["session"]
    lines = [
        [
            row.symbol,
            str(row.trials),
            *(estimate(score) for score in (row.progress, row.success, row.spl)),
            f"{row.ndtw.mean:.2f}",
            f"{row.collisions:.1f}",
        ]
        for row in session(name).values()
    ]
    return markdown([[f"`{kept['policy']}`, arrangements", *navigation_success.HEADINGS[:-1]], *lines])


# --- study -----------------------------------------------------------------------------------------------------------


@lru_cache
def study_analysis(
    name: str, packed: bytes, sessions: tuple[SessionOfStudy, ...] = ()
) -> study_results.Analysis:
    """Return what the kept trials of a study say.

    Args:
        name: of the study.
        packed: ``study_trials.csv.gz``.
        sessions: how its sessions ended.
    """
    table = pl.read_csv(io.BytesIO(gzip.decompress(packed)), schema_overrides={"spl": pl.Float64})
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
def _study(folder: Path) -> tuple[Study, study_results.StudyResults]:
    values = _read(folder, "study").values
    packed = (folder / "study_trials.csv.gz").read_bytes()
    return load_study(values["study"]), study_analysis(
        values["study"], packed, sessions_of_study(values)
    ).results


def study_summary() -> str:
    """Return what the study's own summary says, from its strategies on."""
    text = study_results.summary(*_study(Source.folder))
    return text.split("\n", 4)[-1].replace("\n## ", "\n### ").rstrip()


def decided(claim: str, policy: str) -> Decided:
    """Return how a claim of the study came out for a policy.

    Raises:
        KeyError: there is no such claim, or policy.
    """
    for one in _study(Source.folder)[1].decided:
        if (one.claim.id, one.policy) == (claim, policy):
            return one
    raise KeyError(f"the study has no claim '{claim}' of '{policy}'")


def verdicts() -> str:
    """Return a table: of each policy, which of the paper's claims hold, do not hold, are undecided."""
    study, found = _study(Source.folder)
    lines = [["the paper's claims", *study.policies]]
    for verdict in get_args(Verdict):
        line = [verdict]
        for policy in study.policies:
            own = [one for one in found.decided if one.policy == policy and one.verdict == verdict]
            claims = [one.claim.id for one in own if one.claim.source != study_results.OURS]
            line.append(
                f"{len(claims)}: " + ", ".join(f"`{claim}`" for claim in claims) if claims else "none"
            )
        lines.append(line)
    return markdown(lines)


def bias(policy: str, claim: str) -> str:
    """Return a difference to the test-set mean that a claim is about, with its sign and interval."""
    found = decided(claim, policy).estimate
    return f"{signed(found.mean, 3)} ({signed(found.low, 3)} to {signed(found.high, 3)})"


def ratio(strategy: str, policy: str) -> str:
    """Return how many trials of a strategy cost as much as one of the standard evaluation: ``2.8``."""
    for row in _study(Source.folder)[1].strategies:
        if (row.strategy, row.policy) == (strategy, policy):
            return f"{row.ratio.mean:.1f}"
    raise KeyError(f"the study has no strategy '{strategy}' of '{policy}'")


# --- simulated draws -------------------------------------------------------------------------------------------------


def coverage_table() -> str:
    """Return the coverage of each interval for a mean, and its width; ours is the last."""
    head = ["score", "share", "instances", "percentile", "BCa", "bootstrap-t", "CR2 alone", "ours"]
    lines = [head]
    for score, share, instances, *pairs in result("coverage").values["means"]:
        cells = [f"{pairs[i]:.1f} ({pairs[i + 1]:.2f})" for i in range(0, len(pairs), 2)]
        lines.append([score, f"{share:g}", str(instances), *cells[:-1], f"**{cells[-1]}**"])
    return markdown(lines)


def least_coverage() -> str:
    """Return where our interval covers least: ``92.4 %, for success with share 0.95 and 40 instances``."""
    score, share, instances, *pairs = min(result("coverage").values["means"], key=lambda line: line[-2])
    return f"{pairs[-2]:.1f} %, for {score} with share {share:g} and {instances} instances"


def differences_table() -> str:
    """Return the coverage of the interval for paired differences, and how often the bootstrap finds one."""
    head = ["chances of success", "instances", "coverage [%]", "width", 'bootstrap says "different" at 5 %']
    lines = [
        [f"{one:g}, {other:g}", str(instances), f"{covered:.1f}", f"{width:.2f}", f"{found:.1f} %"]
        for one, other, instances, covered, width, found in result("coverage").values["differences"]
    ]
    return markdown([head, *lines])


def adjusted_table() -> str:
    """Return bias, error and coverage of the adjusted mean."""
    head = ["covariates", "run", "bias of plain", "of adjusted", "rms of base", "of adjusted"]
    head += ["coverage, X [%]", "width", "coverage, domain [%]", "width"]
    formats = ("{}", "{}", "{:+.3f}", "{:+.3f}", "{:.4f}", "{:.4f}", "{:.1f}", "{:.2f}", "{:.1f}", "{:.2f}")
    lines = [
        [words.format(cell) for words, cell in zip(formats, line, strict=True)]
        for line in result("coverage").values["adjusted"]
    ]
    return markdown([head, *lines])


def sequences_table() -> str:
    """Return how often the betting test ever excluded the truth, and the widths of its intervals."""
    lines = [
        [score, f"{share:g}", f"{wrong:.1f} %", f"{early:.2f}", f"{late:.2f}"]
        for score, share, wrong, early, late in result("coverage").values["sequences"]
    ]
    return markdown([["score", "share", "ever excluded the truth", "width after 25", "after 100"], *lines])


def comparisons_table() -> str:
    """Return how many pairs each sequential test takes to tell two policies apart, and how often it does."""
    head = ["most pairs", "rates of success", "correlation", "sign test", "betting test", "STEP"]
    lines = [
        [
            str(most),
            f"{first:g}, {second:g}",
            f"{correlation:g}",
            *(
                f"{pairs:.1f} ({100.0 * found:.1f} %)"
                for pairs, found in zip(tests[::2], tests[1::2], strict=True)
            ),
        ]
        for most, first, second, correlation, *tests, _, _ in result("sequential_comparison").values[
            "comparisons"
        ]
    ]
    return markdown([head, *lines])


def correlation(name: str, first: str, second: str) -> str:
    """Return how the successes of two policies in base trials of the same instances correlate, and their number."""
    found = result(name).values
    rows = [dict(zip(found["columns"], row, strict=True)) for row in found["rows"]]
    one, other = (
        {
            (row["robot"], row["family"], row["index"]): row["success"]
            for row in rows
            if row["policy"] == policy and row["perturbation"] == "base"
        }
        for policy in (first, second)
    )
    pairs = np.array([(one[key], other[key]) for key in sorted(one.keys() & other.keys())])
    return f"{np.corrcoef(pairs.T)[0, 1]:.2f} in {len(pairs)} base trials"


def comparison_precision() -> str:
    """Return the greatest standard error of the sign test's mean numbers of pairs: ``0.2``."""
    return f"{max(line[-2] for line in result('sequential_comparison').values['comparisons']):.1f}"


# --- perturbations of navigation --------------------------------------------------------------------------------------


def applies(where: str) -> str:
    """Return in words to how many instances each perturbation of navigation applies: ``ΔL 100 % …``."""
    lines = result("navigation_perturbations").values[where]
    return _list([f"{symbol} applies to {100.0 * number / of:.0f} %" for symbol, number, of, _ in lines])


def moved(where: str) -> str:
    """Return in words how far each perturbation that moves something moves it on the mean."""
    lines = result("navigation_perturbations").values[where]
    return _list([f"{symbol} moves {metres:.2f} m" for symbol, _, _, metres in lines if metres])


def drawn(where: str) -> int:
    """Return how many instances that was measured on."""
    return result("navigation_perturbations").values[where][0][2]


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
        if name.endswith("Parameters") and getattr(value, "__module__", "") == module.__name__
    )
    hints = get_type_hints(cls)
    rows = [("parameter", "type", "default", "description")]
    for field in fields(cls):
        info = cls.__pydantic_fields__[field.name]
        default = "required" if info.is_required() else _shown(info.get_default())
        rows.append((f"`{field.name}`", _ros_type(hints[field.name]), default, info.description))
    return markdown(rows)


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


def launch_arguments() -> str:
    """Return the table of the launch file's arguments."""
    rows = [("argument", "default", "meaning")]
    for name, argument in ARGUMENTS.items():
        rows.append((f"`{name}`", f"`{argument.default}`" if argument.default else "", argument.description))
    return markdown(rows)
