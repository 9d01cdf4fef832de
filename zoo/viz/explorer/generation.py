"""A generation step by step: the candidates of each step with their probabilities, and the tree of a beam search.

Axes: b rows, n tokens that the decoder reads, w beams, t tokens written.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from zoo.core.generation.loop import Generated, length_penalty
from zoo.core.generation.observing import observe
from zoo.core.models.generator import Generator

CANDIDATES = 8
"""That are shown of each step."""
ALPHA = 0.6
"""Exponent of the length penalty of a search, the default of `generate`."""
MOST_NODES = 600
"""Of a tree; more cannot be read."""

Names = Callable[[Sequence[int]], list[str]]
"""Gives what ids write."""


@dataclass(frozen=True)
class Written:
    """Hold what a model wrote.

    Args:
        inputs: as for `forward`: what was written stands behind the source, or behind the prompt.
        prompt: tokens that the decoder reads before it writes.
        tree: of the beam search; none without.
        end: token behind the last that the decoder reads; None where the answer was cut off.
    """

    inputs: tuple[Any, ...]
    prompt: int
    tree: list[dict[str, Any]]
    end: int | None = None


def write(model: Generator, inputs: Sequence[Any], max_len: int | None, beam: int, names: Names) -> Written:
    """Let a model write the answer to the first row of its inputs.

    Args:
        model: that writes token by token.
        inputs: as for `generate`.
        max_len: tokens at most.
        beam: answers that are followed at once.
        names: of tokens.
    """
    seen: list[tuple[Tensor, Tensor]] = []
    with observe(lambda ids, running: seen.append((ids[0].clone(), running[0].clone()))):
        searches = "length_penalty" in signature(model.generate).parameters  # else CTC proposes whole transcripts
        options: dict[str, Any] = {"length_penalty": ALPHA} if searches else {}
        found = model.generate(*inputs, max_len=max_len, beam=beam, n_best=beam, **options)
    tree = tree_of(seen, found, names, model.symbols.eos) if beam > 1 and searches else []
    length, ids = int(found.lengths[0, 0]), found.ids[0, 0].tolist()
    end = ids[length] if length < len(ids) and ids[length] == model.symbols.eos else None
    if model.encoder is not None:
        return Written((*inputs, found.read(model.symbols)), 1, tree, end)
    before = inputs[0].shape[1] if len(inputs) < 2 else _length(inputs[1])
    prompt = inputs[0][:1, :before]
    answer = torch.tensor([ids[:length]], dtype=prompt.dtype, device=prompt.device)
    return Written((torch.cat([prompt, answer], dim=1),), before, tree, end)


def _length(valid: Any) -> int:
    """Give the length of the first row, by its lengths or its padding mask."""
    first = valid[0]
    return int(first.sum()) if first.ndim else int(first)


@torch.no_grad()
def steps_of(
    model: Generator, inputs: Sequence[Any], prompt: int, names: Names, end: int | None = None
) -> list[dict[str, Any]]:
    """Give each step's candidates: what follows on each token that the decoder reads, from the last of the prompt on.

    One pass over all tokens gives the probabilities of each step: no token knows those behind it. The token that was
    written is marked; behind an answer that was cut off there is none.

    Args:
        model: that writes token by token.
        inputs: as for `forward`.
        prompt: tokens before the first that is written.
        names: of tokens.
        end: what was written behind the last token; None for nothing.
    """
    after_row = dict(following(model, inputs, prompt, end))
    probabilities = model(*inputs)[0].float().softmax(-1).cpu()
    steps = []
    for row in range(max(prompt, 1) - 1, len(model.split(tuple(inputs)).target[0][0])):
        best, ids = probabilities[row].topk(min(CANDIDATES, probabilities.shape[1]))
        after = after_row.get(row)
        kept = dict(zip(ids.tolist(), best.tolist(), strict=True))
        if after is not None and after not in kept:
            kept[after] = float(probabilities[row, after])
        shown = zip(names(list(kept)), kept.values(), kept, strict=True)
        steps.append({"row": row, "candidates": [[name, round(p, 6), int(place == after)] for name, p, place in shown]})
    return steps


def following(model: Generator, inputs: Sequence[Any], prompt: int, end: int | None) -> list[tuple[int, int]]:
    """Give the row of each token that was written, and its id: what follows on the row's token, from the prompt on."""
    tokens = [*model.split(tuple(inputs)).target[0][0].tolist()[1:], *([] if end is None else [end])]
    first = max(prompt, 1) - 1
    return list(enumerate(tokens))[first:]


def tree_of(
    seen: Sequence[tuple[Int[Tensor, "_ _"], Float[Tensor, " _"]]], found: Generated, names: Names, eos: int
) -> list[dict[str, Any]]:
    """Join the answers that were followed to a tree: each node a token, its parent, and its log-probability so far.

    Args:
        seen: unfinished answers after each step, with log-probabilities.
        found: the finished ones; their scores are divided by the length penalty.
        names: of tokens.
        eos: the end.
    """
    known: dict[tuple[int, ...], int] = {}
    nodes: list[dict[str, Any]] = []

    def add(path: tuple[int, ...], total: float | None) -> int:
        if path not in known:
            parent = add(path[:-1], None) if len(path) > 1 else -1
            known[path] = len(nodes)
            nodes.append({"token": path[-1], "parent": parent, "total": None, "score": None, "best": 0})
        node = nodes[known[path]]
        node["total"] = node["total"] if total is None else round(total, 5)
        return known[path]

    for ids, running in seen:
        for path, total in zip(ids.tolist(), running.tolist(), strict=True):
            if total > -torch.inf and len(nodes) < MOST_NODES:
                add(tuple(path), total)
    answers = zip(found.ids[0].tolist(), found.lengths[0].tolist(), found.scores[0].tolist(), strict=True)
    for number, (ids, length, score) in enumerate(answers):
        if score > -torch.inf:
            ended = length < len(ids) and ids[length] == eos
            path = tuple(ids[: length + ended])
            node = add(path, score * length_penalty(len(path), ALPHA)) if path else None
            if node is not None:
                nodes[node]["score"] = round(score, 5)
            while number == 0 and node is not None and node >= 0:
                nodes[node]["best"] = 1
                node = nodes[node]["parent"]
    for each, name in zip(nodes, names([each["token"] for each in nodes]) if nodes else [], strict=True):
        each["token"] = name
    return nodes
