"""`robocontrast policies`: all policies, their requirements, and the robots they fit."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from robocontrast_ros.cli.options import RobotOption
from robocontrast_ros.cli.terminal import Console
from robocontrast_ros.configuration.files import find_file, known_names

if TYPE_CHECKING:
    from robocontrast_ros.policies.catalogue import Listed
    from robocontrast_ros.policies.protocol import PolicyDescription
    from robocontrast_ros.robots.profile import RobotProfile

COLUMNS = ("policy", "answers", "sees", "needs", "fits", "does not fit", "reads")

NO_FILE = "a plug-in; no parameter file of its package names it"


@dataclass(frozen=True)
class Place:
    """The robot and session that policies must fit.

    Attributes:
        robot: the robot.
        control_rate: of the session's task [Hz]; None without a session.
        cameras: name of each camera in use -> size of its images; None if the session does not give it.
        usual: size of images if neither session nor policy gives it; None without a session.
    """

    robot: RobotProfile
    control_rate: float | None
    cameras: dict[str, tuple[int, int] | None]
    usual: tuple[int, int] | None = None


def policies(
    files: Annotated[
        list[str] | None, typer.Argument(help="Names in config/policies/, or paths of .yaml files; by default all.")
    ] = None,
    robot: RobotOption = None,
    session: Annotated[
        str | None, typer.Option(help="Session whose robot, control rate and cameras the policies must fit.")
    ] = None,
) -> None:
    """List policies: their actions and requirements, the robots they fit, and why they do not fit the others.

    A policy is loaded only if its file does not say enough.
    """
    from robocontrast_ros.policies.catalogue import look_up, plugin_files

    places, console = list(_places(robot, session)), Console()
    chosen = [find_file("policies", file, "command line", "policy", Path.cwd()) for file in files or ()]
    shipped = known_names("policies")
    listed = [look_up(file) for file in chosen or shipped.values()]
    rows = [_row(policy, places, shipped) for policy in listed]
    for name, found in ({} if chosen else plugin_files()).items():
        rows += [_row(look_up(file), places, shipped) for file in found]
        if not found:
            cells = {"policy": name, "does not fit": NO_FILE}
            rows.append(tuple(cells.get(heading, "") for heading in COLUMNS))
    console.table(COLUMNS, rows)
    console.print(
        "To also check a session's control rate and images: robocontrast policies --session SESSION."
        if session is None
        else "Checked against the session.",
        style="dim",
    )
    unknown = [policy for policy in listed if chosen and policy.description is None]
    for policy in unknown:
        print(f"error: {policy.file}: {policy.problem}", file=sys.stderr)
    if unknown:
        raise typer.Exit(2)


def _places(robot: str | None, session: str | None) -> Iterable[Place]:
    if session is not None:
        from robocontrast_ros.configuration import load_record
        from robocontrast_ros.sessions.overrides import Overrides
        from robocontrast_ros.sessions.resolving import resolve
        from robocontrast_ros.sessions.schema import DEFAULT_IMAGE_SIZE, SessionParameters

        resolved = resolve(session, Overrides(robot=robot))
        said = load_record(SessionParameters, resolved.source).cameras is not None
        cameras = {c.name: (c.width, c.height) if said else None for c in resolved.parameters.cameras or ()}
        yield Place(resolved.robot, resolved.task.control_rate, cameras, DEFAULT_IMAGE_SIZE)
        return
    from robocontrast_ros.robots.profile import load_profile

    known = known_names("robots")
    files = [find_file("robots", robot, "command line", "--robot", Path.cwd())] if robot else known.values()
    for file in files:
        profile = load_profile(file)
        if robot is None and profile.driver is not None:
            continue  # Policies fit a real robot as they fit it in simulation: its file only has a driver besides.
        yield Place(profile, None, {camera.name: None for camera in profile.cameras})


def _row(listed: Listed, places: list[Place], shipped: dict[str, Path]) -> tuple[str, ...]:
    """Return the cells of a policy's row."""
    described = listed.description
    file = listed.file.stem if shipped.get(listed.file.stem) == listed.file else listed.file
    needs = "\n".join(listed.needs)
    if described is None:
        return (str(file), "", "", needs, "", f"unknown: {listed.problem}", "")
    fitting, others = [], defaultdict(list)
    for place in places:
        differences = _differences(listed, described, place)
        if differences:
            others[differences].append(place.robot.name)
        else:
            fitting.append(place.robot.name)
    name = str(file) if described.name == listed.file.stem else f"{file}\n“{described.name}”"
    reasons = (f"{', '.join(robots)}: {differences}" for differences, robots in others.items())
    seen, fits, others_fit = _cameras(described), "\n".join(fitting), "\n".join(reasons)
    return (name, _answers(described), seen, needs, fits, others_fit, _words(described))


def _differences(listed: Listed, described: PolicyDescription, place: Place) -> str:
    from robocontrast_ros.policies.fit import find_differences

    # Cameras without a size in the session get the size that the policy file asks for, else the default size.
    usual = None if listed.by_file else place.usual
    cameras = {name: size or usual for name, size in place.cameras.items()}
    found = find_differences(described, place.robot, place.control_rate, cameras)
    # With an action space that the robot does not support, other differences hardly matter.
    of_space = [difference for difference in found if difference.what == "action_space"]
    return "; ".join(difference.brief for difference in of_space or found)


def _answers(described: PolicyDescription) -> str:
    rate = "" if described.rate is None else f", {described.rate:g} Hz"
    lines = [described.action_space, f"size {described.action_size}{rate}"]
    if described.chunk_length > 1:
        lines.append(f"chunk {described.chunk_length}")
        if described.executed != described.chunk_length:
            lines[-1] += f", {described.executed} executed"
        if described.ensemble is not None:
            lines.append(f"ensemble {described.ensemble:g}")
    if described.late != "hold":
        lines.append(f"late: {described.late}")
    return "\n".join(lines)


def _words(described: PolicyDescription) -> str:
    """Return the limits on the instructions that a policy reads; "unknown" if its number of tokens is not known."""
    lines = ["unknown"]
    if described.max_tokens is not None:
        tokenizer = Path(described.tokenizer).name or "tokenizer unknown"
        lines = [f"{described.max_tokens} tokens", tokenizer]
    if described.case == "lower":
        lines.append("small letters")
    if not described.accepts_empty:
        lines.append("no empty text")
    if described.referents == "crop":
        lines.append("pictures")
    if described.mask == "native":
        lines.append("masks")
    return "\n".join(lines)


def _cameras(described: PolicyDescription) -> str:
    sizes = described.image_sizes or (None,) * len(described.cameras)
    pairs = zip(described.cameras, sizes, strict=True)
    return "\n".join(f"{name} {size[0]}x{size[1]}" if size else name for name, size in pairs)
