"""Prefix beam search: the likeliest transcripts of connectionist temporal classification, over all their alignments.

Graves et al. 2006, sec. 3.2; as a beam arXiv:1408.2873 sec. 3, here without a language model.
Axes: b rows, n vectors, w prefixes of each row, i, j two of them, c candidates.
"""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import pad

from zoo.core.generation.beam_search import Beam
from zoo.core.generation.loop import Generated
from zoo.core.losses.ctc import ctc_log_probs, fronted
from zoo.core.special_tokens import SYMBOLS, Symbols

ODD = -7046029254386353131
"""2^64 over the golden ratio: what names are multiplied by, so that each token changes all their bits."""


def prefix_beam(
    scores: Float[Tensor, "b n vocab"], lengths: Int[Tensor, " b"], beam: Beam, symbols: Symbols = SYMBOLS
) -> Generated:
    """Give the likeliest transcripts of each row.

    Args:
        scores: of each token for each vector, before the softmax.
        lengths: vectors of each row.
        beam: how many prefixes are followed, and how many transcripts are wanted; its length penalty is not applied,
            since a vector that emits nothing has its probability too.
        symbols: padding, which is the blank, begin and end.

    Returns:
        Transcripts without an end. Scores are log-probabilities, over all alignments whose prefixes were followed: a
        beam that holds every prefix gives those of the transcripts themselves.
    """
    log = ctc_log_probs(scores, lengths, symbols)
    prefixes = Prefixes(log, beam.width, symbols.pad)
    for at in range(log.shape[1]):
        prefixes.read(log[:, at])
    return prefixes.answers(beam.n_best)


class Prefixes:
    """Hold the likeliest prefixes of each row, each once, and how likely they are after the vectors so far.

    A prefix is known by its name, a number of 64 bits that its tokens make; two that differ have the same name once in
    2^64, and are taken for one then.

    Args:
        log: CTC log-probabilities; they say rows, device and precision.
        width: prefixes that are followed.
        blank: the token that is none.
    """

    def __init__(self, log: Float[Tensor, "b n vocab"], width: int, blank: int) -> None:
        nothing = torch.zeros(len(log), 1, dtype=torch.long, device=log.device)
        self.width, self.blank = width, blank
        self.with_blank = log.new_zeros(len(log), 1)
        """Log-probability of the alignments that end with a blank, or have no vector."""
        self.with_token = log.new_full((len(log), 1), -math.inf)
        """Log-probability of those that end with the last token."""
        self.last = nothing + blank
        self.name = nothing
        self.parent = nothing - 1
        """Name of the prefix without its last token."""
        self.trail: list[tuple[Tensor, Tensor]] = []
        """For each vector, which prefix each comes from, and the token behind it; the blank for none."""

    @property
    def total(self) -> Float[Tensor, "b w"]:
        """Log-probability of each prefix; -∞ for none."""
        return torch.logaddexp(self.with_blank, self.with_token)

    def read(self, log: Float[Tensor, "b vocab"]) -> None:
        """Read the next vector's log-probabilities: each prefix stays, or gets a token more."""
        stay_blank, stay_token, grown = self._continued(log)
        count = stay_blank.shape[1]
        every = torch.cat([torch.logaddexp(stay_blank, stay_token), grown.flatten(1)], dim=1)
        best, at = every.topk(min(self.width, every.shape[1]))
        stays, more = at < count, at - count
        source = torch.where(stays, at, more // log.shape[1])
        token = torch.where(stays, self.blank, more % log.shape[1])
        self.with_blank = stay_blank.gather(1, source).masked_fill(~stays, -math.inf)
        self.with_token = torch.where(stays, stay_token.gather(1, source), best)
        name = self.name.gather(1, source)
        self.parent = torch.where(stays, self.parent.gather(1, source), name)
        self.last = torch.where(stays, self.last.gather(1, source), token)
        self.name = torch.where(stays, name, longer(name, token))
        self.trail.append((source, token))

    def answers(self, n_best: int) -> Generated:
        """Give the best prefixes as transcripts, best first."""
        scores, index = self.total.sort(1, descending=True)
        tokens = []
        for source, token in reversed(self.trail):
            tokens.append(token.gather(1, index))
            index = source.gather(1, index)
        path = torch.stack([*reversed(tokens), torch.full_like(index, self.blank)], dim=2)
        missing = (0, max(0, n_best - scores.shape[1]))
        scores = pad(scores, missing, value=-math.inf)[:, :n_best]
        path = pad(path, (0, 0, *missing), value=self.blank)[:, :n_best]
        ids, counts = fronted(path, (path != self.blank) & (scores > -math.inf)[..., None], self.blank)
        return Generated(ids, counts, scores)

    def _continued(
        self, log: Float[Tensor, "b vocab"]
    ) -> tuple[Float[Tensor, "b w"], Float[Tensor, "b w"], Float[Tensor, "b w vocab"]]:
        """Give the log-probabilities of staying with a blank or the last token, and of each token more."""
        total, again = self.total, log.gather(1, self.last)
        grown = total[..., None] + log[:, None]
        # the same token once more is another one only behind a blank
        grown.scatter_(2, self.last[..., None], (self.with_blank + again)[..., None])
        grown[..., self.blank] = -math.inf
        # where prefix i with token c is prefix j, that is followed already, j gets the probability
        is_next = (self.name[:, :, None] == self.parent[:, None]) & (total > -math.inf)[:, None]
        token = self.last[:, None].expand(is_next.shape)
        joined = grown.gather(2, token).masked_fill(~is_next, -math.inf).amax(1)
        grown.scatter_reduce_(2, token, torch.where(is_next, -math.inf, math.inf).to(grown), "amin")
        return total + log[:, self.blank, None], torch.logaddexp(self.with_token + again, joined), grown


def longer(name: Int[Tensor, "b c"], token: Int[Tensor, "b c"]) -> Int[Tensor, "b c"]:
    """Name prefixes with a token more."""
    mixed = (name ^ (token + 1)) * ODD
    return mixed ^ (mixed >> 32)
