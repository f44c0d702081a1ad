"""`robocontrast print-tags` and `robocontrast calibrate`: tags for print, and the pose of a camera."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from robocontrast_ros.cli.options import BoardOption
from robocontrast_ros.cli.terminal import Console
from robocontrast_ros.configuration import ConfigurationError, dump_record, load_configured, load_record, write_yaml
from robocontrast_ros.configuration.files import find_file
from robocontrast_ros.system.disk import new_file, write_file

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL import Image

    from robocontrast_ros.domain import Pose
    from robocontrast_ros.images.boards import Board, CameraPose, Intrinsics
    from robocontrast_ros.perception import CalibratedCamera, ObjectTag
    from robocontrast_ros.tasks.protocol import Task

DOTS_PER_INCH = 300
SHARP = 1.0
"""Reprojection error up to which intrinsics, board and pictures fit together [pixel]."""


def print_tags(
    board: BoardOption = None,
    objects: Annotated[
        str | None,
        typer.Option(
            help="Task, such as tabletop, or path of its .yaml file: draw the tags for its objects instead, and write "
            "the YAML file for `operator.tags` beside them."
        ),
    ] = None,
    to: Annotated[
        Path | None, typer.Option(help="PDF or PNG file to write; board.pdf or tags.pdf if left out.")
    ] = None,
    family: Annotated[
        str | None,
        typer.Option(
            help="Family of the tags for objects, such as aruco_5x5_250; apriltag_36h11 if left out. The family of "
            "a board is in its file."
        ),
    ] = None,
) -> None:
    """Draw the board of tags with which a camera is calibrated, or the tags for objects, for print in its true size."""
    from robocontrast_ros.images.tag_families import USUAL

    if objects is not None:
        if board is not None:
            raise ConfigurationError("command line", "--board", str(board), "nothing, if --objects is given")
        _print_object_tags(objects, to or Path("tags.pdf"), family or USUAL)
        return
    if family is not None:
        cure = f"Write `family: {family}` into a file for --board; `robocontrast calibrate` takes the same file."
        raise ConfigurationError("command line", "--family", family, "nothing, unless --objects is given", cure)
    _print_board(board, to or Path("board.pdf"))


def _print_board(board_file: Path | None, to: Path) -> None:
    """Write a board for print in its true size.

    Args:
        board_file: YAML file of a ``Board``; None for the default.
        to: the PDF or PNG file.

    Raises:
        ConfigurationError: the board's file is wrong, or the file to write is not a .pdf or .png.
        DiskError: the file cannot be written.
    """
    from PIL import Image

    from robocontrast_ros.domain.words import counted
    from robocontrast_ros.images.boards import drawn

    _require_page(to)
    board = _board(board_file)
    _write_pages(iter([Image.fromarray(drawn(board, DOTS_PER_INCH))]), to)
    width, height = board.size
    Console().say(
        f"{to}: {1e3 * width:.0f} x {1e3 * height:.0f} mm, {counted(board.tags, 'tag')}.\n"
        "Print it in its true size (100 %), glue it on something flat, and measure the line of 100 mm. If that is "
        "not 100 mm long, write the measured `square` and `tag` in a file for --board.",
    )


def calibrate(
    images: Annotated[list[Path], typer.Argument(help="Pictures of the board, with nothing moved between them.")],
    info: Annotated[
        Path,
        typer.Option(
            help="The camera's intrinsics: what `ros2 topic echo --once …/camera_info` prints, or a file of "
            "camera_calibration."
        ),
    ],
    at: Annotated[
        tuple[float, float, float, float],
        typer.Option(
            help="Where the lower left corner of the board is: x, y and z in the world's frame [m], and the angle from "
            "its x axis to the board's lower edge about z [rad]. The board lies flat, with its tags up."
        ),
    ] = (0.0, 0.0, 0.0, 0.0),
    board: BoardOption = None,
    frame: Annotated[str, typer.Option(help="Optical frame of the camera.")] = "camera_color_optical_frame",
    world: Annotated[str, typer.Option(help="Frame of the result.")] = "world",
    to: Annotated[Path, typer.Option(help="YAML file to write.")] = Path("camera.yaml"),
    fixed_tags: Annotated[
        Path | None,
        typer.Option(
            help="YAML file to write with the other tags, which lie on the table beside the board; for the "
            "session's `operator.fixed_tags`."
        ),
    ] = None,
) -> None:
    """Measure the pose of a camera, and its error, from pictures of a printed board."""
    from robocontrast_ros.domain import Pose
    from robocontrast_ros.images.boards import BoardNotSeen, camera_pose
    from robocontrast_ros.images.camera_info import read_intrinsics
    from robocontrast_ros.images.files import read_picture
    from robocontrast_ros.perception import CalibratedCamera

    used, intrinsics, console = _board(board), read_intrinsics(info), Console()
    if not all(map(math.isfinite, at)):
        raise ConfigurationError("command line", "--at", at, "four finite numbers: x, y, z [m] and yaw [rad]")
    placed = Pose.planar(at[0], at[1], at[3], at[2])
    pictures = [read_picture(file) for file in images]
    for file, image in zip(images, pictures, strict=True):
        size = f"{image.shape[1]}x{image.shape[0]} pixels"
        if image.shape[:2] != (intrinsics.height, intrinsics.width):
            expected = f"{intrinsics.width}x{intrinsics.height} pixels, as {info} says"
            raise ConfigurationError(str(file), "", size, expected, "Take both from the same camera in the same mode.")
    try:
        found = camera_pose(pictures, used, intrinsics, placed)
        apart = _apart(pictures, used, intrinsics, placed)
    except BoardNotSeen as error:
        where = str(images[error.image]) if error.image is not None else "pictures"
        raise ConfigurationError(where, "", str(error), "a picture that shows the board") from None
    except ValueError as error:
        raise ConfigurationError("pictures", "", str(error), "pictures of the board's front") from None
    if found.reprojection > SHARP:
        raise ConfigurationError(
            str(info),
            "",
            f"{found.reprojection:.1f} pixels between where corners are seen and where they should be",
            f"at most {SHARP:g}",
            "Check that the intrinsics are this camera's, that the print is flat and `square` as measured, and that "
            "neither camera nor board was moved between the pictures.",
        )
    camera = CalibratedCamera(intrinsics, found.pose, world, found.position_error, found.orientation_error)
    lying = _lying_tags(pictures, camera, used, at[2]) if fixed_tags is not None else ()
    _show(found, apart, frame, world, console)
    content = {
        "frame_id": world,
        "child_frame_id": frame,
        "position": list(found.pose.position),
        "orientation_xyzw": list(found.pose.orientation),
        "position_error": found.position_error,
        "orientation_error": found.orientation_error,
        "reprojection_error_pixels": found.reprojection,
        "images": found.images,
        "corners": found.corners,
        # A camera that judges trials needs these values besides its pose, so that one file is enough.
        "width": intrinsics.width,
        "height": intrinsics.height,
        "distortion_model": "rational_polynomial" if intrinsics.distortion.size == 8 else "plumb_bob",
        "k": intrinsics.matrix.ravel().tolist(),
        "d": intrinsics.distortion.tolist(),
    }
    write_yaml(to, content)
    console.print(to)
    if fixed_tags is not None:
        _write_fixed_tags(lying, fixed_tags, console)


def _lying_tags(
    images: list[NDArray[np.uint8]], camera: CalibratedCamera, board: Board, height: float
) -> tuple[ObjectTag, ...]:
    """Return the tags beside the board.

    Raises:
        ConfigurationError: there is no such tag, or the position of one is not clear.
    """
    from robocontrast_ros.perception.fixed_tags import lying_tags

    own = range(board.first_tag, board.first_tag + board.tags)
    expected = "tags that lie flat on the table, beside the board and as high as it"
    try:
        lying = lying_tags(images, camera, height, own, board.family)
    except ValueError as error:
        cure = "Remove or cover each tag that is not fixed to the table."
        raise ConfigurationError("pictures", "--fixed-tags", str(error), expected, cure) from None
    if not lying:
        cure = f"Their numbers must differ from those of the board, {own.start} to {own.stop - 1}."
        raise ConfigurationError("pictures", "--fixed-tags", "no tag but the board's is seen", expected, cure)
    return lying


def _write_fixed_tags(tags: tuple[ObjectTag, ...], to: Path, console: Console) -> None:
    for tag in tags:
        x, y, _ = tag.position
        console.print(f"tag {tag.number}: {1e3 * tag.size:.1f} mm, x {x:.4f}, y {y:.4f} m")
    write_yaml(to, {"tags": list(map(dump_record, tags))})
    console.print(to)


def _apart(images: list[NDArray[np.uint8]], board: Board, intrinsics: Intrinsics, placed: Pose) -> float | None:
    """Return the greatest distance between the camera's positions from single pictures [m]; None for one picture."""
    from robocontrast_ros.images.boards import camera_pose

    if len(images) < 2:
        return None
    places = [camera_pose([image], board, intrinsics, placed).pose for image in images]
    return max(one.distance_to(other) for one in places for other in places)


