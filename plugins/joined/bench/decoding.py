"""Decoding: a joined encoder and decoder against a model of the same sizes that was made whole."""

from functools import partial
from typing import Any

import torch
from torch import Tensor

import zoo
from zoo.bench import Case, Job
from zoo.core import Generated

WHOLE, JOINED = "transformer-tiny", "joined:bert-tiny+transformer-tiny"
SIZES = ("dim", "depth", "num_heads", "mlp_dim", "vocab_size")
"""Keywords of the encoder that are those of the whole model."""
ROWS, LENGTH, NEW = 8, 32, 64
"""Sources, tokens of each, and tokens that are written behind it."""


def write(model: Any, source: Tensor, beam: int) -> Generated:
    """Let a model write; what ends a text is no token it could choose, so all rows have one length."""
    found: Generated = model.generate(source, max_len=NEW, beam=beam)
    return found


def generate(beam: int) -> tuple[Job, Job]:
    """Make the job of the joined model, and that of the whole one."""
    sizes = {key: value for key, value in zoo.info(WHOLE).config.items() if key in SIZES}
    models: list[Any] = [zoo.create(JOINED, **sizes).eval(), zoo.create(WHOLE).eval()]
    source = torch.randint(4, sizes["vocab_size"], (ROWS, LENGTH), generator=torch.Generator().manual_seed(0))
    for model in models:
        model.symbols = model.symbols._replace(eos=-1)
    ours, theirs = (partial(write, model, source, beam) for model in models)
    return ours, theirs


CASES = [
    Case(f"{ROWS} sources of {LENGTH}, {NEW} tokens, {what}", WHOLE, 1.05, build=partial(generate, beam))
    for what, beam in (("greedy", 1), ("beam 4", 4))
]
