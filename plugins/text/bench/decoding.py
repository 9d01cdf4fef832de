"""Decoding: GPT-2 token by token, and one step of it against the limit of memory bandwidth."""

from functools import partial
from typing import Any

import torch
from torch import Tensor

from zoo.bench import Case, Job
from zoo.core import Generated
from zoo.plugins.text.bench.peer import ids, pair

NAME, VOCABULARY = "gpt2-small", 50_257
PROMPT, NEW = 16, 64
"""Tokens of the prompt, and tokens that are written behind it."""


def write(model: Any, prompt: Tensor, beam: int) -> Generated:
    """Let our model write; what ends a text is no token it could choose, so all rows have one length."""
    found: Generated = model.generate(prompt, max_len=NEW, beam=beam)
    return found


def peer_write(model: Any, prompt: Tensor, beam: int) -> Tensor:
    """Let the peer write as many, behind the prompt."""
    counts = {"max_new_tokens": NEW, "min_new_tokens": NEW, "num_beams": beam}
    found: Tensor = model.generate(prompt, attention_mask=torch.ones_like(prompt), do_sample=False, **counts)
    return found


def generate(dtype: torch.dtype, rows: int, beam: int = 1) -> tuple[Job, Job]:
    """Make our job and the peer's."""
    ours, theirs = pair(NAME, dtype)
    ours.symbols = ours.symbols._replace(eos=-1)
    prompt = ids(VOCABULARY - 10, rows, PROMPT)
    peer: Any = theirs
    return partial(write, ours, prompt, beam), partial(peer_write, peer.net, prompt, beam)


SIDE = 4096
"""Rows and columns of the matrix whose product with a vector shows how fast weights can be read."""


@torch.no_grad()
def step_and_limit() -> tuple[Job, Job]:
    """Make a decoding step, and a product that reads as many bytes: one matrix, as often as the weights hold it."""
    ours, _ = pair(NAME)
    state = ours.decoder.state(1, capacity=PROMPT + NEW)
    ours.follow(ids(VOCABULARY, 1, PROMPT), state)
    token = ids(VOCABULARY, 1, 1)
    read = {id(p): p for name, p in ours.named_parameters() if not name.startswith("target.position")}
    whole, rest = divmod(sum(p.numel() for p in read.values()), SIDE * SIDE)
    matrices = [torch.randn(SIDE, SIDE) for _ in range(whole)] + [torch.randn(max(1, rest // SIDE), SIDE)]
    vector = torch.randn(SIDE)

    @torch.no_grad()
    def step() -> None:
        ours.follow(token, state)
        state.crop(PROMPT)

    def limit() -> None:
        for matrix in matrices:
            torch.mv(matrix, vector)

    return step, limit


CASES = [
    *(
        Case(f"{NAME}, {NEW} tokens, {what}", "transformers generate", target, build=partial(generate, dtype, *how))
        for what, target, dtype, how in (
            ("batch 1, fp32", 0.88, torch.float32, (1,)),
            ("batch 1, bf16", 0.6, torch.bfloat16, (1,)),
            ("batch 8, fp32", 0.6, torch.float32, (8,)),
            ("beam 4, fp32", 0.6, torch.float32, (1, 4)),
        )
    ),
    Case(f"{NAME}, one step, batch 1, fp32", "reading as many weights", 1 / 0.9, build=step_and_limit),
]
