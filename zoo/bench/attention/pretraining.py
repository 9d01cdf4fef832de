"""Self-pretraining (arXiv:2310.02980): a model first tells the tokens of its task's own sequences, then the answers.

What reads both ways tells tokens that are masked (arXiv:1810.04805 sec. 3.1, all of them by the mask), what reads
forwards tells the next one. Nothing but the sequences of the training is seen, and no answer.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from zoo.core import IGNORED
from zoo.data.sequences import Drawn

MASKED = 0.15
"""Share of the tokens that are masked."""


@contextmanager
def telling_words(model: Any, words: int) -> Iterator[nn.Linear]:
    """Let the head of a model score words in place of its classes for a while."""
    own = model.head.linear
    model.head.linear = nn.Linear(own.in_features, words)
    try:
        yield model.head.linear
    finally:
        model.head.linear = own


def next_token(drawn: Drawn) -> Drawn:
    """Ask at each place for the token behind it; the last has none."""
    targets = _inside(drawn).roll(-1, 1)
    targets[:, -1] = IGNORED
    return drawn._replace(targets=targets)


def masked(drawn: Drawn, mask: int, generator: torch.Generator) -> Drawn:
    """Put a mask in the place of some tokens, at least of one in the batch, and ask for them."""
    inside = _inside(drawn)
    chosen = (torch.rand(drawn.ids.shape, generator=generator) < MASKED) & (inside != IGNORED)
    chosen[0, 0] |= ~chosen.any()
    return drawn._replace(ids=drawn.ids.masked_fill(chosen, mask), targets=inside.masked_fill(~chosen, IGNORED))


def _inside(drawn: Drawn) -> Tensor:
    places = torch.arange(drawn.ids.shape[1])
    return drawn.ids.masked_fill(places >= drawn.lengths[:, None], IGNORED)
