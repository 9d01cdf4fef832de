"""`Generator`, autoregressive models: a decoder, perhaps behind an encoder, and a head for the next token."""

from collections.abc import Iterable, Iterator
from numbers import Integral, Real
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from zoo.core.cache.decoder import DecoderState
from zoo.core.errors import ConfigError, InputError
from zoo.core.generation.beam_search import Beam, search
from zoo.core.generation.constraints.constraints import check_minimum, constraints_of
from zoo.core.generation.constraints.processor import Processor
from zoo.core.generation.constraints.stop_strings import StoppingCriterion
from zoo.core.generation.keywords import check_keywords
from zoo.core.generation.loop import Generated, collect, write
from zoo.core.generation.prompt import Prompt, new_token_limits, prompt_of
from zoo.core.generation.sampling import choice
from zoo.core.generation.stepping import DecodingStep, decoding_step, evaluating
from zoo.core.generation.target_scores import Target, TargetScores, score_targets
from zoo.core.layers.packing import packable
from zoo.core.layers.pooling import last
from zoo.core.layers.token_embedding import TokenEmbed, ValidMask
from zoo.core.layers.transformer import Decoder
from zoo.core.mechanisms.alignment.decoder import RecurrentDecoder
from zoo.core.mechanisms.gated_cross import insert_cross
from zoo.core.models.model import Composition, SourceTarget, source_and_ids
from zoo.core.ops.tensor_check import check_tensor
from zoo.core.patterns.canonical import by_offset
from zoo.core.special_tokens import SYMBOLS, Symbols
from zoo.core.tokens import Tokens


