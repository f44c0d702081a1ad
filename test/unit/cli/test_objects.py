"""`robocontrast objects`: every object is a row, and a picture shows those that are asked for."""

from __future__ import annotations

import cv2
from shown_tables import shown_rows
from typer.testing import CliRunner

from robocontrast_ros.cli.main import app
from robocontrast_ros.configuration import resolve_uri
from robocontrast_ros.objects import SHIPPED, load_library


def run(*arguments: str):
    return CliRunner(env={"COLUMNS": "300"}).invoke(app, ["objects", *arguments])


def test_every_object_is_listed_with_what_can_be_done():
    result = run()
    assert result.exit_code == 0
    (*rows, _) = shown_rows(
        result.output, ("object", "category", "also called", "variants", "size [cm]", "mass [g]", "what can be done")
    )
    lines = {row[0]: "  ".join(row) for row in rows}
    assert set(lines) == {model.type for model in load_library().values()}
    for said in ("cup", "red, blue, white", "11.8 x 8.0 x 8.2", "118", "pick, put into it"):
        assert said in lines["mug"]
    assert "oak, walnut" in lines["table"]
    assert "pick" not in lines["table"]


def test_a_picture_shows_the_objects_that_are_asked_for(tmp_path):
    picture = tmp_path / "own.png"
    result = run(str(resolve_uri(SHIPPED + "/cube.yaml")), SHIPPED + "/banana.yaml", "--picture", str(picture))
    assert result.exit_code == 0, result.output
    image = cv2.imread(str(picture)).astype(int)
    half = image.shape[1] // 2
    blue, green, red = image[:, :half].transpose(2, 0, 1)
    assert ((red - green > 60) & (red - blue > 60)).mean() > 0.05
    blue, green, red = image[:, half:].transpose(2, 0, 1)
    assert ((red - blue > 60) & (green - blue > 60)).mean() > 0.02


def test_an_object_that_cannot_be_used_is_an_error_of_one_line(tmp_path):
    file = tmp_path / "ball.yaml"
    file.write_text("nouns: [ball]\ncategory: toy\nmass: 0.1\nvariants: {red: {}}\n")
    result = run(str(file))
    assert result.exit_code == 2
    assert result.output.startswith(f"error: {file}: `grasps`: got 'nothing', expected one grasp or more")
    fixed = run(SHIPPED + "/lamp.yaml", "--picture", str(tmp_path / "lamp.png"))
    assert fixed.exit_code == 2
    assert "`--picture`" in fixed.output
