"""CTC forced alignment: the start and end of each token of a transcript.

Axes: b sounds, n vectors, m tokens.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from zoo.core import IGNORED, SYMBOLS, ConfigError, InputError, Lengths, Symbols, check_ctc_lengths, check_ids, precise
from zoo.plugins.shared.audio.config import TOKEN, WAVE_TOKEN


class Aligned(NamedTuple):
    """Say where a token stands in a sound.

    Args:
        token: which.
        start: first vector that emits it.
        end: vector behind the last.
        score: mean probability of the token in them, in [0, 1].
    """

    token: int
    start: int
    end: int
    score: float

    @property
    def start_ms(self) -> int:
        """Milliseconds at which it begins."""
        return TOKEN * self.start

    @property
    def end_ms(self) -> int:
        """Milliseconds at which it ends."""
        return TOKEN * self.end


class WaveAligned(Aligned):
    """The same of a stem that reads samples, such as that of wav2vec 2.0."""

    @property
    def start_ms(self) -> int:
        return WAVE_TOKEN * self.start

    @property
    def end_ms(self) -> int:
        return WAVE_TOKEN * self.end


def align(
    scores: Float[Tensor, "b n vocab"],
    lengths: Int[Tensor, " b"],
    ids: Int[Tensor, "b m"] | Sequence[Sequence[int]],
    symbols: Symbols = SYMBOLS,
    milliseconds: int = TOKEN,
) -> list[list[Aligned]]:
    """Find the tokens of transcripts in sounds; scores and lengths are what a model's `emit` gives.

    Args:
        scores: of each token for each vector, before the softmax.
        lengths: vectors of each sound.
        ids: the transcript of each sound; symbols among its tokens, such as padding, and -100 are left out.
        symbols: padding, which is the blank, begin and end.
        milliseconds: from vector to vector, 40 or, of wav2vec 2.0, 20.

    Returns:
        For each sound its tokens, in their order; what lies between them is blank.

    Raises:
        InputError: If there are not as many transcripts as sounds, a token is none of the vocabulary, or a sound has
            fewer vectors than its transcript needs.
        ConfigError: If torchaudio, which aligns, is not there.
    """
    try:
        from torchaudio.functional import forced_align, merge_tokens
    except ImportError as error:
        raise ConfigError('an alignment needs torchaudio: pip install "attention-zoo[speech]"') from error
    silent = (*symbols, IGNORED)
    said = [[token for token in row if token not in silent] for row in _rows(ids)]
    if len(said) != len(scores):
        raise InputError(f"{len(said)} transcripts of {len(scores)} sounds: give one for each")
    Lengths(lengths).valid(scores.shape[0], scores.shape[1], scores.device)
    counts = torch.tensor([len(row) for row in said])
    longest = max(map(len, said), default=0)
    padded = torch.tensor([row + [symbols.pad] * (longest - len(row)) for row in said], dtype=torch.long)
    check_ids(padded, scores.shape[2])
    check_ctc_lengths(padded, counts, lengths.cpu())
    log = precise(scores.detach()).log_softmax(-1)
    kind = WaveAligned if milliseconds == WAVE_TOKEN else Aligned
    found = []
    for row, length, log_probs in zip(said, lengths.tolist(), log, strict=True):
        spans = []
        if row:  # of nothing it finds no largest token
            target = torch.tensor([row], device=log.device)
            path, gained = forced_align(log_probs[None, :length].contiguous(), target, blank=symbols.pad)
            spans = merge_tokens(path[0], gained[0].exp(), blank=symbols.pad)
        found.append([kind(span.token, span.start, span.end, span.score) for span in spans])
    return found


def _rows(ids: Tensor | Sequence[Sequence[int]]) -> Sequence[Sequence[int]]:
    rows: Sequence[Sequence[int]] = ids.tolist() if isinstance(ids, Tensor) else ids
    return rows
