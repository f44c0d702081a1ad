"""How long clutter takes to measure and distractors to draw, and what scenes come out.

The first instances of the task ``tabletop_clutter``, none left out, each with every kind of distractors. Every scene
that comes out is checked: words, way, gaps and occlusion.

    python -m benchmark.clutter                      100 instances, 1,200 scenes, a quarter of an hour
    python -m benchmark.clutter --instances 200    2,400 scenes, with which README.md was written
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import Counter, defaultdict

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from robocontrast_ros.configuration import load_configured, resolve_uri
from robocontrast_ros.domain import NotApplicable
from robocontrast_ros.images.congestion import feature_congestion
from robocontrast_ros.perturbations.distractors import DistractorParameters, Distractors
from robocontrast_ros.system.numerics import one_thread
from robocontrast_ros.tasks.protocol import Infeasible
from robocontrast_ros.tasks.tabletop import Tabletop, shapes

TASK = "package://robocontrast_ros/config/tasks/tabletop_clutter.yaml"
KINDS = (
    *(DistractorParameters(count=count) for count in (1, 2, 4, 8, 16)),
    *(DistractorParameters(count=count, occluder=True) for count in (1, 4, 16)),
    DistractorParameters(count=8, similar="alike"),
    DistractorParameters(count=16, similar="unlike"),
    *(DistractorParameters(count=count, looks=True) for count in (4, 16)),
)
OCCLUSION = (0.0, 0.01, 0.1, 0.2, 0.3, 0.4, 0.5)


def wrong(task: Tabletop, base, new) -> list[str]:
    """Return what is wrong with a scene with distractors."""
    said, found = base.instruction, []
    p = task.parameters.distracting
    if task.premise(said, new.scene) is not None:
        found.append("words")
    if isinstance(task.planner.plan(said, new.scene), Infeasible):
        found.append("way")
    if not all(new.scene[o.name] == o for o in base.scene if not task.library[o.model].fixed):
        found.append("twin")
    added = task.clutter.distractors(said, new.scene)
    standing = [o for o in new.scene if not task.library[o.model].fixed]
    areas = {o.name: shapes.footprint(task.library[o.model], o.pose) for o in standing}
    gaps = [shapes.gap(areas[a], areas[b]) for a in added for b in areas if a != b]
    # Things that settle may come a little nearer.
    if gaps and min(gaps) < p.gap - 2 * p.shifted:
        found.append("gap")
    if dict(new.proof.measures)["occlusion"] > p.occluded:
        found.append("occlusion")
    return found


def timed(task: Tabletop, base, new) -> dict[str, float]:
    """Return the time of measuring one scene [s]: the first look, which composes it, and the next."""
    began = time.perf_counter()
    task.clutter.measures(base.instruction, new.scene)
    seconds = {"measures": time.perf_counter() - began}
    image = task.clutter._views.image(new.scene, "front")
    began = time.perf_counter()
    feature_congestion(image)
    return seconds | {"congestion": time.perf_counter() - began}


def main() -> None:
    """Draw, check, time and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--instances", type=int, default=100)
    instances = parser.parse_args().instances
    task: Tabletop = load_configured("tasks", resolve_uri(TASK))
    console, seconds, refused, mistakes = Console(), defaultdict(list), Counter(), Counter()
    hidden, dvfc, times, reasons = defaultdict(list), defaultdict(list), defaultdict(list), Counter()
    for seed in track(range(instances), "instances"):
        base = task.sample(np.random.default_rng(seed), f"x{seed}", task.families[seed % len(task.families)])
        for kind in KINDS:
            made = Distractors(kind)
            began = time.process_time()
            answer = made.apply(task, base, base.scene, np.random.default_rng([seed, KINDS.index(kind)]))
            seconds[made.name].append(time.process_time() - began)
            if isinstance(answer, NotApplicable):
                refused[made.name] += 1
                reasons[answer.reason.partition("of the last: ")[2].split()[-1]] += 1
                continue
            measures = dict(answer.instance.proof.measures)
            hidden[made.name].append(measures["occlusion"])
            dvfc[made.name].append(measures["dvfc"])
            mistakes.update(wrong(task, base, answer.instance))
            if kind is KINDS[-1]:
                for name, value in timed(task, base, answer.instance).items():
                    times[name].append(value)
    table = Table("distractors", "refused", "drawing one [s], median, p90", "DvFC: mean, sd", "occlusion: share a bin")
    for made in map(Distractors, KINDS):
        shares, _ = np.histogram(hidden[made.name], bins=[*OCCLUSION[:-1], OCCLUSION[-1] + 1e-9])
        taken, values = seconds[made.name], dvfc[made.name]
        table.add_row(
            made.name,
            f"{refused[made.name]} of {instances}",
            f"{statistics.median(taken):.2f}, {np.quantile(taken, 0.9):.2f}",
            f"{np.mean(values):.2f}, {np.std(values):.2f}",
            " ".join(f"{share / max(len(values), 1):.2f}" for share in shares),
        )
    console.print(table)
    console.print(f"bins of occlusion: {OCCLUSION}; scenes: {sum(map(len, dvfc.values()))}; mistakes: {dict(mistakes)}")
    for name, values in times.items():
        low, high = statistics.median(values), np.quantile(values, 0.9)
        console.print(f"{name}: {1000 * low:.0f} ms, 90th percentile {1000 * high:.0f} ms")


if __name__ == "__main__":
    with one_thread():
        main()
