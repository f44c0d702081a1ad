"""Instructions that nobody expects: they go through unharmed, or one line says why not."""

from __future__ import annotations

import csv

from here import command_here
from hypothesis import given
from hypothesis import strategies as st
from odd_words import ODD, said
from session_runs import Workplace, finished

from robocontrast_ros.domain import Delivery
from robocontrast_ros.domain.words import SHOWN, on_one_line


def test_odd_words_reach_the_policy_as_they_are_and_each_trial_has_one_line(tmp_path):
    place = Workplace(tmp_path)
    long = "push the red moon. " * 5500
    file = place.session(
        task=place.short_task(3),
        policy="film_bc_state",
        cameras=[],
        strategy={"name": "contrast_set", "perturbations": [said("long", long), *(said(*odd) for odd in ODD.items())]},
        test_set={"size": 1},
    )
    code, output = place.run("evaluate", file, "--fast")
    assert code == 0, output
    (run,) = place.runs
    trials = {event.trial.perturbation: event for event in finished(run)}
    assert {event.delivered for event in trials.values()} == {Delivery.CONFIRMED}
    assert {name: trials[name].observed.instruction for name in ODD} == ODD
    shown = output.splitlines()
    for index, name in enumerate(ODD, start=1):
        assert sum(line.startswith(f"{index:04d}  x0000  {name}") for line in shown) == 1
    assert "\x1b[31m" not in output and "\u202e" not in output
    assert "[/red] [bold]push[/] [link=file:///] \\x1b[31m" in output
    (skipped,) = [line for line in shown if "skipped" in line]
    assert "27502 tokens, of which policy 'film_bc_state' reads 512" in skipped and len(skipped) < 2 * SHOWN
    code, output = command_here("results", run)
    assert code == 0, output
    with (run / "trials.csv").open(encoding="utf-8", newline="") as table:
        assert {row["perturbation"]: row["instruction"] for row in csv.DictReader(table)}.items() >= ODD.items()


@given(st.text(), st.integers(2, 40))
def test_any_text_is_shown_on_one_line_of_printable_characters(text, most):
    shown = on_one_line(text, most)
    assert len(shown.splitlines()) <= 1 and shown.replace("\u200d", "").isprintable()
    if text.isascii() and text.isprintable() and len(text) <= most:
        assert shown == text
