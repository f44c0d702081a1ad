"""`robocontrast perturbations`: all perturbations, and their results on one test instance."""

from __future__ import annotations

from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from robocontrast_ros.analysis.tables.block import Column
from robocontrast_ros.cli.terminal import Console
from robocontrast_ros.configuration import ConfigurationError, load_configured
from robocontrast_ros.configuration.files import known_names

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from robocontrast_ros.domain import NotApplicable, Perturbed, TestInstance
    from robocontrast_ros.perturbations.protocol import Perturbation
    from robocontrast_ros.sessions.resolving import ResolvedSession
    from robocontrast_ros.tasks.protocol import Task


def perturbations(
    session: Annotated[
        str | None, typer.Argument(help="Session whose perturbations are shown on a test instance.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the test instance.", min=0)] = 0,
    image: Annotated[Path | None, typer.Option(help="PNG file for the images of the cameras.")] = None,
) -> None:
    """List all perturbations; with a session, show their effect on one of its test instances.

    The perturbations of the session are shown or, if it has none, all that its task supports.
    """
    if session is None:
        if image is not None:
            raise ConfigurationError("command line", "--image", str(image), "a session, whose robot has the cameras")
        _show_all()
        return
    import numpy as np

    from robocontrast_ros.sessions.resolving import resolve

    console, resolved = Console(), resolve(session)
    task = resolved.task
    perturbations = resolved.perturbations or tuple(p for p in _all() if _supports(p, task))
    rng = np.random.default_rng(seed)
    base = task.sample(rng, "drawn", task.families[int(rng.integers(len(task.families)))])
    answers = {p.name: p.apply(task, base, base.scene, np.random.default_rng([seed, 1])) for p in perturbations}
    rows = [("base", "", "", f"“{base.instruction.text}”")]
    rows += [(p.name, p.axes, _expected(p), _outcome(p, answers[p.name], base)) for p in perturbations]
    console.table(("perturbation", "axes", "a sound policy", "what becomes of it"), rows)
    if image is not None:
        _draw(resolved, base, answers, seed, image)
        console.print(image)


def _show_all() -> None:
    # A task may have several files; a perturbation may support only some of them.
    kinds: dict[type[Task], list[Task]] = {}
    for file in known_names("tasks").values():
        task = load_configured("tasks", file)
        kinds.setdefault(type(task), []).append(task)
    rows = []
    for perturbation in sorted(_all(), key=lambda perturbation: not perturbation.plausible):
        able = [tasks[0].name for tasks in kinds.values() if any(_supports(perturbation, t) for t in tasks)]
        only = f" ({', '.join(able)})" if len(able) < len(kinds) else ""
        group = "plausible" if perturbation.plausible else "implausible"
        what = f"{perturbation.description}{only}"
        rows.append((perturbation.name, perturbation.axes, _expected(perturbation), what, group))
    console = Console()
    headings = ("perturbation", "axes", "a sound policy", "what it does")
    console.table(headings, rows, group=Column("plausible", itemgetter(-1)))
    console.print(
        "In brackets: the tasks that have what it changes, where not all do. With a session, this shows what becomes "
        "of one of its test instances. A list of several in a session is one more, their composition, such as "
        "[distracting, mask_all]. docs/perturbations.md says more."
    )


def _all() -> list[Perturbation]:
    from robocontrast_ros.perturbations.loading import load_perturbation, perturbation_names

    return [load_perturbation(name, "perturbations", name) for name in perturbation_names()]


def _expected(perturbation: Perturbation) -> str:
    return perturbation.expectation.value.replace("_", " ")


def _supports(perturbation: Perturbation, task: Task) -> bool:
    try:
        return perturbation.supports(task)
    except ValueError:  # not with the task's parameters
        return False


def _outcome(perturbation: Perturbation, answer: Perturbed | NotApplicable, base: TestInstance) -> str:
    from robocontrast_ros.domain import NotApplicable

    if isinstance(answer, NotApplicable):
        return f"does not apply: {answer.reason}"
    told = answer.instance.instruction.text
    return answer.note if told == base.instruction.text or hasattr(perturbation, "parts") else f"“{told}”"


def _draw(
    session: ResolvedSession, base: TestInstance, answers: dict[str, Perturbed | NotApplicable], seed: int, path: Path
) -> None:
    # matplotlib takes a second to import.
    from robocontrast_ros.analysis.figures.shown import draw_shown
    from robocontrast_ros.domain import Perturbed, Pose
    from robocontrast_ros.images.rendering import Camera, RenderingUnavailable
    from robocontrast_ros.observations.protocol import Filters
    from robocontrast_ros.policies.protocol import Observation
    from robocontrast_ros.worlds.in_process import looked_at

    def filtered(name: str, images: dict[str, NDArray[np.uint8]]) -> dict[str, NDArray[np.uint8]]:
        return filters[name].apply(Observation(0, images, (), (), Pose())).images

    used = session.parameters.cameras or ()
    cameras = tuple(Camera(camera.name, camera.width, camera.height) for camera in used)
    if not cameras:
        raise ConfigurationError(str(session.source), "cameras", "none", "a camera, for a picture")
    instances = {"base": base} | {n: a.instance for n, a in answers.items() if isinstance(a, Perturbed)}
    try:
        filters = {name: Filters(instance.observation, seed) for name, instance in instances.items()}
        views = [(i.scene, filters[name].offsets(camera.name for camera in cameras)) for name, i in instances.items()]
        seen = looked_at(session.robot, session.task, cameras, views)
        rows = [
            (name, instance.instruction.text, filtered(name, {camera: view.image for camera, view in views.items()}))
            for (name, instance), views in zip(instances.items(), seen, strict=True)
            if name == "base" or instance.scene != base.scene or instance.observation
        ]
        rows += [
            (name, instance.instruction.text, {s.text: s.crop.pixels for s in instance.instruction.segments if s.crop})
            for name, instance in instances.items()
            if instance.instruction.pictured
        ]
    except RenderingUnavailable as error:
        expected = f"a machine that can draw images ({error})"
        raise ConfigurationError("command line", "--image", str(path), expected) from None
    draw_shown(rows, path)