def _show(found: CameraPose, apart: float | None, frame: str, world: str, console: Console) -> None:
    from robocontrast_ros.domain.words import counted

    (x, y, z), (qx, qy, qz, qw) = found.pose.position, found.pose.orientation
    lines = [
        f"{frame} in {world}: x {x:.4f}, y {y:.4f}, z {z:.4f} m, "
        f"standard deviation {1e3 * found.position_error:.2f} mm and {math.degrees(found.orientation_error):.3f}°",
        f"{counted(found.corners, 'corner')} in {counted(found.images, 'picture')}, "
        f"{found.reprojection:.2f} pixels from where they should be (RMS)",
    ]
    if apart is not None:
        lines.append(f"Single pictures give positions that are {1e3 * apart:.2f} mm apart at most.")
    lines.append("The error is that of the corners' noise. A print of the wrong size and a wrong --at come on top.")
    lines.append(
        f"ros2 run tf2_ros static_transform_publisher --x {x:.5f} --y {y:.5f} --z {z:.5f} --qx {qx:.6f} --qy {qy:.6f} "
        f"--qz {qz:.6f} --qw {qw:.6f} --frame-id {world} --child-frame-id {frame}"
    )
    for line in lines:
        console.say(line)


def _require_page(to: Path) -> None:
    """Refuse a file whose name does not end in .pdf or .png."""
    if to.suffix.lower() not in (".pdf", ".png"):
        raise ConfigurationError("command line", "--to", str(to), "the name of a .pdf or .png file")


