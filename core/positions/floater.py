"""Position encodings that follow a law of motion: the solution of a differential equation, or a recurrence.

They know no longest length and have as many parameters for any. Axes: n positions (prefix tokens before), d channels.
"""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from zoo.core.errors import ConfigError, InputError


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


class Rotation(nn.Module):
    """Turn each pair of channels at its own learned rate, at first those of the sinusoids (arXiv:1706.03762 sec. 3.5).

    Args:
        dim: channels.

    Raises:
        ConfigError: If `dim` is odd.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        if dim % 2:
            raise ConfigError(f"dim={dim} is odd: a rotation turns pairs of channels")
        self.rate = nn.Parameter(torch.exp(torch.arange(0, dim, 2) * (-math.log(10000.0) / max(dim, 1))))

    @property
    def start(self) -> Float[Tensor, " d"]:
        """The sines and cosines of position 0."""
        return torch.tensor([0.0, 1.0]).repeat(len(self.rate))

    def forward(self, t: Float[Tensor, ""], p: Float[Tensor, " d"]) -> Float[Tensor, " d"]:
        """Give the velocity: (sin, cos) moves along rate · (cos, -sin)."""
        sine, cosine = p.unflatten(0, (-1, 2)).unbind(1)
        return torch.stack([self.rate * cosine, -self.rate * sine], dim=1).flatten()


class Floater(nn.Module):
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
        super().__init__()
        if step <= 0:
            raise ConfigError(f"step={step} is not positive")
        if start is not None and start.shape != (dim,):
            raise ConfigError(f"start of shape {tuple(start.shape)} for dim={dim}")
        self.prefix = prefix
        self.delta = delta
        self.step = step
        self.dynamics = Dynamics(dim) if dynamics is None else dynamics
        self.start = nn.Parameter(torch.randn(dim) * 0.02 if start is None else start.clone())

    def forward(self, shape: Sequence[int]) -> Float[Tensor, "n d"]:
        """Give the vectors for a line of this shape."""
        vectors = self.at([i * self.delta for i in range(_length(shape))])
        return torch.cat([vectors.new_zeros(self.prefix, vectors.shape[1]), vectors])

    def at(self, times: Sequence[float]) -> Float[Tensor, "n d"]:
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


class Recurrent(nn.Module):
    """Let a GRU walk over the positions: each vector is its state after one step more (see arXiv:2003.09229 sec. 2).

    Args:
        dim: channels.
        prefix: tokens before the line; their vectors are 0.
    """

    def __init__(self, dim: int, prefix: int = 0) -> None:
        super().__init__()
        self.prefix = prefix
        self.start = nn.Parameter(torch.randn(1, dim) * 0.02)
        self.input = nn.Parameter(torch.randn(1, dim) * 0.02)
        self.walk = nn.GRU(dim, dim)

    def forward(self, shape: Sequence[int]) -> Float[Tensor, "n d"]:
        """Give the vectors for a line of this shape."""
        n = _length(shape)
        zeros = self.start.new_zeros(self.prefix, self.start.shape[1])
        return torch.cat([zeros, self.walk(self.input.expand(n, -1), self.start)[0]]) if n else zeros


def _length(shape: Sequence[int]) -> int:
    if len(shape) != 1:
        raise InputError(f"a grid of {len(shape)} axes, {tuple(shape)}, given to positions that follow one another")
    return shape[0]
