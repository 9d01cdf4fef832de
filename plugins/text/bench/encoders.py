"""Encoding: BERT forward, on rows of equal and of unequal lengths."""

from functools import partial
from typing import Any

import torch
from torch import Tensor

from zoo.bench import Case, Job
from zoo.plugins.text.bench.peer import ids, pair

NAME, VOCABULARY = "bert-base", 30_522
LENGTHS = (16, 32, 48, 64, 80, 96, 112, 128)
"""Tokens of the rows of a batch."""


@torch.no_grad()
def run(model: Any, tokens: Tensor, lengths: Tensor | None) -> None:
    """Read a batch."""
    model(tokens, lengths)


def forward(dtype: torch.dtype, rows: int, lengths: tuple[int, ...] | None = None) -> tuple[Job, Job]:
    """Make our job and the peer's.

    Args:
        dtype: of the weights.
        rows: of the batch, each of 128 tokens with the padding.
        lengths: how many of them are there; all if None.
    """
    tokens, valid = ids(VOCABULARY, rows, 128), None if lengths is None else torch.tensor(lengths)
    ours, theirs = (partial(run, model, tokens, valid) for model in pair(NAME, dtype))
    return ours, theirs


CASES = [
    Case(
        f"{NAME} forward, {what}, {kind}", "transformers BertModel (SDPA)", target, build=partial(forward, dtype, *how)
    )
    for kind, dtype in (("fp32", torch.float32), ("bf16", torch.bfloat16))
    for what, target, how in (
        ("4 rows of 128", 0.95, (4,)),
        ("8 rows of 16 to 128", 0.75, (8, LENGTHS)),
    )
]
