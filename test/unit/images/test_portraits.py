"""Pictures of one object alone."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import mujoco
import numpy as np
import pytest

from robocontrast_ros.configuration import resolve_uri
from robocontrast_ros.images.portraits import BACKGROUND, portrait

GREY = round(255 * BACKGROUND[0])


def block_files() -> list[Path]:
    models = resolve_uri("package://robocontrast_ros/models/language_table/world.xml").parent.parent
    folders = (models / "language_table", models / "language_table_further")
    return sorted(file for folder in folders for file in folder.glob("*_*.xml"))


def block(name: str) -> mujoco.MjSpec:
    (file,) = (file for file in block_files() if file.stem == name)
    return mujoco.MjSpec.from_file(str(file))


def shown(image: np.ndarray) -> np.ndarray:
    """Which pixels are not background, shape (size, size)."""
    return (np.abs(image.astype(int) - GREY) > 3).any(axis=2)


def ball(radius: float, **looks: object) -> mujoco.MjSpec:
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body(name="ball", pos=[0.3, -0.2, 0.9])
    body.add_freejoint()
    body.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[radius, 0, 0], rgba=[1, 0, 0, 1], **looks)
    return spec


def test_all_sixteen_blocks_look_different():
    pictures = {file.stem: portrait(mujoco.MjSpec.from_file(str(file))) for file in block_files()}
    assert len(pictures) == 16
    for (name, one), (other, another) in itertools.combinations(pictures.items(), 2):
        assert np.abs(one.astype(int) - another).max() > 40, (name, other)


def test_a_portrait_has_the_colour_of_its_block_in_the_middle_and_grey_around():
    image = portrait(block("red_pentagon"))
    red, green, blue = image[16, 16].astype(int)
    assert red > 2 * green and red > 2 * blue
    for corner in (image[0, 0], image[0, -1], image[-1, 0], image[-1, -1]):
        assert np.abs(corner.astype(int) - GREY).max() <= 1


def test_the_same_spec_gives_the_same_portrait_and_is_not_changed():
    spec = block("green_star")
    first = portrait(spec, yaw=0.7)
    assert (portrait(spec, yaw=0.7) == first).all()
    assert len(spec.cameras) == len(spec.lights) == 0


@pytest.mark.parametrize("size", [16, 32, 48])
def test_a_portrait_has_the_size_that_is_asked_for(size):
    image = portrait(block("blue_cube"), size=size)
    assert image.shape == (size, size, 3) and image.dtype == np.uint8


def test_a_quarter_turn_of_a_cube_shows_the_same_and_an_eighth_does_not():
    cube = block("blue_cube")
    straight, quarter, eighth = (portrait(cube, yaw=turn * math.pi) for turn in (0.0, 0.5, 0.25))
    assert np.abs(straight.astype(int) - quarter).mean() < 1.0
    assert np.abs(straight.astype(int) - eighth).mean() > 5.0


def test_a_turn_to_the_left_moves_what_is_in_front_to_the_right():
    """The camera looks along x from behind: a nose that points away turns towards y, which is on the left."""
    spec = ball(0.02)
    spec.worldbody.first_body().add_geom(
        type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.005, 0.005, 0.005], pos=[0.04, 0, 0], rgba=[0, 0, 1, 1]
    )
    away, left = (portrait(spec, yaw=yaw).astype(int) for yaw in (0.0, math.pi / 2.0))
    columns = [np.nonzero(image[..., 2] > image[..., 0] + 60)[1].mean() for image in (away, left)]
    assert columns[0] == pytest.approx(15.5, abs=1.0) and columns[1] < 8.0


def test_small_and_large_things_fill_their_portraits_alike():
    small, large = (shown(portrait(ball(radius))).mean() for radius in (0.005, 0.5))
    assert small == pytest.approx(large, abs=0.02) and 0.2 < small < 0.6


def test_what_the_renderer_does_not_draw_does_not_count():
    spec = ball(0.02)
    expected = portrait(spec)
    spec.worldbody.first_body().add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.2, 0, 0], group=3)
    assert (portrait(spec) == expected).all()


def test_light_and_background_of_the_spec_do_not_count():
    spec = ball(0.02)
    expected = portrait(spec)
    spec.worldbody.add_light(pos=[0, 0, 2], diffuse=[1, 1, 1])
    spec.add_texture(
        name="sky",
        type=mujoco.mjtTexture.mjTEXTURE_SKYBOX,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_FLAT,
        rgb1=[0, 1, 0],
        width=8,
        height=48,
    )
    assert (portrait(spec) == expected).all()


def test_a_spec_with_nothing_to_see_has_no_portrait():
    with pytest.raises(ValueError, match="expected a visible geometry of finite size, found none"):
        portrait(mujoco.MjSpec())
