"""How changed the scenes of perturbed trials look to the policy's cameras at their start (seed 003, section V-C)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.analysis.data.run_record import RunRecord
from robocontrast_ros.analysis.estimates.observation_shift import kind_of
from robocontrast_ros.domain import TestInstance
from robocontrast_ros.images.difference import MEASURES, VisualChange, visual_change
from robocontrast_ros.images.rendering import Camera
from robocontrast_ros.runs.events import TrialFinished
from robocontrast_ros.sessions.resolving import ResolvedSession
from robocontrast_ros.statistics.rank_correlation import RankCorrelation, rank_correlation
from robocontrast_ros.worlds.in_process import looked_at


@dataclass(frozen=True)
class SeenChange:
    """A perturbed trial beside the base trial of its instance, as a camera sees their scenes.

    Attributes:
        trial: trial_id of the perturbed trial.
        base_id: test instance.
        problem: problem of the instance; empty without one.
        perturbation: name of the perturbation.
        note: the change in words.
        kind: ``kind_of`` the modifications that made it; empty for another change.
        camera: name of the camera.
        change: its size there.
        lost: success of the base trial minus that of the perturbed one.
        images: picture of the base scene, and of the changed one, RGB.
    """

    trial: str
    base_id: str
    problem: str
    perturbation: str
    note: str
    kind: str
    camera: str
    change: VisualChange
    lost: float
    images: tuple[NDArray[np.uint8], NDArray[np.uint8]]


Change = tuple[TrialFinished, TrialFinished]
"""A base trial, and a trial of its test instance in another scene."""


def seen_changes(
    session: ResolvedSession, record: RunRecord, track: Callable[[Sequence[Change]], Iterable[Change]] = iter
) -> Iterator[SeenChange]:
    """Yield the changes of all perturbed trials whose scene differs from that of their instance, camera by camera.

    Args:
        session: the session of the run.
        record: what its journal says.
        track: iterates over its input, and may show progress.

    Raises:
        RenderingUnavailable: this machine cannot draw.
        SimulationError: a scene cannot be set up.
    """
    cameras = tuple(Camera(c.name, c.width, c.height) for c in session.parameters.cameras or ())
    bases = {(e.trial.base_id, e.trial.repeat): e for e in record.finished if e.trial.is_base}
    pairs: list[Change] = []
    for event in record.finished:
        base = bases.get((event.trial.base_id, event.trial.repeat))
        if base is None or event.trial.is_base or event.trial.instance.scene == base.trial.instance.scene:
            continue
        pairs.append((base, event))
    scenes = [e.trial.instance.scene for pair in pairs for e in pair]
    views = looked_at(session.robot, session.task, cameras, ((scene, {}) for scene in scenes), bodies=True)
    for base, event in track(pairs):
        first, second = next(views), next(views)
        instance: TestInstance = record.instances.get(event.trial.base_id, event.trial.instance)
        proof = event.trial.instance.proof
        for camera in cameras:
            before, after = first[camera.name], second[camera.name]
            yield SeenChange(
                trial=event.trial.trial_id,
                base_id=event.trial.base_id,
                problem=instance.problem,
                perturbation=event.trial.perturbation,
                note=event.trial.note,
                kind=kind_of(dict(proof.measures)) if proof is not None else "",
                camera=camera.name,
                change=visual_change(before.image, after.image, before.bodies, after.bodies),
                lost=base.result.success - event.result.success,
                images=(before.image, after.image),
            )


@dataclass(frozen=True)
class SizeAndLoss:
    """Whether trials whose scene looks more changed lose more success.

    Attributes:
        camera: name of the camera.
        measure: measure of the size.
        correlation: of the size with the loss of success, within each problem.
    """

    camera: str
    measure: str
    correlation: RankCorrelation


def size_and_loss(changes: Sequence[SeenChange], seed: int) -> list[SizeAndLoss]:
    """Return the correlation of each measure with the loss of success, for each camera."""
    found = []
    for camera in dict.fromkeys(change.camera for change in changes):
        own = [change for change in changes if change.camera == camera]
        groups = [change.problem or change.base_id for change in own]
        for number, measure in enumerate(MEASURES):
            sizes = [getattr(change.change, measure) for change in own]
            rng = np.random.default_rng([seed, number])
            lost = [change.lost for change in own]
            found.append(SizeAndLoss(camera, measure, rank_correlation(sizes, lost, groups, rng)))
    return found