class Generator(Composition):
    """Compose an autoregressive model; inputs are the source's, then the ids of the target so far.

    Without an encoder the inputs are the ids, and perhaps which of them are there.

    Args:
        target: ids to `Tokens`, as `TokenEmbed`; it reads the source too where an encoder has no `stem`.
        decoder: `Tokens` to `Tokens`.
        head: `Tokens` to a score for each token.
        encoder: `Tokens` to `Tokens` that the decoder reads; None for a decoder alone.
        stem: the source's raw input to `Tokens`; None where source and target share their vocabulary.
        symbols: padding, begin and end.
        max_len: the most tokens it can write, with the prompt; None for any number.
    """

    label_smoothing: float | None = None
    """What a training takes where nobody says; None for its own choice."""

    def __init__(
        self,
        target: nn.Module,
        decoder: nn.Module,
        head: nn.Module,
        *,
        encoder: nn.Module | None = None,
        stem: nn.Module | None = None,
        symbols: Symbols = SYMBOLS,
        max_len: int | None = None,
    ) -> None:
        super().__init__()
        self.stem = stem
        self.encoder = encoder
        self.target = target
        self.decoder: Any = decoder
        self.head = head
        self.symbols = symbols
        self.max_len = max_len

    def split(self, inputs: tuple[Any, ...]) -> SourceTarget:
        """Split the inputs; without an encoder all are the target's.

        Raises:
            InputError: If there are no inputs for one of them.
        """
        return SourceTarget((), inputs) if self.encoder is None else source_and_ids(inputs)

    def input_names(self) -> list[str]:
        """See `Composition.input_names`; with an encoder the target is the last."""
        return [*super().input_names(), *(["target"] if self.encoder is not None else [])]

    def behind(self, source: nn.Module) -> "Generator":
        """See `Composition.behind`; cross-attention is inserted where the decoder has none, see `insert_cross`.

        A recurrent decoder begins with the mean of the vectors, which may have no order (arXiv:1502.03044 sec. 3.1.2).
        """
        new = insert_cross(self.decoder)
        if isinstance(self.decoder, RecurrentDecoder):
            self.decoder.pool = "mean"
        found = Generator(
            self.target,
            self.decoder,
            self.head,
            encoder=nn.Identity(),
            stem=source,
            symbols=self.symbols,
            max_len=self.max_len,
        )
        found.new_parts = tuple(f"decoder.{name}" for name in new)
        found.label_smoothing = self.label_smoothing
        return found

    def packs(self) -> bool:
        """Tell whether documents packed into one row are read as if each were alone, at no more cost; see `ValidMask`.

        So it is of a decoder alone whose attention keeps sets apart.
        """
        decoder = self.decoder
        if self.encoder is not None or not (isinstance(self.target, TokenEmbed) and isinstance(decoder, Decoder)):
            return False
        return by_offset(decoder.pattern) and packable(decoder.blocks)

    def read(self, *inputs: Any) -> tuple[Tokens, Tokens | None]:
        """Give the target's tokens, and the encoder's of the source if there is one."""
        source, target = self.split(inputs)
        return self.target(*target), None if self.encoder is None else self.encode(*source)

    def last_stack(self, *inputs: Any) -> tuple[Any, tuple[Any, ...]]:
        """Give the decoder, and what it reads."""
        return self.decoder, self.read(*inputs)

    def with_answer(self, *inputs: Any, max_len: int | None = None) -> tuple[Any, ...]:
        """See `Composition.with_answer`; a decoder alone reads its prompt only."""
        return inputs if self.encoder is None else (*inputs, self.generate(*inputs, max_len=max_len).read(self.symbols))

    def follow(
        self,
        ids: Int[Tensor, "b n"],
        state: DecoderState | None,
        context: Tokens | None = None,
        valid: ValidMask = None,
    ) -> Float[Tensor, "b vocab"]:
        """Give the scores of what follows on each row's last token.

        Args:
            ids: tokens; with a state, those that follow on what it keeps.
            state: what was read; it changes. None to read without one.
            context: the encoder's vectors; with a state needed the first time only.
            valid: which of the ids are there, as for `TokenEmbed`; all if None.
        """
        return self.head(Tokens(last(self.decoded(ids, state, context, valid))))[:, 0]

    def decoded(
        self, ids: Int[Tensor, "b n"], state: DecoderState | None, context: Tokens | None, valid: ValidMask
    ) -> Tokens:
        """Give the decoder's vectors of tokens; the arguments are those of `follow`."""
        start = 0 if state is None else state.start
        if isinstance(start, int) and start == 0:
            tokens = self.target(ids, valid)
        else:
            tokens = self.target.follow(ids, start, valid)
        found: Tokens = self.decoder(tokens, context, state)
        return found

    def generate(
        self,
        *inputs: Any,
        max_len: int | None = None,
        beam: int = 1,
        length_penalty: float = 0.6,
        n_best: int = 1,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        seed: int | None = None,
        min_len: int = 0,
        repetition_penalty: float = 1.0,
        no_repeat_ngram_size: int = 0,
        processors: Processor | Iterable[Processor] = (),
        stop: StoppingCriterion | None = None,
        prompt: Any = None,
        **others: Any,
    ) -> Generated:
        """Generate a continuation of each row, in evaluation mode without gradients; each row ends on its own.

        By default the best token is chosen at each place; with `beam`, the likeliest answer is searched;
        with `temperature`, `top_k` or `top_p`, tokens are drawn. Scores are log-probabilities of the model, whatever
        was drawn from, divided by the length penalty; a beam search with processors gives the sums it ranks by.

        Processors change scores before temperature, top-k and top-p: repetition penalty, n-grams, minimum length, then
        the caller's. All see prompt and answer, as in Hugging Face transformers, but never padding nor the source.

        Args:
            inputs: the source's; without an encoder, the prompt's ids, and which of them are there. Padded ids need
                that: padding is known by it alone, not by its id.
            max_len: new tokens at most, the end counted; None for as many as the model holds.
            beam: answers that are followed at once.
            length_penalty: α of ((5 + length) / 6)^α, arXiv:1609.08144 eq. 14; 0 for none.
            n_best: answers wanted of each row, at most as many as `beam`.
            temperature: what scores are divided by before a draw; 0 for the best token instead of a draw.
            top_k: how many of the best tokens are drawn from.
            top_p: draw from the fewest tokens whose probabilities sum up to this, in (0, 1].
            seed: of the draws; the same seed draws the same.
            min_len: new tokens before an end may be written.
            repetition_penalty: see `RepetitionPenalty`; 1 for none.
            no_repeat_ngram_size: see `NoRepeatNgram`; 0 for none.
            processors: one or several, called with (ids, scores); see `Processor`.
            stop: tells which rows end with their last token, such as `StopStrings`.
            prompt: with an encoder, the answer's first tokens, for all rows or for each, or a pair of them and which
                are there; the begin if None.
            others: none; keywords of other libraries raise an error that names ours.

        Raises:
            ConfigError: If a value is out of range, or two keywords exclude each other.
            InputError: If a prompt is padding only, or leaves no room in the model.
        """
        check_keywords(others, Generator.generate)
        check_whole(beam=beam, n_best=n_best, max_len=max_len, top_k=top_k, seed=seed)
        check_whole(min_len=min_len, no_repeat_ngram_size=no_repeat_ngram_size)
        check_number(length_penalty=length_penalty, temperature=temperature, top_p=top_p)
        check_number(repetition_penalty=repetition_penalty)
        beams = Beam(beam, n_best, length_penalty)
        choose = choice(temperature, top_k, top_p, seed)
        beams.check(choose, drawn(temperature, top_k, top_p))
        constraints = constraints_of(
            min_len, repetition_penalty, no_repeat_ngram_size, processors, stop, self.symbols.eos
        )
        decoding, first, max_new_tokens = self._begin(inputs, prompt, max_len, min_len)
        with torch.no_grad():
            if beam > 1:
                return search(decoding, first, beams, max_new_tokens, self.symbols, constraints)
            steps = write(decoding, first, choose, max_new_tokens, self.symbols, constraints)
            return collect(steps, length_penalty, self.symbols)

    def generate_steps(
        self,
        *inputs: Any,
        max_len: int | None = None,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        seed: int | None = None,
        min_len: int = 0,
        repetition_penalty: float = 1.0,
        no_repeat_ngram_size: int = 0,
        processors: Processor | Iterable[Processor] = (),
        stop: StoppingCriterion | None = None,
        prompt: Any = None,
        **others: Any,
    ) -> Iterator[Int[Tensor, " b"]]:
        """Write as `generate` does, and give each step's token of every row at once; padding for rows that have ended.

        Args:
            inputs: see `generate`.
            max_len: see `generate`.
            temperature: see `generate`.
            top_k: see `generate`.
            top_p: see `generate`.
            seed: see `generate`.
            min_len: see `generate`.
            repetition_penalty: see `generate`.
            no_repeat_ngram_size: see `generate`.
            processors: see `generate`.
            stop: see `generate`.
            prompt: see `generate`.
            others: see `generate`.

        Raises:
            ConfigError: See `generate`; at the call, not at the first step.
            InputError: See `generate`.
        """
        check_keywords(others, Generator.generate_steps)
        check_whole(max_len=max_len, top_k=top_k, seed=seed)
        check_whole(min_len=min_len, no_repeat_ngram_size=no_repeat_ngram_size)
        check_number(temperature=temperature, top_p=top_p, repetition_penalty=repetition_penalty)
        choose = choice(temperature, top_k, top_p, seed)
        constraints = constraints_of(
            min_len, repetition_penalty, no_repeat_ngram_size, processors, stop, self.symbols.eos
        )
        decoding, first, max_new_tokens = self._begin(inputs, prompt, max_len, min_len)
        return (step.ids for step in write(decoding, first, choose, max_new_tokens, self.symbols, constraints))

    def target_scores(
        self, *inputs: Any, target: Target, length_penalty: float = 0.0, prompt: Any = None
    ) -> TargetScores:
        """Score given targets under the model (forced decoding), in evaluation mode without gradients.

        What `generate` gave, scored with its length penalty, has the same scores.

        Args:
            inputs: see `generate`.
            target: `Generated`; or lists of ids; or a tensor (batch, tokens) or (batch, targets, tokens), padded
                behind. An end is scored where it is given.
            length_penalty: see `generate`; 0 gives log-probabilities.
            prompt: see `generate`.

        Raises:
            ConfigError: See `generate`.
            InputError: If targets and inputs do not fit.
        """
        context, first = self._read_prompt(inputs, prompt)
        with evaluating(self.modules()):
            return score_targets(self, context, first, target, length_penalty)

    def _begin(
        self, inputs: tuple[Any, ...], prompt: Any, max_len: int | None, min_len: int = 0
    ) -> tuple[DecodingStep, Prompt, list[int]]:
        """Read the source, and say what the answers begin with and how long they may be."""
        context, first = self._read_prompt(inputs, prompt)
        max_new_tokens = new_token_limits(first, max_len, self.max_len)
        check_minimum(min_len, max_new_tokens, max_len)
        return decoding_step(self, context, first, max(max_new_tokens)), first, max_new_tokens

    def _read_prompt(self, inputs: tuple[Any, ...], prompt: Any) -> tuple[Tokens | None, Prompt]:
        """Read the source, if there is one, and give what the answers begin with."""
        context = None
        if self.encoder is None:
            if prompt is not None:
                raise ConfigError("prompt= of a model without an encoder: its inputs are the prompt")
            if not 1 <= len(inputs) <= 2:
                raise InputError(f"{len(inputs)} inputs of a model without an encoder: give ids, and which are there")
            first = prompt_of(inputs[0], inputs[1] if len(inputs) == 2 else None, self.symbols)
        else:
            with evaluating(self.modules()):
                context = self.encode(*inputs)
            first = prompt_of(*of_rows(prompt, context, self.symbols.bos), self.symbols)
        return context, first


