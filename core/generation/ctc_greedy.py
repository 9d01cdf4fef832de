"""Greedy CTC decoding: the transcript of each row's likeliest alignment, without a search.

Axes: b rows, n vectors.
"""

from jaxtyping import Float, Int
from torch import Tensor

from zoo.core.generation.loop import Generated
from zoo.core.losses.ctc import ctc_log_probs, fronted
from zoo.core.special_tokens import SYMBOLS, Symbols


def greedy(scores: Float[Tensor, "b n vocab"], lengths: Int[Tensor, " b"], symbols: Symbols = SYMBOLS) -> Generated:
    """Give the transcript of each row's likeliest alignment: Graves et al. 2006, sec. 3.2.

    Args:
        scores: of each token for each vector, before the softmax.
        lengths: vectors of each row.
        symbols: padding, which is the blank, begin and end.

    Returns:
        One transcript for each row, without an end. Its score is the log-probability of that alignment alone, at most
        that of the transcript, which has others too.
    """
    best, path = ctc_log_probs(scores, lengths, symbols).max(-1)
    kept = path != symbols.pad
    kept[:, 1:] &= path[:, 1:] != path[:, :-1]
    ids, counts = fronted(path, kept, symbols.pad)
    return Generated(ids[:, None], counts[:, None], best.sum(1)[:, None])
