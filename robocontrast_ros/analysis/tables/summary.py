"""The summary of a run as tables for the terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from robocontrast_ros.analysis.data.effort_model import Effort
from robocontrast_ros.analysis.estimates.effort import MeanEffort
from robocontrast_ros.analysis.estimates.handling import Handling
from robocontrast_ros.analysis.estimates.judges import Judges
from robocontrast_ros.analysis.estimates.placing import Placing
from robocontrast_ros.analysis.estimates.summary import ALL, Row, Summary
from robocontrast_ros.analysis.estimates.test_set import BIASES
from robocontrast_ros.domain.words import counted
from robocontrast_ros.runs.events import TrialCorrected
from robocontrast_ros.statistics.estimate import NO_ESTIMATE, Estimate

NONE = "-"

CHANGE = "Difference to base: mean difference to the same instances' own base trials."
SPL_CHANGES = (
    "SPL also changes where the perturbed path is harder for any robot; an oracle's run shows by how much: "
    "robocontrast compare RUN ORACLE_RUN."
)
SELECTED = (
    "Base trials of the instances that a perturbation was applied to, and of those that it could not be applied to "
    "(refused). Where they differ, the perturbed trials are of easier or harder instances than the test set's."
)
LATENCY = (
    "At 0 s the world waits: the base trials. Slope: of the least-squares line over all these trials, with the "
    "interval of a bootstrap of test instances."
)
NOT_SAID = "the policy server does not say which instruction and which images it received."
"""Explanations under the tables."""


def summary_report(summary: Summary) -> Group:
    """Return the scores, the test set's mean and the effort of a run; at most 80 columns wide."""
    stopped = ["", Text(summary.stopped, style="italic")] if summary.stopped else []
    parts = [
        *(
            summary_table(summary),
            *stopped,
            *delivery_report(summary),
            *changes_report(summary),
            *latency_report(summary),
        ),
        *(*selections_report(summary), "", scores_table(summary)),
    ]
    return Group(*parts, "", estimates_report(summary), "", effort_table(summary))


