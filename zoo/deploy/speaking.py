"""Steps of a decoder that writes frames, as a function without a state: the cache of keys and values goes in and out.

Axes: b rows, s steps, p steps that the cache keeps, r frames of a step, m bands.
"""

from typing import Any

import torch
from torch import Tensor, nn

from zoo.core import Tokens, Valid
from zoo.core.cache.decoder import DecoderState
from zoo.deploy.decoding import layer_states, no_past


class Speak(nn.Module):
    """Frames of the next steps, and whether they are the last: reads the frames before each, behind what is kept.

    Args:
        model: text to speech: a decoder whose `target` embeds frames, and whose head gives those of a step and the end.
    """

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, frames: Tensor, *tensors: Tensor) -> tuple[Tensor, ...]:
        """Give the frames (b, s, r, m), scores (b, s) above 0 where a text ends, and keys and values of each layer.

        Args:
            frames: of the step before each (b, s, r, m), 0 before the first.
            tensors: keys and values of each layer (b, p, g, d); of the text its mask, and keys and values.
        """
        rows, steps = frames.shape[:2]
        kept = tensors[0].shape[1]
        position = torch.arange(kept + steps, device=frames.device).expand(rows, -1)
        there = torch.ones_like(position, dtype=torch.bool)
        states = layer_states(self.model.decoder, there, position, tensors)
        own = position[:, kept:]
        tokens = Tokens(self.model.target(frames, kept).x, None, Valid(there[:, kept:]), own)
        y = self.model.head(self.model.decoder(tokens, None, DecoderState(states)))
        written = y[..., :-1].unflatten(2, self.model.step)
        return written, y[..., -1], *(state.own.tensors[name] for state in states for name in ("k", "v"))

    def empty(self, rows: int) -> list[Tensor]:
        """Give the cache before the first step."""
        return no_past(self.model.decoder, rows)