def _write_pages(pages: Iterator[Image.Image], to: Path) -> list[Path]:
    """Write pages for print, as one PDF or as a PNG file each, and return the files."""
    if to.suffix.lower() == ".pdf":
        with new_file(to) as part:
            # The quality is so high that the edges of tags stay sharp.
            next(pages).save(part, save_all=True, append_images=pages, resolution=DOTS_PER_INCH, quality=95)
        return [to]
    drawn_pages = list(pages)
    files = (
        [to]
        if len(drawn_pages) == 1
        else [to.with_stem(f"{to.stem}_{number:02d}") for number in range(1, len(drawn_pages) + 1)]
    )
    for page, file in zip(drawn_pages, files, strict=True):
        with new_file(file) as part:
            page.save(part, dpi=(DOTS_PER_INCH, DOTS_PER_INCH))
    return files


def _board(file: Path | None) -> Board:
    from robocontrast_ros.images.boards import Board

    return Board() if file is None else load_record(Board, file)


def _print_object_tags(task_name: str, to: Path, family: str) -> None:
    """Write the tags for the objects of a task for print in their true size, and the file for `operator.tags`.

    Args:
        task_name: name in config/tasks/, or path of a .yaml file.
        to: the PDF file, or the PNG file, whose name gets a number if there are several pages. The YAML file is
            written beside it.
        family: of the tags.

    Raises:
        ConfigurationError: there is no such family or task, the objects need no tags, the family has too few tags for
            them, the file is not a .pdf or .png, or the YAML file exists already.
        DiskError: a file cannot be written.
    """
    import yaml

    from robocontrast_ros.domain import PART, whole_of
    from robocontrast_ros.domain.words import counted
    from robocontrast_ros.images.rendering import RenderingUnavailable
    from robocontrast_ros.images.tag_families import FAMILIES
    from robocontrast_ros.objects import library_of
    from robocontrast_ros.perception.tag_pages import pictures_of, tag_pages
    from robocontrast_ros.worlds.table_camera import standard_tags

    _require_page(to)
    if family not in FAMILIES:
        raise ConfigurationError.unknown("command line", "--family", family, FAMILIES, "family of tags")
    beside = to.with_suffix(".yaml")
    if beside.exists():
        expected = f"a name for which {beside} does not exist yet"
        cure = "Somebody may have edited that file: move it, or choose another name."
        raise ConfigurationError("command line", "--to", str(to), expected, cure)
    task: Task = load_configured("tasks", find_file("tasks", task_name, "command line", "objects", Path.cwd()))
    uris = task.scenes.models.values()
    library = library_of(uris)
    try:
        tags = standard_tags(uris, family)
    except ValueError as error:
        raise ConfigurationError(
            "command line", "--objects", task_name, "a task with fewer objects, or a family with more tags", f"{error}."
        ) from None
    if not tags:
        expected = "a task whose objects are of a library (config/objects/)"
        raise ConfigurationError(
            "command line", "--objects", task_name, expected, "The camera recognises its objects by colour and outline."
        )
    tagged = [(name, library[whole_of(name) or name], own) for name, own in tags.items()]
    pictures, console = {}, Console()
    try:
        with console.status("drawing …"):
            pictures = {
                name: pictures_of(model, own, name.removeprefix(f"{model.model}{PART}") if whole_of(name) else "")
                for name, model, own in tagged
            }
    except RenderingUnavailable as error:
        console.say(f"The pages have no pictures of the objects: {error}")
    files = _write_pages(tag_pages(tagged, pictures, DOTS_PER_INCH), to)
    content = {"tags": {name: [_in_file(tag) for tag in own] for name, own in tags.items()}}
    said = (
        f"# Tags on the objects of the task {task.name}, for `operator.tags`. size: side of the black square, as\n"
        "# measured on the print [m]; position: of its middle in the object's frame [m]; orientation, where it is\n"
        "# turned: a quaternion x, y, z, w.\n"
    )
    write_file(beside, said + yaml.safe_dump(content, sort_keys=False, default_flow_style=None))
    number, parts = sum(map(len, tags.values())), sum(bool(whole_of(name)) for name in tags)
    of_what = counted(len(tags) - parts, "object") + (f" and {counted(parts, 'moving part')}" if parts else "")
    console.say(
        f"{', '.join(map(str, files))}: {counted(number, 'tag')} for {of_what}.\n"
        "Print it in its true size (100 %), and measure the line of 100 mm. Glue the tags on stiff card, cut them out "
        f"with their white border, and fix them as the pages say.\n{beside}: the same for `operator.tags`. Where a tag "
        "is elsewhere on your object, or of another size, change it there.",
    )


def _in_file(tag: ObjectTag) -> dict[str, object]:
    from robocontrast_ros.images.tag_families import USUAL

    written: dict[str, object] = {"number": tag.number, "size": tag.size, "position": list(tag.position)}
    return written if tag.family == USUAL else {**written, "family": tag.family}
