"""The tables of a run: its scores, their differences to base trials, the test set's mean, and the effort."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from operator import itemgetter

from rich.console import Group, RenderableType
from rich.text import Text

from robocontrast_ros.analysis.data.effort_model import Effort
from robocontrast_ros.analysis.estimates.handling import MeasuredHandling
from robocontrast_ros.analysis.estimates.judges import Judges
from robocontrast_ros.analysis.estimates.latency import Latency
from robocontrast_ros.analysis.estimates.placing import Placing
from robocontrast_ros.analysis.estimates.summary import ALL, Summary, SummaryRow
from robocontrast_ros.analysis.estimates.test_set import BIASES
from robocontrast_ros.analysis.tables.block import SIGNED, TOTAL, Column, Known, TableBlock, Value, words
from robocontrast_ros.analysis.tables.latex import tabular
from robocontrast_ros.analysis.tables.terminal import Table, tables
from robocontrast_ros.domain import BASE, ScoreSpec
from robocontrast_ros.domain.words import counted
from robocontrast_ros.runs.events import TrialCorrected
from robocontrast_ros.statistics.estimate import NO_ESTIMATE, Estimate

SCORES = (
    "n: trials that count. 95 % intervals: Wilson's, with the effective number of independent trials. faults: of the "
    "policy. void: attempts, in no mean. skip: could not be applied, or the goal held at the start."
)
CHANGE = "Difference to base: mean difference to the same instances' own base trials. 95 % intervals. n: instances."
SPL_CHANGES = (
    "SPL also changes where the perturbed path is harder for any robot; an oracle's run shows by how much: "
    "robocontrast compare RUN ORACLE_RUN."
)
SELECTED = (
    "Base trials of the instances that a perturbation was applied to, and of those that it could not be applied to "
    "(refused). Where they differ, the perturbed trials are of easier or harder instances than the test set's. 95 % "
    "intervals. n: instances."
)
NOT_SAID = "the policy server does not say which instruction and which images it received."
"""Explanations under the tables."""


def summary_report(summary: Summary) -> Group:
    """Return the scores, the test set's mean and the effort of a run for the terminal."""
    budget = "no budget" if summary.budget is None else f"budget {summary.budget:g} {summary.cost_unit}"
    ended = summary.ended or "the journal has no final event"
    parts: list[RenderableType] = [
        Text(f"{summary.session}: {summary.strategy} · {summary.policy} on {summary.robot}", style="bold"),
        Text(f"{'finished' if summary.finished else 'not finished'}: {ended}\nseed {summary.seed}, {budget}.\n"),
        Table(scores_block(summary)),
        *([Text(f"\n{summary.stopped}", style="italic")] if summary.stopped else []),
    ]
    if summary.delivery_unknown:
        trials = sum(row.trials for row in summary.rows if row.perturbation == ALL)
        unknown = f"{summary.delivery_unknown} of {counted(trials, 'trial')}; {NOT_SAID}"
        parts.append(Text(f"\ndelivered: unknown for {unknown}", style="dim italic"))
    blocks = (
        *(changes_block(summary), *latency_blocks(summary), selections_block(summary)),
        *(all_scores_block(summary), estimates_block(summary), effort_block(summary)),
    )
    return Group(*parts, "", tables(blocks))


def conclusion(summary: Summary) -> str:
    """Return what a run shows of success, in a sentence or two a policy; empty if no trial counts.

    A perturbation differs from base if the interval of its difference excludes 0, each by itself.
    """
    found = []
    for policy in summary.policies:
        rows = [row for row in summary.rows if row.policy == policy]
        every = next(row for row in rows if row.perturbation == ALL)
        if not every.trials:
            continue
        if every.policy_faults == every.trials:
            found.append(
                f"All {counted(every.trials, 'trial')} of {policy} failed by a fault of the policy, whose reasons are "
                "in the journal. They say nothing of how well it does."
            )
            continue
        base = next((row for row in rows if row.perturbation == BASE and row.trials), every)
        which = "base trials" if base is not every else "trials"
        found.append(
            f"{policy} solves {words(base.success)}{summary.mark} of {counted(base.trials, which[:-1], which)}."
        )
        pairs = [row for row in rows if row.pairs]
        sides = {
            "worse than base": [row for row in pairs if (row.success_difference.high or 0.0) < 0.0],
            "better than base": [row for row in pairs if (row.success_difference.low or 0.0) > 0.0],
        }
        sides["no difference to base shown"] = [row for row in pairs if not any(row in side for side in sides.values())]
        parts = [f"{how}: {', '.join(row.symbol for row in side)}" for how, side in sides.items() if side]
        if parts:
            found.append(f"By success{summary.mark}, each perturbation by itself, {'; '.join(parts)}.")
    return " ".join(found)


