"""Streaming stages: modules that take an input in chunks and keep only what later outputs need.

1. A stage takes new items and gives every output that no later item can change; at the end it gives the rest.
2. However the input is cut, the answers one behind the other are those of the whole: no output is given too early.
3. Windows over items (frames, convolutions) keep the items that the next window reads; zeros stand before and behind.
4. A branch that reads ahead is late, so the residual around it waits for it, as long as the look-ahead and no longer.
5. Stages one behind the other are a stage: a block, an encoder and a model name theirs in `stream`, and share the rest.

Axes: b rows, n new items, m answers.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import torch
from jaxtyping import Shaped
from torch import Tensor

from zoo.core.errors import ConfigError


class Stream(ABC):
    """Give answers about items that come bit by bit, the same number of each row."""

    @abstractmethod
    def push(self, x: Shaped[Tensor, "b n *item"], last: bool = False) -> Shaped[Tensor, "b m *answer"]:
        """Give the answers that can be given now, and were not given before.

        Args:
            x: items that follow on those before; there may be none.
            last: whether no more follow.
        """

    def ready(self, items: int) -> int:
        """Count the answers that the first so many items allow, while more may follow."""
        return items

    @property
    def stored(self) -> int:
        """How many numbers are kept."""
        return 0


class Pointwise(Stream):
    """A stage that applies a function to each item alone.

    Args:
        apply: items (b, n, ...) to answers (b, n, ...).
    """

    def __init__(self, apply: Callable[[Tensor], Tensor]) -> None:
        self.apply = apply

    def push(self, x: Shaped[Tensor, "b n *item"], last: bool = False) -> Shaped[Tensor, "b n *answer"]:
        return self.apply(x)


class Positioned(Stream):
    """A stage that applies a function to each item and its position.

    Args:
        apply: items (b, n, ...), and the position of the first, to answers (b, n, ...).
    """

    def __init__(self, apply: Callable[[Tensor, int], Tensor]) -> None:
        self.apply = apply
        self.next = 0

    def push(self, x: Shaped[Tensor, "b n *item"], last: bool = False) -> Shaped[Tensor, "b n *answer"]:
        first, self.next = self.next, self.next + x.shape[1]
        return self.apply(x, first)


class Windows(Stream):
    """Answer each of the windows that lie over the items in equal steps, as a convolution does.

    Args:
        apply: the items of m windows (b, size + (m - 1) step, ...) to their answers (b, m, ...).
        answer: shape of an answer.
        size: items of a window.
        step: from window to window, items; at most the size.
        padding: zeros before the first item and behind the last.
    """

    def __init__(
        self,
        apply: Callable[[Tensor], Tensor],
        answer: Sequence[int],
        size: int,
        step: int = 1,
        padding: tuple[int, int] = (0, 0),
    ) -> None:
        self.apply = apply
        self.answer = tuple(answer)
        self.size, self.step, self.padding = size, step, padding
        self.items: Tensor | None = None

    def push(self, x: Shaped[Tensor, "b n *item"], last: bool = False) -> Shaped[Tensor, "b m *answer"]:
        if self.items is None:
            self.items = x.new_zeros(len(x), self.padding[0], *x.shape[2:])
        items = follow(self.items, x)
        if last and self.padding[1]:
            items = follow(items, x.new_zeros(len(x), self.padding[1], *x.shape[2:]))
        count = max(0, (items.shape[1] - self.size) // self.step + 1)
        self.items = behind(items, count * self.step)
        if not count:
            return x.new_zeros(len(x), 0, *self.answer)
        return self.apply(items[:, : self.size + (count - 1) * self.step])

    def ready(self, items: int) -> int:
        return max(0, (self.padding[0] + items - self.size) // self.step + 1)

    @property
    def stored(self) -> int:
        return 0 if self.items is None else self.items.numel()


class Residual(Stream):
    """Residual stage of a stream: adds the output of a branch to each item, as soon as it comes.

    Args:
        branch: gives one answer for each item.
        share: what the branch is multiplied by.
    """

    def __init__(self, branch: Stream, share: float = 1.0) -> None:
        self.branch = branch
        self.share = share
        self.waiting: Tensor | None = None

    def push(self, x: Shaped[Tensor, "b n d"], last: bool = False) -> Shaped[Tensor, "b m d"]:
        y = self.branch.push(x, last)
        if self.waiting is None and y.shape[1] == x.shape[1]:
            return torch.add(x, y, alpha=self.share)
        x = follow(self.waiting, x)
        self.waiting = behind(x, y.shape[1])
        return torch.add(x[:, : y.shape[1]], y, alpha=self.share)

    def ready(self, items: int) -> int:
        return self.branch.ready(items)

    @property
    def stored(self) -> int:
        return self.branch.stored + (0 if self.waiting is None else self.waiting.numel())


class Chain(Stream):
    """Hand the answers of each stage on to the next.

    Args:
        stages: one or more.
    """

    def __init__(self, stages: Sequence[Stream]) -> None:
        self.stages = list(stages)

    def push(self, x: Shaped[Tensor, "b n *item"], last: bool = False) -> Shaped[Tensor, "b m *answer"]:
        """See `Stream.push`; where a stage has nothing to say, those behind it are not asked before the end."""
        for stage in self.stages:
            x = stage.push(x, last)
            if not (last or x.shape[1]):
                break
        return x

    def ready(self, items: int) -> int:
        for stage in self.stages:
            items = stage.ready(items)
        return items

    @property
    def stored(self) -> int:
        return sum(stage.stored for stage in self.stages)


def stream_of(part: Any, *given: Any) -> Stream:
    """Make the stage of a part of a model.

    Args:
        part: has a method `stream` that gives its stage.
        given: what that method is told.

    Raises:
        ConfigError: If it has none.
    """
    make = getattr(part, "stream", None)
    if make is None:
        raise ConfigError(f"{type(part).__name__} reads its input whole: no model with it answers while input comes")
    return make(*given)


def latency(stage: Stream, step: int = 1) -> int:
    """Count the items of look-ahead: those that must follow the item of an answer before it is given, at most.

    Args:
        stage: whose answers.
        step: items from answer to answer.
    """
    horizon = 256
    while 2 * step * stage.ready(horizon) < horizon:  # until what is late is in the smaller half
        horizon *= 2
    return max(n - step * stage.ready(n) for n in range(horizon))


def follow(kept: Tensor | None, new: Tensor) -> Tensor:
    """Concatenate stored and new items."""
    if kept is None or not kept.shape[1]:
        return new
    return torch.cat([kept, new], dim=1) if new.shape[1] else kept


def behind(x: Tensor, first: int) -> Tensor:
    """Keep the items from `first` on; the memory of those before is given back where it is more than what is kept."""
    kept = x[:, first:]
    return kept.clone() if first > kept.shape[1] else kept
