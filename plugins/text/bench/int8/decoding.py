"""GPT-2 with int8 weights: tokens one by one, and a prompt, against transformers in float32."""

from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

import zoo
from zoo.bench import Case, Job, compare_choices, compare_scores
from zoo.core import Generated
from zoo.plugins.text.bench.decoding import NAME, NEW, PROMPT, VOCABULARY, peer_write, write
from zoo.plugins.text.bench.peer import ids, pair

LONG = 512
"""Tokens of a prompt that is read at once."""


def generate(rows: int, beam: int = 1) -> tuple[Job, Job]:
    """Make our job, on int8 weights, and the peer's."""
    ours, theirs = pair(NAME)
    ours = zoo.quantize(ours)
    ours.symbols = ours.symbols._replace(eos=-1)
    prompt, peer = ids(VOCABULARY - 10, rows, PROMPT), theirs
    net: Any = peer.net
    return partial(write, ours, prompt, beam), partial(peer_write, net, prompt, beam)


def prefill() -> tuple[Job, Job]:
    """Make the jobs that read a long prompt."""
    ours, theirs = pair(NAME)
    ours, prompt = zoo.quantize(ours), ids(VOCABULARY, 1, LONG)

    def read(model: Any) -> Tensor:
        with torch.no_grad():
            scores: Tensor = model(prompt)
        return scores

    return partial(read, ours), partial(read, theirs)


def written(found: Generated, wanted: Tensor) -> str:
    """Compare the tokens that were written."""
    return compare_choices(found.ids[:, 0], wanted[:, PROMPT:])


def understood(found: Tensor, wanted: Tensor) -> str:
    """Compare the scores of a prompt, and its perplexity by them."""
    prompt = ids(VOCABULARY, 1, LONG)[0, 1:]
    before, after = (float(cross_entropy(scores[0, :-1].double(), prompt).exp()) for scores in (wanted, found))
    return f"{compare_scores(found, wanted)}, perplexity {after / before - 1:+.2%}"


CASES = [
    *(
        Case(
            f"{NAME}, {NEW} tokens, int8, {what}",
            "transformers generate, fp32",
            target,
            build=partial(generate, *how),
            quality=written,
        )
        for what, target, how in (("batch 1", 0.33, (1,)), ("batch 8", 0.33, (8,)), ("beam 4", 0.33, (1, 4)))
    ),
    Case(f"{NAME}, prompt of {LONG}, int8", "transformers, fp32", 1.0, build=prefill, quality=understood),
]