def policy_column(summary: Summary) -> Column | None:
    """Return the column that groups rows by policy; None if a run has one policy."""
    return Column("policy") if len(summary.policies) > 1 else None


def style_of(row: SummaryRow) -> str:
    """Return the style of a row."""
    return TOTAL if row.perturbation == ALL else ""


def _symbol(name: str) -> Column:
    return Column(name, lambda row: row.symbol)


def _scores(shown: Iterable[ScoreSpec], brief: bool = False) -> list[Column]:
    return [Column(spec.heading, lambda row, name=spec.name: row.scores[name], brief=brief) for spec in shown]


def _differences(summary: Summary, name: str = "{}") -> list[Column]:
    return [
        Column(name.format(spec.heading), lambda row, spec=spec: row.difference_of(spec), SIGNED)
        for spec in summary.shown
    ]


def scores_block(summary: Summary) -> TableBlock:
    """Return the scores of the base trials, of each perturbation, and of all together."""
    return TableBlock(
        [
            *(_symbol(""), Column("n", lambda row: row.trials), *_scores(summary.shown)),
            Column("faults", lambda row: row.policy_faults, roomy=True),
            Column("void", roomy=True),
            Column("skip", lambda row: row.skipped, roomy=True),
            Column(f"cost [{summary.cost_unit}]", lambda row: row.cost, roomy=True),
        ],
        summary.rows,
        note=SCORES,
        mark=summary.mark,
        group=policy_column(summary),
        style=style_of,
        chart="perturbations",
    )


def changes_block(summary: Summary) -> TableBlock:
    """Return the differences to the instances' own base trials; without rows if there is no pair."""
    return TableBlock(
        [_symbol("difference to base"), Column("n", lambda row: row.pairs), *_differences(summary)],
        [row for row in summary.rows if row.pairs],
        note=f"{CHANGE} {SPL_CHANGES}" if summary.metric == "spl" else CHANGE,
        mark=summary.mark,
        group=policy_column(summary),
    )


def all_scores_block(summary: Summary) -> TableBlock:
    """Return the means of all scores, also over solved trials and others apart."""
    rows = (*summary.rows, *summary.outcomes)
    return TableBlock(
        [_symbol("perturbation"), Column("n", lambda row: row.trials), *_scores(summary.scores, brief=True)],
        [row for policy in summary.policies for row in rows if row.policy == policy],
        title="Mean of all scores",
        note="95 % intervals. n: trials that count; a mean is over those that have the score. solved, not solved: all "
        "trials that are, and that are not; the latter mostly last to the step limit, and so their paths are longer.",
        mark=summary.mark,
        group=policy_column(summary),
        style=style_of,
    )


def latency_blocks(summary: Summary) -> list[TableBlock]:
    """Return success against emulated latency, a table a curve."""
    return [
        TableBlock(
            [
                Column(
                    f"success against latency ({curve.filter}{f', {curve.policy}' if policy_column(summary) else ''})",
                    lambda point: f"{point.seconds:g} s",
                ),
                Column("n", lambda point: point.trials),
                Column("success"),
                Column("difference to base", lambda point: point.difference, SIGNED),
            ],
            curve.points,
            note="Success where the world goes on while the policy thinks. At 0 s the world waits: the base trials. 95 "
            f"% intervals. Least-squares line over all {curve.trials} trials, with the interval of a bootstrap of test "
            f"instances: slope a second {words(curve.slope, SIGNED)}.",
            mark=summary.mark,
            chart="thinking",
        )
        for curve in summary.curves
    ]


def latency_block(latencies: Sequence[Latency]) -> TableBlock:
    """Return the policies' own times for an answer."""
    return TableBlock(
        [
            Column("policy"),
            Column("answers"),
            Column("p50 [ms]", lambda one: 1e3 * one.median, "#.3g"),
            Column("p95 [ms]", lambda one: 1e3 * one.p95, "#.3g"),
            Column("max [ms]", lambda one: 1e3 * one.longest, "#.3g"),
        ],
        latencies,
        note="The policy's own time for an answer, in trials that count; without loading and warm-up.",
        chart="latency",
    )