def summary_table(summary: Summary) -> Table:
    """Return the table of scores: a row for the base trials, each perturbation, and all together."""
    unit, shown = summary.cost_unit, [spec.heading for spec in summary.shown]
    budget = "no budget" if summary.budget is None else f"budget {summary.budget:g} {unit}"
    # Text, because rich takes the brackets of a plain string for markup.
    table = Table(
        title=Text(f"{summary.session}: {summary.strategy} · {summary.policy} on {summary.robot}"),
        caption=Text(
            f"{'finished' if summary.finished else 'not finished'}: "
            f"{summary.ended or 'the journal has no final event'}\n"
            f"seed {summary.seed}, {budget}. n: trials. 95 % intervals: Wilson's, with the effective number of "
            "independent trials. faults: of the policy. void: attempts, in no mean. skip: could not be applied, or the "
            "goal held at the start."
        ),
        box=None,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    table.add_column("", no_wrap=True)
    for heading in ("n", *(f"{name}{summary.mark}" for name in shown), "faults", "void", "skip", f"cost [{unit}]"):
        table.add_column(Text(heading), justify="right", no_wrap=True)
    policy = summary.rows[0].policy if len(summary.policies) == 1 else None
    for row in summary.rows:
        if row.policy != policy:
            policy = row.policy
            table.add_section()
            table.add_row(Text(policy), style="italic")
        cells = _cells(row, summary)
        table.add_row(*map(Text, cells), style="bold" if row.perturbation == ALL else None)
    return table


def scores_table(summary: Summary) -> Table:
    """Return the means of all scores: a row a score, a column the base trials, each perturbation, and all together."""
    first = [row for row in summary.rows if row.policy == summary.policies[0]]
    table = small_table(f"mean of all scores{summary.mark}", *(row.symbol for row in first))
    # Of many perturbations, or long symbols, the heads are broken, not the names of the scores.
    table.columns[0].no_wrap = True
    for column in table.columns[1:]:
        column.no_wrap = False
    for policy in summary.policies:
        if len(summary.policies) > 1:
            table.add_row(Text(policy), style="italic")
        own = [row for row in summary.rows if row.policy == policy]
        for spec in summary.scores:
            means = [row.scores[spec.name].mean for row in own]
            if any(mean is not None for mean in means):
                cells = (NONE if mean is None else f"{mean:.2f}" for mean in means)
                table.add_row(Text(spec.heading), *cells)
    return table


def delivery_report(summary: Summary) -> list[RenderableType]:
    """Return for how many trials it is unknown whether the policy received what was sent; nothing where for none."""
    if not summary.delivery_unknown:
        return []
    trials = sum(row.trials for row in summary.rows if row.perturbation == ALL)
    words = f"delivered: unknown for {summary.delivery_unknown} of {counted(trials, 'trial')}; {NOT_SAID}"
    return ["", Text(words, style="dim italic")]


def changes_report(summary: Summary) -> list[RenderableType]:
    """Return the table of differences to the instances' own base trials; none without a pair."""
    rows = [row for row in summary.rows if row.pairs]
    if not rows:
        return []
    shown = (f"{spec.heading}{summary.mark}" for spec in summary.shown)
    table = small_table("difference to base", "n", *shown)
    for row in rows:
        differences = map(row.difference_of, summary.shown)
        table.add_row(Text(summary.name_of(row)), str(row.pairs), *map(difference_in_words, differences))
    words = f"{CHANGE} n: instances."
    return [
        "",
        table,
        Text(f"{words} {SPL_CHANGES}" if summary.metric == "spl" else words, style="dim italic"),
    ]


def latency_report(summary: Summary) -> list[RenderableType]:
    """Return success against emulated latency, a table a curve; none where the session has no several latencies."""
    parts: list[RenderableType] = []
    for curve in summary.curves:
        whose = f", {curve.policy}" if len(summary.policies) > 1 else ""
        table = small_table(
            f"success against latency ({curve.filter}{whose})",
            "n",
            *(f"{name}{summary.mark}" for name in ("success", "difference to base")),
        )
        for point in curve.points:
            cells = (str(point.trials), in_words(point.success), difference_in_words(point.difference))
            table.add_row(f"{point.seconds:g} s", *cells)
        table.add_row("slope a second", str(curve.trials), difference_in_words(curve.slope), NONE)
        parts += ["", table]
    return [*parts, Text(LATENCY, style="dim italic")] if parts else []


def selections_report(summary: Summary) -> list[RenderableType]:
    """Return the table of instances that perturbations were applied to; none where all could be."""
    metric, mark = summary.metric_spec.heading, summary.mark
    heads = (f"applied{mark}", "n", f"refused{mark}", "n", f"applied - refused{mark}")
    table = small_table(f"base {metric}", *heads)
    for row in summary.rows:
        if row.selection is not None:
            found = row.selection
            table.add_row(
                Text(summary.name_of(row)),
                in_words(found.applied),
                str(found.applied_instances),
                in_words(found.refused),
                str(found.refused_instances),
                difference_in_words(found.difference),
            )
    return ["", table, Text(SELECTED, style="dim italic")] if table.row_count else []


def small_table(what: str, *headings: str) -> Table:
    """Return a table without lines, whose columns but the first are right-aligned."""
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column(Text(what))
    for heading in headings:
        table.add_column(Text(heading), justify="right", no_wrap=True)
    return table


def estimates_report(summary: Summary) -> Group:
    """Return the three estimates of the test set's mean, and the bias of each."""
    heads = (f"{target}{summary.mark}" for target in ("domain", "test set X"))
    table = small_table(f"test-set mean of {summary.metric_spec.heading}", *heads)
    for policy, found in summary.estimates.items():
        if len(summary.estimates) > 1:
            table.add_row(Text(policy), style="italic")
        for name, of_domain, of_test_set in found.by_name:
            exact = in_words(of_test_set or NO_ESTIMATE, found.no_sampling_error)
            table.add_row(name, in_words(of_domain or NO_ESTIMATE), exact)
    return Group(table, Text(_biases(summary), style="dim italic"))


def _biases(summary: Summary) -> str:
    """Return the targets of the estimates, and the bias of each, in one line each."""
    lines = [
        "domain: what the test set X was drawn from. X: the instances of the test set.",
        *(f"{name}: {bias}" for name, bias in BIASES.items()),
    ]
    several = len(summary.estimates) > 1
    for policy, found in summary.estimates.items():
        whose = f" ({policy})" if several else ""
        if found.without:
            lines.append(f"No adjusted mean{whose}: {found.without}")
        else:
            lines.append(f"Run{whose}: {found.run} of {counted(found.instances, 'instance')} of X.")
    return "\n".join(lines)


def effort_table(summary: Summary) -> Table:
    """Return the table of the run's effort, beside that of a standard evaluation of the same test set."""
    effort = summary.effort
    table = Table(caption=Text(_explained(summary)), box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("cost of set-ups", no_wrap=True)
    for heading in ("[m]", "[s]", "over"):
        table.add_column(Text(heading), justify="right", no_wrap=True)
    table.add_row("all", *_both(effort.total), counted(effort.set_ups, "set-up"))
    for words, mean, of in (
        ("a test instance in a standard evaluation", effort.standard_instance, "instance"),
        ("a perturbed instance", effort.perturbed_instance, "instance"),
        ("all perturbations of a test instance", effort.perturbations, "instance"),
        ("a perturbed trial", effort.perturbed_trial, "trial"),
    ):
        table.add_row(words, *_mean(mean), counted(mean.number, of) if mean.number else NONE)
    if effort.went_back:
        table.add_row("going back, in total", *_both(effort.gone_back), counted(effort.went_back, "instance"))
    return table


def _explained(summary: Summary) -> str:
    effort = summary.effort
    if effort.measured == 0:
        seconds = "by the model of seconds_to_move"
    elif effort.measured == effort.set_ups:
        seconds = "measured"
    else:
        seconds = f"measured for {effort.measured} of {counted(effort.set_ups, 'set-up')}, else by the model"
    words = f"Seconds {seconds}. Bringing in a scene from outside costs nothing without a store, and is in no mean."
    if summary.judges is not None:
        words += f"\n{judges_words(summary.judges)}"
    if summary.corrections:
        words += f"\n{corrections_words(summary.corrections)}"
    if effort.handling is not None:
        words += f"\n{handling_words(effort.handling)}"
    if effort.placing is not None:
        words += f"\n{placing_words(effort.placing)}"
    if effort.within is None:
        return words
    limit = f"within {effort.within:.4g} {summary.cost_unit}" if effort.within > 0.0 else "at no cost"
    words += f"\nTrials {limit} ({effort.within_is}): {effort.trials_within} of {effort.trials} of this session"
    if effort.standard_trials:
        words += f", {effort.standard_within} of {effort.standard_trials} of a standard evaluation"
    return f"{words}."


def judges_words(judges: Judges) -> str:
    """Return how far the camera and the person agree, in one or two sentences."""
    asked = f"In {counted(judges.asked, 'trial')} the camera was unsure, and the person decided."
    if not judges.both:
        return asked
    told = judges.agreement
    (no, camera_no), (camera_yes, yes) = told.table
    kappa = "undefined, for both say the same of every trial" if told.kappa == NO_ESTIMATE else in_words(told.kappa)
    return (
        f"Camera and person judged {counted(judges.both, 'trial')}: both success {yes}, both failure {no}, success for "
        f"the camera alone {camera_yes}, for the person alone {camera_no}; Cohen's kappa {kappa}. {asked}"
    )


def corrections_words(corrections: Sequence[TrialCorrected]) -> str:
    """Return which trials a person judged otherwise afterwards, who, and why."""
    each = "; ".join(
        f"{c.trial_id} {'success' if c.judgement.success else 'failure'}, by {c.judgement.by}: {c.reason}"
        for c in corrections
    )
    return f"Judgements corrected afterwards: {each}."


def handling_words(handling: Handling) -> str:
    """Return the person's measured times beside the model, and the model that fits best, in one or two sentences."""
    words = (
        f"Of {counted(handling.set_ups, 'timed set-up')} the model says {handling.modelled:.0f} s, measured were "
        f"{handling.measured:.0f} s: {difference_in_words(handling.difference)} s a set-up."
    )
    if handling.fitted is None:
        return words
    times = ", ".join(f"{name}: {value:.3g}" for name, value in vars(handling.fitted).items())
    return f"{words} It fits best with handling_times: {{{times}}}, to within {handling.residual:.1f} s (RMS)."


def placing_words(placing: Placing) -> str:
    """Return how exactly the person set scenes up, and what they overruled, in one or two sentences."""
    words = []
    if placing.position is not None:
        off, turned = placing.position, placing.orientation
        words.append(
            f"Set-up error of {counted(placing.objects, 'object')} that were placed and seen (median, 95 %, greatest): "
            f"{1e3 * off.median:.1f}, {1e3 * off.most:.1f} and {1e3 * off.greatest:.1f} mm; "
            f"{math.degrees(turned.median):.1f}°, {math.degrees(turned.most):.1f}° and "
            f"{math.degrees(turned.greatest):.1f}°."
        )
    if placing.overruled:
        each = "; ".join(f"{trial}: {doubts}" for trial, doubts in placing.overruled)
        words.append(
            f"The person said “it stands right” of {counted(len(placing.overruled), 'doubted set-up')}: {each}."
        )
    return " ".join(words) or f"Nothing that was placed was seen for certain, in {counted(placing.set_ups, 'set-up')}."


def _both(spent: Effort) -> tuple[str, str]:
    return f"{spent.metres:.2f}", f"{spent.seconds:.0f}"


def _mean(mean: MeanEffort) -> tuple[str, str]:
    return _both(mean.mean) if mean.mean else (NONE, NONE)


def _cells(row: Row, summary: Summary) -> tuple[str, ...]:
    return (
        row.symbol,
        str(row.trials),
        *(in_words(row.scores[spec.name]) for spec in summary.shown),
        str(row.policy_faults),
        str(row.void),
        str(row.skipped),
        f"{row.cost:.2f}",
    )


def in_words(estimate: Estimate, exact: str = "") -> str:
    """Return ``0.71 [0.52, 0.88]``, without the interval when there is none; a dash when there is no mean.

    Args:
        estimate: what is shown.
        exact: shown in place of the interval, unless empty.
    """
    if estimate.mean is None:
        return NONE
    mean = f"{estimate.mean:.2f}"
    if exact:
        return f"{mean}, {exact}"
    if estimate.low is None or estimate.high is None:
        return mean
    return f"{mean} [{estimate.low:.2f}, {estimate.high:.2f}]"


def difference_in_words(estimate: Estimate) -> str:
    """Return ``-0.12 [-0.20, -0.04]``, without the interval when there is none; a dash when there is no mean."""
    if estimate.mean is None:
        return NONE
    if estimate.low is None or estimate.high is None:
        return f"{estimate.mean:+.2f}"
    return f"{estimate.mean:+.2f} [{estimate.low:+.2f}, {estimate.high:+.2f}]"