def of_rows(prompt: Any, context: Tokens, bos: int) -> tuple[Tensor, ValidMask]:
    """Return the first target tokens of each row of a source, and their padding mask.

    Raises:
        InputError: If there are not as many rows.
    """
    b = len(context.x)
    ids, valid = prompt if isinstance(prompt, tuple) else (prompt, None)
    if ids is None:
        ids = torch.full((b, 1), bos, device=context.x.device)
    check_tensor(ids, "prompt")
    if ids.ndim == 1:
        ids = ids.expand(b, -1)
    if len(ids) != b:
        raise InputError(f"a prompt of {len(ids)} rows for a source of {b}: give one for each, or one for all")
    return ids, valid


def check_whole(**numbers: Any) -> None:
    """Refuse numbers of things that are no whole numbers.

    Raises:
        ConfigError: If there is one.
    """
    for name, value in numbers.items():
        if value is not None and not isinstance(value, Integral):
            raise ConfigError(f"{name}={value!r} is no whole number")


def check_number(**numbers: Any) -> None:
    """Refuse what is no number.

    Raises:
        ConfigError: If there is one.
    """
    for name, value in numbers.items():
        if value is not None and (isinstance(value, bool) or not isinstance(value, Real)):
            raise ConfigError(f"{name}={value!r} is no number")


def drawn(temperature: float | None, top_k: int | None, top_p: float | None) -> str:
    """Return the sampling options that were given, as text for an error."""
    said = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
    return ", ".join(f"{name}={value}" for name, value in said.items() if value is not None)
