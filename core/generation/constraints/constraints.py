"""`Constraints` of a generation: its processors, its minimum length and its stopping criterion.

Axes: b rows of the batch, r rows that are computed, t tokens written.
"""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from zoo.core.errors import ConfigError
from zoo.core.generation.constraints.no_repeat_ngram import NoRepeatNgram
from zoo.core.generation.constraints.prefix import Prefix
from zoo.core.generation.constraints.processor import Processor, apply, name_of
from zoo.core.generation.constraints.repetition_penalty import RepetitionPenalty
from zoo.core.generation.constraints.stop_strings import StoppingCriterion
from zoo.core.generation.constraints.suppress import Suppress


@dataclass(frozen=True)
class Constraints:
    """What may be written next, and what ends an answer besides its end.

    Args:
        own: processors that keywords of `generate` made.
        given: the caller's, which come behind them.
        min_len: tokens before an end may be written.
        eos: the end.
        stop: tells which rows end with their last token.
    """

    own: tuple[Processor, ...] = ()
    given: tuple[Processor, ...] = ()
    min_len: int = 0
    eos: int = 0
    stop: StoppingCriterion | None = None

    def chain(self, written: int) -> tuple[Processor, ...]:
        """Give the processors behind so many new tokens, in their order."""
        early = (Suppress([self.eos]),) if written < self.min_len else ()
        return (*self.own, *early, *self.given)

    def __bool__(self) -> bool:
        return bool(self.own or self.given or self.min_len or self.stop)

    def process(
        self,
        scores: Float[Tensor, "r vocab"],
        prefix: Prefix,
        written: int,
        live: Bool[Tensor, " r"],
        rows: Int[Tensor, " r"],
    ) -> Float[Tensor, "r vocab"]:
        """Let all processors change scores; rows of one length are given to them together.

        Args:
            scores: of the next token.
            prefix: what was read.
            written: new tokens so far.
            live: which rows go on; the scores of others stay.
            rows: see `apply`.

        Raises:
            ConfigError: See `apply`.
        """
        chain = self.chain(written)
        if not chain:
            return scores
        found = scores.clone()
        for index, ids in prefix.groups(live):
            part = scores[index]
            for processor in chain:
                part = apply(processor, ids, part, rows[index])
            found[index] = part
        return found

    def stopped(self, prefix: Prefix, live: Bool[Tensor, " r"]) -> Bool[Tensor, " r"]:
        """Tell which rows end with their last token.

        Raises:
            ConfigError: If the criterion does not return a truth value for each row.
        """
        found = torch.zeros_like(live)
        if self.stop is None or not bool(live.any()):
            return found
        for index, ids in prefix.groups(live):
            said: Any = self.stop(ids)
            if not isinstance(said, Tensor) or said.dtype != torch.bool or said.shape != index.shape:
                what = f"{said.dtype} of {tuple(said.shape)}" if isinstance(said, Tensor) else repr(said)
                raise ConfigError(f"stop={name_of(self.stop)} returned {what} for {len(index)} rows: one bool for each")
            found[index] = said.to(found.device)
        return found


class RowConstraints:
    """Constraints of rows that write token by token; keeps what they have written.

    Args:
        constraints: which.
        prompt: what stands before.
    """

    def __init__(self, constraints: Constraints, prompt: Prefix) -> None:
        self.constraints, self.prompt = constraints, prompt
        self.rows = torch.arange(len(prompt.ids), device=prompt.ids.device)
        self.written = prompt.ids[:, :0]

    def process(self, scores: Float[Tensor, "r vocab"], writing: Bool[Tensor, " r"]) -> Float[Tensor, "r vocab"]:
        """Give the scores by which the next tokens are chosen."""
        if not self.constraints.chain(self.written.shape[1]):
            return scores
        prefix = self.prompt.extended(self.rows, self.written)
        return self.constraints.process(scores, prefix, self.written.shape[1], writing, self.rows)

    def stopped(self, ids: Int[Tensor, " r"], writing: Bool[Tensor, " r"]) -> Bool[Tensor, " r"]:
        """Take the tokens that were chosen, and tell which of the rows that still write they end."""
        if not self.constraints:
            return torch.zeros_like(writing)
        self.written = torch.cat([self.written, ids[:, None]], dim=1)
        return self.constraints.stopped(self.prompt.extended(self.rows, self.written), writing)

    def take(self, kept: Int[Tensor, " r"]) -> None:
        """Take these rows of those that are computed."""
        self.rows, self.written = self.rows[kept], self.written[kept]


def constraints_of(
    min_len: int,
    repetition_penalty: float,
    no_repeat_ngram_size: int,
    processors: Any,
    stop: Any,
    eos: int,
) -> Constraints:
    """Make constraints of keywords of `generate`, in the order of Hugging Face: own, minimum length, the caller's.

    The types of what callers give are checked here.

    Raises:
        ConfigError: If a value cannot be.
    """
    if min_len < 0:
        raise ConfigError(f"min_len={min_len} is below 0")
    own: list[Processor] = [] if repetition_penalty == 1 else [RepetitionPenalty(repetition_penalty)]
    own += [] if no_repeat_ngram_size == 0 else [NoRepeatNgram(no_repeat_ngram_size)]
    given = (processors,) if callable(processors) else tuple(processors)
    for each in given:
        if not callable(each):
            raise ConfigError(f"processors={each!r}: a processor is called with (ids, scores) and returns scores")
    if stop is not None and not callable(stop):
        raise ConfigError(f"stop={stop!r}: zoo.core.StopStrings({stop!r}, tokenizer.decode_batch) ends at strings")
    return Constraints(tuple(own), given, min_len, eos, stop)


def check_minimum(min_len: int, max_new_tokens: list[int], max_len: int | None) -> None:
    """Check that every row has room for the fewest tokens it has to write.

    Raises:
        ConfigError: If one has none.
    """
    if min_len > min(max_new_tokens):
        row = max_new_tokens.index(min(max_new_tokens))
        most = max_new_tokens[row]
        room = f"the {most} tokens for which there is room behind the prompt of row {row}"
        raise ConfigError(f"min_len={min_len} is above {f'max_len={most}' if max_len == most else room}")
