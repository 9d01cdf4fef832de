"""`Ctc`, a model trained by connectionist temporal classification; and code that `Joint` shares."""

from typing import Any, NoReturn

from jaxtyping import Float, Int
from torch import Tensor, nn

from zoo.core.errors import ConfigError
from zoo.core.generation.beam_search import Beam
from zoo.core.generation.ctc_beam_search import prefix_beam
from zoo.core.generation.ctc_greedy import greedy
from zoo.core.generation.keywords import check_input_keywords, check_keywords
from zoo.core.generation.length_prediction import counts
from zoo.core.generation.loop import Generated
from zoo.core.generation.sampling import Greedy
from zoo.core.generation.stepping import evaluating
from zoo.core.losses.ctc import ctc_loss
from zoo.core.losses.loss import count_targets
from zoo.core.models.generator import check_whole
from zoo.core.models.model import Model, SourceTarget
from zoo.core.patterns.front import front_order, vectors_at
from zoo.core.patterns.padding import Lengths
from zoo.core.special_tokens import SYMBOLS, Symbols
from zoo.core.tokens import Tokens


class Ctc(Model):
    """CTC model: for each vector, logits over the tokens of a transcript and the blank, in order of time.

    Args:
        stem: the source's raw input to `Tokens`.
        encoder: `Tokens` to `Tokens`.
        head: `Tokens` to a score for each token.
        symbols: padding, which is the blank, begin and end.
        source_inputs: inputs of the source, such as values and lengths; ids behind them, as a `Generator` is given
            them, are not read.

    Raises:
        ConfigError: If the blank cannot be told from begin and end.
    """

    label_smoothing = 0.0
    """What a training takes where nobody says: a vector has no right token whose share could be spread."""

    def __init__(
        self,
        stem: nn.Module,
        encoder: nn.Module,
        head: nn.Module,
        *,
        symbols: Symbols = SYMBOLS,
        source_inputs: int = 2,
    ) -> None:
        super().__init__(stem, encoder, head)
        self.symbols = with_blank(symbols)
        self.source_inputs = source_inputs

    def behind(self, source: nn.Module) -> NoReturn:
        """Refuse: there is no decoder.

        Raises:
            ConfigError: In any case.
        """
        raise ConfigError(
            "a CTC model has no decoder to join: its encoder emits the tokens; make it with by='attention' as the "
            "decoder, or join its task 'features' as the encoder"
        )

    def split(self, inputs: tuple[Any, ...]) -> SourceTarget:
        """Split the inputs: so many are the source's, and ids behind them are not read."""
        return SourceTarget(inputs[: self.source_inputs], inputs[self.source_inputs :])

    def forward(self, *inputs: Any, **others: Any) -> Float[Tensor, "b n vocab"]:
        """Give, for each vector, the CTC logits; those of padding say nothing."""
        check_input_keywords(others, self.input_names())
        return self.head(self._features(inputs).without_padding())

    def emit(self, *inputs: Any) -> tuple[Float[Tensor, "b n vocab"], Int[Tensor, " b"]]:
        """Give the CTC logits, and the number of vectors of each row: for searches and alignments."""
        return ctc_logits(self._features(inputs), self.head)

    def training_loss(
        self, inputs: tuple[Any, ...], target: Int[Tensor, "b m"], smoothing: float = 0.0
    ) -> Float[Tensor, ""]:
        """Give minus the log-probability of the transcripts, by tokens that are asked, each end counted.

        Args:
            inputs: as for the model.
            target: tokens of each row; the end, other symbols and -100 are no part of the transcript.
            smoothing: see `ctc_loss`.

        Raises:
            InputError: If a row has fewer vectors than its transcript needs.
        """
        loss = ctc_loss(*self.emit(*inputs), target, self.symbols, smoothing)
        return loss.sum() / count_targets(target).clamp(min=1)

    def generate(
        self, *inputs: Any, max_len: int | None = None, beam: int = 1, n_best: int = 1, **others: Any
    ) -> Generated:
        """Transcribe each row, in evaluation mode and without gradients.

        Args:
            inputs: as for the model.
            max_len: tokens at most, where a transcript is cut; None for all.
            beam: prefixes that are followed at once; with 1 the likeliest alignment is taken.
            n_best: transcripts wanted of each row, at most as many as `beam`.
            others: none; keywords that only a `Generator` takes raise an error that names them.

        Returns:
            Transcripts without an end; scores are those of `greedy` and `prefix_beam`.

        Raises:
            ConfigError: If a number is below 1, or another keyword is given.
        """
        check_keywords(others, Ctc.generate)
        beams = beam_settings(beam, n_best, max_len)
        with evaluating(self.modules()):
            return cut(transcribed(*self.emit(*inputs), beams, self.symbols), max_len)


def transcribed(
    scores: Float[Tensor, "b n vocab"], lengths: Int[Tensor, " b"], beam: Beam, symbols: Symbols
) -> Generated:
    """Decode CTC logits: greedily, or by prefix beam search where the beam is wider than 1."""
    return greedy(scores, lengths, symbols) if beam.width == 1 else prefix_beam(scores, lengths, beam, symbols)


def ctc_logits(encoded: Tokens, head: nn.Module) -> tuple[Float[Tensor, "b n vocab"], Int[Tensor, " b"]]:
    """Give the CTC logits of vectors, the valid ones in front, and how many these are."""
    scores: Tensor = head(encoded)
    valid = encoded.valid()
    if valid is not None and not isinstance(encoded.keys, Lengths):
        scores = vectors_at(scores, front_order(valid))
    return scores, counts(encoded)


def with_blank(symbols: Symbols) -> Symbols:
    """Give symbols back whose padding can be the blank.

    Raises:
        ConfigError: If it is the begin or the end, too.
    """
    if symbols.pad in (symbols.bos, symbols.eos):
        raise ConfigError(f"{symbols}: the padding is the blank of what vectors emit, so it is no other symbol")
    return symbols


def beam_settings(beam: int, n_best: int, max_len: int | None) -> Beam:
    """Check the settings of a prefix beam search and give them.

    Raises:
        ConfigError: If a number is below 1 or no whole number, or more is wanted than is followed.
    """
    check_whole(beam=beam, n_best=n_best, max_len=max_len)
    if max_len is not None and max_len < 1:
        raise ConfigError(f"max_len={max_len}: at least one token is written")
    beams = Beam(beam, n_best)
    beams.check(Greedy(), "")
    return beams


def cut(found: Generated, max_len: int | None) -> Generated:
    """Cut transcripts behind so many tokens; their scores stay."""
    if max_len is None:
        return found
    return Generated(found.ids[..., :max_len], found.lengths.clamp(max=max_len), found.scores)
