"""The learned policies ``film_bc`` (pixels) and ``film_bc_state`` (ground truth) behind the policy protocol."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from robocontrast_ros.policies.film_bc.keypoints import HEIGHT, WIDTH, Keypoints
from robocontrast_ros.policies.film_bc.model import FilmBc, LanguageFeatures, Slots, turns
from robocontrast_ros.policies.film_bc.observations import CAMERA, planar_state, reduced
from robocontrast_ros.policies.film_bc.traced import TracedFilmBc
from robocontrast_ros.policies.film_bc.tracking import Tracker
from robocontrast_ros.policies.networks import one_thread
from robocontrast_ros.policies.protocol import Observation, PolicyDescription
from robocontrast_ros.policies.sentence_encoder import SentenceEncoder

DECIMALS = 6
"""Decimals of an action in metres. Matrix products differ in their last bits between processors, which contacts amplify
to a different trial. In double precision they differ by some 1e-16 m here, which rounding removes, unless a number is
that near to a rounding boundary (docs/reproducibility.md has the odds)."""


class FilmBcPolicy:
    """Pushes as the oracle did, given its instruction and the blocks' true or estimated poses.

    The same instruction and observations give the same actions on every processor; the trial's seed has no effect.
    """

    def __init__(
        self,
        description: PolicyDescription,
        network: FilmBc,
        encoder: SentenceEncoder,
        keypoints: Keypoints | None = None,
    ) -> None:
        """Take the network, the sentence encoder, and the network for images; None to use the ground truth."""
        self._description, self._name = description, description.name
        self._network, self._encoder = network.eval().double(), encoder
        self._keypoints = None if keypoints is None else keypoints.eval().double()
        self._answer = TracedFilmBc(self._network, self._understood("push the block"))
        self._features: LanguageFeatures | None = None
        self._tracker = Tracker(len(network.names))
        self._start: Tensor | None = None
        self._action: Tensor | None = None

    def describe(self) -> PolicyDescription:
        """Return the description: it answers with planar displacements, and needs a camera or the ground truth."""
        return self._description

    @one_thread()
    @torch.inference_mode()
    def warm_up(self) -> None:
        """Run every network once."""
        blocks = torch.zeros(1, len(self._network.names), 2, dtype=torch.float64)
        self._answer(Slots(blocks[:, 0], blocks, blocks, blocks), self._understood("push the block"), before=None)
        if self._keypoints is not None:
            self._keypoints.find(torch.zeros(1, 3, HEIGHT, WIDTH, dtype=torch.uint8))

    @one_thread()
    @torch.inference_mode()
    def reset(self, instruction: str, seed: int) -> None:
        """Begin a trial; the seed has no effect."""
        self._features, self._start, self._action = self._understood(instruction), None, None
        self._tracker = Tracker(len(self._network.names))

    @one_thread()
    @torch.inference_mode()
    def act(self, observation: Observation) -> NDArray[np.float64]:
        """Return the next displacement, shape (1, 2) [m].

        Raises:
            ValueError: reset was not called, or the image or the scene is missing or does not fit.
        """
        if self._features is None:
            raise ValueError(f"{self._name}: act before reset; call reset(instruction, seed) first")
        slots = self._known(observation) if self._keypoints is None else self._seen(observation)
        # The next answer depends on this one, so it is kept as rounded.
        self._action = rounded(self._answer(slots, self._features, self._action))
        return self._action.numpy()

    @torch.inference_mode()
    def _understood(self, instruction: str) -> LanguageFeatures:
        return self._network.understand(torch.from_numpy(self._encoder.encode([instruction])))

    def _known(self, observation: Observation) -> Slots:
        if observation.scene is None:
            raise ValueError(f"{self._name}: the observation has no scene; it needs the ground truth")
        try:
            blocks = torch.from_numpy(planar_state(observation.scene, self._network.names))[None]
        except KeyError as error:
            raise ValueError(f"{self._name}: {error.args[0]}; it was trained with all of them") from None
        position = blocks[..., :2]
        self._start = position if self._start is None else self._start
        turn = turns(blocks[..., 2], self._network.symmetry)
        return Slots(_row(observation.tool_pose.xy), position, turn, self._start)

    def _seen(self, observation: Observation) -> Slots:
        assert self._keypoints is not None
        if CAMERA not in observation.images:
            shown = ", ".join(sorted(observation.images)) or "none"
            raise ValueError(f"{self._name}: no image of camera '{CAMERA}'; the observation has {shown}")
        image = reduced(observation.images[CAMERA], HEIGHT, WIDTH)
        found = self._keypoints.find(torch.from_numpy(image).permute(2, 0, 1)[None])
        tool = observation.tool_pose.xy
        seen = self._tracker
        seen.update(np.asarray(tool), *(v[0].numpy() for v in (found.position, found.turn, found.sure)))
        return Slots(_row(tool), _row(seen.position), _row(seen.turn), _row(seen.start))


def rounded(action: Tensor) -> Tensor:
    """Return an action [m] rounded to whole micrometres."""
    return action.round(decimals=DECIMALS)


def _row(values: ArrayLike) -> Tensor:
    return torch.as_tensor(np.asarray(values), dtype=torch.float64)[None]
