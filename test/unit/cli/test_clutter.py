"""`robocontrast clutter` takes any picture, and `clutter-bins` any session with distractors; else one line says why."""

from __future__ import annotations

import re
import struct
import zlib

import numpy as np
import pytest
import yaml
from matplotlib.figure import Figure
from PIL import Image
from tabletop_scenes import CLUTTER_FILE
from typer.testing import CliRunner
from undrawn import undrawn

from robocontrast_ros.cli.main import app
from robocontrast_ros.configuration import read_yaml
from robocontrast_ros.configuration.files import known_names
from robocontrast_ros.sessions.resolving import resolve

PHOTO = np.random.default_rng(3).integers(0, 256, (12, 16, 3), dtype=np.uint8).repeat(40, 0).repeat(40, 1)


def invoke(*arguments, folder):
    to = folder / "clutter.png"
    done = CliRunner(env={"COLUMNS": "300"}).invoke(app, ["clutter", *map(str, arguments), "--to", str(to)])
    return done, to


def saved(folder, name, array, **options):
    Image.fromarray(array).save(folder / name, **options)
    return folder / name


def number(file, folder):
    """Return the feature congestion that the command prints of one picture; nobody looks at what it draws."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Figure, "savefig", undrawn)
        done, _ = invoke(file, folder=folder)
    assert done.exit_code == 0, done.output
    return float(re.search(r" \d+x\d+( \([^)]*\))? +(?P<total>[\d.]+)", done.output)["total"])


def refused(done) -> str:
    assert done.exit_code == 2, done.output
    (line,) = done.stderr.strip().splitlines()
    return line


def test_two_views_are_printed_with_their_mean_and_drawn(tmp_path):
    robot, above = saved(tmp_path, "robot.png", PHOTO), saved(tmp_path, "above.png", PHOTO[:, ::-1] // 2)
    done, to = invoke(robot, above, folder=tmp_path)
    assert done.exit_code == 0, done.output
    left, *_ = np.array_split(np.asarray(Image.open(to).convert("RGB")), 2, axis=1)
    assert len(np.unique(left.reshape(-1, 3), axis=0)) > 100
    mean = (number(robot, tmp_path) + number(above, tmp_path)) / 2
    assert float(re.search(r"DvFC ([\d.]+)", done.output)[1]) == pytest.approx(mean, abs=1e-3)


def test_grey_pictures_of_8_and_16_bits_are_the_same_picture_in_colour(tmp_path):
    grey = PHOTO[..., 0]
    colour = number(saved(tmp_path, "colour.png", np.repeat(grey[..., None], 3, axis=2)), tmp_path)
    assert number(saved(tmp_path, "grey.png", grey), tmp_path) == colour
    assert number(saved(tmp_path, "grey16.png", grey.astype(np.uint16) * 257), tmp_path) == colour


def test_what_is_transparent_is_white(tmp_path):
    opaque = np.dstack([PHOTO, np.full(PHOTO.shape[:2], 255, np.uint8)])
    assert number(saved(tmp_path, "opaque.png", opaque), tmp_path) == number(
        saved(tmp_path, "photo.png", PHOTO), tmp_path
    )
    half, white = opaque.copy(), PHOTO.copy()
    half[:, :320, 3] = 0
    white[:, :320] = 255
    assert number(saved(tmp_path, "half.png", half), tmp_path) == number(saved(tmp_path, "white.png", white), tmp_path)


def test_a_picture_is_turned_as_its_camera_says(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6
    file = saved(tmp_path, "turned.png", np.ascontiguousarray(np.rot90(PHOTO)), exif=exif)
    done, _ = invoke(file, folder=tmp_path)
    assert "320x240" in done.output
    assert number(file, tmp_path) == number(saved(tmp_path, "photo.png", PHOTO), tmp_path)


def test_the_resolution_of_a_photograph_hardly_matters(tmp_path):
    large = number(saved(tmp_path, "large.png", PHOTO.repeat(3, 0).repeat(3, 1)), tmp_path)
    assert large == pytest.approx(number(saved(tmp_path, "photo.png", PHOTO), tmp_path), rel=1e-3)


def test_a_small_picture_is_measured_and_named_as_such(tmp_path):
    done, _ = invoke(saved(tmp_path, "small.png", PHOTO[:100, :120]), folder=tmp_path)
    assert done.exit_code == 0
    assert "120x100 (less than 320x240: not comparable)" in done.output


def test_a_picture_of_one_pixel_is_refused(tmp_path):
    file = saved(tmp_path, "pixel.png", PHOTO[:1, :1])
    assert refused(invoke(file, folder=tmp_path)[0]).startswith(
        f"error: {file}: got '1x1 pixels', expected at least 56"
    )


def test_what_is_no_picture_is_refused(tmp_path):
    text = tmp_path / "notes.png"
    text.write_text("no picture")
    assert refused(invoke(text, folder=tmp_path)[0]).startswith(
        f"error: {text}: got 'no picture', expected a JPEG, PNG"
    )
    whole = saved(tmp_path, "photo.png", PHOTO).read_bytes()
    text.write_bytes(whole[: len(whole) // 2])
    assert "expected a whole picture that can be read" in refused(invoke(text, folder=tmp_path)[0])
    assert "No such file or directory" in refused(invoke(tmp_path / "none.png", folder=tmp_path)[0])
    assert "Is a directory" in refused(invoke(tmp_path, folder=tmp_path)[0])


def test_a_picture_that_would_fill_the_memory_is_refused_before_it_is_read(tmp_path):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0))
    file = tmp_path / "huge.png"
    file.write_bytes(b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b""))
    line = refused(invoke(file, folder=tmp_path)[0])
    assert "expected a picture of at most 200 million pixels. Make a smaller copy of it." in line


def test_the_name_of_the_drawing_ends_in_png(tmp_path):
    done = CliRunner().invoke(app, ["clutter", str(saved(tmp_path, "photo.png", PHOTO)), "--to", "x.jpg"])
    assert "`--to`: got 'x.jpg', expected the name of a .png file" in refused(done)


def test_the_bins_of_a_session_are_printed_as_its_contrast_set(tmp_path):
    task, session = tmp_path / "task.yaml", tmp_path / "session.yaml"
    # Few objects have few textures, which are made first.
    few = "[red_mug, banana, green_can, blue_cube, red_cube, green_brick, white_bowl]"
    task.write_text(f"{CLUTTER_FILE.read_text()}objects: {few}\n")
    content = read_yaml(known_names("sessions")["tabletop_clutter"]) | {
        "task": str(task),
        "strategy": {"name": "standard"},
    }
    session.write_text(yaml.safe_dump(content))
    asked = ["clutter-bins", str(session), "--draws", "10", "--bins", "3", "--count", "2", "--similar", "unlike"]
    done = CliRunner(env={"COLUMNS": "300"}).invoke(app, asked)
    assert done.exit_code == 0, done.output
    assert "10 scenes of 10 draws" in done.output
    printed = "\n".join(line for line in done.output.splitlines() if line.startswith("- "))
    content["strategy"] = {"name": "contrast_set", "perturbations": yaml.safe_load(printed)}
    session.write_text(yaml.safe_dump(content))
    shown = [perturbation.name for perturbation in resolve(str(session)).perturbations]
    assert shown == [f"clutter_bin_{number}_of_3_unlike" for number in (1, 2, 3)]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (
            ("language_table_demo",),
            "`SESSION`: got \"a session of 'language_table'\", expected a session of a task with",
        ),
        (("tabletop_clutter", "--similar", "same"), "`similar`: got 'same', expected 'any', 'alike' or 'unlike'"),
    ],
)
def test_what_has_no_bins_is_refused(asked, message):
    assert message in refused(CliRunner().invoke(app, ["clutter-bins", *asked]))
