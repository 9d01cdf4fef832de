"""Forced decoding: the log-probabilities of given targets under an autoregressive model.

Axes: b rows of the batch, c targets of each, r all of them, m tokens of the longest target.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from zoo.core.errors import InputError
from zoo.core.generation.loop import Generated, length_penalty
from zoo.core.generation.prompt import Prompt
from zoo.core.ops.autocast import precise
from zoo.core.special_tokens import Symbols
from zoo.core.tokens import Tokens, rows

Target = Generated | Tensor | Sequence[Sequence[int]]
"""Ids of the targets, see `targets_of`."""


class TargetScores(NamedTuple):
    """Scores of targets, in the order in which they were given.

    Args:
        tokens: log-probability of each token; 0 behind a target's last.
        lengths: tokens of each target, an end counted.
        scores: the sum over the length penalty; -∞ for a target without tokens.
    """

    tokens: Float[Tensor, "b c m"]
    lengths: Int[Tensor, "b c"]
    scores: Float[Tensor, "b c"]


def targets_of(
    target: Target, symbols: Symbols, device: torch.device
) -> tuple[Int[Tensor, "b c m"], Int[Tensor, "b c"]]:
    """Give the ids of targets, and how many tokens each has, an end counted.

    Args:
        target: what `generate` gave; or lists of ids; or a tensor (batch, tokens) or (batch, targets, tokens), whose
            targets end with the first end, or before the padding behind them, which is the symbol or below 0.
        symbols: padding and end.
        device: where the ids go.

    Raises:
        InputError: If it is none of these.
    """
    if isinstance(target, Generated):
        ids, lengths = target.ids, target.lengths
        place = torch.arange(ids.shape[2], device=ids.device)
        ends = ((ids == symbols.eos) & (place == lengths[..., None])).any(-1) & target.scores.isfinite()
        return ids.to(device), (lengths + ends).to(device)
    if not isinstance(target, Tensor):
        listed = [torch.tensor(list(row), dtype=torch.long) for row in target]
        if not listed:
            raise InputError("target=[]: give the ids of each row")
        lengths = torch.tensor([[len(row)] for row in listed])
        return pad_sequence(listed, batch_first=True)[:, None].to(device), lengths.to(device)
    if target.ndim not in (2, 3) or target.is_floating_point():
        raise InputError(
            f"target of shape {tuple(target.shape)} of {target.dtype}: whole numbers (batch, tokens) or (batch, "
            "targets, tokens)"
        )
    ids = (target[:, None] if target.ndim == 2 else target).to(device)
    place = torch.arange(ids.shape[2], device=device) + 1
    means = torch.where((ids >= 0) & (ids != symbols.pad), place, 0).amax(-1) if ids.shape[2] else ids.sum(-1)
    first = torch.where(ids == symbols.eos, place, ids.shape[2] + 1).amin(-1) if ids.shape[2] else means
    return ids, torch.where(first <= ids.shape[2], first, means)


@torch.no_grad()
def score_targets(
    model: Any, context: Tokens | None, prompt: Prompt, target: Target, alpha: float = 0.0
) -> TargetScores:
    """Let a model read targets behind their prompts, and give the log-probability of each token.

    Args:
        model: a `Generator` in evaluation mode.
        context: the encoder's vectors, if there is one.
        prompt: tokens before the target.
        target: see `targets_of`.
        alpha: exponent of the length penalty; 0 for none.

    Raises:
        InputError: If there are not as many rows, a token is not in the vocabulary, or the model has no room.
    """
    ids, lengths = targets_of(target, model.symbols, prompt.ids.device)
    b, c, m = ids.shape
    if b != len(prompt.ids):
        raise InputError(f"targets of {b} rows for a batch of {len(prompt.ids)}: give one for each")
    each = torch.arange(b, device=ids.device).repeat_interleave(c)
    before = torch.tensor(prompt.counts(), device=ids.device)[each]
    count, flat = lengths.flatten(), ids.flatten(0, 1)
    longest = int((before + count).max())
    if model.max_len is not None and longest > model.max_len:
        raise InputError(f"prompt and target of {longest} tokens: the model holds {model.max_len}")
    place = torch.arange(m, device=ids.device)
    inside = place < count[:, None]
    flat = flat.masked_fill(~inside, 0)
    read = torch.cat([prompt.ids[each], flat.new_zeros(b * c, m)], dim=1)
    at = before[:, None] + place
    read.scatter_(1, at, flat)
    valid = before + (count - 1).clamp(min=0)
    read = read[:, : int(valid.max())]
    tokens = model.decoded(read, None, None if context is None else rows(context, each), valid)
    scores = precise(model.head(tokens))
    if bool((flat >= scores.shape[-1]).any()):
        raise InputError(f"token {int(flat.max())} of a target: the vocabulary has {scores.shape[-1]}")
    asked = (at - 1).clamp(max=scores.shape[1] - 1)
    chosen = scores[torch.arange(b * c, device=ids.device)[:, None], asked, flat]
    normaliser = scores.logsumexp(-1).gather(1, asked)
    log = (chosen - normaliser).masked_fill(~inside, 0)
    total = (log.sum(1) / length_penalty(count.to(log), alpha)).masked_fill(count == 0, -torch.inf)
    return TargetScores(log.view(b, c, m), lengths, total.view(b, c))