def selections_block(summary: Summary) -> TableBlock:
    """Return the base scores of each perturbation's applied and refused instances; without rows if none was refused."""
    return TableBlock(
        [
            _symbol(f"base {summary.metric_spec.heading}"),
            Column("applied", lambda row: row.selection.applied),
            Column("n applied", lambda row: row.selection.applied_instances),
            Column("refused", lambda row: row.selection.refused),
            Column("n refused", lambda row: row.selection.refused_instances),
            Column("applied - refused", lambda row: row.selection.difference, SIGNED),
        ],
        [row for row in summary.rows if row.selection is not None],
        note=SELECTED,
        mark=summary.mark,
        group=policy_column(summary),
    )


def estimates_block(summary: Summary) -> TableBlock:
    """Return the estimates of the test set's mean for the domain, and for the set itself, with the bias of each."""
    rows = [
        (policy, name, of_domain or NO_ESTIMATE, _exact(of_test_set or NO_ESTIMATE, found.no_sampling_error))
        for policy, found in summary.estimates.items()
        for name, of_domain, of_test_set in found.by_name
    ]
    several = len(summary.estimates) > 1
    lines = [
        "95 % intervals. domain: what the test set X was drawn from. X: the instances of the test set.",
        *(f"{name}: {bias}" for name, bias in BIASES.items()),
    ]
    for policy, found in summary.estimates.items():
        whose = f" ({policy})" if several else ""
        if found.without:
            lines.append(f"No adjusted estimate{whose}: {found.without}")
        else:
            lines.append(f"Run{whose}: {found.run} of {counted(found.instances, 'instance')} of X.")
    return TableBlock(
        [
            Column(f"test-set mean of {summary.metric_spec.heading}", itemgetter(1)),
            Column("domain", itemgetter(2)),
            Column("test set", itemgetter(3)),
        ],
        rows,
        note="\n".join(lines),
        mark=summary.mark,
        group=Column("policy", itemgetter(0)) if several else None,
    )


def _exact(estimate: Estimate, instead: str) -> Value:
    return Known(estimate.mean, instead) if instead and estimate.mean is not None else estimate


def effort_block(summary: Summary) -> TableBlock:
    """Return the run's effort, beside that of a standard evaluation of the same test set."""
    effort = summary.effort
    means = {
        "a test instance in a standard evaluation": (effort.standard_instance, "instance"),
        "a perturbed instance": (effort.perturbed_instance, "instance"),
        "all perturbations of a test instance": (effort.perturbations, "instance"),
        "a perturbed trial": (effort.perturbed_trial, "trial"),
    }
    rows: list[tuple[str, Effort | None, str | None]] = [
        ("all", effort.total, counted(effort.set_ups, "set-up")),
        *((name, mean.mean, counted(mean.number, of) if mean.number else None) for name, (mean, of) in means.items()),
    ]
    if effort.went_back:
        rows.append(("going back, in total", effort.gone_back, counted(effort.went_back, "instance")))
    return TableBlock(
        [
            Column("cost of set-ups", itemgetter(0)),
            Column("[m]", lambda row: row[1] and row[1].metres),
            Column("[s]", lambda row: row[1] and row[1].seconds, ".0f"),
            Column("over", itemgetter(2)),
        ],
        rows,
        note=_explained(summary),
    )


def set_ups_block(summary: Summary) -> TableBlock:
    """Return the effort of the set-ups of the base trials, of each perturbation, and of all."""
    return TableBlock(
        [
            _symbol("set-ups of"),
            Column("metres"),
            Column("seconds", form=".0f"),
            Column("m per trial", lambda row: row.metres_per_trial),
            Column("s per trial", lambda row: row.seconds_per_trial, ".1f"),
        ],
        summary.rows,
        note="Metres that objects were carried, and seconds of a person. Void attempts are included.",
        group=policy_column(summary),
        style=style_of,
        chart="budget",
    )


def _tex(summary: Summary, block: TableBlock) -> str:
    title = f"{summary.session}: {summary.strategy}, {summary.policy} on {summary.robot}, seed {summary.seed}"
    return tabular(replace(block, title=title), summary.stopped)


def summary_tex(summary: Summary) -> str:
    """Return a tabular with a row a perturbation: trials, both scores with intervals, differences to base trials."""
    block = TableBlock(
        [
            *(_symbol("perturbation"), Column("n", lambda row: row.trials)),
            *(*_scores(summary.shown), *_differences(summary, "{} - base")),
            *(Column("void"), Column(f"cost [{summary.cost_unit}]", lambda row: row.cost)),
        ],
        summary.rows,
        note="95 % intervals. n: trials that count. minus base: mean difference to the same instances' base trials. "
        "void: attempts that are in no mean.",
        mark=summary.mark,
        group=policy_column(summary),
    )
    return _tex(summary, block)


