"""Streaming with chunks of one size: a step whose state are tensors of fixed shapes, for exported programs.

Where `Stream.push` gives fewer answers at the beginning, a step always gives as many, and says at which positions they
stand: those before 0 and from the end on are no answers. What a stage keeps of items before 0 is masked, so that all
answers are those of `push`. Axes: b rows, n items of a chunk, m answers.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn

from zoo.core.errors import ConfigError
from zoo.core.streaming.attention_stage import AttentionStream, added, opened, projected, weighted
from zoo.core.streaming.stages import Chain, Pointwise, Positioned, Residual, Stream, Windows
from zoo.core.tokens import Tokens


@dataclass(frozen=True)
class Span:
    """Where the items of a chunk stand.

    Args:
        count: items; the same in each step.
        first: position of the first, which is `delay` behind that of the newest chunk at the same rate.
        end: items that there are in all; more than that while it is not known.
        delay: items.
    """

    count: int
    first: Int[Tensor, ""]
    end: Int[Tensor, ""]
    delay: int = 0

    def later(self, delay: int) -> "Span":
        """Give the span of answers that are so many items late."""
        return replace(self, first=_divided(self.first, -delay, 1), delay=self.delay + delay)

    def there(self) -> Bool[Tensor, " n"]:
        """Tell which of the items there are."""
        place = self.first + torch.arange(self.count, device=self.first.device)
        return (place >= 0) & (place < self.end)


class Memory:
    """What the stages keep from step to step, in the order in which they ask for it.

    Args:
        kept: what they kept; None before the first step, when all is 0.
    """

    def __init__(self, kept: Sequence[Tensor] | None = None) -> None:
        self.kept: Iterator[Tensor] | None = None if kept is None else iter(kept)
        self.new: list[Tensor] = []

    def follow(self, x: Shaped[Tensor, "b n *item"], count: int) -> Shaped[Tensor, "b m *item"]:
        """Put the last items before `x` in front of it, and keep its last ones: so many of each.

        Args:
            x: items of the chunk.
            count: how many are kept; with 0 nothing is.
        """
        if not count:
            return x
        whole = torch.cat([self.read(x.new_zeros(x.shape[0], count, *x.shape[2:])), x], 1)
        self.new.append(whole[:, whole.shape[1] - count :])
        return whole

    def read(self, zeros: Tensor) -> Tensor:
        """Give what is kept next; `zeros` before the first step. Whoever reads adds what is to be kept to `new`."""
        return zeros if self.kept is None else next(self.kept)


@singledispatch
def fixed_step(stage: Stream, x: Tensor, span: Span, memory: Memory) -> tuple[Tensor, Span]:
    """Give the answers of a stage about a chunk, and where they stand.

    Args:
        stage: is not changed.
        x: items (b, n, ...).
        span: where they stand.
        memory: is read, and filled.

    Raises:
        ConfigError: If the stage is of a kind that has no such step, or the chunk does not fit it.
    """
    raise ConfigError(f"{type(stage).__name__} has no streaming step of fixed size")


@fixed_step.register(Chain)
def _(stage: Chain, x: Tensor, span: Span, memory: Memory) -> tuple[Tensor, Span]:
    for part in stage.stages:
        x, span = fixed_step(part, x, span, memory)
    return x, span


@fixed_step.register(Pointwise)
def _(stage: Pointwise, x: Tensor, span: Span, memory: Memory) -> tuple[Tensor, Span]:
    return stage.apply(x), span


@fixed_step.register(Positioned)
def _(stage: Positioned, x: Tensor, span: Span, memory: Memory) -> tuple[Tensor, Span]:
    return stage.apply(x, span.first), span  # type: ignore[arg-type]  # a position that is not known yet


@fixed_step.register(Residual)
def _(stage: Residual, x: Tensor, span: Span, memory: Memory) -> tuple[Tensor, Span]:
    y, late = fixed_step(stage.branch, x, span, memory)
    x = memory.follow(x, late.delay - span.delay)[:, : x.shape[1]]
    return torch.add(x, y, alpha=stage.share), late


@fixed_step.register(Windows)
def _(stage: Windows, x: Tensor, span: Span, memory: Memory) -> tuple[Tensor, Span]:
    step, (before, behind) = stage.step, stage.padding
    if span.count % step:
        raise ConfigError(f"chunks of {span.count} items do not fit steps of {step}: take a multiple")
    kept = stage.size - step  # at least, and so many that a window begins with them
    kept += (before - span.delay - kept) % step
    if span.delay or behind:
        x = x.where(span.there().view(1, -1, *[1] * (x.ndim - 2)), 0)
    items = memory.follow(x, kept)[:, : stage.size + span.count - step]
    late = (span.delay + kept - before) // step
    end = _divided(span.end, before + behind - stage.size + step, step)
    return stage.apply(items), Span(span.count // step, _divided(span.first, before - kept, step), end, late)


def _divided(x: Tensor, more: int, step: int) -> Tensor:
    """Give ⌊(x + more) / step⌋, without operations that change nothing."""
    x = x + more if more else x
    return x if step == 1 else torch.div(x, step, rounding_mode="floor")


@fixed_step.register(AttentionStream)
def _(stage: AttentionStream, x: Tensor, span: Span, memory: Memory) -> tuple[Tensor, Span]:
    attention, n, period = stage.attention, span.count, stage.period
    if not stage.plain:
        raise ConfigError(f"score={attention.score!r} with norm={attention.norm!r} has no streaming step of fixed size")
    if n % period or span.delay % period:
        raise ConfigError(f"chunks of {n} vectors, {span.delay} late, do not fit {stage.pattern!r}: take a multiple")
    far = period * (1 + stage.left + n)
    wait, start = far - stage.ready(far), -(-stage.left // period) * period
    q, k, v = stage.projected(x, span.first)
    q = memory.follow(q, wait)[:, :n]
    k, v = (memory.follow(kept, start + wait) for kept in (k, v))
    late = span.later(wait)
    mask = _mask(stage, late, n, k.shape[1], start)
    near = projected(stage.bias, 1 - start - n, k.shape[1] - 1 - start)
    if near is not None:
        mask = added(mask, q)
    y = weighted(q, k, v, start, mask, near)
    return attention.out(y.clone(memory_format=torch.contiguous_format).flatten(2)), late  # ONNX lays heads out anew


def _mask(stage: AttentionStream, late: Span, queries: int, keys: int, start: int) -> Bool[Tensor, "q k"]:
    """Tell who reads whom: queries that are not there read all, so that nothing is divided by 0."""
    device = late.first.device
    allowed = opened(stage.pattern, queries, keys, start, device)
    place = late.first - start + torch.arange(keys, device=device)
    there = ((place >= 0) & (place < late.end)).expand(queries, -1)
    return (there if allowed is None else allowed & there) | ~late.there()[:, None]


class StreamingStep(nn.Module):
    """One step of a stream, as a function of a chunk and the state.

    Args:
        model: whose stream it is, with a `head` that answers each vector alone; its weights are those of the step.
        stages: from a chunk to vectors.
    """

    def __init__(self, model: Any, stages: Chain) -> None:
        super().__init__()
        self.model, self.stages = model, stages

    def forward(
        self, x: Float[Tensor, "b n *item"], seen: Int[Tensor, ""], end: Int[Tensor, ""], *state: Tensor
    ) -> tuple[Tensor, ...]:
        """Give answers (b, m, ...), the position of the first, how many there are in all, and the new state.

        Args:
            x: the chunk; the last is filled up with anything, and behind it come chunks of anything until all answers
                are given.
            seen: items before the chunk.
            end: items in all; a large number while it is not known.
            state: see `start`.
        """
        return self._step(x, seen, end, Memory(state))

    def start(self, x: Float[Tensor, "b n *item"]) -> list[Tensor]:
        """Give the state before the first chunk, all zeros, for chunks like `x`."""
        memory = Memory()
        nothing = torch.zeros((), dtype=torch.int64, device=x.device)
        self._step(x, nothing, nothing, memory)
        return [torch.zeros_like(kept) for kept in memory.new]

    def _step(self, x: Tensor, seen: Tensor, end: Tensor, memory: Memory) -> tuple[Tensor, ...]:
        y, span = fixed_step(self.stages, x, Span(x.shape[1], seen, end), memory)
        return self.model.head(Tokens(y)), span.first, span.end, *memory.new
