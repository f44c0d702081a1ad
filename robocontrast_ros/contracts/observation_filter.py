"""The contract of observation filters."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from robocontrast_ros.contracts.checking import has_all, promise
from robocontrast_ros.domain import NANOSECONDS, ObjectState, Pose, Scene
from robocontrast_ros.observations.protocol import ObservationFilter, delays_answers, displaces_cameras
from robocontrast_ros.policies.protocol import Observation

OBSERVATIONS = 20


class ObservationFilterContract:
    """Inherit, and return a filter's class from ``make``.

    One that moves cameras changes their poses and not the observation.
    """

    def make(self) -> type[ObservationFilter]:
        """Return the class."""
        raise NotImplementedError

    def severities(self) -> range:
        """Return its severities."""
        return range(1, len(self.make().levels) + 1)

    def shown(self, severity: int, camera: str = "", seed: int = 0) -> list[Observation]:
        """Return the observations of a trial, made from those of ``seen``."""
        filtering = self.make()(severity, camera, np.random.default_rng(seed))
        return [filtering.apply(seen(number)) for number in range(OBSERVATIONS)]

    def test_it_says_what_it_is(self) -> None:
        """It has levels, description, plausibility, and whether it changes images."""
        made = self.make()
        has_all("observation_filters", made)
        promise(
            1 <= len(made.levels) <= 5 and all(isinstance(level, str) and level for level in made.levels),
            f"`levels` are one to five texts; got {made.levels!r}",
        )
        promise(isinstance(made.description, str) and made.description, f"`description`: got {made.description!r}")
        for attribute in ("plausible", "of_images"):
            value = getattr(made, attribute)
            promise(isinstance(value, bool), f"`{attribute}` is true or false; got {value!r}")

    def test_the_same_generator_shows_the_same(self) -> None:
        """This holds in every trial."""
        for severity in self.severities():
            for first, second in zip(self.shown(severity), self.shown(severity), strict=True):
                promise(_equal(first, second), f"severity {severity} draws from the generator that it is given alone")

    def test_what_the_sensors_gave_stays_as_it_was(self) -> None:
        """The bag also has it."""
        for severity in self.severities():
            filtering = self.make()(severity, "", np.random.default_rng(0))
            for number in range(OBSERVATIONS):
                given = seen(number)
                filtering.apply(given)
                promise(
                    _equal(given, seen(number)), f"severity {severity} returns another observation, and leaves its own"
                )

    def test_names_shapes_and_types_stay(self) -> None:
        """A policy was made for them."""
        for severity in self.severities():
            for number, got in enumerate(self.shown(severity)):
                was = seen(number)
                promise(
                    list(got.images) == list(was.images), f"cameras stay {list(was.images)}; got {list(got.images)}"
                )
                for name, image in got.images.items():
                    promise(
                        image.shape == was.images[name].shape and image.dtype == np.uint8,
                        f"images stay of shape {was.images[name].shape} and uint8; got {image.shape}, {image.dtype}",
                    )
                promise(got.stamp == was.stamp, f"the stamp stays {was.stamp} ns; got {got.stamp} ns")
                promise(
                    got.joint_names == was.joint_names and len(got.joint_positions) == len(was.joint_positions),
                    f"joints stay {was.joint_names}; got {got.joint_names} with {len(got.joint_positions)} positions",
                )

    def test_it_changes_something_and_of_images_nothing_else(self) -> None:
        """It does so at each severity; with a camera, only the images of that camera."""
        if displaces_cameras(self.make()):
            promise(self.make().of_images, "a filter that moves cameras is one `of_images`")
        elsewhere = displaces_cameras(self.make()) or delays_answers(self.make())
        for severity in () if elsewhere else self.severities():
            cameras = ("", "front") if self.make().of_images else ("",)
            for camera in cameras:
                pairs = [(got, seen(number)) for number, got in enumerate(self.shown(severity, camera))]
                promise(any(not _equal(*pair) for pair in pairs), f"severity {severity} changes what is shown")
                if self.make().of_images:
                    rest = all(replace(got, images={}) == replace(was, images={}) for got, was in pairs)
                    promise(rest, "a filter of images changes nothing else")
                if camera:
                    other = all(np.array_equal(got.images["wrist"], was.images["wrist"]) for got, was in pairs)
                    promise(other, f"the images of the camera '{camera}' change, and no other's")

    def test_answers_are_delayed_by_a_time_that_the_seed_decides_and_what_is_shown_stays(self) -> None:
        """Only a filter that delays answers is checked."""
        if not delays_answers(self.make()):
            return
        for severity in self.severities():
            delays = []
            for _ in range(2):
                made = self.make()(severity, "", np.random.default_rng(7))
                delays.append([made.delay(0.1 * number) for number in range(20)])
                promise(_equal(made.apply(seen(1)), seen(1)), f"severity {severity} shows what it is given")
            promise(delays[0] == delays[1], f"severity {severity} delays answers in the same way for the same seed")
            promise(
                all(math.isfinite(delay) and delay >= 0.0 for delay in delays[0]),
                f"severity {severity} delays answers by at least 0 s; got {delays[0]}",
            )

    def test_cameras_are_moved_each_in_the_same_way_whichever_others_there_are(self) -> None:
        """Only a filter that moves cameras is checked; with a camera, only that one moves."""
        if not displaces_cameras(self.make()):
            return
        for severity in self.severities():
            every, front = (self.make()(severity, camera, np.random.default_rng(0)) for camera in ("", "front"))
            offsets = {name: every.offset(name) for name in ("front", "wrist")}
            for name, offset in offsets.items():
                promise(
                    isinstance(offset, Pose) and offset != Pose(),
                    f"severity {severity} moves each camera; '{name}' is at {offset!r} of its place",
                )
            again = self.make()(severity, "", np.random.default_rng(0))
            promise(
                {name: again.offset(name) for name in ("wrist", "front", "wrist")} == offsets,
                f"severity {severity} moves a camera in the same way whichever others it is asked for",
            )
            moved = front.offset("front"), front.offset("wrist")
            promise(
                moved[0] is not None and moved[1] is None,
                f"the camera 'front' is moved, and no other; got {moved!r}",
            )


def seen(number: int) -> Observation:
    """Return the observation with a number, always the same: two cameras, two joints, a hand, five objects."""
    rows, columns = np.mgrid[:120, :160]
    image = np.stack([rows * 7 + number, columns * 5 + number, rows * columns + 3 * number], axis=2).astype(np.uint8)
    objects = tuple(ObjectState(name, name, Pose((0.1 * n, 0.01 * number, 0.0))) for n, name in enumerate("abcde"))
    return Observation(
        stamp=number * NANOSECONDS // 10,
        images={"wrist": image[::-1].copy(), "front": image},
        joint_names=("shoulder", "elbow"),
        joint_positions=(0.1 * number, 1.0),
        tool_pose=Pose((0.1, 0.01 * number, 0.3)),
        scene=Scene(objects),
        gripper_width=0.04,
        gripper_closed=0.5,
    )


def _equal(a: Observation, b: Observation) -> bool:
    same = all(np.array_equal(a.images[name], b.images[name]) for name in a.images)
    return same and replace(a, images={}) == replace(b, images={})
