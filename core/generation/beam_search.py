"""Beam search with a length penalty: the most probable sequences of each row.

A row's beams stand one behind the other in the batch that a model reads.
Axes: b rows, w beams of each, c candidates, p finished hypotheses, t tokens written.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import pad

from zoo.core.errors import ConfigError
from zoo.core.generation.constraints.constraints import Constraints
from zoo.core.generation.constraints.prefix import Prefix
from zoo.core.generation.loop import FREE, Generated, length_penalty, pays
from zoo.core.generation.observing import tell
from zoo.core.generation.prompt import Prompt
from zoo.core.generation.sampling import Choice, Greedy, top
from zoo.core.generation.stepping import DecodingStep
from zoo.core.ops.autocast import precise
from zoo.core.special_tokens import Symbols


@dataclass(frozen=True)
class Beam:
    """Options of beam search.

    Args:
        width: unfinished answers that are followed.
        n_best: answers wanted.
        alpha: exponent of the length penalty, arXiv:1609.08144 eq. 14; 0 compares log-probabilities.

    Raises:
        ConfigError: If a number is below 1, more answers are wanted than are followed, or alpha is no number.
    """

    width: int = 1
    n_best: int = 1
    alpha: float = 0.6

    def __post_init__(self) -> None:
        if self.width < 1:
            raise ConfigError(f"beam={self.width}: at least one answer is followed; beam=1 is greedy")
        if self.n_best < 1:
            raise ConfigError(f"n_best={self.n_best}: at least one answer is given")
        if not math.isfinite(self.alpha):
            raise ConfigError(f"length_penalty={self.alpha} is no number")

    def check(self, choose: Choice, drawn: str) -> None:
        """Check that the options of a search fit each other.

        Args:
            choose: how a single answer's tokens are chosen.
            drawn: what the caller said about draws.

        Raises:
            ConfigError: If a search draws, draws give several answers, or there are fewer beams than answers.
        """
        if drawn and self.width > 1:
            raise ConfigError(f"beam={self.width} with {drawn}: a search draws nothing; leave that out, or beam=1")
        if not isinstance(choose, Greedy) and self.n_best > 1:
            raise ConfigError(f"n_best={self.n_best} with {drawn}: draws have no best; give the row several times")
        if self.n_best > self.width:
            raise ConfigError(f"n_best={self.n_best} is more than beam={self.width}: follow at least as many")


class FinishedHypotheses(NamedTuple):
    """The best finished hypotheses of each row so far, best first.

    Args:
        ids: tokens; padding behind them.
        lengths: tokens, the end not counted.
        scores: log-probability over length penalty; -∞ for none.
    """

    ids: Int[Tensor, "b p t"]
    lengths: Int[Tensor, "b p"]
    scores: Float[Tensor, "b p"]

    def put(
        self, ids: Int[Tensor, "b c t"], length: int | Int[Tensor, "b c"], scores: Float[Tensor, "b c"], padding: int
    ) -> "FinishedHypotheses":
        """Take further answers, where they are better; -∞ marks those that are none."""
        places, t = self.scores.shape[1], ids.shape[2]
        every = torch.cat([pad(self.ids, (0, t - self.ids.shape[2]), value=padding), ids], dim=1)
        lengths = torch.cat([self.lengths, torch.zeros_like(ids[..., 0]) + length], dim=1)
        best, at = torch.cat([self.scores, scores], dim=1).topk(places)
        lengths = lengths.gather(1, at).masked_fill(best == -math.inf, 0)
        every = take(every, at)
        return FinishedHypotheses(every.masked_fill((best == -math.inf)[..., None], padding), lengths, best)

    def take(self, which: Bool[Tensor, " b"]) -> "FinishedHypotheses":
        """Take these rows."""
        return FinishedHypotheses(*(x[which] for x in self))


def search(
    decoding: DecodingStep,
    prompt: Prompt,
    beam: Beam,
    max_new_tokens: list[int],
    symbols: Symbols,
    constraints: Constraints = FREE,
) -> Generated:
    """Follow the likeliest unfinished answers of each row until none can beat the worst of its best finished ones.

    Processors change log-probabilities, whose sums then rank the answers without a new normalisation, as in Hugging
    Face transformers.

    Args:
        decoding: gives the scores.
        prompt: what stands before.
        beam: how to search.
        max_new_tokens: the most tokens each row may write; what is unfinished then competes as it is.
        symbols: padding and end.
        constraints: what may be written, and what ends an answer.
    """
    scores = precise(decoding.prefill(prompt))
    state = BeamState(scores, beam, max_new_tokens, symbols, constraints, Prefix.of(prompt))
    while (index := state.advance(scores)) is not None:
        if state.moved:
            decoding.reorder(index, of_one_source=state.of_one_source)
        scores = precise(decoding.step(state.ids[..., -1].flatten()))
    return state.answers()


class BeamState:
    """State of a beam search: unfinished hypotheses of the rows still searched, and the best finished ones.

    Of the candidates of a step, those that end and are among the best `beam.width` are finished; the best
    `beam.width` of the others are followed, so finished answers take no beam away.

    Args:
        scores: of the first token; they say device and precision.
        beam: how to search.
        max_new_tokens: the most tokens each row may write.
        symbols: padding and end.
        constraints: what may be written, and what ends an answer.
        prompt: what the constraints see before the answers; nothing if None.
    """

    def __init__(
        self,
        scores: Float[Tensor, "b vocab"],
        beam: Beam,
        max_new_tokens: list[int],
        symbols: Symbols,
        constraints: Constraints = FREE,
        prompt: Prefix | None = None,
    ) -> None:
        b, device = len(scores), scores.device
        self.constraints = constraints
        self.beam, self.max_new_tokens, self.symbols = beam, max_new_tokens, symbols
        self.step = 0
        self.rows = torch.arange(b, device=device)
        self.most = torch.tensor(max_new_tokens, device=device)
        self.running = scores.new_zeros(b, 1)
        """Log-probability of each unfinished answer; -∞ for none."""
        self.ids = torch.zeros(b, 1, 0, dtype=torch.long, device=device)
        self.prompt = prompt or Prefix(self.ids[:, 0])
        nothing = torch.zeros(b, beam.n_best, dtype=torch.long, device=device)
        self.finished = FinishedHypotheses(
            nothing[..., None][..., :0], nothing, scores.new_full((b, beam.n_best), -math.inf)
        )
        self.done: list[tuple[Tensor, FinishedHypotheses]] = []
        self.moved = self.of_one_source = True

    def advance(self, scores: Float[Tensor, "beams vocab"]) -> Int[Tensor, " following"] | None:
        """Add a token to each answer; give which of the beams go on, in their new order, or None at the end."""
        width = self.running.shape[1]
        parents = self._grow(scores)
        full = self.step in self.max_new_tokens
        if full:
            unfinished = self.running.masked_fill((self.most > self.step)[:, None], -math.inf)
            self._finish(self.ids, self.step, unfinished)
        bound = self.running[:, 0] / self._most_penalty()
        over = (self.finished.scores[:, -1] >= bound) | (self.most <= self.step)
        self.running = self.running.masked_fill(over[:, None], -math.inf)
        before, count = len(self.rows), len(self.rows) - int(over.sum())
        first = torch.arange(before, device=parents.device)
        if count == 0 or (count < before and pays(count, before, full)):
            self._retire(over)
            first, parents = first[~over], parents[~over]
        if count == 0:
            return None
        index = (first[:, None] * width + parents).flatten()
        self.of_one_source = len(index) == before * width and len(first) == before
        self.moved = not self.of_one_source or not torch.equal(index, torch.arange(len(index), device=index.device))
        return index

    def answers(self) -> Generated:
        """Give the best finished answers of each row."""
        rows = torch.cat([rows for rows, _ in self.done])
        ids = [pad(pool.ids, (0, self.step - pool.ids.shape[2]), value=self.symbols.pad) for _, pool in self.done]
        order = rows.argsort()
        lengths, scores = (torch.cat(x)[order] for x in zip(*(pool[1:] for _, pool in self.done), strict=True))
        found = torch.cat(ids)[order]
        written = int((lengths + 1).max())
        return Generated(found[..., :written], lengths, scores)

    def _grow(self, scores: Tensor) -> Int[Tensor, "b w"]:
        """Add a token to each answer, and give which beam each one comes from."""
        width = self.beam.width
        processed, base = self._processed(scores)
        self.step += 1
        total, parents, tokens = candidates(processed.unflatten(0, self.running.shape), base, 2 * width)
        every = torch.cat([take(self.ids, parents), tokens[..., None]], dim=2)
        ends = tokens == self.symbols.eos
        over = ends | self._stopped(every, total.masked_fill(ends, -math.inf))
        done, lengths = total[:, :width].masked_fill(~over[:, :width], -math.inf), self.step - ends[:, :width].long()
        self._finish(every[:, :width], lengths, done)
        self.running, at = total.masked_fill(over, -math.inf).topk(min(width, total.shape[1]))
        self.ids = take(every, at)
        tell(self.ids, self.running)
        return parents.gather(1, at)

    def _processed(self, scores: Tensor) -> tuple[Float[Tensor, "beams vocab"], Float[Tensor, "b w"]]:
        """Give the scores of the next token, and the number of each answer that is added to them."""
        if not self.constraints.chain(self.step):
            return scores, self.running - scores.logsumexp(-1).view(self.running.shape)
        rows = self.rows.repeat_interleave(self.running.shape[1])
        need = torch.where(self.finished.scores[:, 0] == -math.inf, self.rows, -1)
        prefix = self.prompt.extended(rows, self.ids.flatten(0, 1))
        live = self.running.flatten() > -math.inf
        needed = need.repeat_interleave(self.running.shape[1])
        found = self.constraints.process(scores.log_softmax(-1), prefix, self.step, live, needed)
        return found, self.running

    def _stopped(self, every: Int[Tensor, "b c t"], total: Float[Tensor, "b c"]) -> Bool[Tensor, "b c"]:
        """Tell which candidates the stopping criterion ends; those of -∞ are none."""
        if self.constraints.stop is None:
            return torch.zeros_like(total, dtype=torch.bool)
        rows = self.rows.repeat_interleave(every.shape[1])
        prefix = self.prompt.extended(rows, every.flatten(0, 1))
        return self.constraints.stopped(prefix, total.flatten() > -math.inf).view(total.shape)

    def _finish(self, ids: Tensor, length: Any, scores: Tensor) -> None:
        self.finished = self.finished.put(
            ids, length, scores / length_penalty(self.step, self.beam.alpha), self.symbols.pad
        )

    def _most_penalty(self) -> Float[Tensor, " b"]:
        """Give the largest penalty that an unfinished answer can be divided by: the bound of what it can reach.

        Its log-probability can only fall, and the penalty grows or falls all the way to the last length.
        """
        alpha = self.beam.alpha
        last = length_penalty(self.most.to(self.running.dtype), alpha)
        return last.clamp(min=length_penalty(self.step + 1, alpha))

    def _retire(self, over: Bool[Tensor, " b"]) -> None:
        """Put rows away that need no more search."""
        self.done.append((self.rows[over], self.finished.take(over)))
        self.rows, self.most, self.running, self.ids = (
            x[~over] for x in (self.rows, self.most, self.running, self.ids)
        )
        self.finished = self.finished.take(~over)


def candidates(
    scores: Float[Tensor, "b w vocab"], base: Float[Tensor, "b w"], most: int
) -> tuple[Float[Tensor, "b c"], Int[Tensor, "b c"], Int[Tensor, "b c"]]:
    """Give the best continuations of each row: log-probability, beam it comes from, and token; best first.

    Args:
        scores: of each token.
        base: what is added to them: the log-probability so far, less the normaliser of the scores.
        most: candidates of a row.
    """
    values, tokens = top(scores, min(most, scores.shape[2]))
    total = (values + base[..., None]).flatten(1)
    best, at = total.topk(min(most, total.shape[1]))
    return best, at // values.shape[2], tokens.flatten(1).gather(1, at)


def take(ids: Int[Tensor, "b w t"], index: Int[Tensor, "b c"]) -> Int[Tensor, "b c t"]:
    """Take these beams of each row."""
    return ids.gather(1, index[..., None].expand(-1, -1, ids.shape[2]))
