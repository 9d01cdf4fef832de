"""Position vectors by dynamics: FLOATER's differential equation, and a recurrent network; added to the tokens.

They know no longest length and have as many parameters for any. Axes: n positions (prefix tokens before), d channels.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from zoo.core.errors import ConfigError


class Walk(nn.Module, ABC):
    """Position vectors of which each follows from the one before it, from a learned start.

    Args:
        prefix: tokens before the line; their vectors are 0.
        start: from which the first vector follows.
    """

    def __init__(self, prefix: int, start: Float[Tensor, "*a d"]) -> None:
        super().__init__()
        self.prefix = prefix
        self.start = nn.Parameter(start)
        self._cached: tuple[object, Tensor] | None = None

    @abstractmethod
    def line(self, n: int) -> Float[Tensor, "n d"]:
        """Compute the vectors of the first n positions of the line."""

    def forward(self, shape: Sequence[int]) -> Float[Tensor, "n d"]:
        """Give the vectors for a line, or for a grid read row by row, of this shape."""
        n = math.prod(shape)
        vectors = self._first(n)[:n]
        return torch.cat([vectors.new_zeros(self.prefix, self.start.shape[-1]), vectors])

    def at(self, position: Int[Tensor, "*b n"]) -> Float[Tensor, "*b n d"]:
        """Give the vectors of positions on the line, prefix tokens counted; theirs, and those before 0, are 0."""
        point = position - self.prefix
        vectors = self._first(max(int(point.max()) + 1 if point.numel() else 1, 1))
        return vectors[point.clamp(min=0)].masked_fill((point < 0)[..., None], 0)

    def _first(self, n: int) -> Float[Tensor, "m d"]:
        """Give at least n vectors; without gradients they are cached, as a decoder needs one more at each step.

        A call with gradients forgets them: a step of an optimizer may follow, and a fused one leaves the parameters'
        version counters as they are.
        """
        if torch.compiler.is_compiling() or self.start.is_inference():
            return self.line(n)
        if torch.is_grad_enabled():
            self._cached = None
            return self.line(n)
        made_of = [(id(p), p._version, p.dtype, p.device) for p in self.parameters()]
        if self._cached is None or self._cached[0] != made_of or len(self._cached[1]) < n:
            self._cached = made_of, self.line(1 << n.bit_length())
        return self._cached[1]


class Dynamics(nn.Module):
    """Give the velocity h(t, p) of a position vector: two linear layers with a tanh between.

    Args:
        dim: channels.
        hidden: channels between; `dim` if None.
    """

    def __init__(self, dim: int, hidden: int | None = None) -> None:
        super().__init__()
        self.up = nn.Linear(dim + 1, hidden or dim)
        self.down = nn.Linear(hidden or dim, dim)

    def forward(self, t: Float[Tensor, ""], p: Float[Tensor, " d"]) -> Float[Tensor, " d"]:
        """Give the velocity at time t."""
        return self.down(self.up(torch.cat([p, t[None]])).tanh())


class Floater(Walk):
    """Let a position vector move by dp/dt = h(t, p), and read it off at each position (arXiv:2003.09229 sec. 3.1).

    Solved by the classical Runge-Kutta method with fixed steps, and differentiated through its steps. Like the other
    encodings it is added to the vectors once; the paper adds one to the queries, keys and values of every block.

    Args:
        dim: channels.
        prefix: tokens before the line; their vectors are 0.
        dynamics: h, called as `h(t, p)`; `Dynamics(dim)` if None.
        start: vector of time 0, learned from there on; small random numbers if None.
        delta: time from one position to the next.
        step: longest step of the solver, in time.

    Raises:
        ConfigError: If the step is not positive, or the start has not `dim` channels.
    """

    def __init__(
        self,
        dim: int,
        prefix: int = 0,
        *,
        dynamics: nn.Module | None = None,
        start: Float[Tensor, " d"] | None = None,
        delta: float = 0.1,
        step: float = 0.1,
    ) -> None:
        if step <= 0:
            raise ConfigError(f"step={step} is not positive")
        if start is not None and start.shape != (dim,):
            raise ConfigError(f"start of shape {tuple(start.shape)} for dim={dim}")
        super().__init__(prefix, torch.randn(dim) * 0.02 if start is None else start.clone())
        self.delta = delta
        self.step = step
        self.dynamics = Dynamics(dim) if dynamics is None else dynamics

    def line(self, n: int) -> Float[Tensor, "n d"]:
        return self.at_times([i * self.delta for i in range(n)])

    def at_times(self, times: Sequence[float]) -> Float[Tensor, "n d"]:
        """Give the vectors of any times, one after the other from time 0; they may lie apart unevenly, and go back."""
        p: Tensor = self.start
        now, passed = 0.0, [p[:0]]
        for then in times:
            p, now = self._moved(p, now, then), then
            passed.append(p)
        return torch.cat(passed).view(-1, len(p))

    def _moved(self, p: Tensor, now: float, then: float) -> Tensor:
        steps = math.ceil(abs(then - now) / self.step - 1e-6)  # rounding of the times makes no step of its own
        for i in range(steps):
            size = (then - now) / steps
            p = self._stepped(p, now + i * size, size)
        return p

    def _stepped(self, p: Tensor, t: float, size: float) -> Tensor:
        begin, middle, end = (p.new_tensor(t + part * size) for part in (0.0, 0.5, 1.0))
        k1 = self.dynamics(begin, p)
        k2 = self.dynamics(middle, p + size / 2 * k1)
        k3 = self.dynamics(middle, p + size / 2 * k2)
        k4 = self.dynamics(end, p + size * k3)
        return p + size / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


class Recurrent(Walk):
    """Let a GRU walk over the positions: each vector is its state after one step more (see arXiv:2003.09229 sec. 2).

    Args:
        dim: channels.
        prefix: tokens before the line; their vectors are 0.
    """

    def __init__(self, dim: int, prefix: int = 0) -> None:
        super().__init__(prefix, torch.randn(1, dim) * 0.02)
        self.input = nn.Parameter(torch.randn(1, dim) * 0.02)
        self.walk = nn.GRU(dim, dim)

    def line(self, n: int) -> Float[Tensor, "n d"]:
        return self.walk(self.input.expand(n, -1), self.start)[0] if n else self.start[:0]