def scores_tex(summary: Summary) -> str:
    """Return a tabular with a row a perturbation and a column a score: means with intervals."""
    return _tex(summary, all_scores_block(summary))


def estimates_tex(summary: Summary) -> str:
    """Return a tabular with a row an estimator of the test set's mean: for the domain, and for the set itself."""
    return _tex(summary, estimates_block(summary))


def _explained(summary: Summary) -> str:
    effort = summary.effort
    if effort.measured == 0:
        seconds = "by the model of seconds_to_move"
    elif effort.measured == effort.set_ups:
        seconds = "measured"
    else:
        seconds = f"measured for {effort.measured} of {counted(effort.set_ups, 'set-up')}, else by the model"
    lines = [f"Seconds {seconds}. Bringing in a scene from outside costs nothing without a store, and is in no mean."]
    if summary.judges is not None:
        lines.append(judges_words(summary.judges))
    if summary.corrections:
        lines.append(corrections_words(summary.corrections))
    if effort.handling is not None:
        lines.append(handling_words(effort.handling))
    if effort.placing is not None:
        lines.append(placing_words(effort.placing))
    if effort.within is not None:
        limit = f"within {effort.within:.4g} {summary.cost_unit}" if effort.within > 0.0 else "at no cost"
        compared = f"Trials {limit} ({effort.within_is}): {effort.trials_within} of {effort.trials} of this session"
        if effort.standard_trials:
            compared += f", {effort.standard_within} of {effort.standard_trials} of a standard evaluation"
        lines.append(f"{compared}.")
    return "\n".join(lines)


def judges_words(judges: Judges) -> str:
    """Return the agreement of the camera and the person, in one or two sentences."""
    asked = f"In {counted(judges.asked, 'trial')} the camera was unsure, and the person decided."
    if not judges.both:
        return asked
    told = judges.agreement
    (no, camera_no), (camera_yes, yes) = told.table
    kappa = "undefined, for both say the same of every trial" if told.kappa == NO_ESTIMATE else words(told.kappa)
    return (
        f"Camera and person judged {counted(judges.both, 'trial')}: both success {yes}, both failure {no}, success for "
        f"the camera alone {camera_yes}, for the person alone {camera_no}; Cohen's kappa {kappa}. {asked}"
    )


def corrections_words(corrections: Sequence[TrialCorrected]) -> str:
    """Return the trials whose judgement a person corrected afterwards, with the person and the reason."""
    each = "; ".join(
        f"{c.trial_id} {'success' if c.judgement.success else 'failure'}, by {c.judgement.by}: {c.reason}"
        for c in corrections
    )
    return f"Judgements corrected afterwards: {each}."


def handling_words(handling: MeasuredHandling) -> str:
    """Return the person's measured times beside the model, and the model that fits best, in one or two sentences."""
    said = (
        f"Of {counted(handling.set_ups, 'timed set-up')} the model says {handling.modelled:.0f} s, measured were "
        f"{handling.measured:.0f} s: {words(handling.difference, SIGNED)} s a set-up."
    )
    if handling.fitted is None:
        return said
    times = ", ".join(f"{name}: {value:.3g}" for name, value in vars(handling.fitted).items())
    return f"{said} It fits best with handling_times: {{{times}}}, to within {handling.residual:.1f} s (RMS)."


def placing_words(placing: Placing) -> str:
    """Return the errors of the person's set-ups, and the doubts that they overruled, in one or two sentences."""
    said = []
    if placing.position is not None:
        off, turned = placing.position, placing.orientation
        said.append(
            f"Set-up error of {counted(placing.objects, 'object')} that were placed and seen (median, 95 %, greatest): "
            f"{1e3 * off.median:.1f}, {1e3 * off.most:.1f} and {1e3 * off.greatest:.1f} mm; "
            f"{math.degrees(turned.median):.1f}°, {math.degrees(turned.most):.1f}° and "
            f"{math.degrees(turned.greatest):.1f}°."
        )
    if placing.overruled:
        each = "; ".join(f"{trial}: {doubts}" for trial, doubts in placing.overruled)
        said.append(
            f"The person said “it stands right” of {counted(len(placing.overruled), 'doubted set-up')}: {each}."
        )
    return " ".join(said) or f"Nothing that was placed was seen for certain, in {counted(placing.set_ups, 'set-up')}."
