"""The network's action for one state, as a traced graph of its tensor operations.

Some three hundred operations on few numbers take longer to call from Python than to compute. The graph calls the
same operations in the same order, so every bit is the same, in half of the time.
"""

from __future__ import annotations

import warnings

import torch
from torch import Tensor, nn

from robocontrast_ros.policies.film_bc.model import FilmBc, LanguageFeatures, Modulation, Slots, displacement


class TracedFilmBc:
    """``displacement(network.act(slots, features), before)`` for a batch of one."""

    def __init__(self, network: FilmBc, features: LanguageFeatures) -> None:
        """Trace the graph.

        Args:
            network: in evaluation mode; its weights become constants.
            features: of any instruction.
        """
        self._nothing = torch.zeros(1, 2, dtype=features.source.dtype)
        blocks = torch.zeros(1, len(network.names), 2, dtype=features.source.dtype)
        example = (blocks[:, 0], blocks, blocks, blocks, self._nothing, *_tensors(features))
        with warnings.catch_warnings(), torch.no_grad():
            # TorchScript is deprecated, but its successors need a compiler on the machine.
            warnings.simplefilter("ignore", DeprecationWarning)
            recorded = torch.jit.trace(
                _Flat(network).eval(), tuple(value.clone() for value in example), check_trace=False
            )
            self._graph = torch.jit.freeze(recorded)

    def __call__(self, slots: Slots, features: LanguageFeatures, before: Tensor | None) -> Tensor:
        """Return the action, shape (1, 2) [m]; ``before`` is None for the first one."""
        # An action of length 0 has no direction, so it counts as none.
        before = self._nothing if before is None else before
        return self._graph(slots.tool, slots.position, slots.turn, slots.start, before, *_tensors(features))


class _Flat(nn.Module):
    """The network as a function of tensors alone, as tracing needs it."""

    def __init__(self, network: FilmBc) -> None:
        super().__init__()
        self.network = network

    def forward(
        self, tool: Tensor, position: Tensor, turn: Tensor, start: Tensor, before: Tensor, *features: Tensor
    ) -> Tensor:
        layers = len(self.network.goal_layers)
        modulations = _pairs(features[5:])
        language = LanguageFeatures(*features[:5], modulations[:layers], modulations[layers:])
        return displacement(self.network.act(Slots(tool, position, turn, start), language), before)


def _tensors(features: LanguageFeatures) -> tuple[Tensor, ...]:
    return (
        features.source,
        features.target,
        features.is_source,
        features.is_target,
        features.identity,
        *(value for modulation in (*features.goal, *features.trunk) for value in modulation),
    )


def _pairs(values: tuple[Tensor, ...]) -> tuple[Modulation, ...]:
    return tuple(zip(values[::2], values[1::2], strict=True))
