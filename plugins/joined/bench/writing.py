"""Writing behind a joined encoder, against an encoder-decoder of the same sizes that was made whole."""

from functools import partial
from typing import Any

import torch

import zoo
from zoo.bench import Case, Job
from zoo.core import Generated

WHOLE = "transformer-tiny"
JOINED = f"joined:bert-micro+{WHOLE}"
ROWS, SOURCE, NEW = 8, 32, 64
"""Sources, tokens of each, and tokens that are written behind each."""


def write(model: Any, inputs: tuple[torch.Tensor, ...]) -> Generated:
    """Let a model write; no row ends before it has all its tokens."""
    found: Generated = model.generate(*inputs, max_len=NEW, min_len=NEW)
    return found


def writers() -> tuple[Job, Job]:
    """Make both jobs; encoder and decoder have the same sizes in both models."""
    torch.manual_seed(0)
    whole: Any = zoo.create(WHOLE).eval()
    sizes = {key: whole.spec.config[key] for key in ("dim", "depth", "num_heads", "mlp_dim")}
    joined: Any = zoo.create(JOINED, **sizes).eval()
    inputs = torch.randint(4, whole.spec.config["vocab_size"], (ROWS, SOURCE)), torch.full((ROWS,), SOURCE)
    return partial(write, joined, inputs), partial(write, whole, inputs)


CASES = [Case(f"{JOINED}, {NEW} tokens behind {ROWS} sources of {SOURCE}", WHOLE, 1.05, build=writers)]
