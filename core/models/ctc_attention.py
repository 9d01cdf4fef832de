"""`Joint`, hybrid CTC and attention: one encoder with a CTC head, and a decoder that reads it.

Axes: b rows, n vectors, c candidates, t tokens written.
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import pad

from zoo.core.errors import ConfigError
from zoo.core.generation.beam_search import Beam
from zoo.core.generation.keywords import check_keywords
from zoo.core.generation.loop import Generated
from zoo.core.generation.stepping import evaluating
from zoo.core.losses.ctc import ctc_loss
from zoo.core.losses.loss import IGNORED, count_targets, cross_entropy
from zoo.core.models.ctc import beam_settings, ctc_logits, cut, transcribed, with_blank
from zoo.core.models.generator import Generator
from zoo.core.ops.autocast import precise
from zoo.core.special_tokens import SYMBOLS, Symbols
from zoo.core.tokens import Tokens, rows


class Joint(Generator):
    """Compose a CTC head and an attention decoder on one encoder: arXiv:1609.06773.

    Inputs are those of a `Generator`.

    Args:
        target: see `Generator`.
        decoder: see `Generator`.
        head: see `Generator`.
        emitter: the CTC head: the encoder's `Tokens` to a score for each token.
        encoder: see `Generator`.
        stem: see `Generator`.
        ctc_weight: share of CTC in loss and score, in (0, 1).
        symbols: padding, which is the blank, begin and end.
        max_len: see `Generator`.

    Raises:
        ConfigError: If one of the two would have no share, or the blank cannot be told from begin and end.
    """

    def __init__(
        self,
        target: nn.Module,
        decoder: nn.Module,
        head: nn.Module,
        emitter: nn.Module,
        *,
        encoder: nn.Module,
        stem: nn.Module,
        ctc_weight: float = 0.3,
        symbols: Symbols = SYMBOLS,
        max_len: int | None = None,
    ) -> None:
        if not 0 < ctc_weight < 1:
            raise ConfigError(f"ctc_weight={ctc_weight} is not in (0, 1): one of the two would not be trained")
        super().__init__(
            target, decoder, head, encoder=encoder, stem=stem, symbols=with_blank(symbols), max_len=max_len
        )
        self.emitter: Any = emitter
        self.ctc_weight = ctc_weight

    def emit(self, *source: Any) -> tuple[Float[Tensor, "b n vocab"], Int[Tensor, " b"]]:
        """Give the CTC logits, and the number of vectors of each row."""
        return ctc_logits(self.encode(*source), self.emitter)

    def training_loss(
        self, inputs: tuple[Any, ...], target: Int[Tensor, "b m"], smoothing: float = 0.0
    ) -> Float[Tensor, ""]:
        """Give the two losses by their weights: arXiv:1609.06773 eq. 11, by tokens that are asked.

        Args:
            inputs: as for the model.
            target: the right token of each place, the end behind the last, -100 behind it.
            smoothing: share of the decoder's right token that is spread over all.

        Raises:
            InputError: If a row has fewer vectors than its transcript needs.
        """
        tokens, context = self.read(*inputs)
        assert context is not None
        written = cross_entropy(self.head(self.decoder(tokens, context)), target, smoothing)
        ctc = ctc_loss(*ctc_logits(context, self.emitter), target, self.symbols).sum()
        return self.ctc_weight * ctc / count_targets(target).clamp(min=1) + (1 - self.ctc_weight) * written

    def generate(
        self,
        *inputs: Any,
        max_len: int | None = None,
        beam: int = 8,
        n_best: int = 1,
        ctc_weight: float | None = None,
        **others: Any,
    ) -> Generated:
        """Transcribe each row in two passes: arXiv:2012.05481 sec. 3.2.

        The vectors propose transcripts by prefix beam search, and the decoder scores each as a whole; the sum of both
        log-probabilities by their weights chooses.

        Args:
            inputs: the source's.
            max_len: tokens at most, where a transcript is cut; None for all.
            beam: transcripts that are proposed; with 1 the decoder has no choice.
            n_best: transcripts wanted of each row, at most as many as `beam`.
            ctc_weight: share of CTC, in [0, 1]; that of the training if None.
            others: none; keywords that only CTC or only the decoder takes raise an error that names them.

        Returns:
            Transcripts without an end, and the sums.

        Raises:
            ConfigError: If a number does not fit, or another keyword is given.
        """
        check_keywords(others, Joint.generate)
        beams = beam_settings(beam, n_best, max_len)
        share = self.ctc_weight if ctc_weight is None else ctc_weight
        if not 0 <= share <= 1:
            raise ConfigError(f"ctc_weight={share} is not in [0, 1]")
        with evaluating(self.modules()):
            context = self.encode(*inputs)
            proposed = transcribed(*ctc_logits(context, self.emitter), Beam(beam, beam), self.symbols)
            both = (1 - share) * self.score(context, proposed)
            both = torch.where(proposed.scores.isfinite(), both + share * proposed.scores, proposed.scores)
            best, at = both.topk(beams.n_best)
            lengths = proposed.lengths.gather(1, at)
            ids = proposed.ids.take_along_dim(at[..., None], 1)[..., : int(lengths.max())]
            return cut(Generated(ids, lengths, best), max_len)

    def score(self, context: Tokens, answers: Generated) -> Float[Tensor, "b c"]:
        """Give the decoder's log-probability of answers, their ends counted.

        Args:
            context: the encoder's vectors, as `encode` gives them.
            answers: without ends.
        """
        b, c, t = answers.ids.shape
        place = torch.arange(t + 1, device=answers.ids.device)
        written = pad(answers.ids, (0, 1)).flatten(0, 1)
        length = answers.lengths.flatten()[:, None]
        labels = written.masked_fill(place == length, self.symbols.eos).masked_fill(place > length, IGNORED)
        read = pad(written[:, :-1], (1, 0), value=self.symbols.bos)
        each = torch.arange(b, device=place.device).repeat_interleave(c)
        scores = precise(self.head(self.decoder(self.target(read), rows(context, each))))
        lost = nn.functional.cross_entropy(scores.transpose(1, 2), labels, ignore_index=IGNORED, reduction="none")
        return -lost.sum(1).view(b, c)
