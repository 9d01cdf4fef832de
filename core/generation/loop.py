"""Autoregressive generation: the loop that chooses one token at a time, and `Generated`, its result.

Axes: b rows of the batch, r rows of it that are still computed, t new tokens.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from zoo.core.generation.constraints.constraints import Constraints, RowConstraints
from zoo.core.generation.constraints.prefix import Prefix
from zoo.core.generation.prompt import Prompt
from zoo.core.generation.sampling import Choice
from zoo.core.generation.stepping import DecodingStep
from zoo.core.ops.autocast import precise
from zoo.core.special_tokens import Symbols

WORTH = 0.75
"""Rows that have ended are taken out of the batch when no more than this share of it still writes: taking out copies
what the others keep, which costs about as much as a step reads."""
FREE = Constraints()
"""None."""


class Generated(NamedTuple):
    """Result of a generation, without the prompt, best first.

    Args:
        ids: tokens, with the end where one was written; padding behind it.
        lengths: tokens of each answer, the end not counted.
        scores: log-probability over length penalty, the end counted in both; -∞ where there are fewer answers.
    """

    ids: Int[Tensor, "b n_best t"]
    lengths: Int[Tensor, "b n_best"]
    scores: Float[Tensor, "b n_best"]

    def best(self) -> list[list[int]]:
        """Give the tokens of each row's best answer, without end and padding."""
        pairs = zip(self.ids[:, 0].tolist(), self.lengths[:, 0].tolist(), strict=True)
        return [row[:length] for row, length in pairs]

    def read(self, symbols: Symbols) -> Int[Tensor, "b m"]:
        """Give what a decoder reads while it writes the best answers: the begin, then their tokens, then padding."""
        rows = [torch.tensor([symbols.bos, *row], device=self.ids.device) for row in self.best()]
        return pad_sequence(rows, batch_first=True, padding_value=symbols.pad)


class StepOutput(NamedTuple):
    """Result of one step of the loop.

    Args:
        ids: the token of each row; padding where it ended before.
        scores: of the model, of the rows that are still computed; processors change them before a token is chosen.
        rows: which these are.
        writing: which of them had not ended before.
    """

    ids: Int[Tensor, " b"]
    scores: Float[Tensor, "r vocab"]
    rows: Int[Tensor, " r"]
    writing: Bool[Tensor, " r"]


def write(
    decoding: DecodingStep,
    prompt: Prompt,
    choose: Choice,
    max_new_tokens: list[int],
    symbols: Symbols,
    constraints: Constraints = FREE,
) -> Iterator[StepOutput]:
    """Generate a token for each row, step by step, until every row has ended.

    Args:
        decoding: gives the scores.
        prompt: what stands before.
        choose: chooses by the scores.
        max_new_tokens: the most tokens each row may write.
        symbols: padding and end.
        constraints: what may be written, and what ends a row.
    """
    batch, device = len(prompt.ids), prompt.ids.device
    constrained = RowConstraints(constraints, Prefix.of(prompt))
    rows, most = torch.arange(batch, device=device), torch.tensor(max_new_tokens, device=device)
    writing = torch.ones(batch, dtype=torch.bool, device=device)
    scores = decoding.prefill(prompt)
    for step in range(1, max(max_new_tokens) + 1):
        ids = choose(constrained.process(scores, writing), rows, batch).masked_fill(~writing, symbols.pad)
        everywhere = ids if len(rows) == batch else ids.new_full((batch,), symbols.pad).index_copy(0, rows, ids)
        yield StepOutput(everywhere, scores, rows, writing)
        writing = writing & (ids != symbols.eos)
        writing = writing & ~constrained.stopped(ids, writing)
        full = step in max_new_tokens
        if full:
            writing = writing & (most[rows] > step)
        count = int(writing.sum())
        if not count:
            return
        if count < len(rows) and pays(count, len(rows), full):
            kept = writing.nonzero()[:, 0]
            decoding.reorder(kept)
            constrained.take(kept)
            rows, ids, writing = rows[kept], ids[kept], writing[kept]
        scores = decoding.step(ids)


def pays(count: int, rows: int, full: bool) -> bool:
    """Tell whether rows that have ended are taken out; those that are full have to, as there is no room to go on."""
    return full or count <= WORTH * rows


def collect(steps: Iterable[StepOutput], alpha: float, symbols: Symbols) -> Generated:
    """Join the steps to one answer for each row, with its score."""
    written: list[Tensor] = []
    for ids, scores, rows, writing in steps:
        if not written:
            total = torch.zeros(len(ids), dtype=precise(scores).dtype, device=ids.device)
            count = torch.zeros_like(ids)
        scores = precise(scores)
        gained = scores.gather(1, ids[rows, None])[:, 0] - scores.logsumexp(-1)
        total.index_add_(0, rows, gained.masked_fill(~writing, 0))
        count.index_add_(0, rows, writing.to(count.dtype))
        written.append(ids)
    every = torch.stack(written, dim=1)
    lengths = count - ended(every, count, symbols)
    return Generated(every[:, None], lengths[:, None], (total / length_penalty(count.to(total), alpha))[:, None])


def ended(ids: Int[Tensor, "b t"], count: Int[Tensor, " b"], symbols: Symbols) -> Int[Tensor, " b"]:
    """Give 1 where the last of a row's tokens is the end, else 0."""
    return (ids.gather(1, count[:, None] - 1)[:, 0] == symbols.eos).to(count.dtype)


def length_penalty(length: Any, alpha: float) -> Any:
    """Give ((5 + length) / 6)^alpha, arXiv:1609.08144 eq. 14: what a log-probability is divided by."""
    return ((5.0 + length) / 6.0) ** alpha
