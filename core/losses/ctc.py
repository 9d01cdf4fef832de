"""Connectionist temporal classification (CTC): the loss, and checks of its lengths.

Of what the vectors emit, repeats are merged and blanks are left out: Graves et al. 2006, sec. 3.1. The blank is the
padding of the vocabulary, so that it needs no token of its own; begin and end are never emitted.
Axes: b rows, n vectors, m tokens of a transcript.
"""

import math

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor
from torch.nn import functional

from zoo.core.errors import ConfigError, InputError
from zoo.core.layers.token_embedding import check_ids
from zoo.core.losses.loss import IGNORED
from zoo.core.ops.autocast import precise
from zoo.core.patterns.front import front_order
from zoo.core.patterns.padding import Lengths
from zoo.core.special_tokens import SYMBOLS, Symbols

SHOWN = 20
"""Tokens of a transcript that an error repeats."""


def ctc_loss(
    scores: Float[Tensor, "b n vocab"],
    lengths: Int[Tensor, " b"],
    target: Int[Tensor, "b m"],
    symbols: Symbols = SYMBOLS,
    smoothing: float = 0.0,
) -> Float[Tensor, " b"]:
    """Give minus the log-probability of each row's transcript, summed over all alignments: Graves et al. 2006, sec. 4.

    Args:
        scores: of each token for each vector, before the softmax.
        lengths: vectors of each row.
        target: tokens; symbols and -100 among them are no part of the transcript.
        symbols: padding, which is the blank, begin and end.
        smoothing: share of the loss, in [0, 1), that asks each vector for all tokens evenly: arXiv:1711.02212.

    Raises:
        ConfigError: If the smoothing is no such share.
        InputError: If a row has fewer vectors than its transcript needs, or a token is none of the vocabulary.
    """
    if not 0 <= smoothing < 1:
        raise ConfigError(f"smoothing={smoothing} is not in [0, 1)")
    ids, counts = transcripts(target, symbols)
    check_ids(ids, scores.shape[2])
    check_ctc_lengths(ids, counts, lengths)
    log = precise(scores).log_softmax(-1)
    loss = functional.ctc_loss(log.transpose(0, 1), ids, lengths, counts, blank=symbols.pad, reduction="none")
    if not smoothing:
        return loss
    even = -log.mean(-1).masked_fill(~_valid(scores, lengths), 0).sum(1)
    return (1 - smoothing) * loss + smoothing * even


def ctc_log_probs(
    scores: Float[Tensor, "b n vocab"], lengths: Int[Tensor, " b"], symbols: Symbols
) -> Float[Tensor, "b n vocab"]:
    """Give CTC log-probabilities to search in: begin and end have none, and behind a row's last vector all is blank.

    So padding adds nothing to a transcript and nothing to its score.
    """
    log = precise(scores).log_softmax(-1)
    log[..., [symbol for symbol in symbols[1:] if symbol >= 0]] = -math.inf
    nothing = log.new_full(log.shape[2:], -math.inf)
    nothing[symbols.pad] = 0
    return torch.where(_valid(scores, lengths)[..., None], log, nothing)


def transcripts(target: Int[Tensor, "b m"], symbols: Symbols) -> tuple[Int[Tensor, "b t"], Int[Tensor, " b"]]:
    """Give the CTC targets, without symbols and -100, padding behind them; and how many each row has."""
    kept = target != IGNORED
    for symbol in symbols:
        kept &= target != symbol
    return fronted(target, kept, symbols.pad)


def needed(ids: Int[Tensor, "b m"], counts: Int[Tensor, " b"]) -> Int[Tensor, " b"]:
    """Count the vectors that a transcript needs: one for each token, and a blank between two that are the same.

    Args:
        ids: tokens of each row, from its front.
        counts: how many there are.
    """
    place = torch.arange(1, max(ids.shape[1], 1), device=ids.device)
    again = (ids[:, 1:] == ids[:, :-1]) & (place < counts[:, None])
    return counts + again.sum(1)


def check_ctc_lengths(ids: Int[Tensor, "b m"], counts: Int[Tensor, " b"], lengths: Int[Tensor, " b"]) -> None:
    """Refuse transcripts that so many vectors cannot emit: their probability would be 0.

    Raises:
        InputError: If there is one; the text names the first.
    """
    least = needed(ids, counts)
    bad = least > lengths.to(least.device)
    if bool(bad.any()):
        row = int(bad.nonzero()[0, 0])
        count = int(counts[row])
        shown = ids[row, : min(count, SHOWN)].tolist()
        raise InputError(
            f"row {row}: a transcript of {count} tokens, {shown}{' …' if count > SHOWN else ''}, needs "
            f"{int(least[row])} vectors, one for each token and one between equal neighbours; there are "
            f"{int(lengths[row])}: leave it out, or give more vectors or a vocabulary of longer tokens"
        )


def fronted(
    x: Shaped[Tensor, "*rows n"], kept: Bool[Tensor, "*rows n"], filler: int
) -> tuple[Shaped[Tensor, "*rows m"], Int[Tensor, "*rows"]]:
    """Move what is kept to the front of its row, and say how much that is; the filler stands behind it."""
    counts = kept.sum(-1)
    order = front_order(kept)[..., : int(counts.max())]
    return x.masked_fill(~kept, filler).gather(-1, order), counts


def _valid(scores: Tensor, lengths: Tensor) -> Bool[Tensor, "b n"]:
    return Lengths(lengths).valid(scores.shape[0], scores.shape[1], scores.device)
